// SPDX-License-Identifier: MIT
// resident.cuh: a block that stays for a launch of many tokens: what it is handed, its share of each part, and how it waits for the others.
#pragma once

#include "choose.cuh"
#include "schedule.cuh"

namespace cke::cuda {

// How a launch ends. `lost`: blocks waited longer than they may; `not_finite`: a logit that is infinite or no number.
enum class ending : u32 { running, finished, aborted, lost, not_finite };

// All that the launch is handed.
struct megakernel_call {
  const addresses* where{};    // [header, layers, footer][max_ops]
  const stretch* stretches{};  // of a token
  const u32* code_of{};        // [layers], from 1
  std::byte *common{}, *own{};  // registers: shared; of each block its tokens_and_registers
  float *stream{}, *parts{};
  dev::packet* packets{};      // of each row that a token sends, in order
  u32 epoch{};                 // tokens before the launch's: packets of token t have number epoch + t + 1
  std::byte** pages{};         // of the sequence
  candidate* best{};           // [2][blocks]
  const device_sampling* how{};         // ids are chosen
  u32 *arrived{}, *end{}, *fed{};  // how often blocks have come to an exchange; an ending; tokens that were finished
  u32* posted{};               // [tokens], on the host: ids + 1, as they are chosen
  const u32* abort{};          // on the host: not 0: no further token
  const u32* stop{};           // ids behind which nothing comes
  u32 stops{}, first{}, position{}, tokens{}, blocks{};
  u32 group{};                 // blocks of a cluster; all, where there are none
  u32 slots{};                 // of a warp's ring
  u64 patience{};              // nanoseconds that a block waits for others
};

// A block's own memory: what `pass` is of a launch of the graph, then registers.
inline constexpr u32 own_segment = 16, own_registers = 64;

// How blocks come to exchanges and go from them: at once. A device may have another `pace`, to see that nothing depends on it.
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

// A block of the megakernel, as the device that emitters launch on; it takes weights from a ring, or from memory.
template <class Arch, class Weights = from_memory, class Pace = at_once> class resident {
 public:
  static constexpr bool one_token = true;

  CKE_DEVICE resident(const megakernel_call& call, Weights& weights, u32 own_bytes, u32 memory)
      : call_(call), weights_(weights), own_(call.own + u64{dev::block().x} * own_bytes), memory_(memory), deal_(dev::block().x, call.blocks, call.group) {}

  // A step. `own`: each block computes it for itself; heads: 0, or groups share them, and these are `mine`; `next`: the product
  // that comes, and where its weights are.
  CKE_DEVICE void begin_step(bool own, waiters wait, u32 heads, head_range mine, const coming& next, const addresses* where) {
    own_step_ = own, wait_ = wait, heads_ = heads, mine_ = mine, next_ = next, where_ = where;
  }
  // Packets from here on have this number, and the first places.
  CKE_DEVICE void begin_packets(u32 epoch) { epoch_ = epoch, words_ = 0, sending_ = waiting_ = false; }
  // What the step that comes writes to `row` is sent, in so many words; 0: it is not.
  CKE_DEVICE void begin_sending(const view& row, u32 words) {
    sending_ = words > 0;
    if (words == 0) return;
    row_ = row, row_words_ = words, words_ += words, waiting_ = true;
  }
  // All words of `row` that others, or this block, sent last, if somebody has; into this block's own memory.
  CKE_DEVICE void hear(const view& row, u32 row_words) {
    if (end_ != 0 || !waiting_) return;
    Pace::stop(stops_++);
    dev::sync();
    if (std::is_same_v<Weights, from_memory>) prefetch_next();
    const u32 late = hear_words(call_.packets + (words_ - row_words), reinterpret_cast<u32*>(row.data), all_columns_of(row));
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
  // Of `heads` kv heads those of this block's group.
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
      if (is == role::stores) {  // block (newest key block, head) of the grid of attention
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

  // All blocks have come, and what they wrote is to be seen. Or the launch is over.
  CKE_DEVICE void exchange() {
    if (end_ != 0) return;
    Pace::stop(stops_++);
    dev::sync();
    const dev::shared<u32> word = dev::shared_memory(memory_).take<u32>(4);
    if (dev::thread() == 0) word[0] = wait();
    else if (std::is_same_v<Weights, from_memory>) prefetch_next();
    dev::sync();
    end_ = word[0];
    Pace::stop(stops_++);
  }
  // The same among the blocks of a group.
  CKE_DEVICE void exchange_in_group() {
    if (end_ != 0) return;
    if constexpr (has_clusters<Arch>)
      if (deal_.grouped()) {
        Pace::stop(stops_++);
        dev::sync_cluster();
        Pace::stop(stops_++);
        return;
      }
    exchange();
  }
  CKE_DEVICE u32 end() const { return end_; }
  CKE_DEVICE void end(ending e) { end_ = static_cast<u32>(e); }

  // Of the last product, the units of this block: first, first + blocks, ...
  CKE_DEVICE u32 first_unit() const { return first_unit_; }
  CKE_DEVICE std::byte* own() const { return own_; }
  CKE_DEVICE u32 memory() const { return memory_; }

 private:
  CKE_DEVICE void send(u32 first, u32 count) const {
    const words_of words = columns_of(row_, first, count);
    for (u32 i = dev::thread(); i < words.count; i += block_threads) {
      const u32 w = words[i];
      dev::send(call_.packets + (words_ - row_words_) + w, {dev::load(reinterpret_cast<const u32*>(row_.data) + w), epoch_});
    }
  }
  // Each thread hears four words at once, since that is a trip; in every form of a row two of them lie together. Not 0: one
  // did not come, and the launch has an ending.
  CKE_DEVICE u32 hear_words(const dev::packet* from, u32* to, const words_of& words) const {
    struct alignas(8) pair {
      u32 first, second;
    };
    const u64 start = dev::nanoseconds();
    u32 late = 0;
    for (u32 i = 2 * dev::thread(); i < words.count; i += 4 * block_threads) {
      const u32 j = i + 2 * block_threads < words.count ? i + 2 * block_threads : i;
      dev::two_packets at_i, at_j;
      for (u32 tries = 1;; ++tries) {
        at_i = dev::hear(from + words[i]), at_j = dev::hear(from + words[j]);
        if (came(at_i) && came(at_j)) break;
        if (tries % 16 == 0) late = ends(start);
        if (late != 0) break;
        dev::pause();
      }
      dev::store(reinterpret_cast<pair*>(to + words[i]), {at_i.first.word, at_i.second.word});
      dev::store(reinterpret_cast<pair*>(to + words[j]), {at_j.first.word, at_j.second.word});
    }
    return late;
  }
  CKE_DEVICE bool came(const dev::two_packets& both) const { return both.first.epoch == epoch_ && both.second.epoch == epoch_; }
  // Unit i of those that this group has of a launch of `all`: of each matrix the rows of its heads.
  CKE_DEVICE u32 unit_of_heads(const step& s, u32 all, u32 i) const {
    CKE_UNROLL
    for (u32 k = 0; k < 3; ++k) {
      if (k >= s.matrix_count) continue;
      const u32 first = s.matrices[k].first, of_head = ((k + 1 < s.matrix_count ? s.matrices[k + 1].first : all) - first) / heads_;
      if (i < of_head * mine_.count) return first + of_head * mine_.first + i;
      i -= of_head * mine_.count;
    }
    return 0;
  }
  CKE_DEVICE static dev::place place_of(launch_shape g, u32 i) { return {i % g.x, i / g.x % g.y, i / (g.x * g.y)}; }

  template <class Kernel> CKE_DEVICE void one(dev::place at, const step& s) {
    if constexpr (role_of<Kernel> == role::units) Kernel::template on<Arch>::run(s, at, weights_);
    else Kernel::template on<Arch>::run(s, at);
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
      for (u32 i = deal_.first(false); i < end; i += call_.blocks) {
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
      if (const u32 e = ends(start); e != 0) return e;
      dev::pause();
    }
    return 0;
  }
  // How the launch ends, if it does: because somebody says so, or because this block has waited since `start`.
  CKE_DEVICE u32 ends(u64 start) const {
    if (const u32 e = dev::load_acquire(call_.end); e != 0) return e;
    if (dev::nanoseconds() - start <= call_.patience) return 0;
    dev::store_release(call_.end, static_cast<u32>(ending::lost));
    return static_cast<u32>(ending::lost);
  }

  const megakernel_call& call_;
  Weights& weights_;
  std::byte* const own_;
  const u32 memory_;  // of the block: where that of the parts ends
  coming next_{};
  const addresses* where_{};
  dealer deal_;
  waiters wait_{};
  u32 heads_ = 0, end_ = 0, first_unit_ = 0;
  head_range mine_{};
  u32 expected_ = 0;  // arrivals, of thread 0
  u32 stops_ = 0;
  view row_{};                              // that is sent
  u32 row_words_ = 0, words_ = 0, epoch_ = 0;  // words_: of all rows of the token so far
  bool own_step_ = false, sending_ = false, waiting_ = false;
};

}  // namespace cke::cuda
