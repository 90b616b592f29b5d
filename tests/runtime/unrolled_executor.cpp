// SPDX-License-Identifier: MIT
// unrolled_executor.cpp: straight-line code gives the bits of the walk over tables, for every kind of layer.
#include "cke/runtime/unrolled_executor.hpp"

#include <cke/gemma4.hpp>

#include "expert_model.hpp"
#include "latent_model.hpp"
#include "recurrent_model.hpp"
#include "unrolled_model.hpp"

using namespace cke;
using namespace cke::graph;
using namespace cke::runtime;
using random_model::same_bits;

namespace {

// Layers of two head sizes; the last two read the caches of earlier ones; an embedding for each layer.
struct shares_caches
    : gemma4<gemma4_config{.vocab = 91,
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
                           .rope = {.dims = 12, .theta = 500, .rule = rope_scaling::proportional, .max_position = 512},
                           .local_rope = {.theta = 50, .max_position = 512}}> {};

struct windows
    : network<embedding<131, 96>,
              stack<2,
                    random_model::mixing_layer<attention<attention_options{.dim = 96,
                                                                           .heads = 6,
                                                                           .kv_heads = 2,
                                                                           .head_dim = 22,
                                                                           .rope = {.dims = 22, .theta = 1e4},
                                                                           .window = 75}>>>,
              rms_norm<96, 1e-6>, head<96, 131, false>> {};

}  // namespace

TEST_CASE_TEMPLATE("unrolled: dense layers, with and without windows: the bits of the tables", formats, F32, BF16,
                   Q8_0) {
  unrolled_model::pair<random_model::mixed, formats>::check_bits();
}
TEST_CASE_TEMPLATE("unrolled: recurrent states: the bits of the tables", formats, F32, Q8_0) {
  unrolled_model::pair<random_model::recurrent, formats>::check_bits();
}
TEST_CASE_TEMPLATE("unrolled: experts: the bits of the tables", formats, F32, Q8_0) {
  unrolled_model::pair<random_model::with_experts, formats>::check_bits();
}
TEST_CASE("unrolled: latents: the bits of the tables") {
  unrolled_model::pair<random_model::with_latents, Q8_0>::check_bits();
}
TEST_CASE("unrolled: shared caches and an embedding for each layer: the bits of the tables") {
  unrolled_model::pair<shares_caches, F32>::check_bits();
}

TEST_CASE("unrolled: many sequences at once, forks and rewinds") {
  using straight = unrolled_model::pair<random_model::mixed, Q8_0>::straight;
  straight::check_together(2, 9, 50);
  straight::check_forks(100);
}

TEST_CASE("unrolled: past the context, where every layer has a window") {
  const auto slid = [](auto loaded) {
    sequence s(loaded);
    s.slide();
    for (const u32 id : random_model::ids(500, s.vocab_size())) s.feed(id);
    return std::vector(s.logits().begin(), s.logits().end());
  };
  using both = unrolled_model::pair<windows, Q8_0>;
  CHECK(same_bits(slid(both::tables::load(2, 64, 1)), slid(both::straight::load(1, 64, 1))));
}

TEST_CASE("unrolled: hidden states") {
  using both = unrolled_model::pair<random_model::mixed, Q8_0>;
  const auto hidden = [](auto loaded) {
    std::vector<float> rows;
    const row_sink sink{[](void* to, u32, const float* row) {
                          auto& out = *static_cast<std::vector<float>*>(to);
                          out.insert(out.end(), row, row + 96);
                        },
                        &rows};
    sequence s(loaded);
    s.feed_together(1,
                    [&](u32) -> decltype(s)::feeding { return {&s, std::span(both::tables::ids()).first(50), sink}; });
    return rows;
  };
  const std::vector<float> want = hidden(both::tables::load(2, 64, 1));
  CHECK(want.size() == 50 * 96);
  CHECK(same_bits(want, hidden(both::straight::load(1, 64, 1))));
}

TEST_CASE("unrolled: it has no steps to watch") {
  const auto m = unrolled_model::pair<random_model::mixed, Q8_0>::straight::load(1, 64, 1);
  m->watch({});
  const auto watch = [&] { m->watch({[](void*, u32, u32, u32, u64, u64) {}, nullptr}); };
  CHECK(random_model::failure_of(watch).text ==
        "watch: expected a model that runs over tables, without cke::unrolled, found an unrolled one");
}
