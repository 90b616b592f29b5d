// SPDX-License-Identifier: MIT
// recurrent.cpp: what keeps a recurrent state, against torch and transformers, on every isa and however tokens are cut.
#include <initializer_list>

#include "cke/graph/plan.hpp"
#include "cke/kernels/gated_delta.hpp"
#include "cke/kernels/short_conv.hpp"
#include "cke/kernels/state_scan.hpp"
#include "numbers.hpp"

using namespace cke;
using namespace cke::graph;
using namespace cke::kernels;
using namespace numbers;

namespace {

enum class which : u8 { causal_conv, gated_conv, gated_delta, state_scan };

struct register_data {
  u32 width;
  std::vector<float> rows;  // [tokens][width]
};
struct test {
  params p;
  u32 tokens, units;
  split by;
  u64 state;  // bytes
  std::vector<register_data> in;
  std::vector<std::vector<float>> weights;
  register_data out;  // what torch says
};

// A file has a channel's taps side by side; a kernel reads [taps][channels].
std::vector<float> turned(const std::vector<float>& taps, u32 channels) {
  std::vector<float> out(taps.size());
  const u64 n = taps.size() / channels;
  for (u64 i = 0; i < taps.size(); ++i) out[i % n * channels + i / n] = taps[i];
  return out;
}

test read_conv(fixture<float>& f, bool gated) {
  test t{};
  t.tokens = f.count();
  const u32 channels = f.count(), taps = f.count();
  const bool bias = f.next() != 0;
  const conv_params conv{.channels = channels, .taps = taps, .bias = bias};
  if (gated) t.p = conv;
  else t.p = conv_act_params{conv, activation::silu};
  t.units = ceil_div(channels, unit_rows), t.by = split::rows,
  t.state = (taps - 1) * align_up(channels, unit_rows) * sizeof(float);
  t.weights.push_back(turned(f.next(u64{channels} * taps), channels));
  if (bias) t.weights.push_back(f.next(channels));
  const u32 wide = gated ? 3 * channels : channels;
  t.in.push_back({wide, f.next(u64{t.tokens} * wide)});
  t.out = {channels, f.next(u64{t.tokens} * channels)};
  return t;
}
test read_heads(fixture<float>& f, bool delta) {
  test t{};
  t.tokens = f.count();
  t.by = split::kv_heads;
  const auto read = [&](u32 width) { t.in.push_back({width, f.next(u64{t.tokens} * width)}); };
  if (delta) {
    const u32 key_heads = f.count(), heads = f.count(), keys = f.count(), values = f.count();
    t.p = delta_params{
        .key_heads = key_heads, .value_heads = heads, .key_dim = keys, .value_dim = values, .eps = f.next()};
    t.units = heads, t.state = u64{heads} * keys * align_up(values, unit_rows) * sizeof(float),
    t.out.width = heads * values;
    for (const u32 n : {heads, heads, values}) t.weights.push_back(f.next(n));
    for (const u32 width : {key_heads * keys, key_heads * keys, heads * values, heads * values, 2 * heads}) read(width);
  } else {
    const u32 heads = f.count(), dims = f.count(), groups = f.count(), numbers = f.count();
    const float least = f.next(), most = f.next();
    t.p = scan_params{
        .heads = heads, .groups = groups, .head_dim = dims, .state = numbers, .least_step = least, .most_step = most};
    t.units = heads, t.state = u64{heads} * numbers * align_up(dims, unit_rows) * sizeof(float),
    t.out.width = heads * dims;
    for (u32 i = 0; i < 3; ++i) t.weights.push_back(f.next(heads));
    for (const u32 width : {heads * dims + 2 * groups * numbers, heads * dims, heads}) read(width);
  }
  t.out.rows = f.next(u64{t.tokens} * t.out.width);
  return t;
}

// The outputs of passes of some tokens each; the rest of the tokens in a last one.
template <opcode Op, class Isa> std::vector<float> computed(const test& t, std::initializer_list<u32> passes) {
  constexpr auto run = kernel_of<Op, dtype::f32, Isa>();
  const u64 offset = 64, page = offset + t.state;  // of the state in a page
  std::vector<std::byte> memory(page * ceil_div(t.tokens, key_block), std::byte{0xff}), scratch(1 << 20);
  std::vector<std::byte*> pages;
  for (u32 b = 0; b < ceil_div(t.tokens, key_block); ++b) pages.push_back(memory.data() + b * page);
  std::vector<float> out;
  std::vector<u32> sizes(passes);
  for (u32 at = 0, i = 0, n; at < t.tokens; at += n, ++i) {
    n = i < sizes.size() ? sizes[i] : t.tokens - at;
    const segment one{0, n, at, {pages.data()}};
    work w;
    w.tokens = n, w.segments = {&one, 1}, w.by = t.by, w.scratch = scratch.data(), w.kv = {offset, 0, 1};
    std::vector<std::vector<float>> rows;
    const auto place = [&](view& v, u32 width) {
      const u32 stride = row_stride(width);
      v = {reinterpret_cast<std::byte*>(rows.emplace_back(u64{n} * stride, NAN).data()), width, stride};
    };
    for (u32 k = 0; k < t.in.size(); ++k) {
      place(w.in[k], t.in[k].width);
      for (u32 r = 0; r < n; ++r)
        std::copy_n(&t.in[k].rows[u64{at + r} * t.in[k].width], t.in[k].width, w.in[k].row(r));
    }
    place(w.out[0], t.out.width);
    for (u32 k = 0; k < t.weights.size(); ++k) w.weight[k] = reinterpret_cast<const std::byte*>(t.weights[k].data());
    for (u32 unit = t.units; unit-- > 0;) run(t.p, w, unit);
    for (u32 r = 0; r < n; ++r) out.insert(out.end(), w.out[0].row(r), w.out[0].row(r) + t.out.width);
  }
  return out;
}

template <opcode Op> void check(const test& t) {
  for_each_isa([&]<class Isa>() {
    const std::vector<float> whole = computed<Op, Isa>(t, {});
    CHECK(distance(whole, t.out.rows) < 2e-5);
    CHECK(same_bits(whole, computed<Op, Isa>(t, {1, 2, 31, 33, 1, 1, 60})));
    CHECK(same_bits(whole, computed<Op, Isa>(t, {128})));
  });
}

}  // namespace

TEST_CASE("recurrent: torch's convolutions, transformers' gated delta rule and its scan of mamba2") {
  fixture<float> f("recurrent.f32");
  for (u32 left = f.count(); left > 0; --left) {
    const auto kind = static_cast<which>(f.count());
    CAPTURE(left);
    switch (kind) {
      case which::causal_conv: check<opcode::causal_conv>(read_conv(f, false)); break;
      case which::gated_conv: check<opcode::gated_conv>(read_conv(f, true)); break;
      case which::gated_delta: check<opcode::gated_delta>(read_heads(f, true)); break;
      case which::state_scan: check<opcode::state_scan>(read_heads(f, false)); break;
    }
  }
  CHECK(f.done());
}
