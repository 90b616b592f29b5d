// SPDX-License-Identifier: MIT
// images.cpp: images in messages: which parts there are, where images may come from, limits, and what becomes of them.
#include <future>

#include "fake_vision.hpp"
#include "running.hpp"

namespace {

std::string data_uri(std::string_view bytes, std::string_view type = "image/png") {
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  return "data:" + std::string(type) + ";base64," + serve::detail::base64({data, bytes.size()});
}
json words(const char* text) { return {{"type", "text"}, {"text", text}}; }
json image_part(const std::string& url, json more = json::object()) {
  json inner{{"url", url}};
  inner.update(more);
  return {{"type", "image_url"}, {"image_url", inner}};
}
json message(const json& content, const char* role = "user") { return {{"role", role}, {"content", content}}; }
// A list of one part would be that part, as JSON.
json listed(std::initializer_list<json> parts) {
  json all = json::array();
  for (const json& part : parts) all.push_back(part);
  return all;
}
json message(std::initializer_list<json> parts, const char* role = "user") { return message(listed(parts), role); }
std::string chat(std::initializer_list<json> messages, const json& more = json::object()) {
  json body{{"messages", listed(messages)}, {"temperature", 0}, {"max_tokens", 4}};
  body.update(more);
  return post("/v1/chat/completions", body.dump());
}
json error_of_response(const std::string& response) { return body_of(response)["error"]; }

struct seeing : setting {
  seeing() {
    vision = &eyes, form = fake::seeing_template;
    requests.images = 3, requests.image_bytes = 64;
  }
  fake::eyes eyes;
};

// Three images, the first of which is being encoded from `begun` to `may_end`.
struct held_up : seeing {
  held_up() {
    eyes.before_encoding = [this] {
      if (encoded++ == 0) begun.set_value(), may_end.get_future().wait();
    };
  }
  std::string request() const {
    return chat(
        {message({image_part(data_uri("IMAGE:1")), image_part(data_uri("IMAGE:2")), image_part(data_uri("IMAGE:3"))})});
  }
  std::atomic<int> encoded = 0;
  std::promise<void> begun, may_end;
};

}  // namespace

TEST_CASE("base64: whole groups of the alphabet, and no lost bits") {
  CHECK(from_base64("") == "");
  CHECK(from_base64("Zg==") == "f");
  CHECK(from_base64("Zm8=") == "fo");
  CHECK(from_base64("Zm9v") == "foo");
  CHECK(from_base64("Zm9vYg==") == "foob");
  CHECK(from_base64("+/+/") == "\xfb\xff\xbf");
  for (const char* wrong : {"Z", "Zg", "Zg=", "Zh==", "Zm9=", "====", "Z===", "Zg==Zg==", "Zm 9v", "Zm9v\n", "-_-_",
                            "Zm9\xc3", "=Zm9", "Zm=v"})
    CHECK_MESSAGE(!from_base64(wrong), wrong);
  for (u32 size = 0; size < 40; ++size) {
    std::string bytes;
    for (u32 i = 0; i < size; ++i) bytes += static_cast<char>(i * 89 + size);
    const std::string text =
        serve::detail::base64({reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()});
    CHECK(from_base64(text) == bytes);
  }
}

TEST_CASE("images: their rows are ids of the prompt, in every role and order, whole and streamed") {
  const seeing how;
  running s(how);
  const std::string two = data_uri("IMAGE:2"), three = data_uri("IMAGE:3", "text/html;charset=x");
  const json whole = body_of(ask(s,
                                 chat({message({image_part(two), words("a"), image_part(three)}),
                                       message("b", "assistant"), message({words("c"), image_part(two)})})));
  REQUIRE(whole.contains("usage"));
  // <|user|> <..> a <...> <|assistant|> b <|user|> c <..>
  CHECK(whole["usage"]["prompt_tokens"] == 8 + 4 + 1 + 5 + 13 + 1 + 8 + 1 + 4);
  CHECK(s.count.images == 3);
  CHECK(s.count.images_encoded == 2);  // the third is the first one again

  // The names of the Responses API are other names of the same, and a text of its own is the url.
  const json other{{{"type", "input_image"}, {"image_url", two}},
                   {{"type", "input_text"}, {"text", "a"}},
                   {{"type", "image_url"}, {"image_url", three}}};
  client c(s.port);
  c.send(chat({message(other), message("b", "assistant"), message({words("c"), image_part(two)})},
              {{"stream", true}, {"stream_options", {{"include_usage", true}}}}));
  std::string text;
  json usage;
  for (const json& e : events_of(c.until("[DONE]"))) {
    if (!e["choices"].empty()) text += e["choices"][0]["delta"].value("content", "");
    if (e.contains("usage")) usage = e["usage"];
  }
  CHECK(text == whole["choices"][0]["message"]["content"].get<std::string>());
  CHECK(usage["prompt_tokens"] == whole["usage"]["prompt_tokens"]);
  CHECK(usage["prompt_tokens_details"]["cached_tokens"].get<u32>() + 1 == usage["prompt_tokens"].get<u32>());
  CHECK(s.count.images_encoded == 2);

  // The prompt that a template makes of them.
  const json rendered = body_of(
      ask(s, post("/apply-template", json{{"messages", listed({message({image_part(two), words("a")})})}}.dump())));
  CHECK(rendered["prompt"] == "<|user|><\x01\x01>a");
  // What a message says is no place for an image.
  const json said = body_of(
      ask(s, post("/apply-template", json{{"messages", listed({message({words("[I]"), image_part(two)})})}}.dump())));
  CHECK(said["prompt"] == "<|user|>[I]<\x01\x01>");
}

TEST_CASE("images: low detail makes an image smaller, the other words do not") {
  const seeing how;
  running s(how);
  const auto rows = [&](const json& part) {
    const json body = body_of(ask(s, chat({message({part})})));
    return body["usage"]["prompt_tokens"].get<int>() - 10;
  };
  const std::string url = data_uri("IMAGE:5");
  CHECK(rows(image_part(url)) == 5);
  CHECK(rows(image_part(url, {{"detail", "auto"}})) == 5);
  CHECK(rows(image_part(url, {{"detail", "high"}})) == 5);
  CHECK(rows(image_part(url, {{"detail", "low"}})) == 1);
  CHECK(rows({{"type", "input_image"}, {"image_url", url}, {"detail", "low"}}) == 1);
}

TEST_CASE("images: what is refused names its field") {
  const seeing how;
  running s(how);
  const std::string good = data_uri("IMAGE:2");
  const struct {
    json part;
    std::string param, code, says;
  } rows[] = {
      {{{"type", "image_url"}}, ".image_url", "missing_required_parameter", "'image_url' is missing"},
      {{{"type", "text"}}, ".text", "missing_required_parameter", "'text' is missing"},
      {{{"type", "text"}, {"text", "x"}, {"image_url", good}}, ".image_url", "invalid_value", "not in a part"},
      {{{"type", "text"}, {"text", "x"}, {"detail", "low"}}, ".detail", "invalid_value", "not in a part"},
      {{{"type", "input_image"}, {"image_url", good}, {"text", "x"}}, ".text", "invalid_value", "not in a part"},
      {{{"type", "image"}, {"image", "x"}}, ".type", "invalid_value", "'image_url'"},
      {{{"type", "image_url"}, {"image_url", 7}}, ".image_url", "invalid_type", "a string or an object"},
      {{{"type", "image_url"}, {"image_url", {{"detail", "low"}}}},
       ".image_url.url",
       "missing_required_parameter",
       "'url'"},
      {image_part(good, {{"detail", "tiny"}}), ".image_url.detail", "invalid_value", "'auto', 'low', 'high'"},
      {image_part(good, {{"x", 1}}), ".image_url.'x'", "unknown_parameter", "unknown field"},
      {image_part("file:///etc/passwd"), ".image_url.url", "invalid_image_url", "expected a data: URI, found"},
      {image_part("/etc/passwd"), ".image_url.url", "invalid_image_url", "expected a data: URI"},
      {image_part("http://127.0.0.1/x.png"), ".image_url.url", "invalid_image_url", "--allow-image-urls"},
      {image_part("HTTPS://example.com/x.png"), ".image_url.url", "invalid_image_url", "--allow-image-urls"},
      {{{"type", "input_image"}, {"image_url", "https://x"}}, ".image_url", "invalid_image_url", "--allow-image-urls"},
      {image_part("data:image/png,IMAGE:2"), ".image_url.url", "invalid_image_url", "data:TYPE;base64,BYTES"},
      {image_part("data:image/png;base64"), ".image_url.url", "invalid_image_url", "data:TYPE;base64,BYTES"},
      {image_part("data:image/png;base64,SU1BR0U6Mg="), ".image_url.url", "invalid_base64_image", "base64"},
      {image_part("data:image/png;base64,SU1B R0U6Mg=="), ".image_url.url", "invalid_base64_image", "base64"},
      {image_part(data_uri("no picture")), ".image_url.url", "invalid_image_format", "another format"},
      {image_part("data:;base64,"), ".image_url.url", "invalid_image_format", "another format"},
      {image_part(data_uri("IMAGE:")), ".image_url.url", "image_parse_error", "a digit"},
      {image_part(data_uri("IMAGE:9")), ".image_url.url", "image_too_large", "fewer pixels"},
      {image_part(data_uri("IMAGE:2" + std::string(60, 'x'))), ".image_url.url", "image_too_large", "at most 64 bytes"},
      {image_part("data:;base64," + std::string(9000, '!')), ".image_url.url", "image_too_large", "at most 64 bytes"},
  };
  for (const auto& r : rows) {
    CAPTURE(r.part.dump());
    const std::string response = ask(s, chat({message("x"), message({words("y"), r.part})}));
    CHECK(status(response) == 400);
    const json error = error_of_response(response);
    CHECK(error["type"] == "invalid_request_error");
    CHECK(error["param"] == "messages[1].content[1]" + r.param);
    CHECK(error["code"] == r.code);
    CHECK_MESSAGE(error["message"].get<std::string>().find(r.says) != std::string::npos, error["message"]);
  }
  CHECK(s.count.images == 0);

  const json many = error_of_response(
      ask(s, chat({message({image_part(good), image_part(good)}), message({image_part(good), image_part(good)})})));
  CHECK(many["code"] == "too_many_images");
  CHECK(many["message"] == "messages: expected at most 3 images, found 4");
  // A template that leaves an image out.
  const json lost = error_of_response(ask(s, chat({message({image_part(good)}, "system")})));
  CHECK(lost["param"] == "messages");
  CHECK(lost["message"].get<std::string>().find("template does not take these images") != std::string::npos);
}

TEST_CASE("images: a model without eyes says so, and one with them says it too") {
  running blind;
  const json error = error_of_response(ask(blind, chat({message({words("x"), image_part(data_uri("IMAGE:2"))})})));
  CHECK(error["param"] == "messages[0].content[1].type");
  CHECK(error["message"] ==
        "messages[0].content[1].type: images are only taken by models that see, and 'fake' reads text alone");
  CHECK(body_of(ask(blind, get("/v1/models")))["data"][0]["input_modalities"] == json::array({"text"}));
  CHECK(status(ask(blind, chat({message({words("x"), words("y")})}))) == 200);

  const seeing how;
  running s(how);
  CHECK(body_of(ask(s, get("/v1/models")))["data"][0]["input_modalities"] == json::array({"text", "image"}));
  const std::string document = ask(s, get("/openapi.json"));
  for (const char* word : {"input_image", "image_url", "\"detail\""}) CHECK(document.find(word) != document.npos);
  CHECK(ask(s, get("/metrics")).find("cke_images_total 0") != std::string::npos);
}

TEST_CASE("images: a prompt that is too long with them is refused before it runs") {
  seeing how;
  how.context = 30;
  running s(how);
  const std::string response =
      ask(s, chat({message({image_part(data_uri("IMAGE:8")), image_part(data_uri("IMAGE:8")), words("0123456789")})}));
  CHECK(error_of_response(response)["code"] == "context_length_exceeded");
  CHECK(error_of_response(response)["message"].get<std::string>().find("30 positions") != std::string::npos);
  CHECK(s.model.passes().empty());
}

TEST_CASE("images: an address is fetched where that is allowed, and what goes wrong is the request's error") {
  seeing how;
  std::atomic<int> asked = 0;
  how.fetch = [&](const std::string& url) -> std::string {
    ++asked;
    if (url == "https://example.com/big") return "IMAGE:2" + std::string(80, 'x');
    if (url != "http://example.com/i.png")
      throw Error(errc::file, {}, "URL", "an answer with status 200", "status 404");
    return "IMAGE:2";
  };
  running s(how);
  const json whole = body_of(ask(s, chat({message({image_part("http://example.com/i.png")})})));
  CHECK(whole["usage"]["prompt_tokens"] == 8 + 4);
  const json gone = error_of_response(ask(s, chat({message({image_part("http://example.com/none")})})));
  CHECK(gone["code"] == "failed_to_download_image");
  CHECK(gone["param"] == "messages[0].content[0].image_url.url");
  CHECK(error_of_response(ask(s, chat({message({image_part("https://example.com/big")})})))["code"] ==
        "image_too_large");
  CHECK(error_of_response(ask(s, chat({message({image_part("ftp://example.com/")})})))["code"] == "invalid_image_url");
  CHECK(asked == 3);
}

TEST_CASE("images: other answers go on while one is encoded") {
  seeing how;
  std::promise<void> begun, may_end;
  how.eyes.before_encoding = [&] { begun.set_value(), may_end.get_future().wait(); };
  running s(how);
  client slow(s.port);
  slow.send(chat({message({image_part(data_uri("IMAGE:4"))})}));
  begun.get_future().wait();
  for (int i = 0; i < 20; ++i) CHECK(status(ask(s, chat({message("x")}))) == 200);
  CHECK(s.count.images_encoded == 0);
  may_end.set_value();
  CHECK(status(slow.response()) == 200);
  CHECK(s.count.images_encoded == 1);
}

TEST_CASE("images: of a client that has gone no further image is read") {
  held_up how;
  running s(how);
  client c(s.port);
  c.send(how.request());
  how.begun.get_future().wait();
  c.close();
  for (int i = 0; i < 20; ++i) CHECK(status(ask(s, get("/health"))) == 200);  // the server has seen that it has gone
  how.may_end.set_value();
  CHECK(soon([&] { return s.count.connections == 0; }));
  CHECK(how.encoded == 1);
  CHECK(s.count.requests == 0);
  CHECK(s.count.refused == 0);
}

TEST_CASE("images: a server that ends waits for the image that is encoded, and for no other") {
  held_up how;
  how.limits.drain = 0s;
  {
    running s(how);
    client c(s.port);
    c.send(how.request());
    how.begun.get_future().wait();
    s.stop();
    how.may_end.set_value();
  }
  CHECK(how.encoded == 1);
}

TEST_CASE("images: equal images of two keys are two, so that timing tells nothing") {
  const std::string one(20, 'a'), two(20, 'b');
  seeing how;
  how.door.keys = {one, two};
  running s(how);
  const auto by = [&](const std::string& key) {
    const std::string body =
        json{{"messages", listed({message({image_part(data_uri("IMAGE:4"))})})}, {"max_tokens", 1}}.dump();
    return status(ask(s, post("/v1/chat/completions", body, "Authorization: Bearer " + key + "\r\n")));
  };
  CHECK(by(one) == 200);
  CHECK(by(one) == 200);
  CHECK(s.count.images_encoded == 1);
  CHECK(by(two) == 200);
  CHECK(s.count.images_encoded == 2);
}
