/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comm_lane.h - one of what is measured side by side: an algorithm, the bare transport, a barrier, or a ceiling; and
 * one call of it, the part that is timed.
 */
#ifndef HARNESS_BENCH_COMM_LANE_H
#define HARNESS_BENCH_COMM_LANE_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/bench/comm_type.h"

struct collective;
struct collective_ops;
struct compute;
struct share;
struct transport;
struct transport_ops;
struct world;

enum { COMM_REASON_BYTES = 256, COMM_EXPLAIN_BYTES = 320 };

enum comm_lane_kind {
    COMM_LANE_REDUCER,  /* a collective of an algorithm */
    COMM_LANE_EXCHANGE, /* bare transport: to rank + 1, and from rank - 1 at once */
    COMM_LANE_BARRIER,  /* allreduce/barrier.h */
    COMM_LANE_ONE_PASS, /* comm_ceiling.h */
};

struct comm_lane { /* the same on all ranks; borrowed */
    const char *name;
    enum comm_lane_kind kind;
    const struct collective_ops *ops; /* of a reducer; else NULL */
    const void *opts;                 /* of its module; NULL: it has none */
};

struct comm_lane_env { /* borrowed; outlives the lane */
    enum comm_type type;
    int root;
    struct world *world;
    const struct transport_ops *transport;
    struct compute *compute; /* of the host's memory, or hollow */
    struct compute *device;  /* in whose memory data begins and ends; NULL: in that of compute */
    struct share *share;     /* in which data will be; NULL: private memory, or none */
    size_t max_elems;
    int timeout_ms;
    bool is_virtual;
};

struct comm_lane_state {
    const struct comm_lane *lane;
    const struct comm_lane_env *env;
    struct transport *transport; /* of this lane alone */
    struct collective *collective;
};

struct comm_data {    /* of one call */
    float *result;    /* [n_elems]: what a collective works on, or what comes in; NULL: hollow */
    float *on_device; /* of env.device: what a collective works on, by copies in result if it has no COLL_DEVICE; NULL:
                         there is none */
    const float *input; /* [n_elems]: what is copied into the result first, or goes out; NULL: nothing is copied */
    size_t n_elems;
    bool copies; /* out of place: the copy counts, though it be hollow */
};

/* Collective. Errors: those of transport and collective; it can be closed. */
enum rc comm_lane_open(struct comm_lane_state *out, const struct comm_lane *lane,
                       const struct comm_lane_env *env) MUST_CHECK;
/* The same of one that may not run on these ranks: where it is refused on any (RC_UNSUPPORTED, RC_INVAL), it is closed
 * on all, and why is the reason; else why is "". RC_NOMEM, too. */
enum rc comm_lane_try(struct comm_lane_state *out, const struct comm_lane *lane, const struct comm_lane_env *env,
                      char why[COMM_REASON_BYTES]) MUST_CHECK;
void comm_lane_close(struct comm_lane_state *s); /* of a zeroed one, too */
/* Out of place: what this rank brings is copied into the result, then the collective works there. Charged in virtual
 * time. Collective. */
enum rc comm_lane_call(struct comm_lane_state *s, const struct comm_data *data) MUST_CHECK;
/* Which algorithm a call of n_bytes takes, and why; "": there is nothing to choose, or no call was made. */
void comm_lane_explain(const struct comm_lane_state *s, size_t n_bytes, char text[COMM_EXPLAIN_BYTES]);
/* Behind the last of some calls, before a clock is read: what was computed has taken its time. */
enum rc comm_lane_end(struct comm_lane_state *s) MUST_CHECK;

#endif
