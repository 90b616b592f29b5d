// SPDX-License-Identifier: MIT
// number_list.hpp: parses "1,4,8-32+8,1-16*2": numbers and ranges in llama-bench's syntax.
#pragma once

#include <charconv>
#include <string_view>
#include <vector>

#include <cke/core/types.hpp>

#include "rooms.hpp"

namespace cke::tool {

struct number_range {
  u32 least, most;
};

// Appends the numbers of a list. Returns false, possibly after appending some, if the syntax is wrong, a number is out
// of range, or a range is endless.
inline bool add_numbers(std::string_view text, number_range allowed, std::vector<u32>& to) {
  constexpr std::size_t most_numbers = 1000;
  const char *at = text.data(), *const end = at + text.size();
  const auto number = [&](u64& n) {
    const auto [next, error] = std::from_chars(at, end, n);
    at = next;
    return error == std::errc{} && n <= allowed.most;
  };
  const auto take = [&](std::string_view any_of) { return at < end && any_of.find(*at) != any_of.npos ? *at++ : '\0'; };
  do {
    u64 first{}, last{}, step = 1;
    if (!number(first)) return false;
    last = first;
    char by = '+';
    if (take("-")) {
      if (!number(last)) return false;
      if (const char given = take("+*")) {
        by = given;
        if (!number(step)) return false;
      }
    }
    if (first > last || first < allowed.least) return false;
    for (u64 n = first, next; n <= last; n = next) {
      next = by == '+' ? n + step : n * step;
      if ((next <= n && n < last) || to.size() == most_numbers) return false;
      to.push_back(static_cast<u32>(n));
      if (n == last) break;
    }
  } while (take(","));
  return at == end;
}

}  // namespace cke::tool
