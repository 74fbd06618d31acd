/* SPDX-License-Identifier: Apache-2.0 */
/* transport_suite_test.c WORLD TRANSPORT RANKS [tasks|lo] - run transport_suite; RANKS 0: as many as were launched;
 * tasks: in a world whose tasks may all send; lo: where hosts are reached by that network interface. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/net/suite/transport_suite.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"

struct job {
    const struct transport_ops *ops;
    atomic_int n_failures; /* of the ranks in this process */
};

static enum rc body(struct world *w, void *arg)
{
    struct job *job = arg;

    atomic_fetch_add(&job->n_failures, transport_suite(w, job->ops));
    return RC_OK;
}

int main(int argc, char **argv)
{
    const bool is_lo = argc == 5 && strcmp(argv[4], "lo") == 0;
    const struct world_opts opts = { .has_tasks = argc == 5 && !is_lo, .interface = is_lo ? argv[4] : NULL };
    const struct world_ops *world;
    struct job job = { 0 };
    enum rc rc;

    if (argc != 4 && !is_lo && (argc != 5 || strcmp(argv[4], "tasks") != 0))
        return 2;
    TRY(world_find(&world, argv[1]));
    TRY(transport_find(&job.ops, argv[2]));
    TRY(world_run(world, &opts, atoi(argv[3]), body, &job));
out:
    if (rc != RC_OK)
        fprintf(stderr, "%s: %s\n", rc_name(rc), rc_message());
    return rc != RC_OK || atomic_load(&job.n_failures) > 0;
}
