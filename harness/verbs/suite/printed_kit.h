/* SPDX-License-Identifier: Apache-2.0 */
/* printed_kit.h - what the verb train prints of a made-up run (result_kit.h), and one row of it. Test-only. */
#ifndef HARNESS_VERBS_SUITE_PRINTED_KIT_H
#define HARNESS_VERBS_SUITE_PRINTED_KIT_H

#include "harness/train/suite/result_kit.h"

/* What print(to, m, ...) writes: collected in text, which the caller frees. */
struct printed {
    FILE *to;
    char *text;
    size_t n_bytes;
};
void printed_begin(struct printed *out);
/* Closes to; returns text. */
char *printed_end(struct printed *p);

/* train_print() of the run and this summary of it; freed by the caller. The three assert that it can be printed. */
char *printed_run(const struct made_run *m, const struct train_summary *s, bool with_lines);
/* The row of a name reads so, without the name. */
void assert_row_of(const struct made_run *m, const struct train_summary *s, const char *name, const char *expected);
/* The same of the run's own summary. */
void assert_row(const struct made_run *m, const char *name, const char *expected);

#endif
