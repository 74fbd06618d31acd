/* SPDX-License-Identifier: Apache-2.0 */
/* test_wrapped.h - for tests: a data set that returns what another one does; a test replaces one of its operations. */
#ifndef DATA_SUITE_TEST_WRAPPED_H
#define DATA_SUITE_TEST_WRAPPED_H

#include "data/dataset.h"

struct wrapped { /* the mutant of a data set */
    struct dataset base;
    const struct dataset *real;
};

static inline const struct dataset *real_of(const struct dataset *d)
{
    return ((const struct wrapped *)d)->real;
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
