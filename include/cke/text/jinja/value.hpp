// SPDX-License-Identifier: MIT
// value.hpp: the values of expressions: the Python types that templates use.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "../../core/concat.hpp"
#include "../../core/error.hpp"
#include "text.hpp"

CKE_COMPILED_ONCE
namespace cke::text::jinja {

// An error while a template is read or rendered; it becomes a cke::Error that names the line.
struct fault {
  errc code;
  std::string message;
  u32 line;  // in the template; 0: the line being rendered
};
[[noreturn, gnu::cold, gnu::noinline]] inline void raise(std::initializer_list<text_part> message,
                                                         errc code = errc::malformed, u32 line = 0) {
  throw fault{code, concat(message), line};
}

class value;
using values = std::vector<value>;
class interpreter;
class budget;

// The arguments of a call, a filter or a test, evaluated.
struct arguments;

// None is a Python value; undefined is the result for a name without a value.
struct undefined {
  std::shared_ptr<const std::string> why;  // the error message if it is used
};
struct none {};

// Everything iterable. A one_shot is a Python generator: empty after its first use.
enum class form : u8 { list, tuple, range, one_shot, key_view, value_view, item_view };
struct sequence;
struct dict;

// Values with attributes, or callable ones: namespaces, macros, loops, methods.
struct object {
  virtual ~object() = default;
  virtual std::string_view type() const = 0;  // Python's name of the type
  virtual std::optional<value> attribute(std::string_view);
  virtual bool callable() const { return false; }
  // Python's str() of it, unless that shows an address.
  virtual void print(text&, budget&) const { raise({"a ", type(), " object is printed"}, errc::unsupported); }
  virtual value call(interpreter&, arguments&);
  u32 depth = 0;  // nesting of the values in it
};

class value {
 public:
  using string_ptr = std::shared_ptr<const text>;
  using sequence_ptr = std::shared_ptr<sequence>;
  using dict_ptr = std::shared_ptr<const dict>;
  using object_ptr = std::shared_ptr<object>;

  value() = default;  // None
  value(undefined u) : data_(std::move(u)) {}
  value(bool b) : data_(b) {}
  value(i64 n) : data_(n) {}
  value(int n) : data_(static_cast<i64>(n)) {}
  value(std::size_t n) : data_(static_cast<i64>(n)) {}
  value(double x) : data_(x) {}
  value(text t) : data_(std::make_shared<const text>(std::move(t))) {}
  value(object_ptr o) : data_(std::move(o)) {}
  value(dict_ptr d) : data_(std::move(d)) {}
  value(sequence_ptr s) : data_(std::move(s)) {}
  value(const char*) = delete;  // it would convert to bool
  // A sequence of these items. Throws fault if they nest too deeply.
  inline value(form as, values items);

  bool is_undefined() const { return std::holds_alternative<undefined>(data_); }
  bool is_none() const { return std::holds_alternative<none>(data_); }
  bool is_bool() const { return std::holds_alternative<bool>(data_); }
  bool is_int() const { return std::holds_alternative<i64>(data_); }
  bool is_real() const { return std::holds_alternative<double>(data_); }
  bool is_string() const { return std::holds_alternative<string_ptr>(data_); }
  bool is_number() const { return is_bool() || is_int() || is_real(); }
  const undefined& as_undefined() const { return std::get<undefined>(data_); }
  bool as_bool() const { return std::get<bool>(data_); }
  // In Python a bool is the integer 0 or 1.
  bool is_integral() const { return is_int() || is_bool(); }
  i64 as_int() const { return is_bool() ? as_bool() : std::get<i64>(data_); }
  double as_real() const { return is_real() ? std::get<double>(data_) : static_cast<double>(as_int()); }
  const text& as_text() const { return *std::get<string_ptr>(data_); }
  std::string_view view() const { return as_text().view(); }
  sequence* as_sequence() const { return pointer<sequence_ptr>(); }  // null: not a sequence
  const dict* as_dict() const { return pointer<dict_ptr>(); }
  object* as_object() const { return pointer<object_ptr>(); }
  bool is_sequence(form f) const;

  u32 depth() const;  // of nesting
  // Identity, as Python's `is`.
  bool same(const value& other) const;

 private:
  template <class Pointer> typename Pointer::element_type* pointer() const {
    const auto* p = std::get_if<Pointer>(&data_);
    return p ? p->get() : nullptr;
  }
  std::variant<none, undefined, bool, i64, double, string_ptr, sequence_ptr, dict_ptr, object_ptr> data_;
};

// Bounds the nesting of values, and so the stack of functions that walk them.
inline constexpr u32 max_nesting = 100;

struct sequence {
  form as = form::list;
  values items;
  u32 depth = 1;
  std::size_t used = 0;   // one_shot: items consumed
  std::string printed{};  // range: "range(0, 3)"
};

// In insertion order. Look-ups are linear: templates use few keys.
struct dict {
  std::vector<std::pair<value, value>> entries;
  u32 depth = 1;

  const value* find(std::string_view key) const {
    for (const auto& [k, v] : entries)
      if (k.is_string() && k.view() == key) return &v;
    return nullptr;
  }
};

struct arguments {
  values positional;
  std::vector<std::pair<std::string, value>> named;

  // Removes and returns the argument with this name.
  std::optional<value> take(std::string_view name) {
    for (auto it = named.begin(); it != named.end(); ++it) {
      if (it->first != name) continue;
      value v = std::move(it->second);
      named.erase(it);
      return v;
    }
    return {};
  }
  // Positional argument i, or else the one with this name; absent if neither is given.
  std::optional<value> get(std::size_t i, std::string_view name) {
    if (i >= positional.size()) return take(name);
    if (take(name)) raise({"two values for the argument ", name});
    return positional[i];
  }
  value get(std::size_t i, std::string_view name, value otherwise) {
    auto given = get(i, name);
    return given ? std::move(*given) : std::move(otherwise);
  }
  value need(std::size_t i, std::string_view name) {
    auto given = get(i, name);
    if (!given) raise({"the argument ", name, " is missing"});
    return std::move(*given);
  }
  // Call this after all parameters were fetched; throws if there are more arguments.
  void done(std::size_t parameters) const {
    if (positional.size() > parameters)
      raise({"at most ", parameters, " arguments expected, ", positional.size(), " found"});
    if (!named.empty()) raise({"no argument of the name ", named.front().first});
  }
};

inline u32 nested(u32 inner) {
  if (inner >= max_nesting) raise({"values nest deeper than ", max_nesting, " levels"});
  return inner + 1;
}

inline value::value(form as, values items) {
  auto s = std::make_shared<sequence>();
  s->as = as;
  u32 inner = 0;
  for (const value& v : items) inner = std::max(inner, v.depth());
  s->depth = nested(inner);
  s->items = std::move(items);
  data_ = std::move(s);
}
inline bool value::is_sequence(form f) const {
  const sequence* s = as_sequence();
  return s && s->as == f;
}
inline u32 value::depth() const {
  if (const sequence* s = as_sequence()) return s->depth;
  if (const dict* d = as_dict()) return d->depth;
  return as_object() ? as_object()->depth : 0;
}
inline bool value::same(const value& other) const {
  if (data_.index() != other.data_.index()) return false;
  if (is_none() || is_undefined()) return is_none();
  if (is_bool()) return as_bool() == other.as_bool();
  if (is_int()) return as_int() == other.as_int();
  if (is_string()) return &as_text() == &other.as_text();
  if (const sequence* s = as_sequence()) return s == other.as_sequence();
  if (const dict* d = as_dict()) return d == other.as_dict();
  return as_object() && as_object() == other.as_object();
}

inline std::optional<value> object::attribute(std::string_view) { return {}; }
inline value object::call(interpreter&, arguments&) { raise({type(), " object is not callable"}); }

inline value make_undefined(std::string why) { return undefined{std::make_shared<const std::string>(std::move(why))}; }
// Text that the template's author wrote: literals, numbers, True.
inline value author_text(std::string_view s) { return text(s, origin::author); }

// Python's name of a value's type.
inline std::string_view type_name(const value& v) {
  if (v.is_none()) return "NoneType";
  if (v.is_undefined()) return "Undefined";
  if (v.is_bool()) return "bool";
  if (v.is_int()) return "int";
  if (v.is_real()) return "float";
  if (v.is_string()) return "str";
  if (v.as_dict()) return "dict";
  if (v.as_object()) return v.as_object()->type();
  static constexpr std::string_view names[] = {"list",      "tuple",       "range",     "generator",
                                               "dict_keys", "dict_values", "dict_items"};
  return names[static_cast<u8>(v.as_sequence()->as)];
}

}  // namespace cke::text::jinja
