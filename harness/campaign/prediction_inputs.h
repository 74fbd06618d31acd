/* SPDX-License-Identifier: Apache-2.0 */
/* prediction_inputs.h - what is simulated, as options name it: clusters with their assumptions, and profiles. */
#ifndef HARNESS_CAMPAIGN_PREDICTION_INPUTS_H
#define HARNESS_CAMPAIGN_PREDICTION_INPUTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "harness/base/rc.h"
#include "harness/campaign/prediction.h"
#include "harness/campaign/published_rows.h"
#include "harness/campaign/published_systems.h"
#include "harness/cluster/cluster.h"
#include "models/replay/published.h"

struct record;

enum { USED_CLUSTER_TITLE_BYTES = ROW_CLUSTER_BYTES + 68 };

struct used_cluster {
    char name[ROW_CLUSTER_BYTES], transport[8]; /* a preset or file; transport "": the cluster's own */
    int n_gpus_per_host;                        /* as a table says it; 0: the cluster's own */
    const struct published_system *system;      /* NULL: none */
    char filled[SYSTEM_SETTINGS_BYTES];         /* by that system */
    struct cluster cluster;
    struct cluster_sources *sources;                             /* owned */
    struct calibrated_value calibrated[CALIBRATION_MOST_VALUES]; /* with their spreads */
    size_t n_calibrated;
    uint64_t fitted; /* bits of keys, as in cluster.assumed */
};

struct cluster_wish { /* borrowed; as in used_cluster */
    const char *name, *transport;
    int n_gpus_per_host;
    const struct published_system *system;
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
/* As cluster_assumed(), but for what was fitted. */
size_t used_cluster_assumed(const struct used_cluster *c, int out[CLUSTER_MAX_KEYS]);
/* Print a line of the assumptions. A second line has the values that were chosen with published rows in view, as the
 * description itself says. */
void used_cluster_print_assumed(const struct used_cluster *c, FILE *to);
/* The same as HTML, with the source of each value. */
void used_cluster_write_assumed(const struct used_cluster *c, FILE *to);
/* Put "cluster", "transport", "values" and "assumed" (with sources) into a record. RC_NOMEM. */
void used_cluster_record(struct record *record, const struct used_cluster *c);
/* Write such a record, "cluster", of the description that `option` names to standard output. settings: as above. */
enum rc used_cluster_print_json(const char *option, const char *name, const char *settings) MUST_CHECK;

/*
 * The profile of a model's compute in simulations, as a file in their folder. It is the profile that
 * the user gave for the model, scaled to a published one-GPU rate if there is one. Without a profile it is that rate,
 * spread over the layers of one of our networks.
 */

enum { USED_PROFILE_PATH_BYTES = 1024 };

struct used_profile { /* a file in the folder */
    char model[ROW_MODEL_BYTES];
    double one_gpu_images_per_s; /* as requested; NaN: as in the profile */
    double images_per_s;         /* of the profile as it is used */
    char path[USED_PROFILE_PATH_BYTES];
    int batch; /* of the profile */
    size_t n_tensors, n_params;
    char precision[16]; /* of the profile */
    char source[512];
};

struct used_profiles { /* owned */
    struct used_profile *profile;
    size_t n;
};

struct profile_wish { /* borrowed */
    const char *model;
    const char *profiles;              /* "MODEL=FILE,MODEL=FILE", as in --profile */
    double one_gpu_images_per_s;       /* NaN: as in the profile, which is then required */
    int batch;                         /* of that rate; 0: not published */
    const char *published_in;          /* source of that rate, for the source of the profile */
    const struct published_rate *rate; /* all that is known of the rate; NULL: nothing more */
    const char *place;                 /* "FILE:LINE: model" or similar, for messages */
};

/* *is_given := does --profile name a file for this model; file[n_bytes]: its name. RC_INVAL: profiles is not such a
 * list. */
enum rc used_profile_given(char *file, size_t n_bytes, bool *is_given, const char *profiles,
                           const char *model) MUST_CHECK;
/* *out := the index of the profile for w. It is made in folder if no equal one exists. RC_INVAL "PLACE: ...": the model
 * has no profile, or a bad one. */
enum rc used_profiles_find(size_t *out, struct used_profiles *u, const struct profile_wish *w,
                           const char *folder) MUST_CHECK;
/* RC_INVAL: --profile names a file for a model that is not in u, because asked_by ("--models", the path of a table) did
 * not request it; names the nearest. */
enum rc used_profiles_check_all_used(const struct used_profiles *u, const char *profiles,
                                     const char *asked_by) MUST_CHECK;
void used_profiles_free(struct used_profiles *u); /* accepts a zeroed one */

#endif
