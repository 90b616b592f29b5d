// SPDX-License-Identifier: MIT
// server.hpp: listens, accepts connections, and drains them at the end.
#pragma once

#include <sys/resource.h>

#include <list>

#include "connection.hpp"

namespace cke::serve {

struct server_options {
  std::string address = "127.0.0.1";
  u16 port = 8080;  // 0: any that is free
  connection_limits limits{};
};

class server {
 public:
  // Listens. `page` is the HTML for GET /. Throws Error{file} if the address is not available.
  server(const server_options& options, service& answers, const guard& door, std::string_view page)
      : options_(options),
        around_{answers, door, options_.limits, readers_, viewers_, page},
        acceptor_(io_),
        signals_(io_),
        deadline_(io_) {
    raise_file_limit();
    error_code ec;
    const asio::ip::address address = asio::ip::make_address(options.address, ec);
    const auto need = [&](const char* what) {
      if (ec) throw Error(errc::file, options.address + ':' + std::to_string(options.port), {}, what, ec.message());
    };
    need("an IP address");
    const tcp::endpoint where(address, options.port);
    acceptor_.open(where.protocol(), ec), need("a socket");
    acceptor_.set_option(tcp::acceptor::reuse_address(true), ec);
    acceptor_.bind(where, ec), need("an address that is free");
    acceptor_.listen(tcp::acceptor::max_listen_connections, ec), need("a socket that can listen");
  }

  u16 port() const { return acceptor_.local_endpoint().port(); }

  server(const server&) = delete;
  server& operator=(const server&) = delete;
  // Join the threads that call back before destroying connections.
  ~server() {
    readers_.stop(), viewers_.stop();
    readers_.join(), viewers_.join();
    around_.answers.work().close();
  }

  // From now on this signal means stop(), and a second one ends running answers too.
  void end_on(int signal) { signals_.add(signal); }

  // Serves until stop(); running answers may then go on for limits.drain.
  void run() {
    asio::co_spawn(io_, accept(), asio::detached);
    asio::co_spawn(io_, signalled(), asio::detached);
    io_.run();
    for (connection& c : clients_) c.close();
  }
  // From any thread.
  void stop() {
    asio::post(io_, [this] { drain(); });
  }

 private:
  // Every client takes a file descriptor.
  static void raise_file_limit() {
    rlimit files{};
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
      files.rlim_cur = files.rlim_max;
      setrlimit(RLIMIT_NOFILE, &files);
    }
  }

  asio::awaitable<void> accept() {
    for (;;) {
      error_code ec;
      tcp::socket socket = co_await acceptor_.async_accept(asio::redirect_error(asio::use_awaitable, ec));
      if (ec == asio::error::operation_aborted) co_return;
      if (ec) {  // no file descriptors left, or the client has gone already
        asio::steady_timer pause(io_, std::chrono::milliseconds(20));
        co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, ec));
        continue;
      }
      socket.set_option(tcp::no_delay(true), ec);
      socket.set_option(asio::socket_base::send_buffer_size(options_.limits.send_buffer), ec);
      if (clients_.size() >= options_.limits.connections) turn_away(std::move(socket));
      else asio::co_spawn(io_, serve(std::move(socket)), asio::detached);
    }
  }
  // Does not wait: the response fits into the empty send buffer of a new socket.
  void turn_away(tcp::socket socket) {
    ++around_.answers.counts().refused;
    http_response r = refusal(overloaded("too many connections"), 11, false);
    r.prepare_payload();
    std::ostringstream text;
    text << r;
    error_code ignored;
    socket.non_blocking(true, ignored);
    socket.write_some(asio::buffer(text.str()), ignored);
    socket.shutdown(tcp::socket::shutdown_send, ignored);
  }
  asio::awaitable<void> serve(tcp::socket socket) {
    const auto here = clients_.emplace(clients_.end(), std::move(socket), around_);
    around_.answers.counts().connections = clients_.size();
    try {
      co_await here->run();
    } catch (const std::exception&) {  // such as out of memory: ends this connection only
    }
    clients_.erase(here);
    around_.answers.counts().connections = clients_.size();
    end_if_drained();
  }

  asio::awaitable<void> signalled() {
    error_code ec;
    co_await signals_.async_wait(asio::redirect_error(asio::use_awaitable, ec));
    if (ec) co_return;
    drain();
    co_await signals_.async_wait(asio::redirect_error(asio::use_awaitable, ec));
    if (!ec) io_.stop();
  }
  // New requests are refused with an error; running answers may end.
  void drain() {
    if (around_.draining) return;
    around_.draining = true;
    for (connection& c : clients_)
      if (c.idle()) c.close();
    deadline_.expires_after(options_.limits.drain);
    deadline_.async_wait([this](error_code ec) {
      if (!ec) io_.stop();
    });
    end_if_drained();
  }
  void end_if_drained() {
    if (around_.draining && std::ranges::all_of(clients_, [](const connection& c) { return c.idle(); })) io_.stop();
  }

  const server_options options_;
  asio::thread_pool readers_{2}, viewers_{4};
  asio::io_context io_{1};
  surroundings around_;
  tcp::acceptor acceptor_;
  asio::signal_set signals_;
  asio::steady_timer deadline_;
  std::list<connection> clients_;
};

}  // namespace cke::serve
