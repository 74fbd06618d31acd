/* SPDX-License-Identifier: Apache-2.0 */
/* closing_test.c - what a campaign prints before its launches and at its end, and the counts of its manifest. */
#include <jansson.h>

#include <math.h>

#include "harness/base/suite/printed.h"
#include "harness/campaign/suite/sweep_test_kit.h"
#include "harness/world/cores.h"

/* Two points with n_done launches each; n_wanted were wanted. */
static void open_campaign(struct sweep *s, struct kit *k, char *words, int n_done, size_t n_wanted)
{
    const struct made_point point[] = { { "lenet", "none", 2, 0, n_done, 1000, 1, NAN, 1 },
                                        { "lenet", "single", 1, 0, n_done, 1000, 1, NAN, 2 } };
    struct campaign made;

    kit_sweep(s, words);
    made_open(&made, k, point, 2, s->campaign.is_virtual);
    made.n_launches_wanted = n_wanted;
    s->campaign = made;
    s->budget_s = 12.5;
}

/* What sweep_finish() prints; its code to *rc. */
static char *closing_with(struct sweep *s, enum rc launched, bool charts, enum rc *rc)
{
    struct printed p;
    struct record *options = NULL;

    printed_begin(&p);
    options = record_open("options");
    record_u64(options, "a-count", 42);
    *rc = sweep_finish(s, launched, &options, charts, p.to);
    record_close(&options);
    char *text = printed_end(&p);
    return text;
}

static char *closing_of(struct sweep *s, enum rc launched, enum rc *rc)
{
    return closing_with(s, launched, false, rc);
}

static json_int_t whole(const json_t *r, const char *key)
{
    const json_t *value = json_object_get(r, key);

    return json_is_integer(value) ? json_integer_value(value) : -1;
}

static void check_manifest(struct kit *k, int n_points, int n_launches, const char *launcher)
{
    json_error_t error;
    json_t *r = json_load_file(kit_path(k, "manifest.json"), 0, &error);

    assert_non_null(r);
    assert_string_equal(json_string_value(json_object_get(r, "kind")), "campaign");
    assert_int_equal(whole(r, "points_count"), n_points);
    assert_int_equal(whole(r, "launches_per_point_count"), n_launches);
    assert_int_equal(whole(json_object_get(r, "options"), "a-count"), 42);
    if (launcher)
        assert_string_equal(json_string_value(json_object_get(r, "launcher")), launcher);
    else
        assert_true(json_is_null(json_object_get(r, "launcher")));
    json_decref(r);
}

/* Only a campaign that ended because its budget was spent prints so. */
KIT_TEST(a_spent_budget)
{
    static const char spent[] = "--budget-s 12.5 was spent after 2 of 3 runs of each setting.\n";
    static const struct {
        const char *words;
        int n_done;
        size_t n_wanted;
        enum rc launched;
        bool is_stopped, is_told;
    } cases[] = {
        { "--world=threads", 2, 3, RC_OK, false, true },    { "--world=threads", 2, 2, RC_OK, false, false },
        { "--world=threads", 2, 3, RC_PEER, false, false }, { "--world=threads", 2, 3, RC_OK, true, false },
        { "--world=sim", 2, 3, RC_OK, false, false },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sweep s;
        char words[32], results[300];
        enum rc rc;
        snprintf(words, sizeof words, "%s", cases[i].words);
        open_campaign(&s, *state, words, cases[i].n_done, cases[i].n_wanted);
        s.stopped = cases[i].is_stopped;
        char *text = closing_of(&s, cases[i].launched, &rc);
        assert_int_equal(strstr(text, spent) != NULL, cases[i].is_told);
        assert_int_equal(strstr(text, "budget") != NULL, cases[i].is_told);
        snprintf(results, sizeof results, "\nresults: %s\n", s.campaign.dir);
        assert_string_equal(text + strlen(text) - strlen(results), results);
        assert_non_null(strstr(text, "samples/s"));
        assert_null(strstr(text, "\n\n\n"));
        assert_true(strcspn(text + strcspn(text, "\n") + 1, "\n") <= 100); /* the answer is wrapped */
        check_manifest(*state, 2, cases[i].n_done, NULL);
        assert_non_null(kit_read(*state, "runs.jsonl"));
        free(text);
        campaign_close(&s.campaign);
    }
}

/* However it ended, what was done is kept; then the error says how many launches that is. */
KIT_TEST(how_it_ended)
{
    char words[] = "--world=threads", expected[500];
    struct sweep s;
    enum rc rc;

    open_campaign(&s, *state, words, 2, 3);
    s.launcher = (struct launcher){ .name = "mpirun", .n_ranks = 2 };
    free(closing_of(&s, rc_raise(RC_PEER, "it broke"), &rc));
    assert_int_equal(rc, RC_PEER);
    snprintf(expected, sizeof expected,
             "failed after 4 launches: it broke; results: %s; to continue: mpirun -np 2 gradmark compare --continue %s",
             s.campaign.dir, s.campaign.dir);
    assert_string_equal(rc_message(), expected);
    check_manifest(*state, 2, 2, "mpirun");
    campaign_close(&s.campaign);

    snprintf(words, sizeof words, "--world=threads");
    open_campaign(&s, *state, words, 1, 3);
    s.stopped = true;
    free(closing_of(&s, RC_OK, &rc));
    assert_int_equal(rc, RC_PEER);
    snprintf(expected, sizeof expected,
             "stopped after 2 launches; results: %s; to continue: gradmark compare --continue %s", s.campaign.dir,
             s.campaign.dir);
    assert_string_equal(rc_message(), expected);
    campaign_close(&s.campaign);
}

static bool is_complete(struct kit *k)
{
    json_t *r = json_load_file(kit_path(k, "manifest.json"), 0, NULL);
    const json_t *value = json_object_get(r, "is_complete");

    assert_true(json_is_boolean(value));
    const bool yes = json_is_true(value);
    json_decref(r);
    return yes;
}

/* Launches failed: the exit code tells it, where they were repeated too; only a campaign that lacks none is complete.
 */
KIT_TEST(some_launches_failed)
{
    char words[] = "--world=threads", expected[700];
    struct sweep s;
    enum rc rc;

    open_campaign(&s, *state, words, 2, 2);
    assert_int_equal(campaign_fail(&s.campaign, &s.campaign.point[1], 0, "it broke"), RC_OK);
    char *text = closing_of(&s, RC_OK, &rc);
    assert_int_equal(rc, RC_PEER);
    snprintf(expected, sizeof expected, "1 launch failed, and was repeated; results: %s", s.campaign.dir);
    assert_string_equal(rc_message(), expected);
    snprintf(expected, sizeof expected,
             "\nlenet single, 1 worker: 1 launch failed, which is repeated in its block; why: it broke.\n\n"
             "All figures and comparisons: gradmark report %s --format text\nresults: %s\n",
             s.campaign.dir, s.campaign.dir);
    assert_string_equal(text + strlen(text) - strlen(expected), expected);
    assert_true(is_complete(*state));
    free(text);
    campaign_close(&s.campaign);

    snprintf(words, sizeof words, "--world=threads");
    open_campaign(&s, *state, words, 2, 3);
    assert_int_equal(campaign_fail(&s.campaign, &s.campaign.point[1], 0, "it broke"), RC_OK);
    assert_int_equal(campaign_fail(&s.campaign, &s.campaign.point[1], 0, "it burst"), RC_OK);
    s.campaign.point[1].is_given_up = true;
    free(closing_of(&s, RC_OK, &rc));
    assert_int_equal(rc, RC_PEER);
    snprintf(
        expected, sizeof expected,
        "2 launches failed, and 1 of 2 points was given up; results: %s; to try again: gradmark compare --continue %s",
        s.campaign.dir, s.campaign.dir);
    assert_string_equal(rc_message(), expected);
    assert_false(is_complete(*state));
    campaign_close(&s.campaign);
}

/* Nothing but failures: nothing is shown, and their records stay. */
KIT_TEST(all_launches_failed)
{
    char words[] = "--world=threads", expected[400];
    struct sweep s;
    enum rc rc;

    open_campaign(&s, *state, words, 0, 3);
    assert_int_equal(campaign_fail(&s.campaign, &s.campaign.point[0], 0, "it broke"), RC_OK);
    s.campaign.point[0].is_given_up = true;
    char *text = closing_of(&s, RC_OK, &rc);
    assert_int_equal(rc, RC_PEER);
    snprintf(expected, sizeof expected, "no launch succeeded: it broke; to try again: gradmark compare --continue %s",
             s.campaign.dir);
    assert_string_equal(rc_message(), expected);
    assert_string_equal(text, "");
    assert_null(kit_read(*state, "runs.jsonl"));
    free(text);
    campaign_close(&s.campaign);
}

/* Below the verdict, above where the results are. */
KIT_TEST(a_point_did_not_learn)
{
    char words[] = "--world=threads", expected[600];
    struct sweep s;
    enum rc rc;

    open_campaign(&s, *state, words, 2, 2);
    s.campaign.point[0].launch[1].did_not_learn = true;
    char *text = closing_of(&s, RC_OK, &rc);
    assert_int_equal(rc, RC_OK);
    snprintf(expected, sizeof expected,
             "\nlenet none, 2 workers: did not learn in 1 of 2 launches.\n\n"
             "All figures and comparisons: gradmark report %s --format text\nresults: %s\n",
             s.campaign.dir, s.campaign.dir);
    assert_string_equal(text + strlen(text) - strlen(expected), expected);
    free(text);
    campaign_close(&s.campaign);
}

/* Where charts cannot be drawn, where the results are is printed all the same. */
KIT_TEST(charts_are_the_last_thing)
{
    const char *path = getenv("PATH");
    char words[] = "--world=threads", saved[4096], results[300];
    struct sweep s;
    enum rc rc;

    snprintf(saved, sizeof saved, "%s", path ? path : "");
    open_campaign(&s, *state, words, 2, 2);
    setenv("PATH", s.campaign.dir, 1); /* no gnuplot there */
    char *text = closing_with(&s, RC_OK, true, &rc);
    setenv("PATH", saved, 1);
    assert_int_equal(rc, RC_UNSUPPORTED);
    assert_int_equal(strncmp(rc_message(), "gnuplot was not found: ", 23), 0);
    snprintf(results, sizeof results, "\nresults: %s\n", s.campaign.dir);
    assert_non_null(strstr(text, results));
    assert_non_null(kit_read(*state, "cost-lenet.tsv"));
    free(text);
    campaign_close(&s.campaign);
}

/* Without a launch there is nothing to keep, nor to print. */
KIT_TEST(nothing_was_launched)
{
    char words[] = "--world=threads", expected[400];
    struct sweep s;
    enum rc rc;

    for (int is_stopped = 0; is_stopped < 2; is_stopped++) {
        snprintf(words, sizeof words, "--world=threads");
        open_campaign(&s, *state, words, 0, 3);
        s.stopped = is_stopped;
        char *text = closing_of(&s, is_stopped ? RC_OK : rc_raise(RC_IO, "no such program"), &rc);
        assert_int_equal(rc, is_stopped ? RC_PEER : RC_IO);
        snprintf(expected, sizeof expected, "stopped before the first launch was done; %s is removed", s.campaign.dir);
        assert_string_equal(rc_message(), is_stopped ? expected : "no such program");
        assert_string_equal(text, "");
        assert_null(kit_read(*state, "manifest.json"));
        free(text);
        campaign_close(&s.campaign);
        assert_null(kit_read(*state, "runs.jsonl"));
    }
}

/* Once for each model whose steps are fewer than its own; shared cores once. */
KIT_TEST(what_is_announced)
{
    char words[] = "--world=threads", expected[600], *text = NULL;
    struct sweep s;

    open_campaign(&s, *state, words, 0, 3);
    for (int i = 0; i < 2; i++) {
        s.campaign.point[i].default_steps = 400;
        s.campaign.point[i].n_steps = 6;
        s.campaign.point[i].oversubscribed = true;
    }
    struct printed p;
    printed_begin(&p);
    sweep_announce(&s, p.to);
    snprintf(s.useless, sizeof s.useless, "lenet: it changes nothing");
    s.campaign.point[0].oversubscribed = s.campaign.point[1].oversubscribed = false;
    s.campaign.point[0].over_budget = true;
    sweep_announce(&s, p.to);
    s.useless[0] = '\0';
    s.train.steps = 6; /* as the user wished */
    sweep_announce(&s, p.to);
    text = printed_end(&p);
    snprintf(
        expected, sizeof expected,
        "gradmark compare: warning: points with more than %d threads of workers share cores: marked *\n"
        "gradmark compare: lenet: 6 steps a run, not 400, so that two rounds fit in --budget-s 12.5; the target loss "
        "may "
        "be missed; --steps 400 runs them all\n"
        "gradmark compare: warning: lenet: it changes nothing\n"
        "gradmark compare: lenet: 6 steps a run, not 400, the minimum: two rounds will not fit in --budget-s 12.5; the "
        "target loss may be missed; --steps 400 runs them all\n",
        cores_allowed_count());
    assert_string_equal(text, expected);
    free(text);
    campaign_close(&s.campaign);
}

/* Two cores for a second: 1.5 busy, of which 0.1 are this process; then 0.15. One point uses both cores. */
KIT_TEST(a_busy_machine_is_told_before)
{
    const struct host_load before = { .now_ns = 1, .own_s = 1, .n_cores = 2, .busy_s = 7, .steal_s = 3 },
                           unknown = { .now_ns = 1, .busy_s = NAN, .steal_s = NAN };
    struct host_load after = { .now_ns = 1000000001, .own_s = 1.1, .n_cores = 2, .busy_s = 8.5, .steal_s = 3 };
    char words[] = "--world=threads", *text = NULL;
    struct sweep s;

    open_campaign(&s, *state, words, 0, 3);
    struct printed p;
    printed_begin(&p);
    sweep_warn_if_busy(&s, &before, &after, p.to);
    assert_true(disturbance_is_too_much(&s.campaign.before));
    sweep_warn_if_busy(&s, &unknown, &after, p.to);
    after.busy_s = 7.15;
    sweep_warn_if_busy(&s, &before, &after, p.to);
    text = printed_end(&p);
    assert_string_equal(text,
                        "gradmark compare: warning: others use 1.4 of 2 cores now. While they do, there will be no "
                        "verdict: stop them (top shows them), then start again\n");
    free(text);
    campaign_close(&s.campaign);
}

UNIT_MAIN("closing")
