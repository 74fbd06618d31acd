/* SPDX-License-Identifier: Apache-2.0 */
/* suite_kit.c - arrays between guards, the running of cases, comparison. */
#include "harness/compute/suite/suite_kit.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/rng.h"

#define GUARD_BITS UINT32_C(0x7fc0dead) /* a quiet NaN: reading it shows, too */

enum { GUARD_BYTES = 128 };

void suite_fail(struct suite *s, const char *fmt, ...)
{
    va_list ap;

    s->n_failures++;
    if (s->n_case_failures++ > 0 || s->options.log == NULL)
        return;
    fprintf(s->options.log, "compute_suite(%s): %s[%zu], n_threads %d, off by %zu bytes: ", s->ops->module.name,
            s->case_name, s->case_index, s->n_threads, s->shift_bytes);
    va_start(ap, fmt);
    vfprintf(s->options.log, fmt, ap);
    va_end(ap);
    fputc('\n', s->options.log);
}

static void fill_guards(char *raw, size_t n_bytes)
{
    const uint32_t bits = GUARD_BITS;

    for (size_t i = 0; i < n_bytes; i++)
        raw[i] = ((const char *)&bits)[i % sizeof bits];
}

static char *raw_of(const struct suite *s, const struct array *a)
{
    return (s->ops->touches_memory ? (char *)s->pool.memory[s->n_threads] : s->pool.unseen) + a->offset_bytes;
}

void suite_put(struct suite *s, struct array *a)
{
    if (s->ops->touches_memory)
        compute_put(s->c, raw_of(s, a), s->pool.host + a->offset_bytes, a->total_bytes);
    else
        memcpy(raw_of(s, a), s->pool.host + a->offset_bytes, a->total_bytes);
}

static void get(struct suite *s, const struct array *a)
{
    if (s->ops->touches_memory)
        compute_get(s->c, s->pool.got + a->offset_bytes, raw_of(s, a), a->total_bytes);
    else
        memcpy(s->pool.got + a->offset_bytes, raw_of(s, a), a->total_bytes);
}

/* Dirty, not yet put. */
static struct array *array_of(struct suite *s, size_t n_elems, size_t elem_bytes)
{
    struct array *a = &s->array[s->n_arrays++];

    assert(s->n_arrays <= SUITE_MAX_ARRAYS);
    a->n_elems = n_elems;
    a->n_bytes = n_elems * elem_bytes;
    a->before_bytes = GUARD_BYTES + s->shift_bytes;
    a->total_bytes = a->before_bytes + a->n_bytes + GUARD_BYTES;
    a->offset_bytes = s->pool.n_used_bytes;
    a->checked = false;
    s->pool.n_used_bytes += (a->total_bytes + 255) / 256 * 256;
    if (s->pool.n_used_bytes > SUITE_POOL_BYTES)
        abort(); /* a case too large for the pools proves nothing */
    fill_guards(s->pool.host + a->offset_bytes, a->total_bytes);
    a->host = (float *)(void *)(s->pool.host + a->offset_bytes + a->before_bytes);
    a->got = (float *)(void *)(s->pool.got + a->offset_bytes + a->before_bytes);
    a->v = (float *)(void *)(raw_of(s, a) + a->before_bytes);
    return a;
}

struct array *suite_dirty(struct suite *s, size_t n)
{
    struct array *a = array_of(s, n, sizeof(float));

    suite_put(s, a);
    return a;
}

struct array *suite_argmax(struct suite *s, size_t n)
{
    struct array *a = array_of(s, n, 1);

    suite_put(s, a);
    return a;
}

struct array *suite_values(struct suite *s, size_t n, uint64_t stream, bool exact)
{
    struct array *a = array_of(s, n, sizeof(float));

    for (size_t i = 0; i < n; i++)
        a->host[i] = exact ? (float)((int)(rng_u64(stream, RNG_TEST, i) % 7) - 3)
                           : (float)(2.0 * rng_uniform(stream, RNG_TEST, i) - 1.0);
    suite_put(s, a);
    return a;
}

struct array *suite_integers(struct suite *s, size_t n, uint64_t stream)
{
    return suite_values(s, n, stream, true);
}

struct array *suite_reals(struct suite *s, size_t n, uint64_t stream)
{
    return suite_values(s, n, stream, false);
}

struct array *suite_constant(struct suite *s, size_t n, float value)
{
    struct array *a = array_of(s, n, sizeof(float));

    for (size_t i = 0; i < n; i++)
        a->host[i] = value;
    suite_put(s, a);
    return a;
}

struct array *suite_labels(struct suite *s, size_t n, uint32_t n_classes)
{
    struct array *a = array_of(s, n, sizeof(uint32_t));
    uint32_t *label = (uint32_t *)(void *)a->host;

    for (size_t i = 0; i < n; i++)
        label[i] = (uint32_t)(rng_u64(77, RNG_TEST, i) % n_classes);
    suite_put(s, a);
    return a;
}

double *suite_zeros(struct suite *s, size_t n)
{
    double *x = s->pool.doubles + s->pool.n_used_doubles;

    s->pool.n_used_doubles += n;
    if (s->pool.n_used_doubles > SUITE_POOL_DOUBLES)
        abort();
    memset(x, 0, n * sizeof *x);
    return x;
}

double *suite_double(struct suite *s, const struct array *a)
{
    double *x = a != NULL ? suite_zeros(s, a->n_elems) : NULL;

    for (size_t i = 0; a != NULL && i < a->n_elems; i++)
        x[i] = (double)a->host[i];
    return x;
}

static void digest_bytes(struct suite *s, const void *p, size_t n_bytes)
{
    const unsigned char *byte = p;
    uint32_t word = 0;

    for (size_t i = 0; i < n_bytes; i += sizeof word) {
        memcpy(&word, byte + i, n_bytes - i < sizeof word ? n_bytes - i : sizeof word);
        s->digest = (s->digest ^ word) * UINT64_C(0x100000001b3);
    }
}

static void get_result(struct suite *s, struct array *a)
{
    get(s, a);
    a->checked = true;
    digest_bytes(s, a->got, a->n_bytes);
}

static bool is_near(double got, double want, double tolerance)
{
    return isnan(want) ? isnan(got) != 0 : got == want || fabs(got - want) <= tolerance;
}

void suite_check(struct suite *s, const char *what, struct array *a, const double *want, double tolerance)
{
    get_result(s, a);
    for (size_t i = 0; s->judging && i < a->n_elems; i++)
        if (!is_near((double)a->got[i], want[i], tolerance))
            suite_fail(s, "%s[%zu] of %zu is %.9g, should be %.9g within %.2g", what, i, a->n_elems, (double)a->got[i],
                       want[i], tolerance);
}

void suite_check_argmax(struct suite *s, const char *what, struct array *a, const uint8_t *want)
{
    get_result(s, a);
    for (size_t i = 0; s->judging && i < a->n_elems; i++)
        if (((const uint8_t *)a->got)[i] != want[i])
            suite_fail(s, "%s[%zu] of %zu is %d, should be %d", what, i, a->n_elems, ((const uint8_t *)a->got)[i],
                       want[i]);
}

void suite_check_one(struct suite *s, const char *what, double got, double want, double tolerance)
{
    if (s->judging && !is_near(got, want, tolerance))
        suite_fail(s, "%s is %.17g, should be %.17g", what, got, want);
    digest_bytes(s, &got, sizeof got);
}

void suite_ignore(struct suite *s, struct array *a)
{
    (void)s;
    a->checked = true;
}

void suite_sync(struct suite *s)
{
    if (compute_sync(s->c) != RC_OK)
        suite_fail(s, "sync: %s", rc_message());
}

double suite_tolerance_fp32(size_t K)
{
    return ldexp((double)K + 8.0, -23);
}

double suite_tolerance(const struct suite *s, size_t K)
{
    const double spread = 2.0 * sqrt((double)K) + 2.0;

    if (s->options.precision == PRECISION_FP32)
        return suite_tolerance_fp32(K);
    return ldexp(spread, s->options.precision == PRECISION_BF16 ? -8 : -11) + suite_tolerance_fp32(K);
}

size_t suite_in_elems(const struct window *g)
{
    return (size_t)g->B * (size_t)g->C * (size_t)g->H * (size_t)g->W;
}

size_t suite_out_elems(const struct window *g)
{
    return (size_t)g->B * (size_t)g->C * (size_t)window_out_h(g) * (size_t)window_out_w(g);
}

void suite_end_arrays(struct suite *s, const char *what)
{
    suite_sync(s);
    for (size_t i = 0; i < s->n_arrays; i++) {
        const struct array *a = &s->array[i];
        const char *was = s->pool.host + a->offset_bytes, *is = s->pool.got + a->offset_bytes;
        get(s, a);
        const bool differs = memcmp(was, is, a->total_bytes) != 0;
        for (size_t k = 0; differs && k < a->total_bytes; k++) {
            const bool in_guard = k < a->before_bytes || k >= a->before_bytes + a->n_bytes;
            if (was[k] != is[k] && (in_guard || !a->checked))
                suite_fail(s, "%s: array %zu of %zu bytes: wrote at byte %td%s", what, i, a->n_bytes,
                           (ptrdiff_t)k - (ptrdiff_t)a->before_bytes, in_guard ? "" : ", an input");
        }
    }
    s->n_arrays = 0;
    s->pool.n_used_bytes = s->pool.n_used_doubles = 0;
}

static const struct suite_variant {
    int n_threads;
    size_t shift_bytes;
    bool no_allocation; /* compute.C3: the same calls were made before */
    const char *what;
} variants[] = {
    { 1, 0, false, "" },
    { 1, 0, true, "when run again" },
    { 1, 12, false, "at another alignment" },
    { 1, 12, true, "at another alignment when run again" },
    { 2, 0, false, "with 2 threads" },
    { 3, 4, false, "with 3 threads at another alignment" },
    { 4, 0, false, "with 4 threads" },
    { 4, 0, true, "with 4 threads when run again" },
};

static void run_variant(struct suite *s, const struct suite_variant *v, suite_case *run, const void *arg)
{
    size_t (*const n_allocations)(void) = v->no_allocation ? s->options.n_allocations : NULL;
    const size_t before = n_allocations != NULL ? n_allocations() : 0;

    s->n_threads = v->n_threads;
    s->c = s->opened[v->n_threads];
    s->shift_bytes = v->shift_bytes;
    s->digest = UINT64_C(0xcbf29ce484222325);
    run(s, arg);
    suite_end_arrays(s, "");
    if (n_allocations != NULL && n_allocations() != before)
        suite_fail(s, "C3: %zu allocations when run again", n_allocations() - before);
}

/* any_alignment: equal bits are asked for at all of them, else at each. */
static void run_case(struct suite *s, const char *name, suite_case *run, const void *arg, bool any_alignment)
{
    enum { N_VARIANTS = sizeof variants / sizeof variants[0] };
    uint64_t digest[N_VARIANTS] = { 0 };

    if (s->n_failures > 0 && s->options.log == NULL)
        return;
    if (s->options.only != NULL && strstr(name, s->options.only) == NULL)
        return;
    s->case_name = name;
    s->n_case_failures = 0;
    for (size_t i = 0; i < N_VARIANTS; i++) {
        size_t first = 0; /* the variant whose bits are asked for */
        while (!any_alignment && variants[first].shift_bytes != variants[i].shift_bytes)
            first++;
        if (variants[i].n_threads > s->options.n_threads_most)
            continue;
        s->judging = i == first;
        run_variant(s, &variants[i], run, arg);
        digest[i] = s->digest;
        if (digest[i] != digest[first])
            suite_fail(s, "C1: other bits %s", variants[i].what);
    }
}

void suite_run(struct suite *s, const char *name, suite_case *run, const void *arg)
{
    run_case(s, name, run, arg, true);
}

void suite_run_product(struct suite *s, const char *name, suite_case *run, const void *arg)
{
    run_case(s, name, run, arg, s->ops->bits_at_any_alignment);
}

void suite_run_each(struct suite *s, const char *name, suite_case *run, const void *args, size_t n, size_t arg_bytes)
{
    for (size_t i = 0; i < n; i++) {
        s->case_index = i;
        suite_run(s, name, run, (const char *)args + i * arg_bytes);
    }
    s->case_index = 0;
}
