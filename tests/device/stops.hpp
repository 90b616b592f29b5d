// SPDX-License-Identifier: MIT
// stops.hpp: a pace that writes down when each block came to each wait and went on, and which wait of a token that is.
#pragma once

#include <cke/cuda/resident.cuh>
#include <cke/cuda/schedule.cuh>

#include <map>
#include <string>
#include <vector>

namespace stops {

using namespace cke;
using namespace cke::graph;
using namespace cke::kernels;
using namespace cke::runtime;

// Cycles of each multiprocessor at each stop of its block, [stops][blocks], and nanoseconds of block 0, [stops].
struct log {
  u64 *cycles{}, *nanoseconds{};
  u32 stops{}, blocks{};
};
#ifdef __CUDACC__
static __device__ log where;
#else
inline log where;
#endif

struct pace {
  CKE_DEVICE static void stop(u32 n) {
    if (dev::thread() != 0 || n >= where.stops) return;
    where.cycles[u64{n} * where.blocks + dev::block().x] = dev::clock();
    if (dev::block().x == 0) where.nanoseconds[n] = dev::nanoseconds();
  }
};

// The waits of a token in order. `until`: the step that it is before, by place in its code and by name; a stop is one
// before the wait and one after it.
struct wait {
  u32 code, layer;
  std::string until, what;  // what: row (in packets), group, all
};
template <class Plan> std::vector<wait> waits_of_token() {
  std::vector<wait> all;
  bool outstanding = false;
  Plan::each_code([&](u32 c, u32 layer) {
    for (u32 i = 0; i < Plan::all[c].steps.size(); ++i) {
      const std::string step = std::to_string(i) + '_' + std::string(name(Plan::all[c].c->ops[i].op));
      if (Plan::heard_before[c][i] != absent && outstanding)
        outstanding = false, all.push_back({c, layer, step, "row"});
      for (u32 k = 0; k < Plan::all[c].steps[i].parts.size(); ++k)
        if (Plan::wait_before[c][i].all >> k & 1) all.push_back({c, layer, step, "all"});
        else if (Plan::wait_before[c][i].group >> k & 1)
          all.push_back({c, layer, step + (k > 0 ? "_part_" + std::to_string(k) : ""), "group"});
      outstanding = outstanding || words_sent(Plan::all[c], i) > 0;
    }
  });
  for (u32 i = 0; i < 1 + u32{Plan::exchange_before_choice}; ++i) all.push_back({Plan::footer, 0, "choice", "all"});
  return all;
}

// Microseconds of a token, of all layers of a kind together: of work since the wait before, mean and greatest of the
// blocks, and of the wait.
struct share {
  u32 count = 0;  // of a token
  double work = 0, most_work = 0, wait = 0;
};
struct table {
  std::map<std::string, share> parts;  // by code, step and kind of the wait
  double token = 0;                    // from stop to stop, so that all work and waits add up to it
};
// cycles: as log has them, of `tokens` tokens; the first one is left out, because its weights are not there yet.
inline table table_of(const std::vector<wait>& waits, std::span<const u64> cycles, std::span<const u64> nanoseconds,
                      u32 blocks, u32 tokens) {
  table t;
  const u32 each = static_cast<u32>(2 * waits.size()), first = each, end = each * tokens;
  const double us = static_cast<double>(nanoseconds[end - 1] - nanoseconds[first - 1]) * 1e-3;
  const double of_cycle = us / static_cast<double>(cycles[u64{end - 1} * blocks] - cycles[u64{first - 1} * blocks]);
  const auto passed = [&](u32 stop, u32 block) {
    return static_cast<double>(cycles[u64{stop} * blocks + block] - cycles[u64{stop - 1} * blocks + block]) * of_cycle;
  };
  for (u32 n = first; n < end; n += 2) {
    const wait& w = waits[n % each / 2];
    share& s = t.parts["code_" + std::to_string(w.code) + "_until_" + w.until + '_' + w.what];
    double most = 0;
    for (u32 b = 0; b < blocks; ++b) {
      const double work = passed(n, b);
      most = std::max(most, work);
      s.work += work / blocks / (tokens - 1), s.wait += passed(n + 1, b) / blocks / (tokens - 1);
    }
    s.most_work += most / (tokens - 1), s.count += n < 2 * each;
  }
  t.token = us / (tokens - 1);
  return t;
}

}  // namespace stops
