// SPDX-License-Identifier: MIT
#include <cke/net_file.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <new>

#include "nets.hpp"

// Counts every allocation of this program. Not inlined, or g++ 12 calls new and free a mismatch.
static std::size_t allocations = 0;
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  if (void* p = std::malloc(size)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }

namespace mine {
// A letter that cke does not have: each number times one of its own.
template <cke::u32 Dim> struct gain : cke::keeps<Dim> {
  static constexpr std::array<cke::net::tensor, 1> tensors{{{"gain", {Dim}}}};
};
}  // namespace mine
namespace cke::net {
template <u32 Dim, class Isa> struct stage<mine::gain<Dim>, Isa> {
  using weights = frame<Isa, Dim>;
  using state = nothing;
  static void step(const weights& w, state&, const frame<Isa, Dim>& x, frame<Isa, Dim>& y) {
    y.each([&](u32 i) { y.set(i, w.at(i) * x.at(i)); });
  }
};
}  // namespace cke::net

namespace {

using namespace cke;
using nets::amp, nets::named, nets::odd, nets::wide;

std::string fixture(std::string_view name) { return concat({CKE_TEST_DATA "/net/", name, ".safetensors"}); }

std::vector<float> floats(std::string_view net, std::string_view tensor) {
  const io::tensor_index file = io::read_safetensors(fixture(concat({net, ".io"})));
  const auto bytes = file.find(tensor)->bytes;
  std::vector<float> numbers(bytes.size() / sizeof(float));
  std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return numbers;
}

template <class Net, class Isa> std::vector<float> run(net::runner<Net, Isa>& runner, const std::vector<float>& x) {
  const std::size_t frames = x.size() / Net::in;
  std::vector<float> y(frames * Net::out);
  runner.block(x.data(), y.data(), frames);
  return y;
}

// The number that is furthest from what it should be.
struct worst {
  float off = 0, found = 0, wanted = 0;
  std::size_t at = 0;
};
worst furthest(const std::vector<float>& found, const std::vector<float>& wanted) {
  REQUIRE(found.size() == wanted.size());
  worst w;
  for (std::size_t i = 0; i < found.size(); ++i)
    if (const float off = std::abs(found[i] - wanted[i]); !(off <= w.off)) w = {off, found[i], wanted[i], i};
  return w;
}

template <class Net> void against_torch(std::string_view name, std::initializer_list<std::string_view> modules = {}) {
  const auto x = floats(name, "x"), y = floats(name, "y");
  const auto check = [&]<class Isa>(Isa) {
    const auto weights = net::load<Net, Isa>(fixture(name), modules);
    net::runner<Net, Isa> runner(weights);
    const worst w = furthest(run(runner, x), y);
    CAPTURE(name);
    CAPTURE(Isa::name);
    CAPTURE(w.at);
    CAPTURE(w.found);
    CAPTURE(w.wanted);
    CHECK(w.off < 2e-6f);
  };
  check(isa::scalar{});
  check(isa::native{});
}

template <class F> std::string error_of(F&& f) {
  try {
    f();
  } catch (const Error& e) { return std::string(e.what()).substr(e.file.size()); }
  return "no error";
}

// What is wrong with a copy of amp's file in which each `from` is `to`, of equal length.
std::string error_of_changed(std::string_view from, std::string_view to) {
  std::ifstream in(fixture("amp"), std::ios::binary);
  std::string bytes(std::istreambuf_iterator<char>(in), {});
  for (std::size_t at = 0; (at = bytes.find(from, at)) != bytes.npos; at += to.size()) bytes.replace(at, to.size(), to);
  const auto path = std::filesystem::temp_directory_path() / concat({"cke-net-", to, ".safetensors"});
  std::ofstream(path, std::ios::binary) << bytes;
  const std::string error = error_of([&] { net::load<amp>(path.string()); });
  std::filesystem::remove(path);
  return error;
}

TEST_CASE("net: torch's numbers, on the scalar and the native instruction set") {
  against_torch<amp>("amp");
  against_torch<odd>("odd");
  against_torch<wide>("wide");
  against_torch<named>("named", {"rnn", "rnn", "cells", "cells", "out"});
}

TEST_CASE("net: blocks of any size have the bits of single frames") {
  const auto check = [&]<class Isa>(Isa) {
    const auto weights = net::load<odd, Isa>(fixture("odd"));
    net::runner<odd, Isa> whole(weights), pieces(weights);
    const auto x = floats("odd", "x");
    const auto y = run(whole, x);
    for (const std::size_t most : {1u, 2u, 7u, 64u}) {
      pieces.reset();
      std::vector<float> found(y.size());
      for (std::size_t at = 0, frames = x.size() / odd::in; at < frames; at += most)
        pieces.block(&x[at * odd::in], &found[at * odd::out], std::min(most, frames - at));
      CAPTURE(most);
      CHECK(found == y);
    }
  };
  check(isa::scalar{});
  check(isa::native{});
}

TEST_CASE("net: a copy continues from where its original is, in place too") {
  const auto weights = net::load<amp>(fixture("amp"));
  net::runner<amp> a(weights);
  auto x = floats("amp", "x");
  run(a, x);
  net::runner<amp> b = a;
  const auto y = run(a, x);
  b.block(x.data(), x.data(), x.size());
  CHECK(x == y);
  a.reset();
  CHECK(run(a, floats("amp", "x")) != y);
}

TEST_CASE("net: frames take no memory") {
  const auto weights = net::load<odd>(fixture("odd"));
  const auto x = floats("odd", "x");
  std::vector<float> y(x.size() / odd::in * odd::out);
  const std::size_t before = allocations;
  REQUIRE(before > 0);
  net::runner<odd> runner(weights);
  runner.block(x.data(), y.data(), x.size() / odd::in);
  runner.reset();
  CHECK(allocations == before);
}

TEST_CASE("net: weights of a constant expression") {
  using blend = chain<net::dense<2, 1>, net::tanh<1>>;
  static constexpr std::array<float, net::parameters<blend>> numbers{0.5f, -0.25f, 0.125f};
  static constexpr net::weights<blend, isa::scalar> weights(numbers);
  net::runner<blend, isa::scalar> run(weights);
  const float x[]{1.f, 2.f};
  float y = 0;
  run(x, &y);
  CHECK(y == doctest::Approx(std::tanh(0.125)).epsilon(1e-6));
}

TEST_CASE("net: a letter of one's own") {
  using scaled = chain<mine::gain<3>, net::dense<3, 1, false>>;
  static_assert(net::parameters<scaled> == 6);
  const net::weights<scaled> weights(std::array{2.f, 3.f, 5.f, 1.f, 10.f, 100.f});
  net::runner<scaled> run(weights);
  const float x[]{1.f, 1.f, 2.f};
  float y = 0;
  run(x, &y);
  CHECK(y == 1032.f);
}

TEST_CASE("net: a file of another net is refused by the tensor's name") {
  using net::conv1d, net::gru, net::dense;
  using narrow = chain<conv1d<1, 8, 3>, net::tanh<8>, gru<8, 16>, dense<16, 1>>;
  using unbiased = chain<conv1d<1, 8, 3, 1, false>, net::tanh<8>, gru<8, 32>, dense<32, 1>>;
  const std::string amp_file = fixture("amp");
  CHECK(error_of([&] { net::load<narrow>(amp_file); }) ==
        ": tensor 2.weight_ih_l0: expected shape [48, 8], found [96, 8]");
  CHECK(error_of([&] { net::load<unbiased>(amp_file); }) ==
        ": tensor 0.bias: expected only tensors of the net, found this one");
  CHECK(error_of([&] { net::load<odd>(amp_file); }) == ": tensor 0.weight: expected shape [7, 3, 3], found [8, 1, 3]");
  CHECK(error_of_changed("2.bias_hh_l0", "2.bias_hh_l9") ==
        ": tensor 2.bias_hh_l0: expected this tensor, found none of this name");
  CHECK(error_of_changed("F32", "I32") == ": tensor 0.weight: expected F32, found I32");
  CHECK(error_of([&] { net::load<amp>(amp_file, {"conv", "rnn"}); }) ==
        ": names of modules: expected 4, one for each letter, found 2");
  CHECK(error_of([&] { net::load<amp>(amp_file, {"conv", "", "rnn", "out"}); }) ==
        ": tensor conv.weight: expected this tensor, found none of this name");
  CHECK(error_of([&] { net::load<amp>("/no/such/file"); }) != "no error");
}

TEST_CASE("net: large numbers saturate, and no number becomes a NaN") {
  const auto weights = net::load<amp>(fixture("amp"));
  net::runner<amp> run(weights);
  for (const float x : {1e30f, -1e30f, 3e38f, 1e-40f}) {
    float y = 0;
    run(&x, &y);
    CAPTURE(x);
    CHECK(std::isfinite(y));
  }
}

// Sizes are constants of the type.
static_assert(net::parameters<amp> == 8 * 3 + 8 + 96 * 8 + 96 * 32 + 96 + 96 + 32 + 1);
static_assert(sizeof(net::runner<amp, isa::scalar>) <= 160 + sizeof(void*));
static_assert(noexcept(std::declval<net::runner<amp>&>().block(nullptr, nullptr, 0)));

}  // namespace
