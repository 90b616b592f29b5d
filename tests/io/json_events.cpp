// SPDX-License-Identifier: MIT
#include <cke/io/json_events.hpp>

#include "damage.hpp"

// {"a": {"b": "text"}} to any depth of objects; nothing else.
struct nested_texts final : cke::io::json_events {
  using json_events::json_events;
  std::string seen;

  bool string(string_t& s) override {
    for (std::size_t i = 0; i < depth(); ++i) seen += key_at(i) + '.';
    seen += s + ' ';
    return true;
  }

 private:
  bool opens(bool object) override { return object; }
  void closed() override { seen += "/" + key_at(depth() - 1) + ' '; }
};

static std::string error_in(std::string_view text) {
  return damage::error_of([&] { nested_texts("f").read(text); });
}

TEST_CASE("json_events: events come with their keys") {
  nested_texts reader("f");
  reader.read(R"({"a": {"b": "x", "c": {"d": "\u00e9"}}, "e": {}, "": "y"}  )");
  CHECK(reader.seen == "a.b.x a.c.d.\u00e9 /c /a /e .y ");
}

TEST_CASE("json_events: what a reader does not expect is an error") {
  CHECK(error_in(R"({"a": null})") == "f: a: expected another kind of value, found null");
  CHECK(error_in(R"({"a": {"b": true}})") == "f: a: b: expected another kind of value, found a boolean");
  CHECK(error_in(R"({"a": 1})") == "f: a: expected another kind of value, found 1");
  CHECK(error_in(R"({"a": -1})") == "f: a: expected another kind of value, found -1");
  CHECK(error_in(R"({"a": 1.5})") == "f: a: expected another kind of value, found 1.5");
  CHECK(error_in(R"({"a": []})") == "f: a: expected another kind of value, found an array");
}

TEST_CASE("json_events: a text that two readers could read differently is an error") {
  CHECK(error_in(R"({"a": "x", "b": "y", "a": "z"})") == "f: a: expected one value of \"a\", found two");
  CHECK(error_in(R"({"a": {"b": "x", "\u0062": "y"}})") == "f: a: b: expected one value of \"b\", found two");
  CHECK(error_in(R"( {})") == "f: expected a JSON object from the first byte on, found something else");
  CHECK(error_in("") == "f: expected a JSON object from the first byte on, found something else");
  CHECK(error_in(std::string_view("{}\0{}", 5)) == "f: expected JSON, found a NUL byte");
  CHECK(error_in("{} {}").starts_with("f: expected JSON, found"));
  CHECK(error_in(R"({"a": "\ud800"})").starts_with("f: a: expected JSON, found"));
  CHECK(error_in("{\"a\": \"\xff\"}").starts_with("f: a: expected JSON, found"));
  CHECK(error_in(R"({"a": 1e999})").starts_with("f: a: expected JSON, found"));
  CHECK(error_in(R"({"a": "x",})").starts_with("f: a: expected JSON, found"));
}

TEST_CASE("json_events: depth is bounded, for any length of text") {
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += R"({"a":)";
  CHECK(error_in(deep).ends_with("expected at most 8 levels of nesting, found more"));
}

TEST_CASE("json_events: size and keys are bounded") {
  CHECK(error_in("{}" + std::string(cke::io::json_events::max_bytes, ' ')) ==
        "f: expected at most 100000000 bytes of JSON, found 100000002");
  std::string many = "{";
  for (std::size_t i = 0; i <= cke::io::json_events::max_keys; ++i) many += R"("":"",)";
  CHECK(error_in(many) == "f: expected at most 1048576 keys, found more");
}
