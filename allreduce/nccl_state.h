/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nccl_state.h - facts about NCCL, also if it is not built in: the text of `gradmark info` (built in, found, version),
 * and its memory need.
 */
#ifndef ALLREDUCE_NCCL_STATE_H
#define ALLREDUCE_NCCL_STATE_H

#include <stddef.h>

/* GPU memory of the library for a communicator. Chosen, not measured. */
enum { NCCL_ALLOWANCE_BYTES = 256 << 20 };

/* Loads the library if it is built in. Cannot fail. */
void nccl_state(char *out, size_t n_bytes);

#endif
