# SPDX-License-Identifier: MIT
# cke-xsimd.cmake: provides the target xsimd (>= 13), for the build and for the installed package.
#
# The search order is: CKE_XSIMD_INCLUDE_DIR (a folder with xsimd/xsimd.hpp); find_package (Conan, the system, a prefix
# path, or the copy inside an installed cke); the headers in the PyPI wheel of pythran, fetched into CKE_DEPS_DIR.
# Debian 12's xsimd 8.1 is too old.
set(CKE_XSIMD_INCLUDE_DIR "" CACHE PATH "Folder that holds xsimd/xsimd.hpp; empty: find or fetch it")
set(CKE_DEPS_DIR "${CMAKE_BINARY_DIR}/deps" CACHE PATH "Where fetched dependencies are kept")

# Arranges the headers as xsimd's own install does: include/, licence, xsimdConfig.cmake.
function(cke_fetch_xsimd prefix wheel sha256 version)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  message(STATUS "cke: fetching xsimd ${version} from the PyPI wheel ${wheel}")
  set(work "${prefix}.tmp")
  file(REMOVE_RECURSE "${work}")
  file(WRITE "${work}/requirements.txt" "${wheel} --hash=sha256:${sha256}\n")
  set(download -m pip --quiet download --no-deps --require-hashes -r "${work}/requirements.txt" -d "${work}")
  execute_process(COMMAND "${Python3_EXECUTABLE}" -m venv "${work}/venv" RESULT_VARIABLE failed)
  if(NOT failed)
    execute_process(COMMAND "${work}/venv/bin/python" ${download} RESULT_VARIABLE failed)
  endif()
  if(failed)
    message(FATAL_ERROR "cke: xsimd >= 13 was not found and could not be fetched from PyPI; "
                        "install it (Conan: xsimd/[>=13 <15]) or set CKE_XSIMD_INCLUDE_DIR")
  endif()
  file(GLOB archive "${work}/*.whl")
  file(ARCHIVE_EXTRACT INPUT "${archive}" DESTINATION "${work}" PATTERNS "pythran/xsimd/*" "*/licenses/*")
  file(GLOB licences "${work}/*.dist-info/licenses/*")

  file(MAKE_DIRECTORY "${work}/prefix/include")
  file(RENAME "${work}/pythran/xsimd" "${work}/prefix/include/xsimd")
  file(COPY ${licences} DESTINATION "${work}/prefix/share/licenses/xsimd")
  file(WRITE "${work}/prefix/share/cmake/xsimd/xsimdConfig.cmake" [[
if(NOT TARGET xsimd)
  add_library(xsimd INTERFACE IMPORTED)
  get_filename_component(xsimd_INCLUDE_DIRS "${CMAKE_CURRENT_LIST_DIR}/../../../include" ABSOLUTE)
  target_include_directories(xsimd INTERFACE "${xsimd_INCLUDE_DIRS}")
endif()
]])
  include(CMakePackageConfigHelpers)
  write_basic_package_version_file("${work}/prefix/share/cmake/xsimd/xsimdConfigVersion.cmake"
    VERSION ${version} COMPATIBILITY SameMajorVersion ARCH_INDEPENDENT)
  file(RENAME "${work}/prefix" "${prefix}")
  file(REMOVE_RECURSE "${work}")
endfunction()

if(CKE_XSIMD_INCLUDE_DIR AND NOT TARGET xsimd)
  add_library(xsimd INTERFACE IMPORTED GLOBAL)
  target_include_directories(xsimd INTERFACE "${CKE_XSIMD_INCLUDE_DIR}")
endif()
foreach(major IN ITEMS 14 13)
  if(NOT TARGET xsimd)
    find_package(xsimd ${major} CONFIG QUIET GLOBAL
      HINTS "${CMAKE_CURRENT_LIST_DIR}/xsimd" "${CKE_DEPS_DIR}/xsimd-14.1.0")
  endif()
endforeach()
if(NOT TARGET xsimd)
  cke_fetch_xsimd("${CKE_DEPS_DIR}/xsimd-14.1.0" pythran==0.19.0
    42ab2039b4eaec01084e92a2721a474e893047ba5ec87b14d45ee077ac883d08 14.1.0)
  find_package(xsimd 14 CONFIG REQUIRED GLOBAL HINTS "${CKE_DEPS_DIR}/xsimd-14.1.0")
endif()
