// SPDX-License-Identifier: MIT
// standalone.cpp: see standalone.hpp. The file is the program, the unit's object, its source, the names of the features
// that its code may use, and a trailer.
#include "standalone.hpp"

#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include <cke/core/xxh64.hpp>
#include <cke/io/mapped_file.hpp>
#include <cke/io/new_file.hpp>

#include "feature_names.hpp"
#include "own_file.hpp"
#include "rooms.hpp"

namespace cke::tool {
namespace {

namespace fs = std::filesystem;

// The last bytes of the file.
struct trailer {
  char magic[8] = {'C', 'K', 'E', '-', 'U', 'N', 'I', 'T'};
  u64 object_bytes{}, text_bytes{}, features_bytes{}, sum{};  // XXH64 of the three
};

struct carried {
  mapped_file file;
  std::span<const std::byte> object, text, features;
  u64 sum{};
};
std::unique_ptr<carried> carried_in(const std::string& path) {
  auto c = std::make_unique<carried>(carried{mapped_file(path), {}, {}, {}, 0});
  const auto all = c->file.bytes();
  trailer end;
  if (all.size() < sizeof end) return nullptr;
  std::memcpy(&end, all.data() + all.size() - sizeof end, sizeof end);
  if (std::memcmp(end.magic, trailer{}.magic, sizeof end.magic) != 0) return nullptr;
  u64 before = all.size() - sizeof end;
  const auto part = [&](u64 bytes) {
    if (bytes > before)
      throw Error(errc::malformed, path, "unit", concat({"at most ", before, " bytes"}), concat({bytes}));
    return all.subspan(before -= bytes, bytes);
  };
  c->features = part(end.features_bytes), c->text = part(end.text_bytes), c->object = part(end.object_bytes);
  c->sum = end.sum;
  return c;
}

u64 sum_of(std::span<const std::byte> object, std::span<const std::byte> text, std::span<const std::byte> features) {
  xxh64 sum;
  sum.add(object), sum.add(text), sum.add(features);
  return sum.value();
}
std::string_view letters_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The program that links libc alone, beside the command or where it is installed.
fs::path plain_program() {
  const fs::path own = own_file(), folder = own.parent_path();
  std::error_code ignored;
  for (const fs::path& p : {folder / "cke_alone", folder.parent_path() / "lib/cke/cke_alone"})
    if (fs::exists(p, ignored)) return p;
  throw Error(errc::unsupported, own.string(), "--standalone", "the program cke_alone beside it", "none in this build");
}

}  // namespace

const std::string& own_bundle() {
  static const std::string path = [] {
    const fs::path own = own_file();
    if (own.empty()) throw Error(errc::file, "/proc/self/exe", {}, "the name of this program", "none: is /proc there?");
    return carried_in(own) ? own.string() + ".cke" : std::string();
  }();
  return path;
}

std::shared_ptr<const library> carried_unit(const unit& u) {
  if (own_bundle().empty()) return nullptr;
  const fs::path own = own_file();
  const auto c = carried_in(own);
  if (letters_of(c->text) != u.text) return nullptr;
  if (sum_of(c->object, c->text, c->features) != c->sum)
    throw Error(errc::malformed, own.string(), "unit", "the checksum of its bytes", "another");
  // Opening it runs its code. The command itself may be compiled for a machine that has less.
  if (const std::string missing = lacking(letters_of(c->features), features_of_cpu()); !missing.empty())
    throw Error(errc::unsupported, own.string(), "unit", "the cpu that it was compiled for, with " + missing,
                "one without");
  // The dynamic linker takes files alone, so here is one in memory. It stays mapped when the descriptor is gone.
  const int fd = ::memfd_create("cke-unit", MFD_CLOEXEC);
  if (fd < 0) throw Error(errc::file, own.string(), "unit", "a file in memory", std::strerror(errno));
  struct closer {
    int fd;
    ~closer() { ::close(fd); }
  } const close_it{fd};
  for (auto rest = c->object; !rest.empty();) {
    const ::ssize_t n = ::write(fd, rest.data(), rest.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) throw Error(errc::file, own.string(), "unit", "memory for it", std::strerror(errno));
    rest = rest.subspan(static_cast<std::size_t>(n));
  }
  std::string why;
  auto door = library::open(concat({"/proc/self/fd/", static_cast<u64>(fd)}), u.door, why);
  if (!door) throw Error(errc::file, own.string(), "unit", "an object that can be opened", why);
  return door;
}

void write_standalone(const std::string& path, const unit& u, const std::string& object, const std::string& features) {
  const mapped_file program(plain_program()), compiled(object);
  const auto text = std::as_bytes(std::span(u.text)), needed = std::as_bytes(std::span(features));
  const trailer end{.object_bytes = compiled.bytes().size(),
                    .text_bytes = text.size(),
                    .features_bytes = needed.size(),
                    .sum = sum_of(compiled.bytes(), text, needed)};
  io::new_file to(path, program.bytes().size() + end.object_bytes + end.text_bytes + end.features_bytes + sizeof end);
  to.write(program.bytes());
  to.write(compiled.bytes());
  to.write(text);
  to.write(needed);
  to.write(std::as_bytes(std::span(&end, 1)));
  to.commit();
  if (::chmod(path.c_str(), 0755) != 0)
    throw Error(errc::file, path, {}, "a file to be executed", std::strerror(errno));
}

}  // namespace cke::tool
