// SPDX-License-Identifier: MIT
// compare.cpp: cke compare: how far two dumps of one text are apart, and where first.
#include <algorithm>

#include "commands.hpp"
#include "comparison.hpp"
#include "rooms.hpp"
#include "step_list.hpp"
#include "terminal.hpp"

namespace cke::tool {
namespace {

std::string percent(double share) {
  char text[40];
  std::snprintf(text, sizeof text, "%.2f%%", 100 * share);
  return text;
}

}  // namespace

void compare(const compare_args& args) {
  const dump_directory a(args.a), b(args.b);
  if (a.tokens() != b.tokens())
    throw Error(errc::config_mismatch, b.path() + "/index.json", "tokens", ids_text(a.tokens()), ids_text(b.tokens()));
  put(comparison_head());
  struct wrong {
    const dumped_value* value;
    difference by;
  };
  std::optional<wrong> first;
  u64 compared = 0;
  std::string about_logits;
  for (const dumped_value& v : a.values()) {
    const dumped_value* const reference = b.find(v.layer, v.name);
    if (!reference) continue;
    check_shape(v, *reference, b);
    const std::vector<float> found = a.read(v), wanted = b.read(*reference);
    const difference d = difference_of(found, wanted, v.width, args.tolerance);
    ++compared;
    put(comparison_row(v, d));
    if (d.wrong && !first) first = {&v, d};
    const bool finite = std::ranges::all_of(found, [](float x) { return x - x == 0; }) &&
        std::ranges::all_of(wanted, [](float x) { return x - x == 0; });
    if (v.name == "logits" && finite) {
      const logit_difference l = logit_difference_of(found, wanted, v.width);
      char kl[40];
      std::snprintf(kl, sizeof kl, "%.3e", l.kl);
      about_logits = concat({"logits: mean KL ", kl, ", same top-1 ", percent(l.top1), "\n"});
    }
  }
  if (compared == 0)
    throw Error(errc::config_mismatch, b.path(), "values", "one that " + a.path() + " has too", "none");
  put(about_logits +
      concat({compared, " values compared; ", a.values().size() - compared, " are in ", a.path(), " alone, ",
              b.values().size() - compared, " in ", b.path(), " alone\n"}));
  if (first) refuse(*first->value, first->by, a.path(), b.path());
}

}  // namespace cke::tool
