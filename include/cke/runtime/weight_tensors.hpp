// SPDX-License-Identifier: MIT
// weight_tensors.hpp: where a program's weights lie in the tensors of a checkpoint, with every shape and type checked.
#pragma once

#include <algorithm>
#include <span>
#include <string>

#include "../core/concat.hpp"
#include "../core/plain_list.hpp"
#include "../graph/program.hpp"
#include "../kernels/linear.hpp"
#include "f8_matrix.hpp"

CKE_COLD_BEGIN
namespace cke::runtime {

// What tensors are read from; the runtime knows no file format.
//   find(name)          a pointer to a tensor with .type, .shape (rows, cols) and .bytes; null: none
//   tensors()           all of them, with .name as well
//   drop(tensor, part)  these bytes of it have been copied, and their file pages may go; called from any thread
template <class S> concept tensor_source = requires(const S& s, std::string_view name) {
  { s.find(name)->type } -> std::convertible_to<dtype>;
  s.find(name)->bytes.data();
  s.tensors().begin()->name;
  s.drop(*s.find(name), std::span<const std::byte>{});
};

// A tensor that holds a weight or a part of one.
struct weight_tensor {
  dtype type = dtype::none;
  std::span<const std::byte> bytes{};
  u64 number = 0;      // in the source's tensors()
  f8_matrix scaled{};  // if it is stored in f8_e4m3

  void read_row(u64 row, u32 columns, float* out) const {
    if (type == dtype::f8_e4m3) scaled.read(row, 0, columns, out);
    else kernels::to_f32(type, bytes.data() + row * bytes_of(type, columns), columns, out);
  }
};

// Where the rows of a weight lie in a tensor: `ours` rows from `first` on, in every `part` rows of `all`. An expert's
// weight is such a part.
struct rows_in_tensor {
  u32 first, ours, part, all;
};  // all: rows of the tensor, or of an expert's part of it

// The columns of a transposed matrix in those of the tensor. Experts' matrices of several roles are side by side.
struct columns_in_tensor {
  u32 first, all;
};

struct weight_place {
  weight w;
  std::span<const weight_tensor> from;  // one, or one for each expert
  rows_in_tensor rows;                  // other roles may have rows before and after these
  columns_in_tensor columns;            // of a transposed matrix
  u32 paired_head_dim;                  // rows of a head are stored as pairs (i, i + d / 2); 0: plain order
  change was;                           // how the file has changed it

  // The tensor and the row in it that have row r of the model.
  struct file_row {
    u32 tensor, row;
  };
  file_row row(u32 r) const {
    const u32 d = paired_head_dim, part = r / rows.ours, in_part = r % rows.ours,
              at = rows.first + (d == 0 ? in_part : in_part / d * d + 2 * (in_part % (d / 2)) + in_part % d / (d / 2));
    return from.size() > 1 ? file_row{part, at} : file_row{0, part * rows.part + at};
  }
};

// The number of experts, or heads, that have a matrix each in a weight.
constexpr u32 groups_of(const weight& w) {
  return of_experts(w.slot.is) || of_heads(w.slot.is) ? w.slot.rows / w.slot.group : 0;
}

template <class P, tensor_source S, class Names> class weight_tensors {
 public:
  // All arguments outlive this.
  weight_tensors(const S& from, std::string_view file, naming as, const Names& names)
      : from_(from), file_(file), as_(as), names_(names), used_(from.tensors().size()) {}

  // Valid until the next call. Throws tensor_missing, tensor_shape, tensor_dtype.
  CKE_OUT_OF_LINE weight_place find(const weight& w) {
    const name_rule& rule = name_of(names_, w.where, w.slot);
    change was = rule.in_file(as_);
    const spellings& names = rule.in(as_);
    const auto name = [&](u32 which, u32 expert) {
      const u32 layer = names[which].counts_taps ? P::tap_outputs.of[w.layer] : w.layer;
      return tensor_name(names[which], w.slot.bias, layer, expert);
    };
    u32 which = 0;  // of the names, the first that the file has
    while (which < names.count() && !from_.find(name(which, 0))) ++which;
    if (which == names.count()) which = 0;
    const bool flat = of_heads(w.slot.is) && as_ == naming::hf;
    const u32 groups = groups_of(w);
    const bool apart = groups > 0 && name(which, 0) != name(which, 1);
    if (was == change::transposed && of_experts(w.slot.is) && is_plain(name(which, 0), names[which], which, w))
      was = change::none;
    const rows_in_tensor rows_of_it = place_in_tensor(names[which], which, w, was);
    const columns_in_tensor columns = columns_of(names[which], which, w, was);
    const u32 count = apart ? groups : 1;
    for (u32 e = 0; e < count; ++e)
      found_[e] =
          tensor_of(name(which, e), w, apart || flat ? 0 : groups, flat ? u64{groups} * rows_of_it.all : rows_of_it.all,
                    columns.all, was == change::transposed);
    return {w, {found_, count}, rows_of_it, columns, was == change::paired_heads ? head_dim_of(w) : 0, was};
  }

  // After all weights have been found. An unknown tensor means the wrong model. Exceptions: tensors that converters
  // leave in the file, k and v of a layer that reads another layer's cache, and layers after the last. Throws
  // tensor_unknown.
  void refuse_others() {
    for (u32 layer = 0; layer < P::layers; ++layer)
      for (const state_shape& s : P::unfused[P::kind_of[layer]].states)
        for (const role is : {role::k, role::v, role::k_norm})
          if (s.shared) use(tensor_name(name_of(names_, place::body, {.is = is}).in(as_)[0], false, layer, 0));
    for (std::size_t i = 0; i < used_.size(); ++i) {
      const std::string_view name = from_.tensors()[i].name;
      const bool harmless = as_ == naming::hf
          ? (P::tied && name == "lm_head.weight") || name.ends_with("rotary_emb.inv_freq")
          : name.starts_with("rope_f");
      if (looks_ahead(name) || is_unread(name)) continue;
      if (!harmless && !used_[i])
        throw Error(errc::tensor_unknown, file_, concat({"tensor ", name}), "only tensors of the model", "this one");
    }
  }

 private:
  static constexpr u32 most_tensors = [] {
    u32 most = 1;
    P::for_each_weight([&](const weight& w) { most = std::max(most, groups_of(w)); });
    return most;
  }();

  // Null: the file has none of this name.
  auto use(std::string_view name) {
    const auto* const t = from_.find(name);
    if (t) used_[number_of(*t)] = 1;
    return t;
  }
  std::size_t number_of(const auto& t) const { return static_cast<std::size_t>(&t - from_.tensors().data()); }

  // Whether a tensor has as many numbers.
  static bool holds(std::span<const u64> shape, u64 numbers) {
    u64 all = 1;
    for (const u64 n : shape)
      if (!checked_mul(all, n, all)) return false;
    return all == numbers;
  }
  // The matrix of patches, as files have it: [out, channels, height, width], perhaps with frames.
  static bool is_convolution(const weight& w, std::span<const u64> shape) {
    return w.slot.is == role::patch && w.slot.quantisable && shape.size() > 2 && shape[0] == w.slot.rows &&
        holds(shape.subspan(1), w.slot.cols);
  }

  static u32 head_dim_of(const weight& w) {
    for (const auto& s : P::unfused[P::kind_of[w.layer]].states) return s.head_dim;
    return 0;
  }

  // Rows of the model's matrix, of an expert's or a head's; a vector counts as a matrix of one column.
  static u32 rows_of_model(const weight_slot& s) {
    return !s.quantisable ? s.rows * s.cols : of_experts(s.is) || of_heads(s.is) ? s.group : s.rows;
  }
  // What comes before a role, and the sum of all, where a tensor keeps several one after the other.
  struct share {
    u32 first{}, all{};
  };
  share share_of(const spelling& mine, u32 which, const weight& w, auto size) const {
    share at;
    for (const weight_slot& s : P::unfused[P::kind_of[w.layer]].slots) {
      const spelling& other = name_of(names_, w.where, s).in(as_)[which];
      if (s.bias != w.slot.bias || !other.in_tensor_of(mine)) continue;
      at.all += size(s);
      if (other.index < mine.index) at.first += size(s);
    }
    return at;
  }
  // Whether the matrices of experts are not transposed after all: transformers writes either, and goes by the shape.
  bool is_plain(const std::string& tensor, const spelling& mine, u32 which, const weight& w) const {
    const auto* const t = from_.find(tensor);
    return t && t->shape.size() == 3 && t->shape[1] == place_in_tensor(mine, which, w, change::none).all &&
        t->shape[2] == w.slot.cols;
  }
  // The model's rows are the columns of a transposed matrix; of experts, those of all roles of the tensor.
  columns_in_tensor columns_of(const spelling& mine, u32 which, const weight& w, change was) const {
    if (was != change::transposed) return {0, w.slot.cols};
    if (!mine.is_part() || !of_experts(w.slot.is)) return {0, rows_of_model(w.slot)};
    const share at = share_of(mine, which, w, rows_of_model);
    return {at.first, at.all};
  }
  rows_in_tensor place_in_tensor(const spelling& mine, u32 which, const weight& w, change was) const {
    const auto whole = [&](const weight_slot& s) {
      const change its = of_experts(s.is) ? was : name_of(names_, w.where, s).in_file(as_);
      return its == change::transposed ? s.cols : rows_of_model(s);
    };
    const auto size = [&](const weight_slot& s) { return mine.take == taking::head_rows ? s.part : whole(s); };
    const u32 ours = size(w.slot);
    if (!mine.is_part() || (was == change::transposed && of_experts(w.slot.is))) return {0, ours, ours, ours};
    const share at = share_of(mine, which, w, size);
    return {at.first, ours, at.all, at.all * (whole(w.slot) / ours)};
  }
  static std::string shape_text(std::span<const u64> shape) {
    std::string s = "[";
    for (const u64 n : shape) s = concat({s, s.size() > 1 ? ", " : "", n});
    return s += "]";
  }

  weight_tensor tensor_of(const std::string& name, const weight& w, u64 groups, u64 height, u64 width,
                          bool transposed) {
    const std::string about = concat({"tensor ", name});
    const auto* t = use(name);
    if (!t) throw Error(errc::tensor_missing, file_, about, "this tensor", "none of this name");
    const u64 shape[]{groups, height, width};
    const u64 taps[]{height / w.slot.cols, w.slot.cols}, torch_taps[]{height / w.slot.cols, 1, w.slot.cols};
    const bool folded = may_be_folded(w.slot.is) && t->shape.size() > 1 && holds(t->shape, height);
    const bool vector =
        !w.slot.quantisable || (w.slot.rows == 1 && t->shape.size() == 1);  // GGUF has no matrix of one row
    const std::span<const u64> all = shape,
                               want = !vector ? all.subspan(groups ? 0 : 1)
        : w.slot.quantisable                  ? all.subspan(2)
        : folded                              ? std::span<const u64>(t->shape)
        : w.slot.rows == 1                    ? all.subspan(1, 1)
        : t->shape.size() == 3                ? std::span<const u64>(torch_taps)
                                              : std::span<const u64>(taps);
    if (!std::equal(t->shape.begin(), t->shape.end(), want.begin(), want.end()) && !is_convolution(w, t->shape) &&
        !(t->shape.empty() && !w.slot.quantisable && w.slot.elements() == 1))
      throw Error(errc::tensor_shape, file_, about, concat({"shape ", shape_text(want)}), shape_text(t->shape));
    const bool number = t->type == dtype::f32 || t->type == dtype::f16 || t->type == dtype::bf16;
    const bool converts = kernels::rounds_to(w.as);  // otherwise its blocks are copied unchanged
    const bool scaled = t->type == dtype::f8_e4m3 && w.slot.quantisable;
    const bool taken = transposed ? (number || scaled) && converts
        : converts                ? number || scaled || (w.slot.quantisable && t->type == dtype::q8_0)
                                  : t->type == w.as;
    if (!taken)
      throw Error(errc::tensor_dtype, file_, about,
                  !converts                ? info(w.as).name
                      : w.slot.quantisable ? "f32, f16, bf16 or q8_0"
                                           : "f32, f16 or bf16",
                  known(t->type) ? info(t->type).name : std::string_view(t->stored));
    weight_tensor found{t->type, t->bytes, number_of(*t), {}};
    if (scaled) found.scaled = f8_matrix_of(from_, file_, name, *t), use(f8_scales_name(name));
    return found;
  }
  // Whether a tensor belongs to a layer after the last (multi-token prediction), in a family whose files have such
  // layers.
  bool looks_ahead(std::string_view name) const {
    if constexpr (requires { P::model_list::family::predicts_ahead; }) {
      const std::string_view before = as_ == naming::hf ? "model.layers." : "blk.";
      u64 layer = 0;
      if (as_ == naming::hf && name.starts_with("mtp.")) return true;
      if (!name.starts_with(before)) return false;
      for (name.remove_prefix(before.size()); !name.empty() && name[0] >= '0' && name[0] <= '9' && layer < P::layers;
           name.remove_prefix(1))
        layer = 10 * layer + static_cast<u64>(name[0] - '0');
      return layer >= P::layers;
    }
    return false;
  }

  // Whether a tensor is one that the model's family leaves unread.
  static bool is_unread(std::string_view name) {
    if constexpr (requires { P::model_list::family::unread; })
      for (const std::string_view begin : P::model_list::family::unread)
        if (name.starts_with(begin)) return true;
    return false;
  }

  const S& from_;
  const std::string_view file_;
  const naming as_;
  const Names& names_;
  plain_list<u32> used_;  // by number of the tensor: 0 or 1
  weight_tensor found_[most_tensors];
};

}  // namespace cke::runtime
CKE_COLD_END
