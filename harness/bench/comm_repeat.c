/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comm_repeat.c - the state of a rank while it measures, and one repeat of a lane (bench.B1, B3, B4); see
 * comm_repeat.h.
 */
#include "harness/bench/comm_repeat.h"

#include <stdlib.h>

#include "allreduce/barrier.h"
#include "harness/compute/compute.h"
#include "harness/exchange/collective.h"
#include "harness/world/stop.h"
#include "harness/world/world.h"

/* The same block again and again. */
static bool is_hot(const struct comm_repeats *r)
{
    return r->rotated_bytes == 0;
}

enum wait_policy comm_repeat_wait(const struct comm_repeats *r, const struct comm_lane *lane)
{
    return lane->kind == COMM_LANE_REDUCER && lane->ops->module.caps & COLL_THREADS ? r->library_wait : r->wait;
}

int comm_repeat_most_calls(const struct comm_repeats *r)
{
    if (r->is_virtual)
        return 1;
    if (!is_hot(r) || r->terms->type == COMM_BARRIER)
        return r->terms->type == COMM_BARRIER ? COMM_MOST_BLOCKS : r->rotation.n_blocks;
    const int n_told = comm_values_most_times(&r->values);
    return n_told < COMM_MOST_BLOCKS ? n_told : COMM_MOST_BLOCKS;
}

/* Does data come from elsewhere, a copy or a message? */
static bool has_input(const struct comm_repeats *r, const struct comm_repeat *of)
{
    return of->placement == COMM_OUT_OF_PLACE || r->terms->type == COMM_SENDRECV ||
           of->lane->lane->kind == COMM_LANE_EXCHANGE;
}

bool comm_repeat_checks(const struct comm_repeats *r, const struct comm_repeat *of)
{
    const enum comm_lane_kind kind = of->lane->lane->kind;

    return !r->is_hollow &&
           (kind == COMM_LANE_REDUCER || (kind == COMM_LANE_EXCHANGE && r->terms->type == COMM_SENDRECV));
}

static struct comm_data data_of(const struct comm_repeats *r, const struct comm_repeat *of, int i)
{
    const size_t block = r->n_used + (is_hot(r) ? 0 : (size_t)i);

    return (struct comm_data){ .result = comm_memory_block(of->memory, r->rotation, block),
                               .on_device = comm_memory_block(&r->on_device, r->rotation, block),
                               .input = has_input(r, of) ? comm_memory_block(of->input, r->rotation, block) : NULL,
                               .n_elems = r->n_elems,
                               .is_out_of_place = of->placement == COMM_OUT_OF_PLACE };
}

/* Calls that differ in what they bring: of hot memory all bring the same. */
static int n_distinct(const struct comm_repeats *r, const struct comm_repeat *of)
{
    return is_hot(r) ? 1 : of->n_calls;
}

/* What is on the device; the host's copy is another then. */
static void fill_device(const struct comm_repeats *r, const struct comm_data *data)
{
    compute_put(r->device, data->on_device, data->result, r->n_elems * sizeof(float));
    comm_values_poison(data->result, r->n_elems);
}

static enum rc fill(const struct comm_repeats *r, const struct comm_repeat *of)
{
    for (int i = 0; !r->is_hollow && r->n_elems > 0 && i < n_distinct(r, of); i++) {
        const struct comm_data data = data_of(r, of, i);
        float *brought =
            has_input(r, of) ? comm_memory_block(of->input, r->rotation, r->n_used + (size_t)i) : data.result;
        comm_values_fill(&r->values, brought, r->n_elems, r->n_calls + (uint64_t)i);
        if (has_input(r, of))
            comm_values_poison(data.result, r->n_elems);
        if (data.on_device)
            fill_device(r, &data);
    }
    comm_memory_walk(&r->walked);
    return r->device ? compute_sync(r->device) : RC_OK;
}

static enum rc count_wrong(uint64_t *out, const struct comm_repeats *r, const struct comm_repeat *of)
{
    const int n_times = is_hot(r) && !has_input(r, of) ? of->n_calls : 1;
    enum rc rc = RC_OK;

    *out = 0;

    for (int i = 0; comm_repeat_checks(r, of) && i < n_distinct(r, of); i++) {
        const struct comm_data data = data_of(r, of, i);
        if (data.on_device)
            TRY(compute_fetch(r->device, data.result, data.on_device, r->n_elems * sizeof(float)));
        *out += comm_values_wrong(&r->values, data.result, r->n_elems, r->n_calls + (uint64_t)i, n_times);
    }
out:
    return rc;
}

enum rc comm_repeat_align(struct world *w, struct transport *line, int timeout_ms)
{
    enum rc rc;

    TRY(world_barrier(w));
    if (line)
        TRY(barrier_run(line, timeout_ms));
out:
    return rc;
}

enum rc comm_repeat_gather(struct comm_repeat_result *out, struct world *w, const struct comm_repeat_result *own)
{
    struct comm_repeat_result *all = w->rank == 0 ? malloc((size_t)w->n_ranks * sizeof *all) : NULL;
    enum rc rc = RC_OK;

    *out = *own;
    if (w->rank == 0 && !all)
        FAIL(RC_NOMEM, "no memory for the times of %d ranks", w->n_ranks);
    TRY(world_gather(w, own, all, sizeof *own));
    for (int i = 1; all && i < w->n_ranks; i++) {
        out->time_s = all[i].time_s > out->time_s ? all[i].time_s : out->time_s;
        out->n_wrong += all[i].n_wrong;
    }
out:
    free(all);
    return rc;
}

enum rc comm_repeat_signal(int *out, struct world *w)
{
    const int own = stop_signal();
    int *all = w->rank == 0 ? calloc((size_t)w->n_ranks, sizeof *all) : NULL;
    enum rc rc = RC_OK;

    *out = 0;
    if (w->rank == 0 && !all)
        FAIL(RC_NOMEM, "no memory for the signals of %d ranks", w->n_ranks);
    TRY(world_gather(w, &own, all, sizeof own));
    for (int r = w->n_ranks - 1; all && r >= 0; r--)
        *out = all[r] != 0 ? all[r] : *out;
out:
    free(all);
    return rc;
}

enum rc comm_repeat_run(struct comm_repeat_result *out, struct comm_repeats *r, const struct comm_repeat *of)
{
    struct comm_repeat_result own;
    enum rc rc;

    TRY(fill(r, of));
    world_set_wait(r->world, comm_repeat_wait(r, of->lane->lane));
    TRY(comm_repeat_align(r->world, r->line, r->terms->timeout_ms));
    const uint64_t started_ns = world_now_ns(r->world);
    for (int i = 0; i < of->n_calls; i++) {
        const struct comm_data data = data_of(r, of, i);
        TRY(comm_lane_call(of->lane, &data));
    }
    TRY(comm_lane_end(of->lane));
    own.time_s = 1e-9 * (double)(world_now_ns(r->world) - started_ns) / of->n_calls;
    TRY(count_wrong(&own.n_wrong, r, of));
    TRY(comm_repeat_gather(out, r->world, &own));
    r->n_used += (size_t)n_distinct(r, of);
    r->n_calls += (uint64_t)of->n_calls;
out:
    return rc;
}
