// SPDX-License-Identifier: MIT
// sequence.hpp: one sequence of ids: its history, its states, and the logits after its last id.
#pragma once

#include <algorithm>
#include <memory>

#include "../core/function_ref.hpp"
#include "../core/plain_list.hpp"
#include "device_sampling.hpp"
#include "loaded.hpp"

CKE_COLD_BEGIN
namespace cke::runtime {

// A copy is a fork. A sequence is not for two threads at once; sequences of one model may be used from several threads,
// and take turns pass by pass.
template <class Loaded> class sequence {
 public:
  static constexpr u32 vocab_size = Loaded::program::vocab;
  static constexpr bool sees_images = Loaded::program::sees_images;
  using executor = decltype(Loaded::executor);
  static_assert(pass_executor<executor>);

  explicit sequence(std::shared_ptr<Loaded> model)
      : model_(std::move(model)), slot_(model_->cache, model_->executor.limits()), logits_(vocab_size) {
    history_.reserve(slot_.context());
  }
  sequence(const sequence& o) : model_(o.model_), slot_(o.slot_), logits_(o.logits_), track_(o.track_) {
    history_.reserve(o.history_.capacity());
    history_ = o.history_;
  }
  // Allocates nothing between sequences of one context.
  sequence& operator=(const sequence& o) {
    history_.reserve(o.history_.capacity());
    slot_ = o.slot_;
    model_ = o.model_, logits_ = o.logits_, history_ = o.history_, track_ = o.track_;
    return *this;
  }
  sequence(sequence&&) noexcept = default;
  sequence& operator=(sequence&& o) noexcept {
    slot_ = std::move(o.slot_);  // before the model that it belongs to
    model_ = std::move(o.model_), logits_ = std::move(o.logits_), history_ = std::move(o.history_);
    track_ = std::move(o.track_);
    return *this;
  }

  struct feeding {
    sequence* of;  // null: none that could take ids
    std::span<const u32> ids;
    row_sink hidden{};  // receives the hidden states after the last norm; no logits are then computed
    row_sink each{};    // receives the logits after each id
  };
  // Different sequences of one model take ids, each its own: at(i), i < count. logits() are then those after the last
  // id of each, unless it gives hidden states. No ids: what a rewind has left to be computed again. Throws
  // context_overflow, token_range and usage, naming the turn where there are several, and cache_full; all are then as
  // they were.
  static void feed_together(u32 count, function_ref<feeding(u32)> at) {
    for (u32 i = 0; i < count; ++i) check_turn(i, count, at);
    try {
      for (u32 i = 0; i < count; ++i) at(i).of->begin(at(i).ids);
      for (u32 i = 0; i < count; ++i) at(i).of->reserve();
      run_passes(count, at);
    } catch (...) {
      for (u32 i = 0; i < count; ++i) at(i).of->rewind(at(i).of->start_);
      throw;
    }
  }

  // One sequence is a list of one.
  void feed(std::span<const u32> ids) {
    feed_together(1, [&](u32) { return feeding{this, ids}; });
  }
  void feed(u32 id) { feed(std::span(&id, 1)); }

  // The same, and take(i, row) gets the logits after each id. It may throw, which leaves the sequence as it was too; it
  // must not feed a sequence of the same model, which is busy with this one.
  template <class Take> void feed_all(std::span<const u32> ids, Take&& take) {
    const row_sink each{[](void* user, u32 i, const float* row) {
                          (*static_cast<std::remove_reference_t<Take>*>(user))(i,
                                                                               std::span<const float>(row, vocab_size));
                        },
                        const_cast<void*>(static_cast<const void*>(std::addressof(take)))};
    feed_together(1, [&](u32) { return feeding{this, ids, {}, each}; });
  }

  // The next id, sampled on the device.
  u32 choose(const device_sampling& how)
    requires requires(executor& e) { e.choose(nullptr, 0u, how); }
  {
    const std::lock_guard turn(model_->busy);
    return model_->executor.choose(logits_.data(), position(), how);
  }

  // Generates up to n ids in one launch that does not wait for the host: each is sampled and fed. take(id) is called
  // for each as it arrives, and returns whether to go on. Generation ends after one of `stop`; neither that one nor the
  // last id after take has returned false is fed. Throws context_overflow, cache_full, and what cuda::ahead throws.
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
    remember();
    return ids;
  }

  std::span<const float> logits() const { return {logits_.begin(), logits_.end()}; }  // [vocab], after the last id
  std::span<const u32> history() const { return history_; }
  u32 position() const { return static_cast<u32>(history_.size()); }
  u32 context() const { return slot_.context(); }
  const Loaded& model() const { return *model_; }
  const typename Loaded::slot& state() const { return slot_; }

  // Raises the limit of the sequence, and of its forks, from the context to `most_positions`, with the results of a
  // model with a longer context and no more memory, except for the ids. Throws unsupported if a layer sees the whole
  // history, naming it; config_range if a window is longer than the context.
  void slide() { slot_.slide(); }

  // Forgets ids from `position` on; logits() are stale until the next feed. Recurrent states go back to the end of a
  // page (of 128 to 1024 positions), windows farther if their pages were evicted: the next feed computes the ids in
  // between again.
  void rewind(u32 position) {
    slot_.truncate(position);
    history_.resize(std::min<std::size_t>(position, history_.size()));
    track_.truncate(this->position());
  }
  void reset() { rewind(0); }

  // At position 0: takes a prefix of `ids` from the prefix cache, in whole pages of 128 positions (up to 1024 with
  // recurrent states). The last id is always left to be fed. Returns the position after the prefix. Throws token_range;
  // usage if the sequence has begun.
  u32 recall(std::span<const u32> ids) {
    if (position() != 0) throw Error(errc::usage, {}, "recall", "a sequence at position 0", concat({position()}));
    check(ids.first(std::min<std::size_t>(ids.size(), context())), {});
    if (!ids.empty()) slot_.recall(ids.first(std::min<std::size_t>(ids.size() - 1, context())));
    append(ids.first(slot_.position()));
    return position();
  }

  // At position 0: becomes the sequence that was saved with these ids and logits, and with the states of the first
  // `computed` ids, in pages that fill(transient, i, bytes) writes. Throws token_range, context_overflow, cache_full,
  // usage; the sequence is then as it was.
  template <class Fill> void restore(std::span<const u32> ids, u32 computed, std::span<const float> logits,
                                     Fill&& fill) {
    if (position() != 0) throw Error(errc::usage, {}, "restore", "a sequence at position 0", concat({position()}));
    check(ids, {});
    try {
      slot_.restore(computed, ids.data(), fill);
    } catch (...) {
      rewind(0);
      throw;
    }
    append(ids);
    std::copy(logits.begin(), logits.end(), logits_.begin());
  }

 private:
  // Checks that ids can be fed now. Throws context_overflow, token_range; `whose` is a prefix of the error's subject.
  void check(std::span<const u32> ids, std::string_view whose) const {
    check_room(ids.size(), whose);
    if constexpr (sees_images) check_images(ids, whose);
    for (const u32 id : ids)
      if (id >= vocab_size && !sees_images)
        throw Error(errc::token_range, {}, concat({whose, "token id"}), concat({"less than ", vocab_size}),
                    concat({id}));
  }

  // Rows of images are ids after the vocabulary: all of an image, in order.
  void check_images(std::span<const u32> ids, std::string_view whose) const {
    const auto fail = [&](u32 id, std::string_view want) {
      throw Error(errc::token_range, {}, concat({whose, "token id"}), want, concat({id}));
    };
    const seen_image* open = track_.unfinished(position());
    image_ref held;
    u32 next = open ? history_.back() + 1 : 0;
    for (const u32 id : ids) {
      if (open) {
        if (id != next) fail(id, concat({"the next row of an image, ", next}));
      } else if (id >= vocab_size) {
        held = model_->images.find(id);
        if (!held) fail(id, concat({"less than ", vocab_size, ", or a row of an image that the model has"}));
        if (id != held->first) fail(id, concat({"the first row of an image, ", held->first}));
        open = held.get();
        if (const u32 most = model_->executor.limits().chunk; Loaded::program::images_are_whole && open->rows() > most)
          throw Error(errc::config_range, {}, concat({whose, "chunk"}),
                      concat({"at least ", open->rows(), ", the rows of an image, which see each other"}),
                      concat({most}));
      }
      if (open && (next = id + 1) == open->end()) open = nullptr;
    }
  }
  // Nobody but the store may have held it since the check.
  image_ref held_image(u32 id) const {
    image_ref of = model_->images.find(id);
    if (!of) throw Error(errc::token_range, {}, "token id", "a row of an image that is still held", concat({id}));
    return of;
  }
  // Appends ids that were checked to the history.
  void append(std::span<const u32> ids) {
    if constexpr (sees_images)
      for (u32 i = 0; i < ids.size(); ++i)
        if (const u32 index = position() + i; ids[i] >= vocab_size && !track_.unfinished(index))
          track_.add(index, held_image(ids[i]));
    history_.insert(history_.end(), ids.begin(), ids.end());
  }

  void check_room(u64 count, std::string_view whose) const {
    if (!fits(position(), count, context()))
      throw Error(errc::context_overflow, {}, concat({whose, "context"}), concat({"at most ", context(), " positions"}),
                  concat({position() + count}));
  }

  // ---- feeding

  using turns = function_ref<feeding(u32)>;

  static void check_turn(u32 i, u32 count, turns at) {
    const feeding now = at(i);
    bool distinct = now.of && now.of->model_ == at(0).of->model_;
    for (u32 k = 0; k < i && distinct; ++k) distinct = at(k).of != now.of;
    if (!distinct)
      throw Error(errc::usage, {}, concat({"turn ", i}), "a sequence of the same model, in one turn", "another");
    now.of->check(now.ids, count > 1 ? concat({"turn ", i, ": "}) : std::string());
    now.of->start_ = now.of->position();
  }

  // Appends ids to the history. wanted() are then those from the position of the states on.
  void begin(std::span<const u32> ids) {
    from_ = slot_.position();
    append(ids);
  }
  std::span<const u32> wanted() const { return std::span(history_).subspan(from_); }
  void reserve() { slot_.reserve(static_cast<u32>(wanted().size())); }
  void remember() { slot_.remember(history_.data()); }  // after each pass

  // Passes of at most `chunk` ids, over the wanted() of all turns in order. A pass may end within a turn; the next one
  // goes on from there.
  static void run_passes(u32 count, turns at) {
    const auto size_of = [&](u32 turn) { return static_cast<u32>(at(turn).of->wanted().size()); };
    for (u32 turn = 0, taken = 0; turn < count;) {
      Loaded& model = *at(turn).of->model_;
      const std::lock_guard ours(model.busy);
      // One pass for turns [turn, end): the first from id `taken` on, the last up to id `stop`.
      u32 end = turn, stop = 0;
      for (u32 room = model.executor.limits().chunk; end < count && room > 0;) {
        const u32 from = end == turn ? taken : 0;
        u32 to = from + std::min(size_of(end) - from, room);
        if constexpr (Loaded::program::images_are_whole) to = at(end).of->whole_images(from, to);
        if (to == from && size_of(end) > from) break;  // an image that begins here needs a pass with more room
        stop = to;
        room -= stop - from;
        if (stop < size_of(end++)) break;  // the rest of it comes first in the next pass
      }
      model.executor.run(end - turn, [&](u32 i) {
        const feeding now = at(turn + i);
        return now.of->part_of(now, i == 0 ? taken : 0, turn + i + 1 == end ? stop : size_of(turn + i));
      });
      for (u32 i = turn; i < end; ++i) at(i).of->remember();
      taken = stop < size_of(end - 1) ? stop : 0, turn = taken ? end - 1 : end;
    }
  }

  // The end of ids [from, to) of wanted() that divides no image.
  u32 whole_images(u32 from, u32 to) const {
    const u32 cut = from_ + to, begin = track_.begin_of_image(cut);
    return begin == cut ? to : std::max(from, begin - std::min(begin, from_));
  }

  // Ids [from, to) of wanted(). A sink counts from the first id of this turn: those before it, which a rewind has left
  // to be computed again, are not its business.
  typename executor::part part_of(const feeding& now, u32 from, u32 to) {
    const std::span<const u32> ids = wanted();
    const u32 again = static_cast<u32>(ids.size() - now.ids.size()), first = std::clamp(again, from, to);
    const bool logits = !now.hidden && from < to && to == ids.size();
    return {ids.subspan(from, to - from),
            slot_,
            logits ? logits_.data() : nullptr,
            now.hidden,
            now.hidden ? row_sink{} : now.each,
            first - from,
            first - again,
            sees_images ? &track_ : nullptr};
  }

  std::shared_ptr<Loaded> model_;
  typename Loaded::slot slot_;
  plain_list<float> logits_;
  std::vector<u32> history_;
  image_track track_;     // the images in it
  u32 start_{}, from_{};  // of the feed that runs: the position before it; the first id of history that it computes
};

}  // namespace cke::runtime
CKE_COLD_END
