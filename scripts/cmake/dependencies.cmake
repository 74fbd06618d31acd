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

# oneDNN: products of bf16 on the CPU, and of fp32 where no other CBLAS is asked for. It must be the one that runs on
# OpenMP, whose threads can be held to one, as Debian's is.
set(GRADMARK_SGEMM "auto" CACHE STRING "fp32 products on the CPU: onednn, cblas, or auto (oneDNN's when it is found \
and GRADMARK_CBLAS is openblas)")
set_property(CACHE GRADMARK_SGEMM PROPERTY STRINGS auto onednn cblas)
set(GRADMARK_HAVE_ONEDNN 0)
set(GRADMARK_ONEDNN_WHY_NOT "oneDNN was not found when this binary was built (Debian: libdnnl-dev)")
# Found by header and library, not by its CMake package: Debian's asks for OpenCL's development files, which the C
# functions used here do not need and apt does not install, and ends the configuration without them.
find_path(GRADMARK_ONEDNN_INCLUDE_DIR dnnl.h)
find_library(GRADMARK_ONEDNN_LIBRARY dnnl)
find_library(GRADMARK_GOMP NAMES gomp libgomp.so.1)
if(GRADMARK_ONEDNN_INCLUDE_DIR AND GRADMARK_ONEDNN_LIBRARY)
  include(CheckCSourceCompiles)
  set(CMAKE_REQUIRED_INCLUDES "${GRADMARK_ONEDNN_INCLUDE_DIR}")
  set(CMAKE_REQUIRED_LIBRARIES "${GRADMARK_ONEDNN_LIBRARY}" ${GRADMARK_GOMP})
  check_c_source_compiles("
    #include <dnnl.h>
    void omp_set_num_threads(int n);
    #if DNNL_VERSION_MAJOR * 1000 + DNNL_VERSION_MINOR < 2004 || DNNL_CPU_RUNTIME != DNNL_RUNTIME_OMP
    #error the products of bf16 came with 2.4, and their threads must be those of OpenMP
    #endif
    dnnl_status_t dnnl_gemm_bf16bf16f32();
    int main(void) { omp_set_num_threads(1); return dnnl_gemm_bf16bf16f32() != dnnl_success; }"
    GRADMARK_ONEDNN_WORKS)
  unset(CMAKE_REQUIRED_INCLUDES)
  unset(CMAKE_REQUIRED_LIBRARIES)
  if(GRADMARK_ONEDNN_WORKS)
    set(GRADMARK_HAVE_ONEDNN 1)
    set(GRADMARK_ONEDNN_WHY_NOT "")
    file(GLOB version_header "${GRADMARK_ONEDNN_INCLUDE_DIR}/oneapi/dnnl/dnnl_version.h"
         "${GRADMARK_ONEDNN_INCLUDE_DIR}/dnnl_version.h")
    foreach(header ${version_header})
      file(STRINGS "${header}" lines REGEX "define DNNL_VERSION_(MAJOR|MINOR|PATCH) ")
      if(lines)
        string(REGEX REPLACE "[^0-9]+" "." GRADMARK_ONEDNN_VERSION "${lines}")
        string(REGEX REPLACE "^\\.|\\.$" "" GRADMARK_ONEDNN_VERSION "${GRADMARK_ONEDNN_VERSION}")
      endif()
    endforeach()
    add_library(gradmark_onednn INTERFACE)
    target_include_directories(gradmark_onednn SYSTEM INTERFACE "${GRADMARK_ONEDNN_INCLUDE_DIR}")
    target_link_libraries(gradmark_onednn INTERFACE "${GRADMARK_ONEDNN_LIBRARY}" ${GRADMARK_GOMP})
  else()
    set(GRADMARK_ONEDNN_WHY_NOT "the oneDNN found when this binary was built has no bf16 products on OpenMP threads")
  endif()
endif()
set(GRADMARK_SGEMM_BY_ONEDNN 0)
if(GRADMARK_SGEMM STREQUAL "onednn" AND NOT GRADMARK_HAVE_ONEDNN)
  message(FATAL_ERROR "GRADMARK_SGEMM is onednn, but ${GRADMARK_ONEDNN_WHY_NOT}")
elseif(GRADMARK_SGEMM STREQUAL "onednn" OR
       (GRADMARK_SGEMM STREQUAL "auto" AND GRADMARK_HAVE_ONEDNN AND GRADMARK_CBLAS STREQUAL "openblas"))
  set(GRADMARK_SGEMM_BY_ONEDNN 1)
elseif(NOT GRADMARK_SGEMM MATCHES "^(auto|cblas)$")
  message(FATAL_ERROR "GRADMARK_SGEMM is \"${GRADMARK_SGEMM}\"; there are auto, onednn and cblas")
endif()

set(GRADMARK_PRODUCTS "fp32 by ${GRADMARK_CBLAS} ${CBLAS_VERSION} on the CPU")
if(GRADMARK_SGEMM_BY_ONEDNN)
  set(GRADMARK_PRODUCTS "fp32 and bf16 by oneDNN ${GRADMARK_ONEDNN_VERSION} on the CPU")
elseif(GRADMARK_HAVE_ONEDNN)
  string(PREPEND GRADMARK_PRODUCTS "bf16 by oneDNN ${GRADMARK_ONEDNN_VERSION}, ")
endif()

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
