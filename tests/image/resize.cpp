// SPDX-License-Identifier: MIT
#include <cke/image/resize.hpp>

#include "files.hpp"

using namespace cke;

TEST_CASE("resize: every filter gives the bytes that Pillow gives") {
  const auto source = files::ppm(files::folder + "resized/source.ppm");
  u32 seen = 0;
  for (const u32 filter : {1u, 2u, 3u, 4u, 5u})
    for (const auto& [width, height] : {std::pair{6u, 5u}, {20u, 23u}, {13u, 4u}, {5u, 17u}, {1u, 1u}}) {
      const std::string name = concat({filter, "-", width, "x", height, ".ppm"});
      CAPTURE(name);
      const auto found = image::resize(source, width, height, static_cast<image::filter>(filter));
      CHECK(files::difference(found, files::ppm(files::folder + "resized/" + name)) == "");
      ++seen;
    }
  CHECK(seen == 25);
}

TEST_CASE("resize: a picture of that size stays as it is") {
  const auto source = files::ppm(files::folder + "resized/source.ppm");
  CHECK(image::resize(source, source.width, source.height, image::filter::bicubic).rgb == source.rgb);
}

TEST_CASE("resize: a plain picture stays plain at any size") {
  image::picture plain{37, 29, std::vector<u8>(37 * 29 * 3, 201)};
  for (const u32 filter : {1u, 2u, 3u, 4u, 5u})
    for (const u32 width : {1u, 5u, 36u, 38u, 130u})
      for (const u32 height : {1u, 7u, 28u, 30u, 97u}) {
        const auto p = image::resize(plain, width, height, static_cast<image::filter>(filter));
        CAPTURE(filter);
        CAPTURE(width);
        CAPTURE(height);
        CHECK(p.rgb == std::vector<u8>(width * height * 3, 201));
      }
}
