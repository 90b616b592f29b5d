// SPDX-License-Identifier: MIT
// build.cpp: cke build: compiles a model before its first use.
#include "cache.hpp"
#include "commands.hpp"
#include "rooms.hpp"
#include "terminal.hpp"

namespace cke::tool {

void build(const build_args& args) {
  const unit u = make_unit(open_model(args.model), args.model.numbers);
  if (args.print_unit) return put(u.text);
  const cached_library compiled = library_of(u, made_for::any_program);
  if (compiled.compile_seconds > 0) std::fprintf(stderr, "cke: compiled in %.1f s\n", compiled.compile_seconds);
  put(compiled.path + '\n');
}

}  // namespace cke::tool
