/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stage_spans.h - when the stages of one pipeline computed what: read from the timeline (--timeline) of a training in
 * stages.
 *
 * A forward or a backward of a micro-batch in the timeline begins when the stage turns to it, and has inside it the
 * waits for its neighbours. A span here is a part of it in which the stage computed: between two of both, or between
 * two waits, is the bubble.
 */
#ifndef HARNESS_LABS_STAGE_SPANS_H
#define HARNESS_LABS_STAGE_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/rc.h"

enum { STAGE_SPANS_MOST_STAGES = 64 };

struct stage_span {
    int stage, step, micro_batch;
    bool is_backward;
    uint64_t start_ns, end_ns; /* of the timeline */
};

struct stage_spans {
    struct stage_span *span; /* owned; those of a stage in the order of time */
    size_t n;
    int n_stages;
};

struct stage_step { /* of all stages */
    uint64_t start_ns, end_ns;
    double busy_ratio; /* of all stages from the first one's start to the last one's end; the rest is the bubble */
};

/* Read what --timeline wrote. RC_MISMATCH: it is no timeline, or none of one pipeline: of what, and of which event;
 * RC_INVAL: there is no such file; RC_NOMEM. */
enum rc stage_spans_read(struct stage_spans *out, const char *path) MUST_CHECK;
void stage_spans_close(struct stage_spans *s); /* accepts a zeroed one */

/* RC_MISMATCH: no stage, or not every one, has computed in this step. */
enum rc stage_spans_step(struct stage_step *out, const struct stage_spans *s, int step) MUST_CHECK;
/* Micro-batches whose forward a stage has begun, and whose backward it has not ended, at this time. */
int stage_spans_held(const struct stage_spans *s, int step, int stage, uint64_t at_ns);
/* The most of them at any time of the step. */
int stage_spans_most_held(const struct stage_spans *s, int step, int stage);

#endif
