/* SPDX-License-Identifier: Apache-2.0 */
/* layouts_formula.h - results of a formula for a layout (layouts.A3): its step, its messages and its memory. */
#ifndef HARNESS_CAMPAIGN_LAYOUTS_FORMULA_H
#define HARNESS_CAMPAIGN_LAYOUTS_FORMULA_H

#include "harness/campaign/layouts.h"
#include "models/replay/profile.h"

struct layout_model { /* a model and its cluster; owned, except for the cluster */
    struct profile *profile;
    struct network *network;
    size_t divisor; /* of its bytes (profile.h, J4) */
    const struct cluster *cluster;
    double *cost; /* [n_nodes] */
};

/* RC_INVAL: the profile is not of one of our networks. RC_NOMEM. */
enum rc layout_model_open(struct layout_model *m, const struct used_profile *p, const struct cluster *c) MUST_CHECK;
void layout_model_free(struct layout_model *m); /* accepts a zeroed one */
/* Set the results for the layout, batch and micro-batches of *p. RC_NOMEM. */
enum rc layout_apply_formula(struct layout_point *p, const struct layout_model *m,
                             const struct layouts_terms *terms) MUST_CHECK;

#endif
