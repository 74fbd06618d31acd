/* SPDX-License-Identifier: Apache-2.0 */
/* recorded_test.c - a campaign read back says what it said, and records that do not fit are refused by line. */
#include "harness/campaign/suite/recorded_test_kit.h"

#include <jansson.h>
#include <sys/stat.h>

static enum rc print_marks(const struct campaign *c, FILE *to)
{
    campaign_tell_marks(c, to);
    return RC_OK;
}

/* K1 */
KIT_TEST(it_says_what_it_said)
{
    static made_print_fn *const prints[] = { campaign_print, campaign_verdict, print_marks };
    struct kit *k = *state;
    struct campaign made;
    struct recorded kept;

    recorded_write(k, MADE_CAMPAIGN, MADE_POINTS, &(struct recorded_kit){ .host = NULL });
    if (recorded_open(&kept, k->dir) != RC_OK)
        fail_msg("%s", rc_message());
    made_open(&made, k, MADE_CAMPAIGN, MADE_POINTS, false);
    assert_int_equal(kept.campaign.n_points, MADE_POINTS);
    for (size_t i = 0; i < sizeof prints / sizeof *prints; i++) {
        char *said = made_text(&made, prints[i]), *says = made_text(&kept.campaign, prints[i]);
        assert_string_equal(says, said);
        free(said);
        free(says);
    }
    assert_false(kept.is_run);
    assert_int_equal(kept.campaign.n_launches_done, 22);
    assert_int_equal(kept.campaign.n_launches_wanted, 3);
    assert_string_equal(kept.campaign.machine, "2 cores, x86_64");
    assert_string_equal(kept.campaign.exchange, "");
    assert_string_equal(kept.name, strrchr(k->dir, '/') + 1);
    assert_false(kept.tells_disturbance);
    assert_int_equal(json_array_size(kept.hosts), 1);
    for (size_t i = 0; i < MADE_POINTS; i++) {
        assert_string_equal(kept.campaign.point[i].mode->name, MADE_CAMPAIGN[i].mode);
        assert_int_equal(kept.campaign.point[i].n_servers, MADE_CAMPAIGN[i].n_servers);
        assert_int_equal(json_integer_value(recorded_option(kept.point[i].manifest, "workers")),
                         MADE_CAMPAIGN[i].n_workers);
        assert_string_equal(json_string_value(json_object_get(kept.point[i].summary, "mode")), MADE_CAMPAIGN[i].mode);
    }
    campaign_close(&made);
    recorded_close(&kept);
}

static const struct made_point PAIR[] = { { "lenet", "single", 1, 0, 3, 1000, 1.1, NAN, 1 },
                                          { "lenet", "ps", 2, 1, 3, 1500, 1.1, NAN, 2 } };

static enum rc print_failures(const struct campaign *c, FILE *to)
{
    campaign_tell_failures(c, to);
    return RC_OK;
}

static const struct made_point ALL_FAILED = { "lenet", "ps", 4, 1, 0, 0, 1, NAN, 3 };

/* K1: of a point without launches too. */
KIT_TEST(a_point_of_which_every_launch_failed)
{
    static made_print_fn *const prints[] = { campaign_print, campaign_verdict, print_failures };
    const struct made_point point[] = { PAIR[0], PAIR[1], ALL_FAILED };
    struct kit *k = *state;
    struct campaign made;
    struct recorded kept;

    recorded_write(k, point, 3, &(struct recorded_kit){ .host = NULL });
    recorded_failure(k, &ALL_FAILED, "it broke", ",\"is_given_up\":false");
    recorded_failure(k, &ALL_FAILED, "it burst", ",\"is_given_up\":true");
    if (recorded_open(&kept, k->dir) != RC_OK)
        fail_msg("%s", rc_message());
    made_open(&made, k, point, 3, false);
    assert_int_equal(campaign_fail(&made, &made.point[2], 0, "it broke"), RC_OK);
    made.point[2].is_given_up = true;
    for (size_t i = 0; i < 2; i++) /* of the records; those of the plan are made up */
        made.point[i].n_steps = kept.campaign.point[i].n_steps;
    assert_int_equal(campaign_fail(&made, &made.point[2], 0, "it burst"), RC_OK);
    assert_int_equal(kept.campaign.n_points, 3);
    for (size_t i = 0; i < sizeof prints / sizeof *prints; i++) {
        char *said = made_text(&made, prints[i]), *says = made_text(&kept.campaign, prints[i]);
        assert_string_equal(says, said);
        free(said);
        free(says);
    }
    campaign_close(&made);
    recorded_close(&kept);
}

/* Records of before "is_given_up" do not say what became of the point, if no launch of it follows. */
KIT_TEST(what_failed_in_older_records)
{
    struct kit *k = *state;
    struct recorded kept;

    for (int is_repeated = 0; is_repeated < 2; is_repeated++) {
        recorded_write(k, PAIR, 2, &(struct recorded_kit){ .host = NULL });
        recorded_failure(k, &PAIR[0], "it broke", "");
        FILE *to = fopen(kit_path(k, "runs.jsonl"), "a");
        assert_non_null(to);
        if (is_repeated)
            recorded_launch(to, &PAIR[0], 0, 3, &(struct recorded_kit){ .host = NULL });
        assert_int_equal(fclose(to), 0);
        if (recorded_open(&kept, k->dir) != RC_OK)
            fail_msg("%s", rc_message());
        char *says = made_text(&kept.campaign, print_failures);
        assert_string_equal(says, is_repeated ? "lenet single, 1 worker: 1 launch failed, which is repeated in its "
                                                "block; why: it broke.\n"
                                              : "lenet single, 1 worker: 1 launch failed; why: it broke.\n");
        free(says);
        recorded_close(&kept);
    }
}

/* A record of a failure comes first; the launch that repeats it is cut off, or there is none: its point stays. */
KIT_TEST(a_failure_before_every_launch)
{
    struct kit *k = *state;
    struct recorded kept;

    for (int is_cut = 0; is_cut < 2; is_cut++) {
        assert_true(kit_write(k, "runs.jsonl", ""));
        recorded_failure(k, &PAIR[1], "it broke", is_cut ? ",\"is_given_up\":true" : ",\"is_given_up\":false");
        FILE *to = fopen(kit_path(k, "runs.jsonl"), "a");
        assert_non_null(to);
        recorded_launch(to, &PAIR[0], 0, 0, &(struct recorded_kit){ .host = NULL });
        if (is_cut)
            recorded_launch(to, &PAIR[1], 0, 0, &(struct recorded_kit){ .host = NULL });
        const long n_bytes = ftell(to);
        assert_int_equal(fclose(to), 0);
        assert_int_equal(truncate(kit_path(k, "runs.jsonl"), n_bytes - (is_cut ? 100 : 0)), 0);
        (void)unlink(kit_path(k, "runs.jsonl.partial"));
        char whole[KIT_PATH_BYTES];
        snprintf(whole, sizeof whole, "%s", kit_path(k, "runs.jsonl"));
        assert_int_equal(recorded_open(&kept, whole), RC_INVAL); /* no run has two points */
        assert_int_equal(rename(whole, kit_path(k, "runs.jsonl.partial")), 0);
        if (recorded_open(&kept, k->dir) != RC_OK)
            fail_msg("%s", rc_message());
        assert_int_equal(kept.campaign.n_points, 2);
        assert_int_equal(kept.campaign.n_launches_done, 1);
        assert_int_equal(kept.campaign.n_launches_wanted, 1);
        assert_string_equal(kept.campaign.machine, "2 cores, x86_64");
        const struct point *ps = made_find(&kept.campaign, "lenet", "ps", 2);
        assert_non_null(ps);
        assert_int_equal(ps->n_launches, 0);
        assert_int_equal(ps->n_failures, 1);
        assert_int_equal(ps->is_given_up, is_cut);
        recorded_close(&kept);
    }
}

/* What is worked out from options, ranks and trials. */
KIT_TEST(what_a_campaign_knew)
{
    struct kit *k = *state;
    struct recorded kept;

    recorded_write(k, PAIR, 2,
                   &(struct recorded_kit){ .summary = ",\"threads_per_worker_count\":2,\"disturbed\":\"yes\"" });
    assert_true(
        kit_write(k, "manifest.json",
                  "{\"options\":{\"mode\":\"ps,single\",\"launches\":5,\"bucket-bytes\":4096,\"overlap\":\"on\","
                  "\"priority\":\"auto\",\"batch\":64,\"reducer\":null}}"));
    FILE *to = fopen(kit_path(k, "runs.jsonl"), "a");
    assert_non_null(to);
    fprintf(to, "{\"kind\":\"tuning\",\"model\":\"lenet\",\"mode\":\"ps\",\"workers\":\"2\",\"learning_rate\":0.5,"
                "\"is_chosen\":false}\n"
                "{\"kind\":\"tuning\",\"model\":\"lenet\",\"mode\":\"ps\",\"workers\":\"2\",\"learning_rate\":0.25,"
                "\"is_chosen\":true}\n");
    assert_int_equal(fclose(to), 0);
    if (recorded_open(&kept, k->dir) != RC_OK)
        fail_msg("%s", rc_message());
    const struct point *ps = &kept.campaign.point[0], *single = &kept.campaign.point[1];
    assert_string_equal(ps->mode->name, "ps"); /* as the option lists modes */
    assert_string_equal(single->mode->name, "single");
    assert_string_equal(kept.campaign.exchange, "bucket-bytes 4096, overlap on");
    assert_int_equal(kept.campaign.n_launches_wanted, 5);
    assert_int_equal(ps->n_threads, 2);
    assert_true(ps->oversubscribed); /* 2 workers of 2 threads on 2 cores */
    assert_false(single->oversubscribed);
    assert_int_equal(ps->n_steps, 3);
    assert_true(ps->tuned_lr == 0.25);
    assert_true(single->tuned_lr == 0);
    assert_true(kept.tells_disturbance);
    assert_int_equal(json_array_size(kept.tuning), 2);
    assert_int_equal(json_array_size(kept.ranks), 0);
    recorded_close(&kept);
}

/* Cores of the hosts of its launches count for a point, not those of points on more hosts. */
KIT_TEST(cores_of_each_point)
{
    static const struct made_point point[] = { { "lenet", "none", 3, 0, 2, 1000, 1.1, NAN, 1 },
                                               { "lenet", "none", 4, 0, 2, 1000, 1.1, NAN, 1 },
                                               { "lenet", "none", 8, 0, 2, 1000, 1.1, NAN, 1 } };
    static const struct {
        int n_ranks_per_host;
        bool is_oversubscribed[3];
    } cases[] = { { 3, { true, false, true } }, { 4, { true, true, true } }, { 2, { false, false, false } } };
    struct kit *k = *state;
    struct recorded kept;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        recorded_write(k, point, 3, &(struct recorded_kit){ .n_ranks_per_host = cases[i].n_ranks_per_host });
        if (recorded_open(&kept, k->dir) != RC_OK)
            fail_msg("%s", rc_message());
        for (int p = 0; p < 3; p++)
            assert_int_equal(kept.campaign.point[p].oversubscribed, cases[i].is_oversubscribed[p]);
        recorded_close(&kept);
    }
}

KIT_TEST(many_launches_of_a_point)
{
    struct kit *k = *state;
    struct recorded kept;
    FILE *to = fopen(kit_path(k, "runs.jsonl"), "w");

    assert_non_null(to);
    for (int i = 0; i < 40; i++)
        recorded_launch(to, &PAIR[0], i % MADE_LAUNCHES, i, &(struct recorded_kit){ .host = NULL });
    assert_int_equal(fclose(to), 0);
    if (recorded_open(&kept, k->dir) != RC_OK)
        fail_msg("%s", rc_message());
    assert_int_equal(kept.campaign.point[0].n_launches, 40);
    assert_true(fabs(kept.campaign.point[0].launch[39].throughput_samples_per_s -
                     kept.campaign.point[0].launch[0].throughput_samples_per_s) < 1e-9);
    assert_int_equal(kept.campaign.point[0].curve[39].n_points, MADE_STEPS);
    assert_null(kept.manifest);
    recorded_close(&kept);
}

/* Figures are worked out in arrays of as many as a campaign can have. */
KIT_TEST(more_launches_than_there_can_be)
{
    struct kit *k = *state;
    struct recorded kept;
    FILE *to = fopen(kit_path(k, "runs.jsonl"), "w");

    assert_non_null(to);
    for (int i = 0; i <= MAX_LAUNCHES; i++)
        recorded_launch(to, &PAIR[0], i % MADE_LAUNCHES, i, &(struct recorded_kit){ .host = NULL });
    assert_int_equal(fclose(to), 0);
    assert_int_equal(recorded_open(&kept, k->dir), RC_MISMATCH);
    assert_non_null(strstr(rc_message(), "more launches of a point than a campaign can have"));
}

KIT_TEST(simulated_launches)
{
    struct kit *k = *state;
    struct recorded kept;
    FILE *to = fopen(kit_path(k, "runs.jsonl"), "w");

    assert_non_null(to);
    recorded_launch(
        to, &PAIR[1], 0, 0,
        &(struct recorded_kit){ .manifest = ",\"cluster\":{\"name\":\"rack\"}", .summary = ",\"virtual_s\":2.5" });
    assert_int_equal(fclose(to), 0);
    if (recorded_open(&kept, k->dir) != RC_OK)
        fail_msg("%s", rc_message());
    assert_true(kept.campaign.is_virtual);
    assert_string_equal(kept.campaign.cluster_name, "rack");
    assert_false(kept.campaign.point[0].servers_share);
    recorded_close(&kept);
}

KIT_TEST(a_run_has_its_ranks)
{
    struct kit *k = *state;
    struct recorded kept;
    FILE *to = fopen(kit_path(k, "run.jsonl"), "w");

    assert_non_null(to);
    recorded_launch(to, &PAIR[1], 0, -1, &(struct recorded_kit){ .host = "other" });
    assert_int_equal(fclose(to), 0);
    if (recorded_open(&kept, kit_path(k, "run.jsonl")) != RC_OK)
        fail_msg("%s", rc_message());
    assert_true(kept.is_run);
    assert_string_equal(kept.name, "run.jsonl");
    assert_string_equal(kept.campaign.dir, k->dir);
    assert_int_equal(json_array_size(kept.ranks), 3);
    assert_string_equal(json_string_value(json_array_get(kept.hosts, 0)), "other");
    assert_non_null(kept.manifest);
    assert_true(kept.campaign.point[0].servers_share);
    recorded_close(&kept);
}

/* K2: an edit of the file of a good campaign, and what is said of it. */
KIT_TEST(records_that_do_not_fit)
{
    static const char MANIFEST[] = "{\"kind\":\"manifest\",\"options\":{\"model\":\"lenet\",\"mode\":\"single\","
                                   "\"workers\":1}}\n",
                      SUMMARY[] = "{\"kind\":\"summary\"}\n";
    static const struct {
        const char *part[4];
        const char *message;
    } cases[] = {
        { { "" }, "runs.jsonl: holds no launch" },
        { { MANIFEST, "{\"kind\":\"sum" }, "line 2: not a record" },
        { { MANIFEST, "[1]\n" }, "line 2: a record without a kind" },
        { { MANIFEST, "{\"a\":1}\n" }, "line 2: a record without a kind" },
        { { MANIFEST }, "line 1: the launch before has no summary" },
        { { MANIFEST, MANIFEST }, "line 2: the launch before has no summary" },
        { { SUMMARY }, "line 1: a record that belongs to no launch" },
        { { MANIFEST, SUMMARY, SUMMARY }, "line 3: a record that belongs to no launch" },
        { { "{\"kind\":\"manifest\"}\n" }, "line 1: a manifest without model, mode and workers" },
        { { "{\"kind\":\"manifest\",\"options\":{\"model\":\"lenett\",\"mode\":\"single\",\"workers\":1}}\n" },
          "line 1: model lenett: no such model" },
        { { "{\"kind\":\"manifest\",\"options\":{\"model\":\"lenet\",\"mode\":\"single\",\"workers\":1},"
            "\"launch_index\":1}\n" },
          "line 1: launches of a point are missing, or twice there" },
        { { MANIFEST, SUMMARY, "{\"kind\":\"failure\",\"message\":\"it broke\"}\n" },
          "line 3: a failure without model, mode and workers" },
    };
    struct kit *k = *state;
    struct recorded kept;
    char text[2048];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        text[0] = '\0';
        for (int part = 0; part < 4 && cases[i].part[part]; part++)
            strcat(text, cases[i].part[part]);
        assert_true(kit_write(k, "runs.jsonl", text));
        assert_int_not_equal(recorded_open(&kept, k->dir), RC_OK);
        if (!strstr(rc_message(), cases[i].message))
            fail_msg("case %zu: %s, not: %s", i, rc_message(), cases[i].message);
        recorded_close(&kept);
    }
}

/* More launches than a campaign can have are no number to count to. */
KIT_TEST(a_manifest_of_too_many_launches)
{
    static const char *const refused[] = { "1001", "4000000000", "9223372036854775807" };
    struct kit *k = *state;
    struct recorded kept;
    char text[100];

    recorded_write(k, PAIR, 2, &(struct recorded_kit){ .host = NULL });
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        snprintf(text, sizeof text, "{\"options\":{\"launches\":%s}}", refused[i]);
        assert_true(kit_write(k, "manifest.json", text));
        assert_int_equal(recorded_open(&kept, k->dir), RC_MISMATCH);
        snprintf(text, sizeof text, "manifest.json: launches is %s: a campaign has 1000 of a point at most",
                 refused[i]);
        assert_non_null(strstr(rc_message(), text));
    }
    assert_true(kit_write(k, "manifest.json", "{\"options\":{\"launches\":1000}}"));
    assert_int_equal(recorded_open(&kept, k->dir), RC_OK);
    assert_int_equal(kept.campaign.n_launches_wanted, MAX_LAUNCHES);
    recorded_close(&kept);
}

/* Nobody writes to these pipes: reading one would wait for ever. */
KIT_TEST(pipes_are_refused)
{
    static const char *const names[] = { "manifest.json", "runs.jsonl" }; /* each also as the file of a run */
    struct kit *k = *state;
    struct recorded kept;

    recorded_write(k, PAIR, 2, &(struct recorded_kit){ .host = NULL });
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_int_equal(unlink(kit_path(k, names[i])), 0);
        assert_int_equal(mkfifo(kit_path(k, names[i]), 0600), 0);
        for (int is_run = 0; is_run < 2; is_run++) {
            assert_int_equal(recorded_open(&kept, is_run ? kit_path(k, names[i]) : k->dir), RC_INVAL);
            assert_non_null(strstr(rc_message(), names[i]));
            assert_non_null(strstr(rc_message(), "not a regular file"));
        }
        assert_int_equal(unlink(kit_path(k, names[i])), 0);
    }
}

/* What a campaign leaves that was killed: every launch that ended, and a part of one. */
KIT_TEST(a_launch_that_was_cut_off)
{
    struct kit *k = *state;
    struct recorded kept;

    for (int n_cut = 0; n_cut < 3; n_cut++) {
        FILE *to = fopen(kit_path(k, "runs.jsonl.partial"), "w");
        assert_non_null(to);
        for (int i = 0; i < 2; i++)
            recorded_launch(to, &PAIR[0], i, i, &(struct recorded_kit){ .host = NULL });
        fprintf(to, "{\"kind\":\"failure\",\"model\":\"lenet\",\"mode\":\"single\",\"workers\":\"1\"}\n");
        if (n_cut < 2) /* of a new point, and of the one that has launches */
            recorded_launch(to, &PAIR[n_cut == 0], n_cut == 0 ? 0 : 2, n_cut == 0 ? 0 : 2,
                            &(struct recorded_kit){ .host = NULL });
        const long n_bytes = ftell(to);
        assert_int_equal(fclose(to), 0);
        if (n_cut < 2) /* in the midst of the summary, or just before its end */
            assert_int_equal(truncate(kit_path(k, "runs.jsonl.partial"), n_bytes - (n_cut == 0 ? 100 : 1)), 0);
        if (recorded_open(&kept, k->dir) != RC_OK)
            fail_msg("%s", rc_message());
        assert_int_equal(kept.campaign.n_points, 1);
        assert_int_equal(kept.campaign.n_launches_done, 2);
        assert_int_equal(json_array_size(kept.failures), 1);
        recorded_close(&kept);
    }
    assert_int_equal(truncate(kit_path(k, "runs.jsonl.partial"), 50), 0);
    assert_int_equal(recorded_open(&kept, k->dir), RC_INVAL);
    assert_non_null(strstr(rc_message(), "holds no launch that has ended"));
}

KIT_TEST(what_is_no_campaign)
{
    struct kit *k = *state;
    struct recorded kept;

    assert_int_equal(recorded_open(&kept, kit_path(k, "none")), RC_INVAL);
    assert_non_null(strstr(rc_message(), "/none: No such file or directory"));
    assert_int_equal(mkdir(kit_path(k, "none.partial"), 0700), 0);
    assert_int_equal(recorded_open(&kept, kit_path(k, "none")), RC_INVAL);
    assert_non_null(strstr(rc_message(), "/none: is not finished; its subcommand continues it with --continue "));
    assert_int_equal(rmdir(kit_path(k, "none.partial")), 0);
    assert_int_equal(recorded_open(&kept, k->dir), RC_INVAL);
    assert_non_null(strstr(rc_message(), ": not a folder of gradmark compare or accept (no runs.jsonl"));
    assert_true(kit_write(k, "report.html", "<html>")); /* of another subcommand */
    assert_int_equal(recorded_open(&kept, k->dir), RC_INVAL);
    assert_non_null(strstr(rc_message(), "not a folder of gradmark compare or accept; its page is there: "));
    assert_non_null(strstr(rc_message(), "/report.html"));
    recorded_write(k, PAIR, 2, &(struct recorded_kit){ .host = NULL });
    assert_int_equal(recorded_open(&kept, kit_path(k, "runs.jsonl")), RC_INVAL);
    assert_non_null(strstr(rc_message(), "the records of several launches; give the folder"));
    assert_true(kit_write(k, "manifest.json", "{"));
    assert_int_equal(recorded_open(&kept, k->dir), RC_MISMATCH);
    assert_non_null(strstr(rc_message(), "manifest.json: line "));
    recorded_close(&kept);
}

UNIT_TEST(values_as_text)
{
    static const struct {
        const char *json, *text;
    } cases[] = { { "\"a b\"", "a b" },
                  { "\"\"", "-" },
                  { "null", "-" },
                  { "true", "true" },
                  { "false", "false" },
                  { "12", "12" },
                  { "0.10000000000000001", "0.1" },
                  { "{}", "-" } };
    char text[32];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *value = json_loads(cases[i].json, JSON_DECODE_ANY, NULL);
        assert_non_null(value);
        recorded_text(text, sizeof text, value);
        assert_string_equal(text, cases[i].text);
        json_decref(value);
    }
    recorded_text(text, sizeof text, NULL);
    assert_string_equal(text, "-");
}

UNIT_MAIN("recorded")
