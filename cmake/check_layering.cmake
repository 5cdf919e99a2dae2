# SPDX-License-Identifier: LGPL-2.1-or-later
#
# cmake -DSOURCE_DIR=... -P check_layering.cmake: who may include what.
#   plugin/, include/folb/*.h  C headers, <folb/...>, private ones of plugin/
#   shim/                      the engine through <folb/...> only
set(wrong "")

# Every #include of the files, as "file|header" in out; quotes kept.
function(includes out)
  set(result "")
  foreach(file ${ARGN})
    file(STRINGS "${file}" lines REGEX "^[ \t]*#[ \t]*include")
    foreach(line IN LISTS lines)
      string(REGEX REPLACE "^[ \t]*#[ \t]*include[ \t]*([<\"][^>\"]*[>\"]).*"
             "\\1" header "${line}")
      list(APPEND result "${file}|${header}")
    endforeach()
  endforeach()
  set(${out} "${result}" PARENT_SCOPE)
endfunction()

file(GLOB engine "${SOURCE_DIR}/plugin/*.c" "${SOURCE_DIR}/plugin/*.h")
file(GLOB public "${SOURCE_DIR}/include/folb/*.h")
file(GLOB shim "${SOURCE_DIR}/shim/*.cc" "${SOURCE_DIR}/shim/*.h")
if(NOT engine OR NOT public OR NOT shim)
  message(FATAL_ERROR "no sources found in ${SOURCE_DIR}")
endif()

includes(found ${engine} ${public})
foreach(entry IN LISTS found)
  string(REGEX REPLACE "^.*/([^/|]*/[^/|]*)\\|(.*)$" "\\1;\\2" pair "${entry}")
  list(GET pair 0 where)
  list(GET pair 1 header)
  if(header MATCHES "omniORB4|omnithread|COS/")
    list(APPEND wrong "${where}: ${header} is omniORB's")
  elseif(NOT header MATCHES "\\.h[>\"]$")
    list(APPEND wrong "${where}: ${header} is no C header")
  elseif(header MATCHES "^<folb/omnifolb\\.h>" AND where MATCHES "^plugin/")
    list(APPEND wrong "${where}: ${header} is the plug-in's, not the engine's")
  elseif(header MATCHES "^\"" AND where MATCHES "^folb/")
    list(APPEND wrong "${where}: ${header} is not installed")
  elseif(header MATCHES "^\".*/")
    list(APPEND wrong "${where}: ${header} leads out of plugin/")
  endif()
endforeach()

includes(found ${shim})
foreach(entry IN LISTS found)
  string(REGEX REPLACE "^.*/([^/|]*/[^/|]*)\\|(.*)$" "\\1;\\2" pair "${entry}")
  list(GET pair 0 where)
  list(GET pair 1 header)
  string(REGEX REPLACE "^[<\"](.*)[>\"]$" "\\1" file "${header}")
  if(header MATCHES "^\"" AND NOT EXISTS "${SOURCE_DIR}/shim/${file}")
    list(APPEND wrong "${where}: ${header} is not of shim/")
  elseif(header MATCHES "folb_int|plugin/|\\.\\./")
    list(APPEND wrong "${where}: ${header} is private to the engine")
  endif()
endforeach()

# omniORB's words for its connections have no place in the engine.
foreach(file IN LISTS engine public)
  file(STRINGS "${file}" lines
       REGEX "[^a-zA-Z](giopRope|giopStrand|rope|strand)s?[^a-zA-Z]")
  foreach(line IN LISTS lines)
    list(APPEND wrong "${file}: speaks of ropes or strands: ${line}")
  endforeach()
endforeach()

if(wrong)
  list(JOIN wrong "\n" wrong)
  message(FATAL_ERROR "layering:\n${wrong}")
endif()
