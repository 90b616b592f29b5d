// SPDX-License-Identifier: MIT
// arena.cpp: aligned zeroed parts of one block, and errors before anything is touched.
#include "cke/runtime/arena.hpp"

#include <doctest/doctest.h>

using namespace cke;
using namespace cke::io;
using namespace cke::graph;
using namespace cke::kernels;
using namespace cke::runtime;

namespace {
errc code_of(auto&& f) {
  try {
    f();
  } catch (const Error& e) { return e.code; }
  return errc::usage;
}
}  // namespace

TEST_CASE("arena: parts are zeroed, aligned and apart") {
  arena a(5u << 20);
  CHECK(reinterpret_cast<std::uintptr_t>(a.data()) % (2u << 20) == 0);
  CHECK(a.size() == 6u << 20);
  float* const x = a.take<float>(3);
  u64* const y = a.take<u64>(1000);
  CHECK(reinterpret_cast<std::byte*>(y) - reinterpret_cast<std::byte*>(x) == 64);
  CHECK(a.used() == 64 + 8000);
  CHECK(std::all_of(a.data(), a.data() + a.size(), [](std::byte b) { return b == std::byte{}; }));
  a.data()[a.size() - 1] = std::byte{1};
  CHECK(x[2] == 0);
  CHECK(a.take(0) == a.data() + 64 + 8000);
}

TEST_CASE("arena: it ends where it ends") {
  arena a(1);
  a.take(a.size() - 10);
  CHECK(a.used() == a.size());
  CHECK(code_of([&] { a.take(1); }) == errc::out_of_memory);
  CHECK(code_of([&] { a.take(~u64{}); }) == errc::out_of_memory);
  CHECK(code_of([&] { a.take<u64>(~u64{} / 4); }) == errc::out_of_memory);
  CHECK(a.take(0) == a.data() + a.size());
}

TEST_CASE("arena: more than the machine has is an error that says so") {
  for (const u64 bytes : {memory_limit() + 1, ~u64{}, ~u64{} - (3u << 20)})
    CHECK(code_of([&] { arena a(bytes); }) == errc::out_of_memory);
}

TEST_CASE("arena: moving hands over the memory") {
  arena a(100), empty;
  CHECK(empty.size() == 0);
  CHECK(code_of([&] { empty.take(1); }) == errc::out_of_memory);
  *a.take<u32>(1) = 7;
  const std::byte* const at = a.data();
  arena b(std::move(a));
  CHECK(b.data() == at);
  CHECK(b.used() == 64);
  empty = std::move(b);
  CHECK(*reinterpret_cast<const u32*>(empty.data()) == 7);
  empty = arena(1);
  CHECK(empty.used() == 0);
}
