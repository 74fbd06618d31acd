/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verdict.h - which steps of the recipe for distributed training are missing in a training. The verdict uses only the
 * paths of its workers, the losses that they note, and the checkpoint that they leave. Pure.
 *
 *   broadcast   the workers' paths begin at one point
 *   shard       each worker notes the losses of its part of the samples only
 *   average     all workers make the same step each time. (If they begin at one point and learn from the same
 *               samples, they do so with or without averaging; then averaging is not reported as missing.)
 *   scaling     a step is as long as the scaled rate makes it. The mean of the workers' steps is fitted to the gradient
 *               of the loss of all samples. The fitted rate is nearer to W times the rate of one worker than to that
 *               rate.
 *   rank0-save  the checkpoint was last written by rank 0
 */
#ifndef HARNESS_LABS_VERDICT_H
#define HARNESS_LABS_VERDICT_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/labs/squares.h"
#include "harness/labs/training.h"
#include "harness/train/omission.h"

struct evidence { /* borrowed */
    const struct training_path *path;
    const struct squares *loss; /* of all samples */
    const double *part_loss;    /* [n_workers][n_points - 1]: of a worker's own part, at the point of its step */
    double lr;                  /* of one worker, as given */
    bool has_file;
    int writer_rank; /* of the checkpoint */
};

struct verdict {
    unsigned missing;      /* enum omission */
    double rate;           /* the fitted rate of the steps */
    double begins_apart;   /* largest distance from worker 0 at the beginning of a path */
    double ends_apart;     /* the same at its end */
    int first_not_sharded; /* a worker whose losses are not those of its part; -1: none */
};

void verdict_of(struct verdict *out, const struct evidence *e);
/* One sentence that says why a step is missing; omission: one of v->missing. */
void verdict_sentence(char *out, size_t n_bytes, const struct verdict *v, enum omission omission,
                      const struct evidence *e);

#endif
