// SPDX-License-Identifier: MIT
// layer_checks.hpp: the rules that each letter must obey. An error names the letter and field and shows the numbers.
#pragma once

#include "layers.hpp"

namespace cke::checks {

// ---- rules: the arguments of the one that fails are the evidence -----------------------------------

template <fixed_string Field, u64 Value, u64 Least, u64 Most> struct in_range {
  static_assert(Least <= Value && Value <= Most,
                "cke: letter: a number is out of range; see in_range<field, value, least, most>");
};
template <fixed_string Field, real Value, real Least, real Most> struct real_in_range {  // a NaN is in no range
  static_assert(Least.v <= Value.v && Value.v <= Most.v,
                "cke: letter: a number is out of range; see real_in_range<field, value, least, most>");
};
template <fixed_string Field, u64 Width> using row_fits = in_range<Field, Width, 1, limit::width>;
template <fixed_string Field, real Eps> using eps_is_small = real_in_range<Field, Eps, 1e-30, 1>;
template <fixed_string Field, real Eps> using eps_or_none = real_in_range<Field, Eps, 0, 1>;
template <fixed_string Field, real X> using factor_is_positive = real_in_range<Field, X, 1e-12, 1e12>;
template <fixed_string Field, real X> using factor_or_none = real_in_range<Field, X, 0, 1e12>;

template <u32 Heads, u32 KvHeads> struct heads_divide {
  static_assert(Heads > 0 && KvHeads > 0 && Heads % (KvHeads ? KvHeads : 1) == 0,
                "cke: attention: heads must be a multiple of kv_heads; see heads_divide<heads, kv_heads>");
};
template <u32 Dim, u32 Heads> struct heads_divide_row {
  static_assert(Heads > 0 && Dim % (Heads ? Heads : 1) == 0,
                "cke: attention_pool: dim must be a multiple of heads; see heads_divide_row<dim, heads>");
};
template <bool Bidirectional, bool SharedKv> struct bidirectional_has_keys {
  static_assert(!Bidirectional || !SharedKv,
                "cke: attention: bidirectional attention has no shared cache; "
                "see bidirectional_has_keys<bidirectional, shared_kv>");
};
template <u32 Rows, position_rule Rule> struct table_suits_rule {
  static constexpr u32 side = whole_root(Rows);
  static_assert(Rule == position_rule::by_axis        ? Rows % 2 == 0
                    : Rule == position_rule::sequence ? Rows > 0
                                                      : side* side == Rows,
                "cke: learned_positions: the table is a square, or by_axis has two halves, or it is of a sequence; "
                "see table_suits_rule<rows, rule>");
};
template <u32 HeadDim> struct head_dim_is_even {
  static_assert(HeadDim > 0 && HeadDim % 2 == 0,
                "cke: attention: head_dim must be even; see head_dim_is_even<head_dim>");
};
template <u32 Window> struct window_sees_keys {
  static_assert(Window > 0, "cke: attention: window 0 sees no key; use everything for full attention");
};
template <fixed_string Field, bool Set, real Eps> struct norm_has_eps {
  static_assert(!Set || Eps.v != 0,
                "cke: attention: a norm with eps 0 is absent; set eps too, see norm_has_eps<field, set, eps>");
};
template <u32 KvRank> struct kv_rank_is_even {
  static_assert(KvRank % 2 == 0,
                "cke: latent_attention: kv_rank must be even, as keys are; see kv_rank_is_even<kv_rank>");
};
template <rope_scaling Rule> struct latent_rope_turns_all {
  static_assert(Rule != rope_scaling::proportional,
                "cke: latent_attention: a proportional rope turns whole heads; use another rule, "
                "see latent_rope_turns_all<rule>");
};

template <u32 Dims, u32 HeadDim> struct rope_fits_head {
  static_assert(Dims <= HeadDim && Dims % 2 == 0,
                "cke: attention: rope.dims must be even and at most head_dim; see rope_fits_head<dims, head_dim>");
};
template <real Low, real High> struct rope_bands_ascend {
  static_assert(Low.v <= High.v, "cke: rope: llama3 has low <= high; see rope_bands_ascend<low, high>");
};
template <real Slow, real Fast> struct rope_betas_ascend {
  static_assert(Slow.v <= Fast.v,
                "cke: rope: yarn has beta_slow <= beta_fast; see rope_betas_ascend<beta_slow, beta_fast>");
};
// Factor 0 of yarn and longrope stands for the growth of the context.
template <rope_scaling Rule, real Factor, u32 Original, u32 MaxPosition> struct rope_lengths_are_known {
  static constexpr bool yarn_or_longrope = Rule == rope_scaling::yarn || Rule == rope_scaling::longrope;
  static_assert(Rule == rope_scaling::none || Factor.v > 0 || (yarn_or_longrope && Original > 0 && MaxPosition > 0),
                "cke: rope: the rule needs a factor; see rope_lengths_are_known<rule, factor, original, max_position>");
  static_assert(!(yarn_or_longrope || Rule == rope_scaling::llama3) || Original > 1,
                "cke: rope: the rule needs original; see rope_lengths_are_known<rule, factor, original, max_position>");
  static_assert(Rule != rope_scaling::dynamic || MaxPosition > 0,
                "cke: rope: the rule needs max_position; "
                "see rope_lengths_are_known<rule, factor, original, max_position>");
};
// Axes halve the frequencies, split_halves the dims; a patch's row and column are not stretched.
template <rope_axes Axes, pairing Pairs, u32 Dims, rope_scaling Rule> struct rope_halves_evenly {
  static constexpr bool halved = Axes != rope_axes::sequence || Pairs == pairing::split_halves;
  static_assert(!halved || (Dims % 4 == 0 && Rule == rope_scaling::none),
                "cke: rope: axes and split_halves need dims of a multiple of 4, and no rule; "
                "see rope_halves_evenly<axes, pairs, dims, rule>");
};
// Patches have rows and columns, tokens have positions.
template <bool Bidirectional, rope_axes Axes> struct rope_turns_by {
  static_assert(Bidirectional == (Axes != rope_axes::sequence),
                "cke: rope: bidirectional attention turns by the axes of patches, other attention by positions; "
                "see rope_turns_by<bidirectional, axes>");
};
template <rope_scaling Rule, u32 Dims, real Theta> struct rope_rule_has_frequencies {
  static_assert((Rule != rope_scaling::dynamic || Dims > 2) && (Rule != rope_scaling::yarn || Theta.v > 1),
                "cke: rope: dynamic needs dims > 2, yarn theta > 1; see rope_rule_has_frequencies<rule, dims, theta>");
};
template <u32 Dims, u32 Longs, u32 Shorts> struct rope_factors_cover {
  static_assert(Longs == Dims / 2 && Shorts == Dims / 2,
                "cke: rope: longrope has a factor for each pair of dims; see rope_factors_cover<dims, longs, shorts>");
};
template <u32 Pair, u32 Pairs> struct rope_factors_divide {
  static_assert(Pair == Pairs,
                "cke: rope: longrope's factors are from 1e-6 to 1e6, at most 256 of them; "
                "see rope_factors_divide<first wrong pair, pairs>");
};
constexpr u32 first_wrong_factor(const rotary& r) {
  const u32 pairs = r.dims / 2;
  const auto wrong = [](double x) { return !(1e-6 <= x && x <= 1e6); };
  for (u32 i = 0; r.factors && i < pairs && i < r.factors->long_count && i < r.factors->short_count; ++i)
    if (i >= std::size(r.factors->longs) || wrong(r.factors->longs[i]) || wrong(r.factors->shorts[i])) return i;
  return pairs;
}
template <rotary R, bool Longrope = R.rule == rope_scaling::longrope> struct rope_has_factors {};
template <rotary R> struct rope_has_factors<R, true>
    : rope_factors_cover<R.dims, R.factors ? R.factors->long_count : 0, R.factors ? R.factors->short_count : 0>,
      rope_factors_divide<first_wrong_factor(R), R.dims / 2> {};

// mrope: each axis turns a part of the frequencies.
template <u32 T, u32 H, u32 W, u32 Dims> struct sections_cover {
  static_assert(u64{T} + H + W == 0 || u64{T} + H + W == Dims / 2,
                "cke: rope: the sections of time, row and column add up to dims / 2, or there are none; "
                "see sections_cover<section_t, section_h, section_w, dims>");
};
template <rotary R, bool Bidirectional, bool Turns = (R.dims > 0)> struct checked_rope {};  // dims 0: no rope
template <rotary R, bool B> struct checked_rope<R, B, true>
    : rope_turns_by<B, R.axes>,
      rope_halves_evenly<R.axes, R.pairs, R.dims, R.rule>,
      real_in_range<"rope.theta", R.theta, 1, 1e12>,
      factor_or_none<"rope.factor", R.factor>,
      factor_is_positive<"rope.low", R.low>,
      factor_is_positive<"rope.high", R.high>,
      factor_is_positive<"rope.beta_fast", R.beta_fast>,
      factor_is_positive<"rope.beta_slow", R.beta_slow>,
      factor_or_none<"rope.mscale", R.mscale>,
      factor_or_none<"rope.mscale_all", R.mscale_all>,
      factor_or_none<"rope.attention_factor", R.attention_factor>,
      in_range<"rope.original", R.original, 0, limit::positions>,
      in_range<"rope.max_position", R.max_position, 0, limit::positions>,
      rope_bands_ascend<R.low, R.high>,
      rope_betas_ascend<R.beta_slow, R.beta_fast>,
      rope_lengths_are_known<R.rule, R.factor, R.original, R.max_position>,
      rope_rule_has_frequencies<R.rule, R.dims, R.theta>,
      sections_cover<R.section_t, R.section_h, R.section_w, R.dims>,
      rope_has_factors<R> {};

template <u32 Active, u32 Experts> struct active_experts_exist {
  static_assert(Active > 0 && Active <= Experts,
                "cke: moe: a token chooses at least one expert and not more than there are; "
                "see active_experts_exist<active, experts>");
};
template <u32 Groups, u32 Experts> struct groups_divide {
  static_assert(Groups > 0 && Experts % (Groups ? Groups : 1) == 0,
                "cke: moe: experts must be a multiple of groups; see groups_divide<groups, experts>");
};
template <u32 Kept, u32 Groups, u32 Active, u32 Experts> struct kept_groups_suffice {
  static_assert(Kept > 0 && Kept <= Groups && u64{Kept} * (Experts / (Groups ? Groups : 1)) >= Active,
                "cke: moe: the groups kept must have the active experts; "
                "see kept_groups_suffice<kept, groups, active, experts>");
};
template <group_score By, u32 Groups, u32 Experts> struct groups_have_best_two {
  static_assert(By != group_score::best_two || Groups < 2 || Experts / Groups >= 2,
                "cke: moe: a group scored by its best two has two experts; "
                "see groups_have_best_two<by, groups, experts>");
};
template <u32 Latent, bool SharedGate> struct latent_has_no_shared_gate {
  static_assert(Latent == 0 || !SharedGate,
                "cke: moe: beside experts of a latent the shared expert has no gate; "
                "see latent_has_no_shared_gate<latent, shared_gate>");
};
template <bool SharedGate, u32 Shared> struct gate_has_shared_expert {
  static_assert(!SharedGate || Shared > 0,
                "cke: moe: shared_gate needs a shared expert; see gate_has_shared_expert<shared_gate, shared>");
};
template <bool Bias, u32 Shared, u32 Latent> struct bias_has_matrix {
  static_assert(!Bias || Shared > 0 || Latent > 0,
                "cke: moe: bias is of the shared expert and of the latent; see bias_has_matrix<bias, shared, latent>");
};

template <u32 ValueHeads, u32 KeyHeads> struct key_heads_divide {
  static_assert(ValueHeads % (KeyHeads ? KeyHeads : 1) == 0,
                "cke: gated_delta_net: value_heads must be a multiple of key_heads; "
                "see key_heads_divide<value_heads, key_heads>");
};
template <u32 Heads, u32 Groups> struct groups_share_heads {
  static_assert(Heads > 0 && Groups > 0 && Heads % (Groups ? Groups : 1) == 0,
                "cke: mamba_mixer: heads must be a multiple of groups; see groups_share_heads<heads, groups>");
};
template <real Least, real Most> struct steps_ascend {
  static_assert(0 < Most.v && Least.v <= Most.v,
                "cke: mamba_mixer: least_step is at most most_step, which is more than 0; "
                "see steps_ascend<least, most>");
};

// ---- letters: each field, then fields together -----------------------------------------------------

template <u32 V, u32 D> struct letter<embedding<V, D>> : row_fits<"embedding.vocab", V>,
                                                         row_fits<"embedding.dim", D> {};
template <u32 V, u32 D, u32 L, u32 P, real E> struct letter<layer_embedding<V, D, L, P, E>>
    : row_fits<"layer_embedding.vocab", V>,
      row_fits<"layer_embedding.dim", D>,
      in_range<"layer_embedding.layers", L, 1, limit::layers>,
      in_range<"layer_embedding.part", P, 0, limit::width>,
      in_range<"layer_embedding.layers * part", u64{L} * P, 0, limit::width>,
      eps_is_small<"layer_embedding.eps", E> {};
template <u32 D, u32 P, activation A> struct letter<layer_input<D, P, A>> : row_fits<"layer_input.dim", D>,
                                                                            row_fits<"layer_input.part", P> {};
template <u32 D, real E, real O> struct letter<rms_norm<D, E, O>>
    : row_fits<"rms_norm.dim", D>, eps_is_small<"rms_norm.eps", E>, real_in_range<"rms_norm.offset", O, -1e6, 1e6> {};
template <u32 D, real By> struct letter<scale<D, By>> : row_fits<"scale.dim", D>, factor_is_positive<"scale.by", By> {};
template <u32 D> struct letter<learned_scale<D>> : row_fits<"learned_scale.dim", D> {};
template <u32 D, real Cap> struct letter<softcap<D, Cap>> : row_fits<"softcap.dim", D>,
                                                            factor_or_none<"softcap.cap", Cap> {};
template <attention_options S> struct letter<attention<S>>
    : row_fits<"attention.dim", S.dim>,
      in_range<"attention.heads", S.heads, 1, limit::heads>,
      in_range<"attention.kv_heads", S.kv_heads, 1, limit::heads>,
      in_range<"attention.head_dim", S.head_dim, 1, limit::head_dim>,
      row_fits<"attention.heads * head_dim", u64{S.heads} * S.head_dim>,
      heads_divide<S.heads, S.kv_heads>,
      bidirectional_has_keys<S.bidirectional, S.shared_kv>,
      head_dim_is_even<S.head_dim>,
      rope_fits_head<S.rope.dims, S.head_dim>,
      checked_rope<S.rope, S.bidirectional>,
      window_sees_keys<S.window>,
      in_range<"attention.window", S.window == everything ? 0 : S.window, 0, limit::positions>,
      factor_or_none<"attention.scale", S.scale>,
      factor_or_none<"attention.cap", S.cap>,
      eps_or_none<"attention.qk_norm.eps", S.qk_norm.eps>,
      eps_or_none<"attention.v_norm.eps", S.v_norm.eps>,
      real_in_range<"attention.qk_norm.offset", S.qk_norm.offset, -1e6, 1e6>,
      norm_has_eps<"attention.qk_norm.offset", S.qk_norm.offset.v != 0, S.qk_norm.eps>,
      norm_has_eps<"attention.qk_norm.together", S.qk_norm.together, S.qk_norm.eps>,
      norm_has_eps<"attention.v_norm.of_k", S.v_norm.of_k, S.v_norm.eps> {};
template <latent_attention_options S> struct letter<latent_attention<S>>
    : row_fits<"latent_attention.dim", S.dim>,
      in_range<"latent_attention.heads", S.heads, 1, limit::heads>,
      in_range<"latent_attention.q_rank", S.q_rank, 0, limit::width>,
      in_range<"latent_attention.kv_rank", S.kv_rank, 1, limit::head_dim>,
      kv_rank_is_even<S.kv_rank>,
      in_range<"latent_attention.nope", S.nope, 1, limit::head_dim>,
      in_range<"latent_attention.value", S.value, 1, limit::head_dim>,
      row_fits<"latent_attention.heads * (nope + rope.dims)", S.heads*(u64{S.nope} + S.rope.dims)>,
      row_fits<"latent_attention.heads * (kv_rank + rope.dims)", S.heads*(u64{S.kv_rank} + S.rope.dims)>,
      row_fits<"latent_attention.heads * value", u64{S.heads} * S.value>,
      rope_fits_head<S.rope.dims, limit::head_dim>,
      checked_rope<S.rope, false>,
      latent_rope_turns_all<S.rope.rule>,
      factor_is_positive<"latent_attention.scale", S.scale>,
      eps_is_small<"latent_attention.eps", S.eps> {};
template <u32 D, u32 H, activation A, bool B> struct letter<gated_mlp<D, H, A, B>>
    : row_fits<"gated_mlp.dim", D>, in_range<"gated_mlp.hidden", H, 1, limit::width / 2> {};
template <u32 D, u32 H, activation A, bool B> struct letter<plain_mlp<D, H, A, B>> : row_fits<"plain_mlp.dim", D>,
                                                                                     row_fits<"plain_mlp.hidden", H> {};
template <u32 D, u32 H, activation A> struct letter<clipped_mlp<D, H, A>> : row_fits<"clipped_mlp.dim", D>,
                                                                            row_fits<"clipped_mlp.hidden", H> {};
template <moe_options S> struct letter<moe<S>>
    : row_fits<"moe.dim", S.dim>,
      in_range<"moe.hidden", S.hidden, 1, limit::width / 2>,
      in_range<"moe.shared", S.shared, 0, limit::width / 2>,
      in_range<"moe.latent", S.latent, 0, limit::width>,
      in_range<"moe.route.experts", S.route.experts, 1, limit::experts>,
      in_range<"moe.route.experts * hidden", u64{S.route.experts} * S.hidden, 1, limit::rows>,
      in_range<"moe.route.experts * width", u64{S.route.experts} * S.width(), 1, limit::rows>,
      active_experts_exist<S.route.active, S.route.experts>,
      groups_divide<S.route.groups, S.route.experts>,
      kept_groups_suffice<S.route.groups_kept, S.route.groups, S.route.active, S.route.experts>,
      groups_have_best_two<S.route.group_by, S.route.groups, S.route.experts>,
      real_in_range<"moe.route.floor", S.route.floor, 0, 1>,
      factor_is_positive<"moe.route.scale", S.route.scale>,
      eps_or_none<"moe.router_norm", S.router_norm>,
      latent_has_no_shared_gate<S.latent, S.shared_gate>,
      gate_has_shared_expert<S.shared_gate, S.shared>,
      bias_has_matrix<S.bias, S.shared, S.latent> {};
template <delta_net_options S> struct letter<gated_delta_net<S>>
    : row_fits<"gated_delta_net.dim", S.dim>,
      in_range<"gated_delta_net.key_heads", S.key_heads, 1, limit::heads>,
      in_range<"gated_delta_net.value_heads", S.value_heads, 1, limit::heads>,
      key_heads_divide<S.value_heads, S.key_heads>,
      in_range<"gated_delta_net.key_dim", S.key_dim, 1, limit::head_dim>,
      in_range<"gated_delta_net.value_dim", S.value_dim, 1, limit::head_dim>,
      row_fits<"gated_delta_net.key_heads * key_dim", u64{S.key_heads} * S.key_dim>,
      row_fits<"gated_delta_net.value_heads * value_dim", u64{S.value_heads} * S.value_dim>,
      in_range<"gated_delta_net.taps", S.taps, 1, limit::taps>,
      eps_is_small<"gated_delta_net.eps", S.eps> {};
template <mamba_options S> struct letter<mamba_mixer<S>>
    : row_fits<"mamba_mixer.dim", S.dim>,
      in_range<"mamba_mixer.heads", S.heads, 1, limit::heads>,
      in_range<"mamba_mixer.head_dim", S.head_dim, 1, limit::head_dim>,
      in_range<"mamba_mixer.state", S.state, 1, limit::head_dim>,
      in_range<"mamba_mixer.groups", S.groups, 1, limit::heads>,
      groups_share_heads<S.heads, S.groups>,
      row_fits<"mamba_mixer.heads * head_dim + 2 * groups * state",
               u64{S.heads} * S.head_dim + 2 * (u64{S.groups} * S.state)>,
      in_range<"mamba_mixer.taps", S.taps, 1, limit::taps>,
      eps_is_small<"mamba_mixer.eps", S.eps>,
      factor_or_none<"mamba_mixer.least_step", S.least_step>,
      steps_ascend<S.least_step, S.most_step> {};
template <u32 D, u32 T, bool B> struct letter<short_conv<D, T, B>> : in_range<"short_conv.dim", D, 1, limit::width / 3>,
                                                                     in_range<"short_conv.taps", T, 1, limit::taps> {};
template <u32 D, u32 T, u32 P, bool B> struct letter<image_rows<D, T, P, B>>
    : row_fits<"image_rows.dim", D>,
      in_range<"image_rows.taps", T, 0, limit::layers>,
      in_range<"image_rows.pad", P, 0, limit::width>,
      row_fits<"image_rows.dim * (1 + taps)", u64{D} * (1 + u64{T})> {};
template <u32 D> struct letter<deepstack_add<D>> : row_fits<"deepstack_add.dim", D> {};
template <u32 I, u32 D, bool B> struct letter<patch_embedding<I, D, B>>
    : in_range<"patch_embedding.in", I, 2, limit::width>, row_fits<"patch_embedding.dim", D> {};
template <u32 D, u32 R, position_rule P> struct letter<learned_positions<D, R, P>>
    : row_fits<"learned_positions.dim", D>,
      in_range<"learned_positions.rows * dim", u64{R} * D, 1, limit::rows>,
      table_suits_rule<R, P> {};
template <u32 D, real E> struct letter<layer_norm<D, E>> : row_fits<"layer_norm.dim", D>,
                                                           eps_is_small<"layer_norm.eps", E> {};
template <u32 D, real E> struct letter<unit_rms_norm<D, E>> : row_fits<"unit_rms_norm.dim", D>,
                                                              eps_is_small<"unit_rms_norm.eps", E> {};
template <u32 D, real By, real O> struct letter<affine<D, By, O>>
    : row_fits<"affine.dim", D>, factor_is_positive<"affine.by", By>, real_in_range<"affine.offset", O, -1e6, 1e6> {};
template <u32 D> struct letter<standardise<D>> : row_fits<"standardise.dim", D> {};
template <u32 D, u32 By, bool I> struct letter<spatial_merge<D, By, I>>
    : row_fits<"spatial_merge.dim", D>,
      in_range<"spatial_merge.by", By, 1, limit::merge>,
      row_fits<"spatial_merge.by * dim", u64{By} * D> {};
template <u32 D, u32 By> struct letter<average_pool<D, By>> : row_fits<"average_pool.dim", D>,
                                                              in_range<"average_pool.by", By, 1, limit::merge> {};
template <u32 D, u32 By> struct letter<last_row<D, By>> : row_fits<"last_row.dim", D>,
                                                          in_range<"last_row.by", By, 1, limit::merge> {};
template <u32 D, u32 H, u32 By, u32 F, activation A, real E> struct letter<attention_pool<D, H, By, F, A, E>>
    : row_fits<"attention_pool.dim", D>,
      in_range<"attention_pool.heads", H, 1, limit::heads>,
      in_range<"attention_pool.by", By, 1, limit::merge>,
      row_fits<"attention_pool.hidden", F>,
      eps_is_small<"attention_pool.eps", E>,
      heads_divide_row<D, H> {};
template <u32 I, u32 H, u32 O, activation A, bool B> struct letter<projector<I, H, O, A, B>>
    : row_fits<"projector.in", I>, in_range<"projector.hidden", H, 0, limit::width>, row_fits<"projector.out", O> {};
template <u32 D, u32 V, bool T> struct letter<head<D, V, T>> : row_fits<"head.dim", D>, row_fits<"head.vocab", V> {};

}  // namespace cke::checks

#include "word_checks.hpp"
