// SPDX-License-Identifier: MIT
// params.hpp: the parts of the parameter blocks of operations/: activations, rotary embeddings, routers.
#pragma once

#include "types.hpp"

namespace cke {

enum class activation : u8 { silu, gelu_tanh, gelu_erf, relu2 };
// (x_i, x_{i+r/2}); (x_{2i}, x_{2i+1}); or (x_i, x_{i+r/4}) in each half of the r rotated dims
enum class pairing : u8 { split, adjacent, split_halves };
// What turns the two halves of a rope's frequencies: the position; or a patch's row and column in its image, with the
// frequencies of r / 2 dims each, where `column_row` has the column first and `alternate` deals r dims' frequencies
// out.
enum class rope_axes : u8 { sequence, row_column, column_row, alternate };
enum class rope_scaling : u8 { none, linear, dynamic, llama3, yarn, longrope, proportional };

inline constexpr u32 everything = ~0u;  // the window of an attention layer without one
// Attention processes aligned blocks of this many positions; caches hold whole blocks.
inline constexpr u32 key_block = 128;
// Keys that one unit of work covers: a long context is cut into runs, which threads share.
inline constexpr u32 run_keys = 4 * key_block;
inline constexpr u32 attention_queries = 128;   // at most, that attention takes at once
inline constexpr u32 unit_rows = 32;            // output rows of weights that are packed together
inline constexpr u32 most_positions = 1 << 24;  // of a sequence: floats hold whole numbers exactly up to here
// The limits of a type's numbers. Sums and products of these, such as a row's bytes, fit into 32 bits.
namespace limit {
inline constexpr u32 width = 1 << 24;  // numbers of a row of activations
inline constexpr u32 rows = 1u << 31;  // of the matrices of all experts, one below the other
inline constexpr u32 heads = 1 << 16, head_dim = 1 << 16, experts = 1 << 12, taps = 64;
inline constexpr u32 positions = 1 << 28;        // of a window other than `everything`, and of a rope's trained context
inline constexpr u32 layers = 1024, kinds = 32;  // of a model; distinct kinds
inline constexpr u32 merge = 1 << 12;            // rows that become one
}  // namespace limit

// longrope's divisors of each frequency, [dims / 2]: `longs` beyond the original context length, `shorts` up to it.
struct rope_factors {
  double longs[256]{}, shorts[256]{};
  u32 long_count{}, short_count{};
};

// How q and k encode their position. Names follow transformers' rope_parameters.
struct rotary {
  u32 dims{};  // rotated dims of a head; 0: no rope
  real theta{};
  pairing pairs{};
  rope_scaling rule{};
  real factor{1};
  real low{1}, high{4};                                      // llama3: low_freq_factor, high_freq_factor
  real beta_fast{32}, beta_slow{1}, mscale{}, mscale_all{};  // yarn
  bool truncate{true};                                       // yarn: round the correction range to whole dims
  real attention_factor{};  // yarn, longrope: scales cos and sin; 0: computed by the method's formula
  u32 original{};           // original_max_position_embeddings
  u32 max_position{};       // max_position_embeddings
  rope_axes axes{};
  // mrope: how many frequencies the time, the row and the column of an image turn; 0: all turn by the position
  u32 section_t{}, section_h{}, section_w{};
  bool interleaved{};  // frequency i by axis i % 3, as far as an axis has any; otherwise one axis after the other
  const rope_factors* factors{};  // longrope; static storage, so that a type can name it
  constexpr bool operator==(const rotary&) const = default;
};

// Which rows of its table a learned position takes, for a patch at (y, x) of a grid of h x w; s: the table's side.
enum class position_rule : u8 {
  raster,    // row y * s + x; the grid is the table's
  bilinear,  // between four rows, where the corners of the grid are those of the table
  by_axis,   // row x and row (half of the table) + y
  resized,   // of the table resized to the grid, with antialiasing
  bucketed,  // row (y s / h) * s + x s / w, rounded down
  sequence,  // row x; the grid is a line, the ids of a text
};

enum class scoring : u8 { softmax, softmax_of_chosen, sigmoid };
enum class group_score : u8 { best, best_two };  // a group's score: that of its best expert, or the sum of its best two

// How a token selects experts and weighs them. The softmax runs over all experts, or over the chosen ones.
struct router {
  u32 experts{}, active{};  // how many exist, how many a token chooses
  scoring score{};
  bool bias{};                      // choose by score + bias, weigh by score
  u32 groups = 1, groups_kept = 1;  // equal runs of experts; only the best groups are eligible
  group_score group_by{};
  bool renormalise{};   // scale the weights to add up to 1
  real floor{1e-20};    // added to their sum, to avoid a division by 0
  real scale{1};        // multiplies the weights, last
  bool expert_scale{};  // each expert also has a learned scale
  constexpr bool operator==(const router&) const = default;
};

}  // namespace cke
