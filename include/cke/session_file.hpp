// SPDX-License-Identifier: MIT
// session_file.hpp: saves a session to a file, from which it continues with the same bits.
#pragma once

#include <string>

#include "runtime/sequence.hpp"

CKE_COLD_BEGIN
namespace cke {

// Writes ids, logits and states; equal sequences make equal files. A file of the same name is replaced once the new one
// is complete. Throws Error{file}, and unsupported for a session with images.
void save_session(const runtime::sequence& s, const std::string& path);

// At position 0: the sequence becomes the saved one. Throws file, malformed, usage, context_overflow, cache_full;
// config_mismatch if the file is of another model. The sequence is then as it was.
void load_session(runtime::sequence& s, const std::string& path);

}  // namespace cke
CKE_COLD_END

#ifndef CKE_COMPILED
#include "session_file-inl.hpp"
#endif
