/* SPDX-License-Identifier: Apache-2.0 */
/* autotune_values.c - which options --autotune tries, and which of their values. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "allreduce/collective_list.h"
#include "harness/campaign/autotune.h"
#include "harness/exchange/collective.h"
#include "harness/measure/interval.h"
#include "harness/measure/paired.h"
#include "harness/train/alternation.h"

const struct opt autotune_opt_table[] = {
    OPT_F64_(struct autotune_opts, budget_s, "autotune", "0", 0, 1e6, "s",
             "find the fastest exchange by trials of X seconds before the start. They try allreduce algorithms, and "
             "sizes of buckets and chunks. Options that you give stay. A default changes only if another value is "
             "clearly faster. In world sim the seconds are simulated"),
    OPT_FILE_(struct autotune_opts, file, "autotune-file", OPT_WRITTEN, "", "FILE.json",
              "file for the result of --autotune. With --autotune it is written. Without --autotune a run of the same "
              "model, workers and world uses the result, without trials"),
    OPT_END_,
};

/* --- rows: in this order; one for each option that is tried, but for those of reducers --- */

static bool always(const struct train_job *job)
{
    (void)job;
    return true;
}

static bool sums(const struct train_job *job)
{
    return job->mode->module.caps & MODE_COLLECTIVE;
}

struct row {
    const char *option;                         /* its values: modules, of an option that chooses one, else sizes */
    bool (*applies)(const struct train_job *j); /* else it would change nothing, or be refused */
};

static const struct row rows[] = {
    { "reducer", sums },
    { "bucket-bytes", always },
    { "partition-bytes", always },
};
enum { N_ROWS = sizeof rows / sizeof *rows };

static const struct opt *option_of_training(const char *name)
{
    for (const struct opt *o = train_opt_table; o->type != OPT_END; o++)
        if (strcmp(o->name, name) == 0)
            return o;
    return NULL;
}

/* Sizes of chunks of a collective, by whatever name a reducer has for them. */
static bool is_tried_of_reducer(const struct opt *o)
{
    return o->type == OPT_U64 && strcmp(o->unit, "bytes") == 0;
}

static bool is_given(const struct opt_group *group, int n_groups, const struct opt *o)
{
    for (int g = 0; g < n_groups; g++)
        for (int i = 0; group[g].table[i].type != OPT_END; i++)
            if (&group[g].table[i] == o)
                return opt_is_given(&group[g], i);
    return false;
}

/* --- values --- */

static void add_value(struct autotune_option *o, const char *value)
{
    assert(o->n_values < RACE_MAX_ARMS - 1 && strlen(value) < AUTOTUNE_VALUE_BYTES);
    snprintf(o->value[o->n_values++], AUTOTUNE_VALUE_BYTES, "%s", value);
}

/* Powers of four, less than all gradients, and no more than 1024 chunks. */
static void add_sizes(struct autotune_option *o, const struct train_job *job)
{
    enum { LEAST_BYTES = 4096, MOST_CHUNKS = 1024 };
    const uint64_t n_bytes = (uint64_t)job->n_params * sizeof(float);
    char text[AUTOTUNE_VALUE_BYTES];

    for (uint64_t size = LEAST_BYTES; size < n_bytes; size *= 4) {
        snprintf(text, sizeof text, "%llu", (unsigned long long)size);
        if (n_bytes / size < MOST_CHUNKS)
            add_value(o, text);
    }
}

/* Can the job have this reducer, in the world that is opened for it as it is? */
static bool can_reduce(const struct train_job *job, const struct collective_ops *ops)
{
    struct train_opts opts = job->opts;
    struct train_job varied;

    opts.reducer = ops->module.name;
    return train_vary(&varied, job, &opts) == RC_OK &&
           train_world_opts(&varied).has_tasks == train_world_opts(job).has_tasks;
}

/* Those that choose among the others by themselves are not tried, as what they choose is; nor references. */
static void add_reducers(struct autotune_option *o, const struct train_job *job)
{
    for (int i = 0; collective_kind.at(i); i++) {
        const struct collective_ops *ops = (const struct collective_ops *)collective_kind.at(i);
        if (ops != job->collective && !ops->chosen && !(ops->module.caps & COLL_REFERENCE) && can_reduce(job, ops))
            add_value(o, ops->module.name);
    }
}

/* --- the plan --- */

/* An option without values is none to try. */
static void add_option(struct autotune_plan *plan, const struct autotune_option *o)
{
    if (o->n_values == 0)
        return;
    assert(plan->n_options < AUTOTUNE_MAX_OPTIONS);
    plan->option[plan->n_options++] = *o;
    plan->n_values += o->n_values;
}

static void add_row(struct autotune_plan *plan, const struct row *row, const struct train_job *job)
{
    struct autotune_option o = { .n_values = 0 };

    snprintf(o.name, sizeof o.name, "%s", row->option);
    if (option_of_training(row->option)->kind)
        add_reducers(&o, job);
    else
        add_sizes(&o, job);
    add_option(plan, &o);
}

/* Is it the job's reducer, or one that will be tried? */
static bool may_be_used(const struct autotune_plan *plan, const struct train_job *job, const struct module *reducer)
{
    if (job->collective && &job->collective->module == reducer)
        return true;
    for (int i = 0; i < plan->n_options; i++)
        for (int v = 0; strcmp(plan->option[i].name, rows[0].option) == 0 && v < plan->option[i].n_values; v++)
            if (strcmp(plan->option[i].value[v], reducer->name) == 0)
                return true;
    return false;
}

/* Behind the reducer itself: options of those that may be used. */
static void add_options_of_reducers(struct autotune_plan *plan, const struct train_job *job,
                                    const struct opt_group *group, int n_groups)
{
    for (int i = 0; sums(job) && collective_kind.at(i); i++) {
        const struct module *m = collective_kind.at(i);
        for (const struct opt *o = m->options; o && o->type != OPT_END && may_be_used(plan, job, m); o++) {
            struct autotune_option tried = { .n_values = 0 };
            if (!is_tried_of_reducer(o) || is_given(group, n_groups, o))
                continue;
            snprintf(tried.name, sizeof tried.name, "%s.%s", m->name, o->name);
            snprintf(tried.reducer, sizeof tried.reducer, "%s", m->name);
            add_sizes(&tried, job);
            add_option(plan, &tried);
        }
    }
}

static enum rc refuse(const struct train_job *job)
{
    const struct {
        bool is_so;
        const char *why;
    } rule[] = {
        { !mode_exchanges(&job->mode->module), "this mode exchanges nothing; --mode allreduce or ps" },
        { job->n_drivers > 0,
          "--input feed: trials read samples that the driver is not asked for; needs --input direct" },
        { job->n_ranks < 2, "one rank exchanges with nobody; --workers 2 or more" },
        { job->omitted & OMIT_AVERAGE, "--omit average exchanges nothing" },
        { job->opts.average_every > 0, "--average-every exchanges seldom, and no step tells how long that takes" },
        { alternation_is_on(job), "--alternate-exchange measures one way to exchange; tune first, into "
                                  "--autotune-file FILE, and give it with that" },
        { job->opts.restarts > 0, "--restarts would tune each start anew; tune first, into --autotune-file FILE, and "
                                  "give --restarts with that" },
        { job->on_loss == ON_LOSS_REPORT,
          "--on-loss report continues without lost ranks, but not in trials; tune first, "
          "into --autotune-file FILE" },
    };

    for (size_t i = 0; i < sizeof rule / sizeof *rule; i++)
        if (rule[i].is_so)
            return rc_raise(RC_INVAL, "--autotune: %s", rule[i].why);
    return RC_OK;
}

enum rc autotune_plan(struct autotune_plan *out, const struct autotune_opts *opts, const struct train_job *job,
                      const struct opt_group *group, int n_groups)
{
    enum rc rc;

    memset(out, 0, sizeof *out);
    TRY(refuse(job));
    out->budget_s = opts->budget_s;
    for (int i = 0; i < N_ROWS; i++) {
        if (rows[i].applies(job) && !is_given(group, n_groups, option_of_training(rows[i].option)))
            add_row(out, &rows[i], job);
        if (i == 0)
            add_options_of_reducers(out, job, group, n_groups);
    }
    if (out->n_options == 0)
        FAIL(RC_INVAL,
             "--autotune: nothing is left to try: options are given, or the gradients, %zu bytes, are too few "
             "to be cut",
             job->n_params * sizeof(float));
out:
    return rc;
}

bool autotune_sets(const char *option)
{
    char name[AUTOTUNE_NAME_BYTES];

    for (int i = 0; i < N_ROWS; i++)
        if (strcmp(rows[i].option, option) == 0)
            return true;
    for (int i = 0; collective_kind.at(i); i++) {
        const struct module *m = collective_kind.at(i);
        for (const struct opt *o = m->options; o && o->type != OPT_END; o++) {
            snprintf(name, sizeof name, "%s.%s", m->name, o->name);
            if (is_tried_of_reducer(o) && strcmp(name, option) == 0)
                return true;
        }
    }
    return false;
}

/* --- settings --- */

static bool is_of(const struct autotune_option *o, const struct train_opts *opts)
{
    return o->reducer[0] == '\0' || strcmp(o->reducer, opts->reducer) == 0;
}

enum rc autotune_job(struct train_job *out, const struct train_job *base, const struct autotune_plan *plan,
                     const struct autotune_setting *setting)
{
    struct opt_group group[TRAIN_MAX_OPT_GROUPS];
    struct train_opts opts = base->opts;
    enum rc rc;

    const int n_groups = train_opt_groups(group, &opts);
    for (int i = 0; i < plan->n_options; i++) /* the reducer comes before its options */
        if (setting->value[i][0] && is_of(&plan->option[i], &opts))
            TRY(opt_set(group, n_groups, plan->option[i].name, setting->value[i]));
    TRY(train_vary(out, base, &opts));
    if (out->collective)
        out->opts.reducer = out->collective->module.name; /* which lasts */
out:
    return rc;
}

/* Gradients that are cut in a trial alone may be exchanged beside computing (--overlap auto). */
void autotune_ask_world(struct world_opts *opts, const struct autotune_plan *plan, const struct train_job *job)
{
    for (int i = 0; i < plan->n_options; i++)
        for (int v = 0; v < plan->option[i].n_values && !opts->has_tasks; v++) {
            struct autotune_setting setting = { .value = { "" } };
            struct train_job varied;
            memcpy(setting.value[i], plan->option[i].value[v], AUTOTUNE_VALUE_BYTES);
            if (autotune_job(&varied, job, plan, &setting) == RC_OK)
                opts->has_tasks = opts->tasks_are_optional = train_world_opts(&varied).tasks_are_optional;
        }
}

void autotune_setting_text(char *out, size_t n_bytes, const struct autotune_plan *plan,
                           const struct autotune_setting *setting)
{
    size_t n = 0;

    snprintf(out, n_bytes, "the defaults");
    for (int i = 0; i < plan->n_options && n < n_bytes; i++)
        if (setting->value[i][0])
            n += (size_t)snprintf(out + n, n_bytes - n, "%s%s=%s", n > 0 ? " " : "", plan->option[i].name,
                                  setting->value[i]);
}

void race_init(struct race *r, int n_arms, int n_rounds, int n_planned)
{
    assert(n_arms >= 1 && n_arms <= RACE_MAX_ARMS && n_rounds >= 1 && n_rounds <= RACE_MAX_ROUNDS && n_planned >= 1);
    memset(r, 0, sizeof *r); /* padding too: bytes of it are sent */
    r->n_arms = n_arms;
    r->n_rounds_wanted = n_rounds;
    r->n_planned = n_planned;
    for (int a = 0; a < n_arms; a++)
        r->verdict[a] = (struct race_verdict){ NAN, 0, INFINITY, 1 };
}

int race_arm_of_turn(const struct race *r, int turn)
{
    const int first = r->n_rounds / 2 % r->n_arms;
    const int place = r->n_rounds % 2 ? r->n_arms - 1 - turn : turn;

    return (first + place) % r->n_arms;
}

/* t with the two-sided probability alpha, by halving. */
static double t_of(double alpha, double dof)
{
    double low = 0, high = 1;

    while (student_two_sided(high, dof) > alpha)
        high *= 2;
    for (int i = 0; i < 100; i++) {
        const double middle = (low + high) / 2;
        *(student_two_sided(middle, dof) > alpha ? &low : &high) = middle;
    }
    return high;
}

struct race_verdict race_judge(const struct race *r, int arm, int n_rounds)
{
    const size_t n = (size_t)n_rounds;
    const struct comparison c = compare_pairs(r->step_s[0], r->step_s[arm], n);
    struct race_verdict v = { c.ratio, 0, INFINITY, c.p };

    if (n < 2)
        return v;
    const double half = t_of(PAIRED_LEVEL / r->n_planned, (double)(n - 1)) * c.sd / sqrt((double)n);
    v.ratio_low = c.ratio * exp(-half);
    v.ratio_high = c.ratio * exp(half);
    return v;
}

void race_leave(struct race *r, int arm)
{
    if (r->is_out[arm])
        return;
    r->is_out[arm] = true;
    r->out_after[arm] = r->n_rounds;
    r->n_out++;
}

void race_end_round(struct race *r)
{
    r->n_rounds++;
    for (int a = 1; a < r->n_arms; a++) {
        if (r->is_out[a])
            continue;
        r->verdict[a] = race_judge(r, a, r->n_rounds);
        if (r->n_rounds >= RACE_DROP_ROUNDS && r->verdict[a].ratio < 1 && r->verdict[a].p <= PAIRED_LEVEL) /* J3 */
            race_leave(r, a);
    }
}

bool race_goes_on(const struct race *r)
{
    return r->n_rounds < r->n_rounds_wanted && r->n_out < r->n_arms - 1;
}

int race_winner(const struct race *r)
{
    int best = 0;

    for (int a = 1; a < r->n_arms && r->n_rounds >= r->n_rounds_wanted; a++) {
        const struct race_verdict *v = &r->verdict[a];
        if (!r->is_out[a] && v->ratio_low > 1 && v->ratio >= RACE_LEAST_RATIO &&
            (best == 0 || v->ratio > r->verdict[best].ratio))
            best = a;
    }
    return best;
}
