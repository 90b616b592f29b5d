// SPDX-License-Identifier: MIT
// public_address.hpp: which addresses a server may connect to when a client names them.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>

#include <array>
#include <cstring>
#include <functional>
#include <string_view>

#include "../core/types.hpp"

namespace cke::fetch {

// Whether an address may be connected to.
using address_rule = std::function<bool(const sockaddr&)>;

namespace detail {

struct network {
  std::array<u8, 16> bits;
  u32 prefix;

  constexpr bool has(const u8* address) const {
    for (u32 i = 0; i < prefix; ++i) {
      const u32 mask = 0x80u >> (i % 8);
      if ((bits[i / 8] ^ address[i / 8]) & mask) return false;
    }
    return true;
  }
};

// Of IPv4: what IANA's registry of special purposes says is not global, multicast, and what is reserved.
inline constexpr network special_v4[] = {
    {{0}, 8},
    {{10}, 8},
    {{100, 64}, 10},
    {{127}, 8},
    {{169, 254}, 16},
    {{172, 16}, 12},
    {{192, 0, 0}, 24},
    {{192, 0, 2}, 24},
    {{192, 168}, 16},
    {{192, 88, 99}, 24},
    {{198, 18}, 15},
    {{198, 51, 100}, 24},
    {{203, 0, 113}, 24},
    {{224}, 4},
    {{240}, 4},
};
// Of IPv6 only 2000::/3 is given out, and these in it are not global, or hold an IPv4 address.
inline constexpr network global_v6{{0x20}, 3};
inline constexpr network special_v6[] = {
    {{0x20, 0x01, 0x00}, 23},        // protocols: Teredo, ORCHID, benchmarks
    {{0x20, 0x01, 0x0d, 0xb8}, 32},  // documentation
    {{0x20, 0x02}, 16},              // 6to4
    {{0x3f, 0xff, 0x00}, 20},        // documentation
};

}  // namespace detail

// Not this machine, not its network, and no group of machines.
inline bool is_public(const sockaddr& address) {
  const auto in = [](const u8* bytes) { return [bytes](const detail::network& n) { return n.has(bytes); }; };
  const auto any = [](const auto& networks, auto f) {
    for (const auto& n : networks)
      if (f(n)) return true;
    return false;
  };
  if (address.sa_family == AF_INET) {
    sockaddr_in v4;
    std::memcpy(&v4, &address, sizeof v4);
    u8 bytes[4];
    std::memcpy(bytes, &v4.sin_addr, sizeof bytes);
    return !any(detail::special_v4, in(bytes));
  }
  if (address.sa_family == AF_INET6) {
    sockaddr_in6 v6;
    std::memcpy(&v6, &address, sizeof v6);
    return detail::global_v6.has(v6.sin6_addr.s6_addr) && !any(detail::special_v6, in(v6.sin6_addr.s6_addr));
  }
  return false;
}

}  // namespace cke::fetch
