/* SPDX-License-Identifier: Apache-2.0 */
/* transport_sim_kit.c - a simulation with a transport on every rank, for tests. */
#include "harness/net/suite/transport_sim_kit.h"

#include <stdio.h>

#include "harness/cluster/cluster.h"

struct job {
    sim_test_body *body;
    struct seen *seen;
};

static enum rc job_body(struct world *w, void *arg)
{
    const struct job *job = arg;
    struct transport *t = NULL;
    enum rc rc;

    TRY(transport_open(&t, &transport_sim, w));
    TRY(job->body(t, job->seen));
    job->seen->n_returned++;
out:
    transport_close(&t);
    return rc;
}

enum rc run_sim_on(struct seen *seen, int n_workers, int n_ranks, const char *settings, sim_test_body *body)
{
    struct job job = { body, seen };
    struct cluster c;
    const struct world_opts opts = { .cluster = &c, .n_bound_ranks = n_workers };
    enum rc rc;

    cluster_default(&c);
    TRY(cluster_set(&c, NULL, settings));
    TRY(world_run(&world_sim, &opts, n_ranks, job_body, &job));
out:
    return rc;
}

enum rc run_sim(struct seen *seen, int n_ranks, int n_ranks_per_host, sim_test_body *body)
{
    char settings[64];

    snprintf(settings, sizeof settings, "ranks_per_host_count=%d", n_ranks_per_host);
    return run_sim_on(seen, n_ranks, n_ranks, settings, body);
}

void note(struct transport *t, struct seen *seen, enum rc rc)
{
    seen->rc[t->world->rank] = rc;
    snprintf(seen->message[t->world->rank], RC_MESSAGE_BYTES, "%s", rc_message());
}

double now_ns(struct transport *t)
{
    return (double)world_now_ns(t->world);
}

enum rc send_to(struct transport *t, int peer, uint32_t tag, const void *data, size_t n_bytes, size_t n_hollow_bytes)
{
    struct xfer x = {
        .ptr = (void *)(uintptr_t)data, .n_bytes = n_bytes, .n_hollow_bytes = n_hollow_bytes, .peer = peer, .tag = tag
    };
    enum rc rc;

    TRY(transport_send(t, &x));
    TRY(transport_wait(t, &x, SECOND_MS));
out:
    return rc;
}

enum rc receive_from(struct transport *t, int peer, uint32_t tag, void *data, size_t n_bytes)
{
    struct xfer x = { .ptr = data, .n_bytes = n_bytes, .peer = peer, .tag = tag };
    enum rc rc;

    TRY(transport_recv(t, &x));
    TRY(transport_wait(t, &x, 1000 * SECOND_MS));
out:
    return rc;
}
