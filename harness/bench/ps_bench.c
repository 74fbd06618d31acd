/* SPDX-License-Identifier: Apache-2.0 */
/* ps_bench.c - see ps_bench.h: which size is measured, and for how long. What is measured: ps_repeat.c. */
#include "harness/bench/ps_bench.h"

#include <stdlib.h>

#include "harness/bench/ps_repeat.h"
#include "harness/compute/compute.h"
#include "harness/net/transport.h"
#include "harness/world/share.h"
#include "harness/world/world.h"
#include "ps/ps.h"

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
        struct ps_latency latency;
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
