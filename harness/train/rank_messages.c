/* SPDX-License-Identifier: Apache-2.0 */
/* rank_messages.c - for --messages: what the transport of every rank has moved, on rank 0. */
#include <stdlib.h>
#include <string.h>

#include "harness/net/message_log.h"
#include "harness/train/job_messages.h"
#include "harness/train/rank_state.h"

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

/* Rank 0: what each rank has sent of its messages first .. first + n_each - 1 goes to where they are in `all`. */
static void place(struct logged_message *all, const struct logged_message *round, const uint64_t *n_messages,
                  int n_ranks, uint64_t first, uint64_t n_each)
{
    for (int r = 0; r < n_ranks; r++) {
        const uint64_t n_left = n_messages[r] > first ? n_messages[r] - first : 0;
        const uint64_t n = n_left < n_each ? n_left : n_each;
        if (n > 0)
            memcpy(all + first, round + (uint64_t)r * n_each, n * sizeof *all);
        all += n_messages[r];
    }
}

/* The messages of all ranks to rank 0, whose all[] is as long as they are: in rounds, as some ranks have far more than
 * others (a server has those of all workers), and a gather has as much of each. */
static enum rc gather_rounds(struct world *w, const struct message_log *log, const uint64_t *n_messages,
                             uint64_t n_most, struct logged_message *all)
{
    const uint64_t n_even = MESSAGES_OF_A_ROUND / (uint64_t)w->n_ranks, n_each = n_even > 0 ? n_even : 1;
    struct logged_message *own = calloc(n_each, sizeof *own), *round = NULL;
    enum rc rc = RC_OK;

    if (w->rank == 0)
        round = calloc((size_t)w->n_ranks * n_each, sizeof *round);
    if (!own || (w->rank == 0 && !round))
        FAIL(RC_NOMEM, "no memory for %llu messages of each rank", (unsigned long long)n_each);
    for (uint64_t first = 0; first < n_most; first += n_each) {
        const uint64_t n_left = log->n > first ? log->n - first : 0, n = n_left < n_each ? n_left : n_each;
        if (n > 0)
            memcpy(own, log->message + first, n * sizeof *own);
        TRY(world_gather(w, own, round, n_each * sizeof *own));
        if (w->rank == 0)
            place(all, round, n_messages, w->n_ranks, first, n_each);
    }
out:
    free(own);
    free(round);
    return rc;
}

enum rc rank_messages_gather(struct rank *r, struct world *gathered)
{
    const struct message_log *log = exchange_messages(r->exchange);
    const size_t n_ranks = (size_t)gathered->n_ranks;
    uint64_t *n_messages = NULL, n_most, n_all = 0;
    struct logged_message *all = NULL;
    enum rc rc = RC_OK;

    if (!log)
        return RC_OK;
    n_messages = calloc(n_ranks, sizeof *n_messages);
    if (!n_messages)
        FAIL(RC_NOMEM, "no memory for the messages of %zu ranks", n_ranks);
    TRY(count(gathered, log, n_messages, &n_most));
    for (size_t i = 0; i < n_ranks; i++)
        n_all += n_messages[i];
    all = r->world->rank == 0 ? calloc(n_all + 1, sizeof *all) : NULL; /* + 1: never a request for nothing */
    if (r->world->rank == 0 && !all)
        FAIL(RC_NOMEM, "no memory for the %llu messages of %zu ranks", (unsigned long long)n_all, n_ranks);
    TRY(gather_rounds(gathered, log, n_messages, n_most, all));
    if (r->world->rank == 0) {
        r->result.message = all;
        r->result.n_messages = n_messages;
        all = NULL;
        n_messages = NULL;
    }
out:
    free(all);
    free(n_messages);
    return rc;
}
