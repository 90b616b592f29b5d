// SPDX-License-Identifier: MIT
// own_model.cpp DIR PROMPT: an architecture that cke has never heard of, in one file.
// It is Qwen3 with a twist: every other layer sees only the last 256 tokens. DIR holds weights of
// these shapes, as assets/tiny does; a list that does not fit the tensors is refused by name.
#include <cke/hf.hpp>
#include <cke/model.hpp>

#include <iostream>

namespace mine {
using namespace cke;

constexpr u32 vocab = 1536, dim = 128, hidden = 384, layers = 5;
constexpr real eps = 1e-6;

constexpr attention_options global{
    .dim = dim, .heads = 4, .kv_heads = 2, .head_dim = 32, .rope = {.dims = 32, .theta = 1e4}, .qk_norm = {eps}};
constexpr attention_options local = [] {
  auto a = global;
  a.window = 256;
  return a;
}();

template <attention_options A> using layer =
    block<residual<rms_norm<dim, eps>, attention<A>>,
          residual<rms_norm<dim, eps>, gated_mlp<dim, hidden, activation::silu>>>;

struct alternating
    : network<embedding<vocab, dim>, stack<layers, layer<local>, layer<global>>,  // local, global, local, ...
              rms_norm<dim, eps>, head<dim, vocab, true>> {
  // Where the checkpoint's names are not the common ones, add name_rules here: the last one wins.
  static constexpr auto names = common_names;
};

}  // namespace mine

int main(int argc, char** argv) try {
  if (argc != 3) return std::cerr << "usage: own_model DIR PROMPT\n", 2;
  const auto model = cke::Model<mine::alternating, cke::BF16>::load(cke::hf(argv[1]));
  auto session = model.session();
  for (const std::string_view piece : session.generate(argv[2], {.max_tokens = 60})) std::cout << piece << std::flush;
  std::cout << '\n';
} catch (const cke::Error& e) { return std::cerr << "own_model: " << e.what() << '\n', 1; }
