// SPDX-License-Identifier: MIT
// limits.hpp: every bound that a client of the server can run into.
#pragma once

#include <chrono>

#include "../core/types.hpp"

namespace cke::serve {

// Sizes of one request, checked before anything of that size is allocated.
struct request_limits {
  std::size_t body = std::size_t{4} << 20;          // bytes
  std::size_t header = std::size_t{16} << 10;       // bytes, the request line included
  std::size_t depth = 32;                           // of nested JSON
  std::size_t values = 400'000;                     // of JSON, in one body
  std::size_t keys = 1024;                          // of one JSON object
  std::size_t images = 32;                          // of all messages together
  std::size_t image_bytes = std::size_t{20} << 20;  // of one image file
};

// Connections, and how long each step of one may take.
struct connection_limits {
  using seconds = std::chrono::seconds;
  u32 connections = 1024;
  u32 large_bodies = 32;  // requests of more than large_body bytes that are being read at a time
  std::size_t large_body = std::size_t{64} << 10;
  seconds header{10};                         // for the whole header of a request
  seconds body{30};                           // for the whole body
  seconds idle{60};                           // between two requests of a connection
  seconds write{30};                          // without progress of a write to a client that does not read
  std::size_t unread = std::size_t{1} << 20;  // bytes of an answer that wait for the client
  int send_buffer = 256 << 10;  // bytes that the kernel buffers for the client; its default grows to megabytes
  seconds drain{30};            // for running answers after SIGTERM
};

}  // namespace cke::serve
