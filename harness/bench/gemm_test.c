/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemm_test.c - rates of a compute whose work takes a known time on a made-up clock (the hollow backend charges flops
 * and bytes). Of a real clock only that there is a rate.
 */
#include "harness/base/suite/unit.h"
#include "harness/bench/gemm.h"

#include <math.h>

struct made_world {
    struct world base; /* first */
    uint64_t now_ns;
    int n_charges;
    double flops_per_ns, bytes_per_ns;
};

static uint64_t now_ns(struct world *w)
{
    return ((struct made_world *)w)->now_ns;
}

static const struct world_ops WORLD = { .module.name = "made", .now_ns = now_ns };

/* Products take their flops' time, sums their bytes'; the first of each takes twice as long. */
static void charge(void *arg, double flops, double bytes)
{
    struct made_world *w = arg;
    const double ns = w->flops_per_ns > 0 ? flops / w->flops_per_ns : bytes / w->bytes_per_ns;

    w->now_ns += (uint64_t)(w->n_charges++ == 0 ? 2 * ns : ns);
}

static struct compute *opened(struct made_world *w)
{
    struct compute *c = NULL;

    w->base.ops = &WORLD;
    assert_int_equal(compute_open(&c, &compute_hollow, &(struct compute_env){ .charge = charge, .arg = w }), RC_OK);
    return c;
}

UNIT_TEST(the_fastest_product_counts)
{
    struct made_world w = { .flops_per_ns = 64 };
    struct compute *c = opened(&w);
    double flops_per_s;

    assert_int_equal(gemm_peak_flops_per_s(&flops_per_s, &w.base, c, 64), RC_OK);
    assert_true(fabs(flops_per_s - 64e9) < 1e-3 * 64e9); /* the clock counts whole ns, of which a product takes 8192 */
    assert_int_equal(w.n_charges, 6);                    /* 3 products, 3 convolutions */
    compute_close(&c);
}

/* 2 x 1024^3 flops take 34 ms at 64 flops a ns: 2048 rows are tried, and are enough. */
UNIT_TEST(matrices_grow_while_there_is_time)
{
    struct made_world w = { .flops_per_ns = 64 };
    struct compute *c = opened(&w);
    double flops_per_s;

    assert_int_equal(gemm_peak_flops_per_s(&flops_per_s, &w.base, c, 8192), RC_OK);
    assert_int_equal(w.n_charges, 6 + 6);
    w.n_charges = 0;
    w.flops_per_ns = 16; /* 134 ms */
    assert_int_equal(gemm_peak_flops_per_s(&flops_per_s, &w.base, c, 8192), RC_OK);
    assert_int_equal(w.n_charges, 6);
    compute_close(&c);
}

UNIT_TEST(a_stream_is_three_arrays)
{
    struct made_world w = { .bytes_per_ns = 3 };
    struct compute *c = opened(&w);
    double bytes_per_s;

    assert_int_equal(stream_peak_bytes_per_s(&bytes_per_s, &w.base, c, 1 << 20), RC_OK);
    assert_true(fabs(bytes_per_s - 3e9) < 1);
    assert_int_equal(w.n_charges, 3);
    assert_int_equal(w.now_ns, 4 << 20); /* of 1 MiB each, at 3 bytes a ns; the first at half the rate */
    compute_close(&c);
}

/* --- operands --- */

static int n_checked;

/* x[n]: finite, of both signs, seldom the same twice. */
static void assert_random(const float *x, size_t n)
{
    size_t n_negative = 0, n_same = 0;

    for (size_t i = 0; i < n; i++) {
        assert_true(fabsf(x[i]) <= 1.0f);
        n_negative += x[i] < 0.0f;
        n_same += i > 0 && x[i] == x[i - 1];
    }
    assert_true(n_negative > n / 3 && n_negative < n - n / 3 && n_same < n / 10);
    n_checked++;
}

static void check_gemm(struct compute *c, const struct gemm *op)
{
    (void)c;
    assert_random(op->a, (size_t)op->M * (size_t)op->K);
    assert_random(op->b, (size_t)op->K * (size_t)op->N);
}

static void check_conv(struct compute *c, const struct conv_forward *op)
{
    const size_t n = (size_t)op->shape.in.C * (size_t)op->shape.in.W;

    (void)c;
    assert_random(op->x, n);
    assert_random(op->weight, n);
}

static void check_accumulate(struct compute *c, float *y, const float *x, size_t n)
{
    (void)c;
    assert_random(y, n);
    assert_random(x, n);
}

UNIT_TEST(operands_are_random)
{
    struct made_world w = { .base.ops = &WORLD, .flops_per_ns = 1 };
    struct compute_backend b = compute_cpu;
    struct compute *c = NULL;
    double rate;

    b.gemm = check_gemm;
    b.conv = check_conv;
    b.accumulate = check_accumulate;
    assert_int_equal(compute_open(&c, &b, &(struct compute_env){ .charge = charge, .arg = &w }), RC_OK);
    assert_int_equal(gemm_peak_flops_per_s(&rate, &w.base, c, 600), RC_OK); /* more than is made at a time */
    assert_int_equal(n_checked, 2 * 6);
    w.flops_per_ns = 0;
    w.bytes_per_ns = 1;
    assert_int_equal(stream_peak_bytes_per_s(&rate, &w.base, c, 1 << 20), RC_OK);
    assert_int_equal(n_checked, 2 * 6 + 2 * 3);
    compute_close(&c);
}

UNIT_TEST(this_machine_has_a_rate)
{
    double flops_per_s = 0;

    assert_int_equal(gemm_flops_per_s(&flops_per_s), RC_OK);
    assert_true(isfinite(flops_per_s) && flops_per_s > 0);
}

UNIT_MAIN("gemm")
