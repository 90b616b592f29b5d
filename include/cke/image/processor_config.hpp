// SPDX-License-Identifier: MIT
// processor_config.hpp: reads the config of an image processor key by key, and refuses keys that nothing read.
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "../io/json_node.hpp"
#include "processors/pixels.hpp"

namespace cke::image {

namespace detail {

// A key that is absent or null has transformers' default. Errors name file and key.
class config_reader {
 public:
  using node = io::detail::json_node;

  explicit config_reader(node object) : object_(std::move(object)) { object_.object(); }

  node at(const char* key) {
    read_.insert(key);
    return object_[key];
  }
  bool has(const char* key) { return !at(key).null(); }
  // Of an object inside; as everywhere, a key that is null says nothing.
  static void only(const node& n, std::initializer_list<std::string_view> keys) {
    for (const auto& [key, value] : n.object())
      if (!value.is_null() && std::ranges::find(keys, key) == keys.end()) n[key.c_str()].unsupported("no such key");
  }
  bool flag(const char* key, bool otherwise) { return at(key).flag(otherwise); }
  // A whole number in [least, most].
  static u64 number(const node& n, u64 otherwise, u64 least, u64 most) {
    if (n.null()) return otherwise;
    const std::string range = concat({"a whole number from ", least, " to ", most});
    if (!n.raw().is_number_unsigned()) n.mismatch(range);
    const u64 v = n.raw().get<u64>();
    if (v < least || v > most) n.mismatch(range);
    return v;
  }
  u32 number(const char* key, u32 otherwise, u32 least, u32 most) {
    return static_cast<u32>(number(at(key), otherwise, least, most));
  }
  static double real(const node& n, double otherwise) {
    if (n.null()) return otherwise;
    if (!n.raw().is_number()) n.mismatch("a number");
    return n.raw().get<double>();
  }
  // Three numbers, or one for all channels.
  std::array<double, 3> channels(const char* key, std::array<double, 3> otherwise) {
    const node n = at(key);
    if (n.null()) return otherwise;
    if (n.raw().is_number()) return {real(n, 0), real(n, 0), real(n, 0)};
    if (!n.raw().is_array() || n.raw().size() != 3) n.mismatch("three numbers");
    const auto items = n.array();
    return {real(items[0], 0), real(items[1], 0), real(items[2], 0)};
  }
  filter resample(filter otherwise) {
    const u64 v = number(at("resample"), static_cast<u64>(otherwise), 0, 7);
    at("resample").require(v >= 1 && v <= 5, "1 (lanczos), 2 (bilinear), 3 (bicubic), 4 (box) or 5 (hamming)");
    return static_cast<filter>(v);
  }
  // do_rescale, rescale_factor, do_normalize, image_mean, image_std
  void scale(pixel_scale& s) {
    s.rescale = flag("do_rescale", s.rescale);
    s.normalize = flag("do_normalize", s.normalize);
    s.factor = real(at("rescale_factor"), s.factor);
    s.mean = channels("image_mean", s.mean);
    s.std = channels("image_std", s.std);
    for (const double v : s.std)
      if (!(v > 0)) at("image_std").mismatch("numbers above 0");
    if (!(s.factor > 0)) at("rescale_factor").mismatch("a number above 0");
  }
  // {"height": h, "width": w}, and where one number stands for both, that.
  static std::array<u32, 2> height_and_width(const node& n, std::array<u32, 2> otherwise, bool from_number) {
    constexpr u64 most = 16384;
    if (n.null()) return otherwise;
    if (from_number && n.raw().is_number()) {
      const auto v = static_cast<u32>(number(n, 0, 1, most));
      return {v, v};
    }
    only(n, {"height", "width"});
    const auto side = [&](const char* key) {
      if (n[key].null()) n[key].mismatch(concat({"a whole number from 1 to ", most}));
      return static_cast<u32>(number(n[key], 0, 1, most));
    };
    return {side("height"), side("width")};
  }
  // {"longest_edge": n}
  static u32 longest_edge(const node& n, u32 otherwise) {
    if (n.null()) return otherwise;
    only(n, {"longest_edge"});
    if (n["longest_edge"].null()) n["longest_edge"].mismatch("a whole number from 1 to 16384");
    return static_cast<u32>(number(n["longest_edge"], otherwise, 1, 16384));
  }

  // What the config makes of any image must be of a size that can be allocated.
  void bound(const char* key, std::initializer_list<u64> factors) {
    u64 pixels = 1;
    bool fit = true;
    for (const u64 f : factors) fit = fit && checked_mul(pixels, f, pixels);
    if (!fit || pixels > most_pixels)
      at(key).mismatch(concat({"at most ", most_pixels, " pixels in all"}), fit ? concat({pixels}) : "more");
  }

  // Keys without a meaning for one image in RGB, and keys with one that cke does not have.
  void done() {
    for (const char* key : {"processor_class", "image_processor_type", "feature_extractor_type", "do_convert_rgb",
                            "data_format", "return_tensors", "device", "disable_grouping", "image_seq_length",
                            "image_seq_len", "default_to_square", "crop_size", "do_pad", "_valid_processor_keys"})
      read_.insert(key);
    at("do_center_crop").require(!flag("do_center_crop", false), "false");
    for (const char* key : {"input_data_format", "pad_size"}) at(key).require(!has(key), "null");
    for (const auto& [key, value] : object_.object())
      if (!value.is_null() && !read_.contains(key)) object_[key.c_str()].unsupported("no such key");
  }

 private:
  node object_;
  std::set<std::string, std::less<>> read_;
};

}  // namespace detail
}  // namespace cke::image
