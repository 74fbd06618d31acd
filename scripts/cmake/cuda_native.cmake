# SPDX-License-Identifier: Apache-2.0
# gradmark_cuda_native(OUT): the architectures of the GPUs of this machine, "80;90", as its driver tells. Stops, with what
# would be right, where there is none.
function(gradmark_cuda_native out)
  set(refusal "-DGRADMARK_CUDA_ARCHITECTURES=native: no GPU is seen here; name the compute capability to compile for, \
such as 90")
  find_program(nvidia_smi nvidia-smi NO_CACHE NO_CMAKE_SYSTEM_PATH)
  if(NOT nvidia_smi)
    message(FATAL_ERROR "${refusal} (there is no nvidia-smi)")
  endif()
  execute_process(COMMAND "${nvidia_smi}" --query-gpu=compute_cap --format=csv,noheader
                  OUTPUT_VARIABLE capabilities ERROR_VARIABLE error RESULT_VARIABLE result)
  string(REGEX MATCHALL "[0-9]+[.][0-9]" found "${capabilities}")
  if(NOT result EQUAL 0 OR NOT found)
    string(STRIP "${capabilities} ${error}" why)
    message(FATAL_ERROR "${refusal} (nvidia-smi: ${why})")
  endif()
  list(TRANSFORM found REPLACE "[.]" "")
  list(REMOVE_DUPLICATES found)
  list(SORT found COMPARE NATURAL)
  set(${out} "${found}" PARENT_SCOPE)
endfunction()
