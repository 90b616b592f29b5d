// SPDX-License-Identifier: MIT
// build.cpp: cke build: compiles a model before its first use, or into a folder that needs no cke.
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "built_unit.hpp"
#include "cache.hpp"
#include "commands.hpp"
#include "hf_output.hpp"
#include "pack.hpp"
#include "rooms.hpp"
#include "standalone.hpp"
#include "terminal.hpp"

namespace cke::tool {
namespace {

namespace fs = std::filesystem;

// The name of the model's directory or file, with nothing that a shell would take for something else.
std::string name_of(const std::string& path) {
  fs::path p = fs::absolute(path).lexically_normal();
  if (!p.has_filename()) p = p.parent_path();
  std::string name = fs::is_directory(p) ? p.filename() : p.stem();
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '_') c = '-';
  return name.empty() || name[0] == '.' || name[0] == '-' ? "model" + name : name;
}

void write_readme(const std::string& path, const std::string& program, const written_bundle& made) {
  std::ofstream to(path);
  to << made.name << ", compiled by cke " CKE_VERSION " for the cpu of the machine that made this folder (" << made.isa
     << ").\n\n"
     << "  ./" << program << " run -p \"Once upon a time\"\n"
     << "  ./" << program << " chat\n"
     << "  ./" << program << " serve\n"
     << "  ./" << program << " --help\n\n"
     << "It needs Linux, glibc and a cpu with the same features, and names those that are missing. " << program
     << ".cke has\nthe weights and the vocabulary, and stays beside it.\n";
  if (!to.flush()) throw Error(errc::file, path, {}, "a file that can be written", std::strerror(errno));
}

void build_standalone(const build_args& args) {
  const std::string program = name_of(args.model.path);
  new_folder folder(*args.standalone);
  const std::string at = folder.partial() + '/';
  const written_bundle made =
      write_bundle({.model = args.model, .output = at + program + ".cke"}, made_for::standalone);
  write_standalone(at + program, made.of, made.compiled.path, unit_compiler().features());
  write_readme(at + "README", program, made);
  folder.commit();
  put(folder.name() + ": " + made.name + " for " + made.isa + ", " +
      bytes_text(static_cast<double>(made.weight_bytes)) + " of weights\n");
}

}  // namespace

void build(const build_args& args) {
  if (args.standalone) return build_standalone(args);
  if (args.embed) return embed(args);
  const unit u = built_unit(args.model);
  if (args.print_unit) return put(u.text);
  const cached_library compiled = library_of(u, made_for::any_program);
  if (compiled.compile_seconds > 0) std::fprintf(stderr, "cke: compiled in %.1f s\n", compiled.compile_seconds);
  put(compiled.path + '\n');
}

}  // namespace cke::tool
