// SPDX-License-Identifier: MIT
// vision_scores.cpp: cke vision --text: how well texts fit images, by SigLIP.
#include <algorithm>
#include <nlohmann/json.hpp>

#include <cke/io/hf_vision.hpp>
#include <cke/similarity.hpp>

#include "cache.hpp"
#include "commands.hpp"
#include "rooms.hpp"
#include "source.hpp"
#include "terminal.hpp"
#include "tower_unit.hpp"
#include "vision_model.hpp"

namespace cke::tool {
namespace {

// SigLIP's tower of texts, with the tokenizer beside it.
class text_tower {
 public:
  explicit text_tower(const model_args& args) : tokens_(open_tokenizer(args.path)), path_(args.path) {
    const checkpoint from = io::hf_vision(args.path, io::tower_part::text);
    const unit u = make_tower_unit(from, args.numbers);
    tower_.emplace(library_of(u, made_for::this_command).door, from, args.threads);
    const auto config = nlohmann::json::parse(from.config);
    positions_ = config.value("max_position_embeddings", 64u), pad_ = config.value("pad_token_id", 1u);
  }
  // The row of a text: padded to all positions, as the model was trained. Throws usage for a longer one.
  std::vector<float> row(const std::string& text) const {
    std::vector<u32> ids = tokens_.encode(text, {.add_special = true});
    if (ids.size() > positions_)
      throw Error(errc::usage, path_, "--text", "at most " + std::to_string(positions_) + " ids",
                  std::to_string(ids.size()));
    ids.resize(positions_, pad_);
    const std::vector<float> rows(ids.begin(), ids.end());
    return tower_->encode({.grid = {1, positions_}, .rows = rows});
  }

 private:
  tokenizer tokens_;
  std::string path_;
  std::optional<tower_model> tower_;
  u32 positions_{}, pad_{};
};

}  // namespace

void vision_scores(const vision_args& args) {
  const similarity of = read_similarity(read_hf_weights(args.model.path), args.model.path);
  const vision_model eyes(args.model, {}, true);
  const text_tower reader(args.model);
  std::vector<std::vector<float>> texts;
  for (const std::string& text : args.texts) texts.push_back(reader.row(text));

  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  std::string table = "probability  logit     image, text\n";
  for (const shown_file& file : args.shown.files) {
    const read_image image = eyes.read(file, args.shown.fps);
    const std::vector<float> row = eyes.encode(image.frames.at(0));
    for (std::size_t t = 0; t < texts.size(); ++t) {
      const double logit = of.logit(row, texts[t]), probability = similarity::probability(logit);
      all.push_back({{"image", file.path}, {"text", args.texts[t]}, {"logit", logit}, {"probability", probability}});
      char numbers[40];
      std::snprintf(numbers, sizeof numbers, "%-11.4g  %-8.4g  ", probability, logit);
      table += numbers + file.path + ", " + args.texts[t] + '\n';
    }
  }
  put(args.json ? all.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n' : table);
}

}  // namespace cke::tool
