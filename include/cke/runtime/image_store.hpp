// SPDX-License-Identifier: MIT
// image_store.hpp: the images that a model's sequences see. The rows of an image stand in a text as ids after those of
// the vocabulary, equal for equal images: histories, forks and the prefix cache treat them as any ids.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "../core/concat.hpp"
#include "../core/error.hpp"
#include "../core/mutex.hpp"
#include "image_rows.hpp"

CKE_COLD_BEGIN
namespace cke::runtime {

// Identifies the content of an image, and of what was made of it: a hash.
struct image_key {
  u64 high{}, low{};
  constexpr auto operator<=>(const image_key&) const = default;
};

// Of a frame of a video that goes on where the one before it ends: how far rope moves from the first frame to it in
// time. None: an image, or a first frame.
using frame_time = std::optional<u32>;

// The features of an image: [grid.patches()][width], one row for each cell of the grid.
struct seen_image {
  u32 first{};  // id of row 0
  patch_grid grid;
  frame_time time;
  u32 width{};
  std::vector<float> features;

  u32 rows() const { return grid.patches(); }
  u32 end() const { return first + rows(); }
  const float* row(u32 r) const { return &features[u64{r} * width]; }
  // The ids that stand for the image.
  std::vector<u32> ids() const {
    std::vector<u32> all(rows());
    for (u32 r = 0; r < rows(); ++r) all[r] = first + r;
    return all;
  }
};
using image_ref = std::shared_ptr<const seen_image>;

class image_store {
 public:
  // Ids begin after the vocabulary; features have `width` numbers.
  image_store(u32 vocab, u32 width) : next_(vocab), width_(width) {}

  // The image of a key, if it is still there: a sequence has it, or it was among the last ones.
  image_ref find(const image_key& key) {
    const std::lock_guard turn(busy_);
    const auto at = std::ranges::lower_bound(firsts_, key, {}, &first_id::key);
    if (at == firsts_.end() || at->key != key) return nullptr;
    const image_ref of = fresh(at->first);
    return of && of->first == at->first ? of : nullptr;
  }
  // The image that an id is a row of.
  image_ref find(u32 id) {
    const std::lock_guard turn(busy_);
    const image_ref of = fresh(id);
    return of && id < of->end() ? of : nullptr;
  }
  // Throws usage for features of another size, out_of_memory after 4 billion rows of different images.
  image_ref add(const image_key& key, patch_grid grid, std::span<const float> features, frame_time time = {}) {
    if (const image_ref known = find(key)) return known;
    if (grid.patches() == 0 || u64{grid.patches()} * width_ != features.size())
      throw Error(errc::usage, {}, "features of an image", concat({u64{grid.patches()} * width_, " numbers"}),
                  concat({features.size()}));
    const std::lock_guard turn(busy_);
    auto at = std::ranges::lower_bound(firsts_, key, {}, &first_id::key);
    if (at == firsts_.end() || at->key != key) {
      if (!fits(next_, grid.patches(), ~0u - 1))
        throw Error(errc::out_of_memory, {}, "images", "ids for their rows", "none left");
      at = firsts_.insert(at, {key, next_});
      next_ += grid.patches();
    }
    seen_image image{at->first, grid, time, width_, {}};
    image.features.assign(features.begin(), features.end());
    image_ref made = std::make_shared<const seen_image>(std::move(image));
    const auto before = place_of(made->first);
    if (before != images_.end() && before->first == made->first) before->image = made;
    else images_.insert(before, {made->first, made});
    keep(made);
    return made;
  }

 private:
  static constexpr u64 kept_numbers = u64{64} << 20;  // of features that no sequence has, to be found again

  struct first_id {  // of each image ever seen
    image_key key;
    u32 first;
  };
  struct place {
    u32 first;
    std::weak_ptr<const seen_image> image;
  };
  std::vector<place>::iterator place_of(u32 first) {
    return std::ranges::lower_bound(images_, first, {}, &place::first);
  }

  // The image whose rows begin at `id` or before it, now the last used.
  image_ref fresh(u32 id) {
    const auto after = std::ranges::upper_bound(images_, id, {}, &place::first);
    const image_ref of = after == images_.begin() ? nullptr : std::prev(after)->image.lock();
    if (of) keep(of);
    return of;
  }
  // Eviction is least recently used first.
  void keep(const image_ref& of) {
    const auto at = std::ranges::find(recent_, of);
    if (at == recent_.end()) numbers_ += of->features.size();
    else recent_.erase(at);
    recent_.push_back(of);
    while (recent_.size() > 1 && numbers_ > kept_numbers) {
      numbers_ -= recent_.front()->features.size();
      const u32 first = recent_.front()->first;
      recent_.erase(recent_.begin());
      if (const auto gone = place_of(first); gone->image.expired()) images_.erase(gone);
    }
  }

  mutex busy_;
  u32 next_, width_;
  u64 numbers_ = 0;
  std::vector<first_id> firsts_;   // by key
  std::vector<place> images_;      // by first id
  std::vector<image_ref> recent_;  // the last used comes last
};

// The images in a sequence's history, and the places of its rows.
class image_track {
 public:
  // What a pass needs to know of a row.
  struct row_facts {
    grid_position at;       // of rope
    const float* features;  // null: a token of the vocabulary
    u32 end;                // index after the last row of its image; its own index + 1 for a token
  };

  bool empty() const { return seen_.empty(); }
  // Row `index` of the history begins an image.
  void add(u32 index, image_ref of) {
    const bool goes_on = of->time && !seen_.empty() && seen_.back().end() == index;
    seen_.push_back({index, goes_on ? seen_.back().start : index + shift_at(index), std::move(of)});
  }
  void truncate(u32 length) {
    while (!seen_.empty() && seen_.back().index >= length) seen_.pop_back();
  }
  // The image that row `index`, the next of the history, has to continue; null: none.
  const seen_image* unfinished(u32 index) const {
    return !seen_.empty() && index < seen_.back().end() ? seen_.back().of.get() : nullptr;
  }
  // The index of the first row of the image that a cut before `index` would divide, else `index`.
  u32 begin_of_image(u32 index) const {
    const seen* s = last_before(index);
    return s && s->index < index && index < s->end() ? s->index : index;
  }
  row_facts facts(u32 index) const {
    const seen* s = last_before(index);
    if (s && index < s->end()) {
      const u32 row = index - s->index, wide = s->of->grid.width;
      return {{s->start + s->time(), s->start + row / wide, s->start + row % wide}, s->of->row(row), s->end()};
    }
    const u32 position = index + shift_at(index);
    return {{position, position, position}, nullptr, index + 1};
  }

 private:
  struct seen {
    u32 index, start;  // of its first row: in the history, and for rope, where the frames of a video start alike
    image_ref of;
    u32 end() const { return index + of->rows(); }
    u32 time() const { return of->time.value_or(0); }
    u32 longest() const { return std::max({of->grid.height, of->grid.width, time() + 1}); }
  };
  const seen* last_before(u32 index) const {
    const seen* last = nullptr;
    for (const seen& s : seen_)
      if (s.index <= index) last = &s;
    return last;
  }
  // Text goes on after an image's longest axis. Positions are taken modulo 2^32: they fall behind the index.
  u32 shift_at(u32 index) const {
    const seen* s = last_before(index == 0 ? 0 : index - 1);
    return s && s->index < index ? s->start + s->longest() - s->end() : 0;
  }

  std::vector<seen> seen_;
};

}  // namespace cke::runtime
CKE_COLD_END
