/* SPDX-License-Identifier: Apache-2.0 */
/* line.c - the data set "line": points scattered about y = 2x, for a model of two parameters. */
#include <stdlib.h>

#include "data/dataset.h"
#include "harness/base/rng.h"

enum { N_SAMPLES = 1000 };

enum rc dataset_open_line(struct dataset **out, uint64_t seed)
{
    struct dataset *d = calloc(1, sizeof *d);
    enum rc rc = RC_OK;

    if (d == NULL)
        FAIL(RC_NOMEM, "data set line: %zu bytes", sizeof *d);
    d->name = "line";
    d->n_train = N_SAMPLES;
    d->n_features = 1;
    d->feature = calloc(N_SAMPLES, sizeof *d->feature);
    d->target = calloc(N_SAMPLES, sizeof *d->target);
    if (d->feature == NULL || d->target == NULL)
        FAIL(RC_NOMEM, "data set line: %zu bytes", 2 * N_SAMPLES * sizeof *d->target);
    for (uint64_t i = 0; i < N_SAMPLES; i++) {
        const double x = rng_uniform(seed, RNG_DATA_X, i) - 0.5;
        const double noise = rng_uniform(seed, RNG_DATA_NOISE, i) - 0.5;
        d->feature[i] = (float)x;
        d->target[i] = (float)(2.0 * x + noise);
    }
    *out = d;
    d = NULL;
out:
    dataset_close(&d);
    return rc;
}
