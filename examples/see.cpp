// SPDX-License-Identifier: MIT
// see.cpp: asks a Qwen3-VL what an image file shows; docs/vision.md's first program is this text.

#include <cke/hf.hpp>
#include <cke/models/qwen3_vl.hpp>
#include <cke/models/towers/qwen3_vl.hpp>
#include <cke/vision.hpp>

#include <iostream>

int main() {
  auto model = cke::Model<cke::Qwen3_VL_2B>::load(cke::hf("Qwen3-VL-2B-Instruct"));
  auto vision = cke::Vision<cke::Qwen3_VL_2B_Vision>::load("Qwen3-VL-2B-Instruct", model);
  auto session = model.session();
  const auto prompt = vision.prompt("What is this? ", {vision.read("photo.png")});
  for (std::string_view piece : session.generate(prompt, {.max_tokens = 64})) std::cout << piece << std::flush;
}
