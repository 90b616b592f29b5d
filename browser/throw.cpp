// SPDX-License-Identifier: MIT
// throw.cpp: what `throw` does in a program for WebAssembly: says what, and ends the program.
//
// Debian's C++ library for wasm32 has no unwinder. The compiler leaves out what would catch, and these two functions
// are what it calls to throw.
#include <cke/core/error.hpp>

#include <cstdio>
#include <cstdlib>
#include <typeinfo>

extern "C" {

void* __cxa_allocate_exception(std::size_t bytes) { return std::malloc(bytes); }

[[noreturn]] void __cxa_throw(void* thrown, std::type_info* type, void (*)(void*)) {
  const bool ours = *type == typeid(cke::Error);
  std::fprintf(stderr, "cke: error: %s\n", ours ? static_cast<cke::Error*>(thrown)->what() : type->name());
  std::abort();
}

}  // extern "C"
