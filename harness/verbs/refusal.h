/* SPDX-License-Identifier: Apache-2.0 */
/*
 * refusal.h - refusals of ranks before they measure: all ranks agree on one refusal and leave together, and one process
 * of a launch reports it.
 *
 * A body that returns an error ends the world; in mpi it ends the processes, and each prints a message. That is right
 * for a broken world. But a folder that is not empty, or a rank that does not exist, is an error of the input. Then the
 * bodies return RC_OK, and the subcommand raises the error after they have ended.
 */
#ifndef HARNESS_VERBS_REFUSAL_H
#define HARNESS_VERBS_REFUSAL_H

#include "harness/verbs/verb.h"
#include "harness/world/world.h"

struct refusal {
    enum rc rc; /* RC_OK: nothing is refused */
    char why[RC_MESSAGE_BYTES];
};

/* own: what this rank refuses, with rc_message(); RC_OK: nothing. *out, shared by the ranks of a process, is the
 * refusal of the lowest rank that refuses; its message names the rank unless it is rank 0. *is_refused is equal on all
 * ranks. Collective. So an error after which not every rank reaches this call, such as an error of a collective, is not
 * a refusal: it ends the world. RC_PEER, RC_NOMEM. */
enum rc refusal_agree(struct world *w, struct refusal *out, enum rc own, bool *is_refused) MUST_CHECK;
/* Raise the refusal as an error of the input. */
enum rc refusal_raise(const struct refusal *r, struct verb_call *call) MUST_CHECK;

#endif
