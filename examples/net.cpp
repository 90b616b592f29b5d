// SPDX-License-Identifier: MIT
// net.cpp [FILE] [-n BLOCKS]: a small net on sound, in blocks of 64 samples, and how long a block takes. FILE has the
// tensors of torch.nn.Sequential(Conv1d(1, 8, 3), Tanh(), GRU(8, 32), Linear(32, 1)); without it they are random.
#include <cke/net_file.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <iomanip>
#include <iostream>
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
  std::vector<double> times(blocks);  // microseconds
  float loudest = 0;
  for (std::size_t b = 0; b < blocks; ++b) {
    for (std::size_t i = 0; i < block; ++i)  // a tone of 110 Hz
      sound[i] = static_cast<float>(std::sin(2 * 3.141592653589793 * 110 / rate * static_cast<double>(b * block + i)));
    const auto begin = std::chrono::steady_clock::now();
    run.block(sound.data(), sound.data(), block);
    times[b] = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
    loudest = std::max(loudest, std::abs(*std::ranges::max_element(sound)));
  }
  std::ranges::sort(times);
  const auto part = [&](double p) { return times[static_cast<std::size_t>(p * static_cast<double>(blocks - 1))]; };
  std::cout << std::fixed << std::setprecision(2) << blocks << " blocks of " << block
            << " samples, microseconds a block: median " << part(0.5) << ", 99.9 % within " << part(0.999) << ", worst "
            << part(1) << "; at 48 kHz there are " << 1e6 * block / rate << "\n"
            << sizeof(weights) << " bytes of weights, " << sizeof(run) << " of state; loudest sample " << loudest
            << "\n";
} catch (const cke::Error& e) { return std::cerr << "net: " << e.what() << '\n', 1; }
