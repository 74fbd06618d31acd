/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c - in which world a campaign runs, and which points it has. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/text.h"
#include "harness/campaign/sweep.h"
#include "harness/world/cores.h"

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
    if (!s->campaign.is_virtual && !s->campaign.is_launched)
        point_mark_shared_cores(p, cores_allowed_count());
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
    return rc_raise(RC_INVAL, "--mode %s --workers %s: nothing to run; %s has one worker", values_of(s, "mode"),
                    values_of(s, "workers"), names);
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

    snprintf(nearest, sizeof nearest, "no other can at every number of workers of this campaign; other --%s would help",
             s->axis[2].option);
    if (least > 0 && below > 0 && above <= most)
        snprintf(nearest, sizeof nearest, "%llu and %llu can at every number of workers here, or other --%s",
                 (unsigned long long)below, (unsigned long long)above, s->axis[2].option);
    else if (least > 0)
        snprintf(nearest, sizeof nearest, "%llu can at every number of workers here, or other --%s",
                 (unsigned long long)(below > 0 ? below : above), s->axis[2].option);
    return rc_raise(RC_INVAL, "--global-batch %llu: cannot be shared out evenly to %d workers; %s",
                    (unsigned long long)n, p->n_workers, nearest);
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
