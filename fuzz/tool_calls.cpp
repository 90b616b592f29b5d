// SPDX-License-Identifier: MIT
// tool_calls.cpp: fuzz target: text with thoughts and tool calls loses nothing, wherever the stream is cut.
#include <cke/text/chat/thought_splitter.hpp>
#include <cke/text/chat/tool_calls.hpp>
#include <cstdlib>

namespace {

void demand(bool right) {
  if (!right) std::abort();
}

// Lists, in order, every call and every character that is not white space.
std::string read(const cke::text::tool_form& form, std::string_view text, std::size_t step, std::size_t& calls) {
  cke::text::tool_call_parser parser(
      form, {{"f", {{"n", cke::text::json_kinds::number}, {"s", cke::text::json_kinds::text}}}, {"g", {}}});
  std::string all;
  const auto add = [&](const std::vector<cke::text::tool_part>& parts) {
    for (const auto& part : parts) {
      all += part.text;
      for (const auto& call : part.calls) {
        cke::text::json_scanner s;
        for (const char c : call.arguments) s.feed(c);
        demand(s.now() == cke::text::json_scanner::state::done);
        all += "\n" + call.name + call.arguments;
        ++calls;
      }
    }
  };
  for (; !text.empty(); text.remove_prefix(std::min(step, text.size()))) add(parser.feed(text.substr(0, step)));
  add(parser.finish());
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  const cke::text::tool_form& form = cke::text::tool_forms[data[0] % std::size(cke::text::tool_forms)];
  std::size_t whole_calls = 0, cut_calls = 0;
  const std::string whole = read(form, text, text.size() + 1, whole_calls),
                    cut = read(form, text, 1 + data[1] % 16, cut_calls);
  demand(whole == cut && whole_calls == cut_calls);
  if (whole_calls == 0) demand(whole == text);

  cke::text::thought_splitter splitter({}, data[1] & 1);
  std::size_t kept = 0;
  for (const char c : text) {
    const auto part = splitter.feed({&c, 1});
    kept += part.thought.size() + part.answer.size();
  }
  const auto rest = splitter.finish();
  demand(kept + rest.thought.size() + rest.answer.size() <= text.size());
  return 0;
}
