/* SPDX-License-Identifier: Apache-2.0 */
/* restart.c - see restart.h. */
#include "harness/verbs/restart.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/hold.h"
#include "harness/train/checkpoint.h"
#include "harness/world/child.h"
#include "harness/world/stop.h"
#include "harness/world/tcp/gang.h"
#include "harness/world/world.h"

struct restart_file restart_file_at(const char *path)
{
    struct restart_file id = { .is_there = false };

    id.is_there = stat(path, &id.about) == 0;
    return id;
}

static bool is_same(const struct restart_file *a, const struct restart_file *b)
{
    if (!a->is_there || !b->is_there)
        return a->is_there == b->is_there;
    return a->about.st_dev == b->about.st_dev && a->about.st_ino == b->about.st_ino &&
           a->about.st_mtim.tv_sec == b->about.st_mtim.tv_sec && a->about.st_mtim.tv_nsec == b->about.st_mtim.tv_nsec;
}

static enum rc refuse_launcher(const struct train_opts *opts)
{
    const struct launcher launcher = world_launcher();

    if (!launcher.name)
        return RC_OK;
    if (gang_is_told())
        return rc_raise(RC_INVAL,
                        "--restarts %llu: gradmark launch starts all processes anew; give it to that, before the --",
                        (unsigned long long)opts->restarts);
    return rc_raise(
        RC_INVAL,
        "--restarts %llu: %s, which started this process, ends all others with one that dies; start it again "
        "with --resume %s",
        (unsigned long long)opts->restarts, launcher.name, opts->save[0] ? opts->save : "FILE");
}

bool restart_is_over(int exit_code)
{
    return stop_wanted() || exit_code == 0 || exit_code == 2 || exit_code == RESTART_NOT ||
           exit_code == VERB_STOPPED + SIGINT || exit_code == VERB_STOPPED + SIGTERM ||
           exit_code == VERB_STOPPED + SIGHUP;
}

/* As if the user had not given option `name`. */
static void forget(struct verb_call *call, const char *name)
{
    for (int g = 0; g < call->n_groups; g++)
        for (int i = 0; call->group[g].table[i].type != OPT_END; i++)
            if (strcmp(call->group[g].table[i].name, name) == 0)
                opt_set_given(&call->group[g], i, false);
}

void restart_forget_drill(struct verb_call *call, struct train_opts *opts)
{
    forget(call, "inject");
    opts->inject = "";
}

enum rc restart_write(bool records_first, const struct restart_results *results, struct world *w)
{
    char why[RC_MESSAGE_BYTES] = "";
    enum rc recorded = RC_OK, rc;

    hold_at("write", 0, 0);
    if (records_first) {
        recorded = results->records(results->run);
        (void)snprintf(why, sizeof why, "%s", recorded != RC_OK ? rc_message() : "");
        hold_at("write", 0, 1);
    }
    TRY(results->checkpoint(results->run, w));
    if (!records_first)
        TRY(results->records(results->run));
    hold_at("write", 0, 2);
    if (recorded != RC_OK)
        rc = rc_raise(recorded, "%s", why);
out:
    return rc;
}

/* Of the whole training; 0: not known. */
static uint64_t n_steps_of(const struct train_opts *opts)
{
    const struct workload *workload = workload_profile_player();

    if (opts->steps > 0)
        return opts->steps;
    if ((!opts->profile[0] || opts->stages > 1) && workload_find(&workload, opts->model) != RC_OK)
        return 0;
    return train_default_steps(workload);
}

bool restart_is_complete(const char *who, const struct train_opts *opts, const struct restart_file *before,
                         int exit_code)
{
    const struct restart_file now = restart_file_at(opts->save);
    const uint64_t n_steps = n_steps_of(opts);
    struct checkpoint c = { 0 };

    if (exit_code <= VERB_STOPPED || !now.is_there || is_same(&now, before) ||
        checkpoint_read_header(&c, opts->save) != RC_OK)
        return false;
    if (opts->stop_at_step > 0 ? c.kept.n_updates < opts->stop_at_step : n_steps == 0 || c.steps_count < n_steps)
        return false;
    fprintf(stderr,
            "gradmark %s: the run ended with exit code %d after its last step; its records and its checkpoint %s are "
            "complete\n",
            who, exit_code, opts->save);
    return true;
}

uint64_t restart_go_on(struct train_opts *opts, const struct restart_file *before)
{
    const struct restart_file now = restart_file_at(opts->save);
    struct checkpoint c = { 0 };

    if (now.is_there && !is_same(&now, before))
        opts->resume = opts->save;
    if (!opts->resume[0] || checkpoint_read_header(&c, opts->resume) != RC_OK)
        return 0;
    return c.steps_count;
}

void restart_tell(const char *who, const struct train_opts *opts, const struct train_restarts *restarts, uint64_t most,
                  int exit_code)
{
    const uint64_t from = restarts->from_steps[restarts->n - 1];
    char where[32] = "the first step";

    if (from > 0)
        (void)snprintf(where, sizeof where, "step %llu of", (unsigned long long)from);
    fprintf(stderr, "gradmark %s: the run ended with exit code %d; restart %zu of %llu, from %s%s%s\n", who, exit_code,
            restarts->n, (unsigned long long)most, where, from > 0 ? " " : "", from > 0 ? opts->resume : "");
}

int restart_end(const char *who, const struct train_opts *opts, int exit_code)
{
    if (exit_code != RESTART_NOT)
        return exit_code;
    fprintf(stderr, "gradmark %s: the training itself has ended, and its checkpoint is %s: it is not begun again\n",
            who, opts->save);
    return EXIT_FAILURE;
}

enum rc restart_run(struct verb_call *call, struct train_opts *opts, struct train_restarts *restarts, bool *is_child)
{
    const struct restart_file before = restart_file_at(opts->save);
    int exit_code = 0;
    int64_t pid;
    enum rc rc;

    TRY(refuse_launcher(opts));
    stop_catch_first();
    for (;;) {
        TRY(child_copy(&pid, is_child));
        if (*is_child)
            return RC_OK;
        TRY(child_await_copy(pid, &exit_code));
        if (restart_is_over(exit_code))
            break;
        if (restart_is_complete("train", opts, &before, exit_code)) {
            exit_code = 0;
            break;
        }
        if (restarts->n == opts->restarts)
            break;
        restarts->from_steps[restarts->n++] = restart_go_on(opts, &before);
        restart_forget_drill(call, opts);
        restart_tell("train", opts, restarts, opts->restarts, exit_code);
    }
    call->exit_code = restart_end("train", opts, exit_code);
out:
    return rc;
}
