// SPDX-License-Identifier: MIT
// spm.cpp: tests of text/tokenizer/spm.hpp.
#include <cke/text/tokenizer/spm.hpp>

#include <doctest/doctest.h>

#include "fixtures.hpp"

namespace spm_test {

using namespace cke;
using namespace cke::text;
using fixtures::add;

namespace {

using texts = std::vector<std::string>;

// The tokens as text.
texts encode(const vocabulary& v, std::string_view text) {
  merger scratch;
  std::vector<u32> ids;
  spm_model(v).encode(text, scratch, ids);
  texts out;
  for (const u32 id : ids) out.push_back(v.tokens[id]);
  return out;
}

vocabulary scored(const std::vector<std::pair<std::string, float>>& pieces) {
  vocabulary v;
  v.model = tokenizer_model::spm;
  v.unknown = add(v, "<unk>", token_type::unknown);
  v.scores.push_back(0);
  for (const auto& [text, score] : pieces) {
    add(v, text);
    v.scores.push_back(score);
  }
  return v;
}

void add_bytes(vocabulary& v) {
  for (u32 b = 0; b < 256; ++b) {
    const char* digits = "0123456789ABCDEF";
    add(v, std::string("<0x") + digits[b / 16] + digits[b % 16] + ">", token_type::byte);
    v.scores.push_back(0);
  }
}

}  // namespace

TEST_CASE("spm: the best score goes first, then the left") {
  const vocabulary v = scored({{"a", -9}, {"b", -9}, {"c", -9}, {"ab", -2}, {"bc", -1}, {"aa", -3}, {"abc", -5}});
  CHECK(encode(v, "abc") == texts{"abc"});
  CHECK(encode(v, "aabc") == texts{"aa", "bc"});
  CHECK(encode(v, "aaa") == texts{"aa", "a"});
  const vocabulary equal = scored({{"a", 0}, {"b", 0}, {"ab", -1}, {"ba", -1}});
  CHECK(encode(equal, "bab") == texts{"ba", "b"});
}

TEST_CASE("spm: pieces of which a half is no token still join") {
  CHECK(encode(scored({{"xy", -1}, {"xyz", -2}, {"z", -3}}), "xyz") == texts{"xyz"});
}

TEST_CASE("spm: unknown characters are bytes, or the unknown token once for neighbours") {
  vocabulary v = scored({{"a", -1}});
  CHECK(encode(v, "aéβa") == texts{"a", "<unk>", "<unk>", "a"});
  v.fuse_unknown = true;
  CHECK(encode(v, "aéβaé") == texts{"a", "<unk>", "a", "<unk>"});
  add_bytes(v);
  CHECK(encode(v, "aé\xFF") == texts{"a", "<0xC3>", "<0xA9>", "<0xFF>"});
  v.unknown = no_token;
  v.types.back() = token_type::unused;  // one byte is missing, and nothing stands for the unknown
  CHECK(encode(v, "aé\xFF") == texts{"a", "<0xC3>", "<0xA9>"});
}

TEST_CASE("spm: text never becomes a control, unknown or byte token") {
  vocabulary v = scored({{"<", 0}, {"s", 0}, {">", 0}, {"<s", -1}, {"<0", 0}, {"x41", 0}, {"<0x41", 0}, {"<unk", 0}});
  add_bytes(v);
  add(v, "<s>", token_type::control);
  v.scores.push_back(0);
  CHECK(encode(v, "<s>") == texts{"<s", ">"});
  for (const texts& found : {encode(v, "<0x41>"), encode(v, "<unk>")})
    for (const std::string& text : found) CHECK((text != "<0x41>" && text != "<unk>"));
}

TEST_CASE("spm: words are apart only where no token crosses them") {
  vocabulary v = scored({{"a", 0}, {"▁", 0}, {"▁a", -1}, {"▁▁", -2}, {"▁▁a", -3}});
  CHECK(encode(v, "▁a▁▁a") == texts{"▁a", "▁▁a"});
  add(v, "a▁");
  v.scores.push_back(1);
  CHECK(encode(v, "a▁a") == texts{"a▁", "a"});
}

TEST_CASE("spm: with merges these decide, not scores") {
  vocabulary v = scored({{"a", 0}, {"b", 0}, {"c", 0}});
  fixtures::add_merge(v, "b", "c");
  fixtures::add_merge(v, "a", "b");
  v.scores.clear();
  CHECK(encode(v, "abc") == texts{"a", "bc"});
  CHECK(encode(v, "abab") == texts{"ab", "ab"});
}

}  // namespace spm_test
