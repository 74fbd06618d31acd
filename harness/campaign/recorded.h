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
/* The first point that has launches: there is one. */
const struct recorded_point *recorded_first(const struct recorded *k);
/* The manifest with machine and program: the campaign's, if it left one, else that of the first launch. */
const struct json_t *recorded_manifest(const struct recorded *k);
/* Did a rank of some launch run on this host? */
bool recorded_has_host(const struct recorded *k, const char *host);
/* A value of a record as text: "-" for null and for none; numbers as short as possible with 15 exact digits. */
void recorded_text(char *out, size_t n_bytes, const struct json_t *value);
/* The value of an option in a manifest; NULL: it is not there. */
const struct json_t *recorded_option(const struct json_t *manifest, const char *option);

/* Reads one file of records, line by line. Private to campaign/. */

struct reader { /* the caller sets into, path and is_partial; the rest is zero */
    struct recorded *into;
    const char *path;             /* of the current file */
    bool is_partial;              /* its end may be cut off */
    bool are_files;               /* one of several files, whose launches must fit together: recorded.K4 */
    const char *first_path;       /* are_files: of the first file, */
    const json_t *first_manifest; /* and of its first launch; NULL: none was read yet */
    size_t line, n_launches_begun;
    struct seal seal; /* of the line before */
    /* The current launch. is_open: its manifest was read; its summary is missing or may not be its last record. */
    bool is_open, has_summary;
    size_t point;                      /* of the launch */
    json_int_t n_servers, n_own_cores; /* of its ranks */
    json_int_t n_hosts;                /* from its summary; 0: not there */
    json_int_t n_stage_servers;        /* likewise: of each stage, with or without records of its ranks */
    struct hosts hosts;                /* of its ranks */
};

static inline json_int_t larger(json_int_t a, json_int_t b)
{
    return a > b ? a : b;
}

/* Read the whole file into r->into: points with their launches, in the order of the file; hosts, ranks, trials.
 * RC_INVAL: it cannot be read, or contains no launch. RC_MISMATCH: recorded.K2. */
enum rc reader_run(struct reader *r) MUST_CHECK;

/* recorded_files.c: does the launch with this manifest fit the first one? RC_MISMATCH names both files. */
enum rc reader_check_fit(const struct reader *r, const json_t *manifest) MUST_CHECK;
/* RC_MISMATCH: the launch that ends, of r->point, equals an earlier one. */
enum rc reader_check_twice(const struct reader *r) MUST_CHECK;

/* recorded.c: the option of --over; NULL: it was not given. Returns its comma-separated values. */
const char *recorded_over(char name[OPTION_BYTES], const struct recorded *k);
/* recorded.c: do points assign this option, stages or shard-dense, because the campaign compared layouts? */
bool recorded_sweeps_layout(const struct recorded *k, const char *option);
/* recorded.c: is path a folder that contains runs.jsonl, or its partial file? */
bool recorded_is_campaign(const char *path);
/* Make empty lists, and set the name. Close it in every case. RC_NOMEM. */
enum rc recorded_begin(struct recorded *out, const char *path) MUST_CHECK;
/* Compute the values that are not in the records. */
void recorded_conclude(struct recorded *k);

#endif
