/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shard_overlap_test.c - --shard-dense with --overlap on (train.H4; exchange.E14): the bits of a run without
 * overlap, whatever ranks wait for, in threads and sim; what is refused.
 *
 * usage: shard_overlap_test [NUMBER]; with one: these options in sim
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/suite/names.h"
#include "harness/base/suite/unit.h"
#include "harness/train/suite/train_kit.h"

enum { TEXT_BYTES = 512 };
#define LENET "--model lenet --batch 4 --steps 4 --momentum 0.9 --bucket-bytes 8000"
#define SLIM_VGG                                                                                              \
    "--model vgg16 --width-divisor 16 --image-size 40 --classes 10 --batch 2 --steps 2 --bucket-bytes 30000 " \
    "--eval-samples 0"

static const char *const options_of[] = {
    LENET " --workers 2 --shard-dense 2",
    LENET " --workers 4 --shard-dense 2 --partition-bytes 3000",
    "--model lenet --batch 4 --steps 4 --bucket-bytes 8000 --workers 4 --shard-dense 4 --accumulate 2 --optimizer adam "
    "--lr 0.001",
    LENET " --workers 6 --shard-dense 3 --reducer halving-doubling --partition-bytes 1000",
    SLIM_VGG " --workers 2 --shard-dense 2",
    SLIM_VGG " --workers 4 --shard-dense 2 --accumulate 2",
    LENET " --workers 2 --stages 2 --shard-dense 2 --accumulate 2",
    LENET " --workers 4 --stages 2 --shard-dense 2 --accumulate 4 --schedule gpipe",
};
enum { N_OPTIONS = sizeof options_of / sizeof *options_of };

static const char *world = "threads";
static size_t in_sim; /* of options_of */

static void run(struct train_result *out, const char *options, const char *more)
{
    char text[TEXT_BYTES];

    (void)snprintf(text, sizeof text, "%s --mode allreduce --threads 1 --world %s %s", options, world, more);
    if (strstr(options, "--stages")) {
        if (kit_train_stages(out, text, NULL) != RC_OK)
            fail_msg("%s: %s", text, rc_message());
    } else {
        kit_must_train(out, text);
    }
}

static void check_same(const char *options, const char *way, const struct train_result *a, const struct train_result *b)
{
    assert_int_equal(a->final.n_params, b->final.n_params);
    if (memcmp(a->final.param, b->final.param, a->final.n_params * sizeof(float)) != 0)
        fail_msg("%s, %s: other parameters", options, way);
    if (!kit_same_kept(&a->final, &b->final))
        fail_msg("%s, %s: the optimiser has kept something else", options, way);
    for (size_t i = 0; i < (size_t)a->n_workers * a->n_steps; i++)
        if (a->stamp[i].loss != b->stamp[i].loss)
            fail_msg("%s, %s: another loss", options, way);
}

UNIT_TEST(the_bits_are_those_without_overlap)
{
    static const char *const ways[] = { "--overlap on", "--overlap on --inject rank:1=0.3",
                                        "--overlap on --priority on" };

    for (size_t i = 0; i < N_OPTIONS; i++) {
        struct train_result off;
        run(&off, options_of[i], "--overlap off");
        assert_false(off.overlap.overlaps);
        for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
            struct train_result on;
            const bool differ = strstr(options_of[i], "--shard-dense 3"), is_pipe = strstr(options_of[i], "--stages");
            if ((differ && strstr(ways[k], "--priority")) || (strstr(ways[k], "--inject") && (is_pipe || i % 2 == 0)))
                continue;
            run(&on, options_of[i], ways[k]);
            assert_true(on.overlap.overlaps);
            check_same(options_of[i], ways[k], &on, &off);
            train_result_free(&on);
        }
        train_result_free(&off);
    }
}

/* The 10 outputs of fc4 are 3, 3 and 4 rows of 65 parameters: chunks of 1024 bytes are not equally many. */
UNIT_TEST(an_order_that_shards_cannot_have_is_refused)
{
    static const char options[] = "--model lenet --mode allreduce --workers 3 --shard-dense 3 --partition-bytes 1024 "
                                  "--overlap on --priority ";
    char text[TEXT_BYTES];
    struct train_job job = { 0 };

    (void)snprintf(text, sizeof text, "%son", options);
    assert_int_equal(kit_prepare(&job, text), RC_INVAL);
    assert_names(
        rc_message(),
        "--priority on: ... --overlap on ... shard 2 ... --shard-dense 3 ... 32 ... shard 0 ... 31 ... --priority off");
    for (size_t i = 0; i < 2; i++) {
        (void)snprintf(text, sizeof text, "%s%s", options, i == 0 ? "off" : "auto");
        assert_int_equal(kit_prepare(&job, text), RC_OK);
        train_job_free(&job);
    }
}

/* In sim, where a process has one run: with overlap, some of the exchange hidden, the bits of threads without. */
UNIT_TEST_OF("sim", in_virtual_time_too)
{
    struct train_result off, on;
    uint64_t hidden_ns = 0;

    world = "threads";
    run(&off, options_of[in_sim], "--overlap off");
    world = "sim";
    run(&on, options_of[in_sim], "--cluster-set ranks_per_host_count=1 --overlap on");
    check_same(options_of[in_sim], "sim", &on, &off);
    for (size_t i = 0; i < (size_t)on.n_workers * on.n_steps; i++)
        hidden_ns += on.stamp[i].hidden_ns;
    assert_true(hidden_ns > 0);
    train_result_free(&on);
    train_result_free(&off);
}

int main(int argc, char **argv)
{
    in_sim = argc > 1 ? (size_t)atoi(argv[1]) : 0;
    return in_sim >= N_OPTIONS || unit_run("shard_overlap", argc > 1 ? "sim" : NULL, NULL, NULL);
}
