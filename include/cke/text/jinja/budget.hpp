// SPDX-License-Identifier: MIT
// budget.hpp: limits on what a template may use; it comes from an untrusted file.
#pragma once

#include "value.hpp"

CKE_COMPILED_ONCE
namespace cke::text::jinja {

struct limits {
  u64 steps = 5'000'000;      // expressions, statements and items visited
  u64 bytes = u64{1} << 29;   // total size of the strings created
  u64 output = u64{1} << 26;  // size of one string, and of the result
  u32 depth = 1000;           // nesting of expressions, blocks and calls
  u64 source = u64{1} << 20;  // size of the template
};

class budget {
 public:
  explicit budget(const limits& l) : limits_(l) {}

  void spend(u64 steps) {
    if ((steps_ += steps) > limits_.steps) over("more than ", limits_.steps, " steps");
  }
  // Checks the size of a string before it is created, or grows.
  void fit(u64 bytes) const {
    if (bytes > limits_.output) over("a string of more than ", limits_.output, " bytes");
  }
  void make(u64 bytes) {
    fit(bytes);
    if ((bytes_ += bytes) > limits_.bytes) over("strings of more than ", limits_.bytes, " bytes in all");
    spend(1 + bytes / 64);
  }

  // Enters a level of recursion; the destructor leaves it.
  class level {
   public:
    explicit level(budget& of) : of_(of) {
      if (++of.depth_ > of.limits_.depth) {
        --of.depth_;  // the destructor will not run
        of.over("recursion deeper than ", of.limits_.depth, " levels");
      }
    }
    ~level() { --of_.depth_; }
    level(const level&) = delete;
    level& operator=(const level&) = delete;

   private:
    budget& of_;
  };
  level enter() { return level(*this); }

 private:
  [[noreturn]] static void over(std::string_view what, u64 limit, std::string_view unit) {
    raise({"the template needs ", what, limit, unit});
  }

  limits limits_;
  u64 steps_ = 0, bytes_ = 0;
  u32 depth_ = 0;
};

}  // namespace cke::text::jinja
