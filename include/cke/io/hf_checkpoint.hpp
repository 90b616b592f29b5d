// SPDX-License-Identifier: MIT
// hf_checkpoint.hpp: loads a Hugging Face directory as a checkpoint.
#pragma once

#include <functional>
#include <string>

#include "checkpoint.hpp"

namespace cke::io {

// Throws Error: file, malformed, unsupported. The directory must have weights; a tokenizer is optional. `weights` is
// called once, with `dir`, after the config was found; by default it is read_hf_weights.
checkpoint hf(const std::string& dir, const std::function<tensor_index(const std::string&)>& weights = {});

}  // namespace cke::io

#ifndef CKE_COMPILED
#include "hf_checkpoint-inl.hpp"
#endif
