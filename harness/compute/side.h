/* SPDX-License-Identifier: Apache-2.0 */
/*
 * side.h - a stream of a device beside the operations of a compute, for a library that works in the device's memory,
 * and the orders between the two. Not for operations: those are compute.h's.
 *
 *     operations    ... gradient of a bucket . . . . . . . . . . . . . . . . . . . update ...
 *                                  \ follow()                      lead(mark) /
 *     side stream                   the library's work, mark() behind it -----
 *
 * Invariants
 *   I1  Nothing waits for the device but close() and what says so. The host sees by reached() whether it may wait for
 *       the device without waiting for the library: work on the side stream may depend on other ranks, and so never
 *       end.
 *   I2  Work queued on stream() after follow() reads what the calls of the compute wrote that its get() would see
 *       now: all calls so far, or those before the event that it waits for (compute_wait_event).
 *   I3  Calls of the compute made after lead(mark) see what was queued on stream() before that mark.
 *   I4  A failure of the device is reported by the next sync of the compute (compute.C4).
 *
 * One thread: that of the compute.
 */
#ifndef HARNESS_COMPUTE_SIDE_H
#define HARNESS_COMPUTE_SIDE_H

#include "harness/compute/compute.h"

struct compute_side;

struct compute_side_ops { /* of a backend with COMPUTE_SIDE */
    /* n_marks: marks are 0 .. n_marks - 1. RC_NOMEM, RC_DEVICE. */
    enum rc (*open)(struct compute_side **out, struct compute *c, size_t n_marks);
    /* What was queued on the stream must have ended or end by itself. Before the compute is closed. */
    void (*close)(struct compute_side **s);
    /* As the library takes it: a cudaStream_t. */
    void *(*stream)(struct compute_side *s);
    /* Make the compute's device the current one of this thread, for the library. */
    void (*enter)(struct compute_side *s);
    void (*follow)(struct compute_side *s);               /* I2 */
    void (*mark)(struct compute_side *s, size_t mark);    /* behind what was queued on the stream so far */
    bool (*reached)(struct compute_side *s, size_t mark); /* true too where the device has failed (I4) */
    void (*lead)(struct compute_side *s, size_t mark);    /* I3 */
};

struct compute_side { /* first member of each backend's struct */
    const struct compute_side_ops *ops;
    struct compute *compute;
};

/* RC_UNSUPPORTED: a backend without COMPUTE_SIDE. */
enum rc compute_side_open(struct compute_side **out, struct compute *c, size_t n_marks) MUST_CHECK;
void compute_side_close(struct compute_side **s); /* NULL-safe, nulls */

#endif
