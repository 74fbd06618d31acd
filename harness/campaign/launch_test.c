/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch_test.c - the command line of each launch, the order of launches, and how a failed launch is handled.
 *
 * The program that is launched is the kit's script: its n-th launch trains 100 n samples/s.
 */
#include <jansson.h>

#include "harness/campaign/suite/sweep_test_kit.h"
#include "harness/world/stop.h"

static void launched_by_script(struct sweep *c, struct kit *k, char *words, const struct made_point *point,
                               size_t n_points, uint64_t n_steps)
{
    struct campaign made;

    kit_sweep(c, words);
    made_open(&made, k, point, n_points, c->campaign.is_virtual);
    for (size_t i = 0; i < n_points; i++) {
        made.point[i].n_steps = n_steps;
        made.point[i].n_threads = sweep_n_threads(c);
    }
    c->campaign = made;
    kit_script(c, k);
}

static void end(struct sweep *c)
{
    kit_script_end(c);
    campaign_close(&c->campaign);
}

/* Points without launches so far. */
static const struct made_point FOUR[] = {
    { "linear", "none", 2, 0, 0, 0, 1, NAN, 1 },
    { "lenet", "single", 1, 0, 0, 0, 1, NAN, 1 },
    { "lenet", "ps", 2, 3, 0, 0, 1, NAN, 1 },
    { "lenet", "allreduce", 4, 0, 0, 0, 1, NAN, 1 },
};
static const struct made_point SIMULATED[] = {
    { "lenet", "allreduce", 4, 0, 0, 0, 1, NAN, 1 }, /* on its data set: computed, or its loss would be none */
    { "resnet50", "ps", 4, 1, 0, 0, 1, NAN, 1 },     /* on synthetic images */
};

#define LINEAR_TARGET "--target-loss=0.10000000000000001"
#define LENET_TARGET "--target-loss=0.20000000000000001"

static const struct argument_case {
    const char *train;
    const struct made_point *point;
    size_t n_points;
    uint64_t n_steps;
    const char *calls; /* without the last argument, --out=... */
} CASES[] = {
    { "--world=threads --seed=7 --batch=16 --threads=2", FOUR, 4, 1000,
      "train --batch=16 --world=threads --model=linear --mode=none --workers=2 --compute=cpu --threads=2 "
      "--steps=1000 --seed=7 " LINEAR_TARGET " --record-every=10\n"
      "train --batch=16 --world=threads --model=lenet --mode=single --workers=1 --compute=cpu --threads=2 "
      "--steps=1000 --seed=7 " LENET_TARGET " --record-every=10\n"
      "train --batch=16 --world=threads --model=lenet --mode=ps --workers=2 --servers=3 --compute=cpu "
      "--threads=2 --steps=1000 --seed=7 " LENET_TARGET " --record-every=10\n"
      "train --batch=16 --world=threads --model=lenet --mode=allreduce --workers=4 --reducer=ring "
      "--compute=cpu --threads=2 --steps=1000 --seed=7 " LENET_TARGET " --record-every=10\n" },
    /* --transport goes to the points that exchange, a given --target-loss replaces the default in all */
    { "--world=threads --transport=zmq --reducer=root --target-loss=0.5", FOUR + 1, 3, 150,
      "train --target-loss=0.5 --world=threads --model=lenet --mode=single --workers=1 --compute=cpu --threads=1 "
      "--steps=150 --seed=1 --record-every=1\n"
      "train --target-loss=0.5 --transport=zmq --world=threads --model=lenet --mode=ps --workers=2 --servers=3 "
      "--compute=cpu --threads=1 --steps=150 --seed=1 --record-every=1\n"
      "train --target-loss=0.5 --transport=zmq --world=threads --model=lenet --mode=allreduce --workers=4 "
      "--reducer=root --compute=cpu --threads=1 --steps=150 --seed=1 --record-every=1\n" },
    /* so do buckets and overlap */
    { "--world=threads --bucket-bytes=4Ki --overlap=on --target-loss=0.5", FOUR + 1, 3, 150,
      "train --target-loss=0.5 --world=threads --model=lenet --mode=single --workers=1 --compute=cpu --threads=1 "
      "--steps=150 --seed=1 --record-every=1\n"
      "train --target-loss=0.5 --bucket-bytes=4096 --overlap=on --world=threads --model=lenet --mode=ps --workers=2 "
      "--servers=3 --compute=cpu --threads=1 --steps=150 --seed=1 --record-every=1\n"
      "train --target-loss=0.5 --bucket-bytes=4096 --overlap=on --world=threads --model=lenet --mode=allreduce "
      "--workers=4 --reducer=ring --compute=cpu --threads=1 --steps=150 --seed=1 --record-every=1\n" },
    /* where no point exchanges, all get --transport, and refuse it */
    { "--world=threads --transport=zmq", FOUR, 2, 150,
      "train --transport=zmq --world=threads --model=linear --mode=none --workers=2 --compute=cpu --threads=1 "
      "--steps=150 --seed=1 " LINEAR_TARGET " --record-every=1\n"
      "train --transport=zmq --world=threads --model=lenet --mode=single --workers=1 --compute=cpu --threads=1 "
      "--steps=150 --seed=1 " LENET_TARGET " --record-every=1\n" },
    { "--world=sim --eval-samples=9", SIMULATED, 2, 6,
      "train --eval-samples=9 --world=sim --model=lenet --mode=allreduce --workers=4 --reducer=ring --compute=cpu "
      "--threads=1 --steps=6 --seed=1 " LENET_TARGET " --record-every=1\n"
      "train --world=sim --model=resnet50 --mode=ps --workers=4 --servers=1 --compute=hollow --threads=1 --steps=6 "
      "--seed=1 "
      "--record-every=1\n" },
    { "--world=sim --compute=cpu", SIMULATED + 1, 1, 6,
      "train --world=sim --model=resnet50 --mode=ps --workers=4 --servers=1 --compute=cpu --threads=1 --steps=6 "
      "--seed=1 "
      "--target-loss=0 --record-every=1\n" },
};

KIT_TEST(what_each_launch_is_told)
{
    struct kit *k = *state;

    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct sweep c;
        char words[200], text[4000];
        snprintf(words, sizeof words, "%s", CASES[i].train);
        launched_by_script(&c, k, words, CASES[i].point, CASES[i].n_points, CASES[i].n_steps);
        c.campaign.n_launches_wanted = 1;
        if (sweep_launch_all(&c, NULL) != RC_OK)
            fail_msg("case %zu: %s", i, rc_message());
        kit_calls(k, text, sizeof text);
        assert_string_equal(text, CASES[i].calls);
        end(&c);
    }
}

/* Points take turns: launch n of all of them before launch n + 1 of any. */
KIT_TEST(points_take_turns)
{
    static const struct {
        double budget_s;
        size_t n_wanted, n_expected;
    } cases[] = { { 1e6, 3, 3 }, { 0, 3, 2 }, { 0, 1, 1 } }; /* two turns are always made, if so many are wanted */

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sweep c;
        char words[] = "--world=threads";
        launched_by_script(&c, *state, words, FOUR, 2, 10);
        c.budget_s = cases[i].budget_s;
        c.campaign.n_launches_wanted = cases[i].n_wanted;
        assert_int_equal(sweep_launch_all(&c, NULL), RC_OK);
        assert_int_equal(c.campaign.n_launches_done, 2 * cases[i].n_expected);
        for (size_t p = 0; p < 2; p++) {
            assert_int_equal(c.campaign.point[p].n_launches, cases[i].n_expected);
            for (size_t n = 0; n < cases[i].n_expected; n++)
                assert_true(c.campaign.point[p].launch[n].throughput_samples_per_s == 100.0 * (double)(2 * n + p + 1));
        }
        end(&c);
    }
}

/* With a seed the points of a block take turns in its order, and the records say at which place each was. */
KIT_TEST(turns_in_the_order_of_the_block)
{
    struct kit *k = *state;
    struct sweep c;
    char words[] = "--world=threads";
    size_t order[3];
    json_error_t error;

    launched_by_script(&c, k, words, FOUR + 1, 3, 10);
    c.order_seed = 5;
    assert_int_equal(sweep_launch_all(&c, NULL), RC_OK);
    assert_int_equal(campaign_commit(&c.campaign), RC_OK);
    FILE *from = fopen(kit_path(k, "runs.jsonl"), "r");
    assert_non_null(from);
    for (int n = 0; n < MADE_LAUNCHES; n++) {
        assert_int_equal(campaign_block_order(order, &c.campaign, 5, (size_t)n), RC_OK);
        for (int position = 0; position < 3; position++) {
            json_t *r = json_loadf(from, JSON_DISABLE_EOF_CHECK, &error);
            assert_true(c.campaign.point[order[position]].launch[n].throughput_samples_per_s ==
                        100.0 * (3 * n + position + 1));
            assert_int_equal(json_integer_value(json_object_get(r, "launch_index")), n);
            assert_int_equal(json_integer_value(json_object_get(r, "block_position")), position);
            json_decref(r);
        }
    }
    fclose(from);
    end(&c);
}

/* The modes and seeds of the calls: "single 1, ps 1, ..." */
static void modes_and_seeds(struct kit *k, char *text, size_t n_bytes)
{
    text[0] = '\0';
    for (const char *at = kit_read(k, "calls"); at && (at = strstr(at, "--mode=")) != NULL; at++) {
        const char *mode = at + strlen("--mode="), *seed = strstr(at, "--seed=") + strlen("--seed=");
        const size_t n_used = strlen(text);
        snprintf(text + n_used, n_bytes - n_used, "%s%.*s %.*s", n_used > 0 ? ", " : "", (int)strcspn(mode, " "), mode,
                 (int)strcspn(seed, " "), seed);
    }
}

static const char IT_BROKE[] = "the launch of lenet ps, 2 workers ended with exit code 3: it broke";

/* Its records are not taken, though it left some. It is launched again at once, and after the last failure no more; the
 * others go on. The message has its first line that is neither a warning nor of a silent rank.
 * Regression: "rank 1 has been silent for 60.1 s: at the end" was the reason, whatever the run failed of. */
KIT_TEST(a_point_that_fails_is_given_up)
{
    struct kit *k = *state;
    struct sweep c;
    char words[] = "--world=threads", calls[400];
    json_error_t error;
    int n_failures = 0, n_launches = 0;

    assert_true(kit_write(k, "fails", "--mode=ps\n"));
    launched_by_script(&c, k, words, FOUR + 1, 3, 10);
    assert_int_equal(sweep_launch_all(&c, NULL), RC_OK);
    modes_and_seeds(k, calls, sizeof calls);
    assert_string_equal(calls, "single 1, ps 1, ps 1, ps 1, allreduce 1, single 2, allreduce 2, single 3, allreduce 3");
    assert_int_equal(c.campaign.point[0].n_launches, 3);
    assert_int_equal(c.campaign.point[1].n_launches, 0);
    assert_int_equal(c.campaign.point[2].n_launches, 3);
    assert_int_equal(c.campaign.n_launches_done, 6);
    assert_int_equal(c.campaign.point[1].n_failures, 3);
    assert_true(c.campaign.point[1].is_given_up);
    assert_false(c.campaign.point[0].is_given_up);
    assert_string_equal(c.campaign.point[1].failure, IT_BROKE);
    assert_int_not_equal(access(kit_path(k, "launch"), F_OK), 0);
    assert_int_equal(campaign_commit(&c.campaign), RC_OK);
    FILE *from = fopen(kit_path(k, "runs.jsonl"), "r");
    assert_non_null(from);
    for (json_t *r; (r = json_loadf(from, JSON_DISABLE_EOF_CHECK, &error)) != NULL; json_decref(r)) {
        const bool is_failure = strcmp(json_string_value(json_object_get(r, "kind")), "failure") == 0;
        n_failures += is_failure;
        n_launches += !is_failure;
        if (!is_failure)
            continue;
        assert_string_equal(json_string_value(json_object_get(r, "message")), IT_BROKE);
        assert_string_equal(json_string_value(json_object_get(r, "mode")), "ps");
        assert_int_equal(json_is_true(json_object_get(r, "is_given_up")), n_failures == 3);
        assert_int_equal(json_is_false(json_object_get(r, "is_given_up")), n_failures < 3);
        assert_int_equal(json_integer_value(json_object_get(r, "launch_index")), 0);
        assert_int_equal(json_integer_value(json_object_get(r, "block_position")), 1);
    }
    fclose(from);
    assert_int_equal(n_failures, 3);
    assert_int_equal(n_launches, 6);
    end(&c);
}

/* In the same block, from the same seed: launch i of a point is of block i. */
KIT_TEST(a_failed_launch_is_repeated)
{
    struct kit *k = *state;
    struct sweep c;
    char words[] = "--world=threads", calls[400];

    assert_true(kit_write(k, "fails", "--mode=ps\n"));
    assert_true(kit_write(k, "once", ""));
    launched_by_script(&c, k, words, FOUR + 1, 2, 10);
    assert_int_equal(sweep_launch_all(&c, NULL), RC_OK);
    modes_and_seeds(k, calls, sizeof calls);
    assert_string_equal(calls, "single 1, ps 1, ps 1, single 2, ps 2, single 3, ps 3");
    assert_int_equal(c.campaign.point[1].n_launches, 3);
    assert_int_equal(c.campaign.point[1].n_failures, 1);
    assert_false(c.campaign.point[1].is_given_up);
    assert_true(c.campaign.point[1].launch[0].throughput_samples_per_s == 300);
    end(&c);
}

/* Launches that say they succeeded, but left no records, or those of fewer steps, as one that was stopped does, failed
 * too. */
KIT_TEST(launches_that_left_too_little_failed)
{
    static const struct {
        const char *program, *failure; /* behind its beginning */
    } cases[] = {
        { "#!/bin/sh\n", "launch: the launch left no records: No such file or directory" },
        { "#!/bin/sh\necho '{\"kind\":\"step\"}' >${0%/*}/launch\n", "launch: the launch left no summary" },
        { "#!/bin/sh\necho '{\"kind\":\"summary\",\"steps_count\":9}' >${0%/*}/launch\n",
          "it ended after 9 of 10 steps" },
        { "#!/bin/sh\necho '{\"kind\":\"summary\",\"steps_count\":10}' >${0%/*}/launch\n", NULL },
    };
    static const char begins[] = "the launch of lenet single, 1 worker failed: ";
    struct kit *k = *state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sweep c;
        char words[] = "--world=threads";
        launched_by_script(&c, k, words, FOUR + 1, 1, 10);
        assert_true(kit_write(k, "program", cases[i].program));
        c.max_failures = 1;
        assert_int_equal(sweep_launch_all(&c, NULL), RC_OK);
        const struct point *p = &c.campaign.point[0];
        assert_int_equal(p->n_failures, cases[i].failure ? 1 : 0);
        assert_int_equal(p->n_launches, cases[i].failure ? 0 : 3);
        assert_int_equal(p->is_given_up, cases[i].failure != NULL);
        if (cases[i].failure) {
            assert_memory_equal(p->failure, begins, strlen(begins));
            assert_string_equal(p->failure + strlen(p->failure) - strlen(cases[i].failure), cases[i].failure);
        }
        end(&c);
    }
}

/* A signal to the campaign: the launch that ends by itself all the same is kept; what it ends is no launch, nor a
 * failure. */
KIT_TEST(a_launch_that_a_signal_does_not_end_is_kept)
{
    static const struct {
        const char *end; /* of the second launch */
        size_t n_done;
    } cases[] = { { "exit 0\n", 2 },
                  { "exit 143\n", 1 },
                  { "rm \"$dir/launch\"; exit 0\n", 1 },
                  { "echo '{\"kind\":\"summary\",\"steps_count\":9}' >\"$dir/launch\"; exit 0\n", 1 } };
    struct kit *k = *state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char words[] = "--world=threads", program[600];
        struct sweep c;
        launched_by_script(&c, k, words, FOUR + 1, 1, 10);
        snprintf(program, sizeof program,
                 "#!/bin/sh\ndir=${0%%/*}\necho '{\"kind\":\"summary\",\"steps_count\":10}' >\"$dir/launch\"\n"
                 "[ -f \"$dir/calls\" ] || { : >\"$dir/calls\"; exit 0; }\n"
                 "trap '' TERM\nkill -TERM $PPID\n%s",
                 cases[i].end);
        assert_true(kit_write(k, "program", program));
        assert_int_equal(sweep_launch_all(&c, NULL), RC_OK);
        stop_release();
        assert_true(c.stopped);
        assert_int_equal(c.campaign.n_launches_done, cases[i].n_done);
        assert_int_equal(c.campaign.point[0].n_failures, 0);
        assert_int_not_equal(access(kit_path(k, "launch"), F_OK), 0);
        assert_int_equal(campaign_commit(&c.campaign), RC_OK);
        const char *runs = kit_read(k, "runs.jsonl");
        size_t n_lines = 0;
        for (; *runs; runs++)
            n_lines += *runs == '\n';
        assert_int_equal(n_lines, cases[i].n_done);
        end(&c);
        assert_int_equal(unlink(kit_path(k, "runs.jsonl")), 0);
    }
}

UNIT_MAIN("launch")
