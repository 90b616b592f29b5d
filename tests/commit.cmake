# SPDX-License-Identifier: MIT
# commit.cmake: writes the commit that tests run at into FOLDER/commit.
find_program(git git)
set(commit "")
if(git)
  execute_process(COMMAND ${git} -C ${SOURCE} describe --always --dirty --abbrev=12 --exclude=*
    OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(commit STREQUAL "")
  set(commit unknown)
endif()
file(WRITE ${FOLDER}/commit "${commit}\n")
