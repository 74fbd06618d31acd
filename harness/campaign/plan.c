/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c - in which world a campaign runs, and which points it has. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/file.h"
#include "harness/base/terminal.h"
#include "harness/base/text.h"
#include "harness/campaign/sweep.h"
#include "harness/world/cores.h"
#include "models/replay/profile.h"

/* --- layouts --- */

static void choose(struct assignment *a, const char *option, int value)
{
    snprintf(a->option, sizeof a->option, "%s", option);
    snprintf(a->value, sizeof a->value, "%d", value);
}

/* chosen[LAYOUT_OPTIONS] := the assignments of the layout. RC_INVAL: not a layout, or more ranks than launched. */
static enum rc plan_choose_layout(struct assignment *chosen, const struct sweep *s, const char *text)
{
    char fitting[LAYOUT_CHOICE_BYTES];
    struct layout l;
    enum rc rc;

    TRY(layout_parse(&l, text));
    layout_choices(fitting, s->launcher.n_ranks);
    if (s->launcher.name && layout_n_ranks(&l) > s->launcher.n_ranks)
        FAIL(RC_INVAL, "--layout %s: is %d ranks, and %d were launched; %s would fit", text, layout_n_ranks(&l),
             s->launcher.n_ranks, fitting);
    choose(&chosen[0], "workers", l.n_workers);
    choose(&chosen[1], "stages", l.n_stages);
    choose(&chosen[2], "shard-dense", l.n_shards);
out:
    return rc;
}

const char *plan_layout_mode(void)
{
    int i = 0;

    while (!(train_mode_at(i)->module.caps & MODE_COLLECTIVE))
        i++;
    return train_mode_at(i)->module.name;
}

static int count_of(const struct assignment *a)
{
    uint64_t n = 1;

    return a && text_to_u64(a->value, &n) && n > 0 && n <= LAYOUT_MOST ? (int)n : 1;
}

/* The layout of a planned point; stages, shards: NULL: 1. An invalid number counts as 1; campaign_add() refuses it. */
static struct layout plan_layout_of(int n_workers, const struct assignment *stages, const struct assignment *shards)
{
    return (struct layout){ n_workers, count_of(stages), count_of(shards) };
}

static bool compares_layouts(const struct sweep *s)
{
    for (int k = 0; k < s->n_axes; k++)
        if (strcmp(s->axis[k].option, LAYOUT_AXIS) == 0)
            return true;
    return false;
}

enum { WHY_NOT_BYTES = 160 };

/* n_others: servers and such, beside the ranks of the layout. "": it can. */
static void why_not(char out[WHY_NOT_BYTES], const struct sweep *s, const struct module *mode, const struct layout *l,
                    int n_others)
{
    const int n_ranks = layout_n_ranks(l) + n_others;
    const size_t n_bytes = WHY_NOT_BYTES;

    out[0] = '\0';
    if (l->n_shards > 1 && !(mode->caps & MODE_COLLECTIVE))
        snprintf(out, n_bytes, "%s does not sum gradients over those that have a shard", mode->name);
    else if (l->n_workers % l->n_shards != 0)
        snprintf(out, n_bytes, "the number of workers is not divisible by the number of shards");
    else if (l->n_workers > 1 && mode->caps & MODE_ONE_WORKER)
        snprintf(out, n_bytes, "%s has one worker", mode->name);
    else if (s->launcher.name && n_ranks > s->launcher.n_ranks)
        snprintf(out, n_bytes, "with %s it is %d ranks%s, and %d were launched", mode->name, n_ranks,
                 n_others > 0 ? ", all told" : "", s->launcher.n_ranks);
}

/* Of several points that are left out for the same reason, once. */
static void note_left_out(struct sweep *s, const char *what, const char *why)
{
    const size_t n_used = strlen(s->left_out);
    char line[WHY_NOT_BYTES + LAYOUT_TEXT_BYTES + 4];

    snprintf(line, sizeof line, "%.30s: %s", what, why);
    if (!strstr(s->left_out, line))
        snprintf(s->left_out + n_used, sizeof s->left_out - n_used, "%s%s", n_used > 0 ? "; " : "", line);
}

/* Has it layers that could be cut? */
static bool can_be_cut(const char *model)
{
    const struct workload *w = NULL;

    if (workload_find(&w, model) != RC_OK) { /* campaign_add() refuses it */
        rc_clear();
        return true;
    }
    return w->network || w->module.caps & WORKLOAD_PLAYS_PROFILE;
}

/* Is the layout impossible for model and mode, with n_others further ranks? Then s->left_out says so. A layout without
 * stages and shards is only checked if layouts are an axis. */
static bool plan_leaves_out(struct sweep *s, const char *model, const struct module *mode, const struct layout *l,
                            int n_others)
{
    char why[WHY_NOT_BYTES], name[LAYOUT_TEXT_BYTES];

    if (!compares_layouts(s) && l->n_stages == 1 && l->n_shards == 1)
        return false;
    if (!can_be_cut(model)) {
        note_left_out(s, model, "has no layers that could be divided");
        return true;
    }
    why_not(why, s, mode, l, n_others);
    layout_text(name, l);
    if (why[0])
        note_left_out(s, name, why);
    return why[0] != '\0';
}

/* --- as much work for all of them --- */

uint64_t sweep_global_batch(const struct sweep *s, const struct point *p)
{
    const char *value = point_value(p, "global-batch");
    uint64_t n = s->train.global_batch > 0 ? s->train.global_batch : p->launch_global_batch;

    return value && !text_to_u64(value, &n) ? 0 : n; /* one that is no number the launch refuses */
}

static enum rc default_batch(uint64_t *out, const struct sweep *s, const struct point *p)
{
    const char *file = point_value(p, "profile") ? point_value(p, "profile") : s->train.profile;
    struct profile *profile = NULL;
    enum rc rc = RC_OK;

    *out = (uint64_t)p->workload->default_batch;
    if (!(p->workload->module.caps & WORKLOAD_PLAYS_PROFILE) || file[0] == '\0') /* without one the launch is refused */
        return RC_OK;
    TRY(file_of_option(profile_load(&profile, file), "profile"));
    *out = (uint64_t)profile->batch;
out:
    profile_close(&profile);
    return rc;
}

static uint64_t common_multiple(uint64_t a, uint64_t b)
{
    uint64_t x = a, y = b;

    while (y > 0) {
        const uint64_t rest = x % y;
        x = y;
        y = rest;
    }
    return a / x * b;
}

/* The model's batch for each rank of the largest layout among the points comparable to p, rounded up so that the
 * workers of each can share it out. */
static enum rc choose_global_batch(uint64_t *out, const struct sweep *s, const struct point *p)
{
    uint64_t batch = 0, shared = 1, most = 1;
    enum rc rc;

    TRY(default_batch(&batch, s, p));
    for (size_t i = 0; i < s->campaign.n_points; i++) {
        const struct point *q = &s->campaign.point[i];
        const uint64_t n_workers = (uint64_t)q->n_workers, n_ranks = (uint64_t)point_n_ranks(q);
        if (q->workload != p->workload)
            continue;
        most = n_ranks > most ? n_ranks : most;
        if (shared <= TRAIN_MAX_BATCH) /* more no batch is a multiple of: check_global_batches() says what would be */
            shared = common_multiple(shared, n_workers);
    }
    *out = (batch * most + shared - 1) / shared * shared;
out:
    return rc;
}

static enum rc worker_batch(uint64_t *out, const struct sweep *s, const struct point *p)
{
    const uint64_t n = sweep_global_batch(s, p);
    const char *value = point_value(p, "batch");

    if (n > 0)
        *out = n / (uint64_t)p->n_workers;
    else if ((value && text_to_u64(value, out)) || s->train.batch > 0)
        *out = value ? *out : s->train.batch;
    else
        return default_batch(out, s, p);
    return RC_OK;
}

/* If layouts are compared, set launch_global_batch and launch_micro_batches of all points, unless the user gave them.
 * RC_INVAL: as the file of --profile. RC_NOMEM. */
static enum rc plan_work_of_layouts(struct sweep *s)
{
    const bool chooses_parts = !opt_given(sweep_train_group(s), 1, "accumulate");
    enum rc rc = RC_OK;

    for (size_t i = 0; i < s->campaign.n_points; i++) {
        struct point *p = &s->campaign.point[i];
        uint64_t batch = 0;
        if (compares_layouts(s) && s->train.global_batch == 0 && !point_value(p, "global-batch"))
            TRY(choose_global_batch(&p->launch_global_batch, s, p));
        if (!chooses_parts || p->n_stages == 1 || point_value(p, "accumulate"))
            continue;
        TRY(worker_batch(&batch, s, p));
        p->launch_micro_batches = batch > 0 ? layout_n_micro_batches(batch, p->n_stages) : 0;
    }
out:
    return rc;
}

void sweep_announce_layouts(const struct sweep *s, FILE *to)
{
    if (s->left_out[0])
        terminal_note(to, "gradmark compare: left out: %s", s->left_out);
    for (size_t i = 0; i < s->campaign.n_points; i++) {
        const struct point *p = &s->campaign.point[i];
        if (p->launch_global_batch > 0 && (i == 0 || p->workload != p[-1].workload))
            terminal_note(to, "gradmark compare: %s: every layout trains %llu samples a step; --global-batch N: others",
                          p->workload->module.name, (unsigned long long)p->launch_global_batch);
    }
}

const struct opt_group *sweep_train_group(const struct sweep *s)
{
    int k = 0;

    while (k < s->n_given && s->given[k].table != train_opt_table)
        k++;
    assert(k < s->n_given);
    return &s->given[k];
}

const char *derived_option(enum derived_option which)
{
    static const char *const named_option[N_DERIVED] = {
        [DERIVED_WORLD] = "world",     [DERIVED_SERVERS] = "servers", [DERIVED_REDUCER] = "reducer",
        [DERIVED_COMPUTE] = "compute", [DERIVED_THREADS] = "threads", [DERIVED_STEPS] = "steps",
        [DERIVED_WAIT] = "wait",       [DERIVED_SEED] = "seed",       [DERIVED_LR] = "lr",
    };

    return named_option[which];
}

int sweep_n_threads(const struct sweep *s)
{
    return s->train.threads ? (int)s->train.threads : 1;
}

enum rc sweep_choose_world(struct sweep *s)
{
    enum rc rc;

    TRY(world_choose(&s->world, s->train.world, s->launcher.name != NULL));
    s->train.world = s->world->module.name;
    if (s->world->module.caps & WORLD_LAUNCHED && !s->launcher.name)
        FAIL(RC_INVAL, "--world %s: start it with mpirun or srun, as in: mpirun -np 4 gradmark compare",
             s->train.world);
    s->campaign.is_virtual = s->world->module.caps & WORLD_VIRTUAL_TIME;
    s->campaign.is_launched = s->launcher.name != NULL;
    if (s->campaign.is_virtual) /* launches are equal there */
        s->campaign.n_launches_wanted = 1;
out:
    return rc;
}

static int ascending(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* Sorted, without repetition. */
static int tidy_counts(int *count, int n)
{
    int n_kept = 0;

    qsort(count, (size_t)n, sizeof *count, ascending);
    for (int i = 0; i < n; i++)
        if (i == 0 || count[i] != count[n_kept - 1])
            count[n_kept++] = count[i];
    return n_kept;
}

static const char *values_of(const struct sweep *s, const char *option)
{
    for (int k = 0; k < s->n_axes; k++)
        if (strcmp(s->axis[k].option, option) == 0)
            return s->axis[k].values;
    return "";
}

/* Of any point. */
static int most_drivers(const struct sweep *s)
{
    const char *rest = values_of(s, "input");
    char element[VALUE_BYTES];
    int n_most = rest[0] ? 0 : train_n_drivers(s->train.input);

    while (text_next(&rest, element, sizeof element))
        n_most = train_n_drivers(element) > n_most ? train_n_drivers(element) : n_most;
    return n_most;
}

static int default_counts(int *count, const struct sweep *s)
{
    const bool is_virtual = s->campaign.is_virtual;
    const int n_cores = cores_allowed_count(), n_fit = n_cores / sweep_n_threads(s);
    const int n_given = s->launcher.n_ranks - most_drivers(s);
    const int n_most = is_virtual ? 8 : s->launcher.name && n_given > 0 ? n_given : n_fit > 0 ? n_fit : 1;
    int n = 0;

    for (int w = 1; w < n_most && n < MAX_COUNTS - 2; w *= 2)
        count[n++] = w;
    count[n++] = n_most;
    if (!is_virtual && !s->launcher.name)
        count[n++] = 2 * n_most; /* the oversubscribed point */
    return tidy_counts(count, n);
}

static enum rc given_counts(int *count, int *n, const struct sweep *s, const char *values)
{
    const int n_drivers = most_drivers(s);
    const char *rest = values;
    char element[32];
    uint64_t value = 0;

    for (*n = 0; text_next(&rest, element, sizeof element);) {
        if (*n == MAX_COUNTS)
            return rc_raise(RC_INVAL, "--workers %s: more than %d counts", values, MAX_COUNTS);
        if (!text_to_u64(element, &value)) /* the option table has checked it */
            return rc_raise(RC_BUG, "--workers %s: not a number", element);
        if (s->launcher.name && value + (uint64_t)n_drivers > (uint64_t)s->launcher.n_ranks)
            return rc_raise(RC_INVAL, "--workers %s: %d ranks were launched%s", element, s->launcher.n_ranks,
                            n_drivers > 0 ? ", of which one is the driver of --input feed" : "");
        count[(*n)++] = (int)value;
    }
    *n = tidy_counts(count, *n);
    return RC_OK;
}

/* Ascending, as a comma list. */
static enum rc worker_counts(char out[COUNTS_BYTES], const struct sweep *s, const char *values)
{
    int count[MAX_COUNTS] = { 0 }, n = 0;
    size_t n_used = 0;
    enum rc rc = RC_OK;

    if (values[0] == '\0')
        n = default_counts(count, s);
    else
        TRY(given_counts(count, &n, s, values));
    for (int i = 0; i < n; i++)
        n_used += (size_t)snprintf(out + n_used, COUNTS_BYTES - n_used, "%s%d", i > 0 ? "," : "", count[i]);
out:
    return rc;
}

static struct assignment *assignment_of(struct assignment *assigned, int n, const char *option)
{
    for (int i = 0; i < n; i++)
        if (strcmp(assigned[i].option, option) == 0)
            return &assigned[i];
    return NULL;
}

bool option_belongs_to_modes(const char *option)
{
    for (const struct opt_rule *rule = train_opt_rules; rule->name; rule++)
        if (strcmp(rule->name, option) == 0 && strcmp(rule->other, "mode") == 0)
            return true;
    return false;
}

bool mode_takes(const struct module *mode, const char *option)
{
    for (const struct opt_rule *rule = train_opt_rules; rule->name; rule++)
        if (strcmp(rule->name, option) == 0 && strcmp(rule->other, "mode") == 0 && (mode->caps & rule->caps) == 0)
            return false;
    return strcmp(option, "transport") != 0 || mode_exchanges(mode);
}

/* 0: none, or where `beside`, without a number, one beside each worker. */
static int n_servers_of(const struct sweep *s, const struct module *mode, const struct assignment *assigned,
                        bool beside)
{
    uint64_t n_servers = s->train.servers ? s->train.servers : beside ? 0 : 1;

    if (assigned && !text_to_u64(assigned->value, &n_servers))
        return 1; /* the launch refuses it */
    return mode->caps & MODE_SERVERS ? (int)n_servers : 0;
}

/* Does mode have servers that live beside workers? */
static bool are_beside(const struct sweep *s, const struct module *mode, const struct assignment *assigned)
{
    return mode->caps & MODE_SERVERS && (assigned ? strcmp(assigned->value, "true") == 0 : s->train.colocate);
}

/* Workers of mode at a wanted count; 0: no such point. Under a launcher servers come out of the given ranks. */
static int workers_of(const struct sweep *s, const struct module *mode, int n_servers, int n_drivers, int wanted)
{
    const bool beside_each = mode->caps & MODE_SERVERS && n_servers == 0;
    const int n_given = s->launcher.n_ranks - n_drivers;

    if (mode->caps & MODE_ONE_WORKER)
        return wanted == 1 ? 1 : 0;
    if (s->launcher.name && beside_each)
        return 2 * wanted > n_given ? n_given / 2 : wanted;
    if (s->launcher.name && wanted + n_servers > n_given)
        return n_given > n_servers ? n_given - n_servers : 0;
    return wanted;
}

/* RC_INVAL: every run of p would start more threads than this host can run side by side, and measure how the system
 * divides its cores. The bound is far above any comparison of shared cores. */
static enum rc refuse_too_many_threads(const struct point *p, int n_cores)
{
    enum { MOST_PER_CORE = 32 };
    const long n_most = (long)MOST_PER_CORE * n_cores;
    const long n_threads = (long)point_n_ranks(p) * p->n_threads + p->n_servers;

    if (n_threads <= n_most)
        return RC_OK;
    return rc_raise(
        RC_INVAL,
        "--workers %d: is %ld threads of workers and servers on %d cores, and at most %ld are run; use fewer "
        "--workers, --threads or --servers, or simulate them with --world sim",
        p->n_workers, n_threads, n_cores, n_most);
}

/* chosen[n_chosen]: a value of every axis, of layouts those of the options that they stand for. No point where the mode
 * cannot have so many workers, or such a layout, or where there is one already. */
static enum rc plan_point(struct sweep *s, const struct assignment *chosen, int n_chosen)
{
    struct assignment a[MAX_ASSIGNMENTS];
    const struct module *mode;
    struct point *p = NULL;
    uint64_t n_threads = 0;
    int n = 0;
    enum rc rc;

    memcpy(a, chosen, (size_t)n_chosen * sizeof *a);
    TRY(module_find(&mode, &mode_kind, assignment_of(a, n_chosen, "mode")->value));
    for (int k = 0; k < n_chosen; k++)
        if (mode_takes(mode, chosen[k].option))
            a[n++] = chosen[k];
    struct assignment *workers = assignment_of(a, n, "workers");
    const bool beside = are_beside(s, mode, assignment_of(a, n, "colocate"));
    const int n_servers = n_servers_of(s, mode, assignment_of(a, n, "servers"), beside);
    const struct assignment *input = assignment_of(a, n, "input");
    const int n_drivers = train_n_drivers(input ? input->value : s->train.input);
    const int wanted = (int)strtol(workers->value, NULL, 10);
    const struct layout layout =
        plan_layout_of(wanted, assignment_of(a, n, "stages"), assignment_of(a, n, "shard-dense"));
    if (plan_leaves_out(s, assignment_of(a, n, "model")->value, mode, &layout, layout.n_stages * n_servers + n_drivers))
        return RC_OK;
    const int n_workers = workers_of(s, mode, n_servers, n_drivers, wanted);
    snprintf(workers->value, sizeof workers->value, "%d", n_workers);
    if (n_workers == 0 || campaign_find(&s->campaign, a, n))
        return RC_OK;
    TRY(campaign_add(&s->campaign, a, n, &p));
    p->n_servers = beside && n_servers == 0 ? train_default_servers(true, n_workers) : n_servers;
    p->servers_beside = beside;
    p->n_drivers = n_drivers;
    p->n_threads = sweep_n_threads(s);
    const char *threads = point_value(p, derived_option(DERIVED_THREADS));
    if (threads && text_to_u64(threads, &n_threads))
        p->n_threads = (int)n_threads;
    /* Under a launcher the hosts are known after a launch: campaign_take. */
    if (!s->campaign.is_virtual && !s->campaign.is_launched) {
        TRY(refuse_too_many_threads(p, cores_allowed_count()));
        point_mark_shared_cores(p, cores_allowed_count());
    }
out:
    return rc;
}

static enum rc plan_axis(struct sweep *s, int k, struct assignment *chosen, int n);

/* Layouts in turn, for each of them the values of the axes behind axis k. */
static enum rc plan_layouts(struct sweep *s, int k, struct assignment *chosen, int n)
{
    const char *rest = s->axis[k].values;
    char text[VALUE_BYTES];
    enum rc rc = RC_OK;

    while (text_next(&rest, text, sizeof text)) {
        TRY(plan_choose_layout(chosen + n, s, text));
        TRY(plan_axis(s, k + 1, chosen, n + LAYOUT_OPTIONS));
    }
out:
    return rc;
}

/* The values of axis k in turn, for each of them those of the axes behind it. chosen[n]: those before. */
static enum rc plan_axis(struct sweep *s, int k, struct assignment *chosen, int n)
{
    char counts[COUNTS_BYTES];
    enum rc rc = RC_OK;

    if (k == s->n_axes)
        return plan_point(s, chosen, n);
    if (strcmp(s->axis[k].option, LAYOUT_AXIS) == 0)
        return plan_layouts(s, k, chosen, n);
    const struct axis *axis = &s->axis[k];
    const char *rest = axis->values;
    if (strcmp(axis->option, "workers") == 0) {
        TRY(worker_counts(counts, s, axis->values));
        if (axis->values[0] == '\0')
            snprintf(s->chosen_workers, sizeof s->chosen_workers, "%s", counts);
        rest = counts;
    }
    snprintf(chosen[n].option, sizeof chosen[n].option, "%s", axis->option);
    while (text_next(&rest, chosen[n].value, sizeof chosen[n].value)) {
        if (strlen(chosen[n].value) == sizeof chosen[n].value - 1)
            FAIL(RC_INVAL, "--%s %s...: values that are swept are shorter than %zu letters", axis->option,
                 chosen[n].value, sizeof chosen[n].value - 1);
        TRY(plan_axis(s, k + 1, chosen, n + 1));
    }
out:
    return rc;
}

/* The mode that has one worker; NULL: there is none. */
static const struct module *lone_mode(void)
{
    for (int i = 0; train_mode_at(i); i++)
        if (train_mode_at(i)->module.caps & MODE_ONE_WORKER)
            return &train_mode_at(i)->module;
    return NULL;
}

/* Move the last point to place i, others behind it. */
static void move_last_to(struct campaign *c, size_t i)
{
    const struct point last = c->point[c->n_points - 1];

    memmove(&c->point[i + 1], &c->point[i], (c->n_points - 1 - i) * sizeof last);
    c->point[i] = last;
}

/* One worker alone, with the other values of point i, or the first of an axis that its mode does not take. */
static enum rc plan_baseline_of(struct sweep *s, size_t i, const struct module *mode)
{
    struct assignment chosen[MAX_ASSIGNMENTS] = { 0 };
    int n = 0;
    enum rc rc = RC_OK;

    for (int k = 0; k < s->n_axes; k++) {
        const char *option = s->axis[k].option, *rest = s->axis[k].values;
        const char *value = point_value(&s->campaign.point[i], option);

        if (strcmp(option, LAYOUT_AXIS) == 0) {
            TRY(plan_choose_layout(chosen + n, s, LAYOUT_OF_ONE_RANK));
            n += LAYOUT_OPTIONS;
            continue;
        }
        snprintf(chosen[n].option, sizeof chosen[n].option, "%s", option);
        if (strcmp(option, "mode") == 0)
            value = mode->name;
        else if (strcmp(option, "workers") == 0 || strcmp(option, "stages") == 0 || strcmp(option, "shard-dense") == 0)
            value = "1";
        if (value)
            snprintf(chosen[n].value, sizeof chosen[n].value, "%s", value);
        else
            (void)text_next(&rest, chosen[n].value, sizeof chosen[n].value);
        n++;
    }
    TRY(plan_point(s, chosen, n));
out:
    return rc;
}

/* What efficiency is measured by, before the first of the points that have none. */
static enum rc plan_baselines(struct sweep *s)
{
    const struct module *mode = lone_mode();
    enum rc rc = RC_OK;

    for (size_t i = 0; mode && i < s->campaign.n_points; i++) {
        const size_t n_before = s->campaign.n_points;
        if (campaign_find_baseline(&s->campaign, &s->campaign.point[i]))
            continue;
        TRY(plan_baseline_of(s, i, mode));
        if (s->campaign.n_points == n_before)
            continue;
        move_last_to(&s->campaign, i);
        s->added_baseline = true;
    }
out:
    return rc;
}

/* "single has one worker": why there may be nothing to run. */
static enum rc nothing_to_run(const struct sweep *s)
{
    char names[64];

    if (s->left_out[0])
        return rc_raise(RC_INVAL, "--%s: nothing to run; %s", s->axis[2].option, s->left_out);
    module_names_with(names, sizeof names, &mode_kind, MODE_ONE_WORKER);
    return rc_raise(RC_INVAL, "--mode %s --workers %s: nothing to run; %s has one worker; use --workers 1",
                    values_of(s, "mode"), values_of(s, "workers"), names);
}

/* Options that only some modes take are how these exchange; those that differ from their defaults, and are not swept.
 */
static void note_exchange(struct sweep *s)
{
    char *text = s->campaign.exchange, value[VALUE_BYTES];

    text[0] = '\0';
    for (const struct opt *o = train_opt_table; o->type != OPT_END; o++) {
        const char *unset = o->type == OPT_U64 && !opt_default(o)[0] ? "0" : opt_default(o);
        const size_t n_used = strlen(text);

        if (!option_belongs_to_modes(o->name) || values_of(s, o->name)[0])
            continue;
        opt_format(o, &s->train, value, sizeof value);
        if (strcmp(value, unset) != 0)
            snprintf(text + n_used, sizeof s->campaign.exchange - n_used, "%s%s %s", n_used > 0 ? ", " : "", o->name,
                     value);
    }
}

/* --- strong scaling: a global batch that every number of workers can share out --- */

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b > 0) {
        const uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Of the points with a global batch of n: the least that all of them can share out evenly, and *most, the most that the
 * workers of each can have. 0: the least is more than that. */
static uint64_t least_shared(const struct sweep *s, uint64_t n, uint64_t *most)
{
    const struct campaign *c = &s->campaign;
    uint64_t least = 1;

    *most = UINT64_MAX;
    for (size_t i = 0; i < c->n_points; i++) {
        const uint64_t can_have = (uint64_t)c->point[i].n_workers * TRAIN_MAX_BATCH;
        if (sweep_global_batch(s, &c->point[i]) == n && can_have < *most)
            *most = can_have;
    }
    for (size_t i = 0; i < c->n_points && least <= *most; i++) {
        const uint64_t n_workers = (uint64_t)c->point[i].n_workers;
        if (sweep_global_batch(s, &c->point[i]) == n)
            least *= n_workers / common_divisor(least, n_workers);
    }
    return least <= *most ? least : 0;
}

/* n does not divide among the workers of p: the nearest that do among those of all points. */
static enum rc refuse_rest(const struct sweep *s, const struct point *p, uint64_t n)
{
    char nearest[128];
    uint64_t most;
    const uint64_t least = least_shared(s, n, &most);
    const uint64_t below = least == 0 ? 0 : (n < most ? n : most) / least * least, above = below + least;

    snprintf(nearest, sizeof nearest, "no other size fits every number of workers here; use other --%s",
             s->axis[2].option);
    if (least > 0 && below > 0 && above <= most)
        snprintf(nearest, sizeof nearest, "use %llu or %llu, which fit every number of workers here, or other --%s",
                 (unsigned long long)below, (unsigned long long)above, s->axis[2].option);
    else if (least > 0)
        snprintf(nearest, sizeof nearest, "use %llu, which fits every number of workers here, or other --%s",
                 (unsigned long long)(below > 0 ? below : above), s->axis[2].option);
    return rc_raise(RC_INVAL, "--global-batch %llu: is not divisible by %d workers; %s", (unsigned long long)n,
                    p->n_workers, nearest);
}

/* What a launch would refuse: it knows only its own number of workers. */
static enum rc check_global_batches(const struct sweep *s)
{
    for (size_t i = 0; i < s->campaign.n_points; i++) {
        const struct point *p = &s->campaign.point[i];
        const uint64_t n = sweep_global_batch(s, p);
        if (n % (uint64_t)p->n_workers != 0)
            return refuse_rest(s, p, n);
    }
    return RC_OK;
}

static bool is_same_value(const char *a, const char *b)
{
    uint64_t n[2];

    return strcmp(a, b) == 0 || (text_to_u64(a, &n[0]) && text_to_u64(b, &n[1]) && n[0] == n[1]);
}

/* Listed twice, a value would be measured once: probably another one was meant. */
static enum rc check_each_value_once(const struct axis *axis)
{
    const char *rest = axis->values, *others;
    char value[VALUE_BYTES], other[VALUE_BYTES];

    while (text_next(&rest, value, sizeof value))
        for (others = rest; text_next(&others, other, sizeof other);)
            if (is_same_value(value, other))
                return rc_raise(RC_INVAL, "--%s %.300s: %.100s is listed twice; list each value once", axis->option,
                                axis->values, other);
    return RC_OK;
}

enum rc sweep_plan(struct sweep *s)
{
    struct assignment chosen[MAX_ASSIGNMENTS] = { 0 };
    enum rc rc;

    for (int k = 0; k < s->n_axes; k++)
        TRY(check_each_value_once(&s->axis[k]));
    note_exchange(s);
    TRY(plan_axis(s, 0, chosen, 0));
    if (s->campaign.n_points == 0)
        TRY(nothing_to_run(s));
    if (s->adds_baseline)
        TRY(plan_baselines(s));
    TRY(plan_work_of_layouts(s));
    if (!opt_given(sweep_train_group(s), 1, "batch")) /* refused beside it */
        TRY(check_global_batches(s));
    if (!s->campaign.is_virtual && !s->campaign.is_launched)
        sweep_set_wait(s, cores_allowed_count());
out:
    return rc;
}
