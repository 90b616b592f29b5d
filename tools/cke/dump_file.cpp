// SPDX-License-Identifier: MIT
// dump_file.cpp: implements dump_file.hpp.
#include "dump_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include <cke/io/mapped_file.hpp>
#include <cke/io/new_file.hpp>

#include "commands.hpp"
#include "json_text.hpp"
#include "step_list.hpp"

namespace cke::tool {
namespace {

using json_object = nlohmann::ordered_json;
constexpr const char *index_file = "index.json", *ckdmp_file = "steps.ckdmp";
constexpr int index_version = 1;

std::string file_name(const dumped_value& v) {
  char number[16];
  std::snprintf(number, sizeof number, "%04u-", v.step);
  return number + full_name(v.layer, v.name) + ".npy";
}
// A name as a CKDMP record keeps it.
std::string kept_name(i32 layer, const std::string& name) {
  return full_name(layer, name.substr(0, sizeof(ckdmp_header::op) - 1));
}

}  // namespace

struct dump_writer::open_value {
  dumped_value is;
  u64 written = 0;  // rows
};

dump_writer::dump_writer(const std::string& path, bool ckdmp) : folder_(path), ckdmp_(ckdmp) {}
dump_writer::~dump_writer() = default;

void dump_writer::add(const dumped_value& v, u32 position, std::span<const float> values) {
  open_value*& at = by_name_[full_name(v.layer, v.name)];
  const bool first = !at;
  if (first) {
    values_.push_back(std::make_unique<open_value>(v));
    at = values_.back().get();
    at->is.file = ckdmp_ ? ckdmp_file : file_name(v);
  }
  const std::string file = folder_.partial() + '/' + at->is.file;
  at->written += values.size() / v.width;
  bytes_ += values.size_bytes();
  if (!ckdmp_) {
    if (first) npy_writer(file, v.rows, v.width).close();
    append_to_npy(file, values);
    return;
  }
  std::ofstream out(file, std::ios::binary | std::ios::app);
  const u32 shape[]{static_cast<u32>(values.size() / v.width), static_cast<u32>(v.width)};
  write_ckdmp(out, v.layer, v.name, static_cast<i32>(position), shape, values);
  if (!out.flush()) throw Error(errc::file, file, {}, "a file that can be written", std::strerror(errno));
}

void dump_writer::commit(json_object facts) {
  json_object index{{"cke_dump", index_version}};
  index.update(facts);
  index["values"] = json_object::array();
  for (const auto& o : values_) {
    const dumped_value& v = o->is;
    if (o->written != v.rows)
      throw Error(errc::usage, {}, full_name(v.layer, v.name), concat({v.rows, " rows"}), concat({o->written}));
    index["values"].push_back({{"step", v.step},
                               {"layer", v.layer},
                               {"op", v.op},
                               {"name", v.name},
                               {"shape", {v.rows, v.width}},
                               {"type", v.type},
                               {"file", v.file}});
  }
  const std::string text = index.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
  new_file file(folder_.partial() + '/' + index_file, text.size());
  file.write(std::as_bytes(std::span(text)));
  file.commit();
  folder_.commit();
}

dump_directory::dump_directory(const std::string& path) : path_(path) {
  while (path_.size() > 1 && path_.ends_with('/')) path_.pop_back();
  read_index();
  scan_ckdmp();
}

void dump_directory::fail(const std::string& file, const std::string& about, const std::string& want,
                          const std::string& found) const {
  throw Error(errc::malformed, path_ + '/' + file, about, want, found);
}

void dump_directory::read_index() {
  const std::string text = file_text(path_ + '/' + index_file);
  const json_object index = json_object::parse(text, nullptr, false);
  if (!index.is_object() || !index.contains("cke_dump")) fail(index_file, {}, "what cke dump writes", "something else");
  if (index["cke_dump"] != index_version)
    fail(index_file, "cke_dump", std::to_string(index_version), shown(index["cke_dump"]));
  try {
    model_ = index.at("model");
    for (const json_object& id : index.at("tokens")) tokens_.push_back(id.get<u32>());
    for (const json_object& v : index.at("values")) {
      const json_object& shape = v.at("shape");
      dumped_value value{.layer = v.at("layer"),
                         .name = v.at("name"),
                         .op = v.at("op"),
                         .type = v.at("type"),
                         .step = v.at("step"),
                         .rows = shape.at(0),
                         .width = shape.at(1),
                         .file = v.at("file")};
      if (value.file.find('/') != value.file.npos || value.rows == 0 || value.width == 0 || value.rows > 1u << 30 ||
          value.width > 1u << 30)
        fail(index_file, "value " + full_name(value.layer, value.name), "a file of this directory, and a shape",
             shown(v));
      if (find(value.layer, value.name))
        fail(index_file, "value " + full_name(value.layer, value.name), "each value once", "it twice");
      values_.push_back(std::move(value));
    }
  } catch (const json_object::exception& e) { fail(index_file, {}, "tokens, and values with shapes", e.what()); }
}

void dump_directory::scan_ckdmp() {
  if (std::ranges::none_of(values_, [](const dumped_value& v) { return v.file == ckdmp_file; })) return;
  const mapped_file file(path_ + '/' + ckdmp_file);
  const auto bytes = file.bytes();
  for (u64 at = 0; at < bytes.size();) {
    ckdmp_header h;
    const auto about = concat({"record at byte ", at});
    if (!fits(at, sizeof h, bytes.size())) fail(ckdmp_file, about, "128 bytes", concat({bytes.size() - at}));
    std::memcpy(&h, bytes.data() + at, sizeof h);
    if (std::memcmp(h.magic, ckdmp_header{}.magic, sizeof h.magic) != 0 || h.version != 1 || h.rank != 2 ||
        h.type != static_cast<u32>(dtype::f32) || h.op[sizeof h.op - 1] != 0 || h.shape[0] < 1 || h.shape[1] < 1 ||
        h.elements / static_cast<u64>(h.shape[1]) != static_cast<u64>(h.shape[0]) || h.elements % h.shape[1] != 0)
      fail(ckdmp_file, about, "CKDMP, version 1, rows of float32", "something else");
    const u64 data = u64{h.elements} * sizeof(float);
    at += sizeof h;
    if (!fits(at, data, bytes.size()))
      fail(ckdmp_file, about, concat({data, " bytes of numbers"}), concat({bytes.size() - at}));
    records_[full_name(h.layer, h.op)].emplace_back(at, data);
    at += data;
  }
}

const dumped_value* dump_directory::find(i32 layer, const std::string& name) const {
  const auto at =
      std::ranges::find_if(values_, [&](const dumped_value& v) { return v.layer == layer && v.name == name; });
  return at == values_.end() ? nullptr : &*at;
}

std::vector<float> dump_directory::read(const dumped_value& v) const {
  const auto shape = concat({"[", v.rows, ", ", v.width, "]"});
  if (v.file != ckdmp_file) {
    npy_array a = read_npy(path_ + '/' + v.file);
    if (a.shape.size() != 2 || a.shape[0] != v.rows || a.shape[1] != v.width)
      fail(v.file, "shape", shape + ", as index.json says",
           concat({a.shape.empty() ? 0 : a.shape[0], " rows of another width"}));
    return std::move(a.values);
  }
  const auto at = records_.find(kept_name(v.layer, v.name));
  u64 bytes = 0;
  if (at != records_.end())
    for (const auto& [offset, size] : at->second) bytes += size;
  if (bytes != v.rows * v.width * sizeof(float))
    fail(ckdmp_file, "records of " + full_name(v.layer, v.name), shape + ", as index.json says",
         concat({bytes / sizeof(float), " numbers"}));
  std::vector<float> values(v.rows * v.width);
  const mapped_file file(path_ + '/' + ckdmp_file);
  std::byte* to = reinterpret_cast<std::byte*>(values.data());
  for (const auto& [offset, size] : at->second) {
    if (!fits(offset, size, file.bytes().size()))
      fail(ckdmp_file, "file", "the size that it had when it was opened", concat({file.bytes().size()}));
    std::memcpy(to, file.bytes().data() + offset, size), to += size;
  }
  return values;
}

}  // namespace cke::tool
