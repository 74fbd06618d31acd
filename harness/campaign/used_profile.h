/* SPDX-License-Identifier: Apache-2.0 */
/*
 * used_profile.h - what the GPU of a model computes in simulations, as a file in their folder: the profile that the
 * user gave for the model, at a published one-GPU rate where there is one; or without a profile that rate, spread over
 * the layers of a network of ours.
 */
#ifndef HARNESS_CAMPAIGN_USED_PROFILE_H
#define HARNESS_CAMPAIGN_USED_PROFILE_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/base/rc.h"
#include "harness/campaign/published_rows.h"
#include "models/replay/published.h"

enum { USED_PROFILE_PATH_BYTES = 1024 };

struct used_profile { /* a file in the folder */
    char model[ROW_MODEL_BYTES];
    double one_gpu_images_per_s; /* as it was wished; NaN: as the profile has it */
    double images_per_s;         /* of the profile as it is used */
    char path[USED_PROFILE_PATH_BYTES];
    int batch; /* of the profile */
    size_t n_tensors, n_params;
    char source[512];
};

struct used_profiles { /* owned */
    struct used_profile *profile;
    size_t n;
};

struct profile_wish { /* borrowed */
    const char *model;
    const char *profiles;              /* "MODEL=FILE,MODEL=FILE", as --profile has it */
    double one_gpu_images_per_s;       /* NaN: as the profile has it, which is then needed */
    int batch;                         /* of that rate; 0: was not published */
    const char *published_in;          /* where that rate is from, for the source of the profile */
    const struct published_rate *rate; /* or all that is known of it; NULL: no more than that */
    const char *place;                 /* "FILE:LINE: model" or the like, for messages */
};

/* *is_given := does --profile name a file for this model; file[n_bytes]: which. RC_INVAL: profiles is no such list. */
enum rc used_profile_given(char *file, size_t n_bytes, bool *is_given, const char *profiles,
                           const char *model) MUST_CHECK;
/* *out := the index of the profile that w asks for, which is made in folder where none before is alike. RC_INVAL:
 * "PLACE: ..." where the model has no profile, or a bad one. */
enum rc used_profiles_find(size_t *out, struct used_profiles *u, const struct profile_wish *w,
                           const char *folder) MUST_CHECK;
/* RC_INVAL: --profile names a file for a model that u has not, whose owner (asked_by: "--models", a table's path) did
 * not ask for it; names the nearest. */
enum rc used_profiles_check_all_used(const struct used_profiles *u, const char *profiles,
                                     const char *asked_by) MUST_CHECK;
void used_profiles_free(struct used_profiles *u); /* accepts a zeroed one */

#endif
