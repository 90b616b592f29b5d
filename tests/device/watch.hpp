// SPDX-License-Identifier: MIT
// watch.hpp: clocks, throttling and energy of the device while something runs on it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "driver.hpp"
#include "report.hpp"

namespace device_check {

std::string bus_id();  // of the first device, as NVML spells it

// Looks every 20 ms, from its making on.
class watch {
 public:
  explicit watch(const std::string& id = bus_id(), const char* nvml = "libnvidia-ml.so.1")
      : nvml_(id, nvml), begin_(nvml_.millijoules()), looks_([this] { look(); }) {}
  ~watch() {
    {
      const std::lock_guard turn(lock_);
      done_ = true;
    }
    changed_.notify_one();
    looks_.join();
  }
  watch(const watch&) = delete;
  watch& operator=(const watch&) = delete;

  // Joules since the making; NaN where the device does not say.
  double joules() const {
    const unsigned long long now = nvml_.millijoules();
    return now > 0 && begin_ > 0 ? static_cast<double>(now - begin_) * 1e-3 : std::nan("");
  }
  void rows(report& r, const std::string& name) const {
    const std::lock_guard turn(lock_);
    if (!nvml_.why_not().empty() || seen_ == 0)
      return r.absent(name + "_sm_mhz", seen_ == 0 && nvml_.why_not().empty() ? "it was too short" : nvml_.why_not());
    r.number(name + "_sm_mhz", sum_ / seen_, "MHz");
    r.number(name + "_sm_least_mhz", least_, "MHz");
    r.number(name + "_memory_mhz", memory_, "MHz");
    r.text(name + "_throttled_by", throttled_.empty() ? "nothing" : throttled_);
  }

 private:
  void look() {
    std::unique_lock turn(lock_);
    while (!changed_.wait_for(turn, std::chrono::milliseconds(20), [&] { return done_; })) {
      const unsigned now = nvml_.mhz(management::clock::sm);
      if (now == 0) continue;
      ++seen_, sum_ += now, least_ = seen_ == 1 ? now : std::min(least_, now);
      memory_ = nvml_.mhz(management::clock::memory);
      if (const std::string why = nvml_.throttled(); !why.empty() && throttled_.find(why) == throttled_.npos)
        throttled_ += (throttled_.empty() ? "" : "; ") + why;
    }
  }

  management nvml_;
  unsigned long long begin_;
  mutable std::mutex lock_;
  std::condition_variable changed_;
  bool done_ = false;
  unsigned seen_ = 0, least_ = 0, memory_ = 0;
  double sum_ = 0;
  std::string throttled_;
  std::thread looks_;  // last: it uses all of the above
};

}  // namespace device_check
