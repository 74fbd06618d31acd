/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stage_spans.h - what the stages of one pipeline computed, and when. It is read from the timeline (--timeline) of a
 * training in stages.
 *
 * In the timeline, a forward or backward of a micro-batch begins when the stage turns to it, and contains the waits for
 * the neighbours. A span here is a part of it in which the stage computed. The time between two spans is the bubble.
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
    uint64_t start_ns, end_ns; /* in timeline time */
};

struct stage_spans {
    struct stage_span *span; /* owned; the spans of a stage are in the order of time */
    size_t n;
    int n_stages;
};

struct stage_step { /* of all stages */
    uint64_t start_ns, end_ns;
    double busy_ratio; /* over all stages, from the first start to the last end; the rest is the bubble */
};

/* Read what --timeline wrote. RC_MISMATCH: it is not a timeline, or not that of one pipeline; names the reason and the
 * event. RC_INVAL: there is no such file; RC_NOMEM. */
enum rc stage_spans_read(struct stage_spans *out, const char *path) MUST_CHECK;
void stage_spans_close(struct stage_spans *s); /* accepts a zeroed one */

/* RC_MISMATCH: no stage computed in this step, or not every stage did. */
enum rc stage_spans_step(struct stage_step *out, const struct stage_spans *s, int step) MUST_CHECK;
/* Micro-batches at this time whose forward a stage has begun and whose backward it has not ended. */
int stage_spans_held(const struct stage_spans *s, int step, int stage, uint64_t at_ns);
/* The maximum of stage_spans_held() over the step. */
int stage_spans_most_held(const struct stage_spans *s, int step, int stage);

#endif
