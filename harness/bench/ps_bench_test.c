/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ps_bench_test.c - how arrays are cut, which bound there is, whose turn it is and whose time counts, and what is
 * counted as wrong, in world threads. The linker puts ps_complete() of this file before the real one.
 */
#include "harness/bench/ps_bench.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/suite/unit.h"
#include "harness/compute/compute.h"
#include "harness/exchange/sync_mode.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"
#include "ps/ps.h"

enum { N_WORKERS = 2, N_SERVERS = 2, N_BYTES = 64000, N_REPEATS = 6 };
#define SLOW_NS UINT64_C(20000000)

struct job {
    struct ps_terms terms;
    struct ps_results results;
    bool spoils;  /* in each answer that a worker takes an element is 1 too many */
    bool is_slow; /* worker 1 takes SLOW_NS longer for each */
    atomic_int n_ended;
};

static struct job *watched; /* by ps_complete(): set while a world runs */

enum rc __real_ps_complete(struct sync *s, float *param, struct chunk_cost *out);
enum rc __wrap_ps_complete(struct sync *s, float *param, struct chunk_cost *out);

enum rc __wrap_ps_complete(struct sync *s, float *param, struct chunk_cost *out)
{
    const enum rc rc = __real_ps_complete(s, param, out);

    atomic_fetch_add(&watched->n_ended, 1);
    if (watched->is_slow && s->env.world->rank == 1)
        world_pause(s->env.world, SLOW_NS);
    if (watched->spoils)
        param[0] += 1;
    return rc;
}

static enum rc body(struct world *w, void *arg)
{
    struct job *job = arg;
    struct compute *c = NULL;
    enum rc rc;

    TRY(compute_open(&c, &compute_cpu, NULL));
    TRY(ps_bench(w->rank == 0 ? &job->results : NULL, w, c, &job->terms));
out:
    compute_close(&c);
    return rc;
}

static const struct transport_ops *transport(const char *name)
{
    const struct transport_ops *ops = NULL;

    assert_int_equal(transport_find(&ops, name), RC_OK);
    return ops;
}

static void run(struct job *job)
{
    const struct world_ops *threads = NULL;

    assert_int_equal(world_find(&threads, "threads"), RC_OK);
    watched = job;
    if (world_run(threads, &(struct world_opts){ .timeout_ms = 0 }, job->terms.n_workers + job->terms.n_servers, body,
                  job) != RC_OK)
        fail_msg("%s", rc_message());
}

static struct job job_of(const char *name, const size_t *n_bytes, int n_sizes)
{
    return (struct job){ .terms = { .plan = { .n_bytes = n_bytes,
                                              .n_sizes = n_sizes,
                                              .least_repeats = N_REPEATS,
                                              .most_repeats = N_REPEATS,
                                              .n_warmup = 1,
                                              .budget_s = 1e6 },
                                    .n_workers = N_WORKERS,
                                    .n_servers = N_SERVERS,
                                    .partition_bytes = 16000,
                                    .transport = transport(name),
                                    .timeout_ms = 120000 } };
}

UNIT_TEST(arrays_are_cut_into_equal_parts)
{
    static const struct {
        size_t n_bytes, partition_bytes;
        int n_servers;
        size_t n_chunks, n_part_elems;
    } cut[] = { { 1024, 0, 1, 1, 256 },
                { 1024, 0, 3, 1, 86 },
                { 1024, 256, 1, 4, 64 },
                { 1000, 256, 1, 4, 63 },
                { 1024, 4096, 2, 1, 128 },
                { 4, 4, 8, 1, 1 },
                { 64 << 20, 1 << 20, 4, 64, 65536 },
                { 40004, 4096, 2, 10, 501 } };

    for (size_t i = 0; i < sizeof cut / sizeof *cut; i++) {
        const struct ps_terms terms = { .n_servers = cut[i].n_servers, .partition_bytes = cut[i].partition_bytes };
        const struct ps_cut got = ps_cut_of(&terms, cut[i].n_bytes);
        assert_int_equal(got.n_chunks, cut[i].n_chunks);
        assert_int_equal(got.n_part_elems, cut[i].n_part_elems);
    }
}

UNIT_TEST(the_bound_goes_the_same_way)
{
    static const struct world_ops inside = { .module.caps = WORLD_SHARED_MEMORY }, processes = { .module.caps = 0 },
                                  simulated = { .module.caps = WORLD_SHARED_MEMORY | WORLD_VIRTUAL_TIME };
    static const struct {
        const char *name;
        const struct world_ops *world;
        enum ps_echo_kind kind;
    } way[] = { { "inproc", &inside, PS_ECHO_MEMORY },      { "zmq", &inside, PS_ECHO_MEMORY },
                { "ipc", &inside, PS_ECHO_ZEROMQ },         { "tcp", &inside, PS_ECHO_ZEROMQ },
                { "zmq", &processes, PS_ECHO_ZEROMQ },      { "ipc", &processes, PS_ECHO_ZEROMQ },
                { "shm", &inside, PS_ECHO_TWO_COPY },       { "shm", &processes, PS_ECHO_TWO_COPY },
                { "inproc", &simulated, PS_ECHO_TRANSPORT } };

    for (size_t i = 0; i < sizeof way / sizeof *way; i++) {
        const struct world w = { .ops = way[i].world };
        assert_int_equal(ps_echo_kind_of(transport(way[i].name), &w), way[i].kind);
    }
}

/* Every size has its row, each lane as many repeats; all chunks of all calls are moved, and nothing is wrong. */
UNIT_TEST(every_lane_has_its_repeats_N3)
{
    static const size_t n_bytes[] = { 8, N_BYTES };
    static const char *const names[] = { "inproc", "tcp", "shm" };

    for (int t = 0; t < 3; t++) {
        struct job job = job_of(names[t], n_bytes, 2);
        uint64_t n_moved = 0;
        run(&job);
        assert_int_equal(job.results.n_rows, 2);
        for (int i = 0; i < 2; i++) {
            const struct ps_row *row = &job.results.row[i];
            assert_int_equal(row->n_bytes, n_bytes[i]);
            assert_int_equal(row->n_chunks, i == 0 ? 1 : 4);
            assert_true(row->is_checked && row->n_wrong == 0);
            for (int lane = 0; lane < PS_N_LANES; lane++) {
                const struct ps_figure *f = &row->figure[lane];
                assert_int_equal(f->n_repeats, N_REPEATS);
                assert_int_equal(f->n_latencies, (uint64_t)(N_WORKERS * N_REPEATS * f->n_calls));
                assert_true(f->time_s > 0 && f->low_s <= f->time_s && f->time_s <= f->high_s && f->p50_s <= f->p99_s);
                if (lane != PS_LANE_BOUND) /* one call of each warms up */
                    n_moved += (uint64_t)N_WORKERS * row->n_chunks * (uint64_t)(1 + N_REPEATS * f->n_calls);
            }
        }
        assert_int_equal(atomic_load(&job.n_ended), n_moved);
        ps_results_close(&job.results);
    }
}

/* The first element of all that worker 1 holds is wrong after each pull, of one block: as often as repeats are checked.
 */
UNIT_TEST(what_is_wrong_is_counted_N5)
{
    static const size_t n_bytes[] = { N_BYTES };
    struct job job = job_of("inproc", n_bytes, 1);

    job.spoils = true;
    job.terms.n_workers = 1;
    job.terms.partition_bytes = 0;
    run(&job);
    assert_int_equal(job.results.row[0].n_wrong, 2 * (1 + N_REPEATS));
    ps_results_close(&job.results);
}

/* Time is the slowest worker's: where one takes 20 ms more for each, so does a call of all. */
UNIT_TEST(the_slowest_worker_counts_N2)
{
    static const size_t n_bytes[] = { 1024 };
    struct job job = job_of("inproc", n_bytes, 1);

    job.is_slow = true;
    run(&job);
    for (int lane = 0; lane < PS_LANE_BOUND; lane++)
        assert_true(job.results.row[0].figure[lane].time_s >= 0.02);
    ps_results_close(&job.results);
}

UNIT_MAIN("ps_bench")
