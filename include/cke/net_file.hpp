// SPDX-License-Identifier: MIT
// net_file.hpp: the weights of a small net from a safetensors file of torch's state_dict. It needs nlohmann/json.
#pragma once

#include <initializer_list>
#include <vector>

#include "io/safetensors.hpp"
#include "net.hpp"

CKE_COLD_BEGIN
namespace cke::net {

// Takes tensors out of a file by their names, and their numbers into one row.
class tensor_reader {
 public:
  explicit tensor_reader(const io::tensor_index& tensors, std::string_view file)
      : tensors_(tensors), file_(file), used_(tensors.tensors().size()) {}

  // Throws tensor_missing, tensor_shape or tensor_dtype.
  void take(const std::string& name, const tensor& want) {
    const std::string about = concat({"tensor ", name});
    const io::tensor_ref* const t = tensors_.find(name);
    if (!t) throw Error(errc::tensor_missing, file_, about, "this tensor", "none of this name");
    used_[static_cast<std::size_t>(t - tensors_.tensors().data())] = true;
    const std::vector<u64> shape(want.shape.begin(), want.shape.begin() + want.rank());
    if (!std::ranges::equal(t->shape, shape))
      throw Error(errc::tensor_shape, file_, about, concat({"shape ", shape_text(shape)}), shape_text(t->shape));
    if (t->type != dtype::f32) throw Error(errc::tensor_dtype, file_, about, "F32", t->stored);
    const std::size_t before = numbers_.size();
    numbers_.resize(before + want.numbers());
    std::memcpy(numbers_.data() + before, t->bytes.data(), t->bytes.size());
  }

  // After all have been taken: throws tensor_unknown for one that is left, but for num_batches_tracked of batch norms.
  const std::vector<float>& numbers() const {
    for (std::size_t i = 0; i < used_.size(); ++i)
      if (const std::string& name = tensors_.tensors()[i].name; !used_[i] && !name.ends_with("num_batches_tracked"))
        throw Error(errc::tensor_unknown, file_, concat({"tensor ", name}), "only tensors of the net", "this one");
    return numbers_;
  }

 private:
  const io::tensor_index& tensors_;
  std::string file_;
  std::vector<bool> used_;
  std::vector<float> numbers_;
};

namespace detail {
// nn.GRU and nn.LSTM call the tensors of their layer K "..._lK".
inline std::string of_layer(std::string_view name, std::size_t layer) {
  return name.ends_with("_l0") ? concat({name.substr(0, name.size() - 1), layer}) : std::string(name);
}
}  // namespace detail

// The tensors of a letter, or of all letters that a word joins, numbered as nn.Sequential numbers its modules.
template <class Letter> void take_letter(tensor_reader& from, const std::string& module, std::size_t layer = 0) {
  if constexpr (requires { Letter::tensors; })
    for (const tensor& t : Letter::tensors) from.take(concat({module, ".", detail::of_layer(t.name, layer)}), t);
  else
    [&]<class... Ls>(list<Ls...>) {
      std::size_t i = 0;
      (take_letter<Ls>(from, concat({module, module.empty() ? "" : ".", i++})), ...);
    }(typename parts_of<Letter>::type{});
}

// The weights of a chain from F32 tensors called as torch calls them: "2.weight_hh_l0" is of the third letter of an
// nn.Sequential. Where modules have names of their own, `modules` names that of each letter of the chain ("" where it
// has no weights); the same name again is the next layer of an nn.GRU or nn.LSTM. Throws Error: file, malformed, usage,
// tensor_missing, tensor_shape, tensor_dtype, tensor_unknown.
template <class Net, class Isa = isa::native>
weights<Net, Isa> load(const std::string& path, std::initializer_list<std::string_view> modules = {}) {
  const io::tensor_index tensors = io::read_safetensors(path);
  tensor_reader from(tensors, path);
  if (modules.size() == 0) {
    take_letter<Net>(from, "");
  } else {
    using letters = typename parts_of<Net>::type;
    if (modules.size() != length<letters>)
      throw Error(errc::usage, path, "names of modules", concat({length<letters>, ", one for each letter"}),
                  concat({modules.size()}));
    [&]<class... Ls>(list<Ls...>) {
      const std::string_view* module = modules.begin();
      const auto layer = [&] { return std::count(modules.begin(), module, *module); };
      ((take_letter<Ls>(from, std::string(*module), static_cast<std::size_t>(layer())), ++module), ...);
    }(letters{});
  }
  return weights<Net, Isa>(std::span<const float, parameters<Net>>(from.numbers()));
}

}  // namespace cke::net
CKE_COLD_END
