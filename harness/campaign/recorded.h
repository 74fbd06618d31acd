/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recorded.h - a campaign that is over, or a single run, read back from the records it left.
 *
 * Invariants
 *   K1  What campaign_print(), campaign_verdict() and campaign_tell_marks() say of it is what they said when it ended.
 *   K2  A record that does not fit (damaged, of another program, a launch without an end, a launch twice) is an error
 *       that names file and line; nothing is left out in silence.
 *       Of a campaign under way, or one that was killed (runs.jsonl.partial), the launch at the end may be cut off:
 *       that one alone does not count.
 *   K3  Records of older versions may lack what they did not know: that is NaN, as null is, and its columns show "-".
 *   K4  Files of gradmark train are the launches of one campaign if they are of one program and of input files with
 *       the same contents, and differ in workers, steps and seed alone; others, and a launch that is there twice, are
 *       refused by file and line.
 *   K5  A sealed file (report/seal.h) of which a line was changed, removed, moved or added is an error, as K2. Records
 *       of older versions, and of gradmark train, have no seals; recorded_tell_unsealed() says it of a campaign.
 */
#ifndef HARNESS_CAMPAIGN_RECORDED_H
#define HARNESS_CAMPAIGN_RECORDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "harness/base/rc.h"
#include "harness/campaign/campaign.h"

struct recorded_point {
    struct json_t *manifest, *summary; /* of its first launch; NULL: all failed */
};

struct recorded {
    struct campaign campaign;     /* dir: its folder; of a run: the one that its file is in */
    bool is_run;                  /* one point with one launch */
    char name[256];               /* of its folder; of a run: of its file */
    struct json_t *manifest;      /* of the campaign, or of the run; NULL: the folder has none */
    struct recorded_point *point; /* [campaign.n_points] */
    struct json_t *hosts;         /* array of names, in the order in which they appear */
    struct json_t *ranks;         /* array of records: of a run alone, as are those of lost ranks */
    struct json_t *losses;
    struct json_t *tuning; /* array of records: of trials of rates, and of launches that failed */
    struct json_t *failures;
    bool tells_disturbance; /* its records say whether launches were disturbed */
    bool is_sealed;         /* its records are as they were written: K5 */
};

/* Read a campaign's folder, or the file of one run (gradmark train --out FILE). RC_INVAL: there is no such thing at
 * path, or it is of something else. RC_MISMATCH: K2. RC_NOMEM. */
enum rc recorded_open(struct recorded *out, const char *path) MUST_CHECK;
/* Read a campaign's folder; or all files of a folder that end in .jsonl, in the order of their names; or files, their
 * names between commas: what gradmark train --out wrote, one launch or several each (K4). Errors as recorded_open(). */
enum rc recorded_open_runs(struct recorded *out, const char *paths) MUST_CHECK;
/* Accepts a zeroed one. */
void recorded_close(struct recorded *k);

#define RECORDED_UNSEALED "The records of %s have no " SEAL_KEY ": a later change of them cannot be found."
/* That as a line, where it is so. */
void recorded_tell_unsealed(const struct recorded *k, FILE *to);
/* The first point that has launches: there is one. */
const struct recorded_point *recorded_first(const struct recorded *k);
/* The manifest that tells of machine and program: the campaign's, where it left one, else that of the first launch. */
const struct json_t *recorded_manifest(const struct recorded *k);
/* Did a rank of some launch run on this host? */
bool recorded_has_host(const struct recorded *k, const char *host);
/* A value of a record as text: "-" for null and for none, numbers as short as they are exact to 15 digits. */
void recorded_text(char *out, size_t n_bytes, const struct json_t *value);
/* The value of an option in a manifest; NULL: it is not there. */
const struct json_t *recorded_option(const struct json_t *manifest, const char *option);

#endif
