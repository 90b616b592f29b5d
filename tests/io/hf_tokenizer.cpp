// SPDX-License-Identifier: MIT
// hf_tokenizer.cpp: tests of io/hf_tokenizer.hpp, whole tokenizers against Hugging Face's.
#include <doctest/doctest.h>

#include <cke/io/hf_tokenizer.hpp>
#include <cke/io/pattern_splitter.hpp>
#include <cke/text/tokenizer/tokenizer.hpp>
#include <string>
#include <vector>

#include "../text/fixtures.hpp"

namespace hf_tokenizer_test {

using namespace cke;
using namespace cke::io;
using namespace cke::text;
using document = nlohmann::json;  // `json` is cke's too

namespace {

vocabulary read(const std::string& name) { return read_hf_tokenizer(read_hf_files(fixtures::path(name))); }

// The smallest byte-level tokenizer: "a", "b", "ab".
document small() {
  return document::parse(R"({
    "version": "1.0", "truncation": null, "padding": null, "normalizer": null, "post_processor": null,
    "added_tokens": [{"id": 3, "content": "<s>", "single_word": false, "lstrip": false, "rstrip": false,
                      "normalized": false, "special": true}],
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
    "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true},
    "model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
              "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "ignore_merges": false,
              "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}})");
}

// The smallest SentencePiece-style one.
document small_spm() {
  document j = small();
  j["pre_tokenizer"] = nullptr;
  j["normalizer"] = document::parse(R"({"type": "Replace", "pattern": {"String": " "}, "content": "▁"})");
  j["decoder"] = document::parse(R"({"type": "Replace", "pattern": {"String": "▁"}, "content": " "})");
  j["model"]["byte_fallback"] = true;
  return j;
}

std::string error(const document& tokenizer, const std::string& config = "") {
  return fixtures::error_of([&] { parse_hf_tokenizer(tokenizer.dump(), config, "t", "c"); });
}

// The error after one change, which is named by a JSON pointer.
std::string error_with(document tokenizer, const char* pointer, const document& value) {
  tokenizer[document::json_pointer(pointer)] = value;
  return error(tokenizer);
}

}  // namespace

TEST_CASE("hf tokenizer: the ids of Hugging Face tokenizers, and the text again") {
  for (const std::string name :
       {"qwen2",      "llama3",   "gpt2",       "smollm",     "llama",         "llama_legacy",  "gemma",
        "deepseek",   "tiktoken", "punctuated", "t5",         "unigram_bytes", "bert",          "bert_cased",
        "word_level", "clip",     "mixed",      "byte_words", "scripts",       "scripts_bytes", "ctc"}) {
    const tokenizer t(with_patterns(read(name), name), name);
    for (const auto& [options, text, ids] : fixtures::encodings(name + ".cases")) {
      CAPTURE(name);
      CAPTURE(text);
      const bool same = t.encode(text, options) == ids;
      CHECK(same);
      // Form C, missing bytes, white space that an added token takes and a "▁" that is a space
      // change the text.
      const bool again = name == "llama3" ||
          ((name == "llama_legacy" || name == "gemma") && !options.parse_special && text.find("▁") == text.npos);
      if (again && !options.add_special) CHECK(t.decode(ids) == text);
    }
  }
}

TEST_CASE("hf tokenizer: CTC's decoder keeps one of neighbours that are equal, and drops its padding") {
  const tokenizer t(with_patterns(read("ctc"), "ctc"), "ctc");  // whose padding is the letter e
  CHECK(t.decode(t.encode("all  is well: the tree .")) == "al is wl: th tr .");
}

TEST_CASE("hf tokenizer: what the files say beside the model") {
  const vocabulary qwen2 = read("qwen2"), llama3 = read("llama3"), gpt2 = read("gpt2"), llama = read("llama"),
                   legacy = read("llama_legacy");
  CHECK(qwen2.nfc);
  CHECK(qwen2.pre == pre_tokenizer::qwen2);
  CHECK(qwen2.bos == no_token);
  CHECK(qwen2.tokens[qwen2.eos] == "<|im_end|>");
  CHECK(qwen2.tokens[qwen2.pad] == "<|endoftext|>");
  CHECK_FALSE(qwen2.add_bos);
  CHECK(qwen2.chat_template == "{{ messages }}");
  CHECK(llama3.pre == pre_tokenizer::llama3);
  CHECK(llama3.ignore_merges);
  CHECK(llama3.add_bos);
  CHECK_FALSE(llama3.add_eos);
  CHECK(llama3.tokens[llama3.bos] == "<|begin_of_text|>");
  CHECK(llama3.tokens[llama3.eos] == "<|eot_id|>");
  CHECK(llama3.chat_template == "{{ yes }}");
  CHECK(llama3.tool_template == "no");
  CHECK(gpt2.prefix == space_prefix::if_missing);
  CHECK(gpt2.add_bos);
  CHECK(read("smollm").pre == pre_tokenizer::smollm);
  CHECK(llama.model == tokenizer_model::spm);
  CHECK(llama.prefix == space_prefix::at_beginning);
  CHECK(llama.strip_prefix);
  CHECK(llama.fuse_unknown);
  CHECK(legacy.prefix == space_prefix::always);
  CHECK(legacy.add_eos);
  const vocabulary unigram = read("unigram_bytes"), bert = read("bert"), words = read("word_level");
  CHECK(unigram.model == tokenizer_model::steps);
  CHECK(unigram.before == std::vector<u32>{2, 1});
  CHECK_FALSE(unigram.add_bos);
  CHECK(unigram.add_eos);
  CHECK(unigram.types[10] == token_type::byte);
  CHECK(bert.add_bos);
  CHECK(bert.tokens[bert.bos] == "[CLS]");
  CHECK(bert.tokens[bert.eos] == "[SEP]");
  CHECK(words.tokens[words.bos] == "[UNK]");
  CHECK(words.before == std::vector<u32>{1});
  CHECK_FALSE(words.add_bos);
}

TEST_CASE("hf tokenizer: what the built-in models cannot do goes by steps") {
  const auto model = [](document j, const char* pointer, const document& value) {
    j[document::json_pointer(pointer)] = value;
    return parse_hf_tokenizer(j.dump()).model;
  };
  const document metaspace = {{"type", "Metaspace"}, {"replacement", "▁"}, {"prepend_scheme", "first"}};
  CHECK(model(small(), "/normalizer", {{"type", "NFC"}}) == tokenizer_model::bpe);
  CHECK(model(small(), "/normalizer", {{"type", "NFD"}}) == tokenizer_model::steps);
  CHECK(model(small(), "/model/byte_fallback", true) == tokenizer_model::steps);
  CHECK(model(small(), "/model/end_of_word_suffix", "</w>") == tokenizer_model::steps);
  CHECK(model(small(), "/decoder", nullptr) == tokenizer_model::steps);
  CHECK(model(small(), "/pre_tokenizer", {{"type", "Whitespace"}}) == tokenizer_model::steps);
  CHECK(model(small_spm(), "/version", "1.0") == tokenizer_model::spm);
  CHECK(model(small_spm(), "/normalizer/content", "_") == tokenizer_model::steps);
  CHECK(model(small_spm(), "/normalizer/pattern", {{"Regex", " "}}) == tokenizer_model::steps);
  CHECK(model(small_spm(), "/model/ignore_merges", true) == tokenizer_model::steps);
  CHECK(model(small_spm(), "/model/byte_fallback", false) == tokenizer_model::steps);
  CHECK(model(small_spm(), "/pre_tokenizer", metaspace) == tokenizer_model::steps);  // it cuts
  CHECK(model(small_spm(), "/decoder", {{"type", "Fuse"}}) == tokenizer_model::steps);
  CHECK(model(small_spm(), "/decoder", {{"type", "Strip"}, {"content", " "}, {"start", 2}, {"stop", 0}}) ==
        tokenizer_model::steps);
  document j = small();
  j["normalizer"] = {{"type", "NFD"}};
  document lost = small_spm();
  lost["model"]["byte_fallback"] = false;
  CHECK(tokenizer(with_patterns(parse_hf_tokenizer(lost.dump()), "t")).encode("axb") ==
        std::vector<u32>{2});  // as in `tokenizers`
  CHECK(fixtures::error_of([&] { tokenizer(parse_hf_tokenizer(j.dump()), "t"); }) ==
        "t: tokenizer steps: expected with_patterns() of cke/io/pattern_splitter.hpp, found none");
}

TEST_CASE("hf tokenizer: a small one, in every spelling") {
  const auto ids = [](const document& j, std::string_view text) {
    return tokenizer(parse_hf_tokenizer(j.dump())).encode(text);
  };
  document j = small();
  CHECK(ids(j, "abba") == std::vector<u32>{2, 1, 0});
  j["model"]["merges"] = document::parse(R"([["a", "b"]])");
  CHECK(ids(j, "abba") == std::vector<u32>{2, 1, 0});
  j["model"].erase("type");
  j["pre_tokenizer"] =
      document::parse(R"({"type": "Sequence", "pretokenizers": [{"type": "ByteLevel", "add_prefix_space": false}]})");
  CHECK(ids(j, "abba") == std::vector<u32>{2, 1, 0});
  j["model"]["vocab"]["b b"] = 9;  // outside the byte alphabet: no text becomes it; ids may have gaps
  CHECK(tokenizer(parse_hf_tokenizer(j.dump())).vocab_size() == 10);
  CHECK(ids(j, "b b") == std::vector<u32>{1, 1});
  CHECK(ids(small_spm(), "ab") == std::vector<u32>{2});
  j = small_spm();
  j["pre_tokenizer"] = document::parse(
      R"({"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": false})");
  CHECK(ids(j, "ab") == std::vector<u32>{2});
  CHECK(parse_hf_tokenizer(j.dump()).model == tokenizer_model::spm);  // no space is left to split at
  j["pre_tokenizer"]["pattern"]["String"] = ",";
  CHECK(parse_hf_tokenizer(j.dump()).model == tokenizer_model::steps);
}

TEST_CASE("hf tokenizer: tokenizer_config.json") {
  const auto with = [](const char* config) { return parse_hf_tokenizer(small().dump(), config); };
  CHECK(with(R"({"bos_token": "<s>"})").bos == 3);
  CHECK_FALSE(with(R"({"bos_token": "<s>"})").add_bos);
  CHECK(with(R"({"bos_token": {"content": "<s>"}})").bos == 3);
  CHECK(with(R"({"eos_token": "<s>"})").eos == 3);
  document j = small();
  j["post_processor"] = document::parse(R"({"type": "TemplateProcessing", "pair": [],
    "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
    "special_tokens": {"<s>": {"id": "<s>", "ids": [3], "tokens": ["<s>"]}}})");
  CHECK(parse_hf_tokenizer(j.dump()).add_bos);
  CHECK(parse_hf_tokenizer(j.dump()).bos == 3);
  // As in transformers 5, the post-processor alone says what is added, which may be another token than eos.
  CHECK(parse_hf_tokenizer(j.dump(), R"({"add_bos_token": false})").add_bos);
  CHECK_FALSE(with(R"({"bos_token": "<s>", "add_bos_token": true})").add_bos);
  CHECK_FALSE(with(R"({"eos_token": "<s>", "add_eos_token": true})").add_eos);
  document ends = small();
  for (const char* name : {"<e>", "<m>"}) {
    document token = ends["added_tokens"][0];
    token["id"] = 3 + ends["added_tokens"].size(), token["content"] = name;
    ends["added_tokens"].push_back(token);
  }
  ends["post_processor"] = document::parse(R"({"type": "TemplateProcessing", "pair": [],
    "single": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "<e>", "type_id": 0}}],
    "special_tokens": {"<e>": {"id": "<e>", "ids": [4], "tokens": ["<e>"]}}})");
  const auto ids_with = [&](const char* config) {
    return tokenizer(parse_hf_tokenizer(ends.dump(), config)).encode("ab", {.add_special = true});
  };
  CHECK(ids_with(R"({"eos_token": "<m>"})") == std::vector<u32>{2, 4});
  CHECK(ids_with(R"({"add_eos_token": false, "eos_token": "<m>"})") == std::vector<u32>{2, 4});
  CHECK(ids_with(R"({"add_bos_token": true, "bos_token": "<s>", "eos_token": "<m>"})") == std::vector<u32>{2, 4});
  const vocabulary other = parse_hf_tokenizer(j.dump(), R"({"bos_token": "ab"})");
  CHECK(other.bos == 2);
  CHECK(other.before == std::vector<u32>{3});
  CHECK(error(j, R"({"bos_token": "ab", "add_bos_token": true})") == "");
  CHECK(error(small(), R"({"bos_token": "<x>"})") == "c: bos_token: expected a token of tokenizer.json, found <x>");
  CHECK(error(small(), R"({"bos_token": 3})") == "c: bos_token: expected a string, found 3");
  CHECK(error(small(), R"([])") == "c: expected an object, found array");
  CHECK(error(small(), R"({"chat_template": 1})") == "c: chat_template: expected a string, found 1");
}

TEST_CASE("hf tokenizer: what is not known is named, never passed over") {
  CHECK(error(small()) == "");
  CHECK(error_with(small(), "/extra", 1) == "t: extra: expected no such key, found 1");
  CHECK(error_with(small(), "/model/extra", {{"type", "X"}}) == "t: model.extra: expected no such key, found X");
  CHECK(error_with(small(), "/model/type", "X") ==
        "t: model.type: expected BPE, Unigram, WordPiece or WordLevel, found X");
  CHECK(error_with(small(), "/model/dropout", 0.5) == "t: model.dropout: expected null, found 0.5");
  CHECK(error_with(small(), "/model/continuing_subword_prefix", 1) ==
        "t: model.continuing_subword_prefix: expected a string, found 1");
  CHECK(error_with(small(), "/normalizer", {{"type", "X"}}) ==
        "t: normalizer.type: expected a normalizer that cke knows, found X");
  CHECK(error_with(small(), "/normalizer", {{"type", "NFC"}, {"new", 1}}) ==
        "t: normalizer.new: expected no such key, found 1");
  CHECK(error_with(small(), "/decoder", {{"type", "X"}}) ==
        "t: decoder.type: expected a decoder that cke knows, found X");
  CHECK(error_with(small(), "/decoder", {{"type", "CTC"}, {"pad_token", "p"}, {"word_delimiter_token", ""}}) ==
        "t: decoder.word_delimiter_token: a text that is not empty");
  CHECK(error_with(small(), "/post_processor", {{"type", "X"}}) ==
        "t: post_processor.type: expected a post-processor that cke knows, found X");
  CHECK(error_with(small(), "/pre_tokenizer", {{"type", "X"}}) ==
        "t: pre_tokenizer.type: expected a pre-tokenizer that cke knows, found X");
  CHECK(error_with(small(), "/pre_tokenizer/new", 1) == "t: pre_tokenizer.new: expected no such key, found 1");

  document split = {{"type", "Split"}, {"behavior", "Isolated"}, {"invert", false}, {"pattern", {{"Regex", "\\w+"}}}};
  CHECK(error_with(small(), "/pre_tokenizer", split) == "");
  split["behavior"] = "Joined";
  CHECK(error_with(small(), "/pre_tokenizer", split) ==
        "t: pre_tokenizer.behavior: expected Isolated, Removed, MergedWithPrevious, MergedWithNext or Contiguous, "
        "found Joined");
  CHECK(error_with(small(), "/pre_tokenizer", {{"type", "CharDelimiterSplit"}, {"delimiter", "ab"}}) ==
        "t: pre_tokenizer.delimiter: expected one character, found ab");
  CHECK(error_with(small(), "/pre_tokenizer", {{"type", "FixedLength"}, {"length", 0}}) ==
        "t: pre_tokenizer.length: expected at least 1, found 0");
  CHECK(error_with(small(), "/pre_tokenizer",
                   {{"type", "Metaspace"}, {"replacement", "_"}, {"prepend_scheme", "last"}}) ==
        "t: pre_tokenizer.prepend_scheme: expected always, first or never, found last");
  CHECK(error_with(small(), "/normalizer", {{"type", "Precompiled"}, {"precompiled_charsmap", "A*"}}) ==
        "t: normalizer.precompiled_charsmap: expected base64, found *");
  CHECK(error_with(small(), "/normalizer", {{"type", "Precompiled"}, {"precompiled_charsmap", "/////w=="}})
            .starts_with("t: precompiled_charsmap: expected a table of at most 0 bytes"));
  document nested = {{"type", "NFC"}};
  for (int i = 0; i < 10; ++i) nested = {{"type", "Sequence"}, {"normalizers", document::array({nested})}};
  CHECK(error_with(small(), "/normalizer", nested).ends_with("expected no Sequence so deep, found Sequence"));
}

TEST_CASE("hf tokenizer: files that would take the stack, the memory or hours") {
  document j = small();
  j["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", document::array()}};
  for (int i = 0; i < 100'000; ++i) j["pre_tokenizer"]["pretokenizers"].push_back({{"type", "WhitespaceSplit"}});
  CHECK(error(j).find("at most 256 steps") != std::string::npos);
  j = small();
  j["normalizer"] = {{"type", "Sequence"}, {"normalizers", document::array()}};
  for (int i = 0; i < 2; ++i) {
    j["normalizer"]["normalizers"].push_back(document::parse(R"({"type": "Replace", "pattern": {"String": "a"}})"));
    j["normalizer"]["normalizers"].back()["content"] = std::string(40'000, 'a');
  }
  CHECK(fixtures::error_of([&] {
          tokenizer(with_patterns(parse_hf_tokenizer(j.dump()), "t")).encode("a");
        }).find("at most 2^30 bytes after each step") != std::string::npos);
  j = small();
  j["added_tokens"][0]["content"] = std::string(1'000'000, 'a');
  CHECK(error(j).find("at most 1024 bytes, found 1000000") != std::string::npos);
}

TEST_CASE("hf tokenizer: a unigram's rows") {
  document j = small();
  j["model"] = document::parse(R"({"type": "Unigram", "unk_id": 0, "vocab": [["<u>", 0], ["a", -1], ["b", -2.5]]})");
  j["added_tokens"] = document::array();
  CHECK(error(j) == "");
  CHECK(error_with(j, "/model/vocab/1/1", "x") == "t: model.vocab[1]: expected a token and its score, found array");
  CHECK(error_with(j, "/model/vocab/1", {"a"}) == "t: model.vocab[1]: expected a token and its score, found array");
  CHECK(error_with(j, "/model/vocab", document::object()) == "t: model.vocab: expected an array, found object");
  CHECK(error_with(j, "/model/unk_id", 3) == "t: unknown token: expected an id below 3, found 3");
}

TEST_CASE("hf tokenizer: ids, tokens and merges must fit") {
  CHECK(error_with(small(), "/model/vocab/a", 1) == "t: model.vocab: expected each id once, found 1 twice");
  CHECK(error_with(small(), "/model/vocab/a", -1) == "t: model.vocab.a: expected a token id, found -1");
  CHECK(error_with(small(), "/model/vocab/a", 4294967295) == "t: model.vocab.a: expected a token id, found 4294967295");
  CHECK(error_with(small(), "/model/vocab/a", 4294967294) ==
        "t: model.vocab: expected ids near the number of tokens, 4, found 4294967294");
  CHECK(error_with(small(), "/model/vocab", "x") == "t: model.vocab: expected an object, found x");
  CHECK(error_with(small(), "/model/merges", nullptr) == "t: model.merges: expected an array, found null");
  CHECK(error_with(small(), "/model/merges/0", "b a") ==
        "t: model.merges[0]: expected two tokens whose joined text is a token, found b a");
  for (const document& bad :
       {document("ab"), document("a  b"), document(7), document::array({"a"}), document::array({"a", 1})})
    CHECK(error_with(small(), "/model/merges/0", bad)
              .starts_with("t: model.merges[0]: expected two tokens whose joined text is a token, found "));
  CHECK(error_with(small(), "/added_tokens/0/id", 2) == "t: added_tokens[0].id: expected each id once, found 2 twice");
  CHECK(error_with(small(), "/added_tokens/0/content", "ab") ==
        "t: added_tokens[0].id: expected 2, as in model.vocab, found 3");
  CHECK(error_with(small(), "/added_tokens/0/special", "no") ==
        "t: added_tokens[0].special: expected true or false, found no");
  CHECK(error_with(small(), "/model/unk_token", "<u>") ==
        "t: model.unk_token: expected a token of tokenizer.json, found <u>");
  CHECK(
      fixtures::error_of([] { parse_hf_tokenizer("{", {}, "t"); }).starts_with("t: JSON: [json.exception.parse_error"));
  CHECK(fixtures::error_of([] { parse_hf_tokenizer("[]", {}, "t"); }) == "t: expected an object, found array");
  const std::string deep(200'000, '[');
  CHECK(fixtures::error_of([&] { parse_hf_tokenizer(deep, {}, "t"); }) != "");
  CHECK(fixtures::error_of(
            [&] { parse_hf_tokenizer("{\"model\":" + deep + std::string(200'000, ']') + "}", {}, "t"); }) != "");
}

TEST_CASE("hf tokenizer: every cut and every changed byte of a file gives an error or a tokenizer") {
  std::string text = small().dump();
  for (std::size_t size = 0; size < text.size(); ++size)
    CHECK(fixtures::error_of([&] { parse_hf_tokenizer(text.substr(0, size)); }) != "");
  for (std::size_t at = 0; at < text.size(); ++at)
    for (const int mask : {1, 4, 16}) {
      text[at] = static_cast<char>(text[at] ^ mask);
      fixtures::error_of([&] {
        tokenizer(with_patterns(parse_hf_tokenizer(text), "t"))
            .encode("ab <s>", {.parse_special = true, .add_special = true});
      });
      text[at] = static_cast<char>(text[at] ^ mask);
    }
}

TEST_CASE("hf tokenizer: a directory without the file") {
  hf_files files;
  files.dir = fixtures::path("nowhere");
  CHECK(
      fixtures::error_of([&] { read_hf_tokenizer(files); }).starts_with(fixtures::path("nowhere") + "/tokenizer.json"));
}

TEST_CASE("hf tokenizer: chat_template.jinja wins") {
  hf_files files = read_hf_files(fixtures::path("qwen2"));
  files.chat_template = "{{ file }}";
  CHECK(read_hf_tokenizer(files).chat_template == "{{ file }}");
}

}  // namespace hf_tokenizer_test
