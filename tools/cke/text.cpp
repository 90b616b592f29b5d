// SPDX-License-Identifier: MIT
// text.cpp: cke tokenize, detokenize and template: what needs a tokenizer and no weights.
#include <charconv>
#include <nlohmann/json.hpp>

#include <cke/text/detokenizer.hpp>

#include "commands.hpp"
#include "terminal.hpp"

namespace cke::tool {

namespace {

std::string quoted(std::string_view s) {
  std::string out(1, '"');
  return out.append(s) += '"';
}

}  // namespace

std::vector<u32> parse_ids(const std::string& list) {
  std::vector<u32> ids;
  const auto fail = [](errc code, const char* want, std::string_view found) {
    throw Error(code, {}, code == errc::usage ? "--tokens" : "token id", want, quoted(found));
  };
  for (std::string_view rest = list; !rest.empty();) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    std::string_view word = rest.substr(0, comma);
    while (word.starts_with(' ')) word.remove_prefix(1);
    while (word.ends_with(' ')) word.remove_suffix(1);
    u32 id{};
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), id);
    if (error == std::errc::result_out_of_range) fail(errc::token_range, "a number of 32 bits", word);
    if (error != std::errc{} || end != word.data() + word.size()) fail(errc::usage, "numbers between commas", word);
    ids.push_back(id);
    if (comma + 1 == rest.size()) fail(errc::usage, "numbers between commas", list);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return ids;
}

std::string ids_text(std::span<const u32> ids) {
  std::string text = "[";
  for (const u32 id : ids) text += (text.size() > 1 ? ", " : "") + std::to_string(id);
  return text + ']';
}

namespace {

// The bytes of a file, or of a pipe such as /dev/stdin.
std::string file_text(const std::string& path) {
  constexpr std::size_t most = std::size_t{1} << 30;
  const auto fail = [&](const char* want, const std::string& found) { throw Error(errc::file, path, {}, want, found); };
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
  if (!file) fail("a readable file", std::strerror(errno));
  std::string text;
  char part[1 << 16];
  while (const std::size_t n = std::fread(part, 1, sizeof part, file.get())) {
    if (text.append(part, n).size() > most) fail("at most 1 GiB of text", "more");
  }
  if (std::ferror(file.get())) fail("a readable file", std::strerror(errno));
  return text;
}

std::vector<chat_message> read_messages(const std::string& path) {
  const auto parsed = nlohmann::json::parse(file_text(path), nullptr, false);
  if (!parsed.is_array()) throw Error(errc::malformed, path, {}, "a JSON array of {\"role\", \"content\"}", "something else");
  std::vector<chat_message> messages;
  for (const auto& entry : parsed) {
    const auto text = [&](const char* key) {
      const auto at = entry.is_object() ? entry.find(key) : entry.end();
      if (at == entry.end() || !at->is_string())
        throw Error(errc::malformed, path, "message " + std::to_string(messages.size()), "a string " + quoted(key), "none");
      return at->template get<std::string>();
    };
    messages.push_back({text("role"), text("content")});
  }
  return messages;
}

}  // namespace

void tokenize(const text_args& args) {
  const tokenizer tokens = open_tokenizer(args.path);
  const std::string text = args.prompt ? *args.prompt : file_text(args.file.value_or("/dev/stdin"));
  put(ids_text(tokens.encode(text, {.parse_special = true, .add_special = args.special})) + '\n');
}

void detokenize(const text_args& args) {
  const std::vector<u32> ids = parse_ids(args.tokens);
  utf8_stream valid;
  std::string text(valid.push(open_tokenizer(args.path).decode(ids)));
  put_exact(text.append(valid.finish()));
}

void render_template(const template_args& args) {
  if (args.tools) throw Error(errc::unsupported, *args.tools, "--tools", "a conversation without tools", "a list of tools");
  const tokenizer tokens = open_tokenizer(args.path);
  const chat_contract& form = chat_form(tokens.vocabulary(), args.path);
  const std::vector<chat_message> messages = read_messages(args.messages);
  try {
    put_exact(to_string(render(form, messages,
                               {.add_generation_prompt = args.generation, .enable_thinking = args.thinking})));
  } catch (const Error& e) {
    if (e.code != errc::usage) throw;
    throw Error(errc::malformed, args.messages, e.subject, e.expected, e.found);  // the file's fault, not the caller's
  }
}

}  // namespace cke::tool
