// SPDX-License-Identifier: MIT
// session_file.cpp: fuzz target: any bytes as a session file leave the session empty, or load one that continues.
#include <sys/mman.h>
#include <unistd.h>
#include <cke/session_file.hpp>
#include <cstdlib>

#include "../tests/byte_model.hpp"

namespace {

using namespace cke;
using namespace cke::graph;
using namespace cke::io;
using namespace cke::kernels;
using namespace cke::runtime;
using namespace cke::text;
using text_model = Model<byte_model::tiny, F32>;

// A file in memory, which has a path but no name on disk.
class memory_file {
 public:
  explicit memory_file(std::span<const std::byte> bytes) : fd_(::memfd_create("session", MFD_CLOEXEC)) {
    if (fd_ < 0 || ::write(fd_, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) std::abort();
  }
  memory_file(const memory_file&) = delete;
  memory_file& operator=(const memory_file&) = delete;
  ~memory_file() { ::close(fd_); }
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

// Mutations cannot find checksums, so the bits of the first byte say what to repair: 1 the header's checksum, 2 the
// file's, 4 the model's identity, 8 the size in the header.
std::vector<std::byte> mended(std::span<const std::byte> from, const session_header& ours) {
  const unsigned how = from.empty() ? 0 : static_cast<unsigned>(from[0]);
  std::vector<std::byte> bytes(from.begin() + !from.empty(), from.end());
  session_header h;
  if (bytes.size() < sizeof h) return bytes;
  std::memcpy(&h, bytes.data(), sizeof h);
  if (how & 4) {
    std::memcpy(h.magic, ours.magic, sizeof h.magic);
    h.version = ours.version, h.kv_type = ours.kv_type, h.program = ours.program, h.weights = ours.weights;
    h.page_bytes = ours.page_bytes, h.transient_bytes = ours.transient_bytes, h.page_positions = ours.page_positions,
    h.vocab = ours.vocab;
  }
  if (how & 1) h.checksum = h.own_checksum();
  std::memcpy(bytes.data(), &h, sizeof h);
  u64 size = 0;
  if ((how & 8) && h.file_bytes(size) && size <= u64{1} << 20) bytes.resize(size);
  if ((how & 2) && bytes.size() >= sizeof(u64)) {
    const u64 sum = xxh64::of(std::span(bytes).first(bytes.size() - sizeof sum));
    std::memcpy(bytes.data() + bytes.size() - sizeof sum, &sum, sizeof sum);
  }
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const text_model model =
      text_model::load(byte_model::with_text(random_model::tensors::of<text_model::program>(1)),
                       {.threads = 1, .context = 256, .chunk = 8});
  static auto session = model.session();
  static const session_header ours = cke::detail::header_of(session.model());
  const memory_file file(mended(std::as_bytes(std::span(data, size)), ours));
  try {
    load_session(session, file.path());
    session.feed(std::span<const u32>{});
    if (session.position() < model.context()) session.feed(std::array<u32, 1>{7});
  } catch (const Error&) {
    if (session.position() != 0) std::abort();
  }
  session.reset();
  return 0;
}
