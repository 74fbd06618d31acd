# SPDX-License-Identifier: Apache-2.0
# oneDNN by header and library: target gradmark_onednn, GRADMARK_ONEDNN_VERSION.
#
# Not by its CMake package: Debian's asks for OpenCL's development files, which the C functions used here do not need
# and apt does not install, and ends the configuration without them.
find_path(GRADMARK_ONEDNN_INCLUDE_DIR dnnl.h)
find_library(GRADMARK_ONEDNN_LIBRARY dnnl)
find_library(GRADMARK_GOMP NAMES gomp libgomp.so.1)
set(GRADMARK_ONEDNN_VERSION "")
if(GRADMARK_ONEDNN_INCLUDE_DIR AND GRADMARK_ONEDNN_LIBRARY)
  foreach(header oneapi/dnnl/dnnl_version.h dnnl_version.h)
    if(EXISTS "${GRADMARK_ONEDNN_INCLUDE_DIR}/${header}")
      file(STRINGS "${GRADMARK_ONEDNN_INCLUDE_DIR}/${header}" lines REGEX "define DNNL_VERSION_(MAJOR|MINOR|PATCH) ")
      if(lines)
        string(REGEX REPLACE "[^0-9]+" "." GRADMARK_ONEDNN_VERSION "${lines}")
        string(REGEX REPLACE "^\\.|\\.$" "" GRADMARK_ONEDNN_VERSION "${GRADMARK_ONEDNN_VERSION}")
      endif()
    endif()
  endforeach()
  add_library(gradmark_onednn INTERFACE IMPORTED)
  target_include_directories(gradmark_onednn SYSTEM INTERFACE "${GRADMARK_ONEDNN_INCLUDE_DIR}")
  target_link_libraries(gradmark_onednn INTERFACE "${GRADMARK_ONEDNN_LIBRARY}")
  if(GRADMARK_GOMP)
    target_link_libraries(gradmark_onednn INTERFACE "${GRADMARK_GOMP}")
  endif()
endif()
