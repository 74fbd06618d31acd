/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overlap_refused_test.c on|off|auto|zmq - a training under an MPI that lets only the main thread call it: with overlap
 * it is refused, and the reason names the option; without, where that is left open, or where the communicator sends
 * over ZeroMQ, it runs. Under mpiexec; the exit code tells.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "harness/train/suite/train_kit.h"
#include "harness/train/train.h"

static int asked;

/* Replaces MPI's own for this program. */
int MPI_Init_thread(int *argc, char ***argv, int wanted, int *granted)
{
    const int code = PMPI_Init_thread(argc, argv, wanted, granted);

    asked = wanted;
    *granted = MPI_THREAD_FUNNELED;
    return code;
}

static enum rc count_body(struct world *w, void *arg)
{
    ++*(int *)arg;
    return world_barrier(w);
}

static int run_case(const char *what)
{
    static const char *const base = "--world mpi --mode allreduce --model linear";
    const bool is_on = strcmp(what, "on") == 0, is_zmq = strcmp(what, "zmq") == 0, is_auto = strcmp(what, "auto") == 0;
    struct train_job job = { 0 };
    char options[200];
    int n_bodies = 0, n_failures = 0;

    (void)snprintf(options, sizeof options, "%s --overlap %s --transport %s --partition-bytes 4", base,
                   is_zmq ? "on" : what, is_zmq ? "zmq" : "mpi");
    if (kit_prepare_launched(&job, options, world_launcher().n_ranks) != RC_OK)
        return 1;
    const struct world_opts world = train_world_opts(&job);
    const enum rc rc = train_explain_refusal(&world, world_run(job.world, &world, 0, count_body, &n_bodies));
    n_failures += rc != (is_on ? RC_UNSUPPORTED : RC_OK) || n_bodies != !is_on;
    n_failures += asked != (is_on || is_auto ? MPI_THREAD_SERIALIZED : MPI_THREAD_FUNNELED);
    n_failures +=
        is_on && strcmp(rc_message(), "--overlap on: world mpi: MPI_THREAD_SERIALIZED was asked for, since tasks "
                                      "beside the main one are to send messages, but MPI grants "
                                      "MPI_THREAD_FUNNELED") != 0;
    train_job_free(&job);
    return n_failures;
}

int main(int argc, char **argv)
{
    const int n_failures = argc == 2 ? run_case(argv[1]) : 1;

    if (n_failures > 0)
        fprintf(stderr, "%d failures; last error: %s\n", n_failures, rc_message());
    return n_failures > 0;
}
