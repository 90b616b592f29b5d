// SPDX-License-Identifier: MIT
// rank_roll.hpp: names a rank that dies before MPI has started.
#pragma once

namespace cke::tool {

// mpirun ends a job in which a rank dies, but does not always say which one if it has only just started it. Between
// these two calls the rank that mpirun ends first says who of its machine is missing. `answer` comes first in main and
// does nothing without mpirun; from then on a process whose mpirun is gone ends too.
void answer_roll_call();
void end_roll_call();

}  // namespace cke::tool
