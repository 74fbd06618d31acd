/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comm_bench_test.c - whose turn it is, in which memory, whose time counts, and what is counted as wrong: of
 * collectives that note their calls, in world threads. The linker puts collective_run() of this file before the real
 * one.
 */
#include "harness/bench/comm_bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "allreduce/collective_list.h"
#include "harness/base/suite/unit.h"
#include "harness/bench/comm_repeat.h"
#include "harness/compute/compute.h"
#include "harness/exchange/collective.h"
#include "harness/net/transport.h"
#include "harness/world/share.h"
#include "harness/world/world.h"

enum { N_RANKS = 3, MOST_CALLS = 40000, N_LANES = 2 };

struct noted { /* a call of rank 0 and of rank 1, which are the same ones */
    const struct collective_ops *ops;
    const float *data[2];
    size_t offset_bytes[2]; /* in the share; SIZE_MAX: in none */
};

struct job {
    struct comm_terms terms;
    struct comm_results results;
    const struct collective_ops *wrong; /* leaves an element of rank 2 wrong in each of its calls; NULL: none */
    struct noted *call;                 /* [MOST_CALLS] */
    int n_calls[2];
};

static struct job *watched; /* by collective_run(): set while a world runs */

enum rc __real_collective_run(struct collective *c, const struct collective_call *call, float *data);
enum rc __wrap_collective_run(struct collective *c, const struct collective_call *call, float *data);

static void note(const struct collective *c, const float *data)
{
    const int rank = c->env.transport->world->rank;
    const struct share *share = c->env.n_shares > 0 ? c->env.share[0] : NULL;

    if (rank > 1 || watched->n_calls[rank] == MOST_CALLS)
        return;
    struct noted *n = &watched->call[watched->n_calls[rank]++];
    const size_t offset_bytes = share ? (size_t)((const char *)data - (const char *)share->mine) : SIZE_MAX;
    if (rank == 0)
        n->ops = c->ops;
    n->data[rank] = data;
    n->offset_bytes[rank] = share && offset_bytes < share->n_bytes ? offset_bytes : SIZE_MAX;
}

enum rc __wrap_collective_run(struct collective *c, const struct collective_call *call, float *data)
{
    enum rc rc;

    note(c, data);
    TRY(__real_collective_run(c, call, data));
    if (c->ops == watched->wrong && c->env.transport->world->rank == 2)
        data[0] = -data[0] - 1;
out:
    return rc;
}

static enum rc body(struct world *w, void *arg)
{
    struct job *job = arg;
    struct compute *c = NULL;
    enum rc rc;

    TRY(compute_open(&c, &compute_cpu, NULL));
    TRY(comm_bench(w->rank == 0 ? &job->results : NULL, w, c, &job->terms));
out:
    compute_close(&c);
    return rc;
}

static const struct collective_ops *reducer(const char *name)
{
    const struct collective_ops *ops = NULL;

    assert_int_equal(collective_find(&ops, &collective_kind, name), RC_OK);
    return ops;
}

static void run(struct job *job)
{
    const struct world_ops *threads = NULL;

    assert_int_equal(world_find(&threads, "threads"), RC_OK);
    assert_int_equal(transport_find(&job->terms.transport, "inproc"), RC_OK);
    job->call = calloc(MOST_CALLS, sizeof *job->call);
    assert_non_null(job->call);
    watched = job;
    if (world_run(threads, &(struct world_opts){ .timeout_ms = 0 }, N_RANKS, body, job) != RC_OK)
        fail_msg("%s", rc_message());
    assert_int_equal(job->n_calls[0], job->n_calls[1]);
}

static void close_job(struct job *job)
{
    comm_results_close(&job->results);
    free(job->call);
}

enum { N_BYTES = 40000, ROTATED_BYTES = N_RANKS * 10 * 40000 };

static struct job job_of(const struct comm_lane lane[N_LANES], const size_t *n_bytes, int n_sizes)
{
    return (struct job){ .terms = { .type = COMM_ALLREDUCE,
                                    .plan = { .n_bytes = n_bytes,
                                              .n_sizes = n_sizes,
                                              .least_repeats = 6,
                                              .most_repeats = 6,
                                              .n_warmup = 2,
                                              .budget_s = 1000 },
                                    .lane = lane,
                                    .n_lanes = N_LANES,
                                    .timeout_ms = 120000,
                                    .rotated_bytes = ROTATED_BYTES,
                                    .out_of_place = true } };
}

static const size_t ONE_SIZE[] = { N_BYTES };

static void lanes(struct comm_lane out[N_LANES])
{
    out[0] = (struct comm_lane){ "ring", COMM_LANE_REDUCER, reducer("ring"), NULL };
    out[1] = (struct comm_lane){ "root", COMM_LANE_REDUCER, reducer("root"), NULL };
}

static const struct comm_row *row_of(const struct job *job, int lane)
{
    for (int i = 0; i < job->results.n_rows; i++)
        if (job->results.row[i].lane == lane)
            return &job->results.row[i];
    fail_msg("lane %d has no row", lane);
    return NULL;
}

/* How many of the calls that were noted are not of the warm-up. */
static int kept_count(const struct job *job)
{
    return 6 * COMM_N_PLACEMENTS * (row_of(job, 0)->n_calls + row_of(job, 1)->n_calls);
}

static size_t block_of(const struct job *job, int i)
{
    const float *first = job->call[0].data[0];

    for (int k = 1; k < job->n_calls[0]; k++)
        first = job->call[k].data[0] < first ? job->call[k].data[0] : first;
    return (size_t)(job->call[i].data[0] - first) * sizeof(float) / N_BYTES;
}

/* bench.Y2, B4: ten blocks fill what a rank rotates; each call has the one behind that of the call before, whosever
 * that was, the ceiling's among them. */
UNIT_TEST(memory_rotates)
{
    struct comm_lane lane[N_LANES];

    lanes(lane);
    struct job job = job_of(lane, ONE_SIZE, 1);
    run(&job);
    assert_int_equal(job.results.rotated_bytes, ROTATED_BYTES / N_RANKS);
    const int n_calls[N_LANES + 1] = { row_of(&job, 0)->n_calls, row_of(&job, 1)->n_calls,
                                       row_of(&job, N_LANES)->n_calls };
    int i = job.n_calls[0] - kept_count(&job);
    size_t block = block_of(&job, i);
    for (int turn = 0; turn < 6; turn++)
        for (int k = 0; k <= N_LANES; k++) {
            const int l = (turn + k) % (N_LANES + 1);
            block += l == N_LANES && i < job.n_calls[0] ? (size_t)n_calls[l] : 0;
            for (int n = 0; l < N_LANES && n < COMM_N_PLACEMENTS * n_calls[l]; n++)
                assert_int_equal(block_of(&job, i++), block++ % 10);
        }
    assert_int_equal(i, job.n_calls[0]);
    close_job(&job);
}

UNIT_TEST(hot_memory_is_the_same)
{
    struct comm_lane lane[N_LANES];

    lanes(lane);
    struct job job = job_of(lane, ONE_SIZE, 1);
    job.terms.rotated_bytes = 0;
    run(&job);
    for (int i = 1; i < job.n_calls[0]; i++)
        assert_true(job.call[i].data[0] == job.call[0].data[0]);
    for (int l = 0; l < N_LANES; l++)
        for (int p = 0; p < COMM_N_PLACEMENTS; p++)
            assert_true(row_of(&job, l)->figure[p].is_checked && row_of(&job, l)->figure[p].n_wrong == 0);
    close_job(&job);
}

/* A8: in the share, at the same place on every rank; private memory is in none. */
UNIT_TEST(shared_memory_is_in_the_share)
{
    struct comm_lane lane[N_LANES];

    lanes(lane);
    for (int shared = 0; shared < 2; shared++) {
        struct job job = job_of(lane, ONE_SIZE, 1);
        job.terms.memory = shared ? COMM_MEMORY_SHARED : COMM_MEMORY_AUTO;
        run(&job);
        for (int i = 0; i < job.n_calls[0]; i++) {
            assert_int_equal(job.call[i].offset_bytes[0] == SIZE_MAX, !shared);
            assert_int_equal(job.call[i].offset_bytes[0], job.call[i].offset_bytes[1]);
        }
        for (int l = 0; l <= N_LANES; l++) /* the ceiling's, too: bench.B6 */
            assert_int_equal(job.results.is_shared[l], shared);
        assert_int_equal(row_of(&job, 0)->figure[0].n_wrong, 0);
        close_job(&job);
    }
}

/* bench.B2: behind the warm-up, in each turn all lanes have a repeat in each placement, and they begin by turns. */
UNIT_TEST(lanes_take_turns)
{
    struct comm_lane lane[N_LANES];
    int i = 0;

    lanes(lane);
    struct job job = job_of(lane, ONE_SIZE, 1);
    run(&job);
    i = job.n_calls[0] - kept_count(&job);
    assert_true(i >= 2 * N_LANES); /* of the warm-up */
    for (int turn = 0; turn < 6; turn++)
        for (int k = 0; k <= N_LANES; k++) {
            const int l = (turn + k) % (N_LANES + 1); /* the last: the ceiling, which is no collective */
            for (int n = 0; l < N_LANES && n < COMM_N_PLACEMENTS * row_of(&job, l)->n_calls; n++)
                assert_ptr_equal(job.call[i++].ops, lane[l].ops);
        }
    assert_int_equal(i, job.n_calls[0]);
    close_job(&job);
}

/* bench.B3: one element of each call of one lane, on one rank, which is not rank 0. */
UNIT_TEST(what_is_wrong_is_counted)
{
    struct comm_lane lane[N_LANES];

    lanes(lane);
    struct job job = job_of(lane, ONE_SIZE, 1);
    job.wrong = lane[1].ops;
    run(&job);
    for (int p = 0; p < COMM_N_PLACEMENTS; p++) {
        const struct comm_row *ring = row_of(&job, 0), *root = row_of(&job, 1);
        assert_true(ring->figure[p].is_checked && ring->figure[p].n_wrong == 0);
        assert_int_equal(root->figure[p].n_wrong, 6 * root->n_calls);
        assert_int_equal(root->figure[p].n_repeats, 6);
    }
    close_job(&job);
}

/* Rows size by size, the ceiling last; medians between their ends. */
UNIT_TEST(rows_are_in_order)
{
    static const size_t sizes[] = { 4, N_BYTES, 64 };
    struct comm_lane lane[N_LANES];

    lanes(lane);
    struct job job = job_of(lane, sizes, 3);
    run(&job);
    assert_true(job.results.n_rows == 9 && job.results.n_sizes_done == 3 && job.results.has_ceiling);
    assert_int_equal(job.results.ceiling, COMM_LANE_ONE_PASS);
    assert_true(job.results.n_ranks == N_RANKS && job.results.n_hosts == 1 && !job.results.end.why[0]);
    for (int i = 0; i < 9; i++) {
        const struct comm_row *row = &job.results.row[i];
        assert_true(row->n_bytes == sizes[i / 3] && row->lane == i % 3);
        for (int p = 0; p < COMM_N_PLACEMENTS; p++) {
            const struct comm_figure *f = &row->figure[p];
            const bool is_measured = row->lane < N_LANES || p == COMM_IN_PLACE;
            assert_int_equal(f->n_repeats, is_measured ? 6 : 0);
            assert_int_equal(f->is_checked, row->lane < N_LANES);
            assert_true(!is_measured || (0 < f->low_s && f->low_s <= f->time_s && f->time_s <= f->high_s));
        }
        assert_ptr_equal(comm_results_ceiling(&job.results, row->n_bytes), &job.results.row[i / 3 * 3 + 2]);
    }
    close_job(&job);
}

/* The budget ends before the second size begins; what has begun has its repeats. */
UNIT_TEST(a_budget_ends_it)
{
    static const size_t sizes[] = { N_BYTES, 4 };
    struct comm_lane lane[N_LANES];

    lanes(lane);
    struct job job = job_of(lane, sizes, 2);
    job.terms.plan.budget_s = 1e-9;
    job.terms.plan.most_repeats = 500;
    run(&job);
    assert_true(job.results.n_sizes_done == 1 && job.results.n_rows == 3);
    assert_int_equal(row_of(&job, 0)->figure[0].n_repeats, 6);
    assert_non_null(strstr(job.results.end.why, "at the limit of --budget-s 1e-09"));
    assert_int_equal(job.results.end.stop_signal, 0);
    close_job(&job);
}

/* --- whose time --- */

static enum rc gather_body(struct world *w, void *arg)
{
    static const double time_s[N_RANKS] = { 0.25, 0.75, 0.5 };
    const struct comm_repeat_result own = { time_s[w->rank], (uint64_t)1 << (4 * w->rank) };
    struct comm_repeat_result all;
    enum rc rc;

    TRY(comm_repeat_gather(&all, w, &own));
    if (w->rank == 0)
        *(struct comm_repeat_result *)arg = all;
out:
    return rc;
}

/* bench.B1 */
UNIT_TEST(the_slowest_rank_counts)
{
    const struct world_ops *threads = NULL;
    struct comm_repeat_result all = { 0 };

    assert_int_equal(world_find(&threads, "threads"), RC_OK);
    assert_int_equal(world_run(threads, &(struct world_opts){ .timeout_ms = 0 }, N_RANKS, gather_body, &all), RC_OK);
    assert_true(all.time_s == 0.75);
    assert_int_equal(all.n_wrong, 0x111);
}

UNIT_TEST(bytes_are_known_before)
{
    static const size_t sizes[] = { 4, 1 << 20 };
    struct comm_lane lane[N_LANES];

    lanes(lane);
    struct job job = job_of(lane, sizes, 2);
    job.terms.rotated_bytes = 4 << 20;
    assert_int_equal(comm_bench_bytes(&job.terms, 2), 3 * (2 << 20)); /* private, input, what is walked */
    job.terms.memory = COMM_MEMORY_SHARED;
    assert_int_equal(comm_bench_bytes(&job.terms, 2), 5 * (2 << 20)); /* results and inputs again */
    job.terms.rotated_bytes = 0;
    assert_int_equal(comm_bench_bytes(&job.terms, 2), 4 << 20);
    job.terms.out_of_place = false;
    assert_int_equal(comm_bench_bytes(&job.terms, 2), 3 << 20);
}

UNIT_MAIN("comm_bench")
