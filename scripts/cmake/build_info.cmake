# SPDX-License-Identifier: Apache-2.0
# gradmark_build_info(TARGET): give TARGET a generated build_info.h: what it was built from and with.
#
# Compiler, flags and library versions are known when CMake configures. The commit and whether the
# tree was changed since are asked at every build (this file runs itself as a script), and the
# header is touched only when the answer differs. In a tarball of `git archive`: the commit it was made of. Else "unknown".

# --- as a script: cmake -DSOURCE_DIR=... -DTEMPLATE=... -DOUT=... -P build_info.cmake ---
if(CMAKE_SCRIPT_MODE_FILE)
  set(GRADMARK_GIT_COMMIT "unknown")
  set(GRADMARK_GIT_DIRTY "false")
  find_program(GIT git)
  # Only a repository whose root is this source: not one that a tarball was unpacked in.
  if(GIT AND EXISTS "${SOURCE_DIR}/.git")
    execute_process(COMMAND "${GIT}" rev-parse --verify HEAD WORKING_DIRECTORY "${SOURCE_DIR}"
                    OUTPUT_VARIABLE commit RESULT_VARIABLE failed OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(NOT failed)
      # Looked at without touching the index: a build must not race with somebody's git command.
      execute_process(COMMAND "${GIT}" --no-optional-locks status --porcelain --untracked-files=no
                      WORKING_DIRECTORY "${SOURCE_DIR}" OUTPUT_VARIABLE changes RESULT_VARIABLE failed ERROR_QUIET)
      if(NOT failed)
        set(GRADMARK_GIT_COMMIT "${commit}")
        if(NOT changes STREQUAL "")
          set(GRADMARK_GIT_DIRTY "true")
        endif()
      endif()
    endif()
  endif()
  file(READ "${SOURCE_DIR}/scripts/cmake/archived_commit" commit) # git archive writes it
  if(NOT EXISTS "${SOURCE_DIR}/.git" AND commit MATCHES "^[0-9a-f]+")
    set(GRADMARK_GIT_COMMIT "${CMAKE_MATCH_0}")
  endif()
  configure_file("${TEMPLATE}" "${OUT}" @ONLY) # writes only what differs
  return()
endif()

# --- included ---
set(GRADMARK_BUILD_INFO_SCRIPT "${CMAKE_CURRENT_LIST_FILE}")

function(gradmark_mpi_version out)
  set(${out} "" PARENT_SCOPE)
  if(NOT GRADMARK_HAVE_MPI)
    return()
  endif()
  set(text "MPI ${MPI_C_VERSION}")
  if(GRADMARK_MPIEXEC) # tells whose MPI it is: "mpirun (Open MPI) 4.1.4"
    execute_process(COMMAND "${GRADMARK_MPIEXEC}" --version OUTPUT_VARIABLE said RESULT_VARIABLE failed ERROR_QUIET
                    TIMEOUT 20)
    if(NOT failed AND said MATCHES "^([^\n]+)")
      set(text "${CMAKE_MATCH_1}")
    endif()
  endif()
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

# A value as the inside of a C string constant.
function(gradmark_c_string variable)
  string(REPLACE "\\" "\\\\" text "${${variable}}")
  string(REPLACE "\"" "\\\"" text "${text}")
  set(${variable} "${text}" PARENT_SCOPE)
endfunction()

function(gradmark_build_info target)
  string(TOUPPER "${CMAKE_BUILD_TYPE}" config)
  get_directory_property(options COMPILE_OPTIONS)
  list(JOIN options " " options)
  set(GRADMARK_VERSION "${PROJECT_VERSION}")
  set(GRADMARK_COMPILER "${CMAKE_C_COMPILER_ID} ${CMAKE_C_COMPILER_VERSION}")
  string(STRIP "${CMAKE_C_FLAGS} ${CMAKE_C_FLAGS_${config}} ${options}" GRADMARK_COMPILER_FLAGS)
  set(GRADMARK_BUILD_TYPE "${CMAKE_BUILD_TYPE}")
  set(GRADMARK_HWLOC_VERSION "${HWLOC_VERSION}")
  set(GRADMARK_CBLAS_VERSION "${CBLAS_VERSION}")
  set(GRADMARK_ZMQ_VERSION "${ZMQ_VERSION}")
  set(GRADMARK_JANSSON_VERSION "${JANSSON_VERSION}")
  gradmark_mpi_version(GRADMARK_MPI_VERSION)

  # First what is known now; @GRADMARK_GIT_*@ stay for the build.
  set(content "/* SPDX-License-Identifier: Apache-2.0 */\n/* Written by the build: scripts/cmake/build_info.cmake. */\n")
  string(APPEND content "#ifndef BUILD_INFO_H\n#define BUILD_INFO_H\n\n")
  foreach(name VERSION COMPILER COMPILER_FLAGS BUILD_TYPE HWLOC_VERSION CBLAS_VERSION ONEDNN_VERSION
          ZMQ_VERSION MPI_VERSION JANSSON_VERSION JPEG_VERSION PNG_VERSION)
    gradmark_c_string(GRADMARK_${name})
    string(APPEND content "#define GRADMARK_${name} \"${GRADMARK_${name}}\"\n")
  endforeach()
  string(APPEND content "#define GRADMARK_GIT_COMMIT \"@GRADMARK_GIT_COMMIT@\"\n")
  string(APPEND content "#define GRADMARK_GIT_DIRTY @GRADMARK_GIT_DIRTY@\n\n#endif\n")
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/build_info")
  set(template "${CMAKE_CURRENT_BINARY_DIR}/build_info.h.in")
  # The flags have generator expressions, some of which depend on the language.
  file(GENERATE OUTPUT "${template}.$<COMPILE_LANGUAGE>" CONTENT "${content}")

  add_custom_target(${target}_build_info BYPRODUCTS "${folder}/build_info.h"
    COMMAND "${CMAKE_COMMAND}" "-DSOURCE_DIR=${CMAKE_SOURCE_DIR}" "-DTEMPLATE=${template}.C"
            "-DOUT=${folder}/build_info.h" -P "${GRADMARK_BUILD_INFO_SCRIPT}"
    COMMENT "Asking git what is being built" VERBATIM)
  add_dependencies(${target} ${target}_build_info)
  target_include_directories(${target} PRIVATE "${folder}")
endfunction()
