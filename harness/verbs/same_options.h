/* SPDX-License-Identifier: Apache-2.0 */
/*
 * same_options.h - holds the ranks of a launched world to one program and the same options. Each of its processes has a
 * command line of its own, and what follows from other options is no error that anybody could understand.
 */
#ifndef HARNESS_VERBS_SAME_OPTIONS_H
#define HARNESS_VERBS_SAME_OPTIONS_H

#include "harness/verbs/verb.h"
#include "harness/world/world.h"

/* "version=...\ncommand=train\n--model=lenet\n--lr=0.1\n...": the program's version, the verb with its operands, and
 * the options that are to be equal; the caller frees it. NULL: no memory. */
char *same_options_text(const struct verb_call *call);
/* world_run(). In a launched world every rank first compares its version and options with those of rank 0. Where one
 * has other ones, all ranks end with RC_INVAL, an error of the input, which names the rank, the option and both values.
 * Options that may differ, such as files, are not compared. Every verb runs its world by this. */
enum rc same_options_run(struct verb_call *call, const struct world_ops *world, const struct world_opts *opts,
                         int n_ranks, rank_main_fn *body, void *arg) MUST_CHECK;

#endif
