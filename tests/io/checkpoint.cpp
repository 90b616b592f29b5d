// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cke/io/checkpoint.hpp>
#include <cmath>

#include "../changed_gguf.hpp"

TEST_CASE("checkpoint: what no key of a GGUF file states its tensors do, those of any layer") {
  const std::vector<float> zeros(48);
  const auto truth_of = [&](std::string_view key, const char* tensor, const char* without = "") {
    changed_gguf file(CKE_TEST_DATA "/families/granitemoehybrid.gguf");  // its first layer has no attention
    file.dropped = {without};
    cke::io::tensor_ref one;
    one.name = tensor, one.type = cke::dtype::f32, one.shape = {48}, one.bytes = std::as_bytes(std::span(zeros));
    if (*tensor) file.tensors = {one};
    const std::string bytes = file.bytes();
    return cke::json{cke::io::gguf_weights(cke::io::gguf::parse(std::as_bytes(std::span(bytes)), "f.gguf")).config}[key]
        .truth();
  };
  CHECK(!truth_of("attention_bias", ""));
  CHECK(truth_of("attention_bias", "blk.1.attn_q.bias"));
  CHECK(!truth_of("qk_norm", ""));
  CHECK(truth_of("qk_norm", "blk.1.attn_q_norm.weight"));
  CHECK(!truth_of("mlp_bias", ""));
  CHECK(truth_of("mlp_bias", "blk.2.ffn_up.bias"));
  CHECK(truth_of("tied", "", "output.weight"));
  CHECK(!truth_of("tied", "output.weight", "output.weight"));
}

TEST_CASE("checkpoint: more keys than any model has are refused, since each is looked for among the others") {
  for (const bool few : {true, false}) {
    changed_gguf file(CKE_TEST_DATA "/families/granitemoehybrid.gguf");
    file.more = [&](cke::io::gguf_writer& w) {
      for (int i = 0; i < (few ? 4000 : 4100); ++i) w.add("granitehybrid.x" + std::to_string(i), cke::u32{1});
    };
    const std::string bytes = file.bytes();
    const auto read = [&] { cke::io::gguf_weights(cke::io::gguf::parse(std::as_bytes(std::span(bytes)), "f.gguf")); };
    if (few) CHECK_NOTHROW(read());
    else CHECK_THROWS_WITH_AS(read(), "f.gguf: keys granitehybrid.*: expected at most 4096, found more", cke::Error);
  }
}

TEST_CASE("checkpoint: a factor that GGUF multiplies yarn's own by, and one that takes its place") {
  const auto factor = [](auto more) {
    changed_gguf file(CKE_TEST_DATA "/families/granitemoehybrid.gguf");
    file.dropped = {"granitehybrid.rope.scaling.type"};
    file.more = [&](cke::io::gguf_writer& w) {
      w.add("granitehybrid.rope.scaling.type", std::string_view("yarn"));
      w.add("granitehybrid.rope.scaling.factor", 4.f);
      more(w);
    };
    const std::string bytes = file.bytes();
    const cke::io::checkpoint made =
        cke::io::gguf_weights(cke::io::gguf::parse(std::as_bytes(std::span(bytes)), "f.gguf"));
    return cke::json{made.config}["rope.scaling.attn_factor"].number();
  };
  const double own = 0.1 * std::log(4.) + 1;
  CHECK(factor([](auto& w) { w.add("granitehybrid.rope.scaling.attn_factor", 0.5f); }) == doctest::Approx(0.5 * own));
  CHECK(factor([](auto& w) { w.add("granitehybrid.rope.scaling.yarn_attn_factor", 0.8f); }) == 0.8);
  const auto as_llama_cpp_saves = [](auto& w) {
    w.add("granitehybrid.rope.scaling.attn_factor", 1.f), w.add("granitehybrid.rope.scaling.yarn_attn_factor", 1.f);
  };
  CHECK(factor(as_llama_cpp_saves) == doctest::Approx(own));
}
