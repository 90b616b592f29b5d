// SPDX-License-Identifier: MIT
// rules.cpp: the way forth and back of every operation that can be trained, compiled once.
#include <cke/train/rule_table.hpp>

namespace cke::train {

template <class Isa> const rule_table& compiled_rules() { return rules_from_headers<Isa>; }
template const rule_table& compiled_rules<isa::native>();

}  // namespace cke::train
