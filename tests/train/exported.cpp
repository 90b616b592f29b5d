// SPDX-License-Identifier: MIT
// exported.cpp: a trainer behind cke_train.h: tensors are those that were given, in any order.
#include <cke/export_trainer.hpp>
#include <cke/models/qwen2.hpp>

#include "gradients.hpp"

TEST_CASE("train: exported: tensors are read and written by the place at which they were given") {
  using namespace training;
  using exported = door::exported_trainer<from_config<configs::qwen2>>;
  const checkpoint from = open_family("qwen2");
  std::vector<cke_tensor> given;
  for (const tensor_ref& t : from.tensors.tensors())
    given.push_back({t.name.c_str(), static_cast<u32>(t.type), static_cast<u32>(t.shape.size()), t.shape.data(),
                     t.bytes.data(), t.bytes.size()});
  std::ranges::reverse(given);
  cke_error e{};
  cke_trainer* const t = exported::from_tensors(given.data(), given.size(), CKE_NAMES_HF, "qwen2", nullptr, &e);
  REQUIRE_MESSAGE(t, e.message);
  for (std::size_t i = 0; i < given.size(); ++i) {
    CAPTURE(given[i].name);
    REQUIRE(given[i].type == static_cast<u32>(dtype::bf16));
    std::vector<u16> stored(given[i].bytes / sizeof(u16));
    std::memcpy(stored.data(), given[i].data, given[i].bytes);
    std::vector<float> numbers(stored.size()), want(stored.size());
    std::ranges::transform(stored, want.begin(), [](u16 x) { return from_bf16(x); });
    int32_t any = 0;
    REQUIRE(exported::read(t, CKE_PART_WEIGHTS, i, numbers.data(), numbers.size(), &any, &e) == 0);
    CHECK(any == 1);
    CHECK(numbers == want);
    CHECK(exported::write(t, CKE_PART_WEIGHTS, i, numbers.data(), numbers.size() + 1, &e) != 0);
  }
  exported::free(t);
}
