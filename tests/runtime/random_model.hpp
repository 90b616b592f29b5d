// SPDX-License-Identifier: MIT
// random_model.hpp: a small model of odd shapes, and a checkpoint of random numbers for any type list.
#pragma once

#include <cke/config_check.hpp>
#include <cke/core/tensor_name.hpp>
#include <cke/io/checkpoint.hpp>
#include <cke/runtime/sequence.hpp>
#include <cke/runtime/state_layout.hpp>
#include <cke/text/sampling/random.hpp>
#include <cstring>
#include <deque>

#include "../blocks.hpp"

namespace random_model {

using namespace cke;
using namespace cke::graph;
using namespace cke::io;
using namespace cke::kernels;
using namespace cke::runtime;
using namespace cke::text;

inline constexpr attention_options tiny_attend{.dim = 96,
                                               .heads = 6,
                                               .kv_heads = 2,
                                               .head_dim = 24,
                                               .rope = {.dims = 24, .theta = 1e4},
                                               .qk_norm = {1e-6},
                                               .qkv_bias = true};

// No width is a multiple of a register but 96 and 160; 144 columns of o are no whole q8_0 blocks.
struct tiny : network<embedding<259, 96>,
                      stack<2,
                            block<residual<rms_norm<96, 1e-6>, attention<tiny_attend>>,
                                  residual<rms_norm<96, 1e-6>, gated_mlp<96, 160, activation::silu>>>>,
                      rms_norm<96, 1e-6>, head<96, 259, true>> {};

inline constexpr attention_options wide_attend{
    .dim = 256, .heads = 4, .kv_heads = 2, .head_dim = 64, .rope = {.dims = 64, .theta = 1e4}, .qk_norm = {1e-6}};

// Rows that are whole blocks of every format.
struct wide : network<embedding<131, 256>,
                      stack<2,
                            block<residual<rms_norm<256, 1e-6>, attention<wide_attend>>,
                                  residual<rms_norm<256, 1e-6>, gated_mlp<256, 256, activation::silu>>>>,
                      rms_norm<256, 1e-6>, head<256, 131, true>> {};

// Every format, side by side where a step has several matrices: q, k and v on one quantised input, and in two
// forms of it; gate and up likewise.
inline constexpr stored_matrices patchwork_table[]{
    {role::embed, 0, 1, dtype::q6_k}, {role::q, 0, 1, dtype::q4_k},    {role::k, 0, 1, dtype::q6_k},
    {role::v, 0, 1, dtype::q5_k},     {role::o, 0, 1, dtype::q8_0},    {role::gate, 0, 1, dtype::q4_k},
    {role::up, 0, 1, dtype::q6_k},    {role::down, 0, 1, dtype::q4_0}, {role::q, 1, 2, dtype::q4_0},
    {role::k, 1, 2, dtype::q4_k},     {role::v, 1, 2, dtype::bf16},    {role::o, 1, 2, dtype::q5_k},
    {role::gate, 1, 2, dtype::q8_0},  {role::up, 1, 2, dtype::bf16},   {role::down, 1, 2, dtype::q6_k}};
using patchwork = stored_formats<patchwork_table>;
inline constexpr stored_matrices second_table[]{
    {role::embed, 0, 1, dtype::q5_1}, {role::q, 0, 1, dtype::q4_1},     {role::k, 0, 1, dtype::q5_0},
    {role::v, 0, 1, dtype::q2_k},     {role::o, 0, 1, dtype::q3_k},     {role::gate, 0, 1, dtype::iq4_nl},
    {role::up, 0, 1, dtype::iq4_xs},  {role::down, 0, 1, dtype::mxfp4}, {role::q, 1, 2, dtype::mxfp4},
    {role::k, 1, 2, dtype::iq4_xs},   {role::v, 1, 2, dtype::f16},      {role::o, 1, 2, dtype::q5_0},
    {role::gate, 1, 2, dtype::q2_k},  {role::up, 1, 2, dtype::q3_k},    {role::down, 1, 2, dtype::q4_1}};
using second_patchwork = stored_formats<second_table>;

// Tensors in memory under their Hugging Face names, for tests to change before they are read.
class tensors {
 public:
  std::vector<tensor_ref> list;

  template <class P> static tensors of(u64 seed = 1) {
    tensors t;
    P::for_each_weight([&](const weight& w) {
      const spelling& rule = name_of(names_of<typename P::model_list>(), w.where, w.slot).hf[0];
      const u32 rows = of_experts(w.slot.is) ? w.slot.group : w.slot.rows;
      for (u32 expert = 0; expert < w.slot.rows / rows; ++expert) {
        const std::string name = tensor_name(rule, w.slot.bias, w.layer, expert);
        if (!kernels::rounds_to(w.as)) {
          t.add_blocks(name, w.as, rows, w.slot.cols, seed);
          continue;
        }
        const bool matrix = w.slot.quantisable || w.slot.rows > 1, norm = !matrix && !w.slot.bias;
        const double size = matrix ? std::sqrt(3. / w.slot.cols) : 0.5;
        std::vector<float> numbers(u64{rows} * w.slot.cols);
        for (float& x : numbers) x = static_cast<float>((norm ? 1 : 0) + size * (2 * uniform(seed, t.drawn_++) - 1));
        t.add(name, matrix ? tensor_shape{rows, w.slot.cols} : tensor_shape{w.slot.cols}, numbers);
      }
    });
    return t;
  }

  void add(std::string name, tensor_shape shape, std::span<const float> numbers) {
    auto& bytes = memory_.emplace_back(numbers.size_bytes());
    std::memcpy(bytes.data(), numbers.data(), numbers.size_bytes());
    list.push_back({std::move(name), dtype::f32, "F32", shape, bytes, {}});
  }
  // With which random codes are about 1 in size, and 0 in the middle.
  struct block_scales {
    double d, least;
  };
  static constexpr block_scales scales_of(dtype type) {
    switch (type) {
      case dtype::q4_0: return {0.25, 0};
      case dtype::q4_1: return {0.25, -0.25 * 7.5};
      case dtype::q5_0: return {0.12, 0};
      case dtype::q5_1: return {0.12, -0.12 * 15.5};
      case dtype::q2_k: return {0.12, 0.12 * 1.5};
      case dtype::q3_k: return {0.025, 0};
      case dtype::q4_k: return {5e-3, 5e-3 * 7.5};
      case dtype::q5_k: return {2.5e-3, 2.5e-3 * 15.5};
      case dtype::iq4_nl: return {0.016, 0};
      case dtype::mxfp4: return {0.2, 0};
      default: return {8e-4, 0};  // q6_k, iq4_xs
    }
  }
  // Random blocks of about the size that an f32 matrix would have.
  void add_blocks(std::string name, dtype type, u32 rows, u32 cols, u64 seed) {
    auto& bytes = memory_.emplace_back(bytes_of(type, u64{rows} * cols));
    for (std::byte& b : bytes) b = static_cast<std::byte>(uniform(seed, drawn_++) * 256);
    const auto [step, least] = scales_of(type);
    for (u64 block = 0; block < bytes.size(); block += info(type).bytes) {
      const auto scaled = [&](double x) {
        return static_cast<float>(x * (0.5 + uniform(seed, drawn_++)) / std::sqrt(cols));
      };
      const float d = scaled(step);
      blocks::set_scales(type, &bytes[block], d, blocks::has_least(type) ? scaled(least) : 0.f);
    }
    list.push_back({std::move(name), type, std::string(info(type).name), {rows, cols}, bytes, 0});
  }
  // The numbers of f32 tensors, rounded to another type.
  void store_as(dtype type) {
    for (tensor_ref& t : list) {
      auto& bytes = memory_.emplace_back(t.bytes.size() / 2);
      for (std::size_t i = 0; i < bytes.size() / 2; ++i) {
        const float x = number(t, i);
        const u16 half = type == dtype::bf16 ? to_bf16(x) : to_f16(x);
        std::memcpy(bytes.data() + 2 * i, &half, 2);
      }
      t.type = type, t.stored = info(type).name, t.bytes = bytes;
    }
  }
  tensor_ref& at(std::string_view name) {
    for (tensor_ref& t : list)
      if (t.name == name) return t;
    throw Error(errc::tensor_missing, "random_model.hpp", std::string(name), "a tensor of the model");
  }
  static float number(const tensor_ref& t, std::size_t i) {
    float x;
    std::memcpy(&x, t.bytes.data() + i * sizeof x, sizeof x);
    return x;
  }

  // Valid while this lives.
  tensor_index index() const {
    std::vector<tensor_ref> refs = list;
    const auto file = std::make_shared<const mapped_file>("random", std::span<const std::byte>{});
    for (tensor_ref& t : refs) t.file = file;
    return tensor_index(std::move(refs));
  }
  io::checkpoint checkpoint() const { return {"random", naming::hf, {}, {}, index(), {}, {}}; }

 private:
  std::deque<std::vector<std::byte>> memory_;  // elements keep their place, also when this moves
  u64 drawn_ = 0;
};

// `count` ids of a text; another seed is another text.
inline std::vector<u32> ids(u32 count, u32 vocab, u64 seed = 7) {
  std::vector<u32> out(count);
  for (u32 i = 0; i < count; ++i) out[i] = static_cast<u32>(uniform(seed, i) * vocab);
  return out;
}

inline bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

// A slot by itself, with pages of its own.
template <class P, dtype KV, class Isa> inline constexpr const compiled_program& compiled =
    compiled_program_of<P, KV, Isa, by_tables>;
// A sequence's states, of a program whose type is in sight.
template <class P, dtype KV, class Isa> struct state_of : sequence_state {
  using layout = state_layout<P, KV, Isa>;
  static constexpr page_plan plan = layout::plan;
  static constexpr u32 page_positions = plan.positions();
  static constexpr const auto& places = layout::places;
  static constexpr u64 bytes(capacity k) { return plan.bytes(k); }
  static constexpr u32 first_seen(u32 position) { return layout::facts.first_seen(position); }
  state_of(page_pools& from, capacity k) : sequence_state(layout::facts, from, k) {}
};

template <class Slot> Slot lone(u32 context) {
  static page_pools pages(Slot::plan, {}, 0);
  return Slot(pages, {.context = context});
}

// One pass of an executor over a single slot: take(i, row) gets the logits after the last `rows` of the ids. Arguments
// behind these are the executor's own.
template <class Executor, class Take, class... More>
decltype(auto) run_one(Executor& on, std::span<const u32> ids, u32 rows, sequence_state& s, Take&& take,
                       More&&... more) {
  const auto give = [](void* user, u32 i, const float* row) {
    (*static_cast<std::remove_reference_t<Take>*>(user))(i, row);
  };
  const u32 first = static_cast<u32>(ids.size()) - rows;
  const auto part = [&](u32) {
    return pass_part{ids, s, nullptr, {}, {give, const_cast<void*>(static_cast<const void*>(&take))}, first, first};
  };
  return on.run(1, part, std::forward<More>(more)...);
}

// What went wrong in f(), as its text and code; "" when nothing did.
struct failure {
  std::string text;
  errc code{};
};
template <class F> failure failure_of(F&& f) {
  try {
    f();
    return {};
  } catch (const Error& e) { return {e.what(), e.code}; }
}

}  // namespace random_model
