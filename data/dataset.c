/* SPDX-License-Identifier: Apache-2.0 */
/* dataset.c - the order in which samples come, and their release. */
#include "data/dataset.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/rng.h"
#include "harness/base/share.h"

extern const struct dataset_source digits_source, synthetic_source;

const struct dataset_source *dataset_source_find(const char *name)
{
    static const struct dataset_source *const all[] = { &digits_source, &synthetic_source };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i]->name, name) == 0)
            return all[i];
    return NULL;
}

void dataset_source_path(const struct dataset_source *source, char *out, size_t n_bytes)
{
    char part[64], built_from[4096];

    assert(source->shipped_file);
    snprintf(part, sizeof part, "data/%s", source->shipped_file);
    snprintf(built_from, sizeof built_from, "%s/%s", GRADMARK_DATA_DIR, source->shipped_file);
    share_path(out, n_bytes, part, built_from);
}

void dataset_close(struct dataset **d)
{
    if (*d == NULL)
        return;
    if ((*d)->ops != NULL && (*d)->ops->close != NULL)
        (*d)->ops->close(*d);
    free((*d)->feature);
    free((*d)->target);
    free((*d)->label);
    free(*d);
    *d = NULL;
}

uint32_t dataset_array_label(const struct dataset *d, size_t i)
{
    return d->label[i];
}

size_t dataset_index(const struct dataset *d, uint64_t seed, uint64_t i)
{
    const uint64_t epoch = i / d->n_train; /* data.D1: the epoch is the key, so each is a new permutation */

    return (size_t)rng_permute(seed, epoch, i - epoch * d->n_train, d->n_train);
}

size_t dataset_part_index(const struct dataset *d, const struct dataset_part *part, uint64_t seed, uint64_t i)
{
    if (part == NULL)
        return dataset_index(d, seed, i);
    const uint64_t epoch = i / part->n_samples, own = rng_u64(seed, RNG_PART, 1 + part->number); /* data.D4 */
    return part->index[rng_permute(own, epoch, i - epoch * part->n_samples, part->n_samples)];
}

void dataset_batch(const struct dataset *d, const struct dataset_part *part, uint64_t seed, uint64_t first,
                   size_t n_samples, float *x, float *target, uint32_t *label)
{
    const size_t F = d->n_features;

    assert((target != NULL) == (d->target != NULL) && (label != NULL) == (d->label != NULL));
    for (size_t k = 0; k < n_samples; k++) {
        const size_t i = dataset_part_index(d, part, seed, first + k);
        if (F == 1) /* not worth a call */
            x[k] = d->feature[i];
        else
            memcpy(x + k * F, d->feature + i * F, F * sizeof *x);
        if (target != NULL)
            target[k] = d->target[i];
        if (label != NULL)
            label[k] = d->label[i];
    }
}
