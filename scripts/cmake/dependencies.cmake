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

# The backend "cuda": a CUDA compiler, its runtime, and cuBLAS's header (the library is loaded when it is used).
set(GRADMARK_CUDA_ARCHITECTURES "75-real;80-real;90" CACHE STRING
    "GPUs to compile for; CUDA 13 knows none before 75: for a P100 or V100 take CUDA 12 and add 60-real;70-real")
set(GRADMARK_HAVE_CUDA 0)
set(GRADMARK_CUDA_WHY_NOT "no CUDA toolkit was found when this binary was built")
set(CMAKE_CUDA_ARCHITECTURES ${GRADMARK_CUDA_ARCHITECTURES})
include(CheckLanguage)
check_language(CXX) # CUDA's host compiler; tests of the kernels without a GPU need no more
if(CMAKE_CXX_COMPILER)
  enable_language(CXX)
  check_language(CUDA)
endif()
find_package(CUDAToolkit 12 QUIET)
if(CUDAToolkit_FOUND AND NOT CMAKE_CUDA_COMPILER)
  set(GRADMARK_CUDA_WHY_NOT "the CUDA toolkit was found when this binary was built, but no compiler (nvcc) that works")
elseif(CUDAToolkit_FOUND AND NOT EXISTS "${CUDAToolkit_INCLUDE_DIRS}/cublas_v2.h" AND NOT TARGET CUDA::cublas)
  set(GRADMARK_CUDA_WHY_NOT "the CUDA toolkit was found when this binary was built, but not cuBLAS")
elseif(CUDAToolkit_FOUND)
  enable_language(CUDA)
  set(GRADMARK_HAVE_CUDA 1)
  set(GRADMARK_CUDA_WHY_NOT "")
endif()

# Found, not yet used: `gradmark info` says so.
find_path(NCCL_INCLUDE_DIR nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
