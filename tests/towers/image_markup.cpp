// SPDX-License-Identifier: MIT
// image_markup.cpp: what stands in a prompt for images: the ids are those of transformers' processors.
#include "cke/io/gguf_image_markup.hpp"

#include <cke/io/hf_tokenizer.hpp>
#include <cke/io/pattern_splitter.hpp>
#include <cke/text/tokenizer/tokenizer.hpp>
#include <filesystem>

#include "checkpoint.hpp"

using namespace cke;

namespace {

struct known_images {
  const char* folder;
  io::image_outline wide, tall, clear;
};
using grids = std::vector<io::feature_grid>;
const known_images families[] = {
    {"qwen3_vl", {{{2, 4}}}, {{{5, 2}}}, {{{3, 3}}}},
    {"gemma3", {{{1, 9}}}, {{{1, 9}}}, {{{1, 9}}}},
    {"idefics3", {grids(5, {2, 2}), 2, 2}, {grids(3, {2, 2}), 2, 1}, {grids(5, {2, 2}), 2, 2}},
    {"lfm2_vl", {{{2, 2}, {2, 2}, {2, 3}}, 1, 2}, {{{4, 2}}}, {{{2, 2}, {2, 2}, {3, 2}}, 2, 1}},
    {"pixtral", {{{3, 5}}}, {{{5, 3}}}, {{{5, 5}}}},
    {"mistral3", {{{2, 4}}}, {{{4, 2}}}, {{{3, 3}}}},
};

text::tokenizer tokenizer_of(const std::string& folder) {
  return text::tokenizer(io::with_patterns(io::read_hf_tokenizer(io::read_hf_files(folder)), folder));
}
std::string refused(auto f) {
  try {
    f();
  } catch (const Error& e) { return e.what(); }
  return "nothing was thrown";
}

}  // namespace

TEST_CASE("image_markup: ids of prompts with none to three images, apart, side by side and at the end") {
  for (const known_images& family : families) {
    CAPTURE(family.folder);
    const std::string folder = towers::folder_of(family.folder);
    const text::tokenizer tokens = tokenizer_of(folder);
    const io::image_markup of_directory = io::read_image_markup(folder, tokens.vocabulary());
    const io::image_markup of_file =  // which names no tokens: those of published models
        io::gguf_image_markup(concat({family.folder, "_vision"}), "model.gguf", tokens.vocabulary());
    const auto all = nlohmann::json::parse(std::ifstream(folder + "/cases.json"));
    for (const char* const list : {"cases", "expansions"})
      for (const auto& of : all[list]) {
        CAPTURE(of["name"]);
        std::vector<io::image_outline> images;
        for (const std::string image : of["images"])
          images.push_back(image == "wide.png" ? family.wide : image == "tall.png" ? family.tall : family.clear);
        for (const io::image_markup* markup : {&of_directory, &of_file}) {
          u32 next = 0;
          const std::string prompt = markup->expand(of["prompt"].get<std::string>(), images, next);
          CHECK(next == images.size());
          CHECK(tokens.encode(prompt, {.parse_special = true}) == of["ids"].get<std::vector<u32>>());
        }
      }
  }
}

TEST_CASE("image_markup: Gemma 3's crops follow the whole image") {
  const std::string folder = towers::folder_of("gemma3");
  const io::image_markup markup = io::read_image_markup(folder, tokenizer_of(folder).vocabulary());
  const std::string one = "\n\n<start_of_image><image_soft_token><image_soft_token><end_of_image>\n\n";
  CHECK(markup.words({grids(1, {1, 2})}) == one);
  CHECK(markup.words({grids(3, {1, 2}), 1, 2}) ==
        "Here is the original image " + one + " and here are some crops to help you see better " + one + " " + one);
}

TEST_CASE("image_markup: LFM2-VL without a thumbnail, and of one tile; marks that a directory names or leaves out") {
  const std::filesystem::path copy = std::filesystem::temp_directory_path() / "cke_image_markup";
  std::filesystem::create_directories(copy);
  const std::string folder = towers::folder_of("lfm2_vl");
  for (const char* file : {"config.json", "tokenizer.json", "tokenizer_config.json"})
    std::filesystem::copy_file(folder + "/" + file, copy / file, std::filesystem::copy_options::overwrite_existing);
  const text::tokenizer tokens = tokenizer_of(folder);
  const auto words = [&](const io::image_outline& image) {
    return io::read_image_markup(copy.string(), tokens.vocabulary()).words(image);
  };
  CHECK(words({grids(2, {1, 1}), 2, 1}) ==
        "<|image_start|><|img_row_1_col_1|><image><|img_row_2_col_1|><image><|image_end|>");
  CHECK(words({grids(1, {1, 2}), 1, 1}) == "<|image_start|><image><image><|image_end|>");

  auto config = nlohmann::json::parse(std::ifstream(copy / "tokenizer_config.json"));
  config["extra_special_tokens"]["image_end_token"] = "<|im_end|>";
  std::ofstream(copy / "tokenizer_config.json") << config;
  CHECK(words({grids(1, {1, 1})}) == "<|image_start|><image><|im_end|>");
  std::ofstream(copy / "processor_config.json") << R"({"use_image_special_tokens": false})";
  CHECK(words({grids(3, {1, 1}), 1, 2}) == "<image><image><image>");

  config = nlohmann::json::parse(std::ifstream(copy / "config.json"));
  config["image_token_id"] = 4000;
  std::ofstream(copy / "config.json") << config;
  CHECK(refused([&] { words({}); }) ==
        (copy / "config.json").string() + ": config key image_token_id: expected an id below 97, found 4000");
  config["image_token_id"] = 3, config["model_type"] = "qwen2_5_vl", config["video_token_id"] = 4;
  config["vision_start_token_id"] = 1, config["vision_end_token_id"] = 2;
  config["vision_config"]["tokens_per_second"] = 0;
  std::ofstream(copy / "config.json") << config;
  CHECK(refused([&] { words({}); }) ==
        (copy / "config.json").string() +
            ": config key vision_config.tokens_per_second: expected a number above 0, found 0");
  config["model_type"] = "blip";
  std::ofstream(copy / "config.json") << config;
  CHECK(refused([&] { words({}); }) ==
        (copy / "config.json").string() +
            ": images in prompts of model type: expected one of gemma3, gemma4, qwen2_5_vl, qwen3_vl, qwen3_vl_moe, "
            "qwen3_5, qwen3_5_moe, idefics3, smolvlm, lfm2_vl, llava, mistral3, found blip");
  std::filesystem::remove_all(copy);
}
