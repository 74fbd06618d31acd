/* SPDX-License-Identifier: Apache-2.0 */
/*
 * same_options.h - checks that the ranks of a launched world run one program with the same options. Each process has a
 * separate command line, and different options would cause errors that are hard to understand.
 */
#ifndef HARNESS_VERBS_SAME_OPTIONS_H
#define HARNESS_VERBS_SAME_OPTIONS_H

#include "harness/verbs/verb.h"
#include "harness/world/world.h"

/* "version=...\ncommand=train\n--model=lenet\n--lr=0.1\n...": the program's version, the subcommand with its operands,
 * and the options that must be equal; the caller frees it. NULL: no memory. */
char *same_options_text(const struct verb_call *call);
/* world_run() with a check: in a launched world every rank first compares its version and options with those of rank 0.
 * If they differ, all ranks end with RC_INVAL, an error of the input, which names the rank, the option and both values.
 * Options that may differ, such as files, are not compared. Every subcommand runs its world with this function. */
enum rc same_options_run(struct verb_call *call, const struct world_ops *world, const struct world_opts *opts,
                         int n_ranks, rank_main_fn *body, void *arg) MUST_CHECK;

#endif
