// SPDX-License-Identifier: MIT
// training.cpp: implements training.hpp.
#include "training.hpp"

#include <cke/hf.hpp>
#include <cke/io/hf_dir.hpp>
#include <cke/io/new_file.hpp>
#include <filesystem>

#include "cache.hpp"
#include "hf_output.hpp"
#include "unit.hpp"

namespace cke::tool {

namespace {

// transformers gives an embedding the config's pad_token_id as padding_idx, except in these families.
bool pads(const std::string& family) { return family != "mamba2" && family != "nemotron_h"; }

// Of the numbers of matrices at the start.
float deviation_of(const checkpoint& from) {
  const json given = json{from.config}["initializer_range"];
  if (given.s.empty() || given.s == "null") return 0.02f;
  if (!given.is_number() || !(given.number() > 0 && given.number() <= 1))
    throw Error(errc::config_range, from.name, "config key initializer_range", "more than 0, at most 1",
                std::string(given.s.substr(0, 40)));
  return static_cast<float>(given.number());
}

// What the command calls an option of the library; empty: as the library does.
std::string_view flag_of(std::string_view option) {
  return option == "targets"     ? "--lora-targets"
      : option == "in_f32"       ? "--in-f32"
      : option == "balance_loss" ? "--balance-loss"
                                 : "";
}

// The matrices that an adapter adds to, by the names that the model has for them, joined by commas.
std::string modules_of(const adapter& added, const opened_trainer& t) {
  std::string all;
  for (const adapter_pair& p : added.pairs) {
    const tensor_ref *const raw = t.stored.find(p.tensor), *const mine = raw ? same_tensor(t.from, *raw) : nullptr;
    const std::string_view name = mine ? mine->name : std::string_view(p.tensor);
    (all += all.empty() ? "" : ",") += name.substr(0, name.rfind('.'));
  }
  return all;
}

}  // namespace

const tensor_ref* same_tensor(const checkpoint& from, const tensor_ref& raw) {
  const auto all = from.tensors.tensors();
  const auto at = std::ranges::find_if(all, [&](const tensor_ref& t) { return t.bytes.data() == raw.bytes.data(); });
  return at == all.end() ? nullptr : &*at;
}

opened_trainer open_trainer(const std::string& path, cke_train_options options, bool from_nothing,
                            const adapter* begin) {
  if (begin) options.rank = begin->rank, options.alpha = begin->alpha;
  opened_trainer t{{}, {}, {}, options.rank, options.alpha, nullptr};
  if (from_nothing) t.from = open_config(path);
  else if (!std::filesystem::is_directory(path)) t.from = open_checkpoint(path);
  else t.from = hf(path, [&](const std::string& dir) { return t.stored = read_hf_weights(dir); });
  const unit u = make_unit(
      t.from,
      {.format = options.rank ? "" : "f32", .kv = "f32", .door = door_kind::trainer, .from_nothing = from_nothing});
  if (const json id = json{t.from.config}["pad_token_id"]; t.from.as == naming::hf && id.is_number() && pads(u.family))
    options.pads = id.number() >= 0 && id.number() < CKE_NO_TARGET, options.padding = static_cast<u32>(id.number());
  const auto door = library_of(u, made_for::this_command).door;
  if (from_nothing)
    t.from.tensors = t.stored = initial_weights(
        *door, {options.seed, deviation_of(t.from), options.pads, options.padding}, path + ", from nothing");
  const std::string targets = begin ? modules_of(*begin, t) : std::string();
  if (begin) options.targets = targets.c_str();
  try {
    t.model = std::make_unique<trainer_model>(door, t.from, options);
  } catch (const Error& e) {
    if (begin && e.subject == "targets")
      throw Error(errc::unsupported, begin->path, "tensor " + adapter_name(e.found + ".weight", 'A'),
                  "additions to matrices of the model's layers alone", "this one");
    const std::string_view flag = flag_of(e.subject);
    if (flag.empty()) throw;
    throw Error(e.code, e.file, flag, e.expected, e.found);
  }
  t.name = u.family + ' ' + short_count(t.model->facts().parameters);
  return t;
}

u64 numbers_of(const tensor_ref& t) {
  u64 numbers = 1;
  for (const u64 n : t.shape) numbers *= n;
  return numbers;
}

u64 write_parts(const opened_trainer& t, const std::vector<written_part>& parts, const std::string& path) {
  const auto tensors = t.from.tensors.tensors();
  std::vector<float> numbers;
  std::vector<std::size_t> trained;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    numbers.resize(numbers_of(tensors[i]));
    if (t.model->read(parts[0].part, i, numbers)) trained.push_back(i);
  }
  std::vector<written_tensor> list;
  u64 size = 0;
  for (const written_part& p : parts)
    for (const std::size_t i : trained) {
      const u64 bytes = numbers_of(tensors[i]) * sizeof(float);
      list.push_back({tensors[i].name + p.suffix, "F32", {tensors[i].shape.begin(), tensors[i].shape.end()}, bytes});
      size += bytes;
    }
  const std::string head = safetensors_header(list);
  new_file file(path, head.size() + size);
  file.write(std::as_bytes(std::span(head)));
  for (const written_part& p : parts)
    for (const std::size_t i : trained) {
      numbers.resize(numbers_of(tensors[i]));
      t.model->read(p.part, i, numbers);
      file.write(std::as_bytes(std::span(numbers)));
    }
  file.commit();
  return trained.size();
}

}  // namespace cke::tool
