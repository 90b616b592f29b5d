# SPDX-License-Identifier: MIT
# cke-page.cmake: headers and pages for WebAssembly, where cke-wasm.cmake is the toolchain.
if(NOT CMAKE_SYSTEM_PROCESSOR STREQUAL "wasm32" OR TARGET cke_wasm)
  return()
endif()
set(CKE_BROWSER_DIR "${CMAKE_CURRENT_LIST_DIR}/../browser" CACHE INTERNAL "Where the page's own files are")

# Headers of the system, without /usr/include itself: the C library there is another machine's.
function(cke_headers_alone target name)
  if(NOT TARGET ${target})
    return()
  endif()
  get_target_property(folders ${target} INTERFACE_INCLUDE_DIRECTORIES)
  set(alone "${CMAKE_BINARY_DIR}/wasm-include")
  foreach(folder IN LISTS folders)
    if(EXISTS "${folder}/${name}" AND NOT EXISTS "${alone}/${name}")
      file(MAKE_DIRECTORY "${alone}")
      file(CREATE_LINK "${folder}/${name}" "${alone}/${name}" SYMBOLIC)
    endif()
  endforeach()
  set_target_properties(${target} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${alone}")
endfunction()
cke_headers_alone(Boost::headers boost)
cke_headers_alone(nlohmann_json::nlohmann_json nlohmann)

# The options of every program: what `throw` does, and a stack of 1 MiB, below which is nothing that it could overwrite.
add_library(cke_wasm INTERFACE)
add_library(cke::wasm ALIAS cke_wasm)
target_sources(cke_wasm INTERFACE "${CKE_BROWSER_DIR}/throw.cpp")
target_link_options(cke_wasm INTERFACE -Wl,--stack-first -Wl,-z,stack-size=1048576 $<$<CONFIG:Release>:-Wl,--strip-all>)

# cke_add_page(NAME SOURCES FILE ... MODEL FILE.gguf [TITLE TEXT] [CONTEXT N] [RELAXED]): builds NAME.html, a page that
# holds the program and the model. One source has CKE_PAGE. RELAXED: the program a second time, with relaxed dots, for
# browsers that have them; K-quants use them.
function(cke_add_page name)
  cmake_parse_arguments(PARSE_ARGV 1 page "RELAXED" "MODEL;TITLE;CONTEXT" "SOURCES")
  if(NOT page_SOURCES OR NOT page_MODEL OR page_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "cke_add_page(${name}): expected SOURCES, MODEL and nothing unknown, found: ${ARGN}")
  endif()
  if(NOT page_TITLE)
    set(page_TITLE "${name}")
  endif()
  if(NOT page_CONTEXT)
    set(page_CONTEXT 2048)
  endif()
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  cmake_path(ABSOLUTE_PATH page_MODEL)
  set(programs simd)
  if(page_RELAXED)
    list(APPEND programs relaxed)
  endif()
  foreach(program IN LISTS programs)
    add_executable(${name}_${program} ${page_SOURCES})
    target_link_libraries(${name}_${program} PRIVATE cke::cke cke::wasm)
    target_link_options(${name}_${program} PRIVATE -mexec-model=reactor)
    set_target_properties(${name}_${program} PROPERTIES SUFFIX .wasm)
    list(APPEND made --${program} $<TARGET_FILE:${name}_${program}>)
    list(APPEND targets ${name}_${program})
  endforeach()
  if(page_RELAXED)
    target_compile_options(${name}_relaxed PRIVATE -mrelaxed-simd)
  endif()
  set(out "${CMAKE_CURRENT_BINARY_DIR}/${name}.html")
  add_custom_command(OUTPUT "${out}" COMMAND Python3::Interpreter "${CKE_BROWSER_DIR}/make_page.py" "${out}"
    --title "${page_TITLE}" --model "${page_MODEL}" --context ${page_CONTEXT} ${made}
    DEPENDS ${targets} "${page_MODEL}" "${CKE_BROWSER_DIR}/make_page.py"
            "${CKE_BROWSER_DIR}/page.html" "${CKE_BROWSER_DIR}/worker.js"
    VERBATIM)
  add_custom_target(${name} ALL DEPENDS "${out}")
endfunction()
