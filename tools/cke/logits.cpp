// SPDX-License-Identifier: MIT
// logits.cpp: cke logits: writes the logits of given ids to a NumPy file.
#include "commands.hpp"
#include "npy.hpp"
#include "rooms.hpp"
#include "terminal.hpp"
#include "vision_model.hpp"

namespace cke::tool {
void logits(const logits_args& args) {
  std::vector<u32> ids = parse_ids(args.tokens);
  if (ids.empty()) throw Error(errc::usage, {}, "--tokens", "at least one id", "none");
  model_args wanted = args.model;
  if (wanted.context == 0) wanted.context = static_cast<u32>(ids.size());
  const u32 rows_at_once = args.last ? 1 : std::min(static_cast<u32>(ids.size()), 32u);
  const loaded_model model = load_model(wanted, needs::weights, rows_at_once);
  const prompt_images shown = show_images(args.model, model, args.shown);
  ids = shown.in(std::move(ids));
  const auto session = model.engine->open();
  if (args.last) {
    session->feed(ids);
    npy_writer out(args.output, 1, model.engine->vocab_size());
    out.row(session->logits());
    return out.close();
  }
  // Created with the first row, so that a wrong id leaves no file.
  std::optional<npy_writer> out;
  session->feed_all(ids, [&](u32, std::span<const float> row) {
    if (!out) out.emplace(args.output, ids.size(), model.engine->vocab_size());
    out->row(row);
  });
  out->close();
}

}  // namespace cke::tool
