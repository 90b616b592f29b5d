// SPDX-License-Identifier: MIT
// stepper.cpp: implements stepper.hpp.
#include "stepper.hpp"

#include <cke/runtime/clock.hpp>

#include "bench_table.hpp"
#include "cache.hpp"
#include "commands.hpp"

namespace cke::tool {
namespace {

constexpr u32 most_at_once = 1 << 16, logit_rows = 32;

unit unit_of(const checkpoint& from, unit_options numbers, bool fused) {
  numbers.door = fused ? door_kind::fused_stepper : door_kind::stepper;
  return make_unit(from, numbers);
}

}  // namespace

opened_stepper::opened_stepper(const model_args& args, bool fused)
    : args_(args), from_(open_checkpoint(args.path)), unit_(unit_of(from_, args.numbers, fused)) {
  door_ = library_of(unit_, made_for::this_command).door;
  const model_options small{.context = 1, .chunk = 1};
  steps_.emplace(nlohmann::ordered_json::parse(door_->stepper_plan_json(small)));
}

std::vector<u32> opened_stepper::ids_of(const prompt_args& from) const {
  std::vector<u32> ids;
  if (from.tokens) {
    ids = parse_ids(*from.tokens);
  } else {
    if (!from.prompt) throw Error(errc::usage, {}, "--tokens", "ids, or a text with -p", "neither");
    if (!from_.tokens)
      throw Error(errc::file, args_.path, "tokenizer", "one in the checkpoint",
                  "none: only ids, with --tokens, will do");
    ids = tokenizer(from_.tokens, from_.name).encode(*from.prompt, {.parse_special = true, .add_special = true});
  }
  if (ids.empty() || ids.size() > most_positions)
    throw Error(errc::usage, {}, from.tokens ? "--tokens" : "-p", "at least one id", ids.empty() ? "none" : "too many");
  return ids;
}

void opened_stepper::run(std::span<const u32> ids, const value_filter& filter, const value_taker& take,
                         const step_end& after) {
  const u32 count = static_cast<u32>(ids.size());
  model_options options{.threads = args_.threads,
                        .context = args_.context ? args_.context : count,
                        .chunk = std::min(args_.chunk ? args_.chunk : count, most_at_once)};
  options.logit_rows = std::min(options.chunk, logit_rows);
  model_ = std::make_unique<stepper_model>(door_, from_, options);
  unread_.clear(), counts_.clear();
  u64 began = now_ns();
  model_->run(ids, [&](const cke_step& at) {
    const model_step& step = steps_->all()[at.number];
    auto& [runs, ns] = counts_[step.op];
    ++runs, ns += now_ns() - began;
    std::vector<float> all, part;
    u32 read = ~0u;  // the output in `all`
    bool more = true;
    for (const step_value& v : step.values) {
      if (!more || !filter.takes(step, v)) continue;
      const cke_step_output o = model_->output(at, v.output);
      if (!o.readable) {
        const bool order = step.op == "sort_by_expert";
        if (at.position == 0)
          unread_.push_back(
              {step.layer, v.name, order ? "places of rows, not numbers" : "rows of " + v.type + ", expert by expert"});
        continue;
      }
      if (read != v.output) all = model_->read(at, v.output), read = v.output;
      std::span<const float> values = all;
      if (v.width != o.width) {
        part.clear();
        for (u32 r = 0; r < o.rows; ++r)
          part.insert(part.end(), all.begin() + static_cast<std::ptrdiff_t>(u64{r} * o.width + v.first),
                      all.begin() + static_cast<std::ptrdiff_t>(u64{r} * o.width + v.first + v.width));
        values = part;
      }
      const dumped_value about{.layer = step.layer,
                               .name = v.name,
                               .op = step.op,
                               .type = v.type,
                               .step = step.number,
                               .rows = u64{o.rows} / at.tokens * count,
                               .width = v.width};
      more = take(step, about, at.position, values);
    }
    more = more && after(step, at.position + at.tokens == count);
    began = now_ns();
    return more;
  });
}

nlohmann::ordered_json opened_stepper::facts() const {
  return {{"model", args_.path},
          {"family", unit_.family},
          {"format", unit_.format},
          {"kv", info(unit_.kv).name},
          {"fused", unit_.door == door_kind::fused_stepper}};
}

std::string opened_stepper::counters() const {
  const auto cell = [](std::string text, std::size_t width) {
    return text + std::string(width - std::min(width, text.size()), ' ');
  };
  std::string out = cell("op", 22) + cell("runs", 10) + "ms\n";
  for (const auto& [op, c] : counts_)
    out += cell(op, 22) + cell(std::to_string(c.runs), 10) + fixed(static_cast<double>(c.ns) * 1e-6, 3) + '\n';
  if (unit_.door == door_kind::fused_stepper) return out;
  out += cell("letter", 22) + "runs\n";
  for (const op_info& row : ops)
    if (const u64 n = model_->letters(row.op)) out += cell(std::string(row.name), 22) + std::to_string(n) + '\n';
  return out;
}

}  // namespace cke::tool
