/* SPDX-License-Identifier: Apache-2.0 */
/*
 * disturbed.h - what else ran on the hosts of a run while it trained.
 *
 * Each process counts its own processor time, one rank of each host asks for that of the host: before the barrier in
 * front of the first step and after the last one, so nothing is read in between. In sim nothing is (train.L4).
 */
#ifndef HARNESS_TRAIN_DISTURBED_H
#define HARNESS_TRAIN_DISTURBED_H

#include "harness/train/train.h"
#include "harness/world/host_load.h"

/* Before the first step: of this process, and where w's rank is the host's first also of the host. root: as
 * host_load_read(). In sim *before is not used. */
void disturbance_begin(struct host_load *before, const struct world *w, const char *root);
/* After the last step: into info->load, process and kernel. */
void disturbance_end(struct train_rank_info *info, const struct host_load *before, const struct world *w,
                     const char *root);

/* Of the host of rank i of the result; not known in sim, and where its first rank was lost. */
struct disturbance disturbance_of_rank(const struct train_job *job, const struct train_result *r, int i);
/* Of the worst host. */
struct disturbance disturbance_of_run(const struct train_job *job, const struct train_result *r);
/* Into a record: NaN is null; whether it is disturbed is null in sim. */
void record_disturbance(struct record *to, const struct train_job *job, const struct disturbance *d);

#endif
