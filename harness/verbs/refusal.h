/* SPDX-License-Identifier: Apache-2.0 */
/*
 * refusal.h - what ranks refuse before they measure: they agree on it and leave together, and of the processes of a
 * launch one tells.
 *
 * A body that returns an error ends the world, in mpi the processes, each with a message of its own. That is right for
 * a world that is broken. A folder that has files in it, or a rank that there is not, is an error of the input: bodies
 * return RC_OK, and the verb raises it behind them.
 */
#ifndef HARNESS_VERBS_REFUSAL_H
#define HARNESS_VERBS_REFUSAL_H

#include "harness/verbs/verb.h"
#include "harness/world/world.h"

struct refusal {
    enum rc rc; /* RC_OK: nothing is refused */
    char why[RC_MESSAGE_BYTES];
};

/* own: what this rank refuses, with rc_message(); RC_OK: nothing. *out, which is of the process and shared by its
 * ranks: what the lowest rank refuses that does; one that is not rank 0 is named. *is_refused: the same on all ranks.
 * Collective: an error that not every rank can have got as far as to here with, such as one of a collective, is no
 * refusal, but ends the world. RC_PEER, RC_NOMEM. */
enum rc refusal_agree(struct world *w, struct refusal *out, enum rc own, bool *is_refused) MUST_CHECK;
/* The refusal, raised: an error of the input. */
enum rc refusal_raise(const struct refusal *r, struct verb_call *call) MUST_CHECK;

#endif
