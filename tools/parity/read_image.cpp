// SPDX-License-Identifier: MIT
// read_image.cpp: decodes and resizes image files for tools/parity/images.py.
// With --pixels N it refuses larger images than that.
//   in:   FILE, or FILE, a tab, WIDTH HEIGHT FILTER (a number of PIL.Image.Resampling), a line each
//   out:  "ok WIDTH HEIGHT", a newline and the RGB bytes, or "error: " and the message
#include <cke/image/decode.hpp>
#include <cke/image/resize.hpp>
#include <cke/io/mapped_file.hpp>
#include <iostream>
#include <sstream>

int main(int argc, char** argv) {
  using namespace cke;
  image::decode_limits limits;
  if (argc == 3 && std::string_view(argv[1]) == "--pixels") limits.pixels = std::stoull(argv[2]);
  for (std::string line; std::getline(std::cin, line);) {
    const std::string path = line.substr(0, line.find('\t'));
    try {
      const io::mapped_file file(path);
      image::picture picture = image::decode(file.bytes(), path, limits);
      if (path.size() < line.size()) {
        std::istringstream how(line.substr(path.size()));
        u32 width = 0, height = 0, filter = 0;
        how >> width >> height >> filter;
        picture = image::resize(picture, width, height, static_cast<image::filter>(filter));
      }
      std::cout << "ok " << picture.width << ' ' << picture.height << '\n';
      std::cout.write(reinterpret_cast<const char*>(picture.rgb.data()),
                      static_cast<std::streamsize>(picture.rgb.size()));
      std::cout.flush();
    } catch (const Error& e) { std::cout << "error: " << e.what() << std::endl; }
  }
}
