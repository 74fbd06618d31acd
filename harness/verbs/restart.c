/* SPDX-License-Identifier: Apache-2.0 */
/* restart.c - see restart.h. */
#include "harness/verbs/restart.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/train/checkpoint.h"
#include "harness/world/child.h"
#include "harness/world/stop.h"
#include "harness/world/world.h"

/* Which file is at a path: one that is written anew is another one (file.h). */
struct identity {
    bool is_there;
    struct stat about;
};

static struct identity identity_of(const char *path)
{
    struct identity id = { .is_there = false };

    id.is_there = stat(path, &id.about) == 0;
    return id;
}

static bool is_same(const struct identity *a, const struct identity *b)
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
    return rc_raise(
        RC_INVAL,
        "--restarts %llu: %s, which started this process, ends all others with one that dies; start it again "
        "with --resume %s",
        (unsigned long long)opts->restarts, launcher.name, opts->save[0] ? opts->save : "FILE");
}

/* Is it over, and not to be begun again? */
static bool is_over(int exit_code)
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

/* A drill has shown what it was to show: the rank that died in it lives on. */
static void forget_drill(struct verb_call *call, struct train_opts *opts)
{
    static const char *const names[] = { "kill-rank", "hang-rank", "leave-rank", "kill-step",
                                         "drill-at",  "flip-bit",  "flip-step" };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        forget(call, names[i]);
    opts->drill_at = "step:1";
    opts->flip_step = 1;
}

/* The step that the next run goes on from; its options are changed so that it does. before: what was at --save at the
 * start: a file that this training did not write is not its checkpoint. */
static uint64_t go_on_from(struct train_opts *opts, const struct identity *before)
{
    const struct identity now = identity_of(opts->save);
    struct checkpoint c = { 0 };

    if (now.is_there && !is_same(&now, before))
        opts->resume = opts->save;
    if (!opts->resume[0] || checkpoint_read_header(&c, opts->resume) != RC_OK)
        return 0;
    return c.steps_count;
}

static void tell_restart(const struct train_opts *opts, const struct train_restarts *restarts, int exit_code)
{
    const uint64_t from = restarts->from_steps[restarts->n - 1];
    char where[32] = "the first step";

    if (from > 0)
        (void)snprintf(where, sizeof where, "step %llu of", (unsigned long long)from);
    fprintf(stderr, "gradmark train: the run ended with exit code %d; restart %zu of %llu, from %s%s%s\n", exit_code,
            restarts->n, (unsigned long long)opts->restarts, where, from > 0 ? " " : "", from > 0 ? opts->resume : "");
}

enum rc restart_run(struct verb_call *call, struct train_opts *opts, struct train_restarts *restarts, bool *is_child)
{
    const struct identity before = identity_of(opts->save);
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
        if (is_over(exit_code) || restarts->n == opts->restarts)
            break;
        restarts->from_steps[restarts->n++] = go_on_from(opts, &before);
        forget_drill(call, opts);
        tell_restart(opts, restarts, exit_code);
    }
    if (exit_code == RESTART_NOT)
        fprintf(stderr,
                "gradmark train: the training itself has ended, and its checkpoint is %s: it is not begun again\n",
                opts->save);
    call->exit_code = exit_code == RESTART_NOT ? EXIT_FAILURE : exit_code;
out:
    return rc;
}
