/* SPDX-License-Identifier: Apache-2.0 */
/* report_words.h - quantities, verdict and findings in words, equal in every output. Private to accept/. Cannot fail.
 */
#ifndef HARNESS_ACCEPT_REPORT_WORDS_H
#define HARNESS_ACCEPT_REPORT_WORDS_H

#include <stdio.h>

#include "harness/accept/acceptance.h"

enum { QUANTITY_BYTES = 64, SUBJECT_BYTES = 3 * ACCEPT_NAME_BYTES };

/* "117.4 MB/s", "2.35 ms", "93.1 %", "0.52 % of the time", "12 cores"; NaN: "-". Four digits; report.W4 sorts it. */
void quantity_text(char *out, size_t n_bytes, double value, const char *unit);
/* What quantity_text() multiplies such a value by, and the unit of the product: 1e-6 and "MB/s", 100 and "%". */
struct quantity_scale {
    double factor;
    char unit[ACCEPT_NAME_BYTES];
};
struct quantity_scale quantity_scale(double value, const char *unit);
/* For columns of a terminal, in the unit of a scale: "117.4"; "93-95.2"; no upper end: ">= 93"; NaN: "-". */
void scaled_text(char *out, size_t n_bytes, double value, double factor);
void scaled_interval_text(char *out, size_t n_bytes, double low, double high, double factor);
/* "at least 100 MB/s"; no limit: "-". */
void limit_text(char *out, size_t n_bytes, const struct criterion *c);
/* "93 MB/s to 95.2 MB/s"; none: "-". */
void interval_text(char *out, size_t n_bytes, double low, double high, const char *unit);
/* text in one line: control characters, which a name may contain, become question marks. */
void line_text(char *out, size_t n_bytes, const char *text);
/* accept_subject_text() in one line. */
void subject_line(char *out, size_t n_bytes, const struct acceptance *a, const struct finding *f);
/* "FAIL", "NO DATA": for the beginning of a line. */
const char *outcome_title(enum accept_outcome outcome);

/* "FAIL: 1 node and 1 link are slow: host3; link host1 - host4", "NO DATA: rank 4 on node4 was lost in stage pairwise;
 * 2 of 9 criteria have no data: ...", without a line feed. */
void verdict_print(const struct acceptance *a, FILE *to);
/* Additional facts about the verdict: injected faults, a signal. One line each. */
void verdict_print_notes(const struct acceptance *a, FILE *to);
/* "host3: it sends at 60 % of what others do (pairwise, bytes_per_s: 70.4 MB/s, expected 117 MB/s: 60.2 %;
 * false-discovery rate 0.0012)", without a line feed. */
void finding_print(const struct acceptance *a, const struct finding *f, FILE *to);
/* Print a line for each finding, at most `most`, and for each criterion whose failure no finding explains. */
void failures_print(const struct acceptance *a, int most, FILE *to);
/* Print what to do about them: a line for each stage that has findings, and for limits. */
void remedies_print(const struct acceptance *a, FILE *to);
/* Does the row only say that its stage was left out? Such rows are printed together. */
bool criterion_is_of_skipped(const struct acceptance *a, const struct criterion *c);
/* Print a line for each stage and criterion that has no data or was skipped, with the reason. */
void silent_print(const struct acceptance *a, FILE *to);
/* Does the finding concern this node: the node itself, a rank on it, or a link of it? */
bool finding_is_of_node(const struct finding *f, int node);

#endif
