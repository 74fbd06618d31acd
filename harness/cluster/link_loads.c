/* SPDX-License-Identifier: Apache-2.0 */
/* link_loads.c - sums for each link. */
#include "harness/cluster/link_loads.h"

#include <stdlib.h>

enum rc link_loads_open(struct link_loads *out, const struct topology *t)
{
    const int n_cards = t->n_slots * t->cluster.n_nics_per_host;
    const int n_local = t->n_slots > t->n_ranks ? t->n_slots : t->n_ranks;
    struct link_loads l = {
        .topology = t,
        .n = { [LINK_LOCAL] = n_local,
               [LINK_LOCAL_IN] = t->n_ranks,
               [LINK_PROCESS] = t->n_ranks,
               [LINK_STAGE_OUT] = t->n_ranks,
               [LINK_STAGE_IN] = t->n_ranks,
               [LINK_NIC_UP] = n_cards,
               [LINK_NIC_DOWN] = n_cards,
               [LINK_NIC_BOTH] = n_cards,
               [LINK_GROUP_UP] = t->n_groups,
               [LINK_GROUP_DOWN] = t->n_groups,
               [LOAD_HANDLING] = t->n_ranks,
               [LOAD_SERVER] = t->n_ranks },
    };
    enum rc rc = RC_OK;

    for (int k = 0; k < N_LOADS; k++) {
        l.load[k] = calloc((size_t)l.n[k], sizeof *l.load[k]);
        if (!l.load[k])
            FAIL(RC_NOMEM, "no memory for the loads of %d links", l.n[k]);
        for (int i = 0; i < l.n[k]; i++)
            l.load[k][i].index = i;
    }
    *out = l;
    l = (struct link_loads){ .topology = NULL };
out:
    link_loads_close(&l);
    return rc;
}

void link_loads_close(struct link_loads *l)
{
    for (int k = 0; k < N_LOADS; k++)
        free(l->load[k]);
    *l = (struct link_loads){ .topology = NULL };
}

void link_loads_add(struct link_loads *l, int from, int to, uint64_t n_bytes)
{
    struct topology_link path[TOPOLOGY_MAX_PATH];
    const int n = topology_path(l->topology, from, to, path);
    const double handling_s = topology_message_s(l->topology, from, to);

    for (int i = 0; i < n; i++) /* cluster.Q1 */
        if (path[i].is_shared) {
            struct link_load *load = &l->load[path[i].kind][path[i].index];
            load->n_bytes += n_bytes;
            load->busy_s += (double)n_bytes / path[i].bytes_per_s;
        }
    l->load[LOAD_HANDLING][from].busy_s += handling_s;
    l->load[LOAD_HANDLING][to].busy_s += handling_s;
}

void link_loads_serve(struct link_loads *l, int rank, double seconds)
{
    l->load[LOAD_SERVER][rank].busy_s += seconds;
}

struct link_load link_loads_busiest(const struct link_loads *l, int kind)
{
    struct link_load most = { .index = 0 };

    for (int i = 0; i < l->n[kind]; i++)
        if (l->load[kind][i].busy_s > most.busy_s)
            most = l->load[kind][i];
    return most;
}

uint64_t link_loads_network_bytes(const struct link_loads *l)
{
    uint64_t n_bytes = 0;

    for (int i = 0; i < l->n[LINK_NIC_UP]; i++)
        n_bytes += l->load[LINK_NIC_UP][i].n_bytes;
    return n_bytes;
}

const char *load_kind_name(int kind)
{
    static const char *const name[N_LOADS] = {
        [LINK_LOCAL] = "local",           [LINK_LOCAL_IN] = "local_in", [LINK_PROCESS] = "process",
        [LINK_STAGE_OUT] = "stage_out",   [LINK_STAGE_IN] = "stage_in", [LINK_NIC_UP] = "nic_up",
        [LINK_NIC_DOWN] = "nic_down",     [LINK_NIC_BOTH] = "nic_both", [LINK_GROUP_UP] = "group_up",
        [LINK_GROUP_DOWN] = "group_down", [LOAD_HANDLING] = "handling", [LOAD_SERVER] = "server_compute",
    };

    return name[kind];
}
