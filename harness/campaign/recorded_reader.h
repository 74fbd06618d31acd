/* SPDX-License-Identifier: Apache-2.0 */
/* recorded_reader.h - one file of records, line by line. Of this room. */
#ifndef HARNESS_CAMPAIGN_RECORDED_READER_H
#define HARNESS_CAMPAIGN_RECORDED_READER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "harness/base/rc.h"
#include "harness/campaign/recorded.h"

struct reader { /* into, path and is_partial as the caller sets them, else zeros */
    struct recorded *into;
    const char *path;             /* of the file under way */
    bool is_partial;              /* its end may be cut off */
    bool are_files;               /* it is one of several, whose launches must fit together: recorded.K4 */
    const char *first_path;       /* are_files: of the first of them, */
    const json_t *first_manifest; /* and of its first launch; NULL: none was read yet */
    size_t line, n_launches_begun;
    struct seal seal; /* of the line before */
    /* The launch under way; is_open: its manifest was read, its summary was not or may not be the last record. */
    bool is_open, has_summary;
    size_t point;                      /* its */
    json_int_t n_servers, n_own_cores; /* of its ranks */
    json_int_t n_hosts;                /* as its summary tells; 0: it does not */
    json_int_t n_stage_servers;        /* likewise: of each stage, whatever ranks there are records of */
    struct hosts hosts;                /* likewise */
};

static inline json_int_t larger(json_int_t a, json_int_t b)
{
    return a > b ? a : b;
}

/* Read all of the file into r->into: points with their launches, in the order of the file; hosts, ranks, trials.
 * RC_INVAL: it cannot be read, or no launch is in it. RC_MISMATCH: recorded.K2. */
enum rc reader_run(struct reader *r) MUST_CHECK;

/* recorded_files.c: does the launch that begins with this manifest fit to the first? RC_MISMATCH names both files. */
enum rc reader_check_fit(const struct reader *r, const json_t *manifest) MUST_CHECK;
/* Is the launch that ends, of r->point, one of those before it? RC_MISMATCH. */
enum rc reader_check_twice(const struct reader *r) MUST_CHECK;

/* recorded.c: the option that --over gave values of; NULL: none was. Its values, one behind the other. */
const char *recorded_over(char name[OPTION_BYTES], const struct recorded *k);
/* recorded.c: do points assign this option, stages or shard-dense, because the campaign was of layouts? */
bool recorded_sweeps_layout(const struct recorded *k, const char *option);
/* recorded.c: is path a folder that holds runs.jsonl, or its beginning? */
bool recorded_is_campaign(const char *path);
/* Empty lists, and what it is called. Close it, whatever comes. RC_NOMEM. */
enum rc recorded_begin(struct recorded *out, const char *path) MUST_CHECK;
/* Work out what was known beside the records. */
void recorded_conclude(struct recorded *k);

#endif
