// SPDX-License-Identifier: MIT
// batch_file.hpp: reads batches of ids and labels from JSON.
#pragma once

#include <string>
#include <vector>

#include <cke/cke_train.h>
#include <cke/core/types.hpp>

#include "rooms.hpp"

namespace cke::tool {

// Sequences, and for each id the one that should follow it: labels shifted by one, as transformers shifts them.
struct batch {
  std::vector<std::vector<u32>> ids, targets;
  u64 labels = 0;  // targets that count
  u32 longest = 0;
  std::string file, where;  // what it was read from

  std::vector<cke_example> examples() const;  // these refer to it
  void check_ids(u32 vocab) const;            // throws token_range
};

// {"ids": [[...], ...], "labels": [[...], ...]}, labels as long as ids; -100: ignored. Throws malformed, token_range,
// which name the list and the place, file.
batch read_batch(const std::string& path);
// {"batches": [those, ...]}
std::vector<batch> read_batches(const std::string& path);

}  // namespace cke::tool
