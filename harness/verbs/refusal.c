/* SPDX-License-Identifier: Apache-2.0 */
/*
 * refusal.c - refusals of ranks before they measure: all ranks agree on one refusal and leave together, and one
 * process of a launch reports it; see refusal.h.
 */
#include "harness/verbs/refusal.h"

#include <stdio.h>
#include <stdlib.h>

/* The refusal of the lowest of n ranks that has one. */
static void choose(struct refusal *out, const struct refusal *all, int n)
{
    int r = 0;

    while (r < n && all[r].rc == RC_OK)
        r++;
    if (r == n)
        return;
    *out = all[r];
    if (r > 0)
        (void)snprintf(out->why, sizeof out->why, "rank %d: %.*s", r, RC_MESSAGE_BYTES - 32, all[r].why);
}

enum rc refusal_agree(struct world *w, struct refusal *out, enum rc own, bool *is_refused)
{
    struct refusal chosen = { .rc = RC_OK }, mine = { .rc = own }, *all = NULL;
    enum rc rc = RC_OK;

    if (own != RC_OK)
        (void)snprintf(mine.why, sizeof mine.why, "%s", rc_message()[0] ? rc_message() : rc_text(own));
    if (w->rank == 0) {
        all = calloc((size_t)w->n_ranks, sizeof *all);
        if (!all)
            FAIL(RC_NOMEM, "no memory for what %d ranks refuse", w->n_ranks);
    }
    TRY(world_gather(w, &mine, all, sizeof mine));
    if (all)
        choose(&chosen, all, w->n_ranks);
    TRY(world_broadcast(w, &chosen, sizeof chosen));
    *is_refused = chosen.rc != RC_OK;
    if (w->rank == 0 || !(w->ops->module.caps & WORLD_SHARED_MEMORY)) /* else *out is rank 0's own */
        *out = chosen;
out:
    free(all);
    return rc;
}

enum rc refusal_raise(const struct refusal *r, struct verb_call *call)
{
    if (r->rc == RC_OK)
        return RC_OK;
    call->stage = STAGE_INPUT;
    return rc_raise(r->rc, "%s", r->why);
}
