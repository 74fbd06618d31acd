/* SPDX-License-Identifier: Apache-2.0 */
/*
 * contract_test.c CASE MODE - what the training loop promises the exchange, and the exchange a mode.
 *
 *   order        of the loop: begin, gradients, all awaited, step by step; final once. S1: in every step each chunk
 *                once, as many at once as --in-flight says; S4: each server serves once
 *   allocation   E5, A4, train.L2: a worker allocates nothing from its second begin to its last step's end, a server
 *   nothing allocation_is_noticed   the same with an exchange that allocates: must be caught
 *
 *   overlap, overlap_allocation   order and allocation with a communicator: gradients by segments, parameters awaited
 *
 *   slow_worker  a worker slower than the time limit of a message, in all, ends no run: the others wait for it
 *
 * Allocations and calls of the exchange are seen by the linker's --wrap: calls from our own objects.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allreduce/sync_allreduce.h"
#include "harness/exchange/exchange.h"
#include "harness/train/suite/train_kit.h"
#include "ps/ps.h"

enum { N_STEPS = 40, MAX_RANKS = 8, MAX_CHUNKS = 256 };

/* slow_worker: 4 x 3.2 s are more than the limit of a message, which is twice --stall-abort-s. No rank that works is
 * silent for --stall-abort-s, on a busy machine either. */
enum { TIMEOUT_S = 6, N_SLOW_STEPS = 4 };
#define SLOW_NS UINT64_C(3200000000)

void *__real_malloc(size_t n_bytes);
void *__real_calloc(size_t n, size_t n_bytes);
void *__real_realloc(void *ptr, size_t n_bytes);
void *__wrap_malloc(size_t n_bytes);
void *__wrap_calloc(size_t n, size_t n_bytes);
void *__wrap_realloc(void *ptr, size_t n_bytes);
enum rc __real_exchange_start(struct exchange *x, const struct initial_state *from);
enum rc __real_exchange_begin(struct exchange *x, uint64_t step, float lr);
enum rc __real_exchange_submit(struct exchange *x, const struct segment *s, uint64_t now_ns);
enum rc __real_exchange_await_all(struct exchange *x, uint64_t *now_ns);
enum rc __real_exchange_final(struct exchange *x, struct optimizer_state *state);
enum rc __wrap_exchange_start(struct exchange *x, const struct initial_state *from);
enum rc __wrap_exchange_begin(struct exchange *x, uint64_t step, float lr);
enum rc __wrap_exchange_submit(struct exchange *x, const struct segment *s, uint64_t now_ns);
enum rc __wrap_exchange_await_all(struct exchange *x, uint64_t *now_ns);
enum rc __wrap_exchange_final(struct exchange *x, struct optimizer_state *state);

static int overlaps;   /* CASE overlap... */
static int allocates;  /* CASE allocation_is_noticed: the mutant */
static int slows_down; /* CASE slow_worker */
static int in_flight;  /* --in-flight: all that ps has where allocations are counted, else fewer */

/* This thread is between its second begin and the end of its last step, or serves. */
static _Thread_local int in_steps;

/* The number of this thread's rank in the order in which they started: the exchange does not tell its rank. */
static _Thread_local int own_rank;

/* This thread is in final(), which awaits what is left: not a call of the loop. */
static _Thread_local int in_final;

/* What the loop did. Of a test program: one run, in one process. */
static struct {
    const struct sync_mode *inner;
    atomic_int n_allocations, n_errors, n_serves, n_finals, n_started;
    struct {
        uint64_t n_begun, n_submitted, n_awaited;
        uint64_t n_exchanged[MAX_CHUNKS];      /* by rank of the world */
        uint64_t n_posted, n_ended, n_at_once; /* likewise, all chunks; the most of them */
    } rank[MAX_RANKS];
} seen;

static void count_allocation(void)
{
    if (in_steps)
        atomic_fetch_add(&seen.n_allocations, 1);
}

void *__wrap_malloc(size_t n_bytes)
{
    count_allocation();
    return __real_malloc(n_bytes);
}

void *__wrap_calloc(size_t n, size_t n_bytes)
{
    count_allocation();
    return __real_calloc(n, n_bytes);
}

void *__wrap_realloc(void *ptr, size_t n_bytes)
{
    count_allocation();
    return __real_realloc(ptr, n_bytes);
}

static void error(const char *what, int rank, uint64_t step)
{
    atomic_fetch_add(&seen.n_errors, 1);
    fprintf(stderr, "rank %d, step %llu: %s\n", rank, (unsigned long long)step, what);
}

enum rc __wrap_exchange_start(struct exchange *x, const struct initial_state *from)
{
    own_rank = atomic_fetch_add(&seen.n_started, 1);
    return __real_exchange_start(x, from);
}

enum rc __wrap_exchange_begin(struct exchange *x, uint64_t step, float lr)
{
    if (seen.rank[own_rank].n_begun != seen.rank[own_rank].n_awaited || seen.rank[own_rank].n_begun != step)
        error("begin out of order", own_rank, step);
    seen.rank[own_rank].n_begun++;
    if (overlaps && step + 1 < N_STEPS) /* all are awaited after the last step only, and given segment by segment */
        seen.rank[own_rank].n_submitted = ++seen.rank[own_rank].n_awaited;
    if (step == 1)
        in_steps = 1;
    return __real_exchange_begin(x, step, lr);
}

enum rc __wrap_exchange_submit(struct exchange *x, const struct segment *s, uint64_t now_ns)
{
    if (!s && ++seen.rank[own_rank].n_submitted != seen.rank[own_rank].n_begun)
        error("gradients submitted out of order", own_rank, seen.rank[own_rank].n_begun);
    return __real_exchange_submit(x, s, now_ns);
}

enum rc __wrap_exchange_await_all(struct exchange *x, uint64_t *now_ns)
{
    const enum rc rc = __real_exchange_await_all(x, now_ns);

    if (in_final)
        return rc;
    if (overlaps)
        seen.rank[own_rank].n_submitted++;
    if (++seen.rank[own_rank].n_awaited != seen.rank[own_rank].n_submitted)
        error("awaited before all gradients were submitted", own_rank, seen.rank[own_rank].n_begun);
    if (allocates) {
        void *volatile waste = malloc(1);
        free(waste);
    }
    if (seen.rank[own_rank].n_awaited == N_STEPS)
        in_steps = 0;
    return rc;
}

enum rc __wrap_exchange_final(struct exchange *x, struct optimizer_state *state)
{
    atomic_fetch_add(&seen.n_finals, 1);
    in_final = 1;
    return __real_exchange_final(x, state);
}

/* The exchange of chunk k begins; it is one that there is. How often it has been exchanged before. */
static uint64_t count_chunk(const struct sync *s, size_t k)
{
    const int r = s->env.world->rank;
    const uint64_t n_before = seen.rank[r].n_exchanged[k]++;

    if (slows_down && r == 1 && n_before + N_SLOW_STEPS >= N_STEPS && k == 0)
        world_pause(s->env.world, SLOW_NS);
    if (overlaps && n_before == 1)
        in_steps = 1; /* of the communicator's thread, too */
    return n_before;
}

static bool is_chunk(const struct sync *s, size_t k)
{
    if (k < s->env.buckets->n_chunks && k < MAX_CHUNKS)
        return true;
    error("S1: there is no such chunk", s->env.world->rank, k);
    return false;
}

static void check_zeroed(const struct sync *s, const struct chunk_cost *out)
{
    if (out->server_ns != 0 || out->apply_ns != 0 || out->staleness_count != 0)
        error("the cost was not zeroed", s->env.world->rank, 0);
}

static enum rc watch_post(struct sync *s, const struct chunk_work *work)
{
    const int r = s->env.world->rank;

    if (!is_chunk(s, work->k))
        return RC_INVAL;
    const uint64_t n_before = count_chunk(s, work->k);
    seen.rank[r].n_posted++;
    const uint64_t n_at_once = seen.rank[r].n_posted - seen.rank[r].n_ended;
    seen.rank[r].n_at_once = n_at_once > seen.rank[r].n_at_once ? n_at_once : seen.rank[r].n_at_once;
    const enum rc rc = seen.inner->servers->post(s, work);
    if (overlaps && n_before + 1 == N_STEPS)
        in_steps = 0;
    return rc;
}

static enum rc watch_complete(struct sync *s, float *param, struct chunk_cost *out)
{
    const int r = s->env.world->rank;

    if (seen.rank[r].n_ended++ == seen.rank[r].n_posted)
        error("S1: nothing is posted that could end", r, seen.rank[r].n_posted);
    check_zeroed(s, out);
    return seen.inner->servers->complete(s, param, out);
}

static enum rc watch_sum(struct sync *s, size_t k, float *grad)
{
    if (!is_chunk(s, k))
        return RC_INVAL;
    const uint64_t n_before = count_chunk(s, k);
    const enum rc rc = seen.inner->collective->sum(s, k, grad);
    if (overlaps && n_before + 1 == N_STEPS)
        in_steps = 0;
    return rc;
}

static enum rc watch_serve(struct sync *s, uint64_t step_ns)
{
    in_steps = 1;
    const enum rc rc = seen.inner->servers->serve(s, step_ns);
    in_steps = 0;

    /* S4: every worker has called final by the time serve returns */
    if (rc == RC_OK && atomic_load(&seen.n_finals) != s->env.n_workers)
        error("S4: serve returned before every worker called final", s->env.world->rank, 0);
    atomic_fetch_add(&seen.n_serves, 1);
    return rc;
}

static struct sync_mode watched_mode(void)
{
    static struct collective_mode collective;
    static struct server_mode servers;
    struct sync_mode watched = *seen.inner;

    if (watched.collective) {
        collective = *watched.collective;
        collective.sum = watch_sum;
        watched.collective = &collective;
    }
    if (watched.servers) {
        servers = *watched.servers;
        servers.post = watch_post;
        servers.complete = watch_complete;
        servers.serve = watch_serve;
        watched.servers = &servers;
    }
    return watched;
}

/* All workers did all steps, the modes every chunk in each of them. */
static void check_counts(int n_workers, int n_servers, size_t n_chunks)
{
    if (atomic_load(&seen.n_finals) != n_workers || atomic_load(&seen.n_serves) != n_servers)
        error("S1, S4: final or serve not once each", 0, N_STEPS);
    int n_through = 0;
    for (int r = 0; r < MAX_RANKS; r++)
        n_through += seen.rank[r].n_awaited == N_STEPS;
    if (n_through != n_workers)
        error("not every worker has awaited every step", 0, N_STEPS);
    for (int r = 0; r < n_workers; r++)
        for (size_t k = 0; mode_exchanges(&seen.inner->module) && k < n_chunks; k++)
            if (seen.rank[r].n_exchanged[k] != N_STEPS)
                error("S1: a chunk was not exchanged once in every step", r, seen.rank[r].n_exchanged[k]);
    for (int r = 0; r < n_workers; r++)
        if (seen.rank[r].n_ended != (seen.inner->servers ? N_STEPS * n_chunks : 0))
            error("S1: not every chunk has ended once in every step", r, seen.rank[r].n_ended);
    for (int r = 0; r < n_workers && seen.inner->servers; r++) {
        const uint64_t n = seen.rank[r].n_at_once;
        if (n > (uint64_t)in_flight || (!overlaps && n != (uint64_t)in_flight)) /* else a matter of luck */
            error("S1: as many were not under way at once as were asked for", r, n);
    }
}

/* Of the training with these options. More than one, else the cases say little. */
static size_t n_chunks_of(const char *options)
{
    struct train_job job = { 0 };
    struct buckets buckets = { 0 };

    if (kit_prepare(&job, options) != RC_OK ||
        buckets_open(&buckets, job.segment, job.n_segments, &job.exchange.buckets) != RC_OK)
        error(rc_message(), 0, 0);
    const size_t n_chunks = buckets.n_chunks;
    if (mode_exchanges(&seen.inner->module) && n_chunks < 5)
        error("too few chunks", 0, n_chunks);
    buckets_close(&buckets);
    train_job_free(&job);
    return n_chunks;
}

int main(int argc, char **argv)
{
    static const struct sync_mode *const all[] = { &sync_none, &sync_single, &sync_allreduce, &sync_ps };
    struct train_result result = { 0 };
    char options[256];

    for (size_t i = 0; argc == 3 && i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i]->module.name, argv[2]) == 0)
            seen.inner = all[i];
    if (!seen.inner)
        return 2;
    allocates = strcmp(argv[1], "allocation_is_noticed") == 0;
    slows_down = strcmp(argv[1], "slow_worker") == 0;
    overlaps = strncmp(argv[1], "overlap", 7) == 0;
    in_flight = strstr(argv[1], "allocation") ? PS_CREDITS : 3;
    const struct sync_mode watched = watched_mode();
    const int n_workers = seen.inner == &sync_single ? 1 : 3,
              n_servers = seen.inner->module.caps & MODE_SERVERS ? 2 : 0;
    const char *buckets = mode_exchanges(&seen.inner->module) ? " --bucket-bytes 2000 --partition-bytes 1000" : "";
    const char *overlap = overlaps ? " --overlap on --priority on" : "";
    char servers[64] = "";
    if (n_servers > 0)
        snprintf(servers, sizeof servers, " --servers %d --transport inproc --in-flight %d", n_servers, in_flight);
    snprintf(options, sizeof options,
             "--model lenet --mode %s --workers %d --steps %d --momentum 0.9 --batch 4 --stall-abort-s %d%s%s%s",
             argv[2], n_workers, N_STEPS, slows_down ? TIMEOUT_S : 120, servers, buckets, overlap);
    if (kit_train(&result, options, &watched, 0) != RC_OK) {
        fprintf(stderr, "%s\n", rc_message());
        return 1;
    }
    train_result_free(&result);
    if (allocates)
        return atomic_load(&seen.n_allocations) == 0;
    if (strcmp(argv[1], "allocation") == 0 || strcmp(argv[1], "overlap_allocation") == 0) {
        fprintf(stderr, "%d allocations in %d steps\n", atomic_load(&seen.n_allocations), N_STEPS);
        return atomic_load(&seen.n_allocations) > 0;
    }
    check_counts(n_workers, n_servers, n_chunks_of(options));
    return atomic_load(&seen.n_errors) > 0;
}
