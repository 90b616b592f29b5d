// SPDX-License-Identifier: MIT
// tokenizer.cpp: fuzz target: any bytes as a tokenizer.json yield an error or a tokenizer that keeps its invariants.
#include <cke/io/hf_tokenizer.hpp>
#include <cke/io/pattern_splitter.hpp>
#include <cke/text/tokenizer/detokenizer.hpp>
#include <cstdlib>

// Input: the JSON, a NUL byte, the text to encode. Without a NUL the JSON is the text too.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t cut = input.find('\0');
  const std::string_view text = cut == input.npos ? input : input.substr(cut + 1);
  try {
    const cke::text::tokenizer t(
        cke::io::with_patterns(cke::io::parse_hf_tokenizer(input.substr(0, cut)), "tokenizer.json"));
    for (const bool special : {false, true}) {
      const auto ids = t.encode(text, {.parse_special = special, .add_special = special});
      cke::text::detokenizer stream(t, {.skip_special = false});
      for (const cke::u32 id : ids) {
        if (!special && t.is_special(id) && id != t.vocabulary().unknown) std::abort();
        for (std::string_view out = stream.push(id); !out.empty();) {
          const auto step = cke::text::utf8_next(out);
          if (step.state != cke::text::utf8_state::valid) std::abort();
          out.remove_prefix(step.size);
        }
      }
      t.decode(ids, special);
    }
  } catch (const cke::Error&) {}
  return 0;
}
