// SPDX-License-Identifier: MIT
// constraint.cpp: fuzz target: any bytes as a request whose answer has a form: schemas, tools, grammars, stop texts.
#include <chrono>
#include <cke/io/hf_tokenizer.hpp>
#include <cke/io/pattern_splitter.hpp>
#include <cke/serve/service.hpp>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <iterator>
#include <optional>

namespace {

using namespace cke;
using namespace cke::io;
using namespace cke::text;
using namespace cke::serve;

constexpr u32 end_id = 1;  // <|im_end|>

void demand(bool right) {
  if (!right) std::abort();
}

// A scheduler wants a model; without slots it never runs it.
class no_model final : public any_model {
 public:
  u32 vocab_size() const override { return 0; }
  u32 dim() const override { return 0; }
  u32 context() const override { return 0; }
  u32 threads() const override { return 1; }
  dtype kv() const override { return dtype::f32; }
  std::string_view isa() const override { return "none"; }
  u64 parameters() const override { return 0; }
  u64 weight_bytes() const override { return 0; }
  u64 activation_bytes() const override { return 0; }
  u64 state_bytes() const override { return 0; }
  std::unique_ptr<any_session> open() const override { return nullptr; }
  void feed_together(std::span<const turn>) override {}
  void watch(const tracer&) const override {}
  u32 image_width() const override { return 0; }
  held_image add_image(const image_key&, patch_grid, std::span<const float>, frame_time) const override { return {}; }
  held_image find_image(const image_key&, patch_grid) const override { return {}; }
};

// Some 600 tokens, among them those that mark thoughts, and calls of every form.
vocabulary words() {
  std::ifstream file(CKE_TEST_DATA "/tokenizers/qwen2/tokenizer.json", std::ios::binary);
  vocabulary v = with_patterns(parse_hf_tokenizer(std::string(std::istreambuf_iterator<char>(file), {})), "qwen2");
  for (const char* mark :
       {"</tool_call>", "[TOOL_CALLS]", "[ARGS]", "<|tool_call|>", "<|/tool_call|>", "<|python_tag|>"}) {
    v.added.push_back({static_cast<u32>(v.tokens.size()), true});
    v.tokens.emplace_back(mark), v.types.push_back(token_type::control);
  }
  return v;
}

// A chat template that teaches calls of this form, as far as the server can tell; null: of none.
std::string template_of(const tool_form* calls) {
  std::string marks = "</think>";
  if (calls) {
    marks += " tools <|start_header_id|> \"" + std::string(calls->arguments) + '"';
    for (const std::string_view mark :
         {calls->open, calls->close, calls->others[0], calls->others[1], calls->tags.name, calls->tags.key})
      (marks += ' ') += mark;
  }
  demand(tool_form_of(marks) == calls);
  return "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
         "{% if think %}<think>{% endif %}{# " +
      marks + " #}";
}

// A model and what the server does with a request to it.
struct served {
  served(const vocabulary& v, scheduler& work, metrics& count, const request_limits& limits)
      : tokens(v),
        form(tokens, "fuzz"),
        model{.id = "fuzz",
              .tokens = tokens,
              .form = &form,
              .stop_ids = {end_id},
              .chat_stops = {end_id},
              .vocab_size = tokens.vocab_size(),
              .context = 8192},
        answers(model, work, count, limits, "{}", "0", false) {}

  tokenizer tokens;
  chat_form form;
  served_model model;
  service answers;
};

// A model for each form of calls, and one without.
struct world {
  world() {
    const auto add = [&](const tool_form* calls) {
      vocabulary v = tokens.vocabulary();
      v.chat_template = template_of(calls);
      models.emplace_back(v, work, count, limits);
    };
    for (const tool_form& calls : tool_forms) add(&calls);
    add(nullptr);
  }
  // The model whose form of calls is named anywhere in the request, such as in its label `user`.
  const served& asked(std::string_view request) const {
    std::size_t i = 0;
    while (i < std::size(tool_forms) && request.find('"' + std::string(tool_forms[i].name) + '"') == request.npos) ++i;
    return models[i];
  }

  metrics count;
  no_model engine;
  const request_limits limits{};
  tokenizer tokens{words()};
  scheduler work{engine, tokens, scheduler_options{.slots = 0}, count};
  std::deque<served> models;
};

// Chooses some tokens of an answer, as the scheduler does, while the grammar's automaton reads them by itself.
void follow(const served& s, const order& what, std::unique_ptr<token_filter> filter, std::size_t index, reply& to) {
  constexpr u32 most_tokens = 16;
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(1);  // which one token may take already
  const grammar_place& place = what.form.place;
  std::optional<grammar_automaton> alone;
  if (what.form.of && place.mark == no_token && !place.in_thought) alone.emplace(what.form.of);
  grammar_automaton::state at = alone ? alone->start() : grammar_automaton::dead;
  serve::answer a(what, s.tokens, s.model.vocab_size, std::move(filter));
  std::vector<float> logits(s.model.vocab_size);
  std::vector<u32> history = what.prompt;
  std::string said;
  u64 drawn = 1;
  for (u32 n = 0; n < most_tokens && a.end() == ending::running && std::chrono::steady_clock::now() < until; ++n) {
    for (float& x : logits) {
      drawn = drawn * 6364136223846793005u + 1442695040888963407u;
      x = static_cast<float>(drawn >> 44) * 0x1p-17f;
    }
    const u32 before = a.generated();
    a.step(logits, history);
    said += a.last().text;
    if (a.generated() > before) {
      history.push_back(a.next());
      if (a.next() == place.think) alone.reset();
      if (alone)
        for (const char c : s.tokens.piece(a.next())) at = alone->next(at, static_cast<u8>(c));
      demand(!alone || at != grammar_automaton::dead);
    }
    delivery d;
    d.pieces.push_back(std::move(a.last()));
    d.end = a.end();
    to.take(index, std::move(d));
  }
  if (a.end() == ending::running) to.take(index, {.pieces = {}, .end = ending::length});
  for (const std::string& stop : what.stop) demand(said.find(stop) == said.npos);
  if (alone && a.end() == ending::stop && what.stop.empty()) demand(alone->accepts(at));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static world w;
  constexpr std::size_t most_answers = 2;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const served& s = w.asked(text);
  for (const route& r : routes) {
    if (r.does != action::completions && r.does != action::chat) continue;
    try {
      const auto task = s.answers.task(r, text, 0);
      grammar_shelf shelf(s.tokens);
      for (std::size_t i = 0; i < std::min(task->orders.size(), most_answers); ++i) {
        order& what = task->orders[i];
        what.sample.seed = i;  // a request without one got a random one
        try {
          follow(s, what, shelf.filter(what), i, *task->writer);
        } catch (const Error&) {}  // ends this answer
      }
      demand(!(task->request.stream ? task->writer->closing() : task->writer->whole()).empty());
    } catch (const api_error& e) { demand((e.status == 400 || e.status == 404) && !serve::dump(e.body()).empty()); }
  }
  return 0;
}
