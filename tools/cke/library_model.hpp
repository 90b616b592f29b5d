// SPDX-License-Identifier: MIT
// library_model.hpp: the model of a library, as an any_model.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <cke/io/checkpoint.hpp>

#include "library.hpp"

namespace cke::tool {

// Loads a checkpoint through the C interface, on one of several ranks if the options say so. Throws Error, as
// Model::load does.
std::unique_ptr<any_model> load_any_model(std::shared_ptr<const library> door, const checkpoint& from,
                                          const model_options& options);

// The packed weights of a model that load_any_model has loaded, one after the other.
using take_packed = std::function<void(const std::string& name, std::span<const std::byte> bytes)>;
void each_packed(const any_model& model, const take_packed& take);

// A model over packed weights, which `kept` keeps in memory. Throws Error.
std::unique_ptr<any_model> load_packed_model(std::shared_ptr<const library> door, const cke_packed& weights,
                                             const std::string& source, std::shared_ptr<const void> kept,
                                             const model_options& options);

}  // namespace cke::tool
