// SPDX-License-Identifier: MIT
// jitter.cu: ten thousand tokens by blocks that dawdle at every exchange, against a launch for each step.
#include <cke/cuda/executor.cuh>

#include "check.hpp"
#include "dawdling.hpp"
#include "lean.hpp"
#include "timing.cuh"

namespace device_check {

namespace {

struct dawdling_gpu : lean {
  using pace = dawdling::pace;
};

}  // namespace

void check_jitter(report& r, const random_model::tensors& t) {
  constexpr u32 all = 10'000, of_launch = 500;
  constexpr double most_seconds = 50;
  const std::vector<u32> prompt = prompt_ids();
  using steady = machine<Q8_0, cuda::isa<lean>>;
  using dawdling = machine<Q8_0, cuda::isa<dawdling_gpu>>;
  auto steps = new_sequence(load<steady>(t, all + 512));
  auto late = new_sequence(load<dawdling>(t, all + 512));
  steps.feed(prompt), late.feed(prompt);
  const device_sampling how{0.8f, 5};  // likeliest ids soon repeat
  bool same_ids = true, same_logits = true;
  u32 tokens = 0;
  for (double spent = 0; tokens < all && spent < most_seconds && same_ids; tokens += of_launch)
    spent += seconds([&] {
      std::vector<u32> ids;
      while (ids.size() < of_launch) {
        ids.push_back(steps.choose(how));
        steps.feed(ids.back());
      }
      same_ids = late.generate_nosync(of_launch, {}, yes, how) == ids;
      same_logits = same_logits && std::ranges::equal(late.logits(), steps.logits());
    });
  r.number("jitter_tokens", tokens, "tokens");
  r.check("jitter_ids", same_ids);
  r.check("jitter_logits", same_logits);
  if (tokens < all) r.absent("jitter_of_all_10000_tokens", "no time was left for the others");
}

}  // namespace device_check
