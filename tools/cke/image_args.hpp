// SPDX-License-Identifier: MIT
// image_args.hpp: what a prompt shows.
#pragma once

#include <string>
#include <vector>

namespace cke::tool {

// An image file, or a folder of frames.
struct shown_file {
  std::string path;
  bool video = false;
};
struct image_args {
  std::vector<shown_file> files;  // in the order of the command line
  double fps = 2;                 // frames of a second of the videos
};

}  // namespace cke::tool
