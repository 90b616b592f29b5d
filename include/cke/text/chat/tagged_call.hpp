// SPDX-License-Identifier: MIT
// tagged_call.hpp: incrementally reads a call whose name, keys and values stand between tags.
#pragma once

#include <span>

#include "../../core/json_writer.hpp"
#include "json_scanner.hpp"
#include "tool_form.hpp"

namespace cke::text {

namespace detail {

inline constexpr std::string_view blank = " \t\r\n";
inline std::string_view without_blank(std::string_view s) {
  return s.substr(std::min(s.find_first_not_of(blank), s.size()));
}
inline std::string_view trimmed(std::string_view s) {
  s = without_blank(s);
  return s.substr(0, s.find_last_not_of(blank) + 1);
}

// The kind of JSON value that a text is, ignoring white space around it; 0 if it is not exactly one value.
inline u8 kind_of_json(std::string_view text) {
  const auto fits = [&](std::string_view open, char close) {
    json_scanner s;
    for (const char c : open) s.feed(c);
    for (const char c : text)
      if (s.feed(c) != json_scanner::state::more) return false;
    return s.feed(close) == json_scanner::state::done;
  };
  text = trimmed(text);
  if (text.empty() || !fits("[", ']') || !fits("{\"\":", '}')) return 0;  // a text that fits both is one value
  switch (text[0]) {
    case '"': return json_kinds::text;
    case '{': return json_kinds::object;
    case '[': return json_kinds::list;
    case 't':
    case 'f': return json_kinds::boolean;
    case 'n': return json_kinds::null;
    default: return json_kinds::number;
  }
}

}  // namespace detail

class tagged_call {
 public:
  tagged_call(const call_tags& tags, std::string_view close, std::span<const tool_signature> known)
      : tags_(&tags), end_(tags.end.empty() ? close : tags.end), known_(known) {}

  // `text`: everything after the mark so far; called again with more text as long as it returns `more`. Afterwards at()
  // is the end of the call, before its form's close mark, or the end of the text that was examined.
  call_reading read(std::string_view text) {
    using enum call_reading;
    if (done_) return call;
    if (!tool_)
      if (const call_reading r = read_name(text); r != call) return r;
    for (;;) {
      const std::size_t here = behind_blank(text, at_);
      const std::string_view rest = text.substr(here);
      if (rest.starts_with(end_)) {
        at_ = here + tags_->end.size(), done_ = true;
        return call;
      }
      if (!rest.starts_with(tags_->key)) return is_part(rest, tags_->key) || is_part(rest, end_) ? more : fail(here);
      if (const call_reading r = read_parameter(text, here + tags_->key.size()); r != call) return r;
    }
  }
  std::size_t at() const { return at_; }
  tool_call found() const { return {tool_->name, arguments_.text + '}'}; }

 private:
  static bool is_part(std::string_view rest, std::string_view of) { return of.starts_with(rest); }
  static std::size_t behind_blank(std::string_view text, std::size_t at) {
    return text.size() - detail::without_blank(text.substr(at)).size();
  }
  call_reading fail(std::size_t at) {
    at_ = at;
    return call_reading::none;
  }

  call_reading read_name(std::string_view text) {
    using enum call_reading;
    const std::size_t here = behind_blank(text, 0), begin = here + tags_->name.size();
    const std::string_view rest = text.substr(here);
    if (!rest.starts_with(tags_->name)) return is_part(rest, tags_->name) ? more : fail(here);
    const std::size_t end =
        tags_->behind_name.empty() ? text.find_first_of("<\n", begin) : text.find(tags_->behind_name, begin);
    const std::string_view name = detail::trimmed(text.substr(begin, end - begin));
    const auto begins = [&](const tool_signature& t) { return t.name.starts_with(name); };
    if (end == text.npos) return std::ranges::any_of(known_, begins) ? more : fail(begin);
    const auto tool = std::ranges::find(known_, name, &tool_signature::name);
    if (tool == known_.end()) return fail(begin);
    tool_ = &*tool, at_ = end + tags_->behind_name.size();
    return call;
  }

  // Starts at the tag before a key.
  call_reading read_parameter(std::string_view text, std::size_t begin) {
    using enum call_reading;
    const std::size_t key_end = text.find(tags_->behind_key, begin);
    if (key_end == text.npos) return more;
    const std::string_view key = detail::trimmed(text.substr(begin, key_end - begin));
    std::size_t value = key_end + tags_->behind_key.size();
    if (!tags_->value.empty()) {
      value = behind_blank(text, value);
      const std::string_view rest = text.substr(value);
      if (!rest.starts_with(tags_->value)) return is_part(rest, tags_->value) ? more : fail(value);
      value += tags_->value.size();
    }
    const std::size_t end = text.find(tags_->behind_value, std::max(value, searched_));
    if (end == text.npos) {
      searched_ = text.size() - std::min(text.size(), tags_->behind_value.size() - 1);
      return more;
    }
    at_ = end + tags_->behind_value.size(), searched_ = 0;
    const bool again = std::ranges::find(keys_, key) != keys_.end();
    if (key.empty() || again || !put(key, text.substr(value, end - value))) return none;
    keys_.emplace_back(key);
    return call;
  }

  // A value is read as text only if no other kind that the parameter accepts fits. Returns false if none fits.
  bool put(std::string_view key, std::string_view written) {
    if (tags_->lines) {
      if (written.starts_with('\n')) written.remove_prefix(1);
      if (written.ends_with('\n')) written.remove_suffix(1);
    }
    const auto p = std::ranges::find(tool_->parameters, key, &tool_signature::parameter::name);
    const u8 kinds = p == tool_->parameters.end() ? json_kinds::any : p->kinds;
    const std::string_view json = as_json(detail::trimmed(written));
    if (detail::kind_of_json(json) & kinds & ~json_kinds::text) arguments_.put_json(key, json);
    else if (kinds & json_kinds::text) arguments_.put(key, written);
    else return false;
    return true;
  }
  std::string_view as_json(std::string_view written) const {
    if (!tags_->lines) return written;
    return written == "True" ? "true" : written == "False" ? "false" : written == "None" ? "null" : written;
  }

  const call_tags* tags_;
  std::string_view end_;
  std::span<const tool_signature> known_;
  const tool_signature* tool_ = nullptr;
  json_writer arguments_{"{"};
  std::vector<std::string> keys_;
  std::size_t at_ = 0, searched_ = 0;  // at_: read up to here; searched_: no value ends before this
  bool done_ = false;
};

}  // namespace cke::text
