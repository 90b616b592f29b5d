// SPDX-License-Identifier: MIT
// text.cpp: cke tokenize, detokenize and template: commands that need a tokenizer but no weights.
#include <charconv>
#include <cstring>

#include <cke/io/json_value.hpp>
#include <cke/text/jinja/chat_form.hpp>
#include <cke/text/tokenizer/detokenizer.hpp>

#include "commands.hpp"
#include "rooms.hpp"
#include "terminal.hpp"
#include "vision_model.hpp"

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

namespace {

// An image file, or a video: a folder, or the files of its frames.
struct shown_part {
  std::vector<std::string> files;
  bool video = false, folder = false;
  double fps = 2;
};
shown_part video_of(const jinja::dict& part) {
  shown_part out;
  out.video = true;
  const auto path = [&](const jinja::value& v) {
    if (!v.is_string()) throw Error(errc::malformed, {}, "video", "a folder, or a list of image files", type_name(v));
    out.files.emplace_back(v.view());
  };
  const jinja::value& from = *part.find("video");
  out.folder = from.is_string();
  if (!from.is_sequence(jinja::form::list)) path(from);
  else
    for (const jinja::value& file : from.as_sequence()->items) path(file);
  if (const jinja::value* fps = part.find("fps")) {
    if (!fps->is_int() && !fps->is_real())
      throw Error(errc::malformed, {}, "fps of a video", "a number", type_name(*fps));
    out.fps = fps->as_real();
  }
  return out;
}
// What a conversation shows, in order: parts {"type": "image", "image": PATH} and {"type": "video", "video": FOLDER or
// [PATH, ...], "fps": RATE}.
std::vector<shown_part> shown_in(const jinja::value& messages) {
  std::vector<shown_part> all;
  const auto each = [](const jinja::value& list, auto f) {
    if (list.is_sequence(jinja::form::list))
      for (const jinja::value& item : list.as_sequence()->items)
        if (const jinja::dict* d = item.as_dict()) f(*d);
  };
  each(messages, [&](const jinja::dict& message) {
    if (const jinja::value* content = message.find("content"))
      each(*content, [&](const jinja::dict& part) {
        const jinja::value *type = part.find("type"), *path = part.find("image");
        if (!type || !type->is_string()) return;
        if (type->view() == "image" && path && path->is_string()) all.push_back({.files = {std::string(path->view())}});
        if (type->view() == "video" && part.find("video")) all.push_back(video_of(part));
      });
  });
  return all;
}
io::image_outline outline_of(const vision_model& eyes, const shown_part& part) {
  if (part.video && !part.folder) return eyes.read_video(part.files, "video", part.fps).outline;
  return eyes.read({part.files[0], part.video}, part.fps).outline;
}

// The conversation that the arguments describe.
jinja::conversation read_conversation(const template_args& args) {
  jinja::conversation c;
  c.messages = read_json_value(file_text(args.messages), args.messages);
  if (args.tools) c.tools = read_json_value(file_text(*args.tools), *args.tools);
  c.add_generation_prompt = args.generation;
  if (args.set) {
    const jinja::value extra = read_json_value(*args.set, "--set");
    if (!extra.as_dict()) throw Error(errc::usage, {}, "--set", "a JSON object", jinja::type_name(extra));
    c.extra = *extra.as_dict();
  }
  if (!args.thinking) c.set("enable_thinking", false);
  return c;
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
  const jinja::conversation c = read_conversation(args);
  try {
    if (args.path.ends_with(".jinja")) {
      if (args.ids) throw Error(errc::file, args.path, "--ids", "a checkpoint with a tokenizer", "a template alone");
      const jinja::chat_template form(file_text(args.path), args.path);
      return put_exact(std::string(form.render(jinja::names_of(c, nullptr), chat_form::local_time()).view()));
    }
    const tokenizer tokens = open_tokenizer(args.path);
    const chat_form form(tokens, args.path);
    std::vector<chat_segment> prompt = form.render(c);
    if (const std::vector<shown_part> shown = shown_in(c.messages); !shown.empty()) {
      model_args model;
      model.path = args.path, model.mmproj = args.mmproj;
      const vision_model eyes(model);
      std::vector<io::image_outline> images;
      for (const shown_part& part : shown) images.push_back(outline_of(eyes, part));
      eyes.markup(tokens.vocabulary()).expand(prompt, images);
    }
    if (args.ids) put(ids_text(form.encode(prompt)) + '\n');
    else put_exact(to_string(prompt));
  } catch (const Error& e) {
    if (e.code != errc::usage && !e.file.empty()) throw;  // a template's refusal is the messages' fault
    throw Error(e.code == errc::usage ? errc::malformed : e.code, args.messages, e.subject, e.expected, e.found);
  }
}

}  // namespace cke::tool
