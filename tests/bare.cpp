// SPDX-License-Identifier: MIT
// bare.cpp: a model without an operating system gives the bits of an unrolled one, and refuses bad input by value.
#include "cke/bare.hpp"

#include <cke/bare_image.hpp>

#include "cke/runtime/unrolled_executor.hpp"
#include "runtime/expert_model.hpp"
#include "runtime/recurrent_model.hpp"
#include "sameness/sameness.hpp"

namespace {

using cke::dtype, cke::errc, cke::u32, cke::u64;
using random_model::same_bits;

template <class M, class Formats, dtype KV, class Isa> struct board {
  using straight = sameness::machine<Formats, KV, Isa, 310, M, cke::runtime::unrolled>;
  using bare = cke::bare_model<M, Formats, KV, 310, Isa>;
  static constexpr u32 vocab = bare::vocab_size;

  std::shared_ptr<typename straight::loaded> model = straight::load(1, 64, 1);
  cke::plain_list<std::byte> bytes = cke::bare_image<bare>(model->packed);
  // At a multiple of 64, as a linker puts it.
  std::vector<std::byte> room = std::vector<std::byte>(bytes.size() + 128);
  std::byte* begin = room.data() + (64 - reinterpret_cast<std::uintptr_t>(room.data()) % 64) % 64;
  std::unique_ptr<typename bare::memory> memory = std::make_unique<typename bare::memory>();

  board() { std::memcpy(begin, bytes.data(), bytes.size()); }
  std::span<const std::byte> image() const { return {begin, bytes.size()}; }

  void check_bits() {
    REQUIRE(bytes.size() == bare::image_bytes);
    const std::vector<float> want = straight::decoded(model);
    std::memset(memory.get(), 0xff, sizeof *memory);  // what was there does not matter
    auto opened = bare::open(image(), *memory);
    REQUIRE(opened);
    for (u32 i = 0; i < straight::ids().size(); ++i) {
      CAPTURE(i);
      const auto logits = opened->feed(straight::ids()[i]);
      REQUIRE(logits);
      REQUIRE(same_bits(*logits, std::span(want).subspan(u64{i} * vocab, vocab)));
    }
    opened->rewind();
    for (const u32 count : {1u, 200u, 109u}) {
      const auto logits = opened->feed(std::span(straight::ids()).subspan(opened->position(), count));
      REQUIRE(logits);
      CHECK(same_bits(*logits, std::span(want).subspan(u64{opened->position() - 1} * vocab, vocab)));
    }
  }
};

using toy = board<random_model::mixed, cke::Q8_0, dtype::bf16, cke::isa::scalar>;

std::string text_of(const cke::failure& f) {
  return cke::concat({f.subject, ": expected ", f.expected, ", found ", f.found});
}

}  // namespace

TEST_CASE("bare: dense layers, with and without windows: the bits of an unrolled model") {
  board<random_model::mixed, cke::F32, dtype::f32, cke::isa::scalar>{}.check_bits();
  board<random_model::mixed, cke::BF16, dtype::f16, cke::isa::scalar>{}.check_bits();
  board<random_model::mixed, cke::Q8_0, dtype::bf16, cke::isa::native>{}.check_bits();
  toy{}.check_bits();
}
TEST_CASE("bare: recurrent states: the bits of an unrolled model") {
  board<random_model::recurrent, cke::Q8_0, dtype::q8_0, cke::isa::scalar>{}.check_bits();
}
TEST_CASE("bare: experts: the bits of an unrolled model") {
  board<random_model::with_experts, cke::Q8_0, dtype::f16, cke::isa::native>{}.check_bits();
}

TEST_CASE("bare: an image that is not the model's is refused") {
  toy t;
  const auto refused = [&](std::span<const std::byte> image) {
    const auto opened = toy::bare::open(image, *t.memory);
    REQUIRE(!opened);
    CHECK(opened.error().code == errc::malformed);
    return text_of(opened.error());
  };
  CHECK(refused(t.image().first(100)) ==
        cke::concat({"bytes of the image: expected ", toy::bare::image_bytes, ", found 100"}));
  CHECK(refused({}) == cke::concat({"bytes of the image: expected ", toy::bare::image_bytes, ", found 0"}));
  CHECK(refused({t.begin + 4, t.bytes.size()}) == "address of the image, modulo 64: expected 0, found 4");
  const auto changed = [&](u64 at, auto&& subject) {
    t.begin[at] ^= std::byte{4};
    CAPTURE(at);
    const std::string text = refused(t.image());
    CHECK_MESSAGE(text.starts_with(subject), text);
    t.begin[at] ^= std::byte{4};
  };
  changed(0, "first 8 bytes of the image: expected ");
  changed(8, "bytes that the image says: expected ");
  changed(16, "model of the image: expected ");
  for (const u64 at : {u64{24}, u64{64}, u64{1000}, t.bytes.size() - 1})
    changed(at, "checksum of the image: expected ");
  CHECK(toy::bare::open(t.image(), *t.memory));
}

TEST_CASE("bare: images of other models, formats, contexts and instruction sets are told apart") {
  using other_format = cke::bare_model<random_model::mixed, cke::F32, dtype::bf16, 310, cke::isa::scalar>;
  using other_context = cke::bare_model<random_model::mixed, cke::Q8_0, dtype::bf16, 309, cke::isa::scalar>;
  using other_isa = cke::bare_model<random_model::mixed, cke::Q8_0, dtype::bf16, 310, cke::isa::avx2>;
  using other_model = cke::bare_model<random_model::tiny, cke::Q8_0, dtype::bf16, 310, cke::isa::scalar>;
  const u64 all[]{toy::bare::plan::fingerprint, other_format::plan::fingerprint, other_context::plan::fingerprint,
                  other_isa::plan::fingerprint, other_model::plan::fingerprint};
  for (const u64& a : all)
    for (const u64& b : all) CHECK((&a == &b) == (a == b));
}

TEST_CASE("bare: ids that do not fit are refused, and nothing has happened") {
  toy t;
  auto m = toy::bare::open(t.image(), *t.memory);
  REQUIRE(m);
  const auto refused = [&](std::span<const u32> ids, errc code) {
    const u32 before = m->position();
    const auto logits = m->feed(ids);
    REQUIRE(!logits);
    CHECK(logits.error().code == code);
    CHECK(m->position() == before);
    return text_of(logits.error());
  };
  CHECK(refused({}, errc::usage) == "ids, at least: expected 1, found 0");
  const u32 ids[]{1, 131, 2};
  CHECK(refused(ids, errc::token_range) == "token id, at most: expected 130, found 131");
  REQUIRE(m->feed(std::span(toy::straight::ids()).first(300)));
  CHECK(refused(std::span(toy::straight::ids()).first(11), errc::context_overflow) ==
        "positions, at most: expected 310, found 311");
  CHECK(m->feed(std::span(toy::straight::ids()).first(10)));
}

TEST_CASE("bare: the first of equals is the likeliest") {
  const float logits[]{-1, 3, 2, 3};
  CHECK(cke::likeliest(logits) == 1);
}
