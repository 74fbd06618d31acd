# SPDX-License-Identifier: Apache-2.0
# install_help.cmake - man pages and completion for shells, as GRADMARK itself writes them, below MAN and SHARE.

# write(FILE word ...): FILE = what gradmark help --format WORDS prints
function(write file)
  get_filename_component(folder "${file}" DIRECTORY)
  file(MAKE_DIRECTORY "${folder}")
  execute_process(COMMAND "${GRADMARK}" help --format ${ARGN} OUTPUT_FILE "${file}" RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${GRADMARK} help --format ${ARGN}: exit status ${status}")
  endif()
  message(STATUS "Installing: ${file}")
endfunction()

execute_process(COMMAND "${GRADMARK}" help OUTPUT_VARIABLE help)
string(REGEX MATCHALL "\n  [a-z]+ " verbs "${help}")
list(TRANSFORM verbs STRIP)
list(REMOVE_ITEM verbs help)
if(NOT verbs)
  message(FATAL_ERROR "${GRADMARK} help names no verb")
endif()
write("${MAN}/man1/gradmark.1" man)
foreach(verb IN LISTS verbs)
  write("${MAN}/man1/gradmark-${verb}.1" man ${verb})
endforeach()
write("${SHARE}/bash-completion/completions/gradmark" bash)
set(zsh_folder site-functions)
if(CMAKE_INSTALL_PREFIX STREQUAL "/usr" AND EXISTS "/etc/debian_version")
  set(zsh_folder vendor-completions) # zsh of Debian does not look into /usr/share/zsh/site-functions
endif()
write("${SHARE}/zsh/${zsh_folder}/_gradmark" zsh)
write("${SHARE}/fish/vendor_completions.d/gradmark.fish" fish)
