// SPDX-License-Identifier: MIT
// train.cpp: cke train: AdamW on batches, to a Hugging Face directory.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include <cke/io/new_file.hpp>
#include <cke/train/schedule.hpp>

#include "commands.hpp"
#include "corpus.hpp"
#include "hf_output.hpp"
#include "rooms.hpp"
#include "terminal.hpp"
#include "training.hpp"

namespace cke::tool {
namespace {

constexpr const char* optimizer_file = "optimizer.safetensors";
constexpr const char* progress_file = "training.json";
constexpr const char *first_suffix = ".first_moment", *second_suffix = ".second_moment";

// A line of JSON for each step, at once on its way to the disk.
class step_log {
 public:
  explicit step_log(const std::string& path) : path_(path) {
    if (path.empty()) return;
    to_.open(path, std::ios::app);
    check();
  }
  void add(u64 step, double loss, double norm, double lr) {
    if (path_.empty()) return;
    to_ << nlohmann::ordered_json{{"step", step}, {"loss", loss}, {"grad_norm", norm}, {"lr", lr}}.dump() << std::endl;
    check();
  }

 private:
  void check() const {
    if (!to_) throw Error(errc::file, path_, {}, "a file that can be written", std::strerror(errno));
  }
  const std::string path_;
  std::ofstream to_;
};

void write_text(const std::string& path, const std::string& text) {
  new_file file(path, text.size(), new_file::existing::replaced);
  file.write(std::as_bytes(std::span(text)));
  file.commit();
}

// The tensor of the model that lies there in the file; null: it is another's, such as a tower's.
const tensor_ref* same_tensor(const checkpoint& from, const tensor_ref& raw) {
  const auto place = [](const tensor_ref& t) { return t.bytes.data() - t.file->bytes().data(); };
  for (const tensor_ref& t : from.tensors.tensors())
    if (t.file->name() == raw.file->name() && place(t) == place(raw) && t.bytes.size() == raw.bytes.size()) return &t;
  return nullptr;
}

// A directory with the weights, f32 where they were trained, the config, the tokenizer, and what a later run goes on
// from. It gets its name when it is complete.
void save(const opened_trainer& t, const train_args& args, const std::string& path, u64 next_batch) {
  new_folder folder(path);
  copy_small_files(args.model, folder.partial());
  write_text(folder.partial() + "/config.json", config_text(read_hf_files(args.model), "f32"));
  const tensor_index all = read_hf_weights(args.model);
  const auto ours = t.from.tensors.tensors();
  std::vector<float> numbers;
  std::vector<const tensor_ref*> kept;  // tensors of the file
  std::vector<std::size_t> trained;     // their numbers among ours; none: it goes along as it is
  constexpr auto none = ~std::size_t{0};
  std::vector<written_tensor> list;
  u64 size = 0;
  for (const tensor_ref& raw : all.tensors()) {
    if (is_scale(all, raw.name)) continue;  // it is in the numbers then
    kept.push_back(&raw);
    const tensor_ref* const mine = same_tensor(t.from, raw);
    const std::size_t index = mine ? static_cast<std::size_t>(mine - ours.data()) : none;
    numbers.resize(mine ? numbers_of(*mine) : 0);
    const bool any = mine && t.model->read(CKE_PART_WEIGHTS, index, numbers);
    trained.push_back(any ? index : none);
    list.push_back({raw.name,
                    any ? "F32" : raw.stored,
                    {raw.shape.begin(), raw.shape.end()},
                    any ? numbers.size() * sizeof(float) : raw.bytes.size()});
    size += list.back().bytes;
  }
  const std::string head = safetensors_header(list);
  {
    new_file file(folder.partial() + "/model.safetensors", head.size() + size);
    file.write(std::as_bytes(std::span(head)));
    for (std::size_t i = 0; i < trained.size(); ++i) {
      if (trained[i] == none) {
        file.write(kept[i]->bytes);
        continue;
      }
      numbers.resize(numbers_of(ours[trained[i]]));
      t.model->read(CKE_PART_WEIGHTS, trained[i], numbers);
      file.write(std::as_bytes(std::span(numbers)));
    }
    file.commit();
  }
  write_parts(t, {{CKE_PART_FIRST_MOMENTS, first_suffix}, {CKE_PART_SECOND_MOMENTS, second_suffix}},
              folder.partial() + '/' + optimizer_file);
  write_text(folder.partial() + '/' + progress_file,
             nlohmann::ordered_json{{"steps", t.model->facts().steps}, {"next_batch", next_batch}}.dump(2) + '\n');
  folder.commit();
}

// Takes up where the run that wrote the directory left off; returns the number of the next batch.
u64 resume(const opened_trainer& t, const std::string& folder) {
  const std::string path = folder + '/' + progress_file;
  u64 steps{}, next{};
  try {
    const auto from = nlohmann::json::parse(file_text(path));
    steps = from.at("steps").get<u64>(), next = from.at("next_batch").get<u64>();
  } catch (const nlohmann::json::exception& e) {
    throw Error(errc::malformed, path, {}, "\"steps\" and \"next_batch\" of a run of cke train", e.what());
  }
  const tensor_index states = read_safetensors(folder + '/' + optimizer_file);
  const auto tensors = t.from.tensors.tensors();
  std::vector<float> numbers;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    numbers.resize(numbers_of(tensors[i]));
    if (!t.model->read(CKE_PART_WEIGHTS, i, numbers)) continue;
    for (const auto& [part, suffix] : {std::pair{int32_t{CKE_PART_FIRST_MOMENTS}, first_suffix},
                                       std::pair{int32_t{CKE_PART_SECOND_MOMENTS}, second_suffix}}) {
      const std::string name = tensors[i].name + suffix;
      const tensor_ref* const state = states.find(name);
      if (!state)
        throw Error(errc::tensor_missing, folder + '/' + optimizer_file, "tensor " + name, "this tensor", "none");
      if (state->type != dtype::f32 || state->bytes.size() != numbers.size() * sizeof(float))
        throw Error(errc::tensor_shape, folder + '/' + optimizer_file, "tensor " + name,
                    std::to_string(numbers.size()) + " numbers in f32", state->stored);
      std::memcpy(numbers.data(), state->bytes.data(), state->bytes.size());
      t.model->write(part, i, numbers);
    }
  }
  t.model->resume(steps);
  return next;
}

// The batches of a file, one after the other and again from the first; or those of data.
class batch_source {
 public:
  explicit batch_source(const train_args& args) : sequences_(args.sequences), seed_(args.seed) {
    if (args.batches.empty() == args.data.empty())
      throw Error(errc::usage, {}, "--batches, --data", "one of them", args.data.empty() ? "none" : "both");
    if (!args.data.empty()) {
      context_ = args.context ? args.context : 256;
      data_.emplace(args.model, args.data, context_);
      return;
    }
    listed_ = read_batches(args.batches);
    for (const batch& b : listed_) context_ = std::max(context_, b.longest);
    if (args.context) context_ = std::max(context_, args.context);
  }
  u32 context() const { return context_; }
  void check_ids(u32 vocab) const {
    for (const batch& b : listed_) b.check_ids(vocab);
  }
  batch at(u64 number) const { return data_ ? data_->at(number, sequences_, seed_) : listed_[number % listed_.size()]; }

 private:
  u32 context_ = 0, sequences_;
  u64 seed_;
  std::vector<batch> listed_;
  std::optional<corpus> data_;
};

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

void train(const train_args& args) {
  if (open_checkpoint(args.model).as == naming::gguf)
    throw Error(errc::unsupported, args.model, "MODEL", "a Hugging Face directory, as the result is", "a GGUF file");
  const batch_source source(args);
  { const new_folder test(args.output); }  // a name that is taken is found before the work
  step_log log(args.log);
  const opened_trainer t = open_trainer(args.model,
                                        {.threads = args.threads,
                                         .context = source.context(),
                                         .rows = args.rows,
                                         .gradients_only = 0,
                                         .pads = 0,
                                         .padding = 0});
  source.check_ids(t.model->facts().vocab);
  u64 next = args.resume ? resume(t, args.model) : 0;
  const train::rate_schedule rates{args.schedule == "constant"     ? train::decay::constant
                                       : args.schedule == "linear" ? train::decay::linear
                                                                   : train::decay::cosine,
                                   args.lr, args.min_lr, args.warmup, args.steps};
  if (t.model->facts().steps >= args.steps)
    throw Error(errc::usage, {}, "--steps",
                "more than the " + std::to_string(t.model->facts().steps) + " that were taken",
                std::to_string(args.steps));
  const interrupt_guard ctrl_c;
  const double start = seconds();
  u64 ids = 0;
  for (u64 step = t.model->facts().steps + 1; step <= args.steps && !interrupt_guard::flag(); ++step) {
    double loss = 0;
    for (u32 k = 0; k < args.accumulate; ++k, ++next) {
      const batch b = source.at(next);
      loss += t.model->add_gradients(b.examples(), 1.0 / args.accumulate) / args.accumulate;
      for (const auto& list : b.ids) ids += list.size();
    }
    const double lr = rates.at(step);
    const double norm =
        t.model->step({static_cast<float>(lr), args.beta1, args.beta2, args.eps, args.weight_decay, args.clip});
    log.add(step, loss, norm, lr);
    if (is_terminal(STDERR_FILENO))
      std::fprintf(stderr, "\r\033[Kcke: step %llu of %llu  loss %.4f  %.0f tokens/s",
                   static_cast<unsigned long long>(step), static_cast<unsigned long long>(args.steps), loss,
                   static_cast<double>(ids) / (seconds() - start));
    if (args.save_every && step % args.save_every == 0 && step < args.steps)
      save(t, args, args.output + ".step-" + std::to_string(step), next);
  }
  if (is_terminal(STDERR_FILENO)) std::fputs("\r\033[K", stderr);
  save(t, args, args.output, next);
  const double took = seconds() - start;
  char line[200];
  std::snprintf(line, sizeof line, "%s: %s, %llu steps, %.0f tokens/s\n", args.output.c_str(), t.name.c_str(),
                static_cast<unsigned long long>(t.model->facts().steps), static_cast<double>(ids) / took);
  put(line);
}

}  // namespace cke::tool
