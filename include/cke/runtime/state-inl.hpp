// SPDX-License-Identifier: MIT
// state-inl.hpp: how the states of state.hpp take pages and give them back.
#pragma once

#include "state.hpp"

CKE_COLD_BEGIN
namespace cke::runtime {

CKE_ONCE sequence_state::sequence_state(const state_facts& f, page_pools& from, capacity k)
    : facts_(&f),
      pools_(&from),
      limits_(k),
      persistent_(from.persistent, f.plan.blocks, f.plan.persistent.caches, f.plan.pages(k.context),
                  f.plan.pages(k.context)),
      transient_(from.transient, f.plan.blocks, f.plan.transient.caches, f.plan.kept(k),
                 f.has_transient ? f.plan.pages(k.context) : 0) {}
CKE_ONCE sequence_state::sequence_state(const sequence_state& other)
    : sequence_state(*other.facts_, *other.pools_, other.limits_) {
  share_all(other);
}
CKE_ONCE sequence_state& sequence_state::operator=(const sequence_state& other) {
  if (this == &other) return *this;
  if (persistent_.pool() != other.persistent_.pool() || limits_.context != other.limits_.context)
    return *this = sequence_state(other);
  truncate(0);
  share_all(other);
  return *this;
}

CKE_ONCE void sequence_state::slide() {
  const state_facts& f = *facts_;
  if (!f.slides || !f.transient_apart)
    throw Error(errc::unsupported, {}, "sliding", "states that pass, windows or recurrent, in all layers",
                f.first_persistent < f.layers ? concat({"layer ", f.first_persistent, ", which sees all positions"})
                                              : std::string(f.turns_by_context ? "a rope that depends on the context"
                                                                               : "a device, where all states last"));
  if (f.plan.reach >= limits_.context)
    throw Error(errc::config_range, {}, "context",
                concat({"at least the window, ", f.plan.reach + 1, " positions, to slide"}), concat({limits_.context}));
  // One page before those in sight, since a page is remembered under the page before it.
  const u32 most = f.plan.in_sight(limits_.chunk) + 1;
  persistent_.allow(most, most), transient_.allow(most, most);
  slides_ = true;
}

CKE_ONCE void sequence_state::reserve(u32 tokens) {
  if (tokens == 0) return;
  const page_plan& plan = facts_->plan;
  const u32 page_positions = plan.positions();
  if (slides_) {
    tokens = std::min(tokens, limits_.chunk);
    make_room(position_ + tokens);
  }
  const u32 last = position_ / page_positions;
  const bool begun = position_ % page_positions != 0;
  if (begun) persistent_.own(last);
  persistent_.extend(plan.pages(position_ + tokens));
  if (!facts_->has_transient) return;
  if (begun) transient_.own(last);
  transient_.extend(plan.pages(position_ + std::min(tokens, limits_.chunk)));
}

CKE_ONCE void sequence_state::truncate(u32 position) {
  const u32 page_positions = facts_->page_positions();
  if (position < position_) position_ = facts_->plan.recurrent ? position / page_positions * page_positions : position;
  settle();
}

CKE_ONCE void sequence_state::remember(const u32* ids) {
  const u32 page_positions = facts_->page_positions();
  for (; known_ < position_ / page_positions; ++known_) {
    persistent_.remember(known_, parent(known_), ids + u64{known_} * page_positions);
    if (facts_->has_transient && known_ >= transient_.first())
      transient_.remember(known_, persistent_[known_].number, nullptr);
  }
}
CKE_ONCE void sequence_state::recall(std::span<const u32> ids) {
  make_room(static_cast<u32>(ids.size()));
  const u32 page_positions = facts_->page_positions();
  u32 i = 0;
  while (i < ids.size() / page_positions && persistent_.recall(i, parent(i), ids.data() + u64{i} * page_positions)) ++i;
  known_ = i, position_ = i * page_positions;
  settle();
}

CKE_ONCE void sequence_state::restore(u32 position, const u32* ids,
                                      function_ref<void(bool transient, u32 i, std::byte*)> fill) {
  make_room(position);
  const page_plan& plan = facts_->plan;
  const u32 page_positions = plan.positions();
  for (u32 i = 0; i < plan.pages(position); ++i) {
    persistent_.extend(i + 1);
    fill(false, i, persistent_[i].data);
    if ((i + 1) * page_positions <= position) persistent_.remember(i, parent(i), ids + u64{i} * page_positions);
  }
  if (facts_->has_transient) {
    transient_.cut(facts_->first_seen(position));
    transient_.extend(plan.pages(position));
    for (u32 i = transient_.first(); i < transient_.end(); ++i) {
      fill(true, i, transient_[i].data);
      if ((i + 1) * page_positions <= position) transient_.remember(i, persistent_[i].number, nullptr);
    }
  }
  position_ = position, known_ = position / page_positions;
}

CKE_ONCE void sequence_state::make_room(u32 positions) {
  if (!facts_->slides) return;
  persistent_.allow(0, facts_->plan.pages(positions)), transient_.allow(0, facts_->plan.pages(positions));
}
// Gives back pages after the position, and moves the position back where a transient page is missing that it reads.
CKE_ONCE void sequence_state::settle() {
  const page_plan& plan = facts_->plan;
  const u32 page_positions = plan.positions();
  if (facts_->has_transient) {
    transient_.cut(plan.pages(position_));
    for (u32 i; (i = transient_.first()) > facts_->first_seen(position_);)
      if (i <= persistent_.first() || !transient_.recall(i - 1, persistent_[i - 1].number, nullptr))
        position_ = (i - 1) * page_positions, transient_.cut(i - 1);
    if (facts_->slides && persistent_.first() && position_ / page_positions <= persistent_.first())
      position_ = 0, transient_.cut(0);
  }
  persistent_.cut(plan.pages(position_));
  known_ = std::min(known_, position_ / page_positions);
}
CKE_ONCE void sequence_state::share_all(const sequence_state& other) {
  position_ = other.position_, known_ = other.known_;
  if (facts_->slides) {
    slides_ = other.slides_;
    persistent_.allow(other.persistent_.most(), other.persistent_.room()),
        transient_.allow(other.transient_.most(), other.transient_.room());
  }
  persistent_.share(other.persistent_, facts_->plan.pages(position_));
  if (facts_->has_transient) transient_.share(other.transient_, facts_->plan.pages(position_));
}

}  // namespace cke::runtime
CKE_COLD_END
