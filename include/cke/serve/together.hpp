// SPDX-License-Identifier: MIT
// together.hpp: feeds several conversations in one pass, any of which may fail.
#pragma once

#include <string>
#include <vector>

#include "../any_model.hpp"

namespace cke::serve {

// The message of what f() throws; empty: nothing.
template <class F> std::string error_of(F f) {
  try {
    return f(), std::string();
  } catch (const std::exception& e) { return *e.what() ? e.what() : "unknown error"; }
}

// The error of each turn; empty: none. If the pass fails, each turn is fed alone, so that only the failing ones fail.
inline std::vector<std::string> feed_together(any_model& model, std::span<const turn> turns) {
  std::vector<std::string> errors(turns.size());
  if (turns.empty() || error_of([&] { model.feed_together(turns); }).empty()) return errors;
  for (std::size_t i = 0; i < turns.size(); ++i)
    errors[i] = error_of([&] { model.feed_together(turns.subspan(i, 1)); });
  return errors;
}

}  // namespace cke::serve
