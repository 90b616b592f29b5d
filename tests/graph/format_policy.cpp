// SPDX-License-Identifier: MIT
// format.cpp: which type each recipe gives a matrix, as llama.cpp's quantiser does.
#include "cke/graph/format_policy.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

using namespace cke;
using namespace cke::graph;

namespace {

constexpr weight_slot matrix(role is, u32 cols = 1024) {
  return {.is = is, .quantisable = true, .rows = 64, .cols = cols};
}

template <class Recipe> std::vector<u32> better(role is, u32 layers) {
  std::vector<u32> out;
  for (u32 l = 0; l < layers; ++l)
    if (Recipe::of(matrix(is), l, layers, true) == dtype::q6_k) out.push_back(l);
  return out;
}

}  // namespace

// The lists are those of files that llama_model_quantize (llama-cpp-python 0.3.36) made.
TEST_CASE("format: the layers in which v and down have more bits") {
  const std::vector<u32> of_28{0, 1, 2, 5, 8, 11, 14, 17, 20, 23, 24, 25, 26, 27}, of_9{0, 3, 6, 7, 8};
  for (const role is : {role::v, role::down}) {
    CHECK(better<Q4_K_M>(is, 28) == of_28);
    CHECK(better<Q4_K_M>(is, 9) == of_9);
    CHECK(better<Q5_K_M>(is, 28) == of_28);
    CHECK(better<Q5_K_M>(is, 9) == of_9);
    CHECK(better<Q4_0>(is, 28).empty());
  }
  for (const role is : {role::q, role::k, role::o, role::gate, role::up}) CHECK(better<Q4_K_M>(is, 28).empty());
}

TEST_CASE("format: heads, embeddings, vectors, and rows that are no whole blocks") {
  for (const auto of : {Q4_0::of, Q4_K_M::of, Q5_K_M::of, Q6_K::of}) {
    CHECK(of(matrix(role::head), 0, 28, false) == dtype::q6_k);
    CHECK(of(matrix(role::embed), 0, 28, true) == dtype::q6_k);  // it is the head
    CHECK(of(matrix(role::embed), 0, 28, false) == of(matrix(role::gate), 0, 28, false));
    CHECK(of({.is = role::norm, .rows = 1, .cols = 1024}, 0, 28, true) == dtype::f32);
    CHECK(of(matrix(role::head, 96), 0, 28, false) == dtype::q8_0);
    CHECK(of(matrix(role::gate, 20), 0, 28, false) == dtype::f16);
  }
  CHECK(Q4_0::of(matrix(role::q, 96), 9, 28, true) == dtype::q4_0);
  CHECK(Q4_K_M::of(matrix(role::q, 96), 9, 28, true) == dtype::q5_0);
  CHECK(Q5_K_M::of(matrix(role::q, 96), 9, 28, true) == dtype::q5_1);
  CHECK(Q6_K::of(matrix(role::q, 96), 9, 28, true) == dtype::q8_0);
}

TEST_CASE("format: a table answers for its layers; what it does not name stays f32") {
  static constexpr stored_matrices table[]{{role::q, 0, 2, dtype::q4_k}, {role::q, 2, 5, dtype::q6_k}};
  using formats = stored_formats<table>;
  for (u32 l = 0; l < 6; ++l)
    CHECK(formats::of(matrix(role::q), l, 6, false) == (l < 2 ? dtype::q4_k : l < 5 ? dtype::q6_k : dtype::f32));
  CHECK(formats::of(matrix(role::k), 0, 6, false) == dtype::f32);
  CHECK(formats::of({.is = role::q, .bias = true, .rows = 1, .cols = 64}, 0, 6, false) == dtype::f32);
}
