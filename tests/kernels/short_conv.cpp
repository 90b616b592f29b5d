// SPDX-License-Identifier: MIT
// short_conv.cpp: the gated convolution against sums in double, over segments that begin anywhere in pages.
#include "cke/kernels/short_conv.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "cke/graph/plan.hpp"
#include "numbers.hpp"

using namespace cke;
using namespace cke::graph;
using namespace cke::kernels;

namespace {

struct one {
  u32 first, tokens, position;
};

// Tokens of two sequences in one pass, after passes that computed what came before.
void check(u32 channels, u32 taps, bool bias, std::vector<one> segments) {
  CAPTURE(channels);
  CAPTURE(taps);
  const u32 length = 300, stride = row_stride(3 * channels), out_stride = row_stride(channels);
  const u64 offset = 192;  // of the state in a page
  const u64 page_bytes = offset + u64{taps - 1} * align_up(channels, unit_rows) * sizeof(float);
  const std::vector<float> weights = numbers::random_row(u64{taps} * channels, 1),
                           biases = numbers::random_row(channels, 2);
  const conv_params p{.channels = channels, .taps = taps, .bias = bias};

  struct sequence {
    std::vector<float> bcx;  // [length][3 * channels]
    std::vector<std::byte> memory;
    std::vector<std::byte*> pages;
  };
  std::vector<sequence> all(segments.size());
  for (std::size_t s = 0; s < all.size(); ++s) {
    all[s].bcx = numbers::random_row(u64{length} * 3 * channels, static_cast<u32>(10 + s));
    all[s].memory.resize(ceil_div(length, key_block) * page_bytes, std::byte{0xff});
    for (u32 b = 0; b < ceil_div(length, key_block); ++b) all[s].pages.push_back(all[s].memory.data() + b * page_bytes);
  }
  const auto run = [&](const std::vector<one>& parts) {
    u32 tokens = 0;
    std::vector<segment> list;
    for (std::size_t s = 0; s < parts.size(); ++s) {
      tokens = std::max(tokens, parts[s].first + parts[s].tokens);
      list.push_back({parts[s].first, parts[s].tokens, parts[s].position, {all[s].pages.data()}});
    }
    std::vector<float> in(u64{tokens} * stride, NAN), out(u64{tokens} * out_stride, NAN),
        scratch(conv_scratch(p) / sizeof(float), NAN);
    for (std::size_t s = 0; s < parts.size(); ++s)
      for (u32 t = 0; t < parts[s].tokens; ++t)
        std::copy_n(&all[s].bcx[u64{parts[s].position + t} * 3 * channels], 3 * channels,
                    &in[u64{parts[s].first + t} * stride]);
    work w;
    w.tokens = tokens, w.segments = list, w.by = split::rows, w.kv.offset = offset,
    w.scratch = reinterpret_cast<std::byte*>(scratch.data());
    w.in[0] = {reinterpret_cast<std::byte*>(in.data()), 3 * channels, stride};
    w.out[0] = {reinterpret_cast<std::byte*>(out.data()), channels, out_stride};
    w.weight[0] = reinterpret_cast<const std::byte*>(weights.data());
    w.weight[1] = reinterpret_cast<const std::byte*>(biases.data());
    for (u32 u = 0; u < ceil_div(channels, unit_rows); ++u)
      kernel<opcode::gated_conv, dtype::f32, isa::native>::run(p, w, u);
    for (std::size_t s = 0; s < parts.size(); ++s)
      for (u32 t = 0; t < parts[s].tokens; ++t)
        for (u32 c = 0; c < channels; ++c) {
          const auto at = [&](u32 position, u32 part) {
            return static_cast<double>(all[s].bcx[u64{position} * 3 * channels + part * channels + c]);
          };
          const u32 now = parts[s].position + t;
          double sum = bias ? static_cast<double>(biases[c]) : 0;
          for (u32 j = 0; j < taps; ++j)
            if (now + j + 1 >= taps)
              sum += static_cast<double>(weights[j * channels + c]) * at(now + j + 1 - taps, 0) *
                  at(now + j + 1 - taps, 2);
          REQUIRE(static_cast<double>(out[u64{parts[s].first + t} * out_stride + c]) ==
                  doctest::Approx(sum * at(now, 1)).epsilon(1e-5));
        }
  };
  for (std::size_t s = 0; s < segments.size(); ++s)  // up to where the segments begin, in uneven passes
    for (u32 at = 0, n; at < segments[s].position; at += n) {
      n = std::min(segments[s].position - at, 1 + at / 2);
      std::vector<one> alone(s + 1);
      alone[s] = {0, n, at};
      run(alone);
    }
  run(segments);
}

}  // namespace

TEST_CASE("short_conv: any number of taps and channels") {
  for (const u32 taps : {1u, 2u, 3u, 4u, 9u})
    for (const u32 channels : {1u, 31u, 32u, 33u, 70u, 96u}) check(channels, taps, taps % 2 == 0, {{0, 20, 0}});
}
TEST_CASE("short_conv: segments begin and end anywhere in pages") {
  for (const u32 position : {0u, 1u, 2u, 100u, 127u, 128u, 129u, 255u, 256u})
    for (const u32 tokens : {1u, 2u, 3u, 28u, 40u}) check(33, 4, true, {{0, tokens, position}, {tokens, 30, 126}});
}
