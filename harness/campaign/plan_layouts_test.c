/* SPDX-License-Identifier: Apache-2.0 */
/* plan_layouts_test.c - which points layouts make, the work that all of them get, and what is left out or refused. */
#include "harness/base/suite/names.h"
#include "harness/campaign/command_line.h"
#include "harness/campaign/suite/sweep_test_kit.h"

static void layout_axes(struct sweep *s, char *words, const char *model, const char *mode, const char *layouts)
{
    kit_sweep(s, words);
    kit_axes(s, model, mode, "");
    s->axis[2] = (struct axis){ LAYOUT_AXIS, layouts };
    s->adds_baseline = true;
}

/* "single 1x1x1 64/1": mode, layout, samples of a step and micro-batches that its launches are given. */
static void points_text(char out[1000], const struct sweep *s)
{
    out[0] = '\0';
    for (size_t i = 0; i < s->campaign.n_points; i++) {
        const struct point *p = &s->campaign.point[i];
        const struct layout l = point_layout(p);
        char layout[LAYOUT_TEXT_BYTES];
        const size_t n = strlen(out);
        layout_text(layout, &l);
        snprintf(out + n, 1000 - n, "%s%s %s %llu/%llu", i ? ", " : "", p->mode->name, layout,
                 (unsigned long long)p->launch_global_batch, (unsigned long long)p->launch_micro_batches);
    }
}

static const struct plan_case {
    const char *words, *mode, *layouts, *option, *values; /* the last two: another axis; NULL: none */
    const char *points, *left_out;
} CASES[] = {
    /* lenet's batch of 32 for each of two ranks; 4 micro-batches a stage, as far as they divide a worker's batch */
    { "--world=threads", "allreduce", "2x1x1,1x2x1,2x1x2", NULL, NULL,
      "single 1x1x1 64/0, allreduce 2x1x1 64/0, allreduce 1x2x1 64/8, allreduce 2x1x2 64/0", "" },
    /* one rank is there: no other is added. Rounded up, so that 1, 2 and 3 workers can share it out: 96 does */
    { "--world=threads", "allreduce", "1x1x1,2x1x1,3x1x1,1x3x1", NULL, NULL,
      "allreduce 1x1x1 96/0, allreduce 2x1x1 96/0, allreduce 3x1x1 96/0, allreduce 1x3x1 96/12", "" },
    { "--world=threads", "allreduce", "3x1x1,4x1x1", NULL, NULL,
      "single 1x1x1 132/0, allreduce 3x1x1 132/0, allreduce 4x1x1 132/0", "" },
    /* as the user says */
    { "--world=threads --global-batch=40", "allreduce", "2x2x1", NULL, NULL, "single 1x1x1 0/0, allreduce 2x2x1 0/5",
      "" },
    { "--world=threads --accumulate=2", "allreduce", "1x2x1", NULL, NULL, "single 1x1x1 64/0, allreduce 1x2x1 64/0",
      "" },
    { "--world=threads", "allreduce", "1x2x1", "accumulate", "2,4",
      "single 1x1x1 64/0, allreduce 1x2x1 64/0, single 1x1x1 64/0, allreduce 1x2x1 64/0", "" },
    { "--world=threads", "allreduce", "1x2x1", "global-batch", "8,16",
      "single 1x1x1 0/0, allreduce 1x2x1 0/8, single 1x1x1 0/0, allreduce 1x2x1 0/8", "" },
    /* what a mode cannot have is left out, the rest is not */
    { "--world=threads", "ps,single", "2x1x1,2x1x2,1x2x1", NULL, NULL,
      "single 1x1x1 64/0, ps 2x1x1 64/0, ps 1x2x1 64/8, single 1x2x1 64/8",
      "2x1x2: ps does not sum gradients over those that have a shard; 2x1x1: single has one worker; 2x1x2: single does "
      "not sum gradients over those that have a shard" },
};

static void which_points_there_are(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        const struct plan_case *t = &CASES[i];
        char words[100], text[1000];
        struct sweep s;
        snprintf(words, sizeof words, "%s", t->words);
        layout_axes(&s, words, "lenet", t->mode, t->layouts);
        if (t->option)
            s.axis[s.n_axes++] = (struct axis){ t->option, t->values };
        if (sweep_plan(&s) != RC_OK)
            fail_msg("%s", rc_message());
        points_text(text, &s);
        print_message("case %zu\n", i);
        assert_string_equal(text, t->points);
        assert_string_equal(s.left_out, t->left_out);
        campaign_close(&s.campaign);
    }
}

/* Without an axis of layouts: stages of every number of workers, whose batch is each worker's own. */
static void stages_of_workers(void **state)
{
    char words[] = "--world=threads --batch=24", text[1000];
    struct sweep s;

    (void)state;
    kit_sweep(&s, words);
    kit_axes(&s, "lenet", "allreduce", "1,2");
    s.axis[s.n_axes++] = (struct axis){ "stages", "1,3" };
    s.adds_baseline = true;
    assert_int_equal(sweep_plan(&s), RC_OK);
    points_text(text, &s);
    assert_string_equal(text, "allreduce 1x1x1 0/0, allreduce 1x3x1 0/12, allreduce 2x1x1 0/0, allreduce 2x3x1 0/12");
    campaign_close(&s.campaign);
    char others[] = "--world=threads";
    kit_sweep(&s, others);
    kit_axes(&s, "lenet", "allreduce", "1,2,4");
    s.axis[s.n_axes++] = (struct axis){ "shard-dense", "2" };
    assert_int_equal(sweep_plan(&s), RC_OK);
    points_text(text, &s);
    assert_string_equal(text, "allreduce 2x1x2 0/0, allreduce 4x1x2 0/0");
    assert_string_equal(s.left_out, "1x1x2: its workers are no whole number of groups of as many as shards");
    campaign_close(&s.campaign);
}

static void words_of(char *out, size_t n_bytes, const struct sweep *s, const struct point *p)
{
    static struct command_line l;
    const struct launch_terms terms = launch_terms_of(s, p, 0);

    l.n = 0;
    assert_int_equal(command_line_add_point(&l, s, p, &terms), RC_OK);
    out[0] = '\0';
    for (int i = 0; i < l.n; i++)
        snprintf(out + strlen(out), n_bytes - strlen(out), "%s ", l.argv[i]);
}

/* Each gets what is of use to it: no micro-batches without stages. */
static void options_of_a_launch(void **state)
{
    char words[] = "--world=threads --accumulate=4 --schedule=gpipe --overlap=on --recompute", text[2000];
    struct sweep s;

    (void)state;
    layout_axes(&s, words, "lenet", "allreduce", "2x1x1,1x2x1,2x1x2");
    assert_int_equal(sweep_plan(&s), RC_OK);
    assert_int_equal(s.campaign.n_points, 4);
    static const struct {
        const char *has[4], *has_not[4];
    } expected[] = {
        { { "--workers=1 --stages=1 --shard-dense=1 ", "--global-batch=64 " },
          { "accumulate", "schedule", "recompute" } },
        { { "--workers=2 --stages=1 --shard-dense=1 ", "--global-batch=64 ", "--overlap=on " },
          { "accumulate", "schedule", "recompute" } },
        { { "--workers=1 --stages=2 --shard-dense=1 ", "--accumulate=4 ", "--schedule=gpipe ", "--recompute=true " },
          { NULL } },
        { { "--workers=2 --stages=1 --shard-dense=2 ", "--global-batch=64 ", "--overlap=on " },
          { "accumulate", "schedule", "recompute" } },
    };
    for (size_t i = 0; i < 4; i++) {
        words_of(text, sizeof text, &s, &s.campaign.point[i]);
        for (size_t k = 0; k < 4; k++) {
            if (expected[i].has[k] && !strstr(text, expected[i].has[k]))
                fail_msg("%s: lacks %s", text, expected[i].has[k]);
            if (expected[i].has_not[k] && strstr(text, expected[i].has_not[k]))
                fail_msg("%s: has %s", text, expected[i].has_not[k]);
        }
    }
    campaign_close(&s.campaign);
    char chosen[] = "--world=threads";
    layout_axes(&s, chosen, "lenet", "allreduce", "1x2x1");
    assert_int_equal(sweep_plan(&s), RC_OK);
    words_of(text, sizeof text, &s, &s.campaign.point[1]);
    assert_non_null(strstr(text, "--accumulate=8 "));
    campaign_close(&s.campaign);
}

/* Under a launcher: what is more ranks than were launched is refused, and left out where its servers make it so. */
static void ranks_that_were_launched(void **state)
{
    static const struct {
        const char *mode, *layouts, *points, *left_out, *message;
    } cases[] = {
        { "allreduce", "2x2x1", "", "", "--layout 2x2x1: is 4 ranks, and 3 were launched; 3x1x1 or 1x3x1 would fit" },
        { "allreduce,ps", "3x1x1,1x2x1", "allreduce 3x1x1 96/0, allreduce 1x2x1 96/8",
          "3x1x1: with ps it is 4 ranks, all told, and 3 were launched; 1x2x1: with ps it is 4 ranks, all told, and 3 "
          "were "
          "launched",
          NULL },
        { "ps", "2x1x1", "ps 2x1x1 64/0", "", NULL },
        { "ps", "3x1x1", "", "3x1x1: with ps it is 4 ranks, all told, and 3 were launched",
          "--layout: nothing to run; 3x1x1: with ps it is 4 ranks, all told, and 3 were launched" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char words[] = "--world=mpi", text[1000];
        struct sweep s;
        layout_axes(&s, words, "lenet", cases[i].mode, cases[i].layouts);
        s.adds_baseline = false;
        s.launcher = (struct launcher){ .name = "mpirun", .n_ranks = 3 };
        s.campaign.is_launched = true;
        assert_int_equal(sweep_plan(&s), cases[i].message ? RC_INVAL : RC_OK);
        if (cases[i].message)
            assert_string_equal(rc_message(), cases[i].message);
        points_text(text, &s);
        assert_string_equal(text, cases[i].points);
        assert_string_equal(s.left_out, cases[i].left_out);
        campaign_close(&s.campaign);
    }
}

static void what_cannot_be_is_refused(void **state)
{
    static const struct {
        const char *words, *mode, *layouts, *message;
    } cases[] = {
        { "--world=threads", "allreduce", "2x1x1,2x1",
          "--layout 2x1: is not WxSxK, workers x stages x shards, as in 4x1x1 or 2x2x1" },
        { "--world=threads", "allreduce", "4x1x3",
          "--layout 4x1x3: 3 shards are to be shared out among 4 workers; use 2 or 4 shards" },
        { "--world=threads", "single", "2x1x1,4x1x1",
          "--layout: nothing to run; 2x1x1: single has one worker; 4x1x1: single has one worker" },
        { "--world=threads --global-batch=31", "allreduce", "2x1x1,1x2x1",
          "--global-batch 31: cannot be shared out evenly to 2 workers; 30 and 32 can at every number of workers here, "
          "or "
          "other --layout" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char words[100];
        struct sweep s;
        snprintf(words, sizeof words, "%s", cases[i].words);
        layout_axes(&s, words, "lenet", cases[i].mode, cases[i].layouts);
        assert_int_equal(sweep_plan(&s), RC_INVAL);
        assert_string_equal(rc_message(), cases[i].message);
        campaign_close(&s.campaign);
    }
}

/* A model without layers has nothing to cut; one that is replayed may have. */
static void models_that_are_no_networks(void **state)
{
    char words[] = "--world=threads", text[1000], alone[] = "--world=threads";
    struct sweep s;

    (void)state;
    layout_axes(&s, words, "linear,lenet", "allreduce", "2x1x1,1x2x1");
    assert_int_equal(sweep_plan(&s), RC_OK);
    points_text(text, &s);
    assert_string_equal(text, "single 1x1x1 64/0, allreduce 2x1x1 64/0, allreduce 1x2x1 64/8");
    assert_string_equal(s.left_out, "linear: is no network, whose layers could be cut apart");
    campaign_close(&s.campaign);
    layout_axes(&s, alone, "linear", "allreduce", "2x1x1,1x2x1");
    assert_int_equal(sweep_plan(&s), RC_INVAL);
    assert_names(rc_message(), "--layout: ... linear:");
    campaign_close(&s.campaign);
}

static void what_is_announced(void **state)
{
    char words[] = "--world=threads", *told = NULL;
    size_t n_bytes = 0;
    struct sweep s;

    (void)state;
    layout_axes(&s, words, "lenet", "allreduce,single", "2x1x1");
    assert_int_equal(sweep_plan(&s), RC_OK);
    FILE *to = open_memstream(&told, &n_bytes);
    assert_non_null(to);
    sweep_announce_layouts(&s, to);
    assert_int_equal(fclose(to), 0);
    assert_string_equal(told,
                        "gradmark compare: left out: 2x1x1: single has one worker\n"
                        "gradmark compare: lenet: every layout trains 64 samples a step; --global-batch N: others\n");
    free(told);
    campaign_close(&s.campaign);
    assert_string_equal(plan_layout_mode(), "allreduce");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(which_points_there_are),      cmocka_unit_test(stages_of_workers),
        cmocka_unit_test(options_of_a_launch),         cmocka_unit_test(ranks_that_were_launched),
        cmocka_unit_test(what_cannot_be_is_refused),   cmocka_unit_test(what_is_announced),
        cmocka_unit_test(models_that_are_no_networks),
    };

    return cmocka_run_group_tests_name("plan_layouts", tests, NULL, NULL);
}
