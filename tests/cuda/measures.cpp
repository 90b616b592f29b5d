// SPDX-License-Identifier: MIT
// measures.cpp: what ./dev device-check measures with, on the host: stops, halves of a token, likeliest ids.
#include "ahead.hpp"

#include "../device/halves.hpp"
#include "../device/likeliest.hpp"
#include "../device/stops.hpp"

#include "../runtime/random_model.hpp"

using namespace cke;
using namespace cke::io;
using namespace cke::graph;
using namespace cke::kernels;
using namespace cke::runtime;
using namespace cke::text;
using ahead::in_clusters, ahead::in_groups, ahead::long_rows, ahead::yes;

namespace {

template <class Device> auto load() {
  using machine = loaded<program<long_rows, Q8_0>, default_kv<Q8_0>, cuda::isa<Device>>;
  static const auto t = random_model::tensors::of<program<long_rows, Q8_0>>();
  return std::make_shared<machine>(t.index(), "random", naming::hf, names_of<long_rows>(),
                                   model_options{.threads = 1, .context = 96, .chunk = 140, .logit_rows = 4});
}
const std::vector<u32> prompt = random_model::ids(7, 99);

template <class Arch> struct clocked : cuda::emulated<Arch> {
  using pace = stops::pace;
};
template <class Arch> struct without_weights : cuda::emulated<Arch> {
  template <class P, dtype KV> using persistent = halves::chain<P, KV>;
};
template <class Arch> struct of_rings : cuda::emulated<Arch> {
  template <class P, dtype KV> using persistent = halves::rings<P, KV>;
};

template <class Arch> void check_stops(u32 blocks) {
  using plan = cuda::token_schedule<program<long_rows, Q8_0>, default_kv<Q8_0>>;
  const std::vector<stops::wait> waits = stops::waits_of_token<plan>();
  CHECK(waits.size() == plan::exchanges + plan::group_exchanges + plan::rows_sent);
  CHECK(waits.back().until == "choice");
  constexpr u32 tokens = 4;
  const u32 count = static_cast<u32>(2 * waits.size() * tokens);
  std::vector<u64> cycles(u64{count + 2} * blocks), nanoseconds(count + 2);
  stops::where = {cycles.data(), nanoseconds.data(), count + 2, blocks};
  auto s = new_sequence(load<clocked<Arch>>());
  s.feed(prompt);
  CHECK(s.generate_nosync(tokens, {}, yes).size() == tokens);
  stops::where = {};
  // As many stops as are planned: all were written, and nothing after them.
  for (u32 b = 0; b < blocks; ++b) {
    for (u32 n = 1; n < count; ++n) CHECK(cycles[u64{n} * blocks + b] >= cycles[u64{n - 1} * blocks + b]);
    CHECK((cycles[u64{count - 1} * blocks + b] > 0 && cycles[u64{count} * blocks + b] == 0));
  }
  const stops::table t = stops::table_of(waits, cycles, nanoseconds, blocks, tokens);
  double all = 0;
  u32 waits_of = 0;
  for (const auto& [name, part] : t.parts) {
    CHECK(part.most_work >= part.work);
    all += part.work + part.wait, waits_of += part.count;
  }
  CHECK(waits_of == waits.size());
  CHECK(all == doctest::Approx(t.token).epsilon(0.2));  // mean of the blocks, and block 0's
  CHECK(t.parts.contains("code_1_until_0_norm_quantize_row"));
}

}  // namespace

TEST_CASE("device-check: stops are those of the schedule, and their times add up to a token") {
  check_stops<cuda::sm90>(4);
  {
    const in_clusters of(2, 2);
    check_stops<cuda::sm90>(4);
  }
  const in_groups of(3, 2);
  check_stops<cuda::sm80>(6);
}

TEST_CASE("device-check: rings alone bring every tile in order, and a chain without weights chooses id 0") {
  const auto check = []<class Arch>(Arch) {
    auto rings = new_sequence(load<of_rings<Arch>>()), chain = new_sequence(load<without_weights<Arch>>());
    rings.feed(prompt), chain.feed(prompt);
    CHECK(rings.generate_nosync(3, {}, yes).size() == 1);  // the first one was known
    CHECK(rings.position() == prompt.size() + (cuda::copies<Arch>::exist ? 3 : 0));
    const std::vector<u32> ids = chain.generate_nosync(3, {}, yes);
    if (cuda::copies<Arch>::exist) {
      CHECK((ids.size() == 3 && ids[1] == 0 && ids[2] == 0));
      CHECK(std::ranges::all_of(chain.logits(), [](float x) { return x == 0; }));
    }
  };
  check(cuda::sm80{}), check(cuda::sm90{});
  const in_clusters of(2, 2);
  check(cuda::sm90{});
}

TEST_CASE("device-check: a likeliest id may be another where the CPU's logits hardly differ, and nowhere else") {
  const std::vector<float> cpu{1, 2, 3, 2.999f}, near{1, 2, 3, 3.001f}, far{1, 3.1f, 3, 2.9f};
  device_check::likeliest with, without;
  with.row(cpu, cpu, 1e-2), with.row(cpu, near, 1e-2);
  CHECK((with.asked == 2 && with.others == 1 && with.wrong == 0));
  with.row(cpu, far, 1e-2);
  CHECK((with.asked == 3 && with.others == 2 && with.wrong == 1));
  without.row(cpu, near, 0);
  CHECK(without.wrong == 1);
  const std::vector<float> no_number(4, std::nanf(""));
  device_check::likeliest lost;
  lost.row(no_number, cpu, 1e-2);
  CHECK(lost.wrong == 1);
}

namespace {

// It would always choose id 0.
struct stubborn {
  std::vector<u32> fed;
  std::vector<float> row{2, 1, 0};
  template <class F> void feed_all(std::span<const u32> ids, F&& f) {
    for (const u32 id : ids) feed(id), f(id, std::span<const float>(row));
  }
  void feed(u32 id) { fed.push_back(id); }
  std::span<const float> logits() const { return row; }
};

}  // namespace

TEST_CASE("device-check: a device follows the CPU's ids where it would have chosen others, and is asked after each") {
  stubborn s;
  u32 asked = 0;
  device_check::along(s, std::vector<u32>{7, 8}, std::vector<u32>{2, 1, 2}, [&](std::span<const float>) { ++asked; });
  CHECK(s.fed == std::vector<u32>{7, 8, 2, 1, 2});
  CHECK(asked == 5);
}
