// SPDX-License-Identifier: MIT
// number_range.hpp: writes GBNF for the decimal numbers between two bounds.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "../../core/types.hpp"

CKE_COLD_BEGIN
namespace cke::text {

// Integer bounds of at most 15 digits; absent: unbounded.
struct number_range {
  std::optional<i64> least{}, most{};
  bool above = false, below = false;  // the bound itself is excluded
};

namespace detail {

constexpr u32 most_digits = 16;

inline std::string joined(const std::vector<std::string>& alternatives) {
  std::string out;
  for (const std::string& one : alternatives) (out += out.empty() ? "" : " | ") += one;
  return out;
}
inline std::string some_digits(char from, char to) {
  if (from == to) return std::string("\"") + from + '"';
  return std::string("[") + from + '-' + to + ']';
}
inline std::string free_digits(std::size_t n) { return n == 0 ? "" : " [0-9]{" + std::to_string(n) + '}'; }

// The numbers from a to b, which have the same number of digits.
inline std::vector<std::string> same_length(const std::string& a, const std::string& b) {
  const std::size_t rest = a.size() - 1;
  if (a == std::string(a.size(), '0') && b == std::string(b.size(), '9') && rest > 0)
    return {"[0-9]{" + std::to_string(a.size()) + '}'};
  if (rest == 0) return {some_digits(a[0], b[0])};
  std::vector<std::string> all;
  const auto add = [&](char digit, const std::string& from, const std::string& to) {
    all.push_back(some_digits(digit, digit) + " (" + joined(same_length(from, to)) + ')');
  };
  if (a[0] == b[0]) return add(a[0], a.substr(1), b.substr(1)), all;
  char from = a[0], to = b[0];  // first digits whose other digits are unrestricted
  if (a.substr(1) != std::string(rest, '0')) add(from++, a.substr(1), std::string(rest, '9'));
  const bool part = b.substr(1) != std::string(rest, '9');
  if (part) --to;
  if (from <= to) all.push_back(some_digits(from, to) + free_digits(rest));
  if (part) add(b[0], std::string(rest, '0'), b.substr(1));
  return all;
}
// Integers >= 0, as alternatives.
inline std::vector<std::string> magnitudes(u64 least, std::optional<u64> most) {
  std::vector<std::string> all;
  if (most && *most < least) return all;
  const std::string low = std::to_string(least);
  const auto longest = most ? std::to_string(*most).size() : low.size();
  for (std::size_t n = low.size(); n <= longest; ++n) {
    const std::string from = n == low.size() ? low : '1' + std::string(n - 1, '0');
    const std::string to = most && n == longest ? std::to_string(*most) : std::string(n, '9');
    for (std::string& one : same_length(from, to)) all.push_back(std::move(one));
  }
  if (!most && low.size() < most_digits)
    all.push_back("[1-9] [0-9]{" + std::to_string(low.size()) + ',' + std::to_string(most_digits - 1) + '}');
  return all;
}
// Numbers >= 0 with an optional fraction, as alternatives.
inline std::vector<std::string> fractions(u64 least, bool above, std::optional<u64> most, bool below) {
  std::vector<std::string> all;
  if (most && (*most < least || (*most == least && (above || below)))) return all;
  if (above && !(most && *most == least)) all.push_back('"' + std::to_string(least) + R"(." [0-9]{0,14} [1-9])");
  const u64 from = above ? least + 1 : least;
  const auto whole = magnitudes(from, most ? std::optional(*most - (*most > 0 ? 1 : 0)) : most);
  if (!whole.empty() && !(most && *most == 0)) all.push_back('(' + joined(whole) + R"() ("." [0-9]{1,15})?)");
  if (most && !below) all.push_back('"' + std::to_string(*most) + '"');
  return all;
}
// The alternatives of both signs; `find(least, above, most, below)` returns those of numbers >= 0.
template <class F> std::string both_signs(const number_range& r, F find) {
  std::vector<std::string> all;
  if (!r.most || *r.most >= 0) {
    const bool from_bound = r.least && *r.least >= 0;
    all = find(from_bound ? static_cast<u64>(*r.least) : 0, from_bound && r.above,
               r.most ? std::optional(static_cast<u64>(*r.most)) : std::nullopt, r.most && r.below);
  }
  if (!r.least || *r.least < 0) {
    const bool from_bound = r.most && *r.most < 0;
    const auto negative = find(from_bound ? static_cast<u64>(-*r.most) : 0, from_bound ? r.below : true,
                               r.least ? std::optional(static_cast<u64>(-*r.least)) : std::nullopt, r.least && r.above);
    if (!negative.empty()) all.push_back(R"("-" ()" + joined(negative) + ')');
  }
  return joined(all);
}

}  // namespace detail

// Empty if there are no such numbers.
inline std::string integers_within(const number_range& range) {
  return detail::both_signs(range, [](u64 least, bool above, std::optional<u64> most, bool below) {
    if (most && below && *most == 0) return std::vector<std::string>();
    return detail::magnitudes(least + (above ? 1 : 0), most ? std::optional(*most - (below ? 1 : 0)) : most);
  });
}
// Without exponents, and with at most 15 digits after the point.
inline std::string numbers_within(const number_range& range) { return detail::both_signs(range, detail::fractions); }

}  // namespace cke::text
CKE_COLD_END
