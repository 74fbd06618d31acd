/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout_links.h - which links the messages of a layout (train/layout.h) cross, and what each of them gets of those
 * that several cross at once. Of the formula of layouts alone (layouts.A3): a simulation has links of its own.
 *
 * Invariants
 *   L1  Rank worker x stages + stage is where topology.h says, and a message crosses the links of topology_path().
 *   L2  All replicas of a stage do the same at the same time. So what crosses is of so many kinds for each stage, and
 *       of each kind all messages are on their way together.
 *   L3  A link that messages share is shared evenly by those that cross it; a kind has the rate of the slowest of its
 *       messages. (Fair networks give what one leaves to the others, so rates are no higher than theirs.)
 */
#ifndef HARNESS_CAMPAIGN_LAYOUT_LINKS_H
#define HARNESS_CAMPAIGN_LAYOUT_LINKS_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/cluster/topology.h"
#include "harness/train/layout.h"

/* Of a stage. */
enum layout_crossing {
    CROSSES_VALUE,  /* activations, to the stage behind */
    CROSSES_GRAD,   /* their gradients, to the stage before */
    CROSSES_GROUP,  /* from each rank of a group of shards to each other one */
    CROSSES_COMMON, /* around the ring of all replicas */
    CROSSES_OWN,    /* around the rings of those that have the same shard */
    N_LAYOUT_CROSSINGS
};

struct shared_link { /* one of those that are crossed by the same */
    double bytes_per_s;
    size_t first, n; /* of layout_links.crossed */
};

struct link_crossed { /* by so many messages of a kind */
    size_t kind;
    double n_messages;
};

struct layout_links {          /* owned */
    size_t n_kinds;            /* stages x N_LAYOUT_CROSSINGS: layout_kind() */
    double *latency_s;         /* [n_kinds]: of a message, alone; the longest */
    double *limit_bytes_per_s; /* [n_kinds]: alone */
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
/* bytes_per_s[n_kinds] := the rate of a message of each kind while those of the kinds with `crosses` are on their way;
 * infinite: of a kind that has none. */
void layout_links_share(const struct layout_links *l, double *bytes_per_s, const bool *crosses);

#endif
