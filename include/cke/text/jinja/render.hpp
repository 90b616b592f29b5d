// SPDX-License-Identifier: MIT
// render.hpp: executes each kind of statement: output, names, loops, macros.
#pragma once

#include "expressions.hpp"

CKE_COMPILED_ONCE
namespace cke::text::jinja {

struct macro_object final : object {
  const macro_definition& define;
  frame* scope;  // where the macro was defined

  macro_object(const macro_definition& m, frame* f) : define(m), scope(f) {}
  std::string_view type() const override { return "Macro"; }
  bool callable() const override { return true; }
  std::optional<value> attribute(std::string_view name) override {
    if (name == "name") return author_text(define.name);
    return {};
  }
  void print(text& out, budget& cost) const override {
    out.append("<Macro ", origin::author);
    append_repr(out, text(define.name, origin::author), cost);
    out.append(">", origin::author);
  }
  value call(interpreter& in, arguments& args) override;
};

// The variable `loop`. It fetches items, and applies the loop's filter, lazily.
class loop_object final : public object {
 public:
  loop_object(interpreter& in, const statement& s, const value& over, u32 depth0)
      : in_(&in), statement_(s), outer_(in.frame_), items_(in.items_of(over)), depth0_(depth0) {
    u32 inner = 0;
    for (const value& v : items_) inner = std::max(inner, v.depth());
    depth = nested(inner);
  }
  std::string_view type() const override { return "LoopContext"; }

  // Moves to the next item; returns false after the last.
  bool advance() {
    if (!peek()) return false;
    if (index_ >= 0) before_ = std::move(current_);
    current_ = std::move(ahead_.front());
    ahead_.pop_front();
    ++index_;
    return true;
  }
  const value& current() const { return current_; }
  // Ends the loop; references that remain see no more items.
  void close() { in_ = nullptr, items_.clear(), taken_ = 0, last_changed_.reset(); }

  std::optional<value> attribute(std::string_view name) override {
    if (name == "index") return index_ + 1;
    if (name == "index0") return index_;
    if (name == "first") return index_ == 0;
    if (name == "last") return !peek();
    if (name == "length") return length();
    if (name == "revindex") return length() - index_;
    if (name == "revindex0") return length() - index_ - 1;
    if (name == "depth") return static_cast<i64>(depth0_) + 1;
    if (name == "depth0") return static_cast<i64>(depth0_);
    if (name == "previtem") return index_ > 0 ? before_ : make_undefined("there is no previous item");
    if (name == "nextitem") return peek() ? ahead_.front() : make_undefined("there is no next item");
    return {};
  }
  value cycle(arguments& args) const {
    if (args.positional.empty()) raise({"no items for cycling given"});
    return args.positional[static_cast<std::size_t>(index_) % args.positional.size()];
  }
  value changed(interpreter& in, arguments& args) {
    value now(form::tuple, args.positional);
    const bool differs = !last_changed_ || !equal(*last_changed_, now, in.cost());
    last_changed_ = std::move(now);
    depth = nested(std::max(depth, last_changed_->depth()));
    return differs;
  }

  bool callable() const override { return true; }
  // Runs the same loop over other items, recursively.
  value call(interpreter& in, arguments& args) override {
    if (!in_ || !statement_.recursive) raise({"a loop that is marked recursive expected"});
    const interpreter::scope around(in, outer_);
    interpreter::capture output(in);
    in.run_loop(statement_, args.need(0, "iterable"), depth0_ + 1);
    return output.take();
  }

 private:
  bool peek() {
    while (ahead_.empty() && pull()) {}
    return !ahead_.empty();
  }
  // Fetches one more item; returns false if there is none.
  bool pull() {
    if (taken_ == items_.size()) return false;
    value v = items_[taken_++];
    in_->cost_.spend(1);
    const expr* wanted = statement_.exprs[2].get();
    bool keep = true;
    if (wanted) {
      const interpreter::scope names(*in_, outer_);
      in_->assign(*statement_.exprs[0], v);
      keep = truth(in_->eval(*wanted));
    }
    if (keep) ahead_.push_back(std::move(v));
    return true;
  }
  i64 length() {
    while (pull()) {}
    return index_ + 1 + static_cast<i64>(ahead_.size());
  }

  interpreter* in_;
  const statement& statement_;
  frame* outer_;
  values items_;
  std::size_t taken_ = 0;
  std::deque<value> ahead_;
  value before_, current_;
  std::optional<value> last_changed_;
  i64 index_ = -1;
  u32 depth0_;
};

inline void interpreter::assign(const expr& target, value v) {
  if (target.kind == expr_kind::name) {
    if (value* old = frame_->find(target.name)) *old = std::move(v);
    else frame_->names.emplace_back(target.name, std::move(v));
  } else if (target.kind == expr_kind::field) {
    const value space = eval(*target.kids[0]);
    auto* n = dynamic_cast<namespace_object*>(space.as_object());
    if (!n) raise({"cannot assign attribute on non-namespace object"});
    n->set(target.name, std::move(v));
  } else {
    const values parts = items_of(v);
    if (parts.size() != target.kids.size())
      raise({target.kids.size(), " values to unpack expected, found ", parts.size()});
    for (std::size_t i = 0; i < parts.size(); ++i) assign(*target.kids[i], parts[i]);
  }
}

inline value interpreter::define(const macro_definition& m) {
  for (frame* f = frame_; f && !f->kept; f = f->outer) f->kept = true;
  return value::object_ptr(std::make_shared<macro_object>(m, frame_));
}

inline value macro_object::call(interpreter& in, arguments& args) {
  const auto& names = define.takes.names;
  const auto& defaults = define.takes.defaults;
  const interpreter::scope local(in, scope);
  frame& f = *in.frame_;
  bool own_caller = false;
  for (std::size_t i = 0; i < names.size(); ++i) {
    own_caller |= names[i] == "caller";
    std::optional<value> v;
    if (i < args.positional.size()) v = args.positional[i];
    else v = args.take(names[i]);
    const std::size_t first = names.size() - defaults.size();
    if (!v && i >= first) v = in.eval(*defaults[i - first]);
    f.names.emplace_back(names[i],
                         v ? std::move(*v) : make_undefined(concat({"parameter '", names[i], "' was not provided"})));
  }
  if (define.caller && !own_caller) {
    auto caller = args.take("caller");
    f.names.emplace_back("caller", caller ? std::move(*caller) : make_undefined("No caller defined"));
  }
  if (define.kwargs) {
    auto rest = std::make_shared<dict>();
    for (auto& [key, v] : args.named) insert(*rest, author_text(key), std::move(v), in.cost());
    f.names.emplace_back("kwargs", value::dict_ptr(std::move(rest)));
  } else if (!args.named.empty()) {
    raise({"macro '", define.name, "' takes no keyword argument '", args.named[0].first, "'"});
  }
  const std::size_t given = args.positional.size();
  if (define.varargs) {
    values rest;
    for (std::size_t i = names.size(); i < given; ++i) rest.push_back(args.positional[i]);
    f.names.emplace_back("varargs", value(form::tuple, std::move(rest)));
  } else if (given > names.size()) {
    raise({"macro '", define.name, "' takes not more than ", names.size(), " argument(s)"});
  }
  return in.captured(define.body);
}

inline text interpreter::captured(const statement_list& b) {
  capture output(*this);
  run(b);
  return output.take();
}

inline interpreter::flow interpreter::run(const statement_list& b) {
  const auto level = cost_.enter();
  for (const statement& s : b)
    if (const flow f = run(s); f != flow::on) return f;
  return flow::on;
}

inline interpreter::flow interpreter::run(const statement& s) {
  cost_.spend(1);
  line_ = s.line;
  switch (s.kind) {
    case statement_kind::data: put(s.constant.as_text()); break;
    case statement_kind::output:
      for (const expr_ptr& e : s.exprs) put(str(eval(*e), cost_));
      break;
    case statement_kind::set:
    case statement_kind::set_block: run_set(s); break;
    case statement_kind::branch: return run_branch(s);
    case statement_kind::loop: return run_loop(s);
    case statement_kind::macro: {
      value m = define(*s.define);
      if (value* old = frame_->find(s.define->name)) *old = std::move(m);
      else frame_->names.emplace_back(s.define->name, std::move(m));
      break;
    }
    case statement_kind::call: run_call(s); break;
    case statement_kind::filter: {
      const scope names(*this, frame_);
      const value body = captured(s.bodies[0]);
      put_text(eval_filter(*s.exprs[0], &body));
      break;
    }
    case statement_kind::with: run_with(s); break;
    case statement_kind::scope: {
      const scope names(*this, frame_);
      run(s.bodies[0]);
      break;
    }
    case statement_kind::leave: return flow::leave;
    case statement_kind::next: return flow::next;
  }
  return flow::on;
}

inline void interpreter::run_set(const statement& s) {
  if (s.kind == statement_kind::set) return assign(*s.exprs[0], eval(*s.exprs[1]));
  value v;
  {
    const scope names(*this, frame_);
    v = captured(s.bodies[0]);
    if (s.exprs[1]) v = eval_filter(*s.exprs[1], &v);
  }
  assign(*s.exprs[0], std::move(v));
}

inline interpreter::flow interpreter::run_branch(const statement& s) {
  for (std::size_t i = 0; i < s.exprs.size(); ++i)
    if (truth(eval(*s.exprs[i]))) return run(s.bodies[i]);
  return s.bodies.size() > s.exprs.size() ? run(s.bodies.back()) : flow::on;
}

inline interpreter::flow interpreter::run_loop(const statement& s) { return run_loop(s, eval(*s.exprs[1]), 0); }
inline interpreter::flow interpreter::run_loop(const statement& s, const value& over, u32 depth) {
  const auto level = cost_.enter();
  const auto loop = std::make_shared<loop_object>(*this, s, over, depth);
  const struct closer {
    loop_object& of;
    ~closer() { of.close(); }
  } at_end{*loop};
  bool any = false;
  for (flow f = flow::on; f != flow::leave && loop->advance(); any = true) {
    const scope names(*this, frame_);
    frame_->names.emplace_back("loop", value::object_ptr(loop));
    assign(*s.exprs[0], loop->current());
    f = run(s.bodies[0]);
  }
  if (!any) {
    const scope names(*this, frame_);
    return run(s.bodies[1]);
  }
  return flow::on;
}

inline void interpreter::run_call(const statement& s) {
  const expr& e = *s.exprs[0];
  const value what = eval(*e.kids[0]);
  arguments args = eval_arguments(e);
  args.named.emplace_back("caller", define(*s.define));
  put_text(call(what, args));
}

inline void interpreter::run_with(const statement& s) {
  values of;
  for (std::size_t i = 1; i < s.exprs.size(); i += 2) of.push_back(eval(*s.exprs[i]));
  const scope names(*this, frame_);
  for (std::size_t i = 0; i < of.size(); ++i) assign(*s.exprs[2 * i], std::move(of[i]));
  run(s.bodies[0]);
}

inline text interpreter::render(const statement_list& all) {
  capture output(*this);
  run(all);
  return output.take();
}

}  // namespace cke::text::jinja
