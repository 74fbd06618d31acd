/* SPDX-License-Identifier: Apache-2.0 */
/* scaling_test.c - strong scaling: what launches are told, what is read of them, and where it is told apart from weak.
 */
#include "harness/campaign/suite/sweep_test_kit.h"

static void take_summary(struct kit *k, struct campaign *c, const char *keys)
{
    char text[400];

    snprintf(text, sizeof text, "{\"kind\":\"summary\",\"throughput_samples_per_s\":100,%s}\n", keys);
    assert_true(kit_write(k, "launch", text));
    assert_int_equal(campaign_take(c, &c->point[0], 0, kit_path(k, "launch")), RC_OK);
}

static void a_launch_says_how_it_scales(void **state)
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

static void table_and_verdict_tell_it(void **state)
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
    text = made_text(&c, campaign_print);
    made_squeeze(text);
    assert_non_null(
        strstr(text, "model mode workers batch each cores samples/s 95 % interval strong efficiency of bound"));
    assert_non_null(strstr(text, "\nlenet single 1 64 1 1.25 k "));
    assert_non_null(strstr(text, "\nlenet ps 2+ 32 3 1.8 k 1.756 k .. 1.845 k 0.720 "));
    assert_non_null(strstr(text, "\nlenet ps 4* 16 5 1.625 k 1.585 k .. 1.666 k 0.325 "));
    assert_non_null(strstr(
        text, "(workers x throughput of single), with the same batch of all workers together: strong scaling.\n"));
    free(text);
    text = made_text(&c, campaign_verdict);
    assert_non_null(strstr(text, one));
    free(text);
    c.point[0].tuned_lr = 0.5;
    c.point[1].batch_per_worker_count = 0; /* not launched yet */
    c.point[1].global_batch_count = 32;
    text = made_text(&c, campaign_print);
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

static void weak_scaling_has_no_line_of_its_own(void **state)
{
    struct campaign c;

    made_open(&c, *state, MADE_CAMPAIGN, MADE_POINTS, false);
    char *text = made_text(&c, campaign_verdict);
    assert_null(strstr(text, "scaling"));
    free(text);
    text = made_text(&c, campaign_print);
    assert_null(strstr(text, "strong"));
    assert_null(strstr(text, "batch each"));
    free(text);
    campaign_close(&c);
}

/* One worker alone, which efficiency is measured by, has the whole batch, as every launch is told the same. Launch n
 * trains 100 n samples/s. */
static void the_baseline_has_the_whole_batch(void **state)
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
static void what_cannot_be_shared_out_is_refused(void **state)
{
    static const struct {
        const char *words, *workers, *says;
    } cases[] = {
        { "--world=threads --global-batch=64", "2,3",
          "--global-batch 64: cannot be shared out evenly to 3 workers; 60 and 66 can at every number of workers here, "
          "or other --workers" },
        { "--world=threads --global-batch=10", "1,2,3,4,6",
          "--global-batch 10: cannot be shared out evenly to 3 workers; 12 can at every number of workers here" },
        { "--world=threads --global-batch=3", "4",
          "--global-batch 3: cannot be shared out evenly to 4 workers; 4 can at every number of workers here" },
        { "--world=threads --global-batch=2097152", "2,3", /* 2 workers have so many, and no more */
          "--global-batch 2097152: cannot be shared out evenly to 3 workers; 2097150 can at every number of workers "
          "here" },
        { "--world=threads --global-batch=64", "2,3,5,7,11,13,17,19,23,29",
          "--global-batch 64: cannot be shared out evenly to 3 workers; no other can at every number of workers of "
          "this "
          "campaign; other --workers would help" },
        { "--world=threads --global-batch=64 --batch=32", "2", "--global-batch 64: --batch 32 is the batch of each" },
        { "--world=threads --global-batch=64 --lr-scaling=linear", "2",
          "--lr-scaling linear: --global-batch has as many" },
    };

    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        MADE_TEST(a_launch_says_how_it_scales),
        MADE_TEST(table_and_verdict_tell_it),
        MADE_TEST(weak_scaling_has_no_line_of_its_own),
        MADE_TEST(the_baseline_has_the_whole_batch),
        cmocka_unit_test(what_cannot_be_shared_out_is_refused),
    };

    return cmocka_run_group_tests_name("scaling", tests, NULL, NULL);
}
