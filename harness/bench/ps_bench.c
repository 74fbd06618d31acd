/* SPDX-License-Identifier: Apache-2.0 */
/* ps_bench.c - see ps_bench.h: which size is measured, and for how long. What is measured: ps_repeat.c. */
#include "harness/bench/ps_bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/bench/ps_repeat.h"
#include "harness/bench/series.h"
#include "harness/compute/compute.h"
#include "harness/measure/median.h"
#include "harness/net/transport.h"
#include "harness/world/share.h"
#include "harness/world/stop.h"
#include "harness/world/world.h"
#include "ps/ps.h"

#define REPEAT_S 2e-3       /* that a repeat of short calls takes, about */
#define NARROW_RATIO 0.02   /* half an interval over its median that more repeats need not narrow */
#define CALL_BYTES 1048576. /* a size weighs what it has and this, when time is shared out */

struct bench { /* of this rank */
    struct ps_repeats r;
    struct ps_results *out; /* rank 0; else NULL */
    int least_repeats, most_repeats, n_warmup;
    uint64_t started_ns;
    int n_calls[PS_N_LANES];
    double *took_s; /* rank 0: [PS_N_LANES][PS_MOST_REPEATS] */
};

/* --- sizes in bytes --- */

struct ps_cut ps_cut_of(const struct ps_terms *terms, size_t n_bytes)
{
    const size_t n_elems = n_bytes / sizeof(float), n_servers = (size_t)terms->n_servers;
    const size_t n_most = terms->partition_bytes == 0 ? n_elems : terms->partition_bytes / sizeof(float);
    const size_t n_pieces = n_most >= n_elems || n_most == 0 ? 1 : (n_elems + n_most - 1) / n_most;
    const size_t n_piece = (n_elems + n_pieces - 1) / n_pieces;

    return (struct ps_cut){ n_pieces, (n_piece + n_servers - 1) / n_servers };
}

static size_t cut_bytes(const struct ps_terms *terms, size_t n_bytes)
{
    const struct ps_cut cut = ps_cut_of(terms, n_bytes);

    return cut.n_pieces * cut.n_part_elems * (size_t)terms->n_servers * sizeof(float);
}

size_t ps_bench_bytes(const struct ps_terms *terms, int n_host_ranks)
{
    const size_t rotated_bytes = terms->rotated_bytes / (size_t)n_host_ranks;
    size_t most = 0;

    for (int i = 0; i < terms->n_sizes; i++) {
        const size_t n_bytes = cut_bytes(terms, terms->n_bytes[i]);
        const size_t n = n_bytes * (size_t)comm_rotation_of(n_bytes, rotated_bytes).n_blocks;
        most = n > most ? n : most;
    }
    return most * (size_t)(6 + terms->n_workers); /* a server: its slice, its state twice, replies, the bound */
}

/* --- one size, on a worker --- */

static double elapsed_s(const struct bench *b)
{
    return 1e-9 * (double)(world_now_ns(b->r.world) - b->started_ns);
}

static double *times_of(const struct bench *b, int lane)
{
    return b->took_s + (size_t)lane * PS_MOST_REPEATS;
}

static struct interval figure_interval(const struct bench *b, int lane, int n)
{
    double sorted[PS_MOST_REPEATS];

    memcpy(sorted, times_of(b, lane), (size_t)n * sizeof *sorted);
    return median_interval(sorted, (size_t)n);
}

static bool is_settled(const struct bench *b, int n)
{
    for (int lane = 0; lane < PS_N_LANES; lane++) {
        const struct interval i = figure_interval(b, lane, n);
        if (!(i.high - i.low <= 2 * NARROW_RATIO * i.mean))
            return false;
    }
    return true;
}

/* Calls that take REPEAT_S together, by what the last repeat took: worker 0 says. */
static enum rc choose_n_calls(struct bench *b, int lane, double time_s)
{
    const double n_wanted = b->r.is_virtual ? 1 : ceil(REPEAT_S / time_s);

    b->n_calls[lane] = n_wanted < COMM_MOST_BLOCKS ? (int)n_wanted : COMM_MOST_BLOCKS; /* time_s 0: so many */
    return world_broadcast(b->r.workers, &b->n_calls[lane], sizeof b->n_calls[lane]);
}

static enum rc warm_up(struct bench *b)
{
    enum rc rc = RC_OK;

    for (int lane = 0; lane < PS_N_LANES; lane++) {
        b->n_calls[lane] = 1;
        for (int i = 0; i < b->n_warmup; i++) {
            double time_s;
            TRY(ps_repeat_run(&time_s, &b->r, (enum ps_lane)lane, b->n_calls[lane], false));
            TRY(choose_n_calls(b, lane, time_s));
        }
    }
out:
    return rc;
}

/* N3: the i-th repeat of all. */
static enum rc take_turns(struct bench *b, int i)
{
    enum rc rc = RC_OK;

    for (int k = 0; k < PS_N_LANES; k++) {
        const int lane = (k + i) % PS_N_LANES;
        double time_s;
        TRY(ps_repeat_run(&time_s, &b->r, (enum ps_lane)lane, b->n_calls[lane], true));
        if (b->out)
            times_of(b, lane)[i] = time_s;
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
                                .n_pieces = b->r.cut.n_pieces,
                                .is_checked = !b->r.is_hollow };
    for (int lane = 0; lane < PS_N_LANES; lane++) {
        struct ps_latency latency;
        TRY(ps_repeats_latency(&latency, &b->r, (enum ps_lane)lane));
        if (!row)
            continue;
        const struct interval i = figure_interval(b, lane, n);
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

struct decision { /* of worker 0 */
    bool size_goes_on, all_goes_on;
};

static enum rc decide(struct bench *b, struct decision *out, int n, double end_s)
{
    int signal;
    enum rc rc;

    TRY(comm_repeat_signal(&signal, b->r.workers));
    if (b->out) {
        const bool is_late = !b->r.is_virtual && elapsed_s(b) > end_s;
        const bool is_over = !b->r.is_virtual && elapsed_s(b) > b->r.terms->budget_s;
        b->out->stop_signal = signal;
        out->all_goes_on = signal == 0 && !is_over;
        out->size_goes_on =
            signal == 0 && (n < b->least_repeats || (n < b->most_repeats && !is_late && !is_settled(b, n)));
    }
    TRY(world_broadcast(b->r.workers, out, sizeof *out));
out:
    return rc;
}

static double weight(const struct bench *b, int first, int end)
{
    double sum = 0;

    for (int i = first; i < end; i++)
        sum += (double)b->r.terms->n_bytes[i] + CALL_BYTES;
    return sum;
}

static void tell(const struct bench *b, int size, int n)
{
    const struct ps_terms *terms = b->r.terms;
    const double done = weight(b, 0, size) + (double)n / b->most_repeats * weight(b, size, size + 1);
    const double by_time = b->r.is_virtual ? 0 : fmin(elapsed_s(b) / terms->budget_s, 1);
    char what[96];

    if (!b->out || !terms->progress)
        return;
    snprintf(what, sizeof what, "push and pull of %zu bytes, repeat %d", terms->n_bytes[size], n + 1);
    terms->progress(terms->arg, fmax(done / weight(b, 0, terms->n_sizes), by_time), what);
}

static enum rc measure_as_worker(struct bench *b, int size, struct decision *next)
{
    const struct ps_terms *terms = b->r.terms;
    const double left_s = terms->budget_s - elapsed_s(b);
    const double end_s = elapsed_s(b) + left_s * weight(b, size, size + 1) / weight(b, size, terms->n_sizes);
    uint64_t n_wrong;
    int n = 0;
    enum rc rc;

    tell(b, size, 0);
    TRY(warm_up(b));
    do {
        TRY(take_turns(b, n++));
        TRY(decide(b, next, n, end_s));
        tell(b, size, n);
    } while (next->size_goes_on);
    TRY(keep_row(b, n));
    TRY(ps_repeats_end(&n_wrong, &b->r));
    if (b->out)
        b->out->row[b->out->n_rows - 1].n_wrong = n_wrong;
out:
    return rc;
}

/* --- all sizes --- */

static enum rc measure_size(struct bench *b, int size, struct decision *next)
{
    enum rc rc;

    TRY(ps_repeats_open(&b->r, size));
    if (b->out && !b->r.is_virtual)
        b->out->encryption = transport_encryption(b->r.transport);
    TRY(b->r.workers ? measure_as_worker(b, size, next) : ps_repeats_serve(&b->r));
    TRY(world_broadcast(b->r.world, next, sizeof *next)); /* nobody closes while another still sends */
out:
    ps_repeats_close(&b->r);
    return rc;
}

static enum rc measure_all(struct bench *b)
{
    const struct ps_terms *terms = b->r.terms;
    struct decision next = { true, true };
    int size = 0;
    enum rc rc = RC_OK;

    b->started_ns = world_now_ns(b->r.world);
    for (; size < terms->n_sizes && next.all_goes_on; size++)
        TRY(measure_size(b, size, &next));
    if (b->out && terms->progress)
        terms->progress(terms->arg, 1, "push and pull");
    if (!b->out || size == terms->n_sizes)
        goto out;
    if (b->out->stop_signal)
        snprintf(b->out->ended, sizeof b->out->ended, "stopped by %s", stop_signal_name(b->out->stop_signal));
    else
        snprintf(b->out->ended, sizeof b->out->ended, "ended after %.3g s, at the limit of --budget-s %g", elapsed_s(b),
                 terms->budget_s);
out:
    return rc;
}

static enum rc open_results(struct bench *b)
{
    const struct ps_terms *terms = b->r.terms;

    if (!b->out)
        return RC_OK;
    b->took_s = calloc((size_t)PS_N_LANES * PS_MOST_REPEATS, sizeof *b->took_s);
    b->out->row = calloc((size_t)terms->n_sizes, sizeof *b->out->row);
    if (!b->took_s || !b->out->row)
        return rc_raise(RC_NOMEM, "no memory for the figures of %d sizes", terms->n_sizes);
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
    b->least_repeats = r->is_virtual ? SERIES_SIM_REPEATS : r->terms->least_repeats;
    b->most_repeats = r->is_virtual ? SERIES_SIM_REPEATS : r->terms->most_repeats;
    b->n_warmup = r->is_virtual ? 0 : r->terms->n_warmup;
    for (int lane = 0; lane < PS_N_LANES; lane++)
        b->n_calls[lane] = 1;
    TRY(ps_repeats_begin(r));
    TRY(open_results(b));
    if (b->out)
        b->out->n_hosts = n_hosts;
out:
    world_split_close(&host);
    return rc;
}

enum rc ps_bench(struct ps_results *out, struct world *w, struct compute *compute, const struct ps_terms *terms)
{
    struct bench b = { .r = { .terms = terms, .world = w }, .out = w->rank == 0 ? out : NULL };
    enum rc rc;

    TRY(bench_open(&b, compute));
    TRY(measure_all(&b));
out:
    ps_repeats_finish(&b.r);
    free(b.took_s);
    return rc;
}

void ps_results_close(struct ps_results *r)
{
    free(r->row);
    *r = (struct ps_results){ .row = NULL };
}
