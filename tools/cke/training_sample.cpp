// SPDX-License-Identifier: MIT
// training_sample.cpp: implements training_sample.hpp.
#include "training_sample.hpp"

#include <algorithm>

#include <cke/text/tokenizer/detokenizer.hpp>

namespace cke::tool {
namespace {

tokenizer tokenizer_of(const checkpoint& from) {
  if (!from.tokens) throw Error(errc::usage, from.name, "--sample", "a model with a tokenizer", "none");
  return tokenizer(from.tokens, from.name);
}

}  // namespace

training_sample::training_sample(const opened_trainer& t, const std::string& prompt, u32 length, u32 context, u64 seed)
    : trained_(t),
      tokens_(tokenizer_of(t.from)),
      prompt_(tokens_.encode(prompt, {.parse_special = true, .add_special = true})),
      most_(std::min<std::size_t>(context, prompt_.size() + length)),
      logits_(t.model->facts().vocab),
      pick_(t.model->facts().vocab, {.temperature = 0.8f, .top_p = 0.95f, .seed = seed}) {
  if (prompt_.empty() || prompt_.size() >= context)
    throw Error(errc::usage, {}, "--sample", "1 to " + std::to_string(context - 1) + " ids (--context)",
                std::to_string(prompt_.size()));
}

std::string training_sample::text() {
  std::vector<u32> ids = prompt_;
  while (ids.size() < most_) {
    trained_.model->logits_after(ids, logits_);
    const u32 next = pick_.sample(logits_, ids, ids.size());
    if (std::ranges::find(trained_.from.stop_ids, next) != trained_.from.stop_ids.end()) break;
    ids.push_back(next);
  }
  utf8_stream valid;
  std::string text(valid.push(tokens_.decode(std::span(ids).subspan(prompt_.size()))));
  return text.append(valid.finish());
}

}  // namespace cke::tool
