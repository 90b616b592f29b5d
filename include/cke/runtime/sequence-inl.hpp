// SPDX-License-Identifier: MIT
// sequence-inl.hpp: how the sequences of sequence.hpp are fed.
#pragma once

#include <algorithm>

#include "sequence.hpp"

CKE_COLD_BEGIN
namespace cke::runtime {

CKE_ONCE sequence::sequence(std::shared_ptr<loaded_program> model)
    : model_(std::move(model)),
      slot_(model_->states, model_->cache, model_->executor->limits()),
      logits_(model_->compiled.program->vocab()),
      sees_images_(model_->compiled.program->sees_images()),
      images_are_whole_(model_->compiled.program->images_are_whole()) {
  history_.reserve(slot_.context());
}
CKE_ONCE sequence::sequence(const sequence& o)
    : model_(o.model_),
      slot_(o.slot_),
      logits_(o.logits_),
      stale_(o.stale_),
      track_(o.track_),
      sees_images_(o.sees_images_),
      images_are_whole_(o.images_are_whole_) {
  history_.reserve(o.history_.capacity());
  history_ = o.history_;
}
CKE_ONCE sequence& sequence::operator=(const sequence& o) {
  history_.reserve(o.history_.capacity());
  slot_ = o.slot_;
  model_ = o.model_, logits_ = o.logits_, history_ = o.history_, stale_ = o.stale_, track_ = o.track_;
  sees_images_ = o.sees_images_, images_are_whole_ = o.images_are_whole_;
  return *this;
}
CKE_ONCE sequence& sequence::operator=(sequence&& o) noexcept {
  slot_ = std::move(o.slot_);  // before the model that it belongs to
  model_ = std::move(o.model_), logits_ = std::move(o.logits_), history_ = std::move(o.history_);
  stale_ = o.stale_, track_ = std::move(o.track_);
  sees_images_ = o.sees_images_, images_are_whole_ = o.images_are_whole_;
  return *this;
}

CKE_ONCE void sequence::feed_together(u32 count, function_ref<feeding(u32)> at) {
  for (u32 i = 0; i < count; ++i) check_turn(i, count, at);
  bool computed = false;  // perhaps logits, which then stay
  try {
    for (u32 i = 0; i < count; ++i) at(i).of->begin(at(i).ids);
    for (u32 i = 0; i < count; ++i) at(i).of->reserve(static_cast<u32>(at(i).of->wanted().size()));
    computed = true;
    run_passes(count, at);
  } catch (...) {
    for (u32 i = 0; i < count; ++i) {
      sequence& s = *at(i).of;
      const bool stale = s.stale_ || computed;
      s.rewind(s.start_);
      s.stale_ = stale;
    }
    throw;
  }
  for (u32 i = 0; i < count; ++i)
    if (sequence& s = *at(i).of; !s.wanted().empty()) s.stale_ = static_cast<bool>(at(i).hidden);
}
CKE_ONCE void sequence::feed(std::span<const u32> ids) {
  feed_together(1, [&](u32) { return feeding{this, ids}; });
}
CKE_ONCE void sequence::feed_all(std::span<const u32> ids, function_ref<void(u32, std::span<const float>)> take) {
  struct taker {
    function_ref<void(u32, std::span<const float>)> take;
    u32 vocab;
  } to{take, vocab_size()};
  const row_sink each{[](void* user, u32 i, const float* row) {
                        const taker& t = *static_cast<const taker*>(user);
                        t.take(i, std::span(row, t.vocab));
                      },
                      &to};
  feed_together(1, [&](u32) { return feeding{this, ids, {}, each}; });
}

CKE_ONCE u32 sequence::rewind(u32 position) {
  stale_ |= position < this->position();
  slot_.truncate(position);
  history_.resize(std::min<std::size_t>(position, history_.size()));
  track_.truncate(this->position());
  return slot_.position();
}

CKE_ONCE u32 sequence::recall(std::span<const u32> ids) {
  if (position() != 0) throw Error(errc::usage, {}, "recall", "a sequence at position 0", concat({position()}));
  check(ids.first(std::min<std::size_t>(ids.size(), context())), {});
  if (!ids.empty()) slot_.recall(ids.first(std::min<std::size_t>(ids.size() - 1, context())));
  try {
    append(ids.first(slot_.position()));
  } catch (...) {
    rewind(0);
    throw;
  }
  stale_ = true;
  return position();
}

CKE_ONCE void sequence::restore(std::span<const u32> ids, u32 computed, std::span<const float> logits,
                                function_ref<void(bool transient, u32 i, std::byte*)> fill) {
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
  stale_ = logits.empty() || computed < ids.size();
}

// Checks that ids can follow. Throws context_overflow, token_range; `whose` is a prefix of the error's subject. Where
// they are `fed`, so that all of the sequence is computed now, throws usage if an image is cut whose rows see each
// other.
CKE_ONCE void sequence::check(std::span<const u32> ids, std::string_view whose, bool fed) const {
  const u32 vocab = vocab_size();
  check_room(ids.size(), whose);
  if (sees_images_) check_images(ids, whose, fed);
  for (const u32 id : ids)
    if (id >= vocab && !sees_images_)
      throw Error(errc::token_range, {}, concat({whose, "token id"}), concat({"less than ", vocab}), concat({id}));
}

// Rows of images are ids after the vocabulary: all of an image, in order.
CKE_ONCE void sequence::check_images(std::span<const u32> ids, std::string_view whose, bool fed) const {
  const auto fail = [&](u32 id, std::string_view want) {
    throw Error(errc::token_range, {}, concat({whose, "token id"}), want, concat({id}));
  };
  const seen_image* open = track_.unfinished(position());
  image_ref held;
  u32 next = open ? history_.back() + 1 : 0;
  for (const u32 id : ids) {
    if (open) {
      if (id != next) fail(id, concat({"the next row of an image, ", next}));
    } else if (id >= vocab_size()) {
      held = model_->images.find(id);
      if (!held) fail(id, concat({"less than ", vocab_size(), ", or a row of an image that the model has"}));
      if (id != held->first) fail(id, concat({"the first row of an image, ", held->first}));
      open = held.get();
      if (const u32 most = model_->executor->limits().chunk; images_are_whole_ && open->rows() > most)
        throw Error(errc::config_range, {}, concat({whose, "chunk"}),
                    concat({"at least ", open->rows(), ", the rows of an image, which see each other"}),
                    concat({most}));
    }
    if (open && (next = id + 1) == open->end()) open = nullptr;
  }
  if (open && fed && images_are_whole_ && (slot_.position() < position() + ids.size() || repeats(ids)))
    throw Error(errc::usage, {}, concat({whose, "ids"}),
                concat({"all rows of an image, which see each other, up to ", open->end() - 1}), concat({next - 1}));
}
// The store alone may have held it since the check.
CKE_ONCE image_ref sequence::held_image(u32 id) const {
  image_ref of = model_->images.find(id);
  if (!of) throw Error(errc::token_range, {}, "token id", "a row of an image that is still held", concat({id}));
  return of;
}
// Appends ids that were checked to the history.
CKE_ONCE void sequence::append(std::span<const u32> ids) {
  if (sees_images_)
    for (u32 i = 0; i < ids.size(); ++i)
      if (const u32 index = position() + i; ids[i] >= vocab_size() && !track_.unfinished(index))
        track_.add(index, held_image(ids[i]));
  history_.insert(history_.end(), ids.begin(), ids.end());
}

CKE_ONCE void sequence::check_room(u64 count, std::string_view whose) const {
  if (!fits(position(), count, context()))
    throw Error(errc::context_overflow, {}, concat({whose, "context"}), concat({"at most ", context(), " positions"}),
                concat({position() + count}));
}

// ---- feeding

CKE_ONCE void sequence::check_turn(u32 i, u32 count, turns at) {
  const feeding now = at(i);
  bool distinct = now.of && now.of->model_ == at(0).of->model_;
  for (u32 k = 0; k < i && distinct; ++k) distinct = at(k).of != now.of;
  if (!distinct)
    throw Error(errc::usage, {}, concat({"turn ", i}), "a sequence of the same model, in one turn", "another");
  now.of->check(now.ids, count > 1 ? concat({"turn ", i, ": "}) : std::string(), true);
  now.of->start_ = now.of->position();
}

// Appends ids to the history. wanted() are then those from the position of the states on.
CKE_ONCE void sequence::begin(std::span<const u32> ids) {
  if (repeats(ids)) slot_.truncate(position() - 1);
  from_ = slot_.position();
  append(ids);
}
// A device copies a shared page in the order of its launches, which another thread's pass may be recording.
CKE_ONCE void sequence::reserve(u32 tokens) {
  if (!model_->executor->memory_of_pages()) return slot_.reserve(tokens);
  const std::lock_guard turn(model_->busy);
  slot_.reserve(tokens);
}
// Passes of at most `chunk` ids, over the wanted() of all turns in order. A pass may end within a turn; the next one
// goes on from there.
CKE_ONCE void sequence::run_passes(u32 count, turns at) {
  const auto size_of = [&](u32 turn) { return static_cast<u32>(at(turn).of->wanted().size()); };
  for (u32 turn = 0, taken = 0; turn < count;) {
    loaded_program& model = *at(turn).of->model_;
    const std::lock_guard ours(model.busy);
    // One pass for turns [turn, end): the first from id `taken` on, the last up to id `stop`.
    u32 end = turn, stop = 0;
    for (u32 room = model.executor->limits().chunk; end < count && room > 0;) {
      const u32 from = end == turn ? taken : 0;
      u32 to = from + std::min(size_of(end) - from, room);
      if (at(end).of->images_are_whole_) to = at(end).of->whole_images(from, to);
      if (to == from && size_of(end) > from) break;  // an image that begins here needs a pass with more room
      stop = to;
      room -= stop - from;
      if (stop < size_of(end++)) break;  // the rest of it comes first in the next pass
    }
    model.executor->run(end - turn, [&](u32 i) {
      const feeding now = at(turn + i);
      return now.of->part_of(now, i == 0 ? taken : 0, turn + i + 1 == end ? stop : size_of(turn + i));
    });
    for (u32 i = turn; i < end; ++i) at(i).of->remember();
    taken = stop < size_of(end - 1) ? stop : 0, turn = taken ? end - 1 : end;
  }
}

// The end of ids [from, to) of wanted() that divides no image.
CKE_ONCE u32 sequence::whole_images(u32 from, u32 to) const {
  const u32 cut = from_ + to, begin = track_.begin_of_image(cut);
  return begin == cut ? to : std::max(from, begin - std::min(begin, from_));
}

// Ids [from, to) of wanted(). A sink counts from the first id of this turn: those before it, which a rewind has left
// to be computed again, are not its business.
CKE_ONCE pass_part sequence::part_of(const feeding& now, u32 from, u32 to) {
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
          sees_images_ ? &track_ : nullptr};
}

}  // namespace cke::runtime
CKE_COLD_END
