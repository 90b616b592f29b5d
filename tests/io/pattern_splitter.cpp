// SPDX-License-Identifier: MIT
// pattern_splitter.cpp: tests of io/pattern_splitter.hpp and of the names in io/gguf_pre.hpp.
#include <cke/io/pattern_splitter.hpp>

#include <doctest/doctest.h>

#include <cke/io/gguf_pre.hpp>
#include <set>

#include "../text/fixtures.hpp"

using namespace cke;
using namespace cke::text;
using namespace cke::io;
using pieces = std::vector<std::string>;

namespace {

pieces cut(const std::vector<split_rule>& rules, std::string_view text) {
  pieces out;
  pattern_splitter(rules, "f").split(text, [&](std::string_view piece) { out.emplace_back(piece); });
  return out;
}
std::string error(const char* pattern) {
  return fixtures::error_of([&] { cut({{pattern}}, "text"); });
}

}  // namespace

TEST_CASE("pattern splitter: matches are pieces, and so is what lies between them") {
  CHECK(cut({{"[0-9]+"}}, "ab12cd3") == pieces{"ab", "12", "cd", "3"});
  CHECK(cut({{"[0-9]+"}}, "") == pieces{});
  CHECK(cut({{"x"}}, "ab") == pieces{"ab"});
  CHECK(cut({{"[0-9]+", true}}, "ab12cd3") == pieces{"12", "3"});
  CHECK(cut({{"x", true}}, "ab") == pieces{});
}

TEST_CASE("pattern splitter: a rule sees the pieces of those before it, and nothing around them") {
  CHECK(cut({{"-"}, {"^b|a$"}}, "aa-bb") == pieces{"a", "a", "-", "b", "b"});
  CHECK(cut({{"-"}, {"(?<=-)b"}}, "a-b") == pieces{"a", "-", "b"});
}

TEST_CASE("pattern splitter: a long match needs no more than a short one") {
  const std::string word(100'000, 'a');
  for (const char* pattern : {"[\\p{L}&&[^\\p{Han}]]+", "(?:\\p{L}|\\p{N})+"})
    CHECK(cut({{pattern}}, word) == pieces{word});
}

TEST_CASE("pattern splitter: a match of nothing cuts") {
  CHECK(cut({{"(?=(\\d{3})+(?!\\d))"}}, "1234567") == pieces{"1", "234", "567"});
  CHECK(cut({{"x*"}}, "äb") == pieces{"ä", "b"});
}

TEST_CASE("pattern splitter: Oniguruma's dialect") {
  const std::string spaces = "\t\n\v\f\r \u0085\u00a0\u1680\u2003\u2028\u3000";
  CHECK(cut({{"\\s+"}}, "a" + spaces + "b") == pieces{"a", spaces, "b"});
  CHECK(cut({{"[\\s]+"}}, "a" + spaces + "b") == pieces{"a", spaces, "b"});
  CHECK(cut({{"\\S+"}}, "ab\u180e" + spaces) == pieces{"ab\u180e", spaces});  // no space any more
  CHECK(cut({{"[\\p{L}&&[^\\p{Han}]]+"}}, "ab你好c") == pieces{"ab", "你好", "c"});
  CHECK(cut({{"\\p{Han}+"}}, "「你」ー") == pieces{"「", "你", "」ー"});  // brackets are shared
  CHECK(cut({{"\\P{Han}+|\\p{Lu}"}}, "x你") == pieces{"x", "你"});
  CHECK(cut({{"a$"}}, "a\nba") == pieces{"a", "\nb", "a"});  // of every line
  CHECK(cut({{"(?i:'s)"}}, "x'ſ") == pieces{"x", "'ſ"});
  CHECK(cut({{"[]a]+"}}, "b]a") == pieces{"b", "]a"});
  CHECK(cut({{"[^]a]+"}}, "b]a") == pieces{"b", "]a"});
}

TEST_CASE("pattern splitter: words have marks and connectors, as in Oniguruma") {
  const pieces words{"नमस्ते", " ", "a‿b", " ", "Ⅷ"};
  CHECK(cut({{"\\w+"}}, "नमस्ते a‿b Ⅷ") == words);
  CHECK(cut({{"[\\w]+"}}, "नमस्ते a‿b Ⅷ") == words);
  CHECK(cut({{"\\W+"}}, "नमस्ते a‿b Ⅷ") == words);
  CHECK(cut({{"\\b"}}, "नमस्ते a‿b Ⅷ") == words);
  CHECK(cut({{"\\B"}}, "ते, b") == pieces{"त", "े,", " b"});
}

TEST_CASE("pattern splitter: bytes that are no text stay, in order") {
  const std::string text = "ab\xff\xc3 12\xe2\x82";
  std::string joined;
  for (const std::string& piece : cut({{"\\p{L}+"}, {"\\p{N}"}}, text)) joined += piece;
  CHECK(joined == text);
}

TEST_CASE("pattern splitter: what it refuses") {
  CHECK(error("(") == "f: tokenizer pattern: expected a regular expression, found (");
  CHECK(error("[a[bc]]").find("no sets of sets") != std::string::npos);
  CHECK(error("[a&&b]").find("no sets of sets") != std::string::npos);
  CHECK(error("\\h").find("no \\h") != std::string::npos);
  CHECK(error("\\C").find("a regular expression") != std::string::npos);
  const std::string long_text = std::string(60, 'a') + 'd';
  CHECK(fixtures::error_of([&] { cut({{"(a|aa|aaa)+(a|aa)+[bc]"}}, long_text); }).find("PCRE2's bounds") !=
        std::string::npos);
}

TEST_CASE("gguf pre: each name once, each pattern is one, and a name is found again by its rules") {
  std::set<std::string_view> names;
  for (const auto& row : io::detail::gguf_pres) {
    CAPTURE(row.name);
    CHECK(names.insert(row.name).second);
    vocabulary v;
    v.pre = row.kind, v.nfc = row.nfc, v.ignore_merges = row.ignore_merges;
    for (const std::string_view pattern : row.patterns) v.patterns.push_back({std::string(pattern)});
    const auto& first = io::detail::gguf_pre_named(io::detail::gguf_pre_of(v, "f"), "f");
    CHECK(first.kind == row.kind);
    CHECK(first.patterns.data() == row.patterns.data());
    if (row.kind != pre_tokenizer::patterns) continue;
    const vocabulary cuts = with_patterns(v, "f");
    std::string joined;
    const std::string text = "It's 12345 tests,\r\n  \tüber 你好 ABCdef!\n";
    cuts.cuts->split(text, [&](std::string_view piece) { joined += piece; });
    CHECK(joined == text);
  }
  vocabulary v;
  v.pre = pre_tokenizer::patterns;
  v.patterns = {{std::string(io::detail::patterns::gpt4o), true}};
  CHECK(io::detail::gguf_pre_of(v, "f") == "gpt-4o");
  CHECK(fixtures::error_of([&] { io::detail::gguf_pre_named("new", "f"); }) ==
        "f: tokenizer.ggml.pre: expected a name of llama.cpp's, such as gpt-2, llama-bpe or qwen2, found new");
}
