// SPDX-License-Identifier: MIT
// connection.hpp: one client's requests, one after the other, each with its limits of time and size.
#pragma once

#include <atomic>

#include "answering.hpp"
#include "guard.hpp"

namespace cke::serve {

// What connections share. All but `draining` is set before the first one.
struct surroundings {
  service& answers;
  const guard& door;
  const connection_limits& limits;
  asio::thread_pool& readers;  // where bodies are parsed, rendered and tokenized
  asio::thread_pool& viewers;  // where images are fetched, read and encoded
  std::string_view page;       // HTML, for GET /
  bool draining = false;
  u32 large_bodies = 0;  // being read at the moment
};

// Holds one of the limited places for large bodies.
class body_place {
 public:
  // Throws api_error if all are taken.
  body_place(surroundings& around, bool large) : around_(around), taken_(large) {
    if (large && around.large_bodies == around.limits.large_bodies)
      throw overloaded("too many large requests at a time");
    around.large_bodies += taken_;
  }
  body_place(const body_place&) = delete;
  body_place& operator=(const body_place&) = delete;
  ~body_place() { leave(); }
  void leave() { around_.large_bodies -= std::exchange(taken_, false); }

 private:
  surroundings& around_;
  bool taken_;
};

class connection {
 public:
  connection(tcp::socket socket, surroundings& around) : stream_(std::move(socket)), around_(around) {}

  // Returns when the client has gone or has broken the protocol, or the server ends.
  asio::awaitable<void> run() {
    while (co_await one_request()) {}
    error_code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_both, ignored);
  }
  // Whether no part of a request has arrived yet.
  bool idle() const { return idle_; }
  // What reads its images ends with the present one.
  void close() { gone_ = true, stream_.close(); }

 private:
  using parser = http::request_parser<http::string_body>;
  template <class Duration> void within(Duration d) { stream_.expires_after(d); }
  static auto into(error_code& ec) { return asio::redirect_error(asio::use_awaitable, ec); }

  // True: another request may follow.
  asio::awaitable<bool> one_request() {
    if (!co_await something_arrives()) co_return false;
    parser p;
    p.header_limit(static_cast<u32>(limits().header));
    p.body_limit(limits().body);
    error_code ec;
    within(around_.limits.header);
    co_await http::async_read_header(stream_, buffer_, p, into(ec));
    const std::string_view origin = view(p.get()[http::field::origin]);
    origin_ = around_.door.allows_origin(origin) ? origin : std::string_view();  // what is refused has it too
    if (ec) co_return co_await refuse(read_error(ec), 11);
    const unsigned version = p.get().version();
    std::optional<api_error> wrong;
    std::optional<body_place> place;
    try {
      meet(p.get());
      place.emplace(around_, p.chunked() || p.content_length().value_or(0) > around_.limits.large_body);
    } catch (const api_error& e) { wrong = e; }
    if (wrong) co_return co_await refuse(wrong, version);
    if (p.get()[http::field::expect] == "100-continue") {
      within(around_.limits.write);
      co_await asio::async_write(stream_, asio::buffer(std::string_view("HTTP/1.1 100 Continue\r\n\r\n")), into(ec));
      if (ec) co_return false;
    }
    within(around_.limits.body);
    co_await http::async_read(stream_, buffer_, p, into(ec));
    if (ec) co_return co_await refuse(read_error(ec), version);
    ++served_;
    co_return co_await answer(p.release(), *place);
  }
  asio::awaitable<bool> something_arrives() {
    if (buffer_.size() > 0) co_return true;
    if (around_.draining && served_ > 0) co_return false;
    error_code ec;
    within(served_ == 0 ? around_.limits.header : around_.limits.idle);
    idle_ = true;
    const std::size_t n = co_await stream_.async_read_some(buffer_.prepare(4096), into(ec));
    idle_ = false;
    buffer_.commit(n);
    co_return !ec;
  }

  const request_limits& limits() const { return around_.answers.limits(); }
  metrics& count() { return around_.answers.counts(); }

  // Checks that need no body. Throws api_error.
  void meet(const http_request& r) {
    // Headers that a proxy in front of this server might read differently: the host, and where the body ends.
    if (r.count(http::field::host) > 1) throw bad_request("more than one Host header", {}, "bad_http");
    const std::size_t codings = r.count(http::field::transfer_encoding);
    if (codings > 1 || (codings == 1 && !beast::iequals(r[http::field::transfer_encoding], "chunked")))
      throw api_error(501, "invalid_request_error", "the only Transfer-Encoding that is understood is chunked", {},
                      "unknown_coding");
    if (!around_.door.knows_host(view(r[http::field::host])))
      throw api_error(403, "invalid_request_error",
                      "this server does not go by the name in the Host header (see --allow-host)", {}, "unknown_host");
    path_ = path_of(view(r.target()));
    route_ = nullptr;
    preflight_ = r.method() == http::verb::options && !origin_.empty();
    bool known = false;
    allowed_.clear();
    for (const route& candidate : routes) {
      if (!matches(candidate, path_)) continue;
      known = true;
      (allowed_ += allowed_.empty() ? "" : ", ") += candidate.method;
      if (view(r.method_string()) == candidate.method) route_ = &candidate;
    }
    if (!known) throw api_error(404, "invalid_request_error", "there is nothing at this address", {}, "not_found");
    if (preflight_) return;
    if (!route_)
      throw api_error(405, "invalid_request_error", "this address takes " + allowed_, {}, "method_not_allowed");
    const auto key = around_.door.key_of(view(r[http::field::authorization]));
    if (!key && !route_->open)
      throw api_error(401, "authentication_error", "an API key is needed: Authorization: Bearer KEY", {},
                      "invalid_api_key");
    owner_ = key.value_or(0);
    // Without permission (CORS) a page of another site can send text, but not JSON.
    if (route_->method == "POST" && !is_json(view(r[http::field::content_type])))
      throw api_error(415, "invalid_request_error", "the body must be application/json", {}, "unsupported_media_type");
  }

  asio::awaitable<bool> answer(http_request r, body_place& place) {
    if (preflight_) co_return co_await send(preflight(r), r.keep_alive());
    const bool generates =
        route_->does == action::completions || route_->does == action::chat || route_->does == action::embeddings;
    std::optional<api_error> wrong;
    try {
      if (around_.draining && (generates || route_->does == action::health)) throw draining();
      if (generates) co_return co_await generate(r, place);
      http_response out(http::status::ok, r.version());
      if (route_->does == action::page) set_page(out);
      else if (route_->does == action::apply_template)
        out.body() = co_await seeing([&] { return around_.answers.answer(*route_, path_, r.body(), &gone_); });
      else out.body() = co_await on(around_.readers, [&] { return around_.answers.answer(*route_, path_, r.body()); });
      set_common(out, route_->type, r.keep_alive());
      co_return co_await send(std::move(out), r.keep_alive());
    } catch (const api_error& e) { wrong = e; } catch (const Error& e) {
      wrong = api_error(e.code == errc::usage ? 400 : 500,
                        e.code == errc::usage ? "invalid_request_error" : "server_error", e.what());
    } catch (const std::bad_alloc&) { wrong = api_error(503, "server_error", "out of memory"); }
    if (gone_) co_return false;
    ++count().refused;
    co_return co_await send(refusal(*wrong, r.version(), r.keep_alive()), r.keep_alive());
  }

  // The page may connect to this server only.
  void set_page(http_response& r) const {
    r.body() = around_.page;
    r.set(
        "Content-Security-Policy",
        "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; img-src data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
    r.set("Referrer-Policy", "no-referrer");
  }

  // Runs f() on another thread, so that this executor is not blocked.
  template <class F> asio::awaitable<std::invoke_result_t<F>> on(asio::thread_pool& threads, F f) {
    return asio::co_spawn(
        threads, [f = std::move(f)]() -> asio::awaitable<std::invoke_result_t<F>> { co_return f(); },
        asio::use_awaitable);
  }
  // Runs f(), which looks at gone_ before each image.
  template <class F> asio::awaitable<std::invoke_result_t<F>> seeing(F f) {
    client_watch watch(stream_.socket(), [this] { gone_ = true; });
    auto seen = co_await on(around_.viewers, std::move(f));
    error_code ignored;
    stream_.socket().cancel(ignored);  // the watch
    co_return seen;
  }

  asio::awaitable<bool> generate(http_request& r, body_place& place) {
    const auto task = co_await on(around_.readers, [&] { return around_.answers.task(*route_, r.body(), owner_); });
    r.body() = {};
    if (task->unseen) co_await seeing([&] { return around_.answers.see(*task, &gone_), true; });
    place.leave();
    if (task->orders.size() > around_.answers.work().options().queue)
      throw bad_request("more answers than the queue has places", "n", "invalid_value");
    answering a(stream_.socket(), *task, around_.limits.unread);
    if (!around_.answers.work().submit(a.jobs())) throw overloaded("all slots are busy and the queue is full");
    a.watch();
    bool more;
    if (task->request.stream) more = co_await stream_events(a, *task, r);
    else more = co_await whole_answer(a, *task, r);
    error_code ignored;
    stream_.socket().cancel(ignored);  // the watch
    co_return more;
  }
  asio::awaitable<bool> whole_answer(answering& a, generation_task& task, const http_request& r) {
    while (!a.done()) co_await a.next();
    if (a.gone()) co_return false;
    http_response out(http::status::ok, r.version(), task.writer->whole());
    set_common(out, json_type, r.keep_alive());
    co_return co_await send(std::move(out), r.keep_alive());
  }
  asio::awaitable<bool> stream_events(answering& a, generation_task& task, const http_request& r) {
    const bool chunked = r.version() >= 11;  // HTTP/1.0: the end of the connection ends the answer
    http_response head(http::status::ok, r.version());
    set_common(head, event_type, chunked && r.keep_alive());
    if (!origin_.empty()) add_origin(head);
    head.chunked(chunked);
    std::ostringstream text;
    text << head.base();
    // No co_await inside && or ||: g++ 12 evaluates it regardless of the left side.
    if (!co_await write(text.str())) co_return false;
    std::string events = task.writer->opening();
    bool failed = false;
    while (co_await write_part(events, chunked)) {
      if (failed || a.gone()) co_return false;
      if (a.done()) break;
      try {
        events = co_await a.next();
      } catch (const api_error& e) {  // the status has been sent already
        events = "data: " + dump(e.body()) + "\n\n";
        failed = true;
      }
    }
    if (!a.done()) co_return false;
    if (!co_await write_part(task.writer->closing(), chunked)) co_return false;
    if (!chunked) co_return false;
    if (!co_await write("0\r\n\r\n")) co_return false;
    co_return r.keep_alive();
  }
  asio::awaitable<bool> write_part(const std::string& events, bool chunked) {
    if (events.empty()) co_return true;
    if (!chunked) co_return co_await write(events);
    char size[24];
    std::snprintf(size, sizeof size, "%zx\r\n", events.size());
    co_return co_await write(size + events + "\r\n");
  }
  // Here and in send() the limit is on a time without progress, so that a slow client gets a large answer.
  asio::awaitable<bool> write(std::string bytes) {
    error_code ec;
    for (std::size_t done = 0; !ec && done < bytes.size();) {
      within(around_.limits.write);
      done += co_await stream_.async_write_some(asio::buffer(bytes) + done, into(ec));
    }
    co_return !ec;
  }

  http_response preflight(const http_request& asked) const {
    http_response r(http::status::no_content, asked.version());
    r.set(http::field::access_control_allow_methods, allowed_);
    r.set(http::field::access_control_allow_headers,
          allowed_headers(view(asked[http::field::access_control_request_headers])));
    r.set(http::field::access_control_max_age, "600");
    return r;
  }
  void add_origin(http_response& r) const {
    r.set(http::field::access_control_allow_origin, origin_);
    r.set(http::field::vary, "Origin");
  }
  asio::awaitable<bool> send(http_response r, bool keep_alive) {
    if (!origin_.empty()) add_origin(r);
    r.keep_alive(keep_alive);
    r.prepare_payload();
    http::response_serializer<http::string_body> parts(r);
    error_code ec;
    while (!ec && !parts.is_done()) {
      within(around_.limits.write);
      co_await http::async_write_some(stream_, parts, into(ec));
    }
    co_return !ec && keep_alive && !around_.draining;
  }
  // Sends the error, then reads until the client closes: unread bytes from the client would reset the connection before
  // the error has arrived.
  asio::awaitable<bool> refuse(std::optional<api_error> why, unsigned version) {
    if (!why) co_return false;
    ++count().refused;
    http_response r = refusal(*why, version, false);
    if (why->status == 405) r.set(http::field::allow, allowed_);
    co_await send(std::move(r), false);
    error_code ec;
    stream_.socket().shutdown(tcp::socket::shutdown_send, ec);
    within(std::chrono::seconds(2));
    char rest[4096];
    for (std::size_t left = 4 * limits().body; !ec && left > sizeof rest;)
      left -= co_await stream_.async_read_some(asio::buffer(rest), into(ec));
    co_return false;
  }

  beast::tcp_stream stream_;
  surroundings& around_;
  beast::flat_buffer buffer_{std::size_t{1} << 16};
  const route* route_ = nullptr;
  std::string path_, allowed_, origin_;
  u32 owner_ = 0;
  u64 served_ = 0;
  bool preflight_ = false, idle_ = false;
  std::atomic<bool> gone_ = false;  // the client, or the server that would answer it
};

}  // namespace cke::serve
