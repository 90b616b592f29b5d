// SPDX-License-Identifier: MIT
// server.cpp: the server on a socket: answers, streams, and clients that are slow, cut, oversized or gone.
#include "running.hpp"

TEST_CASE("the small addresses") {
  running s;
  CHECK(status(ask(s, get("/health"))) == 200);
  const std::string page = ask(s, get("/"));
  CHECK(page.ends_with("<!doctype html>"));
  CHECK(page.find("Content-Security-Policy: default-src 'none'") != page.npos);
  CHECK(body_of(ask(s, get("/v1/models")))["data"][0]["id"] == "fake");
  CHECK(body_of(ask(s, get("/v1/models/fake?x=1")))["object"] == "model");
  CHECK(body_of(ask(s, get("/v1/models/%66a%6Be?x=%")))["id"] == "fake");
  CHECK(status(ask(s, get("/v1%2fmodels"))) == 200);
  CHECK(status(ask(s, get("/v1/models/other"))) == 404);
  CHECK(body_of(ask(s, post("/tokenize", R"({"content":"ab"})")))["tokens"] == json::array({97, 98}));
  CHECK(body_of(ask(s, post("/detokenize", R"({"tokens":[97,255,98]})")))["content"] == "a\uFFFDb");
  CHECK(status(ask(s, post("/detokenize", R"({"tokens":[100000]})"))) == 400);
  const json rendered =
      body_of(ask(s, post("/apply-template", R"({"messages":[{"role":"user","content":"<|end|>"}]})")));
  CHECK(rendered["prompt"] == "<|user|><|end|>");
  CHECK(rendered["tokens"].size() == 15);  // what a message says is no control token
  CHECK(ask(s, get("/metrics")).find("cke_requests_total 0") != std::string::npos);
  CHECK(body_of(ask(s, get("/slots"))).size() == 4);
  CHECK(body_of(ask(s, get("/openapi.json")))["openapi"] == "3.1.0");
}

TEST_CASE("one connection takes one request after the other, also when they are sent at once") {
  running s;
  client c(s.port);
  c.send(get("/health"));
  CHECK(status(c.response()) == 200);
  c.send(post("/tokenize", "{}"));
  CHECK(status(c.response()) == 400);
  c.send(get("/health") + get("/v1/models") + get("/health", "Connection: close\r\n"));
  const std::string all = c.rest();
  CHECK(all.find("fake") != all.npos);
  CHECK(std::ranges::count(all, '{') == 4);
}

TEST_CASE("a completion, whole and as a stream, says the same") {
  running s;
  s.model.script = "hello \xc3\xa9 world";
  const std::string want = "hello \u00e9 world";
  const json whole =
      body_of(ask(s, post("/v1/completions", R"({"prompt":"x","max_tokens":50,"temperature":0,"logprobs":1})")));
  CHECK(whole["choices"][0]["text"] == want);
  CHECK(whole["choices"][0]["finish_reason"] == "stop");
  CHECK(whole["choices"][0]["logprobs"]["tokens"].size() == 14);
  CHECK(whole["usage"]["completion_tokens"] == 14);
  client c(s.port);
  c.send(post(
      "/v1/completions",
      R"({"prompt":"x","max_tokens":50,"temperature":0,"logprobs":1,"stream":true,"stream_options":{"include_usage":true}})"));
  const std::string stream = c.until("0\r\n\r\n");
  CHECK(stream.find("Content-Type: text/event-stream") != stream.npos);
  CHECK(stream.find("data: [DONE]\n\n") != stream.npos);
  std::string text;
  json tokens = json::array();
  for (const json& e : events_of(stream)) {
    if (e["choices"].empty()) {
      CHECK(e["usage"]["completion_tokens"] == 14);
      continue;
    }
    CHECK(e["usage"].is_null());
    text += e["choices"][0]["text"].get<std::string>();
    for (const json& t : e["choices"][0]["logprobs"]["tokens"]) tokens.push_back(t);
  }
  CHECK(text == want);
  CHECK(tokens == whole["choices"][0]["logprobs"]["tokens"]);
  c.send(get("/health"));  // the connection goes on
  CHECK(status(c.response()) == 200);
}

TEST_CASE("several prompts, several choices, echo") {
  running s;
  const json two = body_of(ask(
      s,
      post("/v1/completions", R"({"prompt":["ab","cd"],"n":2,"max_tokens":8,"seed":5,"echo":true,"temperature":1})")));
  REQUIRE(two["choices"].size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(two["choices"][i]["index"] == i);
    CHECK(two["choices"][i]["text"].get<std::string>().starts_with(i < 2 ? "ab" : "cd"));
  }
  CHECK(two["choices"][0]["text"] != two["choices"][1]["text"]);
  CHECK(two["usage"]["prompt_tokens"] == 4);
  const json one = body_of(ask(s, post("/v1/completions", R"({"prompt":"cd","max_tokens":8,"seed":6})")));
  CHECK("cd" + one["choices"][0]["text"].get<std::string>() == two["choices"][3]["text"].get<std::string>());
  const json scored =
      body_of(ask(s, post("/v1/completions", R"({"prompt":[97,98,99],"max_tokens":0,"echo":true,"logprobs":2})")));
  const json& l = scored["choices"][0]["logprobs"];
  CHECK(scored["choices"][0]["text"] == "abc");
  CHECK((l["tokens"] == json::array({"a", "b", "c"}) && l["text_offset"] == json::array({0, 1, 2})));
  CHECK((l["token_logprobs"][0].is_null() && l["token_logprobs"][1].is_number()));
  CHECK(scored["usage"]["completion_tokens"] == 0);
}

TEST_CASE("best_of: the likeliest of the answers that are made, best first") {
  running s;
  const auto asked = [&](const std::string& more) {
    return body_of(
        ask(s,
            post("/v1/completions",
                 R"({"prompt":["x","yz"],"max_tokens":12,"seed":3,"ignore_eos":true,"logprobs":0,)" + more + "}")));
  };
  const json all = asked(R"("n":5)")["choices"], best = asked(R"("n":2,"best_of":5)");
  REQUIRE(all.size() == 10);
  REQUIRE(best["choices"].size() == 4);
  CHECK(best["usage"]["completion_tokens"] == 120);
  CHECK(best["usage"]["prompt_tokens"] == 3);
  for (std::size_t prompt = 0; prompt < 2; ++prompt) {
    std::vector<std::pair<double, std::string>> ranked;
    for (std::size_t i = 0; i < 5; ++i) {
      double sum = 0;
      for (const json& p : all[prompt * 5 + i]["logprobs"]["token_logprobs"]) sum += p.get<double>();
      ranked.emplace_back(-sum, all[prompt * 5 + i]["text"]);
    }
    std::ranges::sort(ranked);
    for (std::size_t i = 0; i < 2; ++i) {
      CHECK(best["choices"][prompt * 2 + i]["text"] == ranked[i].second);
      CHECK(best["choices"][prompt * 2 + i]["index"] == prompt * 2 + i);
    }
  }
  for (const char* wrong : {R"("n":3,"best_of":2)", R"("n":1,"best_of":2,"stream":true)", R"("best_of":17)"})
    CHECK(asked(wrong)["error"]["param"] == "best_of");
}

TEST_CASE("embeddings: of texts and of ids, as numbers and in base64") {
  running s;
  const auto asked = [&](const std::string& body) { return body_of(ask(s, post("/v1/embeddings", body))); };
  const json one = asked(R"({"input":"ab","model":"fake"})");
  CHECK(one["object"] == "list");
  CHECK(one["model"] == "fake");
  CHECK(one["usage"] == json{{"prompt_tokens", 2}, {"total_tokens", 2}});
  const json vector = one["data"][0]["embedding"];
  REQUIRE(vector.size() == fake::dim);
  double length = 0;
  for (const json& x : vector) length += x.get<double>() * x.get<double>();
  CHECK(length == doctest::Approx(1));
  CHECK(asked(R"({"input":[97,98]})")["data"] == one["data"]);

  const json many = asked(R"({"input":["x","ab","y","z","ab","a longer one","w"],"encoding_format":"float"})");
  REQUIRE(many["data"].size() == 7);
  for (std::size_t i = 0; i < 7; ++i) CHECK(many["data"][i]["index"] == i);
  CHECK(many["data"][1]["embedding"] == vector);
  CHECK(many["data"][4]["embedding"] == vector);
  CHECK(many["data"][0]["embedding"] != vector);
  CHECK(many["usage"]["prompt_tokens"] == 20);
  CHECK(asked(R"({"input":[[122],[97,98]]})")["data"][1]["embedding"] == vector);

  const json few = asked(R"({"input":"ab","dimensions":3})")["data"][0]["embedding"];
  REQUIRE(few.size() == 3);
  CHECK(few[0].get<double>() / few[2].get<double>() ==
        doctest::Approx(vector[0].get<double>() / vector[2].get<double>()));

  std::vector<unsigned char> bytes;
  for (const json& x : vector) {
    const auto word = std::bit_cast<std::array<unsigned char, 4>>(x.get<float>());
    bytes.insert(bytes.end(), word.begin(), word.end());
  }
  CHECK(asked(R"({"input":"ab","encoding_format":"base64"})")["data"][0]["embedding"] == serve::detail::base64(bytes));
  CHECK(serve::detail::base64({}).empty());
  const unsigned char text[]{'M', 'a', 'n', '!'};
  CHECK(serve::detail::base64({text, 1}) == "TQ==");
  CHECK(serve::detail::base64({text, 2}) == "TWE=");
  CHECK(serve::detail::base64({text, 4}) == "TWFuIQ==");

  for (const auto& [body, param] : {std::pair{R"({})", "input"},
                                    {R"({"input":""})", "input"},
                                    {R"({"input":[]})", "input"},
                                    {R"({"input":["a",""]})", "input"},
                                    {R"({"input":[[1],[]]})", "input"},
                                    {R"({"input":[999]})", "input"},
                                    {R"({"input":"a","dimensions":9})", "dimensions"},
                                    {R"({"input":"a","dimensions":0})", "dimensions"},
                                    {R"({"input":"a","encoding_format":"int8"})", "encoding_format"},
                                    {R"({"input":"a","model":"b"})", "model"},
                                    {R"({"input":"a","n":1})", "'n'"}}) {
    const std::string answer = ask(s, post("/v1/embeddings", body));
    CHECK(status(answer) / 100 == 4);
    CHECK(body_of(answer)["error"]["param"] == param);
  }
}

TEST_CASE("a chat: thought, text and calls, whole and as a stream") {
  running s;
  s.model.script = "<think> hm </think>sure [TOOL_CALLS]f[ARGS]{\"a\":1}";
  const std::string request =
      R"({"messages":[{"role":"system","content":"s"},{"role":"user","content":[{"type":"text","text":"u"},{"type":"text","text":"v"}]}],
    "temperature":0,"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}])";
  const json whole = body_of(ask(s, post("/v1/chat/completions", request + "}")));
  const json& message = whole["choices"][0]["message"];
  CHECK(message["reasoning_content"] == "hm");
  CHECK(message["content"] == "sure ");
  REQUIRE(message["tool_calls"].size() == 1);
  CHECK(message["tool_calls"][0]["function"] == json({{"name", "f"}, {"arguments", "{\"a\":1}"}}));
  CHECK(whole["choices"][0]["finish_reason"] == "tool_calls");

  client c(s.port);
  c.send(post("/v1/chat/completions", request + R"(,"stream":true})"));
  std::string thought, text, name, arguments;
  json last;
  for (const json& e : events_of(c.until("[DONE]"))) {
    const json& delta = e["choices"][0]["delta"];
    thought += delta.value("reasoning_content", ""), text += delta.value("content", "");
    if (delta.contains("tool_calls")) {
      const json& f = delta["tool_calls"][0]["function"];
      name += f.value("name", ""), arguments += f["arguments"].get<std::string>();
    }
    last = e["choices"][0]["finish_reason"];
  }
  CHECK((thought == "hm" && text == "sure " && name == "f" && arguments == "{\"a\":1}" && last == "tool_calls"));

  // Without tools, or with tool_choice none, a call is text.
  const json none = body_of(ask(s, post("/v1/chat/completions", request + R"(,"tool_choice":"none"})")));
  CHECK(none["choices"][0]["message"]["content"] == "sure [TOOL_CALLS]f[ARGS]{\"a\":1}");
  CHECK(none["choices"][0]["finish_reason"] == "stop");
  // A prompt that ends inside a thought.
  s.model.script = "deep</think>so";
  const json inside = body_of(ask(
      s,
      post("/v1/chat/completions",
           R"({"messages":[{"role":"user","content":"u"}],"temperature":0,"chat_template_kwargs":{"think":true}})")));
  CHECK(inside["choices"][0]["message"]["reasoning_content"] == "deep");
  CHECK(inside["choices"][0]["message"]["content"] == "so");
}

TEST_CASE("calls of earlier turns reach the template as what they say") {
  running s;
  const auto rendered = [&](const std::string& arguments) {
    return ask(
        s,
        post(
            "/apply-template",
            R"({"messages":[{"role":"user","content":"u"},{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":)" +
                json(arguments).dump() + R"(}}]},{"role":"tool","tool_call_id":"1","content":"r"}]})"));
  };
  CHECK(body_of(rendered(R"({"x":7})"))["prompt"] == "<|user|>u<|assistant|>(f 7)<|tool|>r");
  for (const char* bad : {"", "7", "{", "{\"x\":1e999}", "{\"x\":1,\"x\":2}"})
    CHECK(body_of(rendered(bad))["error"]["param"] == "messages[1].tool_calls[0].function.arguments");
}

TEST_CASE("refusals name what is wrong") {
  running s({.limits = {}, .work = {.slots = 1, .queue = 3}, .door = {}, .context = 64});
  const struct {
    std::string path, body;
    int status;
    std::string param, code;
  } rows[] = {
      {"/v1/chat/completions", "{", 400, "", "invalid_json"},
      {"/v1/chat/completions", R"({"messages":[{"role":"user","content":"x"}],"model":"gpt-4"})", 404, "model",
       "model_not_found"},
      {"/v1/chat/completions", R"({"messages":[{"role":"user"}]})", 400, "messages[0].content",
       "missing_required_parameter"},
      {"/v1/chat/completions", R"({"messages":[{"role":"user","content":")" + std::string(80, 'x') + R"("}]})", 400,
       "messages", "context_length_exceeded"},
      {"/v1/chat/completions", R"({"messages":[{"role":"user","content":"x"}],"top_logprobs":2})", 400, "top_logprobs",
       "invalid_value"},
      {"/v1/chat/completions",
       R"({"messages":[{"role":"user","content":"x"}],"max_tokens":2,"max_completion_tokens":3})", 400, "max_tokens",
       "invalid_value"},
      {"/v1/chat/completions", R"({"messages":[{"role":"user","content":"x"}],"stream_options":{}})", 400,
       "stream_options", "invalid_value"},
      {"/v1/chat/completions", R"({"messages":[{"role":"user","content":"x"}],"chat_template_kwargs":{"messages":[]}})",
       400, "chat_template_kwargs", "invalid_value"},
      {"/v1/chat/completions", R"({"messages":[{"role":"user","content":"x"}],"response_format":{"type":"xml"}})", 400,
       "response_format.type", "invalid_value"},
      {"/v1/completions", R"({"prompt":""})", 400, "prompt", "invalid_value"},
      {"/v1/completions", R"({"prompt":[300]})", 400, "prompt", "invalid_value"},
      {"/v1/completions", R"({"prompt":"x","logit_bias":{"258":1}})", 400, "logit_bias", "invalid_value"},
      {"/v1/completions", R"({"prompt":"x","n":4})", 400, "n", "invalid_value"},
  };
  for (const auto& r : rows) {
    CAPTURE(r.body);
    const std::string response = ask(s, post(r.path, r.body));
    CHECK(status(response) == r.status);
    const json error = body_of(response)["error"];
    CHECK(error["param"] == (r.param.empty() ? json(nullptr) : json(r.param)));
    CHECK(error["code"] == r.code);
    CHECK_FALSE(error["message"].get<std::string>().empty());
  }
  CHECK(s.count.refused == std::size(rows));
}

TEST_CASE("what is no request of ours is answered and closed") {
  running s;
  const struct {
    std::string request;
    int status;
  } rows[] = {
      {"nonsense\r\n\r\n", 400},
      {std::string("GET /\0 HTTP/1.1\r\nHost: localhost\r\n\r\n", 37), 400},
      {"GET /health HTTP/1.1\r\n\r\n", 403},
      {"GET /health HTTP/1.1\r\nHost: evil.com\r\n\r\n", 403},
      {"GET http://evil.com/health HTTP/1.1\r\nHost: localhost\r\n\r\n", 404},
      {get("/nothing"), 404},
      {get("/health/"), 404},
      {get("/v1/../health"), 404},
      {get("/v1/%2e%2E/health"), 404},
      {get("/health%00"), 404},
      {get("/health%"), 400},
      {get("/%6"), 400},
      {get("/%6xhealth"), 400},
      {get("/%-1"), 400},
      {"DELETE /health HTTP/1.1\r\nHost: localhost\r\n\r\n", 405},
      {"OPTIONS /v1/models HTTP/1.1\r\nHost: localhost\r\nOrigin: https://evil.com\r\n\r\n", 405},
      {get("/v1/completions"), 405},
      {"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}", 415},
      {"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}",
       415},
      {get("/health", "X: " + std::string(20'000, 'x') + "\r\n"), 431},
      {get("/" + std::string(1 << 20, 'x')), 431},
      {"POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "
       "100000000\r\n\r\n",
       413},
      {"POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "
       "99999999999999999999999\r\n\r\n",
       400},
      {"POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: -2\r\n\r\n",
       400},
      {"POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "
       "2\r\nContent-Length: 3\r\n\r\n{}",
       400},
      {"POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "
       "2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
       400},
      {"GET /health HTTP/1.1\r\nHost: localhost\r\nHost: evil.com\r\n\r\n", 400},
      {"POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: gzip, "
       "chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
       501},
      {"POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: "
       "xchunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
       501},
      {"POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: "
       "gzip\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
       501},
      {"POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: "
       "chunked\r\n\r\n-2\r\n{}\r\n0\r\n\r\n",
       400},
      {"POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: "
       "chunked\r\n\r\n10000000000000000\r\n",
       400},
      {"POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: "
       "chunked\r\n\r\nfffffff\r\n",
       413},
  };
  for (const auto& r : rows) {
    CAPTURE(r.request.substr(0, 200));
    client c(s.port);
    c.send(r.request);
    const std::string response = c.rest();
    CHECK(status(response) == r.status);
    CHECK(response.find("Connection: close") != response.npos);
    CHECK(response.find("evil") == response.npos);  // nothing is reflected
    CHECK(response.find("Access-Control") == response.npos);
    CHECK(body_of(response)["error"]["message"].is_string());
  }
  CHECK(status(ask(s, get("/health"))) == 200);
}

TEST_CASE("chunks and 100-continue are understood") {
  running s;
  client c(s.port);
  c.send(
      "POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json; "
      "charset=utf-8\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n");
  CHECK(c.until("\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n");
  c.send("5\r\n{\"con\r\nb\r\ntent\":\"hi\"}\r\n0\r\n\r\n");
  CHECK(body_of(c.response())["count"] == 2);
  // A client of HTTP/1.0 gets a stream that ends with the connection.
  client old(s.port);
  s.model.script = "old";
  const std::string body = R"({"prompt":"x","temperature":0,"stream":true})";
  old.send("POST /v1/completions HTTP/1.0\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: " +
           std::to_string(body.size()) + "\r\n\r\n" + body);
  const std::string stream = old.rest();
  CAPTURE(stream);
  CHECK(stream.find("chunked") == stream.npos);
  CHECK(stream.ends_with("data: [DONE]\n\n"));
}

TEST_CASE("slow clients lose their connection, and others notice nothing") {
  running s({.limits = {.header = 1s, .body = 1s, .idle = 1s}});
  client silent(s.port), slow_header(s.port), slow_body(s.port), idle(s.port);
  slow_header.send("GET /health HT");
  slow_body.send(
      "POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{");
  idle.send(get("/health"));
  CHECK(status(idle.response()) == 200);
  CHECK(status(ask(s, get("/health"))) == 200);
  CHECK(silent.rest().empty());
  CHECK(slow_header.rest().empty());
  CHECK(slow_body.rest().empty());
  CHECK(idle.rest().empty());
  CHECK(soon([&] { return s.count.connections == 0; }));
}

TEST_CASE("a client that reads slowly gets all of a large answer: the limit is on a time without progress") {
  running s({.limits = {.write = 1s}});
  const auto begun = clock::now();
  client c(s.port, 64 << 10);
  c.send(post("/tokenize", "{\"content\":\"" + std::string(800'000, 'h') + "\"}"));
  const std::string response = c.receive([](const std::string& so_far) {  // at most 64 KiB between two calls
    std::this_thread::sleep_for(60ms);
    return so_far.ends_with("\"count\":800000}");
  });
  CHECK(status(response) == 200);
  CHECK(response.size() > 3'200'000);
  CHECK(response.ends_with("\"count\":800000}"));
  CHECK(clock::now() - begun > 2s);  // else this shows nothing
}

TEST_CASE("connections are counted, and the one too many is told so") {
  running s({.limits = {.connections = 2}});
  client one(s.port), two(s.port);
  REQUIRE(soon([&] { return s.count.connections == 2; }));
  client three(s.port);
  const std::string response = three.rest();
  CHECK(status(response) == 429);
  CHECK(response.find("Retry-After") != response.npos);
  CHECK(s.count.refused == 1);
  one.close();
  REQUIRE(soon([&] { return s.count.connections == 1; }));
  CHECK(status(ask(s, get("/health"))) == 200);
}

TEST_CASE("large bodies have their places, and small ones need none") {
  running s({.limits = {.large_bodies = 1, .large_body = 100}});
  const std::string large = "{\"content\":\"" + std::string(200, 'x') + "\"}";
  client slow(s.port);
  slow.send(post("/tokenize", large).substr(0, 150));
  REQUIRE(soon([&] { return status(ask(s, post("/tokenize", large))) == 429; }));
  CHECK(status(ask(s, post("/tokenize", R"({"content":"x"})"))) == 200);
  slow.close();
  CHECK(soon([&] { return status(ask(s, post("/tokenize", large))) == 200; }));
}

TEST_CASE("a client that goes away frees its slot, streaming, waiting for an answer, or in the queue") {
  running s({.limits = {}, .work = {.slots = 1, .queue = 8}, .door = {}, .context = 1 << 20});
  slow_down(s);
  const std::string endless = R"({"prompt":"yyyy","max_tokens":1000000,"ignore_eos":true,"temperature":0)";
  for (const bool hard : {false, true})
    for (const bool stream : {false, true}) {
      client running_one(s.port), queued(s.port);
      running_one.send(post("/v1/completions", endless + (stream ? R"(,"stream":true})" : "}")));
      if (stream) running_one.until("data: ");
      REQUIRE(soon([&] { return s.count.running == 1; }));
      queued.send(post("/v1/completions", endless + "}"));
      REQUIRE(soon([&] { return s.count.queued == 1; }));
      hard ? queued.reset() : queued.close();
      REQUIRE(soon([&] { return s.count.queued == 0; }));
      CHECK(s.count.running == 1);
      hard ? running_one.reset() : running_one.close();
      REQUIRE(soon([&] { return s.work.idle(); }));
    }
  CHECK(s.count.cancelled == 8);
}

TEST_CASE("a full queue is 429, at once, with a time to come again") {
  running s({.limits = {}, .work = {.slots = 1, .queue = 1}, .door = {}, .context = 1 << 20});
  slow_down(s);
  const std::string endless =
      post("/v1/completions", R"({"prompt":"yyyy","max_tokens":1000000,"ignore_eos":true,"temperature":0})");
  client one(s.port), two(s.port);
  one.send(endless), two.send(endless);
  REQUIRE(soon([&] { return s.count.queued == 1; }));
  const std::string response = ask(s, endless);
  CHECK(status(response) == 429);
  CHECK(response.find("Retry-After: 1") != response.npos);
  CHECK(body_of(response)["error"]["code"] == "queue_full");
  CHECK(status(ask(s, get("/health"))) == 200);
}

TEST_CASE("API keys: what needs one, and what does not") {
  running s({.limits = {}, .work = {}, .door = {.hosts = {}, .keys = {"0123456789abcdef"}, .cors_origin = {}}});
  const std::string body = R"({"prompt":"x","max_tokens":1})";
  for (const std::string& bad : {std::string(), std::string("Authorization: Bearer 0123456789abcdeX\r\n"),
                                 std::string("Authorization: 0123456789abcdef\r\n")}) {
    client c(s.port);
    c.send(post("/v1/completions", body, bad));
    const std::string response = c.rest();
    CHECK(status(response) == 401);
    CHECK(response.find("WWW-Authenticate: Bearer") != response.npos);
    CHECK(response.find("0123") == response.npos);
  }
  CHECK(status(ask(s, post("/v1/completions", body, "Authorization: Bearer 0123456789abcdef\r\n"))) == 200);
  for (const route& r : routes)
    if (r.method == "GET" && !r.path.ends_with("models/"))
      CHECK_MESSAGE(status(ask(s, get(r.path))) == (r.open ? 200 : 401), r.path);
}

TEST_CASE("an origin that was allowed is answered, and only that one") {
  running s({.limits = {}, .work = {}, .door = {.hosts = {}, .keys = {}, .cors_origin = "https://chat.example"}});
  const std::string own = "Origin: https://chat.example\r\n";
  CHECK(ask(s, get("/v1/models", own)).find("Access-Control-Allow-Origin: https://chat.example") != std::string::npos);
  CHECK(ask(s, get("/v1/models", "Origin: https://evil.com\r\n")).find("Access-Control") == std::string::npos);
  client c(s.port);
  c.send("OPTIONS /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n" + own +
         "Access-Control-Request-Method: POST\r\n\r\n");
  const std::string preflight = c.until("\r\n\r\n");
  CHECK(status(preflight) == 204);
  CHECK(preflight.find("Access-Control-Allow-Methods: POST") != preflight.npos);
  CHECK(preflight.find("Access-Control-Allow-Headers: authorization, content-type\r\n") != preflight.npos);
  // As OpenAI's client in a page.
  c.send("OPTIONS /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n" + own +
         "Access-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: "
         "authorization,content-type,x-stainless-os,x-stainless-retry-count\r\n\r\n");
  CHECK(c.until("\r\n\r\n").find("x-stainless-os, x-stainless-retry-count\r\n") != std::string::npos);
}

TEST_CASE("an origin that was allowed can read why it is refused, and another one on the same connection cannot") {
  running s({.limits = {.large_bodies = 0, .large_body = 100},
             .work = {},
             .door = {.hosts = {}, .keys = {"0123456789abcdef"}, .cors_origin = "https://chat.example"}});
  const std::string key = "Authorization: Bearer 0123456789abcdef\r\n", own = "Origin: https://chat.example\r\n",
                    field = "Access-Control-Allow-Origin: https://chat.example\r\n";
  const auto sized = [&](const char* length) {
    return "POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: " +
        std::string(length) + "\r\n" + key + own + "\r\n";
  };
  const std::pair<std::string, int> rows[]{
      {get("/v1/models", own), 401},
      {get("/v1/models", own + "Host: localhost\r\n"), 400},
      {"GET /v1/models HTTP/1.1\r\nHost: evil.com\r\n" + own + "\r\n", 403},
      {get("/nothing", own), 404},
      {get("/v1/completions", own), 405},
      {"POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n" + key + own + "\r\n{}", 415},
      {sized("100000000"), 413},
      {sized("200"), 429},
      {post("/tokenize", "{}", key + own), 400},
  };
  for (const auto& [request, want] : rows) {
    CAPTURE(want);
    client c(s.port);
    c.send(request);
    const std::string response = c.response();
    CHECK(status(response) == want);
    CHECK(response.find(field) != response.npos);
  }
  client c(s.port);
  c.send(get("/v1/models", key + own));
  CHECK(c.response().find(field) != std::string::npos);
  c.send(get("/nothing", "Origin: https://evil.com\r\n"));
  CHECK(c.response().find("Access-Control") == std::string::npos);
}

TEST_CASE("a stop lets running answers end, refuses new ones, and ends") {
  running s({.limits = {.drain = 20s}});
  s.model.script = std::string(3000, 'z');
  slow_down(s);
  client running_one(s.port), idle(s.port);
  idle.send(get("/health"));
  idle.response();
  running_one.send(post("/v1/completions", R"({"prompt":"x","max_tokens":4000,"temperature":0,"stream":true})"));
  running_one.until("z");
  s.begin_to_stop();
  CHECK(idle.rest().empty());
  const std::string refused = ask(s, post("/v1/completions", R"({"prompt":"x"})"));
  CHECK(status(refused) == 503);
  CHECK(status(ask(s, get("/health"))) == 503);
  const std::string stream = running_one.rest();
  CHECK(stream.find("\"finish_reason\":\"stop\"") != stream.npos);
  CHECK(stream.find("[DONE]") != stream.npos);
  s.stop();
}

TEST_CASE("an answer that does not end in time is cut off") {
  running s({.limits = {.drain = 0s}, .work = {}, .door = {}, .context = 1 << 20});
  slow_down(s);
  client c(s.port);
  c.send(post("/v1/completions", R"({"prompt":"yyyy","max_tokens":1000000,"ignore_eos":true,"stream":true})"));
  c.until("data: ");
  s.stop();
  CHECK(c.rest().find("[DONE]") == std::string::npos);
}
