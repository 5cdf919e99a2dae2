# SPDX-License-Identifier: LGPL-2.1-or-later
#
# folb_idl_library(target file.idl [flags]): a static library of the stubs
# and skeletons of an IDL file, with its headers on the include path.  What
# omniidl writes is not ours to keep free of warnings.
function(folb_idl_library target idl)
  find_program(OMNIIDL omniidl REQUIRED)
  get_filename_component(stem "${idl}" NAME_WE)
  set(dir "${CMAKE_CURRENT_BINARY_DIR}/${target}")
  set(outputs "${dir}/${stem}.hh" "${dir}/${stem}SK.cc")
  if("-Wba" IN_LIST ARGN)
    list(APPEND outputs "${dir}/${stem}DynSK.cc")
  endif()
  file(MAKE_DIRECTORY "${dir}")
  add_custom_command(
    OUTPUT ${outputs}
    COMMAND "${OMNIIDL}" -bcxx ${ARGN} -C "${dir}"
            "${CMAKE_CURRENT_SOURCE_DIR}/${idl}"
    DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${idl}"
    VERBATIM)
  add_library(${target} STATIC ${outputs})
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_compile_options(${target} PRIVATE -w)
  target_include_directories(${target} SYSTEM PUBLIC "${dir}")
  target_link_libraries(${target} PUBLIC PkgConfig::OMNIORB4)
endfunction()
