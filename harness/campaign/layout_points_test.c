/* SPDX-License-Identifier: Apache-2.0 */
/* layout_points_test.c - points with layouts: which are comparable, ranks and cores, efficiency, table, charts. */
#include "harness/base/suite/names.h"
#include "harness/base/suite/printed.h"
#include "harness/campaign/command_line.h"
#include "harness/campaign/suite/charts_test_kit.h"
#include "harness/campaign/suite/sweep_test_kit.h"

/* On 2 cores. Efficiency is of ranks: 1000 / (2 x 625), 750 / (2 x 625), 500 / (4 x 625). */
static const struct made_layout LAYOUTS[] = {
    { { "lenet", "single", 1, 0, 3, 625, 1.01, NAN, 1 }, 1, 1 },
    { { "lenet", "allreduce", 2, 0, 3, 1000, 1.01, NAN, 2 }, 1, 1 },
    { { "lenet", "allreduce", 1, 0, 3, 750, 1.01, NAN, 3 }, 2, 1 },
    { { "lenet", "allreduce", 2, 0, 3, 500, 1.01, NAN, 4 }, 2, 1 },
    { { "lenet", "allreduce", 2, 0, 3, 800, 1.01, NAN, 5 }, 1, 2 },
};
enum { N_LAYOUTS = sizeof LAYOUTS / sizeof *LAYOUTS };

KIT_TEST(ranks_and_cores)
{
    struct campaign c;

    made_open_layouts(&c, *state, LAYOUTS, N_LAYOUTS, false);
    const struct point *p = c.point;
    const int ranks[N_LAYOUTS] = { 1, 2, 2, 4, 2 };
    for (size_t i = 0; i < N_LAYOUTS; i++) {
        assert_int_equal(point_n_ranks(&p[i]), ranks[i]);
        assert_int_equal(point_n_cores(&p[i]), ranks[i]);
        assert_int_equal(p[i].oversubscribed, ranks[i] > MADE_CORES);
        assert_true(point_has_layout(&p[i]));
        assert_true(point_comparable(&p[i], &p[3]));
        assert_ptr_equal(campaign_find_baseline(&c, &p[i]), &p[0]);
    }
    /* as many workers are not enough: stages and shards are those of the point */
    assert_ptr_equal(campaign_find_like(&c, &p[3], p[3].mode, 2), &p[3]);
    assert_ptr_equal(campaign_find_like(&c, &p[1], p[1].mode, 2), &p[1]);
    assert_null(campaign_find_like(&c, &p[2], p[2].mode, 4));
    /* two servers of each of two stages, three threads */
    struct point servers = p[3];
    servers.n_servers = 2;
    servers.n_threads = 3;
    servers.n_drivers = 1;
    assert_int_equal(point_n_cores(&servers), 3 * 4 + 2 * 2);
    assert_int_equal(point_n_launched_ranks(&servers), 4 + 2 * 2 + 1);
    campaign_close(&c);
}

/* What layouts are measured by: one rank; of a mode that has one worker, or else of one that sums gradients. */
KIT_TEST(the_baseline_is_one_rank)
{
    static const struct made_layout point[] = {
        { { "lenet", "single", 1, 0, 3, 100, 1.01, NAN, 1 }, 2, 1 },
        { { "lenet", "ps", 1, 1, 3, 100, 1.01, NAN, 2 }, 1, 1 },
        { { "lenet", "allreduce", 1, 0, 3, 100, 1.01, NAN, 3 }, 1, 1 },
        { { "lenet", "allreduce", 2, 0, 3, 100, 1.01, NAN, 4 }, 1, 1 },
        { { "lenet", "single", 1, 0, 3, 100, 1.01, NAN, 5 }, 1, 1 },
    };
    for (size_t n = 3; n <= 5; n++) {
        struct campaign c;
        made_open_layouts(&c, *state, point, n, false);
        assert_ptr_equal(campaign_find_baseline(&c, &c.point[0]), &c.point[n == 5 ? 4 : 2]);
        campaign_close(&c);
    }
    struct campaign c;
    made_open_layouts(&c, *state, point, 2, false);
    assert_null(campaign_find_baseline(&c, &c.point[0]));
    campaign_close(&c);
    /* without layouts one worker of allreduce is no baseline */
    static const struct made_point workers[] = { { "lenet", "allreduce", 1, 0, 3, 100, 1.01, NAN, 1 },
                                                 { "lenet", "allreduce", 2, 0, 3, 100, 1.01, NAN, 2 } };
    made_open(&c, *state, workers, 2, false);
    assert_null(campaign_find_baseline(&c, &c.point[1]));
    campaign_close(&c);
}

/* What the first rank waits for the others of its worker, a tenth of 272 us here, is no computing. */
KIT_TEST(waiting_is_no_computing)
{
    struct campaign c;

    made_open_layouts(&c, *state, LAYOUTS, N_LAYOUTS, false);
    const struct launch *plain = &c.point[1].launch[1], *staged = &c.point[2].launch[1];
    assert_true(fabs(plain->compute_s - 102e-6) < 1e-12 && fabs(plain->wait_s - 22e-6) < 1e-12);
    assert_true(fabs(staged->step_mean_s - 272e-6) < 1e-12);
    assert_true(fabs(staged->compute_s - (103e-6 - 27.2e-6)) < 1e-12);
    assert_true(fabs(staged->wait_s - (23e-6 + 27.2e-6)) < 1e-12);
    campaign_close(&c);
}

/* Intervals: as in verdict_test.c, 1.04374 times. */
static const char TABLE[] =
    "model mode workers layout cores samples/s 95 % interval efficiency of bound loss accuracy samples "
    "time to target samples to target staleness\n"
    "- - - - - - - - - - - - - - -\n"
    "lenet single 1 1x1x1 1 625 609.7 .. 640.6 1.000 51.0 % (49.8 .. 52.3) 0.3583 61.00 % 96 - - -\n"
    "lenet allreduce 2 2x1x1 2 1 k 975.6 .. 1.025 k 0.800 (0.766 .. 0.835) 52.0 % (50.7 .. 53.3) 0.3937 62.00 % 192 - "
    "- "
    "-\n"
    "lenet allreduce 1 1x2x1 2 750 731.7 .. 768.8 0.600 (0.575 .. 0.626) 53.0 % (51.7 .. 54.3) 0.1194 63.00 % 96 - - "
    "-\n"
    "lenet allreduce 2* 2x2x1 4 500 487.8 .. 512.5 0.200 (0.200 .. 0.200) 54.0 % (52.7 .. 55.4) 0.1969 64.00 % 192 - - "
    "-\n"
    "lenet allreduce 2 2x1x2 2 800 780.5 .. 820 0.640 (0.613 .. 0.668) 55.0 % (53.7 .. 56.4) 0.1575 65.00 % 192 - - "
    "-\n";

KIT_TEST(a_column_of_layouts)
{
    struct campaign c;

    made_open_layouts(&c, *state, LAYOUTS, N_LAYOUTS, false);
    char *text = made_text(&c, made_print_whole);
    made_squeeze(text);
    assert_true(strncmp(text, TABLE, strlen(TABLE)) == 0);
    assert_int_equal(text[strlen(TABLE)], '\n');
    assert_non_null(strstr(text, "lenet allreduce 1 1x2x1 272 ±338 76 ±94 50 ±62 33 ±41 - 53 ±66 60 ±75\n"));
    assert_non_null(strstr(text, "throughput / (ranks x throughput of one rank alone).\n"));
    assert_non_null(strstr(text, "layout: workers x stages of each x shards of the dense layers."));
    free(text);
    campaign_close(&c);
}

KIT_TEST(names_of_points)
{
    char name[LAUNCH_NAME_BYTES], layout[LAYOUT_NAME_BYTES];
    struct campaign c;

    made_open_layouts(&c, *state, LAYOUTS, N_LAYOUTS, false);
    point_name(name, sizeof name, &c.point[3]);
    assert_string_equal(name, "lenet allreduce, layout 2x2x1");
    point_setting(name, sizeof name, &c.point[3], ", ", " ");
    assert_string_equal(name, "lenet");
    assert_null(campaign_other_option(&c, 0));
    point_layout_name(layout, &c, &c.point[3]); /* one rank alone, of another mode, makes no difference */
    assert_string_equal(layout, "2x2x1");
    c.point[1].mode = c.point[0].mode;
    point_layout_name(layout, &c, &c.point[3]);
    assert_string_equal(layout, "allreduce:2x2x1");
    campaign_close(&c);
}

/* One set of tables for all layouts: none of workers, one of layouts. */
KIT_TEST(sheets_of_layouts)
{
    static const char expected[] =
        "layout\tkind\tranks\tmean\tlow\thigh\tefficiency\toversubscribed\tlaunch_0\tlaunch_1\tlaunch_2\n"
        "1x1x1\tdata\t1\t625\t610\t641\t1.00\t0\n2x1x1\tdata\t2\t1000\t976\t1025\t0.80\t0\n"
        "1x2x1\tstages\t2\t750\t732\t769\t0.60\t0\n2x2x1\tstages\t4\t500\t488\t513\t0.20\t1\n"
        "2x1x2\tshards\t2\t800\t780\t820\t0.64\t0\n";
    struct kit *k = *state;
    struct campaign c;
    char text[2000] = "", line[300];

    made_open_layouts(&c, k, LAYOUTS, N_LAYOUTS, false);
    assert_int_equal(draw(k, &c, true), RC_OK);
    FILE *from = fopen(kit_path(k, "layouts-lenet.tsv"), "r");
    assert_non_null(from);
    assert_non_null(fgets(line, sizeof line, from));
    snprintf(text, sizeof text, "%s", line);
    while (fgets(line, sizeof line, from)) {
        char layout[32], kind[32];
        double mean, low, high, efficiency, launch[3];
        int n_ranks, oversubscribed;
        assert_int_equal(sscanf(line, "%31s %31s %d %lf %lf %lf %lf %d %lf %lf %lf", layout, kind, &n_ranks, &mean,
                                &low, &high, &efficiency, &oversubscribed, &launch[0], &launch[1], &launch[2]),
                         11);
        assert_true(fabs(launch[0] * launch[1] * launch[2] / (mean * mean * mean) - 1) < 1e-9);
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s\t%s\t%d\t%.0f\t%.0f\t%.0f\t%.2f\t%d\n", layout,
                 kind, n_ranks, mean, low, high, efficiency, oversubscribed);
    }
    fclose(from);
    assert_string_equal(text, expected);
    assert_non_null(strstr(kit_read(k, "calls"), "layouts.gp layouts-lenet.tsv svg"));
    assert_null(kit_read(k, "throughput-lenet.tsv"));
    assert_null(kit_read(k, "efficiency-lenet.tsv"));
    assert_non_null(strstr(kit_read(k, "cost-lenet.tsv"), "\nallreduce\t2x2x1\t"));
    assert_non_null(strstr(kit_read(k, "bound-lenet.tsv"), "\nallreduce\t2x1x2\t"));
    assert_non_null(strstr(kit_read(k, "loss-lenet.tsv"), "\n1x2x1\t1\tseconds\t"));
    campaign_close(&c);
}

KIT_TEST(no_layouts)
{
    static const char *const option[] = { "stages", "shard-dense" };
    static const char *const value[] = { "0", "two", "70000", "-1" };
    struct campaign c = { .n_launches_wanted = 1 };

    for (size_t i = 0; i < sizeof option / sizeof *option; i++)
        for (size_t k = 0; k < sizeof value / sizeof *value; k++) {
            struct assignment a[MADE_ASSIGNMENTS + 1];
            struct point *p;
            char expected[64];
            made_assignments(a, "lenet", "allreduce", 2);
            made_assign(&a[MADE_ASSIGNMENTS], option[i], value[k]);
            snprintf(expected, sizeof expected, "--%s %s: not a number from 1 to 65536", option[i], value[k]);
            assert_int_equal(campaign_add(&c, a, MADE_ASSIGNMENTS + 1, &p), RC_INVAL);
            assert_string_equal(rc_message(), expected);
        }
    campaign_close(&c);
}

/* Which points layouts make, the work that all of them get, and what is left out or refused. */

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

UNIT_TEST(which_points_there_are)
{
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
UNIT_TEST(stages_of_workers)
{
    char words[] = "--world=threads --batch=24", text[1000];
    struct sweep s;

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
    assert_string_equal(s.left_out, "1x1x2: the number of workers is not divisible by the number of shards");
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
UNIT_TEST(options_of_a_launch)
{
    char words[] = "--world=threads --accumulate=4 --schedule=gpipe --overlap=on --recompute", text[2000];
    struct sweep s;

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
UNIT_TEST(ranks_that_were_launched)
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

UNIT_TEST(what_cannot_be_is_refused)
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
          "--global-batch 31: is not divisible by 2 workers; use 30 or 32, which fit every number of workers here, "
          "or other --layout" },
    };

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
UNIT_TEST(models_that_are_no_networks)
{
    char words[] = "--world=threads", text[1000], alone[] = "--world=threads";
    struct sweep s;

    layout_axes(&s, words, "linear,lenet", "allreduce", "2x1x1,1x2x1");
    assert_int_equal(sweep_plan(&s), RC_OK);
    points_text(text, &s);
    assert_string_equal(text, "single 1x1x1 64/0, allreduce 2x1x1 64/0, allreduce 1x2x1 64/8");
    assert_string_equal(s.left_out, "linear: has no layers that could be divided");
    campaign_close(&s.campaign);
    layout_axes(&s, alone, "linear", "allreduce", "2x1x1,1x2x1");
    assert_int_equal(sweep_plan(&s), RC_INVAL);
    assert_names(rc_message(), "--layout: ... linear:");
    campaign_close(&s.campaign);
}

UNIT_TEST(what_is_announced)
{
    char words[] = "--world=threads", *told = NULL;
    struct sweep s;

    layout_axes(&s, words, "lenet", "allreduce,single", "2x1x1");
    assert_int_equal(sweep_plan(&s), RC_OK);
    struct printed p;
    printed_begin(&p);
    sweep_announce_layouts(&s, p.to);
    told = printed_end(&p);
    assert_string_equal(told,
                        "gradmark compare: left out: 2x1x1: single has one worker\n"
                        "gradmark compare: lenet: every layout trains 64 samples a step; --global-batch N: others\n");
    free(told);
    campaign_close(&s.campaign);
    assert_string_equal(plan_layout_mode(), "allreduce");
}

UNIT_MAIN("layout_points")
