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

/* A ring among the replicas of a stage. */
static double ring_s(const struct layout_model *m, const struct layout *l, const struct network_stages *s, int stage)
{
    const int W = l->n_workers, S = l->n_stages;
    uint64_t n_shared = params_of(m, s, stage);
    const struct link link = link_of(m->cluster, crosses(m->cluster, W * S, stage, S, S));

    for (int i = 0; i < s->n_stages; i++) /* other rings share the cards of hosts with several ranks */
        if (i != stage && m->cluster->n_ranks_per_host > 1)
            n_shared += params_of(m, s, i) < params_of(m, s, stage) ? params_of(m, s, i) : params_of(m, s, stage);
    return 2.0 * (W - 1) * (link.latency_s + sizeof(float) * (double)n_shared / W / link.bytes_per_s);
}

/* Activations that are held, and parameters. */
static enum rc find_memory(uint64_t *out, const struct layout_model *m, const struct network_stages *s, int stage,
                           const struct layout_point *p, enum stage_schedule schedule)
{
    const struct network_step step = { .n_samples = p->batch,
                                       .n_micro_batches = p->n_micro_batches,
                                       .n_held = stage_held(schedule, stage, s->n_stages, p->n_micro_batches) };
    struct network_memory needed = { 0 };
    struct network *n = NULL;
    struct compute *c = NULL;
    enum rc rc;

    TRY(compute_open(&c, &compute_cpu, &(struct compute_env){ 0 }));
    TRY(network_open_stage(&n, m->network, s, stage));
    TRY(network_memory_needed(&needed, c, n, &step));
    *out = (needed.planned_bytes + needed.part_bytes) / m->divisor +
           PARAMETER_COPIES * sizeof(float) * params_of(m, s, stage);
out:
    network_close(&n);
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

/* Of the profile at 1/divisor of its bytes: elements of the network. */
static uint64_t elems_of(const struct layout_model *m, size_t n_elems)
{
    return profile_divided(n_elems, m->divisor);
}

/* A ring of n ranks that are `every` apart. */
static double ring_of_s(const struct layout_model *m, int n_ranks, int n, int every, uint64_t n_elems)
{
    const struct link link = link_of(m->cluster, crosses(m->cluster, n_ranks, 0, 1, every));

    return n > 1 ? 2.0 * (n - 1) * (link.latency_s + sizeof(float) * (double)n_elems / n / link.bytes_per_s) : 0;
}

/* How often a group exchanges activations: forward, and backward but for the logits. */
static int n_exchanges(const struct network *shard)
{
    int n = 0;

    for (int i = 0; i < shard->n_nodes; i++)
        n += shard->node[i].kind == NODE_GATHER_IMAGES || shard->node[i].kind == NODE_GATHER_CHANNELS;
    return 2 * n - 1;
}

static enum rc shard_memory(uint64_t *out, const struct layout_model *m, const struct network *shard, uint64_t batch)
{
    const struct network_step step = { .n_samples = batch, .n_micro_batches = 1 };
    struct network_memory needed = { 0 };
    struct compute *c = NULL;
    enum rc rc;

    TRY(compute_open(&c, &compute_cpu, &(struct compute_env){ 0 }));
    TRY(network_memory_needed(&needed, c, shard, &step));
    *out = needed.planned_bytes / m->divisor + PARAMETER_COPIES * sizeof(float) * elems_of(m, shard->n_params);
out:
    compute_close(&c);
    return rc;
}

static enum rc apply_shards(struct layout_point *p, const struct layout_model *m)
{
    const int W = p->layout.n_workers, K = p->layout.n_shards;
    const uint64_t n_common = elems_of(m, network_common_params(m->network));
    const struct link link = link_of(m->cluster, crosses(m->cluster, W, 0, 1, 1));
    struct network *shard = NULL;
    double compute_s = 0;
    enum rc rc;

    TRY(network_open_shard(&shard, m->network, 0, K)); /* the one with the most rows */
    const uint64_t n_own = elems_of(m, shard->n_params) - n_common;
    for (int i = 0; i < m->network->n_nodes; i++)
        compute_s +=
            seconds_of(m->profile->layer[i].forward_ns + m->profile->layer[i].backward_ns, p->batch, m->profile->batch);
    p->imbalance_ratio = 1;
    p->activations_bytes = sizeof(float) * p->batch * elems_of(m, network_shard_elems_sent(shard));
    p->gradients_bytes = sizeof(float) * (2 * n_common * (uint64_t)(W - 1) / (uint64_t)W +
                                          2 * n_own * (uint64_t)(W / K - 1) / (uint64_t)(W / K));
    p->exchange_s = ring_of_s(m, W, W, 1, n_common) + ring_of_s(m, W, W / K, K, n_own);
    p->formula_s = compute_s + p->exchange_s + (double)p->activations_bytes / link.bytes_per_s +
                   n_exchanges(shard) * link.latency_s +
                   UPDATE_PASSES * sizeof(float) * (double)(n_common + n_own) / m->cluster->memory_bytes_per_s;
    TRY(shard_memory(&p->memory_bytes, m, shard, p->batch));
out:
    network_close(&shard);
    return rc;
}

enum rc layout_apply_formula(struct layout_point *p, const struct layout_model *m, const struct layouts_terms *terms)
{
    const int W = p->layout.n_workers, S = p->layout.n_stages;
    const enum stage_schedule schedule = strcmp(terms->schedule, "gpipe") == 0 ? SCHEDULE_GPIPE : SCHEDULE_1F1B;
    const bool overlaps = strcmp(terms->simulate.overlap, "on") == 0;
    const uint64_t B = p->batch / p->n_micro_batches;
    struct stage_times times[NETWORK_MAX_STAGES] = { { 0 } };
    struct network_stages cuts;
    enum rc rc;

    if (p->layout.n_shards > 1)
        return apply_shards(p, m);
    TRY(network_balance(&cuts, m->network, m->cost, S));
    fill_times(times, m, &cuts, &p->layout, B);
    p->imbalance_ratio = imbalance_of(times, S);
    p->bubble_ratio = stage_bubble_ratio(S, p->n_micro_batches);
    for (int i = 0; i < S; i++) {
        const uint64_t n_bytes = sizeof(float) * params_of(m, &cuts, i);
        const double exchange_s = W > 1 ? ring_s(m, &p->layout, &cuts, i) : 0;
        uint64_t memory_bytes = 0;
        times[i].tail_s = UPDATE_PASSES * (double)n_bytes / m->cluster->memory_bytes_per_s +
                          left_of(exchange_s, overlaps ? times[i].backward_s : 0);
        TRY(find_memory(&memory_bytes, m, &cuts, i, p, schedule));
        keep_most(&p->memory_bytes, memory_bytes);
        keep_most(&p->gradients_bytes, 2 * n_bytes * (uint64_t)(W - 1) / (uint64_t)W);
        keep_most(&p->activations_bytes,
                  p->n_micro_batches * (passed_bytes(m, &cuts, i, B) + passed_bytes(m, &cuts, i - 1, B)));
        p->exchange_s = exchange_s > p->exchange_s ? exchange_s : p->exchange_s;
    }
    TRY(stage_least_period(&p->formula_s, times, schedule, S, p->n_micro_batches));
out:
    return rc;
}
