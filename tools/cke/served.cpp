// SPDX-License-Identifier: MIT
// served.cpp: implements served.hpp.
#include "served.hpp"

#include <filesystem>

namespace cke::tool {
namespace {

// The last component of the path, with only characters that need no escaping anywhere.
std::string id_of(const std::string& path) {
  std::filesystem::path p = std::filesystem::absolute(path).lexically_normal();
  if (!p.has_filename()) p = p.parent_path();
  std::string id = p.extension() == ".gguf" ? p.stem() : p.filename();
  for (char& c : id)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '_' && c != '-') c = '-';
  return id.empty() ? "model" : id;
}

}  // namespace

served_parts::served_parts(const model_args& args, const loaded_model& of, const served_options& o)
    : model{.id = o.id.value_or(id_of(args.path)),
            .tokens = *of.tokens,
            .form = nullptr,
            .stop_ids = of.stop_ids,
            .chat_stops = of.stop_ids,
            .vocab_size = of.engine->vocab_size(),
            .context = o.slide ? most_positions : of.engine->context(),
            .dim = of.engine->dim(),
            .pooling = pooling_of(of, o.pooling)} {
  if (of.engine->image_width() > 0 && has_tower(args)) {
    eyes.emplace(args, of, image::decode_limits{.pixels = o.image_pixels});
    model.vision = &*eyes;
  }
  if (of.tokens->vocabulary().chat_template.empty()) return;
  form.emplace(*of.tokens, args.path);
  model.form = &*form;
  const std::vector<u32> ends = form->stop_ids();
  model.chat_stops.insert(model.chat_stops.end(), ends.begin(), ends.end());
}

std::string served_facts(const loaded_model& m, const served_parts& parts, u32 slots, u64 image_pixels,
                         const serve::request_limits& limits) {
  const any_model& e = *m.engine;
  return serve::dump(
      {{"id", parts.model.id},
       {"name", m.name},
       {"family", m.family},
       {"format", m.format},
       {"kv", info(e.kv()).name},
       {"isa", e.isa()},
       {"threads", e.threads()},
       {"parameters", e.parameters()},
       {"vocabulary", e.vocab_size()},
       {"context", e.context()},
       {"slots", slots},
       {"images",
        parts.eyes ? serve::json{{"most", limits.images}, {"bytes", limits.image_bytes}, {"pixels", image_pixels}}
                   : serve::json(nullptr)},
       {"memory", {{"weights", e.weight_bytes()}, {"activations", e.activation_bytes()}, {"slot", e.state_bytes()}}},
       {"version", CKE_VERSION}});
}

}  // namespace cke::tool
