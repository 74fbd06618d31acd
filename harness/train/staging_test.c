/* SPDX-License-Identifier: Apache-2.0 */
/* staging_test.c - E4: every mode, trained where the host cannot reach, ends with the bits of a plain cpu. */
#include <stdio.h>
#include <string.h>

#include "allreduce/sync_allreduce.h"
#include "harness/base/suite/unit.h"
#include "harness/compute/suite/fake_device.h"
#include "harness/exchange/exchange.h"
#include "harness/train/suite/sync_mutants.h"
#include "harness/train/suite/train_kit.h"
#include "ps/ps.h"

#define LENET "--model lenet --batch 4 "

static void train(struct train_result *out, const char *options, const struct sync_mode *mode,
                  const struct compute_backend *compute)
{
    const bool has_stages = strstr(options, "--stages") != NULL;

    if ((has_stages ? kit_train_stages(out, options, compute) : kit_train_on(out, options, mode, 3, compute)) != RC_OK)
        fail_msg("%s: %s", options, rc_message());
}

static int same(const struct train_result *a, const struct train_result *b)
{
    const size_t n_bytes = a->final.n_params * sizeof(float);

    assert_int_equal(a->final.n_params, b->final.n_params);
    assert_int_equal(a->final.n_state, b->final.n_state);
    return memcmp(a->final.param, b->final.param, n_bytes) == 0 && kit_same_kept(&a->final, &b->final) &&
           (a->final.n_state == 0 || memcmp(a->final.state, b->final.state, a->final.n_state * sizeof(float)) == 0) &&
           memcmp(&a->evaluation, &b->evaluation, sizeof a->evaluation) == 0;
}

UNIT_TEST(device_equals_host_E4)
{
    static const char *const runs[] = {
        "--model linear --mode single --steps 30 --momentum 0.9",
        LENET "--mode single --steps 20",
        LENET "--mode none --workers 2 --steps 10",
        LENET "--mode allreduce --workers 3 --steps 20 --weight-decay 0.001",
        LENET "--mode allreduce --reducer root --workers 2 --steps 10",
        LENET "--mode ps --workers 1 --servers 2 --steps 20",
        LENET "--mode allreduce --workers 3 --steps 10 --bucket-bytes 20000 --partition-bytes 4096",
        LENET "--mode ps --workers 1 --servers 2 --steps 10 --bucket-bytes 20000 --priority on",
        LENET "--forward-only --steps 4",
        "--model resnet8 --batch 4 --image-size 16 --width-divisor 4 --mode allreduce --workers 2 --steps 6"
        " --eval-samples 7",
        "--model resnet8 --batch 4 --image-size 16 --width-divisor 4 --mode ps --workers 1 --steps 6",
        /* each reducer that has bits of its own */
        LENET "--mode allreduce --reducer shm --workers 3 --steps 8",
        LENET "--mode allreduce --reducer hierarchical --workers 3 --steps 8",
        LENET "--mode allreduce --reducer tree --workers 3 --steps 8",
        LENET "--mode allreduce --reducer halving-doubling --workers 3 --steps 8",
        /* what works on the copies in between */
        LENET "--mode allreduce --workers 3 --steps 8 --compression bf16",
        LENET "--mode allreduce --workers 3 --steps 8 --compression fp16 --overlap on --bucket-bytes 20000",
        LENET "--mode allreduce --workers 3 --steps 8 --compression topk:0.1 --bucket-bytes 20000",
        LENET "--mode ps --workers 1 --servers 2 --steps 8 --compression topk:0.1",
        LENET "--mode ps --workers 1 --servers 2 --steps 9 --push-every 3 --pull-every 2",
        LENET "--mode ps --workers 2 --servers 2 --steps 8 --consistency sync --placement whole",
        LENET "--mode allreduce --workers 3 --steps 8 --average-every 3",
        LENET "--mode allreduce --workers 2 --steps 8 --split unequal:1,3",
        LENET "--mode allreduce --workers 3 --steps 8 --verify-every 3 --on-loss report --momentum 0.9",
        /* what crosses between stages and shards */
        "--model lenet --mode single --stages 3 --accumulate 2 --batch 4 --steps 6 --eval-samples 20",
        "--model resnet8 --image-size 16 --stages 2 --accumulate 4 --batch 8 --schedule gpipe --steps 3",
        "--model resnet8 --image-size 16 --stages 2 --accumulate 4 --batch 8 --recompute --steps 3",
        "--model lenet --mode allreduce --workers 2 --stages 2 --accumulate 2 --batch 4 --momentum 0.9 --steps 4",
        LENET "--mode allreduce --workers 4 --shard-dense 2 --steps 6 --eval-samples 20 --momentum 0.9",
        LENET "--mode allreduce --workers 4 --shard-dense 2 --steps 6 --overlap on --bucket-bytes 8000",
        "--model lenet --mode allreduce --workers 2 --stages 2 --shard-dense 2 --accumulate 2 --batch 4 --steps 6",
        /* the optimiser's arrays */
        LENET "--mode single --steps 8 --optimizer adam --lr 0.001",
        LENET "--mode allreduce --workers 3 --steps 8 --optimizer adam --lr 0.001 --on-loss report",
        LENET "--mode allreduce --workers 2 --steps 8 --optimizer adagrad --lr 0.01 --bucket-bytes 20000",
        LENET "--mode ps --workers 1 --servers 2 --steps 8 --optimizer adam --lr 0.001",
    };

    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        struct train_result on_host = { 0 }, on_device = { 0 };
        train(&on_host, runs[i], NULL, NULL);
        train(&on_device, runs[i], NULL, &compute_fake_device);
        if (!same(&on_host, &on_device))
            fail_msg("%s: fake device memory ends in other bits", runs[i]);
        train_result_free(&on_host);
        train_result_free(&on_device);
    }
}

/* The comparison can fail: mutants of the modes, run in fake device memory, end elsewhere. */
UNIT_TEST(mutants_are_noticed)
{
    for (int i = 0; i < SYNC_N_MUTANTS; i++) {
        struct train_result right = { 0 }, wrong = { 0 };
        struct sync_mode mutant;
        const char *name = sync_mutant(&mutant, i);
        const int late = strcmp(name, "ps-own") == 0; /* wrong in what it tells alone */
        const char *options = mutant.module.caps & MODE_SERVERS
                                  ? "--model lenet --mode ps --workers 1 --steps 10 --lr-scaling linear:1"
                                  : "--model lenet --mode allreduce --workers 2 --steps 10 --lr-scaling linear:1";
        train(&right, options, NULL, NULL);
        train(&wrong, options, &mutant, &compute_fake_device);
        if (!late && same(&right, &wrong))
            fail_msg("mutant %s: ends in the same bits", name);
        train_result_free(&right);
        train_result_free(&wrong);
    }
}

/* E7: the parameters and the optimiser's state of the step before come back to the device. */
UNIT_TEST(losses_are_undone_on_a_device_E7)
{
    static const char all[] = "--model lenet --mode allreduce --workers 3 --optimizer adam --lr 0.001";
    struct train_result lost = { 0 }, whole = { 0 };
    char options[256];

    snprintf(options, sizeof options, "%s --steps 9 --on-loss report --inject kill:2@5", all);
    train(&lost, options, NULL, &compute_fake_device);
    assert_int_equal(lost.n_losses, 1);
    assert_in_range(lost.n_steps, 4, 5);
    snprintf(options, sizeof options, "%s --steps %zu", all, (size_t)lost.n_steps);
    train(&whole, options, NULL, NULL);
    assert_int_equal(lost.final.n_params, whole.final.n_params);
    assert_memory_equal(lost.final.param, whole.final.param, whole.final.n_params * sizeof(float));
    assert_true(kit_same_kept(&lost.final, &whole.final));
    train_result_free(&lost);
    train_result_free(&whole);
}

/* Only what the mode has to read or write there: gradients, and with servers parameters. */
UNIT_TEST(only_exchanges_are_staged)
{
    for (int i = 0; train_mode_at(i); i++) {
        const struct sync_mode *m = train_mode_at(i);
        const size_t n_copies = m == &sync_ps ? 2 : m == &sync_allreduce;
        assert_int_equal(exchange_staging_bytes(m, NULL, &compute_fake_device, 1000), n_copies * 4000);
        assert_int_equal(exchange_staging_bytes(m, NULL, &compute_cpu, 1000), 0);
        assert_int_equal(exchange_staging_bytes(m, NULL, &compute_hollow, 1000), 0);
    }
}

UNIT_MAIN("staging")
