// SPDX-License-Identifier: MIT
// saved_run.cpp: implements saved_run.hpp.
#include "saved_run.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include <cke/io/new_file.hpp>

#include "commands.hpp"
#include "hf_output.hpp"
#include "rooms.hpp"

namespace cke::tool {
namespace {

constexpr const char* optimizer_file = "optimizer.safetensors";
constexpr const char* progress_file = "training.json";
constexpr const char *first_suffix = ".first_moment", *second_suffix = ".second_moment";

void write_text(const std::string& path, const std::string& text) {
  new_file file(path, text.size(), new_file::existing::replaced);
  file.write(std::as_bytes(std::span(text)));
  file.commit();
}

void save_weights(const opened_trainer& t, const std::string& model, const std::string& folder) {
  copy_small_files(model, folder, small_files::known);
  write_text(folder + "/config.json", config_text(read_hf_files(model), "f32"));
  const auto ours = t.from.tensors.tensors();
  std::vector<float> numbers;
  const auto trained_numbers = [&](const tensor_ref* mine) {
    numbers.resize(mine ? numbers_of(*mine) : 0);
    return mine && t.model->read(CKE_PART_WEIGHTS, static_cast<std::size_t>(mine - ours.data()), numbers);
  };
  const auto has_scales = [&](const tensor_ref& raw) {
    return raw.type == dtype::f8_e4m3 && raw.shape.size() == 2 && t.stored.find(raw.name + "_scale_inv");
  };
  struct kept_tensor {
    const tensor_ref* raw;   // of the file
    const tensor_ref* mine;  // if it is trained
  };
  std::vector<kept_tensor> kept;
  std::vector<written_tensor> list;
  u64 size = 0;
  for (const tensor_ref& raw : t.stored.tensors()) {
    if (is_scale(t.stored, raw.name)) continue;  // it is in the numbers then
    const tensor_ref* const mine = same_tensor(t.from, raw);
    const bool trained = trained_numbers(mine), widened = trained || has_scales(raw);
    // A tied head that lay in the file too, with the embedding's old numbers: beside new ones it would count.
    if (mine && !trained && mine->name == "lm_head.weight") continue;
    kept.push_back({&raw, trained ? mine : nullptr});
    list.push_back({raw.name,
                    widened ? "F32" : raw.stored,
                    {raw.shape.begin(), raw.shape.end()},
                    widened ? numbers_of(raw) * sizeof(float) : raw.bytes.size()});
    size += list.back().bytes;
  }
  const std::string head = safetensors_header(list);
  new_file file(folder + "/model.safetensors", head.size() + size);
  file.write(std::as_bytes(std::span(head)));
  for (const auto& [raw, mine] : kept)
    if (trained_numbers(mine)) file.write(std::as_bytes(std::span(numbers)));
    else if (has_scales(*raw)) write_numbers(t.stored, model, *raw, dtype::f32, file);
    else file.write(raw->bytes);
  file.commit();
}

// A and B of what is added to a tensor.
struct two_matrices {
  cke_added of;
  std::vector<float> a, b;
  explicit two_matrices(const cke_added& x) : of(x), a(x.rank * x.cols), b(x.rows * x.rank) {}
  std::span<float> numbers(char which) { return which == 'A' ? std::span(a) : std::span(b); }
};

// The name that a tensor of the model has in its file; what is read of a checkpoint of several parts is renamed.
std::string name_in_file(const opened_trainer& t, const std::string& name) {
  const tensor_ref* const mine = t.from.tensors.find(name);
  for (const tensor_ref& raw : t.stored.tensors())
    if (mine && mine->bytes.data() == raw.bytes.data()) return std::string(raw.name);
  return name;
}

// Parts of all additions, under PEFT's names with the parts' suffixes.
void write_additions(const opened_trainer& t, const std::vector<std::string>& names,
                     const std::vector<written_part>& parts, const std::string& path) {
  std::vector<written_tensor> list;
  u64 size = 0;
  const auto each = [&](auto f) {
    for (const written_part& p : parts)
      for (std::size_t i = 0; i < t.model->added_count(); ++i)
        for (const char which : {'A', 'B'}) f(p, i, which);
  };
  each([&](const written_part& p, std::size_t i, char which) {
    const cke_added of = t.model->added(i);
    const std::vector<u64> shape =
        which == 'A' ? std::vector<u64>{of.rank, of.cols} : std::vector<u64>{of.rows, of.rank};
    list.push_back({adapter_name(names[i], which) + p.suffix, "F32", shape, shape[0] * shape[1] * sizeof(float)});
    size += list.back().bytes;
  });
  const std::string head = safetensors_header(list);
  new_file file(path, head.size() + size);
  file.write(std::as_bytes(std::span(head)));
  each([&](const written_part& p, std::size_t i, char which) {
    two_matrices m(t.model->added(i));
    t.model->read_added(p.part, i, m.a.data(), m.b.data());
    file.write(std::as_bytes(m.numbers(which)));
  });
  file.commit();
}

std::vector<std::string> names_of_additions(const opened_trainer& t) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < t.model->added_count(); ++i) names.push_back(name_in_file(t, t.model->added(i).name));
  return names;
}

// The ends of the names of modules, short where no other tensor of the checkpoint has such an end; of a GGUF file,
// whose names are others, whole ones.
std::vector<std::string> targets_of(const opened_trainer& t, const std::vector<std::string>& names) {
  const auto module_of = [](std::string_view name) { return name.substr(0, name.rfind('.')); };
  const auto end_of = [&](std::string_view name) {
    const std::string_view module = module_of(name);
    return module.substr(module.rfind('.') + 1);
  };
  std::set<std::string> others, targets;
  for (const tensor_ref& raw : t.stored.tensors())
    if (std::ranges::find(names, raw.name) == names.end()) others.emplace(end_of(raw.name));
  const bool whole = t.stored.tensors().empty();
  for (const std::string& name : names)
    targets.emplace(whole || others.contains(std::string(end_of(name))) ? module_of(name) : end_of(name));
  return {targets.begin(), targets.end()};
}

void save_additions(const opened_trainer& t, const std::string& model, const std::string& folder) {
  const std::vector<std::string> names = names_of_additions(t);
  write_text(folder + "/adapter_config.json", adapter_config(model, t.rank, t.alpha, targets_of(t, names)));
  write_additions(t, names, {{CKE_PART_WEIGHTS, ""}}, folder + "/adapter_model.safetensors");
  write_additions(t, names, {{CKE_PART_FIRST_MOMENTS, first_suffix}, {CKE_PART_SECOND_MOMENTS, second_suffix}},
                  folder + '/' + optimizer_file);
}

// The numbers of a tensor of an optimizer's file.
void take_state(const tensor_index& states, const std::string& file, const std::string& name, std::span<float> to) {
  const tensor_ref* const state = states.find(name);
  if (!state) throw Error(errc::tensor_missing, file, "tensor " + name, "this tensor", "none");
  if (state->type != dtype::f32 || state->bytes.size() != to.size() * sizeof(float))
    throw Error(errc::tensor_shape, file, "tensor " + name, std::to_string(to.size()) + " numbers in f32",
                state->stored);
  std::memcpy(to.data(), state->bytes.data(), state->bytes.size());
}

}  // namespace

void save_run(const opened_trainer& t, const std::string& model, const std::string& path, u64 next_batch) {
  new_folder folder(path);
  if (t.rank > 0) {
    save_additions(t, model, folder.partial());
  } else {
    save_weights(t, model, folder.partial());
    write_parts(t, {{CKE_PART_FIRST_MOMENTS, first_suffix}, {CKE_PART_SECOND_MOMENTS, second_suffix}},
                folder.partial() + '/' + optimizer_file);
  }
  write_text(folder.partial() + '/' + progress_file,
             nlohmann::ordered_json{{"steps", t.model->facts().steps}, {"next_batch", next_batch}}.dump(2) + '\n');
  folder.commit();
}

u64 resume_run(const opened_trainer& t, const std::string& folder) {
  const std::string path = folder + '/' + progress_file, file = folder + '/' + optimizer_file;
  u64 steps{}, next{};
  try {
    const auto from = nlohmann::json::parse(file_text(path));
    steps = from.at("steps").get<u64>(), next = from.at("next_batch").get<u64>();
  } catch (const nlohmann::json::exception& e) {
    throw Error(errc::malformed, path, {}, "\"steps\" and \"next_batch\" of a run of cke train", e.what());
  }
  const tensor_index states = read_safetensors(file);
  const std::pair<int32_t, const char*> moments[]{{CKE_PART_FIRST_MOMENTS, first_suffix},
                                                  {CKE_PART_SECOND_MOMENTS, second_suffix}};
  const std::vector<std::string> names = names_of_additions(t);
  for (std::size_t i = 0; i < names.size(); ++i)
    for (const auto& [part, suffix] : moments) {
      two_matrices m(t.model->added(i));
      for (const char which : {'A', 'B'})
        take_state(states, file, adapter_name(names[i], which) + suffix, m.numbers(which));
      t.model->write_added(part, i, m.a.data(), m.b.data());
    }
  const auto tensors = t.from.tensors.tensors();
  std::vector<float> numbers;
  for (std::size_t i = 0; i < tensors.size() && t.rank == 0; ++i) {
    numbers.resize(numbers_of(tensors[i]));
    if (!t.model->read(CKE_PART_WEIGHTS, i, numbers)) continue;
    for (const auto& [part, suffix] : moments) {
      take_state(states, file, std::string(tensors[i].name) + suffix, numbers);
      t.model->write(part, i, numbers);
    }
  }
  t.model->resume(steps);
  return next;
}

void load_additions(const opened_trainer& t, const adapter& from) {
  const std::vector<std::string> names = names_of_additions(t);
  for (std::size_t i = 0; i < names.size(); ++i) {
    two_matrices m(t.model->added(i));
    const adapter_pair* const pair = from.find(names[i]);
    if (!pair)
      throw Error(errc::tensor_missing, from.path, "tensor " + adapter_name(names[i], 'A'), "this tensor", "none");
    if (pair->rank != m.of.rank || pair->a->shape[1] != m.of.cols || pair->b->shape[0] != m.of.rows)
      throw Error(errc::tensor_shape, from.path, "tensor " + adapter_name(names[i], 'A'),
                  '[' + std::to_string(m.of.rank) + ", " + std::to_string(m.of.cols) + ']',
                  '[' + std::to_string(pair->rank) + ", " + std::to_string(pair->a->shape[1]) + ']');
    if (std::abs(pair->scale * static_cast<float>(pair->rank) - t.alpha) > 1e-6f * std::abs(t.alpha))
      throw Error(errc::unsupported, from.path, "alpha_pattern", "one alpha for all matrices that are trained",
                  "another for " + names[i]);
    m.a = pair->a_numbers(), m.b = pair->b_numbers();
    t.model->write_added(CKE_PART_WEIGHTS, i, m.a.data(), m.b.data());
  }
}

}  // namespace cke::tool
