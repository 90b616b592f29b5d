// SPDX-License-Identifier: MIT
// tables.hpp: which methods, filters, tests and global functions there are, by name.
#pragma once

#include "filters.hpp"
#include "globals.hpp"
#include "methods.hpp"
#include "sequence_filters.hpp"
#include "tests.hpp"
#include "tojson.hpp"

CKE_COMPILED_ONCE
namespace cke::text::jinja {

template <class Function> struct entry {
  std::string_view name;
  Function function;
};
template <class Function, std::size_t N>
Function look_up(const entry<Function> (&table)[N], std::string_view name) {
  for (const auto& e : table)
    if (e.name == name) return e.function;
  return nullptr;
}

inline method_function find_method(const value& of, std::string_view name) {
  using namespace methods;
  static constexpr entry<method_function> strings[] = {
      {"strip", strip<side::both>},
      {"lstrip", strip<side::left>},
      {"rstrip", strip<side::right>},
      {"split", split<false>},
      {"rsplit", split<true>},
      {"splitlines", splitlines},
      {"partition", partition<false>},
      {"rpartition", partition<true>},
      {"startswith", affix<false>},
      {"endswith", affix<true>},
      {"find", methods::find<false, false>},
      {"rfind", methods::find<true, false>},
      {"index", methods::find<false, true>},
      {"rindex", methods::find<true, true>},
      {"count", count},
      {"replace", replace},
      {"removeprefix", remove_affix<false>},
      {"removesuffix", remove_affix<true>},
      {"upper", change_case<letter_case::upper>},
      {"lower", change_case<letter_case::lower>},
      {"title", change_case<letter_case::title>},
      {"capitalize", capitalize},
      {"ljust", justify<'<'>},
      {"rjust", justify<'>'>},
      {"center", justify<'^'>},
      {"zfill", zfill},
      {"join", join},
      {"format", format},
      {"isspace", is_all<is_python_space>},
      {"isalpha", is_all<is_alpha>},
      {"isalnum", is_all<is_alnum>},
      {"isdigit", is_all<is_digit>},
      {"isdecimal", is_all<is_digit>},
      {"isnumeric", is_all<is_digit>},
      {"isupper", is_in_case<true>},
      {"islower", is_in_case<false>},
  };
  static constexpr entry<method_function> dicts[] = {
      {"get", get},
      {"items", view<form::item_view>},
      {"keys", view<form::key_view>},
      {"values", view<form::value_view>},
      {"copy", copy},
      {"pop", refuse},
      {"popitem", refuse},
      {"update", refuse},
      {"clear", refuse},
      {"setdefault", refuse},
  };
  static constexpr entry<method_function> sequences[] = {{"index", search<true>}, {"count", search<false>}};
  static constexpr entry<method_function> lists[] = {
      {"copy", copy},     {"append", refuse}, {"extend", refuse}, {"insert", refuse},  {"pop", refuse},
      {"remove", refuse}, {"clear", refuse},  {"sort", refuse},   {"reverse", refuse},
  };
  static constexpr entry<method_function> loops[] = {{"cycle", loop_cycle}, {"changed", loop_changed}};
  if (of.is_string()) return look_up(strings, name);
  if (of.as_dict()) return look_up(dicts, name);
  if (const object* o = of.as_object(); o && o->type() == "LoopContext") return look_up(loops, name);
  const sequence* s = of.as_sequence();
  if (!s || s->as > form::range) return nullptr;
  if (const auto f = look_up(sequences, name)) return f;
  return s->as == form::list ? look_up(lists, name) : nullptr;
}

inline filter_function find_filter(std::string_view name) {
  using namespace filters;
  static constexpr entry<filter_function> all[] = {
      {"tojson", filter_tojson},
      {"trim", trim},
      {"length", length},
      {"count", length},
      {"default", or_default},
      {"d", or_default},
      {"join", join},
      {"string", to_string},
      {"safe", safe},
      {"list", to_list},
      {"int", to_int},
      {"float", to_float},
      {"upper", change_case<letter_case::upper>},
      {"lower", change_case<letter_case::lower>},
      {"title", title},
      {"capitalize", capitalize},
      {"replace", replace},
      {"indent", indent},
      {"first", first},
      {"last", last},
      {"items", items},
      {"dictsort", dictsort},
      {"sort", sort},
      {"unique", unique},
      {"reverse", reverse},
      {"map", map},
      {"select", select<true, false>},
      {"reject", select<false, false>},
      {"selectattr", select<true, true>},
      {"rejectattr", select<false, true>},
      {"abs", absolute},
      {"round", round},
      {"sum", sum},
      {"min", extreme<false>},
      {"max", extreme<true>},
      {"batch", batch},
      {"slice", slices},
      {"groupby", groupby},
      {"attr", attr},
      {"escape", escape_html},
      {"e", escape_html},
      {"forceescape", force_escape},
      {"format", format},
      {"center", center},
      {"truncate", truncate},
      {"wordcount", wordcount},
  };
  return look_up(all, name);
}

inline test_function find_test(std::string_view name) {
  using namespace tests;
  static constexpr entry<test_function> all[] = {
      {"defined", defined},
      {"undefined", is_undefined},
      {"none", is_none},
      {"boolean", is_bool},
      {"true", is_true},
      {"false", is_false},
      {"integer", is_integer},
      {"float", is_float},
      {"number", is_number},
      {"string", is_string},
      {"mapping", is_mapping},
      {"sequence", is_sequence},
      {"iterable", is_iterable},
      {"callable", is_callable},
      {"sameas", is_same},
      {"escaped", is_escaped},
      {"in", is_in},
      {"odd", is_odd},
      {"even", is_even},
      {"divisibleby", divisible},
      {"lower", is_lower_text},
      {"upper", is_upper_text},
      {"filter", is_filter},
      {"test", is_test},
      {"==", is_equal},
      {"eq", is_equal},
      {"equalto", is_equal},
      {"!=", is_unequal},
      {"ne", is_unequal},
      {">", is_greater},
      {"gt", is_greater},
      {"greaterthan", is_greater},
      {">=", is_at_least},
      {"ge", is_at_least},
      {"<", is_less},
      {"lt", is_less},
      {"lessthan", is_less},
      {"<=", is_at_most},
      {"le", is_at_most},
  };
  return look_up(all, name);
}

inline global_function find_global(std::string_view name) {
  using namespace globals;
  static constexpr entry<global_function> all[] = {
      {"range", range},
      {"dict", make_dict},
      {"namespace", make_namespace},
      {"cycler", make_cycler},
      {"joiner", make_joiner},
      {"raise_exception", raise_exception},
      {"strftime_now", strftime_now},
  };
  return look_up(all, name);
}

}  // namespace cke::text::jinja
