# SPDX-License-Identifier: Apache-2.0
# cmake -DCOMMAND="prog;arg;..." -DPATTERN=regex -DLIMIT_S=seconds -P expect_failure.cmake
#   Passes when the command ends by itself, within LIMIT_S, with an exit code other than 0, and PATTERN
#   matches what it wrote.
execute_process(COMMAND ${COMMAND} TIMEOUT ${LIMIT_S} RESULT_VARIABLE result OUTPUT_VARIABLE text ERROR_VARIABLE text)
message("${text}\nexit: ${result}")
if(result STREQUAL "0")
  message(FATAL_ERROR "it ended well, but must not")
elseif(result MATCHES "timeout")
  message(FATAL_ERROR "it did not end within ${LIMIT_S} s")
elseif(NOT text MATCHES "${PATTERN}")
  message(FATAL_ERROR "its output does not match ${PATTERN}")
endif()
