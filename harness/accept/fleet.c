/* SPDX-License-Identifier: Apache-2.0 */
/* fleet.c - which nodes the ranks are on, how they are called, and which ranks may compute at once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/accept/stages.h"
#include "harness/world/child.h"
#include "harness/world/share.h"

struct seat { /* of a rank */
    int node;
    char name[ACCEPT_NAME_BYTES], kernel[HOST_KERNEL_BYTES];
};

static bool is_virtual(const struct world *w)
{
    return w->ops->module.caps & WORLD_VIRTUAL_TIME;
}

/* As the scheduler calls it, in whose lists of nodes it stands; else as the host calls itself. */
static void name_host(char name[ACCEPT_NAME_BYTES])
{
    const char *scheduled = getenv("SLURMD_NODENAME");

    if (scheduled && scheduled[0] && strlen(scheduled) < ACCEPT_NAME_BYTES)
        snprintf(name, ACCEPT_NAME_BYTES, "%s", scheduled);
    else
        child_host_name(name, ACCEPT_NAME_BYTES);
}

/* The name of a node that has none of its own. */
static void number_node(char name[ACCEPT_NAME_BYTES], int node)
{
    snprintf(name, ACCEPT_NAME_BYTES, "node%d", node);
}

/* Where this rank is. accept.D4: in virtual time no fact of this machine. */
static enum rc find_seat(struct seat *out, struct world *w, bool node_per_rank)
{
    struct world *group = NULL;
    int n_nodes = 0;
    enum rc rc = RC_OK;

    *out = (struct seat){ .node = w->rank };
    if (!node_per_rank)
        TRY(world_host_group(w, &group, &out->node, &n_nodes));
    if (node_per_rank || is_virtual(w))
        number_node(out->name, out->node);
    else
        name_host(out->name);
    if (!is_virtual(w))
        host_kernel_id(out->kernel, "");
out:
    world_split_close(&group);
    return rc;
}

static enum rc allocate(struct fleet *f, const struct seat *seat, int n_ranks)
{
    f->n_ranks = n_ranks;
    for (int r = 0; r < n_ranks; r++)
        f->n_nodes = seat[r].node >= f->n_nodes ? seat[r].node + 1 : f->n_nodes;
    f->node_of_rank = calloc((size_t)n_ranks, sizeof *f->node_of_rank);
    f->turn_of_rank = calloc((size_t)n_ranks, sizeof *f->turn_of_rank);
    f->first_rank = calloc((size_t)f->n_nodes, sizeof *f->first_rank);
    f->n_node_ranks = calloc((size_t)f->n_nodes, sizeof *f->n_node_ranks);
    f->node = calloc((size_t)f->n_nodes, sizeof *f->node);
    if (!f->node_of_rank || !f->turn_of_rank || !f->first_rank || !f->n_node_ranks || !f->node)
        return rc_raise(RC_NOMEM, "no memory for %d nodes and %d ranks", f->n_nodes, n_ranks);
    return RC_OK;
}

static void add_rank(struct fleet *f, const struct seat *seat, int r)
{
    const int node = seat[r].node;
    struct accept_node *n = &f->node[node];

    f->node_of_rank[r] = node;
    if (f->n_node_ranks[node]++ == 0) {
        f->first_rank[node] = n->first_rank = r;
        memcpy(n->name, seat[r].name, sizeof n->name);
        memcpy(n->kernel, seat[r].kernel, sizeof n->kernel);
    }
    n->n_ranks = f->n_node_ranks[node];
}

static bool has_name(const struct fleet *f, const char *name, int n_nodes)
{
    for (int i = 0; i < n_nodes; i++)
        if (strcmp(f->node[i].name, name) == 0)
            return true;
    return false;
}

static void make_names_unique(struct fleet *f)
{
    for (int i = 1; i < f->n_nodes; i++)
        if (has_name(f, f->node[i].name, i)) {
            char number[16];
            const int n_bytes = snprintf(number, sizeof number, ".%d", i);
            const size_t n_most = ACCEPT_NAME_BYTES - 1 - (size_t)n_bytes;
            f->node[i].name[strlen(f->node[i].name) < n_most ? strlen(f->node[i].name) : n_most] = '\0';
            strcat(f->node[i].name, number); /* there is room for it */
        }
}

/* accept.S4. Where the system does not tell its kernel, a node has one of its own. */
static bool share_kernel(const struct seat *a, const struct seat *b)
{
    return a->node == b->node || (a->kernel[0] && strcmp(a->kernel, b->kernel) == 0);
}

/* Each rank's turn is the number of ranks of its kernel before it: behind the turn of the last of them. */
static void take_turns(struct fleet *f, const struct seat *seat)
{
    for (int r = 0; r < f->n_ranks; r++) {
        int before = r - 1;
        while (before >= 0 && !share_kernel(&seat[before], &seat[r]))
            before--;
        f->turn_of_rank[r] = before >= 0 ? f->turn_of_rank[before] + 1 : 0;
        f->n_turns = f->turn_of_rank[r] >= f->n_turns ? f->turn_of_rank[r] + 1 : f->n_turns;
    }
}

enum rc fleet_open(struct fleet *out, struct world *w, bool node_per_rank)
{
    struct fleet f = { .n_nodes = 0 };
    struct seat own, *seat = calloc((size_t)w->n_ranks, sizeof *seat);
    enum rc rc;

    if (!seat)
        FAIL(RC_NOMEM, "no memory for the hosts of %d ranks", w->n_ranks);
    TRY(find_seat(&own, w, node_per_rank));
    TRY(world_allgather(w, &own, seat, sizeof own));
    TRY(allocate(&f, seat, w->n_ranks));
    for (int r = 0; r < w->n_ranks; r++)
        add_rank(&f, seat, r);
    make_names_unique(&f);
    if (is_virtual(w))
        f.n_turns = 1;
    else
        take_turns(&f, seat);
    *out = f;
    f = (struct fleet){ .n_nodes = 0 };
out:
    fleet_close(&f);
    free(seat);
    return rc;
}

void fleet_describe(struct acceptance *out, const struct fleet *f)
{
    memcpy(out->node, f->node, (size_t)f->n_nodes * sizeof *f->node);
    memcpy(out->node_of_rank, f->node_of_rank, (size_t)f->n_ranks * sizeof *f->node_of_rank);
}

void fleet_close(struct fleet *f)
{
    free(f->node_of_rank);
    free(f->turn_of_rank);
    free(f->first_rank);
    free(f->n_node_ranks);
    free(f->node);
    *f = (struct fleet){ .n_nodes = 0 };
}
