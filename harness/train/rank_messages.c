/* SPDX-License-Identifier: Apache-2.0 */
/* rank_messages.c - for --messages: what the transport of every rank has moved, on rank 0. */
#include <stdlib.h>
#include <string.h>

#include "harness/net/message_log.h"
#include "harness/train/rank_state.h"

/* all[n_ranks][n_most], of which each rank fills its first few, without the gaps. */
static void close_gaps(struct logged_message *all, const uint64_t *n_messages, int n_ranks, uint64_t n_most)
{
    uint64_t n = 0;

    for (int r = 0; r < n_ranks; r++) {
        memmove(all + n, all + (uint64_t)r * n_most, n_messages[r] * sizeof *all);
        n += n_messages[r];
    }
}

/* *n_most := the number of those with the most; n_messages[n_ranks]: of each. */
static enum rc count(struct world *w, const struct message_log *log, uint64_t *n_messages, uint64_t *n_most)
{
    const uint64_t n = log->is_out_of_room ? UINT64_MAX : log->n;
    enum rc rc;

    *n_most = 1;
    TRY(world_allgather(w, &n, n_messages, sizeof n));
    for (int r = 0; r < w->n_ranks; r++) {
        if (n_messages[r] == UINT64_MAX)
            FAIL(RC_NOMEM, "--messages: rank %d has no memory for its messages; take fewer --steps", r);
        *n_most = n_messages[r] > *n_most ? n_messages[r] : *n_most;
    }
out:
    return rc;
}

enum rc rank_messages_gather(struct rank *r, struct world *gathered)
{
    const struct message_log *log = exchange_messages(r->exchange);
    const size_t n_ranks = (size_t)gathered->n_ranks;
    uint64_t *n_messages = NULL, n_most;
    struct logged_message *own = NULL, *all = NULL;
    enum rc rc = RC_OK;

    if (!log)
        return RC_OK;
    n_messages = calloc(n_ranks, sizeof *n_messages);
    if (!n_messages)
        FAIL(RC_NOMEM, "no memory for the messages of %zu ranks", n_ranks);
    TRY(count(gathered, log, n_messages, &n_most));
    own = calloc(n_most, sizeof *own);
    all = r->world->rank == 0 ? calloc(n_ranks * n_most, sizeof *all) : NULL;
    if (!own || (r->world->rank == 0 && !all))
        FAIL(RC_NOMEM, "no memory for up to %llu messages of each rank", (unsigned long long)n_most);
    if (log->n > 0)
        memcpy(own, log->message, log->n * sizeof *own);
    TRY(world_gather(gathered, own, all, n_most * sizeof *own));
    if (r->world->rank == 0) {
        close_gaps(all, n_messages, gathered->n_ranks, n_most);
        r->result.message = all;
        r->result.n_messages = n_messages;
        all = NULL;
        n_messages = NULL;
    }
out:
    free(own);
    free(all);
    free(n_messages);
    return rc;
}
