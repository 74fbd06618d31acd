# SPDX-License-Identifier: Apache-2.0
# What runs when. Each CTest entry is in one tier, and carries its label:
#
#   quick    scripts/test: one test of every capability, values and bits. What is built for it decides how long a
#            newcomer waits, so it runs few programs.
#   full     the default; scripts/test --all and .ci/run: all that guards a change. It includes quick.
#   nightly  scripts/nightly: what is worth its time only now and then. Tests of tests, rank counts by which nothing
#            changes, thousands of seeds, rounds of kills.
#
# Names are regular expressions of whole names. One that fits no entry of a complete build is an error.

# gradmark_names(OUT TEXT): regular expressions, parted by blanks; a line that begins with # is a comment
function(gradmark_names out text)
  string(REGEX REPLACE "\n *#[^\n]*" "" text "\n${text}")
  string(REGEX REPLACE "[ \n]+" ";" names "${text}")
  list(REMOVE_ITEM names "")
  set(${out} "${names}" PARENT_SCOPE)
endfunction()

gradmark_names(GRADMARK_QUICK [[
    # values and bits, room by room
    base\.(errors_text_files|options|files) world\.(threads|tasks|stop\.threads|mpi\.3|tcp\.suite\.3)
    net\.(inproc|zmq|shm|mpi_over_mpi|sim)\.3 compute\.(suite\.(cpu|cpu\.bf16|hollow)|allocation)
    allreduce\..*\.(inproc|mpi|sim)\.3 ps\.(wire_and_server|replica\.points|elastic\.points)
    data\.digits models\.(golden\.(lenet|resnet8)\.(1|2)|network\.facts|linear\.(gradient|converges))
    measure\.(interval|paired|steady|steps)
    train\.exchange\.(threads|sim)\.(none|single|allreduce|ps) train\.exchange\.mpi\.(allreduce|ps) models\.(pipeline|shard)
    campaign\.(verdict|table) report\.(record|table|manifest) accept\.judge lib\.alone
    # the program, as a user types it
    cli\.help\.(brief|whole|examples|pages|formats|options_page)
    cli\.(worlds_agree|checkpoints|info|bad_input_is_refused|summary_has_its_keys|compare_in_threads)
    cli\.(launch\.agree|drills\.threads\.ps|stop\.threads|replicas\.refused|elastic\.drills|accept\.healthy)
    cli\.(simulate\.golden|reproduce\.golden|predict\.exact|comm\.threads|comm_ps\.sim_values|profile\.published)
    cli\.(autotune\.sim_defaults_stay|calibrate\.sim_recovers_tcp|integrity|pack|input\.threads)
    cli\.(lab\.(list|batch_size|ring)|exercise\.no_mpi|report\.report_of_a_campaign|cluster\.info)
    readme\.commands lint\.prose scripts\.(help|setup) lib\.installed\.(layout|linear)
]])

gradmark_names(GRADMARK_NIGHTLY [[
    .*mutants(\.sim)? .*_nightly .*\.counts scripts\.(mutation|killed_campaigns)
    # what repeats at length what a shorter test by day shows
    compute\.suite\.cuda\.on_host\.bf16 lint\.cppcheck
    # new machines: minutes of packages
    scripts\.new_machine\.(deb|image|user)
    # measurements against other programs, and of scripts that are started by hand
    scripts\.(measure\.(pytorch|horovod|commit)|gpu_acceptance|same_results|reframe) cli\.lab\.all
]])

# One sanitizer for each room. Of memory: rooms that parse bytes, own memory in odd ways, or emulate a device; of others one
# test that opens and closes all that they allocate. Of threads: rooms whose ranks share memory. The reports of the others
# come from the rooms that they stand on.
gradmark_names(GRADMARK_ADDRESS [[
    (base|cluster|data|report|measure|models|bench|labs|verbs|cuda|nccl)\..* accept\.(criteria|acceptance|rank_order_files|host_list|heat_map).*
    compute\.(registry|allocation|suite|emulated|narrow).* campaign\.(kept|recorded|reload|page|published|diff).*
    accept\.blame allreduce\.[a-z-]*\.inproc\.3
    .*fuzz.* net\.(zmq_(address|files|frame|gate)|curve_keys|byte_ring|shm_lines) ps\.(wire_and_server|push_body|copy|rogue)
    world\.(beat_frame|tcp\.(stream|gang|hub)|span\..*) train\.checkpoint allreduce\.nccl\..*
]])
gradmark_names(GRADMARK_THREAD [[
    (world|net|exchange|allreduce|ps|train|lib)\..* compute\.(suite\.cpu|races.*|allocation) models\.(pipeline|shard|golden\..*\.2|lenet\.threads)
    data\.(loader|feed) accept\.stages\.threads
]])
# Not there: what says nothing of memory or threads, what another one there shows too (options that do not change how ranks
# share memory: train.exchange.*; the choice of an algorithm: one transport; numbers of ranks: 3 and 5), and what takes
# minutes under a sanitizer. What hands bytes from thread to thread of a process by sockets is in libzmq, into which it does
# not see.
gradmark_names(GRADMARK_NOT_ADDRESS [[
    models\.(whole\..*|packed|upload\.on_host|run|shard|stage_shard.*|pipeline.*|lenet\.(learns|late)|inception3\.errors)
    models\.(golden\.(inception3|resnet50).*|training\.(inception3|reference)) compute\.emulated\.control.* .*\.long
    compute\.suite\.(cuda\.on_host.*|cpu\.bf16) bench\.comm_bench report\.timeline\.threads
]])
gradmark_names(GRADMARK_NOT_THREAD [[
    train\.(pairs|lenet_learns).* .*fuzz.* net\.(ipc|tcp)\..* net\.zmq_flood ps\.(slots|round)\.(ipc|tcp) lib\.launch\..*
    train\.(checkpoint|schedule|result.*|recorded|bound|trajectory|messages|probe|learning_advice) allreduce\.nccl\..* .*mutants_are_noticed
    (world|net)\.points world\.tcp\.opening models\.pipeline train\.nccl\.train\.(equal|hosts)\..* ps\.(replica|elastic)\.(zmq|inproc) ps\.replica\.shm allreduce\.ring\.segments\.fault\..*
    train\.(optimizer.*|shard|compression|staging\..*|input\..*|integrity\.threads|periods|servers\.lenet.*|save_every|local_sgd|accumulate|resume.*|parts|omission|alternation|sync\.(none|single))
    train\.exchange\..*\.(fp16|topk_0\.25) train\.exchange\.(zmq|shm)\..*\.(bf16|topk_0\.01) allreduce\.auto\.(inproc\.5|zmq\.3|over_shm\.3)
    allreduce\..*\.inproc\.(1|2|4|7|8|9) allreduce\.(tree|root|halving-doubling)\.fault\.(delay|duplicate|truncate)
    allreduce\.ring\.segments\.((100|4096)\..*|4\.inproc\.5)
]])

foreach(tier quick full nightly) # what to build for each
  add_custom_target(${tier})
endforeach()
add_dependencies(full quick)

function(gradmark_fits out name)
  set(${out} FALSE PARENT_SCOPE)
  foreach(pattern ${ARGN})
    if(name MATCHES "^(${pattern})$")
      set(${out} TRUE PARENT_SCOPE)
      set_property(GLOBAL APPEND PROPERTY GRADMARK_PATTERNS_USED "${pattern}")
      return()
    endif()
  endforeach()
endfunction()

# gradmark_tier(OUT NAME LABEL ONE_THREAD): its tier; empty where this build does not have the entry.
function(gradmark_tier out name label one_thread)
  set(${out} "" PARENT_SCOPE)
  gradmark_fits(is_nightly ${name} ${GRADMARK_NIGHTLY})
  if(GRADMARK_SANITIZE)
    set(kind ADDRESS)
    if(GRADMARK_SANITIZE STREQUAL "thread")
      set(kind THREAD)
    endif()
    gradmark_fits(is_in ${name} ${GRADMARK_${kind}})
    gradmark_fits(is_out ${name} ${GRADMARK_NOT_${kind}})
    if(NOT is_in OR is_out OR is_nightly OR NOT label MATCHES "^(unit|net)$" OR (one_thread AND kind STREQUAL "THREAD"))
      return()
    endif()
    set(${out} full PARENT_SCOPE)
    return()
  endif()
  gradmark_fits(is_quick ${name} ${GRADMARK_QUICK})
  if(is_nightly)
    set(${out} nightly PARENT_SCOPE)
  elseif(is_quick)
    set(${out} quick PARENT_SCOPE)
  else()
    set(${out} full PARENT_SCOPE)
  endif()
endfunction()

# At the end: a name that was changed must not fall out of its tier without a word.
function(gradmark_check_tiers)
  get_property(used GLOBAL PROPERTY GRADMARK_PATTERNS_USED)
  foreach(pattern ${GRADMARK_QUICK} ${GRADMARK_NIGHTLY})
    if(NOT pattern IN_LIST used)
      message(SEND_ERROR "scripts/cmake/tiers.cmake: no test is named ${pattern}")
    endif()
  endforeach()
endfunction()
