/* SPDX-License-Identifier: Apache-2.0 */
/*
 * simgrid_topology.c - a topology as SimGrid's XML: what links there are, and an edge for each step of a tree.
 *
 * A rank is two of SimGrid's hosts: one at its group's switch, for messages to other slots, and one at the router of
 * its slot, for those within it. A message goes between two of the same kind, so its path is one in a tree, and the
 * only one: Dijkstra's algorithm, which SimGrid offers for platforms as text, finds it, once for each sender. SimGrid
 * wants hosts, routers and links before routes.
 */
#include <stdlib.h>

#include "harness/cluster/topology.h"
#include "harness/world/suite/simgrid_flows.h"

static const char *const kind_name[TOPOLOGY_N_KINDS] = {
    [LINK_LOCAL] = "local",           [LINK_LOCAL_IN] = "local-in", [LINK_PROCESS] = "process",
    [LINK_STAGE_OUT] = "stage-out",   [LINK_STAGE_IN] = "stage-in", [LINK_NIC_UP] = "nic-up",
    [LINK_NIC_DOWN] = "nic-down",     [LINK_NIC_BOTH] = "nic-both", [LINK_GROUP_UP] = "group-up",
    [LINK_GROUP_DOWN] = "group-down",
};

static void write_link(FILE *f, const struct topology_link *l)
{
    fprintf(f, "<link id=\"%s-%d\" bandwidth=\"%.17gBps\" latency=\"%.17gs\" sharing_policy=\"%s\"/>\n",
            kind_name[l->kind], l->index, l->bytes_per_s, l->latency_s, l->is_shared ? "SHARED" : "FATPIPE");
}

/* Of all links, each once: those of a rank alone, and those of a slot by the first rank that has them. */
static void write_links_of(FILE *f, const struct topology *t, int rank)
{
    struct topology_link link[4 * TOPOLOGY_MAX_END] = { 0 };
    const bool is_first = topology_host_rank(t, rank) == 0;
    const bool has_card = topology_host_rank(t, rank) == topology_nic(t, rank); /* the first that uses it */
    bool has_process = false, has_both = false;
    int n = topology_links_out(t, rank, link);

    n += topology_links_in(t, rank, link + n);
    n += topology_local_out(t, rank, link + n);
    n += topology_local_in(t, rank, link + n);
    for (int i = 0; i < n; i++) {
        const enum topology_link_kind kind = link[i].kind;
        const bool is_of_slot = kind == LINK_LOCAL && t->cluster.local_sharing != SHARING_RANK;
        const bool is_of_card = kind == LINK_NIC_UP || kind == LINK_NIC_DOWN || kind == LINK_NIC_BOTH;
        if ((kind == LINK_PROCESS && has_process) || (kind == LINK_NIC_BOTH && has_both) || (is_of_slot && !is_first) ||
            (is_of_card && !has_card))
            continue;
        has_process |= kind == LINK_PROCESS;
        has_both |= kind == LINK_NIC_BOTH;
        write_link(f, &link[i]);
    }
}

/* An edge from one node to another over these links; none: over one that costs nothing, as SimGrid wants one. */
static void write_edge(FILE *f, const char *from, int from_index, const char *to, int to_index,
                       const struct topology_link *link, int n_links)
{
    fprintf(f, "<route src=\"%s-%d\" dst=\"%s-%d\" symmetrical=\"NO\">", from, from_index, to, to_index);
    for (int i = 0; i < n_links; i++)
        fprintf(f, "<link_ctn id=\"%s-%d\"/>", kind_name[link[i].kind], link[i].index);
    fputs(n_links > 0 ? "</route>\n" : "<link_ctn id=\"nothing\"/></route>\n", f);
}

static void write_edges_of(FILE *f, const struct topology *t, int rank)
{
    const int slot = topology_slot(t, rank), group = topology_group(t, slot);
    struct topology_link link[TOPOLOGY_MAX_END] = { 0 };

    write_edge(f, "rank", rank, "group", group, link, topology_links_out(t, rank, link));
    write_edge(f, "group", group, "rank", rank, link, topology_links_in(t, rank, link));
    write_edge(f, "local", rank, "slot", slot, link, topology_local_out(t, rank, link));
    write_edge(f, "slot", slot, "local", rank, link, topology_local_in(t, rank, link));
}

/* Routers of the groups that the job is in, or their links, or the edges from them to the network of groups. */
static void write_groups(FILE *f, const struct topology *t, const bool *is_used, char what)
{
    for (int g = 0; g < t->n_groups; g++) {
        const struct topology_link up = topology_group_link(t, g, true), down = topology_group_link(t, g, false);
        if (!is_used[g])
            continue;
        if (what == 'r')
            fprintf(f, "<router id=\"group-%d\"/>\n", g);
        else if (what == 'l' && t->n_groups > 1) {
            write_link(f, &up);
            write_link(f, &down);
        } else if (what == 'e' && t->n_groups > 1) {
            write_edge(f, "group", g, "network", 0, &up, 1);
            write_edge(f, "network", 0, "group", g, &down, 1);
        }
    }
}

enum rc simgrid_topology_write(FILE *f, const struct topology *t)
{
    bool *is_used = calloc((size_t)t->n_groups, sizeof *is_used); /* each group by the job */

    if (!is_used)
        return rc_raise(RC_NOMEM, "no memory for %d groups of hosts", t->n_groups);
    for (int s = 0; s < t->n_slots; s++)
        is_used[topology_group(t, s)] = true;
    fputs("<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
          "<platform version=\"4.1\">\n<zone id=\"cluster\" routing=\"DijkstraCache\">\n",
          f);
    for (int r = 0; r < t->n_ranks; r++)
        fprintf(f, "<host id=\"rank-%d\" speed=\"1f\"/>\n<host id=\"local-%d\" speed=\"1f\"/>\n", r, r);
    for (int s = 0; s < t->n_slots; s++)
        fprintf(f, "<router id=\"slot-%d\"/>\n", s);
    write_groups(f, t, is_used, 'r');
    fputs("<router id=\"network-0\"/>\n", f);
    fprintf(f, "<link id=\"nothing\" bandwidth=\"%.17gBps\" latency=\"0s\" sharing_policy=\"FATPIPE\"/>\n",
            t->cluster.local_bytes_per_s);
    for (int r = 0; r < t->n_ranks; r++)
        write_links_of(f, t, r);
    write_groups(f, t, is_used, 'l');
    write_groups(f, t, is_used, 'e');
    for (int r = 0; r < t->n_ranks; r++)
        write_edges_of(f, t, r);
    fputs("</zone>\n</platform>\n", f);
    free(is_used);
    return fflush(f) == 0 && !ferror(f) ? RC_OK : rc_raise(RC_IO, "a temporary file cannot be written");
}
