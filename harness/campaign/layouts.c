/* SPDX-License-Identifier: Apache-2.0 */
/* layouts.c - see layouts.h. */
#include "harness/campaign/layouts_formula.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/text.h"
#include "models/engine/network_shard.h"

enum { STEPS = 5 };

/* --- which there are --- */

/* NULL: it can be; else why not. */
static const char *why_not(const struct layouts *l, const struct layout_point *p, const struct layout_model *m)
{
    const uint64_t n = l->global_batch[p->profile], W = (uint64_t)p->layout.n_workers;

    if (n % W != 0)
        return "the global batch cannot be shared out evenly among its workers";
    if (n / W > TRAIN_MAX_BATCH)
        return "its workers would have too large a batch";
    if (p->layout.n_stages > network_most_stages(m->network))
        return "the network cannot be cut into so many stages";
    if (p->layout.n_shards > 1 && p->layout.n_shards > network_most_shards(m->network))
        return network_most_shards(m->network) == 0 ? "the network does not end in dense layers"
                                                    : "a dense layer has not so many outputs";
    if (p->layout.n_stages > 1 && l->terms->n_micro_batches > 0 && n / W % l->terms->n_micro_batches != 0)
        return "a worker's batch has not so many equal micro-batches";
    return NULL;
}

static enum rc add_layout(struct layouts *l, const struct layout_model *m, struct layout layout, size_t profile,
                          bool must_fit)
{
    struct layout_point p = { .layout = layout, .profile = profile, .step_s = NAN }, *more;
    const char *why = why_not(l, &p, m);
    char name[LAYOUT_TEXT_BYTES];
    enum rc rc = RC_OK;

    layout_text(name, &layout);
    if (why && !must_fit)
        return RC_OK;
    if (why)
        FAIL(RC_INVAL, "--layout %s: %s (%s, --global-batch %llu)", name, why, l->base.profiles.profile[profile].model,
             (unsigned long long)l->global_batch[profile]);
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

/* All of so many GPUs (A2). */
static enum rc add_all(struct layouts *l, const struct layout_model *m, size_t profile, int n_gpus)
{
    enum rc rc = RC_OK;

    for (int S = 1; S <= n_gpus && S <= NETWORK_MAX_STAGES; S++)
        for (int K = 1; n_gpus % S == 0 && K <= n_gpus / S && K <= NETWORK_MAX_SHARDS; K++)
            if (n_gpus / S % K == 0)
                TRY(add_layout(l, m, (struct layout){ n_gpus / S, S, K }, profile, false));
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
            FAIL(RC_INVAL, "--layout: names more than %d; fewer would be right", (int)LAYOUTS_MOST);
        TRY(layout_parse(&layout[(*n)++], item));
    }
    if (*n == 0)
        FAIL(RC_INVAL, "--layout: is empty; 4x1x1,1x4x1 would be right");
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
                rc = add_layout(l, &m, layout[k], i, true);
        layout_model_free(&m);
        TRY(rc);
    }
    if (l->n_points == 0)
        FAIL(RC_INVAL, "--gpus %s: no layout of so many can share out the global batch", l->terms->simulate.gpus);
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

    TRY(used_cluster_open(&l.base.cluster[0], terms->simulate.cluster, "", terms->simulate.cluster_set));
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

double layout_step_s(const struct layout_point *p)
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
