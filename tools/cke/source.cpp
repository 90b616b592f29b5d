// SPDX-License-Identifier: MIT
// source.cpp: implements source.hpp.
#include "source.hpp"

#include <chrono>
#include <filesystem>

#include <cke/core/sha256.hpp>
#include <cke/hf.hpp>
#include <cke/io/gguf_steps.hpp>
#include <cke/io/hf_config.hpp>
#include <cke/io/hf_tokenizer.hpp>
#include <cke/io/pattern_splitter.hpp>
#include <nlohmann/json.hpp>

#include "bundle.hpp"
#include "cache.hpp"
#include "library_model.hpp"
#include "mmproj.hpp"
#include "model_hints.hpp"
#include "ranked_model.hpp"
#include "rooms.hpp"
#include "terminal.hpp"

namespace cke::tool {
namespace {

bool is_directory(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored))
    throw Error(errc::file, path, {}, "a Hugging Face directory or a .gguf file", "nothing");
  return std::filesystem::is_directory(path, ignored);
}

[[noreturn]] void refuse_bundle(const std::string& path, const char* what) {
  throw Error(errc::usage, path, what, "a Hugging Face directory or a .gguf file",
              "a bundle, whose weights are packed");
}

class stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(clock::now() - start_).count(); }

 private:
  using clock = std::chrono::steady_clock;
  clock::time_point start_ = clock::now();
};

// Prints what --verbose asks for.
class stages {
 public:
  explicit stages(bool on) : on_(on) {}
  void ended(const char* name, double seconds, const std::string& about = {}) const {
    if (on_) std::fprintf(stderr, "cke: %-11s %8.3f s%s%s\n", name, seconds, about.empty() ? "" : "  ", about.c_str());
  }

 private:
  bool on_;
};

}  // namespace

// By a directory's sentence-transformers files, or by a GGUF key.
std::string stated_pooling(const checkpoint& from, const std::string& path) {
  if (from.as == naming::gguf) {
    static constexpr const char* words[] = {"", "mean", "cls", "last", "rank"};
    const std::string_view type = json{from.config}["pooling_type"].s;
    const bool known = type.size() == 1 && type[0] >= '0' && type[0] <= '4';
    return known ? words[type[0] - '0'] : std::string(type);
  }
  const std::string file = path + "/1_Pooling/config.json";
  const nlohmann::json config = io::detail::checked_object(io::detail::text_of(file), file);
  std::string all;
  for (const auto& [key, value] : config.items())
    if (key.starts_with("pooling_mode_") && value == true) all += (all.empty() ? "" : " and ") + key.substr(13);
  if (const auto mode = config.find("pooling_mode"); mode != config.end() && mode->is_string())
    all = mode->get<std::string>();
  return all;
}

checkpoint open_checkpoint(const std::string& path, double* map_seconds) {
  const auto timed = [&](auto map) {
    const stopwatch time;
    auto mapped = map();
    if (map_seconds) *map_seconds = time.seconds();
    return mapped;
  };
  if (!is_directory(path) && is_bundle(path)) refuse_bundle(path, "MODEL");
  checkpoint c = is_directory(path)
      ? hf(path, [&](const std::string& dir) { return timed([&] { return read_hf_weights(dir); }); })
      : gguf_checkpoint(timed([&] { return gguf::read(path); }));
  if (c.as == naming::gguf) check_is_text(path, c.model_type);
  if (c.tokens) c.tokens = std::make_shared<const vocabulary>(with_patterns(*c.tokens, path));
  return c;
}

checkpoint open_model(const model_args& args, double* map_seconds) {
  checkpoint c = open_checkpoint(args.path, map_seconds);
  if (c.as == naming::hf && args.mmproj)
    throw Error(errc::usage, args.path, "--mmproj", "a .gguf MODEL: a directory has its tower", "a directory");
  if (c.as == naming::gguf && has_mmproj(args.path, args.mmproj))
    c.config = "{\"sees_images\":true" + std::string(c.config == "{}" ? "" : ",") + c.config.substr(1);
  return c;
}

checkpoint open_config(const std::string& directory) {
  checkpoint c = hf(directory, [](const std::string&) { return tensor_index{}; });
  // A model with a tower names its text model's tensors otherwise.
  const std::string file = directory + "/config.json";
  const nlohmann::json config = io::detail::checked_object(read_hf_files(directory).config, file);
  for (const char* key : {"text_config", "vision_config"})
    if (config.contains(key))
      throw Error(errc::unsupported, file, concat({"key ", key}),
                  "the config of a text model, where there are no weights", "a model of several parts");
  return c;
}

tokenizer open_tokenizer(const std::string& path) {
  if (!is_directory(path) && is_bundle(path)) {
    const checkpoint from = bundle(path).as_checkpoint();
    if (!from.tokens) throw Error(errc::file, path, "tokenizer", "one in the bundle", "none");
    return tokenizer(from.tokens, path);
  }
  if (!is_directory(path)) return tokenizer(with_patterns(read_any_gguf_tokenizer(gguf::read(path)), path), path);
  const hf_files files = read_hf_files(path);
  if (files.tokenizer.empty()) throw Error(errc::file, files.path("tokenizer.json"), {}, "a file", "none");
  return tokenizer(with_patterns(read_hf_tokenizer(files), files.tokenizer), files.tokenizer);
}

namespace {

// Throws unless the checkpoint has what is needed.
void check_needs(const checkpoint& from, needs what) {
  if (what != needs::weights && !from.tokens)
    throw Error(errc::file, from.name, "tokenizer", "one in the checkpoint", "none: only ids, with --tokens, will do");
  if (what == needs::chat && from.tokens->chat_template.empty())
    throw Error(errc::unsupported, from.name, "chat_template", "one beside the tokenizer", "none");
}
model_options options_of(const model_args& args, const unit& u, u32 logit_rows, const hints& how) {
  const u32 usual = std::min(u.max_position ? u.max_position : 4096u, 4096u);
  return {
      .threads = args.threads, .context = args.context ? args.context : usual, .logit_rows = logit_rows, .hints = how};
}
cached_library compiled_of(const unit& u, const stages& stage) {
  const stopwatch compiling;
  cached_library compiled = library_of(u, made_for::this_command);
  stage.ended("compile", compiling.seconds(), (compiled.compile_seconds > 0 ? "now, " : "before, ") + compiled.path);
  return compiled;
}
// Reads them before the weights, so that what is wrong with a profile is said at once.
hints read_hints(const model_args& args, const unit& u, const hints& packed, const stages& stage) {
  const stopwatch reading;
  const model_hints h = hints_of(args, u, packed);
  if (!h.profile.empty()) stage.ended("hints", reading.seconds(), h.profile);
  return h.all.get();
}
void describe(loaded_model& m, const checkpoint& from, const unit& u) {
  m.family = u.family;
  m.format = u.format;
  m.name = u.family + ' ' + short_count(m.engine->parameters()) + ' ' + u.format;
  if (from.tokens) m.tokens.emplace(from.tokens, from.name);
  m.stop_ids = from.stop_ids;
}

loaded_model load_bundle(const model_args& args, needs what, u32 logit_rows) {
  if (args.mmproj) refuse_bundle(args.path, "--mmproj");
  const stages stage(args.verbose);
  const stopwatch all;
  const bundle packed(args.path);
  stage.ended("map", all.seconds(), std::to_string(packed.about().list.size()) + " weights");
  // While this thread does all else, others check the weights.
  const u32 threads = args.threads ? args.threads : default_threads();
  const auto checking = packed.check_weights(threads - 1);
  const stopwatch reading;
  const checkpoint from = packed.as_checkpoint();
  check_needs(from, what);
  const unit u = unit_of_bundle(packed.about(), from, args.numbers);
  stage.ended("read config", reading.seconds(), u.family);
  loaded_model m;
  m.program = program_of(u);
  m.hints = read_hints(args, u, packed.about().hints, stage);
  m.door = compiled_of(u, stage).door;
  const stopwatch waiting;
  packed.finish(*checking);
  stage.ended("check", waiting.seconds(), bytes_text(static_cast<double>(packed.about().weights.bytes)));
  const stopwatch placing;
  const std::vector<u64> sizes = packed.sizes();
  m.engine = load_packed_model(m.door, packed.packed(sizes), from.name, packed.kept(),
                               options_of(args, u, logit_rows, m.hints));
  stage.ended("place", placing.seconds(), u.format);
  describe(m, from, u);
  m.pooling = packed.about().pooling;
  stage.ended("ready", all.seconds(), m.name);
  return m;
}

// What of the options shapes a pass: ranks must agree on it.
std::string program_limits(const model_options& o) {
  const capacity k = o.limits();
  std::string text;
  for (const u32 n : {k.context, k.chunk, k.logit_rows, o.cache_positions}) text += ' ' + std::to_string(n);
  return text;
}

// A Hugging Face directory or a .gguf file; with `claim`, on one of several ranks.
loaded_model load_checkpoint(const model_args& args, needs what, u32 logit_rows, const rank_link& link,
                             rank_claim* claim) {
  const stages stage(args.verbose);
  const stopwatch all;
  double mapping = 0;
  const checkpoint from = open_model(args, &mapping);
  check_needs(from, what);
  unit_options numbers = args.numbers;
  if (claim) numbers.door = door_kind::ranked;
  const unit u = make_unit(from, numbers);
  stage.ended("read config", all.seconds() - mapping, u.family);
  stage.ended("map", mapping, std::to_string(from.tensors.tensors().size()) + " tensors");
  loaded_model m;
  m.program = program_of(u);
  m.hints = read_hints(args, u, {}, stage);
  // Ranks feed alike, and their machines may have different profiles: what all have is the command line.
  if (claim && args.profile.empty()) m.hints.chunk = args.hinted.chunk ? args.hinted.chunk : default_hints.chunk;
  m.door = compiled_of(u, stage).door;
  const stopwatch packing;
  progress bar("loading");
  model_options options = options_of(args, u, logit_rows, m.hints);
  options.progress = [&](u64 done, u64 total) { bar.show(done, total); };
  options.ranks = link;
  m.engine = load_any_model(m.door, from, options);
  bar.clear();
  stage.ended("pack", packing.seconds(), bytes_text(static_cast<double>(m.engine->weight_bytes())) + ", " + u.format);
  describe(m, from, u);
  m.pooling = stated_pooling(from, args.path);
  if (claim)
    *claim = {CKE_VERSION, sha256_of(u.text + program_limits(options)), std::string(m.engine->isa()),
              weights_fingerprint(from)};
  stage.ended("ready", all.seconds(), m.name);
  return m;
}

}  // namespace

loaded_model load_model(const model_args& args, needs what, u32 logit_rows) {
  rank_group* const ranks = rank_group::of_this_run();
  if (ranks)
    return load_on_ranks(*ranks, [&](rank_claim& claim) {
      if (is_bundle(args.path)) refuse_bundle(args.path, "mpirun");
      return load_checkpoint(args, what, logit_rows, ranks->link(), &claim);
    });
  if (is_bundle(args.path)) return load_bundle(args, what, logit_rows);
  return load_checkpoint(args, what, logit_rows, {}, nullptr);
}

loaded_model load_beside(const std::string& path, const char* option, const model_args& args, const loaded_model& first,
                         u32 logit_rows) {
  loaded_model m = load_model(
      {.path = path, .numbers = {}, .threads = args.threads, .context = first.engine->context(), .hinted = args.hinted},
      needs::weights, logit_rows);
  const bool same = first.tokens && m.tokens ? first.tokens->vocabulary().tokens == m.tokens->vocabulary().tokens
                                             : first.engine->vocab_size() == m.engine->vocab_size();
  if (!same || first.engine->vocab_size() != m.engine->vocab_size())
    throw Error(errc::config_mismatch, path, option, "the vocabulary of " + args.path, "another one");
  return m;
}

pooling pooling_of(const loaded_model& model, const std::optional<std::string>& asked) {
  const std::string& word = asked ? *asked : model.pooling;
  if (word.empty() || word == "last" || word == "lasttoken") return pooling::last;
  if (word == "mean" || word == "mean_tokens") return pooling::mean;
  if (word == "cls" || word == "cls_token") return pooling::cls;
  throw Error(errc::unsupported, model.name, "pooling", "last, mean or cls: see --pooling", word);
}

std::string short_count(u64 n) {
  static constexpr struct {
    double unit;
    const char* suffix;
  } units[] = {{1e9, "B"}, {1e6, "M"}, {1e3, "K"}};
  char text[32];
  for (const auto& [unit, suffix] : units)
    if (const double x = static_cast<double>(n) / unit; x >= 1) {
      std::snprintf(text, sizeof text, x < 10 ? "%.2f%s" : "%.1f%s", x, suffix);
      return text;
    }
  return std::to_string(n);
}

std::string bytes_text(double bytes) {
  char text[32];
  const bool large = bytes >= 1 << 30;
  std::snprintf(text, sizeof text, "%.2f %s", bytes / (large ? 1 << 30 : 1 << 20), large ? "GiB" : "MiB");
  return text;
}

}  // namespace cke::tool
