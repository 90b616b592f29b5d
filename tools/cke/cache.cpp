// SPDX-License-Identifier: MIT
// cache.cpp: see cache.hpp. An entry is a directory, named by a hash of all that shapes its contents:
//   KEY/unit.cpp  KEY/compiler.log  KEY/model.so  KEY/model.so.sha256      KEY.lock: held while KEY is made
//   KEY.work.*/: KEY while it is made      KEY.log: the unit and the compiler's output where that failed
#include "cache.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#else
#include <sys/auxv.h>
#endif

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <cke/core/sha256.hpp>

#ifdef CKE_COMPILED_PART
#include "compiled_part.hpp"
#endif
#include "own_file.hpp"
#include "process.hpp"
#include "ready_unit.hpp"
#include "rooms.hpp"
#include "standalone.hpp"
#include "terminal.hpp"

namespace cke::tool {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail_system(const std::string& path, const char* wanted) {
  throw Error(errc::file, path, {}, wanted, std::strerror(errno));
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::string read_text(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_text(const fs::path& path, std::string_view text) {
  std::ofstream out(path, std::ios::binary);
  out.write(text.data(), static_cast<std::streamsize>(text.size())).flush();
  if (!out) fail_system(path, "a file that can be written");
}

// ---- what shapes the machine code -----------------------------------------------------------------

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

std::vector<std::string> include_directories() {
  std::vector<std::string> found;
  if (const std::string given = environment("CKE_INCLUDE"); !given.empty()) {
    for (std::size_t at = 0; at <= given.size();) {
      const std::size_t end = std::min(given.find(':', at), given.size());
      if (end > at) found.push_back(given.substr(at, end - at));
      at = end + 1;
    }
    return found;
  }
  // What is installed brings its headers along; what is in a build folder uses those that it was built from.
  std::error_code ignored;
  const fs::path prefix = own_file().parent_path().parent_path();
  if (fs::exists(prefix / "include/cke/export.hpp", ignored)) {
    found.push_back(prefix / "include");
    if (const fs::path xsimd = prefix / "share/cke/cmake/xsimd/include"; fs::exists(xsimd, ignored))
      return found.push_back(xsimd), found;
  } else {
    found.push_back(CKE_INCLUDE_DIR);
  }
  found.push_back(CKE_XSIMD_DIR);
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

struct recipe {
  std::vector<std::string> command;  // without input and output
  std::string key;
};

// The same in each recipe of a unit.
struct surroundings {
  std::vector<std::string> compiler = compiler_words();
  std::string march = machine();
  std::vector<std::string> includes = include_directories();
  std::string headers = headers_fingerprint(includes[0]);
  std::string version = compiler_says({"--version"}).output;

  process_result compiler_says(std::initializer_list<std::string> words) const {
    std::vector<std::string> command = compiler;
    command.insert(command.end(), words);
    return run_process(command);
  }
};

recipe recipe_of(const unit& u, const surroundings& s, made_for whom) {
  recipe r;
  r.command = s.compiler;
  r.command.insert(
      r.command.end(),
      {"-std=c++20", "-O3", "-march=" + s.march, "-ffp-contract=off", "-shared", "-fvisibility=hidden", "-fPIC", "-w"});
  if (whom == made_for::this_command) {
    r.command.insert(r.command.end(), {"-DCKE_COMPILED", "-DCKE_READS_NO_FILES"});
    // What is fast is in the compiled part, unless formats are mixed.
    if (!u.mixes_formats) r.command.insert(r.command.end(), {"-O1", "-DCKE_COMPILED_KERNELS_ONLY"});
  }
  if (whom == made_for::standalone)
    r.command.insert(r.command.end(), {"-static-libstdc++", "-static-libgcc", "-Wl,--exclude-libs,ALL"});
  r.command.push_back("-I" + s.includes[0]);
  for (std::size_t i = 1; i < s.includes.size(); ++i) r.command.insert(r.command.end(), {"-isystem", s.includes[i]});

  std::string all = "cke " CKE_VERSION "\n" + s.headers + '\n' + cpu_features() + '\n' + s.version;
  for (const std::string& word : r.command) all += word + '\n';
  r.key = sha256_of(all + u.text);
  return r;
}

// Whether the compiled part was made from these headers and with this name of the machine.
bool has_part_for(const surroundings& s) {
#ifdef CKE_COMPILED_PART
  return s.headers == CKE_COMPILED_HEADERS && s.march == CKE_COMPILED_MARCH;
#else
  return static_cast<void>(s), false;
#endif
}
// And whether that name and that compiler mean the same here as where it was made: all that the compiler predefines.
bool has_part_of_target(const surroundings& s) {
#ifdef CKE_COMPILED_PART
  const process_result macros =
      s.compiler_says({"-std=c++20", "-march=" + s.march, "-dM", "-E", "-x", "c++", "/dev/null"});
  return macros.status == 0 && sha256_of(macros.output) == CKE_COMPILED_TARGET;
#else
  return static_cast<void>(s), false;
#endif
}

// ---- entries ----------------------------------------------------------------------------------------

// Waits for, and holds, the right to make one entry.
class entry_lock {
 public:
  explicit entry_lock(const std::string& path)
      : file_(open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600)) {
    if (file_ < 0) fail_system(path, "a file that can be locked");
    while (flock(file_, LOCK_EX) < 0 && errno == EINTR) {}
  }
  ~entry_lock() { close(file_); }
  entry_lock(const entry_lock&) = delete;
  entry_lock& operator=(const entry_lock&) = delete;

 private:
  int file_;
};

// Ours, of that kind and not a link to one, and nobody else may write to it.
bool is_own(const fs::path& path, mode_t kind) {
  struct stat is{};
  return !lstat(path.c_str(), &is) && (is.st_mode & S_IFMT) == kind && is.st_uid == geteuid() && !(is.st_mode & 022);
}

std::shared_ptr<const library> open_entry(const fs::path& entry, const unit& u, std::string& why) {
  if (!is_own(entry, S_IFDIR) || !is_own(entry / "model.so", S_IFREG) || !is_own(entry / "model.so.sha256", S_IFREG))
    return why = "no files of this user's own", nullptr;
  const std::string object = read_text(entry / "model.so");
  if (object.empty()) return why = "no object", nullptr;
  if (read_text(entry / "model.so.sha256") != sha256_of(object)) return why = "a wrong checksum", nullptr;
  return library::open(entry / "model.so", u.door, why);
}

// The first complaint among a compiler's lines.
std::string complaint(const std::string& output) {
  const std::size_t at = std::min(output.find("error: "), output.size());
  const std::string line = output.substr(at, output.find('\n', at) - at);
  return line.empty() ? line : "; " + line;
}

// Compiles beside the entry and moves it there as a whole, so that no other process sees half of one.
// The caller holds the entry's lock.
void make_entry(const unit& u, const recipe& r, const fs::path& entry) {
  // What an interrupted process left.
  std::error_code failed;
  const std::string beginning = entry.filename().string() + ".work.";
  for (const auto& e : fs::directory_iterator(entry.parent_path(), failed))
    if (e.path().filename().string().starts_with(beginning)) fs::remove_all(e.path(), failed);
  std::string work = entry.string() + ".work.XXXXXX";
  if (!mkdtemp(work.data())) fail_system(work, "a directory that can be made");
  struct cleanup {
    fs::path path;
    ~cleanup() {
      std::error_code gone;
      fs::remove_all(path, gone);
    }
  } const leave{work};

  write_text(work + "/unit.cpp", u.text);
  std::vector<std::string> command = r.command;
  command.insert(command.end(), {work + "/unit.cpp", "-o", work + "/model.so"});
  const process_result done = run_process(command);
  if (done.status) {
    const fs::path log = entry.string() + ".log";
    write_text(log, u.text + '\n' + done.output);
    throw Error(errc::compile, log.string(), "compiler " + r.command[0], "a unit that compiles",
                "exit status " + std::to_string(done.status) + complaint(done.output));
  }
  write_text(work + "/compiler.log", done.output);
  write_text(work + "/model.so.sha256", sha256_of(read_text(work + "/model.so")));
  for (const char* file : {"/model.so", "/model.so.sha256"}) chmod((work + file).c_str(), 0600);  // whatever the umask
  fs::remove_all(entry, failed);
  fs::remove(entry.string() + ".log", failed);
  fs::rename(work, entry, failed);
  if (failed) throw Error(errc::file, entry.string(), {}, "an entry that can be written", failed.message());
}

}  // namespace

namespace {

// Empty where the environment does not say.
std::string cache_path() {
  std::string path = environment("CKE_CACHE");
  if (path.empty()) {
    if (const std::string xdg = environment("XDG_CACHE_HOME"); xdg.starts_with('/')) path = xdg + "/cke";
    else if (const std::string home = environment("HOME"); home.starts_with('/')) path = home + "/.cache/cke";
    else return {};
  }
  const fs::path absolute = fs::absolute(path).lexically_normal();
  return absolute.has_filename() ? absolute : absolute.parent_path();
}

}  // namespace

std::string existing_cache_directory() {
  std::error_code ignored;
  const std::string path = cache_path();
  return !path.empty() && fs::exists(path, ignored) ? cache_directory() : std::string();
}

std::string cache_directory() {
  const std::string path = cache_path();
  if (path.empty())
    throw Error(errc::file, {}, "compile cache", "CKE_CACHE, XDG_CACHE_HOME or HOME in the environment",
                "none of them");
  std::error_code failed;
  fs::create_directories(fs::path(path).parent_path(), failed);
  if (mkdir(path.c_str(), 0700) && errno != EEXIST) fail_system(path, "a directory that can be made");
  struct stat is{};
  if (lstat(path.c_str(), &is)) fail_system(path, "a directory");
  if (!S_ISDIR(is.st_mode)) throw Error(errc::file, path, "compile cache", "a directory", "something else");
  if (is.st_uid != geteuid())
    throw Error(errc::file, path, "compile cache", "a directory of user " + std::to_string(geteuid()),
                "one of user " + std::to_string(is.st_uid));
  if (is.st_mode & 077) {
    char mode[8];
    std::snprintf(mode, sizeof mode, "%04o", static_cast<unsigned>(is.st_mode & 07777));
    throw Error(errc::file, path, "compile cache", "mode 0700", std::string("mode ") + mode);
  }
  return path;
}

namespace {

// The entry of a recipe, from the cache or made now. Throws Error{compile} where that fails.
cached_library made(const unit& u, const recipe& r) {
  const fs::path entry = fs::path(cache_directory()) / r.key;
  const std::string object = entry / "model.so";
  std::string why;
  const entry_lock mine(entry.string() + ".lock");
  if (auto door = open_entry(entry, u, why)) return {door, object, 0};  // another process made it meanwhile
  const auto start = std::chrono::steady_clock::now();
  make_entry(u, r, entry);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (auto door = open_entry(entry, u, why)) return {door, object, seconds};
  throw Error(errc::compile, object, "compiled unit", "a shared object that can be opened", why);
}

}  // namespace

cached_library library_of(const unit& u, made_for whom) {
  if (auto door = carried_unit(u)) return {door, own_file(), 0};
  const bool alone = whom == made_for::standalone;
  if (ready_unit ready = alone ? ready_unit{} : ready_unit_of(u); ready.door) return {ready.door, ready.path, 0};
  const surroundings here;
  std::vector<recipe> recipes{recipe_of(u, here, alone ? whom : made_for::any_program)};
  if (whom == made_for::this_command && has_part_for(here))
    recipes.push_back(recipe_of(u, here, made_for::this_command));
  for (const recipe& r : recipes) {
    const fs::path entry = fs::path(cache_directory()) / r.key;
    std::string why;
    if (auto door = open_entry(entry, u, why)) return {door, entry / "model.so", 0};
  }
  progress note("compiling");
  note.note("compiling this model for this machine (first use only)");
  if (recipes.size() == 2 && has_part_of_target(here)) {
    try {
      return made(u, recipes[1]);
    } catch (const Error& e) {
      if (e.code != errc::compile) throw;  // else all of it is compiled, and says what is wrong if that fails too
    }
  }
  return made(u, recipes[0]);
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
