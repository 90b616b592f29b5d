// SPDX-License-Identifier: MIT
// device_sequence.hpp: a sequence on a device, which may choose ids there, many of them without the host.
#pragma once

#include <algorithm>

#include "device_sampling.hpp"
#include "sequence.hpp"

namespace cke::runtime {

template <class Executor> class device_sequence : public sequence {
 public:
  explicit device_sequence(std::shared_ptr<loaded_program> model) : sequence(std::move(model)) {}

  // The next id, sampled on the device.
  u32 choose(const device_sampling& how) {
    const std::lock_guard turn(model_->busy);
    return executor().choose(logits_.data(), position(), how);
  }

  // Generates up to n ids in one launch that does not wait for the host: each is sampled and fed. take(id) is called
  // for each as it arrives, and returns whether to go on. It must not feed a sequence of the same model or choose for
  // one, because the model is busy with this one. Generation ends after one of `stop`; neither that one nor the last id
  // after take has returned false is fed. The first is chosen from logits(), which must not be stale. Throws
  // context_overflow, cache_full, and what cuda::ahead throws.
  template <class Take>
  std::vector<u32> generate_nosync(u32 n, std::span<const u32> stop, Take&& take, const device_sampling& how = {}) {
    check_room(n, {});
    if (n == 0) return {};
    std::vector<u32> ids{choose(how)};
    bool on = take(ids[0]);
    if (!on || std::ranges::find(stop, ids[0]) != stop.end()) return ids;
    const u32 start = position();
    u32 fed = 0;
    try {
      reserve(n);
      const std::lock_guard turn(model_->busy);
      fed = executor().run_ahead(ids[0], n, slot_, stop, how, logits_.data(), [&](u32 id) {
        ids.push_back(id);
        return on = on && take(id);
      });
    } catch (...) {
      rewind(start);
      throw;
    }
    history_.insert(history_.end(), ids.begin(), ids.begin() + fed);
    slot_.truncate(position());
    remember();
    stale_ &= fed == 0;
    return ids;
  }

 private:
  Executor& executor() { return static_cast<Executor&>(*model_->executor); }
};

}  // namespace cke::runtime
