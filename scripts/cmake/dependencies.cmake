# SPDX-License-Identifier: Apache-2.0
# What is required, what is used when found, and for what is not found: why not. The answers
# reach `gradmark info`. What is optional is tried in a CMake project of its own first (probe.cmake), so that nothing
# of it can end configuration.

include(probe)
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(ZMQ REQUIRED IMPORTED_TARGET libzmq>=4.3)
pkg_check_modules(HWLOC REQUIRED IMPORTED_TARGET hwloc>=2.0)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson>=2.13)
pkg_check_modules(CYAML REQUIRED IMPORTED_TARGET libcyaml>=1.3)
pkg_check_modules(SODIUM REQUIRED IMPORTED_TARGET libsodium)
pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka>=1.1.5)

# libjpeg-turbo's version, else the one whose interface it is.
function(gradmark_jpeg_version out folder architecture)
  foreach(header "${folder}/${architecture}/jconfig.h" "${folder}/jconfig.h")
    if(EXISTS "${header}")
      file(STRINGS "${header}" line REGEX "define LIBJPEG_TURBO_VERSION[ \t]")
      if(line MATCHES "([0-9]+\\.[0-9.]+)")
        set(${out} "turbo ${CMAKE_MATCH_1}" PARENT_SCOPE)
        return()
      endif()
    endif()
  endforeach()
  set(${out} "${JPEG_VERSION}" PARENT_SCOPE)
endfunction()

# Any CBLAS: OpenBLAS unless told otherwise.
set(GRADMARK_CBLAS "openblas" CACHE STRING "pkg-config name of the CBLAS library")
pkg_check_modules(CBLAS REQUIRED IMPORTED_TARGET ${GRADMARK_CBLAS})

# oneDNN: products of bf16 on the CPU, and of fp32 where no other CBLAS is asked for.
set(GRADMARK_SGEMM "auto" CACHE STRING "fp32 products on the CPU: onednn, cblas, or auto (oneDNN's when it is found \
and GRADMARK_CBLAS is openblas)")
set_property(CACHE GRADMARK_SGEMM PROPERTY STRINGS auto onednn cblas)
gradmark_probe(onednn "oneDNN" " (Debian: libdnnl-dev)")
if(GRADMARK_HAVE_ONEDNN)
  include(find_onednn)
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

set(GRADMARK_MPIEXEC "")
gradmark_probe(mpi "an MPI library" " (Debian: libopenmpi-dev openmpi-bin)")
if(GRADMARK_HAVE_MPI)
  find_package(MPI QUIET COMPONENTS C)
  if(MPIEXEC_EXECUTABLE)
    set(GRADMARK_MPIEXEC "${MPIEXEC_EXECUTABLE}")
  endif()
endif()

# Two test programs compare the world sim with it.
pkg_check_modules(SIMGRID QUIET IMPORTED_TARGET simgrid>=3.32)
set(GRADMARK_HAVE_SIMGRID ${SIMGRID_FOUND})

# Pictures that gradmark pack reads.
gradmark_probe(jpeg "libjpeg" " (Debian: libjpeg-dev)")
set(GRADMARK_JPEG_VERSION "")
if(GRADMARK_HAVE_JPEG)
  find_package(JPEG QUIET)
  gradmark_jpeg_version(GRADMARK_JPEG_VERSION "${JPEG_INCLUDE_DIRS}" "${CMAKE_C_LIBRARY_ARCHITECTURE}")
endif()
gradmark_probe(png "libpng" " (Debian: libpng-dev)")
set(GRADMARK_PNG_VERSION "")
if(GRADMARK_HAVE_PNG)
  find_package(PNG QUIET)
  set(GRADMARK_PNG_VERSION "${PNG_VERSION_STRING}")
endif()

# CUDA's host compiler; tests of the kernels without a GPU need no more.
gradmark_probe(cxx "a C++ compiler" " (Debian: g++)")
if(GRADMARK_HAVE_CXX)
  enable_language(CXX)
endif()

# The collective "gloo".
gradmark_probe(gloo "Gloo" " (Debian: libgloo-dev g++)")
if(GRADMARK_HAVE_GLOO)
  include(find_gloo)
endif()

# The backend "cuda": a CUDA compiler, its runtime, and cuBLAS's header (the library is loaded when it is used).
set(GRADMARK_CUDA_ARCHITECTURES "75-real;80-real;90" CACHE STRING
    "GPUs to compile for; native: those of this machine. CUDA 13 knows none before 75: for a P100 or V100 take CUDA 12 and add 60-real;70-real")
if(GRADMARK_CUDA_ARCHITECTURES STREQUAL "native") # resolved here: the oldest is told to users of older GPUs
  include(${CMAKE_CURRENT_LIST_DIR}/cuda_native.cmake)
  gradmark_cuda_native(GRADMARK_CUDA_ARCHITECTURES)
endif()
set(CMAKE_CUDA_ARCHITECTURES ${GRADMARK_CUDA_ARCHITECTURES})
gradmark_probe(cuda "the CUDA toolkit" "")
if(GRADMARK_HAVE_CUDA)
  find_package(CUDAToolkit 12 QUIET)
  enable_language(CUDA)
endif()

# The collective "nccl": NCCL's header, and CUDA's, which it includes; the library is loaded when it is used.
set(GRADMARK_NCCL_WHY_NOT "NCCL was not found when this binary was built")
find_path(NCCL_INCLUDE_DIR nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
if(NCCL_INCLUDE_DIR)
  file(STRINGS "${NCCL_INCLUDE_DIR}/nccl.h" version REGEX "define NCCL_VERSION_CODE ")
  set(GRADMARK_NCCL_WHY_NOT "")
  if(NOT version)
    set(GRADMARK_NCCL_WHY_NOT "NCCL was found when this binary was built, but its nccl.h tells no version")
  endif()
endif()
set(GRADMARK_HAVE_NCCL 0)
set(GRADMARK_NCCL_FOLDER "")
if(NOT GRADMARK_HAVE_CUDA AND NOT GRADMARK_NCCL_WHY_NOT)
  set(GRADMARK_NCCL_UNUSABLE "NCCL needs the CUDA toolkit: ${GRADMARK_CUDA_WHY_NOT}")
elseif(NOT GRADMARK_NCCL_WHY_NOT)
  include(CheckCSourceCompiles)
  set(CMAKE_REQUIRED_INCLUDES "${NCCL_INCLUDE_DIR}" ${CUDAToolkit_INCLUDE_DIRS})
  set(CMAKE_REQUIRED_QUIET ON)
  check_c_source_compiles("#include <nccl.h>
    #if NCCL_VERSION_CODE < 21400
    #error too old
    #endif
    int main(void) { ncclConfig_t config = NCCL_CONFIG_INITIALIZER; return config.blocking == 0; }" GRADMARK_NCCL_COMPILES)
  unset(CMAKE_REQUIRED_INCLUDES)
  unset(CMAKE_REQUIRED_QUIET)
  if(GRADMARK_NCCL_COMPILES)
    set(GRADMARK_HAVE_NCCL 1)
    find_library(NCCL_LIBRARY NAMES libnccl.so.2 nccl HINTS "${NCCL_INCLUDE_DIR}/../lib" "${CUDAToolkit_LIBRARY_DIR}")
    if(NCCL_LIBRARY)
      get_filename_component(GRADMARK_NCCL_FOLDER "${NCCL_LIBRARY}" DIRECTORY)
    endif()
  else()
    set(GRADMARK_NCCL_WHY_NOT
        "NCCL was found when this binary was built, but its nccl.h does not compile or is older than 2.14")
  endif()
endif()
if(NOT GRADMARK_NCCL_UNUSABLE)
  set(GRADMARK_NCCL_UNUSABLE "${GRADMARK_NCCL_WHY_NOT}")
endif()
