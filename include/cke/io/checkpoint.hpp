// SPDX-License-Identifier: MIT
// checkpoint.hpp: what a model is loaded from, in any file format; and how a GGUF file becomes one.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "../core/concat.hpp"
#include "../core/json.hpp"
#include "../core/role.hpp"
#include "../text/tokenizer/vocabulary.hpp"
#include "gguf.hpp"
#include "gguf_tokenizer.hpp"
#include "tensor_index.hpp"

CKE_COLD_BEGIN
namespace cke::io {

struct checkpoint {
  std::string name;  // path, for messages
  naming as{};
  std::string model_type;  // "qwen3", "llama", ...
  std::string config;      // JSON text, with the keys that `as` uses
  tensor_index tensors;
  std::shared_ptr<const vocabulary> tokens;  // null: the model takes ids only
  std::vector<u32> stop_ids;
};

namespace detail {

// An architecture's metadata as the text of a flat JSON object, so that one config reader serves both formats. Only
// numbers, booleans and plain words are copied; every other value becomes "".
class gguf_config {
 public:
  explicit gguf_config(const gguf& file) : file_(file), arch_(file.get<std::string_view>("general.architecture")) {
    // This entry comes first because the first of two entries with one key counts. block_count includes the blocks for
    // multi-token prediction, which cke does not load.
    if (const u64 ahead = file.get_or<u64>(arch_ + ".nextn_predict_layers", 0))
      if (const u64 blocks = file.get_or<u64>(arch_ + ".block_count", 0); blocks > ahead)
        add("block_count", concat({blocks - ahead}));
    rope();
    const std::string key_length = arch_ + ".attention.key_length_mla",
                      log_factor = arch_ + ".rope.scaling.yarn_log_multiplier";
    if (file.find(key_length))  // key_length includes the rotated dims
      add("attention.key_length_nope",
          concat({i64{file.get<u32>(key_length)} - i64{file.get_or<u32>(arch_ + ".rope.dimension_count", 0)}}));
    if (file.find(log_factor))
      add("rope.scaling.mscale", number(10 * static_cast<double>(file.get<float>(log_factor)), 7));
    if (const i64 heads = file.get_or<i64>(arch_ + ".ssm.time_step_rank", 0),
        inner = file.get_or<i64>(arch_ + ".ssm.inner_size", 0);
        heads > 0)
      add("ssm.head_dim", concat({inner / heads}));
    u32 keys = 0;  // each is looked for among those before it
    for (const gguf_value& v : file.values())
      if (v.key.size() > arch_.size() + 1 && v.key.starts_with(arch_) && v.key[arch_.size()] == '.') {
        if (++keys > most_keys)
          throw Error(errc::malformed, file.file(), concat({"keys ", arch_, ".*"}), concat({"at most ", most_keys}),
                      "more");
        value(v, v.key.substr(arch_.size() + 1));
      }
    if (const gguf_value* tokens = file.find("tokenizer.ggml.tokens")) add("vocab_size", concat({tokens->count}));
    // No key states these; a tensor that is there, or not, does.
    const auto in_some_layer = [&](std::string_view end) {
      const auto named = [&](const auto& t) { return t.name.ends_with(end); };
      return std::ranges::any_of(file.tensors().tensors(), named) ? "true" : "false";
    };
    add("tied", file.tensors().find("output.weight") ? "false" : "true");
    add("qk_norm", in_some_layer(".attn_q_norm.weight"));
    add("attention_bias", in_some_layer(".attn_q.bias"));
    add("mlp_bias", in_some_layer(".ffn_up.bias"));
    add("k_is_v", layer_without_v() ? "true" : "false");
    // No key says that rows of an image see all of it. The published models without embeddings of layers do so.
    if (arch_ == "gemma4" && file.get_or<u64>(arch_ + ".embedding_length_per_layer_input", 0) == 0)
      add("use_bidirectional_attention", "\"vision\"");
  }

  std::string text() const { return text_ + "}"; }

 private:
  void add(std::string_view key, std::string_view value) {
    if (key.find_first_of("\"\\") != key.npos || !json{text_}[key].s.empty()) return;
    text_ += concat({text_.size() > 1 ? "," : "", "\"", key, "\":", value});
  }
  // 7 digits turn a float back into 1e-06, not 9.99999997e-07. The text is printf's, but in every locale with a point.
  static std::string number(double x, int digits = 17) {
    if (!std::isfinite(x)) return "\"\"";
    char text[40];
    return std::string(text, std::to_chars(text, std::end(text), x, std::chars_format::general, digits).ptr);
  }

  void value(const gguf_value& v, std::string_view key) {
    switch (v.type) {
      case gguf_type::string: {
        const auto word = file_.get<std::string_view>(v.key);
        const bool plain = word.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-") == word.npos;
        return add(key, concat({"\"", plain ? word : "", "\""}));
      }
      case gguf_type::array: return add(key, list_text(v));
      case gguf_type::boolean: return add(key, file_.get<bool>(v.key) ? "true" : "false");
      case gguf_type::float32: return add(key, number(static_cast<double>(file_.get<float>(v.key)), 7));
      case gguf_type::float64: return add(key, number(file_.get<double>(v.key)));
      case gguf_type::uint64: return add(key, concat({file_.get<u64>(v.key)}));
      default: return add(key, concat({file_.get<i64>(v.key)}));
    }
  }

  // One number or truth for each layer.
  std::string list_text(const gguf_value& v) {
    const bool short_enough = v.count > 0 && v.count <= 1024;
    std::string all;
    const auto put = [&](std::string_view item) { all += concat({all.empty() ? "[" : ",", item}); };
    if (short_enough && v.item == gguf_type::boolean)
      file_.each<bool>(v.key, [&](bool x) { put(x ? "true" : "false"); });
    if (short_enough && (v.item == gguf_type::uint32 || v.item == gguf_type::int32))
      file_.each<i64>(v.key, [&](i64 x) { put(concat({x})); });
    return all.empty() ? "\"\"" : all + "]";
  }
  bool layer_without_v() const {
    const auto has = [&](u64 layer, const char* name) {
      return file_.tensors().find(concat({"blk.", layer, name})) != nullptr;
    };
    u64 layer = 0;
    while (has(layer, ".attn_v.weight")) ++layer;
    return has(layer, ".attn_k.weight");
  }

  // GGUF stores frequency factors as tensors. rope_freqs.weight holds either llama 3's scaling, already applied, or
  // ones followed by values that stop the rotation.
  void rope() {
    if (proportional("rope_freqs.weight")) return;
    const bool fixed = list("rope_freqs.weight", "long_factor") && list("rope_freqs.weight", "short_factor");
    if (!fixed && list("rope_factors_long.weight", "long_factor") && list("rope_factors_short.weight", "short_factor"))
      add("rope.scaling.type", "\"longrope\"");
    // llama.cpp multiplies yarn's own factor by `scale`. `whole` takes its place, as transformers' attention_factor
    // does; files that llama.cpp itself saves have a 1 there, which says nothing.
    const std::string rule = arch_ + ".rope.scaling.type", scale = arch_ + ".rope.scaling.attn_factor",
                      whole = arch_ + ".rope.scaling.yarn_attn_factor";
    if (const double stated = file_.get_or<double>(whole, 1); stated != 1)
      add("rope.scaling.attn_factor", number(stated, 7));
    if (file_.get_or<std::string_view>(rule, "") == "yarn" && (fixed || file_.find(scale))) {
      const double factor = file_.get_or<double>(arch_ + ".rope.scaling.factor", 1);
      const double own = factor > 1 ? 0.1 * std::log(factor) + 1 : 1;
      add("rope.scaling.attn_factor", number(own * file_.get<double>(scale)));
    }
    if (fixed) {
      add("rope.scaling.type", "\"longrope\"");
      add("rope.scaling.attn_factor", "1");
      add("rope.scaling.original_context_length", "2");  // any length above 1: the lists are equal
    }
  }
  bool proportional(std::string_view tensor) {
    const tensor_ref* const t = file_.tensors().find(tensor);
    if (!t || t->type != dtype::f32 || t->shape.size() != 1) return false;
    const u64 count = t->shape[0];
    u64 turning = 0, stopped = 0;
    const auto divisor = [&](u64 i) { return load<float>(t->bytes.data() + i * sizeof(float)); };
    while (turning < count && divisor(turning) == 1) ++turning;
    while (turning + stopped < count && divisor(turning + stopped) >= 1e20f) ++stopped;
    if (stopped == 0 || turning + stopped < count) return false;
    add("rope.scaling.type", "\"proportional\"");
    add("rope.dimension_count", concat({2 * turning}));
    return true;
  }
  bool list(std::string_view tensor, std::string_view key) {
    const tensor_ref* t = file_.tensors().find(tensor);
    if (!t) return false;
    const u64 most = 256;
    if (t->type != dtype::f32 || t->shape.size() != 1 || t->shape[0] > most)
      throw Error(errc::tensor_shape, file_.file(), concat({"tensor ", tensor}), "at most 256 f32 numbers", t->stored);
    std::string out = "[";
    for (u64 i = 0; i < t->shape[0]; ++i)
      out += concat({i ? "," : "", number(static_cast<double>(load<float>(t->bytes.data() + i * sizeof(float))))});
    add(key, out += "]");
    return true;
  }

  const gguf& file_;
  static constexpr u32 most_keys = 4096;
  std::string arch_;
  std::string text_ = "{";  // the closing brace is missing
};

}  // namespace detail

// Config and tensors without the tokenizer. Throws Error: file, malformed, config_mismatch.
inline checkpoint gguf_weights(gguf&& file) {
  checkpoint c{file.file(),
               naming::gguf,
               std::string(file.get<std::string_view>("general.architecture")),
               detail::gguf_config(file).text(),
               {},
               {},
               {}};
  c.tensors = std::move(file).take_tensors();
  return c;
}

// As gguf_weights, plus the tokenizer. Throws unsupported too.
inline checkpoint gguf_checkpoint(gguf file) {
  std::shared_ptr<const vocabulary> tokens;
  std::vector<u32> stop_ids;
  if (file.find("tokenizer.ggml.model") && file.get<std::string_view>("tokenizer.ggml.model") != "none") {
    tokens = std::make_shared<const vocabulary>(read_gguf_tokenizer(file));
    for (const char* key : {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id"})
      if (file.find(key)) stop_ids.push_back(file.get<u32>(key));
  }
  checkpoint c = gguf_weights(std::move(file));
  c.tokens = std::move(tokens), c.stop_ids = std::move(stop_ids);
  return c;
}
inline checkpoint gguf_checkpoint(const std::string& path) { return gguf_checkpoint(gguf::read(path)); }

}  // namespace cke::io
CKE_COLD_END
