# SPDX-License-Identifier: LGPL-2.1-or-later
#
# FOLB_SANITIZE, FOLB_FUZZ and FOLB_COVERAGE become flags of every target:
# a sanitizer that sees half of a program reports what is not there.
if(FOLB_SANITIZE)
  add_compile_options(-fsanitize=${FOLB_SANITIZE} -fno-omit-frame-pointer
                      -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${FOLB_SANITIZE})
  if(FOLB_SANITIZE MATCHES "undefined")
    # It looks at an object through a pipe, and takes it for a wrong one when
    # a test has used up the descriptors.
    add_compile_options(-fno-sanitize=vptr)
  endif()
endif()
if(FOLB_FUZZ)
  if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR
            "FOLB_FUZZ needs clang (the compiler is ${CMAKE_C_COMPILER_ID})")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
if(FOLB_COVERAGE)
  add_compile_options(--coverage -fprofile-update=atomic)
  add_link_options(--coverage)
endif()

# An undefined symbol in a library is found when it is linked.  Not under a
# sanitizer: clang resolves its run time when the program is loaded.
set(FOLB_NO_UNDEFINED -Wl,--no-undefined)
if(FOLB_SANITIZE OR FOLB_FUZZ)
  set(FOLB_NO_UNDEFINED)
endif()
