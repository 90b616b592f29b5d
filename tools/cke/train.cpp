// SPDX-License-Identifier: MIT
// train.cpp: cke train: AdamW on batches, to a Hugging Face directory.
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include <cke/train/schedule.hpp>

#include "bench.hpp"
#include "commands.hpp"
#include "corpus.hpp"
#include "hf_output.hpp"
#include "rooms.hpp"
#include "saved_run.hpp"
#include "terminal.hpp"
#include "training_sample.hpp"

namespace cke::tool {
namespace {

// A line of JSON for each step, at once on its way to the disk.
class step_log {
 public:
  explicit step_log(const std::string& path) : path_(path) {
    if (path.empty()) return;
    to_.open(path, std::ios::app);
    check();
  }
  void add(u64 step, double loss, double norm, double lr, std::optional<double> held_out,
           const std::optional<std::string>& sample) {
    if (path_.empty()) return;
    nlohmann::ordered_json line{{"step", step}, {"loss", loss}, {"grad_norm", norm}, {"lr", lr}};
    if (held_out) line["held_out_loss"] = *held_out;
    if (sample) line["sample"] = *sample;
    to_ << line.dump() << std::endl;
    check();
  }

 private:
  void check() const {
    if (!to_) throw Error(errc::file, path_, {}, "a file that can be written", std::strerror(errno));
  }
  const std::string path_;
  std::ofstream to_;
};

// The batches of a file, one after the other and again from the first; or those of data.
class batch_source {
 public:
  batch_source(const train_args& args, const std::string& model) : sequences_(args.sequences), seed_(args.seed) {
    if (args.batches.empty() == args.data.empty())
      throw Error(errc::usage, {}, "--batches, --data", "one of them", args.data.empty() ? "none" : "both");
    if (!args.data.empty()) {
      context_ = args.context ? args.context : 256;
      data_.emplace(model, args.data, context_);
      return;
    }
    listed_ = read_batches(args.batches);
    for (const batch& b : listed_) context_ = std::max(context_, b.longest);
    if (args.context) context_ = std::max(context_, args.context);
  }
  u32 context() const { return context_; }
  void check_ids(u32 vocab) const {
    for (const batch& b : listed_) b.check_ids(vocab);
    if (data_) data_->check_ids(vocab);
  }
  batch at(u64 number) const { return data_ ? data_->at(number, sequences_, seed_) : listed_[number % listed_.size()]; }

 private:
  u32 context_ = 0, sequences_;
  u64 seed_;
  std::vector<batch> listed_;
  std::optional<corpus> data_;
};

// The directory of --config.
std::string config_folder(const std::string& config) {
  const std::filesystem::path path = config;
  if (std::filesystem::is_directory(path)) return config;
  if (path.filename() != "config.json")
    throw Error(errc::usage, {}, "--config", "a directory with a config.json, or that file", config);
  return path.has_parent_path() ? path.parent_path().string() : ".";
}

// A directory of --save-every whose name is taken is found before the work, too.
void refuse_taken_steps(const std::string& output, u64 taken, const train_args& args) {
  if (!args.save_every) return;
  const std::filesystem::path path(output), folder = path.has_parent_path() ? path.parent_path() : ".";
  const std::string before = path.filename().string() + ".step-";
  std::error_code unreadable;
  for (const auto& entry : std::filesystem::directory_iterator(folder, unreadable)) {
    const std::string name = entry.path().filename();
    u64 step{};
    if (!name.starts_with(before)) continue;
    const auto [end, error] = std::from_chars(name.data() + before.size(), name.data() + name.size(), step);
    if (error == std::errc{} && end == name.data() + name.size() && step > taken && step < args.steps &&
        step % args.save_every == 0)
      throw Error(errc::file, output + name.substr(before.size() - 6), {}, "a name that is free",
                  "something: remove it first");
  }
}

// The error that ends a run, after the steps that it took have been saved; it says where.
Error with_steps_kept(const Error& why, const opened_trainer& t, const std::string& model, const std::string& output,
                      u64 next_batch) {
  const std::string path = concat({output, ".step-", t.model->facts().steps});
  try {
    save_run(t, model, path, next_batch);
  } catch (const Error&) { return why; }
  const std::string kept = concat({"; what was learned until then is in ", path});
  return why.found.empty() ? Error(why.code, why.file, why.subject, why.expected + kept)
                           : Error(why.code, why.file, why.subject, why.expected, why.found + kept);
}

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

void train(const train_args& args) {
  std::optional<adapter> begin;
  if (!args.added.empty()) begin = read_adapter(args.added);
  const u32 rank = begin ? begin->rank : args.rank;  // 0: all weights are trained
  if (args.model.empty() == args.config.empty())
    throw Error(errc::usage, {}, "MODEL, --config", "one of them", args.model.empty() ? "none" : "both");
  const std::string model = args.config.empty() ? args.model : config_folder(args.config);
  if (rank == 0 && std::filesystem::is_regular_file(model))
    throw Error(errc::unsupported, model, "MODEL", "a Hugging Face directory, as the result is; or --lora-rank",
                "a GGUF file");
  const batch_source source(args, model);
  std::optional<corpus> held_out;
  if (!args.held_out.empty()) held_out.emplace(model, args.held_out, source.context());
  const std::string output = new_folder(args.output).name();  // a name that is taken is found before the work
  step_log log(args.log);
  const opened_trainer t = open_trainer(model,
                                        {.threads = args.threads,
                                         .context = source.context(),
                                         .rows = args.rows,
                                         .gradients_only = 0,
                                         .pads = 0,
                                         .padding = 0,
                                         .recompute = args.recompute,
                                         .bf16 = args.precision == "bf16",
                                         .in_f32 = args.in_f32.c_str(),
                                         .label_smoothing = args.label_smoothing,
                                         .z_loss = args.z_loss,
                                         .balance_loss = args.balance_loss,
                                         .rank = args.rank,
                                         .alpha = args.alpha,
                                         .seed = args.seed,
                                         .targets = args.targets.c_str()},
                                        !args.config.empty(), begin ? &*begin : nullptr);
  if (begin) load_additions(t, *begin);
  source.check_ids(t.model->facts().vocab);
  if (held_out) held_out->check_ids(t.model->facts().vocab);
  if (args.evaluate_every && !held_out && !args.sample)
    throw Error(errc::usage, {}, "--evaluate-every", "--held-out or --sample beside it", "neither");
  std::optional<training_sample> sample;
  if (args.sample) sample.emplace(t, *args.sample, args.sample_length, source.context(), args.seed);
  u64 next = args.resume ? resume_run(t, begin ? args.added : model) : 0;
  const train::rate_schedule rates{args.schedule == "constant"     ? train::decay::constant
                                       : args.schedule == "linear" ? train::decay::linear
                                                                   : train::decay::cosine,
                                   args.lr, args.min_lr, args.warmup, args.steps};
  const u64 taken = t.model->facts().steps;
  if (taken >= args.steps)
    throw Error(errc::usage, {}, "--steps", "more than the " + std::to_string(taken) + " that were taken",
                std::to_string(args.steps));
  refuse_taken_steps(output, taken, args);
  const interrupt_guard ctrl_c;
  // Operations for an id: forth, and back to inputs and to weights that are not frozen.
  const double operations = (rank ? 4.0 : 6.0) * static_cast<double>(t.model->facts().products);
  const auto peak_now = [&] { return 1e9 * f32_peak_of(t.model->facts().isa, t.model->facts().threads); };
  double peak = peak_now();
  u64 ids = 0;
  double spent = 0;  // seconds in steps
  const auto speed = [&] {
    const double rate = spent > 0 ? static_cast<double>(ids) / spent : 0;
    char text[80];
    std::snprintf(text, sizeof text, "%.0f tokens/s", rate);
    if (peak > 0)
      std::snprintf(text + std::strlen(text), 40, ", %.0f %% of the f32 peak", 100 * rate * operations / peak);
    return std::string(text);
  };
  std::optional<double> unseen;
  u64 after = next;  // the batch after the last step that was taken
  try {
    for (u64 step = taken + 1; step <= args.steps && !interrupt_guard::flag(); ++step) {
      const double start = seconds();
      double loss = 0;
      for (u32 k = 0; k < args.accumulate; ++k, ++next) {
        const batch b = source.at(next);
        loss += t.model->add_gradients(b.examples(), 1.0 / args.accumulate) / args.accumulate;
        for (const auto& list : b.ids) ids += list.size();
      }
      const double lr = rates.at(step);
      const double norm =
          t.model->step({static_cast<float>(lr), args.beta1, args.beta2, args.eps, args.weight_decay, args.clip});
      spent += seconds() - start, after = next;
      const bool evaluates =
          step == args.steps || interrupt_guard::flag() || (args.evaluate_every && step % args.evaluate_every == 0);
      unseen.reset();
      if (held_out && evaluates) unseen = t.model->loss(held_out->all().examples());
      std::optional<std::string> said;
      if (sample && evaluates) said = sample->text();
      log.add(step, loss, norm, lr, unseen, said);
      if (is_terminal(STDERR_FILENO))
        std::fprintf(stderr, "\r\033[Kcke: step %llu of %llu  loss %.4f  %s", static_cast<unsigned long long>(step),
                     static_cast<unsigned long long>(args.steps), loss, speed().c_str());
      if (said) {
        if (is_terminal(STDERR_FILENO)) std::fputs("\r\033[K", stderr);
        put("step " + std::to_string(step) + ": " + *args.sample + *said + '\n');
      }
      if (args.save_every && step % args.save_every == 0 && step < args.steps)
        save_run(t, model, output + ".step-" + std::to_string(step), next);
    }
  } catch (const Error& why) {
    if (t.model->facts().steps == taken) throw;
    throw with_steps_kept(why, t, model, output, after);
  }
  if (is_terminal(STDERR_FILENO)) std::fputs("\r\033[K", stderr);
  peak = std::max(peak, peak_now());  // what else runs on the machine may have slowed one of the two
  save_run(t, model, output, next);
  char loss_text[40] = "";
  if (unseen) std::snprintf(loss_text, sizeof loss_text, ", held-out loss %.4f", *unseen);
  put(output + ": " + t.name + ", " + std::to_string(t.model->facts().steps) + " steps, " + speed() + loss_text + '\n');
}

}  // namespace cke::tool
