# SPDX-License-Identifier: MIT
# fingerprint.cmake: writes compiled_part.hpp; tools/cke/cache.cpp computes the same from the headers that it finds.
file(GLOB_RECURSE files LIST_DIRECTORIES OFF RELATIVE ${FOLDER} ${FOLDER}/cke/*)
list(SORT files COMPARE STRING)
set(all "")
foreach(file IN LISTS files)
  file(SHA256 ${FOLDER}/${file} sum)
  string(APPEND all "${file}\n${sum}\n")
endforeach()
string(SHA256 headers "${all}")
file(WRITE ${OUT} "#define CKE_COMPILED_HEADERS \"${headers}\"
#define CKE_COMPILED_TARGET \"${TARGET}\"
#define CKE_COMPILED_MARCH \"${MARCH}\"
")
