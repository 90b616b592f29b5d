// SPDX-License-Identifier: MIT
// ahead.cuh: the host's side of the megakernel: its device memory, and a launch that reports ids while it runs.
#pragma once

#include <atomic>
#include <chrono>
#include <exception>

#include "../core/concat.hpp"
#include "../core/error.hpp"
#include "device_memory.cuh"
#include "megakernel.cuh"

namespace cke::cuda {

// Nanoseconds that a block waits for the others. After that it reports them as lost, and the launch ends.
inline constexpr u64 patience = 2'000'000'000;

// Device memory and launch parameters for generating many tokens of a program in one launch.
template <class P, dtype KV, class Device> class ahead {
 public:
  using kernel = typename persistent_kernel<P, KV, Device>::type;

  // address_of(code, step, row) is called for every step of a token, row by row. Throws out_of_memory, unsupported.
  template <class AddressOf> ahead(Device& device, u32 context, AddressOf&& address_of)
      : device_(device),
        memory_(device),
        slots_(kernel::slots_of(device.block_memory())),
        live_(device.template room_for<kernel>(kernel::shared_bytes(slots_), kernel::plan::heads)),
        budget_(device.launch_limit()) {
    std::vector<addresses> where(u64{P::layers + 2} * max_ops);
    std::vector<u32> code_of;
    u32 row = 0;
    kernel::plan::each_code([&](u32 code, u32) {
      if (row > 0 && code != kernel::plan::footer) code_of.push_back(code);
      for (u32 i = 0; i < kernel::plan::all[code].steps.size(); ++i)
        where[row * max_ops + i] = address_of(*kernel::plan::all[code].c, i, row);
      ++row;
    });
    const auto sent = [&](const void* from, u64 bytes) {
      std::byte* const to = memory_.take(bytes);
      device.write(to, from, bytes);
      return to;
    };
    call_.where = reinterpret_cast<const addresses*>(sent(where.data(), where.size() * sizeof(addresses)));
    std::vector<stretch> stretches;
    kernel::plan::each_matrix([&](u32 code, u32 layer, u32 step, const part& p, u32 matrix, u32 second) {
      const u32 at = code == kernel::plan::header ? 0 : code == kernel::plan::footer ? P::layers + 1 : layer + 1;
      const addresses& a = where[at * max_ops + step];
      stretch& of = stretches.emplace_back(kernel::plan::stretch_of(code, step, p, matrix));
      of.first = a.matrix[matrix], of.second = p.paired ? a.matrix[second] : nullptr;
    });
    call_.stretches = reinterpret_cast<const stretch*>(sent(stretches.data(), stretches.size() * sizeof(stretch)));
    call_.code_of = reinterpret_cast<const u32*>(sent(code_of.data(), code_of.size() * sizeof(u32)));
    call_.common = memory_.take(kernel::plan::common_bytes);
    call_.own = memory_.take(u64{live_.blocks} * kernel::own_bytes);
    call_.best = reinterpret_cast<candidate*>(memory_.take(2 * live_.blocks * sizeof(candidate)));
    packets_ = memory_.take(packet_bytes);
    call_.packets = reinterpret_cast<dev::packet*>(packets_);
    words_ = memory_.take(word_bytes());
    pages_ = memory_.take(u64{ceil_div(context, key_block)} * sizeof(std::byte*));
    stop_ = memory_.take(u64{most_stops} * sizeof(u32));
    host_ = {device.host_words(context + 1), {&device}};
    call_.blocks = live_.blocks, call_.group = live_.of_group();
    call_.slots = slots_, call_.patience = patience;
    call_.arrived = reinterpret_cast<u32*>(words_), call_.end = call_.arrived + 1, call_.fed = call_.arrived + 2;
    if (live_.group > 0) call_.arrived_in_group = call_.arrived + line_words;
    call_.pages = reinterpret_cast<std::byte**>(pages_), call_.stop = reinterpret_cast<const u32*>(stop_);
    call_.abort = host_.get(), call_.posted = host_.get() + 1;
  }

  // Feeds `first` and up to n - 1 ids after it, each chosen as `how` says. take(id) receives each id but the first,
  // including a stop id that ends the run and is not fed, and returns whether to continue. It may throw; the launch is
  // then stopped and waited for before the exception goes on. Where launches are limited in time there are several,
  // one after the other. Returns the number of ids fed; `logits` are then those after the last one. Throws CUDA's
  // errors; unsupported if blocks were lost; config_range if a logit is not finite.
  template <class Take>
  u32 run(u32 first, u32 n, u32 position, std::span<std::byte* const> pages, std::span<const u32> stop,
          const device_sampling* how, float* stream, float* parts, float* logits, Take&& take) {
    if (stop.size() > most_stops)
      throw Error(errc::usage, {}, "stop ids", concat({"at most ", most_stops}), concat({u64{stop.size()}}));
    call_.stops = static_cast<u32>(stop.size()), call_.how = how, call_.stream = stream, call_.parts = parts;
    device_.write(pages_, pages.data(), pages.size_bytes());
    if (!stop.empty()) device_.write(stop_, stop.data(), stop.size_bytes());

    u32 fed = 0;
    for (bool on = true; on && fed < n;) {
      const u32 tokens = budget_.tokens(n - fed);
      call_.more = fed + tokens < n;
      const u32 fed_now = launch(first, tokens, position + fed, take);
      fed += fed_now;
      // The next launch feeds the id that this one chose last, unless that ends the run.
      on = fed_now == tokens && call_.more && std::atomic_ref(*host_).load(std::memory_order_relaxed) == 0;
      if (on) first = posted(tokens - 1) - 1, on = std::ranges::find(stop, first) == stop.end();
    }
    const auto& foot = P::footer_code();
    const u32 at = kernel::plan::memory[kernel::plan::footer].common_at[foot.regs.size() - 1];
    if (fed > 0) device_.read(logits, call_.common + at, u64{P::vocab} * sizeof(float));
    return fed;
  }

 private:
  // Returns the number of ids fed.
  template <class Take> u32 launch(u32 first, u32 tokens, u32 position, Take& take) {
    call_.first = first, call_.tokens = tokens, call_.position = position;
    if (epoch_ == 0 || epoch_ + tokens < epoch_) {  // the packet numbers would wrap: clear them and start over
      const std::vector<std::byte> none(packet_bytes);
      device_.write(packets_, none.data(), packet_bytes);
      epoch_ = 0;
    }
    call_.epoch = epoch_, epoch_ += tokens;
    const std::vector<std::byte> zeros(word_bytes());
    device_.write(words_, zeros.data(), zeros.size());
    u32* const abort = host_.get();
    std::fill_n(abort, tokens + 1, 0u);

    u32 heard = 0;
    std::exception_ptr thrown;
    const u32 most = tokens - !call_.more;
    // Must not throw: the launch goes on without its host, and the next one would clear words that it still writes.
    const auto listen = [&]() noexcept {
      for (u32 id; heard < most && (id = posted(heard)) != 0; ++heard) try {
          if (!thrown && take(id - 1)) continue;
          std::atomic_ref(*abort).store(1, std::memory_order_relaxed);
        } catch (...) {
          thrown = std::current_exception();
          std::atomic_ref(*abort).store(1, std::memory_order_relaxed);
        }
    };
    const auto start = std::chrono::steady_clock::now();
    device_.template launch_together<kernel>(live_, kernel::shared_bytes(slots_), call_, listen);
    budget_.took(tokens, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    listen();
    if (thrown) std::rethrow_exception(thrown);
    u32 words[3];  // arrivals, ending, ids fed
    device_.read(words, words_, sizeof words);
    const auto end = static_cast<ending>(words[1]);
    if (end == ending::not_finite) throw Error(errc::config_range, {}, "logit", "a finite number or -inf", "another");
    if (end != ending::finished && end != ending::aborted)
      throw Error(errc::unsupported, {}, "CUDA: a launch for many tokens",
                  concat({"blocks that come within ", patience / 1'000'000, " ms"}), "one that did not");
    return words[2];
  }
  u32 posted(u32 i) const { return std::atomic_ref(call_.posted[i]).load(std::memory_order_acquire); }
  // Three words of the grid, and a counter for each group.
  u64 word_bytes() const { return u64{1 + live_.blocks / live_.of_group()} * line_words * sizeof(u32); }

  static constexpr u32 most_stops = 64;
  static constexpr u64 packet_bytes = kernel::plan::words_of_token * sizeof(dev::packet);
  struct free_words {
    Device* device;
    void operator()(u32* p) const { device->free_host_words(p); }
  };

  Device& device_;
  device_memory<Device> memory_;  // its own, so that an attempt to make one that fails leaves nothing
  u32 slots_;
  residents live_;
  launch_budget budget_;
  megakernel_call call_{};
  u32 epoch_{};  // tokens of all earlier launches
  std::byte *packets_{}, *words_{}, *pages_{}, *stop_{};
  std::unique_ptr<u32, free_words> host_;
};

}  // namespace cke::cuda
