// SPDX-License-Identifier: MIT
// unit.hpp: converts a checkpoint's config to the translation unit that compiles its model.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <cke/io/checkpoint.hpp>

#include "rooms.hpp"

namespace cke::tool {

// Whose C functions a unit defines: those of a model (cke.h), of a tower (cke.h), of a trainer (cke_train.h), of a
// stepper (cke_dump.h): of the program without fusion, or of the one that a model runs; of what writes an image
// (cke_bare.h); or of a model on one of several ranks (cke_ranks.h).
enum class door_kind : u8 { model, tower, trainer, stepper, fused_stepper, bare, ranked };

struct unit_options {
  std::string format;  // f32, f16, bf16, q8_0, i8, i4, q4_0, q4_k_m, q5_k_m, q6_k; empty: as the checkpoint has them
  std::string kv;      // f32, f16, bf16, q8_0; empty: f32 for format f32, f16 for f16 and bf16, else bf16
  door_kind door{};    // no tower: see tower_unit.hpp
  bool from_nothing = false;  // the config alone: no matrices confirm it
  u32 context = 0;            // of a bare model
  std::string isa{};          // of a bare model: scalar, native
};

struct unit {
  std::string text;  // C++ source of our own words and range-checked numbers, never text from the file
  std::string card, declared,
      policy;  // parts of it: the family's header; what the type needs, and `model`; the formats
  std::string family;
  std::string type;      // in the unit's C++ syntax
  std::string format;    // as in unit_options; "mixed": a table of the checkpoint's matrices
  bool mixes_formats{};  // of matrices in ways that few others do, so that the compiled part may lack its kernels
  dtype kv{};
  u32 max_position{};  // 0: the config does not say
  door_kind door{};
};

// Throws Error: unsupported for a family, format or feature that cke lacks, config_range, tensor_missing or
// tensor_shape if the matrices contradict the config, usage.
unit make_unit(const checkpoint& from, const unit_options& options);
// The text of the same unit with the door of a model.
std::string text_of_model(const unit& u);

// A family by its names in files (Hugging Face's model_type, GGUF's architecture), and its presets in C++.
struct known_family {
  std::string_view model_type, architecture;
  std::span<const std::string_view> presets;
};
// The table that checkpoints are matched against.
std::vector<known_family> known_families();

struct model_facts;  // facts.hpp
model_facts facts_of(const checkpoint& from);
void check_written(const checkpoint& from, const checkpoint& written);

}  // namespace cke::tool
