// SPDX-License-Identifier: MIT
// logits.cpp: cke logits: writes the logits of given ids to a NumPy file.
#include <cstdio>

#include "commands.hpp"
#include "rooms.hpp"
#include "terminal.hpp"

namespace cke::tool {
namespace {

// Writes a C-ordered float32 array in NPY version 1, row by row.
class npy_writer {
 public:
  npy_writer(const std::string& path, u64 rows, u64 columns) : path_(path), file_(std::fopen(path.c_str(), "wb")) {
    if (!file_) fail();
    std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + std::to_string(rows) + ", " +
        std::to_string(columns) + "), }";
    header.append(63 - (header.size() + 10) % 64, ' ') += '\n';  // data starts at a multiple of 64
    const char prefix[] = {'\x93',
                           'N',
                           'U',
                           'M',
                           'P',
                           'Y',
                           1,
                           0,
                           static_cast<char>(header.size() & 255),
                           static_cast<char>(header.size() >> 8)};
    write(prefix, sizeof prefix);
    write(header.data(), header.size());
  }
  ~npy_writer() {
    if (file_) std::fclose(file_);
  }
  npy_writer(const npy_writer&) = delete;
  npy_writer& operator=(const npy_writer&) = delete;

  void row(std::span<const float> values) { write(values.data(), values.size_bytes()); }
  void close() {
    if (std::fclose(std::exchange(file_, nullptr))) fail();
  }

 private:
  void write(const void* data, std::size_t bytes) {
    if (std::fwrite(data, 1, bytes, file_) != bytes) fail();
  }
  [[noreturn]] void fail() const {
    throw Error(errc::file, path_, {}, "a file that can be written", std::strerror(errno));
  }

  std::string path_;
  std::FILE* file_;
};

}  // namespace

void logits(const logits_args& args) {
  const std::vector<u32> ids = parse_ids(args.tokens);
  if (ids.empty()) throw Error(errc::usage, {}, "--tokens", "at least one id", "none");
  model_args wanted = args.model;
  if (wanted.context == 0) wanted.context = static_cast<u32>(ids.size());
  const u32 rows_at_once = args.last ? 1 : std::min({static_cast<u32>(ids.size()), wanted.chunk, 32u});
  const loaded_model model = load_model(wanted, needs::weights, rows_at_once);
  const auto session = model.engine->open();
  if (args.last) {
    session->feed(ids);
    npy_writer out(args.output, 1, model.engine->vocab_size());
    out.row(session->logits());
    return out.close();
  }
  // Created with the first row, so that a wrong id leaves no file.
  std::optional<npy_writer> out;
  session->feed_all(ids, [&](u32, std::span<const float> row) {
    if (!out) out.emplace(args.output, ids.size(), model.engine->vocab_size());
    out->row(row);
  });
  out->close();
}

}  // namespace cke::tool
