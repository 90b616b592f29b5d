// SPDX-License-Identifier: MIT
// traced_pass.cpp: implements traced_pass.hpp.
#include "traced_pass.hpp"

#include <algorithm>
#include <chrono>
#include <map>

namespace cke::tool {
namespace {

// By thread; a pass allocates nothing.
using records = std::vector<std::vector<traced_step>>;

void take(void* user, u32 thread, u32 code, u32 step, u64 begin, u64 end) {
  auto& list = (*static_cast<records*>(user))[thread];
  if (list.size() < list.capacity()) list.push_back({code, step, begin, end});
}

}  // namespace

u64 traced_pass::start() const {
  u64 first = ~u64{};
  for (const auto& list : threads)
    if (!list.empty()) first = std::min(first, list.front().begin);
  return first;
}

traced_pass fastest_pass(const any_model& engine, any_session& c, std::span<const u32> ids, const program_cost::pass& p,
                         u32 repetitions) {
  traced_pass best{p, 0, {}};
  for (u32 i = 0; i <= repetitions; ++i) {
    records now(engine.threads());
    for (auto& list : now) list.reserve(1 << 16);
    c.rewind(p.position);
    c.feed(std::span<const u32>{});
    engine.watch({take, &now});
    const auto start = std::chrono::steady_clock::now();
    c.feed(ids);
    const std::chrono::duration<double, std::nano> ns = std::chrono::steady_clock::now() - start;
    engine.watch({});
    // Pass 0 is the warm-up.
    if (i == 1 || (i > 1 && ns.count() < best.ns)) best.ns = ns.count(), best.threads = std::move(now);
  }
  return best;
}

std::vector<op_time> op_times(const traced_pass& p, const program_cost& cost) {
  std::map<std::string, op_time> ops;
  const auto worked = std::ranges::count_if(p.threads, [](const auto& list) { return !list.empty(); });
  const double threads = static_cast<double>(worked);
  double told = 0;
  for (const auto& list : p.threads)
    for (const traced_step& r : list) {
      const bool first = &list == &p.threads.front();
      op_time& s = ops[r.waits() ? waiting : cost.name(r.code, r.step)];
      const double ns = static_cast<double>(r.end - r.begin) / threads;
      s.ns += ns, told += ns, s.calls += first;
      if (first && !r.waits()) s.bytes += cost.bytes(r.code, r.step, p.pass);
    }
  ops[between_steps] = {between_steps, 1, std::max(0.0, p.ns - told), 0};
  std::vector<op_time> sorted;
  for (auto& [name, s] : ops) s.op = name, sorted.push_back(std::move(s));
  std::ranges::sort(sorted, [](const op_time& a, const op_time& b) { return a.ns > b.ns; });
  return sorted;
}

}  // namespace cke::tool
