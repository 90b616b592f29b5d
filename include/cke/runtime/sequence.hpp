// SPDX-License-Identifier: MIT
// sequence.hpp: one sequence of ids on its way through a program.
#pragma once

#include <algorithm>
#include <memory>

#include "../core/plain_list.hpp"
#include "device_sampling.hpp"
#include "loaded.hpp"

CKE_COLD_BEGIN
namespace cke::runtime {

// The states of all layers and the ids so far. A copy is a fork. Not for two threads at once;
// sequences of one model may be used from several threads and take turns pass by pass.
template <class Loaded> class sequence {
 public:
  static constexpr u32 vocab_size = Loaded::program::vocab;
  using executor = decltype(Loaded::executor);

  explicit sequence(std::shared_ptr<Loaded> model)
      : model_(std::move(model)), slot_(model_->cache, model_->executor.limits()), logits_(vocab_size) {
    history_.reserve(slot_.context());
  }
  sequence(const sequence& o) : model_(o.model_), slot_(o.slot_), logits_(o.logits_) {
    history_.reserve(o.history_.capacity());
    history_ = o.history_;
  }
  // Allocates nothing between sequences of one context.
  sequence& operator=(const sequence& o) {
    history_.reserve(o.history_.capacity());
    slot_ = o.slot_;
    model_ = o.model_, logits_ = o.logits_, history_ = o.history_;
    return *this;
  }
  sequence(sequence&&) noexcept = default;
  sequence& operator=(sequence&& o) noexcept {
    slot_ = std::move(o.slot_);  // before the model that it belongs to
    model_ = std::move(o.model_), logits_ = std::move(o.logits_), history_ = std::move(o.history_);
    return *this;
  }

  // Runs ids through the model after what came before; logits() is then those of the last one. No ids: what a
  // rewind has left to be computed again.
  // Throws context_overflow, token_range, cache_full; the sequence is then as it was.
  void feed(std::span<const u32> ids) {
    pass_all(ids, 1, [&](u32, std::span<const float> row) { std::copy(row.begin(), row.end(), logits_.begin()); });
  }
  void feed(u32 id) { feed(std::span(&id, 1)); }

  // The same, and take(i, row) gets the logits after each id. It may throw, which leaves the sequence
  // as it was too; it must not feed a sequence of the same model, which is busy with this one.
  template <class Take> void feed_all(std::span<const u32> ids, Take&& take) {
    pass_all(ids, static_cast<u32>(ids.size()), [&](u32 i, std::span<const float> row) {
      take(i, row);
      if (i + 1 == ids.size()) std::copy(row.begin(), row.end(), logits_.begin());
    });
  }

  struct feeding {
    sequence* of;  // null: none that could take ids
    std::span<const u32> ids;
    row_sink hidden{};  // who gets the hidden states after the last norm; no logits are then computed
    row_sink each{};    // who gets the logits after each id, as feed_all's take
  };
  // at(i), i < count: different sequences of one model, which take ids, each its own; each logits() is then
  // that of its last id, unless it gives hidden states. Throws context_overflow, token_range, usage, naming the turn, and cache_full; all are
  // then as they were.
  template <class At> static void feed_together(u32 count, At&& at) {
    for (u32 i = 0; i < count; ++i) {
      const feeding now = at(i);
      bool distinct = now.of && now.of->model_ == at(0).of->model_;
      for (u32 k = 0; k < i && distinct; ++k) distinct = at(k).of != now.of;
      if (!distinct)
        throw Error(errc::usage, {}, concat({"turn ", i}), "a sequence of the same model, in one turn", "another");
      now.of->check(now.ids, concat({"turn ", i, ": "}));
    }
    try {
      for (u32 i = 0; i < count; ++i) at(i).of->begin(at(i).ids);
      for (u32 i = 0; i < count; ++i) at(i).of->reserve();
    } catch (...) {
      for (u32 i = 0; i < count; ++i) at(i).of->rewind(at(i).of->position() - static_cast<u32>(at(i).ids.size()));
      throw;
    }
    const auto size_of = [&](u32 turn) { return static_cast<u32>(at(turn).of->wanted().size()); };
    for (u32 turn = 0, taken = 0; turn < count;) {
      auto& run = at(turn).of->model_->executor;
      const std::lock_guard ours(at(turn).of->model_->busy);
      // One pass for turns [turn, end): the first from id `taken` on, the last up to id `stop`.
      u32 end = turn, stop = 0;
      for (u32 room = run.limits().chunk; end < count && room > 0; ++end) {
        const u32 from = end == turn ? taken : 0;
        stop = from + std::min(size_of(end) - from, room);
        room -= stop - from;
      }
      run.run_together(end - turn, [&](u32 i) {
        const feeding now = at(turn + i);
        const std::span<const u32> ids = now.of->wanted();
        const u32 from = i == 0 ? taken : 0, to = turn + i + 1 == end ? stop : static_cast<u32>(ids.size());
        const u32 again = static_cast<u32>(ids.size() - now.ids.size()), first = std::clamp(again, from, to);
        const bool logits = !now.hidden && from < to && to == ids.size();
        return typename executor::part{ids.subspan(from, to - from), now.of->slot_, logits ? now.of->logits_.data() : nullptr, now.hidden,
                                       now.hidden ? row_sink{} : now.each, first - from, first - again};
      });
      for (u32 i = turn; i < end; ++i) at(i).of->took();
      taken = stop < size_of(end - 1) ? stop : 0, turn = taken ? end - 1 : end;
    }
  }

  // Where a device computes: the id that comes next, chosen by it.
  u32 choose(const device_sampling& how)
    requires requires(executor& e) { e.choose(nullptr, 0u, how); }
  {
    const std::lock_guard turn(model_->busy);
    return model_->executor.choose(logits_.data(), position(), how);
  }

  // Up to n ids, each chosen after the one before and fed, in one launch that does not wait for the host. take(id) hears
  // of each as it comes, and says whether to go on. They end behind one of `stop`; that one, or the last after a `no` of
  // take, is not fed. Throws context_overflow, cache_full, and what cuda::ahead does.
  template <class Take>
  std::vector<u32> generate_nosync(u32 n, std::span<const u32> stop, Take&& take, const device_sampling& how = {})
    requires requires(executor& e, Loaded::slot& s, bool (*f)(u32)) { e.run_ahead(0u, n, s, stop, how, nullptr, f); }
  {
    check_room(n, {});
    if (n == 0) return {};
    std::vector<u32> ids{choose(how)};
    bool on = take(ids[0]);
    if (!on || std::ranges::find(stop, ids[0]) != stop.end()) return ids;
    const u32 start = position();
    u32 fed = 0;
    try {
      slot_.reserve(n);
      const std::lock_guard turn(model_->busy);
      fed = model_->executor.run_ahead(ids[0], n, slot_, stop, how, logits_.data(), [&](u32 id) {
        ids.push_back(id);
        return on = on && take(id);
      });
    } catch (...) {
      rewind(start);
      throw;
    }
    history_.insert(history_.end(), ids.begin(), ids.begin() + fed);
    slot_.truncate(position());
    took();
    return ids;
  }

  std::span<const float> logits() const { return {logits_.data(), logits_.size()}; }  // [vocab], after the last id
  std::span<const u32> history() const { return history_; }
  u32 position() const { return static_cast<u32>(history_.size()); }
  u32 context() const { return slot_.context(); }
  const Loaded& model() const { return *model_; }
  const typename Loaded::slot& state() const { return slot_; }

  // From now on the sequence, and its forks, have `most_positions` instead of the context: what a model with a longer context
  // computes, in no more memory but for the ids. Throws unsupported where a layer sees everything, naming it; config_range where a window is longer than the context.
  void slide() { slot_.slide(); }

  // Forgets everything after `position`; logits() are stale until the next feed. Recurrent states go back to the end of
  // a page (of 128 to 1024 positions), and windows farther where they are gone: the next feed computes what is between again.
  void rewind(u32 position) {
    slot_.truncate(position);
    history_.resize(std::min<std::size_t>(position, history_.size()));
  }
  void reset() { rewind(0); }

  // At position 0: takes over what sequences of this model have computed for the beginning of `ids`, in whole
  // pages of 128 positions (up to 1024 with recurrent states), of what they hold and of what the cache still remembers. The last id is always left to be
  // fed. Returns the position after it. Throws token_range; usage where the sequence has begun.
  u32 recall(std::span<const u32> ids) {
    if (position() != 0) throw Error(errc::usage, {}, "recall", "a sequence at position 0", concat({position()}));
    check(ids.first(std::min<std::size_t>(ids.size(), context())), {});
    if (!ids.empty()) slot_.recall(ids.first(std::min<std::size_t>(ids.size() - 1, context())));
    history_.assign(ids.begin(), ids.begin() + slot_.position());
    return position();
  }

  // At position 0: takes the place of a sequence of this model that knew these: of its ids the first `computed`, in pages that
  // fill(passes, i, bytes) writes. Throws token_range, context_overflow, cache_full, usage; the sequence is then as it was.
  template <class Fill> void restore(std::span<const u32> ids, u32 computed, std::span<const float> logits, Fill&& fill) {
    if (position() != 0) throw Error(errc::usage, {}, "restore", "a sequence at position 0", concat({position()}));
    check(ids, {});
    try {
      slot_.restore(computed, ids.data(), fill);
    } catch (...) {
      rewind(0);
      throw;
    }
    history_.assign(ids.begin(), ids.end());
    std::copy(logits.begin(), logits.end(), logits_.begin());
  }

 private:
  // That ids can be fed now. Throws context_overflow, token_range; `whose` begins what an error is about.
  void check(std::span<const u32> ids, std::string_view whose) const {
    check_room(ids.size(), whose);
    for (const u32 id : ids)
      if (id >= vocab_size)
        throw Error(errc::token_range, {}, concat({whose, "token id"}), concat({"less than ", vocab_size}), concat({id}));
  }

  void check_room(u64 count, std::string_view whose) const {
    if (!fits(position(), count, context()))
      throw Error(errc::context_overflow, {}, concat({whose, "context"}), concat({"at most ", context(), " positions"}),
                  concat({position() + count}));
  }

  // Ids become history; those from where the slot is are then wanted().
  void begin(std::span<const u32> ids) {
    history_.insert(history_.end(), ids.begin(), ids.end());
    from_ = slot_.position();
  }
  std::span<const u32> wanted() const { return std::span(history_).subspan(from_); }
  void reserve() { slot_.reserve(static_cast<u32>(wanted().size())); }
  void took() { slot_.remember(history_.data()); }  // after each pass

  // take(i, row) for the last `rows` ids
  template <class Take> void pass_all(std::span<const u32> ids, u32 rows, Take&& take) {
    check(ids, {});
    const u32 start = position();
    begin(ids);
    const u32 count = static_cast<u32>(wanted().size()), again = start - from_, first = count - std::min(rows, count);
    const auto shifted = [&](u32 i, std::span<const float> row) { take(i - again, row); };
    try {
      reserve();
      for (u32 at = 0; at < count;) at += one_pass(wanted(), at, first, shifted);
    } catch (...) {
      rewind(start);
      throw;
    }
  }

  // The ids from `at` on that fit into a pass; take(i, row) from row `first_row` on. Returns how many.
  template <class Take> u32 one_pass(std::span<const u32> ids, u32 at, u32 first_row, Take& take) {
    const std::lock_guard turn(model_->busy);
    const u32 left = static_cast<u32>(ids.size()) - at, chunk = model_->executor.limits().chunk;
    const u32 n = left < chunk ? left : chunk;
    const u32 rows = at + n <= first_row ? 0 : at + n - std::max(at, first_row);
    model_->executor.run(ids.subspan(at, n), rows, slot_, [&](u32 first, u32 some, const view& v) {
      for (u32 r = 0; r < some; ++r) take(at + first + r, std::span<const float>(v.row(r), vocab_size));
    });
    took();
    return n;
  }

  std::shared_ptr<Loaded> model_;
  typename Loaded::slot slot_;
  plain_list<float> logits_;
  std::vector<u32> history_;
  u32 from_{};  // history that a feed computes
};

}  // namespace cke::runtime
CKE_COLD_END
