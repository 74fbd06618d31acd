/* SPDX-License-Identifier: Apache-2.0 */
/* compare_verb.c - gradmark compare: every mode at every worker count, then table, verdict and charts. */
#include <stdlib.h>
#include <string.h>

#include "harness/base/opt.h"
#include "harness/campaign/sim_cost.h"
#include "harness/campaign/sweep.h"
#include "harness/report/manifest.h"
#include "harness/verbs/verb.h"
#include "harness/world/child.h"
#include "harness/world/cores.h"
#include "harness/world/wait.h"

static const struct opt compare_table[] = {
    OPT_MODULES_(struct compare_opts, model, "model", workload_kind, "networks"),
    OPT_MODULES_(struct compare_opts, mode, "mode", mode_kind,
                 "ways to train; single is what efficiency is measured by"),
    OPT_LIST_(struct compare_opts, workers, "workers", "", NULL, 1, 65536,
              "worker counts; without it: 1, 2, 4, ... up to the cores, and twice the cores; sim: 1,2,4,8"),
    OPT_U64_(struct compare_opts, launches, "launches", "10", 1, MAX_LAUNCHES, "launches",
             "of every point; sim: always 1, launches are equal there"),
    OPT_F64_(struct compare_opts, budget_s, "budget-s", "95", 1, 1e6, "s",
             "begin no new turn of launches after this; 2 turns are always made; slow models get fewer steps"),
    OPT_TEXT_(struct compare_opts, results, "results", "results", "DIR", "folder for campaigns"),
    OPT_TEXT_(struct compare_opts, name, "name", "compare", "NAME", "of this campaign: DIR/<date>-NAME"),
    OPT_TEXT_(struct compare_opts, cost, "cost", "", "FILE",
              "write what all simulations cost, in messages and real seconds, as JSON; sim only"),
    OPT_BOOL_(struct compare_opts, charts, "charts", "true", "draw the charts"),
    OPT_END_,
};

enum { GROUP_OWN, GROUP_TRAIN };
static const struct verb_group groups[] = {
    [GROUP_OWN] = { "comparison", compare_table, 0 },
    [GROUP_TRAIN] = { "every training of it", train_opt_table, offsetof(struct compare_opts, train) },
    { NULL, NULL, 0 },
};

/* Each process has measured its steps; rank 0's count. */
static enum rc agree_on_steps(struct comparison *c, struct world *w)
{
    uint64_t *all = calloc((size_t)w->n_ranks, sizeof *all);
    enum rc rc = RC_OK;

    if (!all)
        return rc_raise(RC_NOMEM, "no memory for %d ranks", w->n_ranks);
    for (size_t i = 0; i < c->campaign.n_points; i++) {
        TRY(world_allgather(w, &c->campaign.point[i].n_steps, all, sizeof *all));
        c->campaign.point[i].n_steps = all[0];
    }
out:
    free(all);
    return rc;
}

static enum rc mpi_body(struct world *w, void *arg)
{
    enum rc rc;

    TRY(agree_on_steps(arg, w));
    TRY(compare_launch_all(arg, w));
out:
    return rc;
}

static enum rc write_manifest(const struct comparison *c)
{
    struct record *r = NULL, *options = NULL;
    char path[600];
    enum rc rc;

    TRY(record_open(&r, "campaign"));
    TRY(record_open(&options, "options"));
    record_options(options, compare_table, &c->opts);
    record_options(options, train_opt_table, &c->opts.train);
    record_child(r, "options", &options);
    record_u64(r, "points_count", c->campaign.n_points);
    record_u64(r, "launches_per_point_count", c->campaign.point[0].n_launches);
    record_text(r, "launcher", c->launcher.name);
    manifest_fill(r, c->campaign.is_virtual);
    snprintf(path, sizeof path, "%s/manifest.json", c->campaign.dir);
    TRY(record_write_file(r, path));
out:
    record_close(&options);
    record_close(&r);
    return rc;
}

static enum rc finish(struct comparison *c, bool all_launched)
{
    enum rc rc;

    TRY(campaign_commit(&c->campaign));
    TRY(write_manifest(c));
    TRY(campaign_print(&c->campaign, stdout));
    fputc('\n', stdout);
    campaign_verdict(&c->campaign, stdout);
    if (all_launched && !c->campaign.is_virtual && c->campaign.point[0].n_launches < c->campaign.n_launches_wanted)
        printf("--budget-s %g was spent after %zu of %zu launches of each point.\n", c->opts.budget_s,
               c->campaign.point[0].n_launches, c->campaign.n_launches_wanted);
    if (c->opts.charts)
        TRY(campaign_draw(&c->campaign));
    printf("\nresults: %s\n", c->campaign.dir);
    if (c->campaign.is_virtual)
        TRY(sim_cost_write(stderr, "compare", c->opts.cost, &c->cost));
out:
    return rc;
}

/* What was done is kept, however the launching ended; then it is told how. */
static enum rc keep_and_tell(struct comparison *c, enum rc launched)
{
    const size_t n_done = c->campaign.n_launches_done;
    char why[RC_MESSAGE_BYTES];
    enum rc rc;

    snprintf(why, sizeof why, "%s", rc_message());
    if (n_done == 0 && c->stopped)
        FAIL(RC_PEER, "stopped before the first launch was done; %s is removed", c->campaign.dir);
    if (n_done == 0)
        TRY(launched);
    TRY(finish(c, launched == RC_OK && !c->stopped));
    if (launched != RC_OK)
        FAIL(launched, "failed after %zu launches (results: %s): %s", n_done, c->campaign.dir, why);
    if (c->stopped)
        FAIL(RC_PEER, "stopped after %zu launches; results: %s", n_done, c->campaign.dir);
out:
    return rc;
}

/* Slow models train fewer steps: said before, so that nobody waits for what does not come. */
static void tell_steps(const struct comparison *c)
{
    for (size_t i = 0; i < c->campaign.n_points; i++) {
        const struct point *p = &c->campaign.point[i];
        if (p->n_steps < p->default_steps && c->opts.train.steps == 0 && (i == 0 || strcmp(p->model, p[-1].model) != 0))
            fprintf(stderr, "gradmark compare: %s: %llu steps a launch, %s --budget-s %g\n", p->model,
                    (unsigned long long)p->n_steps,
                    p->over_budget ? "the least there is: two turns will not fit in" : "so that two turns fit in",
                    c->opts.budget_s);
    }
}

static void warn_cores(const struct comparison *c)
{
    const int n_cores = cores_allowed_count();

    for (size_t i = 0; i < c->campaign.n_points; i++)
        if (c->campaign.point[i].oversubscribed) {
            fprintf(stderr,
                    "gradmark compare: warning: points with more than %d threads of workers share cores: marked *\n",
                    n_cores);
            return;
        }
}

static enum rc open_comparison(struct comparison *c, const struct verb_call *call)
{
    enum rc rc;

    c->opts = *(const struct compare_opts *)call->opts;
    c->train_given = call->group[GROUP_TRAIN].given;
    if (verb_given(call, "profile") && !verb_given(call, "model"))
        c->opts.model = workload_profile_player()->module.name;
    c->launcher = world_launcher();
    if (strcmp(c->opts.train.world, "auto") == 0)
        c->opts.train.world = c->launcher.name ? "mpi" : "threads";
    if (strcmp(c->opts.train.world, "mpi") == 0 && !c->launcher.name)
        FAIL(RC_INVAL, "--world mpi: start it with mpirun or srun, as in: mpirun -np 4 gradmark compare");
    c->campaign.n_threads = c->opts.train.threads ? (int)c->opts.train.threads : 1;
    c->campaign.is_virtual = strcmp(c->opts.train.world, "sim") == 0;
    c->campaign.is_launched = c->launcher.name != NULL;
    if (c->campaign.is_virtual)
        c->opts.launches = 1;
    c->campaign.n_launches_wanted = c->opts.launches;
    if (c->opts.name[0] == '\0')
        FAIL(RC_INVAL, "--name: is empty; a campaign needs a name");
    if (strchr(c->opts.name, '/'))
        FAIL(RC_INVAL, "--name %s: is part of a folder's name and cannot hold a /; --results is the folder",
             c->opts.name);
    TRY(child_self_path(c->self_path, sizeof c->self_path));
    TRY(sim_cost_check(c->opts.cost, c->opts.train.world, c->campaign.is_virtual));
    TRY(compare_plan(c));
    TRY(compare_check(c));
    TRY(compare_choose_steps(c));
    if (c->launcher.rank == 0) {
        TRY(campaign_open(&c->campaign, c->opts.results, c->opts.name));
        snprintf(c->launch_path, sizeof c->launch_path, "%s/.launch.jsonl", c->campaign.dir);
        if (c->campaign.is_virtual)
            snprintf(c->cost_path, sizeof c->cost_path, "%s/.launch_cost.json", c->campaign.dir);
    }
out:
    return rc;
}

static enum rc compare_run(struct verb_call *call)
{
    struct comparison c = { 0 };
    const struct world_ops *mpi = NULL;
    enum rc rc, launched;

    TRY(open_comparison(&c, call));
    call->stage = STAGE_RUN;
    c.started_ns = wait_clock_ns();
    if (c.launcher.rank == 0) {
        warn_cores(&c);
        tell_steps(&c);
        progress_init(&c.progress, stderr, c.campaign.n_points * c.campaign.n_launches_wanted, c.started_ns);
    }
    if (strcmp(c.opts.train.world, "mpi") == 0) {
        const struct world_opts world = { .bind_cores = true };
        TRY(world_find(&mpi, "mpi"));
        launched = world_run(mpi, &world, c.launcher.n_ranks, mpi_body, &c);
    } else
        launched = compare_launch_all(&c, NULL);
    if (c.launcher.rank == 0) {
        progress_fini(&c.progress, wait_clock_ns());
        TRY(keep_and_tell(&c, launched));
    } else
        TRY(launched);
out:
    campaign_close(&c.campaign);
    return rc;
}

const struct verb verb_compare = {
    .name = "compare",
    .summary = "the main job: train every way, compare, say which is faster, draw the charts",
    .opts_bytes = sizeof(struct compare_opts),
    .group = groups,
    .kinds = train_kinds,
    .modules_offset_bytes = offsetof(struct compare_opts, train) + offsetof(struct train_opts, modules),
    .rule = train_opt_rules,
    .n_rules = TRAIN_N_OPT_RULES,
    .run = compare_run,
};
