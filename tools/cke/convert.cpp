// SPDX-License-Identifier: MIT
// convert.cpp: cke convert: writes a checkpoint in another file format, its numbers as they are or as f32 or bf16.
#include <cke/io/hf_dir.hpp>
#include <cke/io/new_file.hpp>

#include "commands.hpp"
#include "gguf_output.hpp"
#include "hf_output.hpp"
#include "recipe.hpp"
#include "rooms.hpp"
#include "terminal.hpp"

namespace cke::tool {
namespace {

// ---- to a GGUF file --------------------------------------------------------------------------------

// The type that a planned tensor keeps. GGUF's own: f32 for what is no matrix.
dtype kept_type(const checkpoint& from, const planned_tensor& t) {
  if (!t.made.empty()) return dtype::f32;
  if (!t.matrix && from.as == naming::hf) return dtype::f32;
  const dtype type = t.rows[0].from->type;
  for (const row_run& r : t.rows) {
    if (r.from->type == dtype::none || r.from->type == dtype::f8_e4m3)
      throw Error(errc::tensor_dtype, from.name, "tensor " + r.from->name, "a type that GGUF has; or --to f32 or bf16",
                  r.from->stored);
    if (r.from->type != type)
      throw Error(errc::tensor_dtype, from.name, "tensor " + r.from->name,
                  t.rows[0].from->stored + " as in " + t.rows[0].from->name + ", with which it becomes one; or --to",
                  r.from->stored);
  }
  return type;
}

void convert_to_gguf(const convert_args& args) {
  const checkpoint from = open_checkpoint(args.input);
  make_unit(from, {});  // refuses what cke cannot run
  const model_facts model = facts_of(from);
  const std::vector<planned_tensor> plan = plan_gguf(from, model);
  std::vector<dtype> types;
  for (const planned_tensor& t : plan) types.push_back(kept_type(from, t));
  const auto matrix = std::ranges::find_if(plan, [](const planned_tensor& t) { return t.matrix; });
  const dtype most = matrix == plan.end() ? dtype::f32 : types[static_cast<std::size_t>(matrix - plan.begin())];
  const u32 file_type = from.as == naming::gguf ? gguf::read(from.name).get_or<u32>("general.file_type", 0)
                                                : recipe_named(info(most).name).file_type;
  write_gguf(from, model, plan, types,
             {.path = args.output, .file_type = file_type, .threads = args.threads, .verb = "converting"});
}

// ---- to a directory with safetensors ---------------------------------------------------------------

// A tensor of the new file: the bytes of the old one, or its numbers in another type.
struct new_tensor {
  const tensor_ref* from;
  std::optional<dtype> to;
  u64 bytes;
};

std::vector<new_tensor> tensors_of(const tensor_index& all, const std::string& type) {
  const dtype to = type == "f32" ? dtype::f32 : dtype::bf16;
  std::vector<new_tensor> out;
  for (const tensor_ref& t : all.tensors()) {
    if (!type.empty() && is_scale(all, t.name)) continue;  // it is in the numbers then
    const bool number =
        t.type == dtype::f32 || t.type == dtype::f16 || t.type == dtype::bf16 || t.type == dtype::f8_e4m3;
    const bool changes = !type.empty() && number && t.type != to && t.shape.size() >= 2;
    u64 numbers = 1;
    for (const u64 n : t.shape) numbers *= n;
    out.push_back({&t, changes ? std::optional(to) : std::nullopt, changes ? bytes_of(to, numbers) : t.bytes.size()});
  }
  return out;
}

std::string header_of(const std::vector<new_tensor>& tensors) {
  std::vector<written_tensor> list;
  for (const new_tensor& t : tensors)
    list.push_back({t.from->name,
                    t.to ? std::string(*t.to == dtype::f32 ? "F32" : "BF16") : t.from->stored,
                    {t.from->shape.begin(), t.from->shape.end()},
                    t.bytes});
  return safetensors_header(list);
}

void convert_to_directory(const convert_args& args) {
  const checkpoint from = open_checkpoint(args.input);
  if (from.as == naming::gguf)
    throw Error(errc::unsupported, args.input, "--output",
                "a name that ends with .gguf: a GGUF file has no config.json and tokenizer.json to write", args.output);
  make_unit(from, {});  // refuses what cke cannot run
  const tensor_index all = read_hf_weights(args.input);
  const std::vector<new_tensor> tensors = tensors_of(all, args.type);
  const std::string head = header_of(tensors);
  u64 size = head.size(), done = head.size();
  for (const new_tensor& t : tensors) size += t.bytes;

  new_folder folder(args.output);
  const std::string& path = folder.name();
  copy_small_files(args.input, folder.partial());
  if (!args.type.empty()) {
    const std::string config = config_text(read_hf_files(args.input), args.type);
    new_file file(folder.partial() + "/config.json", config.size(), new_file::existing::replaced);
    file.write(std::as_bytes(std::span(config)));
    file.commit();
  }
  {
    new_file file(folder.partial() + "/model.safetensors", size);
    file.write(std::as_bytes(std::span(head)));
    progress bar("converting");
    const interrupt_guard ctrl_c;
    for (const new_tensor& t : tensors) {
      if (interrupt_guard::flag())
        throw Error(errc::file, path, {}, "the time to finish it", "an interrupt: nothing was written");
      if (t.to) write_numbers(all, args.input, *t.from, *t.to, file);
      else file.write(t.from->bytes);
      all.drop(all.number_of(t.from->name), t.from->bytes);
      bar.show(done += t.bytes, size);
    }
    file.commit();
  }
  make_unit(open_checkpoint(folder.partial()), {});
  folder.commit();
  put(path + ": " + std::to_string(tensors.size()) + " tensors, " + bytes_text(static_cast<double>(size)) + '\n');
}

}  // namespace

void convert(const convert_args& args) {
  if (!args.output.ends_with(".gguf")) return convert_to_directory(args);
  if (args.type.empty()) return convert_to_gguf(args);
  quantize({.input = args.input, .output = args.output, .type = args.type, .threads = args.threads});
}

}  // namespace cke::tool
