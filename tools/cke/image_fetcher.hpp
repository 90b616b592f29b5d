// SPDX-License-Identifier: MIT
// image_fetcher.hpp: gets images by their address, in a program with libcurl.
#pragma once

#include <functional>
#include <string>

#include "rooms.hpp"

namespace cke::tool {

// Throws Error for an image beyond so many bytes. Empty in a program without libcurl.
std::function<std::string(const std::string& url)> image_fetcher(std::size_t most_bytes);

}  // namespace cke::tool
