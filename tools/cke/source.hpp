// SPDX-License-Identifier: MIT
// source.hpp: opens and loads the MODEL of a command line.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <cke/any_model.hpp>
#include <cke/hints.hpp>
#include <cke/io/checkpoint.hpp>
#include <cke/text/pooling.hpp>
#include <cke/text/tokenizer/tokenizer.hpp>

#include "library.hpp"
#include "rooms.hpp"
#include "unit.hpp"

namespace cke::tool {

// The arguments that most commands share.
struct model_args {
  std::string path;
  unit_options numbers;
  u32 threads = 0;                      // 0: one per core that the process may use
  u32 context = 0;                      // 0: the config's, at most 4096
  u32 chunk = 0;                        // most tokens of one pass; 0: as the hints say
  hints hinted{};                       // by the command line
  std::string profile{};                // a file with more of them; empty: the one that cke tune wrote, if there is one
  bool verbose = false;                 // print the stages of loading
  std::optional<std::string> mmproj{};  // the file with the tower of a .gguf model; absent: one beside it, if any
};

// A Hugging Face directory or a .gguf file. map_seconds, if not null: what finding and mapping the weights took. Throws
// Error.
checkpoint open_checkpoint(const std::string& path, double* map_seconds = nullptr);
// As open_checkpoint, of a model that may see images: MODEL.gguf does where it has an mmproj file. Throws Error.
checkpoint open_model(const model_args& args, double* map_seconds = nullptr);
// The config of a text model in a directory that need not have weights. Throws Error.
checkpoint open_config(const std::string& directory);
// How the checkpoint says that hidden states become a vector; empty: it does not say.
std::string stated_pooling(const checkpoint& from, const std::string& path);
// The tokenizer alone; weights and config may be missing. Throws Error.
tokenizer open_tokenizer(const std::string& path);

// Adapts a session to generation<>: with or without a tokenizer, and with stop ids.
class text_session {
 public:
  text_session(any_session& c, const tokenizer* tokens, std::span<const u32> stop_ids)
      : conversation_(c), tokens_(tokens), stop_ids_(stop_ids) {}
  void feed(std::span<const u32> ids) { conversation_.feed(ids); }
  void feed(u32 id) { conversation_.feed(id); }
  void feed_all(std::span<const u32> ids, const any_session::take_logits& take) { conversation_.feed_all(ids, take); }
  void slide() { conversation_.slide(); }
  void rewind(u32 position) { conversation_.rewind(position); }
  std::span<const float> logits() const { return conversation_.logits(); }
  std::span<const u32> history() const { return conversation_.history(); }
  u32 position() const { return conversation_.position(); }
  u32 context() const { return conversation_.context(); }
  const tokenizer* tokens_or_null() const { return tokens_; }
  std::span<const u32> stop_ids() const { return stop_ids_; }

 private:
  any_session& conversation_;
  const tokenizer* tokens_;
  std::span<const u32> stop_ids_;
};

struct loaded_model {
  std::string name;  // "qwen3 1.2M q8_0"
  std::string family;
  std::string format;
  std::string pooling;  // as the checkpoint says; empty: it does not say
  std::shared_ptr<const library> door;
  std::unique_ptr<cke::any_model> engine;
  std::optional<tokenizer> tokens;
  std::vector<u32> stop_ids;
  std::string program;  // as profiles call it
  cke::hints hints;     // that it runs with: every field is set
};

// What a command needs of a checkpoint: ids suffice, or text, or chats too.
enum class needs : u8 { weights, text, chat };

// Opens, compiles if necessary, and loads a model. logit_rows: rows of logits per pass. Throws Error, before compiling,
// if the checkpoint lacks what is needed.
loaded_model load_model(const model_args& args, needs what, u32 logit_rows = 1);

// Loads the model at `path`, which `option` named, with the context of `first`, which was loaded with `args`. Throws
// Error if their vocabularies differ.
loaded_model load_beside(const std::string& path, const char* option, const model_args& args, const loaded_model& first,
                         u32 logit_rows = 1);

// The requested pooling, else the checkpoint's, else `last`. Throws unsupported.
pooling pooling_of(const loaded_model& model, const std::optional<std::string>& asked);

// 1234567 as "1.2M".
std::string short_count(u64 n);
// 2366208 as "2.26 MiB".
std::string bytes_text(double bytes);

}  // namespace cke::tool
