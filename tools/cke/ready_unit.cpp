// SPDX-License-Identifier: MIT
// ready_unit.cpp: see ready_unit.hpp.
#include "ready_unit.hpp"

#include <filesystem>
#include <vector>

#include "own_file.hpp"
#include "process.hpp"
#include "text_file.hpp"

namespace cke::tool {
namespace {

namespace fs = std::filesystem;

// What objects may have been compiled for and this machine runs, the best first: names of cke::isa, and zen5, which is
// avx512_vnni where that is a Zen 5 (core/simd.hpp).
// python/CMakeLists.txt says with which flags.
std::vector<const char*> instruction_sets() {
  std::vector<const char*> all;
#if defined(__x86_64__)
  // gcc's builtin takes literals alone.
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c") &&
      __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("lzcnt");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  const bool vnni = avx512 && __builtin_cpu_supports("avx512ifma") && __builtin_cpu_supports("avx512vbmi") &&
      __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("avx512vnni") &&
      __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("gfni");
  if (vnni && __builtin_cpu_supports("avx512fp16")) all.push_back("avx512_fp16");
  if (vnni && __builtin_cpu_supports("avxvnni")) all.push_back("zen5");
  if (vnni) all.push_back("avx512_vnni");
  if (avx2) all.push_back("avx2");
#endif
  return all;
}

}  // namespace

ready_unit ready_unit_of(const unit& u) {
  if (!environment("CKE_MARCH").empty() || !environment("CKE_INCLUDE").empty()) return {};
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(own_file().parent_path().parent_path() / "lib/cke/units", none)) {
    if (read_text(entry.path() / "unit.cpp") != u.text) continue;
    for (const char* isa : instruction_sets()) {
      const fs::path object = entry.path() / (std::string(isa) + ".so");
      std::string why;
      if (!fs::exists(object, none)) continue;
      if (auto door = library::open(object, u.door, why)) return {door, object};
    }
  }
  return {};
}

}  // namespace cke::tool
