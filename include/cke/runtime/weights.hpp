// SPDX-License-Identifier: MIT
// weights.hpp: a checkpoint's tensors, checked against the program and packed for an isa into one arena.
#pragma once

#include <algorithm>
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
    std::vector<job> jobs;
    u64 room = 0;
    u32 next[rows]{};
    P::for_each_weight([&](const weight& w) {
      job& j = jobs.emplace_back(job_of(from, file, as, names, w));
      j.slot = next[j.row]++;
      room += room_for(w);
    });
    refuse_unknown(from, file, as, jobs);
    memory_ = arena(room + 64 * 1024);  // and what the prefetch of the last unit's successors touches
    u64 done = 0;
    for (const job& j : jobs) {
      std::byte* const to = memory_.data() + memory_.used();
      table_[j.row][j.slot] = to;
      const auto drop = [&](std::span<const std::byte> part) { from.drop(*from.find(j.tensor.name), part); };
      memory_.take(pack(j, to, threads, drop));
      drop(j.tensor.bytes);
      done += j.w.slot.elements();
      if (progress) progress(done, P::parameters);
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

 private:
  struct stored {
    std::string name;
    dtype type;
    std::span<const std::byte> bytes;
  };
  struct job {
    weight w;
    stored tensor;
    u32 slot, row;
    u32 first_row;        // of the tensor, that is ours: other roles may have their rows before
    u32 paired_head_dim;  // rows of a head are stored as pairs (i, i + d / 2); 0: plain order
    float more;           // what the tensor's numbers are greater by
  };

  static u64 vector_bytes(const weight& w) { return align_up(u64{w.slot.cols} * sizeof(float)); }
  // What a weight takes when packed, or more where that depends on its numbers.
  static u64 room_for(const weight& w) {
    u64 bytes = vector_bytes(w);
    if (w.slot.quantisable)
      with_format(w.as, [&]<dtype T>() { bytes = kernels::packed<T, Isa>::bytes(units_of_slot(w.slot), w.slot.cols); });
    return bytes;
  }
  // f<T>() for a format known at load; only those that the program stores are instantiated.
  template <class F> static void with_format(dtype t, F f) {
    [&]<dtype... Ts>(std::integer_sequence<dtype, Ts...>) {
      auto one = [&]<dtype T>() {
        if constexpr (P::stores(T))
          if (t == T) f.template operator()<T>();
      };
      (one.template operator()<Ts>(), ...);
    }(std::integer_sequence<dtype, dtype::f32, dtype::f16, dtype::bf16, dtype::q8_0, dtype::q4_0, dtype::q4_k,
                             dtype::q5_k, dtype::q6_k>{});
  }

  template <class S, class Names>
  CKE_OUT_OF_LINE static job job_of(const S& from, std::string_view file, naming as, const Names& names, const weight& w) {
    const name_rule& rule = name_of(names, w.where, w.slot);
    const change was = as == naming::gguf ? rule.gguf_change : change::none;
    const row_span rows_of_it = place_in_tensor(as, names, rule, w);
    const u32 row = w.where == place::header ? 0 : w.where == place::body ? w.layer + 1 : rows - 1;
    return {w, tensor_of(from, file, name_in(as, rule, w), w, rows_of_it.all), 0, row, rows_of_it.first,
            was == change::paired_heads ? head_dim_of(w) : 0, was == change::plus_one ? 1.f : 0.f};
  }
  static std::string name_in(naming as, const name_rule& rule, const weight& w) {
    std::string name(part_of(rule.in(as)).tensor);
    if (const auto hole = name.find("{}"); hole != name.npos) name.replace(hole, 2, std::to_string(w.layer));
    return name += w.slot.bias ? ".bias" : ".weight";
  }
  static u32 head_dim_of(const weight& w) {
    for (const auto& s : P::plain[P::kind_of[w.layer]].states) return s.head_dim;
    return 0;
  }

  // The rows of a tensor (elements, of a vector) that lie before those of w, and how many there are in all.
  struct row_span { u32 first, all; };
  template <class Names>
  static row_span place_in_tensor(naming as, const Names& names, const name_rule& rule, const weight& w) {
    const auto size = [](const weight_slot& s) { return s.quantisable ? s.rows : s.cols; };
    const tensor_part mine = part_of(rule.in(as));
    row_span at{0, size(w.slot)};
    if (mine.tensor == rule.in(as)) return at;
    at.all = 0;
    for (const weight_slot& s : P::plain[P::kind_of[w.layer]].slots) {
      const tensor_part other = part_of(name_of(names, w.where, s).in(as));
      if (s.bias != w.slot.bias || other.tensor != mine.tensor) continue;
      at.all += size(s);
      if (other.number < mine.number) at.first += size(s);
    }
    return at;
  }

  static std::string shape_text(std::span<const u64> shape) {
    std::string s = "[";
    for (const u64 n : shape) s = concat({s, s.size() > 1 ? ", " : "", n});
    return s += "]";
  }

  template <class S>
  static stored tensor_of(const S& from, std::string_view file, const std::string& name, const weight& w, u64 rows_in_all) {
    const std::string about = concat({"tensor ", name});
    const auto* t = from.find(name);
    if (!t) throw Error(errc::tensor_missing, file, about, "this tensor", "none of this name");
    const u64 matrix[]{rows_in_all, w.slot.cols}, vector[]{rows_in_all};
    const std::span<const u64> want = w.slot.quantisable ? std::span<const u64>(matrix) : vector;
    if (!std::equal(t->shape.begin(), t->shape.end(), want.begin(), want.end()))
      throw Error(errc::tensor_shape, file, about, concat({"shape ", shape_text(want)}), shape_text(t->shape));
    const bool number = t->type == dtype::f32 || t->type == dtype::f16 || t->type == dtype::bf16;
    const bool converts = kernels::convertible(w.as);  // else its blocks are taken as they are
    const bool taken = converts ? number || (w.slot.quantisable && t->type == dtype::q8_0) : t->type == w.as;
    if (!taken)
      throw Error(errc::tensor_dtype, file, about,
                  !converts ? info(w.as).name : w.slot.quantisable ? "f32, f16, bf16 or q8_0" : "f32, f16 or bf16",
                  known(t->type) ? info(t->type).name : std::string_view(t->stored));
    return {name, t->type, t->bytes};
  }

  // A tensor that the model does not have is a wrong model, but for what converters leave behind.
  template <class S>
  static void refuse_unknown(const S& from, std::string_view file, naming as, const std::vector<job>& jobs) {
    std::vector<bool> used(from.tensors().size());
    for (const job& j : jobs) used[static_cast<std::size_t>(from.find(j.tensor.name) - from.tensors().data())] = true;
    for (std::size_t i = 0; i < used.size(); ++i) {
      const std::string_view name = from.tensors()[i].name;
      const bool harmless = as == naming::hf ? (P::tied && name == "lm_head.weight") || name.ends_with("rotary_emb.inv_freq")
                                             : name.starts_with("rope_f");
      if (!harmless && !used[i])
        throw Error(errc::tensor_unknown, file, concat({"tensor ", name}),
                    "only tensors of the model", "this one");
    }
  }

  // The tensor's row that holds row r of the model.
  static u32 file_row(const job& j, u32 r) {
    const u32 d = j.paired_head_dim;
    return j.first_row + (d == 0 ? r : r / d * d + 2 * (r % (d / 2)) + r % d / (d / 2));
  }

  // Bytes of a file that have been packed and are still in memory, over all threads.
  static constexpr u64 kept_bytes = 8 << 20;

  // Hands what it has packed to drop(), piece by piece, from any thread. Returns the bytes that it took.
  static u64 pack(const job& j, std::byte* to, team& threads, function_ref<void(std::span<const std::byte>)> drop) {
    const dtype source = j.tensor.type;
    const weight_slot& slot = j.w.slot;
    if (!slot.quantisable) {
      const u64 item = info(source).bytes;
      float* const vector = reinterpret_cast<float*>(to);
      for (u32 i = 0; i < slot.cols; ++i) {
        kernels::to_f32(source, j.tensor.bytes.data() + file_row(j, i) * item, 1, vector + i);
        vector[i] -= j.more;
      }
      return vector_bytes(j.w);
    }
    const u32 group = slot.group ? slot.group : slot.rows, units = units_of_slot(slot);
    const u64 row_bytes = bytes_of(source, slot.cols);
    const u32 step = static_cast<u32>(kept_bytes / threads.size() / (unit_rows * row_bytes)) + 1;
    const auto drop_units = [&](u32 first, u32 last) {
      const u64 begin = (j.first_row + rows_of_unit(group, first).first) * row_bytes;
      const row_range r = rows_of_unit(group, last);
      drop(j.tensor.bytes.subspan(begin, (j.first_row + r.first + r.count) * row_bytes - begin));
    };
    u64 taken = 0;
    with_format(j.w.as, [&]<dtype T>() {
      taken = kernels::packed<T, Isa>::pack(to, units, slot.cols, [&](auto&& pack_unit) {
        threads.run([&](u32 thread) noexcept {
          u32 first = 0, next = 0;  // units that this thread packed last, one after the other
          const auto drop_packed = [&] {
            if (first < next) drop_units(first, next - 1);
            first = next;
          };
          threads.share(thread, units, [&](u32 u) {
            if (u != next) drop_packed(), first = u;
            const row_range r = rows_of_unit(group, u);
            const std::byte* rows_of_u[unit_rows]{};
            for (u32 i = 0; i < r.count; ++i)
              rows_of_u[i] = j.tensor.bytes.data() + file_row(j, r.first + i) * row_bytes;
            pack_unit(u, {r.count, rows_of_u, source});
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
