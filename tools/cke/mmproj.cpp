// SPDX-License-Identifier: MIT
// mmproj.cpp: see mmproj.hpp.
#include "mmproj.hpp"

#include <algorithm>
#include <filesystem>
#include <vector>

#include <cke/io/gguf_vision.hpp>

#include "bundle.hpp"

namespace cke::tool {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view architecture_key = "general.architecture";

// What a tower must fit.
struct text_model {
  std::string path, architecture;
  u64 width;

  explicit text_model(const std::string& model) : path(model) {
    const io::gguf file = io::gguf::read(model);
    architecture = file.get<std::string_view>(architecture_key);
    check_is_text(model, architecture);
    width = file.get<u64>(architecture + ".embedding_length");
  }

  // Throws unless there is a tower that models of this architecture see with.
  void check_sees() const {
    if (std::ranges::any_of(io::projectors, [&](const io::projector& p) { return p.fits(architecture); })) return;
    throw Error(errc::unsupported, path, concat({"key ", architecture_key}), "that of a model that sees images",
                architecture);
  }
  // Throws unless the file has a tower for this model.
  void check(const std::string& file) const {
    const io::gguf mmproj = io::gguf::read(file);
    const auto mismatch = [&](std::string_view key, const std::string& expected, std::string_view found) {
      throw Error(errc::config_mismatch, file, concat({"key ", key}), expected, found);
    };
    const io::projector& p = io::projector_of(mmproj);
    if (!p.fits(architecture))
      mismatch("clip.projector_type", "one for architecture " + architecture + ", which " + path + " has", p.name);
    const std::string_view rows = "clip.vision.projection_dim";
    if (const u64 found = mmproj.get<u64>(rows); found != width)
      mismatch(rows, std::to_string(width) + ", the embedding_length of " + path, std::to_string(found));
  }
  bool fits(const std::string& file) const {
    try {
      check(file);
      return true;
    } catch (const Error&) {
      return false;  // a file that nobody named need not be of any use
    }
  }
};

fs::path folder_of(const std::string& model) {
  const fs::path folder = fs::path(model).parent_path();
  return folder.empty() ? "." : folder;
}

// mmproj*.gguf beside a model, by name.
std::vector<std::string> candidates(const std::string& model) {
  std::vector<std::string> all;
  std::error_code failed;
  for (fs::directory_iterator at(folder_of(model), failed), end; !failed && at != end; at.increment(failed)) {
    const std::string name = at->path().filename().string();
    if (name.starts_with("mmproj") && name.ends_with(".gguf")) all.push_back(at->path().string());
  }
  std::ranges::sort(all);
  return all;
}
std::vector<std::string> fitting(const text_model& model, std::vector<std::string> all) {
  std::erase_if(all, [&](const std::string& file) { return !model.fits(file); });
  return all;
}
std::string file_names(const std::vector<std::string>& files) {
  std::string text;
  for (const std::string& file : files) text += (text.empty() ? "" : ", ") + fs::path(file).filename().string();
  return text;
}

}  // namespace

void check_is_text(const std::string& model, std::string_view architecture) {
  if (architecture == "clip")
    throw Error(errc::unsupported, model, concat({"key ", architecture_key}),
                "a text model, with this file as --mmproj", architecture);
}

bool is_gguf_file(const std::string& model) {
  std::error_code ignored;
  return fs::is_regular_file(model, ignored) && !is_bundle(model);
}

std::string mmproj_of(const std::string& model, const std::optional<std::string>& given) {
  const text_model text(model);
  text.check_sees();
  if (given) {
    text.check(*given);
    return *given;
  }
  const std::vector<std::string> all = candidates(model), fit = fitting(text, all);
  if (fit.size() == 1) return fit[0];
  if (fit.size() > 1)
    throw Error(errc::usage, model, "--mmproj", "one of the files beside it that fit", file_names(fit));
  throw Error(errc::usage, model, "--mmproj", "a file, or an mmproj*.gguf beside the model, with its vision tower",
              all.empty() ? "none" : "only those of other models: " + file_names(all));
}

bool has_mmproj(const std::string& model, const std::optional<std::string>& given) {
  if (given) return mmproj_of(model, given) == *given;
  const std::vector<std::string> all = candidates(model);
  return !all.empty() && !fitting(text_model(model), all).empty();
}

}  // namespace cke::tool
