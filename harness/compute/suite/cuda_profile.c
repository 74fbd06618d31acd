/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_profile.c - what gradmark profile needs of the backend cuda: times of the device, and GEMMs of random numbers.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "harness/compute/cuda/cuda.h"
#include "harness/compute/suite/cuda_kit.h"

/* What is foretold of a shape is what its operations take. */
void scratch_is_foretold(void **state)
{
    static const struct conv_shape shape[] = {
        { { 4, 8, 16, 16, 3, 3, 1, 1, 1, 1 }, 8 },  /* flipped */
        { { 4, 8, 16, 16, 3, 3, 2, 2, 1, 1 }, 12 }, /* col2im */
        { { 4, 8, 16, 16, 1, 1, 1, 1, 0, 0 }, 12 }, /* pointwise */
        { { 4, 3, 5, 4, 5, 4, 1, 1, 0, 0 }, 10 },   /* dense */
    };

    (void)state;
    for (int k = 0; k < 16; k++) {
        const struct conv_shape *s = &shape[k / 4];
        const bool with_gradients = k % 2 != 0, is_bf16 = k / 2 % 2 != 0;
        const struct compute_env env = { .precision = is_bf16 ? PRECISION_BF16 : PRECISION_FP32 };
        struct side *a = side_open(&compute_cuda, &env);
        const struct cuda_compute *c = (const struct cuda_compute *)a->c;
        float *x = side_reals(a, 4 * 8 * 256), *y = side_reals(a, 4 * 12 * 256), *w = side_reals(a, 12 * 8 * 25);
        float *kept = side_reals(a, 12 * 8 * 25);
        uint16_t *packed = is_bf16 && with_gradients ? (uint16_t *)(void *)kept : NULL;
        assert_int_equal(c->n_scratch_bytes, 0);
        const size_t n_bytes = a->c->ops->scratch_bytes(a->c, s, with_gradients);
        assert_int_equal(c->n_scratch_bytes, 0);
        compute_conv(a->c, &(struct conv_forward){ .shape = *s, .y = y, .x = x, .weight = w, .weight_packed = packed });
        if (with_gradients) {
            compute_conv_input_grad(
                a->c, &(struct conv_input_grad){ .shape = *s, .dx = x, .dy = y, .weight = w, .weight_packed = packed });
            compute_conv_weight_grad(a->c, &(struct conv_weight_grad){ .shape = *s, .dweight = w, .dy = y, .x = x });
        }
        assert_int_equal(compute_sync(a->c), RC_OK);
        assert_int_equal(c->n_scratch_bytes, n_bytes);
        side_close(a);
    }
}

/* The emulated device takes a microsecond for each task. */
void stamps_are_of_the_device(void **state)
{
    struct side *a = side_open(&compute_cuda, NULL);
    float *x = side_reals(a, 64), *y = side_reals(a, 64);

    (void)state;
    for (int round = 0; round < 2; round++) {
        compute_accumulate(a->c, x, y, 64);
        a->c->ops->record_stamp(a->c, 0);
        compute_accumulate(a->c, x, y, 64);
        compute_accumulate(a->c, x, y, 64);
        a->c->ops->record_stamp(a->c, COMPUTE_STAMPS - 1);
        compute_accumulate(a->c, x, y, 64);
        a->c->ops->record_stamp(a->c, 7);
        assert_int_equal(compute_sync(a->c), RC_OK);
        const uint64_t two_ns = a->c->ops->stamp_ns(a->c, 0, COMPUTE_STAMPS - 1);
        const uint64_t all_ns = a->c->ops->stamp_ns(a->c, 0, 7);
        if (GRADMARK_CUDA_ON_HOST)
            assert_true(two_ns == 2000 && all_ns == 3000);
        assert_true(two_ns > 0 && two_ns <= all_ns);
        assert_int_equal(compute_sync(a->c), RC_OK);
    }
    side_close(a);
}

/* A GPU's clock rises where it multiplies zeros. */
void gemms_alone_are_of_random_numbers(void **state)
{
    static const struct conv_shape shape = { { 4, 8, 16, 16, 3, 3, 1, 1, 1, 1 }, 8 };
    static const struct conv_shape halving = { { 4, 8, 16, 16, 3, 3, 2, 2, 1, 1 }, 8 };
    struct side *a = side_open(&compute_cuda, &(struct compute_env){ .gemm_only = true, .precision = PRECISION_BF16 });
    void *memory = NULL;
    float *host = malloc(5 << 20);

    (void)state;
    assert_non_null(host);
    float *x = side_reals(a, 4 * 8 * 256), *w = side_reals(a, 8 * 72), *y = side_reals(a, 4 * 8 * 256);
    compute_conv(a->c, &(struct conv_forward){ .shape = shape, .y = y, .x = x, .weight = w });
    compute_conv_input_grad(a->c,
                            &(struct conv_input_grad){ .shape = halving, .dx = x, .dy = y, .weight = w }); /* col2im */
    assert_int_equal(compute_sync(a->c), RC_OK);
    assert_int_equal(compute_memory_open(a->c, &memory, 5 << 20, "activations"), RC_OK);
    for (int k = 0; k < 2; k++) {
        const struct cuda_compute *c = (const struct cuda_compute *)a->c;
        const size_t n = (k ? c->n_scratch_bytes : 5 << 20) / sizeof *host;
        size_t n_negative = 0, n_same = 0;
        assert_in_range(n, 1000, (5 << 20) / sizeof *host);
        compute_get(a->c, host, k ? (void *)c->scratch : memory, n * sizeof *host);
        for (size_t i = 0; i < n; i++) {
            assert_true(fabsf(host[i]) >= 0.5f && fabsf(host[i]) < 1.0f);
            n_negative += host[i] < 0.0f;
            n_same += i > 0 && host[i] == host[i - 1];
        }
        assert_true(n_negative > n / 3 && n_negative < n - n / 3 && n_same < n / 10);
    }
    compute_memory_close(a->c, &memory);
    free(host);
    side_close(a);
}
