/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comm_bench.c - measures collectives of several algorithms, and the limits of the machine, side by side; see
 * comm_bench.h.
 */
#include "harness/bench/comm_bench.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/bench/comm_ceiling.h"
#include "harness/bench/comm_repeat.h"
#include "harness/compute/compute.h"
#include "harness/exchange/collective.h"
#include "harness/net/transport.h"
#include "harness/world/host_load.h"
#include "harness/world/share.h"
#include "harness/world/world.h"

#define REPEAT_S 1e-3 /* bench.B1 */

struct bench { /* of this rank */
    struct comm_repeats r;
    struct comm_pace pace; /* its series: series_of() */
    struct world *host;
    int n_hosts;
    struct compute *cpu;                        /* bench.B7: what works on copies in host memory; else NULL */
    struct comm_lane lane[COMM_MOST_LANES + 1]; /* the ceiling last */
    struct comm_lane_env env[2];                /* of private memory; of shared */
    struct comm_lane_state state[COMM_MOST_LANES + 1];
    bool is_shared[COMM_MOST_LANES + 1];
    int index[COMM_MOST_LANES + 1];   /* in terms->lane; n_lanes there: the ceiling */
    int n_calls[COMM_MOST_LANES + 1]; /* of a repeat, of the size at hand */
    int n_lanes;                      /* with the ceiling */
    struct comm_results *out;         /* this and what follows: rank 0; else NULL */
    uint64_t n_wrong[COMM_MOST_LANES + 1][COMM_N_PLACEMENTS];
};

/* --- what is measured --- */

static int series_of(int lane, enum comm_placement placement)
{
    return lane * COMM_N_PLACEMENTS + (int)placement;
}

static bool measures(const struct bench *b, int lane, enum comm_placement placement)
{
    const bool is_exchange = b->lane[lane].kind == COMM_LANE_EXCHANGE && b->r.terms->type == COMM_SENDRECV;

    if (placement == COMM_IN_PLACE)
        return !is_exchange;
    return is_exchange || (b->lane[lane].kind == COMM_LANE_REDUCER && b->r.terms->out_of_place && !b->r.device);
}

static bool wants_shared(const struct comm_terms *terms, const struct comm_lane *lane, bool memories_are_apart)
{
    if (lane->kind != COMM_LANE_REDUCER || terms->memory == COMM_MEMORY_PRIVATE)
        return false;
    return terms->memory == COMM_MEMORY_SHARED || (lane->ops->module.caps & COLL_SHARED && !memories_are_apart);
}

/* Memory where all ranks have one in common, else links. Of a barrier none; sendrecv is that of links itself. */
static void choose_ceiling(struct bench *b)
{
    const enum comm_type type = b->r.terms->type;
    const bool is_memory = b->n_hosts == 1 && !b->r.world->memories_are_apart;

    if (b->r.device || type == COMM_BARRIER || (type == COMM_SENDRECV && !is_memory))
        return;
    b->lane[b->n_lanes].name = is_memory ? "memory" : "link";
    b->lane[b->n_lanes].kind = is_memory ? COMM_LANE_ONE_PASS : COMM_LANE_EXCHANGE;
    for (int i = 0; i < b->n_lanes && is_memory; i++) /* bench.B6 */
        b->is_shared[b->n_lanes] |= b->is_shared[i];
    b->index[b->n_lanes++] = b->r.terms->n_lanes;
}

/* --- memory --- */

static size_t region_bytes(const struct comm_terms *terms, size_t rotated_bytes)
{
    size_t most = 0;

    for (int i = 0; i < terms->plan.n_sizes; i++) {
        const size_t n = comm_rotation_bytes(comm_rotation_of(terms->plan.n_bytes[i], rotated_bytes));
        most = n > most ? n : most;
    }
    return most;
}

size_t comm_bench_bytes(const struct comm_terms *terms, int n_host_ranks)
{
    const size_t rotated_bytes = terms->rotated_bytes / (size_t)n_host_ranks;
    bool shares = false;

    for (int i = 0; i < terms->n_lanes; i++)
        shares = shares || wants_shared(terms, &terms->lane[i], false);
    return region_bytes(terms, rotated_bytes) * (size_t)(2 + shares * (1 + terms->out_of_place)) + rotated_bytes;
}

/* bench.B7 */
static enum rc open_device_memory(struct bench *b, size_t n_bytes)
{
    struct comm_repeats *r = &b->r;
    enum rc rc;

    TRY(comm_memory_open_device(&r->on_device, r->device, true, n_bytes));
    TRY(comm_memory_open_device(&r->own, r->device, false, n_bytes));
    if (r->rotated_bytes > 0)
        TRY(comm_memory_open(&r->walked, NULL, r->rotated_bytes));
out:
    return rc;
}

static enum rc open_memory(struct bench *b)
{
    struct comm_repeats *r = &b->r;
    const size_t n_bytes = region_bytes(r->terms, r->rotated_bytes);
    bool shares = false;
    enum rc rc = RC_OK;

    for (int i = 0; i < b->n_lanes; i++)
        shares = shares || b->is_shared[i];
    if (r->is_hollow || n_bytes == 0)
        return RC_OK;
    if (r->device)
        return open_device_memory(b, n_bytes);
    TRY(comm_memory_open(&r->own, NULL, n_bytes));
    TRY(comm_memory_open(&r->input, NULL, n_bytes));
    if (shares)
        TRY(comm_memory_open(&r->shared, b->host, n_bytes));
    if (shares && r->terms->out_of_place)
        TRY(comm_memory_open(&r->shared_input, b->host, n_bytes));
    if (r->rotated_bytes > 0)
        TRY(comm_memory_open(&r->walked, NULL, r->rotated_bytes));
out:
    return rc;
}

/* --- open, close --- */

static size_t max_elems(const struct comm_terms *terms)
{
    size_t most = 0;

    for (int i = 0; i < terms->plan.n_sizes; i++)
        most = terms->plan.n_bytes[i] > most ? terms->plan.n_bytes[i] : most;
    return most / sizeof(float);
}

static void leave_out(struct bench *b, int lane, const char *why)
{
    if (b->out)
        snprintf(b->out->why_not[b->index[lane]], COMM_REASON_BYTES, "%s", why);
    b->n_lanes--;
    for (int i = lane; i < b->n_lanes; i++) { /* those behind it are not open yet */
        b->lane[i] = b->lane[i + 1];
        b->index[i] = b->index[i + 1];
        b->is_shared[i] = b->is_shared[i + 1];
    }
}

/* Lane *i, and go on to the next one; one that is left out is gone, and the next one is *i. */
static enum rc open_lane(struct bench *b, int *i)
{
    const struct comm_lane_env *env = &b->env[b->is_shared[*i]];
    char why[COMM_REASON_BYTES] = "";
    enum rc rc;

    TRY(b->r.terms->leaves_out ? comm_lane_try(&b->state[*i], &b->lane[*i], env, why)
                               : comm_lane_open(&b->state[*i], &b->lane[*i], env));
    if (why[0])
        leave_out(b, *i, why);
    else
        *i += 1;
out:
    return rc;
}

static enum rc open_lanes(struct bench *b, struct compute *compute)
{
    const struct comm_terms *terms = b->r.terms;
    enum rc rc = RC_OK;

    for (int shared = 0; shared < 2; shared++)
        b->env[shared] = (struct comm_lane_env){ .type = terms->type,
                                                 .root = terms->root,
                                                 .world = b->r.world,
                                                 .transport = terms->transport,
                                                 .compute = b->cpu ? b->cpu : compute,
                                                 .device = b->r.device,
                                                 .share = { shared ? b->r.shared.share : NULL,
                                                            shared ? b->r.shared_input.share : NULL },
                                                 .max_elems = max_elems(terms),
                                                 .timeout_ms = terms->timeout_ms,
                                                 .is_virtual = b->r.is_virtual };
    for (int i = 0; i < b->n_lanes;)
        TRY(open_lane(b, &i));
    if (b->n_lanes == 0 || b->index[0] == terms->n_lanes)
        FAIL(RC_UNSUPPORTED, "none of the %d reducers can run on these ranks: %s", terms->n_lanes,
             b->out ? b->out->why_not[0] : "");
    if (!b->r.is_virtual)
        TRY(transport_open(&b->r.line, terms->transport, b->r.world));
out:
    return rc;
}

static void plan(struct bench *b, struct compute *compute)
{
    const struct comm_terms *terms = b->r.terms;

    b->r.is_virtual = b->r.world->ops->module.caps & WORLD_VIRTUAL_TIME;
    b->r.is_hollow = !compute->ops->touches_memory;
    b->r.rotated_bytes = b->r.is_virtual ? 0 : terms->rotated_bytes / (size_t)b->host->n_ranks;
    for (; b->n_lanes < terms->n_lanes; b->n_lanes++) {
        b->lane[b->n_lanes] = terms->lane[b->n_lanes];
        b->index[b->n_lanes] = b->n_lanes;
        b->is_shared[b->n_lanes] = !b->r.is_hollow && !b->r.device &&
                                   wants_shared(terms, &terms->lane[b->n_lanes], b->r.world->memories_are_apart);
    }
    choose_ceiling(b);
    comm_pace_init(&b->pace, &terms->plan, b->r.is_virtual);
}

/* bench.B8: a rank of such a lane has two threads at work, its own or the one that calls for it, and the library's. */
static enum rc choose_waits(struct bench *b, bool *have_cores)
{
    struct comm_repeats *r = &b->r;
    enum rc rc = RC_OK;

    *have_cores = true;
    r->wait = r->library_wait = r->world->wait;
    if (!r->is_virtual)
        TRY(world_has_cores(r->world, 2, have_cores));
    if (r->terms->waits_as_it_suits && r->wait == WAIT_SPIN && !*have_cores)
        r->library_wait = WAIT_SLEEP;
out:
    return rc;
}

static enum rc open_results(struct bench *b)
{
    struct comm_results *out = b->out;
    const size_t n_rows = (size_t)b->r.terms->plan.n_sizes * (size_t)b->n_lanes;

    out->row = calloc(n_rows + 1, sizeof *out->row);
    b->pace.n_series = b->n_lanes * COMM_N_PLACEMENTS;
    b->pace.took_s = calloc((size_t)b->pace.n_series * COMM_MOST_REPEATS, sizeof *b->pace.took_s);
    if (!out->row || !b->pace.took_s)
        return rc_raise(RC_NOMEM, "no memory for the figures of %zu rows", n_rows);
    out->n_lanes = b->r.terms->n_lanes;
    out->n_ranks = b->r.world->n_ranks;
    out->n_hosts = b->n_hosts;
    out->is_virtual = b->r.is_virtual;
    out->is_hollow = b->r.is_hollow;
    out->is_on_device = b->r.device != NULL;
    out->has_ceiling = b->index[b->n_lanes - 1] == b->r.terms->n_lanes;
    out->ceiling = b->lane[b->n_lanes - 1].kind;
    out->rotated_bytes = b->r.rotated_bytes;
    for (int i = 0; i < b->n_lanes; i++)
        out->is_shared[b->index[i]] = b->is_shared[i];
    for (int i = 0; i < b->n_lanes; i++)
        out->spins[b->index[i]] = comm_repeat_wait(&b->r, &b->lane[i]) == WAIT_SPIN;
    return RC_OK;
}

static enum rc count_link_streams(struct bench *b, int host)
{
    const int n_ranks = b->r.world->n_ranks;
    int *host_of = calloc((size_t)n_ranks, sizeof *host_of);
    enum rc rc = RC_OK;

    if (!host_of)
        FAIL(RC_NOMEM, "no memory for the hosts of %d ranks", n_ranks);
    TRY(world_allgather(b->r.world, &host, host_of, sizeof host));
    if (b->out)
        b->out->n_link_streams = comm_link_streams(host_of, n_ranks);
out:
    free(host_of);
    return rc;
}

/* --- a device of each rank (bench.B7) --- */

struct seat {
    char device[COMPUTE_DEVICE_ID_BYTES], kernel[HOST_KERNEL_BYTES];
};

static enum rc refuse_sharing(const struct seat *seat, int n_ranks, const char *kind)
{
    for (int b = 0; b < n_ranks; b++)
        for (int a = 0; a < b; a++)
            if (strcmp(seat[a].device, seat[b].device) == 0 && strcmp(seat[a].kernel, seat[b].kernel) == 0)
                return rc_raise(RC_INVAL,
                                "ranks %d and %d are both on %s %s, and each would get half of it; start one "
                                "for each",
                                a, b, kind, seat[b].device);
    return RC_OK;
}

static enum rc check_devices(struct world *w, struct compute *device)
{
    struct seat own = { .device = "" }, *seat = calloc((size_t)w->n_ranks, sizeof *seat);
    enum rc rc;

    if (!seat)
        FAIL(RC_NOMEM, "no memory for the devices of %d ranks", w->n_ranks);
    device->ops->device_id(device, own.device);
    host_kernel_id(own.kernel, "");
    TRY(world_allgather(w, &own, seat, sizeof own));
    TRY(refuse_sharing(seat, w->n_ranks, device->ops->device_kind));
    TRY(compute_sync(device)); /* its number was to be had */
out:
    free(seat);
    return rc;
}

static enum rc open_device(struct bench *b, struct compute *compute)
{
    struct compute_env cpu = compute->env;
    enum rc rc;

    if (!compute->ops->touches_memory || compute->ops->host_memory)
        return RC_OK;
    b->r.device = compute;
    TRY(check_devices(b->r.world, compute));
    cpu.precision = PRECISION_FP32;
    cpu.opts = NULL;
    TRY(compute_open(&b->cpu, &compute_cpu, &cpu));
out:
    return rc;
}

static enum rc bench_open(struct bench *b, struct compute *compute)
{
    const struct comm_memory *shown = &b->r.own;
    bool have_cores;
    int host;
    enum rc rc;

    assert(b->r.terms->n_lanes <= COMM_MOST_LANES && b->r.terms->plan.most_repeats <= COMM_MOST_REPEATS);
    TRY(open_device(b, compute));
    TRY(world_host_group(b->r.world, &b->host, &host, &b->n_hosts));
    TRY(count_link_streams(b, host));
    plan(b, compute);
    TRY(comm_values_open(&b->r.values, b->r.terms->type, b->r.world->rank, b->r.world->n_ranks, b->r.terms->root));
    TRY(open_memory(b));
    TRY(choose_waits(b, &have_cores));
    TRY(open_lanes(b, compute));
    if (!b->out)
        goto out;
    TRY(open_results(b));
    b->out->threads_have_cores = have_cores;
    shown = b->r.shared.base ? &b->r.shared : shown;
    b->out->pages = shown->base ? pages_of(shown->base, shown->n_bytes) : PAGES_SMALL;
out:
    return rc;
}

static void bench_close(struct bench *b)
{
    for (int i = 0; i < b->n_lanes; i++)
        comm_lane_close(&b->state[i]);
    transport_close(&b->r.line);
    comm_memory_close(&b->r.own);
    comm_memory_close(&b->r.on_device);
    comm_memory_close(&b->r.input);
    comm_memory_close(&b->r.shared);
    comm_memory_close(&b->r.shared_input);
    comm_memory_close(&b->r.walked);
    comm_values_close(&b->r.values);
    compute_close(&b->cpu);
    world_split_close(&b->host);
    free(b->pace.took_s);
}

/* --- one size --- */

static struct comm_repeat repeat_of(struct bench *b, int lane, enum comm_placement placement)
{
    const bool is_shared = b->is_shared[lane];

    return (struct comm_repeat){ .lane = &b->state[lane],
                                 .memory = is_shared ? &b->r.shared : &b->r.own,
                                 .input = is_shared && b->r.shared_input.base ? &b->r.shared_input : &b->r.input,
                                 .placement = placement,
                                 .n_calls = b->n_calls[lane] };
}

/* Repeats that are not kept: what is done once is done then. */
static enum rc warm_up(struct bench *b)
{
    enum rc rc = RC_OK;

    for (int lane = 0; lane < b->n_lanes; lane++) {
        const enum comm_placement placement = measures(b, lane, COMM_IN_PLACE) ? COMM_IN_PLACE : COMM_OUT_OF_PLACE;
        b->n_calls[lane] = 1;
        for (int i = 0; i < b->pace.n_warmup; i++) {
            const struct comm_repeat repeat = repeat_of(b, lane, placement);
            struct comm_repeat_result result;
            TRY(comm_repeat_run(&result, &b->r, &repeat));
            TRY(comm_pace_choose_calls(&b->pace, &b->n_calls[lane], comm_repeat_most_calls(&b->r), result.time_s));
        }
    }
out:
    return rc;
}

/* bench.B2: the i-th repeat of all. */
static enum rc take_turns(struct bench *b, int i)
{
    enum rc rc = RC_OK;

    for (int k = 0; k < b->n_lanes; k++)
        for (int p = 0; p < COMM_N_PLACEMENTS; p++) {
            const int lane = (k + i) % b->n_lanes;
            const enum comm_placement placement = (enum comm_placement)((p + i) % COMM_N_PLACEMENTS);
            const struct comm_repeat repeat = repeat_of(b, lane, placement);
            struct comm_repeat_result result;
            if (!measures(b, lane, placement))
                continue;
            TRY(comm_repeat_run(&result, &b->r, &repeat));
            if (b->out) {
                comm_pace_times(&b->pace, series_of(lane, placement))[i] = result.time_s;
                b->n_wrong[lane][placement] += result.n_wrong;
            }
        }
out:
    return rc;
}

static void keep_rows(struct bench *b, size_t n_bytes, int n)
{
    for (int lane = 0; lane < b->n_lanes; lane++) {
        struct comm_row *row = &b->out->row[b->out->n_rows++];
        *row = (struct comm_row){ .lane = b->index[lane], .n_bytes = n_bytes, .n_calls = b->n_calls[lane] };
        comm_lane_explain(&b->state[lane], n_bytes, row->reason);
        for (int p = 0; p < COMM_N_PLACEMENTS; p++) {
            const struct comm_repeat repeat = repeat_of(b, lane, (enum comm_placement)p);
            const struct interval i = comm_pace_interval(&b->pace, series_of(lane, (enum comm_placement)p), n);
            if (!measures(b, lane, (enum comm_placement)p))
                continue;
            row->figure[p] = (struct comm_figure){ .time_s = i.mean,
                                                   .low_s = i.low,
                                                   .high_s = i.high,
                                                   .n_repeats = n,
                                                   .n_wrong = b->n_wrong[lane][p],
                                                   .is_checked = comm_repeat_checks(&b->r, &repeat) };
        }
    }
}

/* --- all sizes --- */

static enum rc measure_size(void *bench, int size)
{
    struct bench *b = bench;
    const size_t n_bytes = b->r.terms->plan.n_bytes[size];
    int n = 0;
    enum rc rc;

    b->r.n_elems = n_bytes / sizeof(float);
    b->r.rotation = comm_rotation_of(n_bytes, b->r.rotated_bytes);
    memset(b->n_wrong, 0, sizeof b->n_wrong);
    comm_pace_begin(&b->pace, size);
    TRY(warm_up(b));
    do {
        TRY(take_turns(b, n++));
        TRY(comm_pace_decide(&b->pace, n));
    } while (b->pace.next.size_goes_on);
    if (b->out) {
        keep_rows(b, n_bytes, n);
        b->out->n_sizes_done++;
    }
out:
    return rc;
}

enum rc comm_bench(struct comm_results *out, struct world *w, struct compute *compute, const struct comm_terms *terms)
{
    struct bench b = { .r = { .terms = terms, .world = w },
                       .pace = { .what = comm_type_name(terms->type),
                                 .world = w,
                                 .ranks = w,
                                 .repeat_s = REPEAT_S,
                                 .end = w->rank == 0 ? &out->end : NULL },
                       .out = w->rank == 0 ? out : NULL };
    enum rc rc;

    TRY(bench_open(&b, compute));
    TRY(comm_pace_run(&b.pace, measure_size, &b));
    TRY(world_barrier(w)); /* nobody closes while another still sends */
out:
    bench_close(&b);
    return rc;
}

/* --- results --- */

void comm_results_close(struct comm_results *r)
{
    free(r->row);
    *r = (struct comm_results){ .row = NULL };
}

const struct comm_row *comm_results_ceiling(const struct comm_results *r, size_t n_bytes)
{
    for (int i = 0; i < r->n_rows; i++)
        if (r->has_ceiling && r->row[i].n_bytes == n_bytes && r->row[i].lane == r->n_lanes)
            return &r->row[i];
    return NULL;
}

double comm_results_bus_factor(const struct comm_results *r, enum comm_type type, const struct comm_row *row)
{
    const double factor = comm_bus_factor(type, r->n_ranks);

    if (row->lane < r->n_lanes || r->ceiling != COMM_LANE_EXCHANGE)
        return factor;
    if (r->n_hosts == 1) /* each rank has its link */
        return 1;
    return r->n_link_streams * factor / comm_bus_factor(type, r->n_hosts);
}

enum comm_placement comm_row_main(const struct comm_row *row)
{
    return row->figure[COMM_IN_PLACE].n_repeats > 0 ? COMM_IN_PLACE : COMM_OUT_OF_PLACE;
}
