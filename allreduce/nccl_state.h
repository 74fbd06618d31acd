/* SPDX-License-Identifier: Apache-2.0 */
/* nccl_state.h - what `gradmark info` says of NCCL: is it built in, is it found, in which version. */
#ifndef ALLREDUCE_NCCL_STATE_H
#define ALLREDUCE_NCCL_STATE_H

#include <stddef.h>

/* Where it is built in: loads the library. Cannot fail. */
void nccl_state(char *out, size_t n_bytes);

#endif
