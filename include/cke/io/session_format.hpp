// SPDX-License-Identifier: MIT
// session_format.hpp: the file format of a saved session: header, ids, logits, pages, checksum.
#pragma once

#include <cstring>
#include <span>
#include <string>
#include <utility>

#include "../core/concat.hpp"
#include "../core/xxh64.hpp"
#include "mapped_file.hpp"
#include "new_file.hpp"

CKE_COMPILED_ONCE
namespace cke::io {

// The first 128 bytes, little-endian. Then u32 ids, f32 logits, the persistent part of all pages, the transient part of
// the last ones, and the XXH64 of everything before it.
struct session_header {
  static constexpr u32 current = 2;  // increment when the meaning of a page's bytes changes

  char magic[8] = {'C', 'K', 'E', '-', 'S', 'E', 'S', 'S'};
  u32 version = current;
  u32 kv_type{};                               // GGUF's number of the KV cache's format
  u64 program{}, weights{};                    // checksums of the model's program and of its packed weights
  u64 page_bytes{}, transient_bytes{};         // bytes of a page's persistent and transient part
  u32 page_positions{}, pages{}, transient{};  // transient: the number of last pages that are stored with both parts
  u32 vocab{}, ids{}, position{};  // position: ids computed into pages; a rewind may have left the rest to recompute
  u32 stale{};                     // 1: the logits are zeros; a feed of no ids computes those after the last id
  u32 reserved[11]{};
  u64 checksum{};  // of the header's bytes before it

  u64 own_checksum() const {
    return xxh64::of(std::as_bytes(std::span(this, 1)).first(sizeof *this - sizeof checksum));
  }
  // The size of the whole file; false if it exceeds 64 bits.
  bool file_bytes(u64& bytes) const {
    u64 more;
    return checked_mul(page_bytes, pages, bytes) && checked_mul(transient_bytes, transient, more) &&
        checked_add(bytes, more, bytes) &&
        checked_add(bytes, sizeof *this + sizeof(u64) + (u64{ids} + vocab) * sizeof(u32), bytes);
  }
};
static_assert(sizeof(session_header) == 128);

// Writes a session's file; it appears under its name, replacing an older one, only once complete. Throws Error{file}.
class session_writer {
 public:
  session_writer(const std::string& path, session_header h) : file_(path, size_of(h), new_file::existing::replaced) {
    h.checksum = h.own_checksum();
    put(std::as_bytes(std::span(&h, 1)));
  }
  void put(std::span<const std::byte> bytes) {
    sum_.add(bytes);
    file_.write(bytes);
  }
  void commit() {
    const u64 sum = sum_.value();
    file_.write(std::as_bytes(std::span(&sum, 1)));
    file_.commit();
  }

 private:
  static u64 size_of(const session_header& h) {
    u64 bytes = 0;
    return h.file_bytes(bytes) ? bytes : 0;
  }
  new_file file_;
  xxh64 sum_;
};

// Reads a session's file, and checks all of it before any of it is used.
class session_file {
 public:
  // Throws Error: file, malformed.
  explicit session_file(const std::string& path) : map_(path) { parse(map_.bytes(), path, header_); }

  // Throws malformed.
  static void parse(std::span<const std::byte> bytes, const std::string& name, session_header& h) {
    const auto need = [&](bool right, std::string_view subject, std::string_view expected, std::string_view found) {
      if (!right) throw Error(errc::malformed, name, subject, expected, found);
    };
    need(bytes.size() >= sizeof h, "session file", concat({"at least ", sizeof h, " bytes"}), concat({bytes.size()}));
    std::memcpy(&h, bytes.data(), sizeof h);
    need(std::memcmp(h.magic, session_header{}.magic, sizeof h.magic) == 0, {}, "a session file", "another one");
    need(h.version == session_header::current, "session file", concat({"version ", session_header::current}),
         concat({h.version}));
    need(h.checksum == h.own_checksum(), "session file", "a header with its checksum", "damage");
    u64 size = 0;
    need(h.file_bytes(size), "session file", "a size of 64 bits", "more");
    need(bytes.size() == size, "session file", concat({size, " bytes"}), concat({bytes.size()}));
    u64 sum;
    std::memcpy(&sum, bytes.data() + size - sizeof sum, sizeof sum);
    need(sum == xxh64::of(bytes.first(size - sizeof sum)), "session file", "content with its checksum", "damage");
    need(h.position <= h.ids && u64{h.pages} * h.page_positions >= h.position &&
             u64{h.pages} * h.page_positions < u64{h.position} + h.page_positions && h.transient <= h.pages,
         "session file", "pages of its positions", "others");
  }

  const session_header& header() const { return header_; }
  const std::string& name() const { return map_.name(); }
  std::span<const std::byte> ids() const {
    return map_.bytes().subspan(sizeof header_, u64{header_.ids} * sizeof(u32));
  }
  std::span<const std::byte> logits() const {
    return map_.bytes().subspan(sizeof header_ + u64{header_.ids} * sizeof(u32), u64{header_.vocab} * sizeof(float));
  }
  // The persistent part of page i.
  std::span<const std::byte> page(u32 i) const {
    return map_.bytes().subspan(pages_end() - (header_.pages - i) * header_.page_bytes, header_.page_bytes);
  }
  // The transient part of page i, which must be one of the last.
  std::span<const std::byte> transient(u32 i) const {
    return map_.bytes().subspan(pages_end() + (header_.transient - (header_.pages - i)) * header_.transient_bytes,
                                header_.transient_bytes);
  }

 private:
  u64 pages_end() const { return map_.bytes().size() - sizeof(u64) - header_.transient * header_.transient_bytes; }

  mapped_file map_;
  session_header header_;
};

}  // namespace cke::io
