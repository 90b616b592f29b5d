// SPDX-License-Identifier: MIT
// training.hpp: a checkpoint opened to be trained.
#pragma once

#include "adapter_file.hpp"
#include "rooms.hpp"
#include "source.hpp"
#include "trainer_model.hpp"

namespace cke::tool {

struct opened_trainer {
  checkpoint from;
  tensor_index stored;  // of a directory: all that its files have, towers too, by the files' own names
  std::string name;
  u32 rank;     // of low-rank additions; 0: all weights are trained
  float alpha;  // likewise
  std::unique_ptr<trainer_model> model;
};
// Opens, compiles if necessary, and loads; the padding is the config's. With from_nothing, of a directory that has no
// weights or others, options.seed makes them. With `begin`, rank, alpha and targets are the adapter's. Throws Error.
opened_trainer open_trainer(const std::string& path, cke_train_options options, bool from_nothing = false,
                            const adapter* begin = nullptr);

// The tensor of the model that lies there in its file; null: it is another's, such as a tower's.
const tensor_ref* same_tensor(const checkpoint& from, const tensor_ref& raw);

// Numbers of a tensor.
u64 numbers_of(const tensor_ref& t);

// Writes one part of all trained tensors as safetensors, in f32, under the checkpoint's names with `suffix`; returns
// how many. Throws Error{file}.
struct written_part {
  int32_t part;
  std::string suffix;
};
u64 write_parts(const opened_trainer& t, const std::vector<written_part>& parts, const std::string& path);

}  // namespace cke::tool
