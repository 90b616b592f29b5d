// SPDX-License-Identifier: MIT
// models.cu: a model's answers against the CPU's and against its own, and its speed: alone, ahead, beside others, and
// of prompts.
#include <cke/cuda/executor.cuh>

#include "check.hpp"
#include "timing.cuh"
#include "watch.hpp"

namespace device_check {

namespace {

using on_gpu = cuda::isa<cuda::gpu>;
template <class Formats> using gpu_machine = machine<Formats, on_gpu>;
template <class Formats> using gpu_sequence = sequence_of<gpu_machine<Formats>>;

struct difference {
  u64 bits = 0, numbers = 0;  // numbers that are not the same bits, of all
  double most = 0, error = 0, size = 0;
  void add(std::span<const float> a, std::span<const float> b) {
    numbers += a.size();
    for (std::size_t i = 0; i < a.size(); ++i) {
      const double d = std::abs(double{a[i]} - double{b[i]});
      bits += std::memcmp(&a[i], &b[i], sizeof(float)) != 0;
      most = d <= most ? most : d, error += d * d, size += double{b[i]} * double{b[i]};
    }
  }
  double relative() const { return std::sqrt(error / size); }
};

// Sums in another order may differ by this much of their size. (Of Qwen3-0.6B's shape with random weights in Q8_0, the
// CPU's by AVX2 and by AVX-512 differ by 0.019 over a prompt of 40.) An id may be less likely by several of these.
inline constexpr double other_order = 5e-2, less_likely = 0.15;

// Along the CPU's ids, which are its likeliest: logits, and whether the device would have chosen them.
template <class Formats> void against_the_cpu(report& r, const std::string& name, gpu_sequence<Formats> s,
                                              const answer& cpu, bool same_bits) {
  difference d;
  likeliest ids;
  u32 at = 0;
  along(s, prompt_ids(), cpu.greedy, [&](std::span<const float> row) {
    d.add(row, cpu.row(at));
    ids.row(cpu.row(at++), row, same_bits ? 0 : less_likely);
  });
  r.number(name + "_logits_not_the_cpus_bits", static_cast<double>(d.bits), "numbers");
  r.number(name + "_logits_largest_difference", d.most, "");
  r.number(name + "_logits_relative_difference", d.relative(), "");
  r.check(name + "_logits", same_bits ? d.bits == 0 : d.relative() <= other_order);
  r.number(name + "_likeliest_ids_that_are_others", ids.others, ("of " + std::to_string(ids.asked)).c_str());
  r.check(name + "_likeliest_ids", ids.wrong == 0);
}
// The prompt's logits 20 times, and by passes of 1 token, of 5, and of all.
template <class Formats> void same_bits(report& r, const std::string& name,
                                        const std::shared_ptr<gpu_machine<Formats>>& model) {
  constexpr u64 vocab = gpu_machine<Formats>::program::vocab;
  const std::vector<u32> prompt = prompt_ids();
  const auto logits = [&] {
    std::vector<float> all;
    gpu_sequence<Formats> s(model);
    s.feed_all(prompt, [&](u32, std::span<const float> row) { all.insert(all.end(), row.begin(), row.end()); });
    return all;
  };
  const std::vector<float> once = logits();
  bool again = true, passes = true;
  for (u32 i = 0; i < 20; ++i) again = again && logits() == once;
  r.check(name + "_same_bits_20_times", again);
  for (const u32 n : {1u, 5u}) {
    gpu_sequence<Formats> s(model);
    for (u32 first = 0; first + n <= prompt.size(); first += n) {
      s.feed(std::span(prompt).subspan(first, n));
      passes = passes && std::ranges::equal(s.logits(), std::span(once).subspan((first + n - 1) * vocab, vocab));
    }
  }
  r.check(name + "_same_bits_in_passes_of_any_length", passes);
}
// Many tokens in one launch, against the ids and logits of a launch for each step.
template <class Formats> void ahead_of_steps(report& r, const std::string& name,
                                             const std::shared_ptr<gpu_machine<Formats>>& model) {
  gpu_sequence<Formats> ahead(model), steps(model);
  ahead.feed(prompt_ids()), steps.feed(prompt_ids());
  std::vector<u32> ids;
  while (ids.size() < 256) {
    ids.push_back(best(steps.logits()));
    steps.feed(ids.back());
  }
  r.check(name + "_ahead_ids", ahead.generate_nosync(256, {}, yes) == ids);
  r.check(name + "_ahead_logits", std::ranges::equal(ahead.logits(), steps.logits()));
  const device_sampling how{0.8f, 1};
  for (u32& id : ids) {
    id = steps.choose(how);
    steps.feed(id);
  }
  r.check(name + "_ahead_ids_by_chance", ahead.generate_nosync(256, {}, yes, how) == ids);
}

template <class Formats> class speeds {
 public:
  speeds(report& r, const std::string& name, const random_model::tensors& t, double peak)
      : r_(r),
        name_(name),
        weights_(t),
        peak_(peak),
        model_(load<gpu_machine<Formats>>(t, 6144)),
        text_(random_model::ids(4096, gpu_machine<Formats>::program::vocab, 3)) {
    gpu_sequence<Formats> s(model_);
    s.feed(first(1)), s.generate_nosync(16, {}, yes);  // the first launch loads its kernel
    of_launch_ = seconds([&] { s.generate_nosync(16, {}, yes); }) < 0.1 ? 256 : 32;
    r.number(name + "_ahead_tokens_of_a_launch", of_launch_, "tokens");
  }

  void of_one() {
    for (const u32 length : {1u, 1024u, 4096u}) {
      gpu_sequence<Formats> s(model_);
      s.feed(first(length));
      const std::string at = "_at_" + std::to_string(length);
      tokens_per_s("_tokens_per_s" + at, median_seconds(64, [&] { s.feed(text_[0]); }));
      tokens_per_s("_ahead_tokens_per_s" + at, seconds_ahead(s, length));
    }
  }
  // Two seconds of it.
  void energy() {
    gpu_sequence<Formats> s(model_);
    s.feed(first(1));
    u32 tokens = 0;
    double spent = 0;
    const watch device;
    for (; spent < 2; tokens += of_launch_) {
      s.rewind(1);
      spent += seconds([&] { s.generate_nosync(of_launch_, {}, yes); });
    }
    const double joules = device.joules();
    device.rows(r_, name_ + "_ahead");
    if (std::isfinite(joules)) r_.number(name_ + "_ahead_millijoules_per_token", joules / tokens * 1e3, "mJ");
    else r_.absent(name_ + "_ahead_millijoules_per_token", "NVML does not count the device's energy");
  }
  // Heads shared by clusters, by groups that wait at counters, by all: the same ids and logits, at what speed.
  void groupings() {
    const auto most = cuda::gpu::most_grouping;
    gpu_sequence<Formats> usual(model_);
    usual.feed(first(1024));
    const std::vector<u32> ids = usual.generate_nosync(64, {}, yes);
    for (const auto& [how, word] :
         {std::pair{cuda::grouping::clusters, "clusters"}, std::pair{cuda::grouping::counters, "groups"},
          std::pair{cuda::grouping::none, "flat"}}) {
      const std::string name = name_ + "_ahead_" + word;
      r_.step(name, [&] {
        cuda::gpu::most_grouping = how;
        const cuda::residents live = room();
        r_.number(name + "_blocks", live.blocks, ""), r_.number(name + "_blocks_of_a_group", live.of_group(), "");
        if (how == cuda::grouping::clusters && live.cluster == 1)
          return r_.absent(name + "_ids", "the device has no room for them");
        gpu_sequence<Formats> s(load<gpu_machine<Formats>>(weights_, 2048));
        s.feed(first(1024));
        r_.check(name + "_ids", s.generate_nosync(64, {}, yes) == ids);
        r_.check(name + "_logits", std::ranges::equal(s.logits(), usual.logits()));
        tokens_per_s("_ahead_" + std::string(word) + "_tokens_per_s_at_1024", seconds_ahead(s, 1024));
      });
      cuda::gpu::most_grouping = most;
    }
  }
  void of_prompts() {
    gpu_sequence<Formats> s(model_);
    for (const u32 length : {512u, 4096u}) {
      const double t = median_seconds(length > 512 ? 3 : 9, [&] { s.reset(); }, [&] { s.feed(first(length)); });
      r_.number(name_ + "_pp" + std::to_string(length) + "_tokens_per_s", length / t, "tokens/s");
    }
  }
  void of_some() {
    using sequence = gpu_sequence<Formats>;
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
  static cuda::residents room() {
    using kernel = cuda::megakernel<typename gpu_machine<Formats>::program, default_kv<Formats>>;
    const cuda::gpu device;
    return device.room_for<kernel>(kernel::shared_bytes(kernel::slots_of(device.block_memory())), kernel::plan::heads);
  }
  double seconds_ahead(gpu_sequence<Formats>& s, u32 position) const {
    return median_seconds(3, [&] { s.rewind(position); }, [&] { s.generate_nosync(of_launch_, {}, yes); }) / of_launch_;
  }
  // Of one that reads all weights, beside what the memory can.
  void tokens_per_s(const std::string& what, double seconds_each) {
    const double rate = static_cast<double>(model_->packed.bytes()) / seconds_each * 1e-9;
    r_.number(name_ + what, 1 / seconds_each, "tokens/s");
    r_.number(name_ + what + "_weights_gb_per_s", rate, "GB/s");
    if (std::isfinite(peak_)) r_.number(name_ + what + "_weights_of_read_peak", rate / peak_, "");
  }

  report& r_;
  std::string name_;
  const random_model::tensors& weights_;
  double peak_;
  std::shared_ptr<gpu_machine<Formats>> model_;
  std::vector<u32> text_;
  u32 of_launch_ = 0;
};

}  // namespace

template <class Formats> void check_answers(report& r, const std::string& name, const random_model::tensors& t,
                                            const answer& cpu, bool same) {
  const auto model = load<gpu_machine<Formats>>(t, 1024);
  if (cpu.asked)
    r.step(name + "_against_the_cpu",
           [&] { against_the_cpu<Formats>(r, name, gpu_sequence<Formats>(model), cpu, same); });
  r.step(name + "_same_bits", [&] { same_bits<Formats>(r, name, model); });
  r.step(name + "_ahead", [&] { ahead_of_steps<Formats>(r, name, model); });
}
template <class Formats> void check_speed(report& r, const std::string& name, const random_model::tensors& t,
                                          double peak) {
  speeds<Formats> of(r, name, t, peak);
  r.step(name + "_one", [&] { of.of_one(); });
  r.step(name + "_energy", [&] { of.energy(); });
  r.step(name + "_prompts", [&] { of.of_prompts(); });
  r.step(name + "_some", [&] { of.of_some(); });
  r.step(name + "_groupings", [&] { of.groupings(); });
}
template void check_answers<Q8_0>(report&, const std::string&, const random_model::tensors&, const answer&, bool);
template void check_answers<BF16>(report&, const std::string&, const random_model::tensors&, const answer&, bool);
template void check_speed<Q8_0>(report&, const std::string&, const random_model::tensors&, double);
template void check_speed<BF16>(report&, const std::string&, const random_model::tensors&, double);

}  // namespace device_check
