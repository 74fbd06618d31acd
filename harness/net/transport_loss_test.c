/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transport_loss_test.c WORLD TRANSPORT RANKS dies|hangs all|CASE - run the cases of transport_loss_suite, each in a
 * run of its own; RANKS 0: as many as were launched, and one case a process.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/net/suite/transport_loss_suite.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"

enum { TIMEOUT_MS = 60000 };
#define HANG_NS UINT64_C(15000000000)
#define LONG_NS UINT64_C(120000000000) /* of a rank that ends, which is noticed without a limit */

struct job {
    const struct transport_ops *ops;
    struct transport_loss_plan plan;
    atomic_int n_failures, n_returned; /* of the ranks in this process */
};

static enum rc body(struct world *w, void *arg)
{
    struct job *job = arg;
    const int n_failures = transport_loss_suite(w, job->ops, &job->plan);

    atomic_fetch_add(&job->n_failures, n_failures);
    atomic_fetch_add(&job->n_returned, 1);
    return n_failures == 0 ? RC_OK : rc_raise(RC_MISMATCH, "%d expectations failed", n_failures);
}

/* True: all survivors have returned, and none has a failure. */
static bool run_case(const struct world_ops *world, struct job *job, int n_ranks)
{
    const uint64_t abort_ns = job->plan.hangs ? HANG_NS : LONG_NS;
    const struct world_opts opts = { .stall = { .warn_ns = abort_ns / 3, .abort_ns = abort_ns },
                                     .on_loss = ON_LOSS_REPORT };
    const enum rc rc = world_run(world, &opts, n_ranks, body, job);
    const int n_returned = atomic_load(&job->n_returned), n_expected = n_ranks > 0 ? n_ranks - 1 : 1;

    if (rc != RC_OK)
        fprintf(stderr, "%s: %s\n", rc_name(rc), rc_message());
    if (n_returned != n_expected)
        fprintf(stderr, "%s: %d ranks have returned\n", transport_loss_case(job->plan.nth), n_returned);
    return rc == RC_OK && n_returned == n_expected && atomic_load(&job->n_failures) == 0;
}

int main(int argc, char **argv)
{
    const struct world_ops *world;
    const struct transport_ops *ops;
    bool ok = true;
    int n_run = 0;

    if (argc != 6 || world_find(&world, argv[1]) != RC_OK || transport_find(&ops, argv[2]) != RC_OK)
        return 2;
    for (int i = 0; transport_loss_case(i); i++) {
        struct job job = { .ops = ops, .plan = { i, TIMEOUT_MS, strcmp(argv[4], "hangs") == 0 } };
        if (strcmp(argv[5], "all") != 0 && strcmp(argv[5], transport_loss_case(i)) != 0)
            continue;
        ok = run_case(world, &job, atoi(argv[3])) && ok;
        n_run++;
    }
    return ok && n_run > 0 ? 0 : 1;
}
