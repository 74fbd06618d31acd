/* SPDX-License-Identifier: Apache-2.0 */
/* job.h - what the files of libgradmark share; the contract is gradmark.h. */
#ifndef HARNESS_LIB_JOB_H
#define HARNESS_LIB_JOB_H

#include <stdbool.h>
#include <stdio.h>

#include "harness/base/rc.h"
#include "harness/lib/gradmark.h"
#include "harness/lib/signature.h"

struct world;
struct compute;
struct transport;
struct transport_ops;
struct collective;
struct optimizer_rule;

struct gm_job {
    struct world *world;
    struct compute *compute; /* cpu, one thread */
    const struct transport_ops *transport_ops;
    struct transport *transport;
    struct collective *collective;     /* NULL: no collective was called yet */
    size_t max_elems;                  /* of it */
    uint64_t n_combined, n_broadcasts; /* calls so far, for gm_note() */
    int timeout_ms;                    /* of a wait for another rank */
    bool has_failed;                   /* I2 */
    bool is_of_gang;                   /* of processes that gradmark launch started, where it is the only one */
    FILE *notes;                       /* NULL: none yet */
};

/* I2, of a collective call that ended with rc: tells the other ranks of a failure. */
enum rc job_ended(struct gm_job *job, enum rc rc);
/* RC_INVAL: job is NULL. RC_PEER: it has failed. */
enum rc job_check(struct gm_job *job, const char *function) MUST_CHECK;
/* *out: what in says. RC_INVAL: NULL, or out of range; the message begins with "FUNCTION: ". */
enum rc job_rule(struct optimizer_rule *out, const struct gm_rule *in, const char *function) MUST_CHECK;
/* The sum over all ranks, in place; array: starts where the compute can work (compute.C5). function: that calls it. */
enum rc job_sum(struct gm_job *job, enum gm_function function, float *data, size_t n) MUST_CHECK;
/* Of a call without messages of its own, or before them. RC_MISMATCH: not all ranks call the same. */
enum rc job_agree(struct gm_job *job, const struct signature *s) MUST_CHECK;

#endif
