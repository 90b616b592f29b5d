// SPDX-License-Identifier: MIT
// hf_dir.hpp: reads the files of a Hugging Face model directory, and its weights.
#pragma once

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../core/concat.hpp"
#include "../core/json.hpp"
#include "safetensors.hpp"

CKE_COLD_OPTIONAL_BEGIN
namespace cke::io {

// The small files of a model directory. Text is unchecked, and empty if the file is absent: a tokenizer alone suffices.
struct hf_files {
  std::string dir;
  std::string config;             // text of config.json, with Infinity and NaN replaced
  std::string generation_config;  // text of generation_config.json
  std::string tokenizer_config;   // text of tokenizer_config.json
  std::string chat_template;      // text of chat_template.jinja
  std::string tool_template;      // text of additional_chat_templates/tool_use.jinja
  std::string tokenizer;          // path of tokenizer.json

  std::string path(std::string_view name) const { return dir + '/' + std::string(name); }
};

namespace detail {

inline bool exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

inline std::string text_of(const std::string& path) {
  if (!exists(path)) return {};
  const mapped_file map(path);
  if (map.bytes().size() > json_events::max_bytes)
    throw Error(errc::file, path, "", "a text of at most " + std::to_string(json_events::max_bytes) + " bytes",
                std::to_string(map.bytes().size()) + " bytes");
  return {reinterpret_cast<const char*>(map.bytes().data()), map.bytes().size()};
}

// Python writes Infinity, -Infinity and NaN, which are not JSON. Replaces them as transformers 5 writes them.
inline std::string with_finite_numbers(std::string_view text) {
  std::string out;
  for (std::size_t i = 0, n; i < text.size(); i += n) {
    const std::string_view rest = text.substr(i);
    n = rest[0] == '"' ? std::min(json::close(rest, 1) + 1, rest.size()) : 1;
    std::string_view word;
    for (const std::string_view w : {"-Infinity", "Infinity", "NaN"})
      if (rest.starts_with(w)) word = w, n = w.size();
    if (word.empty()) out += rest.substr(0, n);
    else out += concat({"{\"__float__\": \"", word, "\"}"});
  }
  return out;
}

// {"metadata": {...}, "weight_map": {"TENSOR": "FILE", ...}}
class hf_weight_map final : public json_events {
 public:
  // (tensor, file), sorted by tensor.
  std::vector<std::pair<std::string, std::string>> entries;

  using json_events::json_events;

  void read(std::string_view text) {
    json_events::read(text);
    if (entries.empty()) fail("a weight_map with tensors", "none");
    std::ranges::sort(entries);
  }

  bool null() override { return outside(); }
  bool boolean(bool) override { return outside(); }
  bool number_integer(number_integer_t) override { return outside(); }
  bool number_unsigned(number_unsigned_t) override { return outside(); }
  bool number_float(number_float_t, const string_t&) override { return outside(); }
  bool string(string_t& s) override {
    if (key_at(0) != "weight_map") return true;
    if (depth() != 2) refuse("a string");
    // A name that leaves the directory could make us read any of the user's files.
    if (s.empty() || s == "." || s == ".." || s.find_first_of(std::string_view("/\\\0", 3)) != s.npos)
      fail("the plain name of a file in this directory", '"' + s + '"');
    entries.emplace_back(key_at(1), std::move(s));
    return true;
  }

 private:
  bool outside() const {
    if (key_at(0) == "weight_map") refuse("a number, boolean or null");
    return true;
  }
  bool opens(bool object) override { return key_at(0) != "weight_map" || (object && depth() == 1); }
};

// A template in the file that transformers' processors wrote before they wrote chat_template.jinja.
inline std::string template_of_json(const std::string& path) {
  const std::string text = text_of(path);
  if (text.empty()) return {};
  const auto all = nlohmann::json::parse(text, nullptr, false);
  const auto at = all.is_object() ? all.find("chat_template") : all.end();
  if (at == all.end() || !at->is_string()) throw Error(errc::malformed, path, "chat_template", "a text", "none");
  return *at;
}

}  // namespace detail

// Throws Error{errc::file} if dir is not a directory or a file cannot be read, and malformed.
inline hf_files read_hf_files(const std::string& dir) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(dir, ignored))
    throw Error(errc::file, dir, "", "a directory", detail::exists(dir) ? "a file" : "nothing");
  hf_files f;
  f.dir = dir;
  f.config = detail::with_finite_numbers(detail::text_of(f.path("config.json")));
  f.generation_config = detail::text_of(f.path("generation_config.json"));
  f.tokenizer_config = detail::text_of(f.path("tokenizer_config.json"));
  f.chat_template = detail::text_of(f.path("chat_template.jinja"));
  if (f.chat_template.empty()) f.chat_template = detail::template_of_json(f.path("chat_template.json"));
  f.tool_template = detail::text_of(f.path("additional_chat_templates/tool_use.jinja"));
  if (detail::exists(f.path("tokenizer.json"))) f.tokenizer = f.path("tokenizer.json");
  return f;
}

// All tensors of a model directory: those of model.safetensors, or else of the files named by
// model.safetensors.index.json, which must hold exactly the tensors that it maps to them. Throws Error: file,
// malformed, tensor_missing or tensor_unknown.
inline tensor_index read_hf_weights(const std::string& dir) {
  if (const std::string single = dir + "/model.safetensors"; detail::exists(single)) return read_safetensors(single);
  const std::string index = dir + "/model.safetensors.index.json";
  if (!detail::exists(index))
    throw Error(errc::file, dir, "", "model.safetensors or model.safetensors.index.json", "neither");
  detail::hf_weight_map map(index);
  map.read(detail::text_of(index));

  std::vector<std::string> names;
  for (const auto& [tensor, file] : map.entries) names.push_back(file);
  std::ranges::sort(names);
  names.erase(std::ranges::unique(names).begin(), names.end());

  std::vector<tensor_ref> tensors;
  for (const std::string& name : names) {
    const auto shard = std::make_shared<const mapped_file>(dir + '/' + name);
    for (auto& t : detail::safetensors_list(shard)) {
      const auto it = std::ranges::lower_bound(map.entries, t.name, {}, [](auto& e) -> auto& { return e.first; });
      if (it == map.entries.end() || it->first != t.name || it->second != name)
        throw Error(errc::tensor_unknown, shard->name(), "tensor " + t.name, "a tensor that the index maps here",
                    it != map.entries.end() && it->first == t.name ? "one mapped to " + it->second
                                                                   : "one that the index does not have");
      tensors.push_back(std::move(t));
    }
  }
  tensor_index all(std::move(tensors));
  for (const auto& [tensor, file] : map.entries)
    if (!all.find(tensor))
      throw Error(errc::tensor_missing, dir + '/' + file, "tensor " + tensor, "a tensor of this name", "none");
  return all;
}

}  // namespace cke::io
CKE_COLD_END
