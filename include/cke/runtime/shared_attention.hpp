// SPDX-License-Identifier: MIT
// shared_attention.hpp: the attention of one kv head, shared by several threads without a barrier.
#pragma once

#include <atomic>
#include <memory>

#include "team.hpp"

CKE_COLD_BEGIN
namespace cke::runtime {

// A phase that is cut by kv head ends with the longest step, attention, and would occupy as many threads as there are
// heads. So that step is cut finer: a head has `cut` parts, runs of keys or slices of query heads
// (kernels/attention/attention_steps.hpp). Each head has a count:
//   0        between phases, and until the steps before attention have put the head's queries and keys in place
//   1 + n    when n of its parts have been computed
//   1 + cut  when all have: the thread that computed the last part combines them in order and resets the count to 0
// A part waits for its own head alone. The count is reset after the last wait for it, because every part waits before
// it is counted.
class shared_attention {
 public:
  explicit shared_attention(u32 kv_heads) : counts_(std::make_unique<std::atomic<u32>[]>(kv_heads)) {}

  // Queries and keys of a head are in place.
  void ready(u32 head) { count(head); }

  // On every thread: attend(heads + head * cut + n) computes part n of a head, attend(head) combines its parts.
  template <class Attend> void run(team& threads, u32 thread, u32 heads, u32 cut, u32 at_once, Attend attend) {
    threads.share(thread, heads * cut, at_once, [&](u32 part) {
      const u32 head = part / cut;
      threads.wait_while(counts_[head], 0);
      attend(heads + part);
      if (count(head) < cut) return;
      attend(head);
      counts_[head].store(0, std::memory_order_relaxed);
    });
  }

 private:
  // Adds one; returns the count before.
  u32 count(u32 head) {
    const u32 before = counts_[head].fetch_add(1, std::memory_order_acq_rel);
    if (before == 0) counts_[head].notify_all();
    return before;
  }

  std::unique_ptr<std::atomic<u32>[]> counts_;
};

}  // namespace cke::runtime
CKE_COLD_END
