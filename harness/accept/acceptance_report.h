/* SPDX-License-Identifier: Apache-2.0 */
/*
 * acceptance_report.h - what an acceptance test found, for people and for programs.
 *
 * A bundle is a folder:
 *     acceptance.jsonl  all of struct acceptance as records; acceptance_load() gives it back
 *     report.html       verdict first; node x node heat map; a table of nodes; every criterion with limit and interval
 *     junit.xml         a test suite for each stage, a test case for each criterion
 *     good.hosts bad.hosts    host files (a name a line, slots), bad: blamed nodes, and nodes of blamed ranks
 *     slurm.txt         --exclude= and --nodelist= of the same, as Slurm spells them (host[1-3,7])
 *     manifest.json     as of every campaign; criteria.yaml as used
 *     SHA256SUMS        of all others, as sha256sum -c reads it; written last
 *
 * Invariants
 *   P1  Files are written whole or not at all (base/file.h); SHA256SUMS last: a bundle with it is complete.
 *   P2  No secrets: of the environment what report/environment.h admits.
 *   P3  The same struct acceptance gives the same bytes (manifest.json aside, in real worlds).
 */
#ifndef HARNESS_ACCEPT_ACCEPTANCE_REPORT_H
#define HARNESS_ACCEPT_ACCEPTANCE_REPORT_H

#include <stdio.h>

#include "harness/accept/acceptance.h"
#include "harness/accept/criteria.h"

struct record;

/* Verdict, criteria, findings: as a terminal shows them. RC_NOMEM, RC_IO. */
enum rc acceptance_print(const struct acceptance *a, FILE *to) MUST_CHECK;
/* Write the bundle into dir, which exists and is empty. injected: "" or what of --inject (N2). manifest: to be written
 * as manifest.json; borrowed. RC_IO, RC_NOMEM. */
enum rc acceptance_write(const struct acceptance *a, const struct criteria *c, const struct record *manifest,
                         const char *injected, const char *dir) MUST_CHECK;
/* Read acceptance.jsonl of a bundle back. RC_INVAL names file, line and what is wrong. */
enum rc acceptance_load(struct acceptance *out, const char *dir) MUST_CHECK;
/* Is it such a folder? */
bool acceptance_is_bundle(const char *dir);
/* The page alone, from a loaded one. */
enum rc acceptance_page(const struct acceptance *a, const char *injected, const char *path) MUST_CHECK;
/* Two bundles: criteria that changed their outcome, nodes, links and ranks that came or went, rates with intervals; as
 * text. *n_worse: criteria that passed in A and do not in B, and findings that only B has. RC_NOMEM, RC_IO. */
enum rc acceptance_diff(const struct acceptance *a, const struct acceptance *b, FILE *to, int *n_worse) MUST_CHECK;

#endif
