// SPDX-License-Identifier: MIT
// dump.cpp: cke dump: what the steps of a model write, to a directory.
#include "commands.hpp"
#include "rooms.hpp"
#include "stepper.hpp"
#include "terminal.hpp"

namespace cke::tool {

void dump(const dump_args& args) {
  opened_stepper model(args.model, args.fused);
  if (args.list) return put(args.json ? model.steps().json().dump() + '\n' : model.steps().text());
  if (args.output.empty()) throw Error(errc::usage, {}, "-o", "a directory that is not there yet", "none");
  const value_filter filter(model.steps(), args.ops, args.layers);
  const model_step* const last = args.stop_at ? &model.steps().find(*args.stop_at, "--stop-at") : nullptr;
  const std::vector<u32> ids = model.ids_of({args.prompt, args.tokens});
  if (last && args.model.chunk && args.model.chunk < ids.size())
    throw Error(errc::usage, {}, "--stop-at", concat({"one pass: --chunk of at least ", ids.size()}),
                concat({args.model.chunk}));
  dump_writer out(args.output, args.ckdmp);
  model.run(
      ids, filter,
      [&](const model_step& step, const dumped_value& v, u32 position, std::span<const float> rows) {
        // The steps after the layers run once for every few rows: those after `last` come before its last rows.
        if (!last || step.number <= last->number) out.add(v, position, rows);
        return true;
      },
      [&](const model_step& step, bool whole) { return &step != last || !whole; });
  if (out.count() == 0)
    throw Error(errc::usage, {}, args.stop_at ? "--stop-at" : "--ops", "a value before the end that can be read",
                "none");
  nlohmann::ordered_json facts = model.facts();
  facts["tokens"] = ids;
  if (last) facts["stopped_at"] = *args.stop_at;
  for (const auto& [layer, name, why] : model.unread())
    facts["left_out"].push_back({{"layer", layer}, {"name", name}, {"why", why}});
  const std::string summary = concat({out.count(), " values of ", ids.size(), " tokens, ",
                                      bytes_text(static_cast<double>(out.bytes())), ": ", args.output, "\n"});
  out.commit(std::move(facts));
  put(summary + (args.counters ? model.counters() : std::string()));
}

}  // namespace cke::tool
