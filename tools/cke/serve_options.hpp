// SPDX-License-Identifier: MIT
// serve_options.hpp: the options of cke serve.
#pragma once

#include <arpa/inet.h>

#include <string>

#include "commands.hpp"
#include "options.hpp"

namespace cke::tool {

inline const CLI::Validator ip_address(
    [](const std::string& text) {
      unsigned char bytes[16];
      const bool right = inet_pton(AF_INET, text.c_str(), bytes) == 1 || inet_pton(AF_INET6, text.c_str(), bytes) == 1;
      return right ? std::string() : '"' + text + "\" is no IP address";
    },
    "");

inline void serve_options_of(CLI::App& app, serve_args& to) {
  running_options_of(app, to.model);
  app.add_option("--host", to.host, "the IP address to listen at; 0.0.0.0: all that this machine has")
      ->type_name("ADDRESS")
      ->check(ip_address)
      ->capture_default_str();
  app.add_option("--port", to.port, "the port; 0: any that is free")
      ->type_name("PORT")
      ->check(number(0u, 65535u))
      ->capture_default_str();
  app.add_option("--parallel", to.slots,
                 "answers at the same time; each has a cache that grows up to the whole context")
      ->check(number(1u, 256u))
      ->capture_default_str();
  sliding_option_of(app, to.slide);
  mmproj_option_of(app, to.model.mmproj);
  app.add_option("--queue", to.queue, "answers that may wait for one of those to end")
      ->check(number(1u, 1u << 16))
      ->capture_default_str();
  auto* guessed = app.add_option("--draft", to.draft,
                                 "guess up to N ids ahead in each step, shared among the answers that are under way: "
                                 "the same answers, sooner")
                      ->type_name("N")
                      ->check(number(0u, 64u))
                      ->capture_default_str();
  app.add_option("--draft-model", to.draft_model,
                 "a smaller model with the same vocabulary, which guesses them instead of what texts repeat")
      ->type_name("MODEL")
      ->needs(guessed);
  app.add_option("--id", to.id, "the model's name in requests and answers (its file's)")->type_name("NAME");
  app.add_option("--api-key-file", to.api_key_file, "a file with the keys that clients must have, one a line")
      ->type_name("FILE");
  app.add_option("--allow-host", to.allowed_hosts,
                 "a name that the server goes by, besides localhost; may be given again")
      ->type_name("NAME")
      ->allow_extra_args(false);
  app.add_option("--cors-origin", to.cors_origin,
                 "an origin whose pages may read answers, such as https://chat.example")
      ->type_name("ORIGIN");
  app.add_option("--drain", to.drain, "seconds that running answers may go on after SIGTERM")
      ->check(number(0u, 3600u))
      ->capture_default_str();
  pooling_option_of(app, to.pooling);
  app.add_option("--max-body", to.body_mebibytes, "MiB of a request (4; 32 for a model that sees images)")
      ->type_name("N")
      ->check(number(1u, 1024u));
  app.add_option("--max-images", to.images, "images of a request")->check(number(1u, 4096u))->capture_default_str();
  app.add_option("--max-image-pixels", to.image_pixels, "pixels of one image, looked at before it is decoded")
      ->check(number(u64{1}, u64{1} << 30))
      ->capture_default_str();
  app.add_flag("--allow-image-urls", to.fetch_images,
               "fetch images from http and https addresses that requests name, on the public network alone");
  app.add_option("--trace", to.trace, "writes what each pass held and what each request waited for, for Perfetto")
      ->type_name("FILE");
  app.add_flag("--insecure", to.insecure, "listen where others can reach it, without keys");
  app.footer(
      "Without other options it answers this machine alone, at http://127.0.0.1:8080: /v1/chat/completions, "
      "/v1/completions,\n"
      "/v1/embeddings, /v1/models, /tokenize, /detokenize, /apply-template, /health, /metrics, /slots, /facts, "
      "/openapi.json. SIGTERM ends it in good order.");
}

}  // namespace cke::tool
