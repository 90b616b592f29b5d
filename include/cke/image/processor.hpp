// SPDX-License-Identifier: MIT
// processor.hpp: what a Hugging Face directory does with an image before the vision tower sees it.
#pragma once

#include <filesystem>
#include <optional>
#include <variant>

#include "../core/json.hpp"
#include "../io/mapped_file.hpp"
#include "processors/gemma3.hpp"
#include "processors/gemma4.hpp"
#include "processors/idefics3.hpp"
#include "processors/lfm2_vl.hpp"
#include "processors/pixtral.hpp"
#include "processors/qwen2_vl.hpp"
#include "processors/qwen_video.hpp"
#include "processors/siglip.hpp"

namespace cke::image {

// Programs that know a processor's numbers from elsewhere fill in one of these.
using processor = std::variant<siglip_processor, gemma3_processor, qwen2_vl_processor, gemma4_processor,
                               idefics3_processor, lfm2_vl_processor, pixtral_processor>;

// pixel_values of one image, as transformers' PIL processor makes them. Throws Error{config_range}, which begins with
// `name`, for an image whose sides the processor refuses.
inline processed process(const processor& p, const picture& image, const std::string& name) {
  return std::visit([&](const auto& known) { return known(image, name); }, p);
}

namespace detail {

inline nlohmann::json parse_config(std::string_view text, const std::string& file) {
  constexpr std::size_t most = 1 << 20;
  if (text.size() > most)
    throw Error(errc::malformed, file, "", concat({"at most ", u64{most}, " bytes"}), concat({u64{text.size()}}));
  nlohmann::json all = nlohmann::json::parse(text, nullptr, false);
  if (!all.is_object()) throw Error(errc::malformed, file, "", "a JSON object");
  return all;
}

// The name of a processor's class without what says how it is implemented.
inline std::string_view plain_class(std::string_view name) {
  for (const std::string_view ending : {"Fast", "Pil"})
    if (name.ends_with(ending)) name.remove_suffix(ending.size());
  return name;
}

// The processors of a model whose files do not name them: those of transformers' tables, by config.json's model_type.
struct usual_classes {
  std::string_view model, images, videos{};  // videos: empty where cke reads none
};
inline usual_classes classes_of(std::string_view model_type) {
  constexpr usual_classes table[] = {
      {"siglip", "SiglipImageProcessor"},
      {"gemma3", "Gemma3ImageProcessor"},
      {"gemma4", "Gemma4ImageProcessor"},
      {"qwen2_vl", "Qwen2VLImageProcessor", "Qwen2VLVideoProcessor"},
      {"qwen2_5_vl", "Qwen2VLImageProcessor", "Qwen2VLVideoProcessor"},
      {"qwen3_vl", "Qwen2VLImageProcessor", "Qwen3VLVideoProcessor"},
      {"qwen3_vl_moe", "Qwen2VLImageProcessor", "Qwen3VLVideoProcessor"},
      {"qwen3_5", "Qwen2VLImageProcessor", "Qwen3VLVideoProcessor"},
      {"qwen3_5_moe", "Qwen2VLImageProcessor", "Qwen3VLVideoProcessor"},
      {"idefics3", "Idefics3ImageProcessor"},
      {"smolvlm", "SmolVLMImageProcessor"},
      {"lfm2_vl", "Lfm2VlImageProcessor"},
      {"pixtral", "PixtralImageProcessor"},
      {"mistral3", "PixtralImageProcessor"},
  };
  for (const usual_classes& row : table)
    if (row.model == model_type) return row;
  return {};
}

template <std::size_t I = 0> std::optional<processor> processor_named(std::string_view name) {
  if constexpr (I == std::variant_size_v<processor>) {
    return std::nullopt;
  } else {
    using known = std::variant_alternative_t<I, processor>;
    if (std::ranges::find(known::names, name) != std::end(known::names)) return known{};
    return processor_named<I + 1>(name);
  }
}

}  // namespace detail

// The processor that an object describes: the text of a preprocessor_config.json, or `image_processor` of a
// processor_config.json. A key that is absent has transformers' default; the class that of model_type, config.json's.
// Throws Error, which names file and key: unsupported for a processor or a key that cke does not know, malformed for a
// value of the wrong kind.
inline processor read_processor(const nlohmann::json& object, const std::string& file, const std::string& path = {},
                                std::string_view model_type = {}) {
  detail::config_reader in({object, file, path});
  const auto type = in.at("image_processor_type");
  const std::string_view name = type.null() ? detail::classes_of(model_type).images : detail::plain_class(type.text());
  auto p = detail::processor_named(name);
  if (!p) type.unsupported("the image processor of a family that cke knows");
  std::visit([&](auto& known) { detail::read(known, in); }, *p);
  in.done();
  return *p;
}

namespace detail {

// The JSON files of a directory that say something of images.
struct processor_files {
  std::string outer, inner;
  nlohmann::json all;  // processor_config.json, or null

  explicit processor_files(const std::string& directory, const char* other)
      : outer(directory + "/processor_config.json"), inner(directory + "/" + other) {
    if (there(outer)) all = content(outer);
  }
  static bool there(const std::string& file) {
    std::error_code ignored;  // what cannot be looked at is not there; opening the other file says more
    return std::filesystem::exists(file, ignored);
  }
  bool nests(const char* key) const { return all.is_object() && all.contains(key); }
  static std::string_view text_of(const io::mapped_file& file) {
    return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
  }
  static nlohmann::json content(const std::string& file) {
    const io::mapped_file mapped(file);
    return parse_config(text_of(mapped), file);
  }
};

// The model_type of a directory's config.json, which need not be JSON: Python writes NaN. Empty: there is none.
inline std::string model_type_in(const std::string& directory) {
  const std::string file = directory + "/config.json";
  if (!processor_files::there(file)) return {};
  const io::mapped_file mapped(file);
  const std::string_view text = processor_files::text_of(mapped);
  return std::string(json{text.substr(json::space(text, 0))}["model_type"].text());
}

}  // namespace detail

// The processor of a Hugging Face directory. As in transformers, `image_processor` in processor_config.json counts
// before preprocessor_config.json, and where neither names the class, it is that of config.json's model_type. Pixtral's
// patches are those of processor_config.json, if it is there.
inline processor load_processor(const std::string& directory) {
  const detail::processor_files files(directory, "preprocessor_config.json");
  const std::string model_type = detail::model_type_in(directory);
  processor p = files.nests("image_processor")
      ? read_processor(files.all["image_processor"], files.outer, "image_processor", model_type)
      : read_processor(files.content(files.inner), files.inner, {}, model_type);
  if (auto* pixtral = std::get_if<pixtral_processor>(&p); pixtral && files.all.is_object()) {
    using reader = detail::config_reader;
    const reader::node about(files.all, files.outer, {});
    pixtral->patch_height = pixtral->patch_width = static_cast<u32>(reader::number(about["patch_size"], 16, 1, 1024));
    pixtral->merge = static_cast<u32>(reader::number(about["spatial_merge_size"], 1, 1, 64));
  }
  return p;
}

// The same for videos, of the Qwen families: `video_processor` in processor_config.json counts before
// video_preprocessor_config.json, and that before preprocessor_config.json, which alone older directories have.
inline qwen_video_processor load_video_processor(const std::string& directory) {
  detail::processor_files files(directory, "video_preprocessor_config.json");
  const bool nested = files.nests("video_processor");
  if (!nested && !files.there(files.inner)) files.inner = directory + "/preprocessor_config.json";
  const nlohmann::json object = nested ? files.all["video_processor"] : files.content(files.inner);
  detail::config_reader in({object, nested ? files.outer : files.inner, nested ? "video_processor" : ""});
  const auto type = in.at("video_processor_type");
  const std::string model_type = detail::model_type_in(directory);
  const std::string_view name = type.null() ? detail::classes_of(model_type).videos : std::string_view(type.text());
  const bool third = name == "Qwen3VLVideoProcessor";
  type.require(third || name == "Qwen2VLVideoProcessor", "Qwen2VLVideoProcessor or Qwen3VLVideoProcessor");
  qwen_video_processor p = third ? qwen_video_processor::of_qwen3() : qwen_video_processor{};
  detail::read(p, in);
  in.done();
  return p;
}
// Whether cke reads videos for the family of a tower.
constexpr bool takes_videos(std::string_view tower) {
  return tower == "qwen2_5_vl_vision" || tower == "qwen3_vl_vision" || tower == "qwen3_5_vision";
}

}  // namespace cke::image
