# SPDX-License-Identifier: Apache-2.0
# Gloo by header and library: target gradmark_gloo, GRADMARK_GLOO_VERSION.
#
# Not by its CMake package: Debian's names files of its parts for Redis and RDMA, which are not used here.
find_path(GRADMARK_GLOO_INCLUDE_DIR gloo/allreduce.h)
find_library(GRADMARK_GLOO_LIBRARY gloo)
set(GRADMARK_GLOO_VERSION "")
if(GRADMARK_GLOO_INCLUDE_DIR AND GRADMARK_GLOO_LIBRARY)
  if(EXISTS "${GRADMARK_GLOO_INCLUDE_DIR}/gloo/config.h")
    file(STRINGS "${GRADMARK_GLOO_INCLUDE_DIR}/gloo/config.h" lines REGEX "define GLOO_VERSION_(MAJOR|MINOR|PATCH) ")
    string(REGEX REPLACE "[^0-9]+" "." GRADMARK_GLOO_VERSION "${lines}")
    string(REGEX REPLACE "^\\.|\\.$" "" GRADMARK_GLOO_VERSION "${GRADMARK_GLOO_VERSION}")
  endif()
  add_library(gradmark_gloo INTERFACE IMPORTED)
  target_include_directories(gradmark_gloo SYSTEM INTERFACE "${GRADMARK_GLOO_INCLUDE_DIR}")
  target_link_libraries(gradmark_gloo INTERFACE "${GRADMARK_GLOO_LIBRARY}")
endif()
