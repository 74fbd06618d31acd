/* SPDX-License-Identifier: Apache-2.0 */
/* gemm.c - the speed of matrix products and of memory; see gemm.h. */
#include "harness/bench/gemm.h"

#include <math.h>
#include <stdlib.h>

#include "harness/base/rng.h"
#include "harness/world/wait.h"

enum { SIDE = 256, N_TRIES = 3 };

#define MEASURE_NS UINT64_C(20000000)

/* Not zeros: a unit that multiplies zeros needs less power, and a GPU then runs at a higher clock than
 * any work lets it. */
enum rc gemm_fill(struct compute *c, float *to, size_t n)
{
    const size_t most = n < (1 << 18) - 5 ? n : (1 << 18) - 5; /* odd: rows of a matrix differ */
    float *host;

    if (!c->ops->touches_memory)
        return RC_OK;
    host = malloc(most * sizeof *host);
    if (!host)
        return rc_raise(RC_NOMEM, "no memory for %zu random numbers", most);
    for (size_t i = 0; i < most; i++)
        host[i] = (float)(2.0 * rng_uniform(0, RNG_PATTERN, i) - 1.0);
    for (size_t done = 0; done < n; done += most)
        compute_put(c, to + done, host, (n - done < most ? n - done : most) * sizeof *host);
    free(host);
    return RC_OK;
}

/* a, b, c (SIDE,SIDE). */
enum rc gemm_flops_per_s(double *out)
{
    const size_t n = (size_t)SIDE * SIDE;
    struct compute *c = NULL;
    void *memory = NULL;
    uint64_t best_ns = UINT64_MAX;
    enum rc rc;

    TRY(compute_open(&c, &compute_cpu, NULL));
    TRY(compute_memory_open(c, &memory, 3 * n * sizeof(float), "GEMM to judge this machine by"));
    float *a = memory;
    TRY(gemm_fill(c, a, 2 * n));
    const struct gemm g = { .M = SIDE, .N = SIDE, .K = SIDE, .a = a, .b = a + n, .c = a + 2 * n };
    compute_gemm(c, &g); /* the library's first one compiles its kernels, which can take longer than all others */
    TRY(compute_sync(c));
    for (const uint64_t started_ns = wait_clock_ns(); wait_clock_ns() - started_ns < MEASURE_NS;) {
        const uint64_t before_ns = wait_clock_ns();
        compute_gemm(c, &g);
        TRY(compute_sync(c));
        const uint64_t spent_ns = wait_clock_ns() - before_ns;
        best_ns = spent_ns < best_ns ? spent_ns : best_ns;
    }
    *out = 2.0 * SIDE * (double)n / ((double)best_ns * 1e-9);
out:
    if (c)
        compute_memory_close(c, &memory);
    compute_close(&c);
    return rc;
}

static double seconds_since(struct world *w, uint64_t started_ns)
{
    return (double)(world_now_ns(w) - started_ns) * 1e-9;
}

/* x, y, z (M,M): z = x y as a product, and as M 1x1 filters on a 1 x M image of M channels. */
static enum rc square_flops_per_s(double *out, struct world *w, struct compute *c, int M)
{
    const size_t n = (size_t)M * (size_t)M;
    void *x = NULL, *y = NULL, *z = NULL;
    enum rc rc;

    *out = 0;
    TRY(compute_memory_open(c, &x, n * sizeof(float), "a matrix"));
    TRY(compute_memory_open(c, &y, n * sizeof(float), "a matrix"));
    TRY(compute_memory_open(c, &z, n * sizeof(float), "a matrix"));
    TRY(gemm_fill(c, x, n));
    TRY(gemm_fill(c, y, n));
    const struct gemm product = { .M = M, .N = M, .K = M, .a = x, .b = y, .c = z };
    const struct conv_forward conv = { .shape = { { 1, M, 1, M, 1, 1, 1, 1, 0, 0 }, M }, .y = z, .x = x, .weight = y };
    for (int i = 0; i < 2 * N_TRIES; i++) {
        const uint64_t started_ns = world_now_ns(w);
        if (i % 2 == 0)
            compute_gemm(c, &product);
        else
            compute_conv(c, &conv);
        TRY(compute_sync(c));
        *out = fmax(*out, 2.0 * M * M * M / seconds_since(w, started_ns));
    }
out:
    compute_memory_close(c, &x);
    compute_memory_close(c, &y);
    compute_memory_close(c, &z);
    return rc;
}

enum rc gemm_peak_flops_per_s(double *out, struct world *w, struct compute *c, int largest_matrix)
{
    double peak_flops_per_s = 0;
    enum rc rc = RC_OK;

    for (int M = largest_matrix < 1024 ? largest_matrix : 1024; M <= largest_matrix; M *= 2) {
        double flops_per_s;
        TRY(square_flops_per_s(&flops_per_s, w, c, M));
        peak_flops_per_s = fmax(peak_flops_per_s, flops_per_s);
        if (2.0 * M * M * M / flops_per_s > 0.05)
            break;
    }
    *out = peak_flops_per_s;
out:
    return rc;
}

enum rc stream_peak_bytes_per_s(double *out, struct world *w, struct compute *c, size_t n_bytes)
{
    const size_t available_bytes = c->ops->memory_available ? c->ops->memory_available(c) : SIZE_MAX;
    const size_t n_elems = (available_bytes / 8 < n_bytes ? available_bytes / 8 : n_bytes) / sizeof(float);
    void *x = NULL, *y = NULL;
    double peak_bytes_per_s = 0;
    enum rc rc;

    TRY(compute_memory_open(c, &x, n_elems * sizeof(float), "a stream"));
    TRY(compute_memory_open(c, &y, n_elems * sizeof(float), "a stream"));
    TRY(gemm_fill(c, x, n_elems));
    TRY(gemm_fill(c, y, n_elems));
    for (int i = 0; i < N_TRIES; i++) {
        const uint64_t started_ns = world_now_ns(w);
        compute_accumulate(c, y, x, n_elems);
        TRY(compute_sync(c));
        peak_bytes_per_s =
            fmax(peak_bytes_per_s, 3.0 * (double)(n_elems * sizeof(float)) / seconds_since(w, started_ns));
    }
    *out = peak_bytes_per_s;
out:
    compute_memory_close(c, &x);
    compute_memory_close(c, &y);
    return rc;
}
