/* SPDX-License-Identifier: Apache-2.0 */
/* used_cluster.h - a cluster for simulations, as options name it, and the report of its assumptions. */
#ifndef HARNESS_CAMPAIGN_USED_CLUSTER_H
#define HARNESS_CAMPAIGN_USED_CLUSTER_H

#include <stdbool.h>
#include <stdio.h>

#include "harness/base/rc.h"
#include "harness/campaign/calibration_spread.h"
#include "harness/campaign/published_rows.h"
#include "harness/cluster/cluster.h"

struct record;

enum { USED_CLUSTER_TITLE_BYTES = ROW_CLUSTER_BYTES + 68 };

struct used_cluster {
    char name[ROW_CLUSTER_BYTES], transport[8]; /* a preset or file; transport "": the cluster's own */
    int n_gpus_per_host;                        /* as a table says it; 0: the cluster's own */
    struct cluster cluster;
    struct cluster_sources *sources;                             /* owned */
    struct calibrated_value calibrated[CALIBRATION_MOST_VALUES]; /* with their spreads */
    size_t n_calibrated;
};

struct cluster_wish { /* borrowed; as in used_cluster */
    const char *name, *transport;
    int n_gpus_per_host;
};

/* option: the option with the name, "cluster"; NULL: none. settings: "key=value,...", as in --cluster-set. RC_INVAL as
 * cluster_find() and cluster_set(); RC_NOMEM. */
enum rc used_cluster_open(struct used_cluster *out, const char *option, const struct cluster_wish *wish,
                          const char *settings) MUST_CHECK;
bool used_cluster_is(const struct used_cluster *c, const struct cluster_wish *wish);
void used_cluster_close(struct used_cluster *c); /* accepts a zeroed one */

/* Transport of its protocol: "rdma". */
const char *used_cluster_transport(const struct used_cluster *c);
/* "pascal-25g-roce" for a preset or for "a/b/pascal-25g-roce.yaml". */
void used_cluster_short_name(char *out, size_t n_bytes, const struct used_cluster *c);
/* For headings: the name in its description, with the file if that is called otherwise: "mine (a/b/c.yaml)". */
void used_cluster_title(char *out, size_t n_bytes, const struct used_cluster *c);
/* Source of the value of a key: "measured", "given" or "assumed". */
const char *used_cluster_source_name(const struct used_cluster *c, int key);
/* Print a line of the assumptions. A second line has the values that were chosen with published rows in view, as the
 * description itself says. */
void used_cluster_print_assumed(const struct used_cluster *c, FILE *to);
/* The same as HTML, with the source of each value. */
void used_cluster_write_assumed(const struct used_cluster *c, FILE *to);
/* Put "cluster", "transport", "values" and "assumed" (with sources) into a record. RC_NOMEM. */
enum rc used_cluster_record(struct record *record, const struct used_cluster *c) MUST_CHECK;
/* Write such a record, "cluster", of the description that `option` names to standard output. settings: as above. */
enum rc used_cluster_print_json(const char *option, const char *name, const char *settings) MUST_CHECK;

#endif
