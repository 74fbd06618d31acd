/* SPDX-License-Identifier: Apache-2.0 */
/* simgrid_flows.c - an actor for each message, which waits for its time and then for SimGrid's transfer. */
#include "harness/world/suite/simgrid_flows.h"

#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <stdlib.h>

#include "harness/world/suite/simgrid_platform.h"

struct message {
    const struct kit_flows *k;
    int number;
    double *arrived_s;
};

static enum rc write(FILE *f, const void *arg)
{
    return simgrid_topology_write(f, arg);
}

static sg_host_t host_of(const struct kit_flows *k, int rank, int other)
{
    const bool is_local = topology_slot(&k->topology, rank) == topology_slot(&k->topology, other);
    char name[32];

    snprintf(name, sizeof name, "%s-%d", is_local ? "local" : "rank", rank);
    return sg_host_by_name(name);
}

static void message_main(int argc, char **argv)
{
    const struct message *m = sg_actor_get_data(sg_actor_self());
    const struct kit_flow *flow = &m->k->flow[m->number];

    (void)argc;
    (void)argv;
    if (flow->at_s > 0)
        sg_actor_sleep_for(flow->at_s);
    sg_host_sendto(host_of(m->k, flow->from, flow->to), host_of(m->k, flow->to, flow->from), flow->n_bytes);
    m->arrived_s[m->number] = simgrid_get_clock();
}

enum rc simgrid_flows_play(const struct kit_flows *k, double *arrived_s)
{
    struct message *message = calloc((size_t)k->n, sizeof *message);
    enum rc rc = RC_OK;

    if (!message)
        return rc_raise(RC_NOMEM, "no memory for %d messages", k->n);
    simgrid_platform_init();
    TRY(simgrid_platform_load(write, &k->topology));
    for (int i = 0; i < k->n; i++) {
        sg_actor_t actor = sg_actor_init("message", host_of(k, k->flow[i].from, k->flow[i].to));
        message[i] = (struct message){ k, i, arrived_s };
        sg_actor_set_data(actor, &message[i]);
        sg_actor_start(actor, message_main, 0, NULL);
    }
    simgrid_run();
out:
    free(message);
    return rc;
}
