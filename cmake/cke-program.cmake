# SPDX-License-Identifier: MIT
# cke-program.cmake: compile options of our own programs; none of them reaches users of cke::cke.
if(PROJECT_IS_TOP_LEVEL)
  find_program(CKE_CCACHE ccache)
  if(CKE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    set(CMAKE_CXX_COMPILER_LAUNCHER "${CKE_CCACHE}")
  endif()
  if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release)
  endif()
endif()
set(CMAKE_CXX_EXTENSIONS OFF)

# A check that this machine cannot run, and why: ./dev test lists them all at its end.
function(cke_left_out check reason)
  message(STATUS "cke: left out: ${check}: ${reason}")
endfunction()

set(cke_machine $<$<BOOL:${CKE_MARCH}>:-march=${CKE_MARCH}>)
add_compile_options(-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Werror ${cke_machine})
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 19)
  add_compile_options(-Wno-invalid-feature-combination)  # its -march=native warns about AVX10 where a CPU has it
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  add_compile_options(-Wno-uninitialized -Wno-maybe-uninitialized)  # for gcc's own AVX-512 headers: GCC bug 105593
  add_compile_options(-Wno-restrict)  # for "text" + std::string: GCC bug 105651
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
  add_compile_options(-Wno-psabi)  # we link nothing that was compiled by gcc 9, whose ABI for such arguments differed
endif()
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "wasm32")
  # Sizes of 64 bits, checked against what is there, index its 32 bits.
  add_compile_options(-Wno-shorten-64-to-32 -Wno-sign-conversion)
endif()
if(CKE_SANITIZE)
  add_compile_options(-O1 -g1 -fsanitize=${CKE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${CKE_SANITIZE})
endif()
