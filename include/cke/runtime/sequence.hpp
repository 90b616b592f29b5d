// SPDX-License-Identifier: MIT
// sequence.hpp: one sequence of ids: its history, its states, and the logits after its last id.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "../core/function_ref.hpp"
#include "../core/plain_list.hpp"
#include "loaded.hpp"

CKE_COLD_BEGIN
namespace cke::runtime {

// A copy is a fork. A sequence is not for two threads at once; sequences of one model may be used from several threads,
// and take turns pass by pass.
class sequence {
 public:
  explicit sequence(std::shared_ptr<loaded_program> model);
  sequence(const sequence& o);
  // Allocates nothing between sequences of one context.
  sequence& operator=(const sequence& o);
  sequence(sequence&&) noexcept = default;
  sequence& operator=(sequence&& o) noexcept;

  struct feeding {
    sequence* of;  // null: none that could take ids
    std::span<const u32> ids;
    row_sink hidden{};  // receives the hidden states after the last norm; no logits are then computed
    row_sink each{};    // receives the logits after each id
  };
  // Different sequences of one model take ids, each its own: at(i), i < count. logits() are then those after the last
  // id of each, unless it gives hidden states. No ids: what a rewind has left to be computed again, if logits() are
  // stale the last id at least. Throws context_overflow, token_range and usage, naming the turn where there are
  // several, and cache_full; all are then as they were.
  static void feed_together(u32 count, function_ref<feeding(u32)> at);

  // One sequence is a list of one.
  void feed(std::span<const u32> ids);
  void feed(u32 id) { feed(std::span(&id, 1)); }

  // The same, and take(i, row) gets the logits after each id. It may throw, which leaves the sequence as it was too; it
  // must not feed a sequence of the same model, which is busy with this one.
  void feed_all(std::span<const u32> ids, function_ref<void(u32, std::span<const float>)> take);

  u32 vocab_size() const { return static_cast<u32>(logits_.size()); }
  std::span<const float> logits() const { return {logits_.begin(), logits_.end()}; }  // [vocab], after the last id
  // Whether logits() are not those after the last id: before the first feed, after a rewind or a recall, and after a
  // feed that gave hidden states or failed.
  bool stale() const { return stale_; }
  std::span<const u32> history() const { return history_; }
  u32 position() const { return static_cast<u32>(history_.size()); }
  u32 context() const { return slot_.context(); }
  const loaded_program& model() const { return *model_; }
  const sequence_state& state() const { return slot_; }

  // Raises the limit of the sequence, and of its forks, from the context to `most_positions`, with the results of a
  // model with a longer context and no more memory, except for the ids. Throws unsupported if a layer sees the whole
  // history, naming it; config_range if a window is longer than the context.
  void slide() { slot_.slide(); }

  // Forgets ids from `position` on; logits() are stale until the next feed. Recurrent states go back to the end of a
  // page (of 128 to 1024 positions), windows farther if their pages were evicted: the next feed computes the ids in
  // between again. Returns the position that the states have gone back to.
  u32 rewind(u32 position);
  void reset() { rewind(0); }

  // At position 0: takes a prefix of `ids` from the prefix cache, in whole pages of 128 positions (up to 1024 with
  // recurrent states). The last id is always left to be fed. Returns the position after the prefix. Throws token_range;
  // usage if the sequence has begun.
  u32 recall(std::span<const u32> ids);

  // At position 0: becomes the sequence that was saved with these ids and logits (none: they were stale), and with the
  // states of the first `computed` ids, in pages that fill(transient, i, bytes) writes. Throws token_range,
  // context_overflow, cache_full, usage; the sequence is then as it was.
  void restore(std::span<const u32> ids, u32 computed, std::span<const float> logits,
               function_ref<void(bool transient, u32 i, std::byte*)> fill);

 protected:
  void check_room(u64 count, std::string_view whose) const;
  // Takes pages for so many more positions. Throws cache_full.
  void reserve(u32 tokens);
  void remember() { slot_.remember(history_.data()); }  // after each pass

  std::shared_ptr<loaded_program> model_;
  sequence_state slot_;
  plain_list<float> logits_;
  std::vector<u32> history_;
  bool stale_ = true;

 private:
  using turns = function_ref<feeding(u32)>;

  void check(std::span<const u32> ids, std::string_view whose, bool fed = false) const;
  void check_images(std::span<const u32> ids, std::string_view whose, bool fed) const;
  image_ref held_image(u32 id) const;
  void append(std::span<const u32> ids);
  static void check_turn(u32 i, u32 count, turns at);
  // Whether feeding these ids computes the last id of the history again, for its logits.
  bool repeats(std::span<const u32> ids) const { return ids.empty() && stale_ && position() > 0; }
  void begin(std::span<const u32> ids);
  std::span<const u32> wanted() const { return std::span(history_).subspan(from_); }
  static void run_passes(u32 count, turns at);
  u32 whole_images(u32 from, u32 to) const;
  pass_part part_of(const feeding& now, u32 from, u32 to);

  image_track track_;  // the images in it
  bool sees_images_, images_are_whole_;
  u32 start_{}, from_{};  // of the feed that runs: the position before it; the first id of history that it computes
};

// What a model whose type is in sight has: a sequence, or one with more members, such as a device's.
template <class Loaded> struct kind_of_sequence {
  using type = sequence;
};
template <class Loaded> using sequence_of = typename kind_of_sequence<Loaded>::type;
template <class Loaded> sequence_of<Loaded> new_sequence(std::shared_ptr<Loaded> model) {
  return sequence_of<Loaded>(std::move(model));
}

}  // namespace cke::runtime
CKE_COLD_END

#ifndef CKE_COMPILED
#include "sequence-inl.hpp"
#endif
