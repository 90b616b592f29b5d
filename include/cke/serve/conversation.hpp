// SPDX-License-Identifier: MIT
// conversation.hpp: the messages and tools of a request as a template's variables.
#pragma once

#include "../io/json_value.hpp"
#include "body.hpp"
#include "content.hpp"
#include "request.hpp"

namespace cke::serve {

namespace detail {

// Templates print arguments with tojson, so they get the parsed value, not its text.
inline json with_arguments(json call, const std::string& path, const request_limits& limits) {
  json& arguments = call["function"]["arguments"];
  try {
    arguments = parse_body(arguments.get_ref<const std::string&>(), limits);
  } catch (const api_error&) {
    throw bad_request(path + ".function.arguments: expected the text of a JSON object", path + ".function.arguments",
                      "invalid_value");
  }
  return call;
}

inline json template_message(const json& from, std::size_t index, const request_limits& limits,
                             std::vector<wanted_image>& images) {
  json m;
  const std::string path = "messages[" + std::to_string(index) + ']';
  m["role"] = from["role"] == "developer" ? json("system") : from["role"];
  m["content"] = from.contains("content") ? content_of(from["content"], path + ".content", images) : json(nullptr);
  for (const char* name : {"name", "reasoning_content", "tool_call_id"})
    if (const json* v = given(from, name)) m[name] = *v;
  const json* calls = given(from, "tool_calls");
  if (calls && m["role"] != "assistant")
    throw bad_request(path + ".tool_calls: only an assistant calls tools", path + ".tool_calls", "invalid_value");
  if (!calls && m["content"].is_null() && m["role"] != "assistant")
    throw bad_request("the field 'content' is missing", path + ".content", "missing_required_parameter");
  if (calls && !calls->empty()) {
    std::size_t i = 0;
    m["tool_calls"] = json::array();
    for (const json& call : *calls)
      m["tool_calls"].push_back(with_arguments(call, path + ".tool_calls[" + std::to_string(i++) + ']', limits));
  }
  return m;
}

inline jinja::value value_of(const json& v, const char* param) {
  try {
    return read_json_value(v.dump(), param);
  } catch (const Error& e) { throw bad_request(e.what(), param, "invalid_value"); }
}

}  // namespace detail

// The variables of a checked body, and its images in order. Throws api_error.
struct read_messages {
  jinja::conversation talk;
  std::vector<wanted_image> images;
};
inline read_messages conversation_of(const json& body, const request_limits& limits) {
  using namespace detail;
  read_messages all;
  jinja::conversation& c = all.talk;
  json messages = json::array();
  for (const json& m : body["messages"]) messages.push_back(template_message(m, messages.size(), limits, all.images));
  c.messages = value_of(messages, "messages");
  const json* choice = given(body, "tool_choice");
  if (const json* tools = given(body, "tools"); tools && !tools->empty() && !(choice && *choice == "none"))
    c.tools = value_of(*tools, "tools");
  if (const json* extra = given(body, "chat_template_kwargs")) {
    for (const char* ours : {"messages", "tools", "add_generation_prompt"})
      if (extra->contains(ours))
        throw bad_request(std::string("chat_template_kwargs: '") + ours + "' has a field of its own",
                          "chat_template_kwargs", "invalid_value");
    c.extra = *value_of(*extra, "chat_template_kwargs").as_dict();
  }
  c.add_generation_prompt = given_or(body, "add_generation_prompt", true);
  return all;
}

// Throws api_error unless this model, and this server, can read the images.
inline void check_images(std::span<const wanted_image> images, const served_model& model,
                         const request_limits& limits) {
  if (!images.empty() && !model.vision) {
    const std::string part = images[0].field.substr(0, images[0].field.find(".image_url"));
    throw bad_request(
        part + ".type: images are only taken by models that see, and " + quote(model.id) + " reads text alone",
        part + ".type", "invalid_value");
  }
  if (images.size() > limits.images)
    throw bad_request("messages: expected at most " + std::to_string(limits.images) + " images, found " +
                          std::to_string(images.size()),
                      "messages", "too_many_images");
  for (const wanted_image& image : images) check_source(image, model.fetch);
}

// The prompt that the model's template renders. Throws api_error, also if the template raises an error.
inline std::vector<chat_segment> rendered(const jinja::conversation& c, const served_model& model) {
  if (!model.form)
    throw bad_request("the model has no chat template: use /v1/completions", {}, "unsupported_operation");
  try {
    return model.form->render(c);
  } catch (const Error& e) {
    throw bad_request(std::string("the model's chat template: ") + (e.expected.empty() ? e.what() : e.expected),
                      "messages", "invalid_value");
  }
}

}  // namespace cke::serve
