# SPDX-License-Identifier: Apache-2.0
# embed_text.cmake - text files become an array of a C source: as a script, what does it; included, gradmark_embed().

# gradmark_embed(OUT ARRAY [NAMED] file ...)
#   Set OUT to a C source, made when the files change, that defines `const char ARRAY[]`: the files one behind the other,
#   ended by a zero. They are ASCII. NAMED: they may be UTF-8, and before each stand the byte 0x0c, its name without
#   folder and extension, and an end of line.
function(gradmark_embed out array)
  set(named 0)
  if(ARGV2 STREQUAL "NAMED")
    set(named 1)
    list(POP_FRONT ARGN)
  endif()
  set(source "${CMAKE_CURRENT_BINARY_DIR}/${array}.c")
  list(TRANSFORM ARGN PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/")
  add_custom_command(OUTPUT "${source}" DEPENDS ${ARGN} "${CMAKE_SOURCE_DIR}/scripts/cmake/embed_text.cmake" VERBATIM
    COMMAND ${CMAKE_COMMAND} "-DARRAY=${array}" "-DFILES=${ARGN}" "-DSOURCE=${source}" -DNAMED=${named}
            -P "${CMAKE_SOURCE_DIR}/scripts/cmake/embed_text.cmake")
  set(${out} "${source}" PARENT_SCOPE)
endfunction()

if(CMAKE_SCRIPT_MODE_FILE)
  set(numbers "")
  foreach(file IN LISTS FILES)
    file(READ "${file}" hex HEX)
    string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
    if(NAMED)
      get_filename_component(name "${file}" NAME_WE)
      string(HEX "${name}" name)
      string(REGEX REPLACE "(..)" "0x\\1," name "${name}")
      string(PREPEND bytes "0x0c,${name}0x0a,")
    elseif(bytes MATCHES "0x[89a-f]")
      message(FATAL_ERROR "${file}: has a byte beyond ASCII; in a script, write \\u....")
    endif()
    string(APPEND numbers "${bytes}")
  endforeach()
  string(REGEX REPLACE "(0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,)" "\\1\n" numbers "${numbers}")
  string(REGEX REPLACE "(0x[89a-f].)" "(char)\\1" numbers "${numbers}")
  file(WRITE "${SOURCE}" "extern const char ${ARRAY}[];\nconst char ${ARRAY}[] = {\n${numbers}0 };\n")
endif()
