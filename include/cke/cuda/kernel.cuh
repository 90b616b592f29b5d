// SPDX-License-Identifier: MIT
// kernel.cuh: what a launch is handed, where activations lie, and how its kernel is found.
#pragma once

#include "../core/concat.hpp"
#include "../core/error.hpp"
#include "../core/operations.hpp"
#include "../runtime/device_sampling.hpp"
#include "numbers.cuh"

namespace cke::cuda {

inline constexpr u32 unit_rows = 32;  // rows of a matrix that are packed together: a lane each

// A register: [tokens][width]. f32: rows `stride` floats apart. bf16: [tokens][width padded to 8]. q8_0: of each token
// bytes [width], then {scale, sum} of every 32, with the width padded to 64.
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
CKE_DEVICE std::byte* codes_of(const view& v, u32 token) { return v.data + u64{token} * (padded(v.width, 64) / 32 * 40); }
CKE_DEVICE block_scale* scales_of(const view& v, u32 token) {
  return reinterpret_cast<block_scale*>(codes_of(v, token) + padded(v.width, 64));
}
CKE_DEVICE u16* bf16_row_of(const view& v, u32 token) { return reinterpret_cast<u16*>(v.data) + u64{token} * padded(v.width, 8); }

// Rows of a pass that are of one sequence. Positions move on in device memory, so that a launch can be repeated.
struct segment {
  u32 first, tokens, position, page;  // page: of its first key block, in the table of all pages
};
struct pass {
  u32* ids{};             // [tokens]
  u32* segment_of{};      // [tokens]
  segment* segments{};
  std::byte** pages{};    // of each key block of each segment
};

// One matrix of a step: units [first, first + units) of the launch, rows in groups that begin a unit each.
struct matrix {
  const std::byte* packed{};
  const float* bias{};
  u32 first{}, group{};
  view out{};
};

// How a product is written; `act` and `gate`: act(y), act(gate x) (up x), in the form that the next product wants.
enum class epilogue : u8 { store, add, act, gate };

// All that a kernel knows.
struct step {
  view in[4]{}, out[2]{};
  const float* weight[2]{};        // vectors
  matrix matrices[3]{};
  u32 matrix_count{}, units{};      // units: of all of them
  epilogue how{};
  u32 tokens{}, first{};           // first: of those that a launch of attention takes
  u32 cols{}, heads{}, kv_heads{}, head_dim{}, window{}, rope_width{};
  float eps{}, offset{}, scale{}, cap{};
  activation act{};
  pairing pairs{};
  router route{};
  bool shared{}, shared_gate{};    // what a sum of experts adds after them
  const float *cos{}, *sin{};      // [position][rope_width / 2]
  u64 kv_offset{}, kv_block_bytes{};
  u32 key_blocks{};                // of a row of parts
  float* parts{};                  // what one launch leaves for the next: of attention, and of experts
  const device_sampling* how_chosen{};      // of the kernel that chooses; `first` is then the position of the id
  pass now{};
};

CKE_DEVICE segment segment_of(const step& s, u32 token) { return dev::load(s.now.segments + dev::load(s.now.segment_of + token)); }
CKE_DEVICE u32 position_of(const segment& g, u32 token) { return g.position + (token - g.first); }

// A kernel has `run(const step&, at)`, in every thread of block `at`, and `shared_bytes(const step&)`. T is the
// format of its matrix, the cache's of attention, f32 of the rest. What a generation lacks is looked up in its base.
template <opcode Op, dtype T, class Arch> struct kernel : kernel<Op, T, typename Arch::base> {};
struct no_kernel {
  static constexpr u32 shared_bytes(const step&) { return 0; }  // both keep the error below the only one
  CKE_DEVICE static void run(const step&, dev::place) {}
};
template <opcode Op, dtype T> struct kernel<Op, T, void> : no_kernel {};

// A step's kernel in every generation.
template <opcode Op, dtype T> struct step_kernel {
  template <class Arch> struct on : kernel<Op, T, Arch> {
    static_assert(!std::is_base_of_v<no_kernel, kernel<Op, T, Arch>>,
                  "cke: cuda: no kernel for this opcode and dtype; specialise cke::cuda::kernel; see step_kernel<opcode, dtype>");
  };
};

struct launch_shape {
  u32 x = 1, y = 1, z = 1;
};
// Blocks that live at once: all, and of a cluster; 1: there are none.
struct residents {
  u32 blocks, cluster = 1;
};
template <class Kernel> constexpr u32 shared_bytes_of(const step& s) { return Kernel::template on<sm75>::shared_bytes(s); }
// Throws unsupported where a block would need more memory than every GPU has.
template <class Kernel> u32 bytes_of_launch(const step& s) {
  constexpr u32 most = 48 * 1024;
  const u32 bytes = shared_bytes_of<Kernel>(s);
  if (bytes > most) throw Error(errc::unsupported, {}, "CUDA: shared memory of a block", concat({"at most ", most, " bytes"}), concat({bytes}));
  return bytes;
}

}  // namespace cke::cuda
