// SPDX-License-Identifier: MIT
// thought_splitter.cpp: thought and answer, however the text was cut into pieces.
#include <doctest/doctest.h>

#include <cke/text/chat/thought_splitter.hpp>

using namespace cke;
using namespace cke::text;

namespace {

using both = std::pair<std::string, std::string>;

both split(std::string_view text, std::size_t step, bool inside = false) {
  thought_splitter s({}, inside);
  both all;
  const auto add = [&](thought_splitter::part p) { all.first += p.thought, all.second += p.answer; };
  for (; !text.empty(); text.remove_prefix(std::min(step, text.size()))) add(s.feed(text.substr(0, step)));
  add(s.finish());
  return all;
}

}  // namespace

TEST_CASE("a thought is what stands between the marks at the beginning") {
  const struct {
    std::string_view text;
    both want;
    bool inside = false;
  } rows[] = {
      {"<think>\nI know this.\n</think>\n\nThe sea is blue.", {"I know this.", "The sea is blue."}},
      {"\n<think> a  b\n\nc </think>d </think> e", {"a  b\n\nc", "d </think> e"}},
      {"<think>\n\n</think>\n\nyes", {"", "yes"}},
      {"no <think>thought</think>", {"", "no <think>thought</think>"}},
      {"<thin> is no mark", {"", "<thin> is no mark"}},
      {"<think>never </thin closed  ", {"never </thin closed", ""}},
      {"<thi", {"", "<thi"}},
      {"  ", {"", "  "}},
      {"", {"", ""}},
      {"it goes on\n</think>\n\nand ends", {"it goes on", "and ends"}, true},
      {"<think>twice</think>x", {"<think>twice", "x"}, true},
      {"</think>only an answer", {"", "only an answer"}, true},
  };
  for (const auto& r : rows)
    for (std::size_t step = 1; step <= r.text.size() + 1; ++step) {
      CAPTURE(r.text);
      CAPTURE(step);
      CHECK(split(r.text, step, r.inside) == r.want);
    }
}

TEST_CASE("text comes out as soon as it is certain") {
  thought_splitter s;
  CHECK(s.feed("<think>").thought == "");
  CHECK(s.feed("one ").thought == "one");
  CHECK(s.in_thought());
  CHECK(s.feed("two").thought == " two");
  CHECK(s.feed("\n</").thought == "");
  CHECK(s.feed("think>\n\n").answer == "");
  CHECK_FALSE(s.in_thought());
  CHECK(s.feed("three ").answer == "three ");
}
