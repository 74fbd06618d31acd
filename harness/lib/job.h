/* SPDX-License-Identifier: Apache-2.0 */
/* job.h - shared by the files of libgradmark; the contract is gradmark.h. */
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
    struct collective *collective;     /* NULL: no collective call so far */
    size_t max_elems;                  /* of collective */
    uint64_t n_combined, n_broadcasts; /* calls so far, for gm_note() */
    int timeout_ms;                    /* of a wait for another rank */
    bool has_failed;                   /* lib.I2 */
    bool is_of_gang;                   /* the processes were started by gradmark launch alone */
    FILE *notes;                       /* NULL: none yet */
};

/* lib.I2: call after a collective call that ended with rc; reports a failure to the other ranks. */
enum rc job_ended(struct gm_job *job, enum rc rc);
/* RC_INVAL: job is NULL. RC_PEER: it has failed. */
enum rc job_check(struct gm_job *job, const char *function) MUST_CHECK;
/* Convert in to *out. RC_INVAL: in is NULL or out of range; the message begins with "FUNCTION: ". */
enum rc job_rule(struct optimizer_rule *out, const struct gm_rule *in, const char *function) MUST_CHECK;
/* data[n] := the sum over all ranks, of what is there or, unless input is NULL, of input[n]. function: the caller. */
enum rc job_sum(struct gm_job *job, enum gm_function function, float *data, const float *input, size_t n) MUST_CHECK;
/* Compare signatures, in a call without other messages, or before them. RC_MISMATCH: ranks call different functions. */
enum rc job_agree(struct gm_job *job, const struct signature *s) MUST_CHECK;

#endif
