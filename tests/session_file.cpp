// SPDX-License-Identifier: MIT
// session_file.cpp: a session that was kept in a file goes on to the bit, and nothing but the right file is taken.
#include "cke/session_file.hpp"

#include <doctest/doctest.h>
#include <cke/io/session_format.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "byte_model.hpp"

using namespace cke;
using namespace cke::graph;
using namespace cke::io;
using namespace cke::kernels;
using namespace cke::runtime;
using namespace cke::text;
using random_model::same_bits;

namespace {

using text_model = Model<byte_model::tiny, BF16>;

struct scratch {
  std::string path = (std::filesystem::temp_directory_path() / ("cke-session-" + std::to_string(::getpid()))).string();
  scratch() { std::filesystem::create_directory(path); }
  ~scratch() { std::filesystem::remove_all(path); }
  std::string operator/(std::string_view name) const { return path + '/' + std::string(name); }
};
std::string content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
text_model load(model_options o, u64 seed = 1) {
  return text_model::load(byte_model::with_text(random_model::tensors::of<text_model::program>(seed)), std::move(o));
}
std::span<const u32> ids(u32 from, u32 count) {
  static const std::vector<u32> all = random_model::ids(192, 259);
  return std::span(all).subspan(from, count);
}

}  // namespace

TEST_CASE("session file: a session goes on from one to the bit, whatever its model's threads and passes") {
  const scratch dir;
  const text_model& m = byte_model::shared<BF16>();  // 2 threads, passes of 40
  const text_model other = load({.threads = 1, .context = 256, .chunk = 7});
  for (const u32 count : {0u, 1u, 127u, 128u, 129u, 150u}) {
    CAPTURE(count);
    auto s = m.session();
    s.feed(ids(0, count));
    save_session(s, dir / "s");
    auto again = other.session();
    load_session(again, dir / "s");
    CHECK(std::ranges::equal(again.history(), s.history()));
    CHECK(same_bits(again.logits(), s.logits()));
    save_session(again, dir / "twin");
    CHECK(content(dir / "twin") == content(dir / "s"));
    s.feed(ids(count, 30));
    again.feed(ids(count, 30));
    CHECK(same_bits(again.logits(), s.logits()));
  }
  auto found = other.session();
  CHECK(found.recall(ids(0, 150)) == 128);  // what came from a file is remembered like what was computed
}

TEST_CASE("session file: what others left in a page is not in it") {
  const scratch dir;
  const text_model m = load({.threads = 1, .context = 192, .cache_positions = 256});
  auto s = m.session();
  s.feed(ids(0, 20));
  save_session(s, dir / "clean");
  s.reset();
  s.feed(ids(40, 150));
  s.reset();
  s.feed(ids(0, 20));
  save_session(s, dir / "reused");
  CHECK(content(dir / "clean") == content(dir / "reused"));
  // Nor the logits of ids that were dropped.
  auto other = m.session();
  for (const u32 from : {60u, 90u}) {
    other.reset();
    other.feed(ids(0, 20)), other.feed(ids(from, 30));
    other.rewind(20);
    save_session(other, dir / (from == 60 ? "clean" : "reused"));
  }
  CHECK(content(dir / "clean") == content(dir / "reused"));
}

TEST_CASE("session file: the wrong file, or no room, is an error, and the session is as it was") {
  const scratch dir;
  const text_model m = load({.threads = 1, .context = 192, .cache_positions = 384});
  auto s = m.session();
  s.feed(ids(0, 140));
  save_session(s, dir / "s");
  s.reset();
  s.feed(ids(40, 140));  // other pages: those of the file would be shared
  auto fresh = m.session();
  const auto refused = [&](const std::string& path) {
    const auto e = random_model::failure_of([&] { load_session(fresh, path); });
    CHECK(fresh.position() == 0);
    return e;
  };
  CHECK(random_model::failure_of([&] { load_session(s, dir / "s"); }).text ==
        "restore: expected a sequence at position 0, found 140");
  CHECK(s.position() == 140);
  CHECK(refused(dir / "none").code == errc::file);
  CHECK(refused(dir / "s").code == errc::cache_full);  // one page of three is free
  s.reset();
  CHECK_NOTHROW(load_session(fresh, dir / "s"));
  fresh.reset();

  const std::string whole = content(dir / "s");
  for (std::size_t at : {std::size_t{3}, std::size_t{60}, whole.size() / 2, whole.size() - 1}) {
    std::string broken = whole;
    broken[at] = static_cast<char>(broken[at] ^ 16);
    std::ofstream(dir / "broken", std::ios::binary) << broken;
    CHECK(refused(dir / "broken").code == errc::malformed);
  }
  // Whole files whose headers say something else.
  const auto forged = [&](auto change) {
    session_header h;
    std::memcpy(&h, whole.data(), sizeof h);
    std::string rest = whole.substr(sizeof h, whole.size() - sizeof h - 8);
    change(h, rest);
    session_writer w(dir / "forged", h);
    w.put(std::as_bytes(std::span(rest)));
    w.commit();
    return refused(dir / "forged");
  };
  CHECK(forged([](session_header& h, std::string&) {
          ++h.weights;
        }).text.ends_with("session file: expected one of a model with these weights, found other weights"));
  CHECK(forged([](session_header& h, std::string&) {
          ++h.program;
        }).text.ends_with("session file: expected one of this model, compiled for this machine, found one of another"));
  CHECK(forged([](session_header& h, std::string&) {
          h.kv_type = 0;
        }).text.ends_with("keys and values: expected f16, found f32"));
  CHECK(forged([](session_header& h, std::string&) { h.kv_type = 77; }).code == errc::config_mismatch);
  CHECK(forged([](session_header&, std::string& rest) { rest[1] = 127; }).code == errc::token_range);

  const text_model other = load({.threads = 1, .context = 192}, 2), narrow = load({.threads = 1, .context = 139});
  auto stranger = other.session();
  CHECK(random_model::failure_of([&] { load_session(stranger, dir / "s"); }).code == errc::config_mismatch);
  auto small = narrow.session();
  CHECK(random_model::failure_of([&] { load_session(small, dir / "s"); }).code == errc::context_overflow);
  CHECK(random_model::failure_of([&] { save_session(s, dir / "no/folder"); }).code == errc::file);
  CHECK(random_model::failure_of([&] { save_session(s, dir.path); }).code == errc::file);
}
