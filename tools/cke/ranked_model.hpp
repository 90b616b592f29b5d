// SPDX-License-Identifier: MIT
// ranked_model.hpp: a model that several ranks run: rank 0 has it, and the others do what it does.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "rank_group.hpp"
#include "source.hpp"

namespace cke::tool {

// What ranks must agree on before they compute anything.
struct rank_claim {
  std::string version, program, isa, weights;
};
// A fingerprint of a checkpoint: names, types and shapes of all tensors, and three pieces of each one's bytes.
std::string weights_fingerprint(const checkpoint& from);

// Loads on every rank; `load` also says what this rank claims. Returns on rank 0 alone: the other ranks work until it
// ends, and exit. Throws, on rank 0, what load throws on any rank, and config_mismatch where ranks disagree, with the
// rank's number and host.
loaded_model load_on_ranks(rank_group& ranks, const std::function<loaded_model(rank_claim&)>& load);

}  // namespace cke::tool
