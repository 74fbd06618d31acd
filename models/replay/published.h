/* SPDX-License-Identifier: Apache-2.0 */
/*
 * published.h - profiles of GPUs that are not at hand, derived from published images/s of one GPU.
 *
 * Only the time of a whole step was published. Spread over the layers by their flops it gives about when a
 * gradient is ready, not how fast a layer was; the profile's source says so.
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
    char model[32], gpu[48], precision[8], data[16], framework[96], source[128];
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
    const char *framework; /* a part of the row's framework or source, whatever the case */
    int batch;             /* exactly; 0: any */
};

/* RC_INVAL "FILE:LINE: ...". */
enum rc published_load(struct published *out, const char *path) MUST_CHECK;
void published_free(struct published *p); /* accepts a zeroed one */

bool published_fits(const struct published_rate *r, const struct published_wish *wish);
/* The row that fits the wish; of several the first by: synthetic before real data; batch nearest to 64 (in
 * ratio; one not published last); order of the file. *n_fitting: how many fit (NULL: not wanted). RC_INVAL: none
 * does; the message names what there is instead. */
enum rc published_choose(const struct published_rate **out, size_t *n_fitting, const struct published *p,
                         const struct published_wish *wish) MUST_CHECK;
/* Layers of n, batch of the row (64 where none was published, and source says so), times of profile_spread(). */
enum rc published_profile(struct profile **out, const struct published_rate *r, const struct network *n) MUST_CHECK;

#endif
