/* SPDX-License-Identifier: Apache-2.0 */
/*
 * side.h - a device stream next to the operations of a compute, for a library that works in the device's memory; and
 * the ordering between the two. Operations are compute.h's.
 *
 *     operations    ... gradient of a bucket . . . . . . . . . . . . . . . . . . . update ...
 *                                  \ follow()                      lead(mark) /
 *     side stream                   the library's work, then mark() --------
 *
 * Invariants
 *   -   Nothing waits for the device except close() and functions that say so. reached() tells the host if it can wait
 *       for the device without waiting for the library. Work on the side stream may depend on other ranks, and so may
 *       never end.
 *   I2  Work queued on stream() after follow() sees the same writes as the compute's get() would now. These are the
 *       writes of all calls so far, or of those before the event that get() waits for (compute_wait_event).
 *   I3  Calls of the compute made after lead(mark) see what was queued on stream() before that mark.
 *   I4  A failure of the device is reported by the next sync of the compute (compute.C4).
 *
 * Only the thread of the compute calls these functions.
 */
#ifndef HARNESS_COMPUTE_SIDE_H
#define HARNESS_COMPUTE_SIDE_H

#include "harness/compute/compute.h"

struct compute_side;

struct compute_side_ops { /* of a backend with COMPUTE_SIDE */
    /* n_marks: marks are 0 .. n_marks - 1. RC_NOMEM, RC_DEVICE. */
    enum rc (*open)(struct compute_side **out, struct compute *c, size_t n_marks);
    /* Work queued on the stream must have ended, or end without help. Call before the compute is closed. */
    void (*close)(struct compute_side **s);
    /* The stream for the library: a cudaStream_t. */
    void *(*stream)(struct compute_side *s);
    /* Make the compute's device the current one of this thread, for the library. */
    void (*enter)(struct compute_side *s);
    void (*follow)(struct compute_side *s);               /* compute.I2 */
    void (*mark)(struct compute_side *s, size_t mark);    /* after the work queued on the stream so far */
    bool (*reached)(struct compute_side *s, size_t mark); /* true too if the device has failed (compute.I4) */
    void (*lead)(struct compute_side *s, size_t mark);    /* compute.I3 */
};

struct compute_side { /* first member of each backend's struct */
    const struct compute_side_ops *ops;
    struct compute *compute;
};

/* RC_UNSUPPORTED: a backend without COMPUTE_SIDE. */
enum rc compute_side_open(struct compute_side **out, struct compute *c, size_t n_marks) MUST_CHECK;
void compute_side_close(struct compute_side **s); /* NULL-safe, nulls */

#endif
