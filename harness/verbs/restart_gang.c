/* SPDX-License-Identifier: Apache-2.0 */
/* restart_gang.c - launch --restarts: a gang that ends is started anew, from its checkpoint; see restart.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/text.h"
#include "harness/verbs/restart.h"

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
             "--restarts %llu: rank 0 is to run on another host, whose checkpoint is not seen here; start it there, "
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
