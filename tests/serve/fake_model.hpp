// SPDX-License-Identifier: MIT
// fake_model.hpp: an engine whose logits are a hash of the ids before them: no weights, every pass on record.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

#include <cke/any_model.hpp>
#include <cke/text/tokenizer/tokenizer.hpp>

namespace fake {

using namespace cke;
using namespace cke::graph;
using namespace cke::io;
using namespace cke::runtime;
using namespace cke::text;

// Ids 0 to 255 are bytes; then control tokens.
inline constexpr u32 end_id = 256, call_id = 257, vocab = 258, dim = 8;

inline tokenizer bytes(const std::string& chat_template = {}) {
  vocabulary v;
  for (u32 b = 0; b < 256; ++b) v.tokens.emplace_back(1, static_cast<char>(b));
  v.tokens.emplace_back("<|end|>");
  v.tokens.emplace_back("[TOOL_CALLS]");
  v.types.resize(v.tokens.size(), token_type::normal);
  v.types[end_id] = v.types[call_id] = token_type::control;
  v.eos = end_id;
  v.added = {{end_id, true}, {call_id, true}};
  v.chat_template = chat_template;
  return tokenizer(v);
}
inline std::vector<u32> ids(std::string_view text) {
  std::vector<u32> out;
  for (const char c : text) out.push_back(static_cast<unsigned char>(c));
  return out;
}

// What happened to the model, in order.
struct pass {
  std::vector<std::pair<const any_session*, std::size_t>> turns;  // rows of each: its ids, and what a rewind had left
};

class model final : public any_model {
 public:
  explicit model(u32 context = 512) : context_(context) {}

  u32 vocab_size() const override { return vocab; }
  u32 dim() const override { return fake::dim; }
  u32 context() const override { return context_; }
  u32 threads() const override { return 1; }
  dtype kv() const override { return dtype::f32; }
  std::string_view isa() const override { return "none"; }
  u64 parameters() const override { return 0; }
  u64 weight_bytes() const override { return 0; }
  u64 activation_bytes() const override { return 0; }
  u64 state_bytes() const override { return 0; }
  std::unique_ptr<any_session> open() const override { return std::make_unique<talk>(*this); }
  void feed_together(std::span<const turn> turns) override {
    for (const turn& t : turns) static_cast<const talk*>(t.of)->need_fits(t.ids);
    const std::lock_guard turn_of_mine(busy_);
    pass p;
    for (const turn& t : turns) {
      static_cast<talk*>(t.of)->take(t.ids, t.hidden, t.each);
      if (remembers) ever_.emplace_back(t.of->history().begin(), t.of->history().end());
      p.turns.emplace_back(t.of, static_cast<talk*>(t.of)->compute());
    }
    passes_.push_back(std::move(p));
    if (before_next_) before_next_(passes_.size());
  }
  void watch(const tracer&) const override {}
  u32 image_width() const override { return 0; }
  held_image add_image(const image_key&, patch_grid, std::span<const float>, frame_time) const override { return {}; }
  held_image find_image(const image_key&, patch_grid) const override { return {}; }

  // The passes so far.
  std::vector<pass> passes() const {
    const std::lock_guard turn_of_mine(busy_);
    return passes_;
  }
  // f(passes so far) after each pass, while the model is still busy with it.
  void after_each_pass(std::function<void(std::size_t)> f) { before_next_ = std::move(f); }
  // This id makes the pass fail that it is fed in.
  std::atomic<u32> poison{~u32{0}};
  // Whether what was fed is there for recall(), in blocks.
  bool remembers = false;
  static constexpr u32 block = 16;
  // As windows whose pages are evicted: going back by more than `reach` leaves states of the first `left` positions.
  u32 reach = ~u32{0}, left = 0;
  // What the model says, and then ends: as many bytes of it as the history ends with were said.
  std::string script;

 private:
  class talk final : public any_session {
   public:
    explicit talk(const model& of) : of_(of), logits_(vocab) {}
    void feed(std::span<const u32> ids) override { need_fits(ids), take(ids), compute(); }
    void feed_all(std::span<const u32> ids, const take_logits& give) override {
      need_fits(ids);
      for (u32 i = 0; i < ids.size(); ++i) take(ids.subspan(i, 1)), give(i, logits_);
      compute();
    }
    std::span<const float> logits() const override { return logits_; }
    std::span<const u32> history() const override { return history_; }
    u32 position() const override { return static_cast<u32>(history_.size()); }
    u32 context() const override { return of_.context_; }
    void slide() override { throw Error(errc::unsupported, {}, "sliding", "a model with states"); }
    u32 rewind(u32 position) override {
      const std::vector<u32> kept(history_.begin(),
                                  history_.begin() + std::min<std::ptrdiff_t>(position, std::ssize(history_)));
      if (history_.size() - kept.size() > of_.reach) computed_ = std::min(computed_, of_.left);
      history_.clear(), state_ = 1, said_ = 0;
      take(kept);
      return computed_ = std::min(computed_, this->position());
    }
    // Whole blocks of the longest beginning that any conversation ever had.
    u32 recall(std::span<const u32> ids) override {
      REQUIRE(history_.empty());
      u32 most = 0;
      for (const auto& h : of_.ever_) {
        const auto same = static_cast<u32>(std::ranges::mismatch(h, ids).in1 - h.begin());
        most = std::max(most, std::min<u32>(same, static_cast<u32>(ids.size()) - 1) / block * block);
      }
      take(ids.first(most));
      return computed_ = most;
    }
    std::unique_ptr<any_session> fork() const override { return std::make_unique<talk>(*this); }
    void save(const std::string&) const override { throw Error(errc::unsupported, {}, "save", "a model with states"); }
    void load(const std::string&) override { throw Error(errc::unsupported, {}, "load", "a model with states"); }

    // Computes what is not computed yet. Returns the rows.
    std::size_t compute() { return history_.size() - std::exchange(computed_, position()); }
    void need_fits(std::span<const u32> ids) const {
      if (history_.size() + ids.size() > of_.context_) throw Error(errc::context_overflow, {}, "context", "fewer ids");
      if (std::ranges::find(ids, of_.poison.load()) != ids.end())
        throw Error(errc::unsupported, {}, "poison", "another id");
    }
    void take(std::span<const u32> ids, row_sink hidden = {}, row_sink each = {}) {
      const std::string& text = of_.script;
      if (each) {
        for (u32 i = 0; i < ids.size(); ++i) take(ids.subspan(i, 1)), each.take(each.user, i, logits_.data());
        return;
      }
      for (u32 i = 0; i < ids.size(); ++i) {
        const u32 id = ids[i];
        history_.push_back(id);
        state_ = (state_ ^ id) * 0x9e3779b97f4a7c15u, state_ ^= state_ >> 29;
        if (said_ < text.size() && id == static_cast<unsigned char>(text[said_])) ++said_;
        else said_ = 0;
        if (!hidden) continue;
        float row[fake::dim];
        for (u32 k = 0; k < fake::dim; ++k) row[k] = static_cast<float>((state_ >> 7 * k) % 101) - 50;
        hidden.take(hidden.user, i, row);
      }
      for (u32 id = 0; id < vocab; ++id) {
        u64 x = (state_ + id) * 0xbf58476d1ce4e5b9u;
        x ^= x >> 31;
        logits_[id] = static_cast<float>(x % 1000) / 200;
        const bool plain = (id >= 'a' && id <= 'z') || id == ' ' || id == '.';
        if (!plain) logits_[id] -= id == end_id ? 1.5f : 3;  // mostly letters, now and then a byte that is no UTF-8
      }
      if (!text.empty()) logits_[said_ < text.size() ? static_cast<unsigned char>(text[said_]) : end_id] = 100;
    }

   private:
    const model& of_;
    u64 state_ = 1;         // a hash of the history
    std::size_t said_ = 0;  // bytes of the script at its end
    std::vector<u32> history_;
    u32 computed_ = 0;  // the positions whose states are there
    std::vector<float> logits_;
  };

  u32 context_;
  mutable std::mutex busy_;
  std::vector<pass> passes_;
  std::vector<std::vector<u32>> ever_;
  std::function<void(std::size_t)> before_next_;
};

}  // namespace fake
