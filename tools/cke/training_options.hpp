// SPDX-License-Identifier: MIT
// training_options.hpp: the options of cke grad and cke train.
#pragma once

#include "commands.hpp"
#include "options.hpp"

namespace cke::tool {

inline void gradient_options_of(CLI::App& app, gradient_args& to) {
  app.add_option("--label-smoothing", to.label_smoothing, "this share of each label is spread over all ids")
      ->type_name("X")
      ->check(number(0.f, 1.f))
      ->capture_default_str();
  app.add_option("--z-loss", to.z_loss,
                 "adds X times the square of log(sum(exp(logits))) to the loss, which keeps logits near 0")
      ->type_name("X")
      ->check(number(0.f, 1e3f))
      ->capture_default_str();
  app.add_option("--balance-loss", to.balance_loss,
                 "adds X times the load-balance loss of every router and sequence, which is 1 where experts are chosen "
                 "alike")
      ->type_name("X")
      ->check(number(0.f, 1e3f))
      ->capture_default_str();
  app.add_option("--precision", to.precision,
                 "of the factors of products with weights, f32 or bf16; sums, and all else, are in f32")
      ->check(CLI::IsMember({"f32", "bf16"}))
      ->capture_default_str();
  app.add_option("--in-f32", to.in_f32,
                 "with --precision bf16, matrices whose products stay in f32, by the ends of their names: "
                 "lm_head,o_proj (routers' always do)")
      ->type_name("LIST");
  app.add_option("-t,--threads", to.threads, thread_help)->check(number(0u, team::max_threads));
  app.add_option("--rows", to.rows, "about so many ids in a pass: memory depends on it, results do not")
      ->type_name("N")
      ->check(number(1u, 1u << 20))
      ->capture_default_str();
}

inline void grad_options_of(CLI::App& app, grad_args& to) {
  app.add_option("MODEL", to.model, "a Hugging Face directory or a .gguf file")->required();
  app.add_option("--batch", to.batch,
                 "a JSON file: {\"ids\": [[...], ...], \"labels\": [[...], ...]}; labels are those of the same places, "
                 "-100: ignored")
      ->type_name("FILE")
      ->required();
  app.add_option("-o,--output", to.output, "a safetensors file that is not there yet: gradients in f32")
      ->type_name("FILE")
      ->required();
  gradient_options_of(app, to);
  app.footer("Prints one JSON object: the mean loss, the labels that count, the norm of all gradients.");
}

inline void train_options_of(CLI::App& app, train_args& to) {
  const auto some = number(u64{0}, u64{1} << 40);
  const auto decay = number(0.f, 1.f, without::most);
  auto* model = app.add_option("MODEL", to.model, "a Hugging Face directory; for additions also a .gguf file");
  auto* config =
      app.add_option(
             "--config", to.config,
             "begin from nothing: the shape is that of a config.json, beside which a tokenizer may lie, and the "
             "weights are random, by --seed and the config's initializer_range")
          ->type_name("FILE")
          ->excludes(model);
  auto* batches = app.add_option("--batches", to.batches,
                                 "a JSON file: {\"batches\": [{\"ids\", \"labels\"}, ...]}, as cke grad takes them")
                      ->type_name("FILE");
  auto* data = app.add_option("--data", to.data,
                              "a text, or FILE.jsonl with {\"text\"}, {\"messages\"} or {\"ids\", \"labels\"} on each "
                              "line; may be given "
                              "again")
                   ->type_name("FILE")
                   ->allow_extra_args(false)
                   ->excludes(batches);
  app.add_option("--sequences", to.sequences, "of the data in a batch")
      ->type_name("N")
      ->check(number(1u, 1u << 16))
      ->needs(data)
      ->capture_default_str();
  app.add_option("--held-out", to.held_out, "as --data, but not learned: its loss is in the log, and told at the end")
      ->type_name("FILE")
      ->allow_extra_args(false);
  auto* sample = app.add_option("--sample", to.sample,
                                "a prompt that the model continues, every --evaluate-every steps and at the end: "
                                "printed, and in the log")
                     ->type_name("TEXT");
  app.add_option("--sample-length", to.sample_length, "at most so many ids, and no more than --context has room for")
      ->type_name("N")
      ->check(number(1u, most_positions))
      ->needs(sample)
      ->capture_default_str();
  app.add_option("--evaluate-every", to.evaluate_every,
                 "steps between evaluations of --held-out, and between samples; 0: only at the end")
      ->type_name("N")
      ->check(some)
      ->capture_default_str();
  app.add_option("--seed", to.seed, "the order of the data, and what weights or additions begin with")
      ->type_name("N")
      ->check(number(u64{0}, ~u64{0}))
      ->capture_default_str();
  app.add_option("-o,--output", to.output, "a directory that is not there yet")->type_name("DIR")->required();
  app.add_option("--steps", to.steps, "steps of the optimizer; batches begin again after the last")
      ->type_name("N")
      ->required()
      ->check(number(u64{1}, u64{1} << 40));
  app.add_option("--accumulate", to.accumulate, "batches of a step")
      ->type_name("N")
      ->check(number(1u, 1u << 20))
      ->capture_default_str();
  app.add_option("--lr", to.lr, "the highest learning rate")
      ->type_name("X")
      ->check(number(0.0, 1e3))
      ->capture_default_str();
  app.add_option("--min-lr", to.min_lr, "the learning rate at the end")
      ->type_name("X")
      ->check(number(0.0, 1e3))
      ->capture_default_str();
  app.add_option("--warmup", to.warmup, "steps in which it rises")->type_name("N")->check(some)->capture_default_str();
  app.add_option("--schedule", to.schedule, "how it falls: constant, linear, cosine")
      ->check(CLI::IsMember({"constant", "linear", "cosine"}))
      ->capture_default_str();
  app.add_option("--beta1", to.beta1, "AdamW's decay of the mean")->type_name("X")->check(decay)->capture_default_str();
  app.add_option("--beta2", to.beta2, "and of the mean of squares")
      ->type_name("X")
      ->check(decay)
      ->capture_default_str();
  app.add_option("--eps", to.eps, "added to its root")
      ->type_name("X")
      ->check(number(0.f, 1.f, without::least))
      ->capture_default_str();
  app.add_option("--weight-decay", to.weight_decay, "of tensors with two dimensions or more")
      ->type_name("X")
      ->check(number(0.f, 1e3f))
      ->capture_default_str();
  app.add_option("--clip", to.clip, "most norm of the gradients; 0: any")
      ->type_name("X")
      ->check(number(0.f, 1e6f))
      ->capture_default_str();
  app.add_option("--log", to.log, "appends a line of JSON for each step: step, loss, grad_norm, lr")->type_name("FILE");
  app.add_option("--save-every", to.save_every, "also DIR.step-K after every N steps; 0: only at the end")
      ->type_name("N")
      ->check(some)
      ->capture_default_str();
  auto* rank =
      app.add_option("--lora-rank", to.rank,
                     "train additions of this rank to the matrices of layers, in place of the weights: MODEL may "
                     "then be in any format, and DIR is an adapter as PEFT has it")
          ->type_name("N")
          ->check(number(1u, 4096u))
          ->excludes(config);
  app.add_option("--lora-alpha", to.alpha, "they count alpha / rank times")
      ->type_name("X")
      ->check(number(0.f, 1e6f))
      ->needs(rank)
      ->capture_default_str();
  app.add_option("--lora-targets", to.targets, "matrices by the ends of their names: q_proj,v_proj (all)")
      ->type_name("LIST")
      ->needs(rank);
  app.add_option("--lora", to.added, "begin with this adapter, and train it")
      ->type_name("DIR")
      ->excludes(rank)
      ->excludes(config);
  app.add_flag("--recompute", to.recompute, "compute values twice instead of keeping them: slower, far less memory");
  app.add_flag("--resume", to.resume,
               "go on where the run that wrote MODEL, or the adapter of --lora, ended: the bits are those of one run")
      ->excludes(config);
  app.add_option("-c,--context", to.context,
                 "most ids of a sequence of data (256), and what rope's rules go by (the longest sequence)")
      ->type_name("N")
      ->check(number(1u, most_positions));
  gradient_options_of(app, to);
  app.footer(
      "Without --lora-rank and --lora all weights are trained, and kept in f32, and DIR is a Hugging Face directory. "
      "With them, DIR is an adapter. The optimizer's state lies beside either. "
      "Ctrl-C ends the run after the step, and writes DIR.");
}

inline void merge_options_of(CLI::App& app, merge_args& to) {
  app.add_option("MODEL", to.model, "a Hugging Face directory")->required();
  app.add_option("--lora", to.added, "an adapter: what cke train --lora-rank wrote, or PEFT")
      ->type_name("DIR")
      ->required();
  app.add_option("-o,--output", to.output, "a directory that is not there yet")->type_name("DIR")->required();
  app.footer("Matrices keep their types.");
}

}  // namespace cke::tool
