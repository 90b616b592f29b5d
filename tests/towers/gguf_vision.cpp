// SPDX-License-Identifier: MIT
// gguf_vision.cpp: the tower and the processor of an mmproj file: what its keys and tensors mean, and what is refused.
#include <cke/image/gguf_processor.hpp>

#include "../changed_gguf.hpp"
#include "checkpoint.hpp"
#include "cke/models/towers/gemma3.hpp"
#include "cke/models/towers/gemma4.hpp"
#include "cke/models/towers/qwen2_5_vl.hpp"
#include "cke/models/towers/qwen3_5.hpp"
#include "refused.hpp"

using namespace cke;
using namespace towers;

namespace {

// A fixture in memory, with changes.
struct changed : changed_gguf {
  mutable std::string held{};
  explicit changed(std::string_view name) : changed_gguf(mmproj_of(name)) {}
  io::gguf parsed() const {
    held = bytes();
    return io::gguf::parse(std::as_bytes(std::span(held)), "f.gguf");
  }
  io::checkpoint tower() const { return io::gguf_vision(parsed()); }
  changed& drop(std::string key) { return dropped.push_back(std::move(key)), *this; }
  template <class T> changed& set(std::string key, T value) {
    more = [key, value](io::gguf_writer& w) { w.add(key, value); };
    return drop(key);
  }
};
template <fixed_string Family> std::string read_as(const changed& c, errc code = errc::config_range) {
  rope_factors factors;
  return refused(code, [&] { config_of<family<Family>>(c.tower(), factors); });
}
template <class Processor> Processor processor_of(const changed& c) {
  return std::get<Processor>(image::gguf_processor(c.parsed()));
}

}  // namespace

TEST_CASE("gguf_vision: families that share a projector are told apart by what their files have") {
  CHECK(changed("qwen3_vl").tower().model_type == "qwen3_vl_vision");
  CHECK(changed("qwen3_5").tower().model_type == "qwen3_5_vision");
  CHECK(changed("pixtral").tower().model_type == "pixtral_vision");
  CHECK(changed("mistral3").tower().model_type == "mistral3_vision");
}

TEST_CASE("gguf_vision: Gemma 4 without embeddings of layers lets rows of an image see all of it") {
  const auto rows_see_all = [](const changed_gguf& c) {
    const std::string bytes = c.bytes();
    const io::checkpoint made = io::gguf_weights(io::gguf::parse(std::as_bytes(std::span(bytes)), "f.gguf"));
    return json{made.config}["use_bidirectional_attention"].text() == "vision";
  };
  changed_gguf text(CKE_TEST_DATA "/families/gemma4_text.gguf"), other(CKE_TEST_DATA "/families/gemma3_text.gguf");
  CHECK(!rows_see_all(text));
  CHECK(!rows_see_all(other));
  text.dropped = {"gemma4.embedding_length_per_layer_input"};
  CHECK(rows_see_all(text));
  text.more = [](io::gguf_writer& w) { w.add("gemma4.embedding_length_per_layer_input", u32{0}); };
  CHECK(rows_see_all(text));
}

TEST_CASE("gguf_vision: what a file leaves out is what llama.cpp takes it for") {
  rope_factors factors;
  const auto gemma4 = [&](const changed& c) { return config_of<family<"gemma4_vision">>(c.tower(), factors); };
  CHECK(gemma4(changed("gemma4")).pooled == 2);
  CHECK(gemma4(changed("gemma4").drop("clip.vision.projector.scale_factor")).pooled == 3);
  const auto qwen = [&](const changed& c) { return config_of<family<"qwen2_5_vl_vision">>(c.tower(), factors); };
  CHECK(qwen(changed("qwen2_5_vl")).window == 16);
  CHECK(qwen(changed("qwen2_5_vl").drop("clip.vision.window_size")).window == 112);
  CHECK(qwen(changed("qwen2_5_vl")).full == layer_set::of({1}));
  CHECK(qwen(changed("qwen2_5_vl").set("clip.vision.n_wa_pattern", u32{0})).full == layer_set::of({0, 1, 2}));
  CHECK(qwen(changed("qwen2_5_vl").set("clip.vision.n_wa_pattern", u32{1})).full == layer_set::of({0, 1, 2}));
}

TEST_CASE("gguf_vision: a key that every file has is asked for by name") {
  for (const char* key : {"embedding_length", "feed_forward_length", "block_count", "attention.head_count",
                          "projection_dim", "attention.layer_norm_epsilon"}) {
    CAPTURE(key);
    const std::string whole = "clip.vision." + std::string(key);
    CHECK(read_as<"gemma3_vision">(changed("gemma3").drop(whole)) ==
          "f.gguf: config key " + whole + ": expected this key, found none");
  }
  for (const char* key : {"clip.vision.image_size", "clip.vision.patch_size"})
    CHECK(read_as<"gemma3_vision">(changed("gemma3").drop(key), errc::config_mismatch) ==
          "f.gguf: key " + std::string(key) + ": expected u64, found no such key");
  CHECK(read_as<"gemma3_vision">(changed("gemma3").drop("clip.vision.projector.scale_factor")) ==
        "f.gguf: key clip.vision.projector.scale_factor: expected a divisor of image_size / patch_size, 6, found 4");
  CHECK(read_as<"gemma3_vision">(changed("gemma3").set("clip.vision.attention.head_count", u32{3}), errc::unsupported)
            .starts_with("f.gguf: config key clip.vision.embedding_length: expected a multiple of "
                         "clip.vision.attention.head_count"));
  CHECK(read_as<"gemma3_vision">(changed("gemma3").set("clip.vision.block_count", u32{4000000000}))
            .starts_with("f.gguf: config key clip.vision.block_count: expected a number from 1 to "));
}

TEST_CASE("gguf_vision: a file without a tower for images that cke knows is refused by the key") {
  const auto text = [](const changed& c) { return refused(errc::unsupported, [&] { c.tower(); }); };
  CHECK(text(changed("gemma3").set("general.architecture", std::string_view("qwen3vl"))) ==
        "f.gguf: key general.architecture: expected clip, as an mmproj file has, found qwen3vl");
  CHECK(text(changed("gemma3").set("clip.projector_type", std::string_view("resampler"))) ==
        "f.gguf: key clip.projector_type: expected one of gemma3, gemma4v, qwen2.5vl_merger, qwen3vl_merger, idefics3, "
        "lfm2, pixtral, found resampler");
  CHECK(text(changed("gemma3").drop("clip.projector_type")).ends_with("found none"));
  CHECK(text(changed("gemma4").set("clip.vision.projector_type", std::string_view("gemma4uv")))
            .starts_with("f.gguf: key clip.vision.projector_type: expected one of gemma3, "));
  CHECK(text(changed("gemma3").drop("clip.use_gelu")) == "f.gguf: key clip.use_gelu: expected true, found false");
  changed sound("gemma3");
  sound.drop("clip.has_vision_encoder").set("clip.projector_type", std::string_view("ultravox"));
  CHECK(text(sound) ==
        "f.gguf: key clip.has_vision_encoder: expected true, for images, found false, with projector ultravox");
  sound.set("clip.audio.projector_type", std::string_view("gemma4a"));
  CHECK(text(sound).ends_with("found false, with projector gemma4a"));
}

TEST_CASE("gguf_vision: parts for sound beside a tower are not looked at") {
  changed c("gemma4");
  const u64 all = c.tower().tensors.tensors().size();
  for (const char* name : {"a.blk.0.attn_q.weight", "mm.a.input_projection.weight"}) {
    c.tensors.push_back(*c.file.tensors().find("v.position_embd.weight"));
    c.tensors.back().name = name;
  }
  CHECK(c.tower().tensors.tensors().size() == all);
}

TEST_CASE("gguf_vision: the matrix of patches is made of convolutions, which must be there and alike") {
  const auto text = [](const changed& c, errc code) { return refused(code, [&] { c.tower(); }); };
  const io::checkpoint made = changed("qwen3_vl").tower();
  const auto* const matrix = made.tensors.find("v.patch_embd.weight");
  REQUIRE(matrix);
  CHECK(matrix->shape == tensor_shape{24, 3 * 2 * 4 * 4});
  CHECK(made.tensors.find("v.patch_embd.weight.1") == nullptr);
  CHECK(text(changed("qwen3_vl").drop("v.patch_embd.weight.1"), errc::tensor_missing) ==
        "f.gguf: tensor v.patch_embd.weight.1: expected this tensor, found none of this name");
  const auto with = [](std::string_view name, std::string_view tensor, tensor_shape shape) {
    changed c(name);
    io::tensor_ref t = *c.file.tensors().find(tensor);
    t.shape = shape;
    c.drop(std::string(tensor)).tensors.push_back(t);
    return c;
  };
  CHECK(text(with("qwen3_vl", "v.patch_embd.weight.1", {24, 4, 3, 4}), errc::tensor_shape) ==
        "f.gguf: tensor v.patch_embd.weight.1: expected shape [24, 3, 4, 4], found [24, 4, 3, 4]");
  CHECK(text(with("gemma4", "v.patch_embd.weight", {36, 27}), errc::tensor_shape) ==
        "f.gguf: tensor v.patch_embd.weight: expected shape [rows, channels, height, width], found [36, 27]");
}

TEST_CASE("gguf_processor: sizes and scales are the file's, and others those of the family") {
  const auto qwen = processor_of<image::qwen2_vl_processor>(changed("qwen3_vl"));
  CHECK(qwen.patch == 4);
  CHECK(qwen.merge == 2);
  CHECK(qwen.least_pixels == 8 * 64);
  CHECK(qwen.most_pixels == 4096 * 64);
  CHECK(qwen.scale.mean == std::array{0.5, 0.5, 0.5});
  changed limits("qwen3_vl");
  limits.more = [](io::gguf_writer& w) {
    w.add("clip.vision.image_min_pixels", u32{1000}), w.add("clip.vision.image_max_pixels", u32{3000});
  };
  CHECK(processor_of<image::qwen2_vl_processor>(limits).least_pixels == 1000);
  CHECK(processor_of<image::qwen2_vl_processor>(limits).most_pixels == 3000);
  const image::pixtral_processor published{};  // whose numbers the fixture has
  CHECK(processor_of<image::pixtral_processor>(changed("pixtral")).scale.values() == published.scale.values());
  CHECK(processor_of<image::pixtral_processor>(changed("mistral3")).merge == 2);
  CHECK(processor_of<image::pixtral_processor>(changed("mistral3")).most_width == 60);
  CHECK(processor_of<image::gemma3_processor>(changed("gemma3")).width == 30);
  CHECK(processor_of<image::gemma4_processor>(changed("gemma4")).pool == 2);
  CHECK(!processor_of<image::gemma4_processor>(changed("gemma4")).scale.normalize);
  CHECK(processor_of<image::idefics3_processor>(changed("idefics3")).tile == 16);
  CHECK(processor_of<image::idefics3_processor>(changed("idefics3")).longest_edge == 32);
  CHECK(processor_of<image::lfm2_vl_processor>(changed("lfm2_vl")).downsample == 2);
  CHECK(processor_of<image::lfm2_vl_processor>(changed("lfm2_vl")).tile == 512);
}

TEST_CASE("gguf_processor: what cannot be is refused by the key") {
  const auto text = [](const changed& c, errc code) {
    return refused(code, [&] { image::gguf_processor(c.parsed()); });
  };
  CHECK(text(changed("gemma3").drop("clip.vision.image_mean"), errc::config_mismatch) ==
        "f.gguf: key clip.vision.image_mean: expected array of f64, found no such key");
  changed stds("gemma3");
  stds.drop("clip.vision.image_std").more = [](io::gguf_writer& w) {
    w.add_array<float>("clip.vision.image_std", std::array{1.f, 0.f, 1.f});
  };
  CHECK(text(stds, errc::config_range).starts_with("f.gguf: key clip.vision.image_std: expected numbers above 0"));
  CHECK(text(changed("qwen3_vl").set("clip.vision.image_max_pixels", u32{1}), errc::config_range)
            .starts_with("f.gguf: key clip.vision.image_max_pixels: expected a number from 64 to "));
  CHECK(text(changed("gemma3").set("clip.vision.image_size", u32{5000}), errc::config_range) ==
        "f.gguf: key clip.vision.image_size: expected a number from 1 to 4096, found 5000");
}
