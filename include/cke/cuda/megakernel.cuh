// SPDX-License-Identifier: MIT
// megakernel.cuh: a persistent kernel that generates many tokens in one launch, with the kernels of the graph.
#pragma once

#include <limits>

#include "resident.cuh"
#include "ring.cuh"

namespace cke::cuda {

// Checks that a block has the shared memory that every part of a token needs.
template <u32 Bytes, u32 Most> struct block_fits {
  static_assert(Bytes <= Most,
                "cke: cuda: a block of the megakernel needs more shared memory than its generation has; see "
                "block_fits<bytes, most>");
  static constexpr bool value = true;
};
// Checks that there is room for a ring per warp.
template <u32 Slots, u32 Least> struct ring_fits {
  static_assert(Slots >= Least,
                "cke: cuda: beside what a block of the megakernel needs there is no room for its rings; see "
                "ring_fits<slots, least>");
  static constexpr bool value = true;
};
// Checks that the rings fetch exactly the weights that the products consume.
template <u64 Brought, u64 Taken> struct stream_is_whole {
  static_assert(
      Brought == Taken,
      "cke: cuda: rings bring other weights than products take; see stream_is_whole<bytes brought, bytes taken>");
  static constexpr bool value = true;
};

// Ring<plan, Arch>: where weights come from on a generation that has rings; tests measure with others.
template <class P, dtype KV, class Pace = at_once, template <class, class> class Ring = ring> struct megakernel {
  using plan = token_schedule<P, KV>;
  using call = megakernel_call;
  static constexpr u32 choice_bytes = 16 + best_bytes;
  static constexpr u32 ring_at = static_cast<u32>(align_up(plan::shared_bytes + choice_bytes, 128));
  static constexpr u32 slot_bytes = block_warps * (plan::slot_bytes + u32{sizeof(u64)});  // one slot for each warp
  static constexpr u32 shared_bytes(u32 slots) { return ring_at + slots * slot_bytes; }
  // Slots per warp on a device whose blocks may use `most` bytes of shared memory; 0 for generations without rings.
  static constexpr u32 slots_of(u32 most) {
    if (most < sm86::shared_memory) return 0;
    const u32 room = most < ring_at ? 0 : (most - ring_at) / slot_bytes;
    return room < 1 ? 1 : room < most_slots ? room : most_slots;
  }
  static_assert(stream_is_whole<plan::bytes_brought, plan::shares_of(1, 1).all>::value);
  static constexpr u32 own_bytes = own_registers + plan::own_bytes;

  template <class Arch> struct on {
    static constexpr bool has_ring = copies<Arch>::exist;
    static_assert(block_fits<ring_at, Arch::shared_memory>::value);
    static_assert(ring_fits < has_ring ? slots_of(Arch::shared_memory) : 2, 2 > ::value);
    using weights = std::conditional_t<has_ring, Ring<plan, Arch>, from_memory>;
    using block = resident<Arch, weights, Pace>;

    CKE_DEVICE static void run(const megakernel_call& call) {
      if constexpr (has_ring) {
        weights tiles(call.stretches, call.tokens, {dev::block().x, call.blocks, call.group}, call.slots, ring_at);
        run(call, tiles);
        tiles.end();
      } else {
        weights tiles;
        run(call, tiles);
      }
    }

   private:
    CKE_DEVICE static void run(const megakernel_call& call, weights& tiles) {
      block me(call, tiles, own_bytes, plan::shared_bytes);
      u32 id = call.first, fed = 0;
      for (u32 t = 0; t < call.tokens; ++t) {
        begin_token(call, me, id, call.position + t);
        me.begin_packets(call.epoch + t + 1);
        if (me.end() == 0) step_through<P::header_code(), plan::header>(call, me, 0, call.position + t);
        for (u32 l = 0; l < P::layers && me.end() == 0; ++l) layer(call, me, l, call.position + t);
        if (me.end() == 0) step_through<P::footer_code(), plan::footer>(call, me, P::layers + 1, call.position + t);
        if (me.end() != 0) break;
        const candidate best = choose(call, me, call.position + t + 1);
        if (me.end() != 0) break;
        ++fed;
        if (!(best.value < infinity && best.id < P::vocab)) {
          me.end(ending::not_finite);
          break;
        }
        id = best.id;
        if (t + 1 == call.tokens && !call.more) break;
        if (dev::block().x == 0 && dev::thread() == 0) dev::store_release(call.posted + t, id + 1);
        bool last = false;
        for (u32 i = 0; i < call.stops; ++i) last = last || dev::load(call.stop + i) == id;
        if (last) break;
      }
      if (dev::block().x != 0 || dev::thread() != 0) return;
      dev::store(call.fed, fed);
      if (me.end() != static_cast<u32>(ending::lost))
        dev::store_release(call.end, me.end() ? me.end() : static_cast<u32>(ending::finished));
    }

    static constexpr float infinity = std::numeric_limits<float>::infinity();

    CKE_DEVICE static void begin_token(const megakernel_call& call, block& me, u32 id, u32 position) {
      auto* const ids = reinterpret_cast<u32*>(me.own());
      if (dev::thread() == 0) {
        dev::store(ids, id), dev::store(ids + 1, 0u);
        dev::store(reinterpret_cast<segment*>(me.own() + own_segment), segment{0, 1, position, 0});
      }
      if (dev::block().x != 0) return dev::sync();
      // Block 0 alone reads the host's abort word, and leaves; the others find out at the next barrier.
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
    // (Functions, not lambdas, because these are inlined on every generation.)
    template <std::size_t... V>
    CKE_DEVICE static void layer_of(const megakernel_call& call, block& me, u32 l, u32 position,
                                    std::index_sequence<V...>) {
      const u32 code = dev::load(call.code_of + l);
      ((code == V + 1 ? step_through<P::template body<V>(), V + 1>(call, me, l + 1, position) : void()), ...);
    }
    template <const code& C, u32 Which> CKE_DEVICE static void step_through(const megakernel_call& call, block& me,
                                                                            u32 row, u32 position) {
      all_steps<C, Which>(call, me, row, position, std::make_index_sequence<C.ops.size()>{});
    }
    template <const code& C, u32 Which, std::size_t... I>
    CKE_DEVICE static void all_steps(const megakernel_call& call, block& me, u32 row, u32 position,
                                     std::index_sequence<I...>) {
      (one_step<C, Which, I>(call, me, row, position), ...);
    }

    template <const code& C, u32 Which, u32 I> CKE_DEVICE static void one_step(const megakernel_call& call, block& me,
                                                                               u32 row, u32 position) {
      constexpr std::array<u32, 2> vectors = bytes_of_vectors<C, I>();
      constexpr bool own = is_own(plan::all[Which], I);
      constexpr waiters wait = plan::wait_before[Which][I];
      constexpr u32 heads = heads_of(plan::all[Which], I);
      const head_range mine = me.heads(heads);
      step s = step_at<C, Which, I>(call, me, row, position);
      CKE_UNROLL
      for (u32 k = 0; k < 2; ++k) me.ask_for(s.weight[k], vectors[k]);
      if constexpr (constexpr u32 attention = step_that_attends<C>(); I == 0 && attention < C.ops.size()) {
        constexpr u32 of_attention = heads_of(plan::all[Which], attention);
        me.template ask_for_keys<KV>(step_at<C, Which, attention>(call, me, row, position), of_attention, position);
      }
      constexpr coming next = coming_at(plan::all[Which], I);
      me.begin_step(own, wait, heads, mine, next, call.where + row * max_ops + next.step);
      const registers_at<C, Which, I> at{call, me.own()};
      if constexpr (constexpr reg heard = plan::heard_before[Which][I]; heard != absent)
        me.hear(at(heard, false), words_of_row(plan::all[Which], heard));
      constexpr u32 words = words_sent(plan::all[Which], I);
      me.begin_sending(words > 0 ? at(C.ops[I].out[0], true) : view{}, words);
      if constexpr (heads > 0 && has_rows_of_heads(C.ops[I])) s = rows_of_heads(s, mine);
      emitter<C.ops[I].op, types_of(C, C.ops[I], KV), block>::to(me, s, 1);
    }

    template <const code& C, u32 Which, u32 I>
    CKE_DEVICE static step step_at(const megakernel_call& call, const block& me, u32 row, u32 position) {
      constexpr unbound u = unbound_of(C, C.ops[I]);
      step s = bind(u, dev::load(call.where + row * max_ops + I), registers_at<C, Which, I>{call, me.own()});
      auto* const ids = reinterpret_cast<u32*>(me.own());
      s.now = {ids, ids + 1, reinterpret_cast<segment*>(me.own() + own_segment), call.pages};
      s.parts = call.parts, s.tokens = 1, s.key_blocks = position / key_block + 1;
      return s;
    }
    template <const code& C, u32 I> static constexpr std::array<u32, 2> bytes_of_vectors() {
      const unbound u = unbound_of(C, C.ops[I]);
      std::array<u32, 2> bytes{};
      for (u32 k = 0; k < 2; ++k)
        if (u.vector[k] != absent) bytes[k] = C.slots[u.vector[k]].cols * u32{sizeof(float)};
      return bytes;
    }
    template <const code& C> static constexpr u32 step_that_attends() {
      u32 i = 0;
      while (i < C.ops.size() && !attends(C.ops[i].op)) ++i;
      return i;
    }

    // Where each register is at a step. The register asked for is a compile-time constant, so the comparisons fold
    // away.
    template <const code& C, u32 Which, u32 I> struct registers_at {
      const megakernel_call& call;
      std::byte* own;
      CKE_DEVICE view operator()(reg r, bool written) const {
        return any(r, written, std::make_index_sequence<C.regs.size()>{});
      }

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
        } else if constexpr (R == stream && !comes_in_packets(plan::all[Which], stream)) {
          return {reinterpret_cast<std::byte*>(call.stream), width, stride, as};
        } else {
          constexpr bool own_read = reads_own(plan::all[Which], I, R),
                         own_written = is_own(plan::all[Which], I) || comes_in_packets(plan::all[Which], R);
          constexpr u32 common_at = plan::memory[Which].common_at[R],
                        own_at = own_registers + plan::memory[Which].own_at[R];
          return {(written ? own_written : own_read) ? own + own_at : call.common + common_at, width, stride, as};
        }
      }
    };

    // ---- the next id

    // Every thread of every block returns the same id.
    CKE_DEVICE static candidate choose(const megakernel_call& call, block& me, u32 position) {
      constexpr u32 at = plan::memory[plan::footer].common_at[P::footer_code().regs.size() - 1];
      const auto* const logits = reinterpret_cast<const float*>(call.common + at);
      if (plan::exchange_before_choice) me.exchange();
      const device_sampling how = dev::load(call.how);
      candidate c{-infinity, P::vocab};
      constexpr u32 units = ceil_div(P::vocab, unit_rows);
      for (u32 unit = me.first_unit() + dev::warp() * call.blocks; unit < units; unit += block_warps * call.blocks) {
        const u32 id = unit * unit_rows + dev::lane();
        if (id >= P::vocab) continue;
        const candidate here{score(dev::load(logits + id), how, position, id), id};
        if (better(here, c)) c = here;
      }
      c = best_of_block(c, dev::shared_memory(me.memory() + 16));
      // Double-buffered: some blocks may still read the last token's candidates.
      candidate* const best = call.best + position % 2 * call.blocks;
      if (dev::thread() == 0) dev::store(best + dev::block().x, c);
      constexpr u32 first_layer = P::variants.of[0] + 1u;  // in the next token
      constexpr coming next = coming_at(plan::all[first_layer], 0);
      me.begin_step(false, {}, 0, {}, next, call.where + max_ops + next.step);
      me.exchange();
      if (me.end() != 0) return {};
      c = {-infinity, P::vocab};
      for (u32 b = dev::lane(); b < call.blocks; b += warp_lanes)
        if (const candidate of = dev::load(best + b); better(of, c)) c = of;
      return best_of_warp(c);
    }
  };
};

// The persistent kernel of a device, which may define another one, to measure a part of it.
template <class P, dtype KV, class Device> struct persistent_kernel {
  using type = megakernel<P, KV, typename pace_of<Device>::type>;
};
template <class P, dtype KV, class Device>
  requires requires { typename Device::template persistent<P, KV>; }
struct persistent_kernel<P, KV, Device> {
  using type = typename Device::template persistent<P, KV>;
};

}  // namespace cke::cuda
