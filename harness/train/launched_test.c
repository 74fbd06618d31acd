/* SPDX-License-Identifier: Apache-2.0 */
/* launched_test.c - workers and servers where a launcher started the ranks, and what a world's refusal is blamed on. */
#include <string.h>

#include "harness/base/suite/unit.h"
#include "harness/train/suite/train_kit.h"

/* The world was left out of this build. */
static bool is_unbuilt(enum rc rc)
{
    return rc == RC_UNSUPPORTED;
}

UNIT_TEST(ranks_become_workers_and_servers)
{
    static const struct {
        const char *options;
        int n_launched, n_workers, n_servers;
    } cases[] = {
        { "--model linear --world mpi --mode none", 4, 4, 0 },
        { "--model linear --world mpi --mode single", 1, 1, 0 },
        { "--model linear --world mpi --mode single", 0, 1, 0 }, /* without a launcher it is alone */
        { "--model linear --world mpi --mode allreduce --workers 3", 3, 3, 0 },
        { "--model linear --world mpi --mode ps", 2, 1, 1 },
        { "--model linear --world mpi --mode ps", 5, 4, 1 },
        { "--model linear --world mpi --mode ps --servers 2", 5, 3, 2 },
        { "--model linear --world mpi --mode ps --servers 2 --workers 4", 6, 4, 2 },
        { "--model linear --world threads --mode none", 1, 1, 0 },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct train_job job = { 0 };
        const enum rc rc = kit_prepare_launched(&job, cases[i].options, cases[i].n_launched);
        if (is_unbuilt(rc))
            continue;
        if (rc != RC_OK)
            fail_msg("%s: %s", cases[i].options, rc_message());
        if (job.n_workers != cases[i].n_workers || job.n_servers != cases[i].n_servers ||
            job.n_ranks != cases[i].n_workers + cases[i].n_servers)
            fail_msg("%s: %d workers, %d servers, %d ranks", cases[i].options, job.n_workers, job.n_servers,
                     job.n_ranks);
        train_job_free(&job);
    }
}

UNIT_TEST(what_does_not_fit_is_refused)
{
    static const struct {
        const char *options;
        int n_launched;
        const char *says;
    } cases[] = {
        { "--model linear --world mpi --mode ps --servers 3", 3,
          "--mode ps: 3 ranks were launched, 3 servers and a worker need 4" },
        { "--model linear --world mpi --mode ps", 1,
          "--mode ps: 1 ranks were launched, 1 servers and a worker need 2" },
        { "--model linear --world mpi --mode none --workers 2", 3,
          "--workers 2: with 0 servers that is 2 ranks, but 3 were launched" },
        { "--model linear --world mpi --mode ps --workers 2 --servers 2", 3,
          "--workers 2: with 2 servers that is 4 ranks, but 3 were launched; launch 4, as mpirun -np 4 does" },
        { "--model linear --world mpi --mode allreduce --workers 2", 1,
          "--workers 2: with 0 servers that is 2 ranks, but 1 was launched; launch 2" },
        { "--model lenet --world mpi --mode ps --colocate --workers 3", 4,
          "--workers 3: with 3 servers, one beside each worker, that is 6 ranks, but 4 were launched; launch 6, or "
          "give "
          "--servers 1" },
        { "--model linear --world mpi --mode single", 2,
          "--workers 2: mode single has one worker; use --mode allreduce" },
        { "--model linear --world threads --mode none", 2, "--world threads: 2 processes were launched" },
        { "--model lenet --world sim --compute hollow --save x", 0, "a hollow run has no parameters" },
        { "--model lenet --mode allreduce --workers 2 --world threads --reducer mpi", 0,
          "--reducer mpi: needs --world" },
        { "--model lenet --mode allreduce --world mpi --reducer mpi --overlap on", 2, "add --mpi.nonblocking" },
        { "--model lenet --mode allreduce --world mpi --reducer mpi --mpi.nonblocking --on-loss report", 2,
          "--reducer mpi: with --on-loss report" },
        { "--model lenet --mode allreduce --workers 2 --world sim --reducer gloo", 0, "--reducer gloo: needs --world" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct train_job job = { 0 };
        const enum rc rc = kit_prepare_launched(&job, cases[i].options, cases[i].n_launched);
        train_job_free(&job);
        if (is_unbuilt(rc))
            continue;
        if (rc != RC_INVAL || !strstr(rc_message(), cases[i].says))
            fail_msg("%s: %s \"%s\" does not say \"%s\"", cases[i].options, rc_name(rc), rc_message(), cases[i].says);
    }
}

/* A task that exchanges calls MPI where the reducer is MPI's, whatever carries other messages. */
UNIT_TEST(tasks_that_call_mpi_need_its_lock)
{
    static const struct {
        const char *options;
        bool has_tasks;
    } cases[] = {
        { "--model lenet --mode allreduce --world mpi --transport mpi --overlap on", true },
        { "--model lenet --mode allreduce --world mpi --transport zmq --overlap on", false },
        { "--model lenet --mode allreduce --world mpi --transport zmq --overlap on --reducer mpi --mpi.nonblocking",
          true },
        { "--model lenet --mode allreduce --world mpi --transport zmq --reducer mpi", false },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct train_job job = { 0 };
        const enum rc rc = kit_prepare_launched(&job, cases[i].options, 2);
        const bool has_tasks = rc == RC_OK && train_world_opts(&job).has_tasks;
        train_job_free(&job);
        if (is_unbuilt(rc))
            continue;
        if (rc != RC_OK || has_tasks != cases[i].has_tasks)
            fail_msg("%s: %s \"%s\", tasks: %d", cases[i].options, rc_name(rc), rc_message(), has_tasks);
    }
}

UNIT_TEST(a_refusal_names_the_option)
{
    static const struct {
        struct world_opts world;
        enum rc ran;
        const char *says;
    } cases[] = {
        { { .has_tasks = true }, RC_UNSUPPORTED, "--overlap on: it cannot" },
        { { .has_tasks = true, .on_loss = ON_LOSS_REPORT }, RC_UNSUPPORTED, "--overlap on: it cannot" },
        { { .on_loss = ON_LOSS_REPORT }, RC_UNSUPPORTED, "--on-loss report: it cannot" },
        { { .on_loss = ON_LOSS_ABORT }, RC_UNSUPPORTED, "it cannot" },
        { { .has_tasks = true, .on_loss = ON_LOSS_REPORT }, RC_PEER, "it cannot" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const enum rc ran = rc_raise(cases[i].ran, "it cannot");
        assert_int_equal(train_explain_refusal(&cases[i].world, ran), cases[i].ran);
        assert_string_equal(rc_message(), cases[i].says);
    }
}

UNIT_MAIN("launched")
