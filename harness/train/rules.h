/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules.h - which options of a training run do not go together, and why: one table, read from the top.
 *
 * A row says: this option cannot be used, or would change nothing, where this fact holds. Errors, and "Not with ..." in
 * --help-all and docs/options.md, come from the rows. What depends on numbers (a batch that has no such parts) is
 * checked where the numbers are known.
 *
 * To add a row, name the option and the fact in rules.c, with the reason and the remedy, for the reader of an error.
 */
#ifndef HARNESS_TRAIN_RULES_H
#define HARNESS_TRAIN_RULES_H

#include <stddef.h>

#include "harness/base/opt.h"
#include "harness/base/rc.h"

struct train_job;
struct train_opts;

/* RC_INVAL "--OPTION VALUE: why" of the first row that the run breaks. job: its modules, ranks, model and profile are
 * resolved. opts: as given. */
enum rc train_rules_check(const struct train_job *job, const struct train_opts *opts, const struct opt_group *group,
                          int n_groups) MUST_CHECK;
/* Why this option cannot be added to the run; NULL: it can, as far as the rows say. */
const char *train_rules_why(const struct train_job *job, const char *option);
enum { TRAIN_RULES_BYTES = 320 };
/* out[n_bytes] := what this option cannot be used with: "--forward-only, --compute hollow"; "": it is none of train, or
 * no row is about it. */
void train_rules_of(const struct opt *option, char *out, size_t n_bytes);

#endif
