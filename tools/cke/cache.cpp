// SPDX-License-Identifier: MIT
// cache.cpp: see cache.hpp. An entry is a directory, named by a hash of all that shapes its contents:
//   KEY/unit.cpp  KEY/compiler.log  KEY/model.so  KEY/model.so.sha256      KEY.lock: held while KEY is made
//   KEY.work.*/: KEY while it is made      KEY.log: the unit and the compiler's output where that failed
#include "cache.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>

#include <cke/core/sha256.hpp>

#include "cache_directory.hpp"
#include "own_file.hpp"
#include "ready_unit.hpp"
#include "rooms.hpp"
#include "scratch_folder.hpp"
#include "standalone.hpp"
#include "terminal.hpp"
#include "text_file.hpp"

namespace cke::tool {
namespace {

namespace fs = std::filesystem;

// Waits for, and holds, the right to make one entry.
class entry_lock {
 public:
  explicit entry_lock(const std::string& path)
      : file_(open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600)) {
    if (file_ < 0) throw Error(errc::file, path, {}, "a file that can be locked", std::strerror(errno));
    int status;
    while ((status = flock(file_, LOCK_EX)) < 0 && errno == EINTR) {}
    if (status == 0) return;
    const int why = errno;  // as on file systems of other machines, some of which have no locks
    close(file_);
    throw Error(errc::file, path, {}, "a file that can be locked; CKE_CACHE names another folder", std::strerror(why));
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

// Compiles beside the entry and moves it there as a whole, so that no other process sees half of one.
// The caller holds the entry's lock.
void make_entry(const unit& u, const compile_command& c, const fs::path& entry) {
  // What an interrupted process left.
  std::error_code failed;
  const std::string beginning = entry.filename().string() + ".work.";
  for (const auto& e : fs::directory_iterator(entry.parent_path(), failed))
    if (e.path().filename().string().starts_with(beginning)) fs::remove_all(e.path(), failed);
  const scratch_folder folder(entry);
  const std::string work = folder.path();

  write_text(work + "/unit.cpp", u.text);
  std::vector<std::string> command = c.words;
  command.insert(command.end(), {work + "/unit.cpp", "-o", work + "/model.so"});
  const process_result done = run_process(command);
  if (done.status) {
    const fs::path log = entry.string() + ".log";
    write_text(log, u.text + '\n' + done.output);
    throw Error(errc::compile, log.string(), "compiler " + c.words[0], "a unit that compiles",
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

// The entry of a command, from the cache or made now. Throws Error{compile} where that fails.
cached_library made(const unit& u, const compile_command& c) {
  const fs::path entry = fs::path(cache_directory()) / c.key;
  const std::string object = entry / "model.so";
  std::string why;
  const entry_lock mine(entry.string() + ".lock");
  if (auto door = open_entry(entry, u, why)) return {door, object, 0};  // another process made it meanwhile
  const auto start = std::chrono::steady_clock::now();
  make_entry(u, c, entry);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (auto door = open_entry(entry, u, why)) return {door, object, seconds};
  throw Error(errc::compile, object, "compiled unit", "a shared object that can be opened", why);
}

}  // namespace

cached_library library_of(const unit& u, made_for whom) {
  if (auto door = carried_unit(u)) return {door, own_file(), 0};
  const bool alone = whom == made_for::standalone;
  if (ready_unit ready = alone ? ready_unit{} : ready_unit_of(u); ready.door) return {ready.door, ready.path, 0};
  const unit_compiler here;
  here.check_machine();
  std::vector<compile_command> commands;  // the quickest first
  if (whom == made_for::this_command && here.has_part()) {
    if (!u.mixes_formats) commands.push_back(here.command_for(u, whom));
    commands.push_back(here.command_for(u, made_for::this_command_with_kernels));
  }
  commands.push_back(here.command_for(u, alone ? whom : made_for::any_program));
  for (const compile_command& c : commands) {
    const fs::path entry = fs::path(cache_directory()) / c.key;
    std::string why;
    if (auto door = open_entry(entry, u, why)) return {door, entry / "model.so", 0};
  }
  progress note("compiling");
  note.note("compiling this model for this machine (first use only)");
  if (commands.size() > 1 && !here.has_part_of_target()) commands.erase(commands.begin(), commands.end() - 1);
  for (std::size_t i = 0; i + 1 < commands.size(); ++i) try {
      return made(u, commands[i]);
    } catch (const Error& e) {
      if (e.code != errc::compile) throw;  // else more of it is compiled, and says what is wrong if that fails too
    }
  return made(u, commands.back());
}

}  // namespace cke::tool
