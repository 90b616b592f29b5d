// SPDX-License-Identifier: MIT
// likeliest.hpp: whether a device's likeliest ids are the CPU's, along the CPU's ids, where the CPU's logits decide it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

namespace device_check {

inline std::uint32_t best(std::span<const float> logits) {
  return static_cast<std::uint32_t>(std::ranges::max_element(logits) - logits.begin());
}

// Sums in other orders differ by a rounding, so that of two ids that are about as likely either may win; from there on
// ids that are generated would be others. So each row follows the CPU's ids, and the device's choice must be, by the
// CPU's logits, at most `tolerance` times their size (root mean square) less likely than the CPU's. 0: the same id.
struct likeliest {
  unsigned asked = 0, others = 0, wrong = 0;  // rows; those with another id; those where it is too unlikely

  void row(std::span<const float> cpu, std::span<const float> device, double tolerance) {
    double squares = 0;
    for (const float x : cpu) squares += double{x} * double{x};
    const double size = std::sqrt(squares / static_cast<double>(cpu.size()));
    const std::uint32_t here = best(cpu), there = best(device);
    ++asked, others += here != there;
    const double gap = double{cpu[here]} - double{cpu[there]};
    wrong += here != there && !(gap <= tolerance * size && tolerance > 0);
  }
};

// Feeds a prompt and then the CPU's ids, not those that the session would choose; row(logits) after each of them.
template <class Session, class Row> void along(Session& s, std::span<const std::uint32_t> prompt,
                                               std::span<const std::uint32_t> ids, Row&& row) {
  s.feed_all(prompt, [&](std::uint32_t, std::span<const float> logits) { row(logits); });
  for (const std::uint32_t id : ids) {
    s.feed(id);
    row(s.logits());
  }
}

}  // namespace device_check
