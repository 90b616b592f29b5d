// SPDX-License-Identifier: MIT
// model.hpp: Model (weights and plan, shared) and Session (one conversation), the public API.
#pragma once

#include <memory>
#include <string>

#include "config_check.hpp"
#include "generate.hpp"
#include "io/checkpoint.hpp"
#include "runtime/sequence.hpp"
#include "text/tokenizer/tokenizer.hpp"

CKE_COLD_BEGIN
namespace cke {

// What a program names: what weights are loaded from and how, and what a session is.
using io::checkpoint, io::gguf_checkpoint;
using runtime::default_kv, runtime::model_options, runtime::sequence, runtime::tracer;
using runtime::frame_time, runtime::image_key, runtime::image_ref, runtime::patch_grid;

template <class Model> class Session;

// M: a type list with `config`, `family` or `names`. Formats: how weights are stored in memory. KV: the type of keys
// and values. How: by tables, or `unrolled` (unrolled.hpp).
template <class M, class Formats = BF16, dtype KV = default_kv<Formats>, class Isa = isa::native,
          class How = runtime::by_tables>
class Model {
 public:
  using list = M;
  using program = graph::program<M, Formats>;
  using loaded = runtime::loaded<program, KV, Isa, How>;
  static constexpr u32 vocab_size = program::vocab;
  static constexpr dtype kv = KV;
  using isa = Isa;

  // Loads a GGUF file. Throws Error, which names the file, the tensor or key, what was expected and what was found.
  static Model load(const std::string& path, model_options options = {}) {
    return load(gguf_checkpoint(path), std::move(options));
  }
  static Model load(const checkpoint& from, model_options options = {}) {
    options.validate();
    match_config<M>(from, options.context);
    return Model(std::make_shared<shared>(from, options));
  }

  Session<Model> session() const { return Session<Model>(*this); }

  // An image that prompts of this model may contain: its ids() stand for its rows. `features`: [rows of the
  // grid][width], as an ImageEncoder of the model's tower leaves them. Equal keys name equal images, which are held
  // once. Throws usage.
  image_ref add_image(const image_key& key, patch_grid grid, std::span<const float> features,
                      frame_time time = {}) const
    requires(program::sees_images)
  {
    return shared_->images.add(key, grid, features, time);
  }
  // The image of a key, or null: add_image is needed.
  image_ref find_image(const image_key& key) const
    requires(program::sees_images)
  {
    return shared_->images.find(key);
  }

  bool has_tokenizer() const { return shared_->tokens != nullptr; }
  // Throws usage if the checkpoint has none.
  const tokenizer& tokens() const { return shared_->tokenizer_or_throw(); }
  std::span<const u32> stop_ids() const { return shared_->stop_ids; }
  u32 context() const { return shared_->context(); }
  u32 threads() const { return shared_->threads.size(); }
  u64 weight_bytes() const { return shared_->packed.bytes(); }
  u64 activation_bytes() const { return shared_->executor->bytes(); }
  u64 state_bytes() const { return shared_->state_bytes(); }
  // From the next pass of any session on, `t` is told which thread runs which step when. Throws unsupported if the
  // model is unrolled.
  void watch(const tracer& t) const { shared_->watch(t); }

 private:
  friend class Session<Model>;
  struct shared : loaded {
    std::string name;
    std::unique_ptr<const tokenizer> tokens;
    std::vector<u32> stop_ids;

    shared(const checkpoint& from, const model_options& o)
        : loaded(from.tensors, from.name, from.as, names_of<M>(), o), name(from.name), stop_ids(from.stop_ids) {
      if (from.tokens) tokens = std::make_unique<const tokenizer>(from.tokens, from.name);
    }
    const tokenizer& tokenizer_or_throw() const {
      if (tokens) return *tokens;
      throw Error(errc::usage, name, "tokenizer", "one in the checkpoint", "none: give token ids");
    }
  };

  explicit Model(std::shared_ptr<shared> s) : shared_(std::move(s)) {}

  std::shared_ptr<shared> shared_;
};

// One conversation: a sequence that also generates text. A copy is a fork.
template <class Model> class Session : public runtime::sequence_of<typename Model::loaded> {
 public:
  explicit Session(const Model& m) : runtime::sequence_of<typename Model::loaded>(m.shared_), shared_(m.shared_) {}

  // The answer to a prompt, piece by piece: for (std::string_view piece : session.generate("...")).
  // The generation refers to the session, hence the &.
  generation<Session> generate(std::string_view prompt, generate_options options = {}) & {
    const std::vector<u32> ids = shared_->tokenizer_or_throw().encode(prompt, {.add_special = this->position() == 0});
    return generation<Session>(*this, ids, std::move(options));
  }
  generation<Session> generate(std::span<const u32> prompt, generate_options options = {}) & {
    return generation<Session>(*this, prompt, std::move(options));
  }
  // Speculative decoding with a draft of draft.hpp; see model_options::logit_rows.
  template <class Draft> generation<Session, Draft> generate(std::span<const u32> prompt, generate_options options,
                                                             Draft draft) & {
    return generation<Session, Draft>(*this, prompt, std::move(options), std::move(draft));
  }

  const tokenizer* tokens_or_null() const { return shared_->tokens.get(); }
  std::span<const u32> stop_ids() const { return shared_->stop_ids; }

 private:
  std::shared_ptr<typename Model::shared> shared_;
};

}  // namespace cke
CKE_COLD_END
