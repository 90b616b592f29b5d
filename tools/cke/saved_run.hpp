// SPDX-License-Identifier: MIT
// saved_run.hpp: what cke train leaves: a checkpoint or low-rank additions, with what a later run goes on from.
#pragma once

#include "adapter_file.hpp"
#include "training.hpp"

namespace cke::tool {

// Writes a directory that gets its name when it is complete: the weights, f32 where they were trained, with config and
// tokenizer of `model`; or the additions, as PEFT has them. Throws Error.
void save_run(const opened_trainer& t, const std::string& model, const std::string& path, u64 next_batch);

// Takes up where the run that wrote the directory left off, whose weights or additions t already has; returns the
// number of the next batch. Throws Error.
u64 resume_run(const opened_trainer& t, const std::string& folder);

// Gives t the additions of a directory. Throws Error where they are to other matrices than t's.
void load_additions(const opened_trainer& t, const adapter& from);

}  // namespace cke::tool
