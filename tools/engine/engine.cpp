// SPDX-License-Identifier: MIT
// engine.cpp: opens checkpoints for cke_engine.h: facts, and text to ids and back.
#include <dlfcn.h>

#include <algorithm>

#include <cke/image/picture.hpp>
#include <cke/io/json_schema.hpp>

#include "built_unit.hpp"
#include "cache.hpp"
#include "fault.hpp"
#include "state.hpp"
#include "unit_formats.hpp"

namespace cke::tool {
namespace {

std::string text_or_empty(const char* text) { return text ? text : ""; }
std::string word_of(const char* given, const char* option, const std::vector<std::string>& allowed) {
  std::string word = text_or_empty(given);
  for (char& c : word) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  if (word.empty() || std::ranges::find(allowed, word) != allowed.end()) return word;
  throw Error(errc::usage, {}, option, listed(allowed), word);
}
u32 at_most(u32 x, u32 most, const char* option) {
  if (x > most) throw Error(errc::usage, {}, option, concat({"at most ", most}), concat({x}));
  return x;
}

// Units take what the compiled part has from this library, so its symbols must be visible to what is loaded later.
void show_to_units() {
  static const bool shown = [] {
    Dl_info where{};
    return dladdr(reinterpret_cast<void*>(&show_to_units), &where) &&
        dlopen(where.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
  }();
  if (!shown) throw Error(errc::file, "libcke.so", {}, "a library that can be found again", text_or_empty(dlerror()));
}

}  // namespace

model_args args_of(const char* path, const cke_engine_options* options) {
  need(path, "path");
  const cke_engine_options o = options ? *options : cke_engine_options{};
  model_args args{.path = path, .numbers = {}};
  args.numbers.format = word_of(o.format, "format", format_names());
  args.numbers.kv = word_of(o.kv, "kv", kv_names());
  args.threads = at_most(o.threads, team::max_threads, "threads");
  args.context = at_most(o.context, 1 << 24, "context");
  if (o.chunk) args.hinted.chunk = at_most(o.chunk, 1 << 16, "chunk");
  if (o.mmproj) args.mmproj = o.mmproj;
  return args;
}

// Those that cke run takes.
constexpr u64 most_pixels = image::decode_limits{}.pixels;

serve::request_limits limits_of_requests() {
  serve::request_limits limits;
  limits.body = std::size_t{1} << 30, limits.values = 1 << 26, limits.keys = 1 << 20;
  limits.images = 1 << 20, limits.image_bytes = limits.body;
  return limits;
}

front_desk::front_desk(const model_args& args, const loaded_model& model, u32 slots, u32 draft,
                       const std::string& draft_model)
    : parts_(args, model, {.image_pixels = most_pixels}) {
  if (!draft_model.empty() && draft) smaller_ = load_beside(draft_model, "draft_model", args, model, slots);
  work_.emplace(*model.engine, *model.tokens,
                serve::scheduler_options{.slots = slots,
                                         .queue = most_waiting,
                                         .chunk = *model.hints.chunk,
                                         .draft = draft,
                                         .smaller = smaller_ ? smaller_->engine.get() : nullptr},
                count_);
  service_.emplace(parts_.model, *work_, count_, limits_, served_facts(model, parts_, slots, most_pixels, limits_),
                   CKE_VERSION, false);
}

engine_state::engine_state(const char* path, const cke_engine_options* o)
    : args_(args_of(path, o)),
      slots_(o && o->slots ? at_most(o->slots, 1024, "slots") : 4),
      draft_(o ? at_most(o->draft, 1024, "draft") : 0),
      draft_model_(o ? text_or_empty(o->draft_model) : ""),
      model_((show_to_units(), load_model(args_, needs::weights, slots_ + draft_))) {}

const tokenizer& engine_state::tokens() const {
  if (!model_.tokens) throw Error(errc::usage, args_.path, "tokenizer", "one in the checkpoint", "none");
  return *model_.tokens;
}

front_desk& engine_state::desk() {
  tokens();
  const std::lock_guard turn(making_);
  if (!desk_) desk_.emplace(args_, model_, slots_, draft_, draft_model_);
  return *desk_;
}

}  // namespace cke::tool

using namespace cke;
using namespace cke::tool;

uint32_t cke_engine_version() noexcept { return CKE_ENGINE_VERSION; }

const char* cke_engine_error_name(int32_t code) noexcept {
  static constexpr const char* names[] = {"file",
                                          "malformed",
                                          "unsupported",
                                          "tensor_missing",
                                          "tensor_unknown",
                                          "tensor_shape",
                                          "tensor_dtype",
                                          "config_mismatch",
                                          "config_range",
                                          "token_range",
                                          "context_overflow",
                                          "out_of_memory",
                                          "compile",
                                          "usage",
                                          "unsupported_opcode",
                                          "unsupported_rank",
                                          "invalid_param_block",
                                          "batch_unsupported",
                                          "cache_full"};
  static_assert(std::size(names) == static_cast<std::size_t>(errc::cache_full) + 1);
  if (code == failed_answer) return "failed";
  return code >= 1 && code <= static_cast<int32_t>(std::size(names)) ? names[code - 1] : "";
}

cke_engine* cke_engine_open(const char* path, const cke_engine_options* options, cke_engine_error* error) noexcept {
  return caught<cke_engine*>(error, nullptr,
                             [&] { return new cke_engine{std::make_shared<engine_state>(path, options)}; });
}
void cke_engine_close(cke_engine* e) noexcept { delete e; }

int32_t cke_engine_build(const char* path, const cke_engine_options* options, cke_engine_take_text take, void* user,
                         cke_engine_error* error) noexcept {
  return status_of(error, [&] {
    const std::string object = library_of(built_unit(args_of(path, options)), made_for::any_program).path;
    if (take) take(user, object.data(), object.size());
  });
}

int32_t cke_engine_facts_of(const cke_engine* e, cke_engine_facts* to, cke_engine_error* error) noexcept {
  return status_of(error, [&] {
    need(e, "engine"), need(to, "facts");
    const loaded_model& m = e->state->model();
    const any_model& x = *m.engine;
    *to = {.name = m.name.c_str(),
           .family = m.family.c_str(),
           .format = m.format.c_str(),
           .kv = info(x.kv()).name.data(),
           .isa = x.isa().data(),
           .vocab = x.vocab_size(),
           .dim = x.dim(),
           .context = x.context(),
           .threads = x.threads(),
           .slots = e->state->slots(),
           .has_tokenizer = m.tokens.has_value(),
           .has_chat = m.tokens && !m.tokens->vocabulary().chat_template.empty(),
           .sees_images = x.image_width() > 0,
           .bos = m.tokens ? m.tokens->vocabulary().bos : no_token,
           .eos = m.tokens ? m.tokens->vocabulary().eos : no_token,
           .stop_ids = m.stop_ids.data(),
           .stop_id_count = m.stop_ids.size(),
           .parameters = x.parameters(),
           .weight_bytes = x.weight_bytes(),
           .activation_bytes = x.activation_bytes(),
           .state_bytes = x.state_bytes()};
  });
}

int32_t cke_engine_tokenize(const cke_engine* e, const char* text, size_t bytes, int32_t add_special,
                            int32_t parse_special, cke_engine_take_ids take, void* user,
                            cke_engine_error* error) noexcept {
  return status_of(error, [&] {
    need(e, "engine"), need(reinterpret_cast<const void*>(take), "take");
    const std::span<const char> given = span_of(text, bytes, "text");
    const std::vector<u32> ids = e->state->tokens().encode(
        {given.data(), given.size()}, {.parse_special = parse_special != 0, .add_special = add_special != 0});
    take(user, ids.data(), ids.size());
  });
}

int32_t cke_engine_detokenize(const cke_engine* e, const uint32_t* ids, size_t count, int32_t how,
                              cke_engine_take_text take, void* user, cke_engine_error* error) noexcept {
  return status_of(error, [&] {
    need(e, "engine"), need(reinterpret_cast<const void*>(take), "take");
    constexpr int32_t known = CKE_ENGINE_BYTES | CKE_ENGINE_NO_CONTROL | CKE_ENGINE_LEADING_SPACE;
    if (how & ~known) throw Error(errc::usage, {}, "how", concat({"flags among ", known}), concat({how}));
    const bool no_control = how & CKE_ENGINE_NO_CONTROL;
    const tokenizer& tokens = e->state->tokens();
    const std::span<const u32> given = span_of(ids, count, "ids");
    for (const u32 id : given)
      if (id >= tokens.vocab_size())
        throw Error(errc::token_range, {}, "token id", concat({"an id below ", tokens.vocab_size()}), concat({id}));
    std::string text;
    if (how & CKE_ENGINE_LEADING_SPACE) {
      for (const u32 id : given)
        if (!no_control || !tokens.is_special(id)) text += tokens.piece(id);
    } else {
      text = tokens.decode(given, no_control);
    }
    if (!(how & CKE_ENGINE_BYTES)) text = serve::detail::valid_utf8(text);
    take(user, text.data(), text.size());
  });
}
