// SPDX-License-Identifier: MIT
// engine.hpp: a model behind one abstract class, for programs that learn its type at run time.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "core/dtype.hpp"
#include "core/row_sink.hpp"
#include "runtime/trace.hpp"

namespace cke {

// A Session whose model's type is forgotten; the same meanings, the same errors.
class conversation {
 public:
  using take_logits = std::function<void(u32 index, std::span<const float> row)>;

  virtual ~conversation() = default;
  virtual void feed(std::span<const u32> ids) = 0;
  virtual void feed_all(std::span<const u32> ids, const take_logits& take) = 0;
  virtual std::span<const float> logits() const = 0;
  virtual std::span<const u32> history() const = 0;
  virtual u32 position() const = 0;
  virtual u32 context() const = 0;
  virtual void rewind(u32 position) = 0;
  virtual u32 recall(std::span<const u32> ids) = 0;
  virtual std::unique_ptr<conversation> fork() const = 0;

  void feed(u32 id) { feed(std::span(&id, 1)); }
};

// Ids that a conversation takes when several are fed together.
struct turn {
  conversation* of;
  std::span<const u32> ids;
  row_sink hidden{};  // who gets the hidden states [dim] after the last norm; logits() are then not computed
};

// A Model whose type is forgotten.
class engine {
 public:
  virtual ~engine() = default;
  virtual u32 vocab_size() const = 0;
  virtual u32 dim() const = 0;  // of a hidden state
  virtual u32 context() const = 0;
  virtual u32 threads() const = 0;
  virtual dtype kv() const = 0;
  virtual std::string_view isa() const = 0;
  virtual u64 parameters() const = 0;
  virtual u64 weight_bytes() const = 0;
  virtual u64 activation_bytes() const = 0;
  virtual u64 state_bytes() const = 0;  // of one conversation
  virtual std::unique_ptr<conversation> open() const = 0;
  // Different conversations of this engine take ids, each its own; each logits() is then that of its last id,
  // unless it gives hidden states.
  // Throws context_overflow, token_range, usage, naming the turn by its number, and cache_full; all
  // are then as they were.
  virtual void feed_together(std::span<const turn> turns) = 0;
  virtual void watch(const tracer& t) const = 0;
};

template <class Session> class typed_conversation final : public conversation {
 public:
  explicit typed_conversation(Session session) : session_(std::move(session)) {}

  using conversation::feed;
  void feed(std::span<const u32> ids) override { session_.feed(ids); }
  void feed_all(std::span<const u32> ids, const take_logits& take) override { session_.feed_all(ids, take); }
  std::span<const float> logits() const override { return session_.logits(); }
  std::span<const u32> history() const override { return session_.history(); }
  u32 position() const override { return session_.position(); }
  u32 context() const override { return session_.context(); }
  void rewind(u32 position) override { session_.rewind(position); }
  u32 recall(std::span<const u32> ids) override { return session_.recall(ids); }
  std::unique_ptr<conversation> fork() const override { return std::make_unique<typed_conversation>(*this); }

  Session& session() { return session_; }

 private:
  Session session_;
};

// A cke::Model that was compiled in.
template <class Model> class typed_engine final : public engine {
 public:
  explicit typed_engine(Model model) : model_(std::move(model)) {}

  u32 vocab_size() const override { return Model::vocab_size; }
  u32 dim() const override { return Model::program::dim; }
  u32 context() const override { return model_.context(); }
  u32 threads() const override { return model_.threads(); }
  dtype kv() const override { return Model::kv; }
  std::string_view isa() const override { return Model::isa::name; }
  u64 parameters() const override { return Model::program::parameters; }
  u64 weight_bytes() const override { return model_.weight_bytes(); }
  u64 activation_bytes() const override { return model_.activation_bytes(); }
  u64 state_bytes() const override { return model_.state_bytes(); }
  std::unique_ptr<conversation> open() const override {
    auto session = model_.session();
    return std::make_unique<typed_conversation<decltype(session)>>(std::move(session));
  }
  void feed_together(std::span<const turn> turns) override {
    using session = decltype(model_.session());
    session::feed_together(static_cast<u32>(turns.size()), [&](u32 i) -> typename session::feeding {
      auto* const ours = dynamic_cast<typed_conversation<session>*>(turns[i].of);
      return {ours ? &ours->session() : nullptr, turns[i].ids, turns[i].hidden};
    });
  }
  void watch(const tracer& t) const override { model_.watch(t); }

 private:
  Model model_;
};

}  // namespace cke
