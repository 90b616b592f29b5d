// SPDX-License-Identifier: MIT
// vision.cpp: images through the command: their features, prompts with them, and what it says where they do not fit.
#include "../family_status.hpp"
#include "vision_cases.hpp"

using namespace vision_cases;

TEST_CASE("vision: an image file becomes transformers' features, one image after another") {
  const scratch dir;
  const std::string model = folder_of("qwen3_vl");
  const result one =
      command::run_cke({"vision", model, "--format", "f32", "--image", picture("wide.png"), "-o", dir / "one.npy"});
  REQUIRE_MESSAGE(one.status == 0, one.err);
  const npy wide(dir / "one.npy");
  CHECK(wide.columns == 96);  // the rows that enter the decoder, and those of two layers
  CHECK(furthest(wide.values, expected("qwen3_vl", "features.wide.png")) < 2e-3f);
  command::run_cke({"vision", model, "--format", "f32", "--image", picture("wide.png"), "--image", picture("clear.png"),
                    "-o", dir / "two.npy"});
  CHECK(npy(dir / "two.npy").rows == wide.rows + 9);
}

TEST_CASE("vision: SigLIP's pooled rows, one for an image") {
  const scratch dir;
  const result r = command::run_cke({"vision", folder_of("siglip"), "--format", "f32", "--image", picture("wide.png"),
                                     "--image", picture("tall.png"), "--pooled", "-o", dir / "p.npy"});
  REQUIRE_MESSAGE(r.status == 0, r.err);
  const npy got(dir / "p.npy");
  std::vector<float> want = expected("siglip", "pooled.wide.png");
  for (const float x : expected("siglip", "pooled.tall.png")) want.push_back(x);
  CHECK(got.rows == 2);
  CHECK(furthest(got.values, want) < 2e-3f);
}

TEST_CASE("vision: SigLIP's scores of texts, and texts that it cannot take") {
  const std::string model = folder_of("siglip");
  const json all = cases_of("siglip");
  std::vector<std::string> words{"vision", model, "--format", "f32", "--json"};
  for (const char* const image : {"wide.png", "tall.png", "clear.png"})
    words.insert(words.end(), {"--image", picture(image)});
  for (const json& text : all["texts"]) words.insert(words.end(), {"--text", text});
  const result r = command::run_cke(words);
  REQUIRE_MESSAGE(r.status == 0, r.err);
  std::vector<float> logits;
  for (const json& row : json::parse(r.out)) {
    logits.push_back(row["logit"]);
    const double p = row["probability"];
    CHECK(std::log(p / (1 - p)) == doctest::Approx(logits.back()));
  }
  CHECK(furthest(logits, expected("siglip", "scores")) < 2e-3f);

  words.pop_back(), words.push_back("the red box the red box the red box the red box the red box");
  const result longer = command::run_cke(words);
  CHECK(longer.status != 0);
  CHECK(longer.err.find("--text: expected at most 12 ids, found 1") != std::string::npos);
  CHECK(command::run_cke({"vision", folder_of("qwen3_vl"), "--image", picture("wide.png"), "--text", "a"})
            .err.find("tensor logit_scale: expected one number, found none") != std::string::npos);
}

TEST_CASE("vision: prompts with images: ids as the processor expands them, transformers' logits and greedy ids") {
  for (const char* const name : {"qwen3_vl", "gemma3", "qwen3_5", "qwen3_5_moe", "qwen2_5_vl", "qwen3_vl_moe", "gemma4",
                                 "gemma4_full", "idefics3", "lfm2_vl", "pixtral", "mistral3"}) {
    const json all = cases_of(name);
    REQUIRE(!all["cases"].empty());
    for (const json& of : all["cases"]) check_prompt(name, of);
    using family_status::column;
    family_status::establishes(
        json::parse(content(folder_of(name) + "/config.json"))["text_config"]["model_type"],
        {column::config, column::load_hf, column::tokenizer, column::template_, column::logits, column::generation});
  }
}

TEST_CASE("vision: a message with an image in the chat form, and in a chat") {
  const std::string model = folder_of("qwen3_vl");
  const std::vector<std::string> usual{"--format", "f32", "-n", "4", "--temp", "0"};
  const auto with = [&](std::vector<std::string> words) {
    words.insert(words.end(), usual.begin(), usual.end());
    return words;
  };
  const result said = command::run_cke(with({"run", model, "-p", "see", "--think", "--image", picture("wide.png")}));
  REQUIRE_MESSAGE(said.status == 0, said.err);
  const result first = command::run_cke(with({"chat", model, "--image", picture("wide.png")}), {.input = "see\n"});
  const result later = command::run_cke(with({"chat", model}), {.input = "/image " + picture("wide.png") + "\nsee\n"});
  CHECK(first.out == said.out);
  CHECK(later.out == said.out);
}

TEST_CASE("vision: images that do not fit are refused in one line") {
  const scratch dir;
  const std::string model = folder_of("qwen3_vl");
  const auto refused = [](std::vector<std::string> words) {
    const result r = command::run_cke(std::move(words));
    CHECK(r.status != 0);
    return r.err.substr(0, r.err.find('\n'));
  };
  const std::string out = dir / "f.npy";
  write(dir / "text.png", "no picture");
  CHECK(refused({"vision", model, "--image", dir / "text.png", "-o", out}) ==
        "cke: error: " + (dir / "text.png").string() +
            ": image: expected PNG, JPEG, WebP, GIF, BMP, PBM, PGM or PPM, found another format");
  CHECK(refused({"vision", model, "-o", out}) ==
        "cke: error: --image: expected image files, or --video, or --pixels, found neither");
  CHECK(refused({"vision", CKE_ASSETS "/tiny", "--image", picture("wide.png"), "-o", out})
            .find("model type with a vision tower: expected one of siglip") != std::string::npos);
  CHECK(refused({"run", CKE_ASSETS "/tiny", "-p", "a", "--image", picture("wide.png")}) ==
        "cke: error: " CKE_ASSETS "/tiny: --image: expected a model that sees images, found qwen3");
  CHECK(refused(
            {"logits", model, "--format", "f32", "--tokens", "1,69,69,2", "--image", picture("wide.png"), "-o", out}) ==
        "cke: error: ids: expected as many of id 69 as the images have rows, 8, image by image, found 2");
  CHECK(
      refused({"run", model, "--format", "f32", "-p", "<|image_pad|><|image_pad|>", "--image", picture("wide.png")}) ==
      "cke: error: images: expected one for each <|image_pad|> of the prompt, found 1");
  CHECK(!fs::exists(out));
}

TEST_CASE("vision: inspect shows the tower and its plan") {
  const std::string model = folder_of("qwen3_vl");
  const json all = json::parse(command::run_cke({"inspect", model, "--format", "f32", "--plan", "--json"}).out);
  CHECK(all["plan"]["steps"].size() > 5);
  const json& tower = all["tower"];
  CHECK(tower["type"].get<std::string>().find("qwen3_vl_vision") != std::string::npos);
  CHECK(tower["plan"]["steps"].size() > 5);
  CHECK(tower["plan"]["steps"] != all["plan"]["steps"]);
  const std::string text = command::run_cke({"inspect", model, "--format", "f32", "--plan"}).out;
  const std::size_t at = text.find("\nvision tower\n");
  REQUIRE(at != text.npos);
  CHECK(text.find("spatial_merge", at) != text.npos);
  CHECK(json::parse(command::run_cke({"inspect", CKE_ASSETS "/tiny", "--json"}).out).contains("tower") == false);
  for (const char* const name : {"gemma4", "gemma4_full"}) {
    const result r = command::run_cke({"inspect", folder_of(name), "--format", "f32", "--plan", "--json"});
    REQUIRE_MESSAGE(r.status == 0, r.err);
    CHECK(json::parse(r.out)["tower"]["plan"]["steps"].size() > 5);
  }
}
