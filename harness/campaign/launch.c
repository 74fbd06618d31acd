/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch.c - how points are checked and launched.
 *
 * A launch is the command `gradmark train` with options a user could type. In threads and sim it is a new process;
 * under mpirun or srun, where processes are given, it runs in a part of the ranks while the others sleep.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/campaign/command_line.h"
#include "harness/campaign/sim_cost.h"
#include "harness/world/child.h"
#include "harness/world/stop.h"
#include "harness/world/wait.h"
#include "models/replay/profile.h"

/* Resolve one launch of p as `gradmark train` would, without running it. The job borrows from l. modules (may be NULL):
 * values of the options of modules, not all of them p's. */
static enum rc prepare_launch(struct train_job *job, struct command_line *l, const struct sweep *s,
                              const struct point *p, const struct launch_terms *terms,
                              const union module_values *modules, int n_given_ranks)
{
    struct opt_group group[TRAIN_MAX_OPT_GROUPS];
    struct train_opts opts;
    enum rc rc;

    l->n = 0;
    command_line_add_point(l, s, p, terms);
    const int n_groups = train_opt_groups(group, &opts);
    TRY(opt_parse(group, n_groups, train_opt_rules, TRAIN_N_OPT_RULES, l->n, l->argv));
    if (modules)
        opts.modules = *modules;
    TRY(train_prepare(job, &opts, group, n_groups, n_given_ranks));
out:
    return rc;
}

/* What a step of the point costs, for sweep_choose_steps(). */
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

/* Of the first point of which options of the exchange change nothing. */
static enum rc note_useless(struct sweep *s, const struct point *p, const struct train_job *job)
{
    char text[USELESS_EXCHANGE_BYTES];
    enum rc rc = RC_OK;

    if (s->useless[0])
        return RC_OK;
    TRY(train_useless_exchange(text, sizeof text, job));
    if (text[0])
        snprintf(s->useless, sizeof s->useless, "%s: %s", p->workload->module.name, text);
out:
    return rc;
}

/* The index in train_kinds of the kind that m belongs to. */
static int kind_of(const struct module *m)
{
    for (int kind = 0; kind < TRAIN_N_KINDS; kind++)
        for (int i = 0; train_kinds[kind]->at(i); i++)
            if (train_kinds[kind]->at(i) == m)
                return kind;
    return 0;
}

/* A point that uses m; or else one that uses another module of its kind; or else the first. */
static const struct point *nearest_user(const struct campaign *c, const struct module *m)
{
    const struct point *nearest = &c->point[0];
    const int kind = kind_of(m);

    for (size_t i = 0; i < c->n_points; i++) {
        if (c->point[i].used[kind] == m)
            return &c->point[i];
        if (!nearest->used[kind])
            nearest = &c->point[i];
    }
    return nearest;
}

/* Options of a module go to the launches of points that use it; where none does, they are refused. */
static enum rc refuse_unused(const struct sweep *s)
{
    enum rc rc = RC_OK;

    for (int k = 0; k < s->n_given; k++) {
        const struct opt_group *g = &s->given[k];
        if (g->module)
            TRY(module_refuse_unused(g, 1, train_kinds, nearest_user(&s->campaign, g->module)->used));
    }
out:
    return rc;
}

enum rc sweep_check(struct sweep *s)
{
    struct command_line *l = malloc(sizeof *l);
    enum rc rc = RC_OK;

    if (!l)
        return rc_raise(RC_NOMEM, "no memory for a command line");
    for (size_t i = 0; i < s->campaign.n_points; i++) {
        struct train_job job = { 0 };
        struct point *p = &s->campaign.point[i];
        const int n_ranks = s->launcher.name ? p->n_workers + p->n_servers : 0;
        const struct launch_terms terms = launch_terms_of(s, p, 0);
        TRY(prepare_launch(&job, l, s, p, &terms, &s->train.modules, n_ranks));
        if (s->campaign.is_virtual)
            snprintf(s->campaign.cluster_name, sizeof s->campaign.cluster_name, "%s", job.cluster.name);
        memcpy(p->used, job.used, sizeof p->used);
        note_cost(p, &job);
        const enum rc noted = note_useless(s, p, &job);
        train_job_free(&job);
        TRY(noted);
    }
    TRY(refuse_unused(s));
out:
    free(l);
    return rc;
}

enum rc sweep_open_files(struct sweep *s, const char *results_dir, const char *name)
{
    enum rc rc;

    TRY(campaign_open(&s->campaign, results_dir, name));
    snprintf(s->launch_path, sizeof s->launch_path, "%s/.launch.jsonl", s->campaign.dir);
    if (s->campaign.is_virtual)
        snprintf(s->cost_path, sizeof s->cost_path, "%s/.launch_cost.json", s->campaign.dir);
out:
    return rc;
}

/* The first line that is not a warning. Cuts text behind it. */
static const char *error_line(char *text)
{
    char *line = text, *end;

    while ((end = strchr(line, '\n')) != NULL) {
        *end = '\0';
        if (!strstr(line, ": warning: "))
            break;
        line = end + 1;
    }
    return line;
}

static enum rc launch_child(struct sweep *s, const struct point *p, const struct launch_terms *terms,
                            struct command_line *l)
{
    char complaint[RC_MESSAGE_BYTES / 2], name[LAUNCH_NAME_BYTES];
    int exit_code = 0;
    enum rc rc;

    l->n = 0;
    command_line_add(l, "%s", s->self_path);
    command_line_add(l, "train");
    command_line_add_point(l, s, p, terms);
    command_line_add(l, "--out=%s", s->launch_path);
    if (s->cost_path[0])
        command_line_add(l, "--cost=%s", s->cost_path);
    TRY(child_run(l->argv, 0, stop_wanted, &exit_code, complaint, sizeof complaint));
    if (exit_code != 0) {
        point_name(name, sizeof name, p);
        FAIL(RC_PEER, "the launch of %s ended with exit code %d: %s", name, exit_code, error_line(complaint));
    }
out:
    return rc;
}

/* In mpi: ranks 0 .. n-1 train, the others wait, asleep, at the barrier behind. */
static enum rc launch_in_world(struct sweep *s, struct world *w, const struct point *p,
                               const struct launch_terms *terms, struct command_line *l)
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
        TRY(prepare_launch(&job, l, s, p, terms, NULL, n_ranks));
        TRY(train_rank(part, &job, &result));
    }
    if (w->rank == 0) {
        TRY(report_open(&to, s->launch_path));
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

enum rc launch_point(struct sweep *s, struct world *w, const struct point *p, const struct launch_terms *terms,
                     struct command_line *l)
{
    const bool root = !w || w->rank == 0;
    enum rc rc = RC_OK;

    const enum rc launched = w ? launch_in_world(s, w, p, terms, l) : launch_child(s, p, terms, l);
    s->stopped = !w && stop_wanted();
    if (root && (s->stopped || launched != RC_OK))
        (void)unlink(s->launch_path);
    if (root && s->cost_path[0] && (s->stopped || launched != RC_OK))
        (void)unlink(s->cost_path);
    if (s->stopped) /* the launch was ended too */
        return RC_OK;
    TRY(launched);
    if (s->cost_path[0])
        TRY(sim_cost_take(&s->cost, s->cost_path));
out:
    return rc;
}

static void show_progress(struct sweep *s, const struct point *p, size_t turn, size_t position)
{
    char name[LAUNCH_NAME_BYTES], what[LAUNCH_NAME_BYTES + 64];

    point_name(name, sizeof name, p);
    snprintf(what, sizeof what, "%s, launch %zu of %zu", name, turn + 1, s->campaign.n_launches_wanted);
    progress_update(&s->progress, s->tuning.n_trials + turn * s->campaign.n_points + position, what, wait_clock_ns());
}

/* Is there time for another turn? Rank 0's clock decides for all. */
static enum rc another_turn(struct sweep *s, struct world *w, size_t turn, bool *yes)
{
    const double spent_s = (double)(wait_clock_ns() - s->started_ns) * 1e-9;
    bool mine = turn < s->campaign.n_launches_wanted && (turn < 2 || spent_s < s->budget_s), *all = &mine;
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

/* The launch at `position` of block `turn`. */
static enum rc launch(struct sweep *s, struct world *w, size_t turn, size_t position, struct command_line *l)
{
    struct point *p = &s->campaign.point[s->order[position]];
    const struct launch_terms terms = launch_terms_of(s, p, turn);
    const bool root = !w || w->rank == 0;
    enum rc rc = RC_OK;

    if (root)
        show_progress(s, p, turn, position);
    TRY(launch_point(s, w, p, &terms, l));
    if (root && !s->stopped)
        TRY(campaign_take(&s->campaign, p, position, s->launch_path));
out:
    return rc;
}

/* All turns over all points. w NULL: launches are processes. */
enum rc sweep_launch_all(struct sweep *s, struct world *w)
{
    struct command_line *l = malloc(sizeof *l);
    bool more = true;
    enum rc rc = RC_OK;

    s->order = malloc(s->campaign.n_points * sizeof *s->order);
    if (!l || !s->order)
        FAIL(RC_NOMEM, "no memory for a command line, or the order of %zu points", s->campaign.n_points);
    if (!w)
        stop_catch();
    for (size_t turn = 0; !s->stopped; turn++) {
        TRY(another_turn(s, w, turn, &more));
        if (!more)
            break;
        TRY(campaign_block_order(s->order, &s->campaign, s->order_seed, turn));
        for (size_t i = 0; i < s->campaign.n_points && !s->stopped; i++)
            TRY(launch(s, w, turn, i, l));
    }
out:
    free(s->order);
    s->order = NULL;
    free(l);
    return rc;
}
