/* SPDX-License-Identifier: Apache-2.0 */
/*
 * result_kit.h - three made-up runs of which every figure is known by hand (result_kit.c has the
 * arithmetic). Test-only: for the records of train and for what the verb prints.
 */
#ifndef HARNESS_TRAIN_SUITE_RESULT_KIT_H
#define HARNESS_TRAIN_SUITE_RESULT_KIT_H

#include "harness/train/train.h"

/* Keys of `rank` and `summary` records whose values disturbed_test.c checks, with blanks around. */
#define DISTURBANCE_KEYS \
    " disturbed steal_ratio others_cores_count taken_cores_ratio taken_cores_limit_ratio frequency_hz "

/* Of all records with figures: judged in result_figures_test.c. The first is an option, too. */
#define SENT_KEYS " compression sent_bytes_per_step sent_ratio "
#define OTHER_KEYS DISTURBANCE_KEYS SENT_KEYS

struct made_run { /* job and result borrow from each other and from static data: nothing to free but the arrays */
    struct train_job job;
    struct train_result result;
};

/* ps: 2 workers of unlike speed and 1 server in threads, model linear, resumed after 100 steps; target loss 2.5. */
void made_ps(struct made_run *out);
/* allreduce: 3 workers in sim, model lenet, hollow; the first 5 of 24 steps are slow. */
void made_allreduce(struct made_run *out);
/* single: 1 worker, 3 steps, a replayed profile: too few steps for an interval. */
void made_single(struct made_run *out);
void made_free(struct made_run *m);

/* The lines of the records of a run as train_write() leaves them; freed by the caller. Asserts that it can. */
char *made_records(const struct made_run *m);

#endif
