// SPDX-License-Identifier: MIT
// unit_compiler.cpp: implements unit_compiler.hpp.
#include "unit_compiler.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#else
#include <sys/auxv.h>
#endif

#include <algorithm>
#include <filesystem>
#include <sstream>

#include <cke/core/sha256.hpp>

#ifdef CKE_COMPILED_PART
#include "compiled_part.hpp"
#endif
#include "feature_names.hpp"
#include "own_file.hpp"
#include "text_file.hpp"

namespace cke::tool {
namespace {

namespace fs = std::filesystem;

// The features that -march=native looks at.
std::string cpu_features() {
  std::string text;
  const auto add = [&](auto... words) { ((text += ' ' + std::to_string(words)), ...); };
#if defined(__x86_64__)
  unsigned a{}, b{}, c{}, d{};
  if (__get_cpuid(1, &a, &b, &c, &d)) add(a, c, d);
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) add(b, c, d);
  if (__get_cpuid_count(7, 1, &a, &b, &c, &d)) add(a, b, c, d);
  if (__get_cpuid(0x80000001, &a, &b, &c, &d)) add(c, d);
#else
  add(getauxval(AT_HWCAP), getauxval(AT_HWCAP2));
#endif
  return text;
}

// Folders with colons between them.
void add_folders(std::string_view list, std::vector<std::string>& to) {
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t end = std::min(list.find(':', at), list.size());
    if (end > at) to.emplace_back(list.substr(at, end - at));
    at = end + 1;
  }
}

std::vector<std::string> include_directories() {
  std::vector<std::string> found;
  if (const std::string given = environment("CKE_INCLUDE"); !given.empty()) return add_folders(given, found), found;
  // What is installed brings its headers along; what is in a build folder uses those that it was built from.
  std::error_code ignored;
  const fs::path prefix = own_file().parent_path().parent_path();
  if (fs::exists(prefix / "include/cke/export.hpp", ignored)) {
    found.push_back(prefix / "include");
    if (const fs::path xsimd = prefix / "share/cke/cmake/xsimd/include"; fs::exists(xsimd, ignored))
      found.push_back(xsimd);
  } else {
    found.push_back(CKE_INCLUDE_DIR);
  }
  if (found.size() == 1) add_folders(CKE_XSIMD_DIRS, found);
  add_folders(CKE_BOOST_DIRS, found);
  return found;
}

// As compiled/fingerprint.cmake computes it.
std::string headers_fingerprint(const std::string& directory) {
  std::vector<std::string> files;
  std::error_code ignored;
  for (const auto& entry : fs::recursive_directory_iterator(directory + "/cke", ignored))
    if (entry.is_regular_file()) files.push_back(entry.path().lexically_relative(directory).generic_string());
  if (files.empty())
    throw Error(errc::file, directory, "cke's headers", "cke/export.hpp; set CKE_INCLUDE to the folders of headers",
                "none");
  std::ranges::sort(files);
  sha256 sum;
  for (const std::string& f : files) sum.add(f + '\n' + sha256_of(read_text(fs::path(directory) / f)) + '\n');
  return sum.hex();
}

// A program, and words that it takes first: CKE_CXX may say "zig c++". A path may contain spaces.
std::vector<std::string> compiler_words() {
  const std::string given = environment("CKE_CXX");
  for (const std::string& name :
       given.empty() ? std::vector<std::string>{CKE_CXX, "g++", "c++", "clang++"} : std::vector{given})
    if (std::string path = find_program(name); !path.empty()) return {path};
  for (std::size_t end = given.rfind(' '); end != std::string::npos && end > 0; end = given.rfind(' ', end - 1))
    if (std::string path = find_program(given.substr(0, end)); !path.empty()) {
      std::vector<std::string> words{path};
      std::istringstream rest(given.substr(end));
      for (std::string word; rest >> word;) words.push_back(word);
      return words;
    }
  throw Error(
      errc::compile, given, "C++ compiler",
      "one that can be run; install g++ 12 or clang 19, set CKE_CXX, or from Python pip install 'cke[compiler]'",
      "none");
}

// What -march= says: this machine, unless CKE_MARCH names another that it can stand in for.
std::string machine() {
  std::string given = environment("CKE_MARCH");
  if (given.empty()) return "native";
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
        c == '.' || c == '+';
  };
  if (!std::ranges::all_of(given, is_plain))
    throw Error(errc::usage, {}, "CKE_MARCH", "a name that -march= knows", given);
  return given;
}

}  // namespace

unit_compiler::unit_compiler()
    : compiler_(compiler_words()),
      march_(machine()),
      includes_(include_directories()),
      headers_(headers_fingerprint(includes_[0])),
      version_(compiler_says({"--version"}).output) {}

process_result unit_compiler::compiler_says(std::initializer_list<std::string> words) const {
  std::vector<std::string> command = compiler_;
  command.insert(command.end(), words);
  return run_process(command);
}

process_result unit_compiler::predefined() const {
  return compiler_says({"-std=c++20", "-march=" + march_, "-dM", "-E", "-x", "c++", "/dev/null"});
}

std::string unit_compiler::features() const {
  const process_result macros = predefined();
  if (macros.status)
    throw Error(errc::compile, {}, "compiler " + compiler_[0], "the macros that it predefines",
                "exit status " + std::to_string(macros.status) + complaint(macros.output));
  return features_of_code(macros.output);
}
void unit_compiler::check_machine() const {
  if (march_ == "native") return;
  const process_result macros = predefined();
  if (macros.status) return;  // compiling a unit says what is wrong
  if (const std::string missing = lacking(features_of_code(macros.output), features_of_cpu()); !missing.empty())
    throw Error(errc::usage, {}, "CKE_MARCH", "a machine whose code this cpu can run",
                march_ + ", whose code may use " + missing);
}

compile_command unit_compiler::command_for(const unit& u, made_for whom) const {
  compile_command r;
  r.words = compiler_;
  r.words.insert(
      r.words.end(),
      {"-std=c++20", "-O3", "-march=" + march_, "-ffp-contract=off", "-shared", "-fvisibility=hidden", "-fPIC", "-w"});
  if (whom == made_for::this_command || whom == made_for::this_command_with_kernels)
    r.words.insert(r.words.end(), {"-DCKE_COMPILED", "-DCKE_READS_NO_FILES"});
  if (whom == made_for::this_command)  // what is fast is in the compiled part
    r.words.insert(r.words.end(), {"-O1", "-DCKE_COMPILED_KERNELS_ONLY"});
  if (whom == made_for::standalone)
    r.words.insert(r.words.end(), {"-static-libstdc++", "-static-libgcc", "-Wl,--exclude-libs,ALL"});
  r.words.push_back("-I" + includes_[0]);
  for (std::size_t i = 1; i < includes_.size(); ++i) r.words.insert(r.words.end(), {"-isystem", includes_[i]});

  std::string all = "cke " CKE_VERSION "\n" + headers_ + '\n' + cpu_features() + '\n' + version_;
  for (const std::string& word : r.words) all += word + '\n';
  r.key = sha256_of(all + u.text);
  return r;
}

bool unit_compiler::has_part() const {
#ifdef CKE_COMPILED_PART
  return headers_ == CKE_COMPILED_HEADERS && march_ == CKE_COMPILED_MARCH;
#else
  return false;
#endif
}
bool unit_compiler::has_part_of_target() const {
#ifdef CKE_COMPILED_PART
  const process_result macros = predefined();
  return macros.status == 0 && sha256_of(macros.output) == CKE_COMPILED_TARGET;
#else
  return false;
#endif
}

std::string complaint(const std::string& output) {
  const std::size_t at = std::min(output.find("error: "), output.size());
  const std::string line = output.substr(at, output.find('\n', at) - at);
  return line.empty() ? line : "; " + line;
}

void assemble(const std::string& source, const std::string& object) {
  std::vector<std::string> command = compiler_words();
  const std::string name = command[0];
  command.insert(command.end(), {"-c", source, "-I" + fs::path(source).parent_path().string(), "-o", object});
  const process_result done = run_process(command);
  if (done.status)
    throw Error(errc::compile, {}, "compiler " + name, "an object of " + fs::path(source).filename().string(),
                "exit status " + std::to_string(done.status) + complaint(done.output));
}

}  // namespace cke::tool
