/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ps_bench.c - measures push, pull, and both, between the workers and servers of ps/, and the bound of the connection,
 * side by side; see ps_bench.h. Which size is measured, for how long, and one repeat.
 */
#include "harness/bench/ps_bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/arena.h"
#include "harness/bench/comm_memory.h"
#include "harness/bench/comm_repeat.h"
#include "harness/compute/compute.h"
#include "harness/exchange/buckets.h"
#include "harness/exchange/placement.h"
#include "harness/exchange/sync_mode.h"
#include "harness/measure/histogram.h"
#include "harness/net/transport.h"
#include "harness/world/share.h"
#include "harness/world/world.h"
#include "ps/ps.h"

struct sync;

struct ps_repeats { /* for this rank */
    const struct ps_terms *terms;
    struct world *world;
    struct compute *compute;
    bool is_virtual, is_hollow;
    size_t rotated_bytes;      /* for this rank */
    struct world *workers;     /* NULL: this is a server */
    struct transport *line;    /* aligns workers; NULL: a single one, or in virtual time */
    struct histogram *latency; /* a worker's: [PS_N_LANES] */
    /* For the current size: */
    struct ps_cut cut;
    size_t n_blocks;
    struct buckets buckets;
    struct placement placement;
    struct transport *transport;
    struct sync *sync;
    struct ps_echo *echo;
    struct arena arena;
    float *param, *grad; /* a worker's, for the model; NULL: no data, or a server */
    uint64_t *n_pushed;  /* [n_blocks]: by this worker */
    uint64_t n_used;     /* calls so far; blocks rotate by it */
    uint64_t n_wrong;
};

struct ps_latency {
    double p50_s, p99_s;
    uint64_t n_values;
};

/* --- workers, collective over them --- */

/* --- the repeats of one size --- */

static bool is_server(const struct ps_repeats *r)
{
    return r->world->rank >= r->terms->n_workers;
}

static size_t chunk_elems(const struct ps_repeats *r)
{
    return r->cut.n_part_elems * (size_t)r->terms->n_servers;
}

static size_t call_elems(const struct ps_repeats *r)
{
    return r->cut.n_chunks * chunk_elems(r);
}

/* Bytes of the array of a call. */
static size_t ps_repeats_call_bytes(const struct ps_repeats *r)
{
    return call_elems(r) * sizeof(float);
}

/* --- open, close --- */

/* Call once, before the first size. Collective over world. r->terms, world, ... are set. */
static enum rc ps_repeats_begin(struct ps_repeats *r)
{
    const struct world *w = r->world;
    enum rc rc;

    TRY(world_split(r->world, is_server(r) ? -1 : 0, w->rank, &r->workers));
    if (!r->workers)
        goto out;
    if (r->terms->n_workers > 1 && !r->is_virtual)
        TRY(transport_open(&r->line, r->terms->transport, r->workers));
    r->latency = calloc(PS_N_LANES, sizeof *r->latency);
    if (!r->latency)
        FAIL(RC_NOMEM, "no memory for latencies");
out:
    return rc;
}

static void ps_repeats_finish(struct ps_repeats *r)
{
    transport_close(&r->line);
    world_split_close(&r->workers);
    free(r->latency);
}

/* One tensor has all blocks, of which a chunk has a part on every server. */
static enum rc open_model(struct ps_repeats *r)
{
    const struct segment model = { 0, call_elems(r) * r->n_blocks };
    const struct bucket_opts chunks = { .partition_bytes = chunk_elems(r) * sizeof(float) };
    const struct placement_opts parts = { .kind = PLACEMENT_CHUNK, .chunk_bytes = r->cut.n_part_elems * sizeof(float) };
    enum rc rc;

    TRY(buckets_open(&r->buckets, &model, 1, &chunks));
    TRY(placement_open(&r->placement, &parts, &model, 1, r->terms->n_servers));
    if (is_server(r) || r->is_hollow)
        goto out;
    TRY(arena_open(&r->arena, 2 * arena_floats_bytes(model.n_elems)));
    r->param = arena_floats(&r->arena, model.n_elems);
    r->grad = arena_floats(&r->arena, model.n_elems);
    for (size_t i = 0; i < model.n_elems; i++)
        r->grad[i] = 1;
out:
    return rc;
}

static enum rc open_sync(struct ps_repeats *r)
{
    const bool has_slice = is_server(r) && !r->is_hollow;
    const size_t n_slice = is_server(r) ? r->placement.n_elems[r->world->rank - r->terms->n_workers] : 0;
    struct sync_env env = { .world = r->world,
                            .compute = r->compute,
                            .buckets = &r->buckets,
                            .placement = &r->placement,
                            .n_workers = r->terms->n_workers,
                            .n_servers = r->terms->n_servers,
                            .timeout_ms = r->terms->timeout_ms };
    float *zeros = has_slice ? calloc(n_slice, sizeof *zeros) : NULL;
    enum rc rc;

    if (has_slice && !zeros)
        FAIL(RC_NOMEM, "no memory for %zu parameters", n_slice);
    TRY(transport_open(&r->transport, r->terms->transport, r->world));
    env.transport = r->transport;
    env.slice_param = zeros;
    TRY(sync_ps.open(&r->sync, &env));
out:
    free(zeros);
    return rc;
}

/* Open for one size. Collective over world; can be closed after an error. */
static enum rc ps_repeats_open(struct ps_repeats *r, int size)
{
    enum rc rc;

    r->cut = ps_cut_of(r->terms, r->terms->plan.n_bytes[size]);
    r->n_blocks = (size_t)comm_rotation_of(ps_repeats_call_bytes(r), r->rotated_bytes).n_blocks;
    r->n_used = r->n_wrong = 0;
    for (int i = 0; r->latency && i < PS_N_LANES; i++)
        histogram_init(&r->latency[i]);
    TRY(open_model(r));
    r->n_pushed = calloc(r->n_blocks, sizeof *r->n_pushed);
    if (!r->n_pushed)
        FAIL(RC_NOMEM, "no memory for %zu blocks", r->n_blocks);
    TRY(open_sync(r));
    const struct ps_echo_env echo = { .world = r->world,
                                      .transport = r->terms->transport,
                                      .n_workers = r->terms->n_workers,
                                      .n_servers = r->terms->n_servers,
                                      .n_frames = r->cut.n_chunks,
                                      .n_part_bytes = r->cut.n_part_elems * sizeof(float),
                                      .n_blocks = r->n_blocks,
                                      .n_in_flight = PS_CREDITS,
                                      .timeout_ms = r->terms->timeout_ms,
                                      .is_hollow = r->is_hollow };
    TRY(ps_echo_open(&r->echo, &echo));
out:
    return rc;
}

static void ps_repeats_close(struct ps_repeats *r)
{
    ps_echo_close(&r->echo);
    transport_close(&r->transport);
    if (r->sync)
        sync_ps.close(&r->sync);
    buckets_close(&r->buckets);
    placement_close(&r->placement);
    arena_close(&r->arena);
    r->param = r->grad = NULL;
    free(r->n_pushed);
    r->n_pushed = NULL;
}

/* Server: serve until all workers have ended. */
static enum rc ps_repeats_serve(struct ps_repeats *r)
{
    enum rc rc;

    TRY(sync_ps.servers->serve(r->sync, 0));
    TRY(ps_echo_end(r->echo));
out:
    return rc;
}

/* --- one call --- */

/* The chunks of a block, as many at once as ps lets. */
static enum rc move_block(struct ps_repeats *r, unsigned push_pull, size_t block)
{
    const size_t n = r->cut.n_chunks, first = block * n;
    struct chunk_cost cost = { 0 };
    enum rc rc = RC_OK;

    for (size_t n_posted = 0, n_ended = 0; n_ended < n; n_ended++) {
        for (; n_posted < n && n_posted - n_ended < PS_CREDITS; n_posted++) {
            const struct chunk_work work = { first + n_posted, push_pull, 1.0f, r->param, r->grad };
            TRY(ps_post(r->sync, &work));
        }
        TRY(ps_complete(r->sync, r->param, &cost));
    }
    if (push_pull & EXCHANGE_PUSH)
        r->n_pushed[block]++;
out:
    return rc;
}

static enum rc call(struct ps_repeats *r, enum ps_lane lane, size_t block)
{
    switch (lane) {
    case PS_LANE_PUSH:
        return move_block(r, EXCHANGE_PUSH, block);
    case PS_LANE_PULL:
        return move_block(r, EXCHANGE_PULL, block);
    case PS_LANE_PUSH_PULL:
        return move_block(r, EXCHANGE_PUSH | EXCHANGE_PULL, block);
    case PS_LANE_BOUND:
        return ps_echo_call(r->echo);
    case PS_N_LANES:
        break;
    }
    return rc_raise(RC_BUG, "comm ps: lane %d is none", (int)lane);
}

/* --- what is wrong --- */

/* bench.N5: elements of param[n_elems] that are not minus a whole number from least to most. Pure. */
static uint64_t count_outside(const float *param, size_t n_elems, uint64_t least, uint64_t most)
{
    uint64_t n_wrong = 0;

    for (size_t i = 0; i < n_elems; i++) {
        const double n_taken = -(double)param[i];
        n_wrong += !(n_taken >= (double)least && n_taken <= (double)most && n_taken == floor(n_taken));
    }
    return n_wrong;
}

/* Of the last calls, whose blocks are all different. All workers have made as many. */
static uint64_t count_wrong(const struct ps_repeats *r, enum ps_lane lane, int n_calls)
{
    const size_t n_blocks = (size_t)n_calls < r->n_blocks ? (size_t)n_calls : r->n_blocks;
    uint64_t n_wrong = 0;

    if (r->is_hollow || (lane != PS_LANE_PULL && lane != PS_LANE_PUSH_PULL))
        return 0;
    for (size_t i = 0; i < n_blocks; i++) {
        const size_t block = (size_t)((r->n_used - 1 - i) % r->n_blocks);
        n_wrong += count_outside(r->param + block * call_elems(r), call_elems(r), r->n_pushed[block],
                                 r->n_pushed[block] * (uint64_t)r->terms->n_workers);
    }
    return n_wrong;
}

/* --- a repeat --- */

/* *time_s: time of a call, of the slowest worker; on worker 0. */
static enum rc ps_repeat_run(double *time_s, struct ps_repeats *r, enum ps_lane lane, int n_calls, bool is_kept)
{
    struct comm_repeat_result own = { 0 }, all;
    uint64_t last_ns;
    enum rc rc;

    TRY(comm_repeat_align(r->workers, r->line, r->terms->timeout_ms));
    const uint64_t started_ns = last_ns = world_now_ns(r->world);
    for (int i = 0; i < n_calls; i++) {
        TRY(call(r, lane, (size_t)(r->n_used % r->n_blocks)));
        const uint64_t now_ns = world_now_ns(r->world);
        if (is_kept)
            histogram_add(&r->latency[lane], now_ns - last_ns);
        last_ns = now_ns;
        r->n_used += lane != PS_LANE_BOUND;
    }
    own.time_s = 1e-9 * (double)(last_ns - started_ns) / n_calls;
    own.n_wrong = count_wrong(r, lane, n_calls);
    TRY(comm_repeat_gather(&all, r->workers, &own));
    r->n_wrong += own.n_wrong;
    *time_s = all.time_s;
out:
    return rc;
}

/* bench.N4, over all workers, on worker 0. */
static enum rc ps_repeats_latency(struct ps_latency *out, struct ps_repeats *r, enum ps_lane lane)
{
    const size_t n = (size_t)r->workers->n_ranks;
    struct histogram *all = r->workers->rank == 0 ? malloc(n * sizeof *all) : NULL;
    enum rc rc = RC_OK;

    if (r->workers->rank == 0 && !all)
        FAIL(RC_NOMEM, "no memory for the latencies of %zu workers", n);
    TRY(world_gather(r->workers, &r->latency[lane], all, sizeof *all));
    for (size_t i = 1; all && i < n; i++)
        histogram_merge(&all[0], &all[i]);
    if (all)
        *out = (struct ps_latency){ .p50_s = 1e-9 * histogram_percentile(all, 50),
                                    .p99_s = 1e-9 * histogram_percentile(all, 99),
                                    .n_values = all->n_values };
out:
    free(all);
    return rc;
}

/* bench.N5: what all workers have pushed is what the servers hold; of worker 0. */
static uint64_t count_final(const struct ps_repeats *r)
{
    uint64_t n_wrong = 0;

    for (size_t block = 0; block < r->n_blocks; block++) {
        const uint64_t n_all = r->n_pushed[block] * (uint64_t)r->terms->n_workers;
        n_wrong += count_outside(r->param + block * call_elems(r), call_elems(r), n_all, n_all);
    }
    return n_wrong;
}

/* End the calls of this size. *n_wrong: over all workers, on worker 0. */
static enum rc ps_repeats_end(uint64_t *n_wrong, struct ps_repeats *r)
{
    struct comm_repeat_result own = { 0 }, all;
    enum rc rc;

    TRY(sync_ps.servers->final(r->sync, r->param, NULL));
    TRY(ps_echo_end(r->echo));
    own.n_wrong = r->n_wrong + (r->workers->rank == 0 && !r->is_hollow ? count_final(r) : 0);
    TRY(comm_repeat_gather(&all, r->workers, &own));
    *n_wrong = all.n_wrong;
out:
    return rc;
}

#define REPEAT_S 2e-3 /* bench.N2 */

struct bench { /* of this rank */
    struct ps_repeats r;
    struct comm_pace pace;  /* series: lanes */
    struct ps_results *out; /* rank 0; else NULL */
    int n_calls[PS_N_LANES];
};

/* --- sizes in bytes --- */

struct ps_cut ps_cut_of(const struct ps_terms *terms, size_t n_bytes)
{
    const size_t n_elems = n_bytes / sizeof(float), n_servers = (size_t)terms->n_servers;
    const size_t n_most = terms->partition_bytes == 0 ? n_elems : terms->partition_bytes / sizeof(float);
    const size_t n_chunks = n_most >= n_elems || n_most == 0 ? 1 : (n_elems + n_most - 1) / n_most;
    const size_t n_chunk = (n_elems + n_chunks - 1) / n_chunks;

    return (struct ps_cut){ n_chunks, (n_chunk + n_servers - 1) / n_servers };
}

static size_t cut_bytes(const struct ps_terms *terms, size_t n_bytes)
{
    const struct ps_cut cut = ps_cut_of(terms, n_bytes);

    return cut.n_chunks * cut.n_part_elems * (size_t)terms->n_servers * sizeof(float);
}

size_t ps_bench_bytes(const struct ps_terms *terms, int n_host_ranks)
{
    const size_t rotated_bytes = terms->rotated_bytes / (size_t)n_host_ranks;
    size_t most = 0;

    for (int i = 0; i < terms->plan.n_sizes; i++) {
        const size_t n_bytes = cut_bytes(terms, terms->plan.n_bytes[i]);
        const size_t n = n_bytes * (size_t)comm_rotation_of(n_bytes, rotated_bytes).n_blocks;
        most = n > most ? n : most;
    }
    return most * (size_t)(6 + terms->n_workers); /* a server: its slice, its state twice, replies, the bound */
}

/* --- one size, on a worker --- */

static enum rc warm_up(struct bench *b)
{
    enum rc rc = RC_OK;

    for (int lane = 0; lane < PS_N_LANES; lane++) {
        b->n_calls[lane] = 1;
        for (int i = 0; i < b->pace.n_warmup; i++) {
            double time_s;
            TRY(ps_repeat_run(&time_s, &b->r, (enum ps_lane)lane, b->n_calls[lane], false));
            TRY(comm_pace_choose_calls(&b->pace, &b->n_calls[lane], COMM_MOST_BLOCKS, time_s));
        }
    }
out:
    return rc;
}

/* bench.N3: the i-th repeat of all. */
static enum rc take_turns(struct bench *b, int i)
{
    enum rc rc = RC_OK;

    for (int k = 0; k < PS_N_LANES; k++) {
        const int lane = (k + i) % PS_N_LANES;
        double time_s;
        TRY(ps_repeat_run(&time_s, &b->r, (enum ps_lane)lane, b->n_calls[lane], true));
        if (b->out)
            comm_pace_times(&b->pace, lane)[i] = time_s;
    }
out:
    return rc;
}

static enum rc keep_row(struct bench *b, int n)
{
    struct ps_row *row = b->out ? &b->out->row[b->out->n_rows++] : NULL;
    enum rc rc = RC_OK;

    if (row)
        *row = (struct ps_row){ .n_bytes = ps_repeats_call_bytes(&b->r),
                                .n_chunks = b->r.cut.n_chunks,
                                .is_checked = !b->r.is_hollow };
    for (int lane = 0; lane < PS_N_LANES; lane++) {
        struct ps_latency latency = { 0 };
        TRY(ps_repeats_latency(&latency, &b->r, (enum ps_lane)lane));
        if (!row)
            continue;
        const struct interval i = comm_pace_interval(&b->pace, lane, n);
        row->figure[lane] = (struct ps_figure){ .time_s = i.mean,
                                                .low_s = i.low,
                                                .high_s = i.high,
                                                .p50_s = latency.p50_s,
                                                .p99_s = latency.p99_s,
                                                .n_latencies = latency.n_values,
                                                .n_repeats = n,
                                                .n_calls = b->n_calls[lane] };
    }
out:
    return rc;
}

static enum rc measure_as_worker(struct bench *b, int size)
{
    uint64_t n_wrong;
    int n = 0;
    enum rc rc;

    comm_pace_begin(&b->pace, size);
    TRY(warm_up(b));
    do {
        TRY(take_turns(b, n++));
        TRY(comm_pace_decide(&b->pace, n));
    } while (b->pace.next.size_goes_on);
    TRY(keep_row(b, n));
    TRY(ps_repeats_end(&n_wrong, &b->r));
    if (b->out)
        b->out->row[b->out->n_rows - 1].n_wrong = n_wrong;
out:
    return rc;
}

/* --- all sizes --- */

static enum rc measure_size(void *bench, int size)
{
    struct bench *b = bench;
    enum rc rc;

    TRY(ps_repeats_open(&b->r, size));
    if (b->out && !b->r.is_virtual)
        b->out->encryption = transport_encryption(b->r.transport);
    TRY(b->r.workers ? measure_as_worker(b, size) : ps_repeats_serve(&b->r));
    /* nobody closes while another still sends */
    TRY(world_broadcast(b->r.world, &b->pace.next, sizeof b->pace.next));
out:
    ps_repeats_close(&b->r);
    return rc;
}

static enum rc open_results(struct bench *b)
{
    const struct ps_terms *terms = b->r.terms;

    if (!b->out)
        return RC_OK;
    b->pace.took_s = calloc((size_t)PS_N_LANES * COMM_MOST_REPEATS, sizeof *b->pace.took_s);
    b->out->row = calloc((size_t)terms->plan.n_sizes, sizeof *b->out->row);
    if (!b->pace.took_s || !b->out->row)
        return rc_raise(RC_NOMEM, "no memory for the figures of %d sizes", terms->plan.n_sizes);
    b->out->is_virtual = b->r.is_virtual;
    b->out->is_hollow = b->r.is_hollow;
    b->out->bound = ps_echo_kind_of(terms->transport, b->r.world);
    b->out->rotated_bytes = b->r.rotated_bytes;
    b->out->n_in_flight = PS_CREDITS;
    return RC_OK;
}

static enum rc bench_open(struct bench *b, struct compute *compute)
{
    struct ps_repeats *r = &b->r;
    struct world *host = NULL;
    int own, n_hosts;
    enum rc rc;

    TRY(world_host_group(r->world, &host, &own, &n_hosts));
    r->is_virtual = r->world->ops->module.caps & WORLD_VIRTUAL_TIME;
    r->is_hollow = !compute->ops->touches_memory;
    r->compute = compute;
    r->rotated_bytes = r->is_virtual ? 0 : r->terms->rotated_bytes / (size_t)host->n_ranks;
    for (int lane = 0; lane < PS_N_LANES; lane++)
        b->n_calls[lane] = 1;
    comm_pace_init(&b->pace, &r->terms->plan, r->is_virtual);
    TRY(ps_repeats_begin(r));
    b->pace.ranks = r->workers;
    TRY(open_results(b));
    if (b->out)
        b->out->n_hosts = n_hosts;
out:
    world_split_close(&host);
    return rc;
}

enum rc ps_bench(struct ps_results *out, struct world *w, struct compute *compute, const struct ps_terms *terms)
{
    struct bench b = { .r = { .terms = terms, .world = w },
                       .pace = { .what = "push and pull",
                                 .world = w,
                                 .repeat_s = REPEAT_S,
                                 .n_series = PS_N_LANES,
                                 .end = w->rank == 0 ? &out->end : NULL },
                       .out = w->rank == 0 ? out : NULL };
    enum rc rc;

    TRY(bench_open(&b, compute));
    TRY(comm_pace_run(&b.pace, measure_size, &b));
out:
    ps_repeats_finish(&b.r);
    free(b.pace.took_s);
    return rc;
}

void ps_results_close(struct ps_results *r)
{
    free(r->row);
    *r = (struct ps_results){ .row = NULL };
}
