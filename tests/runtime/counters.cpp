// SPDX-License-Identifier: MIT
// counters.cpp: counts by opcode, from any number of threads.
#include "cke/runtime/counters.hpp"

#include <doctest/doctest.h>

#include <thread>
#include <vector>

#include "cke/core/operations.hpp"

using namespace cke;
using namespace cke::io;
using namespace cke::graph;
using namespace cke::kernels;
using namespace cke::runtime;

TEST_CASE("counters: each opcode by itself, and all together") {
  dispatch_counters c;
  CHECK(c.total() == 0);
  c.count(opcode::rmsnorm);
  c.count(opcode::logits);
  c.count(opcode::logits);
  CHECK(c.of(opcode::rmsnorm) == 1);
  CHECK(c.of(opcode::logits) == 2);
  CHECK(c.of(opcode::matmul) == 0);
  CHECK(c.total() == 3);
  for (const op_info& row : ops) c.count(row.op);
  for (const op_info& row : ops) CHECK(c.of(row.op) >= 1);
  CHECK(c.total() == 3 + std::size(ops));
  c.reset();
  CHECK(c.total() == 0);
  for (const op_info& row : ops) CHECK(c.of(row.op) == 0);
}

TEST_CASE("counters: nothing is lost between threads") {
  dispatch_counters c;
  std::vector<std::thread> threads;
  for (u32 t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      for (u32 i = 0; i < 5000; ++i) c.count(i % 2 ? opcode::matmul : opcode::rope);
    });
  for (std::thread& t : threads) t.join();
  CHECK(c.of(opcode::matmul) == 7500);
  CHECK(c.of(opcode::rope) == 7500);
  CHECK(c.total() == 15000);
}
