/* SPDX-License-Identifier: Apache-2.0 */
/*
 * restart.h - train --restarts N: the run is a child process. If its ranks die, a new child continues from the last
 * checkpoint. launch --restarts N: all processes of a process group (gang) are restarted likewise.
 *
 * With ranks as threads and in sim, all ranks are in one process. If a rank dies, the run exits with status 1. If the
 * system kills the process (for lack of memory), it ends by a signal. Both are restarted. So is a process group with
 * such an exit code (launch.h): one of its processes failed or was killed, and the rest could not continue.
 * Not restarted: bad input (exit code 2), a run that was asked to stop (128 + a signal of stop.h), and a run that has
 * done its steps and saved its checkpoint. A run that may be restarted writes its records before its last checkpoint.
 * So whenever it is killed, either there is a checkpoint to continue from, or nothing is missing and the exit code is
 * 0.
 */
#ifndef HARNESS_VERBS_RESTART_H
#define HARNESS_VERBS_RESTART_H

#include <stdbool.h>

#include "harness/train/train.h"
#include "harness/verbs/verb.h"
#include "harness/world/tcp/launch.h"
#include "harness/world/world.h"

/* Exit code of a child that did its steps and saved its checkpoint, but could not write, for example, its records. */
enum { RESTART_NOT = 3 };

/* Returns in each child, which then runs the training of call: its options are changed to continue where the last child
 * ended. *is_child is set, and *restarts has the number of restarts. At the end it returns in this process, with
 * call->exit_code set. RC_INVAL: a launcher started this process; RC_IO. */
enum rc restart_run(struct verb_call *call, struct train_opts *opts, struct train_restarts *restarts,
                    bool *is_child) MUST_CHECK;

/* --- all processes of a process group --- */

/* Call launch_run(launch), and again at most `most` more times; command[]: the words after --. RC_INVAL: they are not a
 * training that can be continued, or rank 0 is on another host, where its checkpoint is not visible. Otherwise as
 * launch_run(). */
enum rc restart_gang(const struct launch_opts *launch, uint64_t most, char *const *command, int *exit_code) MUST_CHECK;
/* Did restart_gang() start this process? If so, its options are changed to continue where the last process group ended,
 * and *restarts has the number of restarts. RC_INVAL: gradmark launch did not set this value of
 * GRADMARK_GANG_RESTARTS. */
enum rc restart_in_gang(struct verb_call *call, struct train_opts *opts, struct train_restarts *restarts,
                        bool *is_in_gang) MUST_CHECK;
/* train_verb.c: the options of a call of train or serve. */
struct train_opts *train_opts_of(const struct verb_call *call);

/* --- for both --- */

/* What a run writes at its end, on rank 0. w: its world; NULL: the world has ended. */
struct restart_results {
    enum rc (*checkpoint)(void *run, struct world *w);
    enum rc (*records)(void *run);
    void *run;
};
/* Write both. The records come first if records_first; else last, because their failure must not prevent other output.
 * With records_first both are tried. Fails if either failed. */
enum rc restart_write(bool records_first, const struct restart_results *results, struct world *w) MUST_CHECK;

#endif
