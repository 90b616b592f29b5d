// SPDX-License-Identifier: MIT
// embed.hpp: embeddings of texts: the hidden states after a model's last norm, pooled.
#pragma once

#include "model_adapter.hpp"
#include "text/pooling.hpp"

namespace cke {

using text::embed_options, text::pooling;

// An embedding for each list of ids, in order, with the same bits alone and among others. Throws usage for an empty
// list, and what feeding throws.
inline std::vector<std::vector<float>> embed(any_model& model, std::span<const std::vector<u32>> texts,
                                             const embed_options& how = {}) {
  constexpr std::size_t most_texts = 16, most_ids = 512;  // of one pass
  std::vector<std::vector<float>> all;
  std::vector<std::unique_ptr<any_session>> open;
  while (all.size() < texts.size()) {
    std::vector<text::pooled> rows;
    std::vector<turn> turns;
    rows.reserve(most_texts);  // their sinks point to them
    std::size_t ids = 0;
    for (const auto& text : texts.subspan(all.size())) {
      if (text.empty())
        throw Error(errc::usage, {}, "text " + std::to_string(all.size() + turns.size()), "at least one token", "none");
      ids += text.size();
      if (turns.size() == most_texts || (!turns.empty() && ids > most_ids)) break;
      if (turns.size() == open.size()) open.push_back(model.open());
      else open[turns.size()]->rewind(0);
      rows.emplace_back(how, static_cast<u32>(text.size()), model.dim());
      turns.push_back({open[turns.size()].get(), text, rows.back().sink()});
    }
    model.feed_together(turns);
    for (const text::pooled& p : rows) all.push_back(p.embedding());
  }
  return all;
}

// The same for a cke::Model.
template <class Model>
  requires(!std::derived_from<Model, any_model>)
std::vector<std::vector<float>> embed(const Model& model, std::span<const std::vector<u32>> texts,
                                      const embed_options& how = {}) {
  model_adapter<Model> shared(model);
  return embed(shared, texts, how);
}
template <class Model>
  requires(!std::derived_from<Model, any_model>)
std::vector<float> embed(const Model& model, std::string_view text, const embed_options& how = {}) {
  const std::vector<u32> ids[]{model.tokens().encode(text, {.add_special = true})};
  return embed(model, ids, how)[0];
}

}  // namespace cke
