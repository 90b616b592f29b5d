// SPDX-License-Identifier: MIT
// embed_source.cpp: see embed_source.hpp.
#include "embed_source.hpp"

#include <cke/core/concat.hpp>

namespace cke::tool {

std::string embedded_header(const embedded& e, const unit& u) {
  std::string ids;
  for (const u32 id : e.stop_ids) ids += concat({ids.empty() ? "" : ", ", id});
  const std::string kv(info(u.kv).name);
  std::string text =
      concat({"// Written by cke build --embed: ", u.family, " ", u.format, ", in ", e.name,
              e.object ? ".o" : ".bin, which " + e.name + ".S links", ".\n#pragma once\n\n#include <cke/bare.hpp>\n",
              u.card, "\nextern \"C\" const std::byte ", e.name, "_bytes[];\n\nnamespace ", e.name, " {\n\n"});
  text += "namespace as_stored {\n" + u.declared + "}  // namespace as_stored\n\n";
  std::string policy = u.policy;  // its table is declared in as_stored
  if (const auto at = policy.find("<stored>"); at != policy.npos) policy.insert(at + 1, "as_stored::");
  text += concat({"using model = cke::bare_model<as_stored::model, ", policy, ", cke::dtype::", kv, ", ", e.context,
                  ", cke::isa::", e.isa, ">;\n"});
  text += concat({"static_assert(model::image_bytes == ", e.image_bytes, " && model::vocab_size == ", e.vocab,
                  ", \"made by another version of cke\");\n\n"});
  text +=
      "// A model that writes to `to` alone, or what is wrong with it.\ninline cke::result<model> open(model::memory& "
      "to) { return model::open({" +
      e.name + "_bytes, model::image_bytes}, to); }\n\n";
  if (e.text_bytes) {
    text +=
        concat({"// The text of an id below vocab_size.\ninline std::string_view piece(cke::u32 id) {\n"
                "  const auto* const ends = reinterpret_cast<const cke::u32*>(",
                e.name,
                "_bytes + model::image_bytes);\n  const auto* const texts = reinterpret_cast<const char*>("
                "ends + model::vocab_size);\n  const cke::u32 begin = id ? ends[id - 1] : 0;\n"
                "  return {texts + begin, ends[id] - begin};\n}\n\n"});
  }
  if (~e.begin) text += concat({"inline constexpr cke::u32 begin_id = ", e.begin, ";  // before a text\n"});
  text += concat({"inline constexpr std::array<cke::u32, ", u64{e.stop_ids.size()}, "> stop_ids{", ids,
                  "};  // that end one\n\n}  // namespace ", e.name, "\n"});
  return text;
}

std::string embedded_assembler(const embedded& e) {
  return concat({"/* Written by cke build --embed. Assemble it where ", e.name, ".bin is, or with -Wa,-IFOLDER. */\n",
                 "  .section .rodata.", e.name, ", \"a\"\n  .balign 64\n  .global ", e.name, "_bytes\n", e.name,
                 "_bytes:\n  .incbin \"", e.name, ".bin\"\n  .section .note.GNU-stack, \"\", %progbits\n"});
}

}  // namespace cke::tool
