// SPDX-License-Identifier: MIT
// interpreter.hpp: evaluates a parsed template: names, expressions and calls. render.hpp has the statements.
#pragma once

#include <ctime>
#include <deque>

#include "ast.hpp"
#include "strings.hpp"

CKE_COMPILED_ONCE
namespace cke::text::jinja {

// The names of one scope. An if does not open a scope.
struct frame {
  frame* outer = nullptr;
  std::vector<std::pair<std::string_view, value>> names{};
  bool kept = false;  // a macro defined in it may outlive it

  value* find(std::string_view name) {
    for (auto& [key, v] : names)
      if (key == name) return &v;
    return nullptr;
  }
};

// namespace(): the only mutable object of a template.
struct namespace_object final : object {
  std::vector<std::pair<std::string, value>> attributes;

  std::string_view type() const override { return "Namespace"; }
  std::optional<value> attribute(std::string_view name) override {
    for (const auto& [key, v] : attributes)
      if (key == name) return v;
    return {};
  }
  void print(text& out, budget& cost) const override {
    const auto level = cost.enter();
    out.append("<Namespace {", origin::author);
    for (bool first = true; const auto& [key, v] : attributes) {
      if (!std::exchange(first, false)) out.append(", ", origin::author);
      append_repr(out, text(key, origin::author), cost);
      out.append(": ", origin::author);
      append_repr(out, v, cost);
    }
    out.append("}>", origin::author);
  }
  void set(std::string_view name, value v) {
    if (name.starts_with('_')) raise({"a namespace has no attribute ", name});
    for (auto& [key, old] : attributes)
      if (key == name) return void(old = std::move(v));
    attributes.emplace_back(name, std::move(v));
  }
};

using global_function = value (*)(interpreter&, arguments&);
using method_function = value (*)(interpreter&, const value& self, arguments&);
using filter_function = value (*)(interpreter&, const value& input, arguments&);
using test_function = bool (*)(interpreter&, const value& input, arguments&);

// Look-ups in the tables of the headers with these names; null for an unknown name.
global_function find_global(std::string_view name);
method_function find_method(const value& of, std::string_view name);
filter_function find_filter(std::string_view name);
test_function find_test(std::string_view name);

class interpreter {
 public:
  // `context` must outlive the interpreter.
  interpreter(const dict& context, const limits& l, std::tm now) : context_(context), cost_(l), now_(now) {}
  interpreter(const interpreter&) = delete;
  // Breaks reference cycles between namespaces.
  ~interpreter() {
    for (const auto& n : namespaces_) n->attributes.clear();
  }

  text render(const statement_list& all);
  budget& cost() { return cost_; }
  const std::tm& now() const { return now_; }
  u32 line() const { return line_; }

  // The items that a for loop visits. Consumes a one_shot.
  values items_of(const value& v);
  // of[key] and of.name, resolved as jinja2 does.
  value item(const value& of, const value& key);
  value attribute(const value& of, std::string_view name);
  value call(const value& what, arguments& args);
  value filter(std::string_view name, const value& input, arguments& args) {
    const filter_function f = find_filter(name);
    if (!f) raise({"no filter of the name ", name}, errc::unsupported);
    return f(*this, input, args);
  }
  bool test(std::string_view name, const value& input, arguments& args) {
    const test_function f = find_test(name);
    if (!f) raise({"no test of the name ", name}, errc::unsupported);
    return f(*this, input, args);
  }
  std::shared_ptr<namespace_object> make_namespace() {
    return namespaces_.emplace_back(std::make_shared<namespace_object>());
  }

 private:
  friend struct macro_object;
  friend class loop_object;

  // Opens a scope; the destructor closes it.
  class scope {
   public:
    scope(interpreter& in, frame* outer) : in_(in), saved_(in.frame_), mine_(std::make_unique<frame>(outer)) {
      in.frame_ = mine_.get();
    }
    ~scope() {
      in_.frame_ = saved_;
      if (mine_->kept) in_.kept_.push_back(std::move(mine_));
    }
    scope(const scope&) = delete;
    scope& operator=(const scope&) = delete;

   private:
    interpreter& in_;
    frame* saved_;
    std::unique_ptr<frame> mine_;
  };
  // Redirects output; the destructor restores it.
  class capture {
   public:
    explicit capture(interpreter& in) : in_(in), saved_(std::exchange(in.out_, &mine_)) {}
    ~capture() { in_.out_ = saved_; }
    capture(const capture&) = delete;
    capture& operator=(const capture&) = delete;
    text take() { return std::move(mine_); }

   private:
    interpreter& in_;
    text* saved_;
    text mine_;
  };
  enum class flow : u8 { on, leave, next };

  value eval(const expr& e);
  value eval_name(const std::string& name);
  bool compare(std::string_view op, const value& a, const value& b);
  value eval_call(const expr& e);
  arguments eval_arguments(const expr& e);
  value eval_filter(const expr& e, const value* block_text);

  flow run(const statement_list& b);
  flow run(const statement& s);
  flow run_loop(const statement& s);
  flow run_loop(const statement& s, const value& over, u32 depth);
  flow run_branch(const statement& s);
  void run_set(const statement& s);
  void run_call(const statement& s);
  void run_with(const statement& s);
  text captured(const statement_list& b);
  void assign(const expr& target, value v);
  value define(const macro_definition& m);
  void put(const text& t) {
    cost_.make(t.size());
    cost_.fit(out_->size() + t.size());
    out_->append(t);
  }

  // Outputs a block's result, which Python does not convert to text.
  void put_text(const value& v) {
    if (!v.is_string()) raise({"a block that gives text expected, found '", type_name(v), "'"});
    put(v.as_text());
  }

  const dict& context_;
  budget cost_;
  std::tm now_;
  frame root_;
  frame* frame_ = &root_;
  text* out_ = nullptr;
  u32 line_ = 0;
  std::vector<std::unique_ptr<frame>> kept_;
  std::vector<std::shared_ptr<namespace_object>> namespaces_;
};

// A method bound to its value: "x".upper
struct bound_method final : object {
  value self;
  method_function function;

  bound_method(value of, method_function f) : self(std::move(of)), function(f) { depth = nested(self.depth()); }
  std::string_view type() const override { return "builtin_function_or_method"; }
  bool callable() const override { return true; }
  value call(interpreter& in, arguments& args) override { return function(in, self, args); }
};
struct builtin final : object {
  global_function function;

  explicit builtin(global_function f) : function(f) {}
  std::string_view type() const override { return "function"; }
  bool callable() const override { return true; }
  value call(interpreter& in, arguments& args) override { return function(in, args); }
};

inline value::object_ptr make_method(const value& of, method_function f) {
  return std::make_shared<bound_method>(of, f);
}

inline values interpreter::items_of(const value& v) {
  if (v.is_undefined()) return {};
  values out;
  if (v.is_string()) {
    const text& s = v.as_text();
    const std::size_t count = code_points(s.view());
    cost_.make(s.size());
    cost_.spend(count);  // each is a string of its own, as a part of a split is
    out.reserve(count);
    for (std::size_t at = 0; at < s.size();) {
      const u32 size = code_point_at(s.view(), at).size;
      out.push_back(s.substr(at, size));
      at += size;
    }
  } else if (const dict* d = v.as_dict()) {
    cost_.spend(d->entries.size());
    for (const auto& entry : d->entries) out.push_back(entry.first);
  } else if (sequence* s = v.as_sequence()) {
    cost_.spend(s->items.size() - s->used);
    out.assign(s->items.begin() + static_cast<std::ptrdiff_t>(s->used), s->items.end());
    if (s->as == form::one_shot) s->used = s->items.size();
  } else {
    raise({"'", type_name(v), "' object is not iterable"});
  }
  return out;
}

inline value no_attribute(const value& of, std::string_view name) {
  const std::string_view kind = of.is_none() ? "None" : type_name(of);
  return make_undefined(concat({"'", kind, of.is_none() ? "" : " object", "' has no attribute '", name, "'"}));
}

inline value interpreter::attribute(const value& of, std::string_view name) {
  cost_.spend(1);
  if (of.is_undefined()) raise({*of.as_undefined().why});
  if (const method_function f = find_method(of, name)) return make_method(of, f);
  if (const dict* d = of.as_dict()) {
    cost_.spend(d->entries.size() / 8);
    if (const value* v = d->find(name)) return *v;
  }
  if (object* o = of.as_object())
    if (auto v = o->attribute(name)) return std::move(*v);
  return no_attribute(of, name);
}

inline value interpreter::item(const value& of, const value& key) {
  cost_.spend(1);
  if (of.is_undefined()) raise({*of.as_undefined().why});
  if (const dict* d = of.as_dict(); d && !key.as_dict() && !key.is_sequence(form::list))
    if (const value* v = cke::text::jinja::find(*d, key, cost_)) return *v;
  const sequence* s = of.as_sequence();
  const bool indexed = of.is_string() || (s && s->as <= form::range);
  if (indexed && key.is_integral()) {
    const auto size = static_cast<i64>(length_of(of));
    const i64 i = key.as_int() < 0 ? key.as_int() + size : key.as_int();
    if (i >= 0 && i < size) {
      if (s) return s->items[static_cast<std::size_t>(i)];
      cost_.spend(of.as_text().size() / 8);
      const std::size_t at = offset_of(of.view(), static_cast<std::size_t>(i));
      return of.as_text().substr(at, code_point_at(of.view(), at).size);
    }
  }
  if (key.is_string()) {
    if (const method_function f = find_method(of, key.view())) return make_method(of, f);
    if (object* o = of.as_object())
      if (auto v = o->attribute(key.view())) return std::move(*v);
    return no_attribute(of, key.view());
  }
  return make_undefined(concat({type_name(of), " object has no such element"}));
}

inline value interpreter::call(const value& what, arguments& args) {
  const auto level = cost_.enter();
  if (what.is_undefined()) raise({*what.as_undefined().why});
  object* o = what.as_object();
  if (!o || !o->callable()) raise({"'", type_name(what), "' object is not callable"});
  return o->call(*this, args);
}

inline value interpreter::eval_name(const std::string& name) {
  for (frame* f = frame_; f; f = f->outer)
    if (const value* v = f->find(name)) return *v;
  if (const value* v = context_.find(name)) return *v;
  if (const global_function f = find_global(name)) return value::object_ptr(std::make_shared<builtin>(f));
  return make_undefined(concat({"'", name, "' is undefined"}));
}

}  // namespace cke::text::jinja
