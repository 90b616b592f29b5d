// SPDX-License-Identifier: MIT
// serve.cpp: cke serve: serves a model over OpenAI's HTTP API.
#include <cke/serve/server.hpp>

#include <csignal>
#include <fstream>

#include "commands.hpp"
#include "image_fetcher.hpp"
#include "rooms.hpp"
#include "served.hpp"
#include "terminal.hpp"

// The assembler includes page.html as it is (CMakeLists.txt sets its path).
asm(".pushsection .rodata\n"
    "cke_page_begin: .incbin \"" CKE_PAGE
    "\"\n"
    "cke_page_end:\n"
    ".popsection");
extern const char page_begin[] asm("cke_page_begin"), page_end[] asm("cke_page_end");

namespace cke::tool {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw Error(errc::file, path, {}, "a readable file", std::strerror(errno));
  return {std::istreambuf_iterator<char>(in), {}};
}

serve::guard_options guard_of(const serve_args& args) {
  serve::guard_options o{.hosts = args.allowed_hosts, .keys = {}, .cors_origin = args.cors_origin};
  if (args.api_key_file) o.keys = serve::parse_keys(text_of(*args.api_key_file), *args.api_key_file);
  const serve::asio::ip::address address = serve::asio::ip::make_address(args.host);
  if (!address.is_loopback() && o.keys.empty() && !args.insecure)
    throw Error(errc::usage, {}, "--host", "--api-key-file, or --insecure: others can reach this address", args.host);
  if (!address.is_unspecified()) o.hosts.push_back(address.is_v6() ? '[' + args.host + ']' : args.host);
  return o;
}

serve::fetch_function fetch_of(const serve_args& args, const serve::request_limits& limits) {
  if (!args.fetch_images) return {};
  serve::fetch_function fetch = image_fetcher(limits.image_bytes);
  if (!fetch) throw Error(errc::usage, {}, "--allow-image-urls", "a cke that was built with libcurl", "one without it");
  return fetch;
}

serve::request_limits limits_of(const serve_args& args, bool sees) {
  serve::request_limits limits;
  limits.body = std::size_t{args.body_mebibytes.value_or(sees ? 32 : 4)} << 20;
  limits.images = args.images;
  limits.image_bytes = std::min(limits.image_bytes, limits.body);
  return limits;
}

}  // namespace

void serve_model(const serve_args& args) {
  const serve::guard_options who = guard_of(args);
  const serve::guard door(who);
  const loaded_model model = load_model(args.model, needs::text, args.slots + args.draft);
  std::optional<loaded_model> smaller;
  if (args.draft_model && args.draft)
    smaller = load_beside(*args.draft_model, "--draft-model", args.model, model, args.slots);
  served_parts parts(args.model, model,
                     {.id = args.id, .pooling = args.pooling, .slide = args.slide, .image_pixels = args.image_pixels});
  const serve::request_limits limits = limits_of(args, parts.eyes.has_value());
  serve::served_model& served = parts.model;
  served.fetch = fetch_of(args, limits);

  serve::metrics count;
  std::optional<serve::trace_file> trace;
  if (args.trace) trace.emplace(*args.trace);
  serve::scheduler work(*model.engine, *model.tokens,
                        {.slots = args.slots,
                         .queue = args.queue,
                         .chunk = *model.hints.chunk,
                         .share = who.keys.size() < 2,
                         .slide = args.slide,
                         .draft = args.draft,
                         .smaller = smaller ? smaller->engine.get() : nullptr,
                         .trace = trace ? &*trace : nullptr},
                        count);
  serve::service answers(served, work, count, limits, served_facts(model, parts, args.slots, args.image_pixels, limits),
                         CKE_VERSION, door.asks_for_keys());
  serve::server_options options{.address = args.host, .port = args.port};
  options.limits.drain = std::chrono::seconds(args.drain);
  serve::server server(options, answers, door, {page_begin, page_end});
  if (trace) trace->begin();  // where the port is taken, another server may be writing the file
  server.end_on(SIGTERM), server.end_on(SIGINT);
  struct sigaction hang_up{};  // keeps nohup's SIG_IGN
  if (::sigaction(SIGHUP, nullptr, &hang_up) == 0 && hang_up.sa_handler != SIG_IGN) server.end_on(SIGHUP);
  const bool v6 = args.host.find(':') != args.host.npos;
  put("serving " + served.id + " at http://" + (v6 ? '[' + args.host + ']' : args.host) + ':' +
      std::to_string(server.port()) + '\n');
  server.run();
  work.close();
  if (trace) trace->finish();
}

}  // namespace cke::tool
