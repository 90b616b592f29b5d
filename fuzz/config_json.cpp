// SPDX-License-Identifier: MIT
// config_json.cpp: fuzz target: any bytes as a config.json or as GGUF metadata yield an error or a valid config.
#include <cke/config_check.hpp>
#include <cke/io/hf_config.hpp>
#include <cke/models/llama.hpp>
#include <cke/models/qwen3.hpp>
#include <cstdlib>

namespace {

template <class Family> void read(cke::naming as, std::string_view text) {
  const cke::io::checkpoint from{.name = "fuzz",
                                 .as = as,
                                 .model_type = std::string(Family::name),
                                 .config = std::string(text),
                                 .tensors = {},
                                 .tokens = {},
                                 .stop_ids = {}};
  try {
    cke::rope_factors factors;
    const auto c = cke::config_of<Family>(from, factors);
    const auto within = [](double x, double least, double most) {
      if (!(x >= least && x <= most)) std::abort();
    };
    within(c.vocab, 1, 1 << 24), within(c.dim, 1, 1 << 20), within(c.hidden, 1, 1 << 22);
    within(c.layers, 1, 1024), within(c.heads, 1, 4096), within(c.kv_heads, 1, c.heads);
    within(c.head_dim, 2, 1024), within(c.eps.v, 1e-12, 0.1), within(c.rope.theta.v, 1, 1e12);
    within(c.rope.dims, 0, c.head_dim), within(c.rope.max_position, 0, 1 << 28);
    within(factors.long_count, 0, 256), within(factors.short_count, 0, 256);
    if (c.heads % c.kv_heads || c.head_dim % 2) std::abort();
    // The frequencies can be computed, or are refused, whatever the method.
    cke::same_rope(c.rope, c.rope, c.head_dim, 4096);
  } catch (const cke::Error&) {}
}

void read_all(cke::naming as, std::string_view text) {
  read<cke::family<"qwen3">>(as, text);
  read<cke::family<"llama">>(as, text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  // The reader stays in bounds on any text, but only well-formed text yields a config.
  for (const auto as : {cke::naming::hf, cke::naming::gguf}) read_all(as, text);
  try {
    read_all(cke::naming::hf, cke::io::detail::checked_object(text, "fuzz").dump());
  } catch (const cke::Error&) {}
  return 0;
}
