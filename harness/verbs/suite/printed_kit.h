/* SPDX-License-Identifier: Apache-2.0 */
/* printed_kit.h - what the verb train prints of a made-up run (result_kit.h), and one row of it. Test-only. */
#ifndef HARNESS_VERBS_SUITE_PRINTED_KIT_H
#define HARNESS_VERBS_SUITE_PRINTED_KIT_H

#include "harness/base/suite/printed.h"
#include "harness/train/suite/result_kit.h"

/* train_print() of the run and this summary of it; freed by the caller. The three assert that it can be printed. */
char *printed_run(const struct made_run *m, const struct train_summary *s, bool with_lines);
/* The row of a name reads so, without the name. */
void assert_row_of(const struct made_run *m, const struct train_summary *s, const char *name, const char *expected);
/* The same of the run's own summary. */
void assert_row(const struct made_run *m, const char *name, const char *expected);

#endif
