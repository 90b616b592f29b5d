// SPDX-License-Identifier: MIT
// bare.hpp: bare_model: a small model without an operating system.
#pragma once

#include <array>
#include <concepts>
#include <span>

#include "core/result.hpp"
#include "core/xxh64.hpp"
#include "runtime/bare_plan.hpp"
#include "runtime/float_mode.hpp"
#include "runtime/unrolled_pass.hpp"

namespace cke {

// M, Formats, KV and Isa are those of cke::Model; the bits are those of an unrolled model of the same isa. It takes no
// heap, thread, file, exception or RTTI: weights are an image (bare_image.hpp writes it, `cke build --embed` too) that
// stays where it is, and all that changes is in memory of the caller, of a size that is a constant. It is one sequence
// of at most Context positions, which goes row by row.
template <class M, class Formats, dtype KV, u32 Context, class Isa = isa::native> class bare_model {
 public:
  using program = graph::program<M, Formats>;
  using plan = runtime::bare_plan<program, KV, Isa, Context>;
  using isa = Isa;
  static constexpr dtype kv = KV;
  static constexpr u32 vocab_size = program::vocab, context = Context;
  static constexpr u64 image_bytes = plan::image_bytes, memory_bytes = plan::at.total;
  struct alignas(64) memory {
    std::array<std::byte, memory_bytes> bytes;
  };

  bare_model() = default;

  // Both must outlive the model; what was in `to` is lost. Fails with malformed for an image that is misaligned, of
  // another size, of weights with other shapes, of another format, isa or context, or damaged.
  static result<bare_model> open(std::span<const std::byte> image, memory& to) {
    const auto address = reinterpret_cast<std::uintptr_t>(image.data());
    if (image.size() != image_bytes) return failure{errc::malformed, "bytes of the image", image_bytes, image.size()};
    if (address % 64) return failure{errc::malformed, "address of the image, modulo 64", 0, address % 64};
    runtime::bare_header h;
    std::memcpy(&h, image.data(), sizeof h);
    if (h.magic != h.right_magic) return failure{errc::malformed, "first 8 bytes of the image", h.right_magic, h.magic};
    if (h.model != plan::fingerprint) return failure{errc::malformed, "model of the image", plan::fingerprint, h.model};
    if (h.bytes != image_bytes) return failure{errc::malformed, "bytes that the image says", image_bytes, h.bytes};
    if (const u64 sum = xxh64::of(image.subspan(sizeof h)); sum != h.sum)
      return failure{errc::malformed, "checksum of the image", h.sum, sum};
    return bare_model(image.data(), to);
  }

  u32 position() const { return position_; }
  void rewind() { position_ = 0; }  // forgets all

  // Appends ids and returns the logits [vocab_size] after the last; they stay until the next call. Fails with usage if
  // there is none, token_range or context_overflow before anything has happened.
  result<std::span<const float>> feed(std::span<const u32> ids) {
    if (ids.empty()) return failure{errc::usage, "ids, at least", 1, 0};
    if (ids.size() > Context - position_)
      return failure{errc::context_overflow, "positions, at most", Context, position_ + u64{ids.size()}};
    for (const u32 id : ids)
      if (id >= vocab_size) return failure{errc::token_range, "token id, at most", vocab_size - 1, id};
    const runtime::kernel_float_mode mode;
    for (const u32& id : ids) {
      straight::template layers<1>(row_of(&id), weights_);
      ++position_;
    }
    const rows last = row_of(nullptr);
    straight::footer(last, weights_);
    constexpr auto logits = static_cast<graph::reg>(program::footer_code().regs.size() - 1);
    return std::span<const float>(straight::template register_of<plan::straight::footer, logits>(last, 0).row(0),
                                  vocab_size);
  }
  result<std::span<const float>> feed(std::same_as<u32> auto id) { return feed(std::span(&id, 1)); }

 private:
  using straight = runtime::unrolled_pass<program, KV, Isa, 1>;
  using rows = typename straight::sequence_rows;

  bare_model(const std::byte* image, memory& to)
      : memory_(to.bytes.data()), weights_(image + sizeof(runtime::bare_header)) {
    constexpr auto& pages = plan::pages;
    std::memset(memory_, 0, memory_bytes);
    for (u32 part = 0; part < 2; ++part) {
      const u64 block_bytes = part ? pages.transient.caches : pages.persistent.caches;
      const u64 page_bytes = pages.bytes(part ? pages.transient : pages.persistent);
      const u32 slots = part ? plan::transient_slots : plan::page_count;
      for (u32 page = 0; slots && page < plan::page_count; ++page)
        for (u32 b = 0; b < pages.blocks; ++b)
          blocks(part)[page * pages.blocks + b] =
              memory_ + (part ? plan::at.transient : plan::at.persistent) + page % slots * page_bytes + b * block_bytes;
    }
    for (u32 r = 0; r < plan::ropes; ++r) {
      const auto* const table = reinterpret_cast<const float*>(image + plan::table_offset(r));
      ropes_[r] = {table, table + plan::table_bytes(r) / sizeof(float), Context, Context};
    }
  }

  std::byte** blocks(u32 part) const {
    return reinterpret_cast<std::byte**>(memory_ + plan::at.blocks) + part * (plan::page_count * plan::pages.blocks);
  }
  // The row of an id at position_.
  rows row_of(const u32* id) const {
    constexpr auto& at = plan::at;
    return {{memory_ + at.stream, memory_ + at.layer_inputs, memory_ + at.shared, memory_ + at.own,
             memory_ + at.scratch, nullptr},
            ropes_.data(),
            id,
            {0, 1, position_, {blocks(0), blocks(1)}},
            0};
  }

  std::byte* memory_{};
  const std::byte* weights_{};
  u32 position_{};
  std::array<kernels::rope_view, plan::ropes ? plan::ropes : 1> ropes_{};
};

// The id with the greatest logit, the first of equals.
inline u32 likeliest(std::span<const float> logits) {
  u32 best = 0;
  for (u32 i = 1; i < logits.size(); ++i)
    if (logits[i] > logits[best]) best = i;
  return best;
}

}  // namespace cke
