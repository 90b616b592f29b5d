// SPDX-License-Identifier: MIT
// public_address.cpp: which addresses a server may be sent to.
#include <cke/fetch/public_address.hpp>

#include <doctest/doctest.h>

using namespace cke;
using namespace cke::fetch;

namespace {

bool is_public_text(const char* text) {
  sockaddr_storage at{};
  if (auto* v4 = reinterpret_cast<sockaddr_in*>(&at); ::inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
    at.ss_family = AF_INET;
  } else {
    auto* v6 = reinterpret_cast<sockaddr_in6*>(&at);
    REQUIRE_MESSAGE(::inet_pton(AF_INET6, text, &v6->sin6_addr) == 1, text);
    at.ss_family = AF_INET6;
  }
  return is_public(reinterpret_cast<const sockaddr&>(at));
}

}  // namespace

TEST_CASE("addresses of this machine, its network and groups of machines are not public") {
  for (const char* no :
       {"0.0.0.0",      "0.1.2.3",         "10.0.0.1",         "10.255.255.255",   "100.64.0.1",      "100.127.255.255",
        "127.0.0.1",    "127.255.255.254", "169.254.169.254",  "172.16.0.1",       "172.31.255.255",  "192.0.0.1",
        "192.0.2.1",    "192.88.99.1",     "192.168.1.1",      "198.18.0.1",       "198.19.255.255",  "198.51.100.7",
        "203.0.113.7",  "224.0.0.1",       "239.255.255.255",  "240.0.0.1",        "255.255.255.255", "::",
        "::1",          "::ffff:8.8.8.8",  "::ffff:127.0.0.1", "64:ff9b::8.8.8.8", "64:ff9b:1::1",    "100::1",
        "2001::1",      "2001:20::1",      "2001:db8::1",      "2002:7f00:1::1",   "3fff::1",         "fc00::1",
        "fd12:3456::1", "fe80::1",         "fec0::1",          "ff02::1",          "4000::1",         "5f00::1"})
    CHECK_MESSAGE(!is_public_text(no), no);
}

TEST_CASE("others are") {
  for (const char* yes : {"1.1.1.1",         "8.8.8.8",        "9.255.255.255",        "11.0.0.1",
                          "100.63.255.255",  "100.128.0.1",    "126.255.255.255",      "128.0.0.1",
                          "169.253.1.1",     "172.15.255.255", "172.32.0.1",           "192.0.1.1",
                          "192.167.255.255", "192.169.0.1",    "198.17.255.255",       "198.20.0.1",
                          "223.255.255.255", "2001:200::1",    "2001:4860:4860::8888", "2606:4700:4700::1111",
                          "2a00:1450::1",    "3ffe::1"})
    CHECK_MESSAGE(is_public_text(yes), yes);
}

TEST_CASE("a socket of another kind is not public") {
  sockaddr local{};
  local.sa_family = AF_UNIX;
  CHECK(!is_public(local));
}
