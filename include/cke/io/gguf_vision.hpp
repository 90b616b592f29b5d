// SPDX-License-Identifier: MIT
// gguf_vision.hpp: loads the vision tower of an mmproj file, as llama.cpp writes them, as a checkpoint of its own.
#pragma once

#include <array>
#include <charconv>

#include "checkpoint.hpp"
#include "gguf_patches.hpp"

CKE_COLD_OPTIONAL_BEGIN
namespace cke::io {

// A projector by llama.cpp's name: the family of its tower, the key that says its activation, how the file keeps the
// matrix of patches, and the architectures of text models that read its rows.
struct projector {
  std::string_view name, tower, activation;
  patch_order patches;
  std::array<std::string_view, 4> texts;

  bool fits(std::string_view architecture) const {
    return std::ranges::find(texts, architecture) != texts.end() && !architecture.empty();
  }
};
inline constexpr projector projectors[] = {
    {"gemma3", "gemma3_vision", "clip.use_gelu", patch_order::planes, {"gemma3"}},
    {"gemma4v", "gemma4_vision", "", patch_order::pixels, {"gemma4"}},
    {"qwen2.5vl_merger", "qwen2_5_vl_vision", "clip.use_silu", patch_order::frames, {"qwen2vl"}},
    {"qwen3vl_merger",
     "qwen3_vl_vision",
     "clip.use_gelu",
     patch_order::frames,
     {"qwen3vl", "qwen3vlmoe", "qwen35", "qwen35moe"}},
    {"idefics3", "idefics3_vision", "clip.use_gelu", patch_order::planes, {"llama"}},
    {"lfm2", "lfm2_vl_vision", "clip.use_gelu", patch_order::pixels, {"lfm2", "lfm2moe"}},
    {"pixtral", "pixtral_vision", "clip.use_silu", patch_order::planes, {"llama"}},
};

// The projector of a file. Throws unsupported for a file without a tower for images that cke knows.
inline const projector& projector_of(const gguf& file) {
  const auto fail = [&](std::string_view key, std::string_view wanted, std::string_view found) {
    throw Error(errc::unsupported, file.file(), concat({"key ", key}), wanted, found);
  };
  const auto word = [&](std::string_view key) { return file.get_or<std::string_view>(key, ""); };
  if (const auto architecture = word("general.architecture"); architecture != "clip")
    fail("general.architecture", "clip, as an mmproj file has", architecture.empty() ? "none" : architecture);
  const std::string_view both = "clip.projector_type", seeing = "clip.vision.projector_type";
  const std::string_view key = word(both).empty() && file.find(seeing) ? seeing : both, name = word(key);
  if (!file.get_or("clip.has_vision_encoder", false)) {
    const std::string_view sound = word("clip.audio.projector_type");
    fail("clip.has_vision_encoder", "true, for images",
         concat({"false, with projector ", sound.empty() ? name : sound}));
  }
  const projector* const known = std::ranges::find(projectors, name, &projector::name);
  if (known == std::end(projectors)) {
    std::string all;
    for (const projector& p : projectors) all += (all.empty() ? "" : ", ") + std::string(p.name);
    fail(key, "one of " + all, name.empty() ? "none" : name);
  }
  if (!known->activation.empty() && !file.get_or(known->activation, false)) fail(known->activation, "true", "false");
  return *known;
}

namespace detail {

// The metadata of a tower as a flat JSON object, and what its tensors show.
class gguf_tower_config {
 public:
  gguf_tower_config(const gguf& file, const projector& of) : file_(file) {
    for (const gguf_value& v : file.values())
      if (v.key.starts_with("clip.vision.") || v.key.starts_with("clip.rope.")) value(v);
    if (const tensor_ref* const table = file.tensors().find("v.position_embd.weight");
        table && table->shape.size() > 1) {
      const u64 rows = table->shape[table->shape.size() - 2];
      for (const char* key : {"num_position_embeddings", "num_patches", "position_embedding_size"})
        add(key, concat({rows}));
    }
    add("projector_bias", has("mm.1.bias"));
    add("projector_use_layernorm", has("mm.input_norm.weight"));
    add("use_clipped_linears", has("v.blk.0.attn_q.input_max"));
    add("standardize", has("v.std_bias"));
    if (const u64 rows = rows_of("mm.1.weight")) add("projector_hidden_size", concat({rows}));
    if (const u64 head = rows_of("v.blk.0.attn_q_norm.weight")) {
      add("head_dim", concat({head}));
      add("num_key_value_heads", concat({rows_of("v.blk.0.attn_k.weight") / head}));
    }
    if (of.name == "gemma3") tokens();
    if (of.name == "qwen2.5vl_merger") full_layers();
  }
  std::string text() const { return text_ + "}"; }

 private:
  void add(std::string_view key, std::string_view value) {
    if (key.find_first_of("\"\\") == key.npos) text_ += concat({text_.size() > 1 ? "," : "", "\"", key, "\":", value});
  }
  std::string_view has(std::string_view tensor) const { return file_.tensors().find(tensor) ? "true" : "false"; }
  u64 rows_of(std::string_view tensor) const {
    const tensor_ref* const t = file_.tensors().find(tensor);
    return t && !t->shape.empty() ? t->shape[0] : 0;
  }
  void value(const gguf_value& v) {
    if (v.type == gguf_type::boolean) return add(v.key, file_.get<bool>(v.key) ? "true" : "false");
    if (v.type == gguf_type::float32 || v.type == gguf_type::float64) {
      char text[40];  // the shortest that reads back as the same number
      const char* const end = v.type == gguf_type::float32
          ? std::to_chars(text, std::end(text), file_.get<float>(v.key)).ptr
          : std::to_chars(text, std::end(text), file_.get<double>(v.key)).ptr;
      return add(v.key, text[0] == '-' || (text[0] >= '0' && text[0] <= '9') ? std::string_view(text, end) : "\"\"");
    }
    if (v.type == gguf_type::string) return;
    if (v.type != gguf_type::array) return add(v.key, concat({file_.get<i64>(v.key)}));
    if (v.item != gguf_type::boolean || v.count > layer_limit) return;
    std::string all;
    file_.each<bool>(v.key, [&](bool x) { all += concat({all.empty() ? "" : ",", x ? "true" : "false"}); });
    add(v.key, concat({"[", all, "]"}));
  }
  u64 number(std::string_view key) const { return file_.get<u64>(key); }

  // Gemma 3's patches are pooled by squares of this side, which is 4 in all published models.
  void tokens() {
    const std::string_view key = "clip.vision.projector.scale_factor";
    const u64 patch = number("clip.vision.patch_size"), square = file_.get_or<u64>(key, 4);
    const u64 side = patch ? number("clip.vision.image_size") / patch : 0;
    if (square == 0 || side == 0 || side % square != 0)
      throw Error(errc::config_range, file_.file(), concat({"key ", key}),
                  concat({"a divisor of image_size / patch_size, ", side}), concat({square}));
    add("mm_tokens_per_image", concat({(side / square) * (side / square)}));
  }
  // Every n-th layer of Qwen2.5-VL sees the whole image; 0: all do.
  void full_layers() {
    const u64 n = number("clip.vision.n_wa_pattern"), layers = number("clip.vision.block_count");
    std::string all;
    for (u64 layer = 0; layer < std::min<u64>(layers, layer_limit); ++layer)
      if (n == 0 || (layer + 1) % n == 0) all += concat({all.empty() ? "" : ",", layer});
    add("fullatt_block_indexes", concat({"[", all, "]"}));
  }

  static constexpr u64 layer_limit = 1024;
  const gguf& file_;
  std::string text_ = "{";  // the closing brace is missing
};

// Projectors that several families share.
inline std::string_view tower_of(const gguf& file, const projector& p) {
  if (p.name == "pixtral" && file.tensors().find("mm.patch_merger.weight")) return "mistral3_vision";
  const char* const taps = "clip.vision.is_deepstack_layers";
  if (p.name != "qwen3vl_merger") return p.tower;
  bool any = false;
  if (file.find(taps)) file.each<bool>(taps, [&](bool x) { any = any || x; });
  return any ? p.tower : "qwen3_5_vision";
}

}  // namespace detail

// The tower of an mmproj file; parts for sound are not looked at. Throws Error: file, malformed, config_mismatch,
// tensor_missing, tensor_shape, tensor_dtype, and unsupported for what cke does not know.
inline checkpoint gguf_vision(const gguf& file) {
  const projector& p = projector_of(file);
  std::vector<tensor_ref> tensors;
  for (const tensor_ref& t : file.tensors().tensors())
    if (!t.name.starts_with("a.") && !t.name.starts_with("mm.a.")) tensors.push_back(t);
  checkpoint c;
  c.name = file.file(), c.as = naming::gguf, c.model_type = detail::tower_of(file, p);
  c.config = detail::gguf_tower_config(file, p).text();
  order_patches(tensors, p.patches, file.file());
  c.tensors = tensor_index(std::move(tensors));
  return c;
}
inline checkpoint gguf_vision(const std::string& path) { return gguf_vision(gguf::read(path)); }

}  // namespace cke::io
CKE_COLD_END
