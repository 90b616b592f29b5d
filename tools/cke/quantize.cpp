// SPDX-License-Identifier: MIT
// quantize.cpp: cke quantize: converts a checkpoint to a GGUF file with its matrices in another type.
#include <cke/kernels/formats/convert.hpp>

#include "commands.hpp"
#include "gguf_output.hpp"
#include "recipe.hpp"
#include "rooms.hpp"

namespace cke::tool {
namespace {

// The type of each tensor. Tensors other than matrices keep their type from a GGUF source, and become f32 from another.
std::vector<dtype> planned_types(const std::vector<planned_tensor>& plan, const recipe& to, const model_facts& model,
                                 naming as) {
  const auto is_value = [](const planned_tensor& t) { return t.matrix && t.is == role::v; };
  matrix_place at{.layers = model.layers,
                  .values = static_cast<u32>(std::ranges::count_if(plan, is_value)),
                  .experts = model.experts,
                  .heads = model.heads,
                  .kv_heads = model.kv_heads};
  std::vector<dtype> types;
  for (const planned_tensor& t : plan) {
    at.is = t.is, at.layer = t.layer, at.columns = t.columns();
    at.tied = (t.is == role::embed || t.is == role::layer_embed) && model.tied;
    // llama.cpp converts the projection of per-layer embeddings to 16 bits, but never quantises it.
    const bool narrowed = t.matrix || (t.is == role::layer_project && info(to.most).block == 1);
    types.push_back(narrowed ? type_of(to, at) : as == naming::gguf ? t.rows[0].from->type : dtype::f32);
    at.value += is_value(t);
  }
  return types;
}

// Requantising adds a second error, so a source must be f32, f16, bf16, q8_0 or f8_e4m3, or keep its type.
void check_source(const checkpoint& from, const planned_tensor& t, dtype to) {
  for (const row_run& r : t.rows)
    if (const dtype has = r.from->type; has != to && has != dtype::f8_e4m3 && !kernels::convertible(has))
      throw Error(errc::tensor_dtype, from.name, "tensor " + r.from->name, "f32, f16, bf16 or q8_0 to quantise from",
                  r.from->stored);
}

}  // namespace

void quantize(const quantize_args& args) {
  const recipe& to = recipe_named(args.type);
  const checkpoint from = open_checkpoint(args.input);
  make_unit(from, {});  // refuses what cke cannot run
  const model_facts model = facts_of(from);
  const std::vector<planned_tensor> plan = plan_gguf(from, model);
  const std::vector<dtype> types = planned_types(plan, to, model, from.as);
  for (std::size_t i = 0; i < plan.size(); ++i) check_source(from, plan[i], types[i]);
  write_gguf(from, model, plan, types,
             {.path = args.output, .file_type = to.file_type, .threads = args.threads, .verb = "quantizing"});
}

}  // namespace cke::tool
