// SPDX-License-Identifier: MIT
// merge.cpp: cke merge: a checkpoint with low-rank additions in its matrices.
#include <cmath>

#include <cke/io/hf_dir.hpp>
#include <cke/io/new_file.hpp>
#include <cke/kernels/formats/convert.hpp>

#include "adapter_file.hpp"
#include "commands.hpp"
#include "hf_output.hpp"
#include "rooms.hpp"
#include "source.hpp"
#include "terminal.hpp"
#include "unit.hpp"
#include "unit_formats.hpp"

namespace cke::tool {
namespace {

// Writes W + scale B A, row by row in the type of W.
void write_sum(const std::string& file, const tensor_ref& w, const adapter_pair& p, new_file& to) {
  const u64 rows = w.shape[0], cols = w.shape[1], row_bytes = bytes_of(w.type, cols);
  const std::vector<float> a = p.a_numbers(), b = p.b_numbers();
  std::vector<float> row(cols);
  std::vector<std::byte> out(row_bytes);
  for (u64 r = 0; r < rows; ++r) {
    kernels::to_f32(w.type, w.bytes.data() + r * row_bytes, static_cast<u32>(cols), row.data());
    for (u32 k = 0; k < p.rank; ++k) {
      const float by = p.scale * b[r * p.rank + k];
      for (u64 c = 0; c < cols; ++c) row[c] += by * a[k * cols + c];
    }
    if (!std::ranges::all_of(row, [](float x) { return std::isfinite(x); }))
      throw Error(errc::config_range, file, "tensor " + std::string(w.name), "finite numbers", "one that is not");
    kernels::from_f32(w.type, row.data(), static_cast<u32>(cols), out.data());
    to.write(out);
  }
}

void check(const std::string& file, const adapter& added, const tensor_index& all) {
  for (const adapter_pair& p : added.pairs) {
    const tensor_ref* const w = all.find(p.tensor);
    const std::string about = "tensor " + p.tensor;
    if (!w) throw Error(errc::tensor_missing, file, about, "this tensor, to which " + added.path + " adds", "none");
    const u64 rows = p.b->shape[0], cols = p.a->shape[1];
    if (w->shape != tensor_shape{rows, cols})
      throw Error(errc::tensor_shape, file, about, shape_text(tensor_shape{rows, cols}) + " by " + added.path,
                  shape_text(w->shape));
    if (w->type != dtype::f32 && w->type != dtype::f16 && w->type != dtype::bf16)
      throw Error(errc::tensor_dtype, file, about, "f32, f16 or bf16; cke convert --to bf16 makes such a checkpoint",
                  w->stored);
  }
}

}  // namespace

void merge(const merge_args& args) {
  const checkpoint from = open_checkpoint(args.model);
  if (from.as == naming::gguf)
    throw Error(errc::unsupported, args.model, "MODEL", "a Hugging Face directory", "a GGUF file");
  const tensor_index all = read_hf_weights(args.model);
  const adapter added = read_adapter(args.added);
  check(args.model, added, all);
  std::vector<written_tensor> list;
  u64 size = 0;
  for (const tensor_ref& t : all.tensors()) {
    list.push_back({std::string(t.name), t.stored, {t.shape.begin(), t.shape.end()}, t.bytes.size()});
    size += t.bytes.size();
  }
  const std::string head = safetensors_header(list);
  new_folder folder(args.output);
  copy_small_files(args.model, folder.partial());
  new_file file(folder.partial() + "/model.safetensors", head.size() + size);
  file.write(std::as_bytes(std::span(head)));
  progress bar("merging");
  u64 done = 0;
  const interrupt_guard ctrl_c;
  for (const tensor_ref& t : all.tensors()) {
    if (interrupt_guard::flag())
      throw Error(errc::file, args.output, {}, "the time to finish it", "an interrupt: nothing was written");
    if (const adapter_pair* p = added.find(t.name)) write_sum(args.model, t, *p, file);
    else file.write(t.bytes);
    bar.show(done += t.bytes.size(), size);
  }
  file.commit();
  make_unit(open_checkpoint(folder.partial()), {});
  const std::string name = folder.name();
  folder.commit();
  put(name + ": " + std::to_string(added.pairs.size()) + " of " + std::to_string(all.tensors().size()) +
      " tensors are sums\n");
}

}  // namespace cke::tool
