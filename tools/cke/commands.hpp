// SPDX-License-Identifier: MIT
// commands.hpp: the arguments of each command, and the function that runs it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "answer_args.hpp"
#include "image_args.hpp"
#include "rooms.hpp"
#include "source.hpp"

namespace cke::tool {

struct run_args {
  model_args model;
  std::string prompt;
  std::optional<std::string> tokens;  // ids instead of a prompt
  image_args shown;
  answer_args answer;  // max_tokens absent: 256, or the rest of the context
  // With one of these the prompt is a user's message in the model's chat form.
  std::optional<std::string> system;
  std::optional<bool> thinking;
  std::optional<std::string> grammar, json_schema;        // files: the answer must match one
  u32 draft = 0;                                          // ids guessed per step; 0: none
  std::optional<std::string> draft_model;                 // guesses the ids; absent: the text so far does
  std::optional<std::string> load_session, save_session;  // files
  u32 beams = 0, answers = 1;                             // beams: 0: no beam search
  float length_penalty = 1;
  std::string early_stopping = "no";  // no, yes, never
  bool ids = false;                   // print ids, not text
  bool slide = false;                 // continue past the context
};
void run(const run_args& args);

struct chat_args {
  model_args model;
  image_args shown;  // with the first message
  std::string system;
  answer_args answer;  // max_tokens absent: what the context leaves
  u32 draft = 0;       // ids guessed per step
  std::optional<bool> thinking;
  bool slide = false;  // continue past the context
};
void chat(const chat_args& args);

struct logits_args {
  model_args model;
  std::string tokens, output;
  image_args shown;  // for the placeholders among the ids
  bool last = false;
};
void logits(const logits_args& args);

struct dump_args {
  model_args model;
  std::optional<std::string> prompt, tokens;        // one of them
  std::optional<std::string> ops, layers, stop_at;  // a pattern of names; ranges; a name
  std::string output;
  bool ckdmp = false, fused = false, counters = false;
  bool list = false, json = false;  // print the names, and run nothing
};
void dump(const dump_args& args);

struct compare_args {
  std::string a, b;
  double tolerance = 1e-4;
};
void compare(const compare_args& args);

struct bisect_args {
  model_args model;
  std::string reference;
  double tolerance = 1e-4;
  bool fused = false;
};
void bisect(const bisect_args& args);

struct vision_args {
  model_args model;
  image_args shown;
  std::optional<std::string> pixels, grid;  // in place of an image: what a processor made of one
  bool pooled = false;                      // one row for an image
  std::vector<std::string> texts;           // scored for each image
  bool json = false;                        // of scores
  std::string output;
};
void vision(const vision_args& args);
void vision_scores(const vision_args& args);

struct perplexity_args {
  model_args model;
  std::string file;                    // a text
  std::optional<std::string> against;  // the reference
  u32 stride = 0;                      // 0: half of the context
  bool json = false;
};
void perplexity(const perplexity_args& args);

struct embed_args {
  model_args model;
  std::vector<std::string> prompts;
  std::optional<std::string> pooling;  // absent: as the checkpoint says
  u32 dimensions = 0;                  // 0: all
  bool json = false;
};
void embed(const embed_args& args);

struct text_args {
  std::string path;
  std::optional<std::string> prompt, file;  // neither: standard input
  std::string tokens;
  bool special = true;
};
void tokenize(const text_args& args);
void detokenize(const text_args& args);

struct template_args {
  std::string path, messages;
  std::optional<std::string> tools, set;  // tools: a file; set: a JSON object
  std::optional<std::string> mmproj;      // a file, as in model_args
  bool generation = true, thinking = true, ids = false;
};
void render_template(const template_args& args);

struct inspect_args {
  model_args model;
  bool plan = false, json = false;
  bool train = false;    // the memory of training all weights
  bool explain = false;  // each hint and its source
  u32 ranks = 0;         // what each of so many holds and sends; 0: not asked for
};
void inspect(const inspect_args& args);

struct families_args {
  bool json = false;
  std::optional<std::string> status;  // what tests established: their folder, or a file; absent: that of this build
};
void families(const families_args& args);

struct kernels_args {
  bool json = false;
};
void kernels(const kernels_args& args);

struct quantize_args {
  std::string input, output, type;
  u32 threads = 0;
};
void quantize(const quantize_args& args);

struct convert_args {
  std::string input, output;
  std::string type;  // f32, bf16; empty: as the checkpoint has them
  u32 threads = 0;
};
void convert(const convert_args& args);

// How gradients are computed, and of what.
struct gradient_args {
  float label_smoothing = 0, z_loss = 0, balance_loss = 0;
  std::string precision = "f32", in_f32;  // in_f32: matrices whose products stay there
  u32 threads = 0, rows = 512;
};
struct grad_args : gradient_args {
  std::string model, batch, output;
};
void grad(const grad_args& args);

struct train_args : gradient_args {
  std::string model, output, log;
  std::string config;                         // a directory, or its config.json, to begin from nothing
  std::string batches;                        // a file of ids and labels, or
  std::vector<std::string> data;              // files of text, chats and ids
  std::vector<std::string> held_out;          // likewise, not learned: the loss of all of it is told
  std::optional<std::string> sample;          // a prompt, which the model continues
  u32 sample_length = 64;                     // ids of it
  u64 evaluate_every = 0;                     // steps; 0: only at the end
  u32 sequences = 8;                          // of a batch of data
  u64 seed = 0;                               // of their order
  u64 steps = 0, warmup = 0, save_every = 0;  // save_every 0: only at the end
  u32 accumulate = 1;                         // batches of a step
  double lr = 1e-4, min_lr = 0;
  std::string schedule = "cosine";  // constant, linear, cosine
  float beta1 = 0.9f, beta2 = 0.95f, eps = 1e-8f, weight_decay = 0.1f, clip = 1;
  u32 context = 0;  // 0: the longest sequence of batches, 256 of data
  bool resume = false, recompute = false;
  u32 rank = 0;  // of low-rank additions, which are trained in place of the weights
  float alpha = 16;
  std::string targets;  // matrices that have additions; empty: all of layers
  std::string added;    // a directory with additions to begin with
};
void train(const train_args& args);

struct merge_args {
  std::string model, added, output;
};
void merge(const merge_args& args);

struct bench_args {
  model_args model;
  std::vector<u32> prompt{512}, generate{128}, depth{0};
  std::vector<u32> sequences{1};  // that decode together
  std::vector<u32> threads{0};    // overrides the model's
  u32 repetitions = 5;
  bool peaks = false;                   // also measure the machine's peaks, and the fraction reached
  std::optional<std::string> profile;   // writes a Chrome trace to this file instead
  std::string output = "md";            // md, csv, json, jsonl, html
  std::optional<std::string> baseline;  // what -o json or jsonl wrote: nothing may be slower or larger now
  double tolerance = 0.03;              // by more than this share
};
void bench(const bench_args& args);

struct report_args {
  model_args model;
  std::string output;
  std::optional<std::string> prompt;     // a text; absent: ids that stand for one
  u32 generate = 32;                     // ids after it, each measured
  u32 repetitions = 5;                   // of the passes that are traced
  std::optional<std::string> reference;  // a dump, with which what the steps write is compared
  double tolerance = 1e-4;               // as of compare
  std::optional<std::string> log;        // what cke train --log wrote
};
void report(const report_args& args);
struct tune_args {
  model_args model;
  u32 prompt = 512, generate = 64;    // ids
  u32 seconds = 600;                  // at most, about
  std::optional<std::string> output;  // a file; absent: where other commands look
};
void tune(const tune_args& args);

struct serve_args {
  model_args model;
  std::string host = "127.0.0.1";
  u16 port = 8080;
  u32 slots = 4, queue = 64;
  u32 draft = 0;                           // ids guessed per step, for all answers together
  std::optional<std::string> draft_model;  // guesses the ids; absent: each answer's own text does
  u32 drain = 30;                          // seconds
  std::optional<std::string> id, api_key_file, pooling;
  std::vector<std::string> allowed_hosts;
  std::string cors_origin;
  bool insecure = false;
  bool slide = false;                 // answers continue past the context
  std::optional<u32> body_mebibytes;  // of a request; absent: 4, and 32 for a model that sees images
  u32 images = 32;                    // of a request
  u64 image_pixels = 1 << 25;         // of one image
  bool fetch_images = false;          // from http and https addresses
  std::optional<std::string> trace;   // a Chrome trace of passes and requests
};
void serve_model(const serve_args& args);

struct pack_args {
  model_args model;
  std::string output;
  bool replace = false;  // a file of that name
  u64 shard_bytes = 0;   // of a file with weights, at most; 0: they are all in the bundle's own
};
void pack(const pack_args& args);

struct build_args {
  model_args model;
  bool print_unit = false;
  std::optional<std::string> standalone;  // a folder to be made
  bool embed = false;
  std::string output;          // of embed: NAME.hpp or NAME.o
  std::string isa = "scalar";  // of embed: or native
};
void build(const build_args& args);
void embed(const build_args& args);  // build --embed

// Parses "1,2,3". Throws usage if it is not a list of numbers, token_range for a number beyond 32 bits.
std::vector<u32> parse_ids(const std::string& list);
// "[1, 2, 3]"
std::string ids_text(std::span<const u32> ids);
// Reads a file, or a pipe such as /dev/stdin. Throws Error{file}.
std::string file_text(const std::string& path);

}  // namespace cke::tool
