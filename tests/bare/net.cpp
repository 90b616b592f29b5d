// SPDX-License-Identifier: MIT
// net.cpp: a small net on a bare board, or on the host: its weights are a constant, in flash; net.py compares both.
#include <cke/net.hpp>

#include "../../examples/board/toy.hpp"

namespace {

namespace net = cke::net;

using sensor = cke::chain<net::conv1d<2, 6, 3, 2>, net::batch_norm<6>, net::tanh<6>, net::gru<6, 12>, net::lstm<12, 5>,
                          net::dense<5, 1>>;

// Numbers in [0, 1), so that variances are none below zero.
constexpr auto numbers = [] {
  std::array<float, net::parameters<sensor>> all{};
  cke::u32 seed = 1;
  for (float& x : all) x = static_cast<float>((seed = seed * 1664525 + 1013904223) >> 8) / 0x1p24f;
  return all;
}();
constexpr net::weights<sensor, cke::isa::scalar> weights(numbers);

void put(const char* name, cke::u64 number) {
  char digits[22], *at = digits + 20;
  at[0] = '\n', at[1] = 0;
  do *--at = static_cast<char>('0' + number % 10);
  while (number /= 10);
  board_put(name), board_put(" "), board_put(at);
}

}  // namespace

int board_main() {
  net::runner<sensor, cke::isa::scalar> runner(weights);
  cke::xxh64 seen;
  for (cke::u32 i = 0; i < 200; ++i) {
    const float x[]{static_cast<float>(i % 13) / 8 - 1, static_cast<float>(i % 7) / 4 - 1};
    float y = 0;
    runner(x, &y);
    seen.add(std::as_bytes(std::span(&y, 1)));
  }
  put("outputs", seen.value()), put("stack", board_stack_used());
  return 0;
}

#if __STDC_HOSTED__
#include <cstdio>
void board_put(const char* text) { std::fputs(text, stdout); }
cke::u32 board_stack_used() { return 1; }
int main() { return board_main(); }
#endif
