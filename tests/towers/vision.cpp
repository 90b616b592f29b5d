// SPDX-License-Identifier: MIT
// vision.cpp: Vision, which puts image files into prompts: transformers' ids and answers of a whole conversation.
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <cke/hf.hpp>
#include <cke/models/qwen3_vl.hpp>
#include <cke/models/towers/qwen3_vl.hpp>
#include <cke/text/jinja/chat_form.hpp>
#include <cke/vision.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

using namespace cke;

namespace {

struct tiny_decoder : qwen3_vl<qwen3_vl_config{.vocab = 83,
                                               .dim = 32,
                                               .hidden = 44,
                                               .layers = 3,
                                               .heads = 2,
                                               .kv_heads = 1,
                                               .head_dim = 20,
                                               .taps = 2,
                                               .section_t = 4,
                                               .section_h = 3,
                                               .section_w = 3,
                                               .rope = {.theta = 100, .max_position = 512}}> {};
struct tiny_tower : qwen3_vl_vision<qwen3_vl_vision_config{.dim = 24,
                                                           .hidden = 40,
                                                           .layers = 3,
                                                           .heads = 2,
                                                           .out = 32,
                                                           .patch = 4,
                                                           .positions = 25,
                                                           .deepstack = layer_set::of({0, 2})}> {};

const std::string folder = CKE_TEST_DATA "/vision/qwen3_vl";
std::string picture(const std::string& name) { return CKE_TEST_DATA "/vision/images/" + name; }

std::vector<u32> greedy(Session<Model<tiny_decoder, F32>>& session, std::span<const u32> prompt) {
  auto answer = session.generate(prompt, {.max_tokens = 16, .ignore_stop_ids = true});
  for ([[maybe_unused]] const std::string_view piece : answer) {}
  return {answer.ids().begin(), answer.ids().end()};
}

}  // namespace

TEST_CASE("vision: prompts with image files, as text and in the chat form, give transformers' ids") {
  const auto model = Model<tiny_decoder, F32>::load(hf(folder));
  const auto vision = Vision<tiny_tower, F32>::load(folder, model);
  const text::chat_form form(model.tokens(), folder);
  for (const nlohmann::json& of : nlohmann::json::parse(std::ifstream(folder + "/cases.json"))["cases"]) {
    CAPTURE(of["name"]);
    std::vector<read_image> images;
    for (const std::string name : of["images"]) images.push_back(vision.read(picture(name)));
    auto session = model.session();
    const image_prompt prompt = vision.prompt(of["prompt"].get<std::string>(), images);
    CHECK(prompt.ids.size() == of["ids"].size());
    CHECK(greedy(session, prompt) == of["greedy"].get<std::vector<u32>>());

    if (of["messages"].size() != 1) continue;
    // A message whose images come first.
    const auto& parts = of["messages"][0]["content"];
    const bool leads = std::ranges::is_partitioned(parts, [](const auto& p) { return p["type"] == "image"; });
    if (!leads || parts.back()["type"] != "text") continue;
    const text::jinja::conversation talk{
        .messages = {
            text::jinja::form::list,
            text::jinja::values{text::jinja::message("user", parts.back()["text"].get<std::string>(), images.size())}}};
    auto again = model.session();
    const image_prompt said = vision.prompt(form, talk, images);
    CHECK(said.ids == prompt.ids);
    CHECK(greedy(again, said) == of["greedy"].get<std::vector<u32>>());
  }
}

TEST_CASE("vision: a video and an image behind it give transformers' ids") {
  const auto model = Model<tiny_decoder, F32>::load(hf(folder));
  const auto vision = Vision<tiny_tower, F32>::load(folder, model);
  const auto of = nlohmann::json::parse(std::ifstream(folder + "/cases.json"))["videos"][0];
  std::vector<io::mapped_file> files;
  std::vector<frame_file> frames;
  files.reserve(3);
  for (const std::string name : of["frames"]) {
    const std::string path = CKE_TEST_DATA "/images/videos/" + name;
    frames.push_back({files.emplace_back(path).bytes(), path});
  }
  const read_image clip = vision.read_video(frames, "clip", of["fps"]), clear = vision.read(picture("clear.png"));
  CHECK(clip.outline.seconds == std::vector{0.5 / 1.5, 2 / 1.5});  // of two frames, and of the last one twice
  const image_prompt prompt = vision.prompt(of["prompt"].get<std::string>(), {clip, clear});
  CHECK(prompt.ids.size() == of["ids"].size());
  auto session = model.session();
  CHECK(greedy(session, prompt) == of["greedy"].get<std::vector<u32>>());
  CHECK(vision.show(clip).encoded == 0);  // the model has it
  CHECK(vision.read_video(std::span(frames).first(2), "clip", 1).key != clip.key);
  CHECK(vision.read_video(frames, "clip", 1).key == clip.key);  // times are words of the prompt, not features
  CHECK_THROWS_WITH_AS(vision.prompt(of["prompt"].get<std::string>(), {clear, clip}),
                       "images: expected a video for <|video_pad|>, found an image", Error);
  CHECK_THROWS_WITH_AS(vision.read_video(frames, "clip", 0),
                       "clip: frames of a second: expected more than 0, less than a million, found 0.000000", Error);
  CHECK_THROWS_WITH_AS(vision.read_video(std::vector(769, frames[0]), "clip", 1),
                       "clip: video: expected at most 768 frames, found 769", Error);
  // Without a place of its own it comes first, with an image behind it.
  CHECK(vision.prompt("see", {clip, clear}).ids.size() > vision.prompt("see", {clear}).ids.size() + 4);
}

TEST_CASE("vision: a video of one frame is another image than the frame") {
  const std::string other = CKE_TEST_DATA "/vision/qwen2_5_vl";  // takes such videos
  const image_reader reader(image::load_processor(other),
                            {.merge = 2, .rows_of = [](patch_grid g) { return g.patches() / 4; }}, {},
                            [&] { return image::load_video_processor(other); });
  const std::string path = CKE_TEST_DATA "/images/videos/frame0.ppm";
  const io::mapped_file file(path);
  const frame_file frame{file.bytes(), path};
  CHECK(reader.read_video({&frame, 1}, "clip", 1).key != reader.read(file.bytes(), path).key);
}

TEST_CASE("vision: where files do not name the classes of processors, they are those of the model") {
  struct copied {
    std::filesystem::path to = std::filesystem::temp_directory_path() / ("cke_vision_" + std::to_string(::getpid()));
    copied() { std::filesystem::copy(folder, to); }
    ~copied() { std::filesystem::remove_all(to); }
  } const unnamed{};
  for (const char* file : {"preprocessor_config.json", "processor_config.json", "video_preprocessor_config.json"}) {
    auto all = nlohmann::json::parse(std::ifstream(unnamed.to / file));
    auto& of = all.contains("image_processor") ? all["image_processor"] : all;
    CHECK(of.erase("image_processor_type") + of.erase("video_processor_type") == 1);
    std::ofstream(unnamed.to / file) << all;
  }
  const auto model = Model<tiny_decoder, F32>::load(hf(folder));
  const auto named = Vision<tiny_tower, F32>::load(folder, model),
             other = Vision<tiny_tower, F32>::load(unnamed.to.string(), model);
  const auto check_same = [](const read_image& a, const read_image& b) {
    REQUIRE(a.frames.size() == b.frames.size());
    for (std::size_t i = 0; i < a.frames.size(); ++i) CHECK(std::ranges::equal(a.frames[i].rows, b.frames[i].rows));
  };
  check_same(named.read(picture("wide.png")), other.read(picture("wide.png")));
  const std::string path = CKE_TEST_DATA "/images/videos/frame0.ppm";
  const io::mapped_file still(path);
  const std::vector<frame_file> clip(2, frame_file{still.bytes(), path});
  check_same(named.read_video(clip, "clip", 1), other.read_video(clip, "clip", 1));
}

TEST_CASE("vision: frames of a video that is one run have times, and are other images at another rate") {
  struct store {
    std::vector<image_key>& keys;
    std::vector<frame_time>& times;
    held_image find(const image_key&, patch_grid) const { return {}; }
    held_image add(const image_key& key, patch_grid grid, std::span<const float>, frame_time time) const {
      keys.push_back(key), times.push_back(time);
      return {0, grid.patches(), std::make_shared<const int>()};
    }
  };
  const image_reader reader({}, {.patch = 1, .rows_of = [](patch_grid g) { return g.patches(); }});
  const auto shown = [&](double interval, std::optional<double> time_step) {
    const runtime::image_values frame{.grid = {2, 3}};
    const read_image clip{.name = "clip",
                          .key = {1, 2},
                          .outline = {.tiles = {{2, 3}, {2, 3}, {2, 3}}, .seconds = {0, 1, 2}, .interval = interval},
                          .frames = {frame, frame, frame}};
    io::image_markup markup;
    markup.time_step = time_step;
    std::pair<std::vector<image_key>, std::vector<frame_time>> out;
    reader.show(clip, markup, [](const auto&) { return std::vector<float>(6); }, store{out.first, out.second});
    return out;
  };
  const auto slow = shown(2 / 1.5, 4), fast = shown(1, 4), images = shown(1, {});
  CHECK(slow.second == std::vector<frame_time>{{}, 5, 10});  // 4 x 2 / 1.5 = 5.33 a frame
  CHECK(fast.second == std::vector<frame_time>{{}, 4, 8});
  CHECK(images.second == std::vector<frame_time>(3));
  CHECK(slow.first[0] == fast.first[0]);
  CHECK(slow.first[1] != fast.first[1]);
  CHECK(slow.first[2] != fast.first[2]);
}

TEST_CASE("vision: an image is encoded once, and is another for another owner, or when it is made smaller") {
  const auto model = Model<tiny_decoder, F32>::load(hf(folder));
  const auto vision = Vision<tiny_tower, F32>::load(folder, model);
  const read_image wide = vision.read(picture("wide.png"));
  CHECK(wide.rows() == 8);
  const shown_image first = vision.show(wide), second = vision.show(vision.read(picture("wide.png")));
  CHECK(first.encoded == 1);
  CHECK(second.encoded == 0);
  CHECK(second.parts[0].first == first.parts[0].first);
  const shown_image theirs = vision.show(vision.read(picture("wide.png"), {.owner = 2}));
  CHECK(theirs.encoded == 1);
  CHECK(theirs.parts[0].first != first.parts[0].first);
  CHECK(vision.read(picture("wide.png"), {.longest = 16}).key != wide.key);

  CHECK_THROWS_AS(vision.prompt("<|image_pad|><|image_pad|>", {wide}), Error);
  // Without a place of its own an image comes first.
  CHECK(vision.prompt("see", {wide}).ids[1] == first.parts[0].first);
}
