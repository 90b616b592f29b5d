// SPDX-License-Identifier: MIT
// family_status.hpp: what a test establishes about a family of models; `cke families` prints it.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace family_status {

// The columns of `cke families`.
enum class column { config, load_hf, load_gguf, tokenizer, template_, logits, generation, export_ };
constexpr std::string_view name(column c) {
  constexpr std::string_view names[]{"config",   "load_hf", "load_gguf",  "tokenizer",
                                     "template", "logits",  "generation", "export"};
  return names[static_cast<int>(c)];
}

struct claim {
  std::string family;  // its model_type in config.json
  column what;
};
inline std::vector<claim>& claims_of_test_case() {
  static std::vector<claim> all;
  return all;
}

// Said in a test case beside its checks: main.cpp writes it down if the whole test case passes.
inline void establishes(std::string family, std::initializer_list<column> columns) {
  for (const column c : columns) claims_of_test_case().push_back({family, c});
}
// The family that a config.json names.
inline std::string family_in(const std::filesystem::path& config) {
  std::ifstream in(config, std::ios::binary);
  return nlohmann::json::parse(std::string(std::istreambuf_iterator<char>(in), {})).at("model_type");
}

}  // namespace family_status
