// SPDX-License-Identifier: MIT
// tojson.hpp: the filter tojson as in transformers, which is Python's json.dumps.
#pragma once

#include "../../core/stable_order.hpp"
#include "interpreter.hpp"

CKE_COMPILED_ONCE
namespace cke::text::jinja {

struct json_style {
  bool ascii = false, sorted = false;
  std::optional<text> indent;
  text item_separator, key_separator;
};

class json_dump {
 public:
  json_dump(const json_style& style, budget& cost) : style_(style), cost_(cost) {}

  text write(const value& v) {
    put(v, 0);
    return std::move(out_);
  }

 private:
  void put(std::string_view s) { out_.append(s, origin::author); }
  void put(const text& t) { out_.append(t); }

  void put_string(const text& s) {
    cost_.make(s.size() + 2);
    put("\"");
    for (std::size_t at = 0; at < s.size();) {
      const code_point c = code_point_at(s.view(), at);
      static constexpr std::string_view names = "\"\\\n\r\t\f\b", letters = "\"\\nrtfb";
      const std::size_t known = c.value < 128 ? names.find(s.view()[at]) : names.npos;
      if (known != names.npos) {
        const char escaped[] = {'\\', letters[known]};
        out_.append_as({escaped, 2}, s, at);
      } else if (c.value < 32 || (style_.ascii && c.value >= 127)) {
        const bool pair = c.value >= 0x10000;
        const u32 v = c.value - 0x10000;
        put_escape(pair ? 0xD800 + (v >> 10) : c.value, s, at);
        if (pair) put_escape(0xDC00 + (v & 0x3FF), s, at);
      } else {
        out_.append(s, at, c.size);
      }
      at += c.size;
    }
    put("\"");
  }
  void put_escape(u32 unit, const text& s, std::size_t at) {
    std::string escaped = "\\u";
    for (int shift = 12; shift >= 0; shift -= 4) escaped += "0123456789abcdef"[unit >> shift & 15];
    out_.append_as(escaped, s, at);
  }

  std::string scalar(const value& v) const {
    if (v.is_none()) return "null";
    if (v.is_bool()) return v.as_bool() ? "true" : "false";
    if (v.is_int()) return std::to_string(v.as_int());
    if (std::isnan(v.as_real())) return "NaN";
    if (std::isinf(v.as_real())) return v.as_real() < 0 ? "-Infinity" : "Infinity";
    return float_text(v.as_real());
  }
  void put_key(const value& key) {
    if (key.is_string()) return put_string(key.as_text());
    if (!key.is_none() && !key.is_number()) raise({"a key of type '", type_name(key), "' in JSON"});
    put("\""), put(scalar(key)), put("\"");
  }
  void new_line(u32 depth) {
    if (!style_.indent) return;
    put("\n");
    for (u32 i = 0; i < depth; ++i) {
      cost_.make(style_.indent->size());
      put(*style_.indent);
    }
  }

  void put(const value& v, u32 depth) {
    const auto level = cost_.enter();
    cost_.spend(1);
    cost_.fit(out_.size());
    if (v.is_string()) return put_string(v.as_text());
    if (v.is_none() || v.is_number()) return put(scalar(v));
    const dict* d = v.as_dict();
    const sequence* s = v.as_sequence();
    if (!d && !(s && s->as <= form::tuple)) raise({"Object of type ", type_name(v), " is not JSON serializable"});
    const bool empty = d ? d->entries.empty() : s->items.empty();
    put(d ? "{" : "[");
    bool first = true;
    const auto begin_item = [&] {
      if (!std::exchange(first, false)) put(style_.item_separator);
      new_line(depth + 1);
    };
    if (d) {
      const auto& all = d->entries;
      const auto before = [&](u32 a, u32 b) { return style_.sorted && less(all[a].first, all[b].first, cost_); };
      for (const u32 i : stable_order(static_cast<u32>(all.size()), before)) {
        const auto& [key, item] = all[i];
        begin_item();
        put_key(key);
        put(style_.key_separator);
        put(item, depth + 1);
      }
    } else {
      for (const value& item : s->items) begin_item(), put(item, depth + 1);
    }
    if (!empty) new_line(depth);
    put(d ? "}" : "]");
  }

  const json_style& style_;
  budget& cost_;
  text out_;
};

inline value filter_tojson(interpreter& in, const value& v, arguments& args) {
  json_style style;
  style.ascii = truth(args.get(0, "ensure_ascii", false));
  const value indent = args.get(1, "indent", {});
  const value separators = args.get(2, "separators", {});
  style.sorted = truth(args.get(3, "sort_keys", false));
  args.done(4);
  if (indent.is_string()) {
    style.indent = indent.as_text();
  } else if (!indent.is_none()) {
    if (!indent.is_integral()) raise({"an indent of type '", type_name(indent), "'"});
    const auto width = static_cast<u64>(std::max<i64>(indent.as_int(), 0));
    in.cost().make(width);
    style.indent = text(std::string(width, ' '), origin::author);
  }
  style.item_separator = text(style.indent ? "," : ", ", origin::author);
  style.key_separator = text(": ", origin::author);
  if (!separators.is_none()) {
    const values two = in.items_of(separators);
    if (two.size() != 2 || !two[0].is_string() || !two[1].is_string()) raise({"two separators expected"});
    style.item_separator = two[0].as_text(), style.key_separator = two[1].as_text();
  }
  return json_dump(style, in.cost()).write(v);
}

}  // namespace cke::text::jinja
