// SPDX-License-Identifier: MIT
// freestanding.cpp: a model without an operating system: no heap, thread, file, exception, RTTI or iostream. board/ has
// what a board needs to start; tests/bare/ builds both for x86-64 and for Cortex-M, and runs them.
#include "board/toy.hpp"

namespace {

toy::memory memory;  // all that the model writes: its size is a constant

void put(cke::u64 number) {
  char digits[21], *at = digits + 20;
  *at = 0;
  do *--at = static_cast<char>('0' + number % 10);
  while (number /= 10);
  board_put(at);
}
void put(const char* name, cke::u64 number) { board_put(name), board_put(" "), put(number), board_put("\n"); }

int failed(const cke::failure& f) {
  for (const char c : f.subject) {
    const char text[]{c, 0};
    board_put(text);
  }
  board_put(": expected "), put(f.expected), board_put(", found "), put(f.found), board_put("\n");
  return 1;
}

}  // namespace

int board_main() {
  auto model = toy::open({toy_image, toy_image_end}, memory);
  if (!model) return failed(model.error());
  cke::xxh64 seen;
  board_put("ids");
  for (cke::u32 id = 1; model->position() < toy::context; board_put(" "), put(id)) {
    const auto logits = model->feed(id);
    if (!logits) return failed(logits.error());
    seen.add(std::as_bytes(*logits));
    id = cke::likeliest(*logits);
  }
  board_put("\n");
  put("logits", seen.value());  // the same on every machine
  put("image", toy::image_bytes), put("memory", toy::memory_bytes), put("stack", board_stack_used());
  return 0;
}
