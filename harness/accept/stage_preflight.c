/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stage_preflight.c - the first rank of each node tells rank 0 what the node is, before anything is measured. In
 * virtual time the description alone tells: of ranks and links.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/accept/node_facts.h"
#include "harness/accept/preflight_rows.h"
#include "harness/accept/stages.h"

/* "2 for cuda, NVIDIA H200": of every backend that computes on GPUs, by what this rank sees; the name of the one in
 * use. Of a driver that is faulty what it says: none is not what such a node has. */
static void find_gpus(char out[NODE_TEXT_BYTES], const struct stage_env *env)
{
    const struct module *m;

    for (int i = 0; (m = compute_kind.at(i)); i++) {
        const struct compute_backend *b = (const struct compute_backend *)m;
        const size_t n = strlen(out);
        char name[64] = "";
        int n_devices = 0;
        const enum rc rc = b->device_count ? b->device_count(&n_devices) : RC_UNSUPPORTED;
        if (rc != RC_OK || n_devices == 0) {
            if (rc == RC_DEVICE)
                (void)snprintf(out + n, NODE_TEXT_BYTES - n, "%s%.100s", n > 0 ? "; " : "", rc_message());
            rc_clear();
            continue;
        }
        if (env->compute->ops == b && b->device_name)
            b->device_name(env->compute, name, sizeof name);
        (void)snprintf(out + n, NODE_TEXT_BYTES - n, "%s%d for %s%s%s", n > 0 ? "; " : "", n_devices, m->name,
                       name[0] ? ", " : "", name);
    }
}

/* accept.D4: of a simulated node what the description says. */
static void read_facts(struct node_facts *out, const struct stage_env *env)
{
    struct world *w = env->world;
    const int node = env->fleet->node_of_rank[w->rank];

    node_facts_init(out);
    if (env->fleet->first_rank[node] != w->rank)
        return;
    out->number[NUMBER_RANKS] = env->fleet->n_node_ranks[node];
    if (stage_is_virtual(env)) {
        out->number[NUMBER_LINK_BITS_PER_S] = w->link_bytes_per_s > 0 ? 8 * w->link_bytes_per_s : NAN;
        return;
    }
    node_facts_read(out, "");
    node_facts_read_clock(out, w);
    find_gpus(out->text[TEXT_GPUS], env);
    if (w->n_host_cores > 0)
        out->number[NUMBER_CORES] = w->n_host_cores;
    if (w->ops->module.caps & WORLD_LAUNCHED) { /* else nothing leaves this process */
        node_facts_read_own_link(out, w->interface);
        if (env->transport->module.needs_world & WORLD_HAS_MPI) /* which takes the fastest network that it knows */
            node_facts_read_fastest_port(out, "");
    }
}

enum rc stage_preflight(struct stage_env *env)
{
    struct node_facts own, *all = NULL;
    enum rc rc;

    read_facts(&own, env);
    if (env->out) {
        all = malloc((size_t)env->fleet->n_ranks * sizeof *all);
        if (!all)
            FAIL(RC_NOMEM, "no memory for the facts of %d ranks", env->fleet->n_ranks);
    }
    TRY(world_gather(env->world, &own, all, sizeof own));
    if (env->out)
        TRY(preflight_compare(env->out, all, env->criteria));
out:
    free(all);
    return rc;
}
