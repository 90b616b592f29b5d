// SPDX-License-Identifier: MIT
// index_table.cpp: tests of text/tokenizer/index_table.hpp.
#include <cke/text/tokenizer/index_table.hpp>

#include <doctest/doctest.h>

#include <vector>

using cke::u32;
using cke::u64;
using cke::text::index_table;

TEST_CASE("index table: finds what was put in and nothing else, also where hashes collide") {
  for (const u64 hash_bits : {~u64{0}, u64{0xF}, u64{0}}) {
    std::vector<u64> keys;
    index_table table(1000);
    const auto same = [&](u64 key) { return [&keys, key](u32 i) { return keys[i] == key; }; };
    for (u64 i = 0; i < 1000; ++i) {
      keys.push_back(i * i);
      table.insert(keys.back() & hash_bits, static_cast<u32>(i), same(keys.back()));
    }
    for (u64 i = 0; i < 1000; ++i) {
      CHECK(table.find((i * i) & hash_bits, same(i * i)) == i);
      const u64 absent = i * i + 1 + 2 * (i == 0);
      CHECK(table.find(absent & hash_bits, same(absent)) == index_table::none);
    }
  }
}

TEST_CASE("index table: the last of equal keys stays") {
  index_table table(1);
  const auto same = [](u32) { return true; };
  table.insert(7, 1, same);
  table.insert(7, 2, same);
  CHECK(table.find(7, same) == 2);
  CHECK(index_table().find(7, same) == index_table::none);
}
