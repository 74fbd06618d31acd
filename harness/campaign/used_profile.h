/* SPDX-License-Identifier: Apache-2.0 */
/*
 * used_profile.h - the profile of a model's compute in simulations, as a file in their folder. It is the profile that
 * the user gave for the model, scaled to a published one-GPU rate if there is one. Without a profile it is that rate,
 * spread over the layers of one of our networks.
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
