// SPDX-License-Identifier: MIT
// models.cu: a model's answers against the CPU's and against its own, and its speed: alone, ahead, beside others, and
// of prompts.
#include <cke/cuda/executor.cuh>

#include "check.hpp"
#include "timing.cuh"

namespace device_check {

namespace {

using on_gpu = cuda::isa<cuda::gpu>;

struct difference {
  u64 bits = 0;  // numbers that are not the same bits
  double most = 0, relative = 0;
  difference(std::span<const float> a, std::span<const float> b) {
    double error = 0, size = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      const double d = std::abs(double{a[i]} - double{b[i]});
      bits += std::memcmp(&a[i], &b[i], sizeof(float)) != 0;
      most = d <= most ? most : d, error += d * d, size += double{b[i]} * double{b[i]};
    }
    relative = std::sqrt(error / size);
  }
};

template <class Formats> class format_check {
 public:
  using machine = device_check::machine<Formats, on_gpu>;
  using sequence = cke::runtime::sequence<machine>;

  format_check(report& r, std::string name, const random_model::tensors& t, double peak)
      : r_(r),
        name_(std::move(name)),
        peak_(peak),
        model_(load<machine>(t, 4608)),
        text_(random_model::ids(4096, machine::program::vocab, 3)) {}

  void answers(const answer& cpu, std::span<const u32> prompt) {
    const answer gpu = ask(model_, prompt, static_cast<u32>(cpu.greedy.size()));
    const difference d(gpu.logits, cpu.logits);
    r_.number(name_ + "_logits_not_the_cpus_bits", static_cast<double>(d.bits), "numbers");
    r_.number(name_ + "_logits_largest_difference", d.most, "");
    r_.check(name_ + "_logits",
             std::is_same_v<Formats, Q8_0> && cpu_has_the_order() ? d.bits == 0 : d.relative <= 1e-2);
    r_.check(name_ + "_greedy_ids", gpu.greedy == cpu.greedy);
    bool again = true;
    for (u32 i = 0; i < 20; ++i) again = again && ask(model_, prompt, 0).logits == gpu.logits;
    r_.check(name_ + "_same_bits_20_times", again);
    // The prompt's logits by passes of 1 token, of 5, and of all.
    bool passes = true;
    const u64 vocab = machine::program::vocab;
    for (const u32 n : {1u, 5u}) {
      sequence s(model_);
      for (u32 first = 0; first + n <= prompt.size(); first += n) {
        s.feed(prompt.subspan(first, n));
        passes =
            passes && std::ranges::equal(s.logits(), std::span(gpu.logits).subspan((first + n - 1) * vocab, vocab));
      }
    }
    r_.check(name_ + "_same_bits_in_passes_of_any_length", passes);
  }

  // Many tokens in one launch, against the ids and logits of a launch for each step.
  void ahead_of_steps(std::span<const u32> prompt) {
    sequence ahead(model_), steps(model_);
    ahead.feed(prompt), steps.feed(prompt);
    std::vector<u32> ids;
    while (ids.size() < 256) {
      ids.push_back(best(steps.logits()));
      steps.feed(ids.back());
    }
    r_.check(name_ + "_ahead_ids", ahead.generate_nosync(256, {}, yes) == ids);
    r_.check(name_ + "_ahead_logits", std::ranges::equal(ahead.logits(), steps.logits()));
    const device_sampling how{0.8f, 1};
    for (u32& id : ids) {
      id = steps.choose(how);
      steps.feed(id);
    }
    r_.check(name_ + "_ahead_ids_by_chance", ahead.generate_nosync(256, {}, yes, how) == ids);
  }

  void speed_of_one() {
    for (const u32 length : {1u, 1024u, 4096u}) {
      sequence s(model_);
      s.feed(first(length));
      const std::string at = "_at_" + std::to_string(length);
      tokens_per_s("_tokens_per_s" + at, median_seconds(64, [&] { s.feed(text_[0]); }));
      tokens_per_s("_ahead_tokens_per_s" + at, median_seconds(3, [&] { s.generate_nosync(64, {}, yes); }) / 64);
    }
  }
  // The same without clusters, where the model has them.
  void flat(const random_model::tensors& t) {
    using kernel = cuda::megakernel<typename machine::program, default_kv<Formats>>;
    const cuda::gpu device;
    const cuda::residents live =
        device.room_for<kernel>(kernel::shared_bytes(kernel::slots_of(device.block_memory())), kernel::plan::heads);
    r_.number(name_ + "_ahead_blocks", live.blocks, ""),
        r_.number(name_ + "_ahead_blocks_of_a_cluster", live.cluster, "");
    if (live.cluster == 1) return r_.absent(name_ + "_ahead_flat", "the device has no room for clusters");
    const auto model = load<machine>(t, 4608);
    sequence s(model), clustered(model_);
    s.feed(first(1024)), clustered.feed(first(1024));
    const u32 largest = std::exchange(cuda::gpu::largest_cluster, 1);
    r_.check(name_ + "_ahead_flat_ids", s.generate_nosync(64, {}, yes) == clustered.generate_nosync(64, {}, yes));
    cuda::gpu::largest_cluster = largest;
    r_.check(name_ + "_ahead_flat_logits", std::ranges::equal(s.logits(), clustered.logits()));
    tokens_per_s("_ahead_flat_tokens_per_s_at_1024", median_seconds(3, [&] { s.generate_nosync(64, {}, yes); }) / 64);
  }
  void speed_of_prompts() {
    sequence s(model_);
    for (const u32 length : {512u, 4096u}) {
      const double t = median_seconds(length > 512 ? 3 : 9, [&] { s.reset(); }, [&] { s.feed(first(length)); });
      r_.number(name_ + "_pp" + std::to_string(length) + "_tokens_per_s", length / t, "tokens/s");
    }
  }
  void speed_of_some() {
    std::vector<sequence> many(8, sequence(model_));
    for (u32 n = 1; n <= 8; ++n) {
      const double t = median_seconds(32, [&] {
        sequence::feed_together(
            n, [&](u32 i) { return typename sequence::feeding{&many[i], std::span(text_).subspan(i, 1)}; });
      });
      r_.number(name_ + "_tokens_per_s_of_" + std::to_string(n), n / t, "tokens/s");
    }
  }

 private:
  std::span<const u32> first(u32 n) const { return std::span(text_).first(n); }
  // Of one that reads all weights, beside what the memory can.
  void tokens_per_s(const std::string& what, double seconds_each) {
    const double rate = static_cast<double>(model_->packed.bytes()) / seconds_each * 1e-9;
    r_.number(name_ + what, 1 / seconds_each, "tokens/s");
    r_.number(name_ + what + "_weights_gb_per_s", rate, "GB/s");
    r_.number(name_ + what + "_weights_of_read_peak", rate / peak_, "");
  }

  report& r_;
  std::string name_;
  double peak_;
  std::shared_ptr<machine> model_;
  std::vector<u32> text_;
};

template <class Formats> void check_format(report& r, const char* name, const random_model::tensors& t,
                                           const answer& cpu, std::span<const u32> prompt, double peak) {
  format_check<Formats> of(r, name, t, peak);
  of.answers(cpu, prompt), of.ahead_of_steps(prompt);
  of.speed_of_one(), of.flat(t), of.speed_of_prompts(), of.speed_of_some();
}

}  // namespace

void check_q8_0(report& r, const random_model::tensors& t, const answer& cpu, std::span<const u32> prompt,
                double peak) {
  check_format<Q8_0>(r, "q8_0", t, cpu, prompt, peak);
}
void check_bf16(report& r, const random_model::tensors& t, const answer& cpu, std::span<const u32> prompt,
                double peak) {
  check_format<BF16>(r, "bf16", t, cpu, prompt, peak);
}

}  // namespace device_check
