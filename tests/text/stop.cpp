// SPDX-License-Identifier: MIT
// stop.cpp: the stop matcher against a search of the whole text, for every cut of the text into
// pieces.
#include <cke/text/sampling/stop.hpp>

#include <doctest/doctest.h>

#include <cke/text/sampling/random.hpp>

using namespace cke;
using namespace cke::text;
namespace {

using strings = std::vector<std::string>;

// What must have come out after all of `text`: everything before the stop string that ends first
// (the longest of several), else all but the longest end of the text that begins a stop string.
struct expectation {
  std::string out;
  std::optional<u32> stopped;
};
expectation expect(const std::string& text, const strings& stops) {
  for (std::size_t end = 1; end <= text.size(); ++end) {
    expectation found;
    std::size_t length = 0;
    for (u32 i = 0; i < stops.size(); ++i) {
      if (text.substr(0, end).ends_with(stops[i]) && stops[i].size() > length) {
        length = stops[i].size();
        found = {text.substr(0, end - length), i};
      }
    }
    if (found.stopped) return found;
  }
  for (std::size_t held = text.size(); held > 0; --held) {
    for (const auto& stop : stops) {
      if (stop.starts_with(text.substr(text.size() - held))) {
        return {text.substr(0, text.size() - held), std::nullopt};
      }
    }
  }
  return {text, std::nullopt};
}

// Bit i of `cuts` cuts the text after byte i.
void check_cut(const std::string& text, const strings& stops, u64 cuts) {
  stop_matcher matcher({}, stops);
  std::string out;
  for (std::size_t begin = 0, i = 0; i < text.size(); ++i) {
    if (i + 1 < text.size() && !(cuts >> i & 1)) continue;
    out += matcher.feed(std::string_view(text).substr(begin, i + 1 - begin));
    begin = i + 1;
    const auto expected = expect(text.substr(0, begin), stops);
    CHECK(out == expected.out);
    CHECK(matcher.stopped() == expected.stopped);
  }
  if (!matcher.stopped()) {
    out += matcher.flush();
    CHECK(out == text);
  }
  CHECK(matcher.flush().empty());
}

TEST_CASE("stop_matcher: every cut of a text into pieces gives the same answer") {
  const std::vector<std::pair<std::string, strings>> cases{
      {"one\n\nUser: two", {"\n\nUser:"}},
      {"aabaabaaab", {"aabaaab"}},        // the border must be followed, not restarted
      {"abcabcabd", {"abcabd", "cabx"}},  // two held back, the longer one counts
      {"xxabcdyy", {"abcd", "bc"}},       // "bc" ends first
      {"xxabcyy", {"bc", "abc", "c"}},    // all end at once: the longest
      {"ababababab", {"abababc", "bb"}},  // never complete
      {"<|im_end", {"<|im_end|>"}},       // complete but for the end of the text
      {"stop", {"stop"}},
      {"n\xc3\xa4he\xe2\x82\xac!", {"\xe2\x82\xac"}},
      {"plain text", {}},
  };
  for (const auto& [text, stops] : cases) {
    CAPTURE(text);
    for (u64 cuts = 0; cuts < u64{1} << (text.size() - 1); ++cuts) check_cut(text, stops, cuts);
  }
}

TEST_CASE("stop_matcher: random texts and stop strings over two letters") {
  u64 position = 0;
  const auto random = [&](u32 below) { return static_cast<u32>(uniform(17, position++) * below); };
  const auto word = [&](u32 size) {
    std::string s;
    while (s.size() < size) s += "ab"[random(2)];
    return s;
  };
  for (int trial = 0; trial < 2000; ++trial) {
    strings stops(1 + random(4));
    for (auto& stop : stops) stop = word(3 + random(5));
    const std::string text = word(1 + random(40));
    CAPTURE(text);
    check_cut(text, stops, u64{random(~0u)} << 32 | random(~0u));
  }
}

TEST_CASE("stop_matcher: nothing comes out after the stop, until reset") {
  stop_matcher matcher({}, {"END", "FIN"});
  CHECK(matcher.feed("a FI") == "a ");
  CHECK(matcher.feed("N b END") == "");
  CHECK(matcher.stopped() == 1u);
  CHECK(matcher.feed("more") == "");
  CHECK(matcher.flush() == "");
  matcher.reset();
  CHECK(matcher.stopped() == std::nullopt);
  CHECK(matcher.feed("N cEN") == "N c");
  CHECK(matcher.flush() == "EN");
}

TEST_CASE("stop_matcher: stop ids, and the empty string is no stop string") {
  const stop_matcher matcher({7, 3, 151645});
  CHECK(matcher.stops_at(3));
  CHECK(matcher.stops_at(151645));
  CHECK_FALSE(matcher.stops_at(4));
  CHECK_FALSE(stop_matcher().stops_at(0));
  CHECK_THROWS_AS(stop_matcher({}, {"x", ""}), Error);
}

}  // namespace
