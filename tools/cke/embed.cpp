// SPDX-License-Identifier: MIT
// embed.cpp: cke embed: computes embeddings of texts.
#include <cke/embed.hpp>
#include <cke/text/number_text.hpp>

#include "commands.hpp"
#include "rooms.hpp"
#include "terminal.hpp"

namespace cke::tool {

void embed(const embed_args& args) {
  const loaded_model model = load_model(args.model, needs::text);
  const embed_options how{.pooling = pooling_of(model, args.pooling), .dimensions = args.dimensions};
  if (how.dimensions > model.engine->dim())
    throw Error(errc::usage, {}, "--dimensions", "at most " + std::to_string(model.engine->dim()),
                std::to_string(how.dimensions));
  std::vector<std::vector<u32>> texts;
  for (const std::string& text : args.prompts) texts.push_back(model.tokens->encode(text, {.add_special = true}));
  const auto vectors = cke::embed(*model.engine, texts, how);
  if (!args.json) {
    for (const auto& v : vectors) put(numbers_text(v, " ") + '\n');
    return;
  }
  std::string out = R"({"object": "list", "data": [)";
  for (std::size_t i = 0; i < vectors.size(); ++i)
    out += (i ? ", " : "") + (R"({"object": "embedding", "index": )" + std::to_string(i)) + R"(, "embedding": [)" +
        numbers_text(vectors[i], ", ") + "]}";
  put(out + "]}\n");
}

}  // namespace cke::tool
