// SPDX-License-Identifier: MIT
// emulator.cpp: what device code can do wrong is found when it runs on the host.
#include "emulator.hpp"

using namespace cke;
using namespace cke::io;
using namespace cke::graph;
using namespace cke::kernels;
using namespace cke::runtime;
using emulator::device, emulator::finds, emulator::threads;

namespace {

dev::shared<u32> part(u32 count = threads) { return dev::shared_memory{}.take<u32>(count); }

}  // namespace

TEST_CASE("emulator: code that waits where it must is right under every schedule") {
  for (u64 seed = 0; seed < 20; ++seed) {
    device d(seed);
    d.run([](u32* memory) {
      const auto x = part();
      x[dev::thread()] = dev::thread();
      dev::sync();
      const u32 sum =
          x[threads - 1 - dev::thread()] + dev::shuffle_xor(dev::thread(), 1) + dev::shuffle(dev::thread(), 5);
      dev::sync_warp();
      dev::store(memory + dev::thread(), sum);
    });
    const auto all = d.numbers();
    for (u32 t = 0; t < threads; ++t) CHECK(all[t] == threads - 1 - t + (t ^ 1) + (t / 32 * 32 + 5));
  }
}

TEST_CASE("emulator: the products of bytes are those of the matrices") {
  device d;
  d.run([](u32* memory) {
    // a[row][k] = row + k, b[k][column] = k - column, in the fragments that mma.m16n8k32 wants
    const u32 row = dev::lane() / 4, first = dev::lane() % 4 * 4;
    u32 a[4]{}, b[2]{};
    for (u32 i = 0; i < 4; ++i)
      for (u32 j = 0; j < 4; ++j) a[i] |= (row + i % 2 * 8 + first + i / 2 * 16 + j) << 8 * j;
    for (u32 i = 0; i < 2; ++i)
      for (u32 j = 0; j < 4; ++j) b[i] |= ((first + i * 16 + j - row) & 255u) << 8 * j;
    i32 acc[4]{1, 1, 1, 1};
    dev::mma_bytes(acc, a, b);
    bool right = true;
    for (u32 i = 0; i < 4; ++i) {
      i32 want = 1;
      for (i32 k = 0; k < 32; ++k)
        want += (static_cast<i32>(row + i / 2 * 8) + k) * (k - static_cast<i32>(dev::lane() % 4 * 2 + i % 2));
      right = right && acc[i] == want;
    }
    dev::store(memory + dev::thread(), u32{right});
  });
  for (const u32 right : d.numbers()) CHECK(right == 1);
}

TEST_CASE("emulator: the products of bf16 are those of the matrices, added up k by k") {
  device d;
  d.run([](u32* memory) {
    // a[row][k] and b[k][column] in the fragments that mma.m16n8k16 wants, numbers of all sizes and both signs
    const auto bf16 = [](u32 i) {
      i = (i + 1) * 2654435761u;
      return (i >> 16 & 0x80ffu) | (122 + (i >> 8) % 10) << 7;
    };
    const auto a_of = [&](u32 row, u32 k) { return bf16(row * 16 + k); };
    const auto b_of = [&](u32 k, u32 column) { return bf16(1000 + k * 8 + column); };
    const auto number = [](u32 half) { return dev::bits<float>(half << 16); };
    const u32 g = dev::lane() / 4, j = dev::lane() % 4 * 2;
    const auto two_of_a = [&](u32 row, u32 k) { return a_of(row, k) | a_of(row, k + 1) << 16; };
    const auto two_of_b = [&](u32 k) { return b_of(k, g) | b_of(k + 1, g) << 16; };
    const u32 a[4]{two_of_a(g, j), two_of_a(g + 8, j), two_of_a(g, j + 8), two_of_a(g + 8, j + 8)},
        b[2]{two_of_b(j), two_of_b(j + 8)};
    float acc[4]{0.3f, -0.3f, 0.7f, -0.7f};
    bool right = true;
    float want[4];
    for (u32 i = 0; i < 4; ++i) {
      want[i] = acc[i];
      double exact = acc[i];
      for (u32 k = 0; k < 16; ++k) {
        const float x = number(a_of(g + i / 2 * 8, k)), y = number(b_of(k, j + i % 2));
        want[i] = want[i] + x * y;  // the product is exact
        exact += double{x} * double{y};
      }
      right = right && std::abs(want[i] - exact) < 1e-4;
    }
    dev::mma_bf16(acc, a, b);
    for (u32 i = 0; i < 4; ++i) right = right && acc[i] == want[i];
    dev::store(memory + dev::thread(), u32{right});
  });
  for (const u32 right : d.numbers()) CHECK(right == 1);
}

TEST_CASE("emulator: accesses that no barrier orders are found") {
  const auto neighbour = [](u32 t) { return (t + 1) % threads; };
  CHECK(finds("a barrier after", [&](u32*) {
    const auto x = part();
    x[0] = 1u;
  }));
  CHECK(finds("device code: a ", [&](u32*) {
    const auto x = part();
    x[dev::thread()] = 1u;
    dev::sync_warp();  // orders a warp only: thread 31 reads what thread 32 writes
    static_cast<void>(u32{x[neighbour(dev::thread())]});
  }));
  CHECK(finds("device code: a ", [](u32*) {
    const auto x = part();
    x[dev::thread()] = 1u;
    dev::shuffle(0u, 0);  // says something, and orders nothing
    static_cast<void>(u32{x[dev::thread() ^ 1]});
  }));
  CHECK(finds("a barrier after",
              [&](u32* m) { dev::store(m + dev::thread(), dev::load(m + neighbour(dev::thread()))); }));
}
TEST_CASE("emulator: blocks of a launch are not ordered at all") {
  CHECK(finds("a barrier after",
              [](u32* m) {
                if (dev::thread() == 0) dev::store(m, 1u);
              },
              {2}));
  CHECK(finds("a barrier after",
              [](u32* m) {
                if (dev::thread() != 0) return;
                if (dev::block().x == 0) dev::store(m, 1u);
                else static_cast<void>(dev::load(m));
              },
              {2}));
}
TEST_CASE("emulator: memory that nobody gave or wrote is found") {
  CHECK(finds("a word that something wrote", [](u32*) { static_cast<void>(u32{part()[dev::thread()]}); }));
  CHECK(finds("an index below 4", [](u32*) { part(4)[dev::thread() + 4] = 1u; }));
  CHECK(finds("at most 1024 bytes", [](u32*) { part(1000); }));
  CHECK(finds("memory of the device", [](u32* m) { dev::store(m + threads, 1u); }));
  CHECK(finds("an aligned address",
              [](u32* m) { dev::load(reinterpret_cast<u32*>(reinterpret_cast<std::byte*>(m) + 2)); }));
}
TEST_CASE("emulator: who waits in vain is found") {
  CHECK(finds("that wait for others", [](u32*) {
    if (dev::thread() < 40) dev::sync();
  }));
  CHECK(finds("some elsewhere", [](u32*) {
    if (dev::lane() < 16) dev::sync_warp();
    else dev::shuffle(0u, 0);
  }));
}

TEST_CASE("emulator: another seed is another order, the same seed the same") {
  const auto order = [](u64 seed) {
    std::vector<u32> who;
    device(seed).run(
        [&](u32*) {
          who.push_back(dev::block().x * threads + dev::thread());
          dev::sync();
          who.push_back(dev::thread());
        },
        {4});
    return who;
  };
  CHECK(order(1) == order(1));
  CHECK(order(1) != order(2));
}

namespace {

// Each warp copies its 128 numbers of `from` into its part of the block's memory, by lanes or by one bulk copy, reads
// them, and copies again; what it leaves out on purpose is found.
struct copying {
  bool waits = true, orders = true, ends = true;
  u32 expects = 512;
};
u32 copied(u64 seed, bool bulk, const copying& how) {
  device d(seed);
  std::vector<u32> from(128 * threads / 32);
  for (u32 i = 0; i < from.size(); ++i) from[i] = i + 1;
  auto* const numbers = d.machine.allocate(from.size() * 4);
  d.machine.write(numbers, from.data(), from.size() * 4);
  u32 wrong = 0;
  d.run(
      [&](u32*) {
        dev::shared_memory memory;
        const auto to = dev::part_of(memory.take<std::byte>(512 * threads / 32), dev::warp() * 512, 512);
        const auto word = dev::part_of(memory.take<u64>(threads / 32), dev::warp(), 1);
        const std::byte* const mine = numbers + dev::warp() * 512;
        if (bulk && dev::lane() == 0) dev::begin_arrivals(word, 0);
        dev::sync_warp();
        for (u32 turn = 0; turn < 2; ++turn) {
          if (!bulk) {
            for (u32 at = dev::lane() * 16; at < 512; at += 512) dev::copy_quad(to, at, mine + at);
            dev::commit_copies();
            if (how.waits) dev::await_copies<0>();
            if (how.orders) dev::sync_warp();
          } else {
            if (dev::lane() == 0) dev::expect(word, 0, how.expects), dev::copy_bulk(to, 0, mine, 512, word, 0);
            while (how.waits && !dev::arrived(word, 0, turn)) dev::pause();
          }
          if (turn == 1 && !how.ends) break;
          for (u32 i = dev::lane(); i < 128; i += 32)
            wrong += dev::get<u32>(to, 4 * (127 - i)) != from[dev::warp() * 128 + 127 - i];
          if (how.orders) dev::sync_warp();
        }
        if (!bulk && !how.ends) dev::copy_quad(to, dev::lane() * 16, mine);
        if (bulk && !how.ends && dev::lane() == 0) dev::copy_bulk(to, 0, mine, 512, word, 0);
      },
      {}, 4096);
  return wrong;
}

}  // namespace

TEST_CASE(
    "emulator: a copy is there when somebody has waited for it, and not before; and nobody overwrites what is read") {
  for (u64 seed = 0; seed < 10; ++seed)
    for (const bool bulk : {false, true}) {
      CHECK(copied(seed, bulk, {}) == 0);
      CHECK_THROWS_WITH_AS(copied(seed, bulk, {.waits = false}), doctest::Contains("a word that something wrote"),
                           Error);
      CHECK_THROWS_WITH_AS(copied(seed, bulk, {.orders = false}), doctest::Contains("device code: a "), Error);
      CHECK_THROWS_WITH_AS(copied(seed, bulk, {.ends = false}), doctest::Contains("before its block ends"), Error);
    }
  CHECK_THROWS_WITH_AS(copied(0, true, {.expects = 496}), doctest::Contains("496 bytes that are expected"), Error);
}
