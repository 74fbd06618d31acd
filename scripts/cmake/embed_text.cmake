# SPDX-License-Identifier: Apache-2.0
# embed_text.cmake - text files become an array of a C source: as a script, what does it; included, gradmark_embed().

# gradmark_embed(OUT ARRAY file ...)
#   Set OUT to a C source, made when the files change, that defines `const char ARRAY[]`: the files one behind the other,
#   ended by a zero. They are ASCII.
function(gradmark_embed out array)
  set(source "${CMAKE_CURRENT_BINARY_DIR}/${array}.c")
  list(TRANSFORM ARGN PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/")
  add_custom_command(OUTPUT "${source}" DEPENDS ${ARGN} "${CMAKE_SOURCE_DIR}/scripts/cmake/embed_text.cmake" VERBATIM
    COMMAND ${CMAKE_COMMAND} "-DARRAY=${array}" "-DFILES=${ARGN}" "-DSOURCE=${source}"
            -P "${CMAKE_SOURCE_DIR}/scripts/cmake/embed_text.cmake")
  set(${out} "${source}" PARENT_SCOPE)
endfunction()

if(CMAKE_SCRIPT_MODE_FILE)
  set(numbers "")
  foreach(file IN LISTS FILES)
    file(READ "${file}" hex HEX)
    string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
    if(bytes MATCHES "0x[89a-f]")
      message(FATAL_ERROR "${file}: has a byte beyond ASCII; in a script, write \\u....")
    endif()
    string(APPEND numbers "${bytes}")
  endforeach()
  string(REGEX REPLACE "(0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,)" "\\1\n" numbers "${numbers}")
  file(WRITE "${SOURCE}" "extern const char ${ARRAY}[];\nconst char ${ARRAY}[] = {\n${numbers}0 };\n")
endif()
