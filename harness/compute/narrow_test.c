/* SPDX-License-Identifier: Apache-2.0 */
/*
 * narrow_test.c - compute.H1 and H2 over all 65,536 values of both formats, the middles between neighbours and the
 * floats beside these; then every build of the loops that this CPU can run, against the functions.
 */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "harness/base/suite/unit.h"
#include "harness/compute/cpu/kernels.h"
#include "harness/compute/narrow.h"

enum { N_HALVES = 65536, N_POSITIVE = 32768, N_VALUES = 5 * N_POSITIVE * 2 };

static uint16_t narrowed(float x, enum wire_format format)
{
    return format == WIRE_F16 ? f16_of_f32(x) : bf16_of_f32(x);
}

static float widened(uint16_t half, enum wire_format format)
{
    return format == WIRE_F16 ? f32_of_f16(half) : f32_of_bf16(half);
}

static int fraction_bits(enum wire_format format)
{
    return format == WIRE_F16 ? 10 : 7;
}

static uint16_t infinity_of(enum wire_format format)
{
    return format == WIRE_F16 ? 0x7c00 : 0x7f80;
}

/* By the definition of both formats, for half below infinity. */
static double value_of(uint16_t half, enum wire_format format)
{
    const int n_fraction = fraction_bits(format), bias = format == WIRE_F16 ? 15 : 127;
    const int exponent = half >> n_fraction, fraction = half & ((1 << n_fraction) - 1);

    return exponent == 0 ? ldexp(fraction, 1 - bias - n_fraction)
                         : ldexp(fraction + (1 << n_fraction), exponent - bias - n_fraction);
}

UNIT_TEST(every_value_is_exact_and_comes_back)
{
    for (enum wire_format format = WIRE_F16; format <= WIRE_BF16; format++)
        for (uint32_t half = 0; half <= infinity_of(format); half++) {
            const float x = widened((uint16_t)half, format);
            const double want = half == infinity_of(format) ? (double)INFINITY : value_of((uint16_t)half, format);
            assert_true((double)x == want);
            assert_true((double)widened((uint16_t)(half | 0x8000), format) == -want);
            assert_int_equal(narrowed(x, format), half);
            assert_int_equal(narrowed(-x, format), half | 0x8000);
            assert_true(signbit(widened((uint16_t)(half | 0x8000), format)));
        }
}

UNIT_TEST(the_nearest_and_of_two_the_even_one)
{
    for (enum wire_format format = WIRE_F16; format <= WIRE_BF16; format++)
        for (uint16_t half = 0; half + 1 < infinity_of(format); half++) {
            const float below = widened(half, format), above = widened(half + 1, format);
            const float middle = (float)(((double)below + (double)above) / 2);
            const uint16_t even = half % 2 == 0 ? half : half + 1;
            assert_true((double)middle == ((double)below + (double)above) / 2);
            assert_int_equal(narrowed(middle, format), even);
            assert_int_equal(narrowed(-middle, format), even | 0x8000);
            assert_int_equal(narrowed(nextafterf(middle, INFINITY), format), half + 1);
            assert_int_equal(narrowed(nextafterf(middle, 0), format), half);
            assert_int_equal(narrowed(-nextafterf(middle, INFINITY), format), (half + 1) | 0x8000);
        }
}

UNIT_TEST(what_is_too_large_is_the_largest)
{
    static const float large[] = { 65504.0f, 65519.9f, 65520.0f, 65536.0f, 1e6f, 1e30f, 3.402823466e38f };

    for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
        assert_true(widened(narrowed(large[i], WIRE_F16), WIRE_F16) == 65504.0f);
        assert_true(widened(narrowed(-large[i], WIRE_F16), WIRE_F16) == -65504.0f);
    }
    assert_int_equal(narrowed(3.402823466e38f, WIRE_BF16), 0x7f7f);
    assert_int_equal(narrowed(-3.402823466e38f, WIRE_BF16), 0xff7f);
}

UNIT_TEST(nan_and_infinity_stay)
{
    static const uint32_t nan[] = { 0x7f800001, 0x7fc00000, 0x7fffffff, 0x7f802000, 0xff800001, 0xffffffff };

    for (enum wire_format format = WIRE_F16; format <= WIRE_BF16; format++) {
        for (size_t i = 0; i < sizeof nan / sizeof *nan; i++)
            assert_true(isnan(widened(narrowed(f32_of_bits(nan[i]), format), format)));
        assert_true(widened(narrowed(INFINITY, format), format) == INFINITY);
        assert_true(widened(narrowed(-INFINITY, format), format) == -INFINITY);
        for (uint32_t half = infinity_of(format) + 1u; half < 0x8000; half++)
            assert_true(isnan(widened((uint16_t)half, format)));
    }
}

/* --- the loops --- */

extern const struct cpu_kernels cpu_kernels_base;
#if GRADMARK_X86_KERNELS
extern const struct cpu_kernels cpu_kernels_avx2, cpu_kernels_avx512;
#endif

/* Every build for this CPU; NULL behind the last. */
static const struct cpu_kernels *build_at(int i)
{
    const struct cpu_kernels *all[4] = { &cpu_kernels_base };
#if GRADMARK_X86_KERNELS
    int n = 1;

    if (__builtin_cpu_supports("avx2"))
        all[n++] = &cpu_kernels_avx2;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl"))
        all[n] = &cpu_kernels_avx512;
#endif
    return all[i];
}

/* x[N_VALUES]: each value of the format, the middle to the next one, the floats beside that, and a float beyond. */
static void fill(float *x, enum wire_format format)
{
    for (uint32_t half = 0; half < N_POSITIVE; half++) {
        const float value = widened((uint16_t)half, format);
        const float middle = value / 2 + widened((uint16_t)((half + 1) & 0x7fff), format) / 2;
        const float five[] = { value, middle, nextafterf(middle, 0), nextafterf(middle, INFINITY), value * 70000.0f };
        for (int i = 0; i < 5; i++) {
            x[(5 * half + (uint32_t)i) * 2] = five[i];
            x[(5 * half + (uint32_t)i) * 2 + 1] = -five[i];
        }
    }
}

static bool same(float x, float y)
{
    return f32_bits(x) == f32_bits(y);
}

static void check_loops(const struct cpu_kernels *k, enum wire_format format, const float *x)
{
    uint16_t *half = calloc(N_VALUES, sizeof *half), *all = calloc(N_HALVES, sizeof *all);
    float *wide = calloc(N_VALUES, sizeof *wide), *sum = calloc(N_VALUES, sizeof *sum);

    assert_true(half && all && wide && sum);
    k->narrow[format](half, x, N_VALUES);
    for (size_t i = 0; i < N_VALUES; i++)
        assert_int_equal(half[i], narrowed(x[i], format));
    for (uint32_t i = 0; i < N_HALVES; i++) {
        all[i] = (uint16_t)i;
        sum[i] = 1.5f;
    }
    k->widen[format](wide, all, N_HALVES);
    k->widen_add[format](sum, all, N_HALVES);
    for (uint32_t i = 0; i < N_HALVES; i++) {
        const float value = widened((uint16_t)i, format);
        assert_true(same(wide[i], value));
        assert_true(isnan(value) ? isnan(sum[i]) : same(sum[i], 1.5f + value));
    }
    for (size_t i = 0; i < N_VALUES; i++) {
        wide[i] = x[i];
        sum[i] = x[(i + 7) % N_VALUES] * 0.001f;
    }
    k->round[format](wide, sum, N_VALUES);
    for (size_t i = 0; i < N_VALUES; i++) {
        const float given = x[i] + x[(i + 7) % N_VALUES] * 0.001f, sent = widened(narrowed(given, format), format);
        assert_true(isnan(given) ? isnan(wide[i]) : same(wide[i], sent));
        if (isfinite(given))
            assert_true(same(sum[i], given - sent));
        if (fabsf(given) <= widened(infinity_of(format) - 1, format))
            assert_true((double)wide[i] + (double)sum[i] == (double)given); /* nothing is lost */
    }
    for (size_t i = 0; i < N_VALUES; i++)
        wide[i] = x[i];
    k->round[format](wide, NULL, N_VALUES);
    for (size_t i = 0; i < N_VALUES; i++)
        assert_true(same(wide[i], widened(narrowed(x[i], format), format)));
    free(half);
    free(all);
    free(wide);
    free(sum);
}

UNIT_TEST(all_builds_agree)
{
    float *x = calloc(N_VALUES, sizeof *x);

    assert_non_null(x);
    for (enum wire_format format = WIRE_F16; format <= WIRE_BF16; format++) {
        fill(x, format);
        for (int i = 0; build_at(i); i++)
            check_loops(build_at(i), format, x);
    }
    free(x);
}

UNIT_MAIN("narrow")
