/* SPDX-License-Identifier: Apache-2.0 */
/* comm_output.h - how gradmark comm prints its results, for all its types: a table, records, a chart. The parts that
 * differ by type are in comm_report.c and comm_ps_report.c. */
#ifndef HARNESS_VERBS_COMM_OUTPUT_H
#define HARNESS_VERBS_COMM_OUTPUT_H

#include <stdio.h>

#include "harness/bench/comm_pace.h"
#include "harness/report/record.h"
#include "harness/verbs/machine.h"
#include "harness/verbs/verb.h"

struct comm_where {                                        /* borrowed */
    const char *world, *transport, *compute, *device_kind; /* "GPU" */
    size_t cache_bytes;                                    /* last-level caches of this host; 0: not known */
};

struct comm_point { /* of the chart: its height is n_moved_bytes over a time */
    const char *line;
    bool is_ceiling;
    size_t n_bytes;
    double n_moved_bytes, time_s, low_s, high_s;
};

struct comm_output {   /* of one type; borrowed */
    const void *about; /* argument of its functions */
    const struct comm_where *where;
    const struct comm_plan *plan;
    const struct comm_end *end;
    int n_ranks, n_hosts, n_sizes_done;
    int n_records; /* including the ceilings: also the points of the chart */
    uint64_t n_wrong;
    bool is_virtual;
    size_t rotated_bytes, rotated_host_bytes;          /* per rank, per host */
    char model[64], ranks[96];                         /* for the chart's title */
    const char *what, *ceiling_text;                   /* for the chart's title; NULL: the script's default */
    void (*print_answer)(FILE *to, const void *about); /* comments before the table */
    void (*print)(FILE *to, const void *about);
    void (*print_osu)(FILE *to, const void *about);                 /* comm_formats.h */
    enum rc (*print_table)(FILE *to, const void *about);            /* likewise: for --format csv */
    void (*record_own)(struct record *manifest, const void *about); /* may be NULL: nothing */
    enum rc (*write)(struct report *to, const void *about, int i);
    struct comm_point (*point)(const void *about, int i);
};

struct comm_where comm_where_of(const struct machine *m, size_t cache_bytes);
/* RC_INVAL, RC_UNSUPPORTED: no chart can be drawn at path; the message begins with "--chart PATH". */
enum rc comm_check_chart(const char *path) MUST_CHECK;
/* Write the results to standard output, in the form that --format names; for --records a manifest and records; for
 * --chart the picture, and its data beside it as .tsv. Then set call's exit code. RC_IO, RC_NOMEM; RC_MISMATCH: n_wrong
 * is not 0. */
enum rc comm_output_report(const struct comm_output *out, struct verb_call *call) MUST_CHECK;

#endif
