/* SPDX-License-Identifier: Apache-2.0 */
/* layouts_formula.c - results of a formula for a layout (layouts.A3). */
#include "harness/campaign/layouts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/campaign/layout_play.h"
#include "models/engine/network_shard.h"
#include "models/engine/stage.h"
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
    uint64_t n_common, n_own;     /* parameters that all replicas have, and that those with the same shard have */
    struct shard_traffic traffic; /* to the others of a shard's group, of the profile */
};

static struct shard_traffic traffic_of(const struct layout_model *m, const struct network *shard)
{
    struct shard_traffic t = network_shard_traffic(shard);

    t.gathered_elems = elems_of(m, t.gathered_elems);
    t.scattered_elems = elems_of(m, t.scattered_elems);
    return t;
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
        part.traffic = traffic_of(m, part.network);
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

/* Of n ranks, each of which sends all of them but one part twice. */
static struct sent around_ring(uint64_t n_elems, int n)
{
    return (struct sent){ (double)ring_bytes(n_elems, n), n > 1 && n_elems > 0 ? 2 * (n - 1) : 0 };
}

/* To each other one of a group of K. */
static struct sent in_group(uint64_t n_elems, int n_messages, int K)
{
    return (struct sent){ sizeof(float) * (double)n_elems / (K - 1), n_elems > 0 ? n_messages : 0 };
}

/* B: of a micro-batch. */
static void add_computing(struct played_stage *t, const struct layout_model *m, const struct network_stages *s,
                          int stage, uint64_t B)
{
    for (int node = stage > 0 ? s->end[stage - 1] : 0; node < s->end[stage]; node++) {
        t->forward_s += seconds_of(m->profile->layer[node].forward_ns, B, m->profile->batch);
        t->backward_s += seconds_of(m->profile->layer[node].backward_ns, B, m->profile->batch);
    }
}

static struct played_stage played(const struct layout_model *m, const struct network_stages *s, const struct layout *l,
                                  const struct stage_part *part, int stage, uint64_t B)
{
    const int W = l->n_workers, K = l->n_shards;
    const double n_bytes = sizeof(float) * (double)(part->n_common + part->n_own);
    struct played_stage t = { .value = { (double)passed_bytes(m, s, stage, B), 1 },
                              .grad = { (double)passed_bytes(m, s, stage - 1, B), 1 },
                              .common = around_ring(part->n_common, W),
                              .update_s = UPDATE_PASSES * n_bytes / m->cluster->memory_bytes_per_s };

    add_computing(&t, m, s, stage, B);
    if (part->is_shard) {
        t.gather = in_group(B * part->traffic.gathered_elems, part->traffic.n_gathers, K);
        t.scatter = in_group(B * part->traffic.scattered_elems, part->traffic.n_scatters, K);
        t.own = around_ring(part->n_own, W / K);
    }
    return t;
}

/* The most expensive stage over the mean. */
static double imbalance_of(const struct played_stage *t, int n_stages)
{
    double most = 0, sum = 0;

    for (int i = 0; i < n_stages; i++) {
        const double s = t[i].forward_s + t[i].backward_s;
        most = s > most ? s : most;
        sum += s;
    }
    return sum > 0 ? most * n_stages / sum : 1;
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
                  sizeof(float) * p->batch * (part->traffic.gathered_elems + part->traffic.scattered_elems));
out:
    return rc;
}

static enum rc find_period(struct layout_point *p, const struct layout_model *m, const struct played_stage *stage,
                           enum stage_schedule schedule)
{
    struct layout_links links = { .n_kinds = 0 };
    struct topology t;
    enum rc rc;

    topology_init(&t, m->cluster, 0, layout_n_ranks(&p->layout));
    TRY(layout_links_open(&links, &t, &p->layout));
    TRY(layout_play(&p->formula_s, stage, &links, schedule, p->layout.n_stages, p->n_micro_batches));
out:
    layout_links_close(&links);
    return rc;
}

enum rc layout_apply_formula(struct layout_point *p, const struct layout_model *m, const struct layouts_terms *terms)
{
    const int S = p->layout.n_stages;
    const enum stage_schedule schedule = strcmp(terms->schedule, "gpipe") == 0 ? SCHEDULE_GPIPE : SCHEDULE_1F1B;
    const bool overlaps = strcmp(terms->simulate.overlap, "on") == 0;
    const uint64_t B = p->batch / p->n_micro_batches;
    struct played_stage stage[NETWORK_MAX_STAGES] = { { 0 } };
    struct stage_part part[NETWORK_MAX_STAGES] = { { .network = NULL } };
    struct network_stages cuts;
    enum rc rc;

    TRY(network_balance(&cuts, m->network, m->cost, S));
    for (int i = 0; i < S; i++) {
        TRY(part_open(&part[i], m, &p->layout, &cuts, i));
        stage[i] = played(m, &cuts, &p->layout, &part[i], i, B);
        stage[i].overlaps = overlaps;
        stage[i].is_one_bucket = sizeof(float) * part[i].n_common <= terms->simulate.bucket_bytes;
        TRY(apply_stage(p, m, &cuts, &part[i], i, schedule));
    }
    p->imbalance_ratio = imbalance_of(stage, S);
    p->bubble_ratio = stage_bubble_ratio(S, p->n_micro_batches);
    TRY(find_period(p, m, stage, schedule));
out:
    for (int i = 0; i < S; i++)
        network_close(&part[i].network);
    return rc;
}
