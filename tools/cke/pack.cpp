// SPDX-License-Identifier: MIT
// pack.cpp: cke pack: writes a bundle.
#include <algorithm>
#include <filesystem>

#include <cke/core/json.hpp>
#include <cke/core/xxh64.hpp>
#include <cke/io/new_file.hpp>

#include "bundle.hpp"
#include "library_model.hpp"
#include "model_hints.hpp"
#include "pack.hpp"
#include "rooms.hpp"
#include "shards.hpp"
#include "terminal.hpp"
#include "vocabulary_bytes.hpp"

namespace cke::tool {
namespace {

namespace fs = std::filesystem;

// What a checkpoint is read from.
std::vector<manifest::file> files_of(const checkpoint& from, const std::string& path) {
  std::vector<std::string> names;
  for (const tensor_ref& t : from.tensors.tensors()) names.push_back(t.file->name());
  if (from.as == naming::gguf) names.push_back(path);
  else
    for (const char* name : {"config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json",
                             "chat_template.jinja", "chat_template.json", "additional_chat_templates/tool_use.jinja",
                             "1_Pooling/config.json", "model.safetensors.index.json"})
      names.push_back(path + '/' + name);
  std::vector<manifest::file> files;
  for (const std::string& name : names) {
    manifest::file f{.path = fs::absolute(name).lexically_normal(), .bytes = 0, .sum = 0, .modified = 0};
    if (std::ranges::find(files, f.path, &manifest::file::path) != files.end()) continue;
    if (stamp_of_file(f.path, f.bytes, f.modified) && f.bytes) f.sum = sum_of_file(f.path), files.push_back(f);
  }
  return files;
}
// Throws if a file has changed meanwhile.
void check_unchanged(const std::vector<manifest::file>& files) {
  for (const manifest::file& f : files) {
    u64 bytes{};
    i64 modified{};
    if (!stamp_of_file(f.path, bytes, modified) || bytes != f.bytes || modified != f.modified)
      throw Error(errc::file, f.path, {}, "a file that stays as it is while it is packed", "one that has changed");
  }
}

// Throws unsupported.
void refuse_images(const std::string& path, bool sees) {
  if (sees)
    throw Error(errc::unsupported, path, "pack", "a model that reads text alone", "one that sees images with a tower");
}

// The places of the parts depend on the size of the manifest, which says them.
std::string text_with_places(manifest& m, u64 vocabulary_bytes, u64& file_bytes) {
  std::string text;
  u64 before = 0;
  do {
    before = m.weights.offset;
    u64 at = align_up(sizeof(bundle_header) + text.size(), bundle_alignment);
    if (m.vocabulary) m.vocabulary->offset = at, at = align_up(at + vocabulary_bytes, bundle_alignment);
    m.weights.offset = at;
    file_bytes = at + (m.shards.empty() ? m.weights.bytes : 0);
    text = m.text();
  } while (m.weights.offset != before);
  return text;
}

void write_bundle(const pack_args& args, manifest& m, const std::string& vocabulary,
                  std::span<const std::byte> weights) {
  if (!vocabulary.empty()) m.vocabulary = {0, vocabulary.size(), xxh64::of(std::as_bytes(std::span(vocabulary)))};
  bundle_header h;
  const std::string text = text_with_places(m, vocabulary.size(), h.file_bytes);
  h.manifest_bytes = text.size(), h.manifest_sum = xxh64::of(std::as_bytes(std::span(text)));
  h.sum = h.own_sum();
  std::vector<manifest::shard> before;
  if (args.replace) before = shards_of_bundle(args.output);
  io::new_file to(args.output, h.file_bytes,
                  args.replace ? io::new_file::existing::replaced : io::new_file::existing::kept);
  u64 at = 0;
  const auto put = [&](u64 offset, std::span<const std::byte> bytes) {
    const std::string zeros(offset - at, '\0');
    to.write(std::as_bytes(std::span(zeros)));
    to.write(bytes);
    at = offset + bytes.size();
  };
  put(0, std::as_bytes(std::span(&h, 1)));
  put(at, std::as_bytes(std::span(text)));
  if (m.vocabulary) put(m.vocabulary->offset, std::as_bytes(std::span(vocabulary)));
  put(m.weights.offset, m.shards.empty() ? weights : std::span<const std::byte>{});
  // A bundle of the same weights that was renamed has parts of the same names: those stay if this one fails.
  std::vector<manifest::shard> kept;
  for (const manifest::shard& s : m.shards)
    if (fs::exists(fs::symlink_status(fs::path(args.output).replace_filename(s.name)))) kept.push_back(s);
  // The bundle appears, or takes another's place, when the files that it names are there.
  try {
    write_shards(args.output, m.shards, weights);
    to.commit();
  } catch (...) {
    for (manifest::shard& s : shards_of_bundle(args.output)) kept.push_back(std::move(s));
    remove_shards(args.output, m.shards, kept);
    throw;
  }
  remove_shards(args.output, before, m.shards);
}

// What the checkpoint and its unit say.
manifest manifest_of(const model_args& args, const checkpoint& from, const unit& u) {
  manifest m;
  m.version = CKE_VERSION;
  m.family = u.family, m.type = u.type, m.format = u.format, m.kv = info(u.kv).name;
  m.source = {fs::absolute(args.path).lexically_normal(), args.numbers.format, m.kv};
  m.files = files_of(from, args.path);
  m.gguf = from.as == naming::gguf;
  m.model_type = from.model_type, m.config = from.config, m.stop_ids = from.stop_ids;
  m.pooling = stated_pooling(from, args.path);
  for (const tensor_ref& t : from.tensors.tensors())
    m.tensors.push_back({t.name, t.type == dtype::none ? t.stored : std::string(info(t.type).name), t.shape});
  return m;
}

}  // namespace

written_bundle write_bundle(const pack_args& args, made_for whom) {
  model_args model = args.model;
  if (is_bundle(model.path)) {
    const manifest::origin from = origin_of_bundle(model.path);
    model.path = from.path;
    // Another format has its own usual type of keys and values.
    if (model.numbers.kv.empty() && model.numbers.format.empty()) model.numbers.kv = from.kv;
    if (model.numbers.format.empty()) model.numbers.format = from.format;
  }
  const checkpoint from = open_model(model);
  refuse_images(model.path, json{from.config}["sees_images"].s == "true");
  const unit u = make_unit(from, model.numbers);
  manifest m = manifest_of(model, from, u);
  m.hints = hints_of(model, u).all.said_by(hint_source::profile);
  const cached_library compiled = library_of(u, whom);
  const auto& door = compiled.door;

  progress bar("packing");
  model_options options{.threads = model.threads, .context = 1, .chunk = 1};
  options.progress = [&](u64 done, u64 total) { bar.show(done, total); };
  const auto engine = load_any_model(door, from, options);
  bar.clear();
  refuse_images(model.path, engine->image_width() > 0);
  check_unchanged(m.files);

  const cke_packed_form form = door->cke_form_of_packed();
  m.isa = form.isa, m.layout = form.layout, m.program = form.program;
  m.name = u.family + ' ' + short_count(engine->parameters()) + ' ' + u.format;
  std::span<const std::byte> weights;
  each_packed(*engine, [&](const std::string& name, std::span<const std::byte> bytes) {
    m.list.push_back({name, bytes.size()});
    weights = {weights.empty() ? bytes.data() : weights.data(), weights.size() + bytes.size()};
  });
  m.weights.bytes = weights.size();
  m.block_sums = sums_of_blocks(weights, bundle_block, engine->threads());
  if (args.shard_bytes)
    m.shards = shards_of(args.output, m.block_sums, weights.size(), args.shard_bytes / bundle_block * bundle_block);
  write_bundle(args, m, from.tokens ? bytes_of_vocabulary(*from.tokens) : std::string(), weights);
  return {u, compiled, m.name, m.isa, weights.size()};
}

void pack(const pack_args& args) {
  const written_bundle made = write_bundle(args, made_for::this_command);
  put(args.output + ": " + made.name + " for " + made.isa + ", " + bytes_text(static_cast<double>(made.weight_bytes)) +
      " of weights\n");
}

}  // namespace cke::tool
