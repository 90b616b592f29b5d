// SPDX-License-Identifier: MIT
// weights.hpp: a checkpoint's tensors, checked against the program and packed for an isa into one arena.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../core/concat.hpp"
#include "../core/function_ref.hpp"
#include "../graph/program.hpp"
#include "../kernels/linear.hpp"
#include "../kernels/packed_bf16.hpp"
#include "arena.hpp"
#include "f8_matrix.hpp"
#include "team.hpp"

CKE_COLD_BEGIN
namespace cke {

// What tensors are read from: the runtime knows no file format.
//   find(name)       null, or a thing with .type, .shape (rows, cols), .bytes
//   tensors()        all of them, with .name as well
//   drop(tensor, part)  these bytes of it were copied; file pages may go. From any thread
template <class S>
concept tensor_source = requires(const S& s, std::string_view name) {
  { s.find(name)->type } -> std::convertible_to<dtype>;
  s.find(name)->bytes.data();
  s.tensors().begin()->name;
  s.drop(*s.find(name), std::span<const std::byte>{});
};

using progress_callback = std::function<void(u64 done, u64 total)>;

template <class P, class Isa> class weights {
 public:
  static constexpr u32 rows = P::layers + 2;  // header, layers, footer

  // Throws tensor_missing, tensor_shape, tensor_dtype, tensor_unknown, out_of_memory.
  template <tensor_source S, class Names>
  weights(const S& from, std::string_view file, naming as, const Names& names, team& threads,
          const progress_callback& progress) {
    using tensor = std::remove_reference_t<decltype(*from.find({}))>;
    tensor* tensors[most_tensors];  // of a weight
    f8_matrix scaled[most_tensors];  // of those in f8_e4m3
    std::vector<bool> used(from.tensors().size());
    u64 room = 0, done = 0;
    u32 next[rows]{};
    const auto drop = [&](tensor& t, std::span<const std::byte> part) { from.drop(t, part); };
    for (const bool packing : {false, true}) {  // all is checked before anything is packed
      if (packing) refuse_unknown(from, file, as, names, used), memory_ = arena(room);
      P::for_each_weight([&](const weight& w) {
        const job j = job_of(from, file, as, names, w, tensors);
        const std::span<tensor* const> of_job(tensors, j.tensors);
        for (u32 i = 0; i < j.tensors; ++i)
          if (tensors[i]->type == dtype::f8_e4m3) scaled[i] = f8_matrix_of(from, file, tensors[i]->name, *tensors[i]);
        if (!packing) {
          room += room_for(w);
          for (const tensor* t : of_job) {
            used[static_cast<std::size_t>(t - from.tensors().data())] = true;
            if (t->type == dtype::f8_e4m3) used[static_cast<std::size_t>(from.find(f8_scales_name(t->name)) - from.tensors().data())] = true;
          }
          return;
        }
        std::byte* const to = memory_.data() + memory_.used();
        table_[j.row][next[j.row]++] = to;
        if (j.was == change::transposed) memory_.take(pack_transposed(j, *tensors[0], scaled[0], to, threads));
        else memory_.take(pack<tensor>(j, of_job, scaled, to, threads, drop));
        for (tensor* t : of_job) drop(*t, t->bytes);
        done += w.slot.elements();
        if (progress) progress(done, P::parameters);
      });
    }
    if constexpr (P::tied) {
      for (u32 i = 0; i < P::plain_footer().slots.size(); ++i)
        if (P::plain_footer().slots[i].tied) {
          for (u32 k = P::plain_footer().slots.size() - 1; k > i; --k) table_[rows - 1][k] = table_[rows - 1][k - 1];
          table_[rows - 1][i] = table_[0][0];
        }
    }
  }

  // The packed weights of a row of blocks: header 0, layer l in l + 1, footer last.
  const std::byte* const* row(u32 r) const { return table_[r]; }
  u64 bytes() const { return memory_.used(); }
  std::span<const std::byte> memory() const { return {memory_.data(), memory_.used()}; }

 private:
  // The rows of a weight that lie together in a tensor, every `part` rows of it: all of them, or those of an expert.
  struct rows_in_tensor { u32 first, ours, part, all; };  // all: of the tensor, or of an expert's part of it
  struct job {
    weight w;
    u32 row;
    u32 tensors;          // one, or one for each expert
    rows_in_tensor rows;        // other roles may have theirs before or behind
    u32 paired_head_dim;  // rows of a head are stored as pairs (i, i + d / 2); 0: plain order
    change was;           // what the file did to it
  };

  static constexpr u32 groups_of(const weight& w) { return of_experts(w.slot.is) || of_heads(w.slot.is) ? w.slot.rows / w.slot.group : 0; }
  static constexpr u32 most_tensors = [] {
    u32 most = 1;
    P::for_each_weight([&](const weight& w) { most = std::max(most, groups_of(w)); });
    return most;
  }();

  static u64 vector_bytes(const weight& w) { return align_up(w.slot.elements() * sizeof(float)); }
  // What a weight takes when packed, or more where that depends on its numbers.
  static u64 room_for(const weight& w) {
    u64 bytes = vector_bytes(w);
    if (w.slot.quantisable)
      with_format(w.as, [&]<dtype T>() { bytes = kernels::packed<T, Isa>::bytes(units_of_slot(w.slot), w.slot.cols); });
    return bytes;
  }
  // f<T>() for a format known at load; only those that the program stores are instantiated.
  template <class F> static void with_format(dtype t, F f) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      auto one = [&]<dtype T>() {
        if constexpr (P::stores(T))
          if (t == T) f.template operator()<T>();
      };
      (one.template operator()<weight_types[I]>(), ...);
    }(std::make_index_sequence<std::size(weight_types)>{});
  }

  // Of a weight, and its tensors.
  template <class S, class Names, class T>
  CKE_OUT_OF_LINE static job job_of(const S& from, std::string_view file, naming as, const Names& names, const weight& w,
                                    T** tensors) {
    const name_rule& rule = name_of(names, w.where, w.slot);
    const change was = rule.in_file(as);
    const auto name = [&](u32 which, u32 expert) { return tensor_name(alternative(rule.in(as), which), w.slot.bias, w.layer, expert); };
    u32 which = 0;  // of the names, the first that the file has
    while (!alternative(rule.in(as), which).empty() && !from.find(name(which, 0))) ++which;
    if (alternative(rule.in(as), which).empty()) which = 0;
    const bool flat = of_heads(w.slot.is) && as == naming::hf;
    const u32 groups = groups_of(w);
    const bool apart = groups > 0 && name(which, 0) != name(which, 1);
    const rows_in_tensor rows_of_it = place_in_tensor(as, names, rule, which, w);
    const u32 row = w.where == place::header ? 0 : w.where == place::body ? w.layer + 1 : rows - 1;
    const job j{w, row, apart ? groups : 1, rows_of_it,
                was == change::paired_heads ? head_dim_of(w) : 0, was};
    for (u32 e = 0; e < j.tensors; ++e)
      tensors[e] = tensor_of(from, file, name(which, e), w, apart || flat ? 0 : groups, flat ? u64{groups} * rows_of_it.all : rows_of_it.all,
                             was == change::transposed);
    return j;
  }
  static u32 head_dim_of(const weight& w) {
    for (const auto& s : P::plain[P::kind_of[w.layer]].states) return s.head_dim;
    return 0;
  }

  // In elements, of a vector.
  template <class Names>
  static rows_in_tensor place_in_tensor(naming as, const Names& names, const name_rule& rule, u32 which, const weight& w) {
    const std::string_view name = alternative(rule.in(as), which);
    const tensor_part mine = part_of(name);
    const auto whole = [&](const weight_slot& s) {
      if (name_of(names, w.where, s).in_file(as) == change::transposed) return s.cols;
      return !s.quantisable ? s.rows * s.cols : of_experts(s.is) || of_heads(s.is) ? s.group : s.rows;
    };
    const auto size = [&](const weight_slot& s) { return mine.of_head ? s.part : whole(s); };
    rows_in_tensor at{0, size(w.slot), size(w.slot), size(w.slot)};
    if (mine.tensor == name) return at;
    at.part = 0;
    for (const weight_slot& s : P::plain[P::kind_of[w.layer]].slots) {
      const tensor_part other = part_of(alternative(name_of(names, w.where, s).in(as), which));
      if (s.bias != w.slot.bias || other.tensor != mine.tensor) continue;
      at.part += size(s);
      if (other.number < mine.number) at.first += size(s);
    }
    at.all = at.part * (whole(w.slot) / at.ours);
    return at;
  }

  static std::string shape_text(std::span<const u64> shape) {
    std::string s = "[";
    for (const u64 n : shape) s = concat({s, s.size() > 1 ? ", " : "", n});
    return s += "]";
  }

  template <class S>
  static auto tensor_of(const S& from, std::string_view file, const std::string& name, const weight& w, u64 groups, u64 height, bool transposed) {
    const std::string about = concat({"tensor ", name});
    const auto* t = from.find(name);
    if (!t) throw Error(errc::tensor_missing, file, about, "this tensor", "none of this name");
    const u64 shape[]{groups, height, transposed ? w.slot.group : w.slot.cols};
    const u64 taps[]{height / w.slot.cols, w.slot.cols}, torch_taps[]{height / w.slot.cols, 1, w.slot.cols};
    const bool folded = may_be_folded(w.slot.is) && t->shape.size() == 2 && t->shape[0] * t->shape[1] == height;
    const bool vector = !w.slot.quantisable || (w.slot.rows == 1 && t->shape.size() == 1);  // GGUF has no matrix of one row
    const std::span<const u64> all = shape, want = !vector                 ? all.subspan(groups ? 0 : 1)
                                                   : w.slot.quantisable ? all.subspan(2)
                                                   : folded             ? std::span<const u64>(t->shape)
                                                   : w.slot.rows == 1   ? all.subspan(1, 1)
                                                   : t->shape.size() == 3 ? std::span<const u64>(torch_taps) : std::span<const u64>(taps);
    if (!std::equal(t->shape.begin(), t->shape.end(), want.begin(), want.end()))
      throw Error(errc::tensor_shape, file, about, concat({"shape ", shape_text(want)}), shape_text(t->shape));
    const bool number = t->type == dtype::f32 || t->type == dtype::f16 || t->type == dtype::bf16;
    const bool converts = kernels::rounds_to(w.as);  // else its blocks are taken as they are
    const bool scaled = t->type == dtype::f8_e4m3 && w.slot.quantisable;
    const bool taken = transposed ? (number || scaled) && converts : converts ? number || scaled || (w.slot.quantisable && t->type == dtype::q8_0) : t->type == w.as;
    if (!taken)
      throw Error(errc::tensor_dtype, file, about,
                  !converts ? info(w.as).name : w.slot.quantisable ? "f32, f16, bf16 or q8_0" : "f32, f16 or bf16",
                  known(t->type) ? info(t->type).name : std::string_view(t->stored));
    return t;
  }

  // Of a layer after the last, in a family whose files have some.
  static bool looks_ahead(std::string_view name, naming as) {
    if constexpr (requires { P::model_list::family::predicts_ahead; }) {
      const std::string_view before = as == naming::hf ? "model.layers." : "blk.";
      u64 layer = 0;
      if (as == naming::hf && name.starts_with("mtp.")) return true;
      if (!name.starts_with(before)) return false;
      for (name.remove_prefix(before.size()); !name.empty() && name[0] >= '0' && name[0] <= '9' && layer < P::layers; name.remove_prefix(1))
        layer = 10 * layer + static_cast<u64>(name[0] - '0');
      return layer >= P::layers;
    }
    return false;
  }
  // A tensor that the model does not have is a wrong model, but for what converters leave behind, and what a layer that
  // reads another's cache was trained with.
  template <class S, class Names>
  static void refuse_unknown(const S& from, std::string_view file, naming as, const Names& names, std::vector<bool>& used) {
    const auto use = [&](std::string_view name) {
      if (const auto* t = from.find(name)) used[static_cast<std::size_t>(t - from.tensors().data())] = true;
    };
    for (u32 layer = 0; layer < P::layers; ++layer)
      for (const state_shape& s : P::plain[P::kind_of[layer]].states)
        for (const role is : {role::k, role::v, role::k_norm})
          if (s.shared) use(tensor_name(name_of(names, place::body, {.is = is}).in(as), false, layer, 0));
    for (std::size_t i = 0; i < used.size(); ++i) {
      const std::string_view name = from.tensors()[i].name;
      const bool harmless = as == naming::hf ? (P::tied && name == "lm_head.weight") || name.ends_with("rotary_emb.inv_freq")
                                             : name.starts_with("rope_f");
      if (looks_ahead(name, as)) continue;
      if (!harmless && !used[i])
        throw Error(errc::tensor_unknown, file, concat({"tensor ", name}),
                    "only tensors of the model", "this one");
    }
  }

  // Where row r of the model is: the tensor, and its row.
  struct file_row { u32 tensor, row; };
  static file_row row_of(const job& j, u32 r) {
    const u32 d = j.paired_head_dim, part = r / j.rows.ours, in_part = r % j.rows.ours,
              row = j.rows.first + (d == 0 ? in_part : in_part / d * d + 2 * (in_part % (d / 2)) + in_part % d / (d / 2));
    return j.tensors > 1 ? file_row{part, row} : file_row{0, part * j.rows.part + row};
  }

  template <class T> static void read_row(const T& t, const f8_matrix& scaled, u64 row, u32 columns, float* out) {
    if (t.type == dtype::f8_e4m3) scaled.read(row, 0, columns, out);
    else kernels::to_f32(t.type, t.bytes.data() + row * bytes_of(t.type, columns), columns, out);
  }
  // From a copy that is the right way round.
  template <class T>
  static u64 pack_transposed(const job& j, T& tensor, const f8_matrix& scaled, std::byte* to, team& threads) {
    const u32 rows_in_group = j.w.slot.group, cols = j.w.slot.cols;  // of the model's matrix
    std::vector<float> turned(j.w.slot.elements()), row(rows_in_group);
    for (u32 g = 0; g < j.w.slot.rows / rows_in_group; ++g)
      for (u32 c = 0; c < cols; ++c) {
        read_row(tensor, scaled, u64{g} * j.rows.part + j.rows.first + c, rows_in_group, row.data());
        for (u32 r = 0; r < rows_in_group; ++r) turned[(u64{g} * rows_in_group + r) * cols + c] = row[r];
      }
    job plain = j;
    plain.rows = {0, j.w.slot.rows, j.w.slot.rows, j.w.slot.rows};
    std::remove_const_t<T> copy = tensor;
    copy.type = dtype::f32, copy.bytes = std::as_bytes(std::span(turned));
    T* const only = &copy;
    return pack<T>(plain, {&only, 1}, nullptr, to, threads, [](T&, std::span<const std::byte>) {});
  }

  // Bytes of a file that have been packed and are still in memory, over all threads.
  static constexpr u64 kept_bytes = 8 << 20;

  // Hands what it has packed to drop(), piece by piece, from any thread. Returns the bytes that it took.
  template <class T>
  static u64 pack(const job& j, std::span<T* const> tensors, const f8_matrix* scaled, std::byte* to, team& threads,
                  function_ref<void(T&, std::span<const std::byte>)> drop) {
    const weight_slot& slot = j.w.slot;
    if (!slot.quantisable) {
      const dtype source = tensors[0]->type;
      const u64 item = info(source).bytes;
      float* const vector = reinterpret_cast<float*>(to);
      for (u32 i = 0; i < slot.elements(); ++i) {  // taps lie [taps][channels]
        float& x = vector[i % slot.cols * slot.rows + i / slot.cols];
        kernels::to_f32(source, tensors[0]->bytes.data() + row_of(j, i).row * item, 1, &x);
        if (j.was == change::plus_one) x -= 1;
        if (j.was == change::minus_exp) x = std::log(-x);
      }
      return vector_bytes(j.w);
    }
    const u32 group = slot.group ? slot.group : slot.rows, units = units_of_slot(slot);
    const auto row_bytes = [&](u32 tensor) { return bytes_of(tensors[tensor]->type, slot.cols); };
    const u32 step = static_cast<u32>(kept_bytes / threads.size() / (unit_rows * row_bytes(0))) + 1;
    const auto tensor_of_unit = [&](u32 unit) { return row_of(j, rows_of_unit(group, unit).first).tensor; };
    // Where other rows lie between ours they go too; who needs their pages reads them again.
    const auto drop_units = [&](u32 first, u32 last) {
      const u32 tensor = tensor_of_unit(first);
      const auto place = [&](u32 row) {
        const u32 part = j.tensors > 1 ? 0 : row / j.rows.ours;
        return (u64{part} * j.rows.part + j.rows.first + row % j.rows.ours) * row_bytes(tensor);
      };
      const row_range r = rows_of_unit(group, last);
      const u64 begin = place(rows_of_unit(group, first).first), end = place(r.first + r.count - 1) + row_bytes(tensor);
      drop(*tensors[tensor], tensors[tensor]->bytes.subspan(begin, end - begin));
    };
    const auto is_scaled = [&](u32 tensor) { return tensors[tensor]->type == dtype::f8_e4m3; };  // packed from copies in f32
    const bool some = std::ranges::any_of(tensors, [](const T* t) { return t->type == dtype::f8_e4m3; });
    std::vector<float> copies(some ? u64{threads.size()} * unit_rows * slot.cols : 0);
    u64 taken = 0;
    with_format(j.w.as, [&]<dtype As>() {
      taken = kernels::packed<As, Isa>::pack(to, units, slot.cols, [&](auto&& pack_unit) {
        threads.run([&](u32 thread) noexcept {
          u32 first = 0, next = 0;  // units that this thread packed last, one after the other
          const auto drop_packed = [&] {
            if (first < next) drop_units(first, next - 1);
            first = next;
          };
          threads.share(thread, units, [&](u32 u) {
            const u32 tensor = tensor_of_unit(u);
            if (u != next || (first < next && tensor != tensor_of_unit(first))) drop_packed(), first = u;
            const row_range r = rows_of_unit(group, u);
            const std::byte* rows_of_u[unit_rows]{};
            for (u32 i = 0; i < r.count; ++i) {
              const u32 row = row_of(j, r.first + i).row;
              float* const copy = copies.data() + (u64{thread} * unit_rows + i) * slot.cols;
              if (is_scaled(tensor)) read_row(*tensors[tensor], scaled[tensor], row, slot.cols, copy);
              rows_of_u[i] = is_scaled(tensor) ? reinterpret_cast<const std::byte*>(copy) : tensors[tensor]->bytes.data() + row * row_bytes(tensor);
            }
            pack_unit(u, {r.count, rows_of_u, is_scaled(tensor) ? dtype::f32 : tensors[tensor]->type});
            next = u + 1;
            if (next - first == step) drop_packed();
          });
          drop_packed();
        });
      });
    });
    return taken;
  }

  arena memory_;
  const std::byte* table_[rows][max_slots]{};
};

}  // namespace cke
CKE_COLD_END
