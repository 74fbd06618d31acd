/* SPDX-License-Identifier: Apache-2.0 */
/* nccl_absent.c - nccl_state.h of a program without NCCL. */
#include <stdio.h>

#include "allreduce/nccl_state.h"

void nccl_state(char *out, size_t n_bytes)
{
    snprintf(out, n_bytes, "not built in: %s", GRADMARK_NCCL_WHY_NOT);
}
