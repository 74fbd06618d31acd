/* SPDX-License-Identifier: Apache-2.0 */
/* rank_settings_test.c - what a rank's compute is opened with: precision and threads of the command line. */
#include <stdio.h>
#include <string.h>

#include "allreduce/collective_list.h"
#include "harness/base/suite/unit.h"
#include "harness/exchange/collective.h"
#include "harness/train/rank_state.h"
#include "harness/train/suite/train_kit.h"

/* cpu has no tf32. That the job asks for it is set behind preparation, which would refuse it, too. */
UNIT_TEST(precision_reaches_the_compute)
{
    struct train_result result = { 0 };
    struct train_job job;

    assert_int_equal(kit_prepare(&job, "--model linear --batch 8 --steps 1"), RC_OK);
    job.precision = PRECISION_TF32;
    assert_int_equal(kit_run(&job, &result), RC_UNSUPPORTED);
    assert_non_null(strstr(rc_message(), "precision tf32"));
    train_result_free(&result);
    train_job_free(&job);
}

UNIT_TEST(result_has_the_threads)
{
    for (int n = 1; n <= 3; n++) {
        struct train_result r = { 0 };
        char options[100];
        snprintf(options, sizeof options, "--model linear --batch 8 --steps 1 --threads %d", n);
        kit_must_train(&r, options);
        assert_int_equal(r.n_threads, n);
        train_result_free(&r);
    }
}

/* How workers and servers of every mode wait, and how many chunks of a worker are under way at once,
 * on hosts with so many cores. */

enum { MAX_RANKS = 8 };

struct seen { /* by each rank */
    const struct train_job *job;
    int n_cores;
    enum wait_policy result[MAX_RANKS];
    bool may_spin[MAX_RANKS], pool_may_spin[MAX_RANKS];
    int n_in_flight[MAX_RANKS], told_in_flight[MAX_RANKS]; /* of the exchange; of the result */
};

static enum rc choose_body(struct world *w, void *arg)
{
    struct seen *seen = arg;
    struct rank r = { .world = w, .job = seen->job };
    enum rc rc;

    w->n_host_cores = seen->n_cores; /* not what this machine has */
    w->n_own_cores = (int)seen->job->opts.threads;
    TRY(rank_choose_overlap(&r));
    TRY(rank_choose_wait(&r));
    rank_choose_flight(&r);
    seen->n_in_flight[w->rank] = r.exchanging.n_in_flight;
    seen->told_in_flight[w->rank] = r.result.overlap.n_in_flight;
    seen->result[w->rank] = r.result.wait;
    seen->may_spin[w->rank] = world_may_spin(w);
    seen->pool_may_spin[w->rank] = rank_pool_may_spin(&r);
out:
    return rc;
}

/* What the ranks of a run with these options choose where there are so many cores. *job: the caller's to free. */
static struct seen see(struct train_job *job, int n_cores, const char *given)
{
    struct seen seen = { .job = job, .n_cores = n_cores };
    char options[200];

    (void)snprintf(options, sizeof options, "--model linear --world threads %s", given);
    print_message("%d cores: %s\n", n_cores, given);
    assert_int_equal(kit_prepare(job, options), RC_OK);
    assert_int_equal(world_run(job->world, &(struct world_opts){ 0 }, job->n_ranks, choose_body, &seen), RC_OK);
    return seen;
}

UNIT_TEST(workers_and_servers)
{
    static const struct {
        int n_cores;
        const char *options;
        bool workers_spin, servers_spin, pools_spin;
    } run[] = {
        { 2, "--mode single --threads 1", true, false, true },
        { 2, "--mode none --workers 2 --threads 1", true, false, true },
        { 2, "--mode allreduce --workers 2 --threads 1", true, false, true },
        { 2, "--mode ps --workers 2 --threads 1", false, false, true }, /* there is none for its server */
        { 3, "--mode ps --workers 2 --threads 1", true, true, true },
        { 3, "--mode ps --workers 2 --servers 2 --threads 1", false, false, true },
        { 4, "--mode ps --workers 2 --servers 2 --threads 1", true, true, true },
        { 2, "--mode ps --workers 3 --threads 1", false, false, true }, /* more workers than cores */
        { 2, "--mode allreduce --workers 4 --threads 1", false, false, true },
        { 3, "--mode allreduce --workers 2 --threads 2", false, false, true }, /* than which there are threads */
        { 4, "--mode allreduce --workers 2 --threads 2", true, false, true },
        { 2, "--mode ps --workers 1 --threads 2", true, true, true }, /* its pool rests while it waits */
        { 4, "--mode ps --workers 2 --threads 2", true, true, true },
        { 5, "--mode ps --workers 2 --threads 2", true, true, true },
        { 3, "--mode allreduce --workers 2 --threads 1 --overlap on", false, false, false }, /* communicators */
        { 4, "--mode allreduce --workers 2 --threads 1 --overlap on", true, false, true },
        { 4, "--mode ps --workers 2 --threads 1 --overlap on", false, false, true },
        { 5, "--mode ps --workers 2 --threads 1 --overlap on", true, true, true },
        { 2, "--mode allreduce --workers 2 --threads 1 --overlap auto --partition-bytes 4", true, false, true },
        { 8, "--mode ps --workers 2 --threads 1 --wait sleep", false, false, true }, /* as the user says */
        { 1, "--mode allreduce --workers 2 --threads 1 --wait spin", true, false, true },
        { 2, "--mode ps --workers 2 --threads 1 --wait spin", true, false, true },
        { 3, "--mode ps --workers 2 --threads 1 --wait spin", true, true, true },
    };

    for (size_t i = 0; i < sizeof run / sizeof *run; i++) {
        struct train_job job;
        const struct seen seen = see(&job, run[i].n_cores, run[i].options);
        for (int r = 0; r < job.n_ranks; r++) {
            assert_int_equal(seen.result[r], run[i].workers_spin ? WAIT_SPIN : WAIT_SLEEP);
            assert_int_equal(seen.may_spin[r], r < job.n_workers ? run[i].workers_spin : run[i].servers_spin);
            if (r < job.n_workers)
                assert_int_equal(seen.pool_may_spin[r], run[i].pools_spin);
        }
        train_job_free(&job);
    }
}

/* A thread of the library moves the bytes, beside that of each worker. */
UNIT_TEST(library_threads)
{
    const struct collective_ops *gloo = NULL;
    struct train_job job;

    if (collective_find(&gloo, &collective_kind, "gloo") != RC_OK) {
        rc_clear();
        skip();
    }
    for (int n_cores = 2; n_cores <= 4; n_cores++) {
        const struct seen seen = see(&job, n_cores, "--mode allreduce --reducer gloo --workers 2 --threads 1");
        assert_int_equal(seen.result[0], n_cores < 4 ? WAIT_SLEEP : WAIT_SPIN);
        train_job_free(&job);
    }
}

UNIT_TEST(chunks_at_once)
{
    static const struct {
        int n_cores;
        const char *options;
        int n_in_flight;
    } run[] = {
        { 8, "--mode none --workers 2 --threads 1", 0 }, /* which have one chunk under way, and no number */
        { 8, "--mode allreduce --workers 2 --threads 1", 0 },
        { 2, "--mode ps --workers 1 --threads 1", 8 },
        { 2, "--mode ps --workers 2 --threads 1", 1 }, /* there is no core for its server */
        { 3, "--mode ps --workers 2 --threads 1", 8 },
        { 3, "--mode ps --workers 2 --threads 2", 1 }, /* nor for all threads */
        { 4, "--mode ps --workers 2 --threads 2", 8 },
        { 4, "--mode ps --workers 2 --threads 1 --overlap on", 1 }, /* nor for the communicators */
        { 5, "--mode ps --workers 2 --threads 1 --overlap on", 8 },
        { 8, "--mode ps --workers 2 --threads 1 --colocate", 1 },   /* servers on cores of workers */
        { 3, "--mode ps --workers 2 --threads 1 --wait sleep", 8 }, /* the cores are there all the same */
        { 2, "--mode ps --workers 2 --threads 1 --wait spin", 1 },
        { 2, "--mode ps --workers 2 --threads 1 --in-flight 3", 3 }, /* as the user says */
        { 8, "--mode ps --workers 2 --threads 1 --in-flight 1", 1 },
    };

    for (size_t i = 0; i < sizeof run / sizeof *run; i++) {
        struct train_job job;
        const struct seen seen = see(&job, run[i].n_cores, run[i].options);
        for (int r = 0; r < job.n_ranks; r++) {
            assert_int_equal(seen.n_in_flight[r], run[i].n_in_flight);
            assert_int_equal(seen.told_in_flight[r], run[i].n_in_flight);
        }
        train_job_free(&job);
    }
}

static enum rc bare_body(struct world *w, void *arg)
{
    struct seen *seen = arg;

    w->n_own_cores = 1; /* of two threads */
    struct rank r = { .world = w, .job = seen->job, .has_cores = true };
    seen->pool_may_spin[0] = rank_pool_may_spin(&r);
    w->n_own_cores = 2;
    seen->pool_may_spin[1] = rank_pool_may_spin(&r);
    return RC_OK;
}

/* Two threads on one core do not. */
UNIT_TEST(a_pool_spins_on_its_own_cores)
{
    struct train_job job;

    assert_int_equal(kit_prepare(&job, "--model linear --mode none --threads 2"), RC_OK);
    struct seen seen = { .job = &job };
    assert_int_equal(world_run(job.world, &(struct world_opts){ 0 }, 1, bare_body, &seen), RC_OK);
    assert_false(seen.pool_may_spin[0]);
    assert_true(seen.pool_may_spin[1]);
    train_job_free(&job);
}

UNIT_MAIN("rank_settings")
