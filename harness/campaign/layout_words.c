/* SPDX-License-Identifier: Apache-2.0 */
/* layout_words.c - see layout_words.h. */
#include "harness/campaign/layout_words.h"

#include <stdio.h>

static double megabytes(double n_bytes)
{
    return 1e-6 * n_bytes;
}

void layout_describe(char out[LAYOUT_CLAUSE_BYTES], const struct layout *l, const struct layout_facts *f)
{
    const double activations_mb = megabytes(f->activations_bytes), gradients_mb = megabytes(f->gradients_bytes);

    if (l->n_stages == 1 && l->n_workers == 1)
        snprintf(out, LAYOUT_CLAUSE_BYTES, "computes all by itself and moves nothing");
    else if (l->n_stages == 1 && l->n_shards == 1)
        snprintf(out, LAYOUT_CLAUSE_BYTES, "moves %.4g MB of gradients a rank and step", gradients_mb);
    else if (l->n_stages == 1)
        snprintf(out, LAYOUT_CLAUSE_BYTES, "moves %.4g MB of activations and %.4g MB of gradients a rank and step",
                 activations_mb, gradients_mb);
    else
        snprintf(out, LAYOUT_CLAUSE_BYTES,
                 "moves %.4g MB of activations and %.4g MB of gradients a rank and step, and idles %.3g %% of it in "
                 "the bubble, stages being %.3g x the mean at most",
                 activations_mb, gradients_mb, 100 * f->bubble_ratio, f->imbalance_ratio);
}

bool layout_is_of_another_kind(const struct layout *l, const struct layout *best)
{
    if (best->n_stages == 1 && best->n_shards == 1)
        return l->n_stages > 1 || l->n_shards > 1;
    return (best->n_stages > 1 && l->n_stages == 1) || (best->n_shards > 1 && l->n_shards == 1);
}
