// SPDX-License-Identifier: MIT
// answering.hpp: the running jobs of one request as its connection sees them: deliveries, and whether the client waits.
#pragma once

#include <optional>

#include "client_watch.hpp"
#include "service.hpp"

namespace cke::serve {

// Everything except the mailboxes is used on the connection's executor alone.
class answering {
 public:
  answering(tcp::socket& socket, generation_task& task, std::size_t most_unread)
      : socket_(socket), writer_(*task.writer), bell_(std::make_shared<asio::steady_timer>(socket.get_executor())) {
    // Rung from the model's thread; the connection's executor wakes up, unless the connection has gone meanwhile.
    const auto ring = [executor = socket.get_executor(), weak = std::weak_ptr(bell_)] {
      asio::post(executor, [weak] {
        if (const auto bell = weak.lock()) bell->cancel();
      });
    };
    for (order& o : task.orders) jobs_.push_back(std::make_shared<job>(std::move(o), most_unread, ring));
    ended_.resize(jobs_.size());
  }
  answering(const answering&) = delete;
  answering& operator=(const answering&) = delete;
  // However this ends, the model's work for it ends too.
  ~answering() {
    for (const auto& j : jobs_) j->cancelled = true;
  }

  std::span<const std::shared_ptr<job>> jobs() const { return jobs_; }

  // Starts watching the socket: if the client goes away, its jobs end at their next step.
  void watch() {
    watch_.emplace(socket_, [this] {
      gone_ = true;
      for (const auto& j : jobs_) j->cancelled = true;
      bell_->cancel();
    });
  }
  bool gone() const { return gone_; }

  // Waits until something arrives, and returns the events to send if the reply is a stream. Throws api_error if a job
  // failed.
  asio::awaitable<std::string> next() {
    for (;;) {
      bool news = false;
      std::string events;
      for (std::size_t i = 0; i < jobs_.size(); ++i) {
        if (ended_[i]) continue;
        delivery d = jobs_[i]->box.take();
        if (d.end == ending::failed) throw api_error(500, "server_error", d.error, {}, "generation_failed");
        if (d.end == ending::cancelled)
          throw api_error(503, "unavailable_error",
                          "the answer was cut off: the server ends, or was not read from for too long", {},
                          "cancelled");
        if (d.pieces.empty() && d.end == ending::running) continue;
        news = true;
        ended_[i] = d.end != ending::running;
        events += writer_.take(i, std::move(d));
      }
      if (news || gone_) co_return events;
      error_code ignored;
      bell_->expires_at(asio::steady_timer::time_point::max());
      co_await bell_->async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    }
  }
  bool done() const {
    return gone_ || std::ranges::all_of(ended_, [](bool e) { return e; });
  }

 private:
  tcp::socket& socket_;
  reply& writer_;
  std::shared_ptr<asio::steady_timer> bell_;
  std::vector<std::shared_ptr<job>> jobs_;
  std::vector<bool> ended_;
  std::optional<client_watch> watch_;
  bool gone_ = false;
};

}  // namespace cke::serve
