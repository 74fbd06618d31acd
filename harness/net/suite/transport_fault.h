/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transport_fault.h - a transport with one fault on one message: for tests of code that uses transports.
 *
 * Test-only (library gm_net_testing). One message of one rank is dropped, delayed, cut short or sent twice; all others
 * pass untouched. A test runs the same work for every nth below transport_fault_n_sends() of a
 * clean run, and wants an error or a right result from every rank within the time limit: never a
 * hang, never a wrong result.
 */
#ifndef HARNESS_NET_SUITE_TRANSPORT_FAULT_H
#define HARNESS_NET_SUITE_TRANSPORT_FAULT_H

#include <stdint.h>

#include "harness/base/rc.h"

struct transport;
struct transport_ops;
struct world;

enum fault_kind {
    FAULT_NONE,
    FAULT_DROP,      /* its sender believes that it was sent */
    FAULT_DELAY,     /* by delay_ns of its sender's time, and all that this rank does after it */
    FAULT_TRUNCATE,  /* the last byte is missing; an empty message passes */
    FAULT_DUPLICATE, /* it arrives twice */
};

struct fault {
    enum fault_kind kind;
    int rank;          /* whose message */
    uint64_t nth;      /* of the sends this rank posts on this transport, from 0 */
    uint64_t delay_ns; /* FAULT_DELAY */
};

/* A transport over a new one of kind `inner`; the same fault on every rank. Collective over w. Errors: those of
 * the inner one. */
enum rc transport_fault_open(struct transport **out, const struct transport_ops *inner, struct world *w,
                             const struct fault *fault) MUST_CHECK;
/* Sends this rank has posted so far; t is from transport_fault_open(). */
uint64_t transport_fault_n_sends(const struct transport *t);

#endif
