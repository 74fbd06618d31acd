/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch.c - how one point is run.
 *
 * A launch is the command `gradmark train` with options a user could type. In threads and sim it is a new process;
 * under mpirun or srun, where processes are given, it runs in a part of the ranks while the others sleep.
 */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/campaign/sim_cost.h"
#include "harness/campaign/stop.h"
#include "harness/campaign/sweep.h"
#include "harness/train/train.h"
#include "harness/world/child.h"
#include "harness/world/wait.h"
#include "models/replay/profile.h"

enum { MAX_ARGS = 64, ARG_BYTES = 640, N_CURVE_POINTS = 100 };

struct arguments { /* of one launch, as a shell would pass them; argv[0] and the verb included */
    char text[MAX_ARGS][ARG_BYTES];
    char *argv[MAX_ARGS + 1];
    int n;
};

static void add(struct arguments *a, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void add(struct arguments *a, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(a->text[a->n], sizeof a->text[0], fmt, ap);
    va_end(ap);
    a->argv[a->n] = a->text[a->n];
    a->argv[++a->n] = NULL;
}

static void add_text(struct arguments *a, const char *name, const char *value)
{
    if (value[0] != '\0')
        add(a, "--%s=%s", name, value);
}

static void add_whole(struct arguments *a, const char *name, uint64_t value)
{
    if (value > 0)
        add(a, "--%s=%llu", name, (unsigned long long)value);
}

/* Options that depend on the point: told by add_point(). */
static bool depends_on_point(const char *name)
{
    static const char *const names[] = { "world", "servers", "reducer", "compute", "threads", "steps" };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static bool was_given(const struct comparison *c, const char *name)
{
    for (int i = 0; train_opt_table[i].type != OPT_END; i++)
        if (strcmp(train_opt_table[i].name, name) == 0)
            return c->train_given >> i & 1;
    return false;
}

/* Simulated networks on synthetic images are too slow to compute, and replay has nothing to: their time passes. */
static const char *compute_of(const struct comparison *c, const struct workload *w)
{
    const bool computes = w->dataset && strcmp(w->dataset, "synthetic") != 0;

    return c->campaign.is_virtual && !computes && !was_given(c, "compute") ? "hollow" : c->opts.train.compute;
}

static bool exchanges(const struct comparison *c, const struct point *p, const struct workload *w)
{
    (void)c;
    (void)w;
    return strcmp(p->mode, "allreduce") == 0 || p->n_servers > 0;
}

static bool computes(const struct comparison *c, const struct point *p, const struct workload *w)
{
    (void)p;
    return !(w->module.caps & WORKLOAD_PLAYS_PROFILE) && strcmp(compute_of(c, w), "hollow") != 0;
}

static bool learns(const struct comparison *c, const struct point *p, const struct workload *w)
{
    return computes(c, p, w) && !c->opts.train.forward_only;
}

/* Is p told of an option that was given? One that some points have no use for goes to those that have; where none
 * has, to all: they refuse it. */
static bool concerns(const struct comparison *c, const struct point *p, const struct workload *w, const char *name)
{
    static const struct {
        const char *name;
        bool (*uses)(const struct comparison *c, const struct point *p, const struct workload *w);
    } partial[] = {
        { "transport", exchanges }, { "target-loss", learns }, { "eval-samples", computes }, { "precision", computes }
    };
    size_t i = 0;

    while (i < sizeof partial / sizeof *partial && strcmp(partial[i].name, name) != 0)
        i++;
    if (i == sizeof partial / sizeof *partial || partial[i].uses(c, p, w))
        return true;
    for (size_t k = 0; k < c->campaign.n_points; k++) {
        const struct point *other = &c->campaign.point[k];
        const struct workload *its = NULL;
        if (workload_find(&its, other->model) == RC_OK && partial[i].uses(c, other, its))
            return false;
    }
    return true;
}

static void add_point(struct arguments *a, const struct comparison *c, const struct point *p, const struct workload *w)
{
    const struct train_opts *o = &c->opts.train;

    add_text(a, "world", o->world);
    add_text(a, "model", p->model);
    add_text(a, "mode", p->mode);
    add_whole(a, "workers", (uint64_t)p->n_workers);
    add_whole(a, "servers", (uint64_t)p->n_servers);
    if (strcmp(p->mode, "allreduce") == 0)
        add_text(a, "reducer", o->reducer);
    add_text(a, "compute", compute_of(c, w));
    add_whole(a, "threads", (uint64_t)c->campaign.n_threads); /* the same cores per worker at every point */
    add_whole(a, "steps", p->n_steps);
    if (isnan(o->target_loss) && learns(c, p, w))
        add(a, "--target-loss=%.17g", w->default_target_loss);
    add_whole(a, "record-every", p->n_steps / N_CURVE_POINTS > 1 ? p->n_steps / N_CURVE_POINTS : 1);
    add_text(a, "out", c->launch_path);
    add_text(a, "cost", c->cost_path);
}

/* What `gradmark train` is told for one launch of p. */
static enum rc launch_arguments(struct arguments *a, const struct comparison *c, const struct point *p)
{
    const struct workload *workload = NULL;
    char value[ARG_BYTES / 2];
    enum rc rc;

    TRY(workload_find(&workload, p->model));
    a->n = 0;
    add(a, "%s", c->self_path);
    add(a, "train");
    for (int i = 0; train_opt_table[i].type != OPT_END; i++) {
        const struct opt *o = &train_opt_table[i];
        if (!(c->train_given >> i & 1) || depends_on_point(o->name) || !concerns(c, p, workload, o->name))
            continue;
        opt_format(o, &c->opts.train, value, sizeof value);
        add(a, "--%s=%s", o->name, value);
    }
    add_point(a, c, p, workload);
out:
    return rc;
}

/* Parse and resolve one launch as `gradmark train` would, without running it. */
static enum rc prepare_launch(struct train_job *job, const struct arguments *a, int n_given_ranks)
{
    struct paths {
        const char *out, *cost;
    } paths;
    const struct opt out_table[] = { OPT_TEXT_(struct paths, out, "out", "", "FILE", ""),
                                     OPT_TEXT_(struct paths, cost, "cost", "", "FILE", ""), OPT_END_ };
    struct train_opts opts;
    struct opt_group group[TRAIN_MAX_OPT_GROUPS + 1];
    enum rc rc;

    const int n_groups = train_opt_groups(group, &opts) + 1;
    group[n_groups - 1] = (struct opt_group){ "output", out_table, &paths, 0, NULL };
    TRY(opt_parse(group, n_groups, train_opt_rules, TRAIN_N_OPT_RULES, a->n - 2, a->argv + 2));
    TRY(train_prepare(job, &opts, group, n_groups, n_given_ranks));
out:
    return rc;
}

/* What a step of the point costs, for compare_choose_steps(). */
static void note_cost(struct point *p, const struct train_job *job)
{
    const double n_samples = (double)job->opts.batch * job->n_workers;

    p->default_steps = (uint64_t)job->workload->default_steps;
    p->step_flops = job->compute->touches_memory && !job->profile ? job->flops_per_sample * n_samples : 0;
    if (job->compute->touches_memory) /* gradients are carried and parameters updated at the pace of memory, about */
        p->step_s = (double)job->n_params * 40 * 1e-10;
    if (job->profile && !(job->world->module.caps & WORLD_VIRTUAL_TIME))
        p->step_s += 1e-9 * (double)profile_step_ns(job->profile) * (double)job->opts.batch / job->profile->batch;
}

enum rc compare_check(struct comparison *c)
{
    struct arguments *a = malloc(sizeof *a);
    enum rc rc = RC_OK;

    if (!a)
        return rc_raise(RC_NOMEM, "no memory for arguments");
    for (size_t i = 0; i < c->campaign.n_points; i++) {
        struct train_job job = { 0 };
        struct point *p = &c->campaign.point[i];
        TRY(launch_arguments(a, c, p));
        TRY(prepare_launch(&job, a, c->launcher.name ? p->n_workers + p->n_servers : 0));
        if (c->campaign.is_virtual)
            snprintf(c->campaign.cluster_name, sizeof c->campaign.cluster_name, "%s", job.cluster.name);
        note_cost(p, &job);
        train_job_free(&job);
    }
out:
    free(a);
    return rc;
}

static enum rc launch_child(struct comparison *c, const struct point *p, struct arguments *a)
{
    char complaint[RC_MESSAGE_BYTES / 2], name[LAUNCH_NAME_BYTES];
    int exit_code = 0;
    enum rc rc;

    TRY(launch_arguments(a, c, p));
    TRY(child_run(a->argv, 0, stop_wanted, &exit_code, complaint, sizeof complaint));
    if (exit_code != 0) {
        complaint[strcspn(complaint, "\n")] = '\0';
        point_name(name, sizeof name, p);
        FAIL(RC_PEER, "the launch of %s ended with exit code %d: %s", name, exit_code, complaint);
    }
out:
    return rc;
}

/* In mpi: ranks 0 .. n-1 train, the others wait, asleep, at the barrier behind. */
static enum rc launch_in_world(struct comparison *c, struct world *w, const struct point *p, struct arguments *a)
{
    const int n_ranks = p->n_workers + p->n_servers;
    struct world *part = NULL;
    struct train_job job = { 0 };
    struct train_result result = { 0 };
    struct train_summary summary;
    struct report *to = NULL;
    enum rc rc;

    TRY(world_split(w, w->rank < n_ranks ? 0 : -1, w->rank, &part));
    if (part) {
        TRY(launch_arguments(a, c, p));
        TRY(prepare_launch(&job, a, n_ranks));
        TRY(train_rank(part, &job, &result));
    }
    if (w->rank == 0) {
        TRY(report_open(&to, c->launch_path));
        TRY(train_summarise(&summary, &job, &result));
        TRY(train_write(to, &job, &result, &summary));
        TRY(report_commit(to));
    }
    TRY(world_barrier(w));
out:
    report_close(&to);
    train_result_free(&result);
    train_job_free(&job);
    world_split_close(&part);
    return rc;
}

static void show_progress(struct comparison *c, const struct point *p, size_t turn, size_t i)
{
    char name[LAUNCH_NAME_BYTES], what[LAUNCH_NAME_BYTES + 64];

    point_name(name, sizeof name, p);
    snprintf(what, sizeof what, "%s, launch %zu of %zu", name, turn + 1, c->campaign.n_launches_wanted);
    progress_update(&c->progress, turn * c->campaign.n_points + i, what, wait_clock_ns());
}

/* Is there time for another turn? Rank 0's clock decides for all. */
static enum rc another_turn(struct comparison *c, struct world *w, size_t turn, bool *yes)
{
    const double spent_s = (double)(wait_clock_ns() - c->started_ns) * 1e-9;
    bool mine = turn < c->campaign.n_launches_wanted && (turn < 2 || spent_s < c->opts.budget_s), *all = &mine;
    enum rc rc = RC_OK;

    if (w) {
        all = calloc((size_t)w->n_ranks, sizeof *all);
        if (!all)
            return rc_raise(RC_NOMEM, "no memory for %d ranks", w->n_ranks);
        TRY(world_allgather(w, &mine, all, sizeof mine));
    }
    *yes = all[0];
out:
    if (all != &mine)
        free(all);
    return rc;
}

static enum rc launch(struct comparison *c, struct world *w, size_t turn, size_t i, struct arguments *a)
{
    struct point *p = &c->campaign.point[i];
    const bool root = !w || w->rank == 0;
    enum rc rc = RC_OK;

    if (root)
        show_progress(c, p, turn, i);
    const enum rc launched = w ? launch_in_world(c, w, p, a) : launch_child(c, p, a);
    c->stopped = !w && stop_wanted();
    if (root && (c->stopped || launched != RC_OK))
        (void)unlink(c->launch_path);
    if (root && c->cost_path[0] && (c->stopped || launched != RC_OK))
        (void)unlink(c->cost_path);
    if (c->stopped) /* the launch was ended too */
        return RC_OK;
    TRY(launched);
    if (root)
        TRY(campaign_take(&c->campaign, p, c->launch_path));
    if (c->cost_path[0])
        TRY(sim_cost_take(&c->cost, c->cost_path));
out:
    return rc;
}

/* All turns over all points. w NULL: launches are processes. */
enum rc compare_launch_all(struct comparison *c, struct world *w)
{
    struct arguments *a = malloc(sizeof *a);
    bool more = true;
    enum rc rc = RC_OK;

    if (!a)
        return rc_raise(RC_NOMEM, "no memory for arguments");
    if (!w)
        stop_catch();
    for (size_t turn = 0; !c->stopped; turn++) {
        TRY(another_turn(c, w, turn, &more));
        if (!more)
            break;
        for (size_t i = 0; i < c->campaign.n_points && !c->stopped; i++)
            TRY(launch(c, w, turn, i, a));
    }
out:
    free(a);
    return rc;
}
