/* SPDX-License-Identifier: Apache-2.0 */
/* test_bent.h - for tests: a data set that hands on what another has; a test bends one of its operations. */
#ifndef DATA_TEST_BENT_H
#define DATA_TEST_BENT_H

#include "data/dataset.h"

struct bent { /* a data set that gives what another has, bent */
    struct dataset base;
    const struct dataset *real;
};

static inline const struct dataset *real_of(const struct dataset *d)
{
    return ((const struct bent *)d)->real;
}

static inline uint32_t real_label(const struct dataset *d, size_t i)
{
    return real_of(d)->ops->label(real_of(d), i);
}

static inline enum rc real_bytes(const struct dataset *d, size_t i, uint8_t *out)
{
    return real_of(d)->ops->bytes(real_of(d), i, out);
}

#endif
