/* SPDX-License-Identifier: Apache-2.0 */
/*
 * restart.h - train --restarts N: the run is a child process; where its ranks die, another one goes on from the last
 * checkpoint that it wrote.
 *
 * Ranks of threads and sim are in one process: where one dies, the run ends with exit code 1, and where the system
 * kills the process (for lack of memory), by a signal. Both are begun again. Bad input (exit code 2), a run that was
 * told to stop (128 + a signal of stop.h), and one that has done its steps and saved its checkpoint are not.
 */
#ifndef HARNESS_VERBS_RESTART_H
#define HARNESS_VERBS_RESTART_H

#include <stdbool.h>

#include "harness/train/train.h"
#include "harness/verbs/verb.h"

/* Exit code of a child that has done so, but whose records, say, could not be written. */
enum { RESTART_NOT = 3 };

/* Returns in each child, which is to run the training of call (its options are changed to go on where the last one
 * ended: *is_child, and *restarts says how often); and at the end in this process, with call->exit_code set. RC_INVAL:
 * a launcher started this process; RC_IO. */
enum rc restart_run(struct verb_call *call, struct train_opts *opts, struct train_restarts *restarts,
                    bool *is_child) MUST_CHECK;

#endif
