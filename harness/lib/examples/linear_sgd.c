/* SPDX-License-Identifier: Apache-2.0 */
/*
 * linear_sgd.c - a line through 1000 points by as many workers as there are. The lines marked (1) to (5) are what a
 * program of one process has to add.
 *
 *     cc linear_sgd.c $(pkg-config --cflags --libs gradmark) -o linear_sgd && mpirun -n 2 ./linear_sgd
 */
#include <gradmark.h>
#include <stdio.h>
#include <stdlib.h>

enum { N_SAMPLES = 1000, SLOPE = 0, OFFSET = 1, N_PARAMS = 2, N_STEPS = 150 };

/* grad := of the mean square of what the line misses, over n samples; returns that mean. */
static double gradient(float *grad, const float *param, const float *x, const float *y, int n)
{
    double slope = 0, offset = 0, loss = 0;

    for (int i = 0; i < n; i++) {
        const double missed = param[SLOPE] * x[i] + param[OFFSET] - y[i];
        slope += 2 * missed * x[i] / n;
        offset += 2 * missed / n;
        loss += missed * missed / n;
    }
    grad[SLOPE] = (float)slope;
    grad[OFFSET] = (float)offset;
    return loss;
}

static void check(int error)
{
    if (error == GM_OK)
        return;
    fprintf(stderr, "linear_sgd: %s: %s\n", gm_error_name(error), gm_message());
    exit(EXIT_FAILURE);
}

int main(void)
{
    float x[N_SAMPLES], y[N_SAMPLES], param[N_PARAMS], grad[N_PARAMS];
    struct gm_job *job;
    double loss = 0;

    check(gm_init(&job, NULL)); /* (1) */
    check(gm_line(x, y, N_SAMPLES, 1));
    const int n = N_SAMPLES / gm_size(job), first = gm_rank(job) * n; /* (2) of the samples, a part for each worker */
    param[SLOPE] = (float)gm_rank(job);                               /* everybody begins elsewhere, */
    param[OFFSET] = 0.25f;
    check(gm_broadcast(job, param, N_PARAMS, 0)); /* (3) but for this */
    for (int step = 0; step < N_STEPS; step++) {
        loss = gradient(grad, param, x + first, y + first, n);
        check(gm_allreduce(job, grad, N_PARAMS, GM_AVERAGE)); /* (4) */
        for (int i = 0; i < N_PARAMS; i++)
            param[i] -= 0.5f * grad[i];
    }
    if (gm_rank(job) == 0) /* (5) one of them says what all have */
        printf("slope=%.6f offset=%.6f loss=%.6f workers=%d\n", param[SLOPE], param[OFFSET], loss, gm_size(job));
    check(gm_finalize(&job));
    return EXIT_SUCCESS;
}
