// SPDX-License-Identifier: MIT
// source.cpp: see source.hpp.
#include "source.hpp"

#include <filesystem>

#include <cke/hf.hpp>
#include <cke/io/pattern_splitter.hpp>

#include "cache.hpp"
#include "terminal.hpp"

namespace cke::tool {
namespace {

bool is_directory(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored))
    throw Error(errc::file, path, {}, "a Hugging Face directory or a .gguf file", "nothing");
  return std::filesystem::is_directory(path, ignored);
}

}  // namespace

checkpoint open_checkpoint(const std::string& path) {
  checkpoint c = is_directory(path) ? hf(path) : gguf_checkpoint(path);
  if (c.tokens && c.tokens->pre == pre_tokenizer::patterns) c.tokens = std::make_shared<const vocabulary>(with_patterns(*c.tokens, path));
  return c;
}

tokenizer open_tokenizer(const std::string& path) {
  if (!is_directory(path)) return tokenizer(with_patterns(read_gguf_tokenizer(gguf::read(path)), path), path);
  const hf_files files = read_hf_files(path);
  if (files.tokenizer.empty()) throw Error(errc::file, files.path("tokenizer.json"), {}, "a file", "none");
  return tokenizer(with_patterns(read_hf_tokenizer(files), files.tokenizer), files.tokenizer);
}

loaded_model load_model(const model_args& args, needs what, u32 logit_rows) {
  const checkpoint from = open_checkpoint(args.path);
  if (what != needs::weights && !from.tokens)
    throw Error(errc::file, args.path, "tokenizer", "one in the checkpoint", "none: only ids, with --tokens, will do");
  if (what == needs::chat && from.tokens->chat_template.empty())
    throw Error(errc::unsupported, args.path, "chat_template", "one beside the tokenizer", "none");
  const unit u = make_unit(from, args.numbers);
  const cached_library compiled = library_of(u);

  progress bar("loading");
  model_options options{.threads = args.threads, .context = args.context, .chunk = args.chunk, .logit_rows = logit_rows};
  if (options.context == 0) options.context = std::min(u.max_position ? u.max_position : 4096u, 4096u);
  options.progress = [&](u64 done, u64 total) { bar.show(done, total); };
  loaded_model m;
  m.door = compiled.door;
  m.engine = load_engine(compiled.door, from, options);
  m.family = u.family;
  m.format = u.format;
  m.name = u.family + ' ' + short_count(m.engine->parameters()) + ' ' + u.format;
  if (from.tokens) m.tokens.emplace(from.tokens, from.name);
  m.stop_ids = from.stop_ids;
  return m;
}

std::string short_count(u64 n) {
  static constexpr struct { double unit; const char* suffix; } units[] = {{1e9, "B"}, {1e6, "M"}, {1e3, "K"}};
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
