// SPDX-License-Identifier: MIT
// layers.hpp: the alphabet. A model is a type list of these letters; nothing here computes.
#pragma once

#include "core/params.hpp"

namespace cke {

// rms norm of each head of q and k, or of all their heads together; eps 0: absent
struct head_norm {
  real eps{}, offset{};
  bool together{};
};

// rms norm of each head of v, without weights; eps 0: absent
struct value_norm {
  real eps{};
  bool of_k{};  // of k before its own norm and rope: there is no matrix of v
};

// Options of an attention letter: an absent feature is a field not written.
struct attention_options {
  u32 dim, heads, kv_heads, head_dim;
  rotary rope{};
  head_norm qk_norm{};
  value_norm v_norm{};
  u32 window = everything;  // keys a query sees, itself included; bidirectional: the side of a window of patches
  real scale{};             // of the scores; 0: head_dim^-1/2
  real cap{};               // c * tanh(s / c) on scores; 0: none
  bool qkv_bias{}, out_bias{};
  bool shared_kv{};      // no k and v: reads the cache of the last earlier layer of this shape
  bool gate{};           // multiplies each head's output by the sigmoid of its own projection
  bool clipped{};        // what each matrix reads and leaves is clamped to learned bounds
  bool bidirectional{};  // of a tower: each row sees all rows of its image, or of its window
  bool sees_image{};     // a row of an image also sees the image's rows after it; a window bounds what it sees before
};

// Options of multi-head latent attention: the cache holds, per token, one latent of all heads' keys and values, and one
// rotated key.
struct latent_attention_options {
  u32 dim, heads, q_rank, kv_rank;  // q_rank 0: one matrix of q
  u32 nope, value;                  // dims of a head's key that are not rotated, and of its value
  rotary rope{};                    // of the rotated dims
  real scale{};                     // of the scores
  real eps{1e-6};                   // of the latents' norms
};

// Options of a mixture of experts. Each expert is a gated mlp; with `shared`, every token uses one more.
struct moe_options {
  u32 dim, hidden;
  router route{};
  activation act{};
  bool ungated{};      // each expert is down(act(up x))
  u32 shared{};        // its hidden width; 0: none
  bool shared_gate{};  // multiplies its output by sigmoid(g . x)
  real router_norm{};  // eps; the router reads the stream, normed and times dim^-1/2; 0: what the experts read
  u32 latent{};        // width of the experts, between two matrices that all tokens go through; 0: dim
  bool bias{};         // of those two, and of the shared expert
  constexpr u32 width() const { return latent ? latent : dim; }
};

// Options of a gated delta net (linear attention): a short convolution of q, k and v, then for each value head
//   s <- e^g s;  s <- s + k (beta (v - s^T k));  y = s^T q,  g = -e^decay softplus(alpha + step_bias)
// where |q| = key_dim^-1/2 and |k| = 1; y is normalised, then multiplied by silu of a gate.
struct delta_net_options {
  u32 dim, key_heads, value_heads, key_dim, value_dim, taps;
  real eps{};
  bool tiled{};  // value head i uses key head i % key_heads, as in GGUF; otherwise neighbours share one
};

// Options of a mamba2 mixer: a short convolution of x, B and C, where the heads of a group share B and C; then for each
// head
//   s <- e^(-e^decay d) s + (d x) B^T;  y = s C + skip x,  d = softplus(step + step_bias)
// multiplied by silu of a gate, and normalised group by group.
struct mamba_options {
  u32 dim, heads, head_dim, state, groups, taps;
  real eps{};
  real least_step{}, most_step = 1e300;  // of d
  bool conv_bias{}, bias{};              // of the convolution, of the matrices
};

// ---- letters: one line each; in and out are floats per token -----------------------------------

template <u32 In, u32 Out> struct maps {
  static constexpr u32 in = In, out = Out;
};
template <u32 Dim> using keeps = maps<Dim, Dim>;
// The limits of a letter's numbers, alone and together: layer_checks.hpp. An error names the field.
namespace checks {
template <class Letter> struct letter;
}

template <u32 Vocab, u32 Dim> struct embedding : maps<1, Dim>, private checks::letter<embedding<Vocab, Dim>> {};
// A further embedding of the token and Eps-normed parts of the stream, Part numbers for each layer; layer_input adds
// the part of its layer.
template <u32 Vocab, u32 Dim, u32 Layers, u32 Part, real Eps>
struct layer_embedding : keeps<Dim>, private checks::letter<layer_embedding<Vocab, Dim, Layers, Part, Eps>> {};
template <u32 Dim, u32 Part, activation A>
struct layer_input : keeps<Dim>, private checks::letter<layer_input<Dim, Part, A>> {};
template <u32 Dim, real Eps, real Offset = real{}>
struct rms_norm : keeps<Dim>, private checks::letter<rms_norm<Dim, Eps, Offset>> {};
template <u32 Dim, real By> struct scale : keeps<Dim>, private checks::letter<scale<Dim, By>> {};
template <u32 Dim>  // multiplies by one number, in place
struct learned_scale : keeps<Dim>, private checks::letter<learned_scale<Dim>> {};
template <u32 Dim, real Cap>  // Cap * tanh(x / Cap); 0: none
struct softcap : keeps<Dim>, private checks::letter<softcap<Dim, Cap>> {};
template <attention_options S> struct attention : keeps<S.dim>, private checks::letter<attention<S>> {};
template <latent_attention_options S> struct latent_attention : keeps<S.dim>,
                                                                private checks::letter<latent_attention<S>> {};
template <u32 Dim, u32 Hidden, activation A, bool Bias = false>
struct gated_mlp : keeps<Dim>, private checks::letter<gated_mlp<Dim, Hidden, A, Bias>> {};
template <u32 Dim, u32 Hidden, activation A, bool Bias = false>  // down(act(up x))
struct plain_mlp : keeps<Dim>, private checks::letter<plain_mlp<Dim, Hidden, A, Bias>> {};
template <u32 Dim, u32 Hidden, activation A>  // gated; what each matrix reads and leaves is clamped to learned bounds
struct clipped_mlp : keeps<Dim>, private checks::letter<clipped_mlp<Dim, Hidden, A>> {};
template <moe_options S> struct moe : keeps<S.dim>, private checks::letter<moe<S>> {};
template <delta_net_options S> struct gated_delta_net : keeps<S.dim>, private checks::letter<gated_delta_net<S>> {};
template <mamba_options S> struct mamba_mixer : keeps<S.dim>, private checks::letter<mamba_mixer<S>> {};
template <u32 Dim, u32 Taps, bool Bias = false>  // [b | c | x] of the input: c * conv(b * x)
struct short_conv : keeps<Dim>, private checks::letter<short_conv<Dim, Taps, Bias>> {};
template <u32 Dim, u32 Vocab, bool Tied>
struct head : maps<Dim, Vocab>, private checks::letter<head<Dim, Vocab, Tied>> {};

// Rows of images in a text: their features take the place of embeddings; Taps further features of each are for the
// first layers, which deepstack_add adds to the stream. The other letters before the layers see id Pad in such rows.
template <u32 Dim, u32 Taps = 0, u32 Pad = 0, bool Present = true>
struct image_rows : keeps<Dim>, private checks::letter<image_rows<Dim, Taps, Pad, Present>> {};
template <u32 Dim> struct deepstack_add : keeps<Dim>, private checks::letter<deepstack_add<Dim>> {};

// ---- letters of vision towers: in and out are floats per patch; rows of patches that belong together are neighbours
// --

template <u32 In, u32 Dim, bool Bias>  // In: the numbers of a patch, as the weight of its convolution has them
struct patch_embedding : maps<In, Dim>, private checks::letter<patch_embedding<In, Dim, Bias>> {};
template <u32 Dim, u32 Rows, position_rule Rule>  // adds what a table of Rows positions has for the patch's place
struct learned_positions : keeps<Dim>, private checks::letter<learned_positions<Dim, Rows, Rule>> {};
template <u32 Dim, real Eps> struct layer_norm : keeps<Dim>, private checks::letter<layer_norm<Dim, Eps>> {};
template <u32 Dim, real Eps>  // without weights
struct unit_rms_norm : keeps<Dim>, private checks::letter<unit_rms_norm<Dim, Eps>> {};
template <u32 Dim, real By, real Offset>  // x * By + Offset; before the patch_embedding too
struct affine : keeps<Dim>, private checks::letter<affine<Dim, By, Offset>> {};
template <u32 Dim>  // (x - bias) * scale, learned ones
struct standardise : keeps<Dim>, private checks::letter<standardise<Dim>> {};
template <u32 Dim, u32 By, bool Interleaved = false>  // By rows become one: one after the other, or column by column
struct spatial_merge : maps<Dim, By * Dim>, private checks::letter<spatial_merge<Dim, By, Interleaved>> {};
template <u32 Dim, u32 By>  // By rows become their mean
struct average_pool : keeps<Dim>, private checks::letter<average_pool<Dim, By>> {};
template <u32 Dim, u32 By>  // By rows become the last of them
struct last_row : keeps<Dim>, private checks::letter<last_row<Dim, By>> {};
// By rows become one, y + down(act(up norm(y))): y is what a learned row finds by attention over them.
template <u32 Dim, u32 Heads, u32 By, u32 Hidden, activation A, real Eps>
struct attention_pool : keeps<Dim>, private checks::letter<attention_pool<Dim, Heads, By, Hidden, A, Eps>> {};
template <u32 In, u32 Hidden, u32 Out, activation A, bool Bias>  // down(act(up x)); Hidden 0: one matrix, down x
struct projector : maps<In, Out>, private checks::letter<projector<In, Hidden, Out, A, Bias>> {};
// ---- words: how letters become a model -----------------------------------------------------------
//   network = letters stacks letters          network<embedding, stack<...>, rms_norm, head>
//   stack  = stack<N, Period...>             layer i is Period[i % size]
//          | arrange<Order, Kinds...>        layer i is Kinds[Order[i]]
//   layer  = block<words...>                has a number in the checkpoint
//   word   = residual<f, g>                  x + g(f(x))
//          | sum<f, g>                       f(x) + g(x)
//          | chain<f, g>                     g(f(x))
//          | deepstack<f, g>                 x; a tower has g(f(x)) as a second output

template <class T> concept stacked = requires { typename T::kinds; };

template <class... Ls> struct ends {
  static constexpr u32 in = at<0, list<Ls...>>::in, out = at<sizeof...(Ls) - 1, list<Ls...>>::out;
};
template <> struct ends<> : keeps<0> {};

// The requirements of each word on its parts: word_checks.hpp.
namespace checks {
template <class Word> struct word;
}

template <class... Ls> struct chain : ends<Ls...>, private checks::word<chain<Ls...>> {};
template <class... Ls> struct residual : ends<Ls...>, private checks::word<residual<Ls...>> {};
template <class... Branches> struct sum : ends<Branches...>, private checks::word<sum<Branches...>> {};
template <class... Ls> struct deepstack : keeps<at<0, list<Ls...>>::in>, private checks::word<deepstack<Ls...>> {
  static constexpr u32 features = at<sizeof...(Ls) - 1, list<Ls...>>::out;
};
template <class... Ls> struct block : ends<Ls...>, private checks::word<block<Ls...>> {};

template <std::size_t N, class... Period> struct stack : ends<Period...>, private checks::word<stack<N, Period...>> {
  using kinds = list<Period...>;
  static constexpr u32 layers = N;
  static constexpr u32 kind(u32 i) { return i % sizeof...(Period); }
};

// Order is an array of indices into Kinds.
template <auto Order, class... Kinds> struct arrange : ends<Kinds...>, private checks::word<arrange<Order, Kinds...>> {
  using kinds = list<Kinds...>;
  static constexpr u32 layers = static_cast<u32>(Order.size());
  static constexpr u32 kind(u32 i) { return static_cast<u32>(Order[i]); }
};

template <class... Parts> struct network : ends<Parts...>, private checks::word<network<Parts...>> {
  using parts = list<Parts...>;
};

// The same of images: tower<patch_embedding, stack<...>, layer_norm>; patches in, rows of features out. A tower of
// texts begins with an embedding: its rows are the ids of a text, all of which see each other.
template <class... Parts> struct tower : ends<Parts...>, private checks::word<tower<Parts...>> {
  using parts = list<Parts...>;
  static constexpr bool is_tower = true;
};

}  // namespace cke

#include "layer_checks.hpp"
