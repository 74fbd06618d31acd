/* SPDX-License-Identifier: Apache-2.0 */
/* compute_suite.c - guarded arrays, the running of cases, and the list of them. */
#include "harness/compute/compute_suite.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/rng.h"
#include "harness/compute/compute_suite_kit.h"

#define GUARD_BITS UINT32_C(0x7fc0dead) /* a quiet NaN: reading it shows, too */

void suite_fail(struct suite *s, const char *fmt, ...)
{
    va_list ap;

    s->n_failures++;
    if (s->n_case_failures++ > 0 || s->log == NULL)
        return;
    fprintf(s->log, "compute_suite(%s): %s: ", s->ops->name, s->case_name);
    va_start(ap, fmt);
    vfprintf(s->log, fmt, ap);
    va_end(ap);
    fputc('\n', s->log);
}

static void *must(void *p)
{
    if (p == NULL)
        abort(); /* a test without memory proves nothing */
    return p;
}

static uint32_t *suite_words(struct suite *s, size_t n)
{
    const size_t n_raw = n + 2 * SUITE_GUARD_ELEMS + s->shift;
    struct guarded *g = &s->array[s->n_arrays++];

    assert(s->n_arrays <= SUITE_MAX_ARRAYS);
    g->raw = must(aligned_alloc(64, (n_raw * sizeof *g->raw + 63) / 64 * 64));
    g->n_elems = n;
    g->shift = s->shift;
    for (size_t i = 0; i < n_raw; i++)
        g->raw[i] = GUARD_BITS;
    return g->raw + SUITE_GUARD_ELEMS + s->shift;
}

float *suite_dirty(struct suite *s, size_t n)
{
    return (float *)(void *)suite_words(s, n);
}

float *suite_integers(struct suite *s, size_t n, uint64_t stream)
{
    float *x = suite_dirty(s, n);

    for (size_t i = 0; i < n; i++)
        x[i] = (float)((int)(rng_u64(stream, RNG_TEST, i) % 7) - 3);
    return x;
}

float *suite_reals(struct suite *s, size_t n, uint64_t stream)
{
    float *x = suite_dirty(s, n);

    for (size_t i = 0; i < n; i++)
        x[i] = (float)(2.0 * rng_uniform(stream, RNG_TEST, i) - 1.0);
    return x;
}

uint32_t *suite_labels(struct suite *s, size_t n, uint32_t n_classes)
{
    uint32_t *label = suite_words(s, n);

    for (size_t i = 0; i < n; i++)
        label[i] = (uint32_t)(rng_u64(77, RNG_TEST, i) % n_classes);
    return label;
}

double *suite_zeros(size_t n)
{
    return must(calloc(n + 1, sizeof(double)));
}

double *suite_double(const float *x, size_t n)
{
    double *y = suite_zeros(n);

    for (size_t i = 0; i < n; i++)
        y[i] = (double)x[i];
    return y;
}

static void digest_bytes(struct suite *s, const void *p, size_t n_bytes)
{
    const unsigned char *byte = p;

    for (size_t i = 0; i < n_bytes; i++)
        s->digest = (s->digest ^ byte[i]) * UINT64_C(0x100000001b3);
}

void suite_check(struct suite *s, const char *what, const float *y, const double *want, size_t n, double tolerance)
{
    for (size_t i = 0; i < n; i++)
        if (!(fabs((double)y[i] - want[i]) <= tolerance))
            suite_fail(s, "%s[%zu] is %.9g, should be %.9g", what, i, (double)y[i], want[i]);
    digest_bytes(s, y, n * sizeof *y);
}

void suite_check_one(struct suite *s, const char *what, double got, double want, double tolerance)
{
    if (!(fabs(got - want) <= tolerance))
        suite_fail(s, "%s is %.17g, should be %.17g", what, got, want);
    digest_bytes(s, &got, sizeof got);
}

static void end_arrays(struct suite *s)
{
    for (size_t i = 0; i < s->n_arrays; i++) {
        struct guarded *g = &s->array[i];
        const size_t before = SUITE_GUARD_ELEMS + g->shift;
        for (size_t k = 0; k < before + SUITE_GUARD_ELEMS; k++) {
            const size_t at = k < before ? k : k + g->n_elems;
            if (g->raw[at] != GUARD_BITS)
                suite_fail(s, "array %zu: wrote at element %td of %zu", i, (ptrdiff_t)(at - before), g->n_elems);
        }
        free(g->raw);
    }
    s->n_arrays = 0;
}

void suite_run(struct suite *s, const char *name, suite_case *run, const void *arg)
{
    static const size_t shift[] = { 0, 0, 3 };
    uint64_t first = 0;

    s->case_name = name;
    s->n_case_failures = 0;
    for (size_t i = 0; i < sizeof shift / sizeof shift[0]; i++) {
        s->shift = shift[i];
        s->digest = UINT64_C(0xcbf29ce484222325);
        run(s, arg);
        end_arrays(s);
        if (i == 0)
            first = s->digest;
        else if (s->digest != first)
            suite_fail(s, "C1: other bits when run again%s", shift[i] != 0 ? " at another alignment" : "");
    }
}

int compute_suite(const struct compute_backend *b, FILE *log)
{
    struct suite s = { .ops = b, .log = log, .case_name = "open" };

    if (compute_open(&s.c, b, NULL) != RC_OK) {
        suite_fail(&s, "%s", rc_message());
        return s.n_failures;
    }
    if (b->touches_memory) {
        suite_gemm(&s);
        suite_elements(&s);
        suite_windows(&s);
        suite_losses(&s);
    } else
        suite_untouched(&s);
    compute_close(&s.c);
    compute_close(&s.c);
    if (s.c != NULL)
        suite_fail(&s, "close left the pointer");
    suite_counts(&s);
    return s.n_failures;
}
