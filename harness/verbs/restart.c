/* SPDX-License-Identifier: Apache-2.0 */
/* restart.c - train --restarts N: the run is a child process; see restart.h. */
#include "harness/verbs/restart.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/base/hold.h"
#include "harness/base/terminal.h"
#include "harness/base/text.h"
#include "harness/train/checkpoint.h"
#include "harness/world/child.h"
#include "harness/world/stop.h"
#include "harness/world/tcp/gang.h"
#include "harness/world/world.h"

/* Identity of the file at a path: a file that is written anew is a different one (file.h). */
struct restart_file {
    bool is_there;
    struct stat about;
};

static struct restart_file restart_file_at(const char *path)
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

/* Has the run ended for good, so that it is not restarted? */
static bool restart_is_over(int exit_code)
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

/* Remove the fault injection from the options: it has happened once, and the rank must not die again. */
static void restart_forget_drill(struct verb_call *call, struct train_opts *opts)
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

/* Was the run killed after its last step, when all its output was complete? Prints so. before: see restart_go_on(). */
static bool restart_is_complete(const char *who, const struct train_opts *opts, const struct restart_file *before,
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
    terminal_note(
        stderr,
        "gradmark %s: the run ended with exit code %d after its last step; its records and its checkpoint %s are "
        "complete",
        who, exit_code, opts->save);
    return true;
}

/* The step from which the next run continues; its options are changed accordingly. before: the file at --save at the
 * start. A file that this training did not write is not its checkpoint. */
static uint64_t restart_go_on(struct train_opts *opts, const struct restart_file *before)
{
    const struct restart_file now = restart_file_at(opts->save);
    struct checkpoint c = { 0 };

    if (now.is_there && !is_same(&now, before))
        opts->resume = opts->save;
    if (!opts->resume[0] || checkpoint_read_header(&c, opts->resume) != RC_OK)
        return 0;
    return c.steps_count;
}

/* Print the last of restarts to standard error. */
static void restart_tell(const char *who, const struct train_opts *opts, const struct train_restarts *restarts,
                         uint64_t most, int exit_code)
{
    const uint64_t from = restarts->from_steps[restarts->n - 1];
    char where[32] = "the first step";

    if (from > 0)
        (void)snprintf(where, sizeof where, "step %llu of", (unsigned long long)from);
    terminal_note(stderr, "gradmark %s: the run ended with exit code %d; restart %zu of %llu, from %s%s%s", who,
                  exit_code, restarts->n, (unsigned long long)most, where, from > 0 ? " " : "",
                  from > 0 ? opts->resume : "");
}

/* The exit code of the whole run; prints the reason if exit_code is RESTART_NOT. */
static int restart_end(const char *who, const struct train_opts *opts, int exit_code)
{
    if (exit_code != RESTART_NOT)
        return exit_code;
    terminal_note(stderr, "gradmark %s: the training itself has ended, and its checkpoint is %s: it is not begun again",
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

/* --- all processes of a gang --- */

/* The steps that each restart went on from, with commas; then SAVED where the last one does from --save, and not from
 * what --resume says, if anything. */
static const char VARIABLE[] = "GRADMARK_GANG_RESTARTS", SAVED[] = " saved";

enum { LIST_BYTES = TRAIN_MAX_RESTARTS * 21 + sizeof SAVED };

static void write_list(char out[LIST_BYTES], const struct train_restarts *restarts, bool is_saved)
{
    size_t n = 0;

    out[0] = '\0';
    for (size_t i = 0; i < restarts->n; i++)
        n += (size_t)snprintf(out + n, LIST_BYTES - n, "%s%llu", i > 0 ? "," : "",
                              (unsigned long long)restarts->from_steps[i]);
    if (is_saved)
        (void)snprintf(out + n, LIST_BYTES - n, "%s", SAVED);
}

static enum rc read_list(struct train_restarts *out, bool *is_saved, const char *text)
{
    char words[LIST_BYTES], *rest = NULL;

    *out = (struct train_restarts){ .n = 0 };
    if (strlen(text) >= sizeof words)
        return rc_raise(RC_INVAL, "%s: is longer than %d restarts are", VARIABLE, TRAIN_MAX_RESTARTS);
    (void)snprintf(words, sizeof words, "%s", text);
    const size_t n = strlen(words), n_saved = sizeof SAVED - 1;
    *is_saved = n >= n_saved && strcmp(words + n - n_saved, SAVED) == 0;
    if (*is_saved)
        words[n - n_saved] = '\0';
    for (char *word = strtok_r(words, ",", &rest); word; word = strtok_r(NULL, ",", &rest))
        if (out->n == TRAIN_MAX_RESTARTS || !text_to_u64(word, &out->from_steps[out->n++]))
            return rc_raise(RC_INVAL, "%s=%.80s: is no list of steps", VARIABLE, text);
    return RC_OK;
}

/* --- the launcher --- */

/* Can this training go on from a checkpoint? */
static enum rc check_training(const struct verb_call *call, const struct train_opts *opts, uint64_t most)
{
    static const char *const of_one_start[] = { "trajectory", "messages", "autotune" };
    const unsigned long long n = most;

    if (opts->save[0] == '\0')
        return rc_raise(
            RC_INVAL,
            "--restarts %llu: train needs --save FILE (and --save-every N), the checkpoint from which it continues", n);
    if (opts->restarts > 0)
        return rc_raise(RC_INVAL, "--restarts %llu: is given to launch and to train; leave out the one after --", n);
    if (opts->stages > 1)
        return rc_raise(RC_INVAL, "--restarts %llu: not with train --stages", n);
    for (size_t i = 0; i < sizeof of_one_start / sizeof *of_one_start; i++)
        if (verb_given(call, of_one_start[i]))
            return rc_raise(RC_INVAL, "--restarts %llu: not with train --%s, as each restart would begin it again", n,
                            of_one_start[i]);
    return RC_OK;
}

static enum rc check_command(struct verb_call *call, const struct launch_opts *launch, uint64_t most,
                             char *const *command)
{
    const unsigned long long n = most;
    bool is_here = false;
    int argc = 0;
    enum rc rc;

    if (strcmp(command[0], verb_train.name) != 0)
        return rc_raise(RC_INVAL, "--restarts %llu: the command after -- is %.80s; only train has checkpoints", n,
                        command[0]);
    while (command[argc])
        argc++;
    TRY(verb_call_open(call, &verb_train, argc - 1, command + 1));
    TRY(check_training(call, train_opts_of(call), most));
    TRY(launch_root_is_here(&is_here, launch));
    if (!is_here)
        FAIL(RC_INVAL,
             "--restarts %llu: rank 0 runs on another host, so its checkpoint is not here; start it there, "
             "with that host first in -H",
             n);
out:
    return rc;
}

enum rc restart_gang(const struct launch_opts *launch, uint64_t most, char *const *command, int *exit_code)
{
    struct verb_call call = { .stage = STAGE_INPUT };
    struct train_restarts restarts = { 0 };
    struct launch_opts own = *launch;
    char list[LIST_BYTES] = "";
    enum rc rc;

    if (verb_help_is_wanted(command))
        return launch_run(launch, exit_code);
    TRY(check_command(&call, launch, most, command));
    struct train_opts *opts = train_opts_of(&call);
    const struct restart_file before = restart_file_at(opts->save);
    own.restarts = list;
    for (;;) {
        TRY(launch_run(&own, exit_code));
        if (restart_is_over(*exit_code))
            break;
        if (restart_is_complete("launch", opts, &before, *exit_code)) {
            *exit_code = 0;
            break;
        }
        if (restarts.n == most)
            break;
        restarts.from_steps[restarts.n++] = restart_go_on(opts, &before);
        restart_tell("launch", opts, &restarts, most, *exit_code);
        write_list(list, &restarts, opts->resume == opts->save);
    }
    *exit_code = restart_end("launch", opts, *exit_code);
out:
    verb_call_close(&call);
    return rc;
}

/* --- a process --- */

enum rc restart_in_gang(struct verb_call *call, struct train_opts *opts, struct train_restarts *restarts,
                        bool *is_in_gang)
{
    const char *text = getenv(VARIABLE);
    bool is_saved = false;
    enum rc rc = RC_OK;

    *is_in_gang = text != NULL;
    if (!text)
        return RC_OK;
    TRY(read_list(restarts, &is_saved, text));
    if (restarts->n == 0)
        return RC_OK;
    restart_forget_drill(call, opts);
    if (is_saved)
        opts->resume = opts->save;
out:
    return rc;
}
