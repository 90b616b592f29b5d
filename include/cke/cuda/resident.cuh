// SPDX-License-Identifier: MIT
// resident.cuh: a block of the persistent kernel: its arguments, its share of each part, and its barriers.
#pragma once

#include "choose.cuh"
#include "schedule.cuh"

namespace cke::cuda {

// How a launch ends. `lost`: a block waited longer than `patience`; `not_finite`: a logit is infinite or NaN.
enum class ending : u32 { running, finished, aborted, lost, not_finite };

// The arguments of the launch.
struct megakernel_call {
  const addresses* where{};     // [header, layers, footer][max_ops]
  const stretch* stretches{};   // one pass over a token's weights
  const u32* code_of{};         // [layers], from 1
  std::byte *common{}, *own{};  // registers: shared by all blocks; private, one area per block
  float *stream{}, *parts{};
  dev::packet* packets{};          // one per word of every row that a token sends, in order
  u32 epoch{};                     // tokens before this launch: packets of its token t have number epoch + t + 1
  std::byte** pages{};             // page table of the sequence
  candidate* best{};               // [2][blocks]
  const device_sampling* how{};    // sampling options
  u32 *arrived{}, *end{}, *fed{};  // barrier arrivals so far; the ending; tokens finished
  u32* posted{};                   // [tokens], in host memory: chosen ids + 1
  bool more{};                     // the id after the last token is posted too, because another launch goes on with it
  const u32* abort{};              // in host memory; nonzero: start no further token
  const u32* stop{};               // ids that end the generation
  u32 stops{}, first{}, position{}, tokens{}, blocks{};
  u32 group{};              // blocks that share heads: of a cluster, of a group with a counter, or all of them
  u32* arrived_in_group{};  // counters of the groups, each in a line of its own; null: groups are clusters, or all
  u32 slots{};              // of each warp's ring
  u64 patience{};           // nanoseconds that a block waits for the others
};

// Offsets in a block's private memory: ids first, then the segment (the `pass` of a graph's launch), then registers.
inline constexpr u32 own_segment = 16, own_registers = 64;
inline constexpr u32 line_words = 32;  // between counters, which then do not share a line of the L2 cache

// A hook before and after each wait, empty by default. A device may define another `pace`, to test other timings.
struct at_once {
  CKE_DEVICE static void stop(u32) {}
};
template <class Device> struct pace_of {
  using type = at_once;
};
template <class Device>
  requires requires { typename Device::pace; }
struct pace_of<Device> {
  using type = typename Device::pace;
};

// A block of the megakernel, acting as the device that emitters launch on. Weights come from a ring, or from memory.
template <class Arch, class Weights = from_memory, class Pace = at_once> class resident {
 public:
  static constexpr bool one_token = true;

  CKE_DEVICE resident(const megakernel_call& call, Weights& weights, u32 own_bytes, u32 memory)
      : call_(call),
        weights_(weights),
        own_(call.own + u64{dev::block().x} * own_bytes),
        memory_(memory),
        deal_(dev::block().x, call.blocks, call.group) {}

  // Prepares a step. `own`: each block computes all of it for itself. heads: 0, or the number of kv heads dealt out to
  // groups, of which this group has `mine`. `next`: the next product, whose weights are at `where`.
  CKE_DEVICE void begin_step(bool own, waiters wait, u32 heads, head_range mine, const coming& next,
                             const addresses* where) {
    own_step_ = own, wait_ = wait, heads_ = heads, mine_ = mine, next_ = next, where_ = where;
  }
  // Starts a token: its packets have this number and are stored from the first place on.
  CKE_DEVICE void begin_packets(u32 epoch) { epoch_ = epoch, words_ = 0, sending_ = waiting_ = false; }
  // The next step sends what it writes to `row` as this many packets; 0: it sends nothing.
  CKE_DEVICE void begin_sending(const view& row, u32 words) {
    sending_ = words > 0;
    if (words == 0) return;
    row_ = row, row_words_ = words, words_ += words, waiting_ = true;
  }
  // Waits for all packets of the row sent last, if one is outstanding, and stores them in this block's private memory.
  CKE_DEVICE void hear(const view& row, u32 row_words) {
    if (end_ != 0 || !waiting_) return;
    Pace::stop(stops_++);
    dev::sync();
    if (std::is_same_v<Weights, from_memory>) prefetch_next();
    const u32 late =
        hear_words(call_.packets + (words_ - row_words), reinterpret_cast<u32*>(row.data), all_columns_of(row));
    const dev::shared<u32> words = dev::shared_memory(memory_ + 16).take<u32>(block_warps);
    u32 of_warp = late;
    for (u32 apart = warp_lanes / 2; apart > 0; apart /= 2) of_warp |= dev::shuffle_xor(of_warp, apart);
    if (dev::lane() == 0) words[dev::warp()] = of_warp;
    dev::sync();
    u32 of_block = 0;
    for (u32 w = 0; w < block_warps; ++w) of_block |= words[w];
    if (of_block != 0) end_ = dev::load_acquire(call_.end);
    waiting_ = false;
    Pace::stop(stops_++);
  }
  // Prefetches to L2 what a step is about to read: the weights of a whole token have passed through L2 since last time.
  CKE_DEVICE void ask_for(const void* from, u32 bytes) const {
    constexpr u32 line = 128;
    for (u32 at = dev::thread() * line; at < bytes; at += block_threads * line)
      dev::prefetch(static_cast<const std::byte*>(from) + at);
  }
  // The same of the keys and values that this block attends to.
  template <dtype KV> CKE_DEVICE void ask_for_keys(const step& s, u32 heads, u32 position) const {
    using cache = cuda::cache<KV>;
    const bool in_group = heads > 0;
    const head_range mine = in_group ? deal_.heads(heads) : head_range{0, s.kv_heads};
    const segment g{0, 1, position, 0};
    const key_range seen = keys_of(s, position);
    for (u32 i = deal_.rank(in_group); i < s.key_blocks * mine.count; i += deal_.size(in_group)) {
      const u32 block = i % s.key_blocks, head = mine.first + i / s.key_blocks;
      if ((block + 1) * key_block > seen.first)
        ask_for(cache::keys(s, g, head, block),
                2 * key_block * cache::width(s.head_dim) * u32{sizeof(typename cache::element)});
    }
  }
  // The kv heads, out of `of`, that this block's group computes.
  CKE_DEVICE head_range heads(u32 of) const { return of > 0 ? deal_.heads(of) : head_range{}; }

  template <class Kernel> CKE_DEVICE void launch(launch_shape g, const step& s) {
    if (wait_.all & 1) exchange();
    else if (wait_.group & 1) exchange_in_group();
    wait_ = wait_.of_next();
    if (end_ != 0) return;
    constexpr role is = role_of<Kernel>;
    const bool in_group = heads_ > 0;
    const u32 all = g.x * g.y * g.z, size = deal_.size(in_group), rank = deal_.rank(in_group);
    if (is == role::stores || is == role::attends || is == role::joins) {
      const head_range mine = in_group ? mine_ : head_range{0, g.y};
      if (is == role::stores) {  // block (newest key block, head) of attention's grid
        for (u32 n = 0; n < mine.count; ++n)
          if ((s.key_blocks - 1 + s.key_blocks * n) % size == rank) one<Kernel>({0, mine.first + n, 0}, s);
      } else {
        for (u32 i = rank; i < g.x * mine.count; i += size) {
          const u32 head = mine.first + i / g.x, wide = s.heads / s.kv_heads * s.head_dim;
          one<Kernel>({i % g.x, head, 0}, s);
          if (is == role::joins && sending_) send(head * wide, wide);
        }
      }
    } else if (own_step_) {
      for (u32 i = 0; i < all; ++i) one<Kernel>(place_of(g, i), s);
    } else if (is == role::units) {
      const u32 count = in_group ? all / heads_ * mine_.count : all;
      first_unit_ = deal_.first(in_group);
      for (u32 i = first_unit_; i < count; i += size) {
        one<Kernel>({in_group ? unit_of_heads(s, all, i) : i, 0, 0}, s);
        if (sending_) send(i * unit_rows, unit_rows);
      }
      deal_.pass(in_group, count);
    } else {
      for (u32 i = rank; i < all; i += size) one<Kernel>(place_of(g, i), s);
    }
  }

  // Grid barrier: waits for all blocks and makes their writes visible, or finds that the launch has ended.
  CKE_DEVICE void exchange() { exchange_at(call_.arrived, call_.blocks, expected_); }
  // The same among the blocks of a group.
  CKE_DEVICE void exchange_in_group() {
    if (deal_.grouped() && call_.arrived_in_group)
      return exchange_at(call_.arrived_in_group + deal_.group() * line_words, call_.group, expected_in_group_);
    if constexpr (has_clusters<Arch>)
      if (deal_.grouped()) {
        if (end_ != 0) return;
        Pace::stop(stops_++);
        dev::sync_cluster();
        Pace::stop(stops_++);
        return;
      }
    exchange();
  }
  CKE_DEVICE u32 end() const { return end_; }
  CKE_DEVICE void end(ending e) { end_ = static_cast<u32>(e); }

  // The first unit of the last product that this block computed; it had every blocks-th from there.
  CKE_DEVICE u32 first_unit() const { return first_unit_; }
  CKE_DEVICE std::byte* own() const { return own_; }
  CKE_DEVICE u32 memory() const { return memory_; }

 private:
  CKE_DEVICE void send(u32 first, u32 count) const {
    const words_of words = columns_of(row_, first, count);
    for (u32 i = dev::thread(); i < words.count; i += block_threads) {
      const u32 w = words[i];
      dev::send(call_.packets + (words_ - row_words_) + w,
                {dev::load(reinterpret_cast<const u32*>(row_.data) + w), epoch_});
    }
  }
  // Each thread polls four words at a time, which costs one round trip; in every form of a row, words lie in adjacent
  // pairs. A warp that has to wait settles what it owes its ring. Returns nonzero if a packet did not come and the
  // launch has ended.
  CKE_DEVICE u32 hear_words(const dev::packet* from, u32* to, const words_of& words) const {
    struct alignas(8) pair {
      u32 first, second;
    };
    const u64 start = dev::nanoseconds();
    u32 late = 0;
    for (u32 begin = 0; begin < words.count; begin += 4 * block_threads) {
      const u32 i = begin + 2 * dev::thread(), j = i + 2 * block_threads < words.count ? i + 2 * block_threads : i;
      const bool mine = i < words.count;
      dev::two_packets at_i{}, at_j{};
      const auto poll = [&] {
        at_i = dev::hear(from + words[i]), at_j = dev::hear(from + words[j]);
        return came(at_i) && came(at_j);
      };
      bool here = !mine || poll();
      if (dev::any_of_warp(!here)) weights_.settle();
      for (u32 tries = 1; !here && late == 0; ++tries) {
        dev::pause();
        here = poll();
        if (!here && tries % 16 == 0) late = ends(start);
      }
      if (!mine) continue;
      dev::store(reinterpret_cast<pair*>(to + words[i]), {at_i.first.word, at_i.second.word});
      dev::store(reinterpret_cast<pair*>(to + words[j]), {at_j.first.word, at_j.second.word});
    }
    return late;
  }
  CKE_DEVICE bool came(const dev::two_packets& both) const {
    return both.first.epoch == epoch_ && both.second.epoch == epoch_;
  }
  // Maps the i-th unit of this group to a unit of the launch, which has `all`: the group takes its heads of each
  // matrix.
  CKE_DEVICE u32 unit_of_heads(const step& s, u32 all, u32 i) const {
    CKE_UNROLL
    for (u32 k = 0; k < 3; ++k) {
      if (k >= s.matrix_count) continue;
      const u32 first = s.matrices[k].first,
                of_head = ((k + 1 < s.matrix_count ? s.matrices[k + 1].first : all) - first) / heads_;
      if (i < of_head * mine_.count) return first + of_head * mine_.first + i;
      i -= of_head * mine_.count;
    }
    return 0;
  }
  CKE_DEVICE static dev::place place_of(launch_shape g, u32 i) { return {i % g.x, i / g.x % g.y, i / (g.x * g.y)}; }

  template <class Kernel> CKE_DEVICE void one(dev::place at, const step& s) {
    if constexpr (role_of<Kernel> == role::units) Kernel::template on<Arch>::run(s, at, weights_);
    else Kernel::template on<Arch>::run(s, at);
    dev::sync();  // the shared memory is free again, and all of the block sees what was written
  }

  // Prefetches this block's units of the next product, in all threads but thread 0, which may be waiting at the
  // barrier.
  CKE_DEVICE void prefetch_next() const {
    constexpr u32 line = 128;
    CKE_UNROLL
    for (u32 k = 0; k < 3; ++k) {
      if (k >= next_.matrices) continue;
      const std::byte* const matrix = dev::load(&where_->matrix[k]);
      const bool alone = k + 1 >= next_.matrices || next_.first[k + 1] == 0;
      const u32 end = alone ? next_.units : next_.first[k + 1];
      for (u32 i = deal_.first(false); i < end; i += call_.blocks) {
        if (i < next_.first[k]) continue;
        const std::byte* const unit = matrix + (i - next_.first[k]) * next_.unit_bytes;
        for (u64 at = (dev::thread() - 1) * line; at < next_.unit_bytes; at += (block_threads - 1) * line)
          dev::prefetch(unit + at);
      }
    }
  }

  // Waits for `blocks` blocks at their counter. expected: arrivals that completed their last barrier.
  CKE_DEVICE void exchange_at(u32* arrived, u32 blocks, u32& expected) {
    if (end_ != 0) return;
    Pace::stop(stops_++);
    dev::sync();
    const dev::shared<u32> word = dev::shared_memory(memory_).take<u32>(4);
    if (dev::thread() == 0) dev::add_release(arrived, 1);
    weights_.settle();
    if (dev::thread() == 0) word[0] = wait(arrived, expected += blocks);
    else if (std::is_same_v<Weights, from_memory>) prefetch_next();
    dev::sync();
    end_ = word[0];
    Pace::stop(stops_++);
  }
  // Called by one thread: waits until so many have arrived; returns 0, or how the launch ends.
  CKE_DEVICE u32 wait(u32* arrived, u32 expected) {
    const u64 start = dev::nanoseconds();
    while (static_cast<i32>(dev::load_acquire(arrived) - expected) < 0) {
      if (const u32 e = ends(start); e != 0) return e;
      dev::pause();
    }
    return 0;
  }
  // Returns how the launch ends, or 0. Ends it as lost if this block has waited longer than `patience` since `start`.
  CKE_DEVICE u32 ends(u64 start) const {
    if (const u32 e = dev::load_acquire(call_.end); e != 0) return e;
    if (dev::nanoseconds() - start <= call_.patience) return 0;
    dev::store_release(call_.end, static_cast<u32>(ending::lost));
    return static_cast<u32>(ending::lost);
  }

  const megakernel_call& call_;
  Weights& weights_;
  std::byte* const own_;
  const u32 memory_;  // offset of the block's shared memory after that of the parts
  coming next_{};
  const addresses* where_{};
  dealer deal_;
  waiters wait_{};
  u32 heads_ = 0, end_ = 0, first_unit_ = 0;
  head_range mine_{};
  u32 expected_ = 0, expected_in_group_ = 0;  // arrivals that completed the last barriers; kept by thread 0
  u32 stops_ = 0;
  view row_{};                                 // the row being sent
  u32 row_words_ = 0, words_ = 0, epoch_ = 0;  // words_: sent so far in this token
  bool own_step_ = false, sending_ = false, waiting_ = false;
};

}  // namespace cke::cuda
