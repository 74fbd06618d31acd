/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signature.h - which collective function a rank calls, with which arguments. Ranks compare this, so that a call that
 * does not match returns RC_MISMATCH, instead of waiting for messages that no rank sends.
 *
 * Each rank sends its signature to the next rank, and receives that of the previous rank. If any two ranks differ, two
 * neighbours in this ring differ too. One of them detects it, and the failure of the job reaches all other ranks. The
 * root of a broadcast, which sends to all ranks, sends its signature to all.
 *
 *   -   A call is compared with the call of the same sequence number on another rank.
 *   G2  The messages of a collective follow the signatures at once, so this adds no latency. The first wait for one of
 *       these messages also waits for the signatures before it.
 *   G3  No receive of a collective is posted before that. So no message arrives that is longer than its buffer: Open
 *       MPI 4.1.4 writes past the buffer for long messages between processes of one host.
 */
#ifndef HARNESS_LIB_SIGNATURE_H
#define HARNESS_LIB_SIGNATURE_H

#include <stddef.h>

#include "harness/base/rc.h"
#include "harness/net/transport.h"

enum gm_function {
    CALL_ALLREDUCE_SUM,
    CALL_ALLREDUCE_AVERAGE,
    CALL_ALLREDUCE_INTO_SUM,
    CALL_ALLREDUCE_INTO_AVERAGE,
    CALL_BROADCAST,
    CALL_ALLGATHER,
    CALL_BARRIER,
    CALL_SGD_STEP,
    CALL_PS_OPEN,
    CALL_FINALIZE,
    N_GM_FUNCTIONS
};

struct signature {
    enum gm_function function;
    int with; /* gm_broadcast: the root; gm_ps_open: number of servers; else 0 */
    size_t n; /* elements, as the caller counts them */
};

/* A transport for collectives, over one of `inner`, that compares signatures (lib.G2). Collective over w. */
enum rc signature_transport_open(struct transport **out, const struct transport_ops *inner, struct world *w) MUST_CHECK;

/* Call before the messages of a call, on a transport opened above. Does not wait. */
enum rc signature_begin(struct transport *t, const struct signature *s) MUST_CHECK;
/* Call after the messages: waits at most timeout_ms for the signature, if nothing has waited for it. RC_MISMATCH names
 * what both ranks called. */
enum rc signature_end(struct transport *t, int timeout_ms) MUST_CHECK;

#endif
