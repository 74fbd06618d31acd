/* SPDX-License-Identifier: Apache-2.0 */
/* trainings.c - trainings that stages run on some of the ranks of the test; see trainings.h. */
#include "harness/accept/trainings.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_WORDS = 64 };

int training_n_ranks(const struct fleet *f, int n_nodes)
{
    int n = 0;

    for (int r = 0; r < f->n_ranks; r++)
        n += f->node_of_rank[r] < n_nodes;
    return n;
}

/* --- options to job --- */

static void add(char *options, const char *fmt, ...) PRINTF_LIKE(2, 3);
static void add(char *options, const char *fmt, ...)
{
    const size_t n = strlen(options);
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(options + n, TRAINING_OPTIONS_BYTES - n, fmt, args);
    va_end(args);
}

/* As for `gradmark train`, with a blank behind each word. */
static void write_options(char *options, const struct stage_env *env, const struct training_order *order)
{
    const bool replaces = order->computes && !env->backend->touches_memory;
    const struct compute_backend *backend = replaces ? &compute_cpu : env->backend;

    options[0] = '\0';
    add(options, "--world %s --mode allreduce --model %s --workers %d --steps %llu ", env->world->ops->module.name,
        order->model, training_n_ranks(env->fleet, order->n_nodes), (unsigned long long)order->n_steps);
    add(options, "--reducer %s --transport %s --compute %s --seed %llu --eval-samples 0 ", env->criteria->reducer,
        env->transport->module.name, backend->module.name, (unsigned long long)env->seed);
    if (!stage_is_virtual(env))
        add(options, "--threads %d --stall-abort-s %g ", env->n_threads > 0 ? env->n_threads : 1,
            env->timeout_ms > 0 ? 5e-4 * env->timeout_ms + 0.1 : 120);
    if (env->wait && !stage_is_virtual(env))
        add(options, "--wait %s ", env->wait);
    if (backend->device_count)
        add(options, "--share-device ");
    if (env->world->interface && env->world->interface[0])
        add(options, "--interface %s ", env->world->interface);
    add(options, "%s", order->more);
}

/* The slowest that this rank is ordered to be; 1: it is not. */
static double slow_ratio(const struct inject *i, int rank)
{
    double ratio = 1;

    for (int f = 0; i && f < i->n_faults; f++)
        if (i->fault[f].kind == FAULT_SLOW_RANK && i->fault[f].a == rank && i->fault[f].ratio < ratio)
            ratio = i->fault[f].ratio;
    return ratio;
}

/* accept.R3. rank: of this rank in the part, where a job knows it by that number. */
static void order_faults(struct train_job *job, const struct stage_env *env, const struct training_order *order,
                         int rank)
{
    const double ratio = slow_ratio(env->inject, env->world->rank);
    const struct fault *flip =
        order->flips && env->inject && env->inject->n_faults > 0 ? inject_flip(env->inject, env->world->rank) : NULL;

    const struct fault *loss = order->loses ? inject_loss(env->inject, env->world->rank, order->stage) : NULL;

    if (ratio < 1) {
        job->faults.slow_rank = rank;
        job->faults.slow_ratio = ratio;
    }
    if (flip) {
        job->faults.flip_rank = rank;
        job->faults.flip_step = flip->step;
    }
    if (loss)
        job->drill = (struct train_drill){
            .rank = rank, .hangs = loss->kind == FAULT_STALL, .phase = PHASE_STEP, .step = job->n_steps / 2
        };
}

static enum rc prepare(struct part_training_run *r, const struct stage_env *env, const struct training_order *order)
{
    const bool is_launched = env->world->ops->module.caps & WORLD_LAUNCHED;
    struct opt_group group[TRAIN_MAX_OPT_GROUPS];
    char *word[MOST_WORDS], *rest = NULL;
    struct train_opts opts;
    int n_words = 0;
    enum rc rc;

    write_options(r->options, env, order);
    for (char *w = strtok_r(r->options, " ", &rest); w && n_words < MOST_WORDS; w = strtok_r(NULL, " ", &rest))
        word[n_words++] = w;
    const int n_groups = train_opt_groups(group, &opts);
    TRY(opt_parse(group, n_groups, train_opt_rules, n_words, word));
    TRY(train_prepare(&r->job, &opts, group, n_groups, is_launched ? r->n_ranks : 0));
out:
    return rc;
}

struct prepared { /* of a rank */
    enum rc rc;
    char message[ACCEPT_TEXT_BYTES / 2];
};

/* accept.R2: of the lowest rank that could not. mine: of this rank. */
static enum rc agree(bool *all_can, struct stage_env *env, const struct training_order *order, enum rc mine)
{
    struct prepared own = { .rc = mine }, *all = calloc((size_t)env->world->n_ranks, sizeof *all);
    enum rc rc;

    if (!all)
        return rc_raise(RC_NOMEM, "no memory for what %d ranks say", env->world->n_ranks);
    if (mine != RC_OK)
        (void)snprintf(own.message, sizeof own.message, "%s", rc_message());
    TRY(world_allgather(env->world, &own, all, sizeof own));
    *all_can = true;
    for (int r = 0; r < env->world->n_ranks && *all_can; r++)
        if (all[r].rc != RC_OK) {
            *all_can = false;
            stage_why(env, order->stage, "rank %d cannot train: %s", r, all[r].message);
        }
out:
    free(all);
    return rc;
}

/* --- a run --- */

struct shown { /* between steps, on rank 0 */
    struct stage_env *env;
    const struct training_order *order;
    size_t n_steps;
    char what[64];
};

static void show_step(void *arg, size_t n_done, uint64_t now_ns)
{
    enum { N_SHOWN = 64 };
    const struct shown *s = arg;
    const double part = s->order->to_ratio - s->order->from_ratio;

    (void)now_ns;
    if (n_done % (s->n_steps / N_SHOWN + 1) == 0)
        stage_progress(s->env, s->order->from_ratio + part * (double)n_done / (double)s->n_steps, "%s", s->what);
}

static enum rc train(struct part_training_run *out, struct stage_env *env, const struct training_order *order,
                     struct world *part)
{
    struct shown shown = { .env = env, .order = order, .n_steps = out->job.n_steps };
    const struct train_watch watch = { show_step, &shown };
    enum rc rc;

    (void)snprintf(shown.what, sizeof shown.what, "%s, %d rank%s", order->model, out->n_ranks,
                   out->n_ranks == 1 ? "" : "s");
    if (env->progress && env->out)
        out->job.watch = &watch;
    order_faults(&out->job, env, order, part->rank);
    TRY(train_rank(part, &out->job, &out->result));
    out->job.watch = NULL;
    if (part->rank == 0)
        TRY(train_summarise(&out->summary, &out->job, &out->result));
out:
    return rc;
}

/* The place of this rank in the training. */
static int place_of(const struct training_order *order, int rank)
{
    int place = 0;

    while (order->place && order->place[place] != rank)
        place++;
    return order->place ? place : rank;
}

enum rc part_training_run(struct part_training_run *out, struct stage_env *env, const struct training_order *order)
{
    const int rank = env->world->rank;
    const bool takes_part = env->fleet->node_of_rank[rank] < order->n_nodes;
    struct world *part = NULL;
    enum rc rc;

    *out = (struct part_training_run){ .n_ranks = training_n_ranks(env->fleet, order->n_nodes) };
    TRY(world_split(env->world, takes_part ? 0 : -1, place_of(order, rank), &part));
    TRY(agree(&out->has_run, env, order, part ? prepare(out, env, order) : RC_OK));
    if (out->has_run && part)
        TRY(train(out, env, order, part));
    TRY(world_barrier(env->world)); /* those that wait do not begin what comes next */
out:
    world_split_close(&part);
    if (rc != RC_OK)
        part_training_close(out);
    return rc;
}

void part_training_close(struct part_training_run *r)
{
    train_result_free(&r->result);
    train_job_free(&r->job);
    *r = (struct part_training_run){ .n_ranks = 0 };
}

/* --- how long --- */

enum rc training_time(struct training_pace *out, struct stage_env *env, const struct training_order *order)
{
    enum { N_STEPS = 4 };
    struct training_order few = *order;
    const uint64_t started_ns = world_now_ns(env->world);
    struct part_training_run run = { .n_ranks = 0 };
    enum rc rc;

    few.n_steps = N_STEPS;
    few.flips = few.loses = false;
    *out = (struct training_pace){ .has_run = false };
    TRY(part_training_run(&run, env, &few));
    out->has_run = run.has_run;
    if (run.result.stamp) {
        out->step_s = run.summary.measured.step_mean_s;
        out->overhead_s = 1e-9 * (double)(world_now_ns(env->world) - started_ns) - N_STEPS * out->step_s;
    }
    TRY(world_broadcast(env->world, out, sizeof *out));
out:
    part_training_close(&run);
    return rc;
}

uint64_t training_steps_within(const struct training_pace *pace, double limit_s, double wanted)
{
    const double possible = (limit_s - pace->overhead_s) / pace->step_s;
    double n = wanted;

    if (limit_s > 0 && pace->step_s > 0 && possible < n)
        n = possible;
    return n < 1 ? 1 : (uint64_t)n;
}

enum rc training_left_s(double *out, struct stage_env *env)
{
    const double limit_s = env->criteria->stage_limit_s;
    double left_s = limit_s - 1e-9 * (double)(world_now_ns(env->world) - env->started_ns);
    enum rc rc;

    left_s = limit_s <= 0 ? 0 : left_s < 1e-9 ? 1e-9 : left_s;
    TRY(world_broadcast(env->world, &left_s, sizeof left_s));
    *out = left_s;
out:
    return rc;
}
