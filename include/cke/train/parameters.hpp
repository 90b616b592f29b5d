// SPDX-License-Identifier: MIT
// parameters.hpp: a model's weights as training holds them: in f32, those that are trained with their gradients.
#pragma once

#include <string>

#include "../core/tensor_name.hpp"
#include "../runtime/arena.hpp"
#include "low_rank.hpp"
#include "stored_rows.hpp"
#include "taped_program.hpp"
#include "tensor_map.hpp"
#include "work.hpp"

namespace cke::train {

struct parameter {
  weight w;
  tensor_map map;
  enum class kept : u8 {
    learned,   // values and gradients
    constant,  // values
    in_file    // a frozen matrix of a layer, which is read whenever its layer runs
  } as;
  bool decays;
  u64 at{};                         // of its first number among those that are kept so; in_file: of its layer's
  std::vector<weight_tensor> from;  // in_file
  u64 count() const { return w.slot.elements(); }
};

// What transformers keeps as a buffer: it is not trained.
constexpr bool is_buffer(role r) { return r == role::router_bias || r == role::layer_scalar; }

class parameters {
 public:
  static constexpr u64 row_numbers = 16;  // a weight begins at a multiple of so many numbers

  // Reads and checks every tensor. With `added`, weights are frozen, and matrices of layers stay in the file, which has
  // to outlive this. Throws what weight_tensors throws; config_range for a number that is not finite; usage.
  static parameters load(const program_data& of, const taped_program& n, const tensor_source& from,
                         std::string_view file, naming as, std::span<const name_rule> names,
                         const low_rank_options& added = {}, std::string_view in_f32 = {}) {
    using kept = parameter::kept;
    parameters p;
    p.layers_ = of.layers, p.tied_ = of.tied();
    weight_tensors tensors(of, from, file, as, names);
    of.for_each_weight([&](const weight& w) {
      const weight_place at = tensors.find(w);
      const bool is_matrix =
          w.where == place::body && w.slot.quantisable && (at.was == change::none || at.was == change::paired_heads);
      parameter one{w,
                    tensor_map::of(at),
                    added.rank == 0 ? is_buffer(w.slot.is) ? kept::constant : kept::learned
                        : is_matrix ? kept::in_file
                                    : kept::constant,
                    from.tensor(at.from[0].number).shape.size() > 1,
                    0,
                    {}};
      if (one.as == kept::in_file) one.from.assign(at.from.begin(), at.from.end());
      p.list_.push_back(std::move(one));
    });
    tensors.refuse_others();
    p.allocate();
    p.place(*of.unfused_footer);
    for (const parameter& one : p.list_) {
      if (one.as == kept::in_file) continue;
      p.read(one, tensors.find(one.w), from, file);
      for (const u64 t : one.map.tensors) from.drop(t, from.tensor(t).bytes);
    }
    const auto name_of_tensor = [&](const parameter& one) {
      if (as == naming::hf) return std::string(from.tensor(one.map.tensors[0]).name);
      const spelling& its = name_of(names, one.w.where, one.w.slot).in(naming::hf)[0];
      if (its.is_part())
        throw Error(errc::unsupported, file, "names of matrices", "a Hugging Face directory, for this family",
                    "a GGUF file");
      return tensor_name(its, false, one.w.layer, 0);
    };
    if (added.rank > 0) p.add(n, added, as, name_of_tensor);
    if (!in_f32.empty()) p.keep_in_f32(in_f32, name_of_tensor);
    return p;
  }

  std::span<const added_tensor> added_tensors() const { return added_; }
  u32 rank() const { return added_.empty() ? 0 : added_[0].rank; }

  // What is trained, in [count()] numbers.
  struct run {
    u64 at, count;
    bool decays;
  };
  std::span<const run> learned() const { return learned_; }
  u64 count() const { return count_; }
  float* values() { return numbers(values_); }
  const float* values() const { return numbers(values_); }
  float* gradients() { return numbers(gradients_); }
  const float* gradients() const { return numbers(gradients_); }

  u64 bytes() const { return values_.size() + gradients_.size() + constants_.size() + layer_.size() + apart_.size(); }
  // Of all weights, and of those that are trained.
  u64 total() const {
    u64 n = 0;
    for (const parameter& one : list_) n += one.count();
    return n;
  }
  u64 trained() const {
    u64 n = 0;
    for (const run& one : learned_) n += one.count;
    return n;
  }

  // The weights of the header (0), of layer l (l + 1), of the footer (layers + 1), by slot.
  struct row {
    const float* plain[max_slots]{};
    float* gradient[max_slots]{};
    low_rank added[max_slots]{};
    bool in_f32[max_slots]{};  // products with it stay so
    u32 number[max_slots]{};   // in the list
    std::vector<u32> in_file;  // numbers of those that stay there
  };
  const row& of(u32 place) const { return rows_[place]; }
  // Whether anything of a place is trained.
  bool learns(u32 place) const {
    return std::ranges::any_of(rows_[place].gradient, [](const float* g) { return g != nullptr; }) ||
        std::ranges::any_of(rows_[place].added, [](const low_rank& l) { return l.a != nullptr; });
  }

  // Reads the weights of a place that stay in the file; the threads of c share the rows.
  void bring(u32 place, const crew& c) {
    for (const u32 number : rows_[place].in_file) {
      const parameter& one = list_[number];
      const u32 cols = one.w.slot.cols;
      c.rows(one.w.slot.rows, [&](u32 r) {
        const stored_weight::file_row from = one.map.row(r);
        read_row(one.from[from.tensor], from.row, cols, numbers(layer_) + one.at + u64{r} * cols);
      });
    }
  }

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

  // What several steps read, a tied matrix or an A, has a gradient from each, in which passes add in their own order;
  // they become one here.
  void join_gradients() {
    for (const twin& t : twins_) {
      float* const from = numbers(apart_) + t.from;
      for (u64 i = 0; i < t.count; ++i) gradients()[t.to + i] += from[i], from[i] = 0;
    }
  }
  void clear_gradients() {
    std::fill_n(gradients(), count_, 0.f);
    std::fill_n(numbers(apart_), apart_.size() / sizeof(float), 0.f);
  }

 private:
  struct twin {
    u64 from, to, count;  // a gradient in apart_, and the one that it belongs to
  };
  static float* numbers(const arena& a) { return reinterpret_cast<float*>(a.data()); }

  template <class F, class Number> bool each_in(u64 tensor, F f, Number* file) const {
    bool any = false;
    for (const parameter& one : list_)
      for (u32 t = 0; t < one.map.tensors.size(); ++t) {
        if (one.map.tensors[t] != tensor || one.as != parameter::kept::learned) continue;
        any = true;
        const u64 width = one.map.width(one.w);
        one.map.each_run(one.w, t, [&](u64 ours, u64 apart, u32 file_row, u32 column, u32 count) {
          for (u32 i = 0; i < count; ++i) f(one, one.at + ours + i * apart, file[file_row * width + column + i]);
        });
      }
    return any;
  }

  void allocate() {
    u64 constants = 0, most = 0;
    std::vector<u64> of_layer(layers_);
    for (parameter& one : list_) {
      const u64 size = align_up(one.count(), row_numbers);
      u64& used = one.as == parameter::kept::learned ? count_
          : one.as == parameter::kept::constant      ? constants
                                                     : of_layer[one.w.layer];
      one.at = used, used += size;
      if (one.as == parameter::kept::learned) learned_.push_back({one.at, one.count(), one.decays});
    }
    for (const u64 n : of_layer) most = std::max(most, n);
    constants_ = arena(constants * sizeof(float)), layer_ = arena(most * sizeof(float));
    take_learned();
    if (tied_ && list_[0].as == parameter::kept::learned) {
      twins_.push_back({0, list_[0].at, list_[0].count()});
      apart_ = arena(list_[0].count() * sizeof(float));
    }
  }
  void take_learned() { values_ = arena(count_ * sizeof(float)), gradients_ = arena(count_ * sizeof(float)); }

  float* value_of(const parameter& one) const {
    return one.at +
        numbers(one.as == parameter::kept::learned        ? values_
                    : one.as == parameter::kept::constant ? constants_
                                                          : layer_);
  }
  void place(const code& footer) {
    rows_.resize(layers_ + 2);
    std::vector<u32> next(layers_ + 2);
    const auto put = [&](u32 r, const parameter& one, float* gradient) {
      const u32 slot = next[r]++;
      rows_[r].plain[slot] = value_of(one);
      rows_[r].gradient[slot] = one.as == parameter::kept::learned ? gradient : nullptr;
      rows_[r].number[slot] = static_cast<u32>(&one - list_.data());
      if (one.as == parameter::kept::in_file) rows_[r].in_file.push_back(rows_[r].number[slot]);
    };
    const u32 last = layers_ + 1;
    for (const parameter& one : list_) {
      const u32 r = one.w.where == place::header ? 0 : one.w.where == place::body ? one.w.layer + 1 : last;
      if (r == last)
        while (footer.slots[next[r]].tied) put(r, list_[0], gradients() + list_[0].at);
      const bool twice = !twins_.empty() && &one == &list_[0];
      put(r, one, twice ? numbers(apart_) : gradients() + one.at);
    }
    while (next[last] < footer.slots.size()) put(last, list_[0], gradients() + list_[0].at);
  }
  void read(const parameter& one, const weight_place& from, const tensor_source& source, std::string_view file) {
    float* const to = value_of(one);
    std::vector<float> numbers(one.map.width(one.w));
    for (u32 tensor = 0; tensor < one.map.tensors.size(); ++tensor)
      one.map.each_run(one.w, tensor, [&](u64 ours, u64 apart, u32 file_row, u32 column, u32 count) {
        read_row(from.from[tensor], file_row, static_cast<u32>(numbers.size()), numbers.data());
        for (u32 i = 0; i < count; ++i) {
          const float x = one.map.from_file(numbers[column + i]);
          if (!(std::abs(x) <= std::numeric_limits<float>::max()))
            throw Error(errc::config_range, file, concat({"tensor ", source.tensor(from.from[tensor].number).name}),
                        "finite numbers", "one that is not");
          to[ours + i * apart] = x;
        }
      });
  }

  // Additions to the matrices of layers' matmuls, in the order in which they run.
  void add(const taped_program& n, const low_rank_options& o, naming as, auto name_of_tensor) {
    struct spot {
      row* at;
      u32 slot;
      u64 a, b, da;  // da: in apart_; none: A's gradient is in its place
    };
    constexpr u64 none = ~u64{};
    std::vector<spot> spots;
    u64 apart = 0;
    const auto learn = [&](u64 size) {
      learned_.push_back({count_, size, true});
      return std::exchange(count_, count_ + align_up(size, row_numbers));
    };
    target_names targets("targets", o.targets);
    for (u32 place = 1; place < n.last_place(); ++place)
      for (const tape_step& s : n.at(place).steps) {
        if (s.i.op != opcode::matmul) continue;
        for (u32 m = 0; m < s.i.p.template as<matmul_params>().matrices; ++m) {
          const u32 slot = s.i.weight[m];
          const parameter& one = list_[rows_[place].number[slot]];
          const std::string name = name_of_tensor(one);
          if (!targets.has(name)) continue;
          const u32 rows = one.w.slot.rows, cols = one.w.slot.cols;
          auto to = std::ranges::find(added_, name, &added_tensor::name);
          const bool first = to == added_.end();
          if (first)
            to = added_.insert(
                to, {name, as == naming::hf ? one.map.rows.all : rows, cols, o.rank, learn(u64{o.rank} * cols), {}});
          else twins_.push_back({apart, to->a, u64{o.rank} * cols});
          added_tensor::part p{learn(u64{rows} * o.rank), std::vector<u32>(rows)};
          for (u32 r = 0; r < rows; ++r) p.row[r] = as == naming::hf ? one.map.row(r).row : r;
          spots.push_back({&rows_[place], slot, to->a, p.b, first ? none : apart});
          to->parts.push_back(std::move(p));
          if (!first) apart += u64{o.rank} * cols;
        }
      }
    targets.check_all_found();
    take_learned();
    apart_ = arena(apart * sizeof(float));
    for (const spot& s : spots)
      s.at->added[s.slot] = {
          values() + s.a,    values() + s.b, s.da == none ? gradients() + s.a : numbers(apart_) + s.da,
          gradients() + s.b, o.rank,         o.alpha / static_cast<float>(o.rank)};
    std::mt19937_64 random(o.seed);
    for (const added_tensor& t : added_)
      fill_uniform(values() + t.a, u64{t.rank} * t.cols, 1 / std::sqrt(static_cast<float>(t.cols)), random);
  }

  void keep_in_f32(std::string_view names, auto name_of_tensor) {
    target_names kept("in_f32", names);
    for (row& r : rows_)
      for (u32 slot = 0; slot < max_slots && r.plain[slot]; ++slot)
        if (const parameter& one = list_[r.number[slot]]; one.w.slot.quantisable)
          r.in_f32[slot] = kept.has(name_of_tensor(one));
    kept.check_all_found();
  }

  std::vector<parameter> list_;
  std::vector<added_tensor> added_;
  std::vector<run> learned_;
  std::vector<twin> twins_;
  std::vector<row> rows_;
  u32 layers_{};
  bool tied_{};
  u64 count_{};
  arena values_, gradients_, constants_, layer_, apart_;  // apart_: of twins
};

}  // namespace cke::train
