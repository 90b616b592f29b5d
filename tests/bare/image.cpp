// SPDX-License-Identifier: MIT
// image.cpp FILE: draws weights for the toy of examples/freestanding.cpp, writes its image, and prints what the scalar
// executor over tables answers: the likeliest ids after id 1, and a checksum of all their logits.
#include "cke/bare_image.hpp"

#include <cstdio>

#include "../../examples/board/toy.hpp"
#include "../runtime/random_model.hpp"

int main(int argc, char** argv) {
  using loaded = cke::runtime::loaded<toy::program, toy::kv, toy::isa>;
  if (argc != 2) return 2;
  const auto tensors = random_model::tensors::of<toy::program>();
  const cke::runtime::model_options options{.threads = 1, .context = toy::context};
  const auto model =
      std::make_shared<loaded>(tensors.index(), "random", cke::naming::hf, cke::names_of<toy_llama>(), options);
  const auto image = cke::bare_image<toy>(model->packed);
  std::FILE* const file = std::fopen(argv[1], "wb");
  if (!file || std::fwrite(image.data(), 1, image.size(), file) != image.size() || std::fclose(file)) return 1;
  cke::runtime::sequence sequence(model);
  cke::xxh64 seen;
  std::printf("ids");
  for (cke::u32 id = 1; sequence.position() < toy::context; std::printf(" %u", id)) {
    sequence.feed(id);
    seen.add(std::as_bytes(sequence.logits()));
    id = cke::likeliest(sequence.logits());
  }
  std::printf("\nlogits %llu\nimage %llu\n", static_cast<unsigned long long>(seen.value()),
              static_cast<unsigned long long>(toy::image_bytes));
}
