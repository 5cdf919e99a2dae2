# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Install rules: libraries, headers, pkg-config files, the CMake package.
include(CMakePackageConfigHelpers)

set(folb_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/omniFOLB")

# folb_pkgconfig(name description libs requires libs_private): installs
# name.pc.  Its paths hang on the place of the file itself, so that an
# installed tree may be moved, unless they were given as absolute ones.
function(folb_pkgconfig PC_NAME PC_DESCRIPTION PC_LIBS PC_REQUIRES
         PC_LIBS_PRIVATE)
  if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
    set(PC_PREFIX "${CMAKE_INSTALL_PREFIX}")
  else()
    file(RELATIVE_PATH up "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
    string(REGEX REPLACE "/$" "" up "${up}")
    set(PC_PREFIX "\${pcfiledir}/${up}")
  endif()
  foreach(dir LIBDIR INCLUDEDIR)
    if(IS_ABSOLUTE "${CMAKE_INSTALL_${dir}}")
      set(PC_${dir} "${CMAKE_INSTALL_${dir}}")
    else()
      set(PC_${dir} "\${prefix}/${CMAKE_INSTALL_${dir}}")
    endif()
  endforeach()
  configure_file("${PROJECT_SOURCE_DIR}/cmake/pkgconfig.pc.in"
                 "${PROJECT_BINARY_DIR}/${PC_NAME}.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/${PC_NAME}.pc"
          DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endfunction()

install(FILES
  "${PROJECT_SOURCE_DIR}/include/folb/folb.h"
  "${PROJECT_SOURCE_DIR}/include/folb/folb_base.h"
  "${PROJECT_SOURCE_DIR}/include/folb/folb_config.h"
  "${PROJECT_SOURCE_DIR}/include/folb/folb_giop.h"
  "${PROJECT_SOURCE_DIR}/include/folb/folb_protocol.h"
  "${PROJECT_SOURCE_DIR}/include/folb/folb_policy.h"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/folb")
install(TARGETS folb folb_static EXPORT omniFOLBEngine)
install(EXPORT omniFOLBEngine NAMESPACE omniFOLB::
        FILE omniFOLBEngine.cmake DESTINATION "${folb_package_dir}")
folb_pkgconfig(folb "The policy engine of omniFOLB" "-lfolb" "" "-pthread")

if(FOLB_SHIM)
  install(FILES "${PROJECT_SOURCE_DIR}/include/folb/omnifolb.h"
          DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/folb")
  install(TARGETS omnifolb4 EXPORT omniFOLBPlugin)
  install(EXPORT omniFOLBPlugin NAMESPACE omniFOLB::
          FILE omniFOLBPlugin.cmake DESTINATION "${folb_package_dir}")
  folb_pkgconfig(omnifolb4 "${PROJECT_DESCRIPTION}" "-lomnifolb4"
                 "omniORB4 >= 4.2" "")
endif()

configure_package_config_file(
  "${PROJECT_SOURCE_DIR}/cmake/omniFOLBConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/omniFOLBConfig.cmake"
  INSTALL_DESTINATION "${folb_package_dir}")
write_basic_package_version_file(
  "${PROJECT_BINARY_DIR}/omniFOLBConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/omniFOLBConfig.cmake"
  "${PROJECT_BINARY_DIR}/omniFOLBConfigVersion.cmake"
  DESTINATION "${folb_package_dir}")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE"
              "${PROJECT_SOURCE_DIR}/CHANGES.md"
        DESTINATION "${CMAKE_INSTALL_DOCDIR}")
