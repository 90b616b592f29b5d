// SPDX-License-Identifier: MIT
// tool_calls.hpp: extracts a model's tool calls from a streamed answer.
#pragma once

#include <utility>

#include "built_in_call.hpp"

namespace cke::text {

// Text arrives in pieces, whose boundaries do not matter. A call is returned once it is complete and valid: well
// formed, for a tool in `known`, with an object of arguments, at most max_call bytes. Everything else is returned as
// text, byte for byte, except the white space between a call and the next one or the end.
class tool_call_parser {
 public:
  static constexpr std::size_t max_call = 1 << 20;

  tool_call_parser(const tool_form& form, std::vector<tool_signature> known) : form_(form), known_(std::move(known)) {}
  tool_call_parser(tool_call_parser&&) = default;  // moves keep known_ in place, which the reader of a call refers to

  std::vector<tool_part> feed(std::string_view piece) { return advance(piece, false); }
  // Returns what was held back: as text, or as a call that lacks only its close mark.
  std::vector<tool_part> finish() { return advance({}, true); }

 private:
  using outcome = call_reading;

  std::vector<tool_part> advance(std::string_view piece, bool last) {
    held_ += piece;
    if (form_.open.empty()) whole_answer(last);
    else
      while (step(last)) {}
    return std::exchange(out_, {});
  }

  // ---- calls after a mark ----------------------------------------------------------------------------
  // Consumes something from the front of held_; returns false if nothing is left or more text is needed.
  bool step(bool last) {
    if (!inside_ && !find_mark(last)) return false;
    const outcome o = read(last);
    if (o == outcome::more && !last && held_.size() < max_call) return false;
    // An unfinished call is text. After text that is not a call, scanning resumes where the examined part ends.
    if (o == outcome::call) put_calls(end_);
    else if (o == outcome::more) put_text(std::min(held_.size(), max_call));
    else put_text(form_.open.size() + (tags_ ? tags_->at() : 0));
    inside_ = false;
    return true;
  }
  bool find_mark(bool last) {
    const std::size_t at = held_.find(form_.open);
    const bool found = at != held_.npos;
    put_text(found ? at : held_.size() - (last ? 0 : partial_mark()));
    return found && begin();
  }
  std::size_t partial_mark() const {
    for (std::size_t n = std::min(held_.size(), form_.open.size() - 1); n > 0; --n)
      if (held_.ends_with(form_.open.substr(0, n))) return n;
    return 0;
  }
  bool begin() {
    scanner_ = {}, at_ = 0, found_.clear();
    if (form_.tagged()) tags_.emplace(form_.tags, form_.close, known_);
    return inside_ = true;
  }
  // The part of held_ in which a call is searched.
  std::string_view window() const { return std::string_view(held_).substr(0, max_call); }
  outcome read(bool last) {
    if (found_.empty())
      if (const outcome o = tags_ ? read_tags() : read_json(); o != outcome::call) return o;
    end_ = at_;
    if (form_.close.empty()) return outcome::call;
    const std::string_view rest = without_blank(window().substr(at_));
    if (rest.starts_with(form_.close)) {
      end_ = window().size() - rest.size() + form_.close.size();
      return outcome::call;
    }
    if (!form_.close.starts_with(rest)) return outcome::none;
    end_ = window().size();
    return last ? outcome::call : outcome::more;
  }
  outcome read_tags() {
    const outcome o = tags_->read(window().substr(form_.open.size()));
    if (o != outcome::call) return o;
    at_ = form_.open.size() + tags_->at();
    found_.push_back(tags_->found());
    return o;
  }
  outcome read_json() {
    if (at_ == 0)
      if (const outcome o = find_json(form_.open.size()); o != outcome::call) return o;
    if (const outcome o = scan(); o != outcome::call) return o;
    return take_calls(window().substr(begin_, at_ - begin_)) ? outcome::call : outcome::none;
  }

  // ---- calls that are the whole answer --------------------------------------------------------------
  void whole_answer(bool last) {
    if (!inside_) begin();
    outcome o = is_text_ ? outcome::none : at_ == 0 ? find_json(0) : outcome::call;
    if (o == outcome::call) o = scan();
    if (last && o == outcome::call) o = take_all();
    if (last && o == outcome::more) o = take_built_in();
    if (o == outcome::none || held_.size() > max_call) {
      is_text_ = true;
      put_text(held_.size());
    } else if (last) {
      put_calls(held_.size());
    }
  }
  // The first call ends at at_, and held_ is the rest of the answer.
  outcome take_all() {
    found_.clear();
    for (;;) {
      if (!take_calls(std::string_view(held_).substr(begin_, at_ - begin_))) return outcome::none;
      const std::size_t next = held_.find_first_not_of(" \t\r\n;", at_);
      if (next == held_.npos) return outcome::call;
      begin_ = at_ = next, scanner_ = {};
      if (scan() != outcome::call) return outcome::none;
    }
  }

  outcome take_built_in() {
    const std::string_view text = without_blank(held_);
    if (!text.starts_with(form_.others[0])) return outcome::none;
    auto call = detail::built_in_call(text.substr(form_.others[0].size()), known_);
    if (!call) return outcome::none;
    found_.push_back(std::move(*call));
    return outcome::call;
  }

  // ---- JSON -----------------------------------------------------------------------------------------
  // Sets begin_ and at_ to the start of the JSON after `from`. call: found; none: there cannot be any.
  outcome find_json(std::size_t from) {
    std::string_view rest = without_blank(window().substr(from));
    if (form_.open.empty() && !rest.empty()) {
      const std::string_view mark = form_.others[0];
      if (rest.starts_with(mark)) {
        rest = without_blank(rest.substr(mark.size()));
        if (detail::may_be_built_in(rest, known_)) return outcome::more;
      } else if (mark.starts_with(rest)) {
        return outcome::more;
      }
    }
    name_.clear();
    if (form_.named_first && !rest.empty() && rest[0] != '[' && rest[0] != '{') {
      const std::size_t brace = rest.find('{');
      // Applies before the brace has arrived, and after.
      if (rest.substr(0, brace).find('\n') != rest.npos) return outcome::none;
      if (brace == rest.npos) return outcome::more;
      name_ = rest.substr(0, std::min(rest.find('['), brace));
      rest.remove_prefix(brace);
    }
    if (rest.empty()) return outcome::more;
    if (rest[0] != '{' && rest[0] != '[') return outcome::none;
    begin_ = at_ = window().size() - rest.size();
    return outcome::call;
  }
  // Moves at_ past the JSON that starts at begin_.
  outcome scan() {
    auto s = scanner_.now();
    while (s == json_scanner::state::more && at_ < window().size()) s = scanner_.feed(window()[at_++]);
    return s == json_scanner::state::done ? outcome::call
        : s == json_scanner::state::bad   ? outcome::none
                                          : outcome::more;
  }

  bool take_calls(std::string_view json) {
    if (!name_.empty()) return add_call(name_, json);
    if (json.front() == '{') return take_object(json);
    bool right = true, any = false;
    members(json, [&](std::string_view, std::string_view item) {
      any = true;
      right = right && item.starts_with('{') && take_object(item);
    });
    return right && any;
  }
  bool take_object(std::string_view json) {
    std::string_view name, arguments;
    members(json, [&](std::string_view key, std::string_view value) {
      if (key == "name") name = value;
      if (key == form_.arguments) arguments = value;
    });
    return name.starts_with('"') && add_call(name.substr(1, name.size() - 2), arguments);
  }
  bool add_call(std::string_view name, std::string_view arguments) {
    if (!arguments.starts_with('{') || std::ranges::find(known_, name, &tool_signature::name) == known_.end())
      return false;
    found_.push_back({std::string(name), std::string(arguments)});
    return true;
  }
  // Calls f(key, value) for each member of well-formed JSON; for the items of a list the key is empty.
  template <class F> static void members(std::string_view json, F f) {
    std::string_view key;
    std::size_t depth = 0, begin = 1;
    bool in_string = false;
    for (std::size_t i = 0; i < json.size(); ++i) {
      const char c = json[i];
      if (in_string) {
        if (c == '\\') ++i;
        else in_string = c != '"';
        continue;
      }
      in_string = c == '"';
      if (c == '{' || c == '[') ++depth;
      const bool ends = (c == '}' || c == ']') && --depth == 0;
      if (c == ':' && depth == 1) {
        key = detail::trimmed(json.substr(begin, i - begin));
        key = key.substr(1, key.size() - 2);
        begin = i + 1;
      } else if (ends || (c == ',' && depth == 1)) {
        if (const auto value = detail::trimmed(json.substr(begin, i - begin)); !value.empty()) f(key, value);
        begin = i + 1;
      }
    }
  }

  // ---- output ----------------------------------------------------------------------------------------
  void put_calls(std::size_t count) {
    if (out_.empty()) out_.emplace_back();
    std::ranges::move(std::exchange(found_, {}), std::back_inserter(out_.back().calls));
    held_.erase(0, count);
    gap_.clear(), behind_call_ = true;
  }
  void put_text(std::size_t count) {
    const std::string_view text = std::string_view(held_).substr(0, count);
    if (behind_call_ && without_blank(text).empty()) {
      gap_ += text;
    } else if (!text.empty()) {
      if (out_.empty() || !out_.back().calls.empty()) out_.emplace_back();
      (out_.back().text += std::exchange(gap_, {})) += text;
      behind_call_ = false;
    }
    held_.erase(0, count);
  }

  static std::string_view without_blank(std::string_view s) { return detail::without_blank(s); }
  const tool_form& form_;
  std::vector<tool_signature> known_;
  std::string held_, gap_, name_;
  bool inside_ = false;       // held_ starts with a possible call
  bool behind_call_ = false;  // only white space, kept in gap_, lies between the last call and held_
  bool is_text_ = false;      // this answer is no call
  std::optional<tagged_call> tags_;
  json_scanner scanner_;
  std::size_t begin_ = 0, at_ = 0, end_ = 0;  // offsets in held_: of the JSON, of the scan, of the call's end
  std::vector<tool_call> found_;
  std::vector<tool_part> out_;
};

}  // namespace cke::text
