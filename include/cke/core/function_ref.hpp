// SPDX-License-Identifier: MIT
// function_ref.hpp: passes a callable by reference, where a template would be compiled once per caller.
#pragma once

#include <memory>
#include <type_traits>

namespace cke {

// C++26's std::function_ref. It refers to the callable, which must outlive the call.
template <class Signature> class function_ref;

template <class Result, class... Args> class function_ref<Result(Args...)> {
 public:
  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, function_ref>)
  function_ref(F&& f) : object_(std::addressof(f)), call_(call<std::remove_reference_t<F>>) {}

  Result operator()(Args... args) const { return call_(object_, args...); }

 private:
  template <class F> static Result call(const void* object, Args... args) {
    return (*static_cast<F*>(const_cast<void*>(object)))(args...);
  }

  const void* object_;
  Result (*call_)(const void*, Args...);
};

}  // namespace cke
