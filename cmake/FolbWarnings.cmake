# SPDX-License-Identifier: LGPL-2.1-or-later
#
# folb_warnings(target): the project's warning set.  Per target, so that
# neither configure checks nor consumers of the libraries see it.
function(folb_warnings target)
  set(common -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion
             -Wcast-qual -Wformat=2 -Wundef -Wvla)
  set(c -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition
        -Wwrite-strings)
  target_compile_options(${target} PRIVATE
    ${common} "$<$<COMPILE_LANGUAGE:C>:${c}>"
    $<$<BOOL:${FOLB_WERROR}>:-Werror>)
endfunction()
