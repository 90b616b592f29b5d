// SPDX-License-Identifier: MIT
// generate.cpp: an answer: which ids, which text, where it ends and why.
#include "cke/generate.hpp"

#include <doctest/doctest.h>

#include <cke/draft.hpp>
#include <cke/session_file.hpp>

#include <filesystem>

#include "byte_model.hpp"

namespace generate_test {

using namespace cke;
using namespace cke::graph;
using namespace cke::io;
using namespace cke::kernels;
using namespace cke::runtime;
using namespace cke::text;
using byte_model::end_id;

namespace {

using text_model = Model<byte_model::tiny, BF16>;
using session = Session<text_model>;
const std::vector<u32> prompt{72, 101, 108, 108, 111};

session fresh() { return byte_model::shared<BF16>().session(); }

struct outcome {
  std::vector<u32> ids;
  std::string text;
  std::vector<std::string> pieces;
  finish why;
  std::optional<u32> stop_id;
};
outcome answer(session& s, std::span<const u32> ids, generate_options o) {
  auto g = s.generate(ids, std::move(o));
  outcome out{};
  for (const std::string_view piece : g) {
    out.pieces.emplace_back(piece);
    out.text += piece;
  }
  out.ids.assign(g.ids().begin(), g.ids().end());
  out.why = g.finish(), out.stop_id = g.stop_id();
  return out;
}
outcome answer(generate_options o) {
  session s = fresh();
  return answer(s, prompt, std::move(o));
}

// Small letters only, drawn at random.
generate_options letters(u32 count, u64 seed) {
  generate_options o{.max_tokens = count, .sample = {.temperature = 2, .seed = seed}};
  for (u32 id = 0; id < text_model::vocab_size; ++id)
    if (id < 'a' || id > 'z') o.sample.logit_bias.push_back({id, -std::numeric_limits<float>::infinity()});
  return o;
}
// Bytes, drawn at random; the tail of many characters, so that some come out whole.
generate_options wild(u32 count, u64 seed) {
  generate_options o{.max_tokens = count, .sample = {.temperature = 3, .seed = seed}, .ignore_stop_ids = true};
  for (u32 id = 0x80; id < 0xc0; ++id) o.sample.logit_bias.push_back({id, 4});
  return o;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const utf8_step step = utf8_next(text);
    if (step.state != utf8_state::valid) return false;
    text.remove_prefix(step.size);
  }
  return true;
}

}  // namespace

TEST_CASE("generate: greedy is the loop over the highest logit") {
  const outcome got = answer({.max_tokens = 60, .ignore_stop_ids = true});
  session s = fresh();
  s.feed(prompt);
  std::vector<u32> want;
  while (want.size() < 60) {
    want.push_back(byte_model::best(s.logits()));
    s.feed(want.back());
  }
  CHECK(got.ids == want);
  CHECK(got.why == finish::length);
}

TEST_CASE("generate: max_tokens, down to none") {
  for (const u32 most : {0u, 1u, 5u}) {
    session s = fresh();
    const outcome got = answer(s, prompt, {.max_tokens = most, .ignore_stop_ids = true});
    CHECK(got.ids.size() == most);
    CHECK(got.why == finish::length);
    CHECK(s.position() == prompt.size() + (most ? most - 1 : 0));  // the last id is not fed
  }
}

TEST_CASE("generate: a prompt may go on from an earlier answer, and may then be empty") {
  const outcome whole = answer({.max_tokens = 30, .ignore_stop_ids = true});
  session s = fresh();
  const outcome first = answer(s, prompt, {.max_tokens = 10, .ignore_stop_ids = true});
  s.feed(first.ids.back());
  const outcome rest = answer(s, {}, {.max_tokens = 20, .ignore_stop_ids = true});
  std::vector<u32> both = first.ids;
  both.insert(both.end(), rest.ids.begin(), rest.ids.end());
  CHECK(both == whole.ids);

  session empty = fresh();
  const auto failed = random_model::failure_of([&] { empty.generate(std::span<const u32>{}); });
  CHECK(failed.code == errc::usage);
  CHECK(failed.text == "prompt: expected at least one token, found none");
}

TEST_CASE("generate: after a rewind an empty prompt goes on from the text that is left, in forks and files too") {
  const std::string path = std::filesystem::temp_directory_path() / ("cke-rewound-" + std::to_string(::getpid()));
  const generate_options o{.max_tokens = 12, .ignore_stop_ids = true};
  const std::vector<u32> all = random_model::ids(150, 256);
  u32 others = 0;
  for (const u32 kept : {1u, 5u, 100u, 127u, 128u, 129u}) {
    CAPTURE(kept);
    session alone = fresh(), s = fresh();
    const outcome want = answer(alone, std::span(all).first(kept), o);
    s.feed(all);
    s.rewind(kept);
    others += byte_model::best(s.logits()) != want.ids[0];
    session fork = s, guessing = s, loaded = fresh();
    save_session(s, path);
    load_session(loaded, path);
    for (session* const one : {&s, &fork, &loaded}) {
      const outcome got = answer(*one, {}, o);
      CHECK(got.ids == want.ids);
      CHECK(one->position() == kept + 11);
    }
    generation g(guessing, {}, o, ngram_draft(4));
    for ([[maybe_unused]] const std::string_view piece : g) {}
    CHECK(std::ranges::equal(g.ids(), want.ids));
    s.rewind(0);
    CHECK(random_model::failure_of([&] { s.generate(std::span<const u32>{}); }).text ==
          "prompt: expected at least one token, found none");
  }
  CHECK(others > 0);  // else this shows nothing
  std::filesystem::remove(path);
}

TEST_CASE("generate: the model's stop ids end the answer, and are no part of it") {
  const outcome whole = answer({.max_tokens = 40, .ignore_stop_ids = true});
  const u32 end = whole.ids[whole.ids.size() / 2];
  const auto first = std::ranges::find(whole.ids, end) - whole.ids.begin();
  const auto t = random_model::tensors::of<program<byte_model::tiny, BF16>>();
  checkpoint from = byte_model::with_text(t);
  from.stop_ids = {3, end};
  const auto model = text_model::load(from, {.threads = 2, .context = 64});
  session s = model.session();
  const outcome got = answer(s, prompt, {.max_tokens = 40});
  CHECK(got.why == finish::stop);
  CHECK(got.stop_id == end);
  CHECK(std::ranges::equal(got.ids, std::span(whole.ids).first(static_cast<std::size_t>(first))));
  session t2 = model.session();
  const outcome past = answer(t2, prompt, {.max_tokens = 40, .ignore_stop_ids = true});
  CHECK(past.ids == whole.ids);
  CHECK(!past.stop_id);
}

TEST_CASE("generate: min_tokens keeps the model's own end away, in any company of stop texts and guesses") {
  const auto t = random_model::tensors::of<program<byte_model::tiny, BF16>>();
  checkpoint from = byte_model::with_text(t);
  from.stop_ids = {end_id};
  const auto model = text_model::load(from, {.threads = 2, .context = 64});
  // The end is the likeliest token everywhere, so that an answer is as long as it has to be.
  generate_options o{.max_tokens = 40, .sample = {.logit_bias = {{end_id, 1000}}}};
  for (const u32 least : {0u, 1u, 7u, 40u, 90u}) {
    o.min_tokens = least;
    session s = model.session();
    const outcome got = answer(s, prompt, o);
    CHECK(got.ids.size() == std::min(least, 40u));
    CHECK(got.why == (least < 40 ? finish::stop : finish::length));
    session again = model.session();
    generation guessing(again, prompt, o, ngram_draft(4));
    for ([[maybe_unused]] const std::string_view piece : guessing) {}
    CHECK(std::ranges::equal(guessing.ids(), got.ids));
  }
}

TEST_CASE("generate: a stop string ends the answer wherever tokens are cut, and is no part of it") {
  const outcome whole = answer(letters(60, 5));
  REQUIRE(whole.text.size() == 60);  // a token is a letter
  CHECK(whole.why == finish::length);
  for (const u32 size : {1u, 2u, 5u, 20u})
    for (const u32 from : {0u, 3u, 17u, 40u}) {
      const std::string stop = whole.text.substr(from, size);
      CAPTURE(stop);
      generate_options o = letters(60, 5);
      o.stop = {"not this one", stop};
      const outcome got = answer(o);
      const std::size_t end = whole.text.find(stop);
      CHECK(got.text == whole.text.substr(0, end));
      CHECK(got.why == finish::stop);
      CHECK(!got.stop_id);
      CHECK(got.ids.size() == end + size);
    }
  // what looked like one and was none comes out at the end
  generate_options o = letters(60, 5);
  o.stop = {whole.text.substr(50) + "!"};
  const outcome held = answer(o);
  CHECK(held.text == whole.text);
  CHECK(held.why == finish::length);
  CHECK(held.pieces.back() == whole.text.substr(50));
}

TEST_CASE("generate: pieces are whole characters, and together the text of the ids") {
  for (u64 seed = 0; seed < 6; ++seed) {
    CAPTURE(seed);
    const outcome got = answer(wild(120, seed));
    const tokenizer& tokens = byte_model::shared<BF16>().tokens();
    const std::string bytes = tokens.decode(got.ids, true);
    CHECK(!is_utf8(bytes));  // else this shows nothing
    utf8_stream clean;
    std::string want(clean.push(bytes));
    want += clean.finish();
    CHECK(got.text == want);
    for (const std::string& piece : got.pieces) {
      CHECK(!piece.empty());
      CHECK(is_utf8(piece));
    }
  }
}

TEST_CASE("generate: bytes of one character come out together") {
  generate_options o{.max_tokens = 1, .sample = {.logit_bias = {{0xe2, 1000}}}};
  CHECK(answer(o).text == "\uFFFD");  // and one that stays cut is marked at the end
  session s = fresh();
  o = {.max_tokens = 2, .sample = {.logit_bias = {{byte_model::word_id, 1000}}}};
  CHECK(answer(s, prompt, o).text == " caf\u00e9 caf\u00e9");
  CHECK(answer({.max_tokens = 3, .sample = {.logit_bias = {{end_id, 1000}}}, .ignore_stop_ids = true}).text.empty());
}

TEST_CASE("generate: a seed makes the answer, and another seed another one") {
  const outcome first = answer(letters(40, 1));
  CHECK(answer(letters(40, 1)).ids == first.ids);
  CHECK(answer(letters(40, 2)).ids != first.ids);
  // also when the answer is taken up in the middle: the random number belongs to the position
  session s = fresh();
  const outcome half = answer(s, prompt, letters(15, 1));
  const std::vector<u32> last{half.ids.back()};
  const outcome rest = answer(s, last, letters(25, 1));
  CHECK(std::ranges::equal(rest.ids, std::span(first.ids).subspan(15)));
}

TEST_CASE("generate: cancelling ends it before the next token, and shows what was held back") {
  std::atomic<bool> cancel = false;
  generate_options o = letters(60, 5);
  o.cancel = &cancel;
  session s = fresh();
  auto g = s.generate(prompt, o);
  u32 pieces = 0;
  for ([[maybe_unused]] const std::string_view piece : g) cancel = ++pieces == 7;
  CHECK(pieces == 7);
  CHECK(g.ids().size() == 7);
  CHECK(g.finish() == finish::cancelled);
  CHECK(s.position() == prompt.size() + 6);
  s.feed(g.ids().back());  // the session goes on
  CHECK(s.position() == prompt.size() + 7);

  cancel = false;
  const std::string whole = answer(letters(60, 5)).text;
  o.stop = {whole.substr(7, 20) + "!"};
  std::string text;
  session again = fresh();
  auto held = again.generate(prompt, o);
  for (const std::string_view piece : held) {
    text += piece;
    if (text.size() == 7) cancel = true;
  }
  CHECK(text == whole.substr(0, held.ids().size()));

  cancel = true;
  CHECK(answer(o).ids.empty());
}

TEST_CASE("generate: the end of the context is an error, after all that fits") {
  session s = fresh();
  const std::vector<u32> filler = random_model::ids(180, 256);
  auto g = s.generate(filler, {.max_tokens = 100, .ignore_stop_ids = true});
  const auto failed = random_model::failure_of([&] {
    for ([[maybe_unused]] const std::string_view piece : g) {}
  });
  CHECK(failed.code == errc::context_overflow);
  CHECK(failed.text == "context: expected at most 192 positions, found 193");
  CHECK(g.ids().size() == 13);  // 12 that were fed, and one more
  CHECK(s.position() == 192);
  CHECK(g.finish() == finish::running);
  session other = fresh();
  CHECK(random_model::failure_of([&] { other.generate(std::vector<u32>(193, 1)); }).code == errc::context_overflow);
  CHECK(random_model::failure_of([&] {
          other.generate(std::vector<u32>(193, 1), {.overflow = overflow::stop});
        }).code == errc::context_overflow);
  CHECK(random_model::failure_of([&] {
          other.generate(std::vector<u32>(193, 1), {.overflow = overflow::sliding});
        }).code == errc::unsupported);
}

TEST_CASE("generate: where the context's end is asked to be an end, an answer has what fits, and ends by its length") {
  for (const auto& [most, want] : {std::pair{100u, 13u}, {13u, 13u}, {12u, 12u}}) {
    session s = fresh();
    auto g = s.generate(random_model::ids(180, 256),
                        {.max_tokens = most, .overflow = overflow::stop, .ignore_stop_ids = true});
    for ([[maybe_unused]] const std::string_view piece : g) {}
    CHECK(g.ids().size() == want);
    CHECK(g.finish() == finish::length);
  }
}

TEST_CASE("generate: while a piece is shown, the logits are those that its id was drawn from") {
  session s = fresh();
  auto g = s.generate(prompt, {.max_tokens = 20, .sample = {.logit_bias = {{end_id, -1000}}}});
  for (auto it = g.begin(); it != g.end(); ++it) {
    if (g.finish() != finish::running) break;  // what was held back comes last
    std::vector<u32> before = prompt;
    before.insert(before.end(), g.ids().begin(), g.ids().end() - 1);
    CHECK(std::ranges::equal(s.history(), before));
    session check = fresh();
    check.feed(before);
    CHECK(random_model::same_bits(check.logits(), s.logits()));
    token_logprob top[3];
    const float logprob = log_probabilities(s.logits(), g.ids().back(), top);
    CHECK(logprob <= top[0].logprob);
    CHECK((top[0].id == g.ids().back() || top[0].id == end_id));
  }
}

TEST_CASE("generate: penalties see the prompt and the answer") {
  sampling penal{.frequency_penalty = 2, .repeat_last_n = ~0u};
  const outcome got = answer({.max_tokens = 100, .sample = penal, .ignore_stop_ids = true});
  session s = fresh();
  s.feed(prompt);
  sampler by_hand(text_model::vocab_size, penal);
  for (const u32 id : got.ids) {
    CHECK(by_hand.sample(s.logits(), s.history(), s.position()) == id);
    s.feed(id);
  }
}

TEST_CASE("generate: without a tokenizer there is a piece for each token, all of them empty") {
  const auto t = random_model::tensors::of<program<byte_model::tiny, BF16>>();
  const auto model = text_model::load(t.checkpoint(), {.threads = 1, .context = 32});
  auto s = model.session();
  const outcome got = answer(s, prompt, {.max_tokens = 12});
  CHECK(got.pieces.size() == 12);
  CHECK(got.text.empty());
  CHECK(got.ids == answer({.max_tokens = 12, .ignore_stop_ids = true}).ids);
}

TEST_CASE("generate: settings that make no sense are refused before the prompt runs") {
  session s = fresh();
  const auto refused = [&](generate_options o) {
    const auto failed = random_model::failure_of([&] { s.generate(prompt, std::move(o)); });
    CHECK(s.position() == 0);
    return failed;
  };
  CHECK(refused({.sample = {.temperature = -1}}).code == errc::config_range);
  CHECK(refused({.sample = {.logit_bias = {{text_model::vocab_size, 1}}}}).code == errc::token_range);
  CHECK(refused({.stop = {"a", ""}}).text == "stop string: expected at least one byte, found none");
}

}  // namespace generate_test
