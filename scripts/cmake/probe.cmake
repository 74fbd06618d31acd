# SPDX-License-Identifier: Apache-2.0
# gradmark_probe(NAME FOUND_AS ABSENT_HINT)
#   Tries the optional dependency NAME in a CMake project of its own (probe/CMakeLists.txt). Cannot end configuration.
#   Sets GRADMARK_HAVE_<NAME> to 1 or 0, and GRADMARK_<NAME>_WHY_NOT to "" or the reason, one line that may stand in a
#   C string. FOUND_AS: what the reason calls it; ABSENT_HINT: how to get it, may be empty.
#
# What the user gave for the search (prefixes, compilers, hints) reaches the probe; the environment does by itself.
set(GRADMARK_PROBE_PASSES "^(CMAKE_(C|CXX|CUDA)_(COMPILER|FLAGS|COMPILER_LAUNCHER)|CMAKE_CUDA_(HOST_COMPILER|ARCHITECTURES)\
|CMAKE_(PREFIX|MODULE|INCLUDE|LIBRARY|PROGRAM|IGNORE|SYSTEM_IGNORE|IGNORE_PREFIX)_PATH|CMAKE_TOOLCHAIN_FILE\
|CMAKE_SYSROOT|CMAKE_(FIND|DISABLE_FIND_PACKAGE)_.*|CMAKE_MAKE_PROGRAM|PKG_CONFIG_EXECUTABLE\
|(MPI|MPIEXEC|CUDAToolkit|JPEG|PNG|ZLIB|GRADMARK_ONEDNN|GRADMARK_GLOO)_.*|GRADMARK_GOMP)$")

# The variables that a probe starts with, as a script for cmake -C.
function(gradmark_probe_start file)
  set(text "")
  get_cmake_property(names CACHE_VARIABLES)
  list(APPEND names CMAKE_CUDA_ARCHITECTURES CMAKE_CXX_COMPILER) # may be ordinary variables here
  list(REMOVE_DUPLICATES names)
  foreach(name ${names})
    if(name MATCHES "${GRADMARK_PROBE_PASSES}" AND DEFINED ${name} AND NOT "${${name}}" MATCHES "NOTFOUND$")
      string(APPEND text "set(${name} [==[${${name}}]==] CACHE STRING \"\")\n")
    endif()
  endforeach()
  file(WRITE "${file}" "${text}")
endfunction()

# The first error of CMake in a text, without its place, as one line.
function(gradmark_first_error out text)
  set(first "CMake could not try it")
  if("${text}" MATCHES "CMake Error[^\n]*:\n+(( +[^\n]+\n+)+)")
    set(first "${CMAKE_MATCH_1}")
  elseif("${text}" MATCHES "CMake Error: ([^\n]+)")
    set(first "${CMAKE_MATCH_1}")
  endif()
  string(REGEX REPLACE "[ \n]+" " " first "${first}")
  string(STRIP "${first}" first)
  set(${out} "${first}" PARENT_SCOPE)
endfunction()

function(gradmark_probe name found_as absent_hint)
  string(TOUPPER ${name} upper)
  set(folder "${CMAKE_BINARY_DIR}/probe/${name}")
  file(REMOVE_RECURSE "${folder}")
  gradmark_probe_start("${folder}/start.cmake")
  message(STATUS "Trying ${found_as}")
  execute_process(COMMAND "${CMAKE_COMMAND}" -S "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/probe" -B "${folder}"
                          -G "${CMAKE_GENERATOR}" -C "${folder}/start.cmake" "-DPROBE=${name}"
                          "-DRESULT=${folder}/result.cmake"
                  RESULT_VARIABLE failed OUTPUT_VARIABLE text ERROR_VARIABLE text TIMEOUT 300)
  file(WRITE "${folder}/log" "${text}")
  set(STATE broken)
  gradmark_first_error(REASON "${text}")
  if(NOT failed AND EXISTS "${folder}/result.cmake")
    include("${folder}/result.cmake")
  endif()
  set(have 0)
  set(why "")
  if(STATE STREQUAL "found")
    set(have 1)
  elseif(STATE STREQUAL "absent")
    set(why "${found_as} was not found when this binary was built${absent_hint}")
  else()
    set(why "${found_as} was found when this binary was built, but ${REASON}")
    message(STATUS "${why}; see ${folder}/log")
  endif()
  string(REGEX REPLACE "[^A-Za-z0-9 _./:,()+=@-]+" " " why "${why}") # to stand in a C string, and on a command line
  string(SUBSTRING "${why}" 0 300 why)
  set(GRADMARK_HAVE_${upper} ${have} PARENT_SCOPE)
  set(GRADMARK_${upper}_WHY_NOT "${why}" PARENT_SCOPE)
endfunction()
