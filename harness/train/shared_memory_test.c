/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shared_memory_test.c - with parameters in memory that workers share (--reducer shm) training ends in the bits of
 * private memory (--reducer root, which adds in the same order); with a planted bug it does not. The other worlds:
 * verbs/shared_memory_cli_test.
 */
#include <stdio.h>
#include <string.h>

#include "harness/base/suite/unit.h"
#include "harness/train/suite/sync_mutants.h"
#include "harness/train/suite/train_kit.h"

enum { N_STEPS = 8, TEXT_BYTES = 512 };

static void train(struct train_result *out, const char *options, const char *reducer, const struct sync_mode *mode)
{
    char text[TEXT_BYTES];

    snprintf(text, sizeof text, "%s --steps %d --reducer %s", options, N_STEPS, reducer);
    if (kit_train(out, text, mode, 0) != RC_OK)
        fail_msg("%s: %s", text, rc_message());
}

static bool same(const struct train_result *a, const struct train_result *b)
{
    const size_t n_bytes = a->final.n_params * sizeof(float);
    bool equal = a->final.n_params == b->final.n_params && memcmp(a->final.param, b->final.param, n_bytes) == 0 &&
                 kit_same_kept(&a->final, &b->final);

    for (int step = 0; step < N_STEPS; step++)
        equal = equal && a->stamp[step].loss == b->stamp[step].loss;
    return equal;
}

static void check(const char *options)
{
    struct train_result private = { 0 }, shared = { 0 };

    train(&private, options, "root", NULL);
    train(&shared, options, "shm", NULL);
    if (!same(&private, &shared))
        fail_msg("%s: shared memory ends in other bits", options);
    assert_int_equal(private.rank[0].memory.kind, MEMORY_PRIVATE);
    assert_int_equal(shared.rank[0].memory.kind, MEMORY_SHARED);
    assert_string_equal(shared.rank[0].memory.way, "address space");
    train_result_free(&private);
    train_result_free(&shared);
}

UNIT_TEST(bits_are_equal)
{
    static const char *const runs[] = {
        "--model lenet --mode allreduce --workers 3 --momentum 0.9",
        "--model lenet --mode allreduce --workers 3 --momentum 0.9 --overlap on --bucket-bytes 8000 --priority on",
        "--model resnet8 --image-size 16 --width-divisor 2 --batch 4 --mode allreduce --workers 2",
    };

    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++)
        check(runs[i]);
}

/* The comparison can fail. */
UNIT_TEST(a_planted_bug_is_found)
{
    static const char options[] = "--model lenet --mode allreduce --workers 2 --momentum 0.9";
    struct train_result right = { 0 }, wrong = { 0 };
    struct sync_mode mutant;

    (void)sync_mutant(&mutant, 0);
    train(&right, options, "shm", NULL);
    train(&wrong, options, "shm", &mutant);
    assert_false(same(&right, &wrong));
    train_result_free(&right);
    train_result_free(&wrong);
}

UNIT_MAIN("shared memory")
