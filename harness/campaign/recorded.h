/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recorded.h - a finished campaign, or a single run, read from its records.
 *
 * Invariants
 *   K1  campaign_print(), campaign_verdict() and campaign_tell_marks() print the same as when it ended.
 *   K2  A record that does not fit (damaged, of another program, a launch without an end, a launch twice) is an error
 *       that names file and line; no record is left out silently.
 *       In a running or killed campaign (runs.jsonl.partial) the last launch may be cut off: only that one is ignored.
 *   K3  Records of older versions may lack values: these are NaN, like null, and their columns show "-".
 *   K4  Files of gradmark train are launches of one campaign if they differ only in workers, steps and seed. They have
 *       the same program, and input files with the same contents. Others, and a launch that occurs twice, are refused
 *       by file and line.
 *   K5  A sealed file (report/seal.h) with a changed, removed, moved or added line is an error, as K2. Records of older
 *       versions, and of gradmark train, have no seals; recorded_tell_unsealed() reports it for a campaign.
 */
#ifndef HARNESS_CAMPAIGN_RECORDED_H
#define HARNESS_CAMPAIGN_RECORDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <jansson.h>

#include "harness/base/rc.h"
#include "harness/campaign/campaign.h"

struct recorded_point {
    struct json_t *manifest, *summary; /* of its first launch; NULL: all launches failed */
};

struct recorded {
    struct campaign campaign;     /* dir: its folder; for a run: the folder of its file */
    bool is_run;                  /* one point with one launch */
    char name[256];               /* of its folder; for a run: of its file */
    struct json_t *manifest;      /* of the campaign, or of the run; NULL: the folder has none */
    struct recorded_point *point; /* [campaign.n_points] */
    struct json_t *hosts;         /* array of names, in the order in which they appear */
    struct json_t *ranks;         /* array of records: only for a run, as are those of lost ranks */
    struct json_t *losses;
    struct json_t *tuning; /* array of records: of trials of rates; and of failed launches */
    struct json_t *failures;
    bool tells_disturbance; /* its records say whether launches were disturbed */
    bool is_sealed;         /* its records are unchanged: K5 */
};

/* Read a campaign's folder, or the file of one run (gradmark train --out FILE). RC_INVAL: there is no such folder or
 * file at path, or it is of another kind. RC_MISMATCH: K2. RC_NOMEM. */
enum rc recorded_open(struct recorded *out, const char *path) MUST_CHECK;
/* Read a campaign's folder; or all files of a folder that end in .jsonl, in the order of their names; or files with
 * comma-separated names. Files are from gradmark train --out, with one or more launches each (K4). Errors as
 * recorded_open(). */
enum rc recorded_open_runs(struct recorded *out, const char *paths) MUST_CHECK;
/* Accepts a zeroed one. */
void recorded_close(struct recorded *k);

#define RECORDED_UNSEALED "The records of %s have no " SEAL_KEY ": a later change of them cannot be found."
/* Print RECORDED_UNSEALED as a line, if it applies. */
void recorded_tell_unsealed(const struct recorded *k, FILE *to);
/* The manifest with machine and program: the campaign's, if it left one, else that of the first launch. */
const struct json_t *recorded_manifest(const struct recorded *k);
/* Did a rank of some launch run on this host? */
bool recorded_has_host(const struct recorded *k, const char *host);
/* A value of a record as text: "-" for null and for none; numbers as short as possible with 15 exact digits. */
void recorded_text(char *out, size_t n_bytes, const struct json_t *value);
/* The value of an option in a manifest; NULL: it is not there. */
const struct json_t *recorded_option(const struct json_t *manifest, const char *option);

#endif
