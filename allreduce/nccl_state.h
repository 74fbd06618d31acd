/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nccl_state.h - what is known of NCCL where it is not built in, too: what `gradmark info` says of it (is it built in,
 * is it found, in which version), and what it takes.
 */
#ifndef ALLREDUCE_NCCL_STATE_H
#define ALLREDUCE_NCCL_STATE_H

#include <stddef.h>

/* What the library takes of a GPU's memory for a communicator. Chosen, not measured. */
enum { NCCL_ALLOWANCE_BYTES = 256 << 20 };

/* Where it is built in: loads the library. Cannot fail. */
void nccl_state(char *out, size_t n_bytes);

#endif
