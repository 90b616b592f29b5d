// SPDX-License-Identifier: MIT
// gguf.hpp: reads GGUF files (versions 2 and 3): metadata by key, tensors by name.
#pragma once

#include <algorithm>
#include <bit>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../core/function_ref.hpp"
#include "../core/plain_list.hpp"
#include "gguf_cursor.hpp"
#include "tensor_index.hpp"

CKE_COLD_BEGIN
namespace cke::io {

// A GGUF file. Reading it checks everything: each length, count, type, alignment and tensor position. Throws
// Error{errc::malformed}, or errc::unsupported for a big-endian file or another version. A file without tensors (a
// vocabulary) is valid.
class gguf {
 public:
  // Maps the file; this object and copies of tensors() keep the map alive. For a split model, NAME-00001-of-00003.gguf
  // and so on, pass any part: the result has the tensors of all parts and the metadata of the first.
  static gguf read(const std::string& path) {
    gguf file = read_part(path);
    if (file.parts() > 1) return joined(file);
    return file;
  }
  // Reads bytes in memory, which must outlive the result; errors call them `name`. A part of a split model is
  // unsupported.
  static gguf parse(std::span<const std::byte> bytes, std::string name) {
    gguf file(std::make_shared<const mapped_file>(std::move(name), bytes));
    if (file.parts() > 1)
      throw Error(errc::unsupported, file.file(), "key split.count", "a file in one part",
                  concat({file.parts(), " parts"}));
    return file;
  }

  u32 version() const { return version_; }
  const std::string& file() const { return file_->name(); }  // of a split model, the first part
  const tensor_index& tensors() const { return tensors_; }
  tensor_index take_tensors() && { return std::move(tensors_); }
  std::span<const gguf_value> values() const { return {values_.begin(), values_.end()}; }  // in file order

  // nullptr if there is none.
  CKE_OUT_OF_LINE const gguf_value* find(std::string_view key) const {
    const auto it = std::lower_bound(by_key_.begin(), by_key_.end(), key,
                                     [&](u32 i, std::string_view wanted) { return values_[i].key < wanted; });
    return it != by_key_.end() && values_[*it].key == key ? &values_[*it] : nullptr;
  }

  // Returns a value as bool, u32, i32, u64, i64, float, double or std::string_view (into the file). A stored integer of
  // any type converts if it fits. Throws Error{errc::config_mismatch} with the key, T and the stored type.
  template <class T> CKE_OUT_OF_LINE T get(std::string_view key) const {
    const gguf_value& v = require(key, detail::gguf_name<T>);
    return item_as<T>(v, v.type, v.bytes, detail::gguf_name<T>);
  }
  // The fallback applies only if the key is absent; a value that does not convert is still an error.
  template <class T> CKE_OUT_OF_LINE T get_or(std::string_view key, T fallback) const {
    return find(key) ? get<T>(key) : fallback;
  }

  // Calls `take` for each item of an array; items convert as in get().
  template <class T> CKE_OUT_OF_LINE void each(std::string_view key, function_ref<void(T)> take) const {
    const std::string want = concat({"array of ", detail::gguf_name<T>});
    const gguf_value& v = require_array(key, want, std::is_same_v<T, std::string_view>);
    detail::gguf_cursor in{v.bytes, file()};
    for (u64 i = 0; i < v.count; ++i) take(item_as<T>(v, v.item, in.value(key, v.item).bytes, want));
  }
  template <class T> std::vector<T> array(std::string_view key) const {
    std::vector<T> out;
    each<T>(key, [&](T x) { out.push_back(x); });
    return out;
  }

 private:
  explicit gguf(std::shared_ptr<const mapped_file> file);
  static gguf read_part(const std::string& path) { return gguf(std::make_shared<const mapped_file>(path)); }
  u64 parts() const { return get_or<u64>("split.count", 1); }
  static gguf joined(const gguf& part);
  void read_values(detail::gguf_cursor& in, u64 count);
  tensor_ref read_tensor(detail::gguf_cursor& in) const;
  std::vector<tensor_ref> read_tensors(detail::gguf_cursor& in, u64 count, u64 alignment) const;

  [[noreturn]] CKE_OUT_OF_LINE void mismatch(std::string_view key, std::string_view want,
                                             std::string_view found) const {
    throw Error(errc::config_mismatch, file(), concat({"key ", key}), want, found);
  }
  const gguf_value& require(std::string_view key, std::string_view want) const {
    if (const gguf_value* v = find(key)) return *v;
    mismatch(key, want, "no such key");
  }
  CKE_OUT_OF_LINE const gguf_value& require_array(std::string_view key, std::string_view want, bool strings) const {
    const gguf_value& v = require(key, want);
    if (v.type != gguf_type::array || v.item == gguf_type::array || strings != (v.item == gguf_type::string))
      mismatch(key, want, describe(v));
    return v;
  }
  template <class T>
  T item_as(const gguf_value& v, gguf_type t, std::span<const std::byte> bytes, std::string_view want) const {
    T x{};
    if (!detail::convert(t, bytes, x))
      mismatch(v.key, want, t == gguf_type::array ? describe(v) : detail::describe(t, bytes));
    return x;
  }

  std::shared_ptr<const mapped_file> file_;
  u32 version_ = 0;
  plain_list<gguf_value> values_;
  plain_list<u32> by_key_;  // positions in values_, sorted by key
  tensor_index tensors_;
};

inline gguf::gguf(std::shared_ptr<const mapped_file> from) : file_(std::move(from)) {
  detail::gguf_cursor in{file_->bytes(), file()};
  const auto unsupported = [&](std::string_view subject, std::string_view expected, std::string_view found) {
    throw Error(errc::unsupported, file(), subject, expected, found);
  };
  const auto magic = detail::characters(in.take(4, {"magic"}));
  if (magic != "GGUF") in.fail({"magic"}, "GGUF", magic);
  version_ = in.number<u32>({"version"});
  if (version_ != 2 && version_ != 3)
    unsupported("version", "2 or 3, little endian",
                version_ && (version_ & 0xffff) == 0 ? "a big-endian file" : concat({version_}));
  // The least size of an entry. Tensor: name length, no dimensions, type, offset. Metadata: key length, type, one byte.
  const u64 tensor_count = in.count(8 + 4 + 4 + 8, {"number of tensors"});
  const u64 value_count = in.count(8 + 4 + 1, {"number of metadata values"});
  if (std::max(tensor_count, value_count) > max_tensors)
    unsupported("header", concat({"at most ", max_tensors, " tensors and as many metadata values"}),
                concat({tensor_count, " and ", value_count}));
  read_values(in, value_count);

  const u64 alignment = get_or<u64>("general.alignment", 32);
  if (!std::has_single_bit(alignment) || alignment > 1 << 20)
    in.fail({"key general.alignment"}, "a power of two up to 1048576", concat({alignment}));
  tensors_ = tensor_index(read_tensors(in, tensor_count, alignment));
}

// Joins a split model: reads all parts from the directory of `part` and checks that each is the one its name claims.
inline gguf gguf::joined(const gguf& part) {
  const u64 count = part.parts();
  const auto five = [](u64 n) {
    return concat({std::string_view("00000").substr(std::min<std::size_t>(5, concat({n}).size())), n});
  };
  const auto end_of_name = [&](u64 number) { return concat({"-", five(number), "-of-", five(count), ".gguf"}); };
  const std::string mine = end_of_name(part.get<u64>("split.no") + 1);
  if (!part.file().ends_with(mine) || part.get<u64>("split.no") >= count)
    throw Error(errc::malformed, part.file(), "file name", concat({"one of ", count, " parts, that ends in ", mine}),
                "another");
  const std::string stem = part.file().substr(0, part.file().size() - mine.size());

  std::vector<tensor_ref> tensors;
  gguf first = read_part(stem + end_of_name(1));
  const auto take = [&](const gguf& one, u64 i) {
    if (one.parts() != count || one.get<u64>("split.no") != i)
      throw Error(errc::malformed, one.file(), "keys split.no and split.count", concat({i, " of ", count}),
                  concat({one.get<u64>("split.no"), " of ", one.parts()}));
    if (tensors.size() + one.tensors().tensors().size() > max_tensors)
      throw Error(errc::unsupported, one.file(), "header", concat({"at most ", max_tensors, " tensors in all parts"}),
                  "more");
    for (const tensor_ref& t : one.tensors().tensors()) tensors.emplace_back(tensor_ref(t));
  };
  take(first, 0);
  for (u64 i = 1; i < count; ++i) take(read_part(stem + end_of_name(i + 1)), i);
  if (const u64 all = first.get<u64>("split.tensors.count"); all != tensors.size())
    throw Error(errc::malformed, first.file(), "key split.tensors.count",
                concat({tensors.size(), " tensors, as in all parts"}), concat({all}));
  first.tensors_ = tensor_index(std::move(tensors));
  return first;
}

inline void gguf::read_values(detail::gguf_cursor& in, u64 count) {
  values_.resize(count);
  for (u64 i = 0; i < count; ++i) {
    const auto key = detail::characters(in.text({"a metadata key"}));
    const gguf_type type = in.type({"key ", key});
    values_[i] = in.value(key, type);
  }
  by_key_ = sorted_order(count, [&](u32 a, u32 b) { return values_[a].key < values_[b].key; });
  for (u64 i = 1; i < count; ++i)
    if (const auto key = values_[by_key_[i]].key; key == values_[by_key_[i - 1]].key)
      in.fail({"key ", key}, "one value", "two");
}

// Reads one entry of the tensor list. `bytes` is not set yet.
inline tensor_ref gguf::read_tensor(detail::gguf_cursor& in) const {
  tensor_ref t;
  t.file = file_;
  t.name = detail::characters(in.text({"a tensor name"}));
  const detail::gguf_cursor::subject what{"tensor ", t.name};
  const u32 rank = in.number<u32>(what);
  if (rank > 4) in.fail(what, "at most 4 dimensions", concat({rank}));
  t.shape.resize(rank);
  for (u32 d = rank; d-- > 0;) t.shape[d] = in.number<u64>(what);  // the file lists the fastest dimension first
  const u32 type = in.number<u32>(what);
  if (stored_in_files(type)) t.type = static_cast<dtype>(type);
  t.stored = t.type == dtype::none ? concat({"ggml type ", type}) : concat({info(t.type).name});
  return t;
}

inline std::vector<tensor_ref> gguf::read_tensors(detail::gguf_cursor& in, u64 count, u64 alignment) const {
  std::vector<tensor_ref> tensors;
  plain_list<u64> offsets(count), sizes(count);
  tensors.reserve(count);
  for (u64 i = 0; i < count; ++i) {
    tensor_ref& t = tensors.emplace_back(read_tensor(in));
    const detail::gguf_cursor::subject what{"tensor ", t.name};
    const u64 offset = in.number<u64>(what);
    if (offset % alignment != 0)
      in.fail(what, concat({"an offset that is a multiple of ", alignment}), concat({offset}));
    u64 elements = 1, size = 0;
    for (const u64 d : t.shape)
      if (d == 0 || !checked_mul(elements, d, elements))
        in.fail(what, "dimensions above 0 whose product fits in 64 bits", concat({d}));
    if (t.type != dtype::none) {
      const dtype_info& row = info(t.type);
      if (const u64 columns = t.shape.empty() ? 1 : t.shape.back(); columns % row.block != 0)
        in.fail(what, concat({"rows of a multiple of ", row.block, " elements for ", t.stored}), concat({columns}));
      if (!checked_mul(elements / row.block, row.bytes, size))
        in.fail(what, "a size that fits in 64 bits", concat({elements, " elements of ", t.stored}));
    }
    offsets[i] = offset, sizes[i] = size;
  }
  if (tensors.empty()) return tensors;

  in.take(align_up(in.at, alignment) - in.at, {"padding before the tensor data"});
  const auto data = in.bytes.subspan(in.at);
  u64 used = 0;
  const tensor_ref* previous = nullptr;
  for (const u32 i : sorted_order(count, [&](u32 a, u32 b) {
         if (offsets[a] != offsets[b]) return offsets[a] < offsets[b];
         return sizes[a] != sizes[b] ? sizes[a] < sizes[b] : a < b;
       })) {
    const u64 offset = offsets[i], size = sizes[i];
    tensor_ref& t = tensors[i];
    if (!fits(offset, size, data.size()))
      in.fail({"tensor ", t.name}, concat({size, " bytes at offset ", offset}),
              concat({data.size(), " bytes of tensor data"}));
    if (offset < used)
      in.fail({"tensor ", t.name}, "bytes of its own", concat({"an overlap with tensor ", previous->name}));
    t.bytes = data.subspan(offset, size);
    used = offset + size;
    previous = &t;
  }
  return tensors;
}

}  // namespace cke::io
CKE_COLD_END
