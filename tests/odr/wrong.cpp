// SPDX-License-Identifier: MIT
// wrong.cpp: what a header must not contain. tests/odr finds the first four, and may not name the others.

namespace cke::wrong {

int undefined();
int function() { return undefined(); }
int variable = 2;
extern const int constant = 3;

inline int inline_function() { return 4; }
inline int inline_variable = inline_function();
template <class T> T function_template() { return 5; }
template int function_template<int>();
static int internal() { return function_template<int>() + inline_variable; }
static const int used = internal();
struct with_virtual {
  virtual int of() { return used; }
};
inline with_virtual object;

}  // namespace cke::wrong
