// SPDX-License-Identifier: MIT
// bundle.cpp: see bundle.hpp.
#include "bundle.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include <cke/core/xxh64.hpp>
#include <cke/io/pattern_splitter.hpp>

#include "rooms.hpp"
#include "unit_formats.hpp"
#include "vocabulary_bytes.hpp"

namespace cke::tool {
namespace {

// The header of a mapped bundle, and the manifest's text.
struct opened {
  bundle_header header;
  std::string text;
};
opened open_header(const mapped_file& file) {
  const auto bytes = file.bytes();
  const auto malformed = [&](std::string_view what, std::string_view expected, std::string_view found) {
    throw Error(errc::malformed, file.name(), what, expected, found);
  };
  const auto differs = [&](std::string_view what, u64 wanted, u64 found) {
    if (wanted != found) malformed(what, concat({"XXH64 ", hex(wanted)}), hex(found));
  };
  opened o;
  bundle_header& h = o.header;
  if (bytes.size() < sizeof h) malformed("header", concat({sizeof h, " bytes"}), concat({u64{bytes.size()}}));
  std::memcpy(&h, bytes.data(), sizeof h);
  if (std::memcmp(h.magic, bundle_header{}.magic, sizeof h.magic) != 0) malformed("header magic", "CKE-PACK", "others");
  if (h.version != bundle_header::current)
    throw Error(errc::unsupported, file.name(), "header version", concat({bundle_header::current, ": ", pack_again}),
                concat({h.version}));
  differs("header", h.sum, h.own_sum());
  if (h.reserved != 0) malformed("header", "0 in its reserved bytes", concat({h.reserved}));
  if (h.file_bytes != bytes.size())
    malformed("file size", concat({h.file_bytes, " bytes, as its header says"}), concat({u64{bytes.size()}}));
  if (h.manifest_bytes > bytes.size() - sizeof h)
    malformed("manifest", concat({"at most ", u64{bytes.size() - sizeof h}, " bytes"}), concat({h.manifest_bytes}));
  const auto text = bytes.subspan(sizeof h, h.manifest_bytes);
  differs("manifest", h.manifest_sum, xxh64::of(text));
  o.text.assign(reinterpret_cast<const char*>(text.data()), text.size());
  return o;
}

dtype type_named(std::string_view name) {
  for (u32 t = 0; t < 256; ++t)
    if ((stored_in_files(t) || t == static_cast<u32>(dtype::f8_e4m3)) && info(static_cast<dtype>(t)).name == name)
      return static_cast<dtype>(t);
  return dtype::none;
}

}  // namespace

bool is_bundle(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return false;
  char magic[sizeof bundle_header{}.magic];
  const bool whole = ::read(fd, magic, sizeof magic) == sizeof magic;
  ::close(fd);
  return whole && std::memcmp(magic, bundle_header{}.magic, sizeof magic) == 0;
}

manifest::origin origin_of_bundle(const std::string& path) {
  return manifest::origin_in(open_header(mapped_file(path)).text, path);
}

std::vector<manifest::shard> shards_of_bundle(const std::string& path) {
  if (!is_bundle(path)) return {};
  try {
    return manifest::shards_in(open_header(mapped_file(path)).text, path);
  } catch (const Error&) { return {}; }
}

bundle::bundle(const std::string& path) : file_(std::make_shared<const mapped_file>(path)) {
  const opened o = open_header(*file_);
  parts_begin_ = sizeof o.header + o.header.manifest_bytes;
  manifest_ = manifest::parse(o.text, path, parts_begin_, file_->bytes().size());
  check_padding();
  check_source();
  if (!manifest_.shards.empty()) shards_ = std::make_shared<const mapped_shards>(path, manifest_.shards);
}

// What is between the parts is nothing, so that no byte of the file is unchecked.
void bundle::check_padding() const {
  u64 at = parts_begin_;
  const auto empty = [&](u64 end) {
    for (; at < end; ++at)
      if (file_->bytes()[at] != std::byte{})
        throw Error(errc::malformed, file_->name(), concat({"byte ", at}), "0 between the parts",
                    concat({std::to_integer<u32>(file_->bytes()[at])}));
  };
  const auto gap = [&](const char* part, u64 begin) {
    if (begin - at > 2 * bundle_alignment)
      throw Error(errc::malformed, file_->name(), concat({"manifest key ", part, ".offset"}),
                  concat({"a part that begins near byte ", at}), concat({begin}));
    empty(begin);
  };
  if (const auto& v = manifest_.vocabulary) gap("vocabulary", v->offset), at = v->offset + v->bytes;
  gap("weights", manifest_.weights.offset);
}

// A file that is gone, or out of sight here, is no reason to refuse.
void bundle::check_source() const {
  for (const manifest::file& f : manifest_.files) {
    u64 bytes{};
    i64 modified{};
    if (!stamp_of_file(f.path, bytes, modified)) continue;
    if (bytes == f.bytes && (modified == f.modified || sum_of_file(f.path) == f.sum)) continue;
    throw Error(errc::config_mismatch, file_->name(), concat({"source ", f.path}),
                concat({"the file that it was packed from, or none: ", pack_again}), "one that has changed since");
  }
}

checkpoint bundle::as_checkpoint() const {
  const manifest& m = manifest_;
  checkpoint c;
  c.name = file_->name(), c.as = m.gguf ? naming::gguf : naming::hf;
  c.model_type = m.model_type, c.config = m.config, c.stop_ids = m.stop_ids;
  const auto nothing = std::make_shared<const mapped_file>(c.name, std::span<const std::byte>{});
  std::vector<tensor_ref> tensors;
  for (const manifest::tensor& t : m.tensors)
    tensors.push_back({t.name, type_named(t.type), t.type, t.shape, {}, nothing});
  c.tensors = tensor_index(std::move(tensors));
  if (!m.vocabulary) return c;
  const auto bytes = part(*m.vocabulary);
  if (const u64 found = xxh64::of(bytes); found != m.vocabulary->sum)
    throw Error(errc::malformed, c.name, "vocabulary", concat({"XXH64 ", hex(m.vocabulary->sum)}), hex(found));
  c.tokens = std::make_shared<const vocabulary>(with_patterns(vocabulary_of(bytes, c.name), c.name));
  return c;
}

std::unique_ptr<block_check> bundle::check_weights(u32 threads) const {
  return std::make_unique<block_check>(weights(), bundle_block, manifest_.block_sums, threads);
}
void bundle::finish(block_check& check) const {
  for (const auto& bad : check.finish()) {
    u64 begin = 0;  // of the weight in which the block begins
    std::string in;
    for (const manifest::weight& w : manifest_.list) {
      if (begin > bad.number * bundle_block) break;
      in = w.name, begin += w.bytes;
    }
    u64 at = bad.number * bundle_block;
    std::string part;  // which has the block
    for (const manifest::shard& s : manifest_.shards) {
      if (part.empty() && at < s.bytes) part = concat({", in its part ", s.name});
      at -= std::min(at, s.bytes);
    }
    throw Error(errc::malformed, file_->name(),
                concat({"block ", bad.number, " of the weights, from ", in, " on", part}),
                concat({"XXH64 ", hex(manifest_.block_sums[bad.number])}), hex(bad.found));
  }
}

std::vector<u64> bundle::sizes() const {
  std::vector<u64> all;
  for (const manifest::weight& w : manifest_.list) all.push_back(w.bytes);
  return all;
}
cke_packed bundle::packed(std::span<const u64> sizes) const {
  return {weights().data(),
          weights().size(),
          sizes.data(),
          sizes.size(),
          {manifest_.program, manifest_.layout, manifest_.isa.c_str()}};
}

unit unit_of_bundle(const manifest& m, const checkpoint& from, const unit_options& asked) {
  if (!asked.format.empty() && asked.format != m.format)
    throw Error(errc::usage, from.name, "--format", concat({m.format, ", as its weights are packed"}), asked.format);
  const auto known = [&](const char* key, bool is, const std::string& found) {
    if (!is) throw Error(errc::malformed, from.name, concat({"manifest key ", key}), "a type that cke has", found);
  };
  known("source.format", m.source.format.empty() || std::ranges::count(format_names(), m.source.format),
        m.source.format);
  known("model.kv", std::ranges::count(kv_names(), m.kv), m.kv);
  unit u = make_unit(from, {.format = m.source.format, .kv = asked.kv.empty() ? m.kv : asked.kv, .door = asked.door});
  const auto check = [&](const char* key, const std::string& made, const std::string& packed) {
    if (made == packed) return;
    throw Error(errc::config_mismatch, from.name, concat({"manifest key model.", key}),
                concat({made, ": ", pack_again}), packed);
  };
  check("family", u.family, m.family);
  check("type", u.type, m.type);
  check("format", u.format, m.format);
  return u;
}

u64 sum_of_file(const std::string& path) {
  const mapped_file file(path);
  const auto bytes = file.bytes();
  xxh64 sum;
  for (u64 at = 0; at < bytes.size(); at += bundle_block) {
    const auto part = bytes.subspan(at, std::min(bundle_block, bytes.size() - at));
    sum.add(part);
    file.drop(part);
  }
  return sum.value();
}

bool stamp_of_file(const std::string& path, u64& bytes, i64& modified) {
  struct stat is{};
  if (::stat(path.c_str(), &is) != 0) return false;
  bytes = static_cast<u64>(is.st_size);
  modified = std::max<i64>(0, i64{is.st_mtim.tv_sec} * 1'000'000'000 + is.st_mtim.tv_nsec);  // may be before 1970
  return true;
}

}  // namespace cke::tool
