# SPDX-License-Identifier: Apache-2.0
# What is required, what is used when found, and for what is not found: why not. The answers
# reach `gradmark info` through build_info.h.

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(ZMQ REQUIRED IMPORTED_TARGET libzmq>=4.3)
pkg_check_modules(HWLOC REQUIRED IMPORTED_TARGET hwloc>=2.0)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson>=2.13)
pkg_check_modules(CYAML REQUIRED IMPORTED_TARGET libcyaml>=1.3)
pkg_check_modules(SODIUM REQUIRED IMPORTED_TARGET libsodium)
pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka>=1.1.5)

# Any CBLAS: OpenBLAS unless told otherwise.
set(GRADMARK_CBLAS "openblas" CACHE STRING "pkg-config name of the CBLAS library")
pkg_check_modules(CBLAS REQUIRED IMPORTED_TARGET ${GRADMARK_CBLAS})

set(GRADMARK_HAVE_MPI 0)
set(GRADMARK_MPI_WHY_NOT "no MPI library was found when this binary was built (Debian: libopenmpi-dev openmpi-bin)")
find_package(MPI QUIET COMPONENTS C)
if(MPI_C_FOUND)
  set(GRADMARK_HAVE_MPI 1)
  set(GRADMARK_MPI_WHY_NOT "")
endif()

set(GRADMARK_HAVE_SIMGRID 0)
set(GRADMARK_SIMGRID_WHY_NOT "SimGrid was not found when this binary was built (Debian: libsimgrid-dev)")
pkg_check_modules(SIMGRID QUIET IMPORTED_TARGET simgrid>=3.32)
if(NOT SIMGRID_FOUND)
  find_path(SIMGRID_INCLUDE_DIR simgrid/engine.h)
  find_library(SIMGRID_LIBRARY simgrid)
  if(SIMGRID_INCLUDE_DIR AND SIMGRID_LIBRARY)
    add_library(gradmark_simgrid INTERFACE)
    target_include_directories(gradmark_simgrid SYSTEM INTERFACE "${SIMGRID_INCLUDE_DIR}")
    target_link_libraries(gradmark_simgrid INTERFACE "${SIMGRID_LIBRARY}")
    add_library(PkgConfig::SIMGRID ALIAS gradmark_simgrid)
    set(SIMGRID_FOUND 1)
  endif()
endif()
if(SIMGRID_FOUND)
  set(GRADMARK_HAVE_SIMGRID 1)
  set(GRADMARK_SIMGRID_WHY_NOT "")
endif()

# Found, not yet used by any backend: `gradmark info` says so.
find_package(CUDAToolkit QUIET)
find_path(NCCL_INCLUDE_DIR nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
