/* SPDX-License-Identifier: Apache-2.0 */
/*
 * begun.h - the folder of a campaign from its first launch on, and how another process continues the campaign.
 *
 *   manifest.json          from the beginning: the command line, the digests of its input files, the points and their
 *                          numbers of steps (the plan), the program and the machine; is_complete is false until all
 *                          launches are done
 *   runs.jsonl.partial     the finished launches (base/partial_file.h)
 *   runs.jsonl             the same file when the campaign has ended; continuing it renames it back
 *   runs.jsonl.damaged     a copy of the records before a repair, if a line was unreadable or changed; later copies
 *                          have -2, -3, ...
 *   .launch*               files of the current launch; a killed launch leaves them, --continue removes them
 *   answer.txt, verdicts.jsonl, *.tsv, *.svg, *.png
 *                          verdicts and charts, when the campaign has ended; --continue removes them, as it changes
 *                          the results
 *
 * The order of calls: begun_open; then the command line begun->word is parsed; sweep_choose_world, sweep_plan,
 * sweep_check, begun_apply, sweep_plan_tuning. On rank 0: begun_check, begun_check_inputs, sweep_reopen_files,
 * sweep_write_manifest.
 */
#ifndef HARNESS_CAMPAIGN_BEGUN_H
#define HARNESS_CAMPAIGN_BEGUN_H

#include "harness/campaign/command_line.h"
#include "harness/report/digest.h"

struct json_t;

struct begun { /* a campaign that is continued, or other work that keeps a plan */
    const char *folder;
    char file[32];           /* name of the file with the plan: "manifest.json" */
    struct json_t *manifest; /* owned */
    char *word[MAX_ARGS];    /* of its command line, after the subcommand; lent by the manifest */
    int n_words;
    int n_continued;             /* number of earlier continuations */
    char changes[FAILURE_BYTES]; /* changes found by begun_check(); "": none */
};

/* Read folder's manifest.json. RC_INVAL: there is no manifest, or not one of a campaign that can be continued, or
 * another launcher or another number of ranks started it. */
enum rc begun_open(struct begun *out, const char *folder, const struct launcher *launcher) MUST_CHECK;
/* The same for the plan in the file at path. */
enum rc begun_open_file(struct begun *out, const char *folder, const char *path,
                        const struct launcher *launcher) MUST_CHECK;
void begun_close(struct begun *k); /* accepts a zeroed one */
/* Compare the program and, in real worlds, this machine with those that began the campaign. With `anyway` differences
 * are noted in k->changes; else RC_INVAL names the first. */
enum rc begun_check(struct begun *k, bool anyway) MUST_CHECK;
/* Compare the contents of input files likewise. Keeps their current digests for sweep_write_manifest(). */
enum rc begun_check_inputs(struct begun *k, struct sweep *s, bool anyway) MUST_CHECK;
/* The part of begun_check_inputs() for any digests. A digest called "operand" belongs to no option. */
enum rc begun_check_digests(struct begun *k, const struct digests *now, bool anyway) MUST_CHECK;
/* *out := the digests of the files that the options of these groups read (OPT_READ). RC_INVAL "--OPTION PATH: ...": it
 * cannot be read. RC_NOMEM. */
enum rc begun_find_inputs(struct digests *out, const struct opt_group *group, int n_groups) MUST_CHECK;
/* Add to a plan what begun_check() compares, except the values of manifest_fill(). RC_NOMEM. */
enum rc begun_record_facts(struct record *plan) MUST_CHECK;
/* RC_INVAL: a word of a command line is not UTF-8, so a plan cannot hold it. */
enum rc begun_check_words(const struct command_line *l) MUST_CHECK;
/* Set the planned numbers of steps. RC_INVAL: the same options now give other points. */
enum rc begun_apply(const struct begun *k, struct sweep *s) MUST_CHECK;

/* Open the folder again, and read its launches into s->campaign (reload.c). RC_INVAL, RC_MISMATCH: another process uses
 * it, or the records do not match this plan, or lack records that other records need. */
enum rc sweep_reopen_files(struct sweep *s, const struct begun *k) MUST_CHECK;
/* Under a launcher: are the hosts of those launches among the hosts of this job? If not, s->despite notes it with
 * s->goes_on_anyway; else RC_INVAL on every rank. Collective. */
enum rc sweep_check_hosts(struct sweep *s, struct world *w) MUST_CHECK;
struct left_out {                 /* of the records */
    uint64_t n_bytes;             /* in all */
    size_t n_lines, damaged_line; /* damaged or changed, except an unfinished last line; the first, from 1 on */
    char aside[600];              /* path of the copy of the old records; "": only the end was cut off */
};
/* Take the launches of s->campaign.runs: all pieces that are complete. Others are left out. RC_MISMATCH: they do not
 * match this plan, or a later launch needs a damaged one; then the records are unchanged. In reload.c. */
enum rc sweep_reload(struct sweep *s, struct left_out *out) MUST_CHECK;

/* Write manifest.json of the campaign, with *options (nulled). RC_INVAL: an option is too long. */
enum rc sweep_write_manifest(const struct sweep *s, struct record **options, bool is_complete) MUST_CHECK;
/* "mpirun -np 4 gradmark compare --continue results/2026-11-22-compare", for a shell; it fits out[CONTINUE_BYTES]. */
void sweep_continue_command(char *out, size_t n_bytes, const struct sweep *s);

#endif
