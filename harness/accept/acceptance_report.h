/* SPDX-License-Identifier: Apache-2.0 */
/*
 * acceptance_report.h - what an acceptance test found, for people and for programs.
 *
 * A bundle is a folder:
 *     acceptance.jsonl  all of struct acceptance as records; acceptance_load() gives it back
 *     report.html       verdict first; node x node heat maps; a table of nodes; every criterion with limit and interval
 *     junit.xml         a test suite for each stage, a test case for each criterion
 *     good.hosts bad.hosts    host files of Open MPI (host3 slots=2), bad: blamed nodes, and nodes of blamed ranks
 *     slurm.txt         --nodelist= and --exclude= of the same, as Slurm spells them (host[1-3,7])
 *                       and, where orders of ranks were measured, --distribution= of the best
 *     rank_order.hosts  likewise: the host of each rank, one after another, for mpirun --map-by seq and SLURM_HOSTFILE
 *     manifest.json     as of every campaign; criteria.yaml as used
 *     SHA256SUMS        of all others, as sha256sum -c reads it; written last
 *
 * Invariants
 *   P1  Files are written whole or not at all (base/file.h); SHA256SUMS last: a bundle with it is complete.
 *       criteria.yaml and manifest.json are there from the beginning of a test, acceptance.jsonl behind each stage.
 *   P2  No secrets: of the environment what report/environment.h admits.
 *   P3  The same struct acceptance gives the same bytes (manifest.json aside, in real worlds).
 *   P4  Any changed byte of acceptance.jsonl is an error of acceptance_load(): its last record holds the digest of the
 *       others.
 *   P5  A name that is no host's (anything but letters, digits, dots, dashes, underscores, colons) is in no host list:
 *       a comment there quotes it.
 *   P6  acceptance_load() of what acceptance_write() wrote is equal in all but bytes of texts that are no UTF-8, which
 *       are U+FFFD, and what then is too long, which is cut.
 */
#ifndef HARNESS_ACCEPT_ACCEPTANCE_REPORT_H
#define HARNESS_ACCEPT_ACCEPTANCE_REPORT_H

#include <stdio.h>

#include "harness/accept/acceptance.h"
#include "harness/accept/criteria.h"

struct record;

/* Verdict, criteria, findings, what has no data: as a terminal shows them. RC_NOMEM, RC_IO. */
enum rc acceptance_print(const struct acceptance *a, FILE *to) MUST_CHECK;
/* The same as Markdown, without orders of ranks; and the criteria as comma-separated values, with all digits and the
 * names that records have. RC_NOMEM, RC_IO. */
enum rc acceptance_print_markdown(const struct acceptance *a, FILE *to) MUST_CHECK;
enum rc acceptance_print_csv(const struct acceptance *a, FILE *to) MUST_CHECK;
/* For programs that read a terminal (ReFrame's checks): a line "accept: NAME VALUE UNIT" for each criterion with a
 * number, whose NAME is of letters, digits and underscores, each another one; the last is "accept: verdict pass", fail
 * or no data. RC_IO. */
enum rc acceptance_print_figures(const struct acceptance *a, FILE *to) MUST_CHECK;
/* criteria.yaml and manifest.json of a test that begins: with what acceptance_keep() leaves, acceptance_read() judges
 * it whatever ends it. RC_IO, RC_INVAL. */
enum rc acceptance_begin(const struct criteria *c, const struct record *manifest, const char *dir) MUST_CHECK;
/* Write the bundle into dir, which exists and has no other files than those of such a test. manifest: to be written as
 * manifest.json; borrowed. RC_IO, RC_INVAL, RC_NOMEM: P1. */
enum rc acceptance_write(const struct acceptance *a, const struct criteria *c, const struct record *manifest,
                         const char *dir) MUST_CHECK;
/* acceptance.jsonl of dir alone, of a test that goes on. RC_INVAL, RC_IO, RC_NOMEM. */
enum rc acceptance_keep(const struct acceptance *a, const char *dir) MUST_CHECK;
/* Read acceptance.jsonl of a bundle back. RC_INVAL names file, line and what is wrong; RC_NOMEM. */
enum rc acceptance_load(struct acceptance *out, const char *dir) MUST_CHECK;
/* The same, and the stages that had ended before a partial test did are judged by the criteria.yaml beside it: its
 * outcome is "no data", and what it found is found. Errors of both files. */
enum rc acceptance_read(struct acceptance *out, const char *dir) MUST_CHECK;
/* Is it such a folder? */
bool acceptance_is_bundle(const char *dir);
/* The page alone. RC_INVAL: path cannot be written; RC_IO, RC_NOMEM. */
enum rc acceptance_page(const struct acceptance *a, const char *path) MUST_CHECK;
/* Compares two bundles, as text: in how many points B is worse, both verdicts, criteria with another outcome, nodes,
 * links and ranks that came or went, and rates of nodes, of collectives and of orders of ranks that differ (all_rows:
 * all of them), with ratios. Nodes of the same name are the same. *n_worse := criteria that passed in A and fail or
 * have no data in B, and findings that only B has. A criterion that B skipped, or was not asked for, is named and is
 * not worse. RC_NOMEM, RC_IO. */
enum rc acceptance_diff(const struct acceptance *a, const struct acceptance *b, bool all_rows, FILE *to,
                        int *n_worse) MUST_CHECK;

#endif
