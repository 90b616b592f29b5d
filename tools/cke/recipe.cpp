// SPDX-License-Identifier: MIT
// recipe.cpp: implements recipe.hpp.
#include "recipe.hpp"

#include <algorithm>
#include <string>

#include <cke/core/error.hpp>

#include "rooms.hpp"

namespace cke::tool {
namespace {

// The numbers are llama.cpp's.
enum file_type : u32 {
  f32 = 0,
  f16 = 1,
  q4_0 = 2,
  q4_1 = 3,
  q8_0 = 7,
  q5_0 = 8,
  q5_1 = 9,
  q2_k = 10,
  q3_k_s = 11,
  q3_k_m = 12,
  q3_k_l = 13,
  q4_k_s = 14,
  q4_k_m = 15,
  q5_k_s = 16,
  q5_k_m = 17,
  q6_k = 18,
  iq4_nl = 25,
  iq4_xs = 30,
  bf16 = 32,
  mxfp4 = 38,
};
constexpr recipe recipes[] = {
    {"F32", f32, dtype::f32},          {"F16", f16, dtype::f16},        {"BF16", bf16, dtype::bf16},
    {"Q8_0", q8_0, dtype::q8_0},       {"Q4_0", q4_0, dtype::q4_0},     {"Q4_1", q4_1, dtype::q4_1},
    {"Q5_0", q5_0, dtype::q5_0},       {"Q5_1", q5_1, dtype::q5_1},     {"Q2_K", q2_k, dtype::q2_k},
    {"Q3_K_S", q3_k_s, dtype::q3_k},   {"Q3_K_M", q3_k_m, dtype::q3_k}, {"Q3_K_L", q3_k_l, dtype::q3_k},
    {"Q4_K_S", q4_k_s, dtype::q4_k},   {"Q4_K_M", q4_k_m, dtype::q4_k}, {"Q5_K_S", q5_k_s, dtype::q5_k},
    {"Q5_K_M", q5_k_m, dtype::q5_k},   {"Q6_K", q6_k, dtype::q6_k},     {"IQ4_NL", iq4_nl, dtype::iq4_nl},
    {"IQ4_XS", iq4_xs, dtype::iq4_xs}, {"MXFP4", mxfp4, dtype::mxfp4},  {"Q3_K", q3_k_m, dtype::q3_k},
    {"Q4_K", q4_k_m, dtype::q4_k},     {"Q5_K", q5_k_m, dtype::q5_k},
};

// The first and the last eighth, and every third in between.
bool outer(u32 i, u32 of) { return i < of / 8 || i >= 7 * of / 8 || (i - of / 8) % 3 == 2; }

dtype head_type(const recipe& r, u64 columns) {
  return r.most == dtype::q8_0 || r.most == dtype::mxfp4 || columns % info(r.most).block ? dtype::q8_0 : dtype::q6_k;
}

dtype value_type(const recipe& r, const matrix_place& at) {
  const bool narrow = at.heads >= 4 * at.kv_heads;
  if (at.experts == 8) return dtype::q8_0;
  dtype t = r.most;
  switch (r.file_type) {
    case q2_k: t = narrow ? dtype::q4_k : dtype::q3_k; break;
    case q3_k_m: t = at.value < 2 ? dtype::q5_k : dtype::q4_k; break;
    case q3_k_l: t = dtype::q5_k; break;
    case iq4_nl:
    case iq4_xs: t = narrow ? dtype::q5_k : t; break;
    case q4_k_s: t = at.value < 4 ? dtype::q5_k : t; break;
    case q4_k_m:
    case q5_k_m: t = outer(at.value, at.values) ? dtype::q6_k : t; break;
    default: break;
  }
  // In models of 70 billion parameters eight heads share one v, so more bits for it cost little.
  const bool cheap = at.layers == 80 && at.heads == 8 * at.kv_heads;
  return cheap && (t == dtype::q3_k || t == dtype::q4_k) ? dtype::q5_k : t;
}

dtype down_type(const recipe& r, const matrix_place& at) {
  const bool early = at.layer < at.layers / 8;
  switch (r.file_type) {
    case q2_k: return dtype::q3_k;
    case q3_k_m: return at.layer < at.layers / 16 ? dtype::q5_k : dtype::q4_k;
    case q3_k_l: return dtype::q5_k;
    case iq4_nl:
    case iq4_xs:
    case q4_k_s: return early ? dtype::q5_k : r.most;
    case q4_k_m:
    case q5_k_m: return outer(at.layer, at.layers) ? dtype::q6_k : r.most;
    default: return r.most;
  }
}

dtype out_type(const recipe& r, const matrix_place& at) {
  switch (r.file_type) {
    case q2_k: return at.experts == 8 ? dtype::q5_k : dtype::q3_k;
    case q3_k_m: return at.experts == 8 ? dtype::q5_k : dtype::q4_k;
    case q3_k_l: return at.experts == 8 ? r.most : dtype::q5_k;
    case q3_k_s:
    case iq4_nl:
    case iq4_xs:
    case q4_k_s:
    case q4_k_m: return at.experts == 8 ? dtype::q5_k : r.most;
    default: return r.most;
  }
}

dtype wanted_type(const recipe& r, const matrix_place& at) {
  if (at.is == role::head || at.tied) return head_type(r, at.columns);
  if (r.most == dtype::mxfp4) return of_experts(at.is) ? r.most : dtype::q8_0;
  switch (at.is) {
    case role::v: return value_type(r, at);
    case role::k: return at.experts == 8 ? dtype::q8_0 : r.most;
    case role::down:
    case role::down_experts:
    case role::down_shared: return down_type(r, at);
    case role::o: return out_type(r, at);
    default: return r.most;
  }
}

// The type for rows that are not a multiple of its block.
dtype fitting(dtype t, u64 columns) {
  if (columns % info(t).block == 0) return t;
  switch (t) {
    case dtype::iq4_xs: t = dtype::iq4_nl; break;
    case dtype::q2_k:
    case dtype::q3_k: t = dtype::q4_0; break;
    case dtype::q4_k: t = dtype::q5_0; break;
    case dtype::q5_k: t = dtype::q5_1; break;
    case dtype::q6_k: t = dtype::q8_0; break;
    default: break;
  }
  return columns % info(t).block ? dtype::f16 : t;
}

}  // namespace

const recipe& recipe_named(std::string_view name) {
  const auto same = [](char a, char b) { return a == (b >= 'a' && b <= 'z' ? static_cast<char>(b - 'a' + 'A') : b); };
  std::string known;
  for (const recipe& r : recipes) {
    if (std::ranges::equal(r.name, name, same)) return r;
    known += (known.empty() ? "" : ", ") + std::string(r.name);
  }
  throw Error(errc::usage, {}, "--to", "one of " + known, name);
}

dtype type_of(const recipe& r, const matrix_place& at) {
  return info(r.most).block == 1 ? r.most : fitting(wanted_type(r, at), at.columns);
}

}  // namespace cke::tool
