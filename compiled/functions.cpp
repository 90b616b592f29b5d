// SPDX-License-Identifier: MIT
// functions.cpp: functions that do not depend on the model, compiled once: those of headers that say CKE_COMPILED_ONCE
// (core/types.hpp).
#pragma GCC implementation "cke"
#include <tuple>
#include <utility>

#include <cke/beam.hpp>
#include <cke/door-inl.hpp>
#include <cke/draft.hpp>
#include <cke/export-inl.hpp>
#include <cke/export_ranks.hpp>
#include <cke/export_tower-inl.hpp>
#include <cke/from_config.hpp>
#include <cke/graph/describe-inl.hpp>
#include <cke/graph/describe_steps.hpp>
#include <cke/graph/letter_checks.hpp>
#include <cke/hints.hpp>
#include <cke/image_encoder.hpp>
#include <cke/io/gguf_steps.hpp>
#include <cke/io/gguf_tokenizer_writer.hpp>
#include <cke/io/gguf_writer.hpp>
#include <cke/model.hpp>
#include <cke/net_file.hpp>
#include <cke/runtime/by_tables-inl.hpp>
#include <cke/runtime/loaded-inl.hpp>
#include <cke/runtime/loaded_tower-inl.hpp>
#include <cke/runtime/sequence-inl.hpp>
#include <cke/runtime/state-inl.hpp>
#include <cke/runtime/weights-inl.hpp>
#include <cke/runtime/workspace-inl.hpp>
#include <cke/session_file-inl.hpp>
#include <cke/text/chat/chat.hpp>
#include <cke/text/chat/tool_form.hpp>
#include <cke/text/grammar/gbnf.hpp>
#include <cke/text/grammar/gbnf_text.hpp>
#include <cke/text/grammar/grammar_filter.hpp>
#include <cke/text/grammar/json_rules.hpp>
#include <cke/text/grammar/number_range.hpp>
#include <cke/text/grammar/regex.hpp>
#include <cke/text/grammar/shortest.hpp>
#include <cke/text/grammar/utf8_ranges.hpp>
#include <cke/text/jinja/chat_form.hpp>
#include <cke/text/sampling/logprobs.hpp>
#include <cke/train/adamw.hpp>

template class cke::runtime::executor<cke::runtime::one_rank>;

namespace cke {
namespace {

// g++ makes a defaulted constructor only where one is called, and programs compiled without optimisation call these.
[[gnu::used, gnu::optimize("O0")]] void construct(runtime::sequence& text, runtime::sequence_state& states) {
  const runtime::sequence moved(std::move(text));
  runtime::sequence_state moved_states(std::move(states));
  moved_states = std::move(states);
  const runtime::arena memory;
  const runtime::image_cache features;
  const runtime::pass_rows rows;
  const train::adamw optimizer;
}

}  // namespace
}  // namespace cke

namespace cke::text {
namespace {

// g++ makes a defaulted comparison only where one is used, and programs that link with this file compare these.
[[gnu::used]] constexpr std::tuple comparisons{
    &merge::operator==, &added_token::operator==, &split_rule::operator==, &chat_segment::operator==,
    &tool_call::operator==, &grammar_symbol::operator==, &code_range::operator==, &byte_range::operator== };

}  // namespace
}  // namespace cke::text
