# SPDX-License-Identifier: MIT
# cke-families.cmake: all families as a type list, and all towers, for programs that know all of them. A family is found
# by its file in include/cke/models/files (a tower's: models/towers/files): a new one is an edit nowhere else.
function(cke_list_families folder list)  # sets includes, cards and families
  file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/cke/${folder}/files/*.hpp)
  foreach(file IN LISTS files)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    cmake_path(GET file STEM stem)
    string(APPEND includes "#include <cke/${folder}/${stem}.hpp>\n")
    file(STRINGS ${file} lines REGEX "^template <> struct family<\"")
    foreach(line IN LISTS lines)
      string(REGEX MATCH "family<\"[^\"]+\">" family "${line}")
      string(APPEND cards
             "template <> inline constexpr std::string_view card_of<${family}> = \"cke/${folder}/${stem}.hpp\";\n")
      list(APPEND families "${family}")
    endforeach()
  endforeach()
  list(JOIN families ",\n    " families)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/families/cke_${list}.hpp @ONLY CONTENT
"// cke_@list@.hpp: written by cmake/cke-families.cmake.
#pragma once

@includes@
namespace cke {
#ifndef CKE_CARD_OF
#define CKE_CARD_OF
template <class Family> inline constexpr std::string_view card_of{};
#endif
@cards@
using @list@ = list<
    @families@>;
}  // namespace cke
")
endfunction()
cke_list_families(models families)
cke_list_families(models/towers towers)
add_library(cke_families INTERFACE)
target_include_directories(cke_families INTERFACE ${PROJECT_BINARY_DIR}/families)
target_link_libraries(cke_families INTERFACE cke::cke)
