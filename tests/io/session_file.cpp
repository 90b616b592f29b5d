// SPDX-License-Identifier: MIT
// session_file.cpp: the file of a session, whole, cut, flipped and forged; and the checksum in it.
#include "cke/io/session_format.hpp"

#include "damage.hpp"

namespace session_file_test {

using namespace cke;
using namespace cke::io;

namespace {

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

// Two pages of 4 positions that know 6 of 7 ids, the last with what passes, and logits of 3.
session_header small() {
  session_header h;
  h.kv_type = 1, h.program = 11, h.weights = 12, h.page_bytes = 40, h.transient_bytes = 24, h.page_positions = 4,
  h.pages = 2, h.transient = 1, h.vocab = 3, h.ids = 7, h.position = 6;
  return h;
}
std::string written(const std::string& path, const session_header& h) {
  session_writer w(path, h);
  std::string content(u64{h.ids} * 4 + u64{h.vocab} * 4 + h.pages * h.page_bytes + h.transient * h.transient_bytes,
                      ' ');
  for (std::size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * 7);
  w.put(bytes_of(content).first(20)), w.put(bytes_of(content).subspan(20));
  w.commit();
  return damage::content(path);
}
void parse(std::span<const std::byte> bytes) {
  session_header h;
  session_file::parse(bytes, "s", h);
}
void parse(std::string_view text) { parse(bytes_of(text)); }

}  // namespace

TEST_CASE("xxh64: the values of its author, in one piece and in many") {
  const std::string_view text = "Nobody inspects the spammish repetition";
  CHECK(xxh64::of({}) == 0xEF46DB3751D8E999u);
  CHECK(xxh64::of(bytes_of("a")) == 0xD24EC4F1A98C6E5Bu);
  CHECK(xxh64::of(bytes_of("abc")) == 0x44BC2CF5AD770999u);
  CHECK(xxh64::of(bytes_of(text)) == 0xFBCEA83C8A378BF1u);
  const std::string longer(1000, 'x');
  for (std::size_t step = 1; step < 80; ++step) {
    xxh64 h;
    for (std::size_t at = 0; at < longer.size(); at += step)
      h.add(bytes_of(longer).subspan(at, std::min(step, longer.size() - at)));
    CHECK(h.value() == xxh64::of(bytes_of(longer)));
  }
  CHECK(xxh64::of(bytes_of(text), 1) != xxh64::of(bytes_of(text)));
}

TEST_CASE("session file: its parts are what was written") {
  const damage::scratch dir;
  const std::string path = dir.dir() + "/s", whole = written(path, small());
  const session_file f(path);
  CHECK(whole.size() == sizeof(session_header) + 28 + 12 + 80 + 24 + 8);
  CHECK(f.header().ids == 7);
  CHECK(f.ids().size() == 28);
  CHECK(f.logits().data() == f.ids().data() + 28);
  CHECK(f.page(0).data() == f.logits().data() + 12);
  CHECK(f.page(1).data() == f.page(0).data() + 40);
  CHECK(std::memcmp(f.page(1).data(), &whole[whole.size() - 72], 40) == 0);
  CHECK(f.transient(1).data() == f.page(1).data() + 40);
  CHECK(std::memcmp(f.transient(1).data(), &whole[whole.size() - 32], 24) == 0);
  CHECK(written(path, small()) == whole);  // over the first
}

TEST_CASE("session file: no part of one is accepted, and none with a wrong bit") {
  const damage::scratch dir;
  const std::string whole = written(dir.dir() + "/s", small());
  CHECK_NOTHROW(parse(std::string_view(whole)));
  CHECK(damage::shortest_accepted(whole, [](const auto& b) { parse(b); }) == whole.size());
  CHECK(damage::flips_accepted(whole, [](const auto& b) { parse(b); }) == 0);
  CHECK_THROWS_AS(parse(std::string_view(whole + ' ')), Error);
}

TEST_CASE("session file: numbers that do not fit together are refused, with every checksum right") {
  const damage::scratch dir;
  const std::string path = dir.dir() + "/s";
  const auto refused = [&](auto change) {
    session_header h = small();
    change(h);
    h.checksum = h.own_checksum();
    std::string text(reinterpret_cast<const char*>(&h), sizeof h);
    u64 size = 0;
    if (h.file_bytes(size) && size < 4096) text.resize(size - 8, 'x');
    const u64 sum = xxh64::of(bytes_of(text));
    text.append(reinterpret_cast<const char*>(&sum), sizeof sum);
    return damage::error_of([&] { parse(std::string_view(text)); });
  };
  CHECK(refused([](session_header&) {}).empty());
  CHECK(refused([](session_header& h) { h.version = 1; }) == "s: session file: expected version 2, found 1");
  CHECK(refused([](session_header& h) { h.magic[0] = 'X'; }) == "s: expected a session file, found another one");
  for (const u32 position : {0u, 4u, 8u, 9u, ~0u})
    CHECK(refused([&](session_header& h) { h.position = position; }).find("expected pages of its positions") !=
          std::string::npos);
  CHECK(refused([](session_header& h) { h.page_positions = 0; }).find("expected pages of its positions") !=
        std::string::npos);
  CHECK(refused([](session_header& h) { h.page_bytes = u64{1} << 63; }) ==
        "s: session file: expected a size of 64 bits, found more");
  CHECK(refused([](session_header& h) { h.page_bytes = ~u64{} / 2; }) ==
        "s: session file: expected a size of 64 bits, found more");
  CHECK(refused([](session_header& h) { h.transient_bytes = ~u64{}; }) ==
        "s: session file: expected a size of 64 bits, found more");
  CHECK(refused([](session_header& h) { h.transient = 3; }).find("expected pages of its positions") !=
        std::string::npos);
  CHECK(refused([](session_header& h) { h.transient = ~0u; }).find("bytes, found") != std::string::npos);
  CHECK(refused([](session_header& h) { h.pages = ~0u; }).find("bytes, found") != std::string::npos);
  CHECK(refused([](session_header& h) { h.ids = ~0u; }).find("bytes, found") != std::string::npos);
}

}  // namespace session_file_test
