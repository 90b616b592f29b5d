// SPDX-License-Identifier: MIT
// draft.cpp: whatever is guessed, and however well, the answer and the session behind it are the same.
#include "cke/draft.hpp"

#include <doctest/doctest.h>

#include <cke/text/grammar/gbnf.hpp>
#include <cke/text/grammar/grammar_filter.hpp>

#include "byte_model.hpp"

using namespace cke;
using namespace cke::graph;
using namespace cke::io;
using namespace cke::kernels;
using namespace cke::runtime;
using namespace cke::text;

namespace {

using text_model = Model<byte_model::tiny, BF16>;
using session = Session<text_model>;
const std::vector<u32> prompt{72, 101, 108, 108, 111, 32, 72, 101, 108, 108, 111};

struct outcome {
  std::vector<u32> ids, history;
  std::string text;
  finish why;
  std::optional<u32> stop_id;
  std::vector<float> logits;
  bool operator==(const outcome&) const = default;
};
template <class Draft> outcome answer(const generate_options& o, Draft draft) {
  session s = byte_model::shared<BF16>().session();
  auto g = [&] {
    if constexpr (std::is_same_v<Draft, no_draft>) return s.generate(prompt, o);
    else return s.generate(prompt, o, std::move(draft));
  }();
  outcome out{};
  for (const std::string_view piece : g) out.text += piece;
  out.ids.assign(g.ids().begin(), g.ids().end());
  out.history.assign(s.history().begin(), s.history().end());
  out.logits.assign(s.logits().begin(), s.logits().end());
  out.why = g.finish(), out.stop_id = g.stop_id();
  return out;
}

// Knows the answer, and says every `wrong`-th id of it wrongly.
struct oracle {
  std::vector<u32> whole;  // prompt and answer
  u32 most, wrong;
  std::vector<u32> said{};
  u32* passes;
  std::span<const u32> propose(std::span<const u32> history, u32 room) {
    ++*passes;
    said.clear();
    CHECK(std::ranges::equal(history, std::span(whole).first(std::min(history.size(), whole.size()))));
    for (std::size_t i = history.size(); i < whole.size() && said.size() < std::min(most, room); ++i)
      said.push_back(wrong && i % wrong == 0 ? (whole[i] + 1) % text_model::vocab_size : whole[i]);
    return said;
  }
};

// Each id once, then an end.
class each_letter final : public token_filter {
 public:
  explicit each_letter(u32 most) : most_(most) {}
  std::span<const float> only(std::span<const float> logits) override {
    left_.assign(logits.size(), -std::numeric_limits<float>::infinity());
    for (u32 id = 'a'; id <= 'z'; ++id)
      if (std::ranges::find(seen_, id) == seen_.end()) left_[id] = logits[id];
    return left_;
  }
  void accept(u32 id) override { seen_.push_back(id); }
  bool complete() const override { return seen_.size() == most_; }

 private:
  u32 most_;
  std::vector<u32> seen_;
  std::vector<float> left_;
};

}  // namespace

TEST_CASE("draft: right, wrong and partly right guesses change nothing but the number of passes") {
  generate_options wild{.max_tokens = 40, .sample = {.temperature = 3, .seed = 5}, .ignore_stop_ids = true};
  wild.sample.repetition_penalty = 1.3f, wild.sample.frequency_penalty = 0.5f;
  const std::vector<generate_options> all{
      {.max_tokens = 33, .ignore_stop_ids = true}, {.max_tokens = 1}, {.max_tokens = 0}, wild};
  for (const generate_options& o : all) {
    const outcome want = answer(o, no_draft{});
    std::vector<u32> whole = prompt;
    whole.insert(whole.end(), want.ids.begin(), want.ids.end());
    for (const u32 most : {1u, 3u, 50u})
      for (const u32 wrong : {0u, 1u, 2u, 5u}) {
        u32 passes = 0;
        CHECK(answer(o, oracle{whole, most, wrong, {}, &passes}) == want);
        if (wrong == 0 && want.ids.size() > 4)
          CHECK(passes <= want.ids.size() / std::min<std::size_t>(most + 1, 20) + 1);
      }
    CHECK(answer(o, ngram_draft(4)) == want);
  }
}

TEST_CASE("draft: an answer that ends inside of what was guessed leaves nothing of the rest") {
  const outcome whole = answer({.max_tokens = 30, .ignore_stop_ids = true}, no_draft{});
  std::vector<u32> known = prompt;
  known.insert(known.end(), whole.ids.begin(), whole.ids.end());
  u32 passes = 0;
  for (std::size_t at = 1; at < 12; ++at) {
    const generate_options o{
        .max_tokens = 30, .stop = {std::string(1, static_cast<char>('a' + at)), "\x01"}, .ignore_stop_ids = true};
    generate_options stopped = o;
    stopped.sample.logit_bias.push_back({whole.ids[at], 0});
    CHECK(answer(stopped, oracle{known, 8, 0, {}, &passes}) == answer(stopped, no_draft{}));
  }
  each_letter one(7), two(7);
  generate_options o{.max_tokens = 30, .ignore_stop_ids = true, .filter = &one};
  const outcome want = answer(o, no_draft{});
  CHECK(want.ids.size() == 7);
  CHECK(want.why == finish::stop);
  known = prompt, known.insert(known.end(), want.ids.begin(), want.ids.end()), known.resize(known.size() + 9, 'q');
  o.filter = &two;
  CHECK(answer(o, oracle{known, 20, 0, {}, &passes}) == want);
}

TEST_CASE("draft: an answer of a grammar comes to its end within max_tokens, with and without guesses") {
  const tokenizer& tokens = *byte_model::shared<BF16>().session().tokens_or_null();
  const auto form = std::make_shared<token_grammar>(
      std::make_shared<grammar>(parse_gbnf("root ::= \"<\" [a-z]{2,30} root? \">\"", "g")),
      std::make_shared<token_trie>(tokens));
  u32 hurried = 0;
  for (u32 most = 1; most < 40; ++most) {
    grammar_filter one(form, tokens, {}), two(form, tokens, {});
    generate_options o{.max_tokens = most, .sample = {.temperature = 2, .seed = most}, .filter = &one};
    const outcome want = answer(o, no_draft{});
    CHECK(one.complete() == (most >= 4));
    CHECK(want.ids.size() <= most);
    hurried += want.why == finish::length;
    std::vector<u32> whole = prompt;
    whole.insert(whole.end(), want.ids.begin(), want.ids.end());
    u32 passes = 0;
    o.filter = &two;
    CHECK(answer(o, oracle{whole, 6, 5, {}, &passes}) == want);
  }
  CHECK(hurried > 3);
  CHECK(hurried < 36);
}

TEST_CASE("draft: up to the end of the context, and its error, as without one") {
  const auto t = random_model::tensors::of<program<byte_model::tiny, BF16>>();
  const auto model = text_model::load(byte_model::with_text(t), {.threads = 2, .context = 24});
  std::vector<std::vector<u32>> answers;
  for (const bool guess : {false, true}) {
    session s = model.session();
    const generate_options o{.max_tokens = 100, .ignore_stop_ids = true};
    std::vector<u32> ids;
    const auto failed = random_model::failure_of([&] {
      if (guess) {
        auto g = s.generate(prompt, o, ngram_draft(8));
        for (auto i = g.begin(); i != g.end(); ++i) ids.assign(g.ids().begin(), g.ids().end());
      } else {
        auto g = s.generate(prompt, o);
        for (auto i = g.begin(); i != g.end(); ++i) ids.assign(g.ids().begin(), g.ids().end());
      }
    });
    CHECK(failed.code == errc::context_overflow);
    CHECK(s.position() == 24);
    answers.push_back(ids);
  }
  CHECK(answers[0] == answers[1]);
}

TEST_CASE("draft: ids that followed the longest match, the last one of several") {
  const auto propose = [](std::vector<u32> history, u32 most, u32 room = 100) {
    const auto span = ngram_draft(most).propose(history, room);
    return std::vector<u32>(span.begin(), span.end());
  };
  CHECK(propose({}, 4).empty());
  CHECK(propose({1}, 4).empty());
  CHECK(propose({1, 2, 3}, 4).empty());
  CHECK(propose({1, 9, 1}, 4).empty());  // one id is no match
  CHECK(propose({1, 2, 7, 8, 1, 2}, 4) == std::vector<u32>{7, 8, 1, 2});
  CHECK(propose({1, 2, 7, 8, 1, 2}, 4, 1) == std::vector<u32>{7});
  CHECK(propose({0, 1, 2, 7, 1, 2, 8, 9, 1, 2}, 2) == std::vector<u32>{8, 9});
  CHECK(propose({0, 1, 2, 7, 1, 2, 8, 9, 0, 1, 2}, 2) == std::vector<u32>{7, 1});
  CHECK(propose({5, 5, 5, 5}, 4) == std::vector<u32>{5});
}

TEST_CASE("draft: another model guesses, and keeps up with histories that change") {
  const generate_options o{.max_tokens = 30, .ignore_stop_ids = true};
  const outcome want = answer(o, no_draft{});
  session same = byte_model::shared<BF16>().session();
  CHECK(answer(o, model_draft(same, 5)) == want);
  CHECK(same.position() > prompt.size());
  same.rewind(3);
  same.feed(std::vector<u32>{9, 9, 9});
  CHECK(answer(o, model_draft(same, 2)) == want);

  const auto t = random_model::tensors::of<program<byte_model::tiny, BF16>>();
  const auto small =
      text_model::load(byte_model::with_text(t), {.threads = 1, .context = 20});  // ends before the answer does
  session other = small.session();
  CHECK(answer(o, model_draft(other, 5)) == want);
}
