// SPDX-License-Identifier: MIT
// embedded.cpp ID ...: continues a text, given as ids, with a model that is linked into the program: it reads no file.
//   cke build assets/tiny --embed -o tiny.hpp
//   g++ -std=c++20 -O2 -ffp-contract=off -I include -isystem XSIMD -I . examples/embedded.cpp tiny.S
#include "tiny.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace {

tiny::model::memory memory;

int failed(const cke::failure& f) {
  std::fprintf(stderr, "embedded: %.*s: expected %llu, found %llu\n", static_cast<int>(f.subject.size()),
               f.subject.data(), static_cast<unsigned long long>(f.expected), static_cast<unsigned long long>(f.found));
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  auto model = tiny::open(memory);
  if (!model) return failed(model.error());
  cke::result<std::span<const float>> logits = model->feed({});  // of no ids: a failure
  for (int i = 1; i < argc; ++i) {
    logits = model->feed(static_cast<cke::u32>(std::strtoul(argv[i], nullptr, 10)));
    if (!logits) break;
  }
  while (logits && model->position() < tiny::model::context) {
    const cke::u32 id = cke::likeliest(*logits);
    if (std::ranges::count(tiny::stop_ids, id)) break;
    std::printf("%.*s", static_cast<int>(tiny::piece(id).size()), tiny::piece(id).data());
    logits = model->feed(id);
  }
  return logits ? std::printf("\n"), 0 : failed(logits.error());
}
