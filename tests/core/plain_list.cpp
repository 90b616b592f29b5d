// SPDX-License-Identifier: MIT
// plain_list.cpp: tests of core/plain_list.hpp.
#include <cke/core/plain_list.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <span>
#include <vector>

using namespace cke;

namespace {
struct item {
  u32 id;
  u8 tag;
  bool operator==(const item&) const = default;
};
}  // namespace

TEST_CASE("plain_list: what a std::vector does, after any changes") {
  std::mt19937 random(7);
  plain_list<item> list;
  std::vector<item> like;
  for (u32 step = 0; step < 5000; ++step) {
    const item x{static_cast<u32>(random() % 100), static_cast<u8>(step)};
    const u64 n = random() % 40;
    switch (random() % 8) {
      case 0: list.resize(n, x), like.resize(n, x); break;
      case 1: list.clear(), like.clear(); break;
      case 2: list.reserve(n), like.reserve(n); break;
      case 3:
        if (!like.empty()) list.pop_back(), like.pop_back();
        break;
      case 4: {
        const auto odd = [](const item& i) { return i.id % 2 == 1; };
        list.cut(std::remove_if(list.begin(), list.end(), odd));
        std::erase_if(like, odd);
        break;
      }
      case 5:
        if (!like.empty()) list.push_back(list.front()), like.push_back(item(like.front()));  // of its own, as it moves
        break;
      default: list.push_back(x), like.push_back(x);
    }
    REQUIRE(std::ranges::equal(list, like));
    REQUIRE((list.size() == like.size() && list.empty() == like.empty()));
    if (!like.empty())
      REQUIRE((list.front() == like.front() && list.back() == like.back() &&
               list[like.size() / 2] == like[like.size() / 2]));
  }
}

TEST_CASE("plain_list: copies are their own, and moves leave nothing") {
  plain_list<u32> a{1, 2, 3}, b = a;
  b[0] = 7, b.push_back(4);
  CHECK(a == plain_list<u32>{1, 2, 3});
  CHECK(b == plain_list<u32>{7, 2, 3, 4});
  const u32* const at = b.data();
  plain_list<u32> c = std::move(b);
  CHECK((c.data() == at && b.empty()));  // NOLINT: a list that was moved from is empty
  plain_list<u32>& same = a;
  a = plain_list<u32>{8}, a = same;
  CHECK(a == plain_list<u32>{8});
  a.reserve(4);
  const u32* const wide = a.data();
  a = c;
  CHECK((a == c && a.data() == wide && a.data() != c.data()));
  c = std::move(a);
  CHECK(std::span<const u32>(c).size() == 4);
  CHECK_FALSE(c == plain_list<u32>(4));
  CHECK(plain_list<u32>(2, 9) == plain_list<u32>{9, 9});
  CHECK((plain_list<u32>{} == plain_list<u32>(0) && plain_list<u32>{}.begin() == plain_list<u32>{}.end()));
}
