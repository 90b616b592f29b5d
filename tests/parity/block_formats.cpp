// SPDX-License-Identifier: MIT
// block_formats.cpp: a model of every block format against the same numbers as f32, and on the scalar isa.
#include <doctest/doctest.h>

#include "../runtime/random_model.hpp"

using namespace cke;
using namespace cke::text;
using namespace cke::io;
using namespace cke::graph;
using namespace cke::kernels;
using namespace cke::runtime;
using random_model::patchwork;
using random_model::wide;

namespace {

constexpr u32 length = 40, vocab = program<wide, F32>::vocab;

template <class Formats, class Isa> std::vector<float> logits_of(const random_model::tensors& t) {
  using machine = loaded<program<wide, Formats>, dtype::f32, Isa>;
  const model_options o{.threads = 2, .context = length, .chunk = 16, .logit_rows = 16};
  std::vector<float> out;
  sequence s(std::make_shared<machine>(t.index(), "random", naming::hf, names_of<wide>(), o));
  s.feed_all(random_model::ids(length, vocab),
             [&](u32, std::span<const float> row) { out.insert(out.end(), row.begin(), row.end()); });
  return out;
}

// The same matrices, read from units and widened.
template <dtype F> void widen(random_model::tensors& t) {
  using packed = kernels::packed<F, isa::scalar>;
  for (std::size_t i = 0; i < t.list.size(); ++i) {
    const tensor_ref from = t.list[i];
    if (from.type != F || from.shape.size() != 2) continue;
    const auto rows = static_cast<u32>(from.shape[0]), cols = static_cast<u32>(from.shape[1]);
    std::vector<float> numbers(u64{rows} * cols);
    std::vector<std::byte> unit(packed::bytes(1, cols));
    for (u32 row = 0; row < rows; ++row) {
      const std::byte* at = from.bytes.data() + row * bytes_of(F, cols);
      packed::pack(unit.data(), 1, cols, [&](auto&& pack_unit) { pack_unit(0, {1, &at, F}); });
      packed::unpack_row(unit.data(), 0, cols, &numbers[u64{row} * cols]);
    }
    t.list.erase(t.list.begin() + static_cast<std::ptrdiff_t>(i--));
    t.add(from.name, from.shape, numbers);
  }
}

// A row of f32 as F keeps it.
template <dtype F> void round_row(const std::byte* row, u32 cols, float* out) {
  using packed = kernels::packed<F, isa::scalar>;
  std::vector<std::byte> unit(packed::bytes(1, cols));
  packed::pack(unit.data(), 1, cols, [&](auto&& pack_unit) { pack_unit(0, {1, &row, dtype::f32}); });
  packed::unpack_row(unit.data(), 0, cols, out);
}

// Root mean square of the difference over that of the second.
double relative(const std::vector<float>& a, const std::vector<float>& b) {
  REQUIRE(a.size() == b.size());
  double error = 0, size = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    error += std::pow(double{a[i]} - double{b[i]}, 2);
    size += std::pow(double{b[i]}, 2);
  }
  return std::sqrt(error / size);
}

// Every matrix in one of Ts, or in a type that is rounded from f32.
template <class Formats, dtype... Ts> void check() {
  auto t = random_model::tensors::of<program<wide, Formats>>();
  const auto native = logits_of<Formats, isa::native>(t), scalar = logits_of<Formats, isa::scalar>(t);
  CHECK(relative(native, scalar) < 1e-2);  // an activation that is almost a tie may round the other way
  (widen<Ts>(t), ...);
  const auto exact = logits_of<F32, isa::native>(t);
  MESSAGE("native from scalar ", relative(native, scalar), ", from f32 ", relative(native, exact));
  CHECK(relative(native, exact) < 4e-2);  // 15 matrices; one that is read wrong makes it about 1
}

}  // namespace

TEST_CASE("parity: a patchwork of formats is its numbers, up to the rounding of activations") {
  check<patchwork, dtype::q4_0, dtype::q4_k, dtype::q5_k, dtype::q6_k>();
}

TEST_CASE("parity: and one of the other block formats") {
  check<random_model::second_patchwork, dtype::q4_1, dtype::q5_0, dtype::q5_1, dtype::q2_k, dtype::q3_k, dtype::iq4_nl,
        dtype::iq4_xs, dtype::mxfp4>();
}

TEST_CASE("parity: i4, and i8 where scores are, are their numbers") {
  auto t = random_model::tensors::of<program<wide, I4>>();
  const auto native = logits_of<I4, isa::native>(t), scalar = logits_of<I4, isa::scalar>(t);
  CHECK(relative(native, scalar) < 1e-2);
  CHECK(relative(native, logits_of<F32, isa::native>(t)) > 4e-2);  // four bits are not many
  for (const tensor_ref& ref : std::vector(t.list)) {
    if (ref.shape.size() != 2) continue;
    const dtype type = ref.name.find("embed") != ref.name.npos || ref.name.find("head") != ref.name.npos
        ? dtype::i8_row
        : dtype::i4_row;
    const auto cols = static_cast<u32>(ref.shape[1]);
    std::vector<float> numbers(ref.bytes.size() / 4);
    for (u64 at = 0; at < numbers.size(); at += cols)
      type == dtype::i8_row ? round_row<dtype::i8_row>(ref.bytes.data() + at * 4, cols, &numbers[at])
                            : round_row<dtype::i4_row>(ref.bytes.data() + at * 4, cols, &numbers[at]);
    t.list.erase(std::ranges::find(t.list, ref.name, &tensor_ref::name));
    t.add(ref.name, ref.shape, numbers);
  }
  const auto exact = logits_of<F32, isa::native>(t);
  MESSAGE("native from scalar ", relative(native, scalar), ", from f32 ", relative(native, exact));
  CHECK(relative(native, exact) < 4e-2);
}
