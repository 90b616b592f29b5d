// SPDX-License-Identifier: MIT
// bisect.cpp: cke bisect: the first step of a model that is not what a reference dump says.
#include "commands.hpp"
#include "comparison.hpp"
#include "rooms.hpp"
#include "stepper.hpp"
#include "terminal.hpp"
#include "unit_formats.hpp"

namespace cke::tool {
namespace {

// What was found so far.
struct search {
  u64 compared = 0, without = 0;       // values; without: not in the reference
  std::string last_right = "nothing";  // names
  std::vector<std::string> since;      // not in the reference, after the last right one
  std::optional<dumped_value> wrong{};
  difference by{};

  void take(const dumped_value& v, const difference& d) {
    ++compared;
    if (d.wrong) wrong = v, by = d;
    else last_right = full_name(v.layer, v.name), since.clear();
  }
};

}  // namespace

void bisect(const bisect_args& args) {
  const dump_directory reference(args.reference);
  opened_stepper model(args.model, args.fused);
  const value_filter all(model.steps(), {}, {});
  put(comparison_head());
  search s;
  value_parts parts;
  model.run(
      reference.tokens(), all,
      [&](const model_step&, const dumped_value& v, u32, std::span<const float> rows) {
        const dumped_value* const wanted = reference.find(v.layer, v.name);
        if (wanted) check_shape(v, *wanted, reference);
        const auto found = parts.add(v, rows);
        if (!found) return true;
        if (!wanted) {
          ++s.without;
          s.since.push_back(full_name(v.layer, v.name));
          return true;
        }
        const difference d = difference_of(*found, reference.read(*wanted), v.width, args.tolerance);
        put(comparison_row(v, d));
        s.take(v, d);
        return !s.wrong;
      },
      [](const model_step&, bool) { return true; });
  if (s.compared == 0)
    throw Error(errc::config_mismatch, reference.path(), "values", "one that this model has", "none");
  if (!s.wrong)
    return put(concat({"all of ", s.compared, " values are right; ", s.without, " are not in the reference\n"}));
  put(concat({"first wrong: ", full_name(s.wrong->layer, s.wrong->name), " (", s.wrong->op,
              "); last right: ", s.last_right,
              s.since.empty() ? std::string() : "; not in the reference between them: " + listed(s.since), "\n"}));
  refuse(*s.wrong, s.by, args.model.path, reference.path());
}

}  // namespace cke::tool
