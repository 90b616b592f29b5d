# SPDX-License-Identifier: MIT
# cke-wasm.cmake: a toolchain file for WebAssembly: Debian's clang-19, lld-19, wasi-libc, libc++-19-dev-wasm32 and
# libclang-rt-19-dev-wasm32 (docs/browser.md).
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR wasm32)
set(CMAKE_CXX_COMPILER clang++-19)
set(CMAKE_CXX_COMPILER_TARGET wasm32-wasi)
set(CMAKE_CXX_FLAGS_INIT "-msimd128")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
