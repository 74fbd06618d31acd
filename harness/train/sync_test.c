/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync_test.c MODE - what every sync mode must do to the parameters: S2 and S3, and the normalisation.
 * sync_test.c mutant I - the same, on mutant I, which it must catch.
 *
 * Trains small models in the threads world, with the mode under test in place of the named one: one worker equals
 * single; p workers equal one with p times the batch.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allreduce/sync_allreduce.h"
#include "harness/train/suite/sync_mutants.h"
#include "harness/train/suite/train_kit.h"
#include "ps/ps.h"

struct suite {
    const struct sync_mode *mode;
    int n_failures, quiet;
};

static void expect(struct suite *s, int ok, const char *what, const char *detail)
{
    if (ok)
        return;
    s->n_failures++;
    if (!s->quiet)
        fprintf(stderr, "mode %s: %s: %s\n", s->mode->module.name, what, detail);
}

/* S3: 30 steps with momentum, decay, a rising rate. */
static void one_worker_is_single(struct suite *s, const char *model)
{
    char options[512];
    struct train_result own = { 0 }, single = { 0 };

    snprintf(options, sizeof options,
             "--model %s --mode %s --steps 30 --momentum 0.9 --weight-decay 0.001 --lr-scaling linear:1 "
             "--lr 0.01",
             model, s->mode->module.name);
    const enum rc own_rc = kit_train(&own, options, s->mode, 3);
    expect(s, own_rc == RC_OK, "S3: one worker fails", rc_message());
    snprintf(options, sizeof options,
             "--model %s --mode single --steps 30 --momentum 0.9 --weight-decay 0.001 --lr-scaling linear:1 "
             "--lr 0.01",
             model);
    const enum rc single_rc = kit_train(&single, options, NULL, 3);
    expect(s, single_rc == RC_OK, "S3: single fails", rc_message());
    if (own_rc == RC_OK && single_rc == RC_OK) {
        const size_t n_bytes = single.final.n_params * sizeof(float);
        expect(s, memcmp(own.final.param, single.final.param, n_bytes) == 0, "S3: one worker is not single, to the bit",
               model);
        for (int t = 0; t < 30; t++)
            expect(s, own.stamp[t].staleness_count == 0, "P2: alone and yet stale", model);
        expect(s, kit_same_kept(&own.final, &single.final), "S3: velocity is not single's", model);
        expect(s,
               own.final.n_state == 0 ||
                   memcmp(own.final.state, single.final.state, own.final.n_state * sizeof(float)) == 0,
               "S3: running means are not single's", model);
    }
    train_result_free(&own);
    train_result_free(&single);
}

/* Synchronous modes average: 4 workers x batch 8 are 1 worker x batch 32 but for rounding; train.L1: of the same
 * samples. */
static void workers_are_a_larger_batch(struct suite *s, const char *model)
{
    char options[256];
    struct train_result many = { 0 }, one = { 0 };

    snprintf(options, sizeof options, "--model %s --mode %s --workers 4 --batch 8 --steps 30 --momentum 0.9 --lr 0.01",
             model, s->mode->module.name);
    const enum rc many_rc = kit_train(&many, options, s->mode, 0);
    expect(s, many_rc == RC_OK, "4 workers fail", rc_message());
    snprintf(options, sizeof options, "--model %s --mode single --batch 32 --steps 30 --momentum 0.9 --lr 0.01", model);
    const enum rc one_rc = kit_train(&one, options, NULL, 0);
    expect(s, one_rc == RC_OK, "single fails", rc_message());
    if (many_rc == RC_OK && one_rc == RC_OK) {
        char detail[64];
        const double distance = kit_distance(&many, &one);
        snprintf(detail, sizeof detail, "%s, relative distance %.3g", model, distance);
        expect(s, distance < 1e-5, "4 workers x 8 are not 1 x 32 within 1e-5", detail);
    }
    train_result_free(&many);
    train_result_free(&one);
}

/* E3: the same buckets, exchanged one after the other or beside the computing, end in the same bits. */
static void overlap_changes_no_bit(struct suite *s, const char *model, const char *world)
{
    static const char *const ways[] = { "", " --overlap on", " --overlap on --priority on" };
    const int n_workers = s->mode->module.caps & MODE_SYNCHRONOUS ? 3 : 1;
    struct train_result inline_result = { 0 };

    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct train_result r = { 0 };
        char options[512];
        snprintf(options, sizeof options,
                 "--model %s --mode %s --workers %d --steps 8 --momentum 0.9 --weight-decay 0.001 --lr 0.01 --world %s "
                 "--bucket-bytes 8000 --partition-bytes 3000%s",
                 model, s->mode->module.name, n_workers, world, ways[i]);
        const enum rc rc = kit_train(&r, options, s->mode, 0);
        expect(s, rc == RC_OK, "E3: a run fails", rc_message());
        if (rc == RC_OK && i > 0 && inline_result.final.param) {
            const size_t n_bytes = r.final.n_params * sizeof(float);
            expect(s, memcmp(r.final.param, inline_result.final.param, n_bytes) == 0, "E3: other parameters", options);
            expect(s, kit_same_kept(&r.final, &inline_result.final), "E3: other velocity", options);
            for (int step = 0; step < 8; step++)
                expect(s, r.stamp[step].loss == inline_result.stamp[step].loss, "E3: another loss", options);
        }
        if (i == 0)
            inline_result = r;
        else
            train_result_free(&r);
    }
    train_result_free(&inline_result);
}

/* S2: asynchronous workers may be stale, synchronous ones never are. */
static void staleness_is_bounded(struct suite *s)
{
    char options[256];
    struct train_result r = { 0 };
    uint32_t most = 0;

    snprintf(options, sizeof options, "--model linear --mode %s --workers 3 --steps 50", s->mode->module.name);
    if (kit_train(&r, options, s->mode, 0) != RC_OK) {
        expect(s, 0, "3 workers fail", rc_message());
        return;
    }
    for (size_t i = 0; i < 3 * 50; i++)
        most = r.stamp[i].staleness_count > most ? r.stamp[i].staleness_count : most;
    expect(s, s->mode->module.caps & MODE_SERVERS || most == 0, "S2: a mode without servers is stale", "");
    /* Every other worker's 50 updates at most can come between a pull and its push. */
    expect(s, most <= 2 * 50, "S2: staleness beyond all updates there were", "");
    train_result_free(&r);
}

/* Of a mutant, which is asked for no list of what it breaks, the first failure says all. */
static bool is_decided(const struct suite *s)
{
    return s->quiet && s->n_failures > 0;
}

/* Failures; printed to standard error. quiet: not printed, and no more cases after one that failed (for mutants). mode
 * is run wherever its name says ("allreduce", ...). */
static int sync_suite(const struct sync_mode *mode, int quiet)
{
    static const char *const models[] = { "linear", "lenet" };
    struct suite s = { .mode = mode, .quiet = quiet };

    /* Batch norm: workers normalise each its own batch, so 4 x 8 are not 1 x 32 here. */
    one_worker_is_single(&s, "resnet8 --image-size 16 --width-divisor 4 --batch 4 --data synthetic:100");
    for (int i = 0; i < 2 && !is_decided(&s); i++) {
        one_worker_is_single(&s, models[i]);
        if (mode->module.caps & MODE_SYNCHRONOUS && !is_decided(&s))
            workers_are_a_larger_batch(&s, models[i]);
    }
    if (!(mode->module.caps & MODE_ONE_WORKER) && !is_decided(&s))
        staleness_is_bounded(&s);
    if (mode_exchanges(&mode->module) && !is_decided(&s)) {
        overlap_changes_no_bit(&s, "lenet", "threads");
        overlap_changes_no_bit(&s, "resnet8 --image-size 16 --width-divisor 4 --batch 4 --data synthetic:100",
                               "threads");
    }
    return s.n_failures;
}

static int run_mutant(int i)
{
    struct sync_mode mutant;
    const char *name = sync_mutant(&mutant, i);

    if (sync_suite(&mutant, 1) > 0)
        return 0;
    fprintf(stderr, "mutant %s: the suite did not notice\n", name);
    return 1;
}

int main(int argc, char **argv)
{
    static const struct sync_mode *const all[] = { &sync_none, &sync_single, &sync_allreduce, &sync_ps };

    if (argc == 3 && strcmp(argv[1], "mutant") == 0)
        return run_mutant(atoi(argv[2]));
    for (size_t i = 0; argc == 2 && i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i]->module.name, argv[1]) == 0)
            return sync_suite(all[i], 0) > 0;
    return 2;
}
