/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_kit.c - two backends side by side. */
#include "harness/compute/suite/cuda_kit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/base/rng.h"

struct side *side_open(const struct compute_backend *b, const struct compute_env *env)
{
    struct side *s = calloc(1, sizeof *s);

    assert_non_null(s);
    assert_int_equal(compute_open(&s->c, b, env), RC_OK);
    return s;
}

void side_empty(struct side *s)
{
    for (size_t i = 0; i < s->n_arrays; i++)
        compute_memory_close(s->c, &s->array[i]);
    s->n_arrays = 0;
}

void side_close(struct side *s)
{
    side_empty(s);
    compute_close(&s->c);
    free(s);
}

float *side_reals(struct side *s, size_t n)
{
    float *host = malloc(n * sizeof *host);
    const size_t k = s->n_arrays++;

    assert_non_null(host);
    assert_true(k < MAX_ARRAYS);
    for (size_t i = 0; i < n; i++)
        host[i] = (float)(2.0 * rng_uniform(k, RNG_TEST, i) - 1.0);
    assert_int_equal(compute_memory_open(s->c, &s->array[k], n * sizeof *host, "array"), RC_OK);
    compute_put(s->c, s->array[k], host, n * sizeof *host);
    free(host);
    s->n[k] = n;
    return s->array[k];
}

static float *fetched(struct side *s, size_t k)
{
    float *host = malloc(s->n[k] * sizeof *host);

    assert_non_null(host);
    compute_get(s->c, host, s->array[k], s->n[k] * sizeof *host);
    return host;
}

void side_compare(struct side *a, struct side *b, double tolerance)
{
    assert_int_equal(compute_sync(a->c), RC_OK);
    assert_int_equal(compute_sync(b->c), RC_OK);
    assert_int_equal(a->n_arrays, b->n_arrays);
    for (size_t k = 0; k < a->n_arrays; k++) {
        float *x = fetched(a, k), *y = fetched(b, k);
        double largest = 0.0;
        for (size_t i = 0; i < a->n[k]; i++)
            largest = fmax(largest, fabs((double)y[i]));
        for (size_t i = 0; i < a->n[k]; i++)
            if (!(fabs((double)x[i] - (double)y[i]) <= tolerance * largest))
                fail_msg("array %zu, element %zu of %zu: %.9g and %.9g", k, i, a->n[k], (double)x[i], (double)y[i]);
        free(x);
        free(y);
    }
    side_empty(a);
    side_empty(b);
}
