/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shard_train_test.c - --shard-dense (shard.h): losses and parameters of the unsharded training, also from a
 * checkpoint of either; what is counted.
 *
 * usage: shard_train_test
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/suite/unit.h"
#include "harness/train/suite/train_kit.h"

enum { TEXT_BYTES = 512 };
#define TOLERANCE 1e-5

static const char *const slim[] = {
    "--model lenet --batch 8 --steps 6 --threads 1",
    "--model vgg16 --width-divisor 16 --image-size 40 --classes 10 --batch 2 --steps 3 --threads 1 --eval-samples 12",
    "--model alexnet --width-divisor 16 --image-size 95 --classes 7 --batch 2 --steps 2 --threads 1",
};

static void train(struct train_result *out, const char *model, const char *more)
{
    char text[TEXT_BYTES];

    (void)snprintf(text, sizeof text, "%s --mode allreduce --workers 4%s%s", model, more[0] != '\0' ? " " : "", more);
    kit_must_train(out, text);
}

static void check_alike(const char *what, const struct train_result *a, const struct train_result *b)
{
    const size_t n = (size_t)b->n_workers * b->n_steps;

    if (!(kit_distance(a, b) < TOLERANCE))
        fail_msg("%s: %g apart", what, kit_distance(a, b));
    for (size_t i = 0; i < n; i++)
        if (!(fabs(a->stamp[i].loss - b->stamp[i].loss) < TOLERANCE * b->stamp[i].loss))
            fail_msg("%s: loss %zu is %.9g, not %.9g", what, i, a->stamp[i].loss, b->stamp[i].loss);
    if (!isnan(b->evaluation.loss) && !(fabs(a->evaluation.loss - b->evaluation.loss) < TOLERANCE * b->evaluation.loss))
        fail_msg("%s: the test loss is %.9g, not %.9g", what, a->evaluation.loss, b->evaluation.loss);
    assert_int_equal(isnan(a->evaluation.loss), isnan(b->evaluation.loss));
}

UNIT_TEST(shards_train_as_the_whole)
{
    static const struct {
        const char *whole, *cut[2];
    } how[] = { { "", { "--shard-dense 2", "--shard-dense 4" } },
                { "--accumulate 2",
                  { "--shard-dense 2 --accumulate 2",
                    "--shard-dense 4 --accumulate 2 --bucket-bytes 4096 --partition-bytes 1024" } },
                { "--optimizer adam --lr 0.001",
                  { "--shard-dense 2 --reducer halving-doubling --optimizer adam --lr 0.001", NULL } } };

    for (size_t m = 0; m < sizeof slim / sizeof *slim; m++)
        for (size_t i = 0; i < sizeof how / sizeof *how; i++) {
            struct train_result one;
            train(&one, slim[m], how[i].whole);
            for (size_t k = 0; k < 2 && how[i].cut[k]; k++) {
                struct train_result cut;
                train(&cut, slim[m], how[i].cut[k]);
                check_alike(how[i].cut[k], &cut, &one);
                train_result_free(&cut);
            }
            train_result_free(&one);
        }
}

/* train.H3: 3 steps one way, 3 the other, against 6. */
UNIT_TEST(checkpoints_are_of_the_whole)
{
    static const char *const cut[] = { "", "--shard-dense 2", "--shard-dense 4" };
    static const char model[] = "--model lenet --batch 8 --threads 1";
    struct train_result whole;
    char path[] = "/tmp/gradmark-shard.XXXXXX", text[TEXT_BYTES];

    kit_make_file(path);
    train(&whole, model, "--steps 6");
    for (size_t a = 0; a < sizeof cut / sizeof *cut; a++) {
        struct train_result first;
        (void)snprintf(text, sizeof text, "--steps 3 --save %s%s%s", path, cut[a][0] != '\0' ? " " : "", cut[a]);
        train(&first, model, text);
        assert_int_equal(first.final.n_params, whole.final.n_params);
        assert_int_equal(checkpoint_save(&first.final, path, NULL, NULL), RC_OK);
        for (size_t b = 0; b < sizeof cut / sizeof *cut; b++) {
            struct train_result second;
            (void)snprintf(text, sizeof text, "--steps 6 --resume %s%s%s", path, cut[b][0] != '\0' ? " " : "", cut[b]);
            train(&second, model, text);
            if (!(kit_distance(&second, &whole) < TOLERANCE))
                fail_msg("'%s', then '%s': %g apart", cut[a], cut[b], kit_distance(&second, &whole));
            train_result_free(&second);
        }
        train_result_free(&first);
    }
    train_result_free(&whole);
    (void)unlink(path);
}

/* train.L3: with the same shards the bits are those of a run that never stopped. */
UNIT_TEST(a_sharded_run_goes_on_alike)
{
    char path[] = "/tmp/gradmark-shard.XXXXXX";

    kit_make_file(path);
    kit_goes_on_alike("--model lenet --batch 8 --threads 1 --mode allreduce --workers 4 --shard-dense 2", 2, 5, path);
    (void)unlink(path);
}

/* lenet, 4 workers in shards of 4: 160 + 4640 parameters of convolutions; fc3 has 64 rows of 129, fc4 10 of 65, of
 * which the shards have 2, 3, 2, 3. What crosses: parallel_test.c, 8 images at 4 bytes. */
UNIT_TEST(figures_are_known)
{
    struct train_result r;

    train(&r, "--model lenet --batch 8 --threads 1 --steps 3", "--shard-dense 4");
    for (uint64_t k = 0; k < 4; k++) {
        const uint64_t n_rows = 2 + k % 2, B = 8;
        assert_int_equal(r.shard[k].n_params, 4800 + 16 * 129 + n_rows * 65);
        assert_int_equal(r.shard[k].gathered_bytes, 3 * 4 * B * 3 * (128 + 4 * 16 + 4 * n_rows));
        assert_int_equal(r.shard[k].scattered_bytes, 3 * 4 * B * (3 * 128 + 4 * 48));
    }
    train_result_free(&r);
}

/* A shard of vgg16 has a quarter of 123642856 parameters less fc8's rest; what a worker plans is less by as much. */
UNIT_TEST(memory_is_of_a_shard)
{
    static const char model[] = "--model vgg16 --mode allreduce --batch 1 --threads 1 --workers 4 --image-size 32";
    struct train_job whole, cut;
    char text[TEXT_BYTES];

    assert_int_equal(kit_prepare(&whole, model), RC_OK);
    (void)snprintf(text, sizeof text, "%s --shard-dense 4", model);
    assert_int_equal(kit_prepare(&cut, text), RC_OK);
    assert_int_equal(cut.n_params, whole.n_params);
    const size_t n_gone = 3 * (size_t)123642856 / 4; /* parameters, gradients, velocity */
    assert_int_equal(whole.memory.params_bytes - cut.memory.params_bytes, 3 * sizeof(float) * n_gone);
    train_job_free(&whole);
    train_job_free(&cut);
}

UNIT_MAIN("shard_train")
