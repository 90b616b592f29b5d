// SPDX-License-Identifier: MIT
// weight_tensors.hpp: where a program's weights lie in the tensors of a checkpoint, with every shape and type checked.
#pragma once

#include <algorithm>
#include <span>
#include <string>

#include "../core/concat.hpp"
#include "../core/plain_list.hpp"
#include "../core/shape.hpp"
#include "../core/tensor_name.hpp"
#include "../kernels/linear.hpp"
#include "f8_matrix.hpp"
#include "tensor_layout.hpp"

CKE_COLD_BEGIN
namespace cke::runtime {

// A tensor that holds a weight or a part of one.
struct weight_tensor {
  dtype type = dtype::none;
  std::span<const std::byte> bytes{};
  u64 number = 0;      // in the source
  f8_matrix scaled{};  // if it is stored in f8_e4m3

  void read_row(u64 row, u32 columns, float* out) const {
    if (type == dtype::f8_e4m3) scaled.read(row, 0, columns, out);
    else kernels::to_f32(type, bytes.data() + row * bytes_of(type, columns), columns, out);
  }
};

struct weight_place : stored_weight {
  weight w;
  std::span<const weight_tensor> from;  // [count]
};

class weight_tensors {
 public:
  // All arguments outlive this.
  weight_tensors(const program_data& p, const tensor_source& from, std::string_view file, naming as,
                 std::span<const name_rule> names)
      : p_(p), from_(from), file_(file), as_(as), names_(names), layout_(p, as, names), used_(from.count()) {
    u32 most = 1;
    p.for_each_weight([&](const weight& w) { most = std::max(most, groups_of(w)); });
    found_.resize(most);
  }

  // Valid until the next call. Throws tensor_missing, tensor_shape, tensor_dtype.
  CKE_OUT_OF_LINE weight_place find(const weight& w) {
    const u32 names = layout_.spelled(w).count();
    u32 which = 0;  // of the names, the first that the file has
    while (which < names && from_.number_of(layout_.name(w, which, 0)) == from_.none) ++which;
    if (which == names) which = 0;
    change was = layout_.change_of(w);
    if (was == change::transposed && of_experts(w.slot.is) && is_plain(w, which)) was = change::none;
    const stored_weight s = layout_.of(w, which, was);
    for (u32 e = 0; e < s.count; ++e) found_[e] = tensor_of(layout_.name(w, which, e), w, s);
    return {s, w, {found_.begin(), s.count}};
  }

  // After all weights have been found. An unknown tensor means the wrong model. Exceptions: tensors that converters
  // leave in the file, k and v of a layer that reads another layer's cache, and layers after the last. Throws
  // tensor_unknown.
  void refuse_others() {
    for (u32 layer = 0; layer < p_.layers; ++layer)
      for (const state_shape& s : p_.unfused_of(layer).states)
        for (const role is : {role::k, role::v, role::k_norm})
          if (s.shared) use(tensor_name(name_of(names_, place::body, {.is = is}).in(as_)[0], false, layer, 0));
    const bool tied = p_.tied();
    for (std::size_t i = 0; i < used_.size(); ++i) {
      const std::string_view name = from_.tensor(i).name;
      const bool harmless = as_ == naming::hf
          ? (tied && name == "lm_head.weight") || name.ends_with("rotary_emb.inv_freq")
          : name.starts_with("rope_f");
      if (is_unread(name) || (p_.family.predicts_ahead && lies_beyond(name, as_, p_.layers))) continue;
      if (!harmless && !used_[i])
        throw Error(errc::tensor_unknown, file_, concat({"tensor ", name}), "only tensors of the model", "this one");
    }
  }

 private:
  // Its number; none: the file has none of this name.
  u64 use(std::string_view name) {
    const u64 number = from_.number_of(name);
    if (number != from_.none) used_[number] = 1;
    return number;
  }

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

  // Whether the matrices of experts are not transposed after all: transformers writes either, and goes by the shape.
  bool is_plain(const weight& w, u32 which) const {
    const u64 number = from_.number_of(layout_.name(w, which, 0));
    if (number == from_.none) return false;
    const std::span<const u64> shape = from_.tensor(number).shape;
    return shape.size() == 3 && shape[1] == layout_.of(w, which, change::none).rows.all && shape[2] == w.slot.cols;
  }

  weight_tensor tensor_of(const std::string& name, const weight& w, const stored_weight& as) {
    const std::string about = concat({"tensor ", name});
    const u64 number = use(name);
    if (number == from_.none) throw Error(errc::tensor_missing, file_, about, "this tensor", "none of this name");
    const source_tensor t = from_.tensor(number);
    const u64 shape[]{as.groups, as.height, as.width};
    const u64 taps[]{as.height / w.slot.cols, w.slot.cols}, torch_taps[]{as.height / w.slot.cols, 1, w.slot.cols};
    const bool folded = may_be_folded(w.slot.is) && t.shape.size() > 1 && holds(t.shape, as.height);
    const bool vector =
        !w.slot.quantisable || (w.slot.rows == 1 && t.shape.size() == 1);  // GGUF has no matrix of one row
    const std::span<const u64> all = shape,
                               want = !vector ? all.subspan(as.groups ? 0 : 1)
        : w.slot.quantisable                  ? all.subspan(2)
        : folded                              ? t.shape
        : w.slot.rows == 1                    ? all.subspan(1, 1)
        : t.shape.size() == 3                 ? std::span<const u64>(torch_taps)
                                              : std::span<const u64>(taps);
    if (!std::equal(t.shape.begin(), t.shape.end(), want.begin(), want.end()) && !is_convolution(w, t.shape) &&
        !(t.shape.empty() && !w.slot.quantisable && w.slot.elements() == 1))
      throw Error(errc::tensor_shape, file_, about, concat({"shape ", shape_text(want)}), shape_text(t.shape));
    const bool is_number = t.type == dtype::f32 || t.type == dtype::f16 || t.type == dtype::bf16;
    const bool converts = kernels::rounds_to(w.as);  // otherwise its blocks are copied unchanged
    const bool scaled = t.type == dtype::f8_e4m3 && w.slot.quantisable;
    const bool taken = as.was == change::transposed ? (is_number || scaled) && converts
        : converts ? is_number || scaled || (w.slot.quantisable && t.type == dtype::q8_0)
                   : t.type == w.as;
    if (!taken)
      throw Error(errc::tensor_dtype, file_, about,
                  !converts                ? info(w.as).name
                      : w.slot.quantisable ? "f32, f16, bf16 or q8_0"
                                           : "f32, f16 or bf16",
                  known(t.type) ? info(t.type).name : t.stored);
    weight_tensor found{t.type, t.bytes, number, {}};
    if (scaled) found.scaled = f8_matrix_of(from_, file_, t), use(f8_scales_name(name));
    return found;
  }
  // Whether a tensor is one that the model's family leaves unread.
  bool is_unread(std::string_view name) const {
    for (const std::string_view begin : p_.family.unread)
      if (name.starts_with(begin)) return true;
    return false;
  }

  const program_data& p_;
  const tensor_source& from_;
  const std::string_view file_;
  const naming as_;
  const std::span<const name_rule> names_;
  const tensor_layout layout_;
  plain_list<u32> used_;  // by number of the tensor: 0 or 1
  plain_list<weight_tensor> found_;
};

}  // namespace cke::runtime
CKE_COLD_END
