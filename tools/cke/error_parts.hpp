// SPDX-License-Identifier: MIT
// error_parts.hpp: an Error whose message alone has come across an interface, with its parts again.
#pragma once

#include <string_view>

#include <cke/core/error.hpp>

#include "rooms.hpp"

namespace cke::tool {

// `message` is what() of an Error. `source`: what the message begins with if it names a file of the caller's; may be
// empty. What cannot be told apart becomes the subject, so that what() stays the same.
inline Error parted_error(errc code, std::string_view message, std::string_view source = {}) {
  constexpr std::string_view between = ": ", expected = "expected ", found = ", found ";
  std::string_view file, rest = message;
  if (!source.empty() && message.starts_with(source)) {
    const std::size_t end = message.find(between, source.size());
    if (end != message.npos) file = message.substr(0, end), rest = message.substr(end + between.size());
  }
  std::size_t at = rest.starts_with(expected) ? 0 : rest.find(": expected ");
  if (at == rest.npos) return {code, file, rest, {}};
  const std::string_view subject = rest.substr(0, at);
  rest.remove_prefix(at + (at ? between.size() : 0) + expected.size());
  at = rest.find(found);
  if (at == rest.npos || at + found.size() == rest.size())  // without what was found, "expected" is left out
    return {code, file, message.substr(file.empty() ? 0 : file.size() + between.size()), {}};
  return {code, file, subject, rest.substr(0, at), rest.substr(at + found.size())};
}

}  // namespace cke::tool
