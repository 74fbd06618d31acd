/* SPDX-License-Identifier: Apache-2.0 */
/* rules.h - which options of a training run do not go together, and why: facts, and rows (base/rule.h). */
#ifndef HARNESS_TRAIN_RULES_H
#define HARNESS_TRAIN_RULES_H

#include "harness/base/rule.h"

struct train_job;
struct train_opts;

/* RC_INVAL "--OPTION VALUE: why" of the first row that the run breaks. job: its modules, ranks, model and profile are
 * resolved. opts: as given. */
enum rc train_rules_check(const struct train_job *job, const struct train_opts *opts, const struct opt_group *group,
                          int n_groups) MUST_CHECK;
/* Why this option cannot be added to the run; NULL: it can, as far as the rows say. */
const char *train_rules_why(const struct train_job *job, const char *option);
extern const struct rules train_rules;

#endif
