// SPDX-License-Identifier: MIT
// prompts_of_gemma4.cpp: prompts with images of Gemma 4: rows of an image may see each other in sliding layers, and the
// layers' own embeddings take a pad token for them.
#include "cke/models/gemma4.hpp"
#include "prompt.hpp"

using namespace cke;
using namespace towers;

namespace {

constexpr gemma4_config tiny_gemma4{
    .vocab = 91,
    .dim = 32,
    .hidden = 44,
    .layers = 4,
    .heads = 2,
    .kv_heads = 1,
    .head_dim = 20,
    .global_head_dim = 24,
    .window = 9,
    .sliding = layer_set::of({0, 2}),
    .shared_layers = 2,
    .double_wide = true,
    .part = 6,
    .logit_cap = 20,
    .images = true,
    .rope = {.dims = 12, .theta = 500, .rule = rope_scaling::proportional, .max_position = 512},
    .local_rope = {.theta = 50, .max_position = 512}};
struct gemma4_decoder : gemma4<tiny_gemma4> {
  static constexpr const char* folder = "gemma4";
  static constexpr u32 image_token = 73, least_chunk = 1, recalled = 128;
};

constexpr gemma4_config full_gemma4 = [] {
  gemma4_config c = tiny_gemma4;
  c.global_kv_heads = 1, c.shared_layers = 0, c.double_wide = false, c.k_is_v = true, c.part = 0, c.sees_image = true;
  return c;
}();
struct gemma4_full_decoder : gemma4<full_gemma4> {
  static constexpr const char* folder = "gemma4_full";
  static constexpr u32 image_token = 73, least_chunk = 64, recalled = 128;
};

}  // namespace

TEST_CASE("prompts: Gemma 4 with none, one and two images, embeddings of layers and shared caches") {
  check_prompts<gemma4_decoder>();
}
TEST_CASE("prompts: Gemma 4 whose images see themselves in sliding layers, in pieces that divide none") {
  check_prompts<gemma4_full_decoder>();
}
TEST_CASE_TEMPLATE("prompts: images of Gemma 4 in forks, in company, after a rewind and from the prefix cache", M,
                   gemma4_decoder, gemma4_full_decoder) {
  check_sharing<M>();
}
