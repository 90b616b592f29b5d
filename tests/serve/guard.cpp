// SPDX-License-Identifier: MIT
// guard.cpp: host names, origins and keys.
#include <doctest/doctest.h>

#include <cke/serve/guard.hpp>

using namespace cke;
using namespace cke::io;
using namespace cke::text;
using namespace cke::serve;

TEST_CASE("a host is the loopback, or a name that was allowed") {
  const guard g({.hosts = {"Chat.Example", "192.168.1.5", "[fe80::1]"}, .keys = {}, .cors_origin = {}});
  for (const std::string_view good : {"localhost", "LOCALHOST:8080", "127.0.0.1", "127.0.0.1:1", "[::1]", "[::1]:8080",
                                      "chat.example:80", "192.168.1.5", "[fe80::1]:9"})
    CHECK_MESSAGE(g.knows_host(good), good);
  for (const char* bad : {"", "evil.com", "localhost:", "localhost.evil.com", "evil.com:8080", "127.0.0.1.evil.com",
                          "localhost:80a", "localhost:80:80", "localhost@evil.com", "::1", "[::1]x", "127.0.0.2"})
    CHECK_MESSAGE(!g.knows_host(bad), bad);
}

TEST_CASE("one origin, exactly, or none") {
  CHECK_FALSE(guard({}).allows_origin(""));
  CHECK_FALSE(guard({}).allows_origin("https://chat.example"));
  const guard g({.hosts = {}, .keys = {}, .cors_origin = "https://chat.example"});
  CHECK(g.allows_origin("https://chat.example"));
  for (const char* bad : {"", "null", "https://chat.example.evil.com", "http://chat.example", "https://chat.example/"})
    CHECK_FALSE(g.allows_origin(bad));
}

TEST_CASE("a key is whole, or wrong") {
  const guard open({});
  CHECK(open.key_of("") == 0u);
  CHECK(open.key_of("Bearer anything") == 0u);
  const std::string a = "0123456789abcdef", b = std::string(256, 'k');
  const guard g({.hosts = {}, .keys = {a, b}, .cors_origin = {}});
  CHECK(g.key_of("Bearer " + a) == 1u);
  CHECK(g.key_of("bearer " + b) == 2u);
  const std::vector<std::string> wrong{"",
                                       "Bearer",
                                       "Bearer ",
                                       a,
                                       "Basic " + a,
                                       "Bearer  " + a,
                                       "Bearer " + a + " ",
                                       "Bearer " + a.substr(1),
                                       "Bearer " + a.substr(0, 15),
                                       "Bearer " + b + "k",
                                       "Bearer " + std::string(100'000, 'k'),
                                       "Bearer 0123456789abcdeF"};
  for (const std::string& bad : wrong) CHECK_MESSAGE(!g.key_of(bad), bad.substr(0, 40));
}

TEST_CASE("a file of keys") {
  CHECK(parse_keys("0123456789abcdef\n\r\n\nfedcba9876543210\r\n", "f") ==
        std::vector<std::string>{"0123456789abcdef", "fedcba9876543210"});
  CHECK(parse_keys("0123456789abcdef", "f").size() == 1);
  for (const std::string& bad : {std::string(), std::string("\n\n"), std::string("short"), std::string(257, 'x'),
                                 std::string("0123456789 abcdef"), std::string("0123456789abcde\xff")})
    CHECK_THROWS_AS(parse_keys(bad, "f"), Error);
  const std::string a = "0123456789abcdef", b = "fedcba9876543210";
  for (const std::string& twice : {a + "\n" + a + "\n" + b, a + "\r\n\n" + a})
    CHECK_THROWS_WITH_AS(parse_keys(twice, "f"), "f: API key 2: expected one that is not there yet, found key 1 again",
                         Error);
  CHECK_THROWS_WITH_AS(parse_keys(a + "\n" + b + "\n" + b, "f"),
                       "f: API key 3: expected one that is not there yet, found key 2 again", Error);
}

TEST_CASE("headers that a preflight asks for are allowed where they are names, and not without end") {
  const std::string usual = "authorization, content-type";
  CHECK(allowed_headers("") == usual);
  CHECK(allowed_headers(" x-stainless-os,X-Stainless-Lang , ,a:b,c d,e\"f") ==
        usual + ", x-stainless-os, X-Stainless-Lang");
  std::string many;
  for (u32 i = 0; i < 2000; ++i) many += "x-" + std::to_string(i) + ',';
  const std::string some = allowed_headers(many);
  CHECK((some.size() > 1000 && some.size() <= 1024));
  CHECK(some.starts_with(usual + ", x-0, x-1, "));
  CHECK(allowed_headers(std::string(5000, 'x')) == usual);
}
