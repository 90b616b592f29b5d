// SPDX-License-Identifier: MIT
// build.cpp: cke build: compiles a model before its first use.
#include "bundle.hpp"
#include "cache.hpp"
#include "commands.hpp"
#include "rooms.hpp"
#include "terminal.hpp"

namespace cke::tool {
namespace {

unit unit_of(const model_args& args) {
  if (!is_bundle(args.path)) return make_unit(open_model(args), args.numbers);
  const bundle packed(args.path);
  return unit_of_bundle(packed.about(), packed.as_checkpoint(), args.numbers);
}

}  // namespace

void build(const build_args& args) {
  if (args.embed) return embed(args);
  const unit u = unit_of(args.model);
  if (args.print_unit) return put(u.text);
  const cached_library compiled = library_of(u, made_for::any_program);
  if (compiled.compile_seconds > 0) std::fprintf(stderr, "cke: compiled in %.1f s\n", compiled.compile_seconds);
  put(compiled.path + '\n');
}

}  // namespace cke::tool
