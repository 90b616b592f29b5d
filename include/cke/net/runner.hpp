// SPDX-License-Identifier: MIT
// runner.hpp: net::weights, packed once, and net::runner, which takes frames through a net.
#pragma once

#include <span>

#include "../runtime/float_mode.hpp"
#include "words.hpp"

namespace cke::net {

namespace detail {
template <std::size_t Given, std::size_t Parameters> struct numbers_suit {
  static_assert(Given == Parameters,
                "cke: net::weights: an array or a span of as many floats as the net has parameters; see "
                "numbers_suit<given, parameters>");
};
}  // namespace detail

// The packed weights of a net, which any number of runners read. A constant expression can make them, and they lie in
// flash then.
template <class Net, class Isa = isa::native> class weights {
 public:
  static constexpr u32 count = parameters<Net>;

  // All numbers of torch's state_dict in its order, less num_batches_tracked: an array or a span of `count` floats.
  template <class Numbers> explicit constexpr weights(const Numbers& numbers) {
    const std::span all(numbers);
    static_cast<void>(sizeof(detail::numbers_suit<decltype(all)::extent, count>));
    packed_.pack(all.data());
  }

 private:
  template <class, class> friend class runner;
  typename stage<Net, Isa>::weights packed_{};
};

// One stream of frames through a net: the states of its letters, in sizeof(runner) bytes. It takes no heap, lock or
// system call, and its time depends on no number that it computes with. A copy continues from where this one is.
template <class Net, class Isa = isa::native> class runner {
 public:
  static constexpr u32 in = Net::in, out = Net::out;  // floats of a frame

  // The weights must outlive the runner.
  explicit constexpr runner(const weights<Net, Isa>& w) noexcept : weights_(&w.packed_) {}
  runner(const weights<Net, Isa>&&) = delete;

  // One frame: x [in], y [out].
  void operator()(const float* x, float* y) noexcept { block(x, y, 1); }

  // x [frames, in], y [frames, out]: the bits are those of single frames. y may be x if a frame of y is no longer.
  void block(const float* x, float* y, std::size_t frames) noexcept {
    const runtime::kernel_float_mode mode;
    frame<Isa, in> from{};
    frame<Isa, out> to;
    for (; frames > 0; --frames, x += in, y += out) {
      std::copy_n(x, in, from.v);
      stage<Net, Isa>::step(*weights_, state_, from, to);
      std::copy_n(to.v, out, y);
    }
  }

  // As before the first frame.
  void reset() noexcept { state_ = {}; }

 private:
  const typename stage<Net, Isa>::weights* weights_;
  typename stage<Net, Isa>::state state_{};
};

}  // namespace cke::net
