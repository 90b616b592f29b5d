// SPDX-License-Identifier: MIT
// embed_model.cpp: cke build --embed: a model as a header, and the bytes that it is linked with.
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <cke/core/json.hpp>
#include <cke/io/new_file.hpp>

#include "bare_image.hpp"
#include "bundle.hpp"
#include "cache.hpp"
#include "commands.hpp"
#include "embed_source.hpp"
#include "rooms.hpp"
#include "scratch_folder.hpp"
#include "terminal.hpp"

namespace cke::tool {
namespace {

namespace fs = std::filesystem;

// NAME of NAME.hpp or NAME.o. Throws usage unless it is a name in C++.
std::string identifier_of(const std::string& output) {
  const fs::path path = output;
  const std::string name = path.stem();
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const bool fits = !name.empty() && letter(name[0]) && name.size() <= 64 &&
      std::ranges::all_of(name, [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
  if (!fits || (path.extension() != ".hpp" && path.extension() != ".o"))
    throw Error(errc::usage, {}, "-o", "NAME.hpp or NAME.o, of letters, digits and _",
                output.empty() ? "nothing" : output);
  return name;
}

// For each id the end of its text, then the texts. Empty without a tokenizer.
std::string texts_of(const checkpoint& from, u32 vocab) {
  if (!from.tokens) return {};
  const tokenizer tokens(from.tokens, from.name);
  std::string texts;
  std::vector<u32> ends(vocab);
  for (u32 id = 0; id < vocab; ++id) {  // a model may have more ids than texts
    if (id < tokens.vocab_size()) texts += tokens.piece(id);
    if (texts.size() > ~u32{0}) throw Error(errc::unsupported, from.name, "vocabulary", "less than 4 GiB", "more");
    ends[id] = static_cast<u32>(texts.size());
  }
  return std::string(reinterpret_cast<const char*>(ends.data()), ends.size() * sizeof(u32)) + texts;
}

void write_new_file(const fs::path& path, std::initializer_list<std::string_view> parts) {
  u64 size = 0;
  for (const std::string_view part : parts) size += part.size();
  io::new_file file(path, size, io::new_file::existing::replaced);
  for (const std::string_view part : parts) file.write(std::as_bytes(std::span(part)));
  file.commit();
}

void write_object(const embedded& e, const std::string& output, const std::string& image, const std::string& texts) {
  const scratch_folder work(output);
  const fs::path source = work.path() / (e.name + ".S"), object = work.path() / (e.name + ".o");
  write_new_file(work.path() / (e.name + ".bin"), {image, texts});
  write_new_file(source, {embedded_assembler(e)});
  assemble(source, object);
  std::error_code failed;
  fs::rename(object, output, failed);
  if (failed) throw Error(errc::file, output, {}, "a file that can be written", failed.message());
}

}  // namespace

void embed(const build_args& args) {
  embedded e;
  e.name = identifier_of(args.output), e.object = args.output.ends_with(".o");
  if (is_bundle(args.model.path))
    throw Error(errc::unsupported, args.model.path, "--embed", "a Hugging Face directory or a .gguf file", "a bundle");
  const checkpoint from = open_model(args.model);
  const json config{from.config};
  if (config["sees_images"].s == "true")
    throw Error(errc::unsupported, args.model.path, "--embed", "a model that reads text alone", "one that sees images");
  unit_options numbers = args.model.numbers;
  numbers.door = door_kind::bare, numbers.isa = e.isa = args.isa;
  u32 longest = make_unit(from, args.model.numbers).max_position;
  longest = longest ? longest : 256;
  e.context = numbers.context = args.model.context ? args.model.context : std::min(longest, 256u);
  const unit u = make_unit(from, numbers);
  const auto door = library_of(u, made_for::any_program).door;

  progress bar("packing");
  model_options options{.threads = args.model.threads};
  options.progress = [&](u64 done, u64 total) { bar.show(done, total); };
  const std::string image = bare_image_of(*door, from, options);
  bar.clear();
  e.vocab = door->cke_bare_vocab();
  const std::string texts = texts_of(from, e.vocab);
  e.image_bytes = image.size(), e.text_bytes = texts.size(), e.stop_ids = from.stop_ids;
  if (from.tokens && from.tokens->add_bos) e.begin = from.tokens->bos;

  const fs::path folder = fs::path(args.output).parent_path(), header = folder / (e.name + ".hpp");
  if (e.object) {
    write_object(e, args.output, image, texts);
  } else {
    write_new_file(folder / (e.name + ".bin"), {image, texts});
    write_new_file(folder / (e.name + ".S"), {embedded_assembler(e)});
  }
  write_new_file(header, {embedded_header(e, u)});
  put(concat({header.string(), ": ", u.family, " ", u.format, ", context ", e.context, ": ",
              image.size() + texts.size(), " bytes that stay as they are, ", door->cke_bare_memory_bytes(),
              " of memory\n"}));
}

}  // namespace cke::tool
