# SPDX-License-Identifier: MIT
# cke-install.cmake: installs the headers and a relocatable package for find_package(cke).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package ${CMAKE_INSTALL_DATADIR}/cke/cmake)

install(TARGETS cke_headers EXPORT cke-targets FILE_SET HEADERS)
install(EXPORT cke-targets NAMESPACE cke:: DESTINATION ${package})
configure_package_config_file(cmake/cke-config.cmake.in cke-config.cmake INSTALL_DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cke-config-version.cmake
  COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES ${PROJECT_BINARY_DIR}/cke-config.cmake ${PROJECT_BINARY_DIR}/cke-config-version.cmake
  cmake/cke-xsimd.cmake cmake/cke-image.cmake cmake/cke-fetch.cmake cmake/cke-page.cmake cmake/cke-wasm.cmake
  DESTINATION ${package})
install(DIRECTORY browser DESTINATION ${CMAKE_INSTALL_DATADIR}/cke)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/licenses/cke)

# If this build fetched xsimd, its headers are installed too, so that the package needs no network.
if(EXISTS "${CKE_DEPS_DIR}/xsimd-14.1.0")
  install(DIRECTORY "${CKE_DEPS_DIR}/xsimd-14.1.0/" DESTINATION ${package}/xsimd)
endif()
if(CKE_BUILD_TOOLS)
  install(TARGETS cke cke_engine)
  if(TARGET cke_mpi)
    install(TARGETS cke_mpi LIBRARY DESTINATION lib)  # beside bin, where the command looks
  endif()
  # What the tests of this build established of each family, in one file: cke families reads it.
  install(CODE "
    file(GLOB programs \"${PROJECT_BINARY_DIR}/family-status/*.json\")
    set(all \"\")
    foreach(program IN LISTS programs)
      file(READ \"\${program}\" text)
      string(APPEND all \"\${separator}\${text}\")
      set(separator \",\")
    endforeach()
    if(programs)
      file(WRITE \"${PROJECT_BINARY_DIR}/family-status.json\" \"[\${all}]\\n\")
      file(INSTALL \"${PROJECT_BINARY_DIR}/family-status.json\" DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/cke\")
    endif()")
endif()
