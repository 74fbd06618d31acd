# SPDX-License-Identifier: Apache-2.0
# SimGrid by pkg-config, else by header and library: SIMGRID_FOUND, target PkgConfig::SIMGRID.
find_package(PkgConfig REQUIRED)
pkg_check_modules(SIMGRID QUIET IMPORTED_TARGET simgrid>=3.32)
if(NOT SIMGRID_FOUND)
  find_path(SIMGRID_INCLUDE_DIR simgrid/engine.h)
  find_library(SIMGRID_LIBRARY simgrid)
  if(SIMGRID_INCLUDE_DIR AND SIMGRID_LIBRARY)
    add_library(PkgConfig::SIMGRID INTERFACE IMPORTED)
    target_include_directories(PkgConfig::SIMGRID SYSTEM INTERFACE "${SIMGRID_INCLUDE_DIR}")
    target_link_libraries(PkgConfig::SIMGRID INTERFACE "${SIMGRID_LIBRARY}")
    set(SIMGRID_FOUND 1)
  endif()
endif()
