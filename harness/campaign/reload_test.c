/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reload_test.c - a campaign that is continued: whatever launch an interruption came behind, or in the midst of, the
 * launches are those of a campaign that was not interrupted.
 */
#include "harness/campaign/begun.h"

#include <jansson.h>

#include "harness/campaign/suite/sweep_test_kit.h"

enum { N_POINTS = 3, N_ALL = N_POINTS * MADE_LAUNCHES };

static const char WORDS[] = "--world=threads --seed=41 --batch=16";

/* Line i of a text, with its line feed. */
static const char *line_at(const char *text, int i, size_t *n_bytes)
{
    for (; i > 0; i--)
        text = strchr(text, '\n') + 1;
    *n_bytes = (size_t)(strchr(text, '\n') + 1 - text);
    return text;
}

static void write_bytes(struct kit *k, const char *name, const char *bytes, size_t n_bytes)
{
    FILE *to = fopen(kit_path(k, name), "w");

    assert_non_null(to);
    assert_int_equal(fwrite(bytes, 1, n_bytes, to), n_bytes);
    assert_int_equal(fclose(to), 0);
}

/* Block and place of each record of runs.jsonl, two digits each. */
static void places(struct kit *k, char text[2 * N_ALL + 2])
{
    FILE *from = fopen(kit_path(k, "runs.jsonl"), "r");
    json_error_t error;
    int n = 0;

    assert_non_null(from);
    for (json_t *r; (r = json_loadf(from, JSON_DISABLE_EOF_CHECK, &error)) != NULL; json_decref(r)) {
        assert_true(n < 2 * N_ALL);
        text[n++] = (char)('0' + json_integer_value(json_object_get(r, "launch_index")));
        text[n++] = (char)('0' + json_integer_value(json_object_get(r, "block_position")));
    }
    text[n] = '\0';
    fclose(from);
}

struct whole { /* a campaign that was not interrupted */
    char runs[8192], calls[8192], places[2 * N_ALL + 2];
};

static void make_whole(struct whole *w, struct kit *k)
{
    char words[sizeof WORDS];
    struct sweep s;

    snprintf(words, sizeof words, "%s", WORDS);
    kit_open_three(&s, k, words);
    assert_int_equal(partial_file_open(&s.campaign.runs, kit_path(k, "runs.jsonl")), RC_OK);
    assert_int_equal(sweep_launch_all(&s, NULL), RC_OK);
    kit_calls(k, w->calls, sizeof w->calls);
    assert_int_equal(campaign_commit(&s.campaign), RC_OK);
    snprintf(w->runs, sizeof w->runs, "%s", kit_read(k, "runs.jsonl"));
    places(k, w->places);
    assert_int_equal(strlen(w->places), 2 * N_ALL);
    kit_close_three(&s);
    assert_int_equal(unlink(kit_path(k, "runs.jsonl")), 0);
}

/* Go on with what is kept, to the end: n_kept launches are there, the others are made, as in w. */
static void go_on(const struct whole *w, struct kit *k, int n_kept, bool is_cut)
{
    char words[sizeof WORDS], calls[8192], now[2 * N_ALL + 2];
    struct left_out left_out;
    size_t n_bytes;
    struct sweep s;

    snprintf(words, sizeof words, "%s", WORDS);
    kit_open_three(&s, k, words);
    assert_int_equal(campaign_reopen(&s.campaign, k->dir), RC_OK);
    if (sweep_reload(&s, &left_out) != RC_OK)
        fail_msg("%d launches: %s", n_kept, rc_message());
    assert_int_equal(s.campaign.n_launches_done, n_kept);
    assert_int_equal(left_out.n_bytes > 0, is_cut);
    assert_int_equal(sweep_launch_all(&s, NULL), RC_OK);
    assert_int_equal(s.campaign.n_launches_done, N_ALL);
    if (n_kept < N_ALL) {
        kit_calls(k, calls, sizeof calls);
        assert_string_equal(calls, line_at(w->calls, n_kept, &n_bytes));
    } else
        assert_null(kit_read(k, "calls"));
    assert_int_equal(campaign_commit(&s.campaign), RC_OK);
    places(k, now);
    assert_string_equal(now, w->places);
    for (size_t i = 0; i < N_POINTS;
         i++) /* what was read again is what was measured: launch n trained 100 n a second */
        assert_true(s.campaign.point[i].launch[0].throughput_samples_per_s > 0);
    kit_close_three(&s);
    assert_int_equal(unlink(kit_path(k, "runs.jsonl")), 0);
}

/* K3: interrupted behind every launch, between lines and in the midst of one. */
KIT_TEST(goes_on_behind_every_launch)
{
    static struct whole w;
    size_t n_bytes;

    make_whole(&w, *state);
    for (int n = 0; n <= N_ALL; n++) {
        const size_t n_kept_bytes = n == N_ALL ? strlen(w.runs) : (size_t)(line_at(w.runs, n, &n_bytes) - w.runs);
        const bool is_cut = n % 2 == 1 && n < N_ALL;
        write_bytes(*state, n % 3 == 2 ? "runs.jsonl" : "runs.jsonl.partial", w.runs,
                    n_kept_bytes + (is_cut ? n_bytes / 2 : 0));
        go_on(&w, *state, n, is_cut);
    }
}

/* Wherever in a record the interruption came: that launch is none, those before it are. */
KIT_TEST(a_record_that_is_cut_is_none)
{
    static struct whole w;
    struct kit *k = *state;
    size_t n_bytes;

    make_whole(&w, k);
    const size_t n_before = (size_t)(line_at(w.runs, 4, &n_bytes) - w.runs);
    const size_t cut[] = { 0, 1, 2, n_bytes / 3, n_bytes - 2, n_bytes - 1, n_bytes };
    for (size_t i = 0; i < sizeof cut / sizeof *cut; i++) {
        const size_t n = cut[i];
        char words[sizeof WORDS];
        struct left_out left_out;
        struct sweep s;
        snprintf(words, sizeof words, "%s", WORDS);
        write_bytes(k, "runs.jsonl.partial", w.runs, n_before + n);
        kit_open_three(&s, k, words);
        assert_int_equal(campaign_reopen(&s.campaign, k->dir), RC_OK);
        assert_int_equal(sweep_reload(&s, &left_out), RC_OK);
        assert_int_equal(s.campaign.n_launches_done, n == n_bytes ? 5 : 4);
        assert_int_equal(left_out.n_bytes, n == n_bytes ? 0 : n);
        assert_int_equal(strlen(kit_read(k, "runs.jsonl.partial")), n == n_bytes ? n_before + n : n_before);
        kit_close_three(&s);
    }
}

/* K1: a launch is in the file as soon as the next one begins; nothing is lost by closing. */
KIT_TEST(launches_are_kept_as_they_end)
{
    struct kit *k = *state;
    char words[sizeof WORDS];
    struct sweep s;

    snprintf(words, sizeof words, "%s", WORDS);
    kit_open_three(&s, k, words);
    /* the program notes how many lines it finds */
    assert_true(kit_write(k, "program",
                          "#!/bin/sh\ndir=${0%/*}\ngrep -c summary \"$dir/runs.jsonl.partial\" >>\"$dir/seen\"\n"
                          "for word; do case $word in --out=*) out=${word#--out=} ;; esac; done\n"
                          "echo '{\"kind\":\"summary\"}' >\"$out\"\n"));
    assert_int_equal(partial_file_open(&s.campaign.runs, kit_path(k, "runs.jsonl")), RC_OK);
    assert_int_equal(sweep_launch_all(&s, NULL), RC_OK);
    kit_close_three(&s);
    assert_string_equal(kit_read(k, "seen"), "0\n1\n2\n3\n4\n5\n6\n7\n8\n");
    assert_null(kit_read(k, "runs.jsonl"));
    assert_non_null(kit_read(k, "runs.jsonl.partial"));
}

/* Damage that no interruption does is refused, and the file stays as it is. */
KIT_TEST(damaged_records_are_refused)
{
    static struct whole w;
    static char text[8192];
    struct kit *k = *state;
    struct left_out left_out;
    size_t n_bytes;

    make_whole(&w, k);
    for (int i = 0; i < 4; i++) {
        char words[sizeof WORDS], expected[400];
        struct sweep s;
        snprintf(text, sizeof text, "%s", w.runs);
        char *line = text + (line_at(text, 3, &n_bytes) - text);
        if (i == 0)
            memset(line, 'x', 4);
        else if (i == 3) /* no record */
            strstr(line, "\"kind\"")[1] = 'm';
        else if (i == 1) /* of a block that its point has done */
            strstr(line, "\"launch_index\":")[strlen("\"launch_index\":")] = '0';
        else
            strstr(line, "\"block_position\":")[strlen("\"block_position\":")] = '9';
        write_bytes(k, "runs.jsonl.partial", text, strlen(text));
        snprintf(words, sizeof words, "%s", WORDS);
        kit_open_three(&s, k, words);
        assert_int_equal(campaign_reopen(&s.campaign, k->dir), RC_OK);
        assert_int_equal(sweep_reload(&s, &left_out), RC_MISMATCH);
        snprintf(expected, sizeof expected, "%s, line 4: ", kit_path(k, "runs.jsonl.partial"));
        if (strncmp(rc_message(), expected, strlen(expected)) != 0)
            fail_msg("%d: %s", i, rc_message());
        kit_close_three(&s);
        assert_string_equal(kit_read(k, "runs.jsonl.partial"), text);
    }
}

/* Failures count in all sessions, but a point that was given up is tried again. */
KIT_TEST(failures_are_read_again)
{
    struct kit *k = *state;
    struct left_out left_out;

    assert_true(kit_write(k, "fails", "--mode=none\n"));
    for (int session = 0; session < 2; session++) {
        char words[sizeof WORDS];
        struct sweep s;
        snprintf(words, sizeof words, "%s", WORDS);
        kit_open_three(&s, k, words);
        if (session == 0) {
            assert_int_equal(partial_file_open(&s.campaign.runs, kit_path(k, "runs.jsonl")), RC_OK);
        } else {
            assert_int_equal(campaign_reopen(&s.campaign, k->dir), RC_OK);
            assert_int_equal(sweep_reload(&s, &left_out), RC_OK);
            s.campaign.session = 1;
        }
        struct point *p = &s.campaign.point[0];
        while (strcmp(p->mode->name, "none") != 0)
            p++;
        assert_int_equal(p->n_failures, session == 0 ? 0 : 3);
        assert_false(p->is_given_up);
        assert_int_equal(sweep_launch_all(&s, NULL), RC_OK);
        assert_int_equal(p->n_failures, 3);
        assert_int_equal(p->n_launches, session == 0 ? 0 : MADE_LAUNCHES);
        assert_int_equal(s.campaign.n_launches_done, session == 0 ? N_ALL - MADE_LAUNCHES : N_ALL);
        assert_true(session == 0 || p->launch[0].session == 1);
        kit_close_three(&s);
        (void)unlink(kit_path(k, "fails"));
    }
}

/* The hosts of all launches are known again, however many they are. */
KIT_TEST(every_host_is_read_again)
{
    enum { N_HOSTS = 2000 };
    struct kit *k = *state;
    char words[sizeof WORDS], host[40];
    struct left_out left_out;
    struct sweep s;

    FILE *to = fopen(kit_path(k, "runs.jsonl.partial"), "w");
    assert_non_null(to);
    for (int i = 0; i < 2 * N_HOSTS; i++)
        fprintf(to,
                "{\"kind\":\"rank\",\"host\":\"a-node-of-some-cluster-%04d\",\"launch_index\":0,"
                "\"block_position\":0}\n",
                i / 2);
    fprintf(to, "{\"kind\":\"summary\",\"launch_index\":0,\"block_position\":0}\n");
    assert_int_equal(fclose(to), 0);
    snprintf(words, sizeof words, "%s", WORDS);
    kit_open_three(&s, k, words);
    assert_int_equal(campaign_reopen(&s.campaign, k->dir), RC_OK);
    assert_int_equal(sweep_reload(&s, &left_out), RC_OK);
    assert_int_equal(s.campaign.n_launches_done, 1);
    const char *rest = s.campaign.hosts;
    assert_non_null(rest);
    for (int i = 0; i < N_HOSTS; i++) {
        snprintf(host, sizeof host, "|a-node-of-some-cluster-%04d|", i);
        assert_memory_equal(rest, host, strlen(host));
        rest += strlen(host) - 1;
    }
    assert_string_equal(rest, "|");
    kit_close_three(&s);
}

/* The budget is of all sessions together. */
KIT_TEST(time_adds_up)
{
    struct kit *k = *state;
    struct left_out left_out;
    double spent_s[2];

    for (int session = 0; session < 2; session++) {
        char words[sizeof WORDS];
        struct sweep s;
        snprintf(words, sizeof words, "%s", WORDS);
        kit_open_three(&s, k, words);
        s.campaign.n_launches_wanted = session == 0 ? 2 : 3;
        if (session == 0)
            assert_int_equal(partial_file_open(&s.campaign.runs, kit_path(k, "runs.jsonl")), RC_OK);
        else {
            assert_int_equal(campaign_reopen(&s.campaign, k->dir), RC_OK);
            assert_int_equal(sweep_reload(&s, &left_out), RC_OK);
            assert_true(s.spent_before_s == spent_s[0]);
            s.budget_s = 1000;
        }
        if (session == 0)
            s.started_ns -= UINT64_C(2000000000000); /* 2000 s ago */
        assert_int_equal(sweep_launch_all(&s, NULL), RC_OK);
        assert_int_equal(s.campaign.n_launches_done, 2 * N_POINTS); /* no third turn */
        spent_s[session] = s.campaign.spent_s;
        assert_true(spent_s[session] > 2000 && spent_s[session] < 3000);
        kit_close_three(&s);
    }
}

UNIT_MAIN("reload")
