/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signature.h - which collective function a rank calls, and with what: compared between ranks, so that a call that does
 * not fit ends in RC_MISMATCH, and not in a wait for messages that no rank sends.
 *
 * Each rank sends its signature to the next rank, and receives that of the rank before it. If two ranks differ, so do
 * two neighbours in this circle, and one of them finds it; the failure of the job tells the others. The root of a
 * broadcast, which sends to all, sends its signature to all.
 *
 *   G1  A call is compared with the call of the same number of another rank.
 *   G2  The messages of a collective follow the signatures at once, so that no latency is added: the first wait for one
 *       of them waits for the signatures before.
 *   G3  No receive of a collective is posted before that. So no message comes that is longer than the memory for it:
 *       Open MPI 4.1.4 writes past that memory, of long messages between processes of one host.
 */
#ifndef HARNESS_LIB_SIGNATURE_H
#define HARNESS_LIB_SIGNATURE_H

#include <stddef.h>

#include "harness/base/rc.h"
#include "harness/net/transport.h"

enum gm_function {
    CALL_ALLREDUCE_SUM,
    CALL_ALLREDUCE_AVERAGE,
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
    int with; /* gm_broadcast: the root; gm_ps_open: how many servers; else 0 */
    size_t n; /* elements, as the caller counts them */
};

/* A transport for collectives, over one of `inner`, that compares signatures (G2). Collective over w. */
enum rc signature_transport_open(struct transport **out, const struct transport_ops *inner, struct world *w) MUST_CHECK;

/* Before the messages of a call, over a transport that was opened above. Does not wait. */
enum rc signature_begin(struct transport *t, const struct signature *s) MUST_CHECK;
/* Behind them: waits at most timeout_ms for the signature, if nothing has waited for it. RC_MISMATCH tells what both
 * ranks called. */
enum rc signature_end(struct transport *t, int timeout_ms) MUST_CHECK;

#endif
