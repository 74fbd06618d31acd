/* SPDX-License-Identifier: Apache-2.0 */
/* comm_formats.h - gradmark comm --format osu and csv: the results as OSU's micro-benchmarks print them, and as one
 * table of comma-separated values. */
#ifndef HARNESS_VERBS_COMM_FORMATS_H
#define HARNESS_VERBS_COMM_FORMATS_H

#include "harness/verbs/comm_ps_report.h"
#include "harness/verbs/comm_report.h"
#include "harness/verbs/verb.h"

/* A line of words between the rows of --format text: "# ...", broken as by terminal_comment(). */
void comm_print_comment(FILE *to, const char *fmt, ...) PRINTF_LIKE(2, 3);

bool comm_is_osu(const struct verb_call *call);
/* RC_INVAL: with --format osu, what OSU has no benchmark for. They accept the other formats. */
enum rc comm_check_osu(const struct verb_call *call, const struct comm_terms *terms) MUST_CHECK;
enum rc comm_check_ps_osu(const struct verb_call *call, const struct ps_terms *terms) MUST_CHECK;

/* about: a struct comm_about; a struct comm_ps_about. What of it is as OSU prints it is in comm_formats.c. */
void comm_print_osu(FILE *to, const void *about);
void comm_print_ps_osu(FILE *to, const void *about);
/* For table_divert(). RC_NOMEM. */
enum rc comm_print_table(FILE *to, const void *about) MUST_CHECK;
enum rc comm_print_ps_table(FILE *to, const void *about) MUST_CHECK;

#endif
