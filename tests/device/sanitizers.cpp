// SPDX-License-Identifier: MIT
// sanitizers.cpp: the toy models under compute-sanitizer: addresses, races in shared memory, barriers.
#include "check.hpp"
#include "command.hpp"
#include "limits.hpp"

namespace device_check {

void check_sanitizers(report& r, const std::string& program) {
  constexpr int found = 86;  // the exit code that means that something was
  const std::string sanitizer = path_of("compute-sanitizer");
  for (const std::string tool : {"memcheck", "racecheck", "synccheck"}) {
    const std::string row = "toy_under_" + tool;
    if (sanitizer.empty()) {
      r.absent(row, "no compute-sanitizer on this machine");
      continue;
    }
    const outcome o = run_for(limits::sanitizer,
                              quoted(sanitizer) + " --tool " + tool + " --error-exitcode " + std::to_string(found) +
                                  ' ' + quoted(program) + " --toy 1>&2");
    // Debuggers may be refused, by a driver in a container for one: that says nothing of the program.
    if (o.late()) r.absent(row, "not done after " + std::to_string(limits::sanitizer) + " s");
    else if (o.code != 0 && o.code != found) r.absent(row, "compute-sanitizer ended with " + std::to_string(o.code));
    else r.check(row, o.code == 0);
  }
}

}  // namespace device_check
