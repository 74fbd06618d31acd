/* SPDX-License-Identifier: Apache-2.0 */
/* rank_elastic.c - what a rank of an elastic run does for it (elastic.h): a worker asks for batches, the first server
 * notes when they are done. */
#include <stdlib.h>
#include <string.h>

#include "harness/exchange/exchange.h"
#include "harness/train/elastic.h"
#include "harness/train/rank_state.h"
#include "harness/world/span.h"

enum rc rank_elastic_open(struct rank *r)
{
    const size_t n_rounds = r->job->n_steps;

    if (!elastic_is_on(r->job))
        return RC_OK;
    r->round_ns = calloc(n_rounds, sizeof *r->round_ns);
    if (r->world->rank == 0)
        r->result.round_ns = calloc((size_t)r->world->n_ranks * n_rounds, sizeof *r->result.round_ns);
    if (!r->round_ns || (r->world->rank == 0 && !r->result.round_ns))
        return rc_raise(RC_NOMEM, "no memory for the ends of %zu rounds", n_rounds);
    return RC_OK;
}

void rank_note_batch(void *arg, uint64_t n_done)
{
    const struct rank *r = arg;
    const uint64_t n_workers = (uint64_t)r->job->n_workers;

    if (n_done % n_workers == 0)
        r->round_ns[n_done / n_workers - 1] = world_now_ns(r->world);
}

enum rc rank_take_batch(struct rank *r, bool *is_over)
{
    struct span s = { .what = "ask", .segment = -1, .step = (uint32_t)r->n_begun };
    enum rc rc;

    *is_over = false;
    if (!elastic_is_on(r->job))
        return RC_OK;
    s.start_ns = world_now_ns(r->world);
    TRY(exchange_next_batch(r->exchange, &r->batch, is_over));
    s.end_ns = world_now_ns(r->world);
    span_ring_add(exchange_ring(r->exchange, EXCHANGE_MAIN), &s);
    if (r->world->rank == 0 && !*is_over)
        r->result.lr[r->n_begun] =
            schedule_lr(&r->job->schedule, rank_samples_before(r->job, rank_place(r, r->n_begun).step));
out:
    return rc;
}

struct batch_place rank_place(const struct rank *r, size_t step)
{
    const uint64_t n_workers = (uint64_t)r->job->n_workers;

    if (!elastic_is_on(r->job))
        return (struct batch_place){ step, r->world->rank };
    return (struct batch_place){ (size_t)(r->batch / n_workers), (int)(r->batch % n_workers) };
}

enum rc rank_gather_rounds(struct rank *r, struct world *gathered)
{
    struct train_result *to = &r->result;
    const size_t n_rounds = r->job->n_steps;
    enum rc rc;

    if (!elastic_is_on(r->job))
        return RC_OK;
    TRY(world_gather(gathered, r->round_ns, to->round_ns, n_rounds * sizeof *r->round_ns));
    if (r->world->rank != 0)
        return RC_OK;
    for (int i = to->n_workers; i < to->n_ranks; i++) { /* of the first server, which is there: it has the book */
        if (to->rank[i].number != r->job->n_workers)
            continue;
        to->n_rounds = (size_t)(to->rank[i].served.batches_done_count / (uint64_t)r->job->n_workers);
        memmove(to->round_ns, to->round_ns + (size_t)i * n_rounds, n_rounds * sizeof *to->round_ns);
    }
out:
    return rc;
}
