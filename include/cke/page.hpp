// SPDX-License-Identifier: MIT
// page.hpp: a model in a web page. CKE_PAGE(Model) in one source file of a program exports what browser/worker.js
// calls; cke_add_page(...) of CMake makes the page (docs/browser.md).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/json_writer.hpp"
#include "model.hpp"
#include "text/chat/chat_contracts.hpp"
#include "text/chat/chat_encoder.hpp"

namespace cke {

// One model and one answer at a time. Calls are numbers and places in memory, since that is what WebAssembly has.
// What throws ends the program with its message on stderr, and the worker starts another (browser/throw.cpp).
template <class Model> class page {
 public:
  // `contract`: the form of conversations; null: the model only goes on with a text.
  explicit page(const text::chat_contract* contract = nullptr) : contract_(contract) {}

  // Room for `bytes` of a file or of a text, which the caller fills. Each call drops the text, not the file.
  std::byte* file(std::size_t bytes) { return file_.resize(bytes), file_.data(); }
  char* text(std::size_t bytes) { return text_.resize(bytes), text_.data(); }

  // Loads the GGUF file.
  void load(u32 context) {
    model_.emplace(Model::load(io::gguf_checkpoint(io::gguf::parse(file_, "the page's model")), {.context = context}));
    file_ = {};  // the weights are packed elsewhere
    if (contract_) chat_.emplace(model_->tokens(), *contract_);
  }

  // Starts to answer `text`. A conversation is role, content, role, content, ... with a zero byte after each.
  void ask(bool conversation, bool thinking, generate_options options) {
    answer_.reset();
    session_.emplace(model_->session());
    options.overflow = overflow::stop;
    const std::vector<u32> ids = conversation ? encode(thinking) : model_->tokens().encode(text_, {});
    if (ids.size() > model_->context())
      throw Error(errc::context_overflow, {}, "prompt", concat({"at most ", model_->context(), " tokens"}),
                  concat({ids.size()}));
    prompt_ = static_cast<u32>(ids.size());
    const u32 known = session_->recall(ids);
    answer_.emplace(*session_, std::span(ids).subspan(known), std::move(options));
    next_.reset();
  }
  // The next piece of the answer, never empty; empty at its end.
  std::string_view next() {
    if (!answer_) return {};
    if (next_) ++*next_;
    else next_.emplace(answer_->begin());
    return *next_ == answer_->end() ? std::string_view{} : **next_;
  }

  // Of the model and, once there is one, of the answer: JSON, valid until the next call.
  std::string_view facts() {
    using program = typename Model::program;
    json_writer j;
    j.object("", [&] {
      if constexpr (requires { Model::list::family::name; }) j.put("family", Model::list::family::name);
      j.put("parameters", program::parameters), j.put("layers", program::layers), j.put("dim", program::dim);
      j.put("vocabulary", program::vocab), j.put("kv", info(Model::kv).name), j.put("isa", Model::isa::name);
      j.put("relaxed", relaxed), j.put("context", model_->context()), j.put("chat", contract_ ? contract_->name : "");
      j.put("thinks", contract_ && contract_->thinking == text::thinking_mode::optional);
      j.object("memory", [&] {
        j.put("weights", model_->weight_bytes()), j.put("caches", model_->state_bytes());
        j.put("activations", model_->activation_bytes());
      });
      if (!answer_) return;
      j.put("prompt", prompt_);
      j.array("ids", [&] {
        for (const u32 id : answer_->ids()) j.put("", id);
      });
      j.put("cut", answer_->finish() == finish::length);
    });
    return facts_ = std::move(j.text);
  }

 private:
#ifdef __wasm_relaxed_simd__
  static constexpr bool relaxed = true;
#else
  static constexpr bool relaxed = false;
#endif
  using session = decltype(std::declval<const Model&>().session());
  using answer = generation<session>;

  std::vector<u32> encode(bool thinking) {
    if (!chat_) throw Error(errc::usage, {}, "chat", "a page with a chat contract: CKE_PAGE(Model, contract)", "none");
    std::vector<std::string> parts;
    for (std::size_t at = 0, end; (end = text_.find('\0', at)) != text_.npos; at = end + 1)
      parts.push_back(text_.substr(at, end - at));
    std::vector<text::chat_message> messages;
    for (std::size_t i = 0; i + 1 < parts.size(); i += 2) messages.push_back({parts[i], parts[i + 1]});
    return chat_->encode(text::render(*contract_, messages, {.enable_thinking = thinking}));
  }

  const text::chat_contract* contract_;
  std::vector<std::byte> file_;
  std::string text_, facts_;
  std::optional<Model> model_;
  std::optional<text::chat_encoder> chat_;
  std::optional<session> session_;
  std::optional<answer> answer_;
  std::optional<typename answer::iterator> next_;
  u32 prompt_ = 0;
};

}  // namespace cke

#define CKE_EXPORT(name) extern "C" [[gnu::used, clang::export_name(#name)]]

// CKE_PAGE(Model) or CKE_PAGE(Model, contract), such as text::contracts::qwen3.
#define CKE_PAGE(MODEL, ...)                                                                                          \
  static cke::page<MODEL>& cke_page() {                                                                               \
    static cke::page<MODEL> page{__VA_OPT__(&__VA_ARGS__)};                                                           \
    return page;                                                                                                      \
  }                                                                                                                   \
  static std::string_view cke_page_piece;                                                                             \
  CKE_EXPORT(cke_file) void* cke_file(std::size_t bytes) { return cke_page().file(bytes); }                           \
  CKE_EXPORT(cke_text) void* cke_text(std::size_t bytes) { return cke_page().text(bytes); }                           \
  CKE_EXPORT(cke_load) void cke_load(cke::u32 context) { cke_page().load(context); }                                  \
  CKE_EXPORT(cke_ask)                                                                                                 \
  void cke_ask(bool conversation, bool thinking, cke::u32 max_tokens, float temperature, cke::u32 top_k, float top_p, \
               cke::u32 seed) {                                                                                       \
    cke_page().ask(conversation, thinking,                                                                            \
                   {.max_tokens = max_tokens,                                                                         \
                    .sample = {.temperature = temperature, .top_k = top_k, .top_p = top_p, .seed = seed}});           \
  }                                                                                                                   \
  CKE_EXPORT(cke_next) std::size_t cke_next() { return (cke_page_piece = cke_page().next()).size(); }                 \
  CKE_EXPORT(cke_facts) std::size_t cke_facts() { return (cke_page_piece = cke_page().facts()).size(); }              \
  CKE_EXPORT(cke_piece) const void* cke_piece() { return cke_page_piece.data(); }
