// SPDX-License-Identifier: MIT
// pipeline.hpp: encodes and decodes with a vocabulary's recipe.
#pragma once

#include "cut.hpp"
#include "decode.hpp"
#include "models.hpp"

namespace cke::text {

class recipe_pipeline final : public text_pipeline {
 public:
  // The recipe's patterns must be compiled. Throws Error{malformed}.
  recipe_pipeline(vocabulary v, std::shared_ptr<const text_recipe> recipe, const std::string& file)
      : vocabulary_(std::move(v)),
        recipe_(std::move(recipe)),
        normalizer_(recipe_->normalizers),
        cutter_(recipe_->cuts),
        model_((validate(vocabulary_, file), detail::make_model(vocabulary_, recipe_->model))),
        decoder_(recipe_->decoders) {
    // A token that is searched in normalised text has a normalised spelling, as in `tokenizers`.
    for (const added_token& token : vocabulary_.added)
      if (token.normalized) vocabulary_.tokens[token.id] = normalizer_(vocabulary_.tokens[token.id]);
    for (const std::string& token : vocabulary_.tokens) pieces_.push_back(decoder_.piece(token));
  }

  std::string normalize(std::string_view text) const override { return normalizer_(text); }

  void encode(std::string_view text, bool beginning, std::vector<u32>& ids) const override {
    detail::model_scratch scratch;
    std::visit(
        [&](const auto& model) {
          cutter_(text, beginning, [&](std::string_view piece) { model.encode(piece, scratch, ids); });
        },
        model_);
  }

  std::string decode(std::span<const u32> ids) const override {
    std::vector<std::string> tokens;
    for (const u32 id : ids) tokens.push_back(vocabulary_.tokens[id]);
    return decoder_(std::move(tokens));
  }
  std::span<const std::string> pieces() const override { return pieces_; }
  bool strips_prefix() const { return decoder_.strips_prefix(); }

 private:
  vocabulary vocabulary_;
  const std::shared_ptr<const text_recipe> recipe_;
  const detail::normalizer normalizer_;
  const detail::cutter cutter_;
  const detail::any_recipe_model model_;
  const detail::decoder decoder_;
  std::vector<std::string> pieces_;  // by id
};

}  // namespace cke::text
