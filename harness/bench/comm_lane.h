/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comm_lane.h - a lane of the comparison: an algorithm, the bare transport, a barrier, or a ceiling; and one call of
 * it, the part that is timed.
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
    COMM_LANE_EXCHANGE, /* bare transport: sends to rank + 1 and receives from rank - 1 at once */
    COMM_LANE_BARRIER,  /* allreduce/barrier.h */
    COMM_LANE_ONE_PASS, /* comm_ceiling.h */
};

struct comm_lane { /* equal on all ranks; borrowed */
    const char *name;
    enum comm_lane_kind kind;
    const struct collective_ops *ops; /* for a reducer; else NULL */
    const void *opts;                 /* of its module; NULL: none */
};

struct comm_lane_env { /* borrowed; outlives the lane */
    enum comm_type type;
    int root;
    struct world *world;
    const struct transport_ops *transport;
    struct compute *compute; /* with the host's memory, or no data (hollow) */
    struct compute *device;  /* data starts and ends in its memory; NULL: in that of compute */
    struct share *share[2];  /* the places of the data and of inputs; NULL: private memory, or none */
    size_t max_elems;
    int timeout_ms;
    bool is_virtual;
};

struct comm_lane_state {
    const struct comm_lane *lane;
    const struct comm_lane_env *env;
    struct transport *transport; /* only for this lane */
    struct collective *collective;
};

struct comm_data {      /* of one call */
    float *result;      /* [n_elems]: buffer of a collective, or the received data; NULL: no data */
    float *on_device;   /* on env.device: buffer of a collective, via copies in result if it lacks COLL_DEVICE; NULL: no
                         device */
    const float *input; /* [n_elems]: what this rank brings, or sends; NULL: that is in the result */
    size_t n_elems;
    bool is_out_of_place; /* even without data */
};

/* Collective. Errors: those of transport and collective; after an error it can be closed. */
enum rc comm_lane_open(struct comm_lane_state *out, const struct comm_lane *lane,
                       const struct comm_lane_env *env) MUST_CHECK;
/* The same for a lane that may not run on these ranks. If any rank refuses it (RC_UNSUPPORTED, RC_INVAL), it is closed
 * on all ranks, and why is the reason; else why is "". RC_NOMEM, too. */
enum rc comm_lane_try(struct comm_lane_state *out, const struct comm_lane *lane, const struct comm_lane_env *env,
                      char why[COMM_REASON_BYTES]) MUST_CHECK;
void comm_lane_close(struct comm_lane_state *s); /* accepts a zeroed one */
/* Out of place an allreduce reads the input, and writes the result (exchange.A13). Other collectives work in place: the
 * input is copied into the result first, which counts, in virtual time too. Collective. */
enum rc comm_lane_call(struct comm_lane_state *s, const struct comm_data *data) MUST_CHECK;
/* The algorithm of a call of n_bytes, and why; "": there is no choice, or no call was made. */
void comm_lane_explain(const struct comm_lane_state *s, size_t n_bytes, char text[COMM_EXPLAIN_BYTES]);
/* Call after the last of some calls, before a clock is read: waits until computing has taken its time. */
enum rc comm_lane_end(struct comm_lane_state *s) MUST_CHECK;

#endif
