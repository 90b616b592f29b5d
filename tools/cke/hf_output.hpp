// SPDX-License-Identifier: MIT
// hf_output.hpp: the parts of a Hugging Face directory that is written.
#pragma once

#include <string>
#include <vector>

#include <cke/io/hf_dir.hpp>
#include <cke/io/new_file.hpp>
#include <cke/io/tensor_index.hpp>

#include "rooms.hpp"

namespace cke::tool {

// A folder that gets its name when it is complete, and else goes away.
class new_folder {
 public:
  // A slash at its end is no part of the name. Throws Error{file} unless the name is free.
  explicit new_folder(const std::string& path);
  ~new_folder();
  new_folder(const new_folder&) = delete;
  new_folder& operator=(const new_folder&) = delete;

  const std::string& partial() const { return partial_; }
  const std::string& name() const { return path_; }
  // Throws Error{file}, which says where the folder is, if the name was taken meanwhile.
  void commit();

 private:
  std::string path_, partial_;
};

// The files beside the weights: config, tokenizer, templates. Beside a config that is trained from there may also be
// what it is trained on: then only files of known names are the model's.
enum class small_files { all, known };
void copy_small_files(const std::string& from, const std::string& to, small_files which = small_files::all);

// config.json of a checkpoint whose matrices are now f32 or bf16.
std::string config_text(const hf_files& files, const std::string& type);

// Whether a tensor has the scales of one in 8-bit floats.
bool is_scale(const tensor_index& all, std::string_view name);

// What comes before the numbers in a safetensors file.
struct written_tensor {
  std::string name, type;  // type: F32, BF16, ...
  std::vector<u64> shape;
  u64 bytes;
};
std::string safetensors_header(const std::vector<written_tensor>& tensors);

// Writes the numbers of a tensor of the directory `path`, which has the tensors `all`, as f32 or bf16. Throws
// config_range where one is not finite.
void write_numbers(const tensor_index& all, const std::string& path, const tensor_ref& t, dtype type, new_file& to);

}  // namespace cke::tool
