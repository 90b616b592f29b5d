// SPDX-License-Identifier: MIT
// build.cpp: cke build: compiles a model before its first use, or into a folder that needs no cke.
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "bundle.hpp"
#include "cache.hpp"
#include "commands.hpp"
#include "pack.hpp"
#include "rooms.hpp"
#include "standalone.hpp"
#include "terminal.hpp"

namespace cke::tool {
namespace {

namespace fs = std::filesystem;

unit unit_of(const model_args& args) {
  if (!is_bundle(args.path)) return make_unit(open_model(args), args.numbers);
  const bundle packed(args.path);
  return unit_of_bundle(packed.about(), packed.as_checkpoint(), args.numbers);
}

// A folder that gets its name once it is complete.
class new_folder {
 public:
  explicit new_folder(const std::string& path)
      : path_(fs::absolute(path).lexically_normal()),
        partial_(path_.string() + ".partial-" + std::to_string(getpid())) {
    if (!path_.has_filename()) path_ = path_.parent_path(), partial_ = path_.string() + partial_.filename().string();
    std::error_code failed;
    if (fs::exists(fs::symlink_status(path_, failed))) fail("a name that is free", "something of that name");
    if (!fs::create_directory(partial_, failed)) fail("a folder that can be made", failed.message());
  }
  ~new_folder() {
    std::error_code ignored;
    fs::remove_all(partial_, ignored);
  }
  new_folder(const new_folder&) = delete;
  new_folder& operator=(const new_folder&) = delete;

  std::string file(const std::string& name) const { return partial_ / name; }
  void commit() const {
    if (::renameat2(AT_FDCWD, partial_.c_str(), AT_FDCWD, path_.c_str(), RENAME_NOREPLACE) != 0)
      fail("a name that is free", std::strerror(errno));
  }

 private:
  [[noreturn]] void fail(std::string_view expected, std::string_view found) const {
    throw Error(errc::file, path_.string(), {}, expected, found);
  }
  fs::path path_, partial_;
};

// The name of the model's directory or file, with nothing that a shell would take for something else.
std::string name_of(const std::string& path) {
  fs::path p = fs::absolute(path).lexically_normal();
  if (!p.has_filename()) p = p.parent_path();
  std::string name = fs::is_directory(p) ? p.filename() : p.stem();
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '_') c = '-';
  return name.empty() || name[0] == '.' || name[0] == '-' ? "model" + name : name;
}

void build_standalone(const build_args& args) {
  const std::string name = name_of(args.model.path);
  const new_folder folder(*args.standalone);
  const written_bundle made =
      write_bundle({.model = args.model, .output = folder.file(name + ".cke")}, made_for::standalone);
  write_standalone(folder.file(name), made.of, made.compiled.path);
  std::ofstream readme(folder.file("README"));
  readme << made.name << ", compiled by cke " CKE_VERSION " for the cpu of the machine that made this folder ("
         << made.isa
         << ").\n\n"
            "  ./"
         << name
         << " run -p \"Once upon a time\"\n"
            "  ./"
         << name
         << " chat\n"
            "  ./"
         << name
         << " serve\n"
            "  ./"
         << name
         << " --help\n\n"
            "It needs Linux, glibc and a cpu with the same features, and says so where one is missing. "
         << name << ".cke has\nthe weights and the vocabulary, and stays beside it.\n";
  if (!readme.flush())
    throw Error(errc::file, folder.file("README"), {}, "a file that can be written", std::strerror(errno));
  readme.close();
  folder.commit();
  put(*args.standalone + ": " + made.name + " for " + made.isa + ", " +
      bytes_text(static_cast<double>(made.weight_bytes)) + " of weights\n");
}

}  // namespace

void build(const build_args& args) {
  if (args.standalone) return build_standalone(args);
  if (args.embed) return embed(args);
  const unit u = unit_of(args.model);
  if (args.print_unit) return put(u.text);
  const cached_library compiled = library_of(u, made_for::any_program);
  if (compiled.compile_seconds > 0) std::fprintf(stderr, "cke: compiled in %.1f s\n", compiled.compile_seconds);
  put(compiled.path + '\n');
}

}  // namespace cke::tool
