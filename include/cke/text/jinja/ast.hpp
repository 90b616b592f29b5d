// SPDX-License-Identifier: MIT
// ast.hpp: a parsed template: statements that hold expressions.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "value.hpp"

CKE_COMPILED_ONCE
namespace cke::text::jinja {

struct expr;
using expr_ptr = std::unique_ptr<expr>;
struct statement;
using statement_list = std::vector<statement>;

enum class expr_kind : u8 {
  constant,
  name,
  tuple,
  list,
  dict,       // kids: key, value, key, value, ...
  attribute,  // kids[0].name
  item,       // kids[0][kids[1]]
  slice,      // kids[0][kids[1]:kids[2]:kids[3]]; a bound may be null
  call,       // kids[0](args)
  filter,     // kids[0] | name(args); kids[0] is null for the text of a block
  test,       // kids[0] is name(args)
  negate,     // not
  minus,
  plus,
  binary,   // kids[0] name kids[1]
  concat,   // all kids, with ~
  compare,  // kids[0] operators[0] kids[1] operators[1] kids[2] ...
  all,      // and
  any,      // or
  choice,   // kids[0] if kids[1] else kids[2]; that may be null
  field,    // a target: namespace kids[0], its attribute name
};

struct argument {
  enum : u8 { positional, named, spread, spread_named } kind;
  std::string name;
  expr_ptr what;
};

struct expr {
  expr_kind kind;
  u32 line;
  u32 depth = 1;
  value constant{};
  std::string name{};
  std::vector<expr_ptr> kids{};
  std::vector<argument> args{};
  std::vector<std::string> operators{};
};

// The parameters of a macro. The last ones have the defaults.
struct signature {
  std::vector<std::string> names;
  std::vector<expr_ptr> defaults;
};
struct macro_definition {
  std::string name;
  signature takes;
  statement_list body;
  // Whether the body mentions these names.
  bool caller = false, varargs = false, kwargs = false;
};

enum class statement_kind : u8 {
  data,       // constant
  output,     // {{ exprs }}
  set,        // exprs[0] = exprs[1]
  set_block,  // exprs[0] = body, through the filter exprs[1] if that is not null
  branch,     // if: conditions in exprs, a body for each, and one more for else
  loop,       // for exprs[0] in exprs[1] if exprs[2] (may be null): bodies[0], else bodies[1]
  macro,      // define
  call,       // exprs[0], a call, with `define` as its caller
  filter,     // body through the filter exprs[0]
  with,       // exprs alternates targets and values
  scope,      // a body with its own names: generation
  leave,      // break
  next,       // continue
};

struct statement {
  statement_kind kind;
  u32 line;
  value constant{};
  std::vector<expr_ptr> exprs{};
  std::vector<statement_list> bodies{};
  std::unique_ptr<macro_definition> define{};
  bool recursive = false;
};

}  // namespace cke::text::jinja
