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
  std::string_view targets;  // last words of names in Hugging Face's spelling, "q_proj,v_proj"; empty: all of layers
  u64 seed = 0;              // of A, which begins as torch's Linear does; B begins as 0
};

// What is added to one matrix of the model.
struct addition {
  u32 parameter;     // number of the matrix
  u32 rank;
  u64 a, b;          // where A [rank][cols] and B [rows][rank] lie among what is trained
  std::string name;  // of the matrix's tensor in Hugging Face's spelling
};

// What is added to one tensor of a Hugging Face checkpoint, in whose rows several matrices may lie: each has its own
// A and B, which become one A below the other, and one B beside the other.
struct added_tensor {
  std::string name;
  u32 rows, cols, rank;
  struct part {
    u32 addition, first_rank;
    std::vector<u32> row;  // of the tensor, by row of the matrix
  };
  std::vector<part> parts;

  // f(number, a): number of those trained and its place in A [rank][cols]; g(number, b) likewise in B [rows][rank].
  template <class F, class G> void each(std::span<const addition> all, F f, G g) const {
    for (const part& p : parts) {
      const addition& one = all[p.addition];
      for (u32 i = 0; i < one.rank; ++i)
        for (u32 c = 0; c < cols; ++c) f(one.a + u64{i} * cols + c, u64{p.first_rank + i} * cols + c);
      for (u32 r = 0; r < p.row.size(); ++r)
        for (u32 i = 0; i < one.rank; ++i) g(one.b + u64{r} * one.rank + i, u64{p.row[r]} * rank + p.first_rank + i);
    }
  }
  void read(std::span<const addition> all, const float* from, float* a, float* b) const {
    std::fill_n(b, u64{rows} * rank, 0.f);
    each(all, [&](u64 ours, u64 i) { a[i] = from[ours]; }, [&](u64 ours, u64 i) { b[i] = from[ours]; });
  }
  void write(std::span<const addition> all, const float* a, const float* b, float* to) const {
    each(all, [&](u64 ours, u64 i) { to[ours] = a[i]; }, [&](u64 ours, u64 i) { to[ours] = b[i]; });
  }
};

// Names of `targets`, and which of them have been found.
class target_names {
 public:
  explicit target_names(std::string_view list) {
    while (!list.empty()) {
      const std::size_t comma = std::min(list.find(','), list.size());
      words_.push_back({list.substr(0, comma), false});
      list.remove_prefix(std::min(comma + 1, list.size()));
    }
  }
  bool has(std::string_view tensor) {
    tensor = tensor.substr(0, tensor.rfind('.'));
    const std::string_view word = tensor.substr(tensor.rfind('.') + 1);
    for (auto& [name, found] : words_)
      if (name == word) return found = true;
    return words_.empty();
  }
  // Throws usage for a name that no matrix has.
  void check_all_found() const {
    for (const auto& [name, found] : words_)
      if (!found)
        throw Error(errc::usage, {}, "targets", "last words of names of layers' matrices, such as q_proj",
                    std::string(name));
  }

 private:
  std::vector<std::pair<std::string_view, bool>> words_;
};

// Numbers between -bound and bound.
inline void fill_uniform(float* to, u64 count, float bound, std::mt19937_64& random) {
  for (u64 i = 0; i < count; ++i) to[i] = bound * (static_cast<float>(random() >> 40) * 0x1p-23f - 1);
}

}  // namespace cke::train
