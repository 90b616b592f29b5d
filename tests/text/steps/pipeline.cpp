// SPDX-License-Identifier: MIT
// pipeline.cpp: tests of text/steps/: each step by itself, on texts whose result is plain to see.
#include <doctest/doctest.h>

#include <cke/io/pattern_splitter.hpp>
#include <cke/text/tokenizer/tokenizer.hpp>

#include "../fixtures.hpp"

using namespace cke;
using namespace cke::io;
using namespace cke::text;
using pieces = std::vector<std::string>;
using ids = std::vector<u32>;

namespace {

text_pattern regex(const char* text) { return {text, true, std::make_shared<pattern>(text, "f")}; }
text_pattern plain(const char* text) { return {text, false, nullptr}; }

std::string normal(normalizing::step step, std::string_view text) { return text::detail::normalizer({step})(text); }

pieces cut(const std::vector<cutting::step>& steps, std::string_view text, bool beginning = true) {
  pieces out;
  text::detail::cutter{steps}(text, beginning, [&](std::string_view piece) { out.emplace_back(piece); });
  return out;
}

pieces cut_at(text_pattern p, cutting::behavior how, std::string_view text, bool invert = false) {
  return cut({cutting::at_pattern{p, how, invert}}, text);
}

std::string decoded(std::vector<decoding::step> steps, pieces tokens) { return text::detail::decoder(steps)(tokens); }

// A table of ASCII characters and what each becomes.
std::string table_of(const std::vector<std::pair<char, std::string>>& rules) {
  std::vector<u32> units(512, 1u << 31);  // no byte leads anywhere
  std::string results;
  units[0] = 0x100 << 10;  // the root's children begin at 256
  for (const auto& [from, to] : rules) {
    const u32 byte = static_cast<u8>(from), node = 0x100 ^ byte, result = byte ^ 0x80;
    units[node] = (node ^ result) << 10 | 1u << 8 | byte;
    units[result] = 1u << 31 | static_cast<u32>(results.size());
    results += to + '\0';
  }
  const auto size = static_cast<u32>(units.size() * sizeof(u32));
  std::string blob(sizeof size + size, '\0');
  std::memcpy(blob.data(), &size, sizeof size);
  std::memcpy(blob.data() + sizeof size, units.data(), size);
  return blob + results;
}

}  // namespace

TEST_CASE("steps: what splits do with their matches") {
  using enum cutting::behavior;
  CHECK(cut_at(plain("-"), isolated, "a--b-") == pieces{"a", "-", "-", "b", "-"});
  CHECK(cut_at(plain("-"), removed, "a--b-") == pieces{"a", "b"});
  CHECK(cut_at(plain("-"), contiguous, "a--b-") == pieces{"a", "--", "b", "-"});
  CHECK(cut_at(plain("-"), merged_with_previous, "-a--b-") == pieces{"-", "a-", "-", "b-"});
  CHECK(cut_at(plain("-"), merged_with_next, "-a--b-") == pieces{"-a", "-", "-b", "-"});
  CHECK(cut_at(regex("[a-z]+"), removed, "ab1c2", true) == pieces{"ab", "c"});
  CHECK(cut_at(regex("(?=b)"), isolated, "abab") == pieces{"a", "ba", "b"});
  CHECK(cut_at(plain(""), isolated, "ab") == pieces{"ab"});
}

TEST_CASE("steps: cuts") {
  using enum cutting::behavior;
  using enum cutting::char_set;
  CHECK(cut({cutting::words{}}, " a1_b!? é\u3000好") == pieces{"a1_b", "!?", "é", "好"});
  CHECK(cut({cutting::at_characters{space, removed}}, "a \u2003b\n") == pieces{"a", "b"});
  CHECK(cut({cutting::at_characters{punctuation, isolated}}, "a$«b") == pieces{"a", "$", "«", "b"});
  CHECK(cut({cutting::at_characters{number, contiguous}}, "a1½b") == pieces{"a", "1½", "b"});
  CHECK(cut({cutting::fixed_length{2}}, "éab好c") == pieces{"éa", "b好", "c"});
  CHECK(cut({cutting::byte_level{true, true}}, "it's\n") == pieces{"Ġit", "'s", "Ċ"});
  CHECK(cut({cutting::metaspace{"▁", cutting::prefix::always, true}}, "a  b ") == pieces{"▁a", "▁", "▁b", "▁"});
  CHECK(cut({cutting::metaspace{"▁", cutting::prefix::always, false}}, " a b") == pieces{"▁a▁b"});
  CHECK(cut({cutting::metaspace{"▁", cutting::prefix::first, false}}, "a", false) == pieces{"a"});
  // Only the first piece of a text, and only where nothing in front of it is gone, begins it.
  const std::vector<cutting::step> words{cutting::at_characters{space, removed},
                                         cutting::metaspace{"_", cutting::prefix::first, true}};
  CHECK(cut(words, "a b") == pieces{"_a", "b"});
  CHECK(cut(words, " a b") == pieces{"a", "b"});
  CHECK(cut({}, "") == pieces{});
}

TEST_CASE("steps: normalisers") {
  CHECK(normal(normalizing::form{.compatible = false, .composed = true}, "e\u0301ﬁ") == "éﬁ");
  CHECK(normal(normalizing::form{.compatible = false, .composed = false}, "aé가ﬁ") == "ae\u0301\u1100\u1161ﬁ");
  CHECK(normal(normalizing::form{.compatible = true, .composed = true}, "ﬁ①\uFDFAe\u0301\u1E9B\u0323") ==
        "fi1صلى الله عليه وسلمé\u1E69");
  CHECK(normal(normalizing::form{.compatible = true, .composed = false}, "½é\xff") == "1\u20442e\u0301\xff");
  CHECK(normal(normalizing::lowercase{}, "ABÉΣİ\xc3") == "abéσi\u0307\xc3");
  CHECK(normal(normalizing::strip_accents{}, "e\u0301é\u0903") == "eé");
  CHECK(normal(normalizing::nmt{}, "a\x01\tb\u200Bc\u00A0") == "a b c\u00A0");
  CHECK(normal(normalizing::byte_level{}, " é") == "ĠÃ©");
  CHECK(normal(normalizing::strip{true, false}, " \u3000a ") == "a ");
  CHECK(normal(normalizing::strip{true, true}, " \n ") == "");
  CHECK(normal(normalizing::merge_spaces{}, "  a   b ") == "a b");
  CHECK(normal(normalizing::merge_spaces{}, " ▁a▁ ▁") == "▁a");
  CHECK(normal(normalizing::prepend{"_"}, "a") == "_a");
  CHECK(normal(normalizing::prepend{"_"}, "") == "");
  CHECK(normal(normalizing::replace{regex("a+"), "<>"}, "aabca") == "<>bc<>");
  CHECK(normal(normalizing::replace{plain("."), "+"}, "a.b.") == "a+b+");
  const normalizing::bert all{.clean_text = true, .chinese = true, .accents = true, .lowercase = true};
  CHECK(normal(all, "É\t\u0085\u200D好A\uFFFD\u3000\u2028") == "e  好 a  ");
  const normalizing::bert none{.clean_text = false, .chinese = false, .accents = false, .lowercase = false};
  CHECK(normal(none, "É\t好A") == "É\t好A");
}

TEST_CASE("steps: a table of rules") {
  const auto map = std::make_shared<charsmap>(table_of({{'A', "a"}, {'!', ""}, {'\r', " "}, {'x', "XYZ"}}), "f", "map");
  CHECK(map->find("Ab", false)->becomes == "a");
  CHECK(map->find("xx", true)->size == 1);
  CHECK_FALSE(map->find("b", true).has_value());
  CHECK_FALSE(map->find("", true).has_value());
  CHECK(normal(normalizing::precompiled{map, {}}, "A!b\r\nx") == "ab \nXYZ");
  // A grapheme is replaced as a whole: the line break with its return, the letter with its mark.
  CHECK(normal(normalizing::precompiled{map, regex("\\X")}, "A!b\r\nx") == "ab XYZ");
  CHECK(normal(normalizing::precompiled{map, regex("\\X")},
               "A\u0301b\xff"
               "A") ==
        "ab\xff"
        "a");
  CHECK(normal(normalizing::precompiled{map, regex("\\X")}, "A\u0301\u0302\u0303b") ==
        "a\u0301\u0302\u0303b");  // too long
  CHECK(fixtures::error_of([] { charsmap("abc", "f", "map"); }) == "f: map: expected a size and a table, found 3");
  CHECK(fixtures::error_of([] { charsmap(std::string("\x05\0\0\0abcdef", 10), "f", "map"); }) ==
        "f: map: expected a table of at most 6 bytes, in fours, found 5");
  std::string damaged = table_of({{'A', "a"}});
  for (std::size_t i = 4; i < damaged.size(); i += 3) {  // wherever it leads, it ends, inside the table
    damaged[i] = static_cast<char>(damaged[i] ^ 0x55);
    (void)charsmap(damaged, "f", "map").find("AAAA", true);
  }
  // From node 256 an 'a' leads to unit 353 and back: a look-up ends all the same, long before a long text does.
  std::vector<u32> circle(354);
  circle[0] = 0x40000, circle[353] = 0x18461;
  const auto size = static_cast<u32>(circle.size() * sizeof(u32));
  std::string blob(sizeof size + size, '\0');
  std::memcpy(blob.data(), &size, sizeof size), std::memcpy(blob.data() + sizeof size, circle.data(), size);
  const std::string many(300'000, 'a');
  CHECK(normal(normalizing::precompiled{std::make_shared<charsmap>(blob, "f", "map"), {}}, many) == many);
}

TEST_CASE("steps: decoders") {
  CHECK(decoded({decoding::spaced{}}, {"a", "b"}) == "a b");
  CHECK(decoded({decoding::wordpiece{"##", true}}, {"it", "'", "s", "ne", "##w", ".", "##x"}) == "it ' s new.x");
  CHECK(decoded({decoding::wordpiece{"##", false}}, {"##a", "."}) == "##a .");
  CHECK(decoded({decoding::metaspace{"▁", true}}, {"▁▁a", "▁b"}) == "a b");
  CHECK(decoded({decoding::metaspace{"▁", false}}, {"▁a", "▁b"}) == " a b");
  CHECK(decoded({decoding::end_of_word{"</w>"}}, {"a", "b</w>", "c</w>"}) == "ab c");
  CHECK(decoded({decoding::byte_fallback{}, decoding::fuse{}, decoding::strip{" ", 1, 1}},
                {" ", " <0x41>", "<0x42>", " "}) == " <0x41>B");
  CHECK(decoded({decoding::strip{"~", 1, 1}}, {"~~a~", "~b~~"}) == "~ab~");
  CHECK(decoded({decoding::byte_level{}}, {"Ġa", "好"}) == " a好");
  CHECK(decoded({}, {}) == "");
  const std::vector<decoding::step> wordpiece{decoding::wordpiece{"##", true}},
      llama{decoding::replace{plain("▁"), " "}, decoding::fuse{}, decoding::strip{" ", 1, 0}};
  CHECK(text::detail::decoder(wordpiece).piece("a") == " a");
  CHECK(text::detail::decoder(wordpiece).piece("##a") == "a");
  CHECK(text::detail::decoder(wordpiece).strips_prefix());
  CHECK(text::detail::decoder(llama).piece("▁a") == " a");
  CHECK(text::detail::decoder(llama).strips_prefix());
}

TEST_CASE("steps: a unigram model takes the best sum; a word that is a control token's text stays text") {
  vocabulary v;
  v.model = tokenizer_model::steps;
  for (const char* token : {"a", "b", "c", "ab", "bc", "<s>", "<0x3C>"}) fixtures::add(v, token);
  v.types[5] = token_type::control;
  v.added = {{.id = 5, .special = true}};
  text_recipe recipe{{}, {}, modelling::unigram{{-1, -1, -1, -1.5, -1.25, 0, 0}, false}, {decoding::fuse{}}};
  v.recipe = std::make_shared<text_recipe>(recipe);
  const tokenizer t(with_patterns(v, "f"), "f");
  CHECK(t.encode("abc") == ids{0, 4});
  CHECK(t.encode("ab<s>", {.parse_special = true}) == ids{3, 5});
  CHECK(t.encode("ab<s>") == ids{3});  // nothing stands for what is unknown
  CHECK(t.encode("") == ids{});
  CHECK(fixtures::error_of([&] { tokenizer(v, "f"); }).find("with_patterns()") != std::string::npos);
  v.before = {9};
  CHECK(fixtures::error_of([&] { tokenizer(with_patterns(v, "f"), "f"); }) ==
        "f: token before the text: expected an id below 7, found 9");
}
