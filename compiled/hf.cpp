// SPDX-License-Identifier: MIT
// hf.cpp: Hugging Face directories, compiled once: programs compiled with CKE_COMPILED do not read nlohmann/json for
// them.
#include <cke/io/hf_checkpoint-inl.hpp>
