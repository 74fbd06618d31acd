/* SPDX-License-Identifier: Apache-2.0 */
/*
 * integrity_test.c - --verify-every finds the worker whose parameters are others, and --inject flip and rank do
 * what they are to: in threads.
 *
 * integrity_test.c flip WORLD N RANK     a flip in RANK of N workers is found, in a world with one run to a process
 * integrity_test.c beside WORLD N RANK   the same beside a server, which is one rank more
 * integrity_test.c healthy WORLD N       none is found
 * integrity_test.c slow WAY              in sim: exactly as slow as ordered
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/rng.h"
#include "harness/base/suite/unit.h"
#include "harness/train/integrity.h"
#include "harness/train/suite/train_kit.h"

enum { EXIT_SKIPPED = 77 };

/* --- the judgement --- */

/* train.Y3: each bit of each element counts, and so does its place. */
UNIT_TEST(every_bit_counts)
{
    float x[5] = { 1.0f, -2.0f, 0.0f, 4.0f, 0.5f };
    const uint64_t whole = integrity_hash(x, 5);

    for (size_t i = 0; i < 5; i++)
        for (int bit = 0; bit < 32; bit++) {
            uint32_t bits;
            memcpy(&bits, &x[i], sizeof bits);
            bits ^= UINT32_C(1) << bit;
            memcpy(&x[i], &bits, sizeof bits);
            assert_true(integrity_hash(x, 5) != whole);
            bits ^= UINT32_C(1) << bit;
            memcpy(&x[i], &bits, sizeof bits);
        }
    assert_true(integrity_hash(x, 5) == whole);
    x[0] = -2.0f; /* the same values elsewhere */
    x[1] = 1.0f;
    assert_true(integrity_hash(x, 5) != whole);
    assert_true(integrity_hash(x, 4) != integrity_hash(x, 5));
}

/* Two signs that change, each the highest bit of a word. */
UNIT_TEST(two_signs_do_not_cancel)
{
    float x[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    const uint64_t whole = integrity_hash(x, 8);

    for (int i = 0; i < 8; i++)
        for (int k = i + 1; k < 8; k++) {
            x[i] = -x[i];
            x[k] = -x[k];
            assert_true(integrity_hash(x, 8) != whole);
            x[i] = -x[i];
            x[k] = -x[k];
        }
}

enum { N_SEGMENTS = 3, MOST_RANKS = 12 };

/* Ranks hold what `values` says, a digit for each segment of each: "111 121". */
static struct train_checks judged(const char *values, int n_ranks)
{
    uint64_t hash[MOST_RANKS * N_SEGMENTS];
    struct train_checks out = { .n_done = 7 };

    for (int r = 0; r < n_ranks; r++)
        for (int s = 0; s < N_SEGMENTS; s++)
            hash[r * N_SEGMENTS + s] = (uint64_t)values[r * (N_SEGMENTS + 1) + s];
    integrity_judge(&out, hash, n_ranks, N_SEGMENTS, 41);
    return out;
}

static void assert_corruption(const struct train_checks *c, int i, int rank, int other_rank, size_t segment)
{
    assert_int_equal(c->corruption[i].rank, rank);
    assert_int_equal(c->corruption[i].other_rank, other_rank);
    assert_int_equal(c->corruption[i].segment, segment);
    assert_int_equal(c->corruption[i].step_index, 41);
}

/* train.Y2 */
UNIT_TEST(the_majority_is_right)
{
    struct train_checks c = judged("111 111 111", 3);

    assert_int_equal(c.n_corruptions, 0);
    assert_int_equal(c.n_done, 7);
    c = judged("121 111 111", 3); /* rank 0 may be wrong, too */
    assert_int_equal(c.n_corruptions, 1);
    assert_corruption(&c, 0, 0, -1, 1);
    c = judged("111 111 113 111 211", 5);
    assert_int_equal(c.n_corruptions, 2);
    assert_corruption(&c, 0, 2, -1, 2);
    assert_corruption(&c, 1, 4, -1, 0);
    c = judged("111 122", 2); /* the first segment that differs */
    assert_int_equal(c.n_corruptions, 1);
    assert_corruption(&c, 0, 0, 1, 1);
    c = judged("111 111 112 112", 4); /* half is no majority */
    assert_int_equal(c.n_corruptions, 1);
    assert_corruption(&c, 0, 0, 2, 2);
    c = judged("211 311 411 111 111 111 111", 7);
    assert_int_equal(c.n_corruptions, 3);
    assert_corruption(&c, 2, 2, -1, 0);
}

/* --- runs --- */

struct one_run {
    struct train_job job;
    struct train_result result;
};

static void prepare(struct one_run *run, int n_workers, const char *options)
{
    const struct launcher launcher = world_launcher();
    char text[512];

    *run = (struct one_run){ .result = { 0 } };
    snprintf(text, sizeof text, "%s --workers %d %s", strstr(options, "--mode ") ? "" : "--mode allreduce", n_workers,
             options);
    if (kit_prepare_launched(&run->job, text, launcher.name ? launcher.n_ranks : 0) != RC_OK)
        fail_msg("%s: %s", text, rc_message());
}

static void train(struct one_run *run, int n_workers, const char *options)
{
    prepare(run, n_workers, options);
    if (kit_run(&run->job, &run->result) != RC_OK)
        fail_msg("%s: %s", options, rc_message());
}

static void end(struct one_run *run)
{
    train_result_free(&run->result);
    train_job_free(&run->job);
}

static bool is_root(const struct one_run *run)
{
    return run->result.stamp; /* in mpi other processes have no result */
}

/* The flip of step `flip` is found behind step `found`, of rank `rank`; the run ends there. */
static void assert_caught(int n_workers, int rank, int flip, int every, int found, const char *more)
{
    struct one_run run;
    char options[256];

    snprintf(options, sizeof options, "--model lenet --steps 20 --verify-every %d --inject flip:%d@%d %s", every, rank,
             flip, more);
    train(&run, n_workers, options);
    if (is_root(&run)) {
        const struct train_checks *c = &run.result.checks;
        const struct train_corruption *first = &c->corruption[0];
        if (c->n_corruptions != 1 || first->step_index != (uint64_t)found)
            fail_msg("%s: %d corruptions, after step %llu", options, c->n_corruptions,
                     (unsigned long long)first->step_index);
        assert_int_equal(run.result.n_steps, found + 1);
        assert_int_equal(c->n_done, (size_t)((found + every) / every));
        assert_true(run.job.segment_name[first->segment][0] != '\0');
        if (n_workers == 2) {
            assert_int_equal(first->rank, 0);
            assert_int_equal(first->other_rank, 1);
        } else {
            assert_int_equal(first->rank, rank);
            assert_int_equal(first->other_rank, -1);
        }
        assert_int_equal(integrity_check_result(&run.job, &run.result), RC_MISMATCH);
    }
    end(&run);
}

UNIT_TEST(a_flip_is_caught_at_the_next_check)
{
    assert_caught(2, 1, 7, 5, 9, "");
    assert_caught(3, 0, 9, 5, 9, ""); /* in the very step */
    assert_caught(3, 2, 10, 5, 14, "--overlap on --bucket-bytes 4Ki");
    assert_caught(5, 4, 0, 1, 0, "--momentum 0.9");
    assert_caught(5, 1, 16, 7, 19, "--reducer root"); /* the last step is checked, too */
}

/* In the very step: also in the first one, whose update is the rate, whatever the gradient is but for its sign. */
UNIT_TEST(a_flip_shows_with_every_optimiser)
{
    static const char *const options[] = { "--optimizer adam", "--optimizer adagrad",
                                           "--optimizer adam --overlap on --bucket-bytes 4Ki" };

    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        assert_caught(3, 1, 0, 1, 0, options[i]);
        assert_caught(3, 2, 8, 1, 8, options[i]);
        assert_caught(2, 0, 19, 20, 19, options[i]);
    }
}

/* Which tensor: the seed draws an element, and with one chunk for each tensor the flip stays in that one's. */
/* Workers hold what they have pulled, and a flip until they pull again; servers have no part in it. */
UNIT_TEST(a_flip_beside_servers_shows_in_its_step)
{
    static const char *const options[] = { "--optimizer adam", "--optimizer adagrad --servers 2 --bucket-bytes 4Ki",
                                           "--momentum 0.9 --overlap on --bucket-bytes 4Ki", "--compression topk:0.5" };
    char text[200];

    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        snprintf(text, sizeof text, "--mode ps --consistency sync %s", options[i]);
        assert_caught(3, 1, 0, 1, 0, text);
        assert_caught(3, 2, 7, 4, 7, text);
        assert_caught(2, 0, 19, 20, 19, text);
    }
}

UNIT_TEST(the_segment_is_the_flipped_one)
{
    for (int seed = 1; seed <= 6; seed++) {
        struct one_run run;
        char options[200];
        snprintf(options, sizeof options,
                 "--model lenet --steps 6 --verify-every 3 --inject flip:1 --bucket-bytes 4 --seed %d", seed);
        train(&run, 3, options);
        const size_t drawn = (size_t)(rng_u64((uint64_t)seed, RNG_FLIP, 0) % run.job.n_params);
        const struct segment s = run.job.segment[run.result.checks.corruption[0].segment];
        assert_int_equal(run.result.checks.n_corruptions, 1);
        assert_true(drawn >= s.offset_elems && drawn < s.offset_elems + s.n_elems);
        end(&run);
    }
}

/* Without a flip nothing is found, and checking changes no bit. */
UNIT_TEST(healthy_runs_stay_as_they_are)
{
    static const char *const options[] = {
        "",
        "--average-every 3",
        "--overlap on --bucket-bytes 4Ki --momentum 0.9",
        "--optimizer adam",
        "--optimizer adagrad",
        "--mode ps --consistency sync --optimizer adam",
        "--mode ps --consistency sync --servers 2 --optimizer adagrad --overlap on --bucket-bytes 4Ki"
    };

    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        struct one_run plain, checked;
        char text[200];
        snprintf(text, sizeof text, "--model lenet --steps 9 %s --verify-every 3", options[i]);
        train(&checked, 3, text);
        snprintf(text, sizeof text, "--model lenet --steps 9 %s", options[i]);
        train(&plain, 3, text);
        assert_int_equal(checked.result.checks.n_corruptions, 0);
        assert_int_equal(integrity_check_result(&checked.job, &checked.result), RC_OK);
        assert_int_equal(checked.result.checks.n_done, 3);
        assert_int_equal(plain.result.checks.n_done, 0);
        assert_memory_equal(plain.result.final.param, checked.result.final.param,
                            plain.result.final.n_params * sizeof(float));
        end(&plain);
        end(&checked);
    }
}

/* Of a run that goes on, steps are those of the whole training. */
UNIT_TEST(steps_count_on)
{
    struct one_run first, second;
    char path[] = "/tmp/integrity_test.XXXXXX", text[200];

    kit_make_file(path);
    train(&first, 3, "--model lenet --steps 8");
    assert_int_equal(checkpoint_save(&first.result.final, path, NULL, NULL), RC_OK);
    snprintf(text, sizeof text, "--model lenet --steps 20 --resume %s --verify-every 5 --inject flip:0@12", path);
    train(&second, 3, text);
    assert_int_equal(second.result.checks.n_done, 2); /* behind steps 9 and 14 */
    assert_int_equal(second.result.checks.corruption[0].step_index, 14);
    assert_int_equal(second.result.n_steps, 7);
    end(&first);
    end(&second);
    unlink(path);
}

/* The same bits, whoever is slow. */
UNIT_TEST(a_slow_rank_changes_no_bit)
{
    struct one_run plain, slow;

    train(&plain, 2, "--model lenet --steps 6");
    train(&slow, 2, "--model lenet --steps 6 --inject rank:0=0.9");
    assert_memory_equal(plain.result.final.param, slow.result.final.param, plain.result.final.n_params * sizeof(float));
    end(&plain);
    end(&slow);
}

/* train.Y4, and what a drill cannot do. */
UNIT_TEST(what_cannot_be_is_refused)
{
    static const struct kit_refusal bad[] = {
        { "--mode ps --workers 2 --verify-every 5", "--verify-every 5: workers pull at different times" },
        { "--mode ps --workers 2 --consistency sync:1 --verify-every 5", "--verify-every 5: workers pull" },
        { "--mode ps --workers 2 --consistency ssp:0 --verify-every 5", "--consistency sync, or --mode allreduce" },
        { "--mode ps --workers 2 --consistency sync --on-loss report --verify-every 5", "--on-loss abort" },
        { "--mode ps --workers 1 --consistency sync --verify-every 5", "--verify-every 5: one worker" },
        { "--mode none --workers 2 --verify-every 5", "--verify-every 5: each worker uses only its own gradient" },
        { "--mode allreduce --verify-every 5", "--verify-every 5: one worker" },
        { "--mode allreduce --workers 2 --omit broadcast --verify-every 5", "--verify-every 5: with --omit broadcast" },
        { "--mode allreduce --workers 2 --omit average --verify-every 5",
          "--verify-every 5: with --omit broadcast or average" },
        { "--mode allreduce --workers 2 --average-every 2 --verify-every 5", "no multiple of --average-every 2" },
        { "--mode allreduce --workers 2 --save c --save-every 3 --verify-every 2", "has compared; use 2 or 4" },
        { "--mode allreduce --workers 2 --save c --restarts 1 --verify-every 2", "--restarts" },
        { "--mode allreduce --workers 2 --inject flip:2", "--inject flip:2: workers are 0 to 1" },
        { "--mode allreduce --workers 2 --steps 5 --inject flip:1@5", "--inject flip:1@5: the last step is 4" },
        { "--mode allreduce --workers 2 --inject flip:1@x", "--inject flip:1@x: name the step" },
        { "--mode allreduce --workers 2 --inject flip:1,flip:0", "--inject flip:0: such a fault is given already" },
        { "--mode allreduce --workers 2 --average-every 2 --inject flip:0", "--inject flip:0: --average-every" },
        { "--mode ps --workers 2 --inject flip:0", "--inject flip:0: workers have different parameters" },
        { "--mode none --workers 2 --inject flip:0", "--inject flip:0: flips a bit of the sum" },
        { "--mode ps --workers 2 --inject rank:2=0.5", "--inject rank:2=0.5: workers are 0 to 1" },
        { "--mode ps --workers 2 --inject rank:1", "--inject rank:1: name its speed" },
        { "--mode ps --workers 2 --inject rank:1=2", "--inject rank:1=2: name its speed" },
    };

    kit_expect_each_refused("", bad, sizeof bad / sizeof *bad);
}

/* --- one run to a process --- */

static const char **args;

static int number(const char *digits)
{
    return (int)strtol(digits, NULL, 10);
}

UNIT_TEST_OF("flip", a_flip_is_caught)
{
    const int n_workers = number(args[3]), rank = number(args[4]);
    char more[64];

    snprintf(more, sizeof more, "--world %s", args[2]);
    assert_caught(n_workers, rank, 6, 4, 7, more);
}

UNIT_TEST_OF("beside", a_flip_beside_a_server_is_caught)
{
    const int n_workers = number(args[3]), rank = number(args[4]);
    char more[128];

    snprintf(more, sizeof more, "--mode ps --consistency sync --optimizer adam --world %s", args[2]);
    assert_caught(n_workers, rank, 7, 4, 7, more);
}

UNIT_TEST_OF("healthy", nothing_is_found)
{
    struct one_run run;
    char options[128];

    snprintf(options, sizeof options, "--world %s --model lenet --steps 9 --verify-every 4", args[2]);
    train(&run, number(args[3]), options);
    if (is_root(&run)) {
        assert_int_equal(run.result.checks.n_corruptions, 0);
        assert_int_equal(run.result.checks.n_done, 3);
        assert_int_equal(run.result.n_steps, 9);
    }
    end(&run);
}

/* 1 / 0.8 of what the others take. With overlap its own updates run beside its computing more than those of the others,
 * who wait then. */
UNIT_TEST_OF("slow", as_slow_as_ordered)
{
    struct step_parts parts[3];
    struct train_summary s;
    struct one_run run;
    char options[200];

    snprintf(options, sizeof options, "--world sim --model lenet --steps 10 --inject rank:1=0.8 %s",
             strcmp(args[2], "overlap") == 0 ? "--overlap on --bucket-bytes 4Ki" : "");
    train(&run, 3, options);
    assert_int_equal(train_summarise(&s, &run.job, &run.result), RC_OK);
    assert_int_equal(steps_worker_parts(parts, &s.steps), RC_OK);
    const double ratio = parts[1].compute_s / parts[0].compute_s, other = parts[2].compute_s / parts[0].compute_s;
    const double most_ratio = strcmp(args[2], "overlap") == 0 ? 1.3 : 1.2501;
    if (ratio < 1.2499 || ratio > most_ratio || other < 0.9999 || other > 1.0001)
        fail_msg("the slow rank computes %.5f times as long, the other one %.5f", ratio, other);
    end(&run);
}

int main(int argc, char **argv)
{
    const struct world_ops *world;

    args = (const char **)argv;
    if (argc > 1 && world_find(&world, strcmp(argv[1], "slow") == 0 ? "sim" : argv[2]) != RC_OK) {
        printf("skipped: %s\n", rc_message());
        return EXIT_SKIPPED;
    }
    return unit_run("integrity", argc > 1 ? argv[1] : NULL, NULL, NULL);
}
