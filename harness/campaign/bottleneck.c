/* SPDX-License-Identifier: Apache-2.0 */
/* bottleneck.c - what limits a way to exchange, and where another one becomes faster; see bottleneck.h. */
#include "harness/campaign/bottleneck.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double HALF = 0.5, UNEVEN = 1.5;
enum { WHOSE_BYTES = 128 };

static bool is_card(int part)
{
    return part == LINK_NIC_UP || part == LINK_NIC_DOWN || part == LINK_NIC_BOTH;
}

static double busy_s(const struct simulation *s, int part)
{
    return part == BOTTLENECK_COMPUTE ? s->compute_s : s->load[part].busy_s;
}

struct bottleneck bottleneck_find(const struct simulation *s)
{
    struct bottleneck b = { .part = BOTTLENECK_COMPUTE, .second = -1 };
    double network_s = 0;

    for (int i = 0; i < N_LOADS; i++)
        if (is_card(i) && s->load[i].busy_s > network_s)
            network_s = s->load[i].busy_s;
    for (int i = 0; i < N_LOADS; i++)
        if (busy_s(s, i) > busy_s(s, b.part))
            b.part = i;
    for (int i = 0; i < N_PARTS; i++)
        if (i != b.part && (b.second < 0 || busy_s(s, i) > busy_s(s, b.second)))
            b.second = i;
    b.ratio = busy_s(s, b.part) / s->step_s;
    b.second_ratio = busy_s(s, b.second) / s->step_s;
    b.network_ratio = network_s / s->step_s;
    b.is_one = b.ratio >= HALF;
    return b;
}

/* Is what link `index` of this kind belongs to the place, or the process, of the server that holds most? */
static bool is_at_server(const struct simulation *s, const struct topology *t, int part, int index)
{
    const int rank = t->n_workers + s->hot_server;

    if (t->n_ranks == t->n_workers)
        return false;
    if (is_card(part))
        return index / t->cluster.n_nics_per_host == topology_slot(t, rank);
    return index >= t->n_workers;
}

/* "fc6/w's server", "a server", "the server", "a worker". */
static void whose(char *out, size_t n_bytes, const struct simulation *s, const struct topology *t, int part)
{
    const int index = s->load[part].index, n_servers = t->n_ranks - t->n_workers;

    if (!is_at_server(s, t, part, index))
        snprintf(out, n_bytes, "%s", is_card(part) ? "a host of workers" : "a worker");
    else if (s->imbalance_ratio > UNEVEN && s->hot_tensor[0])
        snprintf(out, n_bytes, "%s's server", s->hot_tensor);
    else
        snprintf(out, n_bytes, "%s server", n_servers == 1 ? "the" : "a");
}

static void name_part(char *out, size_t n_bytes, int part, const struct simulation *s, const struct topology *t,
                      const char *exchange)
{
    static const char *const protocol[] = {
        [PROTOCOL_BARE] = "message", [PROTOCOL_TCP] = "tcp", [PROTOCOL_RDMA] = "rdma", [PROTOCOL_GRPC] = "grpc"
    };
    char owner[WHOSE_BYTES] = "";

    if (part != BOTTLENECK_COMPUTE)
        whose(owner, sizeof owner, s, t, part);
    switch (part) {
    case BOTTLENECK_COMPUTE:
        snprintf(out, n_bytes, "compute");
        return;
    case LINK_NIC_UP:
    case LINK_NIC_DOWN:
    case LINK_NIC_BOTH:
        if (t->n_ranks == t->n_workers)
            snprintf(out, n_bytes, "the %s's network cards", exchange);
        else
            snprintf(out, n_bytes, "the network card of %s", owner);
        return;
    case LINK_PROCESS:
        snprintf(out, n_bytes, "the %s process of %s", protocol[t->cluster.protocol], owner);
        return;
    case LOAD_HANDLING:
        snprintf(out, n_bytes, "the handling of %s messages by %s", protocol[t->cluster.protocol], owner);
        return;
    case LINK_STAGE_OUT:
    case LINK_STAGE_IN:
        snprintf(out, n_bytes, "copies between device and host");
        return;
    case LINK_LOCAL:
    case LINK_LOCAL_IN:
        snprintf(out, n_bytes, "links within a host");
        return;
    case LINK_GROUP_UP:
    case LINK_GROUP_DOWN:
        snprintf(out, n_bytes, "links between groups of hosts");
        return;
    default:
        snprintf(out, n_bytes, "the processor of %s", owner);
        return;
    }
}

void bottleneck_text(char *out, size_t n_bytes, const struct bottleneck *b, const struct simulation *s,
                     const struct topology *t, const char *exchange)
{
    char part[WHOSE_BYTES + 48], second[WHOSE_BYTES + 48];

    name_part(part, sizeof part, b->part, s, t, exchange);
    name_part(second, sizeof second, b->second, s, t, exchange);
    if (b->is_one)
        snprintf(out, n_bytes, "%s, %.0f %%", part, 100 * b->ratio);
    else if (strcmp(part, second) == 0) /* what goes out, and what comes in */
        snprintf(out, n_bytes, "no single bottleneck: %s, %.0f %% one way, %.0f %% the other", part, 100 * b->ratio,
                 100 * b->second_ratio);
    else /* N2 */
        snprintf(out, n_bytes, "no single bottleneck: %s, %.0f %%; %s, %.0f %%", part, 100 * b->ratio, second,
                 100 * b->second_ratio);
}

static const char *short_name(int part, bool has_servers, bool is_server)
{
    switch (part) {
    case BOTTLENECK_COMPUTE:
        return "compute";
    case LINK_NIC_UP:
    case LINK_NIC_DOWN:
    case LINK_NIC_BOTH:
        return !has_servers ? "network" : is_server ? "server's network" : "workers' network";
    case LINK_PROCESS:
    case LOAD_HANDLING:
        return is_server ? "server's messages" : "worker's messages";
    case LINK_STAGE_OUT:
    case LINK_STAGE_IN:
        return "device-host copies";
    case LINK_LOCAL:
    case LINK_LOCAL_IN:
        return "links in a host";
    case LINK_GROUP_UP:
    case LINK_GROUP_DOWN:
        return "links of groups";
    default:
        return is_server ? "server's processor" : "worker's processor";
    }
}

void bottleneck_short_text(char *out, size_t n_bytes, const struct bottleneck *b, const struct simulation *s,
                           const struct topology *t)
{
    const bool is_server = b->part != BOTTLENECK_COMPUTE && is_at_server(s, t, b->part, s->load[b->part].index);

    snprintf(out, n_bytes, "%s, %.0f %%", short_name(b->part, t->n_ranks > t->n_workers, is_server), 100 * b->ratio);
}

struct crossovers crossovers_find(const int *n_gpus, const double *first, const double *second, size_t n)
{
    struct crossovers c = { .are_equal = true, .first_leads = false, .n = 0 };
    double before = 0, before_at = 0; /* the last point that is not equal: logarithms of ratio and of GPUs */
    bool has_before = false;

    for (size_t i = 0; i < n; i++) {
        const double lead = log(first[i] / second[i]), at = log(n_gpus[i]);
        if (!(fabs(lead) > CROSSOVER_EQUAL))
            continue;
        if (!has_before)
            c.first_leads = lead > 0;
        else if (before * lead < 0) {
            if (c.n < CROSSOVER_MOST)
                c.gpus[c.n] = exp(before_at + (at - before_at) * before / (before - lead));
            c.n++;
        }
        has_before = true;
        c.are_equal = false;
        before = lead;
        before_at = at;
    }
    return c;
}
