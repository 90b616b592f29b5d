// SPDX-License-Identifier: MIT
// manifest.cpp: see manifest.hpp.
#include "manifest.hpp"

#include <charconv>
#include <nlohmann/json.hpp>

#include <cke/core/concat.hpp>
#include <cke/core/xxh64.hpp>
#include <cke/io/hf_config.hpp>

#include "rooms.hpp"

namespace cke::tool {
namespace {

using json_object = nlohmann::ordered_json;

// A value of a manifest, with its path of keys.
class value {
 public:
  value(const nlohmann::json& is, std::string key, const std::string& file)
      : is_(is), key_(std::move(key)), file_(file) {}

  [[noreturn]] void fail(std::string_view expected, std::string_view found) const {
    throw Error(errc::malformed, file_, concat({"manifest key ", key_}), expected, found.substr(0, 80));
  }
  value operator[](const char* key) const {
    if (!is_.is_object()) fail("an object", is_.type_name());
    const auto at = is_.find(key);
    const std::string name = key_.empty() ? key : concat({key_, ".", key});
    if (at == is_.end()) value(is_, name, file_).fail("a value", "none");
    return {*at, name, file_};
  }
  bool is_null() const { return is_.is_null(); }
  std::string text() const {
    if (!is_.is_string()) fail("a text", is_.type_name());
    return is_.get<std::string>();
  }
  u64 number(u64 most = ~u64{}) const {
    if (!is_.is_number_unsigned()) fail("a whole number from 0 on", is_.is_number() ? is_.dump() : is_.type_name());
    const u64 n = is_.get<u64>();
    if (n > most) fail(concat({"at most ", most}), concat({n}));
    return n;
  }
  u64 sum() const {
    const std::string digits = text();
    u64 n{};
    const auto [end, wrong] = std::from_chars(digits.data(), digits.data() + digits.size(), n, 16);
    if (digits.size() != 16 || end != digits.data() + 16 || wrong != std::errc{}) fail("16 hexadecimal digits", digits);
    return n;
  }
  // f(item) for each item of a list; the names of the fields of a row have numbers.
  template <class F> void each(F f) const {
    if (!is_.is_array()) fail("a list", is_.type_name());
    for (std::size_t i = 0; i < is_.size(); ++i) f(value(is_[i], concat({key_, "[", u64{i}, "]"}), file_));
  }
  // f(key, value) for each of an object.
  template <class F> void each_key(F f) const {
    if (!is_.is_object()) fail("an object", is_.type_name());
    for (const auto& [key, item] : is_.items()) f(key, value(item, concat({key_, ".", key}), file_));
  }
  // An item of a row with so many.
  value item(std::size_t i, std::size_t of) const {
    if (!is_.is_array() || is_.size() != of)
      fail(concat({"a list of ", u64{of}}), is_.is_array() ? concat({"one of ", u64{is_.size()}}) : is_.type_name());
    return {is_[i], concat({key_, "[", u64{i}, "]"}), file_};
  }

 private:
  const nlohmann::json& is_;
  std::string key_;
  const std::string& file_;
};

manifest::part part_of(const value& v, u64 parts_begin, u64 file_bytes) {
  manifest::part p;
  p.offset = v["offset"].number(), p.bytes = v["bytes"].number();
  if (p.offset < parts_begin || p.offset > file_bytes)
    v["offset"].fail(concat({"a place from ", parts_begin, " to ", file_bytes}), concat({p.offset}));
  if (!fits(p.offset, p.bytes, file_bytes))
    v["bytes"].fail(concat({"at most ", file_bytes - p.offset, " bytes, with which the file ends"}), concat({p.bytes}));
  return p;
}

std::vector<manifest::shard> read_shards(const value& shards) {
  std::vector<manifest::shard> all;
  shards.each([&](const value& row) {
    all.push_back({row.item(0, 2).text(), row.item(1, 2).number()});
    const std::string& name = all.back().name;
    if (name.empty() || name == "." || name == ".." || name.find('/') != name.npos)
      row.item(0, 2).fail("the name of a file in the bundle's folder", name);
  });
  return all;
}
// The part that `weights` are of the bundle's shards together.
manifest::part sharded_part(const value& weights, const std::vector<manifest::shard>& shards, u64 file_bytes) {
  manifest::part p;
  p.offset = weights["offset"].number(), p.bytes = weights["bytes"].number();
  if (p.offset != file_bytes) weights["offset"].fail(concat({file_bytes, ", where the file ends"}), concat({p.offset}));
  u64 left = p.bytes;
  for (std::size_t n = 0; n < shards.size(); left -= shards[n++].bytes)
    if (const bool last = n + 1 == shards.size(); shards[n].bytes == 0 || shards[n].bytes > left ||
        (last ? shards[n].bytes != left : shards[n].bytes % bundle_block != 0))
      weights["shards"].fail(concat({last ? "the last with " : "blocks of ", last ? left : bundle_block, " bytes"}),
                             concat({shards[n].bytes}));
  return p;
}
void read_weights(manifest& m, const value& weights, u64 parts_begin, u64 file_bytes) {
  m.shards = read_shards(weights["shards"]);
  m.weights =
      m.shards.empty() ? part_of(weights, parts_begin, file_bytes) : sharded_part(weights, m.shards, file_bytes);
  if (m.weights.offset % bundle_alignment != 0)
    weights["offset"].fail(concat({"a multiple of ", bundle_alignment}), concat({m.weights.offset}));
  if (m.shards.empty() && m.weights.offset + m.weights.bytes != file_bytes)
    weights["bytes"].fail(concat({file_bytes - m.weights.offset, ", up to the end of the file"}),
                          concat({m.weights.bytes}));
  if (const u64 block = weights["block"].number(); block != bundle_block)
    weights["block"].fail(concat({bundle_block}), concat({block}));
  weights["xxh64"].each([&](const value& sum) { m.block_sums.push_back(sum.sum()); });
  if (const u64 blocks = m.weights.bytes / bundle_block + (m.weights.bytes % bundle_block != 0);
      m.block_sums.size() != blocks)
    weights["xxh64"].fail(concat({blocks, " checksums, one for each block"}), concat({u64{m.block_sums.size()}}));
  u64 used = 0;
  weights["list"].each([&](const value& row) {
    m.list.push_back({row.item(0, 2).text(), row.item(1, 2).number(m.weights.bytes - used)});
    used += m.list.back().bytes;
  });
  if (used != m.weights.bytes)
    weights["list"].fail(concat({"weights of ", m.weights.bytes, " bytes in all"}), concat({used}));
}

u32 value_of(const knob& k, const value& v) {
  const auto n = k.value(v.text());
  if (!n) v.fail(k.range(), v.text());
  return *n;
}
void read_layer_hints(hints& all, const value& layers) {
  layers.each_key([&](const std::string& range, const value& of_range) {
    std::string expected;
    layer_hints* const l = layers_named(range, all, expected);
    if (!l) of_range.fail(expected, range);
    of_range.each_key([&](const std::string& key, const value& v) {
      const knob* const k = knob_named(key);
      if (!k || !k->write_of_layers) v.fail(concat({"one of ", layer_knob_names()}), key);
      k->write_of_layers(*l, value_of(*k, v));
    });
  });
}
void read_hints(manifest& m, const value& hints) {
  hints.each_key([&](const std::string& key, const value& v) {
    if (key == "layers") return read_layer_hints(m.hints, v);
    const knob* const k = knob_named(key);
    if (!k) v.fail(concat({"one of ", knob_names(), ", layers"}), key);
    k->write(m.hints, value_of(*k, v));
  });
}

void read_checkpoint(manifest& m, const value& from) {
  const std::string naming = from["naming"].text();
  if (naming != "gguf" && naming != "hf") from["naming"].fail("gguf or hf", naming);
  m.gguf = naming == "gguf";
  m.model_type = from["model_type"].text(), m.config = from["config"].text(), m.pooling = from["pooling"].text();
  from["stop_ids"].each([&](const value& id) { m.stop_ids.push_back(static_cast<u32>(id.number(~u32{} - 1))); });
  from["tensors"].each([&](const value& row) {
    manifest::tensor t{row.item(0, 3).text(), row.item(1, 3).text(), {}};
    row.item(2, 3).each([&](const value& n) {
      if (t.shape.size() == tensor_shape::most) row.item(2, 3).fail("at most 8 dimensions", "more");
      t.shape.push_back(n.number());
    });
    m.tensors.push_back(std::move(t));
  });
}

}  // namespace

std::string hex(u64 sum) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(sum));
  return text;
}

u64 bundle_header::own_sum() const {
  return xxh64::of(std::as_bytes(std::span(this, 1)).first(sizeof *this - sizeof sum));
}

std::string manifest::text() const {
  json_object all{{"cke", version},
                  {"model", {{"name", name}, {"family", family}, {"type", type}, {"format", format}, {"kv", kv}}},
                  {"hints", json_object::object()},
                  {"form", {{"isa", isa}, {"layout", layout}, {"program", hex(program)}}}};
  for (const knob& k : knobs)
    if (const auto value = k.read(hints)) all["hints"][std::string(k.name)] = k.text(*value);
  for (const layer_hints& l : hints.layers)
    for (const knob& k : knobs)
      if (const auto value = k.read_of_layers(l))
        all["hints"]["layers"][range_text(l)][std::string(k.name)] = k.text(*value);
  json_object& from =
      all["source"] = {{"path", source.path}, {"format", source.format}, {"files", json_object::array()}};
  for (const file& f : files)
    from["files"].push_back({{"path", f.path}, {"bytes", f.bytes}, {"modified", f.modified}, {"xxh64", hex(f.sum)}});
  json_object& has = all["checkpoint"] = {
      {"naming", gguf ? "gguf" : "hf"}, {"model_type", model_type},       {"config", config}, {"pooling", pooling},
      {"stop_ids", stop_ids},           {"tensors", json_object::array()}};
  for (const tensor& t : tensors)
    has["tensors"].push_back({t.name, t.type, std::vector<u64>(t.shape.begin(), t.shape.end())});
  if (vocabulary)
    all["vocabulary"] = {{"offset", vocabulary->offset}, {"bytes", vocabulary->bytes}, {"xxh64", hex(vocabulary->sum)}};
  else all["vocabulary"] = nullptr;
  json_object& w =
      all["weights"] = {{"offset", weights.offset}, {"bytes", weights.bytes},        {"shards", json_object::array()},
                        {"block", bundle_block},    {"xxh64", json_object::array()}, {"list", json_object::array()}};
  for (const shard& s : shards) w["shards"].push_back({s.name, s.bytes});
  for (const u64 s : block_sums) w["xxh64"].push_back(hex(s));
  for (const weight& one : list) w["list"].push_back({one.name, one.bytes});
  return all.dump(-1, ' ', false, json_object::error_handler_t::replace);
}

manifest::origin manifest::origin_in(const std::string& text, const std::string& file) {
  const nlohmann::json all = io::detail::checked_object(text, file);
  const value top(all, "", file), source = top["source"];
  return {source["path"].text(), source["format"].text(), top["model"]["kv"].text()};
}

std::vector<manifest::shard> manifest::shards_in(const std::string& text, const std::string& file) {
  const nlohmann::json all = io::detail::checked_object(text, file);
  return read_shards(value(all, "", file)["weights"]["shards"]);
}

manifest manifest::parse(const std::string& text, const std::string& file, u64 parts_begin, u64 file_bytes) {
  const nlohmann::json all = io::detail::checked_object(text, file);
  const value top(all, "", file);
  manifest m;
  m.version = top["cke"].text();
  if (m.version != CKE_VERSION)
    throw Error(errc::unsupported, file, "manifest key cke", concat({CKE_VERSION, ": ", pack_again}), m.version);
  const value model = top["model"], form = top["form"], source = top["source"];
  m.name = model["name"].text(), m.family = model["family"].text(), m.type = model["type"].text();
  m.format = model["format"].text(), m.kv = model["kv"].text();
  read_hints(m, top["hints"]);
  m.isa = form["isa"].text(), m.layout = static_cast<u32>(form["layout"].number(~u32{}));
  m.program = form["program"].sum();
  m.source = {source["path"].text(), source["format"].text(), m.kv};
  source["files"].each([&](const value& f) {
    m.files.push_back(
        {f["path"].text(), f["bytes"].number(), f["xxh64"].sum(), static_cast<i64>(f["modified"].number(~u64{} >> 1))});
  });
  read_checkpoint(m, top["checkpoint"]);
  if (const value v = top["vocabulary"]; !v.is_null()) {
    m.vocabulary = part_of(v, parts_begin, file_bytes);
    m.vocabulary->sum = v["xxh64"].sum();
    parts_begin = m.vocabulary->offset + m.vocabulary->bytes;
  }
  read_weights(m, top["weights"], parts_begin, file_bytes);
  return m;
}

}  // namespace cke::tool
