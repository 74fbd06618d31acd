# SPDX-License-Identifier: Apache-2.0
# gradmark_room(NAME SOURCES file.c ... LINKS target ...)
#   One static library gm_NAME from the room's sources; link only rooms its arrows allow.
function(gradmark_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;LINKS" ${ARGN})
  add_library(gm_${name} STATIC ${ROOM_SOURCES})
  target_link_libraries(gm_${name} PUBLIC ${ROOM_LINKS})
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
#   A test executable; cmocka is linked. For the thread sanitizer it is built where one of its tests runs there.
function(gradmark_test_program target)
  cmake_parse_arguments(PROGRAM "" "" "SOURCES;LINKS" ${ARGN})
  add_executable(${target} ${PROGRAM_SOURCES})
  target_link_libraries(${target} PRIVATE ${PROGRAM_LINKS} PkgConfig::CMOCKA)
  if(GRADMARK_SANITIZE STREQUAL "thread")
    set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL TRUE)
  endif()
endfunction()

# gradmark_count_allocations(TARGET): the test program may ask test_allocations() (harness/base/suite/test_allocations.h).
function(gradmark_count_allocations target)
  target_sources(${target} PRIVATE "${CMAKE_SOURCE_DIR}/harness/base/suite/test_allocations.c")
  target_link_options(${target} PRIVATE -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=aligned_alloc,--wrap=mmap)
endfunction()

# gradmark_slots(OUT N)
#   Slots of ctest that a test of N ranks takes. scripts/test has one more of them than cores, for most tests wait most of
#   the time, and so do ranks: for each other, or for one that is silent.
function(gradmark_slots out n)
  math(EXPR n_slots "(${n} + 2) / 2")
  set(${out} ${n_slots} PARENT_SCOPE)
endfunction()

# gradmark_test(NAME PROGRAM target LABEL unit|net|mpi|sim|lint|cli [ARGS arg ...] [RANKS n] [TIMEOUT s] [ONE_THREAD])
#   One CTest entry. RANKS: started by mpiexec with n ranks. Exit code 77 means skipped. ONE_THREAD: its program starts no
#   thread, which builds without sanitizers check; the thread sanitizer has nothing to find in it, and leaves it out.
#   What may take longest begins first, so that the last minutes do not wait for one test.
function(gradmark_test name)
  cmake_parse_arguments(TEST "ONE_THREAD" "PROGRAM;LABEL;RANKS;TIMEOUT" "ARGS" ${ARGN})
  if(GRADMARK_SANITIZE STREQUAL "thread" AND TEST_ONE_THREAD)
    return()
  endif()
  if(GRADMARK_SANITIZE STREQUAL "thread" AND name MATCHES "^(compute|models)\\..*mutant|mutants_are_noticed|lenet_learns")
    return() # mistakes in arithmetic, or hundreds of equal steps: found without it, and minutes with it
  endif()
  if(GRADMARK_SANITIZE STREQUAL "thread" AND name MATCHES "^train\\.pairs\\.")
    return() # hundreds of short runs, for what is refused and what is recorded; train.exchange.* and others look for races
  endif()
  if(GRADMARK_SANITIZE STREQUAL "thread" AND name MATCHES "^net\\.(ipc|tcp)\\.|^net\\.zmq_flood$|^ps\\.(slots|round)\\.(ipc|tcp)$|^bench\\.ps_bench$")
    return() # sockets between threads of a process: what hands bytes over is in libzmq, into which the sanitizer does not see
  endif()
  if(NOT TEST_TIMEOUT)
    set(TEST_TIMEOUT 60)
  endif()
  set(cost ${TEST_TIMEOUT})
  if(GRADMARK_SANITIZE) # tens of times slower: a limit is there to end a hang, not to judge speed
    math(EXPR TEST_TIMEOUT "${TEST_TIMEOUT} * 5")
  endif()
  if(TARGET ${TEST_PROGRAM})
    if(TEST_LABEL MATCHES "^(unit|net)$") # what preset tsan tests
      set_target_properties(${TEST_PROGRAM} PROPERTIES EXCLUDE_FROM_ALL FALSE)
    endif()
    set(TEST_PROGRAM $<TARGET_FILE:${TEST_PROGRAM}>)
  endif()
  if(TEST_RANKS)
    if(NOT GRADMARK_MPIEXEC)
      return()
    endif()
    add_test(NAME ${name} COMMAND ${GRADMARK_MPIEXEC} ${MPIEXEC_NUMPROC_FLAG} ${TEST_RANKS} --oversubscribe
                                  ${TEST_PROGRAM} ${TEST_ARGS})
    gradmark_slots(n_slots ${TEST_RANKS})
    set_tests_properties(${name} PROPERTIES PROCESSORS ${n_slots} ENVIRONMENT
      "OMPI_ALLOW_RUN_AS_ROOT=1;OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1;OMPI_MCA_rmaps_base_oversubscribe=1;OMPI_MCA_btl_vader_single_copy_mechanism=none")
  else()
    add_test(NAME ${name} COMMAND ${TEST_PROGRAM} ${TEST_ARGS})
  endif()
  set_tests_properties(${name} PROPERTIES LABELS ${TEST_LABEL} TIMEOUT ${TEST_TIMEOUT} COST ${cost} SKIP_RETURN_CODE 77)
  if(TEST_ONE_THREAD AND NOT GRADMARK_SANITIZE) # which want to be loaded first themselves
    set_tests_properties(${name} PROPERTIES ENVIRONMENT "LD_PRELOAD=$<TARGET_FILE:gm_one_thread>")
  endif()
endfunction()

# gradmark_test_fails(NAME PROGRAM target RANKS n PATTERN regex [ARGS arg ...])
#   One CTest entry, label mpi: started by mpiexec with n ranks, it must end by itself, badly, and say PATTERN.
function(gradmark_test_fails name)
  cmake_parse_arguments(TEST "" "PROGRAM;RANKS;PATTERN" "ARGS" ${ARGN})
  if(NOT GRADMARK_MPIEXEC)
    return()
  endif()
  set(command ${GRADMARK_MPIEXEC} ${MPIEXEC_NUMPROC_FLAG} ${TEST_RANKS} --oversubscribe
              $<TARGET_FILE:${TEST_PROGRAM}> ${TEST_ARGS})
  add_test(NAME ${name} COMMAND ${CMAKE_COMMAND} "-DCOMMAND=${command}" "-DPATTERN=${TEST_PATTERN}" -DLIMIT_S=30
                                -P ${CMAKE_SOURCE_DIR}/scripts/cmake/expect_failure.cmake)
  gradmark_slots(n_slots ${TEST_RANKS})
  set_tests_properties(${name} PROPERTIES PROCESSORS ${n_slots} LABELS mpi TIMEOUT 60 ENVIRONMENT
    "OMPI_ALLOW_RUN_AS_ROOT=1;OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1;OMPI_MCA_rmaps_base_oversubscribe=1;OMPI_MCA_btl_vader_single_copy_mechanism=none")
endfunction()
