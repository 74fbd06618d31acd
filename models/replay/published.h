/* SPDX-License-Identifier: Apache-2.0 */
/*
 * published.h - profiles of GPUs that are not available, derived from published images/s of one GPU.
 *
 * Published data has only the time of a whole step. Spread over the layers by flops it shows roughly when a gradient is
 * ready, not how fast a layer was; the profile's source says so.
 *
 * A file is CSV: "#" lines are comments, then a head and rows of
 *   model,gpu,batch,precision,data,images_per_s,framework,confidence,year,source,note
 * Confidence, year and note are for readers of the file; the first two are checked.
 */
#ifndef MODELS_REPLAY_PUBLISHED_H
#define MODELS_REPLAY_PUBLISHED_H

#include <stddef.h>

#include "models/replay/profile.h"

struct published_rate {
    char model[32], gpu[48], precision[8], data[16];
    char framework[96]; /* "": the rate is given, and its source is all that is known */
    char source[128];
    int batch; /* 0: was not published */
    double images_per_s;
};

struct published { /* owned */
    char *path;
    struct published_rate *rate; /* in the order of the file */
    size_t n_rates;
};

struct published_wish {    /* "": any */
    const char *gpu;       /* first words of a row's GPU, whatever the case: "P100", "v100-sxm2" */
    const char *model;     /* exactly */
    const char *precision; /* exactly */
    int batch;             /* exactly; 0: any */
};

/* RC_INVAL "FILE:LINE: ...". */
enum rc published_load(struct published *out, const char *path) MUST_CHECK;
void published_free(struct published *p); /* accepts a zeroed one */

bool published_fits(const struct published_rate *r, const struct published_wish *wish);
/* Choose the row that fits the wish. Among several, the first by: synthetic before real data; batch nearest to 64 (in
 * ratio; unpublished batches last); order of the file. *n_fitting: number of fitting rows (may be NULL). RC_INVAL: no
 * row fits; the message names the available ones. */
enum rc published_choose(const struct published_rate **out, size_t *n_fitting, const struct published *p,
                         const struct published_wish *wish) MUST_CHECK;
/* Open a profile with the layers of n, the batch of the row (64 if not published, which source states), and the times
 * of profile_spread(). */
enum rc published_profile(struct profile **out, const struct published_rate *r, const struct network *n) MUST_CHECK;

#endif
