# SPDX-License-Identifier: Apache-2.0
# gradmark_room(NAME SOURCES file.c ... LINKS target ... [SHORT_BUILD])
#   One static library gm_NAME from the room's sources; link only rooms its arrows allow. SHORT_BUILD: nothing in it runs
#   while something is measured.
function(gradmark_room name)
  cmake_parse_arguments(ROOM "SHORT_BUILD" "" "SOURCES;LINKS" ${ARGN})
  add_library(gm_${name} STATIC ${ROOM_SOURCES})
  target_link_libraries(gm_${name} PUBLIC ${ROOM_LINKS})
  if(ROOM_SHORT_BUILD)
    target_compile_options(gm_${name} PRIVATE $<$<COMPILE_LANGUAGE:C>:${GRADMARK_SHORT_BUILD}>)
  endif()
endfunction()

# gradmark_listed(OUT FILE)
#   The names of the modules that FILE lists as ENTRY(name).
function(gradmark_listed out file)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${file}")
  file(STRINGS "${file}" names REGEX "ENTRY\\([a-z0-9_]+\\) *\\\\?$")
  list(FILTER names EXCLUDE REGEX "define")
  list(TRANSFORM names REPLACE ".*ENTRY\\(([a-z0-9_]+)\\).*" "\\1")
  set(${out} "${names}" PARENT_SCOPE)
endfunction()

# gradmark_test_program(TARGET SOURCES file.c ... LINKS target ...)
#   A test executable; cmocka is linked. It is built with the tier of its tests.
function(gradmark_test_program target)
  cmake_parse_arguments(PROGRAM "" "" "SOURCES;LINKS" ${ARGN})
  add_executable(${target} ${PROGRAM_SOURCES})
  target_link_libraries(${target} PRIVATE ${PROGRAM_LINKS} PkgConfig::CMOCKA)
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:C>:${GRADMARK_SHORT_BUILD}>)
  target_link_options(${target} PRIVATE ${GRADMARK_TEST_LINKER})
endfunction()

# gradmark_test_kit(TARGET SOURCES file.c ... LINKS target ...)
#   What several test programs share, compiled once.
function(gradmark_test_kit target)
  cmake_parse_arguments(KIT "" "" "SOURCES;LINKS" ${ARGN})
  add_library(${target} STATIC ${KIT_SOURCES})
  target_link_libraries(${target} PUBLIC ${KIT_LINKS} PkgConfig::CMOCKA)
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:C>:${GRADMARK_SHORT_BUILD}>)
endfunction()

# gradmark_count_allocations(TARGET): the test program may ask test_allocations() (harness/base/suite/test_allocations.h).
function(gradmark_count_allocations target)
  target_sources(${target} PRIVATE "${CMAKE_SOURCE_DIR}/harness/base/suite/test_allocations.c")
  target_link_options(${target} PRIVATE -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=aligned_alloc,--wrap=mmap)
endfunction()

# gradmark_slots(OUT N)
#   Slots of ctest that a test of N ranks takes. scripts/test has three for each core: most tests wait most of the time,
#   and so do ranks: for each other, or for one that is silent.
function(gradmark_slots out n)
  math(EXPR n_slots "(${n} + 2) / 2")
  set(${out} ${n_slots} PARENT_SCOPE)
endfunction()

# gradmark_test(NAME PROGRAM target LABEL unit|net|mpi|sim|lint|cli|gpu [ARGS arg ...] [RANKS n] [TIMEOUT s] [ONE_THREAD]
#               [EACH case ...])
#   One CTest entry; scripts/cmake/tiers.cmake says in which tier it is, and whether it runs under a sanitizer. RANKS:
#   started by mpiexec with n ranks. Without MPI there is no entry. Exit code 77 means
#   skipped. EACH: the program runs once for each case, which takes the place of {} in ARGS. ONE_THREAD: its program starts no thread, which builds without sanitizers check.
#   What may take longest begins first, so that the last minutes do not wait for one test.
function(gradmark_test name)
  cmake_parse_arguments(TEST "ONE_THREAD" "PROGRAM;LABEL;RANKS;TIMEOUT" "ARGS;EACH" ${ARGN})
  gradmark_tier(tier ${name} ${TEST_LABEL} ${TEST_ONE_THREAD})
  if(NOT tier OR (TEST_RANKS AND NOT GRADMARK_MPIEXEC))
    return()
  endif()
  if(NOT TEST_TIMEOUT)
    set(TEST_TIMEOUT 60)
  endif()
  set(cost ${TEST_TIMEOUT})
  # A limit ends a hang; it does not judge speed. Sanitizers are tens of times slower, and machines can be busy.
  if(GRADMARK_SANITIZE)
    math(EXPR TEST_TIMEOUT "${TEST_TIMEOUT} * 15")
  else()
    math(EXPR TEST_TIMEOUT "${TEST_TIMEOUT} * 10")
  endif()
  string(REGEX MATCHALL "\\$<TARGET_FILE:[A-Za-z0-9_]+>" programs "${TEST_ARGS}")
  list(TRANSFORM programs REPLACE "\\$<TARGET_FILE:(.*)>" "\\1")
  if(TARGET ${TEST_PROGRAM})
    list(APPEND programs ${TEST_PROGRAM})
    set(TEST_PROGRAM $<TARGET_FILE:${TEST_PROGRAM}>)
  endif()
  if(programs)
    add_dependencies(${tier} ${programs})
  endif()
  set(command ${TEST_PROGRAM} ${TEST_ARGS})
  if(TEST_EACH)
    set(command "${CMAKE_SOURCE_DIR}/scripts/cmake/each_case" ${command} -- ${TEST_EACH})
  endif()
  if(TEST_RANKS)
    list(PREPEND command ${GRADMARK_MPIEXEC} ${MPIEXEC_NUMPROC_FLAG} ${TEST_RANKS} --oversubscribe)
  endif()
  gradmark_entry(${name} ${tier} ${TEST_LABEL} command)
  set_tests_properties(${name} PROPERTIES TIMEOUT ${TEST_TIMEOUT} COST ${cost} SKIP_RETURN_CODE 77)
  if(TEST_RANKS)
    gradmark_under_mpi(${name} ${TEST_RANKS})
  elseif(TEST_ONE_THREAD AND NOT GRADMARK_SANITIZE) # which want to be loaded first themselves
    add_dependencies(${tier} gm_one_thread)
    set_tests_properties(${name} PROPERTIES ENVIRONMENT "LD_PRELOAD=$<TARGET_FILE:gm_one_thread>")
  endif()
endfunction()

# gradmark_entry(NAME TIER LABEL VARIABLE): VARIABLE holds the command. Labels of tiers; what is nightly is
# run with  ctest -C nightly  alone.
function(gradmark_entry name tier label variable)
  set(labels ${label} ${tier})
  set(configurations "")
  if(tier STREQUAL "quick")
    list(APPEND labels full)
  elseif(tier STREQUAL "nightly")
    set(configurations CONFIGURATIONS nightly)
  endif()
  add_test(NAME ${name} COMMAND ${${variable}} ${configurations})
  # All mpirun of a user share one folder of sessions, which the last one to end removes. One that starts at that moment
  # fails ("mkdir: File exists"). So each test has a folder of its own; Open MPI makes it.
  set_tests_properties(${name} PROPERTIES LABELS "${labels}" ENVIRONMENT_MODIFICATION
    "OMPI_MCA_orte_tmpdir_base=set:${CMAKE_BINARY_DIR}/sessions/${name}")
endfunction()

function(gradmark_under_mpi name n_ranks)
  gradmark_slots(n_slots ${n_ranks})
  set_tests_properties(${name} PROPERTIES PROCESSORS ${n_slots} ENVIRONMENT
    "OMPI_ALLOW_RUN_AS_ROOT=1;OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1;OMPI_MCA_rmaps_base_oversubscribe=1;OMPI_MCA_btl_vader_single_copy_mechanism=none")
endfunction()

# gradmark_test_properties(NAME ... PROPERTIES key value ...): of those that are entries of this build. What runs one after
# another, by a RESOURCE_LOCK, begins first of all: else the last minute has these alone.
function(gradmark_test_properties)
  cmake_parse_arguments(PARSE_ARGV 0 OF "" "" "PROPERTIES")
  if("RESOURCE_LOCK" IN_LIST OF_PROPERTIES)
    list(APPEND OF_PROPERTIES COST 10000)
  endif()
  foreach(name ${OF_UNPARSED_ARGUMENTS})
    if(TEST ${name})
      set_tests_properties(${name} PROPERTIES ${OF_PROPERTIES})
    endif()
  endforeach()
endfunction()

# gradmark_test_append(NAME ... PROPERTY key value): likewise, one more value
function(gradmark_test_append)
  cmake_parse_arguments(PARSE_ARGV 0 OF "" "" "PROPERTY")
  foreach(name ${OF_UNPARSED_ARGUMENTS})
    if(TEST ${name})
      set_property(TEST ${name} APPEND PROPERTY ${OF_PROPERTY})
    endif()
  endforeach()
endfunction()

# gradmark_test_fails(NAME PROGRAM target RANKS n PATTERN regex [ARGS arg ...])
#   One CTest entry, label mpi: started by mpiexec with n ranks, it must end by itself, badly, and say PATTERN, an extended
#   regular expression (scripts/cmake/expect_failure).
function(gradmark_test_fails name)
  cmake_parse_arguments(TEST "" "PROGRAM;RANKS;PATTERN" "ARGS" ${ARGN})
  gradmark_tier(tier ${name} mpi FALSE)
  if(NOT tier OR NOT GRADMARK_MPIEXEC)
    return()
  endif()
  add_dependencies(${tier} ${TEST_PROGRAM})
  set(checked "${CMAKE_SOURCE_DIR}/scripts/cmake/expect_failure" "${TEST_PATTERN}" ${GRADMARK_MPIEXEC}
              ${MPIEXEC_NUMPROC_FLAG} ${TEST_RANKS} --oversubscribe $<TARGET_FILE:${TEST_PROGRAM}> ${TEST_ARGS})
  gradmark_entry(${name} ${tier} mpi checked)
  set_tests_properties(${name} PROPERTIES TIMEOUT 600)
  gradmark_under_mpi(${name} ${TEST_RANKS})
endfunction()
