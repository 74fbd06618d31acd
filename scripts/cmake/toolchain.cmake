# SPDX-License-Identifier: Apache-2.0
# Language level, warnings and sanitizers, the same for every room.

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release or Debug" FORCE)
endif()
set(GRADMARK_SANITIZE "" CACHE STRING "Sanitizers, as -fsanitize= takes them (address,undefined or thread)")
option(GRADMARK_WERROR "Warnings are errors (presets debug, asan, tsan: on; a newer compiler warns of more)" OFF)
option(GRADMARK_HARDENING "Release builds check stack and buffers, and guard jumps; off: only to measure the cost" ON)

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_C_FLAGS_RELEASE "-O3 -g1 -fno-omit-frame-pointer") # -g1: functions and lines, for profiles and backtraces
# What only prepares, prints or judges is compiled for a short build. Equal results: -O1 changes no arithmetic here.
set(GRADMARK_SHORT_BUILD $<$<CONFIG:Release>:-O1>)
set(CMAKE_C_FLAGS_DEBUG "-O1 -g -fno-omit-frame-pointer")
# A fused multiply-add rounds once where two operations round twice. Left to the compiler, equal
# source lines would give unequal bits.
add_compile_options(-ffp-contract=off)
# Rooms are parts of libgradmark.so, too. Nobody replaces their functions there, so calls may be inlined all the same.
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
add_compile_options($<$<COMPILE_LANGUAGE:C,CXX>:-fno-semantic-interposition>)
add_compile_definitions(_GNU_SOURCE)
add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wvla -Wmissing-prototypes
                    -Wstrict-prototypes -Wundef)
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-Wno-format-truncation) # snprintf cuts where we say so
  # GCC 12 (12.2 at least) takes a loop over two arrays of one struct, rewritten by its induction-variable pass
  # to count from address 0, for a null access, the function for one without effects, and drops calls to it.
  add_compile_options(-fno-delete-null-pointer-checks)
endif()
# Hardening of release builds, as distributions build their packages. A sanitizer replaces the functions that
# _FORTIFY_SOURCE checks. A preset of the user's compiler for the macro is replaced without a warning.
include(CheckCCompilerFlag)
if(GRADMARK_HARDENING AND NOT GRADMARK_SANITIZE)
  foreach(flag -fstack-protector-strong -fcf-protection)
    string(MAKE_C_IDENTIFIER "GRADMARK_HAVE${flag}" known)
    check_c_compiler_flag(${flag} ${known})
    if(${known})
      add_compile_options($<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:C,CXX>>:${flag}>)
    endif()
  endforeach()
  add_compile_options("$<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:C,CXX>>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2>")
  add_link_options($<$<CONFIG:Release>:LINKER:-z,relro,-z,now>)
endif()
if(GRADMARK_WERROR)
  add_compile_options(-Werror)
endif()
if(GRADMARK_SANITIZE)
  add_compile_options(-fsanitize=${GRADMARK_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${GRADMARK_SANITIZE})
  add_compile_options(-g1) # what the stack of a report names: functions and lines
endif()
# There are hundreds of test programs, and gold links one in less than half the time of the default linker. What users get
# is linked by the default linker.
include(CheckLinkerFlag)
set(GRADMARK_TEST_LINKER "")
check_linker_flag(C -fuse-ld=gold GRADMARK_HAVE_GOLD)
if(GRADMARK_HAVE_GOLD)
  set(GRADMARK_TEST_LINKER -fuse-ld=gold)
endif()
include_directories("${CMAKE_SOURCE_DIR}")

# gradmark_run_path(TARGET ...): targets that are installed.
#   They look for shared libraries in the folders that they were linked with, also when installed. Otherwise CMake ends
#   the list with an empty element, as room for another list on installation; the loader takes that for the current folder.
function(gradmark_run_path)
  set_target_properties(${ARGN} PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH_USE_LINK_PATH ON)
endfunction()
