/* SPDX-License-Identifier: Apache-2.0 */
/* job_ranks.h - workers, servers and ranks of a job. */
#ifndef HARNESS_TRAIN_JOB_RANKS_H
#define HARNESS_TRAIN_JOB_RANKS_H

#include "harness/train/train.h"

/* Resolve them from options or defaults, and check that they fit together. n_given_ranks: ranks the launcher started,
 * 0: none. RC_INVAL. */
enum rc job_ranks_resolve(struct train_job *job, int n_given_ranks) MUST_CHECK;

#endif
