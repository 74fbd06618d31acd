/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout_play.h - the step time of a layout, from the compute times of its stages and the messages between its ranks.
 *
 * It plays the schedule (models/engine/stage.h) with shared links. Stages compute their micro-batches
 * in the order of the schedule, each after its inputs have arrived, while their messages are outstanding. A stage's
 * exchange and update follow its last backward. All replicas of a stage count as one (layout_play.L2). The result is a
 * prediction, not a bound: models/engine/stage.h has the bound, without shared links.
 */
#ifndef HARNESS_CAMPAIGN_LAYOUT_PLAY_H
#define HARNESS_CAMPAIGN_LAYOUT_PLAY_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/cluster/topology.h"
#include "harness/train/layout.h"
#include "models/engine/stage.h"

/*
 * The links that the messages of a layout (train/layout.h) cross, and the share of each message of a
 * link that several cross at once. Used only by the formula of layouts (layouts.A3): a simulation models links itself.
 *
 * Invariants
 *   L1  Rank worker x stages + stage is where topology.h says, and a message crosses the links of topology_path().
 *   L2  All replicas of a stage do the same at the same time. So each stage has a few kinds of messages, and all
 *       messages of a kind are outstanding together.
 *   L3  A shared link is shared evenly by the messages that cross it. A kind has the rate of the slowest of its
 *       messages. (Fair networks give unused shares to other messages, so these rates are at most theirs.)
 */

/* Kinds of messages of a stage. */
enum layout_crossing {
    CROSSES_VALUE,  /* activations, to the next stage */
    CROSSES_GRAD,   /* their gradients, to the previous stage */
    CROSSES_GROUP,  /* from each rank of a group of shards to each other rank */
    CROSSES_COMMON, /* around the ring of all replicas */
    CROSSES_OWN,    /* around the rings of the ranks that have the same shard */
    N_LAYOUT_CROSSINGS
};

struct shared_link { /* represents all links that are crossed by the same messages */
    double bytes_per_s;
    size_t first, n; /* range in layout_links.crossed */
};

struct link_crossed { /* by n_messages of a kind */
    size_t kind;
    double n_messages;
};

struct layout_links {          /* owned */
    size_t n_kinds;            /* stages x N_LAYOUT_CROSSINGS: layout_kind() */
    double *latency_s;         /* [n_kinds]: of a single message; the longest */
    double *limit_bytes_per_s; /* [n_kinds]: rate of a single message */
    struct shared_link *link;
    struct link_crossed *crossed;
    size_t n_links;
};

static inline size_t layout_kind(int stage, enum layout_crossing crossing)
{
    return (size_t)stage * N_LAYOUT_CROSSINGS + (size_t)crossing;
}

/* RC_NOMEM. */
enum rc layout_links_open(struct layout_links *out, const struct topology *t, const struct layout *l) MUST_CHECK;
void layout_links_close(struct layout_links *l); /* accepts a zeroed one */
/* bytes_per_s[n_kinds] := the rate of a message of each kind while the kinds with `crosses` are outstanding; infinite
 * for a kind without messages. */
void layout_links_share(const struct layout_links *l, double *bytes_per_s, const bool *crosses);

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
