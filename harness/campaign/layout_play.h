/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout_play.h - the time of a step of a layout, from what its stages compute and what crosses between its ranks.
 *
 * The schedule (models/engine/stage.h) is played with links that are shared (layout_links.h): stages compute their
 * micro-batches in its order, each behind what it waits for, while what they send is on its way; a stage's exchange and
 * update come behind its last backward. All replicas of a stage are one (layout_links.L2). It is a prediction and no
 * bound: models/engine/stage_timing.h has that, whose links nobody shares.
 */
#ifndef HARNESS_CAMPAIGN_LAYOUT_PLAY_H
#define HARNESS_CAMPAIGN_LAYOUT_PLAY_H

#include "harness/campaign/layout_links.h"
#include "models/engine/stage.h"

struct sent { /* by a rank, to one other */
    double n_bytes;
    int n_messages; /* one behind the other; 0: nothing is sent */
};

struct played_stage {             /* of a micro-batch, but for what is of a step */
    double forward_s, backward_s; /* computing */
    struct sent value, grad;      /* to the stages beside it */
    struct sent gather, scatter;  /* in a group of shards, with forward and with backward */
    struct sent own, common;      /* of a step: around each ring, the second one behind the first */
    double update_s;              /* of a step */
    bool overlaps;                /* what goes around the rings begins with the last backward, not behind it ... */
    bool is_one_bucket;           /* ... but the common one, which is there with its end */
};

/* Of step after step, of which a stage may begin the next while others still do this one. stage[n_stages]. RC_NOMEM. */
enum rc layout_play(double *period_s, const struct played_stage *stage, const struct layout_links *links,
                    enum stage_schedule schedule, int n_stages, size_t n_micro_batches) MUST_CHECK;

#endif
