// SPDX-License-Identifier: MIT
// image_processor.cpp: fuzz target: any bytes as a preprocessor_config.json yield an error or tensors of their shapes.
#include <cke/image/processor.hpp>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cke;
  static const image::picture picture{13, 21, std::vector<u8>(13 * 21 * 3, 99)};
  try {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto config = image::detail::parse_config(text, "fuzz");
    auto p = image::read_processor(config, "fuzz");
    // Valid but large configs would only take time.
    const auto large = [](const auto& known) {
      using kind = std::remove_cvref_t<decltype(known)>;
      if constexpr (requires { known.width; }) return known.width > 64 || known.height > 64;
      else if constexpr (std::is_same_v<kind, image::qwen2_vl_processor>)
        return known.most_pixels > 100'000 || known.patch * known.merge > 64;
      else if constexpr (std::is_same_v<kind, image::idefics3_processor>)
        return known.tile > 64 || known.longest_edge > 200;
      else if constexpr (std::is_same_v<kind, image::pixtral_processor>)
        return known.patch_height * known.merge > 64 || known.patch_width > 64;
      else if constexpr (std::is_same_v<kind, image::lfm2_vl_processor>)
        return known.tile > 64 || known.most_tiles > 20 || known.most_tokens * known.patch * known.downsample > 2000;
      else return known.patch * known.pool > 32 || known.soft_tokens > 70;
    };
    if (std::visit(large, p)) return 0;
    const auto out = image::process(p, picture, "fuzz");
    if (out.tiles.empty() || out.whole > out.tiles.size()) std::abort();
    for (const auto& tile : out.tiles) {
      u64 count = 1;
      for (const u32 d : tile.shape) count *= d;
      if (count != tile.values.size() || u64{tile.grid_h} * tile.grid_w > count) std::abort();
    }
  } catch (const Error& e) {
    if (e.file != "fuzz") std::abort();
  }
  return 0;
}
