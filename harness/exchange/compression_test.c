/* SPDX-License-Identifier: Apache-2.0 */
/* compression_test.c - names, sizes, and exchange.R1 to R3 on made-up gradients: what is sent, and what stays. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/rng.h"
#include "harness/base/suite/unit.h"
#include "harness/compute/compute.h"
#include "harness/exchange/compression.h"

enum { N = 1000 };

static const struct compression fp16 = { COMPRESSION_FP16, 0 }, bf16 = { COMPRESSION_BF16, 0 },
                                tenth = { COMPRESSION_TOPK, 0.1 };

static float random_value(uint64_t stream, size_t i)
{
    const uint64_t bits = rng_u64(5, RNG_TEST, stream * 100000 + i);

    return ldexpf((float)(bits % 2000001) - 1000000.0f, -20 - (int)(bits >> 60));
}

UNIT_TEST(names_come_back)
{
    static const char *const right[] = { "none", "fp16", "bf16", "topk:0.01", "topk:0.5", "topk:1e-06" };
    struct compression c;
    char text[COMPRESSION_TEXT_BYTES];

    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        assert_int_equal(compression_parse(&c, right[i]), RC_OK);
        compression_text(text, sizeof text, &c);
        assert_string_equal(text, right[i]);
    }
    assert_int_equal(compression_parse(&c, "topk:0.01"), RC_OK);
    assert_true(c.kind == COMPRESSION_TOPK && c.ratio == 0.01);
    assert_int_equal(compression_wire(&fp16), WIRE_F16);
    assert_int_equal(compression_wire(&bf16), WIRE_BF16);
    assert_int_equal(compression_wire(&tenth), WIRE_F32);
}

UNIT_TEST(wrong_names_are_refused)
{
    static const char *const wrong[] = { "topk:0", "topk:-0.1", "topk:0.51", "topk:nan", "topk:", "topk:0.1x", "" };
    struct compression c = bf16;

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(compression_parse(&c, wrong[i]), RC_INVAL);
    assert_int_equal(compression_parse(&c, "fp61"), RC_INVAL);
    assert_string_equal(rc_message(), "--compression fp61: must be none, fp16, bf16 or topk:F; did you mean fp16?");
    assert_int_equal(compression_parse(&c, "topk"), RC_INVAL);
    assert_int_equal(c.kind, COMPRESSION_BF16);
}

UNIT_TEST(as_many_pairs_as_the_part_says)
{
    static const struct compression hundredth = { COMPRESSION_TOPK, 0.01 }, third = { COMPRESSION_TOPK, 1.0 / 3 };

    assert_int_equal(compression_pairs(&hundredth, 0), 0);
    assert_int_equal(compression_pairs(&hundredth, 1), 1);
    assert_int_equal(compression_pairs(&hundredth, 100), 1);
    assert_int_equal(compression_pairs(&hundredth, 101), 2);
    assert_int_equal(compression_pairs(&hundredth, 138344128), 1383442);
    assert_int_equal(compression_pairs(&tenth, 30), 3);
    /* 0.07 x 100 is above 7 in doubles: 8 pairs would be one too many. */
    assert_int_equal(compression_pairs(&(struct compression){ COMPRESSION_TOPK, 0.07 }, 100), 7);
    assert_int_equal(compression_pairs(&third, 3), 1);
    assert_int_equal(compression_pairs(&fp16, 100), 0);
    const struct collective_call call = compression_call(&hundredth, 101, 3);
    assert_true(call.type == COLL_ALLGATHER && call.n_elems == 3 * 2 * 2 && call.wire == WIRE_F32);
    const struct collective_call narrow = compression_call(&bf16, 101, 3);
    assert_true(narrow.type == COLL_ALLREDUCE && narrow.n_elems == 101 && narrow.wire == WIRE_BF16);
}

/* --- topk --- */

static int by_magnitude(const void *a, const void *b)
{
    const float x = fabsf(*(const float *)a), y = fabsf(*(const float *)b);

    return (x < y) - (x > y);
}

/* The same by sorting; equals: the first ones. */
static void expect_taken(const float *given, size_t n, size_t k)
{
    float *sorted = malloc(n * sizeof *sorted), *left = malloc(n * sizeof *left), *taken = malloc(n * sizeof *taken);
    size_t n_above = 0, n_equal = 0;

    assert_true(sorted && left && taken);
    memcpy(sorted, given, n * sizeof *sorted);
    memcpy(left, given, n * sizeof *left);
    qsort(sorted, n, sizeof *sorted, by_magnitude);
    const float threshold = fabsf(sorted[k - 1]);
    for (size_t i = 0; i < n; i++)
        n_above += fabsf(given[i]) > threshold;
    topk_take(taken, left, n, k);
    for (size_t i = 0; i < n; i++) {
        const bool is_equal = fabsf(given[i]) == threshold && n_equal < k - n_above;
        const bool is_taken = fabsf(given[i]) > threshold || is_equal;
        n_equal += is_equal;
        assert_true(taken[i] == (is_taken ? given[i] : 0.0f));
        assert_true(left[i] == (is_taken ? 0.0f : given[i]));
    }
    free(sorted);
    free(left);
    free(taken);
}

UNIT_TEST(the_largest_are_taken)
{
    static const size_t k[] = { 1, 2, 10, 499, 999, 1000 };
    float x[N], few[N], near[N];

    for (size_t i = 0; i < N; i++) {
        x[i] = random_value(1, i);
        few[i] = (float)((int)(i * 7 % 5) - 2);           /* many equals, of both signs, and zeros */
        near[i] = 1.0f + (float)(i * 331 % N) * 0x1p-23f; /* which differ in the last bits alone */
    }
    for (size_t i = 0; i < sizeof k / sizeof *k; i++) {
        expect_taken(x, N, k[i]);
        expect_taken(few, N, k[i]);
        expect_taken(near, N, k[i]);
    }
    expect_taken(x, 1, 1);
}

UNIT_TEST(nan_is_taken_first)
{
    float left[4] = { 1.0f, INFINITY, NAN, -2.0f }, taken[4];

    topk_take(taken, left, 4, 1);
    assert_true(isnan(taken[2]) && taken[1] == 0.0f && left[2] == 0.0f && left[1] == (float)INFINITY);
}

/* --- error feedback --- */

/* Of `steps` steps: everything given is what was sent so far and what is left. */
static void check_feedback(const struct compression *c, size_t n_most)
{
    struct compute *compute = NULL;
    float residual[N] = { 0 }, before[N], grad[N];
    size_t n_sent;

    assert_int_equal(compute_open(&compute, &compute_cpu, NULL), RC_OK);
    for (uint64_t step = 0; step < 20; step++) {
        memcpy(before, residual, sizeof before);
        for (size_t i = 0; i < N; i++)
            grad[i] = random_value(step, i);
        assert_int_equal(compression_apply(c, compute, grad, residual, N), RC_OK);
        n_sent = 0;
        for (size_t i = 0; i < N; i++) {
            const float given = random_value(step, i) + before[i];
            assert_true((double)grad[i] + (double)residual[i] == (double)given); /* exchange.R1 */
            n_sent += grad[i] != 0.0f;
            if (c->kind == COMPRESSION_FP16)
                assert_true(grad[i] == f32_of_f16(f16_of_f32(given)));
            if (c->kind == COMPRESSION_BF16)
                assert_true(grad[i] == f32_of_bf16(bf16_of_f32(given)));
            if (c->kind == COMPRESSION_TOPK)
                assert_true(grad[i] == 0.0f || residual[i] == 0.0f);
        }
        assert_true(n_sent <= n_most && n_sent > n_most * 9 / 10); /* exchange.R3 */
    }
    compute_close(&compute);
}

UNIT_TEST(nothing_is_lost)
{
    check_feedback(&fp16, N);
    check_feedback(&bf16, N);
    check_feedback(&tenth, N / 10);
}

/* A gradient that 16 bits cannot hold is sent all the same, once enough of it has come together. */
UNIT_TEST(small_gradients_come_through)
{
    const struct compression *const all[] = { &fp16, &bf16 };
    struct compute *compute = NULL;
    double sent;

    assert_int_equal(compute_open(&compute, &compute_cpu, NULL), RC_OK);
    for (int i = 0; i < 2; i++) {
        float residual = 0;
        sent = 0;
        for (int step = 0; step < 4096; step++) {
            float grad = 0x1p-30f * (step == 0 ? 0x1p20f : 1.0f);
            assert_int_equal(compression_apply(all[i], compute, &grad, &residual, 1), RC_OK);
            sent += (double)grad;
        }
        assert_true(fabs(sent + (double)residual - (0x1p-10 + 4095 * 0x1p-30)) < 1e-12);
        assert_true(fabs((double)residual) <= 0x1p-25);
    }
    compute_close(&compute);
}

UNIT_TEST(none_changes_nothing)
{
    static const struct compression none = { COMPRESSION_NONE, 0 };
    float grad[2] = { 1e-30f, 3.0f };

    assert_int_equal(compression_apply(&none, NULL, grad, NULL, 2), RC_OK);
    assert_true(grad[0] == 1e-30f && grad[1] == 3.0f);
    assert_int_equal(compression_residual_bytes(&none, 100), 0);
    assert_int_equal(compression_residual_bytes(&tenth, 100), 400);
}

UNIT_TEST(pairs_there_and_back)
{
    const float sent[6] = { 0, 3.0f, 0, -1.0f, 0, NAN };
    float value[4], sum[6] = { 1, 1, 1, 1, 1, 1 };
    uint32_t index[4];

    assert_int_equal(compression_gather(index, value, 4, sent, 6), 3);
    assert_true(index[0] == 1 && index[1] == 3 && index[2] == 5);
    assert_true(value[0] == 3.0f && value[1] == -1.0f && isnan(value[2]));
    assert_int_equal(compression_gather(index, value, 2, sent, 6), 2);
    assert_true(compression_add(sum, 6, index, value, 2));
    assert_true(sum[0] == 1 && sum[1] == 4 && sum[2] == 1 && sum[3] == 0 && sum[5] == 1);
    index[0] = COMPRESSION_NO_PAIR;
    assert_true(compression_add(sum, 6, index, value, 2) && sum[1] == 4 && sum[3] == -1);
    index[0] = 6;
    assert_false(compression_add(sum, 6, index, value, 2));
    assert_true(sum[3] == -1);
}

UNIT_MAIN("compression")
