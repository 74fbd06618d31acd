/* SPDX-License-Identifier: Apache-2.0 */
/* compare_verb.c - gradmark compare: every mode at every worker count, then table, verdict and charts. */
#include <string.h>

#include "harness/base/opt.h"
#include "harness/report/manifest.h"
#include "harness/verbs/compare.h"
#include "harness/verbs/verb.h"
#include "harness/world/child.h"
#include "harness/world/cores.h"
#include "harness/world/wait.h"

static const struct opt compare_table[] = {
    OPT_LIST_(struct compare_opts, model, "model", "linear,lenet", "linear|lenet", 0, 0, "networks"),
    OPT_LIST_(struct compare_opts, mode, "mode", "none,single,ps,allreduce", "none|single|ps|allreduce", 0, 0,
              "ways to train; single is what efficiency is measured by"),
    OPT_LIST_(struct compare_opts, workers, "workers", "", NULL, 1, 65536,
              "worker counts; without it: 1, 2, 4, ... up to the cores, and twice the cores; sim: 1,2,4,8"),
    OPT_U64_(struct compare_opts, servers, "servers", "1", 1, 1024, "ranks", "parameter servers"),
    OPT_CHOICE_(struct compare_opts, reducer, "reducer", "ring", "ring|root", "allreduce algorithm"),
    OPT_CHOICE_(struct compare_opts, world, "world", "auto", "auto|threads|mpi|sim",
                "where ranks live; auto: mpi under mpirun or srun, else threads"),
    OPT_TEXT_(struct compare_opts, cluster, "cluster", "", "FILE",
              "description of the simulated cluster (YAML), sim only"),
    OPT_U64_(struct compare_opts, launches, "launches", "10", 1, MAX_LAUNCHES, "launches",
             "of every point; sim: always 1, launches are equal there"),
    OPT_F64_(struct compare_opts, budget_s, "budget-s", "95", 1, 1e6, "s",
             "begin no new turn of launches after this; 2 turns are always made"),
    OPT_U64_(struct compare_opts, batch, "batch", "", 1, 1 << 20, "samples", "of each worker; without it: the model's"),
    OPT_U64_(struct compare_opts, steps, "steps", "", 1, 100000000, "steps", "of each worker; without it: the model's"),
    OPT_F64_(struct compare_opts, lr, "lr", "", 1e-12, 1e6, "", "learning rate of one worker; without it: the model's"),
    OPT_CHOICE_(struct compare_opts, lr_scaling, "lr-scaling", "none", "none|linear|sqrt",
                "rate for W workers: lr, lr W, lr sqrt W"),
    OPT_F64_(struct compare_opts, warmup_epochs, "warmup-epochs", "0", 0, 1000, "epochs",
             "rise from lr to the scaled rate over these"),
    OPT_F64_(struct compare_opts, momentum, "momentum", "", 0, 0.9999, "", "without it: lenet 0.9, linear 0"),
    OPT_F64_(struct compare_opts, weight_decay, "weight-decay", "0", 0, 1, "",
             "added to the gradient, times the parameter"),
    OPT_F64_(struct compare_opts, target_loss, "target-loss", "", -1e9, 1e9, "",
             "measure the time to this training loss; without it: the model's"),
    OPT_U64_(struct compare_opts, seed, "seed", "1", 0, 9007199254740992.0, "",
             "of samples, their order, and parameters"),
    OPT_U64_(struct compare_opts, timeout_s, "timeout-s", "120", 1, 86400, "s", "give up on a silent peer after this"),
    OPT_TEXT_(struct compare_opts, results, "results", "results", "DIR", "folder for campaigns"),
    OPT_TEXT_(struct compare_opts, name, "name", "compare", "NAME", "of this campaign: DIR/<date>-NAME"),
    OPT_BOOL_(struct compare_opts, charts, "charts", "true", "draw the charts"),
    OPT_END_,
};

static const struct opt_rule compare_rules[] = {
    { "servers", "mode", "ps" },
    { "reducer", "mode", "allreduce" },
    { "cluster", "world", "sim" },
};
enum { N_COMPARE_RULES = sizeof compare_rules / sizeof *compare_rules };

static enum rc mpi_body(struct world *w, void *arg)
{
    return compare_launch_all(arg, w);
}

static enum rc write_manifest(const struct comparison *c)
{
    struct record *r = NULL, *options = NULL;
    char path[600];
    enum rc rc;

    TRY(record_open(&r, "campaign"));
    TRY(record_open(&options, "options"));
    record_options(options, compare_table, &c->opts);
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

static enum rc finish(struct comparison *c)
{
    enum rc rc;

    TRY(campaign_commit(&c->campaign));
    TRY(write_manifest(c));
    TRY(campaign_print(&c->campaign, stdout));
    fputc('\n', stdout);
    campaign_verdict(&c->campaign, stdout);
    if (!c->campaign.is_virtual && c->campaign.point[0].n_launches < c->campaign.n_launches_wanted)
        printf("--budget-s %g was spent after %zu of %zu launches of each point.\n", c->opts.budget_s,
               c->campaign.point[0].n_launches, c->campaign.n_launches_wanted);
    if (c->opts.charts)
        TRY(campaign_draw(&c->campaign));
    printf("\nresults: %s\n", c->campaign.dir);
out:
    return rc;
}

static void warn_cores(const struct comparison *c)
{
    const int n_cores = cores_allowed_count();

    for (size_t i = 0; i < c->campaign.n_points; i++)
        if (c->campaign.point[i].oversubscribed) {
            fprintf(stderr, "gradmark compare: warning: points with more than %d workers share cores: marked *\n",
                    n_cores);
            return;
        }
}

static enum rc open_comparison(struct comparison *c, int argc, char **argv)
{
    struct opt_group group[] = { { "comparison", compare_table, &c->opts, 0 } };
    enum rc rc;

    TRY(opt_parse(group, 1, compare_rules, N_COMPARE_RULES, argc, argv));
    c->launcher = world_launcher();
    if (strcmp(c->opts.world, "auto") == 0)
        c->opts.world = c->launcher.name ? "mpi" : "threads";
    if (strcmp(c->opts.world, "mpi") == 0 && !c->launcher.name)
        FAIL(RC_INVAL, "--world mpi: start it with mpirun or srun, as in: mpirun -np 4 gradmark compare");
    c->campaign.is_virtual = strcmp(c->opts.world, "sim") == 0;
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
    TRY(compare_plan(c));
    TRY(compare_check(c));
    if (c->launcher.rank == 0) {
        TRY(campaign_open(&c->campaign, c->opts.results, c->opts.name));
        snprintf(c->launch_path, sizeof c->launch_path, "%s/.launch.jsonl", c->campaign.dir);
    }
out:
    return rc;
}

static enum rc compare_check_options(int argc, char **argv)
{
    struct compare_opts opts;
    struct opt_group group[] = { { "comparison", compare_table, &opts, 0 } };

    return opt_parse(group, 1, compare_rules, N_COMPARE_RULES, argc, argv);
}

static enum rc compare_run(int argc, char **argv, enum verb_stage *stage)
{
    struct comparison c = { 0 };
    const struct world_ops *mpi = NULL;
    enum rc rc;

    TRY(open_comparison(&c, argc, argv));
    *stage = STAGE_RUN;
    c.started_ns = wait_clock_ns();
    if (c.launcher.rank == 0) {
        warn_cores(&c);
        progress_init(&c.progress, stderr, c.campaign.n_points * c.campaign.n_launches_wanted, c.started_ns);
    }
    if (strcmp(c.opts.world, "mpi") == 0) {
        const struct world_opts world = { .bind_cores = true };
        TRY(world_find(&mpi, "mpi"));
        TRY(world_run(mpi, &world, c.launcher.n_ranks, mpi_body, &c));
    } else
        TRY(compare_launch_all(&c, NULL));
    if (c.launcher.rank == 0) {
        progress_fini(&c.progress, wait_clock_ns());
        TRY(finish(&c));
    }
out:
    campaign_close(&c.campaign);
    return rc;
}

static void compare_help(FILE *to)
{
    struct compare_opts opts;
    const struct opt_group group[] = { { "comparison", compare_table, &opts, 0 } };

    opt_help(to, group, 1);
}

const struct verb verb_compare = {
    .name = "compare",
    .summary = "the main job: train every way, compare, say which is faster, draw the charts",
    .run = compare_run,
    .check = compare_check_options,
    .help = compare_help,
};
