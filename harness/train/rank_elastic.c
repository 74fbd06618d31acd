/* SPDX-License-Identifier: Apache-2.0 */
/* rank_elastic.c - what a rank of an elastic run does for it (elastic.h): a worker asks for batches, and who has the
 * book notes when they are done. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/exchange/exchange.h"
#include "harness/train/elastic.h"
#include "harness/train/rank_state.h"
#include "harness/world/span.h"
#include "harness/world/stop.h"

/* A signal of one process is its worker's alone; where ranks are threads it is that of all. */
static void set_stop(const struct rank *r)
{
    const bool is_process = r->world->ops->module.caps & WORLD_LAUNCHED;
    const bool leaves = is_process && rank_is_worker(r) && world_may_leave(r->world);

    world_set_stop(r->world, leaves ? STOP_ALONE : STOP_AT_ONCE);
}

enum rc rank_elastic_open(struct rank *r)
{
    const size_t n_rounds = r->job->n_steps;

    if (!elastic_is_on(r->job))
        return RC_OK;
    set_stop(r);
    r->round_ns = calloc(n_rounds, sizeof *r->round_ns);
    if (r->world->rank == 0)
        r->result.round_ns = calloc((size_t)r->world->n_ranks * n_rounds, sizeof *r->result.round_ns);
    if (!r->round_ns || (r->world->rank == 0 && !r->result.round_ns))
        return rc_raise(RC_NOMEM, "no memory for the ends of %zu rounds", n_rounds);
    return RC_OK;
}

void rank_note_round(void *arg, size_t round, uint64_t ended_ns)
{
    ((const struct rank *)arg)->round_ns[round] = ended_ns;
}

/* V4: is this rank alone to go, before `step`? */
static bool leaves_now(const struct rank *r, size_t step)
{
    const struct train_drill *d = &r->job->drill;

    if (world_own_signal(r->world) != 0 && world_may_leave(r->world))
        return true;
    return d->leaves && d->rank == r->world->rank && d->step == step + r->job->resume.steps_count;
}

enum rc rank_begins(struct rank *r, size_t step, bool *out)
{
    if (!elastic_is_on(r->job))
        return world_begin_step(r->world, (int64_t)(r->job->n_begun_before + step) + 1, out);
    *out = step == 0 || !world_stops_now(r->world); /* of a run that is stopped there is something to report */
    if (*out && leaves_now(r, step)) {
        r->is_leaving = true;
        *out = false;
    }
    return RC_OK;
}

/* As servers number it. */
static int worker_of(const struct rank *r)
{
    return world_is_guest(r->world) ? r->world->rank - r->job->n_servers : r->world->rank;
}

enum rc rank_join(struct rank *r)
{
    char line[128];
    enum rc rc;

    r->is_leaving = true; /* whatever it leaves for */
    rc = exchange_join(r->exchange, &r->is_over);
    if (rc == RC_TIMEOUT)
        FAIL(RC_PEER, "no server answers: the run has ended before this worker could join it");
    TRY(rc);
    (void)snprintf(line, sizeof line,
                   r->is_over ? "all batches are done: too late to join" : "worker %d: joined the run", worker_of(r));
    peer_tell(&(struct peer_opts){ 0 }, line);
out:
    return rc;
}

enum rc rank_leave(struct rank *r)
{
    const int number = world_own_signal(r->world);
    char line[160];
    enum rc rc;

    TRY(world_leave(r->world));
    if (world_is_guest(r->world) && r->is_over && r->n_begun == 0)
        return RC_OK; /* it was none */
    (void)snprintf(line, sizeof line, "worker %d: %s%sleft the run after %zu batch%s; %s", worker_of(r),
                   number != 0 ? stop_signal_name(number) : "", number != 0 ? ": " : "", r->n_begun,
                   r->n_begun == 1 ? "" : "es",
                   r->is_over                         ? "all are done"
                   : world_stop_signal(r->world) != 0 ? "it stops"
                                                      : "the others go on");
    peer_tell(&(struct peer_opts){ 0 }, line);
out:
    return rc;
}

enum rc rank_take_batch(struct rank *r)
{
    struct span s = { .what = "ask", .segment = -1, .step = (uint32_t)(r->job->resume.steps_count + r->n_begun) };
    enum rc rc;

    if (!elastic_is_on(r->job))
        return RC_OK;
    s.start_ns = world_now_ns(r->world);
    TRY(exchange_next_batch(r->exchange, &r->batch, &r->is_over));
    s.end_ns = world_now_ns(r->world);
    span_ring_add(exchange_ring(r->exchange, EXCHANGE_MAIN), &s);
    if (r->world->rank == 0 && !r->is_over)
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

/* V4: this process alone got a signal, and its rank is none that can leave. */
static void tell_why_all_stop(const struct rank *r)
{
    const bool is_process = r->world->ops->module.caps & WORLD_LAUNCHED;
    char line[128];

    if (!is_process || !stop_wanted() || stop_is_of_launcher() || (rank_is_worker(r) && world_may_leave(r->world)))
        return;
    (void)snprintf(line, sizeof line, "%s %d: %s: cannot leave before the others, so the run stops",
                   rank_is_worker(r) ? "worker" : "server", rank_is_worker(r) ? 0 : r->world->rank - r->job->n_workers,
                   stop_signal_name(stop_signal()));
    peer_tell(&(struct peer_opts){ 0 }, line);
}

enum rc rank_gather_rounds(struct rank *r, struct world *gathered)
{
    struct train_result *to = &r->result;
    const size_t n_rounds = r->job->n_steps;
    enum rc rc;

    if (!elastic_is_on(r->job))
        return RC_OK;
    tell_why_all_stop(r);
    TRY(world_gather(gathered, r->round_ns, to->round_ns, n_rounds * sizeof *r->round_ns));
    if (r->world->rank != 0)
        return RC_OK;
    const int i = elastic_book_rank(to);
    if (i < 0)
        return RC_OK;
    to->n_rounds = (size_t)(to->rank[i].served.batches_done_count / (uint64_t)r->job->n_workers);
    memmove(to->round_ns, to->round_ns + (size_t)i * n_rounds, n_rounds * sizeof *to->round_ns);
out:
    return rc;
}
