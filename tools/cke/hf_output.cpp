// SPDX-License-Identifier: MIT
// hf_output.cpp: implements hf_output.hpp.
#include "hf_output.hpp"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include <cke/kernels/formats/convert.hpp>
#include <cke/runtime/f8_matrix.hpp>

namespace cke::tool {
namespace {

namespace fs = std::filesystem;
using json_object = nlohmann::ordered_json;

std::string without_slash(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

bool is_small(const fs::path& file) {
  const std::string name = file.filename(), type = file.extension();
  if (name.ends_with(".safetensors.index.json")) return false;
  return type == ".json" || type == ".txt" || type == ".jinja" || type == ".model";
}
bool is_known(const fs::path& file) {
  static constexpr std::string_view names[] = {"config.json",
                                               "generation_config.json",
                                               "tokenizer.json",
                                               "tokenizer_config.json",
                                               "special_tokens_map.json",
                                               "added_tokens.json",
                                               "vocab.json",
                                               "vocab.txt",
                                               "merges.txt",
                                               "tekken.json",
                                               "chat_template.json",
                                               "processor_config.json",
                                               "preprocessor_config.json",
                                               "video_preprocessor_config.json",
                                               "modules.json",
                                               "sentence_bert_config.json",
                                               "config_sentence_transformers.json"};
  const std::string type = file.extension();
  return type == ".jinja" || type == ".model" || std::ranges::find(names, file.filename().string()) != std::end(names);
}
}  // namespace

new_folder::new_folder(const std::string& path) : path_(without_slash(path)) {
  struct stat st{};
  if (::lstat(path_.c_str(), &st) == 0)
    throw Error(errc::file, path_, {}, "a name that is free", "something: remove it first");
  // A process that was killed, of the same number, may have left such a folder: in a container all are number 1.
  int made = -1;
  for (u64 n = 0; made != 0; ++n) {
    partial_ = concat({path_, ".partial-", u64(::getpid()), "-", n});
    made = ::mkdir(partial_.c_str(), 0777);
    if (made != 0 && errno != EEXIST)
      throw Error(errc::file, path_, {}, "a directory that can be made", std::strerror(errno));
  }
}
new_folder::~new_folder() {
  std::error_code gone;
  if (!partial_.empty()) fs::remove_all(partial_, gone);
}
void new_folder::commit() {
  const std::string done = std::exchange(partial_, {});  // it stays even if its name is taken by now
  if (::renameat2(AT_FDCWD, done.c_str(), AT_FDCWD, path_.c_str(), RENAME_NOREPLACE) == 0) return;
  int why = errno;
  struct stat st{};
  if (why == EINVAL && ::lstat(path_.c_str(), &st) != 0) {  // a file system without a rename that does not replace
    if (::rename(done.c_str(), path_.c_str()) == 0) return;
    why = errno;
  }
  throw Error(errc::file, path_, {}, "a name that is free",
              concat({std::strerror(why == EINVAL ? EEXIST : why), "; what should have it is ", done}));
}

void copy_small_files(const std::string& from_path, const std::string& to_path, small_files which) {
  const fs::path from = from_path, to = to_path;
  for (const fs::path folder : {"", "additional_chat_templates", "1_Pooling"}) {
    if (!fs::is_directory(from / folder)) continue;
    for (const auto& entry : fs::directory_iterator(from / folder)) {
      if (!entry.is_regular_file() || !is_small(entry.path())) continue;
      if (which == small_files::known && !is_known(entry.path())) continue;
      fs::create_directories(to / folder);
      fs::copy_file(entry.path(), to / folder / entry.path().filename());
    }
  }
}

std::string config_text(const hf_files& files, const std::string& type) {
  json_object config = json_object::parse(files.config);
  const auto rename = [&](json_object& c) {
    c.erase("quantization_config");
    for (const char* key : {"dtype", "torch_dtype"})
      if (c.contains(key)) c[key] = type == "f32" ? "float32" : "bfloat16";
  };
  rename(config);
  if (config.contains("text_config") && config["text_config"].is_object()) rename(config["text_config"]);
  return config.dump(2) + '\n';
}

bool is_scale(const tensor_index& all, std::string_view name) {
  if (!name.ends_with("_scale_inv")) return false;
  const tensor_ref* of = all.find(name.substr(0, name.size() - 10));
  return of && of->type == dtype::f8_e4m3;
}

std::string safetensors_header(const std::vector<written_tensor>& tensors) {
  json_object header{{"__metadata__", {{"format", "pt"}}}};
  u64 at = 0;
  for (const written_tensor& t : tensors) {
    header[t.name] = {{"dtype", t.type}, {"shape", t.shape}, {"data_offsets", {at, at + t.bytes}}};
    at += t.bytes;
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');  // the data begins at a multiple of 8
  const u64 length = text.size();
  return std::string(reinterpret_cast<const char*>(&length), sizeof length) + text;
}

// Some rows at a time.
void write_numbers(const tensor_index& all, const std::string& path, const tensor_ref& t, dtype type, new_file& to) {
  u64 rows = 1;
  for (const u64 n : t.shape) rows *= n;
  const u64 columns = t.shape.back();
  rows /= std::max<u64>(1, columns);
  const bool scaled = t.type == dtype::f8_e4m3;
  const f8_matrix scales = scaled ? f8_matrix_of(all, path, all.tensor(all.number_of(t.name))) : f8_matrix{};
  std::vector<float> row(columns);
  std::vector<std::byte> out(bytes_of(type, columns));
  for (u64 r = 0; r < rows; ++r) {
    if (scaled) scales.read(r, 0, columns, row.data());
    else kernels::to_f32(t.type, t.bytes.data() + bytes_of(t.type, r * columns), static_cast<u32>(columns), row.data());
    if (!std::ranges::all_of(row, [](float x) { return std::isfinite(x); }))
      throw Error(errc::config_range, path, "tensor " + t.name, "finite numbers to convert", "one that is not");
    kernels::from_f32(type, row.data(), static_cast<u32>(columns), out.data());
    to.write(out);
  }
}

}  // namespace cke::tool
