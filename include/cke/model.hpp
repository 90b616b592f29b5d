// SPDX-License-Identifier: MIT
// model.hpp: Model (weights and plan, shared) and Session (one conversation): what a program uses.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "generate.hpp"
#include "io/checkpoint.hpp"
#include "match.hpp"
#include "runtime/executor.hpp"
#include "text/tokenizer.hpp"

namespace cke {

struct model_options {
  u32 threads = 0;     // 0: the cores that the process may use
  u32 context = 4096;  // positions of a session; rope rules that depend on a length use this one
  u32 chunk = 512;     // most tokens of one pass
  u32 logit_rows = 1;  // most rows of logits of one pass
  progress_callback progress{};  // bytes packed, bytes in all
};

// The numbers that keys and values are kept in when a program does not say.
template <class Formats> inline constexpr dtype default_kv = std::is_base_of_v<one_format<dtype::f32>, Formats> ? dtype::f32 : dtype::bf16;

template <class Model> class Session;

// M: a type list with `config`, `family` or `names`; Formats: how weights are stored in memory.
template <class M, class Formats = BF16, dtype KV = default_kv<Formats>, class Isa = isa::native> class Model {
 public:
  using list = M;
  using program = cke::program<M, Formats>;
  using slot = slot_state<program, KV, Isa>;
  static constexpr u32 vocab_size = program::vocab;
  static constexpr dtype kv = KV;

  // Loads a GGUF file. Throws Error naming the file, the tensor or key, what was expected and found.
  static Model load(const std::string& path, model_options options = {}) {
    return load(gguf_checkpoint(path), std::move(options));
  }
  static Model load(const checkpoint& from, model_options options = {}) {
    check_options(options);
    match_config<M>(from, options.context);
    return Model(std::make_shared<shared>(from, options));
  }

  Session<Model> session() const { return Session<Model>(*this); }

  bool has_tokenizer() const { return shared_->tokens.has_value(); }
  // Throws usage when the checkpoint has none.
  const tokenizer& tokens() const {
    if (shared_->tokens) return *shared_->tokens;
    throw Error(errc::usage, shared_->name, "tokenizer", "one in the checkpoint", "none: give token ids");
  }
  std::span<const u32> stop_ids() const { return shared_->stop_ids; }
  u32 context() const { return shared_->run.limits().context; }
  u32 threads() const { return shared_->threads.size(); }
  u64 weight_bytes() const { return shared_->packed.bytes(); }
  u64 activation_bytes() const { return shared_->run.bytes(); }
  u64 state_bytes() const { return slot::bytes(context()); }

 private:
  friend class Session<Model>;
  struct shared {
    std::string name;
    team threads;
    weights<program, Isa> packed;
    executor<program, KV, Isa> run;
    std::mutex busy;  // one pass at a time
    std::optional<tokenizer> tokens;
    std::vector<u32> stop_ids;

    shared(const checkpoint& from, const model_options& o)
        : name(from.name), threads(o.threads ? o.threads : default_threads()),
          packed(from.tensors, from.name, from.as, names_of<M>(), threads, o.progress),
          run(packed, threads, capacity{o.context, o.chunk < o.context ? o.chunk : o.context, o.logit_rows}),
          stop_ids(from.stop_ids) {
      if (from.tokens) tokens.emplace(*from.tokens, from.name);
    }
  };

  explicit Model(std::shared_ptr<shared> s) : shared_(std::move(s)) {}

  static void check_options(const model_options& o) {
    auto check = [](const char* name, u32 value, u32 least, u32 most) {
      if (value < least || value > most)
        throw Error(errc::config_range, {}, name, std::to_string(least) + " to " + std::to_string(most), std::to_string(value));
    };
    check("context", o.context, 1, 1 << 24);
    check("chunk", o.chunk, 1, 1 << 16);
    check("logit_rows", o.logit_rows, 1, 1 << 16);
    check("threads", o.threads, 0, team::max_threads);
  }

  std::shared_ptr<shared> shared_;
};

// One conversation: the caches of all layers and the ids so far. A copy is a fork. Not for two threads
// at once; sessions of one model may be used from several threads and take turns pass by pass.
template <class Model> class Session {
 public:
  explicit Session(const Model& m)
      : shared_(m.shared_), slot_(m.context()), logits_(Model::vocab_size) {
    history_.reserve(m.context());
  }
  Session(const Session& o) : shared_(o.shared_), slot_(o.slot_), logits_(o.logits_) {
    history_.reserve(slot_.context());
    history_ = o.history_;
  }
  Session& operator=(const Session& o) {
    slot_ = o.slot_, logits_ = o.logits_, history_ = o.history_;
    return *this;
  }
  Session(Session&&) noexcept = default;
  Session& operator=(Session&&) noexcept = default;

  // Runs ids through the model after what came before; logits() is then those of the last one.
  // Throws context_overflow, token_range; the session is then as it was.
  void feed(std::span<const u32> ids) {
    feed(ids, 1, [&](u32, std::span<const float> row) { std::ranges::copy(row, logits_.begin()); });
  }
  void feed(u32 id) { feed(std::span(&id, 1)); }

  // The same, and take(i, row) gets the logits after each id.
  template <class Take> void feed_all(std::span<const u32> ids, Take&& take) {
    feed(ids, static_cast<u32>(ids.size()), take);
  }

  std::span<const float> logits() const { return logits_; }          // [vocab], after the last id
  std::span<const u32> history() const { return history_; }
  u32 position() const { return slot_.position(); }
  u32 context() const { return slot_.context(); }

  // Forgets everything after `position`; logits() are stale until the next feed.
  void rewind(u32 position) {
    slot_.truncate(position);
    history_.resize(slot_.position());
  }
  void reset() { rewind(0); }

  // The answer to a prompt, piece by piece: for (std::string_view piece : session.generate("...")).
  generation<Session> generate(std::string_view prompt, generate_options options = {}) {
    const std::vector<u32> ids = tokens().encode(prompt, {.add_special = position() == 0});
    return generation<Session>(*this, ids, std::move(options));
  }
  generation<Session> generate(std::span<const u32> prompt, generate_options options = {}) {
    return generation<Session>(*this, prompt, std::move(options));
  }

  const tokenizer* tokens_or_null() const { return shared_->tokens ? &*shared_->tokens : nullptr; }
  std::span<const u32> stop_ids() const { return shared_->stop_ids; }

 private:
  const tokenizer& tokens() const {
    if (shared_->tokens) return *shared_->tokens;
    throw Error(errc::usage, shared_->name, "tokenizer", "one in the checkpoint", "none: give token ids");
  }

  template <class Take> void feed(std::span<const u32> ids, u32 rows, Take&& take) {
    if (!fits(position(), ids.size(), context()))
      throw Error(errc::context_overflow, {}, "context", "at most " + std::to_string(context()) + " positions",
                  std::to_string(u64{position()} + ids.size()));
    for (const u32 id : ids)
      if (id >= Model::vocab_size)
        throw Error(errc::token_range, {}, "token id", "less than " + std::to_string(Model::vocab_size), std::to_string(id));
    const std::lock_guard turn(shared_->busy);
    const u32 count = static_cast<u32>(ids.size()), chunk = shared_->run.limits().chunk;
    for (u32 at = 0; at < count;) {
      const u32 n = count - at < chunk ? count - at : chunk, wanted = count - rows;  // first row wanted
      const u32 here = at + n <= wanted ? 0 : at + n - (at > wanted ? at : wanted);
      shared_->run.run(ids.subspan(at, n), here, slot_, [&](u32 first, u32 some, const view& v) {
        for (u32 r = 0; r < some; ++r) take(at + first + r, std::span<const float>(v.row(r), Model::vocab_size));
      });
      at += n;
    }
    history_.insert(history_.end(), ids.begin(), ids.end());
  }

  std::shared_ptr<typename Model::shared> shared_;
  typename Model::slot slot_;
  std::vector<float> logits_;
  std::vector<u32> history_;
};

}  // namespace cke
