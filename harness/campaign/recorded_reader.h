/* SPDX-License-Identifier: Apache-2.0 */
/* recorded_reader.h - reads one file of records, line by line. Private to campaign/. */
#ifndef HARNESS_CAMPAIGN_RECORDED_READER_H
#define HARNESS_CAMPAIGN_RECORDED_READER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "harness/base/rc.h"
#include "harness/campaign/recorded.h"

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
