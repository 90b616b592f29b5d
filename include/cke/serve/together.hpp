// SPDX-License-Identifier: MIT
// together.hpp: several conversations in one pass, of which one may fail.
#pragma once

#include <string>
#include <vector>

#include "../any_model.hpp"

namespace cke::serve {

// What f() throws, in words; empty: nothing.
template <class F> std::string error_of(F f) {
  try {
    return f(), std::string();
  } catch (const std::exception& e) {
    return *e.what() ? e.what() : "unknown error";
  }
}

// What went wrong with each turn, mostly nothing. One that fails must not take others along: then each is fed by itself.
inline std::vector<std::string> feed_together(any_model& model, std::span<const turn> turns) {
  std::vector<std::string> errors(turns.size());
  if (turns.empty() || error_of([&] { model.feed_together(turns); }).empty()) return errors;
  for (std::size_t i = 0; i < turns.size(); ++i)
    errors[i] = error_of([&] { turns[i].hidden || turns[i].each ? model.feed_together(turns.subspan(i, 1)) : turns[i].of->feed(turns[i].ids); });
  return errors;
}

}  // namespace cke::serve
