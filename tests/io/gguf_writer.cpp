// SPDX-License-Identifier: MIT
// gguf_writer.cpp: tests of io/gguf_writer.hpp and io/gguf_tokenizer_writer.hpp: what is written is read again.
#include <doctest/doctest.h>

#include <cke/io/gguf_tokenizer_writer.hpp>
#include <cke/io/hf_tokenizer.hpp>
#include <cke/text/tokenizer/tokenizer.hpp>

#include "../text/fixtures.hpp"

using namespace cke;
using namespace cke::io;
using namespace cke::text;

namespace {

std::span<const std::byte> bytes(const std::string& text) { return std::as_bytes(std::span(text)); }

vocabulary hf(const std::string& name) {
  return parse_hf_tokenizer(fixtures::content(name + "/tokenizer.json"),
                            fixtures::content(name + "/tokenizer_config.json"));
}
std::string written(const vocabulary& v, const std::vector<u32>& stops = {}, u32 rows = 0) {
  gguf_writer to;
  write_gguf_tokenizer(to, v, stops, rows, "model");
  return to.bytes();
}
vocabulary again(const vocabulary& v) {
  const std::string file = written(v);
  return read_gguf_tokenizer(gguf::parse(bytes(file), "again"));
}

}  // namespace

TEST_CASE("gguf writer: every type of value, and copies of them") {
  gguf_writer first;
  first.add("a.bool", true);
  first.add("a.u32", u32{7});
  first.add("a.i32", i32{-7});
  first.add("a.u64", u64{1} << 40);
  first.add("a.f32", 0.1f);
  first.add("a.text", "Grüße");
  first.add("a.empty", std::string());
  const std::vector<std::string> words{"one", "", "three"};
  first.add_array("a.words", std::span(words));
  const std::vector<i32> numbers{1, -2, 3};
  first.add_array("a.numbers", std::span(numbers));
  const std::string one = first.bytes();
  gguf_writer second;
  const gguf parsed = gguf::parse(bytes(one), "one");
  for (const gguf_value& v : parsed.values()) second.add(v);
  const std::string two = second.bytes();
  CHECK(one == two);
  const gguf g = gguf::parse(bytes(two), "two");
  CHECK(g.version() == 3);
  CHECK(g.values().size() == 9);
  CHECK(g.get<bool>("a.bool"));
  CHECK(g.get<u32>("a.u32") == 7);
  CHECK(g.get<i32>("a.i32") == -7);
  CHECK(g.get<u64>("a.u64") == u64{1} << 40);
  CHECK(g.get<float>("a.f32") == 0.1f);
  CHECK(g.get<std::string_view>("a.text") == "Grüße");
  CHECK(g.get<std::string_view>("a.empty").empty());
  CHECK(g.array<std::string_view>("a.words") == std::vector<std::string_view>{"one", "", "three"});
  CHECK(g.array<i32>("a.numbers") == numbers);
}

TEST_CASE("gguf writer: tensors lie where the header says") {
  gguf_writer to;
  to.add("general.architecture", "test");
  const u64 odd[]{3, 5}, blocks[]{2, 4, 32}, one[]{7};
  CHECK(to.add_tensor("odd", odd, dtype::f32) == 60);
  CHECK(to.add_tensor("blocks", blocks, dtype::q4_0) == 8 * 18);
  CHECK(to.add_tensor("one", one, dtype::bf16) == 14);
  CHECK(to.data_bytes() == 64 + 160 + 32);
  std::string file = to.bytes();
  const std::size_t begin = file.size();
  CHECK(begin % gguf_writer::alignment == 0);
  file.resize(begin + to.data_bytes());
  file[begin] = 'o', file[begin + 64] = 'b', file[begin + 224] = '1';
  const gguf g = gguf::parse(bytes(file), "file");
  const auto check = [&](std::string_view name, dtype type, const cke::tensor_shape& shape, char first) {
    const tensor_ref* t = g.tensors().find(name);
    REQUIRE(t != nullptr);
    CHECK(t->type == type);
    CHECK(t->shape == shape);
    CHECK(t->bytes[0] == static_cast<std::byte>(first));
  };
  check("odd", dtype::f32, {3, 5}, 'o');
  check("blocks", dtype::q4_0, {2, 4, 32}, 'b');
  check("one", dtype::bf16, {7}, '1');
}

TEST_CASE("gguf tokenizer writer: a tokenizer.json gives the same ids out of a GGUF file") {
  for (const std::string name : {"qwen2", "llama3", "smollm", "llama_legacy", "gemma"}) {
    CAPTURE(name);
    const tokenizer t(again(hf(name)), name);
    for (const auto& [options, text, ids] : fixtures::encodings(name + ".cases")) {
      CAPTURE(text);
      const bool same = t.encode(text, options) == ids;
      CHECK(same);
    }
  }
}

TEST_CASE("gguf tokenizer writer: what stands beside the tokens") {
  for (const std::string name : {"qwen2", "llama3", "smollm", "llama_legacy", "gemma"}) {
    CAPTURE(name);
    const vocabulary was = hf(name), is = again(was);
    REQUIRE(is.tokens.size() == was.tokens.size());
    for (std::size_t id = 0; id < was.tokens.size(); ++id)
      CHECK(is.tokens[id] == (was.tokens[id].empty() ? "[PAD" + std::to_string(id) + "]" : was.tokens[id]));
    CHECK(is.types == was.types);
    CHECK(is.merges == (was.model == tokenizer_model::bpe ? was.merges : plain_list<merge>{}));
    CHECK(is.bos == was.bos);
    CHECK(is.eos == was.eos);
    CHECK(is.pad == was.pad);
    CHECK(is.unknown == was.unknown);
    CHECK(is.add_bos == was.add_bos);
    CHECK(is.add_eos == was.add_eos);
    CHECK(is.pre == was.pre);
    CHECK(is.nfc == was.nfc);
    CHECK(is.ignore_merges == was.ignore_merges);
    CHECK(is.chat_template == was.chat_template);
  }
}

TEST_CASE("gguf tokenizer writer: rows of the embedding beyond the tokens, and more than one end") {
  vocabulary v = hf("qwen2");
  const u32 count = static_cast<u32>(v.tokens.size());
  v.eos = 3;
  const std::string file = written(v, {3, 5, 6}, count + 2);
  const gguf g = gguf::parse(bytes(file), "g");
  const auto tokens = g.array<std::string_view>("tokenizer.ggml.tokens");
  const auto types = g.array<i32>("tokenizer.ggml.token_type");
  REQUIRE(tokens.size() == count + 2);
  CHECK(types.size() == tokens.size());
  CHECK(tokens.back() == "[PAD" + std::to_string(count + 1) + "]");
  CHECK(types.back() == static_cast<i32>(token_type::unused));
  CHECK(g.get<u32>("tokenizer.ggml.eos_token_id") == 3);
  CHECK(g.get<u32>("tokenizer.ggml.eot_token_id") == 5);
}

TEST_CASE("gguf tokenizer writer: a text that ends in another token than eos") {
  vocabulary v = hf("qwen2");
  v.eos = 3, v.add_eos = false, v.after = {5};
  const std::string file = written(v, {3, 6});
  const gguf g = gguf::parse(bytes(file), "g");
  CHECK(g.get<u32>("tokenizer.ggml.eos_token_id") == 5);
  CHECK(g.get<u32>("tokenizer.ggml.eot_token_id") == 3);
  CHECK(g.get<bool>("tokenizer.ggml.add_eos_token"));
  const auto ids = [](const vocabulary& of) { return tokenizer(of).encode("a b", {.add_special = true}); };
  CHECK(ids(again(v)) == ids(v));
  CHECK(ids(v).back() == 5);
  v.after = {5, 6};
  CHECK(fixtures::error_of([&] { written(v); }).find("at most one token on each side") != std::string::npos);
}

TEST_CASE("gguf tokenizer writer: rules that GGUF has no name for") {
  vocabulary v = hf("qwen2");
  v.ignore_merges = true;
  CHECK(fixtures::error_of([&] { written(v); }).find("rules that GGUF has a name for") != std::string::npos);
  vocabulary s = hf("llama_legacy");
  const auto made = s.merges.front();
  s.merges.push_back(made);  // once more, last
  CHECK(fixtures::error_of([&] { written(s); }).find("scores of tokens") != std::string::npos);
}
