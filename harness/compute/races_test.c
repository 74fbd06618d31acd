/* SPDX-License-Identifier: Apache-2.0 */
/*
 * races_test.c OPERATION [joined] - a thread calls an operation, and another one writes an array of its meanwhile,
 * which ThreadSanitizer is to report although it does not see the loops (compute_operations.c); joined: when the
 * operation is done, which it is not to.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/suite/unit.h"
#include "harness/compute/compute.h"

enum { N = 1024 };

static const char *operation = "";
static bool joins;

struct arrays {
    struct compute *c;
    float *at[3];
};

static void conv(struct arrays *a)
{
    const struct conv_shape shape = { .in = { 1, 4, 16, 16, 1, 1, 1, 1, 0, 0 }, .C_out = 4 };

    compute_conv(a->c, &(struct conv_forward){ .shape = shape, .y = a->at[0], .x = a->at[1], .weight = a->at[2] });
}

static void sgd(struct arrays *a)
{
    compute_sgd_step(a->c, a->at[0], a->at[1], a->at[2], N, &(struct sgd){ .lr = 1.0f, .momentum = 0.5f });
}

static void accumulate(struct arrays *a)
{
    compute_accumulate(a->c, a->at[0], a->at[1], N);
}

static void *call(void *arg)
{
    struct arrays *a = arg;

    if (strcmp(operation, "conv") == 0)
        conv(a);
    else if (strcmp(operation, "sgd") == 0)
        sgd(a);
    else
        accumulate(a);
    return NULL;
}

/* Writes the last value that is read, and that is written. */
UNIT_TEST(an_array_is_written_meanwhile)
{
    struct arrays a = { .c = NULL };
    pthread_t thread;

    assert_int_equal(compute_open(&a.c, &compute_cpu, NULL), RC_OK);
    for (int i = 0; i < 3; i++) {
        void *memory;
        assert_int_equal(compute_memory_open(a.c, &memory, N * sizeof(float), "an array"), RC_OK);
        a.at[i] = memory;
    }
    assert_int_equal(pthread_create(&thread, NULL, call, &a), 0);
    if (joins)
        assert_int_equal(pthread_join(thread, NULL), 0);
    a.at[1][N - 1] = 1.0f;
    if (!joins)
        assert_int_equal(pthread_join(thread, NULL), 0);
    for (int i = 0; i < 3; i++) {
        void *memory = a.at[i];
        compute_memory_close(a.c, &memory);
    }
    compute_close(&a.c);
}

int main(int argc, char **argv)
{
    operation = argc > 1 ? argv[1] : "";
    joins = argc > 2;
    return unit_run("races", NULL, NULL, NULL);
}
