// SPDX-License-Identifier: MIT
// videos.cpp: folders of frames through the command.
#include "vision_cases.hpp"

using namespace vision_cases;

namespace {

// The frames that the fixtures' videos have, as a folder; nothing else in it is a frame.
void write_clip(const fs::path& folder) {
  fs::create_directories(folder / "other");
  for (const char* const name : {"frame2.ppm", "frame0.ppm", "frame1.ppm"})
    fs::copy_file(CKE_TEST_DATA "/images/videos/" + std::string(name), folder / name);
  write(folder / ".hidden", "no picture");
}

}  // namespace

TEST_CASE("vision: a folder of frames is a video, whose frames have their times in the prompt or in rope") {
  const scratch dir;
  write_clip(dir / "clip");
  for (const char* const name : {"qwen2_5_vl", "qwen3_vl", "qwen3_vl_moe", "qwen3_5", "qwen3_5_moe"}) {
    const json all = cases_of(name);
    REQUIRE(!all["videos"].empty());
    for (const json& of : all["videos"]) check_prompt(name, of, dir / "clip");
    const result r =
        command::run_cke({"vision", folder_of(name), "--format", "f32", "--video", dir / "clip", "-o", dir / "f.npy"});
    REQUIRE_MESSAGE(r.status == 0, r.err);
    CHECK(furthest(npy(dir / "f.npy").values, expected(name, "features.video")) < 2e-3f);
  }

  // As a message and in a chat; a list of files is the same as their folder.
  const std::string model = folder_of("qwen3_vl");
  const std::vector<std::string> usual{"--format", "f32", "-n", "4", "--temp", "0", "--fps", "1.5"};
  const auto with = [&](std::vector<std::string> words) {
    words.insert(words.end(), usual.begin(), usual.end());
    return words;
  };
  const result said = command::run_cke(with({"run", model, "-p", "see", "--think", "--video", dir / "clip", "--image",
                                             picture("wide.png"), "--image", picture("clear.png")}));
  REQUIRE_MESSAGE(said.status == 0, said.err);
  const std::string shown = "/image " + picture("wide.png") + "\n/image " + picture("clear.png") + "\nsee\n";
  const result chat = command::run_cke(with({"chat", model, "--video", dir / "clip"}), {.input = shown});
  CHECK(chat.out == said.out);
  json of = cases_of("qwen3_vl")["videos"][0];
  json& content = of["messages"][0]["content"];
  for (json& part : content)
    if (part["type"] == "video")
      for (json& file : part["video"]) file = CKE_TEST_DATA "/images/videos/" + file.get<std::string>();
    else if (part["type"] == "image") part["image"] = picture(part["image"].get<std::string>().c_str());
  write(dir / "messages.json", of["messages"].dump());
  CHECK(json::parse(command::run_cke({"template", model, "--messages", dir / "messages.json", "--ids"}).out) ==
        of["ids"]);
}

TEST_CASE("vision: videos that do not fit are refused in one line") {
  const scratch dir;
  write_clip(dir / "clip");
  const std::string clip = dir / "clip";
  const auto refused = [&](const std::string& model, std::vector<std::string> more) {
    more.insert(more.begin(), {"run", model, "--format", "f32", "-p", "a"});
    const result r = command::run_cke(more);
    CHECK(r.status != 0);
    return r.err.substr(0, r.err.find('\n'));
  };
  const std::string model = folder_of("qwen3_vl");
  CHECK(refused(folder_of("gemma3"), {"--video", clip}) ==
        "cke: error: " + clip + ": video: expected a model that takes videos, found one that takes images alone");
  CHECK(refused(CKE_ASSETS "/tiny", {"--video", clip}) ==
        "cke: error: " CKE_ASSETS "/tiny: --image: expected a model that sees images, found qwen3");
  CHECK(refused(model, {"--video", dir / "none"})
            .starts_with("cke: error: " + (dir / "none").string() + ": video: expected a folder with frames"));
  CHECK(refused(model, {"--video", dir / "clip/other"}) ==
        "cke: error: " + clip +
            "/other: video: expected a folder with frames, which are image files, found none in it");
  CHECK(refused(model, {"--fps", "2"}).find("--fps requires --video") != std::string::npos);
  CHECK(refused(model, {"--video", clip, "--fps", "0"}).find("--fps") != std::string::npos);
  fs::copy_file(picture("wide.png"), dir / "clip/wide.png");
  CHECK(refused(model, {"--video", clip}) ==
        "cke: error: " + clip + "/wide.png: frame: expected 23 x 31 as the first, found 37 x 23");
  fs::remove(dir / "clip/wide.png");
  fs::remove(dir / "clip/frame1.ppm"), fs::remove(dir / "clip/frame2.ppm");
  CHECK(refused(model, {"--video", clip}) == "cke: error: " + clip + ": video: expected at least 2 frames, found 1");
  write(dir / "clip/text.png", "no picture");
  CHECK(refused(model, {"--video", clip}).starts_with("cke: error: " + clip + "/text.png: image: expected PNG"));
  write(dir / "m.json", R"([{"role": "user", "content": [{"type": "video", "video": 3}]}])");
  const result number = command::run_cke({"template", model, "--messages", dir / "m.json", "--ids"});
  CHECK(number.err.find("m.json: video: expected a folder, or a list of image files, found ") != std::string::npos);
  write(dir / "clip/frame1.ppm", content(CKE_TEST_DATA "/images/videos/frame1.ppm")), fs::remove(dir / "clip/text.png");
  CHECK(command::run_cke({"run", model, "--format", "f32", "-p", "<|image_pad|>", "--video", clip})
            .err.find("images: expected an image for <|image_pad|>, found a video") != std::string::npos);
}
