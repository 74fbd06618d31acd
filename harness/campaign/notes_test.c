/* SPDX-License-Identifier: Apache-2.0 */
/* notes_test.c - what a campaign says below its figures: encryption, points that did not learn, scaling. */
#include "harness/campaign/suite/campaign_test_kit.h"
#include "harness/campaign/suite/sweep_test_kit.h"

/* One more launch of a point, with these keys in its summary. */
static void take(struct campaign *c, struct point *p, struct kit *k, const char *keys)
{
    char text[600], path[KIT_PATH_BYTES];

    snprintf(text, sizeof text, "{\"kind\":\"summary\",\"batch_per_worker_count\":8%s}\n", keys);
    assert_true(kit_write(k, "one", text));
    snprintf(path, sizeof path, "%s", kit_path(k, "one"));
    assert_int_equal(campaign_take(c, p, 0, path), RC_OK);
}

static void add_encrypted(struct campaign *c, struct kit *k, const char *mode, int n_workers, const char *encryption)
{
    take(c, made_add(c, "lenet", mode, n_workers), k, encryption);
}

static void assert_encryption_told(const struct campaign *c, const char *expected)
{
    char *text = made_told(c, campaign_tell_encryption);

    assert_string_equal(text, expected);
    free(text);
}

/* Records of before the key was there, and of modes that send nothing. */
KIT_TEST(nothing_is_said_where_nothing_is_known)
{
    struct campaign c;

    made_open(&c, *state, NULL, 0, false);
    assert_encryption_told(&c, "");
    add_encrypted(&c, *state, "ps", 2, "");
    add_encrypted(&c, *state, "single", 1, ",\"encryption\":null");
    assert_encryption_told(&c, "");
    campaign_close(&c);
}

KIT_TEST(each_mode_is_named_once)
{
    struct campaign c;

    made_open(&c, *state, NULL, 0, false);
    add_encrypted(&c, *state, "ps", 2, ",\"encryption\":\"curve\"");
    add_encrypted(&c, *state, "ps", 4, ",\"encryption\":\"curve\"");
    add_encrypted(&c, *state, "allreduce", 2, ",\"encryption\":\"clear\"");
    add_encrypted(&c, *state, "allreduce", 4, ",\"encryption\":\"clear\"");
    assert_encryption_told(&c, "Encrypted on the network, by CURVE: ps.\nIn clear on the network: allreduce.\n");
    add_encrypted(&c, *state, "single", 1, ",\"encryption\":null");
    add_encrypted(&c, *state, "none", 2, ",\"encryption\":\"local\"");
    add_encrypted(&c, *state, "ps", 8, ",\"encryption\":\"local\"");
    add_encrypted(&c, *state, "none", 4, ",\"encryption\":\"clear\"");
    assert_encryption_told(&c, "Encrypted on the network, by CURVE: ps.\n"
                               "In clear on the network: allreduce, none.\n"); /* on one host there is no network */
    campaign_close(&c);
}

/* Which points are said not to have learned, letter by letter, from made-up launches. */

static void assert_unlearned_told(const struct campaign *c, const char *expected)
{
    char *text = made_told(c, campaign_tell_unlearned);

    assert_string_equal(text, expected);
    free(text);
}

#define NO(advice) ",\"learned\":\"no\",\"not_learned_advice\":" advice
#define YES ",\"learned\":\"yes\",\"not_learned_advice\":null"
#define NOT_KNOWN ",\"learned\":\"not_known\",\"not_learned_advice\":null"

/* Records of before the key was there, launches that learned, and those of which it is not known: nothing. */
KIT_TEST(nothing_is_said_of_others)
{
    struct campaign c;

    made_open(&c, *state, MADE_CAMPAIGN, MADE_POINTS, false);
    assert_unlearned_told(&c, "");
    campaign_close(&c);
    made_open(&c, *state, NULL, 0, false);
    struct point *p = made_add(&c, "lenet", "ps", 2);
    take(&c, p, *state, YES);
    take(&c, p, *state, NOT_KNOWN);
    take(&c, p, *state, ",\"learned\":null");
    assert_unlearned_told(&c, "");
    campaign_close(&c);
}

/* Of how many launches it is true; the reason is that of the first of them. */
KIT_TEST(launches_are_counted)
{
    struct campaign c;

    made_open(&c, *state, NULL, 0, false);
    struct point *p = made_add(&c, "lenet", "none", 2);
    take(&c, p, *state, YES);
    p = made_add(&c, "lenet", "ps", 2);
    take(&c, p, *state, YES);
    take(&c, p, *state, NO("\"the first; try --lr 0.1\""));
    take(&c, p, *state, NO("\"the second\""));
    p = made_add(&c, "linear", "ps", 1);
    take(&c, p, *state, NO("null"));
    assert_unlearned_told(&c, "lenet ps, 2 workers: did not learn in 2 of 3 launches: the first; try --lr 0.1.\n"
                              "linear ps, 1 worker: did not learn in 1 of 1 launch.\n");
    campaign_close(&c);
}

static void assert_verdict(const struct campaign *c, const char *expected)
{
    char *text = made_text(c, campaign_verdict);

    made_drop_lines_on_cores(text);
    assert_string_equal(text, expected);
    free(text);
}

/* The mark of a point says "some" only where some learned. */
KIT_TEST(marks_tell_some_from_all)
{
    static const struct made_point point[] = { { "lenet", "allreduce", 2, 0, 3, 850, 1.01, NAN, 1 },
                                               { "lenet", "none", 2, 0, 3, 1000, 1.01, NAN, 2 } };
    static const struct {
        size_t n_unlearned[2]; /* of 3 launches of each point */
        const char *text;
    } cases[] = { { { 0, 0 }, "" },
                  { { 1, 0 }, "n  some runs did not learn (1 of 2 rows)\n" },
                  { { 3, 0 }, "n  no run learned (1 of 2 rows)\n" },
                  { { 3, 3 }, "n  no run learned (2 of 2 rows)\n" },
                  { { 3, 2 }, "n  some runs did not learn (2 of 2 rows; in 1 of them no run learned)\n" } };
    static const char no_rate[] =
        "s  no throughput: in some run the workers never trained all at once; use more --steps "
        "(1 of 2 rows)\n";
    struct campaign c;

    made_open(&c, *state, point, 2, false);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (size_t p = 0; p < 2; p++)
            for (size_t k = 0; k < 3; k++)
                c.point[p].launch[k].did_not_learn = k < cases[i].n_unlearned[p];
        char *text = made_told(&c, campaign_print_short_marks);
        assert_string_equal(text, cases[i].text);
        free(text);
    }
    for (size_t k = 0; k < 3; k++) {
        c.point[0].launch[k].did_not_learn = c.point[1].launch[k].did_not_learn = false;
        c.point[0].launch[k].throughput_samples_per_s = NAN;
    }
    char *text = made_told(&c, campaign_print_short_marks);
    assert_string_equal(text, no_rate);
    free(text);
    campaign_close(&c);
}

/* The line that says who is faster says who did not learn: of the slower one, of the faster one, of both. */
KIT_TEST(who_is_faster_without_learning)
{
    static const struct made_point point[] = { { "lenet", "allreduce", 2, 0, 3, 850, 1.01, NAN, 1 },
                                               { "lenet", "ps", 2, 1, 3, 1000, 1.01, NAN, 2 } };
    struct campaign c;

    made_open(&c, *state, point, 2, false);
    c.point[0].launch[1].did_not_learn = true;
    assert_verdict(&c, "lenet, 2 workers: ps is faster than allreduce: 1.18 x the samples/s (95 %: 1.13 to 1.23); but "
                       "allreduce did not learn in 1 of 3 launches.\n");
    c.point[1].launch[0].did_not_learn = c.point[1].launch[2].did_not_learn = true;
    assert_verdict(&c,
                   "lenet, 2 workers: ps is faster than allreduce: 1.18 x the samples/s (95 %: 1.13 to 1.23); but ps "
                   "did not learn in 2 of 3 launches, allreduce did not learn in 1 of 3 launches.\n");
    campaign_close(&c);
}

KIT_TEST(what_is_kept_without_learning)
{
    static const struct made_point point[] = { { "lenet", "none", 2, 0, 3, 2000, 1.01, NAN, 1 },
                                               { "lenet", "ps", 2, 1, 3, 1700, 1.01, NAN, 2 } };
    struct campaign c;

    made_open(&c, *state, point, 2, false);
    c.point[1].launch[2].did_not_learn = true;
    assert_verdict(&c, "lenet, 2 workers: ps keeps 85 % of the throughput without exchange (95 %: 81 to 89); but ps "
                       "did not learn in 1 of 3 launches.\n");
    campaign_close(&c);
}

KIT_TEST(simulations_without_learning)
{
    static const struct made_point point[] = { { "lenet", "none", 2, 0, 1, 2000, 1, NAN, 1 },
                                               { "lenet", "allreduce", 2, 0, 1, 1000, 1, NAN, 2 },
                                               { "lenet", "ps", 2, 1, 1, 1700, 1, NAN, 3 } };
    struct campaign c;

    made_open(&c, *state, point, 3, true);
    c.point[2].launch[0].did_not_learn = true;
    assert_verdict(&c,
                   "lenet, 2 workers: ps trains 1.70 x as many samples/s as allreduce (simulated: no spread); but ps "
                   "did not learn in 1 of 1 launch.\n"
                   "lenet, 2 workers: allreduce keeps 50 % of the throughput without exchange.\n"
                   "lenet, 2 workers: ps keeps 85 % of the throughput without exchange; but ps did not learn in "
                   "1 of 1 launch.\n");
    campaign_close(&c);
}

/* Strong scaling: what launches are told, what is read of them, and where it is told apart from weak.
 */

static void take_summary(struct kit *k, struct campaign *c, const char *keys)
{
    char text[400];

    snprintf(text, sizeof text, "{\"kind\":\"summary\",\"throughput_samples_per_s\":100,%s}\n", keys);
    assert_true(kit_write(k, "launch", text));
    assert_int_equal(campaign_take(c, &c->point[0], 0, kit_path(k, "launch")), RC_OK);
}

KIT_TEST(a_launch_says_how_it_scales)
{
    static const struct made_point point[] = { { "lenet", "allreduce", 4, 0, 0, 0, 1, NAN, 1 } };
    struct campaign c;
    char text[80];

    made_open(&c, *state, point, 1, false);
    assert_false(campaign_scales_strongly(&c));
    take_summary(*state, &c,
                 "\"scaling\":\"strong\",\"batch_per_worker_count\":16,\"global_batch_count\":64"
                 ",\"consistency\":\"sync:1\"");
    assert_int_equal(c.point[0].batch_per_worker_count, 16);
    assert_int_equal(c.point[0].n_averaged, 3); /* of 4 workers */
    assert_int_equal(c.point[0].global_batch_count, 64);
    assert_true(campaign_scales_strongly(&c));
    point_scaling_text(text, sizeof text, &c.point[0]);
    assert_string_equal(text, "strong scaling: batch 64 of all workers");
    take_summary(*state, &c,
                 "\"scaling\":\"weak\",\"batch_per_worker_count\":32,\"global_batch_count\":128"
                 ",\"consistency\":\"ssp:1\",\"lr_staleness\":\"inverse\"");
    assert_int_equal(c.point[0].n_averaged, 0);
    assert_true(c.point[0].lowers_stale);
    assert_false(campaign_scales_strongly(&c));
    point_scaling_text(text, sizeof text, &c.point[0]);
    assert_string_equal(text, "weak scaling: batch 32 per worker");
    take_summary(*state, &c, "\"batch_per_worker_count\":32"); /* of a program that knew weak scaling alone */
    assert_false(campaign_scales_strongly(&c));
    assert_int_equal(c.point[0].n_averaged, 0);
    assert_false(c.point[0].lowers_stale);
    campaign_close(&c);
}

static void open_strong(struct campaign *c, struct kit *k, uint64_t global_batch_count)
{
    made_open(c, k, MADE_CAMPAIGN, MADE_POINTS, false);
    for (size_t i = 0; i < c->n_points; i++) {
        c->point[i].global_batch_count = global_batch_count;
        c->point[i].batch_per_worker_count = global_batch_count / (uint64_t)c->point[i].n_workers;
    }
}

KIT_TEST(table_and_verdict_tell_it)
{
    static const char one[] =
        "\nStrong scaling: a round has 64 samples at every number of workers, each worker its part "
        "of them.\nOf ";
    static const char several[] =
        "\nStrong scaling: a round has as many samples at every number of workers, each worker "
        "its part of them.\nOf ";
    struct campaign c;
    char *text;

    open_strong(&c, *state, 64);
    text = made_text(&c, made_print_whole);
    made_squeeze(text);
    assert_non_null(
        strstr(text, "model mode workers batch each cores samples/s 95 % interval strong efficiency of bound"));
    assert_non_null(strstr(text, "\nlenet single 1 64 1 1.25 k "));
    assert_non_null(strstr(text, "\nlenet ps 2+ 32 3 1.8 k 1.756 k .. 1.845 k 0.720 "));
    assert_non_null(strstr(text, "\nlenet ps 4* 16 5 1.625 k 1.585 k .. 1.666 k 0.325 "));
    assert_non_null(strstr(
        text,
        "(workers x throughput of single).\nstrong scaling: the batch of all workers together stays the same.\n"));
    free(text);
    text = made_text(&c, campaign_verdict);
    assert_non_null(strstr(text, one));
    free(text);
    c.point[0].tuned_lr = 0.5;
    c.point[1].batch_per_worker_count = 0; /* not launched yet */
    c.point[1].global_batch_count = 32;
    text = made_text(&c, made_print_whole);
    made_squeeze(text);
    assert_non_null(
        strstr(text, "model mode workers batch each lr cores samples/s 95 % interval strong efficiency of "));
    assert_non_null(strstr(text, "\nlenet single 1 - - 1 1.25 k "));
    free(text);
    text = made_text(&c, campaign_verdict);
    assert_non_null(strstr(text, several));
    free(text);
    campaign_close(&c);
}

KIT_TEST(weak_scaling_has_no_line_of_its_own)
{
    struct campaign c;

    made_open(&c, *state, MADE_CAMPAIGN, MADE_POINTS, false);
    char *text = made_text(&c, campaign_verdict);
    assert_null(strstr(text, "scaling"));
    free(text);
    text = made_text(&c, made_print_whole);
    assert_null(strstr(text, "strong"));
    assert_null(strstr(text, "batch each"));
    free(text);
    campaign_close(&c);
}

/* One worker alone, which efficiency is measured by, has the whole batch, as every launch is told the same. Launch n
 * trains 100 n samples/s. */
KIT_TEST(the_baseline_has_the_whole_batch)
{
    struct kit *k = *state;
    char words[] = "--world=threads --global-batch=64", text[4000];
    struct sweep s;
    int n = 0;

    kit_sweep(&s, words);
    kit_axes(&s, "linear", "allreduce", "2,4");
    s.adds_baseline = true;
    s.campaign.n_launches_wanted = 1;
    snprintf(s.campaign.dir, sizeof s.campaign.dir, "%s", k->dir);
    assert_int_equal(partial_file_open(&s.campaign.runs, kit_path(k, "runs.jsonl")), RC_OK);
    assert_int_equal(sweep_plan(&s), RC_OK);
    sweep_set_steps(&s, 1e9);
    if (sweep_check(&s) != RC_OK)
        fail_msg("%s", rc_message());
    kit_script(&s, k);
    assert_int_equal(sweep_launch_all(&s, NULL), RC_OK);
    kit_calls(k, text, sizeof text);
    for (const char *at = text; (at = strstr(at, "train --global-batch=64 ")) != NULL; at++)
        n++;
    assert_int_equal(n, 3);
    assert_null(strstr(text, " --batch="));
    assert_non_null(strstr(text, "--global-batch=64 --world=threads --model=linear --mode=single --workers=1 "));
    assert_true(fabs(campaign_efficiency(&s.campaign, made_find(&s.campaign, "linear", "allreduce", 2)).mean - 1) <
                1e-12);
    assert_true(fabs(campaign_efficiency(&s.campaign, made_find(&s.campaign, "linear", "allreduce", 4)).mean - 0.75) <
                1e-12);
    kit_script_end(&s);
    campaign_close(&s.campaign);
}

/* Before anything is launched. */
UNIT_TEST(what_cannot_be_shared_out_is_refused)
{
    static const struct {
        const char *words, *workers, *says;
    } cases[] = {
        { "--world=threads --global-batch=64", "2,3",
          "--global-batch 64: is not divisible by 3 workers; use 60 or 66, which fit every number of workers here, "
          "or other --workers" },
        { "--world=threads --global-batch=10", "1,2,3,4,6",
          "--global-batch 10: is not divisible by 3 workers; use 12, which fits every number of workers here" },
        { "--world=threads --global-batch=3", "4",
          "--global-batch 3: is not divisible by 4 workers; use 4, which fits every number of workers here" },
        { "--world=threads --global-batch=2097152", "2,3", /* 2 workers have so many, and no more */
          "--global-batch 2097152: is not divisible by 3 workers; use 2097150, which fits every number of workers "
          "here" },
        { "--world=threads --global-batch=64", "2,3,5,7,11,13,17,19,23,29",
          "--global-batch 64: is not divisible by 3 workers; no other size fits every number of workers here; use "
          "other --workers" },
        { "--world=threads --global-batch=64 --batch=32", "2", "--global-batch 64: --batch 32 is the batch of each" },
        { "--world=threads --global-batch=64 --lr-scaling=linear", "2",
          "--lr-scaling linear: --global-batch uses the same" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sweep s;
        char words[80];
        snprintf(words, sizeof words, "%s", cases[i].words);
        kit_sweep(&s, words);
        kit_axes(&s, "linear", "none", cases[i].workers);
        if (sweep_plan(&s) == RC_OK) {
            sweep_set_steps(&s, 1e9);
            assert_int_equal(sweep_check(&s), RC_INVAL);
        }
        if (strstr(rc_message(), cases[i].says) != rc_message())
            fail_msg("%s: %s", cases[i].words, rc_message());
        campaign_close(&s.campaign);
    }
}

UNIT_MAIN("notes")
