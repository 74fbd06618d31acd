/* SPDX-License-Identifier: Apache-2.0 */
/* noise.c - draws from distributions of mean 1 that are never below 0. */
#include "harness/cluster/noise.h"

#include <math.h>

#include "harness/base/rng.h"

enum { STRAGGLERS_KEY = 0x736c6f77, STEP_BITS = 40 }; /* of rng_permute(): no other permutation of this seed has it */

double noise_straggler_ratio(const struct cluster *c, int rank, int n_workers)
{
    if (c->n_stragglers == 0 || rank >= n_workers)
        return 1;
    const uint64_t turn = rng_permute(c->seed, STRAGGLERS_KEY, (uint64_t)rank, (uint64_t)n_workers);
    return turn < (uint64_t)c->n_stragglers ? c->straggler_ratio : 1;
}

double noise_start_ratio(const struct cluster *c, int rank, int n_workers, int64_t step)
{
    return c->start == START_SPREAD && step == 0 && rank < n_workers ? 1 + (double)rank / n_workers : 1;
}

double noise_step_ratio(const struct cluster *c, int rank, int64_t step)
{
    const uint64_t i = (uint64_t)rank << STEP_BITS | ((uint64_t)step & ((UINT64_C(1) << STEP_BITS) - 1));
    double drawn = 0; /* of mean 1 */

    if (step < 0)
        return 1;
    switch ((enum cluster_jitter)c->jitter) {
    case JITTER_NONE:
        return 1;
    case JITTER_EXPONENTIAL:
        drawn = -log(1 - rng_uniform(c->seed, RNG_JITTER, i));
        break;
    case JITTER_HALFNORMAL: /* the mean of |N| is sqrt(2 / pi) */
        drawn = fabs(rng_normal(c->seed, RNG_JITTER, i)) * 1.2533141373155003;
        break;
    case JITTER_LOGNORMAL: /* the mean of e^N is e^(1/2) */
        drawn = exp(rng_normal(c->seed, RNG_JITTER, i) - 0.5);
        break;
    }
    return 1 + c->jitter_ratio * drawn;
}
