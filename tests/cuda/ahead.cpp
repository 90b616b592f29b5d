// SPDX-License-Identifier: MIT
// ahead.cpp: many tokens in one launch: their bits under every order of things and with faults.
#include "ahead.hpp"

#include <cke/text/sampling/random.hpp>
#include <cmath>
#include <cstdlib>

#include "../device/dawdling.hpp"
#include "../runtime/expert_model.hpp"

using namespace cke;
using namespace cke::io;
using namespace cke::graph;
using namespace cke::kernels;
using namespace cke::runtime;
using namespace cke::text;
using ahead::emulated, ahead::in_clusters, ahead::in_groups, ahead::long_rows, ahead::one_by_one, ahead::other_order,
    ahead::yes;

namespace {

// The model on a device that has its seed, its blocks and its faults from the globals.
template <class M, class Formats, class Isa> auto load(u32 context = 96) {
  static const auto t = random_model::tensors::of<program<M, Formats>>();
  using machine = loaded<program<M, Formats>, default_kv<Formats>, Isa>;
  return std::make_shared<machine>(t.index(), "random", naming::hf, names_of<M>(),
                                   model_options{.threads = 1, .context = context, .chunk = 140, .logit_rows = 4});
}
template <class Arch> auto on(u32 context = 96) { return new_sequence(load<long_rows, Q8_0, emulated<Arch>>(context)); }
const std::vector<u32> prompt = random_model::ids(7, 99);

}  // namespace

// CKE_SCHEDULES=1000 in the environment: so many.
TEST_CASE("cuda: many tokens in one launch have the CPU's bits under every schedule") {
  auto cpu = new_sequence(load<long_rows, Q8_0, isa::native>());
  cpu.feed(prompt);
  const std::vector<u32> want = one_by_one(cpu, 3);
  const auto check = [&](auto s) {
    s.feed(prompt);
    CHECK(s.generate_nosync(3, {}, yes) == want);
    CHECK(ahead::difference(s.logits(), cpu.logits()) <= other_order);
  };
  const char* const asked = std::getenv("CKE_SCHEDULES");
  const u64 schedules = asked ? std::strtoull(asked, nullptr, 10) : 24;
  for (cuda::emulation_seed = 0; cuda::emulation_seed < schedules; ++cuda::emulation_seed) {
    const auto seed = static_cast<u32>(cuda::emulation_seed);
    cuda::emulation_blocks = 1 + seed % 5;
    CAPTURE(cuda::emulation_seed);
    switch (seed % 6) {  // weights from where they are, by copies of lanes, by bulk copies, and these in clusters
      case 0: check(on<cuda::sm75>()); break;
      case 1: check(on<cuda::sm80>()); break;
      case 2: check(on<cuda::sm90>()); break;
      case 3: {  // the same three in groups that wait at counters
        const in_groups of(seed / 6 % 3 + 2, seed / 18 % 2 + 1);
        if (seed % 12 == 3) check(on<cuda::sm75>());
        else check(on<cuda::sm90>());
        break;
      }
      case 4: {
        const in_groups of(3, 2);
        check(on<cuda::sm80>());
        break;
      }
      default: {  // three heads are shared by two clusters, by three, by four
        const in_clusters of(seed / 6 % 3 + 2, seed / 18 % 2 + 1);
        check(on<cuda::sm90>());
      }
    }
  }
  cuda::emulation_seed = 0, cuda::emulation_blocks = 4;
}

TEST_CASE("cuda: running ahead goes over the end of a page, and ends at stop ids, at a no, and at the context's end") {
  const in_clusters of(2, 2);
  const auto model = load<long_rows, Q8_0, emulated<cuda::sm90>>(132);
  const std::vector<u32> long_prompt = random_model::ids(126, 99);
  ahead::check(new_sequence(model), new_sequence(model), long_prompt);

  auto s = new_sequence(model), steps = new_sequence(model);
  s.feed(prompt), steps.feed(prompt);
  const std::vector<u32> ids = one_by_one(steps, 6);
  const u32 stop = ids[3];
  const std::size_t end = static_cast<std::size_t>(std::ranges::find(ids, stop) - ids.begin()) + 1;
  CHECK(s.generate_nosync(6, std::span(&stop, 1), yes) ==
        std::vector(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(end)));
  CHECK(s.position() == prompt.size() + end - 1);  // the stop id was not fed
  CHECK(s.generate_nosync(6, std::span(&stop, 1), yes) == std::vector{stop});
  CHECK(s.generate_nosync(6, {}, [](u32) { return false; }) == std::vector{stop});

  // A no in the midst: what had been computed by then is part of the session, and it goes on from there.
  u32 heard = 0;
  const auto some = s.generate_nosync(40, {}, [&](u32) { return ++heard < 3; });
  CHECK(heard == 3);
  CHECK((some.size() >= 3 && some.size() < 40));
  auto again = new_sequence(model);
  again.feed(s.history());
  CHECK(std::ranges::equal(again.logits(), s.logits()));

  s.reset(), s.feed(long_prompt);
  CHECK_THROWS_WITH_AS(s.generate_nosync(7, {}, yes), doctest::Contains("at most 132 positions"), Error);
  CHECK(s.generate_nosync(6, {}, yes).size() == 6);
  CHECK(s.generate_nosync(0, {}, yes).empty());
}

// The launch goes on when its host leaves it: without a host that waits, it would write what the next one clears.
TEST_CASE("cuda: a take that throws stops the launch and waits for its end; the next launch is as if it had not been") {
  auto s = on<cuda::sm90>(), steps = on<cuda::sm90>();
  s.feed(prompt), steps.feed(prompt);
  const std::vector<u32> want = one_by_one(steps, 12);
  for (const u32 nth : {2u, 3u, 12u}) {
    CAPTURE(nth);
    u32 heard = 0;
    CHECK_THROWS_WITH_AS(s.generate_nosync(12, {},
                                           [&](u32) {
                                             if (++heard == nth) throw std::runtime_error("enough");
                                             return true;
                                           }),
                         "enough", std::runtime_error);
    CHECK(heard == nth);  // nothing more is told to it
    CHECK(s.position() == prompt.size());
  }
  CHECK(s.generate_nosync(12, {}, yes) == want);
  CHECK(std::ranges::equal(s.logits(), steps.logits()));
}
TEST_CASE("cuda: where launches may take little time, many tokens are several launches with the same ids and logits") {
  auto steps = on<cuda::sm90>();
  steps.feed(prompt);
  const std::vector<u32> want = one_by_one(steps, 11);
  cuda::emulation_launch_limit = 1e-9;  // less than a token takes: four at first, then one each
  const auto model = load<long_rows, Q8_0, emulated<cuda::sm90>>();
  cuda::emulation_launch_limit = 0;
  auto s = new_sequence(model);
  s.feed(prompt);
  const u64 before = cuda::emulated<cuda::sm90>::launched_together;
  CHECK(s.generate_nosync(11, {}, yes) == want);
  CHECK(cuda::emulated<cuda::sm90>::launched_together - before == 8);
  CHECK(std::ranges::equal(s.logits(), steps.logits()));
  CHECK(std::ranges::equal(s.history(), steps.history()));
  // A stop id that ends a launch of one token, and a no to it.
  const std::size_t end = static_cast<std::size_t>(std::ranges::find(want, want[6]) - want.begin()) + 1;
  const std::vector<u32> first(want.begin(), want.begin() + static_cast<std::ptrdiff_t>(end));
  s.reset(), s.feed(prompt);
  CHECK(s.generate_nosync(11, std::span(&want[6], 1), yes) == first);
  CHECK(s.position() == prompt.size() + end - 1);
  s.reset(), s.feed(prompt);
  u32 heard = 0;
  CHECK(s.generate_nosync(11, {}, [&](u32) { return ++heard < 8; }) == std::vector(want.begin(), want.begin() + 8));
  CHECK(s.position() == prompt.size() + 7);
}

namespace {

// What running ahead throws with a fault; "other logits" where it does not, and is wrong; or nothing.
template <class Arch> std::string error(const host_run::faults& what) {
  cuda::emulation_faults = what;
  auto s = on<Arch>();
  cuda::emulation_faults = {};
  s.feed(prompt);
  try {
    s.generate_nosync(3, {}, yes);
  } catch (const Error& e) {
    CHECK(s.position() == prompt.size());
    return e.what();
  }
  static const std::vector<float> right = [] {
    auto steps = on<Arch>();
    steps.feed(prompt), one_by_one(steps, 3);
    return std::vector<float>(steps.logits().begin(), steps.logits().end());
  }();
  return std::ranges::equal(s.logits(), right) ? "nothing" : "other logits";
}
bool names(const std::string& error, std::string_view what) {
  CAPTURE(error);
  return error.find(what) != error.npos;
}

}  // namespace

TEST_CASE("cuda: a block that is not heard ends the launch; one that hears too soon, or is heard too soon, is found") {
  u32 found = 0;
  for (const u64 nth : {1u, 6u, 20u, 40u, 60u}) {
    CAPTURE(nth);
    CHECK(names(error<cuda::sm90>({.lose_add = nth}), "blocks that come within 2000 ms"));
    CHECK(names(error<cuda::sm90>({.tear = nth}), "device code: a read"));
    const std::string early = error<cuda::sm90>({.hear_too_soon = nth});
    found += names(early, "device code: a ");
    CHECK((names(early, "device code: a ") || early == "nothing"));  // nothing: all had come by then
  }
  {
    const in_clusters of(2, 2);
    for (const u64 nth : {1u, 6u, 12u}) {
      CAPTURE(nth);
      CHECK(names(error<cuda::sm90>({.lose_add = nth}), "blocks that come within 2000 ms"));
      CHECK(names(error<cuda::sm90>({.tear = nth}), "device code: a read"));
    }
  }
  {
    const in_groups of(2, 2);
    for (const u64 nth : {1u, 6u, 12u, 30u}) {
      CAPTURE(nth);
      CHECK(names(error<cuda::sm80>({.lose_add = nth}), "blocks that come within 2000 ms"));
      CHECK(names(error<cuda::sm80>({.tear = nth}), "device code: a read"));
      const std::string early = error<cuda::sm80>({.hear_too_soon = nth});
      CHECK((names(early, "device code: a ") || early == "nothing"));
    }
  }
  CHECK(found >= 3);
  CHECK(error<cuda::sm90>({}) == "nothing");
}
TEST_CASE("cuda: a packet that is lost ends the launch; one that has its number and not its word leaves other logits") {
  for (const bool clusters : {false, true}) {
    const in_clusters of(2, clusters ? 2 : 1);
    u32 found = 0;
    for (const u64 nth : {1u, 100u, 1000u, 2000u}) {
      CAPTURE(nth);
      CHECK(names(error<cuda::sm90>({.lose_packet = nth}), "blocks that come within 2000 ms"));
      const std::string torn = error<cuda::sm90>({.tear_packet = nth});
      CHECK((torn == "other logits" || names(torn, "a finite number") ||
             torn == "nothing"));  // nothing: it was the same word
      found += torn != "nothing";
    }
    CHECK(found >= 2);
  }
}
TEST_CASE("cuda: a block that goes on from a wait of its cluster, and has not heard what the others wrote, is found") {
  const in_clusters of(2, 2);
  u32 found = 0;
  for (u64 nth = 1; nth <= 8; ++nth) {  // of a layer: before keys, before the join, each of four blocks
    CAPTURE(nth);
    const std::string early = error<cuda::sm90>({.leave_cluster = nth});
    CHECK((names(early, "a barrier after the ") || early == "nothing"));  // nothing: it joins what it found itself
    found += early != "nothing";
  }
  CHECK(found >= 4);
  CHECK(error<cuda::sm90>({}) == "nothing");
}
TEST_CASE("cuda: a tile of weights that is not there when its copy should have come is found, and so is half of one") {
  for (const u64 nth : {1u, 50u, 300u}) {
    CAPTURE(nth);
    CHECK(names(error<cuda::sm90>({.late_copy = nth}), "a word that something wrote"));
    CHECK(names(error<cuda::sm90>({.torn_copy = nth}), "a word that something wrote"));
    CHECK(names(error<cuda::sm80>({.late_copy = nth}), "a word that something wrote"));
    CHECK(names(error<cuda::sm80>({.torn_copy = nth}), "a word that something wrote"));
  }
}

TEST_CASE("cuda: many tokens in one launch have the CPU's bits with mixtures of experts, however they choose") {
  using random_model::with_experts;
  auto cpu = new_sequence(load<with_experts, Q8_0, isa::native>());
  const std::vector<u32> ids = random_model::ids(7, 131);
  cpu.feed(ids);
  const std::vector<u32> want = one_by_one(cpu, 4);
  const auto check = [&]<class Arch>(Arch) {
    const auto model = load<with_experts, Q8_0, emulated<Arch>>();
    auto s = new_sequence(model);
    s.feed(ids);
    CHECK(s.generate_nosync(4, {}, yes) == want);
    CHECK(ahead::difference(s.logits(), cpu.logits()) <= other_order);
  };
  for (cuda::emulation_blocks = 1; cuda::emulation_blocks <= 4; ++cuda::emulation_blocks, ++cuda::emulation_seed) {
    CAPTURE(cuda::emulation_seed);
    check(cuda::sm90{});
  }
  {
    const in_clusters of(2, 2);
    check(cuda::sm90{});
  }
  check(cuda::sm75{});
  cuda::emulation_seed = 0, cuda::emulation_blocks = 4;
  const auto ungated = load<random_model::without_gates, Q8_0, emulated<cuda::sm80>>();
  ahead::check(new_sequence(ungated), new_sequence(ungated), random_model::ids(7, 67));
  const auto plain = load<random_model::without_gates, BF16, emulated<cuda::sm90>>();
  ahead::check(new_sequence(plain), new_sequence(plain), random_model::ids(7, 67));
}

namespace {

u64 stops = 0;
struct counted {
  static void stop(u32 n) { ++stops, dawdling::pace::stop(n); }
};
struct late_device : cuda::emulated<cuda::sm90> {
  using pace = counted;
};

}  // namespace

TEST_CASE("cuda: a take that throws ends the launch long before its last token") {
  using plan = cuda::token_schedule<program<long_rows, Q8_0>, default_kv<Q8_0>>;
  auto s = new_sequence(load<long_rows, Q8_0, cuda::isa<late_device>>());
  s.feed(prompt);
  stops = 0;
  u32 heard = 0;
  CHECK_THROWS_WITH_AS(s.generate_nosync(12, {},
                                         [&](u32) {
                                           if (++heard == 2) throw std::runtime_error("enough");
                                           return true;
                                         }),
                       "enough", std::runtime_error);
  CHECK(stops < u64{2 * (plan::exchanges + plan::group_exchanges + plan::rows_sent)} * 8 * cuda::emulation_blocks *
            cuda::block_threads);
}

TEST_CASE("cuda: warps that dawdle before and after exchanges find the same ids and logits") {
  using plan = cuda::token_schedule<program<long_rows, Q8_0>, default_kv<Q8_0>>;
  auto steps = on<cuda::sm90>();
  steps.feed(prompt);
  const std::vector<u32> want = one_by_one(steps, 5);
  for (const auto& [clusters, size] : {std::pair{1u, 1u}, {3u, 1u}, {2u, 2u}}) {
    const in_clusters of(clusters, size);
    ++cuda::emulation_seed;
    auto s = new_sequence(load<long_rows, Q8_0, cuda::isa<late_device>>());
    s.feed(prompt);
    stops = 0;
    CHECK(s.generate_nosync(5, {}, yes) == want);
    CHECK(std::ranges::equal(s.logits(), steps.logits()));
    CHECK(stops ==
          u64{2 * (plan::exchanges + plan::group_exchanges + plan::rows_sent)} * 5 * cuda::emulation_blocks *
              cuda::block_threads);
  }
  cuda::emulation_seed = 0;
  // A quarter of all stops, by up to 4 us, and each warp at others.
  u32 late = 0, most = 0, both = 0;
  for (u32 n = 0; n < 4000; ++n) {
    const u32 here = dawdling::delay(3, 5, n), there = dawdling::delay(4, 5, n);
    late += here > 0, both += here > 0 && there > 0, most = std::max(most, here);
  }
  CHECK((late > 900 && late < 1100 && both > 180 && both < 320 && most > 4000 && most < 4096));
}

// ---- ids by chance

namespace {

// The id at `position`, in doubles, of the stream that the server's sampling has too.
u32 drawn(std::span<const float> logits, u32 position, const device_sampling& how) {
  std::vector<double> scores;
  for (u32 id = 0; id < logits.size(); ++id) {
    const u32 word =
        philox4x32({position, 0, id, 1}, {static_cast<u32>(how.seed), static_cast<u32>(how.seed >> 32)})[0];
    const double u = (word + 0.5) * 0x1p-32;
    scores.push_back(double{logits[id]} / double{how.temperature} - std::log(-std::log1p(-u)));
  }
  return static_cast<u32>(std::ranges::max_element(scores) - scores.begin());
}

}  // namespace

TEST_CASE(
    "cuda: ids by device_sampling are those of the seed's stream, chosen by a launch of their own or by the one for "
    "many tokens") {
  auto steps = on<cuda::sm90>(), s = on<cuda::sm90>();
  steps.feed(prompt), s.feed(prompt);
  std::vector<std::vector<u32>> all;
  for (const device_sampling how :
       {device_sampling{0.7f, 1}, device_sampling{0.7f, u64{1} << 40}, device_sampling{20.f, 1}}) {
    std::vector<u32> want;
    while (want.size() < 6) {
      want.push_back(drawn(steps.logits(), steps.position(), how));
      CHECK(steps.choose(how) == want.back());
      steps.feed(want.back());
    }
    CHECK(s.generate_nosync(6, {}, yes, how) == want);
    CHECK(std::ranges::equal(s.logits(), steps.logits()));
    all.push_back(want);
    steps.rewind(static_cast<u32>(prompt.size())), s.rewind(static_cast<u32>(prompt.size()));
    steps.feed(prompt[0]), s.feed(prompt[0]);
  }
  CHECK((all[0] != all[1] && all[0] != all[2]));
}

namespace {

// Values have a format of their own, so that qkv is a launch for each.
struct other_values {
  static constexpr dtype of(const weight_slot& w, u32 layer, u32 layers, bool tied) {
    return w.is == role::v ? dtype::bf16 : Q8_0::of(w, layer, layers, tied);
  }
};

}  // namespace

// Q4_K has heads and bodies; plain numbers have several tiles to an item.
TEST_CASE("cuda: weights of other formats come by rings with the bits of a launch for each step") {
  using random_model::wide;
  const auto check = [&]<class Formats>(Formats) {
    const auto model = load<wide, Formats, emulated<cuda::sm90>>();
    ahead::check(new_sequence(model), new_sequence(model), prompt);
  };
  check(one_format<dtype::q4_k>{}), check(BF16{});
  const in_clusters of(2, 2);
  const auto model = load<long_rows, other_values, emulated<cuda::sm90>>();
  ahead::check(new_sequence(model), new_sequence(model), prompt);
}
