/* SPDX-License-Identifier: Apache-2.0 */
/*
 * begun.h - what the folder of a campaign holds from its first launch on, and how another process goes on with it.
 *
 *   manifest.json          from the beginning: the command line, the digests of its input files, the points and how
 *                          many steps each has (the plan), the program and the machine; is_complete is false until all
 *                          launches are there
 *   runs.jsonl.partial     the launches that have ended (base/partial_file.h)
 *   runs.jsonl             the same file, when the campaign has ended; continuing it renames it back
 *   runs.jsonl.damaged     the records as they were, where a line of them could not be read, or was changed; the next
 *                          time -2, -3, ...
 *   .launch*               of the launch under way; left by one that was killed, removed by --continue
 *   answer.txt, verdicts.jsonl, *.tsv, *.svg, *.png
 *                          verdicts and charts, when the campaign has ended; --continue removes them, as it changes
 *                          what they show
 *
 * The order of calls: begun_open, then the command line begun->word is parsed, sweep_choose_world, sweep_plan,
 * sweep_check, begun_apply, sweep_plan_tuning; on rank 0 begun_check, begun_check_inputs, sweep_reopen_files,
 * sweep_write_manifest.
 */
#ifndef HARNESS_CAMPAIGN_BEGUN_H
#define HARNESS_CAMPAIGN_BEGUN_H

#include "harness/campaign/command_line.h"
#include "harness/report/digest.h"

struct json_t;

struct begun { /* of a campaign that is continued, or of other work that keeps a plan */
    const char *folder;
    char file[32];           /* in which the plan is: "manifest.json" */
    struct json_t *manifest; /* owned */
    char *word[MAX_ARGS];    /* of its command line, behind the verb; lent by the manifest */
    int n_words;
    int n_continued;             /* before this time */
    char changes[FAILURE_BYTES]; /* what is another one now, as begun_check() found; "": nothing */
};

/* Read folder's manifest.json. RC_INVAL: there is none, or none of a campaign that can be continued, or it was started
 * by another launcher, or with another number of ranks. */
enum rc begun_open(struct begun *out, const char *folder, const struct launcher *launcher) MUST_CHECK;
/* The same of the plan in the file at path. */
enum rc begun_open_file(struct begun *out, const char *folder, const char *path,
                        const struct launcher *launcher) MUST_CHECK;
void begun_close(struct begun *k); /* accepts a zeroed one */
/* Are the program and, in real worlds, this machine those that began it? What else they are is noted in k->changes
 * where `anyway`, else it is RC_INVAL, which names the first. */
enum rc begun_check(struct begun *k, bool anyway) MUST_CHECK;
/* Do input files hold what they held then? Likewise. Notes what they hold now, for sweep_write_manifest(). */
enum rc begun_check_inputs(struct begun *k, struct sweep *s, bool anyway) MUST_CHECK;
/* What both are made of, of any digests. One called "operand" is of no option. */
enum rc begun_check_digests(struct begun *k, const struct digest *now, size_t n, bool anyway) MUST_CHECK;
/* Of a plan: what begun_check() compares, beside what manifest_fill() writes. RC_NOMEM. */
enum rc begun_record_facts(struct record *plan) MUST_CHECK;
/* RC_INVAL: a word of a command line is not UTF-8, and a plan could not hold it. */
enum rc begun_check_words(const struct command_line *l) MUST_CHECK;
/* Steps as they were planned. RC_INVAL: the same options make other points. */
enum rc begun_apply(const struct begun *k, struct sweep *s) MUST_CHECK;

/* Open the folder again, and read its launches into s->campaign (reload.c). RC_INVAL, RC_MISMATCH: another process is
 * at it, or the records are none of this plan, or lack what others need. */
enum rc sweep_reopen_files(struct sweep *s, const struct begun *k) MUST_CHECK;
/* Under a launcher: are the hosts of those launches among those of this job? If not, it is noted in s->despite where
 * s->goes_on_anyway, else it is RC_INVAL on every rank. Collective. In begun_hosts.c. */
enum rc sweep_check_hosts(struct sweep *s, struct world *w) MUST_CHECK;
struct left_out {                 /* of the records */
    uint64_t n_bytes;             /* in all */
    size_t n_lines, damaged_line; /* damaged or changed, but for one that was being written; the first, from 1 on */
    char aside[600];              /* where the records are as they were; "": all but the end is kept */
};
/* Take the launches of s->campaign.runs: all pieces that are whole. What is not is left out. RC_MISMATCH: they are none
 * of this plan, or launches follow that need one that is damaged; then the records are as before. In reload.c. */
enum rc sweep_reload(struct sweep *s, struct left_out *out) MUST_CHECK;

/* manifest.json of the campaign, with *options (nulled). RC_INVAL: an option is too long to be kept. */
enum rc sweep_write_manifest(const struct sweep *s, struct record **options, bool is_complete) MUST_CHECK;
/* "mpirun -np 4 gradmark compare --continue results/2026-11-22-compare", for a shell; out[CONTINUE_BYTES] holds it. */
void sweep_continue_command(char *out, size_t n_bytes, const struct sweep *s);

#endif
