// SPDX-License-Identifier: MIT
// toy.hpp: the model of freestanding.cpp, and what a board does for it.
#pragma once

#include <cke/bare.hpp>
#include <cke/models/llama.hpp>

struct toy_llama : cke::llama<{.vocab = 96, .dim = 64, .hidden = 96, .layers = 3, .heads = 4, .kv_heads = 2}> {};
using toy = cke::bare_model<toy_llama, cke::Q8_0, cke::dtype::f16, /*context*/ 64, cke::isa::scalar>;

extern "C" {
extern const std::byte toy_image[], toy_image_end[];  // image.S
void board_put(const char* text);                     // to whoever watches
cke::u32 board_stack_used();                          // most bytes of stack so far
int board_main();                                     // the program; returns its exit status
}
