// SPDX-License-Identifier: MIT
// http_fetch.cpp: what is fetched and what is not, of a server on this machine, which only these tests may ask.
#include <cke/fetch/http_fetch.hpp>

#include <doctest/doctest.h>
#include <poll.h>

#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

using namespace cke;
using namespace std::chrono_literals;

namespace {

// Answers each connection by what its path asks for.
class web {
 public:
  web() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET, at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    REQUIRE(::bind(socket_, reinterpret_cast<sockaddr*>(&at), size) == 0);
    REQUIRE(::listen(socket_, 16) == 0);
    ::getsockname(socket_, reinterpret_cast<sockaddr*>(&at), &size);
    port = ntohs(at.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~web() {
    over_ = true;
    thread_.join();
    for (const int c : stalled_) ::close(c);
    ::close(socket_);
  }
  std::string url(const std::string& path, const char* host = "127.0.0.1") const {
    return "http://" + std::string(host) + ':' + std::to_string(port) + path;
  }

  u16 port = 0;
  std::atomic<int> asked = 0;

 private:
  void serve() {
    while (!over_) {
      pollfd p{socket_, POLLIN, 0};
      if (::poll(&p, 1, 20) != 1) continue;
      const int c = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
      char text[4096];
      const ssize_t n = ::recv(c, text, sizeof text, 0);
      ++asked;
      const std::string request(text, n > 0 ? static_cast<std::size_t>(n) : 0);
      const std::string path = request.substr(4, request.find(' ', 4) - 4);
      if (path == "/stall") {
        stalled_.push_back(c);
        continue;
      }
      const std::string answer = answer_to(path);
      ::send(c, answer.data(), answer.size(), MSG_NOSIGNAL);
      ::close(c);
    }
  }
  std::string answer_to(const std::string& path) const {
    const auto to = [](const std::string& where) {
      return "HTTP/1.1 302 Found\r\nLocation: " + where + "\r\nContent-Length: 0\r\n\r\n";
    };
    if (path == "/image") return "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nIMAGE";
    if (path == "/to") return to("/image");
    if (path == "/loop") return to("/loop");
    if (path == "/elsewhere") return to(url("/image", "127.0.0.2"));
    if (path == "/file") return to("file:///etc/passwd");
    if (path == "/claims") return "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\nx";
    if (path == "/endless") return "HTTP/1.1 200 OK\r\n\r\n" + std::string(5000, 'x');
    return "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
  }

  int socket_;
  std::atomic<bool> over_ = false;
  std::vector<int> stalled_;
  std::thread thread_;
};

// The rule of these tests: 127.0.0.1 and nothing else.
bool only_this(const sockaddr& a) {
  return a.sa_family == AF_INET && reinterpret_cast<const sockaddr_in&>(a).sin_addr.s_addr == htonl(INADDR_LOOPBACK);
}
constexpr fetch::fetch_limits limits{.bytes = 1000, .time = 400ms, .connect = 300ms, .redirects = 3};

std::string error_of(const std::string& url, const fetch::address_rule& rule = only_this) {
  try {
    return "got " + fetch::get(url, limits, rule);
  } catch (const Error& e) { return e.what(); }
}

}  // namespace

TEST_CASE("what is at an address, also after a redirect") {
  const web site;
  CHECK(fetch::get(site.url("/image"), limits, only_this) == "IMAGE");
  CHECK(fetch::get(site.url("/to"), limits, only_this) == "IMAGE");
}

TEST_CASE("an address that the rule does not take is not connected to, by number, by name or by redirect") {
  const web site;
  const std::string refused = "URL: expected an address on the public network, found another";
  CHECK(error_of(site.url("/image"), fetch::is_public) == refused);
  CHECK(error_of(site.url("/image", "localhost"), fetch::is_public) == refused);
  CHECK(error_of(site.url("/image", "0x7f.1"), fetch::is_public) == refused);
  CHECK(error_of(site.url("/image", "2130706433"), fetch::is_public) == refused);
  CHECK(error_of(site.url("/image", "[::ffff:127.0.0.1]"), fetch::is_public) == refused);
  CHECK(site.asked == 0);
  CHECK(error_of(site.url("/elsewhere")) == refused);
  CHECK(site.asked == 1);
}

TEST_CASE("sizes, times, redirects and schemes have their limits") {
  const web site;
  CHECK(error_of(site.url("/claims")) == "URL: expected at most 1000 bytes, found more");
  CHECK(error_of(site.url("/endless")) == "URL: expected at most 1000 bytes, found more");
  const auto begun = std::chrono::steady_clock::now();
  CHECK(error_of(site.url("/stall")).starts_with("URL: expected an answer, found"));
  CHECK(std::chrono::steady_clock::now() - begun < 3s);
  CHECK(error_of(site.url("/none")) == "URL: expected an answer with status 200, found status 404");
  CHECK(error_of(site.url("/loop")).starts_with("URL: expected an answer, found"));
  CHECK(error_of(site.url("/file")).starts_with("URL: expected an answer, found"));
  CHECK(error_of("file:///etc/passwd").starts_with("URL: expected an answer, found"));
  CHECK(error_of("gopher://127.0.0.1/").starts_with("URL: expected an answer, found"));
  CHECK(error_of("http://name:word@127.0.0.1:" + std::to_string(site.port) + "/image").starts_with("URL: expected"));
  CHECK(error_of("not a url").starts_with("URL: expected an answer, found"));
}

TEST_CASE("no proxy of the environment is asked") {
  const web site, proxy;
  for (const char* name : {"http_proxy", "all_proxy", "ALL_PROXY"}) ::setenv(name, proxy.url("").c_str(), 1);
  CHECK(fetch::get(site.url("/image"), limits, only_this) == "IMAGE");
  CHECK(proxy.asked == 0);
  for (const char* name : {"http_proxy", "all_proxy", "ALL_PROXY"}) ::unsetenv(name);
}
