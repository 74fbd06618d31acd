/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout_play.h - the step time of a layout, from the compute times of its stages and the messages between its ranks.
 *
 * It plays the schedule (models/engine/stage.h) with shared links (layout_links.h). Stages compute their micro-batches
 * in the order of the schedule, each after its inputs have arrived, while their messages are outstanding. A stage's
 * exchange and update follow its last backward. All replicas of a stage count as one (layout_links.L2). The result is a
 * prediction, not a bound: models/engine/stage_timing.h has the bound, without shared links.
 */
#ifndef HARNESS_CAMPAIGN_LAYOUT_PLAY_H
#define HARNESS_CAMPAIGN_LAYOUT_PLAY_H

#include "harness/campaign/layout_links.h"
#include "models/engine/stage.h"

struct sent { /* by a rank, to one other */
    double n_bytes;
    int n_messages; /* one after another; 0: nothing is sent */
};

struct played_stage {             /* per micro-batch, unless stated as per step */
    double forward_s, backward_s; /* computing */
    struct sent value, grad;      /* to the neighbouring stages */
    struct sent gather, scatter;  /* in a group of shards, with forward and with backward */
    struct sent own, common;      /* per step: around each ring, the second after the first */
    double update_s;              /* per step */
    bool overlaps;                /* ring messages start when the last backward starts, not when it ends ... */
    bool is_one_bucket;           /* ... except the common ones, which are ready only at its end */
};

/* *period_s: time per step of consecutive steps; a stage may begin a step while others do the one before.
 * stage[n_stages]. RC_NOMEM. */
enum rc layout_play(double *period_s, const struct played_stage *stage, const struct layout_links *links,
                    enum stage_schedule schedule, int n_stages, size_t n_micro_batches) MUST_CHECK;

#endif
