// SPDX-License-Identifier: MIT
// globals.hpp: the global functions of templates.
#pragma once

#include "filters.hpp"

CKE_COMPILED_ONCE
namespace cke::text::jinja {

inline value loop_cycle(interpreter&, const value& self, arguments& args) {
  return static_cast<loop_object*>(self.as_object())->cycle(args);
}
inline value loop_changed(interpreter& in, const value& self, arguments& args) {
  return static_cast<loop_object*>(self.as_object())->changed(in, args);
}

// cycler('a', 'b'): each next() returns the next item.
struct cycler_object final : object {
  values items;
  std::size_t at = 0;

  std::string_view type() const override { return "Cycler"; }
  std::optional<value> attribute(std::string_view name) override {
    if (name == "current") return items[at];
    if (name == "next" || name == "reset")
      return value::object_ptr(std::make_shared<bound_method>(self.lock(), name == "next" ? next : reset));
    return {};
  }
  static value next(interpreter&, const value& of, arguments&) {
    auto& c = static_cast<cycler_object&>(*of.as_object());
    const std::size_t now = std::exchange(c.at, (c.at + 1) % c.items.size());
    return c.items[now];
  }
  static value reset(interpreter&, const value& of, arguments&) {
    static_cast<cycler_object&>(*of.as_object()).at = 0;
    return {};
  }
  std::weak_ptr<object> self;
};
// joiner(', '): returns nothing the first time, then the separator.
struct joiner_object final : object {
  value separator;
  bool used = false;

  std::string_view type() const override { return "Joiner"; }
  bool callable() const override { return true; }
  value call(interpreter&, arguments&) override { return std::exchange(used, true) ? separator : author_text(""); }
};

namespace globals {

using methods::integer;

inline value range(interpreter& in, arguments& args) {
  const std::size_t given = args.positional.size();
  if (given < 1) raise({"range expected at least 1 argument, got 0"});
  args.done(3);
  const i64 start = given > 1 ? integer(args.positional[0], "range") : 0;
  const i64 stop = integer(args.positional[given > 1 ? 1 : 0], "range");
  const i64 step = given > 2 ? integer(args.positional[2], "range") : 1;
  constexpr i64 wide = i64{1} << 62;
  if (step == 0) raise({"range() arg 3 must not be zero"});
  for (const i64 n : {start, stop, step})
    if (n < -wide || n > wide) raise({"a range of smaller numbers expected"}, errc::unsupported);
  const u64 count = slice_range{start, stop, step}.count();
  if (count > 100'000) raise({"a range of at most 100000 numbers expected, found ", count});
  in.cost().spend(count);
  values items;
  for (u64 i = 0; i < count; ++i) items.push_back(start + static_cast<i64>(i) * step);
  value out(form::range, std::move(items));
  const std::string by = concat({", ", step});
  out.as_sequence()->printed = concat({"range(", start, ", ", stop, step == 1 ? "" : by, ")"});
  return out;
}
inline void read_entries(interpreter& in, arguments& args, dict& out) {
  if (args.positional.size() > 1) raise({"one mapping expected"});
  if (!args.positional.empty()) {
    const value& from = args.positional[0];
    if (const dict* d = from.as_dict()) {
      for (const auto& [key, v] : d->entries) insert(out, key, v, in.cost());
    } else {
      for (const value& pair : in.items_of(from)) {
        values two = in.items_of(pair);
        if (two.size() != 2) raise({"pairs of key and value expected"});
        insert(out, std::move(two[0]), std::move(two[1]), in.cost());
      }
    }
  }
  for (auto& [key, v] : args.named) insert(out, author_text(key), std::move(v), in.cost());
}
inline value make_dict(interpreter& in, arguments& args) {
  auto d = std::make_shared<dict>();
  read_entries(in, args, *d);
  return value::dict_ptr(std::move(d));
}
inline value make_namespace(interpreter& in, arguments& args) {
  dict entries;
  read_entries(in, args, entries);
  auto n = in.make_namespace();
  for (auto& [key, v] : entries.entries) n->set(std::string(str(key, in.cost()).view()), std::move(v));
  return value::object_ptr(std::move(n));
}
inline value make_cycler(interpreter&, arguments& args) {
  if (args.positional.empty()) raise({"at least one item has to be provided"});
  auto c = std::make_shared<cycler_object>();
  for (const value& v : args.positional) c->depth = std::max(c->depth, nested(v.depth()));
  c->items = std::move(args.positional);
  c->self = c;
  return value::object_ptr(std::move(c));
}
inline value make_joiner(interpreter&, arguments& args) {
  auto j = std::make_shared<joiner_object>();
  j->separator = args.get(0, "sep", author_text(", "));
  j->depth = nested(j->separator.depth());
  return value::object_ptr(std::move(j));
}
inline value raise_exception(interpreter& in, arguments& args) {
  const text message = str(args.need(0, "message"), in.cost());
  raise({"the template refuses: ", message.view()}, errc::usage);
}
inline value strftime_now(interpreter& in, arguments& args) {
  const value how = args.need(0, "format");
  args.done(1);
  const std::string pattern(methods::string(how, "strftime_now").view());
  if (pattern.empty()) return author_text("");
  if (pattern.size() > 256) raise({"a date format of at most 256 bytes expected"}, errc::unsupported);
  std::string out(8192, 0);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  out.resize(std::strftime(out.data(), out.size(), pattern.c_str(), &in.now()));
#pragma GCC diagnostic pop
  return author_text(out);
}

}  // namespace globals
}  // namespace cke::text::jinja
