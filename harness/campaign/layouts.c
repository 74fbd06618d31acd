/* SPDX-License-Identifier: Apache-2.0 */
/* layouts.c - layouts by formula and by simulation; see layouts.h. */
#include "harness/campaign/layouts.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/terminal.h"
#include "harness/base/text.h"
#include "harness/campaign/campaign.h"
#include "harness/campaign/layout_play.h"
#include "harness/report/record.h"
#include "harness/report/table.h"
#include "models/engine/network_shard.h"
#include "models/engine/stage.h"
#include "models/engine/training.h"

/*
 * results of a formula for a layout (layouts.A3).
 */

enum {
    PARAMETER_COPIES = 3,
    UPDATE_PASSES = 5
}; /* parameters, gradients, momentum; all read, and two of them written */

static void layout_model_free(struct layout_model *m)
{
    profile_close(&m->profile);
    network_close(&m->network);
    free(m->cost);
}

/* RC_INVAL: the profile is not of one of our networks. RC_NOMEM. */
static enum rc layout_model_open(struct layout_model *m, const struct used_profile *p, const struct cluster *c)
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

/* Set the results for the layout, batch and micro-batches of *p. RC_NOMEM. */
static enum rc layout_apply_formula(struct layout_point *p, const struct layout_model *m,
                                    const struct layouts_terms *terms)
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

/*
 * layouts of a model on GPUs of a described cluster (train/layout.h): the step time of each, and the
 * best.
 */

enum { STEPS = 5 };

/* --- which there are --- */

enum { WHY_NOT_BYTES = 192, FIRST_WHY_BYTES = WHY_NOT_BYTES + LAYOUT_TEXT_BYTES + 2 };

/* The micro-batches of a worker's n samples. "": they can be. */
static void why_not_micro_batches(char out[WHY_NOT_BYTES], uint64_t n_micro_batches, uint64_t n)
{
    char fitting[48];

    out[0] = '\0';
    if (n_micro_batches == 0 || n % n_micro_batches == 0)
        return;
    text_near_divisors(fitting, sizeof fitting, n_micro_batches, n);
    snprintf(out, WHY_NOT_BYTES,
             "--accumulate %" PRIu64 ": a worker's batch of %" PRIu64 " has no %" PRIu64 " equal parts; use %s",
             n_micro_batches, n, n_micro_batches, fitting);
}

/* The global batch n of W workers. "": it can be. */
static void why_not_batch(char out[WHY_NOT_BYTES], uint64_t n, uint64_t W)
{
    char fitting[48];

    out[0] = '\0';
    text_near_multiples(fitting, sizeof fitting, n, W);
    if (n % W != 0)
        snprintf(out, WHY_NOT_BYTES, "--global-batch %" PRIu64 ": is not divisible by %" PRIu64 " workers; use %s", n,
                 W, fitting);
    else if (n / W > TRAIN_MAX_BATCH)
        snprintf(out, WHY_NOT_BYTES,
                 "--global-batch %" PRIu64 ": is %" PRIu64 " for each of %" PRIu64 " workers; use at most %" PRIu64, n,
                 n / W, W, W * TRAIN_MAX_BATCH);
}

/* "": it can be. */
static void why_not(char out[WHY_NOT_BYTES], const struct layouts *l, const struct layout_point *p,
                    const struct layout_model *m)
{
    const uint64_t n = l->global_batch[p->profile], W = (uint64_t)p->layout.n_workers;
    const int most_stages = network_most_stages(m->network), most_shards = network_most_shards(m->network);

    why_not_batch(out, n, W);
    if (out[0])
        return;
    if (p->layout.n_stages > most_stages)
        snprintf(out, WHY_NOT_BYTES, "has %d stages; the network can be cut into %d at most", p->layout.n_stages,
                 most_stages);
    else if (p->layout.n_shards > 1 && most_shards == 0)
        snprintf(out, WHY_NOT_BYTES, "has %d shards, and the network does not end in dense layers; use 1",
                 p->layout.n_shards);
    else if (p->layout.n_shards > 1 && p->layout.n_shards > most_shards)
        snprintf(out, WHY_NOT_BYTES, "has %d shards; use %d at most, as a dense layer has no more outputs",
                 p->layout.n_shards, most_shards);
    else if (p->layout.n_stages > 1)
        why_not_micro_batches(out, l->terms->n_micro_batches, n / W);
}

/* why: of the first layout that cannot be, "" before; NULL: it must be. */
static enum rc add_layout(struct layouts *l, const struct layout_model *m, struct layout layout, size_t profile,
                          char *why)
{
    struct layout_point p = { .layout = layout, .profile = profile, .step_s = NAN }, *more;
    char name[LAYOUT_TEXT_BYTES], here[WHY_NOT_BYTES];
    enum rc rc = RC_OK;

    layout_text(name, &layout);
    why_not(here, l, &p, m);
    if (here[0] && !why)
        FAIL(RC_INVAL, "--layout %s: %s (%s)", name, here, l->base.profiles.profile[profile].model);
    if (here[0]) {
        if (!why[0])
            snprintf(why, FIRST_WHY_BYTES, "%s: %s", name, here);
        return RC_OK;
    }
    TRY(rc_prefix(cluster_check(m->cluster, layout_n_ranks(&layout), layout_n_ranks(&layout)), "--layout %s: ", name));
    p.batch = l->global_batch[profile] / (uint64_t)layout.n_workers;
    p.n_micro_batches = layout.n_stages > 1 && l->terms->n_micro_batches > 0
                            ? l->terms->n_micro_batches
                            : layout_n_micro_batches(p.batch, layout.n_stages);
    TRY(layout_apply_formula(&p, m, l->terms));
    more = realloc(l->point, (l->n_points + 1) * sizeof *more);
    if (!more)
        FAIL(RC_NOMEM, "no memory for a layout");
    l->point = more;
    more[l->n_points++] = p;
out:
    return rc;
}

/* Of a number of micro-batches that was given some layout makes use. */
static bool uses_micro_batches(const struct layouts *l, size_t first)
{
    for (size_t i = first; i < l->n_points; i++)
        if (l->point[i].layout.n_stages > 1)
            return true;
    return l->terms->n_micro_batches == 0;
}

/* All of so many GPUs (A2). */
static enum rc add_all(struct layouts *l, const struct layout_model *m, size_t profile, int n_gpus)
{
    const char *model = l->base.profiles.profile[profile].model;
    const size_t first = l->n_points;
    char why[FIRST_WHY_BYTES] = "";
    enum rc rc = RC_OK;

    for (int S = 1; S <= n_gpus && S <= NETWORK_MAX_STAGES; S++)
        for (int K = 1; n_gpus % S == 0 && K <= n_gpus / S && K <= NETWORK_MAX_SHARDS; K++)
            if (n_gpus / S % K == 0)
                TRY(add_layout(l, m, (struct layout){ n_gpus / S, S, K }, profile, why));
    if (l->n_points == first)
        FAIL(RC_INVAL, "--gpus %d: no layout of so many can be for %s; %s", n_gpus, model, why);
    if (why[0] && !uses_micro_batches(l, first))
        FAIL(RC_INVAL, "--layout best: no layout with stages can be for %s; %s", model, why);
out:
    return rc;
}

static enum rc parse_gpus(int *out, const char *text)
{
    uint64_t n;

    if (!text_to_u64(text, &n) || n < 1 || n > ROW_MAX_GPUS)
        return rc_raise(RC_INVAL, "--gpus %.40s: --layout best looks among the layouts of one number of GPUs", text);
    *out = (int)n;
    return RC_OK;
}

/* layout[LAYOUTS_MOST]; of "best": the data-parallel one. */
static enum rc parse_list(struct layout *layout, size_t *n, const struct layouts_terms *t)
{
    const char *rest = t->list;
    char item[64];
    enum rc rc = RC_OK;

    *n = 0;
    if (strcmp(t->list, "best") == 0) {
        *n = 1;
        layout[0] = (struct layout){ 1, 1, 1 };
        return parse_gpus(&layout[0].n_workers, t->simulate.gpus);
    }
    while (text_next(&rest, item, sizeof item)) {
        if (*n == LAYOUTS_MOST)
            FAIL(RC_INVAL, "--layout: names more than %d; use fewer", (int)LAYOUTS_MOST);
        TRY(layout_parse(&layout[(*n)++], item));
    }
    if (*n == 0)
        FAIL(RC_INVAL, "--layout: is empty; use 4x1x1,1x4x1");
out:
    return rc;
}

static int by_formula(const void *a, const void *b)
{
    const struct layout_point *p = a, *q = b;

    return p->profile != q->profile ? (p->profile > q->profile) - (p->profile < q->profile)
                                    : (p->formula_s > q->formula_s) - (p->formula_s < q->formula_s);
}

static enum rc add_layouts(struct layouts *l)
{
    struct layout layout[LAYOUTS_MOST];
    size_t n;
    enum rc rc;

    TRY(parse_list(layout, &n, l->terms));
    for (size_t i = 0; i < l->base.profiles.n; i++) {
        struct layout_model m = { 0 };
        l->global_batch[i] = l->terms->global_batch > 0
                                 ? l->terms->global_batch
                                 : (uint64_t)l->base.profiles.profile[i].batch * (uint64_t)layout_n_ranks(&layout[0]);
        rc = layout_model_open(&m, &l->base.profiles.profile[i], &l->base.cluster[0].cluster);
        if (rc == RC_OK && strcmp(l->terms->list, "best") == 0)
            rc = add_all(l, &m, i, layout[0].n_workers);
        else
            for (size_t k = 0; k < n && rc == RC_OK; k++)
                rc = add_layout(l, &m, layout[k], i, NULL);
        layout_model_free(&m);
        TRY(rc);
    }
    qsort(l->point, l->n_points, sizeof *l->point, by_formula);
out:
    return rc;
}

/* --- simulations --- */

static enum rc add_model(struct simulation *s, const struct layouts *l, const struct used_profile *profile)
{
    const char *settings = l->terms->simulate.cluster_set;
    enum rc rc;

    TRY(simulation_add(s, "--world=sim"));
    TRY(simulation_add(s, "--model=replay"));
    TRY(simulation_add(s, "--compute=hollow"));
    TRY(simulation_add(s, "--profile=%s", profile->path));
    TRY(simulation_add(s, "--cluster=%s", l->base.cluster[0].name));
    if (settings[0])
        TRY(simulation_add(s, "--cluster-set=%s", settings));
    TRY(simulation_add(s, "--steps=%d", s->n_steps));
    TRY(simulation_add(s, "--record-every=%d", s->n_steps));
    TRY(simulation_add(s, "--stall-abort-s=86400"));
out:
    return rc;
}

static enum rc fill(struct simulation *s, const struct layouts *l, const struct layout_point *p)
{
    const struct used_profile *profile = &l->base.profiles.profile[p->profile];
    char name[LAYOUT_TEXT_BYTES];
    enum rc rc;

    layout_text(name, &p->layout);
    s->n_steps = STEPS;
    s->weight = (double)layout_n_ranks(&p->layout) * (double)p->n_micro_batches;
    snprintf(s->name, sizeof s->name, "%s, %s", profile->model, name);
    TRY(add_model(s, l, profile));
    TRY(simulation_add(s, "--layout=%s", name));
    TRY(simulation_add(s, "--global-batch=%llu", (unsigned long long)l->global_batch[p->profile]));
    TRY(simulation_add(s, "--accumulate=%llu", (unsigned long long)p->n_micro_batches));
    if (p->layout.n_stages > 1)
        TRY(simulation_add(s, "--schedule=%s", l->terms->schedule));
    TRY(simulation_add(s, "--mode=%s", row_mode_name(ROW_COLLECTIVE)));
    TRY(simulation_add(s, "--reducer=ring"));
    TRY(simulation_add(s, "--overlap=%s", l->terms->simulate.overlap));
    TRY(simulation_add(s, "--bucket-bytes=%llu", (unsigned long long)l->terms->simulate.bucket_bytes));
out:
    return rc;
}

static enum rc add_simulation(struct layouts *l, struct layout_point *p)
{
    struct simulation_set *set = &l->base.simulations;
    struct simulation s = { .word = NULL }, *more;
    enum rc rc;

    TRY(simulation_open(&s));
    TRY(fill(&s, l, p));
    more = realloc(set->simulation, (set->n + 1) * sizeof *more);
    if (!more)
        FAIL(RC_NOMEM, "no memory for a simulation");
    set->simulation = more;
    p->is_simulated = true;
    p->simulation = set->n;
    more[set->n++] = s;
    s = (struct simulation){ .word = NULL };
out:
    simulation_close(&s);
    return rc;
}

/* The best few of each model, by the formula, and the data-parallel one (A2); of a list all. */
static enum rc add_simulations(struct layouts *l)
{
    const bool is_list = strcmp(l->terms->list, "best") != 0;
    size_t n_before = 0; /* of the same model */
    enum rc rc = RC_OK;

    for (size_t i = 0; i < l->n_points; i++) {
        struct layout_point *p = &l->point[i];
        n_before = i > 0 && l->point[i - 1].profile == p->profile ? n_before + 1 : 0;
        if (is_list || n_before < LAYOUTS_SIMULATED || (p->layout.n_stages == 1 && p->layout.n_shards == 1))
            TRY(add_simulation(l, p));
    }
out:
    return rc;
}

enum rc layouts_open(struct layouts *out, const char *folder, const struct layouts_terms *terms)
{
    struct layouts l = { .terms = terms, .base = { .terms = &terms->simulate, .folder = folder } };
    enum rc rc;

    TRY(used_cluster_open(&l.base.cluster[0], "cluster",
                          &(struct cluster_wish){ .name = terms->simulate.cluster, .transport = "" },
                          terms->simulate.cluster_set));
    l.base.n_clusters = 1;
    TRY(simulate_find_profiles(&l.base));
    TRY(used_profiles_check_all_used(&l.base.profiles, terms->simulate.profiles, "--models"));
    l.global_batch = calloc(l.base.profiles.n, sizeof *l.global_batch);
    if (!l.global_batch)
        FAIL(RC_NOMEM, "no memory for %zu models", l.base.profiles.n);
    TRY(add_layouts(&l));
    TRY(add_simulations(&l));
    *out = l;
    l = (struct layouts){ 0 };
out:
    layouts_close(&l);
    return rc;
}

/* The step time of a layout: simulated, or else by the formula. */
static double layout_step_s(const struct layout_point *p)
{
    return isnan(p->step_s) ? p->formula_s : p->step_s;
}

/* What was simulated first. */
static int by_time(const void *a, const void *b)
{
    const struct layout_point *p = a, *q = b;
    const double s = layout_step_s(p), t = layout_step_s(q);

    if (p->profile != q->profile)
        return (p->profile > q->profile) - (p->profile < q->profile);
    if (isnan(p->step_s) != isnan(q->step_s))
        return isnan(p->step_s) ? 1 : -1;
    return (s > t) - (s < t);
}

enum rc layouts_run(struct layouts *l, const struct simulations_env *env)
{
    enum rc rc;

    TRY(simulations_run(l->base.simulations.simulation, l->base.simulations.n, env));
    for (size_t i = 0; i < l->n_points; i++)
        if (l->point[i].is_simulated)
            l->point[i].step_s = l->base.simulations.simulation[l->point[i].simulation].step_s;
    qsort(l->point, l->n_points, sizeof *l->point, by_time);
out:
    return rc;
}

void layouts_close(struct layouts *l)
{
    simulate_close(&l->base);
    free(l->point);
    free(l->global_batch);
    *l = (struct layouts){ 0 };
}

/* Layouts as a table, as records, and in words (layouts.h). */

static double megabytes(uint64_t n_bytes)
{
    return 1e-6 * (double)n_bytes;
}

static void describe(char clause[LAYOUT_CLAUSE_BYTES], const struct layout_point *p)
{
    const struct layout_facts facts = { .activations_bytes = (double)p->activations_bytes,
                                        .gradients_bytes = (double)p->gradients_bytes,
                                        .memory_bytes = (double)p->memory_bytes,
                                        .bubble_ratio = p->bubble_ratio,
                                        .imbalance_ratio = p->imbalance_ratio };

    layout_describe(clause, &p->layout, &facts);
}

static void layouts_verdict(char *out, size_t n_bytes, const struct layout_point *point, size_t n_points)
{
    const struct layout_point *best = &point[0], *other = n_points > 1 ? &point[1] : NULL;
    char name[LAYOUT_TEXT_BYTES], other_name[LAYOUT_TEXT_BYTES], clause[LAYOUT_CLAUSE_BYTES],
        other_clause[LAYOUT_CLAUSE_BYTES];

    for (size_t i = 1; i < n_points; i++) /* the fastest of another kind says more */
        if (layout_is_of_another_kind(&point[i].layout, &best->layout)) {
            other = &point[i];
            break;
        }
    layout_text(name, &best->layout);
    describe(clause, best);
    if (!other) {
        snprintf(out, n_bytes, "%s is the only layout that can be: it %s.", name, clause);
        return;
    }
    layout_text(other_name, &other->layout);
    describe(other_clause, other);
    snprintf(out, n_bytes,
             "%s wins: %.4g ms a step, where %s takes %.4g (%.3g x). It %s; %s %s. A rank needs %.3g GB, there %.3g.",
             name, 1e3 * layout_step_s(best), other_name, 1e3 * layout_step_s(other),
             layout_step_s(other) / layout_step_s(best), clause, other_name, other_clause,
             1e-9 * (double)best->memory_bytes, 1e-9 * (double)other->memory_bytes);
}

static void add_row(struct table *t, const struct layouts *l, const struct layout_point *p)
{
    char name[LAYOUT_TEXT_BYTES];

    layout_text(name, &p->layout);
    table_cell(t, "%s", l->base.profiles.profile[p->profile].model);
    table_cell(t, "%s", name);
    table_cell(t, "%llu", (unsigned long long)p->n_micro_batches);
    if (isnan(p->step_s))
        table_cell(t, p->is_simulated ? "failed" : "-");
    else
        table_cell(t, "%.4g", 1e3 * p->step_s);
    table_cell(t, "%.4g", 1e3 * p->formula_s);
    table_cell(t, "%.4g", (double)l->global_batch[p->profile] / layout_step_s(p));
    table_cell(t, "%.1f", 100 * p->bubble_ratio);
    table_cell(t, "%.3f", p->imbalance_ratio);
    table_cell(t, "%.4g", megabytes(p->activations_bytes));
    table_cell(t, "%.4g", megabytes(p->gradients_bytes));
    table_cell(t, "%.3g", 1e-9 * (double)p->memory_bytes);
}

enum rc layouts_print(const struct layouts *l, FILE *to)
{
    static const struct column column[] = { { "model", ALIGN_LEFT },     { "layout", ALIGN_LEFT },
                                            { "parts", ALIGN_RIGHT },    { "step ms", ALIGN_RIGHT },
                                            { "formula", ALIGN_RIGHT },  { "images/s", ALIGN_RIGHT },
                                            { "bubble %", ALIGN_RIGHT }, { "cost/mean", ALIGN_RIGHT },
                                            { "act. MB", ALIGN_RIGHT },  { "grad. MB", ALIGN_RIGHT },
                                            { "GB", ALIGN_RIGHT } };
    struct terminal_text text = { .lines = NULL };
    char verdict[LAYOUTS_VERDICT_BYTES];
    struct table *t = table_open(column, sizeof column / sizeof *column);
    enum rc rc;

    for (size_t i = 0; i < l->n_points; i++)
        add_row(t, l, &l->point[i]);
    TRY(terminal_text_open(&text));
    for (size_t i = 0, end; i < l->n_points; i = end) {
        const size_t profile = l->point[i].profile;
        for (end = i; end < l->n_points && l->point[end].profile == profile; end++)
            ;
        layouts_verdict(verdict, sizeof verdict, &l->point[i], end - i);
        fprintf(text.lines, "%s, %llu images a step on %s: %s\n", l->base.profiles.profile[profile].model,
                (unsigned long long)l->global_batch[profile], l->base.cluster[0].cluster.name, verdict);
    }
    fputc('\n', text.lines);
    TRY(terminal_text_close(&text, to));
    TRY(table_print(t, to));
    TRY(terminal_text_open(&text));
    fprintf(text.lines,
            "parts: micro-batches of a worker's batch. step: simulated; -: by the formula alone. cost/mean: of the "
            "stage that computes most. act., grad.: activations and gradients that a rank sends in a step, GB: memory "
            "that it needs; of the rank with most.\n");
    TRY(terminal_text_close(&text, to));
out:
    table_close(&t);
    return rc;
}

static enum rc write_point(struct report *to, const struct layouts *l, const struct layout_point *p, bool is_best)
{
    char name[LAYOUT_TEXT_BYTES];

    layout_text(name, &p->layout);
    struct record *r = report_begin(to, "layout");
    record_text(r, "model", l->base.profiles.profile[p->profile].model);
    record_text(r, "cluster", l->base.cluster[0].cluster.name);
    record_text(r, "layout", name);
    record_i64(r, "workers_count", p->layout.n_workers);
    record_i64(r, "stages_count", p->layout.n_stages);
    record_i64(r, "shards_count", p->layout.n_shards);
    record_u64(r, "global_batch_count", l->global_batch[p->profile]);
    record_u64(r, "micro_batches_count", p->n_micro_batches);
    record_f64(r, "step_s", p->step_s);
    record_f64(r, "formula_step_s", p->formula_s);
    record_f64(r, "throughput_samples_per_s", (double)l->global_batch[p->profile] / layout_step_s(p));
    record_f64(r, "bubble_ratio", p->bubble_ratio);
    record_f64(r, "stage_imbalance_ratio", p->imbalance_ratio);
    record_u64(r, "activations_bytes", p->activations_bytes);
    record_u64(r, "gradients_bytes", p->gradients_bytes);
    record_u64(r, "memory_bytes", p->memory_bytes);
    record_bool(r, "is_best", is_best);
    return report_end(to);
}

enum rc layouts_write(const struct layouts *l, const char *path)
{
    struct report *to = NULL;
    enum rc rc;

    TRY(report_open(&to, path));
    for (size_t i = 0; i < l->n_points; i++)
        TRY(write_point(to, l, &l->point[i], i == 0 || l->point[i - 1].profile != l->point[i].profile));
    TRY(report_commit(to));
out:
    report_close(&to);
    return rc;
}
