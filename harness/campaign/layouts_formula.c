/* SPDX-License-Identifier: Apache-2.0 */
/* layouts_formula.c - see layouts_formula.h. */
#include "harness/campaign/layouts_formula.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/engine/network_shard.h"
#include "models/engine/stage_timing.h"
#include "models/engine/training.h"

enum {
    PARAMETER_COPIES = 3,
    UPDATE_PASSES = 5
}; /* parameters, gradients, momentum; all read, and two of them written */

void layout_model_free(struct layout_model *m)
{
    profile_close(&m->profile);
    network_close(&m->network);
    free(m->cost);
}

enum rc layout_model_open(struct layout_model *m, const struct used_profile *p, const struct cluster *c)
{
    enum rc rc;

    m->cluster = c;
    TRY(profile_load(&m->profile, p->path));
    TRY(profile_open_network(&m->network, &m->divisor, m->profile, p->model));
    m->cost = calloc((size_t)m->network->n_nodes, sizeof *m->cost);
    if (!m->cost)
        FAIL(RC_NOMEM, "no memory for the layers of %s", p->model);
    for (int i = 0; i < m->network->n_nodes; i++)
        m->cost[i] = (double)m->profile->layer[i].forward_ns + (double)m->profile->layer[i].backward_ns;
out:
    return rc;
}

static double rate_ratio(const struct cluster *c)
{
    switch (c->protocol) {
    case PROTOCOL_TCP:
        return c->tcp.rate_ratio;
    case PROTOCOL_RDMA:
        return c->rdma.rate_ratio;
    case PROTOCOL_GRPC:
        return c->grpc.rate_ratio;
    default:
        return 1;
    }
}

static double protocol_latency_s(const struct cluster *c)
{
    switch (c->protocol) {
    case PROTOCOL_TCP:
        return c->tcp.latency_s;
    case PROTOCOL_RDMA:
        return c->rdma.latency_s;
    case PROTOCOL_GRPC:
        return c->grpc.latency_s;
    default:
        return 0;
    }
}

/* Of a message from rank to rank + ahead of all, for some of the ranks that are `every` apart: does it leave the host?
 */
static bool crosses(const struct cluster *c, int n_ranks, int first, int every, int ahead)
{
    for (int rank = first; rank + ahead < n_ranks; rank += every)
        if (rank / c->n_ranks_per_host != (rank + ahead) / c->n_ranks_per_host)
            return true;
    return false;
}

struct link {
    double latency_s, bytes_per_s;
};

/* leaves: the host. */
static struct link link_of(const struct cluster *c, bool leaves)
{
    const bool has_local = c->local_bytes_per_s > 0;

    if (!leaves && has_local)
        return (struct link){ c->local_latency_s, c->local_bytes_per_s };
    return (struct link){ c->link_latency_s + protocol_latency_s(c),
                          c->link_bytes_per_s * rate_ratio(c) * c->n_nics_per_host };
}

static uint64_t params_of(const struct layout_model *m, const struct network_stages *s, int stage)
{
    uint64_t n = 0;

    for (int i = stage > 0 ? s->end[stage - 1] : 0; i < s->end[stage]; i++)
        for (int k = 0; k < m->profile->layer[i].n_tensors; k++)
            n += m->profile->layer[i].tensor[k].n_elems;
    return n;
}

static uint64_t passed_bytes(const struct layout_model *m, const struct network_stages *s, int stage, uint64_t B)
{
    if (stage < 0 || stage + 1 >= s->n_stages)
        return 0;
    return B * sizeof(float) * profile_divided(network_passed_elems(m->network, s, stage), m->divisor);
}

/* Of the profile at 1/divisor of its bytes: elements of the network. */
static uint64_t elems_of(const struct layout_model *m, size_t n_elems)
{
    return profile_divided(n_elems, m->divisor);
}

/* --- what a rank of a stage has --- */

struct stage_part {
    struct network *network; /* the stage, or its shard with the most rows; owned */
    bool is_shard;
    uint64_t n_common, n_own;  /* parameters that all replicas have, and that those with the same shard have */
    struct link group;         /* to the others of a shard's group */
    int n_gathers, n_scatters; /* of a micro-batch, in a group */
    uint64_t gathered_elems, scattered_elems; /* for one image, to all others of it */
};

static bool is_gather(const struct node *d)
{
    return d->kind == NODE_GATHER_IMAGES || d->kind == NODE_GATHER_CHANNELS;
}

/* What crosses in its group: of logits nothing goes back. */
static void note_group(struct stage_part *out, const struct layout_model *m, const struct layout *l, int stage)
{
    const struct network *n = out->network;
    const int S = l->n_stages;

    out->group = link_of(m->cluster, crosses(m->cluster, layout_n_ranks(l), stage, S, S));
    for (int i = 0; i < n->n_nodes; i++) {
        out->n_gathers += is_gather(&n->node[i]);
        out->n_scatters += is_gather(&n->node[i]) && n->node[i + 1].kind != NODE_LOSS;
    }
    out->gathered_elems = elems_of(m, network_shard_elems_gathered(n));
    out->scattered_elems = elems_of(m, network_shard_elems_sent(n)) - out->gathered_elems;
}

static enum rc part_open(struct stage_part *out, const struct layout_model *m, const struct layout *l,
                         const struct network_stages *s, int stage)
{
    struct stage_part part = { .n_common = params_of(m, s, stage) };
    struct network *uncut = NULL;
    enum rc rc;

    TRY(network_open_stage(&uncut, m->network, s, stage));
    part.is_shard = l->n_shards > 1 && network_most_shards(uncut) > 0;
    if (part.is_shard) {
        TRY(network_open_shard(&part.network, uncut, 0, l->n_shards));
        part.n_common = elems_of(m, network_common_params(uncut));
        part.n_own = elems_of(m, part.network->n_params) - part.n_common;
        note_group(&part, m, l, stage);
    } else {
        part.network = uncut;
        uncut = NULL;
    }
    *out = part;
    part.network = NULL;
out:
    network_close(&part.network);
    network_close(&uncut);
    return rc;
}

/* A ring of n ranks that are `every` apart, the first one `first`. */
static double ring_s(const struct layout_model *m, const struct layout *l, int first, int n, uint64_t n_elems)
{
    const int every = layout_n_ranks(l) / n;
    const struct link link = link_of(m->cluster, crosses(m->cluster, layout_n_ranks(l), first, every, every));

    return n > 1 ? 2.0 * (n - 1) * (link.latency_s + sizeof(float) * (double)n_elems / n / link.bytes_per_s) : 0;
}

/* Of what all replicas of a stage have a ring, and of what those with the same shard have another. part: of all stages.
 */
static double exchange_s(const struct layout_model *m, const struct layout *l, const struct stage_part *part, int stage)
{
    const struct stage_part *own = &part[stage];
    uint64_t n_shared = own->n_common;

    for (int i = 0; i < l->n_stages; i++) /* other rings share the cards of hosts with several ranks */
        if (i != stage && m->cluster->n_ranks_per_host > 1)
            n_shared += part[i].n_common < own->n_common ? part[i].n_common : own->n_common;
    return ring_s(m, l, stage, l->n_workers, n_shared) +
           (own->is_shard ? ring_s(m, l, stage, l->n_workers / l->n_shards, own->n_own) : 0);
}

/* Bytes that a rank of a ring of n sends of so many elements. */
static uint64_t ring_bytes(uint64_t n_elems, int n)
{
    return 2 * sizeof(float) * n_elems * (uint64_t)(n - 1) / (uint64_t)n;
}

/* Activations that are held, and parameters. */
static enum rc find_memory(uint64_t *out, const struct layout_model *m, const struct stage_part *part,
                           const struct layout_point *p, size_t n_held)
{
    const struct network_step step = { .n_samples = p->batch, .n_micro_batches = p->n_micro_batches, .n_held = n_held };
    struct network_memory needed = { 0 };
    struct compute *c = NULL;
    enum rc rc;

    TRY(compute_open(&c, &compute_cpu, &(struct compute_env){ 0 }));
    TRY(network_memory_needed(&needed, c, part->network, &step));
    *out = (needed.planned_bytes + needed.part_bytes) / m->divisor +
           PARAMETER_COPIES * sizeof(float) * (part->n_common + part->n_own);
out:
    compute_close(&c);
    return rc;
}

static void keep_most(uint64_t *most, uint64_t n)
{
    *most = n > *most ? n : *most;
}

static double seconds_of(uint64_t ns, uint64_t B, int batch)
{
    return 1e-9 * (double)ns * (double)B / batch;
}

static void fill_times(struct stage_times *t, const struct layout_model *m, const struct network_stages *s,
                       const struct layout *l, uint64_t B)
{
    for (int i = 0, node = 0; i < s->n_stages; i++) {
        const struct link link = link_of(m->cluster, crosses(m->cluster, layout_n_ranks(l), i, l->n_stages, 1));
        t[i] = (struct stage_times){ .latency_s = link.latency_s,
                                     .pass_s = (double)passed_bytes(m, s, i, B) / link.bytes_per_s,
                                     .has_one_card = m->cluster->n_ranks_per_host == 1 };
        for (; node < s->end[i]; node++) {
            t[i].forward_s += seconds_of(m->profile->layer[node].forward_ns, B, m->profile->batch);
            t[i].backward_s += seconds_of(m->profile->layer[node].backward_ns, B, m->profile->batch);
        }
    }
}

/* The most expensive stage over the mean. */
static double imbalance_of(const struct stage_times *t, int n_stages)
{
    double most = 0, sum = 0;

    for (int i = 0; i < n_stages; i++) {
        const double s = t[i].forward_s + t[i].backward_s;
        most = s > most ? s : most;
        sum += s;
    }
    return sum > 0 ? most * n_stages / sum : 1;
}

/* Of an exchange of which so much is hidden. */
static double left_of(double exchange_s, double hidden_s)
{
    return exchange_s > hidden_s ? exchange_s - hidden_s : 0;
}

/* What a stage computes for a micro-batch, and what crosses meanwhile in its groups. */
static void add_crossings(struct stage_times *t, const struct stage_part *part, uint64_t B)
{
    const double element_s = sizeof(float) / part->group.bytes_per_s;

    if (!part->is_shard)
        return;
    t->forward_s += (double)(B * part->gathered_elems) * element_s + part->n_gathers * part->group.latency_s;
    t->backward_s += (double)(B * part->scattered_elems) * element_s + part->n_scatters * part->group.latency_s;
}

/* What follows from one stage, and is that of the stage that has most. */
static enum rc apply_stage(struct layout_point *p, const struct layout_model *m, const struct network_stages *cuts,
                           const struct stage_part *part, int stage, enum stage_schedule schedule)
{
    const int W = p->layout.n_workers, K = p->layout.n_shards;
    const uint64_t B = p->batch / p->n_micro_batches;
    uint64_t memory_bytes = 0;
    enum rc rc;

    TRY(find_memory(&memory_bytes, m, part, p, stage_held(schedule, stage, cuts->n_stages, p->n_micro_batches)));
    keep_most(&p->memory_bytes, memory_bytes);
    keep_most(&p->gradients_bytes,
              ring_bytes(part->n_common, W) + (part->is_shard ? ring_bytes(part->n_own, W / K) : 0));
    keep_most(&p->activations_bytes,
              p->n_micro_batches * (passed_bytes(m, cuts, stage, B) + passed_bytes(m, cuts, stage - 1, B)) +
                  sizeof(float) * p->batch * (part->gathered_elems + part->scattered_elems));
out:
    return rc;
}

enum rc layout_apply_formula(struct layout_point *p, const struct layout_model *m, const struct layouts_terms *terms)
{
    const int S = p->layout.n_stages;
    const enum stage_schedule schedule = strcmp(terms->schedule, "gpipe") == 0 ? SCHEDULE_GPIPE : SCHEDULE_1F1B;
    const bool overlaps = strcmp(terms->simulate.overlap, "on") == 0 && p->layout.n_shards == 1;
    const uint64_t B = p->batch / p->n_micro_batches;
    struct stage_times times[NETWORK_MAX_STAGES] = { { 0 } };
    struct stage_part part[NETWORK_MAX_STAGES] = { { .network = NULL } };
    struct network_stages cuts;
    enum rc rc;

    TRY(network_balance(&cuts, m->network, m->cost, S));
    for (int i = 0; i < S; i++)
        TRY(part_open(&part[i], m, &p->layout, &cuts, i));
    fill_times(times, m, &cuts, &p->layout, B);
    p->imbalance_ratio = imbalance_of(times, S);
    p->bubble_ratio = stage_bubble_ratio(S, p->n_micro_batches);
    for (int i = 0; i < S; i++) {
        const uint64_t n_bytes = sizeof(float) * (part[i].n_common + part[i].n_own);
        const double of_stage_s = exchange_s(m, &p->layout, part, i);
        add_crossings(&times[i], &part[i], B);
        times[i].tail_s = UPDATE_PASSES * (double)n_bytes / m->cluster->memory_bytes_per_s +
                          left_of(of_stage_s, overlaps ? times[i].backward_s : 0);
        p->exchange_s = of_stage_s > p->exchange_s ? of_stage_s : p->exchange_s;
        TRY(apply_stage(p, m, &cuts, &part[i], i, schedule));
    }
    TRY(stage_least_period(&p->formula_s, times, schedule, S, p->n_micro_batches));
out:
    for (int i = 0; i < S; i++)
        network_close(&part[i].network);
    return rc;
}
