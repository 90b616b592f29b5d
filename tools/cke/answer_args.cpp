// SPDX-License-Identifier: MIT
// answer_args.cpp: implements answer_args.hpp.
#include "answer_args.hpp"

#include <charconv>
#include <cmath>

#include "commands.hpp"
#include "rooms.hpp"

namespace cke::tool {
namespace {

constexpr float most_bias = 100;  // as in OpenAI's interface

// A token, by id or text, and its bias. The last '=' separates them, so a text may have others.
struct bias_words {
  std::string_view token, bias;
};
bias_words words_of(const std::string& argument) {
  const std::size_t at = argument.rfind('=');
  if (at == argument.npos) return {};
  return {std::string_view(argument).substr(0, at), std::string_view(argument).substr(at + 1)};
}
template <class T> std::optional<T> number_of(std::string_view text) {
  T x{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), x);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(x) : std::nullopt;
}
std::optional<float> bias_of(std::string_view text) {
  const std::optional<float> x = number_of<float>(text);
  if (x && (std::abs(*x) <= most_bias || *x == -std::numeric_limits<float>::infinity())) return x;
  return std::nullopt;
}
bool is_number(std::string_view text) { return text.find_first_not_of("0123456789") == text.npos; }

[[noreturn]] void refuse(const std::string& want, const std::string& found) {
  throw Error(errc::usage, {}, "--logit-bias", want, found);
}
u32 token_of(std::string_view word, const tokenizer* tokens, u32 vocab_size) {
  if (is_number(word)) {
    const std::optional<u32> id = number_of<u32>(word);
    if (!id || *id >= vocab_size) refuse(concat({"an id below ", vocab_size}), std::string(word));
    return *id;
  }
  const std::string quoted = concat({"\"", word, "\""});
  if (!tokens) refuse("an id, as the checkpoint has no tokenizer", quoted);
  const std::vector<u32> ids = tokens->encode(word, {.parse_special = true, .add_special = false});
  if (ids.size() != 1) refuse("a text of one token", concat({quoted, " of ", u64{ids.size()}, ": ", ids_text(ids)}));
  return ids[0];
}

}  // namespace

std::string bias_complaint(const std::string& argument) {
  const auto [token, bias] = words_of(argument);
  if (!token.empty() && bias_of(bias)) return {};
  return "expected ID=BIAS or TEXT=BIAS with a bias from -100 to 100, or -inf, found \"" + argument + '"';
}

generate_options answer_options(const answer_args& args, const tokenizer* tokens, u32 vocab_size, u32 most) {
  generate_options o{.max_tokens = most, .min_tokens = args.min_tokens, .sample = args.sample, .stop = args.stop};
  if (args.min_tokens > most)
    throw Error(errc::usage, {}, "--min-tokens", concat({"at most ", most, ", what the answer has room for"}),
                concat({args.min_tokens}));
  if (!args.stop.empty() && !tokens) throw Error(errc::usage, {}, "--stop", "a tokenizer in the checkpoint", "none");
  for (const std::string& argument : args.biases) {
    const auto [token, bias] = words_of(argument);
    o.sample.logit_bias.push_back({token_of(token, tokens, vocab_size), bias_of(bias).value()});
  }
  return o;
}

}  // namespace cke::tool
