// SPDX-License-Identifier: MIT
// sequence_filters.hpp: the filters on sequences: map, select, sort, join and the like.
#pragma once

#include "../../core/stable_order.hpp"
#include "filters.hpp"

CKE_COMPILED_ONCE
namespace cke::text::jinja::filters {

// "a.b.0": the path of an attribute; empty: the value itself.
class attribute_path {
 public:
  attribute_path(const value& path, budget& cost) {
    if (path.is_none()) return;
    if (!path.is_string()) {
      parts_.push_back(path);
      return;
    }
    for (value& part : split_at(path.as_text(), ".", -1, false, cost)) {
      const std::string_view s = part.view();
      const bool digits = !s.empty() && s.size() < 10 && s.find_first_not_of("0123456789") == s.npos;
      i64 n = 0;
      if (digits) std::from_chars(s.data(), s.data() + s.size(), n);
      parts_.push_back(digits ? value(n) : std::move(part));
    }
  }
  value of(interpreter& in, value v, const value* otherwise = nullptr) const {
    for (const value& part : parts_) {
      v = in.item(v, part);
      if (otherwise && v.is_undefined()) v = *otherwise;
    }
    return v;
  }

 private:
  values parts_;
};

inline value folded(interpreter& in, value v, bool case_sensitive) {
  if (case_sensitive || !v.is_string()) return v;
  return in_case(v.as_text(), letter_case::lower, in.cost());
}

inline value join(interpreter& in, const value& v, arguments& args) {
  text separator = str(args.get(0, "d", author_text("")), in.cost());
  const attribute_path path(args.get(1, "attribute", {}), in.cost());
  args.done(2);
  separator.markup = false;
  values parts = in.items_of(v);
  for (value& p : parts) p = str(path.of(in, std::move(p)), in.cost());
  return joined(separator, parts, in.cost());
}
inline value to_list(interpreter& in, const value& v, arguments& args) {
  args.done(0);
  return {form::list, in.items_of(v)};
}
inline value first(interpreter& in, const value& v, arguments& args) {
  args.done(0);
  if (sequence* s = v.as_sequence(); s && s->as == form::one_shot && s->used < s->items.size())
    return s->items[s->used++];
  const values all = in.items_of(v);
  return all.empty() ? make_undefined("No first item, sequence was empty.") : all.front();
}
inline value last(interpreter& in, const value& v, arguments& args) {
  args.done(0);
  if (v.is_sequence(form::one_shot)) raise({"'generator' object is not reversible"});
  const values all = in.items_of(v);
  return all.empty() ? make_undefined("No last item, sequence was empty.") : all.back();
}
inline value items(interpreter& in, const value& v, arguments& args) {
  args.done(0);
  if (v.is_undefined()) return {form::one_shot, {}};
  if (!v.as_dict()) raise({"Can only get item pairs from a mapping."});
  return {form::one_shot, methods::view<form::item_view>(in, v, args).as_sequence()->items};
}
inline value reverse(interpreter& in, const value& v, arguments& args) {
  args.done(0);
  values all = in.items_of(v);
  std::ranges::reverse(all);
  if (!v.is_string()) return {form::one_shot, std::move(all)};
  text out;
  out.markup = v.as_text().markup;
  for (const value& c : all) out.append(c.as_text());
  return out;
}

// Stable sort by keys; also stable if reversed.
inline void sort_by(interpreter& in, values& all, const values& keys, bool reverse) {
  const auto before = [&](u32 a, u32 b) {
    return reverse ? less(keys[b], keys[a], in.cost()) : less(keys[a], keys[b], in.cost());
  };
  values sorted;
  for (const u32 i : stable_order(static_cast<u32>(all.size()), before)) sorted.push_back(std::move(all[i]));
  all = std::move(sorted);
}
inline value dictsort(interpreter& in, const value& v, arguments& args) {
  const bool sensitive = truth(args.get(0, "case_sensitive", false));
  const text by = string(args.get(1, "by", author_text("key")), "dictsort");
  const bool reverse = truth(args.get(2, "reverse", false));
  args.done(3);
  if (v.is_undefined()) raise({*v.as_undefined().why});
  if (!v.as_dict()) raise({"a mapping expected for dictsort, found '", type_name(v), "'"});
  if (by.view() != "key" && by.view() != "value") raise({"key or value expected, found ", by.view()});
  arguments no_arguments;
  values pairs = methods::view<form::item_view>(in, v, no_arguments).as_sequence()->items, keys;
  for (const value& p : pairs) keys.push_back(folded(in, p.as_sequence()->items[by.view() == "value"], sensitive));
  sort_by(in, pairs, keys, reverse);
  return {form::list, std::move(pairs)};
}
inline value sort(interpreter& in, const value& v, arguments& args) {
  const bool reverse = truth(args.get(0, "reverse", false)), sensitive = truth(args.get(1, "case_sensitive", false));
  const value attribute = args.get(2, "attribute", {});
  args.done(3);
  std::vector<attribute_path> paths;  // "a,b": by a, then by b
  if (attribute.is_string())
    for (const value& one : split_at(attribute.as_text(), ",", -1, false, in.cost()))
      paths.emplace_back(one, in.cost());
  else paths.emplace_back(attribute, in.cost());
  values all = in.items_of(v), keys;
  for (const value& one : all) {
    values key;
    for (const attribute_path& p : paths) key.push_back(folded(in, p.of(in, one), sensitive));
    keys.emplace_back(form::list, std::move(key));
  }
  sort_by(in, all, keys, reverse);
  return {form::list, std::move(all)};
}
inline value unique(interpreter& in, const value& v, arguments& args) {
  const bool sensitive = truth(args.get(0, "case_sensitive", false));
  const attribute_path path(args.get(1, "attribute", {}), in.cost());
  args.done(2);
  values out, seen;
  for (value& one : in.items_of(v)) {
    value key = folded(in, path.of(in, one), sensitive);
    require_hashable(key);
    if (std::ranges::any_of(seen, [&](const value& old) { return equal(old, key, in.cost()); })) continue;
    seen.push_back(std::move(key));
    out.push_back(std::move(one));
  }
  return {form::one_shot, std::move(out)};
}
template <bool Most> value extreme(interpreter& in, const value& v, arguments& args) {
  const bool sensitive = truth(args.get(0, "case_sensitive", false));
  const attribute_path path(args.get(1, "attribute", {}), in.cost());
  args.done(2);
  const values all = in.items_of(v);
  if (all.empty()) return make_undefined("No aggregated item, sequence was empty.");
  std::size_t best = 0;
  value best_key = folded(in, path.of(in, all[0]), sensitive);
  for (std::size_t i = 1; i < all.size(); ++i) {
    value key = folded(in, path.of(in, all[i]), sensitive);
    if (Most ? !less(best_key, key, in.cost()) : !less(key, best_key, in.cost())) continue;
    best = i, best_key = std::move(key);
  }
  return all[best];
}
inline value sum(interpreter& in, const value& v, arguments& args) {
  const attribute_path path(args.get(0, "attribute", {}), in.cost());
  value total = args.get(1, "start", 0);
  args.done(2);
  for (value& one : in.items_of(v)) total = binary("+", total, path.of(in, std::move(one)), in.cost());
  return total;
}

// map('upper'), map(attribute='name', default=...)
inline value map(interpreter& in, const value& v, arguments& args) {
  values out;
  if (!truth(v)) return {form::one_shot, {}};
  if (args.positional.empty() && !args.named.empty()) {
    const auto attribute = args.take("attribute");
    const auto otherwise = args.take("default");
    if (!attribute || !args.named.empty()) raise({"map: an attribute expected"});
    const attribute_path path(*attribute, in.cost());
    const bool some = otherwise && !otherwise->is_none();
    for (value& one : in.items_of(v)) out.push_back(path.of(in, std::move(one), some ? &*otherwise : nullptr));
    return {form::one_shot, std::move(out)};
  }
  const value name = args.need(0, "filter");
  args.positional.erase(args.positional.begin());
  for (const value& one : in.items_of(v)) {
    arguments again = args;
    in.cost().spend(1);
    out.push_back(in.filter(string(name, "map").view(), one, again));
  }
  return {form::one_shot, std::move(out)};
}
// select('defined'), selectattr('name', 'equalto', 'x'): the items that pass a test, or are true.
template <bool Keep, bool ByAttribute> value select(interpreter& in, const value& v, arguments& args) {
  if (!truth(v)) return {form::one_shot, {}};
  value attribute;
  if (ByAttribute) {
    attribute = args.need(0, "attribute");
    args.positional.erase(args.positional.begin());
  }
  const attribute_path path(attribute, in.cost());
  const bool tests = !args.positional.empty();
  const value name = tests ? args.positional[0] : value();
  if (tests) args.positional.erase(args.positional.begin());
  values out;
  for (value& one : in.items_of(v)) {
    const value asked = path.of(in, one);
    arguments again = args;
    in.cost().spend(1);
    const bool passes = tests ? in.test(string(name, "select").view(), asked, again) : truth(asked);
    if (passes == Keep) out.push_back(std::move(one));
  }
  return {form::one_shot, std::move(out)};
}

inline value batch(interpreter& in, const value& v, arguments& args) {
  const i64 size = integer(args.need(0, "linecount"), "batch");
  const value fill = args.get(1, "fill_with", {});
  args.done(2);
  values out, row;
  for (value& one : in.items_of(v)) {
    if (static_cast<i64>(row.size()) == size) out.emplace_back(form::list, std::exchange(row, {}));
    row.push_back(std::move(one));
  }
  if (!row.empty()) {
    if (!fill.is_none() && static_cast<i64>(row.size()) < size) {
      in.cost().spend(static_cast<u64>(size));
      row.resize(static_cast<std::size_t>(size), fill);
    }
    out.emplace_back(form::list, std::move(row));
  }
  return {form::one_shot, std::move(out)};
}
inline value slices(interpreter& in, const value& v, arguments& args) {
  const i64 count = integer(args.need(0, "slices"), "slice");
  const value fill = args.get(1, "fill_with", {});
  args.done(2);
  const values all = in.items_of(v);
  if (count == 0) raise({"division by zero"});
  if (count > 0) in.cost().spend(static_cast<u64>(count));
  values out;
  auto at = all.begin();
  for (i64 i = 0; i < count; ++i) {
    const auto size = static_cast<i64>(all.size());
    const auto end = at + (size / count + (i < size % count));
    values row(at, end);
    if (!fill.is_none() && i >= size % count) row.push_back(fill);
    out.emplace_back(form::list, std::move(row));
    at = end;
  }
  return {form::one_shot, std::move(out)};
}
// A list of (grouper, list).
inline value groupby(interpreter& in, const value& v, arguments& args) {
  const attribute_path path(args.need(0, "attribute"), in.cost());
  const value otherwise = args.get(1, "default", {});
  const bool sensitive = truth(args.get(2, "case_sensitive", false));
  args.done(3);
  const auto key_of = [&](const value& one) { return path.of(in, one, otherwise.is_none() ? nullptr : &otherwise); };
  values all = in.items_of(v), keys;
  for (const value& one : all) keys.push_back(folded(in, key_of(one), sensitive));
  sort_by(in, all, keys, false);
  values out;
  for (std::size_t i = 0; i < all.size();) {
    const value key = folded(in, key_of(all[i]), sensitive);
    values group{all[i]};
    while (++i < all.size() && equal(folded(in, key_of(all[i]), sensitive), key, in.cost())) group.push_back(all[i]);
    out.emplace_back(form::tuple, values{key_of(group[0]), value(form::list, group)});
  }
  return {form::list, std::move(out)};
}
inline value attr(interpreter& in, const value& v, arguments& args) {
  const value name = args.need(0, "name");
  args.done(1);
  if (v.is_undefined()) raise({*v.as_undefined().why});
  if (v.as_dict() && !find_method(v, string(name, "attr").view())) return no_attribute(v, name.view());
  return in.attribute(v, string(name, "attr").view());
}

}  // namespace cke::text::jinja::filters
