/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compare_launch.c - how one point is run.
 *
 * A launch is the command `gradmark train` with options a user could type. In threads and sim it is a new process;
 * under mpirun or srun, where processes are given, it runs in a part of the ranks while the others sleep.
 */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "harness/train/train.h"
#include "harness/verbs/compare.h"
#include "harness/world/child.h"
#include "harness/world/wait.h"

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

static void add_number(struct arguments *a, const char *name, double value)
{
    if (isnan(value))
        return;
    add(a, "--%s", name);
    add(a, "%.17g", value);
}

static void add_whole(struct arguments *a, const char *name, uint64_t value)
{
    if (value == 0)
        return;
    add(a, "--%s", name);
    add(a, "%llu", (unsigned long long)value);
}

static void add_text(struct arguments *a, const char *name, const char *value)
{
    if (value[0] == '\0')
        return;
    add(a, "--%s", name);
    add(a, "%s", value);
}

/* What `gradmark train` is told for one launch of p. */
static enum rc launch_arguments(struct arguments *a, const struct comparison *c, const struct point *p)
{
    const struct compare_opts *o = &c->opts;
    const struct workload *workload = NULL;
    enum rc rc;

    TRY(workload_find(&workload, p->model));
    const uint64_t n_steps = o->steps ? o->steps : (uint64_t)workload->default_steps;
    a->n = 0;
    add(a, "%s", c->self_path);
    add(a, "train");
    add_text(a, "world", o->world);
    add_text(a, "model", p->model);
    add_text(a, "mode", p->mode);
    add_whole(a, "workers", (uint64_t)p->n_workers);
    add_whole(a, "servers", (uint64_t)p->n_servers);
    if (strcmp(p->mode, "allreduce") == 0)
        add_text(a, "reducer", o->reducer);
    add_text(a, "cluster", o->cluster);
    add_whole(a, "batch", o->batch);
    add_whole(a, "steps", n_steps);
    add_number(a, "lr", o->lr);
    add_text(a, "lr-scaling", o->lr_scaling);
    add_number(a, "warmup-epochs", o->warmup_epochs);
    add_number(a, "momentum", o->momentum);
    add_number(a, "weight-decay", o->weight_decay);
    add_number(a, "target-loss", isnan(o->target_loss) ? workload->default_target_loss : o->target_loss);
    add(a, "--seed");
    add(a, "%llu", (unsigned long long)o->seed);
    add_whole(a, "timeout-s", o->timeout_s);
    add_whole(a, "record-every", n_steps / N_CURVE_POINTS > 1 ? n_steps / N_CURVE_POINTS : 1);
    add_text(a, "out", c->launch_path);
out:
    return rc;
}

/* Parse and resolve one launch as `gradmark train` would, without running it. */
static enum rc prepare_launch(struct train_job *job, const struct arguments *a, int n_given_ranks)
{
    const char *out_path = NULL;
    const struct opt out_table[] = { { "out", OPT_TEXT, 0, "", 0, 0, "FILE", NULL, "" }, OPT_END_ };
    struct train_opts opts;
    struct opt_group group[] = { { "training", train_opt_table, &opts, 0 },
                                 { "output", out_table, (void *)&out_path, 0 } };
    enum rc rc;

    TRY(opt_parse(group, 2, train_opt_rules, train_n_opt_rules, a->n - 2, a->argv + 2));
    TRY(train_prepare(job, &opts, group, 2, n_given_ranks));
out:
    return rc;
}

enum rc compare_check(struct comparison *c)
{
    struct arguments *a = malloc(sizeof *a);
    enum rc rc = RC_OK;

    if (!a)
        return rc_raise(RC_NOMEM, "no memory for arguments");
    for (size_t i = 0; i < c->campaign.n_points; i++) {
        struct train_job job = { 0 };
        const struct point *p = &c->campaign.point[i];
        TRY(launch_arguments(a, c, p));
        TRY(prepare_launch(&job, a, c->launcher.name ? p->n_workers + p->n_servers : 0));
        if (c->campaign.is_virtual)
            snprintf(c->campaign.cluster_name, sizeof c->campaign.cluster_name, "%s", job.cluster.name);
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
    TRY(child_run(a->argv, 0, &exit_code, complaint, sizeof complaint));
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

/* All turns over all points. w NULL: launches are processes. */
enum rc compare_launch_all(struct comparison *c, struct world *w)
{
    const bool root = !w || w->rank == 0;
    struct arguments *a = malloc(sizeof *a);
    bool more = true;
    enum rc rc = RC_OK;

    if (!a)
        return rc_raise(RC_NOMEM, "no memory for arguments");
    for (size_t turn = 0;; turn++) {
        TRY(another_turn(c, w, turn, &more));
        if (!more)
            break;
        for (size_t i = 0; i < c->campaign.n_points; i++) {
            struct point *p = &c->campaign.point[i];
            if (root)
                show_progress(c, p, turn, i);
            TRY(w ? launch_in_world(c, w, p, a) : launch_child(c, p, a));
            if (root)
                TRY(campaign_take(&c->campaign, p, c->launch_path));
        }
    }
out:
    free(a);
    return rc;
}
