// SPDX-License-Identifier: MIT
// megakernel.cuh: many tokens in one launch: the graph's kernels, called in the order of the program by blocks that stay.
#pragma once

#include <limits>

#include "schedule.cuh"

namespace cke::cuda {

// How a launch ends. `lost`: blocks waited longer than they may; `not_finite`: a logit that is infinite or no number.
enum class ending : u32 { running, finished, aborted, lost, not_finite };

struct candidate {
  float value;
  u32 id;
};

// All that the launch is handed.
struct megakernel_call {
  const addresses* where{};    // [header, layers, footer][max_ops]
  const u32* code_of{};        // [layers], from 1
  std::byte *common{}, *own{};  // registers: shared; of each block its tokens_and_registers
  float *stream{}, *parts{};
  std::byte** pages{};         // of the sequence
  candidate* best{};           // [blocks]
  u32 *arrived{}, *end{}, *fed{};  // how often blocks have come to an exchange; an ending; tokens that were finished
  u32* posted{};               // [tokens], on the host: ids + 1, as they are chosen
  const u32* abort{};          // on the host: not 0: no further token
  const u32* stop{};           // ids behind which nothing comes
  u32 stops{}, first{}, position{}, tokens{}, blocks{};
  u64 patience{};              // nanoseconds that a block waits for others
};

// A block's own memory: what `pass` is of a launch of the graph, then registers.
inline constexpr u32 own_segment = 16, own_registers = 64;

// A block of the megakernel, as the device that emitters launch on.
template <class Arch> class resident {
 public:
  CKE_DEVICE resident(const megakernel_call& call, u32 own_bytes, u32 memory)
      : call_(call), own_(call.own + u64{dev::block().x} * own_bytes), memory_(memory) {}

  // `next`: the product that comes, and where its weights are.
  CKE_DEVICE void begin_step(bool own, u32 exchanges, const coming& next, const addresses* where) {
    own_step_ = own, exchanges_ = exchanges, next_ = next, where_ = where;
  }

  template <class Kernel> CKE_DEVICE void launch(launch_shape g, const step& s) {
    if (exchanges_ & 1) exchange();
    exchanges_ >>= 1;
    if (end_ != 0) return;
    constexpr role is = role_of<Kernel>;
    const u32 all = g.x * g.y * g.z, me = dev::block().x;
    if (is == role::stores) {  // block y of the grid of attention, of its newest key block
      for (u32 head = 0; head < g.y; ++head)
        if ((s.key_blocks - 1 + s.key_blocks * head) % call_.blocks == me) one<Kernel>({0, head, 0}, s);
      return;
    }
    if (own_step_) {
      for (u32 i = 0; i < all; ++i) one<Kernel>(place_of(g, i), s);
      return;
    }
    const u32 from = is == role::units ? dealt_ : 0;
    for (u32 i = first_of(from); i < all; i += call_.blocks) one<Kernel>(place_of(g, i), s);
    if (is == role::units) begin_ = from, dealt_ = (from + all) % call_.blocks;
  }

  // All blocks have come, and what they wrote is to be seen. Or the launch is over.
  CKE_DEVICE void exchange() {
    if (end_ != 0) return;
    dev::sync();
    const dev::shared<u32> word = dev::shared_memory(memory_).take<u32>(4);
    if (dev::thread() == 0) word[0] = wait();
    else prefetch_next();
    dev::sync();
    end_ = word[0];
  }
  CKE_DEVICE u32 end() const { return end_; }
  CKE_DEVICE void end(ending e) { end_ = static_cast<u32>(e); }

  // Of the last product, the units of this block: begin, begin + blocks, ...
  CKE_DEVICE u32 first_unit() const { return first_of(begin_); }
  CKE_DEVICE std::byte* own() const { return own_; }
  CKE_DEVICE u32 memory() const { return memory_; }

 private:
  // Who is dealt number `from` is block 0.
  CKE_DEVICE u32 first_of(u32 from) const { return (dev::block().x + call_.blocks - from) % call_.blocks; }
  CKE_DEVICE static dev::place place_of(launch_shape g, u32 i) { return {i % g.x, i / g.x % g.y, i / (g.x * g.y)}; }

  template <class Kernel> CKE_DEVICE static void one(dev::place at, const step& s) {
    Kernel::template on<Arch>::run(s, at);
    dev::sync();  // the memory is free again, and what was written is the block's
  }

  // The weights of this block's units of the next product, by all threads but one.
  CKE_DEVICE void prefetch_next() const {
    constexpr u32 line = 128;
    CKE_UNROLL
    for (u32 k = 0; k < 3; ++k) {
      if (k >= next_.matrices) continue;
      const std::byte* const matrix = dev::load(&where_->matrix[k]);
      const bool alone = k + 1 >= next_.matrices || next_.first[k + 1] == 0;
      const u32 end = alone ? next_.units : next_.first[k + 1];
      for (u32 i = first_of(dealt_); i < end; i += call_.blocks) {
        if (i < next_.first[k]) continue;
        const std::byte* const unit = matrix + (i - next_.first[k]) * next_.unit_bytes;
        for (u64 at = (dev::thread() - 1) * line; at < next_.unit_bytes; at += (block_threads - 1) * line) dev::prefetch(unit + at);
      }
    }
  }

  // By one thread: 0, or how the launch ends.
  CKE_DEVICE u32 wait() {
    dev::add_release(call_.arrived, 1);
    expected_ += call_.blocks;
    const u64 start = dev::nanoseconds();
    while (static_cast<i32>(dev::load_acquire(call_.arrived) - expected_) < 0) {
      if (const u32 e = dev::load_acquire(call_.end); e != 0) return e;
      if (dev::nanoseconds() - start > call_.patience) {
        dev::store_release(call_.end, static_cast<u32>(ending::lost));
        return static_cast<u32>(ending::lost);
      }
      dev::pause();
    }
    return 0;
  }

  const megakernel_call& call_;
  std::byte* const own_;
  const u32 memory_;  // of the block: where that of the parts ends
  coming next_{};
  const addresses* where_{};
  u32 exchanges_ = 0, end_ = 0;
  u32 begin_ = 0, dealt_ = 0;
  u32 expected_ = 0;  // arrivals, of thread 0
  bool own_step_ = false;
};

// That a block has what all parts of a token need.
template <u32 Bytes, u32 Most> struct block_fits {
  static_assert(Bytes <= Most, "cke: cuda: a block of the megakernel needs more shared memory than its generation has; see block_fits<bytes, most>");
  static constexpr bool value = true;
};

template <class P, dtype KV> struct megakernel {
  using plan = token_schedule<P, KV>;
  using call = megakernel_call;
  static constexpr u32 choice_bytes = 16 + block_warps * sizeof(candidate);
  static constexpr u32 shared_bytes = plan::shared_bytes + choice_bytes;
  static constexpr u32 own_bytes = own_registers + plan::own_bytes;

  template <class Arch> struct on {
    using block = resident<Arch>;
    static_assert(block_fits<shared_bytes, Arch::shared_memory>::value);

    CKE_DEVICE static void run(const megakernel_call& call) {
      block me(call, own_bytes, plan::shared_bytes);
      u32 id = call.first, fed = 0;
      for (u32 t = 0; t < call.tokens; ++t) {
        begin_token(call, me, id, call.position + t);
        if (me.end() == 0) step_through<P::head(), plan::header>(call, me, 0, call.position + t);
        for (u32 l = 0; l < P::layers && me.end() == 0; ++l) layer(call, me, l, call.position + t);
        if (me.end() == 0) step_through<P::foot(), plan::footer>(call, me, P::layers + 1, call.position + t);
        if (me.end() != 0) break;
        const candidate best = choose(call, me);
        if (me.end() != 0) break;
        ++fed;
        if (!(best.value < infinity && best.id < P::vocab)) {
          me.end(ending::not_finite);
          break;
        }
        id = best.id;
        if (t + 1 == call.tokens) break;
        if (dev::block().x == 0 && dev::thread() == 0) dev::store_release(call.posted + t, id + 1);
        bool last = false;
        for (u32 i = 0; i < call.stops; ++i) last = last || dev::load(call.stop + i) == id;
        if (last) break;
      }
      if (dev::block().x != 0 || dev::thread() != 0) return;
      dev::store(call.fed, fed);
      if (me.end() != static_cast<u32>(ending::lost)) dev::store_release(call.end, me.end() ? me.end() : static_cast<u32>(ending::finished));
    }

   private:
    static constexpr float infinity = std::numeric_limits<float>::infinity();

    CKE_DEVICE static void begin_token(const megakernel_call& call, block& me, u32 id, u32 position) {
      auto* const ids = reinterpret_cast<u32*>(me.own());
      if (dev::thread() == 0) {
        dev::store(ids, id), dev::store(ids + 1, 0u);
        dev::store(reinterpret_cast<segment*>(me.own() + own_segment), segment{0, 1, position, 0});
      }
      if (dev::block().x != 0) return dev::sync();
      // One block hears the host, and leaves; the others find that out when they wait for it.
      const dev::shared<u32> word = dev::shared_memory(me.memory()).template take<u32>(4);
      if (dev::thread() == 0) {
        word[1] = dev::load_from_host(call.abort);
        if (word[1]) dev::store_release(call.end, static_cast<u32>(ending::aborted));
      }
      dev::sync();
      if (word[1]) me.end(ending::aborted);
    }

    CKE_DEVICE static void layer(const megakernel_call& call, block& me, u32 l, u32 position) {
      if constexpr (P::body_count == 1) step_through<P::template body<0>(), 1>(call, me, l + 1, position);
      else layer_of(call, me, l, position, std::make_index_sequence<P::body_count>{});
    }
    // (Not lambdas: these are inlined on every generation.)
    template <std::size_t... V>
    CKE_DEVICE static void layer_of(const megakernel_call& call, block& me, u32 l, u32 position, std::index_sequence<V...>) {
      const u32 code = dev::load(call.code_of + l);
      ((code == V + 1 ? step_through<P::template body<V>(), V + 1>(call, me, l + 1, position) : void()), ...);
    }
    template <const code& C, u32 Which> CKE_DEVICE static void step_through(const megakernel_call& call, block& me, u32 row, u32 position) {
      all_steps<C, Which>(call, me, row, position, std::make_index_sequence<C.ops.size()>{});
    }
    template <const code& C, u32 Which, std::size_t... I>
    CKE_DEVICE static void all_steps(const megakernel_call& call, block& me, u32 row, u32 position, std::index_sequence<I...>) {
      (one_step<C, Which, I>(call, me, row, position), ...);
    }

    template <const code& C, u32 Which, u32 I> CKE_DEVICE static void one_step(const megakernel_call& call, block& me, u32 row, u32 position) {
      constexpr unbound u = unbound_of(C, C.ops[I]);
      constexpr bool own = is_own(plan::all[Which], I);
      constexpr u32 exchanges = plan::exchange_before[Which][I];
      step s = bind(u, dev::load(call.where + row * max_ops + I), registers_at<C, Which, I>{call, me.own()});
      auto* const ids = reinterpret_cast<u32*>(me.own());
      s.now = {ids, ids + 1, reinterpret_cast<segment*>(me.own() + own_segment), call.pages};
      s.parts = call.parts, s.tokens = 1, s.key_blocks = position / key_block + 1;
      constexpr coming next = coming_at(plan::all[Which], I);
      me.begin_step(own, exchanges, next, call.where + row * max_ops + next.step);
      emitter<C.ops[I].op, types_of(C, C.ops[I], KV), block>::to(me, s, 1);
    }

    // Where registers are at a step. Which one is asked for is a constant of the program, so one comparison of all is left.
    template <const code& C, u32 Which, u32 I> struct registers_at {
      const megakernel_call& call;
      std::byte* own;
      CKE_DEVICE view operator()(reg r, bool written) const { return any(r, written, std::make_index_sequence<C.regs.size()>{}); }

     private:
      template <std::size_t... R> CKE_DEVICE view any(reg r, bool written, std::index_sequence<R...>) const {
        view v;
        ((r == R ? void(v = place<R>(written)) : void()), ...);
        return v;
      }
      template <u32 R> CKE_DEVICE view place(bool written) const {
        constexpr u32 width = C.regs[R].width, stride = row_stride(width);
        constexpr dtype as = C.regs[R].as;
        if constexpr (R == token_ids) {
          return {};
        } else if constexpr (R == stream) {
          return {reinterpret_cast<std::byte*>(call.stream), width, stride, as};
        } else {
          constexpr bool own_read = reads_own(plan::all[Which], I, R), own_written = is_own(plan::all[Which], I);
          constexpr u32 common_at = plan::memory[Which].common_at[R], own_at = own_registers + plan::memory[Which].own_at[R];
          return {(written ? own_written : own_read) ? own + own_at : call.common + common_at, width, stride, as};
        }
      }
    };

    // ---- the next id: the first of the greatest logits

    CKE_DEVICE static bool better(const candidate& a, const candidate& b) { return a.value > b.value || (a.value == b.value && a.id < b.id); }
    CKE_DEVICE static candidate best_of_warp(candidate c) {
      for (u32 apart = warp_lanes / 2; apart > 0; apart /= 2) {
        const candidate other{dev::shuffle_xor(c.value, apart), dev::shuffle_xor(c.id, apart)};
        if (better(other, c)) c = other;
      }
      return c;
    }
    // In every thread of every block.
    CKE_DEVICE static candidate choose(const megakernel_call& call, block& me) {
      constexpr u32 at = plan::memory[plan::footer].common_at[P::foot().regs.size() - 1];
      const auto* const logits = reinterpret_cast<const float*>(call.common + at);
      if (plan::exchange_before_choice) me.exchange();
      candidate c{-infinity, P::vocab};
      constexpr u32 units = ceil_div(P::vocab, unit_rows);
      for (u32 unit = me.first_unit() + dev::warp() * call.blocks; unit < units; unit += block_warps * call.blocks) {
        const u32 id = unit * unit_rows + dev::lane();
        if (id >= P::vocab) continue;
        const float x = dev::load(logits + id);
        const candidate here{x < infinity ? x : infinity, id};  // what is no number wins, and is found out
        if (better(here, c)) c = here;
      }
      c = best_of_warp(c);
      dev::shared_memory memory(me.memory() + 16);
      const dev::shared<float> values = memory.take<float>(block_warps);
      const dev::shared<u32> ids = memory.take<u32>(block_warps);
      if (dev::lane() == 0) values[dev::warp()] = c.value, ids[dev::warp()] = c.id;
      dev::sync();
      const u32 w = dev::lane() % block_warps;
      c = best_of_warp({values[w], ids[w]});
      if (dev::thread() == 0) dev::store(call.best + dev::block().x, c);
      constexpr u32 first_layer = P::variants.of[0] + 1u;  // of the next token
      constexpr coming next = coming_at(plan::all[first_layer], 0);
      me.begin_step(false, 0, next, call.where + max_ops + next.step);
      me.exchange();
      if (me.end() != 0) return {};
      c = {-infinity, P::vocab};
      for (u32 b = dev::lane(); b < call.blocks; b += warp_lanes)
        if (const candidate of = dev::load(call.best + b); better(of, c)) c = of;
      return best_of_warp(c);
    }
  };
};

}  // namespace cke::cuda
