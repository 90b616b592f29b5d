// SPDX-License-Identifier: MIT
// process_image.cpp: makes pixel_values of image files for tools/parity/image_processors.py.
//   in:   DIRECTORY, a tab, FILE, a line each; with more files, each after a tab, they are the frames of a video
//   out:  "ok TILES ROWS COLS WHOLE"; for each tile "RANK DIMENSIONS... T H W", a newline and float32 numbers;
//         or "error: " and the message
#include <cke/image/decode.hpp>
#include <cke/image/processor.hpp>
#include <iostream>
#include <sstream>

namespace {

using namespace cke;

image::processed answer(const std::string& line) {
  std::istringstream fields(line);
  std::string directory, path;
  std::getline(fields, directory, '\t');
  std::vector<image::picture> pictures;
  while (std::getline(fields, path, '\t')) {
    const io::mapped_file file(path);
    pictures.push_back(image::decode(file.bytes(), path));
  }
  if (pictures.size() == 1) return image::process(image::load_processor(directory), pictures[0], path);
  return {.tiles = {image::load_video_processor(directory)(pictures, path)}};
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    try {
      const auto out = answer(line);
      std::cout << "ok " << out.tiles.size() << ' ' << out.rows << ' ' << out.cols << ' ' << out.whole << '\n';
      for (const auto& tile : out.tiles) {
        std::cout << tile.shape.size();
        for (const u32 d : tile.shape) std::cout << ' ' << d;
        std::cout << ' ' << tile.grid_t << ' ' << tile.grid_h << ' ' << tile.grid_w << '\n';
        std::cout.write(reinterpret_cast<const char*>(tile.values.data()),
                        static_cast<std::streamsize>(tile.values.size() * sizeof(float)));
      }
      std::cout.flush();
    } catch (const Error& e) { std::cout << "error: " << e.what() << std::endl; }
  }
}
