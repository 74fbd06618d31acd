/* SPDX-License-Identifier: Apache-2.0 */
/*
 * disturbed.h - what else ran on the hosts of a run while it trained.
 *
 * Each process counts its own processor time; one rank of each host also reads that of the host. They read before the
 * barrier ahead of the first step and after the last step, so nothing is read in between. In sim nothing is read
 * (train.L4).
 */
#ifndef HARNESS_TRAIN_DISTURBED_H
#define HARNESS_TRAIN_DISTURBED_H

#include "harness/train/train.h"
#include "harness/world/host_load.h"

/* Read before the first step: the load of this process, and on the first rank of a host that of the host. root: as
 * host_load_read(). In sim *before is not used. */
void disturbance_begin(struct host_load *before, const struct world *w, const char *root);
/* Read after the last step, into info->load, process and kernel. */
void disturbance_end(struct train_rank_info *info, const struct host_load *before, const struct world *w,
                     const char *root);

/* The disturbance of the host of rank i; unknown in sim, and if the host's first rank was lost. */
struct disturbance disturbance_of_rank(const struct train_job *job, const struct train_result *r, int i);
/* The disturbance of the worst host. */
struct disturbance disturbance_of_run(const struct train_job *job, const struct train_result *r);
/* The disturbance of this host between two readings of a process that uses n_used_cores > 0 cores, or all if fewer are
 * there. Pure. */
struct disturbance disturbance_between(const struct host_load *before, const struct host_load *after, int n_used_cores);
/* "others use 1.4 of 2 cores". Cannot fail. */
void disturbance_now_text(char *out, size_t n_bytes, const struct disturbance *d, int n_host_cores);
/* Add it to a record: NaN becomes null; in sim "disturbed" is null. */
void record_disturbance(struct record *to, const struct train_job *job, const struct disturbance *d);

#endif
