// SPDX-License-Identifier: MIT
// model.cpp: Model and Session: what they say of themselves, what they share, what they need.
#include "cke/model.hpp"

#include <doctest/doctest.h>

#include "byte_model.hpp"

using namespace cke;
using namespace cke::graph;
using namespace cke::io;
using namespace cke::kernels;
using namespace cke::runtime;
using namespace cke::text;
using byte_model::end_id;

namespace {

using text_model = Model<byte_model::tiny, BF16>;

random_model::tensors numbers() { return random_model::tensors::of<text_model::program>(); }

// byte_model's vocabulary, changed.
std::shared_ptr<const vocabulary> with(void (*change)(vocabulary&)) {
  auto v = std::make_shared<vocabulary>(byte_model::bytes());
  change(*v);
  return v;
}

}  // namespace

TEST_CASE("model: it says what it holds") {
  const auto t = numbers();
  const auto m = text_model::load(byte_model::with_text(t), {.threads = 3, .context = 50, .chunk = 8});
  CHECK(text_model::vocab_size == 259);
  CHECK(text_model::kv == dtype::f16);
  CHECK(Model<byte_model::tiny, F32>::kv == dtype::f32);
  CHECK(Model<byte_model::tiny, Q8_0>::kv == dtype::bf16);
  CHECK(m.context() == 50);
  CHECK(m.threads() == 3);
  CHECK(m.weight_bytes() > text_model::program::weight_bytes * 3 / 4);  // bf16 in 12 bits
  CHECK(m.weight_bytes() < text_model::program::weight_bytes);
  CHECK(m.activation_bytes() >= text_model::program::activations({50, 8, 1}).total);
  CHECK(m.state_bytes() == text_model::program::state_bytes({.context = 50}, dtype::bf16));
  CHECK(m.has_tokenizer());
  CHECK(m.tokens().vocab_size() == 259);
  CHECK(std::ranges::equal(m.stop_ids(), std::vector<u32>{end_id}));
  CHECK(m.session().context() == 50);
}

TEST_CASE("model: copies share the weights, and a session keeps them") {
  const auto t = numbers();
  std::optional<text_model> first(text_model::load(byte_model::with_text(t), {.threads = 1, .context = 40}));
  const text_model second = *first;
  CHECK(&second.tokens() == &first->tokens());
  auto s = first->session();
  first.reset();
  s.feed(std::vector<u32>{1, 2, 3});
  auto r = second.session();
  r.feed(std::vector<u32>{1, 2, 3});
  CHECK(random_model::same_bits(s.logits(), r.logits()));
  std::string text;
  for (const std::string_view piece : s.generate("and so", {.max_tokens = 5})) text += piece;
  CHECK(s.position() == 3 + 6 + 4);
}

TEST_CASE("model: the checkpoint's memory is not needed any more once it is loaded") {
  const std::vector<u32> ids = random_model::ids(30, 259);
  std::vector<float> logits;
  std::optional<text_model> m;
  {
    auto t = numbers();
    m.emplace(text_model::load(byte_model::with_text(t), {.threads = 1, .context = 40}));
    auto s = m->session();
    s.feed(ids);
    logits.assign(s.logits().begin(), s.logits().end());
    for (tensor_ref& tensor : t.list)
      std::memset(const_cast<std::byte*>(tensor.bytes.data()), 0x7f, tensor.bytes.size());
  }
  auto s = m->session();
  s.feed(ids);
  CHECK(random_model::same_bits(s.logits(), logits));
}

TEST_CASE("session: a text is its tokens, with the begin token only where a text begins") {
  const auto t = numbers();
  checkpoint from = byte_model::with_text(t);
  from.tokens = with([](vocabulary& v) { v.add_bos = true, v.bos = end_id; });
  const auto m = text_model::load(from, {.threads = 1, .context = 64});
  auto s = m.session();
  CHECK(s.generate("Hi", {.max_tokens = 0}).begin() == std::default_sentinel);
  CHECK(std::ranges::equal(s.history(), std::vector<u32>{end_id, 'H', 'i'}));
  CHECK(s.generate("<|end|>!", {.max_tokens = 0}).begin() == std::default_sentinel);  // text makes no control token
  CHECK(std::ranges::equal(s.history(), std::vector<u32>{end_id, 'H', 'i', '<', '|', 'e', 'n', 'd', '|', '>', '!'}));
}

TEST_CASE("model: without a tokenizer there is no text, and the error says so") {
  const auto t = numbers();
  const auto m = text_model::load(t.checkpoint(), {.threads = 1, .context = 8});
  CHECK(!m.has_tokenizer());
  auto s = m.session();
  CHECK(s.tokens_or_null() == nullptr);
  for (const auto& failed :
       {random_model::failure_of([&] { m.tokens(); }), random_model::failure_of([&] { s.generate("Hi"); })}) {
    CHECK(failed.code == errc::usage);
    CHECK(failed.text == "random: tokenizer: expected one in the checkpoint, found none: give token ids");
  }
  CHECK(s.position() == 0);
}

TEST_CASE("model: what cannot be loaded is an error that names it") {
  const auto missing = random_model::failure_of([] { text_model::load("/no/such/model.gguf"); });
  CHECK(missing.code == errc::file);
  CHECK(missing.text.find("/no/such/model.gguf") != std::string::npos);

  const auto t = numbers();
  const auto context = random_model::failure_of([&] { text_model::load(t.checkpoint(), {.context = 0}); });
  CHECK(context.code == errc::config_range);
  checkpoint bad = byte_model::with_text(t);
  bad.tokens = with([](vocabulary& v) { v.types.pop_back(); });
  const auto tokens = random_model::failure_of([&] { text_model::load(bad, {.threads = 1, .context = 8}); });
  CHECK(tokens.code == errc::malformed);
  CHECK(tokens.text == "random: token types: expected 259, found 258");
  bad.tokens = with([](vocabulary& v) { v.eos = 259, v.add_eos = true; });
  CHECK(random_model::failure_of([&] { text_model::load(bad, {.threads = 1, .context = 8}); }).code == errc::malformed);
}
