# SPDX-License-Identifier: MIT
# cke-families.cmake: all families as a type list, for programs that know all of them. A family is found by its file in
# include/cke/models/files: a new one is an edit nowhere else.
file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/cke/models/files/*.hpp)
set(includes "")
set(cards "")
set(families "")
foreach(file IN LISTS files)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  cmake_path(GET file STEM stem)
  string(APPEND includes "#include <cke/models/${stem}.hpp>\n")
  file(STRINGS ${file} lines REGEX "^template <> struct family<\"")
  foreach(line IN LISTS lines)
    string(REGEX MATCH "family<\"[^\"]+\">" family "${line}")
    string(APPEND cards "template <> inline constexpr std::string_view card_of<${family}> = \"cke/models/${stem}.hpp\";\n")
    list(APPEND families "${family}")
  endforeach()
endforeach()
list(JOIN families ",\n    " families)
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/families/cke_families.hpp @ONLY CONTENT
"// cke_families.hpp: written by cmake/cke-families.cmake.
#pragma once

@includes@
namespace cke {
template <class Family> inline constexpr std::string_view card_of{};
@cards@
using families = list<
    @families@>;
}  // namespace cke
")
add_library(cke_families INTERFACE)
target_include_directories(cke_families INTERFACE ${PROJECT_BINARY_DIR}/families)
target_link_libraries(cke_families INTERFACE cke::cke)
