# SPDX-License-Identifier: MIT
# cke-fetch.cmake: the target cke::fetch, which programs that include <cke/fetch/...> link: cke::cke and libcurl. Where
# libcurl is missing there is no such target.
find_package(CURL 7.85 QUIET GLOBAL)
if(CURL_FOUND AND NOT TARGET cke::fetch)
  add_library(cke::fetch INTERFACE IMPORTED GLOBAL)
  target_link_libraries(cke::fetch INTERFACE cke::cke CURL::libcurl)
endif()
