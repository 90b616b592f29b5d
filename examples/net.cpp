// SPDX-License-Identifier: MIT
// net.cpp [FILE] [-n BLOCKS]: a small net on sound, in blocks of 64 samples, and how long a block takes. FILE has the
// tensors of torch.nn.Sequential(Conv1d(1, 8, 3), Tanh(), GRU(8, 32), Linear(32, 1)); without it they are random.
#include <cke/net_file.hpp>

#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iomanip>
#include <iostream>
#include <numbers>
#include <random>
#include <vector>

namespace {

namespace net = cke::net;

using amp = cke::chain<net::conv1d<1, 8, 3>, net::tanh<8>, net::gru<8, 32>, net::dense<32, 1>>;
static_assert(sizeof(net::runner<amp>) <= 512 && sizeof(net::weights<amp>) <= 20000);  // all fits in a cache

net::weights<amp> random_weights() {
  std::mt19937 draw(1);
  std::array<float, net::parameters<amp>> numbers;
  for (float& x : numbers) x = std::uniform_real_distribution(-0.3f, 0.3f)(draw);
  return net::weights<amp>(numbers);
}

constexpr std::size_t block = 64;
constexpr double rate = 48000;

double microseconds(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

void print(const char* what, std::vector<double>& times) {
  std::ranges::sort(times);
  const auto part = [&](double p) {
    return times[static_cast<std::size_t>(p * static_cast<double>(times.size() - 1))];
  };
  std::cout << what << ": median " << part(0.5) << ", 99.9 % within " << part(0.999) << ", worst " << part(1) << '\n';
}

}  // namespace

int main(int argc, char** argv) try {
  std::string file;
  std::size_t blocks = 1'000'000;
  for (int i = 1; i < argc; ++i)
    if (argv[i] != std::string_view("-n")) file = argv[i];
    else if (++i == argc || (blocks = std::strtoull(argv[i], nullptr, 10)) == 0)
      return std::cerr << "usage: net [FILE] [-n BLOCKS]\n", 2;

  const auto weights = file.empty() ? random_weights() : net::load<amp>(file);
  net::runner<amp> run(weights);
  std::array<float, block> sound;
  std::vector<double> wall(blocks), cpu(blocks);
  for (std::size_t b = 0; b < blocks; ++b) {
    for (std::size_t i = 0; i < block; ++i)  // a tone of 110 Hz
      sound[i] = static_cast<float>(std::sin(2 * std::numbers::pi * 110 / rate * static_cast<double>(b * block + i)));
    const double cpu_before = microseconds(CLOCK_THREAD_CPUTIME_ID), before = microseconds(CLOCK_MONOTONIC);
    run.block(sound.data(), sound.data(), block);
    wall[b] = microseconds(CLOCK_MONOTONIC) - before;
    cpu[b] = microseconds(CLOCK_THREAD_CPUTIME_ID) - cpu_before;
  }
  std::cout << std::fixed << std::setprecision(1) << "microseconds of each of " << blocks << " blocks of " << block
            << " samples, which last " << 1e6 * block / rate << " at 48 kHz\n";
  print("by the clock", wall);  // with other programs' turns on this CPU
  print("of this thread", cpu);
  std::cout << sizeof weights << " bytes of weights, " << sizeof run << " of state; the last sample is "
            << std::setprecision(6) << sound.back() << '\n';
} catch (const cke::Error& e) { return std::cerr << "net: " << e.what() << '\n', 1; }
