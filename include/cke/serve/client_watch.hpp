// SPDX-License-Identifier: MIT
// client_watch.hpp: notices that a client goes away while the server works for it.
#pragma once

#include <sys/socket.h>

#include <cerrno>
#include <functional>
#include <memory>
#include <utility>

#include "http.hpp"

namespace cke::serve {

// While this lives: calls `gone` once the client has gone. Used on the socket's executor alone.
class client_watch {
 public:
  client_watch(tcp::socket& socket, std::function<void()> gone) : socket_(socket), gone_(std::move(gone)) { wait(); }
  client_watch(const client_watch&) = delete;
  client_watch& operator=(const client_watch&) = delete;
  ~client_watch() { *alive_ = false; }

 private:
  void wait() {
    socket_.async_wait(tcp::socket::wait_read, [this, alive = alive_](error_code ec) {
      if (!*alive) return;
      char byte;
      const ssize_t n = ec ? 0 : ::recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
      if (n > 0) return;  // the next request has arrived: until it is read, nothing more is known of the client
      if (n < 0 && (errno == EAGAIN || errno == EINTR)) return wait();
      gone_();
    });
  }

  tcp::socket& socket_;
  const std::function<void()> gone_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace cke::serve
