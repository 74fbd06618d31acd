/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch.c - how points are checked and launched.
 *
 * A launch is the command `gradmark train` with options a user could type. In threads and sim it is a new process;
 * under mpirun or srun, where processes are given, it runs in a part of the ranks while the others sleep.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/hold.h"
#include "harness/campaign/command_line.h"
#include "harness/campaign/sim_cost.h"
#include "harness/train/shard.h"
#include "harness/train/stages_run.h"
#include "harness/world/child.h"
#include "harness/world/stop.h"
#include "harness/world/wait.h"
#include "models/replay/profile.h"

struct parsed_launch { /* the options of a launch of a point, as `gradmark train` would parse them; they borrow from l
                        */
    struct opt_group group[TRAIN_MAX_OPT_GROUPS];
    int n_groups;
    struct train_opts opts;
};

static enum rc parse_launch(struct parsed_launch *out, struct command_line *l, const struct sweep *s,
                            const struct point *p, const struct launch_terms *terms)
{
    enum rc rc;

    l->n = 0;
    TRY(command_line_add_point(l, s, p, terms));
    out->n_groups = train_opt_groups(out->group, &out->opts);
    TRY(opt_parse(out->group, out->n_groups, train_opt_rules, l->n, l->argv));
out:
    return rc;
}

/* Resolve one launch of p, of a pipeline its first stage, without running it. modules: values of the options of
 * modules, not all of them p's. */
static enum rc check_launch(struct train_job *job, struct parsed_launch *parsed, const struct sweep *s,
                            const struct point *p)
{
    const int n_ranks = s->launcher.name ? point_n_launched_ranks(p) : 0;
    enum rc rc;

    parsed->opts.modules = s->train.modules;
    if (p->n_stages > 1)
        TRY(train_prepare_stage(job, &parsed->opts, parsed->group, parsed->n_groups, n_ranks / p->n_stages, 0));
    else
        TRY(train_prepare(job, &parsed->opts, parsed->group, parsed->n_groups, n_ranks));
out:
    return rc;
}

/* What a step of the point costs, for sweep_choose_steps(). Of a pipeline's first stage its share of all is known. */
static void note_cost(struct point *p, const struct train_job *job)
{
    const bool has_stages = p->n_stages > 1 && job->stages.cost_ratio[0] > 0;
    const double n_samples = (double)job->opts.batch * job->n_workers;
    const double whole_flops = job->flops_per_sample * (has_stages ? p->n_stages / job->stages.cost_ratio[0] : 1);
    const size_t n_params = has_stages ? job->stages.whole_params : job->n_params;

    p->default_steps = (uint64_t)job->workload->default_steps;
    p->step_flops = job->compute->touches_memory && !job->profile ? whole_flops * n_samples : 0;
    if (job->compute->touches_memory) /* gradients are carried and parameters updated at the pace of memory, about */
        p->step_s = (double)n_params * 40 * 1e-10;
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

/* What the launches need of a world that all of them share. */
static void note_world(struct sweep *s, const struct train_job *job)
{
    const struct world_opts opts = train_world_opts(job);

    s->needs_tasks |= opts.has_tasks && !opts.tasks_are_optional;
    s->may_use_tasks |= opts.has_tasks;
    s->may_overlap |= job->may_overlap;
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
    struct parsed_launch parsed;
    enum rc rc = RC_OK;

    if (!l)
        return rc_raise(RC_NOMEM, "no memory for a command line");
    for (size_t i = 0; i < s->campaign.n_points; i++) {
        struct train_job job = { 0 };
        struct point *p = &s->campaign.point[i];
        const struct launch_terms terms = launch_terms_of(s, p, 0);
        TRY(parse_launch(&parsed, l, s, p, &terms));
        TRY(check_launch(&job, &parsed, s, p));
        if (s->campaign.is_virtual)
            snprintf(s->campaign.cluster_name, sizeof s->campaign.cluster_name, "%s", job.cluster.name);
        memcpy(p->used, job.used, sizeof p->used);
        note_cost(p, &job);
        note_world(s, &job);
        const enum rc noted = note_useless(s, p, &job);
        train_job_free(&job);
        TRY(noted);
    }
    TRY(refuse_unused(s));
out:
    free(l);
    return rc;
}

/* A warning, or what a watch says of a rank (world.P2): of one that is lost another line follows. */
static bool is_notice(const char *line)
{
    return strstr(line, ": warning: ") || strstr(line, " has been silent for ") ||
           strstr(line, " is back, silent for ");
}

/* The first line that is not a notice; without such a line the first. Cuts text behind it. */
static const char *error_line(char *text)
{
    char *line = text, *end;

    while ((end = strchr(line, '\n')) != NULL) {
        *end = '\0';
        if (!is_notice(line))
            break;
        line = end + 1;
    }
    return line[0] ? line : text;
}

static enum rc launch_child(struct sweep *s, const struct point *p, const struct launch_terms *terms,
                            struct command_line *l)
{
    char complaint[RC_MESSAGE_BYTES / 2], ending[RC_MESSAGE_BYTES / 2 + 64], name[LAUNCH_NAME_BYTES];
    int exit_code = 0;
    enum rc rc;

    l->n = 0;
    command_line_add(l, "%s", s->self_path);
    command_line_add(l, "train");
    TRY(command_line_add_point(l, s, p, terms));
    command_line_add(l, "--out=%s", s->launch_path);
    if (s->cost_path[0])
        command_line_add(l, "--cost=%s", s->cost_path);
    TRY(child_run(l->argv, 0, stop_wanted, &exit_code, complaint, sizeof complaint));
    if (exit_code != 0) {
        point_name(name, sizeof name, p);
        child_ending(ending, sizeof ending, exit_code, error_line(complaint));
        snprintf(s->failure, sizeof s->failure, "the launch of %.160s %.310s", name, ending);
    }
out:
    return rc;
}

struct outcome { /* of what a rank did for a launch */
    enum rc rc;
    char message[FAILURE_BYTES / 2];
};

/* K4. rc: of this rank. s->failure: of the lowest rank that failed, on all. */
static enum rc agree_on_failure(struct sweep *s, struct world *w, const struct point *p, enum rc mine)
{
    struct outcome own = { .rc = mine }, *all = calloc((size_t)w->n_ranks, sizeof *all);
    char name[LAUNCH_NAME_BYTES];
    enum rc rc = RC_OK;

    if (!all)
        return rc_raise(RC_NOMEM, "no memory for %d ranks", w->n_ranks);
    if (mine != RC_OK)
        snprintf(own.message, sizeof own.message, "%.250s", rc_message());
    TRY(world_allgather(w, &own, all, sizeof own));
    point_name(name, sizeof name, p);
    for (int r = 0; r < w->n_ranks && !s->failure[0]; r++)
        if (all[r].rc != RC_OK)
            snprintf(s->failure, sizeof s->failure, "the launch of %.160s failed on rank %d: %s", name, r,
                     all[r].message);
out:
    free(all);
    return rc;
}

struct launch_run { /* in mpi; owned */
    struct parsed_launch parsed;
    struct train_job job; /* of a point without stages */
    struct train_result result;
    struct train_stages_run stages; /* of another */
};

static void launch_run_free(struct launch_run *r)
{
    train_stages_free(&r->stages);
    train_result_free(&r->result);
    train_job_free(&r->job);
}

static enum rc prepare_run(struct launch_run *r, const struct world *part, const struct sweep *s, const struct point *p)
{
    struct parsed_launch *parsed = &r->parsed;
    const struct launcher own = { .name = s->launcher.name, .rank = part->rank, .n_ranks = part->n_ranks };
    enum rc rc;

    r->stages = (struct train_stages_run){
        .group = parsed->group, .n_groups = parsed->n_groups, .n_stages = p->n_stages, .out = ""
    };
    if (p->n_stages > 1)
        TRY(train_stages_prepare(&r->stages, &parsed->opts, &own));
    else
        TRY(train_prepare(&r->job, &parsed->opts, parsed->group, parsed->n_groups, part->n_ranks));
    if (p->n_stages <= 1 && part->rank == 0)
        TRY(train_note_inputs(&r->job));
out:
    return rc;
}

static enum rc write_launch(const struct sweep *s, const struct point *p, const struct launch_run *r)
{
    struct train_summary summary;
    struct report *to = NULL;
    enum rc rc;

    TRY(report_open(&to, s->launch_path));
    if (p->n_stages > 1)
        TRY(train_stages_write(to, &r->stages));
    else {
        TRY(train_summarise(&summary, &r->job, &r->result));
        TRY(train_write(to, &r->job, &r->result, &summary));
        TRY(job_shard_write(to, &r->job, &r->result));
    }
    TRY(report_commit(to));
out:
    report_close(&to);
    return rc;
}

/* Where it fails the job ends. */
static enum rc train_in_part(struct world *part, const struct point *p, struct launch_run *r)
{
    return p->n_stages > 1 ? train_stages_body(part, &r->stages) : train_rank(part, &r->job, &r->result);
}

/* In mpi: ranks 0 .. n-1 train, the others wait, asleep, for what rank 0 says behind. */
static enum rc launch_in_world(struct sweep *s, struct world *w, const struct point *p,
                               const struct launch_terms *terms, struct command_line *l)
{
    struct world *part = NULL;
    struct launch_run run = { .parsed.n_groups = 0 };
    enum rc rc, mine = RC_OK;

    TRY(world_split(w, w->rank < point_n_launched_ranks(p) ? 0 : -1, w->rank, &part));
    if (part)
        mine = parse_launch(&run.parsed, l, s, p, terms);
    if (part && mine == RC_OK)
        mine = prepare_run(&run, part, s, p);
    TRY(agree_on_failure(s, w, p, mine));
    if (s->failure[0])
        goto out;
    if (part)
        TRY(train_in_part(part, p, &run));
    TRY(agree_on_failure(s, w, p, w->rank == 0 ? write_launch(s, p, &run) : RC_OK));
out:
    launch_run_free(&run);
    world_split_close(&part);
    return rc;
}

enum rc launch_point(struct sweep *s, struct world *w, const struct point *p, const struct launch_terms *terms,
                     struct command_line *l)
{
    const bool root = !w || w->rank == 0;
    enum rc rc = RC_OK;

    s->failure[0] = '\0';
    const enum rc launched = w ? launch_in_world(s, w, p, terms, l) : launch_child(s, p, terms, l);
    s->stopped = !w && stop_wanted();
    const bool is_done = launched == RC_OK && !s->failure[0];
    if (root && !is_done)
        (void)unlink(s->launch_path);
    if (root && s->cost_path[0] && !is_done)
        (void)unlink(s->cost_path);
    if (s->stopped && !is_done) /* the launch was ended too */
        return RC_OK;
    TRY(launched);
    if (is_done && s->cost_path[0])
        TRY(sim_cost_take(&s->cost, s->cost_path));
out:
    return rc;
}

/* Number of turns that will be made, with `turn` under way: fewer than wanted if the budget will not suffice. */
static size_t expected_turns(const struct sweep *s, size_t turn)
{
    const struct campaign *c = &s->campaign;
    const double spent_s = sweep_spent_s(s), n_done = (double)c->n_launches_done;
    const size_t least = turn + 1 < LEAST_TURNS ? LEAST_TURNS : turn + 1;
    double n = (double)c->n_launches_wanted;

    if (spent_s >= s->budget_s)
        n = (double)least;
    else if (n_done > 0)
        n = fmin(n, ceil(s->budget_s / spent_s * n_done / (double)c->n_points));
    n = fmax(n, (double)least);
    return n < (double)c->n_launches_wanted ? (size_t)n : c->n_launches_wanted;
}

static void show_progress(struct sweep *s, const struct point *p, size_t turn, size_t position)
{
    char name[LAUNCH_NAME_BYTES], what[LAUNCH_NAME_BYTES + 64];

    point_name(name, sizeof name, p);
    snprintf(what, sizeof what, "%s, launch %zu of %zu%s", name, turn + 1, expected_turns(s, turn),
             sweep_spent_s(s) < s->budget_s ? "" : ", the budget is spent");
    s->progress.n_total = s->tuning.n_trials + expected_turns(s, turn) * s->campaign.n_points;
    progress_update(&s->progress, s->tuning.n_trials + turn * s->campaign.n_points + position, what, wait_clock_ns());
}

enum rc launch_agree(struct world *w, bool *yes)
{
    return w ? world_broadcast(w, yes, sizeof *yes) : RC_OK;
}

double sweep_spent_s(const struct sweep *s)
{
    return s->spent_before_s + (double)(wait_clock_ns() - s->started_ns) * 1e-9;
}

/* Has some point a launch of this turn, from before the campaign was continued? */
static bool has_begun(const struct campaign *c, size_t turn)
{
    for (size_t i = 0; i < c->n_points; i++)
        if (c->point[i].n_launches > turn)
            return true;
    return false;
}

/* Is there time for another turn? Rank 0's clock decides for all. */
static enum rc another_turn(struct sweep *s, struct world *w, size_t turn, bool *yes)
{
    *yes = turn < s->campaign.n_launches_wanted &&
           (turn < LEAST_TURNS || has_begun(&s->campaign, turn) || sweep_spent_s(s) < s->budget_s);
    return launch_agree(w, yes);
}

/* s->failure of a launch of p at block_position: count it, keep a record, say it; p may be given up (K2). */
static enum rc note_failure(struct sweep *s, struct point *p, size_t block_position)
{
    enum rc rc;

    p->is_given_up = p->n_failures_now + 1 >= s->max_failures;
    TRY(campaign_fail(&s->campaign, p, block_position, s->failure));
    progress_say(&s->progress, "gradmark compare: %s; failure %zu of at most %zu, %s", s->failure, p->n_failures_now,
                 s->max_failures, p->is_given_up ? "the point is given up" : "it is launched again");
out:
    return rc;
}

/* Rank 0, behind a launch of p: at the first disturbed one there is still time to stop what disturbs. */
static void warn_if_disturbed(struct sweep *s, const struct point *p)
{
    const struct launch *last = p->n_launches > 0 ? &p->launch[p->n_launches - 1] : NULL;
    size_t n_disturbed = 0;

    for (size_t i = 0; i < s->campaign.n_points; i++)
        for (size_t k = 0; k < s->campaign.point[i].n_launches; k++)
            n_disturbed += s->campaign.point[i].launch[k].was_disturbed;
    if (last && last->was_disturbed && n_disturbed == 1 && !disturbance_is_too_much(&s->campaign.before))
        progress_say(&s->progress,
                     "gradmark compare: warning: other programs used %.2f cores during this run. If they continue, "
                     "there will be no verdict: stop them (top shows them)",
                     last->others_cores_count);
}

/* Rank 0, behind a launch of p. One that a signal has ended is no failure. */
static enum rc take(struct sweep *s, struct point *p, size_t position)
{
    char name[LAUNCH_NAME_BYTES];

    if (!s->failure[0]) {
        hold_at("take", 0, s->campaign.n_launches_done);
        s->campaign.spent_s = sweep_spent_s(s);
        const enum rc taken = campaign_take(&s->campaign, p, position, s->launch_path);
        if (taken == RC_OK)
            warn_if_disturbed(s, p);
        if (taken != RC_MISMATCH)
            return taken;
        if (s->stopped)
            return RC_OK;
        point_name(name, sizeof name, p);
        snprintf(s->failure, sizeof s->failure, "the launch of %.160s failed: %.300s", name, rc_message());
    }
    return s->stopped ? RC_OK : note_failure(s, p, position);
}

/* K2, on rank 0. */
static bool is_wanted(const struct point *p, size_t turn)
{
    return p->n_launches == turn && !p->is_given_up;
}

/* The launch at `position` of block `turn`, until it succeeds or the point is given up. */
static enum rc launch(struct sweep *s, struct world *w, size_t turn, size_t position, struct command_line *l)
{
    struct point *p = &s->campaign.point[s->order[position]];
    const struct launch_terms terms = launch_terms_of(s, p, turn);
    const bool root = !w || w->rank == 0;
    bool wanted = root && is_wanted(p, turn);
    enum rc rc;

    TRY(launch_agree(w, &wanted));
    while (wanted && !s->stopped) {
        hold_at("launch", w ? w->rank : 0, turn * s->campaign.n_points + position);
        if (root)
            show_progress(s, p, turn, position);
        TRY(launch_point(s, w, p, &terms, l));
        if (root)
            TRY(take(s, p, position));
        wanted = root && is_wanted(p, turn);
        TRY(launch_agree(w, &wanted));
    }
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
    if (!s->stopped)
        s->progress.n_done = s->progress.n_total;
out:
    free(s->order);
    s->order = NULL;
    free(l);
    return rc;
}
