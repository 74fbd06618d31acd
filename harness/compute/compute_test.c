/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compute_test.c - backends through the suite, and mutants the suite must catch.
 *
 * usage: compute_test suite NAME | mutant NAME | registry | allocation
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/compute/compute_mutants.h"
#include "harness/compute/compute_suite.h"

static const char *wanted;
static volatile size_t n_allocations; /* volatile: compilers know that calloc changes no variables */

/* Linked with --wrap: every allocation of this program and its static libraries. */
void *__real_malloc(size_t n_bytes);
void *__real_calloc(size_t n, size_t n_bytes);
void *__wrap_malloc(size_t n_bytes);
void *__wrap_calloc(size_t n, size_t n_bytes);

void *__wrap_malloc(size_t n_bytes)
{
    n_allocations++;
    return __real_malloc(n_bytes);
}

void *__wrap_calloc(size_t n, size_t n_bytes)
{
    n_allocations++;
    return __real_calloc(n, n_bytes);
}

/* C1, C2: compute_suite.h */
static void suite_passes(void **state)
{
    const struct compute_backend *b = NULL;

    (void)state;
    assert_int_equal(compute_find(&b, wanted), RC_OK);
    assert_int_equal(compute_suite(b, stderr), 0);
}

static void mutant_is_caught(void **state)
{
    struct compute_backend b;

    (void)state;
    assert_true(compute_mutant(&b, wanted));
    assert_true(compute_suite(&b, NULL) > 0);
}

static void registry_names_the_nearest(void **state)
{
    const struct compute_backend *b = NULL;
    size_t n = 0;

    (void)state;
    for (const struct compute_backend *const *all = compute_all(); all[n] != NULL; n++) {
        assert_int_equal(compute_find(&b, all[n]->name), RC_OK);
        assert_ptr_equal(b, all[n]);
    }
    assert_true(n >= 2);
    assert_int_equal(compute_find(&b, "hollo"), RC_INVAL);
    assert_non_null(strstr(rc_message(), "did you mean \"hollow\""));
    assert_int_equal(compute_find(&b, "zzzzzzzzz"), RC_INVAL);
    assert_non_null(strstr(rc_message(), "zzzzzzzzz"));
    assert_int_equal(compute_find(&b, ""), RC_INVAL);
}

/* C3 */
static void nothing_allocates_after_open(void **state)
{
    enum { N = 64 };
    float *x = calloc(6, N * N * sizeof *x);
    uint32_t *at = calloc(N * N, sizeof *at);
    const struct window window = { 4, 2, 8, 8, 3, 3, 1, 1, 1, 1 }, pooling = { 4, 2, 8, 8, 2, 2, 2, 2, 0, 0 };
    const struct sgd sgd = { 0.5f, 0.5f, 0.0f, 1.0f };
    struct compute *c = NULL;
    double loss;

    (void)state;
    assert_non_null(x);
    assert_non_null(at);
    float *y = x + N * N, *z = y + N * N;
    const struct gemm g = { .M = N, .N = N, .K = N, .a = x, .b = y, .c = z };
    assert_int_equal(compute_open(&c, &compute_cpu, NULL), RC_OK);
    const size_t before = n_allocations;
    compute_gemm(c, &g);
    compute_im2col(c, y, x, &window);
    compute_col2im(c, x, y, &window);
    compute_bias_add(c, x, y, 2, 8, 8);
    compute_bias_grad(c, x, y, 2, 8, 8);
    compute_swap_axes(c, x, y, 2, 8, 8);
    compute_relu(c, x, N);
    compute_relu_grad(c, x, y, N);
    compute_max_pool(c, y, at, x, &pooling);
    compute_max_pool_grad(c, x, y, at, &pooling);
    memset(at, 0, N * sizeof *at);
    compute_softmax_xent(c, &loss, x, NULL, y, at, 4, 8);
    compute_mean_square(c, &loss, x, y, z, N);
    compute_accumulate(c, x, y, N);
    compute_sgd_step(c, x, y, z, N, &sgd);
    compute_sync(c);
    const size_t after = n_allocations;
    compute_close(&c);
    free(x);
    free(at);
    assert_int_equal(after - before, 0);
    assert_true(before > 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest suite[] = { cmocka_unit_test(suite_passes) };
    const struct CMUnitTest mutant[] = { cmocka_unit_test(mutant_is_caught) };
    const struct CMUnitTest registry[] = { cmocka_unit_test(registry_names_the_nearest) };
    const struct CMUnitTest allocation[] = { cmocka_unit_test(nothing_allocates_after_open) };
    const char *what = argc > 1 ? argv[1] : "";

    wanted = argc > 2 ? argv[2] : "";
    if (strcmp(what, "suite") == 0)
        return cmocka_run_group_tests(suite, NULL, NULL);
    if (strcmp(what, "mutant") == 0)
        return cmocka_run_group_tests(mutant, NULL, NULL);
    if (strcmp(what, "registry") == 0)
        return cmocka_run_group_tests(registry, NULL, NULL);
    if (strcmp(what, "allocation") == 0)
        return cmocka_run_group_tests(allocation, NULL, NULL);
    fprintf(stderr, "usage: compute_test suite NAME | mutant NAME | registry | allocation\n");
    return 2;
}
