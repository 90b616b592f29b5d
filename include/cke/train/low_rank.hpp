// SPDX-License-Identifier: MIT
// low_rank.hpp: low-rank additions to frozen matrices (LoRA; Hu et al., 2021), as PEFT's checkpoints have them.
#pragma once

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "../core/error.hpp"
#include "../core/types.hpp"

namespace cke::train {

struct low_rank_options {
  u32 rank = 0;              // 0: no additions, all weights are trained
  float alpha = 16;          // B A counts alpha / rank times
  std::string_view targets;  // ends of names in Hugging Face's spelling, "q_proj,v_proj"; empty: all of layers
  u64 seed = 0;              // of A, which begins as torch's Linear does; B begins as 0
};

// What is added to one tensor of a Hugging Face checkpoint: A [rank][cols] and B [rows][rank]. Several matrices of the
// model may lie in the tensor's rows; they share A.
struct added_tensor {
  std::string name;
  u32 rows, cols, rank;
  u64 a;  // where A lies among what is trained
  struct part {
    u64 b;                 // likewise its rows of B
    std::vector<u32> row;  // of the tensor, by row of the matrix
  };
  std::vector<part> parts;

  // f(number, i): number of those trained, and its place in B.
  template <class F> void each_of_b(F f) const {
    for (const part& p : parts)
      for (u32 r = 0; r < p.row.size(); ++r)
        for (u32 k = 0; k < rank; ++k) f(p.b + u64{r} * rank + k, u64{p.row[r]} * rank + k);
  }
  void read(const float* from, float* a_to, float* b_to) const {
    std::copy_n(from + a, u64{rank} * cols, a_to);
    std::fill_n(b_to, u64{rows} * rank, 0.f);
    each_of_b([&](u64 ours, u64 i) { b_to[i] = from[ours]; });
  }
  void write(const float* a_from, const float* b_from, float* to) const {
    std::copy_n(a_from, u64{rank} * cols, to + a);
    each_of_b([&](u64 ours, u64 i) { to[ours] = b_from[i]; });
  }
};

// Names of modules or the ends of such, and which of them have been found.
class target_names {
 public:
  target_names(const char* option, std::string_view list) : option_(option) {
    while (!list.empty()) {
      const std::size_t comma = std::min(list.find(','), list.size());
      words_.push_back({list.substr(0, comma), false});
      list.remove_prefix(std::min(comma + 1, list.size()));
    }
  }
  bool has(std::string_view tensor) {
    const std::string_view module = tensor.substr(0, tensor.rfind('.'));
    for (auto& [name, found] : words_)
      if (module == name || (module.ends_with(name) && module[module.size() - name.size() - 1] == '.'))
        return found = true;
    return words_.empty();
  }
  // Throws usage for a name that no matrix has.
  void check_all_found() const {
    for (const auto& [name, found] : words_)
      if (!found) throw Error(errc::usage, {}, option_, "ends of names of matrices, such as q_proj", std::string(name));
  }

 private:
  const char* option_;
  std::vector<std::pair<std::string_view, bool>> words_;
};

// Numbers between -bound and bound.
inline void fill_uniform(float* to, u64 count, float bound, std::mt19937_64& random) {
  for (u64 i = 0; i < count; ++i) to[i] = bound * (static_cast<float>(random() >> 40) * 0x1p-23f - 1);
}

}  // namespace cke::train
