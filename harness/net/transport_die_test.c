/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transport_die_test.c WORLD TRANSPORT wait|message - net.T10, W5: rank 1 dies while the others wait for it without a
 * limit. In threads, world_run() must name it; in mpi the job ends, which the caller checks.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "harness/net/transport.h"
#include "harness/world/world.h"

enum { N_RANKS = 3 };

struct job {
    const struct transport_ops *ops;
    bool by_message;
    atomic_int n_told;             /* ranks whose wait ended with RC_PEER */
    struct transport *left_behind; /* by rank 1: found by leak checkers */
};

static enum rc body(struct world *w, void *arg)
{
    struct job *job = arg;
    unsigned char in[8];
    struct xfer rx = { .ptr = in, .n_bytes = sizeof in, .peer = 1, .tag = 1 };
    struct transport *t = NULL;
    struct message m;
    enum rc rc;

    TRY(transport_open(&t, job->ops, w));
    if (w->rank == 1) {
        job->left_behind = t;
        world_pause(w, 30000000); /* the others wait by now; if not, they will notice later */
        world_die(w);
    }
    if (job->by_message) {
        TRY(transport_recv_message(t, &m, WAIT_FOREVER));
    } else {
        TRY(transport_recv(t, &rx));
        TRY(transport_wait(t, &rx, WAIT_FOREVER));
    }
out:
    if (rc == RC_PEER && strstr(rc_message(), "rank 1"))
        atomic_fetch_add(&job->n_told, 1);
    transport_close(&t);
    return rc;
}

int main(int argc, char **argv)
{
    const struct world_opts opts = { .bind_cores = false };
    const struct world_ops *world;
    static struct job job;

    if (argc != 4 || world_find(&world, argv[1]) != RC_OK || transport_find(&job.ops, argv[2]) != RC_OK)
        return 2;
    job.by_message = strcmp(argv[3], "message") == 0;
    const enum rc rc = world_run(world, &opts, strcmp(argv[1], "mpi") == 0 ? 0 : N_RANKS, body, &job);
    const int n_told = atomic_load(&job.n_told);
    fprintf(stderr, "%s: %s; %d ranks were notified\n", rc_name(rc), rc_message(), n_told);
    return rc == RC_PEER && strncmp(rc_message(), "rank 1:", 7) == 0 && n_told == N_RANKS - 1 ? 0 : 1;
}
