// SPDX-License-Identifier: MIT
// parameters.hpp: a model's weights as training holds them: f32 as the optimizer sees them, a packed copy for the
// kernels, and their gradients.
#pragma once

#include <vector>

#include "../kernels/formats/packed.hpp"
#include "../runtime/weight_tensors.hpp"
#include "work.hpp"

namespace cke::train {

// Where the numbers of a weight lie in the tensors of its file, and which layout they have there.
struct tensor_map {
  std::vector<u64> tensors;  // numbers in the source's list: one, or one for each expert
  rows_in_tensor rows;
  columns_in_tensor columns;
  u32 paired_head_dim;
  change was;

  // f(ours, apart, row, column, count): numbers `ours`, ours + apart, ... of the weight, `count` of them, are those
  // of row `row` of tensors[tensor] from `column` on.
  template <class F> void each_run(const weight& w, u32 tensor, F f) const {
    const weight_slot& slot = w.slot;
    const weight_place at{w, {}, rows, columns, paired_head_dim, was};
    if (!slot.quantisable) {  // taps are stored as [taps][channels]; a file has a channel's after one another
      for (u32 i = 0; i < slot.elements(); ++i)
        f(u64{i % slot.cols} * slot.rows + i / slot.cols, u64{1}, at.row(i).row, 0u, 1u);
      return;
    }
    if (was == change::transposed) {
      const u32 group = slot.group ? slot.group : slot.rows;
      for (u32 g = 0; g < slot.rows / group; ++g)
        for (u32 c = 0; c < slot.cols; ++c)
          f(u64{g} * group * slot.cols + c, u64{slot.cols}, g * rows.part + rows.first + c, columns.first, group);
      return;
    }
    const bool apart = tensors.size() > 1;  // an expert's rows are all of its tensor's
    for (u32 r = apart ? tensor * rows.ours : 0; r < (apart ? (tensor + 1) * rows.ours : slot.rows); ++r)
      f(u64{r} * slot.cols, u64{1}, at.row(r).row - (apart ? tensor * rows.part : 0), 0u, slot.cols);
  }
  // A number of the file as the model has it, and back; and the slope of the way to the model.
  float from_file(float x) const {
    return was == change::plus_one ? x - 1 : was == change::minus_exp ? std::log(-x) : x;
  }
  float to_file(float x) const { return was == change::plus_one ? x + 1 : was == change::minus_exp ? -std::exp(x) : x; }
  float slope(float ours) const { return was == change::minus_exp ? -std::exp(-ours) : 1; }
  // Numbers of a row of such a tensor.
  u32 width(const weight& w) const {
    return !w.slot.quantisable ? 1 : was == change::transposed ? columns.all : w.slot.cols;
  }
};

struct parameter {
  weight w;
  tensor_map map;
  u64 at{};         // of its first number among all
  u64 packed_at{};  // bytes
  bool trained{}, decays{}, packed{};
  u64 count() const { return w.slot.elements(); }
};

// What transformers keeps as a buffer: it is not trained.
constexpr bool is_buffer(role r) { return r == role::router_bias || r == role::layer_scalar; }

template <class Isa> class parameters {
 public:
  static constexpr u64 row_numbers = 16;  // a weight begins at a multiple of so many numbers

  // Reads and checks every tensor. Throws what weight_tensors throws; config_range for a number that is not finite.
  template <class P, tensor_source S, class Names>
  static parameters load(std::type_identity<P>, const S& from, std::string_view file, naming as, const Names& names) {
    parameters p;
    p.layers_ = P::layers, p.tied_ = P::tied;
    weight_tensors<P, S, Names> tensors(from, file, as, names);
    P::for_each_weight([&](const weight& w) {
      const weight_place at = tensors.find(w);
      parameter one{w, {{}, at.rows, at.columns, at.paired_head_dim, at.was}};
      for (const weight_tensor& t : at.from) one.map.tensors.push_back(t.number);
      one.trained = !is_buffer(w.slot.is);
      one.decays = from.tensors()[at.from[0].number].shape.size() > 1;
      one.packed = w.slot.quantisable && (w.slot.is != role::embed || P::tied) && w.slot.is != role::layer_embed;
      p.list_.push_back(one);
    });
    tensors.refuse_others();
    p.allocate();
    p.place(P::unfused_footer());
    for (const parameter& one : p.list_) {
      const weight_place at = tensors.find(one.w);
      p.read(one, at, from, file);
    }
    return p;
  }

  std::span<const parameter> list() const { return list_; }
  u64 count() const { return count_; }
  u64 bytes() const { return values_.size() + gradients_.size() + packed_.size() + embed_.size(); }
  float* values() { return reinterpret_cast<float*>(values_.data()); }
  const float* values() const { return reinterpret_cast<const float*>(values_.data()); }
  float* gradients() { return reinterpret_cast<float*>(gradients_.data()); }
  const float* gradients() const { return reinterpret_cast<const float*>(gradients_.data()); }

  // The weights of the header (0), of layer l (l + 1), of the footer (layers + 1), by slot.
  struct row {
    const float* plain[max_slots]{};
    const std::byte* packed[max_slots]{};
    float* gradient[max_slots]{};
  };
  const row& of(u32 place) const { return rows_[place]; }

  // Numbers of a tensor of the file, in its layout, from or to an array [count()] of the model's; false if no weight of
  // ours, or none that is trained, is in it.
  enum class what : u8 { values, gradients, states };
  bool to_file(u64 tensor, const float* from, what is, float* to) const {
    return each_in(
        tensor,
        [&](const parameter& one, u64 ours, float& in_file) {
          const float x = from[ours];
          in_file = is == what::values ? one.map.to_file(x)
              : is == what::gradients  ? x * one.map.slope(values()[ours])
                                       : x;
        },
        to);
  }
  bool from_file(u64 tensor, const float* from, what is, float* to) const {
    return each_in(
        tensor,
        [&](const parameter& one, u64 ours, const float& in_file) {
          to[ours] = is == what::values ? one.map.from_file(in_file) : in_file;
        },
        from);
  }

  // Packs all matrices anew.
  void pack(team& threads) {
    for (const parameter& one : list_) {
      if (!one.packed) continue;
      const weight_slot& slot = one.w.slot;
      const u32 group = slot.group ? slot.group : slot.rows, units = units_of_slot(slot);
      kernels::packed<dtype::f32, Isa>::pack(packed_.data() + one.packed_at, units, slot.cols, [&](auto&& pack_unit) {
        threads.run([&](u32 thread) noexcept {
          threads.share(thread, units, [&](u32 u) {
            const row_range r = rows_of_unit(group, u);
            const std::byte* rows[unit_rows]{};
            for (u32 i = 0; i < r.count; ++i)
              rows[i] = reinterpret_cast<const std::byte*>(values() + one.at + u64{r.first + i} * slot.cols);
            pack_unit(u, {r.count, rows, dtype::f32});
          });
        });
      });
    }
  }

  // A tied matrix has two gradients, in which passes add in their own order; they become one here.
  void join_tied() {
    if (!tied_) return;
    float* const from = reinterpret_cast<float*>(embed_.data());
    for (u64 i = 0; i < list_[0].count(); ++i) gradients()[list_[0].at + i] += from[i], from[i] = 0;
  }
  void clear_gradients() {
    std::fill_n(gradients(), count_, 0.f);
    if (tied_) std::fill_n(reinterpret_cast<float*>(embed_.data()), list_[0].count(), 0.f);
  }

 private:
  template <class F, class Number> bool each_in(u64 tensor, F f, Number* file) const {
    bool any = false;
    for (const parameter& one : list_)
      for (u32 t = 0; t < one.map.tensors.size(); ++t) {
        if (one.map.tensors[t] != tensor || !one.trained) continue;
        any = true;
        const u64 width = one.map.width(one.w);
        one.map.each_run(one.w, t, [&](u64 ours, u64 apart, u32 file_row, u32 column, u32 count) {
          for (u32 i = 0; i < count; ++i) f(one, one.at + ours + i * apart, file[file_row * width + column + i]);
        });
      }
    return any;
  }
  void allocate() {
    u64 bytes = 0;
    for (parameter& one : list_) {
      one.at = count_, one.packed_at = bytes;
      count_ += align_up(one.count(), row_numbers);
      if (one.packed)
        bytes += align_up(kernels::packed<dtype::f32, Isa>::bytes(units_of_slot(one.w.slot), one.w.slot.cols));
    }
    values_ = arena(count_ * sizeof(float)), gradients_ = arena(count_ * sizeof(float)), packed_ = arena(bytes);
    if (tied_) embed_ = arena(list_[0].count() * sizeof(float));
  }
  void place(const code& footer) {
    rows_.resize(layers_ + 2);
    std::vector<u32> next(layers_ + 2);
    const auto put = [&](u32 r, const parameter& one, float* gradient) {
      const u32 slot = next[r]++;
      rows_[r].plain[slot] = values() + one.at;
      rows_[r].packed[slot] =
          one.packed ? packed_.data() + one.packed_at : reinterpret_cast<const std::byte*>(values() + one.at);
      rows_[r].gradient[slot] = one.trained ? gradient : nullptr;
    };
    const u32 last = layers_ + 1;
    for (const parameter& one : list_) {
      const u32 r = one.w.where == place::header ? 0 : one.w.where == place::body ? one.w.layer + 1 : last;
      if (r == last)
        while (footer.slots[next[r]].tied) put(r, list_[0], gradients() + list_[0].at);
      const bool twice = tied_ && &one == &list_[0];
      put(r, one, twice ? reinterpret_cast<float*>(embed_.data()) : gradients() + one.at);
    }
    while (next[last] < footer.slots.size()) put(last, list_[0], gradients() + list_[0].at);
  }
  void read(const parameter& one, const weight_place& from, const auto& source, std::string_view file) {
    float* const to = values() + one.at;
    std::vector<float> numbers(one.map.width(one.w));
    for (u32 tensor = 0; tensor < one.map.tensors.size(); ++tensor)
      one.map.each_run(one.w, tensor, [&](u64 ours, u64 apart, u32 file_row, u32 column, u32 count) {
        from.from[tensor].read_row(file_row, static_cast<u32>(numbers.size()), numbers.data());
        for (u32 i = 0; i < count; ++i) {
          const float x = one.map.from_file(numbers[column + i]);
          if (!(std::abs(x) <= std::numeric_limits<float>::max()))
            throw Error(errc::config_range, file, concat({"tensor ", source.tensors()[from.from[tensor].number].name}),
                        "finite numbers", "one that is not");
          to[ours + i * apart] = x;
        }
      });
  }

  std::vector<parameter> list_;
  std::vector<row> rows_;
  u32 layers_{};
  bool tied_{};
  u64 count_{};
  arena values_, gradients_, packed_, embed_;
};

}  // namespace cke::train
