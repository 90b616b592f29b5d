// SPDX-License-Identifier: MIT
// together.cpp: what blocks that live at once do wrong when they wait for one another is found: at words, in clusters,
// with packets.
#include "emulator.hpp"

using namespace cke;
using namespace cke::io;
using namespace cke::graph;
using namespace cke::kernels;
using namespace cke::runtime;
using emulator::device, emulator::finds, emulator::threads;

TEST_CASE("emulator: blocks that live at once are ordered by what one says and another hears") {
  // Block 0 writes, says so in word 1; block 1 hears it, and reads. Unless it does not wait for it.
  const auto message = [](u64 seed, bool waits, bool after_barrier) {
    device d(seed);
    u32 seen = 0;
    d.machine.launch_together(
        2, threads, 64,
        [&] {
          if (dev::block().x == 0) {
            if (dev::thread() == threads - 1) dev::store(d.memory, 7u);
            if (after_barrier) dev::sync();
            if (dev::thread() == 0) dev::add_release(d.memory + 1, 1);
            return;
          }
          if (dev::thread() == 0)
            while (waits && dev::load_acquire(d.memory + 1) == 0) dev::pause();
          dev::sync();
          seen = dev::load(d.memory);
        },
        [] {});
    return seen;
  };
  for (u64 seed = 0; seed < 20; ++seed) {
    CHECK(message(seed, true, true) == 7);
    CHECK_THROWS_WITH_AS(message(seed, false, true), doctest::Contains("a barrier after"), Error);
    CHECK_THROWS_WITH_AS(message(seed, true, false), doctest::Contains("a barrier after"), Error);
  }
}

TEST_CASE("emulator: what a cluster waited for is ordered inside of it, and nowhere else") {
  // Block 0 writes; its cluster waits; block `reader` reads, after a wait of its own.
  const auto message = [](u64 seed, u32 reader, bool waits, const host_run::faults& wrong = {}) {
    host_run::machine machine(seed, wrong);
    auto* const word = reinterpret_cast<u32*>(machine.allocate(4));
    const u32 zero = 0;
    machine.write(reinterpret_cast<std::byte*>(word), &zero, 4);
    u32 seen = 0;
    machine.launch_together(
        4, threads, 64,
        [&] {
          if (dev::block().x == 0 && dev::thread() == 5) dev::store(word, 7u);
          if (waits) dev::sync_cluster();
          if (dev::block().x == reader && dev::thread() == 40) seen = dev::load(word);
          if (waits) dev::sync_cluster();
        },
        [] {}, 2);
    return seen;
  };
  for (u64 seed = 0; seed < 20; ++seed) {
    CHECK(message(seed, 0, true) == 7);
    CHECK(message(seed, 1, true) == 7);
    for (const u32 outside : {2u, 3u})
      CHECK_THROWS_WITH_AS(message(seed, outside, true), doctest::Contains("a barrier after"), Error);
    CHECK_THROWS_WITH_AS(message(seed, 1, false), doctest::Contains("a barrier after"), Error);
  }
  // Whichever block it is that has heard nobody: once it is the reader.
  bool found = false;
  for (u64 nth = 1; nth <= 4; ++nth) try {
      message(3, 1, true, {.leave_cluster = nth});
    } catch (const Error& e) { found = std::string(e.what()).find("a barrier after the write") != std::string::npos; }
  CHECK(found);
}
TEST_CASE("emulator: a packet brings its word, and orders nothing else") {
  // Block 0 sends a number in packets and in memory; block 1 waits for the packets, and may read the memory.
  const auto message = [](u64 seed, bool reads, const host_run::faults& wrong = {}) {
    host_run::machine machine(seed, wrong);
    constexpr u32 bytes = threads * sizeof(dev::packet);
    auto* const packets = reinterpret_cast<dev::packet*>(machine.allocate(bytes));
    auto* const memory = reinterpret_cast<u32*>(machine.allocate(threads * 4));
    const std::vector<std::byte> zeros(bytes);
    machine.write(reinterpret_cast<std::byte*>(packets), zeros.data(), bytes);
    machine.write(reinterpret_cast<std::byte*>(memory), zeros.data(), threads * 4);
    u32 wrong_words = 0;
    machine.launch_together(
        2, threads, 64,
        [&] {
          const u32 t = dev::thread();
          for (u32 number = 1; number <= 3 && dev::block().x == 0; ++number) {
            if (reads) dev::store(memory + t, number);
            dev::send(packets + t, {100 * number + t, number});
            dev::sync();
          }
          if (dev::block().x == 0) return;
          if (t < threads / 2) {  // two for each
            const auto wrong_word = [](const dev::packet& p, u32 i) {
              return u32{p.epoch > 0 && p.word != 100 * p.epoch + i};
            };
            dev::two_packets got{};
            for (u32 tries = 0; got.first.epoch != 3 || got.second.epoch != 3; ++tries, dev::pause()) {
              got = dev::hear(packets + 2 * t);
              wrong_words += wrong_word(got.first, 2 * t) + wrong_word(got.second, 2 * t + 1);
              if (tries > 100'000) host_run::fault("packets", "some that come");
            }
          }
          dev::sync();
          if (reads) static_cast<void>(dev::load(memory + t));
        },
        [] {});
    return wrong_words;
  };
  for (u64 seed = 0; seed < 20; ++seed) {
    CHECK(message(seed, false) == 0);
    CHECK_THROWS_WITH_AS(message(seed, true), doctest::Contains("device code: a "), Error);
    CHECK_THROWS_WITH_AS(message(seed, false, {.lose_packet = 2 * threads + 5}), doctest::Contains("some that come"),
                         Error);
    CHECK(message(seed, false, {.tear_packet = 2 * threads + 5}) > 0);
  }
}
TEST_CASE("emulator: a cluster does not wait for threads that have ended, and waits for all others") {
  for (u64 seed = 0; seed < 20; ++seed) {
    device d(seed);
    u32 gone_on = 0;
    d.machine.launch_together(
        4, threads, 64,
        [&] {
          if (dev::block().x == 1 || (dev::block().x == 2 && dev::thread() < 32)) return;
          dev::sync_cluster();
          ++gone_on;
        },
        [] {}, 2);
    CHECK(gone_on == 2 * threads + 32);
  }
  CHECK_THROWS_WITH_AS(device().machine.launch_together(
                           2, threads, 64,
                           [] {
                             if (dev::block().x == 0 && dev::thread() == 0) dev::sync();
                             else dev::sync_cluster();
                           },
                           [] {}, 2),
                       doctest::Contains("that wait for others"), Error);
  CHECK_THROWS_WITH_AS(device().machine.launch_together(
                           3, threads, 64, [] {}, [] {}, 2),
                       doctest::Contains("clusters of 2 blocks"), Error);
  CHECK(finds("a launch that has them", [](u32*) { dev::sync_cluster(); }));
}
