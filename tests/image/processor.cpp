// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include <cke/image/processor.hpp>
#include <cstring>

#include "files.hpp"

using namespace cke;
using files::error_of;

namespace {

const std::string folder = files::folder + "processors/";

struct expectation {
  image::picture picture;
  image::processed out;
};
expectation expected(const std::string& name, const std::string& from = folder) {
  std::istringstream text(files::content(from + name + "/expected.txt"));
  const std::string numbers = files::content(from + name + "/expected.f32");
  expectation e;
  std::string image;
  std::size_t tiles = 0, at = 0;
  text >> image >> tiles >> e.out.rows >> e.out.cols;
  e.picture = files::ppm(from + image);
  for (std::size_t i = 0; i < tiles; ++i) {
    image::pixels p;
    std::size_t rank = 0, count = 1;
    text >> rank;
    p.shape.resize(rank);
    for (u32& d : p.shape) text >> d, count *= d;
    text >> p.grid_t >> p.grid_h >> p.grid_w;
    p.values.resize(count);
    REQUIRE(at + count * 4 <= numbers.size());
    std::memcpy(p.values.data(), numbers.data() + at, count * 4);
    at += count * 4;
    e.out.tiles.push_back(std::move(p));
  }
  REQUIRE(at == numbers.size());
  return e;
}

// The greatest difference, with its place.
void check_values(const std::vector<float>& found, const std::vector<float>& wanted) {
  REQUIRE(found.size() == wanted.size());
  std::size_t worst = 0;
  for (std::size_t i = 0; i < found.size(); ++i)
    if (!(std::fabs(found[i] - wanted[i]) <= std::fabs(found[worst] - wanted[worst]))) worst = i;
  CAPTURE(worst);
  CAPTURE(found[worst]);
  CAPTURE(wanted[worst]);
  CHECK(found[worst] == wanted[worst]);
}

image::processor read(const std::string& text, const char* model_type = "") {
  return image::read_processor(image::detail::parse_config(text, "f.json"), "f.json", {}, model_type);
}
std::string error(const std::string& text, errc* code = nullptr) {
  return error_of([&] { read(text); }, code);
}
// A model's directory, which a test fills.
class model_directory {
 public:
  model_directory() {
    std::string name = (std::filesystem::temp_directory_path() / "cke-image-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~model_directory() { std::filesystem::remove_all(path); }
  model_directory(const model_directory&) = delete;
  model_directory& operator=(const model_directory&) = delete;

  void put(const char* name, std::string_view text) const { std::ofstream(path + '/' + name) << text; }
  void put_model_type(std::string_view type) const {  // with a number that is not JSON, as Python writes it
    put("config.json",
        concat({R"( {"vision_config": {"model_type": "a tower's", "eps": NaN}, "model_type": ")", type, R"("})"}));
  }

  std::string path;
};
std::string refusal(const image::processor& p, u32 width, u32 height) {
  const image::picture plain{width, height, std::vector<u8>(u64{width} * height * 3, 7)};
  return error_of([&] { image::process(p, plain, "photo"); });
}

}  // namespace

TEST_CASE("processor: pixel_values are those of transformers") {
  u32 seen = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (!entry.is_directory()) continue;
    const std::string name = entry.path().filename();
    CAPTURE(name);
    const auto e = expected(name);
    const auto out = image::process(image::load_processor(entry.path()), e.picture, name);
    CHECK(out.rows == e.out.rows);
    CHECK(out.cols == e.out.cols);
    REQUIRE(out.tiles.size() == e.out.tiles.size());
    for (std::size_t i = 0; i < out.tiles.size(); ++i) {
      CAPTURE(i);
      const auto &found = out.tiles[i], &wanted = e.out.tiles[i];
      CHECK(found.shape == wanted.shape);
      CHECK(found.grid_t == wanted.grid_t);
      CHECK(found.grid_h == wanted.grid_h);
      CHECK(found.grid_w == wanted.grid_w);
      check_values(found.values, wanted.values);
    }
    ++seen;
  }
  CHECK(seen == 12);
}

TEST_CASE("processor: videos of Qwen, which torchvision resizes") {
  const std::string videos = files::folder + "videos/";
  std::vector<image::picture> frames;
  for (const char* name : {"frame0.ppm", "frame1.ppm", "frame2.ppm"}) frames.push_back(files::ppm(videos + name));
  for (const std::string name : {"qwen2_5_vl", "qwen3_vl", "qwen3_vl-capped"}) {
    CAPTURE(name);
    const auto wanted = expected(name, videos).out.tiles.at(0);
    const auto found = image::load_video_processor(videos + name)(frames, name);
    CHECK(found.shape == wanted.shape);
    CHECK(found.grid_t == 2);
    CHECK(found.grid_h == wanted.grid_h);
    CHECK(found.grid_w == wanted.grid_w);
    check_values(found.values, wanted.values);
  }
  const auto how = image::qwen_video_processor::of_qwen3();
  CHECK(error_of([&] { how(std::span(frames).first(1), "clip"); }) ==
        "clip: video: expected at least 2 frames, found 1");
  CHECK(error_of([] { image::qwen_video_processor{}({}, "clip"); }) ==
        "clip: video: expected at least 1 frames, found 0");
  frames.push_back(image::picture{1, 1, {1, 2, 3}});
  CHECK(error_of([&] { how(frames, "clip"); }) == "clip: image: expected frames of one size, 23 x 31, found 1 x 1");
  CHECK(error_of([&] {
          image::load_video_processor(folder + "siglip");
        }).ends_with("video_processor_type: expected Qwen2VLVideoProcessor or Qwen3VLVideoProcessor, found null"));
}

TEST_CASE("processor: the tile that shows the whole image") {
  const auto whole = [](const std::string& name) {
    const auto e = expected(name);
    const auto out = image::process(image::load_processor(folder + name), e.picture, name);
    return std::pair{out.whole, out.tiles.size()};
  };
  CHECK(whole("gemma3-crops").first == 0);
  const auto [at, count] = whole("idefics3");
  CHECK((at > 0 && at == count - 1));
  CHECK(whole("siglip").first == 0);

  image::lfm2_vl_processor bare{.patch = 2, .tile = 8, .least_tokens = 2, .most_tokens = 4, .thumbnail = false};
  const image::picture plain{40, 20, std::vector<u8>(40 * 20 * 3, 7)};
  const auto out = bare(plain, "f");
  CHECK(out.tiles.size() == out.rows * out.cols);
  CHECK(out.whole == out.tiles.size());  // none
}

TEST_CASE("processor: the class is in the file, with any ending, or follows from the model") {
  CHECK(std::holds_alternative<image::qwen2_vl_processor>(
      read(R"({"image_processor_type": "Qwen2VLImageProcessorFast"})")));
  CHECK(
      std::holds_alternative<image::gemma3_processor>(read(R"({"image_processor_type": "Gemma3ImageProcessorPil"})")));
  CHECK(std::holds_alternative<image::siglip_processor>(read("{}", "siglip")));
  CHECK(std::holds_alternative<image::pixtral_processor>(read("{}", "mistral3")));
  errc code{};
  CHECK(error(R"({"image_processor_type": "CLIPImageProcessor"})", &code) ==
        "f.json: image_processor_type: expected the image processor of a family that cke knows, found "
        "CLIPImageProcessor");
  CHECK(code == errc::unsupported);
  CHECK(error("{}").starts_with("f.json: image_processor_type: expected the image processor of a family"));
}

TEST_CASE("processor: where a directory does not name the class, it is that of the model in config.json") {
  const model_directory dir;
  const auto has = [&]<class P>(std::string_view type, P) {
    dir.put_model_type(type);
    return std::holds_alternative<P>(image::load_processor(dir.path));
  };
  dir.put("preprocessor_config.json", R"({"image_mean": [0.5, 0.5, 0.5]})");
  CHECK(has("siglip", image::siglip_processor{}));
  CHECK(has("gemma3", image::gemma3_processor{}));
  CHECK(has("gemma4", image::gemma4_processor{}));
  for (const char* type : {"qwen2_vl", "qwen2_5_vl", "qwen3_vl", "qwen3_vl_moe", "qwen3_5", "qwen3_5_moe"})
    CHECK_MESSAGE(has(type, image::qwen2_vl_processor{}), type);
  CHECK(has("idefics3", image::idefics3_processor{}));
  CHECK(has("smolvlm", image::idefics3_processor{}));
  CHECK(has("lfm2_vl", image::lfm2_vl_processor{}));
  CHECK(has("pixtral", image::pixtral_processor{}));
  CHECK(has("mistral3", image::pixtral_processor{}));

  const auto refused = [&](const char* file) {
    CHECK(error_of([&] { image::load_processor(dir.path); }) ==
          concat({dir.path, "/", file,
                  "image_processor_type: expected the image processor of a family that cke knows, found null"}));
  };
  for (const char* type : {"llava", "qwen2_5_vl_vision", ""}) {  // LLaVA's has a class of its own
    dir.put_model_type(type);
    refused("preprocessor_config.json: ");
  }
  dir.put("config.json", "[]");
  refused("preprocessor_config.json: ");
  std::filesystem::remove(dir.path + "/config.json");
  refused("preprocessor_config.json: ");
  // Of an object inside another too, and a class that is named counts before the model.
  dir.put("processor_config.json", R"({"image_processor": {"patch_size": 3}})");
  refused("processor_config.json: image_processor.");
  dir.put_model_type("qwen3_vl");
  CHECK(std::get<image::qwen2_vl_processor>(image::load_processor(dir.path)).patch == 3);
  dir.put("processor_config.json", R"({"image_processor": {"image_processor_type": "SiglipImageProcessor"}})");
  CHECK(has("qwen3_vl", image::siglip_processor{}));
}

TEST_CASE("processor: the class of videos too, and older directories have one file for images and videos") {
  const model_directory dir;
  const auto load = [&](std::string_view type) {
    dir.put_model_type(type);
    return image::load_video_processor(dir.path);
  };
  const auto refused = [&](const char* file) {
    CHECK(error_of([&] { image::load_video_processor(dir.path); }) ==
          concat({dir.path, "/", file,
                  "video_processor_type: expected Qwen2VLVideoProcessor or Qwen3VLVideoProcessor, found null"}));
  };
  dir.put("preprocessor_config.json", R"({"image_processor_type": "Qwen2VLImageProcessorFast", "patch_size": 3})");
  for (const char* type : {"qwen2_vl", "qwen2_5_vl"}) {
    const image::qwen_video_processor p = load(type);
    CHECK_MESSAGE((!p.counts_frames && p.patch == 3), type);
  }
  for (const char* type : {"qwen3_vl", "qwen3_vl_moe", "qwen3_5", "qwen3_5_moe"}) {
    const image::qwen_video_processor p = load(type);
    CHECK_MESSAGE((p.counts_frames && p.patch == 3), type);
  }
  for (const char* type : {"gemma4", "qwen3_vl_vision", "qwen3_omni_moe"}) {
    dir.put_model_type(type);
    refused("preprocessor_config.json: ");
  }
  std::filesystem::remove(dir.path + "/config.json");
  refused("preprocessor_config.json: ");
  dir.put("video_preprocessor_config.json", R"({"patch_size": 5})");
  refused("video_preprocessor_config.json: ");
  CHECK(load("qwen3_vl").patch == 5);
  dir.put("processor_config.json", R"({"video_processor": {"video_processor_type": "Qwen2VLVideoProcessor"}})");
  CHECK_FALSE(load("qwen3_vl").counts_frames);
}

TEST_CASE("processor: keys that nothing reads, and values that do not fit, are refused by name") {
  const std::string qwen = R"({"image_processor_type": "Qwen2VLImageProcessor", )";
  CHECK(error(qwen + R"("sharpen": true})") == "f.json: sharpen: expected no such key, found true");
  CHECK(error(qwen + R"("patch_size": 0})") == "f.json: patch_size: expected a whole number from 1 to 1024, found 0");
  CHECK(error(qwen + R"("patch_size": "14"})") ==
        "f.json: patch_size: expected a whole number from 1 to 1024, found 14");
  CHECK(error(qwen + R"("resample": 0})") ==
        "f.json: resample: expected 1 (lanczos), 2 (bilinear), 3 (bicubic), 4 (box) or 5 (hamming), found 0");
  CHECK(error(qwen + R"("image_mean": [1, 2]})") == "f.json: image_mean: expected three numbers, found array");
  CHECK(error(qwen + R"("image_std": [1, 0, 1]})") == "f.json: image_std: expected numbers above 0, found array");
  CHECK(error(qwen + R"("do_center_crop": true})") == "f.json: do_center_crop: expected false, found true");
  CHECK(error(qwen + R"("min_pixels": 100, "max_pixels": 50})") ==
        "f.json: max_pixels: expected at least the smallest number of pixels, 100, found 50");
  CHECK(error(qwen + R"("size": {"height": 3}})") == "f.json: size.height: expected no such key, found 3");
  CHECK(error(qwen + R"("do_resize": 1})") == "f.json: do_resize: expected true or false, found 1");
  CHECK(error(R"({"image_processor_type": "SiglipImageProcessor", "size": {"shortest_edge": 3}})") ==
        "f.json: size.shortest_edge: expected no such key, found 3");
  CHECK(error(R"({"image_processor_type": "SiglipImageProcessor", "size": {"height": 3}})") ==
        "f.json: size.width: expected a whole number from 1 to 16384, found null");
  CHECK(error(R"({"image_processor_type": "Gemma3ImageProcessor", "do_pan_and_scan": true})")
            .starts_with("f.json: pan_and_scan_min_crop_size: expected a number, as do_pan_and_scan is true"));
  CHECK(error(R"({"image_processor_type": "Gemma4ImageProcessor", "max_soft_tokens": 100})") ==
        "f.json: max_soft_tokens: expected 70, 140, 280, 560 or 1120, found 100");
  CHECK(error(R"({"image_processor_type": "Lfm2VlImageProcessor", "min_tiles": 5, "max_tiles": 4})") ==
        "f.json: max_tiles: expected at least min_tiles, 5, found 4");
  CHECK(error(R"({"image_processor_type": "SiglipImageProcessor", "size": {"height": 16384, "width": 16384}})") ==
        "f.json: size: expected at most 33554432 pixels in all, found 268435456");
  CHECK(error(R"({"image_processor_type": "Gemma4ImageProcessor", "patch_size": 1000, "pooling_kernel_size": 9})") ==
        "f.json: patch_size: expected at most 33554432 pixels in all, found 22680000000");
  CHECK(error("[]") == "f.json: a JSON object");
  CHECK(error("{") == "f.json: a JSON object");
}

TEST_CASE("processor: min_pixels and max_pixels count before size, whose null is no value") {
  const auto p = std::get<image::qwen2_vl_processor>(read(
      R"({"image_processor_type": "Qwen2VLImageProcessor", "min_pixels": 5,
          "size": {"shortest_edge": 7, "longest_edge": 9}, "max_pixels": null,
          "patch_size": null, "data_format": "channels_first", "processor_class": "Any"})"));
  CHECK(p.least_pixels == 5);
  CHECK(p.most_pixels == 9);
  CHECK(p.patch == 14);
}

TEST_CASE("processor: files as they are published") {
  // google/gemma-3-4b-it
  const auto gemma = std::get<image::gemma3_processor>(read(
      R"({"do_convert_rgb": null, "do_normalize": true, "do_pan_and_scan": null, "do_rescale": true, "do_resize": true,
          "image_mean": [0.5, 0.5, 0.5], "image_processor_type": "Gemma3ImageProcessor", "image_seq_length": 256,
          "image_std": [0.5, 0.5, 0.5], "pan_and_scan_max_num_crops": null, "pan_and_scan_min_crop_size": null,
          "pan_and_scan_min_ratio_to_activate": null, "processor_class": "Gemma3Processor", "resample": 2,
          "rescale_factor": 0.00392156862745098, "size": {"height": 896, "width": 896}})"));
  CHECK((gemma.height == 896 && gemma.width == 896 && !gemma.pan_and_scan));
  // Qwen/Qwen3-VL-2B-Instruct
  const auto qwen = std::get<image::qwen2_vl_processor>(read(
      R"({"size": {"longest_edge": 16777216, "shortest_edge": 65536}, "patch_size": 16, "temporal_patch_size": 2,
          "merge_size": 2, "image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5],
          "processor_class": "Qwen3VLProcessor", "image_processor_type": "Qwen2VLImageProcessorFast"})"));
  CHECK((qwen.patch == 16 && qwen.least_pixels == 65536 && qwen.most_pixels == 16777216));
  // HuggingFaceTB/SmolVLM2-2.2B-Instruct
  const auto smol = std::get<image::idefics3_processor>(read(
      R"({"do_convert_rgb": true, "do_image_splitting": true, "do_normalize": true, "do_pad": true, "do_rescale": true,
          "do_resize": true, "image_mean": [0.5, 0.5, 0.5], "image_processor_type": "SmolVLMImageProcessor",
          "image_std": [0.5, 0.5, 0.5], "max_image_size": {"longest_edge": 384}, "processor_class": "SmolVLMProcessor",
          "resample": 1, "rescale_factor": 0.00392156862745098, "size": {"longest_edge": 1536},
          "video_sampling": {"fps": 1, "max_frames": 64, "video_size": {"longest_edge": 384}}})"));
  CHECK((smol.tile == 384 && smol.longest_edge == 1536 && smol.splits));
  // LiquidAI/LFM2-VL-450M
  const auto lfm = std::get<image::lfm2_vl_processor>(read(
      R"({"crop_size": null, "data_format": "channels_first", "default_to_square": true, "device": null,
          "disable_grouping": null, "do_center_crop": null, "do_convert_rgb": null, "do_image_splitting": true,
          "do_normalize": true, "do_pad": true, "do_rescale": true, "do_resize": true, "downsample_factor": 2,
          "encoder_patch_size": 16, "image_mean": [0.5, 0.5, 0.5], "image_processor_type": "Lfm2VlImageProcessorFast",
          "image_std": [0.5, 0.5, 0.5], "input_data_format": null, "max_image_tokens": 256, "max_num_patches": 1024,
          "max_pixels_tolerance": 2.0, "max_tiles": 10, "min_image_tokens": 64, "min_tiles": 2, "resample": 2,
          "rescale_factor": 0.00392156862745098, "return_tensors": null, "size": {"height": 512, "width": 512},
          "tile_size": 512, "use_thumbnail": true})"));
  CHECK((lfm.tile == 512 && lfm.patch == 16 && lfm.resample == image::filter::bilinear));
  // Keys that are null say nothing, wherever they stand.
  const auto siglip = std::get<image::siglip_processor>(read(
      R"({"image_processor_type": "SiglipImageProcessor", "new_key": null,
          "size": {"height": 384, "width": 384, "longest_edge": null}})"));
  CHECK(siglip.height == 384);
}

TEST_CASE("processor: an image of the wrong shape is refused with its name") {
  CHECK(refusal(image::qwen2_vl_processor{}, 1, 201) ==
        "photo: image: expected sides of at most 200 to 1, found 1 x 201");
  CHECK(refusal(image::qwen2_vl_processor{.resizes = false}, 28, 27) ==
        "photo: image: expected multiples of 28 pixels, found 28 x 27");
  CHECK(refusal(image::pixtral_processor{.most_height = 8, .most_width = 8}, 1, 100) ==
        "photo: image: expected sides of which at least a pixel is left, found 1 x 100");
  CHECK(refusal(image::gemma4_processor{}, 30, 20) == "");
}

TEST_CASE("processor: a directory without a config says which file is missing") {
  CHECK(error_of([] {
          image::load_processor(files::folder + "none");
        }).ends_with("none/preprocessor_config.json: expected a readable file, found No such file or directory"));
}
