/* SPDX-License-Identifier: Apache-2.0 */
/*
 * restart.h - train --restarts N: the run is a child process; where its ranks die, another one goes on from the last
 * checkpoint that it wrote. launch --restarts N: likewise all processes of a gang are started anew (restart_gang.c).
 *
 * Ranks of threads and sim are in one process: where one dies, the run ends with exit code 1, and where the system
 * kills the process (for lack of memory), by a signal. Both are begun again. So is a gang whose exit code (launch.h) is
 * such a one: a process of it failed or was killed, and the others could not go on without it. Bad input (exit code 2),
 * a run that was told to stop (128 + a signal of stop.h), and one that has done its steps and saved its checkpoint are
 * not. A run that may be begun again writes its records before its last checkpoint: whatever it is killed at, there is
 * a checkpoint to go on from, or else nothing is missing, and the exit code is 0.
 */
#ifndef HARNESS_VERBS_RESTART_H
#define HARNESS_VERBS_RESTART_H

#include <stdbool.h>
#include <sys/stat.h>

#include "harness/train/train.h"
#include "harness/verbs/verb.h"
#include "harness/world/tcp/launch.h"
#include "harness/world/world.h"

/* Exit code of a child that has done so, but whose records, say, could not be written. */
enum { RESTART_NOT = 3 };

/* Returns in each child, which is to run the training of call (its options are changed to go on where the last one
 * ended: *is_child, and *restarts says how often); and at the end in this process, with call->exit_code set. RC_INVAL:
 * a launcher started this process; RC_IO. */
enum rc restart_run(struct verb_call *call, struct train_opts *opts, struct train_restarts *restarts,
                    bool *is_child) MUST_CHECK;

/* --- restart_gang.c --- */

/* launch_run(launch), again and again, at most `most` times more; command[] is what stands behind --. RC_INVAL: that is
 * no training that can go on, or rank 0 is on another host, where its checkpoint cannot be seen; as launch_run(). */
enum rc restart_gang(const struct launch_opts *launch, uint64_t most, char *const *command, int *exit_code) MUST_CHECK;
/* Was this process started by that? Then its options are changed to go on where the last gang ended, and *restarts says
 * how often. RC_INVAL: GRADMARK_GANG_RESTARTS is none that gradmark launch sets. */
enum rc restart_in_gang(struct verb_call *call, struct train_opts *opts, struct train_restarts *restarts,
                        bool *is_in_gang) MUST_CHECK;
/* train_verb.c: of a call of train or serve. */
struct train_opts *train_opts_of(const struct verb_call *call);

/* --- for both --- */

/* Which file is at a path: one that is written anew is another one (file.h). */
struct restart_file {
    bool is_there;
    struct stat about;
};

struct restart_file restart_file_at(const char *path);
/* Is it over, and not to be begun again? */
bool restart_is_over(int exit_code);
/* What a run writes at its end, on rank 0. w: its world, NULL: it has ended. */
struct restart_results {
    enum rc (*checkpoint)(void *run, struct world *w);
    enum rc (*records)(void *run);
    void *run;
};
/* Both, the records first where records_first; else they come last, as those that cannot be written take nothing else
 * with them. The first error, after both were tried. */
enum rc restart_write(bool records_first, const struct restart_results *results, struct world *w) MUST_CHECK;
/* Was the run killed behind its last step, with all that it writes at its place? Says so. before: as below. */
bool restart_is_complete(const char *who, const struct train_opts *opts, const struct restart_file *before,
                         int exit_code);
/* The step that the next run goes on from; its options are changed so that it does. before: what was at --save at the
 * start: a file that this training did not write is not its checkpoint. */
uint64_t restart_go_on(struct train_opts *opts, const struct restart_file *before);
/* A drill has shown what it was to show: the rank that died in it lives on. */
void restart_forget_drill(struct verb_call *call, struct train_opts *opts);
/* The last of restarts, on standard error. */
void restart_tell(const char *who, const struct train_opts *opts, const struct train_restarts *restarts, uint64_t most,
                  int exit_code);
/* The exit code of the whole, which says why where it is RESTART_NOT's. */
int restart_end(const char *who, const struct train_opts *opts, int exit_code);

#endif
