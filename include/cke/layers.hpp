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
  bool of_k{};  // of k as the matrix gives it: there is no matrix of v
};

// Options of an attention letter: an absent feature is a field not written.
struct attention_options {
  u32 dim, heads, kv_heads, head_dim;
  rotary rope{};
  head_norm qk_norm{};
  value_norm v_norm{};
  u32 window = everything;  // keys a query sees, itself included
  real scale{};             // of the scores; 0: head_dim^-1/2
  real cap{};               // c * tanh(s / c) on scores; 0: none
  bool qkv_bias{}, out_bias{};
  bool shared_kv{};         // no k and v: the cache of the last layer before with one of this shape
  bool gate{};              // each head's output is times sigmoid of a projection of its own
};

// Options of multi-head latent attention: what is kept of a token is a latent of all heads' keys and values, and one
// key that is turned.
struct latent_attention_options {
  u32 dim, heads, q_rank, kv_rank;  // q_rank 0: one matrix of q
  u32 nope, value;                  // dims of a head's key that are not turned, and of its value
  rotary rope{};                    // of the others
  real scale{};                     // of the scores
  real eps{1e-6};                   // of the latents' norms
};

// Options of a mixture of experts, each a gated mlp, and with `shared` one that every token chooses.
struct moe_options {
  u32 dim, hidden;
  router route{};
  activation act{};
  bool ungated{};      // each is down(act(up x))
  u32 shared{};        // its hidden width; 0: none
  bool shared_gate{};  // its output is times sigmoid(g . x)
  real router_norm{};  // eps; the router reads the stream, normed and times dim^-1/2; 0: what the experts read
  u32 latent{};        // experts read and write these many numbers, between two matrices that all tokens go through; 0: dim
  bool bias{};         // of those two, and of the shared expert
  constexpr u32 width() const { return latent ? latent : dim; }
};

// Options of a gated delta net (linear attention): a short convolution of q, k and v, then for each value head
//   s <- e^g s;  s <- s + k (beta (v - s^T k));  y = s^T q,  g = -e^decay softplus(alpha + step_bias)
// with q and k of length key_dim^-1/2 and 1; y is normalised and times silu of a gate.
struct delta_net_options {
  u32 dim, key_heads, value_heads, key_dim, value_dim, taps;
  real eps{};
  bool tiled{};  // value head i goes with key head i % key_heads, as in GGUF; else neighbours share one
};

// Options of a mamba2 mixer: a short convolution of x, B and C, of which heads in a group share B and C; then for each head
//   s <- e^(-e^decay d) s + (d x) B^T;  y = s C + skip x,  d = softplus(step + step_bias)
// times silu of a gate, and normalised group by group.
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
template <attention_options S> struct attention_holds;
template <latent_attention_options S> struct latent_holds;
template <moe_options S> struct experts_hold;
template <u32 Heads, u32 KvHeads> struct heads_divide;
template <u32 Heads, u32 Groups> struct groups_share_heads;

template <u32 Vocab, u32 Dim> struct embedding : maps<1, Dim> {};
// A further embedding of the token, and Eps-normed parts of the stream, Part of each for every layer; layer_input adds a
// layer's to it.
template <u32 Vocab, u32 Dim, u32 Layers, u32 Part, real Eps> struct layer_embedding : keeps<Dim> {};
template <u32 Dim, u32 Part, activation A> struct layer_input : keeps<Dim> {};
template <u32 Dim, real Eps, real Offset = real{}> struct rms_norm : keeps<Dim> {};
template <u32 Dim, real By> struct scale : keeps<Dim> {};
template <u32 Dim> struct learned_scale : keeps<Dim> {};  // by one number, in place
template <u32 Dim, real Cap> struct softcap : keeps<Dim> {};  // Cap * tanh(x / Cap); 0: none
template <attention_options S> struct attention : keeps<S.dim>, private attention_holds<S> {};
template <latent_attention_options S> struct latent_attention : keeps<S.dim>, private latent_holds<S> {};
template <u32 Dim, u32 Hidden, activation A, bool Bias = false> struct gated_mlp : keeps<Dim> {};
template <u32 Dim, u32 Hidden, activation A, bool Bias = false> struct plain_mlp : keeps<Dim> {};  // down(act(up x))
template <moe_options S> struct moe : keeps<S.dim>, private experts_hold<S> {};
template <delta_net_options S> struct gated_delta_net : keeps<S.dim>, private heads_divide<S.value_heads, S.key_heads> {};
template <mamba_options S> struct mamba_mixer : keeps<S.dim>, private groups_share_heads<S.heads, S.groups> {};
template <u32 Dim, u32 Taps, bool Bias = false> struct short_conv : keeps<Dim> {  // [b | c | x] of the input: c * conv(b * x)
  static_assert(Taps > 0, "cke: short_conv: a convolution has a tap; see short_conv<dim, taps, bias>");
};
template <u32 Dim, u32 Vocab, bool Tied> struct head : maps<Dim, Vocab> {};

// ---- words: how letters become a model -----------------------------------------------------------
//   network = letters stacks letters          network<embedding, stack<...>, rms_norm, head>
//   stack  = stack<N, Period...>             layer i is Period[i % size]
//          | arrange<Order, Kinds...>        layer i is Kinds[Order[i]]
//   layer  = block<words...>                 what owns a number in the checkpoint
//   word   = residual<f, g>                  x + g(f(x))
//          | sum<f, g>                       f(x) + g(x)
//          | chain<f, g>                     g(f(x))

struct link { u32 at, produces, expects; };  // the edge into letter number `at`

template <class... Ls> constexpr link first_broken_link() {
  constexpr u32 in[]{Ls::in...}, out[]{Ls::out...};
  for (u32 i = 1; i < sizeof...(Ls); ++i)
    if (in[i] != out[i - 1]) return {i, out[i - 1], in[i]};
  return {};
}

template <link At> struct layers_fit {
  static_assert(At.produces == At.expects,
                "cke: layers: a letter's input is not its predecessor's output; "
                "see layers_fit<link{at, produces, expects}>");
};

template <u32 Heads, u32 KvHeads> struct heads_divide {
  static_assert(Heads > 0 && KvHeads > 0 && Heads % (KvHeads ? KvHeads : 1) == 0,
                "cke: attention: heads must be a multiple of kv_heads; see heads_divide<heads, kv_heads>");
};
template <u32 Heads, u32 Groups> struct groups_share_heads {
  static_assert(Heads > 0 && Groups > 0 && Heads % (Groups ? Groups : 1) == 0,
                "cke: mamba_mixer: heads must be a multiple of groups; see groups_share_heads<heads, groups>");
};
template <u32 HeadDim> struct head_dim_is_even {
  static_assert(HeadDim > 0 && HeadDim % 2 == 0, "cke: attention: head_dim must be even; see head_dim_is_even<head_dim>");
};
template <u32 Window> struct window_sees_keys {
  static_assert(Window > 0, "cke: attention: window 0 sees no key; use everything for full attention");
};
template <u32 Dims, u32 HeadDim> struct rope_fits_head {
  static_assert(Dims <= HeadDim && Dims % 2 == 0,
                "cke: attention: rope.dims must be even and at most head_dim; see rope_fits_head<dims, head_dim>");
};
template <attention_options S>
struct attention_holds : heads_divide<S.heads, S.kv_heads>, head_dim_is_even<S.head_dim>, window_sees_keys<S.window>,
                         rope_fits_head<S.rope.dims, S.head_dim> {};

template <latent_attention_options S> struct latent_holds : rope_fits_head<S.rope.dims, S.nope + S.rope.dims> {};

template <u32 Active, u32 Experts> struct active_experts_exist {
  static_assert(Active > 0 && Active <= Experts,
                "cke: moe: a token chooses at least one expert and not more than there are; see active_experts_exist<active, experts>");
};
template <u32 Groups, u32 Experts> struct groups_divide {
  static_assert(Groups > 0 && Experts % (Groups ? Groups : 1) == 0,
                "cke: moe: experts must be a multiple of groups; see groups_divide<groups, experts>");
};
template <u32 Kept, u32 Groups, u32 Active, u32 Experts> struct kept_groups_suffice {
  static_assert(Kept > 0 && Kept <= Groups && u64{Kept} * (Experts / (Groups ? Groups : 1)) >= Active,
                "cke: moe: the groups kept must have the active experts; see kept_groups_suffice<kept, groups, active, experts>");
};
template <u32 Latent, bool SharedGate> struct latent_has_no_shared_gate {
  static_assert(Latent == 0 || !SharedGate,
                "cke: moe: beside experts of a latent the shared expert has no gate; see latent_has_no_shared_gate<latent, shared_gate>");
};
template <moe_options S>
struct experts_hold : latent_has_no_shared_gate<S.latent, S.shared_gate>, active_experts_exist<S.route.active, S.route.experts>, groups_divide<S.route.groups, S.route.experts>,
                      kept_groups_suffice<S.route.groups_kept, S.route.groups, S.route.active, S.route.experts> {};

template <class... Ls> struct ends {
  static constexpr u32 in = at<0, list<Ls...>>::in, out = at<sizeof...(Ls) - 1, list<Ls...>>::out;
};

template <class... Ls> struct chain : ends<Ls...>, private layers_fit<first_broken_link<Ls...>()> {};
template <class... Ls>
struct residual : keeps<at<0, list<Ls...>>::in>, private layers_fit<first_broken_link<Ls..., at<0, list<Ls...>>>()> {};
template <class... Branches> struct sum : ends<Branches...> {};
template <class... Ls>
struct block : ends<Ls...>, private layers_fit<first_broken_link<Ls..., at<0, list<Ls...>>>()> {};

template <std::size_t N, class... Period> struct stack : ends<Period...> {
  using kinds = list<Period...>;
  static constexpr u32 layers = N;
  static constexpr u32 kind(u32 i) { return i % sizeof...(Period); }
};

// Order is an array of indices into Kinds.
template <auto Order, class... Kinds> struct arrange : ends<Kinds...> {
  using kinds = list<Kinds...>;
  static constexpr u32 layers = static_cast<u32>(Order.size());
  static constexpr u32 kind(u32 i) { return static_cast<u32>(Order[i]); }
};

template <class... Parts> struct network : ends<Parts...>, private layers_fit<first_broken_link<Parts...>()> {
  using parts = list<Parts...>;
};

template <class T> concept stacked = requires { typename T::kinds; };

}  // namespace cke
