/* SPDX-License-Identifier: Apache-2.0 */
/*
 * acceptance_report.h - the results of an acceptance test, for people and for programs.
 *
 * A bundle is a folder:
 *     acceptance.jsonl  all of struct acceptance as records; acceptance_load() reads it
 *     report.html       verdict first; node x node heat maps; a table of nodes; every criterion with limit and interval
 *     junit.xml         a test suite for each stage, a test case for each criterion
 *     good.hosts bad.hosts    host files of Open MPI (host3 slots=2), bad: blamed nodes, and nodes of blamed ranks
 *     slurm.txt         --nodelist= and --exclude= of the same, as Slurm spells them (host[1-3,7]);
 *                       if rank orders were measured, also --distribution= of the best
 *     rank_order.hosts  likewise: the host of each rank, one after another, for mpirun --map-by seq and SLURM_HOSTFILE
 *     manifest.json     as in every campaign; criteria.yaml as used
 *     SHA256SUMS        of all other files, in the format of sha256sum -c; written last
 *
 * Invariants
 *   P1  Files are written completely or not at all (base/file.h). SHA256SUMS is last: a bundle with it is complete.
 *       criteria.yaml and manifest.json exist from the beginning of a test, acceptance.jsonl is written after each
 *       stage.
 *   -   No secrets: of the environment only what report/environment.h admits.
 *   P3  The same struct acceptance gives the same bytes (except manifest.json in real worlds).
 *   P4  Any changed byte of acceptance.jsonl is an error of acceptance_load(): its last record holds the digest of all
 *       other records.
 *   P5  A name that is not a valid host name (characters other than letters, digits, dots, dashes, underscores, colons)
 *       is in no host list: a comment there quotes it.
 *   P6  acceptance_load() returns what acceptance_write() wrote. Exceptions: bytes of texts that are not UTF-8 become
 *       U+FFFD, and texts that are then too long are cut.
 */
#ifndef HARNESS_ACCEPT_ACCEPTANCE_REPORT_H
#define HARNESS_ACCEPT_ACCEPTANCE_REPORT_H

#include <stdio.h>

#include "harness/accept/acceptance.h"
#include "harness/accept/criteria.h"

struct report;

struct record;

/* Print verdict, criteria, findings, and missing data for a terminal. RC_NOMEM, RC_IO. */
enum rc acceptance_print(const struct acceptance *a, FILE *to) MUST_CHECK;
/* The same as Markdown, without rank orders; and the criteria as comma-separated values, with all digits and the names
 * of the records. RC_NOMEM, RC_IO. */
enum rc acceptance_print_markdown(const struct acceptance *a, FILE *to) MUST_CHECK;
enum rc acceptance_print_csv(const struct acceptance *a, FILE *to) MUST_CHECK;
/* For programs that parse terminal output (ReFrame's checks): a line "accept: NAME VALUE UNIT" for each criterion with
 * a number. NAME has letters, digits and underscores, and is unique. The last line is "accept: verdict pass", fail or
 * no data. RC_IO. */
enum rc acceptance_print_figures(const struct acceptance *a, FILE *to) MUST_CHECK;
/* Write criteria.yaml and manifest.json at the start of a test. Together with the file of acceptance_keep() they let
 * acceptance_read() judge the test even if it is interrupted. RC_IO, RC_INVAL. */
enum rc acceptance_begin(const struct criteria *c, const struct record *manifest, const char *dir) MUST_CHECK;
/* Write the bundle into dir, which exists and has only files of such a test. manifest: written as manifest.json;
 * borrowed. RC_IO, RC_INVAL, RC_NOMEM: accept.P1. */
enum rc acceptance_write(const struct acceptance *a, const struct criteria *c, const struct record *manifest,
                         const char *dir) MUST_CHECK;
/* Write only acceptance.jsonl to dir, during a test. RC_INVAL, RC_IO, RC_NOMEM. */
enum rc acceptance_keep(const struct acceptance *a, const char *dir) MUST_CHECK;
/* Read acceptance.jsonl of a bundle. RC_INVAL names file, line and what is wrong; RC_NOMEM. */
enum rc acceptance_load(struct acceptance *out, const char *dir) MUST_CHECK;
/* The same; in a partial test, the stages that had ended are judged by the criteria.yaml beside it. Its outcome is
 * "no data", and its findings are kept. Errors of both files. */
enum rc acceptance_read(struct acceptance *out, const char *dir) MUST_CHECK;
/* Is dir a bundle? */
bool acceptance_is_bundle(const char *dir);
/* Write only the page. RC_INVAL: path cannot be written; RC_IO, RC_NOMEM. */
enum rc acceptance_page(const struct acceptance *a, const char *path) MUST_CHECK;
/* Compare two bundles as text: the number of points in which B is worse, both verdicts, criteria with another outcome,
 * and nodes, links and ranks that came or went. Then rates of nodes, collectives and rank orders that differ
 * (all_rows: all rates), with ratios. Nodes of the same name are the same. *n_worse := criteria that passed in A and
 * fail or have no data in B, plus findings that only B has. A criterion that B skipped or did not request is named and
 * is not worse. RC_NOMEM, RC_IO. */
enum rc acceptance_diff(const struct acceptance *a, const struct acceptance *b, bool all_rows, FILE *to,
                        int *n_worse) MUST_CHECK;
/* Write records instead: "criterion" for each with another outcome, "finding" for each of one test alone, "figure" for
 * each that both have, then "diff". */
enum rc acceptance_diff_write(const struct acceptance *a, const struct acceptance *b, struct report *to,
                              int *n_worse) MUST_CHECK;

#endif
