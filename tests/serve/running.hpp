// SPDX-License-Identifier: MIT
// running.hpp: a server of a test's own, in a thread, and clients with raw sockets.
#pragma once

#include <cke/serve/server.hpp>

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fake_model.hpp"

using namespace cke;
using namespace cke::graph;
using namespace cke::io;
using namespace cke::runtime;
using namespace cke::text;
using namespace cke::serve;
using namespace std::chrono_literals;

namespace {

[[maybe_unused]] constexpr const char* chat_template =
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% for c in m.tool_calls or [] %}({{ c.function.name }} {{ "
    "c.function.arguments.x }}){% endfor %}{% endfor %}"
    "{% if tools %}[TOOL_CALLS]{{ tools | length }}{% endif %}{% if think %}<think>{% endif %}{# </think> #}";

struct setting {
  connection_limits limits{};
  scheduler_options work{};
  guard_options door{};
  u32 context = 4096;
  const any_vision* vision = nullptr;
  fetch_function fetch{};
  request_limits requests{};
  const char* form = chat_template;
};

// A server on a port of its own, in a thread.
class running {
 public:
  explicit running(setting s = {})
      : model(s.context),
        tokens_(fake::bytes(s.form)),
        form_(tokens_, "test"),
        served_{.id = "fake",
                .tokens = tokens_,
                .form = &form_,
                .stop_ids = {fake::end_id},
                .chat_stops = {fake::end_id},
                .vocab_size = fake::vocab,
                .context = s.context,
                .dim = fake::dim,
                .vision = s.vision,
                .fetch = s.fetch},
        door_(std::move(s.door)),
        limits_(s.requests),
        work(model, tokens_, s.work, count),
        answers_(served_, work, count, limits_, "{}", "0", door_.asks_for_keys()),
        server_({.address = "127.0.0.1", .port = 0, .limits = s.limits}, answers_, door_, "<!doctype html>"),
        port(server_.port()),
        thread_([this] { server_.run(); }) {}
  ~running() { stop(); }
  void stop() {
    server_.stop();
    if (thread_.joinable()) thread_.join();
  }
  void begin_to_stop() { server_.stop(); }

  fake::model model;
  metrics count;

 private:
  tokenizer tokens_;
  chat_form form_;
  served_model served_;
  guard door_;
  request_limits limits_;

 public:
  scheduler work;

 private:
  service answers_;
  server server_;

 public:
  const u16 port;

 private:
  std::thread thread_;
};

class client {
 public:
  // receive_buffer: bytes that the kernel holds for it; 0: its default.
  explicit client(u16 port, int receive_buffer = 0) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (receive_buffer) setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    sockaddr_in where{};
    where.sin_family = AF_INET, where.sin_port = htons(port), where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::connect(socket_, reinterpret_cast<const sockaddr*>(&where), sizeof where) == 0);
  }
  client(const client&) = delete;
  client& operator=(const client&) = delete;
  ~client() { close(); }
  void close() {
    if (socket_ >= 0) ::close(std::exchange(socket_, -1));
  }
  void reset() {
    const linger now{1, 0};
    setsockopt(socket_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    close();
  }
  bool send(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t n = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }
  // Until `enough(what came so far)`, or the server closes. A server that does neither fails the test.
  template <class F> std::string receive(F enough) {
    while (!enough(came_)) {
      pollfd p{socket_, POLLIN, 0};
      REQUIRE(::poll(&p, 1, 20'000) == 1);
      char part[65536];
      const ssize_t n = ::recv(socket_, part, sizeof part, 0);
      if (n <= 0) break;
      came_.append(part, static_cast<std::size_t>(n));
    }
    return std::exchange(came_, {});
  }
  std::string until(std::string_view mark) {
    return receive([&](const std::string& s) { return s.find(mark) != s.npos; });
  }
  std::string rest() {
    return receive([](const std::string&) { return false; });
  }
  // One answer with a Content-Length.
  std::string response() {
    return receive([](const std::string& s) {
      const std::size_t end = s.find("\r\n\r\n"), length = s.find("Content-Length: ");
      return end != s.npos && length < end && s.size() >= end + 4 + std::stoul(s.substr(length + 16));
    });
  }

 private:
  int socket_;
  std::string came_;
};

[[maybe_unused]] std::string get(std::string_view path, std::string_view more = "") {
  return "GET " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\n" + std::string(more) + "\r\n";
}
[[maybe_unused]] std::string post(std::string_view path, std::string_view body, std::string_view more = "") {
  return "POST " + std::string(path) +
      " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: " +
      std::to_string(body.size()) + "\r\n" + std::string(more) + "\r\n" + std::string(body);
}
[[maybe_unused]] int status(std::string_view response) {
  return response.starts_with("HTTP/1.1 ") ? std::stoi(std::string(response.substr(9, 3))) : 0;
}
[[maybe_unused]] json body_of(std::string_view response) {
  return json::parse(response.substr(response.find("\r\n\r\n") + 4));
}
[[maybe_unused]] std::string ask(const running& s, const std::string& request) {
  client c(s.port);
  c.send(request);
  return c.response();
}
// The events of a stream.
[[maybe_unused]] std::vector<json> events_of(const std::string& stream) {
  std::vector<json> all;
  for (std::size_t at = 0; (at = stream.find("data: {", at)) != stream.npos;) {
    const std::size_t end = stream.find("\n\n", at);
    all.push_back(json::parse(stream.substr(at + 6, end - at - 6)));
    at = end;
  }
  return all;
}
// A model that takes its time, so that an answer is not over before the test has looked at it.
[[maybe_unused]] void slow_down(running& s) {
  s.model.after_each_pass([](std::size_t) { std::this_thread::sleep_for(200us); });
}
template <class F> bool soon(F f) {
  for (const auto end = clock::now() + 10s; clock::now() < end; std::this_thread::sleep_for(1ms))
    if (f()) return true;
  return false;
}

}  // namespace
