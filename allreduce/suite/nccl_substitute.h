/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nccl_substitute.h - what a test may ask of the library that stands in for NCCL (nccl_substitute.c), and tell it.
 *
 * Variables of its environment:
 *   NCCL_SUBSTITUTE_VERSION=CODE    the version that it says it is
 *   NCCL_SUBSTITUTE_FAULT=RANK:WHAT[:N]
 *       id      rank 0 gets no unique id        init    the communicator of RANK cannot be made
 *       absent  RANK's communicator waits for ever, and so do the others
 *       late    the Nth group of RANK fails when it was queued, as a failure of the system, silently: what it sums is
 *               left as it was
 *       remote  likewise, as a failure of another rank
 *       hang    RANK never begins with its Nth group
 *       sum     ncclAllReduce in RANK's Nth group fails        end     ncclGroupEnd of it
 */
#ifndef ALLREDUCE_SUITE_NCCL_SUBSTITUTE_H
#define ALLREDUCE_SUITE_NCCL_SUBSTITUTE_H

/* "live": communicators not ended now; "init", "abort", "destroy": so many ever, by all ranks of this process. */
int nccl_substitute_count(const char *what);

#endif
