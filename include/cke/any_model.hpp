// SPDX-License-Identifier: MIT
// any_model.hpp: abstract classes for a model and a session, for programs that learn the model's type at run time.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "core/dtype.hpp"
#include "core/row_sink.hpp"
#include "runtime/image_store.hpp"
#include "runtime/trace.hpp"

namespace cke {

using runtime::frame_time, runtime::image_key, runtime::patch_grid, runtime::tracer;

// A Session of any model; functions and errors are those of Session.
class any_session {
 public:
  using take_logits = std::function<void(u32 index, std::span<const float> row)>;

  virtual ~any_session() = default;
  virtual void feed(std::span<const u32> ids) = 0;
  virtual void feed_all(std::span<const u32> ids, const take_logits& take) = 0;
  virtual std::span<const float> logits() const = 0;
  virtual std::span<const u32> history() const = 0;
  virtual u32 position() const = 0;
  virtual u32 context() const = 0;
  virtual void slide() = 0;
  virtual u32 rewind(u32 position) = 0;
  virtual u32 recall(std::span<const u32> ids) = 0;
  virtual std::unique_ptr<any_session> fork() const = 0;
  // See session_file.hpp; load needs position 0.
  virtual void save(const std::string& path) const = 0;
  virtual void load(const std::string& path) = 0;

  void feed(u32 id) { feed(std::span(&id, 1)); }
};

// An image that a model holds for its prompts: `rows` ids from `first` on stand for it.
struct held_image {
  u32 first{}, rows{};
  std::shared_ptr<const void> held{};  // null: there is none
};

// A conversation and its ids, when several are fed together.
struct turn {
  any_session* of;
  std::span<const u32> ids;
  row_sink hidden{};  // receives the hidden states [dim] after the last norm; no logits are then computed
  row_sink each{};    // receives the logits [vocab] after each id, besides logits()
};

// Any Model.
class any_model {
 public:
  virtual ~any_model() = default;
  virtual u32 vocab_size() const = 0;
  virtual u32 dim() const = 0;  // of a hidden state
  virtual u32 context() const = 0;
  virtual u32 threads() const = 0;
  virtual dtype kv() const = 0;
  virtual std::string_view isa() const = 0;
  virtual u64 parameters() const = 0;
  virtual u64 weight_bytes() const = 0;
  virtual u64 activation_bytes() const = 0;
  virtual u64 state_bytes() const = 0;  // of one conversation at most
  virtual std::unique_ptr<any_session> open() const = 0;
  // Different conversations of this engine take ids, each its own; logits() are then those after the last id of each,
  // unless it gives hidden states. Throws context_overflow, token_range and usage, naming the turn by its number where
  // there are several, and cache_full; all are then as they were.
  virtual void feed_together(std::span<const turn> turns) = 0;
  virtual void watch(const tracer& t) const = 0;

  // Numbers of a row of an image's features; 0: the model sees no images, and the next two throw unsupported.
  virtual u32 image_width() const = 0;
  virtual held_image add_image(const image_key& key, patch_grid grid, std::span<const float> features,
                               frame_time time) const = 0;
  virtual held_image find_image(const image_key& key, patch_grid grid) const = 0;
};

}  // namespace cke
