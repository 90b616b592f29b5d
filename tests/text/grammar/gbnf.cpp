// SPDX-License-Identifier: MIT
// gbnf.cpp: what grammars accept, against a table and against a search for derivations.
#include <doctest/doctest.h>

#include <map>
#include <set>

#include <cke/text/grammar/automaton.hpp>
#include <cke/text/grammar/gbnf.hpp>
#include <cke/text/sampling/random.hpp>

using namespace cke;
using namespace cke::text;
namespace {

using strings = std::vector<std::string>;

grammar_automaton automaton_of(const std::string& text) {
  return grammar_automaton(std::make_shared<grammar>(parse_gbnf(text, "g.gbnf")));
}

bool accepts(grammar_automaton& a, std::string_view text) {
  auto s = a.start();
  for (const char c : text) s = a.next(s, static_cast<u8>(c));
  return a.accepts(s);
}

// Whether a rule has a derivation of text[from, to): the definition, and nothing clever.
class derivations {
 public:
  derivations(const grammar& g, std::string_view text) : g_(g), text_(text) {}
  bool rule(u32 r, u32 from, u32 to) {
    const auto [known, fresh] = known_.try_emplace({r, from, to}, false);  // a derivation within itself adds nothing
    if (fresh)
      for (const u32 p : g_.productions[r])
        if (symbols(p, from, to)) return known_[{r, from, to}] = true;
    return known_[{r, from, to}];
  }

 private:
  bool symbols(u32 at, u32 from, u32 to) {
    const grammar_symbol& s = g_.symbols[at];
    if (s.is == grammar_symbol::end) return from == to;
    if (s.is == grammar_symbol::bytes) {
      const bool fits = from < to && s.first <= static_cast<u8>(text_[from]) && static_cast<u8>(text_[from]) <= s.last;
      return fits && symbols(at + 1, from + 1, to);
    }
    for (u32 middle = from; middle <= to; ++middle)
      if (rule(s.rule_id, from, middle) && symbols(at + 1, middle, to)) return true;
    return false;
  }
  const grammar& g_;
  std::string_view text_;
  std::map<std::array<u32, 3>, bool> known_;
};

// How far the end is, against all words; and that the first byte of the shortest way leads there.
void check_to_end(grammar_automaton& a, std::string_view word) {
  auto here = a.start();
  for (const char c : word) here = a.next(here, static_cast<u8>(c));
  if (here == grammar_automaton::dead) return;
  u32 bytes = 0;
  for (std::set<grammar_automaton::state> reached{here};
       std::ranges::none_of(reached, [&](auto s) { return a.accepts(s); }); ++bytes) {
    std::set<grammar_automaton::state> further;
    for (const auto s : reached)
      for (const u8 byte : {u8{'a'}, u8{'b'}})
        if (const auto next = a.next(s, byte); next != grammar_automaton::dead) further.insert(next);
    reached = std::move(further);
  }
  CHECK(a.to_end(here) == bytes);
  for (; bytes > 0; --bytes) {
    const auto by_a = a.next(here, 'a');
    CHECK(a.to_end_by(here) == (by_a != grammar_automaton::dead && a.to_end(by_a) == bytes - 1 ? 'a' : 'b'));
    here = a.next(here, a.to_end_by(here));
    CHECK(a.to_end(here) == bytes - 1);
  }
}

}  // namespace

TEST_CASE("gbnf: what is a text of a grammar, and what is not") {
  struct {
    const char* text;
    strings in, out;
  } const table[] = {
      {R"(root ::= "yes" | "no")", {"yes", "no"}, {"", "y", "yesno", "No"}},
      {"root ::= \"\"", {""}, {"a"}},
      {"root ::= |\n \"a\"", {"", "a"}, {"aa"}},
      {"root ::= \"a\" # a comment\n  | \"b\"\n# another\nother ::= root", {"a", "b"}, {"ab"}},
      {"root ::= [a-c]+ [^a-c]* \"-\"?", {"a", "abcx", "cba-", "bxyz-"}, {"", "x", "axb"}},
      {"root ::= ( \"a\"\n  \"b\" )* end\nend ::= \".\"", {".", "ab.", "abab."}, {"a.", "ab"}},
      {"root ::= \"ab\"{2} [x]{1,3} \"y\"{2,}",
       {"ababxyy", "ababxxxyyyyy"},
       {"abxyy", "ababyy", "ababxxxxyy", "ababxy"}},
      {"root ::= [0-9]{1, 3} \"a\"{ 2 } (\"b\"{\n1 ,\n})", {"1aab", "123aabbb"}, {"aab", "1ab", "1aa"}},
      {"root ::= \"a\"{0} \"b\"{0,2} ((\"c\"?)*)*", {"", "b", "bb", "bbccc"}, {"a", "bbb"}},
      {R"(root ::= "\x41\u00e9\U0001F600\n\t\"\\" [\]\-\\]{3})", {"Aé😀\n\t\"\\]-\\"}, {"Aé😀\n\t\"\\abc"}},
      {"root ::= [ä-ü]{2} . [^\\x00-\\x7F]", {"äü😀中", "üäaé"}, {"äz😀中", "ää\xED\xA0\x80中", "äüaa"}},
      {"root ::= pair | \"x\"\npair ::= \"(\" root \")\"", {"x", "(x)", "((((x))))"}, {"(x", "()", "(x))"}},
      {"root ::= a b\na ::= \"x\"?\nb ::= a a \"y\"", {"y", "xy", "xxxy"}, {"xxxxy", "x"}},
      {"root ::= [] | \"a\" never | \"b\"\nnever ::= \"c\" never", {"b"}, {"", "a", "ac"}},
  };
  for (const auto& row : table) {
    CAPTURE(row.text);
    auto a = automaton_of(row.text);
    for (const auto& text : row.in) CHECK_MESSAGE(accepts(a, text), text);
    for (const auto& text : row.out) CHECK_MESSAGE(!accepts(a, text), text);
  }
}

TEST_CASE("gbnf: one message for what is wrong, with its line") {
  const std::pair<std::string, const char*> table[] = {
      {"", "g.gbnf: expected a rule named root, found none"},
      {"root ::= \"a\"\nroot ::= \"b\"", "g.gbnf: line 2: expected a rule that is not defined yet, found 'root' again"},
      {"root ::= missing", "g.gbnf: rule 'missing': expected a definition, found none"},
      {"root = \"a\"", "g.gbnf: line 1: expected ::=, found '= \"a\"'"},
      {"root ::= \"a", "g.gbnf: line 1: expected the end of the quoted characters, found the end"},
      {"\n\nroot ::= [a\n]", "g.gbnf: line 3: expected the end of the quoted characters, found ''"},
      {"root ::= (\"a\" | \"b\"", "g.gbnf: line 1: expected ')', found the end"},
      {"root ::= \"a\")", "g.gbnf: line 1: expected the end of the rule, found ')'"},
      {"root ::= \"a\"{3,2}", "g.gbnf: line 1: expected at least 3 repetitions, found at most 2"},
      {"root ::= \"a\"{x}", "g.gbnf: line 1: expected a number, found 'x}'"},
      {"root ::= \"a\"{999999999999}", "g.gbnf: line 1: expected a number up to 262144, found more"},
      {"root ::= \"a\"{99999}{99999}{99999}",
       "g.gbnf: line 1: expected at most 262144 symbols, repetitions written out, found more"},
      {"root ::= [z-a]", "g.gbnf: line 1: expected a range from low to high, found one from high to low"},
      {"root ::= \"\\q\"",
       "g.gbnf: line 1: expected one of \\\" \\\\ \\[ \\] \\^ \\- \\t \\n \\r \\xNN \\uNNNN \\UNNNNNNNN, found "
       "'\\q\"'"},
      {"root ::= \"\\uD800\"", "g.gbnf: line 1: expected a character of Unicode, found a number that is none"},
      {"root ::= \"\xFF\"", "g.gbnf: line 1: expected UTF-8, found '\xFF\"'"},
      {"root ::= " + std::string(300, '('), "g.gbnf: line 1: expected at most 256 groups in each other, found more"},
      {"root ::= \"a\" root", "g.gbnf: rule 'root': expected a text that fits it, found none"},
      {"root ::= root \"a\" | \"b\"",
       "g.gbnf: rule 'root': expected no left recursion (x ::= x \"a\" | \"b\" is x ::= \"b\" \"a\"*), found that it "
       "can begin with itself"},
      {"root ::= a\na ::= \"x\"? b \"y\"\nb ::= a | \"z\"",
       "g.gbnf: rule 'a': expected no left recursion (x ::= x \"a\" | \"b\" is x ::= \"b\" \"a\"*), found that it can "
       "begin with itself"},
  };
  for (const auto& [text, message] : table) {
    CAPTURE(text);
    CHECK_THROWS_WITH_AS(parse_gbnf(text, "g.gbnf"), message, Error);
  }
}

TEST_CASE("gbnf: random grammars accept what can be derived, and nothing else") {
  u64 drawn = 0;
  const auto pick = [&](u32 n) { return static_cast<u32>(uniform(11, drawn++) * n); };
  u32 followed = 0, accepted = 0;
  while (followed < 300) {
    std::string text;
    const u32 rules = 1 + pick(4);
    const auto name = [&](u32 r) { return r == 0 ? std::string("root") : "r" + std::to_string(r); };
    for (u32 r = 0; r < rules; ++r) {
      text += name(r) + " ::=";
      const u32 alternatives = 1 + pick(3);
      for (u32 a = 0; a < alternatives; ++a) {
        text += a ? " |" : "";
        for (u32 items = pick(4); items > 0; --items) {
          static constexpr const char *atoms[] = {" \"a\"", " \"b\"", " [ab]", " \"ab\""},
                                      *times[] = {"", "", "", "?", "*", "+", "{1,2}"};
          text += pick(3) == 0 ? " " + name(pick(rules)) : atoms[pick(4)];
          text += times[pick(7)];
        }
      }
      text += '\n';
    }
    std::shared_ptr<grammar> g;
    try {
      g = std::make_shared<grammar>(parse_gbnf(text, "random"));
    } catch (const Error&) {
      continue;  // left recursion
    }
    ++followed;
    CAPTURE(text);
    grammar_automaton a(g);
    for (u32 length = 0; length <= 6; ++length)
      for (u32 bits = 0; bits < 1u << length; ++bits) {
        std::string word;
        for (u32 i = 0; i < length; ++i) word += bits >> i & 1 ? 'b' : 'a';
        const bool in = accepts(a, word);
        accepted += in;
        if (in != derivations(*g, word).rule(g->root, 0, length)) FAIL_CHECK(word);
        if (length <= 3) check_to_end(a, word);
      }
  }
  CHECK(accepted > 1000);
}

TEST_CASE("grammar automaton: what is left of it behind a state is the same grammar") {
  auto whole = automaton_of("root ::= \"(\" root \")\" | [a-c]{2,5}");
  auto s = whole.start();
  for (const char c : std::string("((a")) s = whole.next(s, static_cast<u8>(c));
  grammar_automaton rest(whole, std::span(&s, 1));
  CHECK(rest.bytes() < whole.bytes());
  CHECK(accepts(rest, "bc))"));
  CHECK(!accepts(rest, "bc)"));
  CHECK(!accepts(rest, "))"));
  s = rest.start();
  for (const char c : std::string("b))")) s = rest.next(s, static_cast<u8>(c));
  CHECK(rest.complete(s));
}

// Their symbols are counted as they are read, not when the rule is whole: there are gigabytes of them.
TEST_CASE("gbnf: what is too large is refused before it is written out") {
  const auto times = [](const std::string& s) {
    std::string all;
    for (int i = 0; i < 4000; ++i) all += s;
    return all;
  };
  const std::string one = "\"a\"{262144} ", nested = "(\"a\"{100000} ";
  for (const std::string& text : {"root ::= " + times(one), "root ::= " + times(one + "| "),
                                  "root ::= (" + times("| " + one) + ")", "root ::= " + times(nested)})
    CHECK_THROWS_WITH_AS(parse_gbnf(text, "g"),
                         "g: line 1: expected at most 262144 symbols, repetitions written out, found more", Error);
}

TEST_CASE("grammar automaton: a grammar of too many readings ends with an error") {
  std::string text = "root ::= s\ns ::= x s \"1\" | y s \"2\" | \"e\"\nx ::= \"a\"\ny ::= \"a\"\n";
  auto a = automaton_of(text);
  CHECK_THROWS_WITH_AS(accepts(a, std::string(40, 'a')),
                       "grammar: expected at most 8192 ways to read the same text, found more", Error);
}
