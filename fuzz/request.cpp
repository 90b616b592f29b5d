// SPDX-License-Identifier: MIT
// request.cpp: fuzz target: any bytes as a request's body yield status 400 or a request within the documented ranges.
#include <cke/serve/body.hpp>
#include <cke/serve/conversation.hpp>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cke::serve;
  static const request_limits limits{.body = 1 << 16, .header = 0, .depth = 12, .values = 2000, .keys = 64};
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::span<const field> tables[] = {fields::completion, fields::chat, fields::tokenize, fields::detokenize,
                                           fields::apply_template};
  for (const auto table : tables) try {
      const json body = parse_body(text, limits);
      check(body, table);
      if (body.contains("messages")) conversation_of(body, limits);
      dump(body);
    } catch (const api_error& e) {
      if (e.status != 400 || dump(e.body()).empty()) std::abort();
    }
  return 0;
}
