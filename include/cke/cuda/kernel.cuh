// SPDX-License-Identifier: MIT
// kernel.cuh: the arguments of a launch, the layout of activations, and how a kernel is found.
#pragma once

#include "../core/concat.hpp"
#include "../core/error.hpp"
#include "../core/operations.hpp"
#include "../runtime/device_sampling.hpp"
#include "grid.cuh"
#include "numbers.cuh"

namespace cke::cuda {

inline constexpr u32 unit_rows = 32;  // rows of a matrix that are packed together, one per lane

// A register: [tokens][width]. f32: rows are `stride` floats apart. bf16: [tokens][width padded to 8]. q8_0: per token
// the codes [width], then {scale, sum} for every 32, with width padded to 64.
struct view {
  std::byte* data{};
  u32 width{}, stride{};
  dtype as = dtype::f32;
};
struct block_scale {
  float d;
  i32 sum;
};
CKE_DEVICE u32 padded(u32 width, u32 to) { return (width + to - 1) / to * to; }
CKE_DEVICE float* row_of(const view& v, u32 token) { return reinterpret_cast<float*>(v.data) + u64{token} * v.stride; }
CKE_DEVICE std::byte* codes_of(const view& v, u32 token) {
  return v.data + u64{token} * (padded(v.width, 64) / 32 * 40);
}
CKE_DEVICE block_scale* scales_of(const view& v, u32 token) {
  return reinterpret_cast<block_scale*>(codes_of(v, token) + padded(v.width, 64));
}
CKE_DEVICE u16* bf16_row_of(const view& v, u32 token) {
  return reinterpret_cast<u16*>(v.data) + u64{token} * padded(v.width, 8);
}

// The rows of a pass that belong to one sequence. Positions are in device memory, so a recorded launch can be replayed.
struct segment {
  u32 first, tokens, position, page;  // page: index of its first key block in the pass's page table
};
struct pass {
  u32* ids{};         // [tokens]
  u32* segment_of{};  // [tokens]
  segment* segments{};
  std::byte** pages{};  // one entry per key block of each segment
};

// One matrix of a step. Its units are [first, first + units) of the launch; each group of rows starts a unit.
struct matrix {
  const std::byte* packed{};
  const float* bias{};
  u32 first{}, group{};
  view out{};
};

// What is stored of a product y; `act`: act(y), `gate`: act(gate x) (up x), both in the form that the next product
// reads.
enum class epilogue : u8 { store, add, act, gate };

// All arguments of a kernel.
struct step {
  view in[4]{}, out[2]{};
  const float* weight[2]{};  // vectors
  matrix matrices[3]{};
  u32 matrix_count{}, units{};  // units: of all matrices
  epilogue how{};
  u32 tokens{}, first{};  // first: of the tokens in a launch of attention
  u32 cols{}, heads{}, kv_heads{}, head_dim{}, window{}, rope_width{};
  float eps{}, offset{}, scale{}, cap{};
  activation act{};
  pairing pairs{};
  router route{};
  bool shared{}, shared_gate{};  // whether a sum of experts includes a shared one, and a gated one
  const float *cos{}, *sin{};    // [position][rope_width / 2]
  u64 kv_offset{}, kv_block_bytes{};
  u32 key_blocks{};   // of a row of parts
  bool of_prompts{};  // many tokens of few sequences
  float* parts{};     // partial results that one launch leaves for the next: of attention, and of experts
  const device_sampling* how_chosen{};  // for the kernel that chooses; `first` is then the position of the id
  pass now{};
};

CKE_DEVICE segment segment_of(const step& s, u32 token) {
  return dev::load(s.now.segments + dev::load(s.now.segment_of + token));
}
CKE_DEVICE u32 position_of(const segment& g, u32 token) { return g.position + (token - g.first); }

// A kernel has `run(const step&, at)`, called by every thread of block `at`, and `shared_bytes(const step&)`. T is the
// format of its matrix, of the KV cache for attention, f32 otherwise. A generation without a kernel uses its base's.
template <opcode Op, dtype T, class Arch> struct kernel : kernel<Op, T, typename Arch::base> {};
struct no_kernel {
  static constexpr u32 shared_bytes(const step&) { return 0; }  // both members keep the error below the only one
  CKE_DEVICE static void run(const step&, dev::place) {}
};
template <opcode Op, dtype T> struct kernel<Op, T, void> : no_kernel {};

// A step's kernel for every generation.
template <opcode Op, dtype T> struct step_kernel {
  template <class Arch> struct on : kernel<Op, T, Arch> {
    static_assert(
        !std::is_base_of_v<no_kernel, kernel<Op, T, Arch>>,
        "cke: cuda: no kernel for this opcode and dtype; specialise cke::cuda::kernel; see step_kernel<opcode, dtype>");
  };
};

struct launch_shape {
  u32 x = 1, y = 1, z = 1;
};
template <class Kernel> constexpr u32 shared_bytes_of(const step& s) {
  return Kernel::template on<sm75>::shared_bytes(s);
}
// Throws unsupported if a block needs more than the 48 KiB of shared memory that every GPU has.
template <class Kernel> u32 bytes_of_launch(const step& s) {
  constexpr u32 most = 48 * 1024;
  const u32 bytes = shared_bytes_of<Kernel>(s);
  if (bytes > most)
    throw Error(errc::unsupported, {}, "CUDA: shared memory of a block", concat({"at most ", most, " bytes"}),
                concat({bytes}));
  return bytes;
}

}  // namespace cke::cuda
