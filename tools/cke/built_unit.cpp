// SPDX-License-Identifier: MIT
// built_unit.cpp: see built_unit.hpp.
#include "built_unit.hpp"

#include <filesystem>

#include "bundle.hpp"

namespace cke::tool {
namespace {

namespace fs = std::filesystem;

unit unit_of_config(const model_args& args) {
  if (args.numbers.format.empty())
    throw Error(errc::usage, args.path, "--format", "one, since a config does not say how weights are stored", "none");
  const std::string folder = fs::path(args.path).parent_path();
  unit_options numbers = args.numbers;
  numbers.from_nothing = true;
  return make_unit(open_config(folder.empty() ? "." : folder), numbers);
}

}  // namespace

unit built_unit(const model_args& args) {
  if (fs::path(args.path).filename() == "config.json") return unit_of_config(args);
  if (!is_bundle(args.path)) return make_unit(open_model(args), args.numbers);
  const bundle packed(args.path);
  return unit_of_bundle(packed.about(), packed.as_checkpoint(), args.numbers);
}

}  // namespace cke::tool
