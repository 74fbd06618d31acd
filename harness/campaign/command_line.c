/* SPDX-License-Identifier: Apache-2.0 */
/* command_line.c - the command line, `gradmark train` and its options, by which a point of a campaign is launched. */
#include "harness/campaign/command_line.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "data/dataset.h"

enum { N_CURVE_POINTS = 100 }; /* about so many steps of a launch are recorded behind the target loss */

void command_line_add(struct command_line *l, const char *fmt, ...)
{
    va_list ap;

    assert(l->n < MAX_ARGS);
    va_start(ap, fmt);
    const int n_chars = vsnprintf(l->text[l->n], sizeof l->text[0], fmt, ap);
    va_end(ap);
    assert(n_chars >= 0 && n_chars < ARG_BYTES);
    (void)n_chars;
    l->argv[l->n] = l->text[l->n];
    l->argv[++l->n] = NULL;
}

enum rc command_line_add_option(struct command_line *l, const struct opt_group *g, const struct opt *o,
                                const char *folder)
{
    const char *module = g->module ? g->module->name : "", *dot = g->module ? "." : "", *slash = folder[0] ? "/" : "";
    const char *value = opt_text(o, g->into);
    char number[32];

    if (!value) {
        opt_format(o, g->into, number, sizeof number);
        value = number;
    }
    const size_t n_name = strlen(module) + strlen(dot) + strlen(o->name) + strlen("--=");
    const size_t n_value = strlen(folder) + strlen(slash) + strlen(value);
    if (n_name + n_value >= ARG_BYTES)
        return rc_raise(RC_INVAL, "--%s%s%s: has %zu letters; a campaign takes at most %zu", module, dot, o->name,
                        n_value, ARG_BYTES - 1 - n_name);
    command_line_add(l, "--%s%s%s=%s%s%s", module, dot, o->name, folder, slash, value);
    return RC_OK;
}

struct launch_terms launch_terms_of(const struct sweep *s, const struct point *p, size_t block)
{
    const uint64_t n_seeds = TRAIN_MAX_SEED + 1;

    return (struct launch_terms){ .seed = (s->train.seed + (s->campaign.is_virtual ? 0 : block)) % n_seeds,
                                  .n_steps = p->n_steps,
                                  .lr = p->tuned_lr > 0 ? p->tuned_lr : s->train.lr };
}

/* Add --name=value, unless value is "" or p assigns the option itself. */
static void add_text(struct command_line *l, const struct point *p, const char *name, const char *value)
{
    if (value[0] != '\0' && !point_value(p, name))
        command_line_add(l, "--%s=%s", name, value);
}

/* Add --name=value, unless value is 0 or p assigns the option itself. */
static void add_whole(struct command_line *l, const struct point *p, const char *name, uint64_t value)
{
    if (value > 0 && !point_value(p, name))
        command_line_add(l, "--%s=%llu", name, (unsigned long long)value);
}

/* Does add_derived() add this option, with a value computed for the point? */
static bool is_derived(const char *name)
{
    for (int i = 0; i < N_DERIVED; i++)
        if (strcmp(derived_option(i), name) == 0)
            return true;
    return false;
}

/* The backend that simulates the time of operations without computing them; NULL: not built in. */
static const struct compute_backend *hollow_backend(void)
{
    for (int i = 0; compute_kind.at(i); i++) {
        const struct compute_backend *b = (const struct compute_backend *)compute_kind.at(i);
        if (!b->touches_memory)
            return b;
    }
    return NULL;
}

/* The backend of p. In simulated time, the default for networks on synthetic images, which are too slow to compute, and
 * for replay, which has nothing to compute, is the hollow one. */
static const char *compute_of(const struct sweep *s, const struct point *p)
{
    const struct workload *w = p->workload;
    const struct dataset_source *source = w->dataset ? dataset_source_find(w->dataset) : NULL;
    const bool has_data = w->dataset && !(source && source->makes_images); /* no source: linear's own samples */
    const struct compute_backend *hollow = hollow_backend();
    const char *assigned = point_value(p, "compute");

    if (assigned)
        return assigned;
    return s->campaign.is_virtual && !has_data && hollow && !opt_given(sweep_train_group(s), 1, "compute")
               ? hollow->module.name
               : s->train.compute;
}

static bool computes(const struct sweep *s, const struct point *p)
{
    const struct compute_backend *hollow = hollow_backend();

    return !(p->workload->module.caps & WORKLOAD_PLAYS_PROFILE) &&
           !(hollow && strcmp(compute_of(s, p), hollow->module.name) == 0);
}

bool point_learns(const struct sweep *s, const struct point *p)
{
    return computes(s, p) && !s->train.forward_only;
}

static bool has_stages(const struct sweep *s, const struct point *p)
{
    (void)s;
    return p->n_stages > 1;
}

/* Is the option of use to a run of p? */
static bool is_of_use(const struct sweep *s, const struct point *p, const char *name)
{
    static const struct {
        const char *name;
        bool (*uses)(const struct sweep *s, const struct point *p);
    } partial[] = { { "target-loss", point_learns }, { "eval-samples", computes }, { "precision", computes },
                    { "accumulate", has_stages },    { "schedule", has_stages },   { "recompute", has_stages } };

    for (size_t i = 0; i < sizeof partial / sizeof *partial; i++)
        if (strcmp(partial[i].name, name) == 0)
            return partial[i].uses(s, p);
    return mode_takes(p->mode, name);
}

/* Is option `name`, given by the user, passed to p? To the points that it is of use to; if it is to none, to all, whose
 * launches then refuse it with a message. */
static bool is_passed_to(const struct sweep *s, const struct point *p, const char *name)
{
    if (is_of_use(s, p, name))
        return true;
    for (size_t k = 0; k < s->campaign.n_points; k++)
        if (is_of_use(s, &s->campaign.point[k], name))
            return false;
    return true;
}

/* The options of train_opt_table that the user gave, except those that p assigns or add_derived() adds. */
static enum rc add_given(struct command_line *l, const struct sweep *s, const struct point *p)
{
    const struct opt_group *g = sweep_train_group(s);
    enum rc rc = RC_OK;

    for (int i = 0; g->table[i].type != OPT_END; i++) {
        const char *name = g->table[i].name;
        if (!opt_is_given(g, i) || is_derived(name) || point_value(p, name) || !is_passed_to(s, p, name))
            continue;
        TRY(command_line_add_option(l, g, &g->table[i], ""));
    }
out:
    return rc;
}

static bool is_used(const struct point *p, const struct module *m)
{
    for (int kind = 0; kind < TRAIN_N_KINDS; kind++)
        if (p->used[kind] == m)
            return true;
    return false;
}

/* The given options of the modules that p uses. */
static enum rc add_module_options(struct command_line *l, const struct sweep *s, const struct point *p)
{
    enum rc rc = RC_OK;

    for (int k = 0; k < s->n_given; k++) {
        const struct opt_group *g = &s->given[k];
        if (!g->module || !is_used(p, g->module))
            continue;
        for (int i = 0; g->table[i].type != OPT_END; i++)
            if (opt_is_given(g, i))
                TRY(command_line_add_option(l, g, &g->table[i], ""));
    }
out:
    return rc;
}

/* "": none; in sim the option is refused by the launch. */
static const char *wait_of(const struct sweep *s, const struct point *p)
{
    const bool is_given = opt_given(sweep_train_group(s), 1, derived_option(DERIVED_WAIT));

    if (p->wait != WAIT_AUTO)
        return p->wait == WAIT_SPIN ? "spin" : "sleep";
    return is_given ? s->train.wait : "";
}

/* Options computed for p, and for this launch, where p does not assign them. */
static void add_derived(struct command_line *l, const struct sweep *s, const struct point *p,
                        const struct launch_terms *terms)
{
    add_whole(l, p, derived_option(DERIVED_SERVERS), (uint64_t)p->n_servers);
    if (p->mode->caps & MODE_COLLECTIVE)
        add_text(l, p, derived_option(DERIVED_REDUCER), s->train.reducer);
    add_text(l, p, derived_option(DERIVED_COMPUTE), compute_of(s, p));
    add_whole(l, p, derived_option(DERIVED_THREADS), (uint64_t)p->n_threads); /* equal for all worker counts */
    add_whole(l, p, derived_option(DERIVED_STEPS), terms->n_steps);
    if (terms->lr > 0 && !point_value(p, derived_option(DERIVED_LR)))
        command_line_add(l, "--%s=%.17g", derived_option(DERIVED_LR), terms->lr);
    add_text(l, p, derived_option(DERIVED_WAIT), wait_of(s, p));
    if (!point_value(p, derived_option(DERIVED_SEED)))
        command_line_add(l, "--%s=%llu", derived_option(DERIVED_SEED), (unsigned long long)terms->seed);
    if (isnan(s->train.target_loss) && !point_value(p, "target-loss") && point_learns(s, p))
        command_line_add(l, "--target-loss=%.17g", p->workload->default_target_loss);
    add_whole(l, p, "global-batch", p->launch_global_batch);
    add_whole(l, p, "accumulate", p->launch_micro_batches);
    add_whole(l, p, "record-every", terms->n_steps / N_CURVE_POINTS > 1 ? terms->n_steps / N_CURVE_POINTS : 1);
}

enum rc command_line_add_point(struct command_line *l, const struct sweep *s, const struct point *p,
                               const struct launch_terms *terms)
{
    enum rc rc;

    TRY(add_given(l, s, p));
    TRY(add_module_options(l, s, p));
    add_text(l, p, derived_option(DERIVED_WORLD), s->train.world);
    for (int i = 0; i < p->n_assigned; i++)
        command_line_add(l, "--%s=%s", p->assigned[i].option, p->assigned[i].value);
    add_derived(l, s, p, terms);
out:
    return rc;
}
