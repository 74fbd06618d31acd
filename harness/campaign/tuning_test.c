/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tuning_test.c - which rates are tried for each point, from which seeds, for how many steps, and which is chosen.
 *
 * The program that is launched is a script whose losses are those of a file.
 */
#include <jansson.h>

#include "harness/base/suite/names.h"
#include "harness/base/suite/printed.h"
#include "harness/campaign/begun.h"
#include "harness/campaign/suite/sweep_test_kit.h"

/* Line "MODE RATE SEED KEYS" of the file says what the summary of such a launch has; without one, a loss of 9. */
static const char PROGRAM[] =
    "#!/bin/sh\n"
    "dir=${0%/*}\n"
    "echo \"$*\" >>\"$dir/calls\"\n"
    "for word; do case $word in --out=*) out=${word#--out=} ;; --lr=*) lr=${word#--lr=} ;;\n"
    "--mode=*) mode=${word#--mode=} ;; --seed=*) seed=${word#--seed=} ;; esac; done\n"
    "keys='\"loss_last\":9'\n"
    "while read -r m r s what; do [ \"$m $r $s\" = \"$mode $lr $seed\" ] && keys=$what; done <\"$dir/losses\"\n"
    "echo '{\"kind\":\"summary\",\"throughput_samples_per_s\":100,'\"$keys\"'}' >\"$out\"\n";

#define YES ",\"learned\":\"yes\"\n"
#define LOSS(text) " \"loss_last\":" text

static const char LOSSES[] =
    /* the last is the best from one seed, and worse than the one before on average: 2.5 and 2 */
    "single 0.25 1041" LOSS("3") YES "single 0.25 1042" LOSS("3") YES "single 0.5 1041" LOSS("2.5") YES
    "single 0.5 1042" LOSS("1.5") YES "single 1 1041" LOSS("1") YES "single 1 1042" LOSS("4") YES
    /* the least loss is of a launch that did not learn, another is none */
    "allreduce 0.25 1041" LOSS("3") YES "allreduce 0.25 1042" LOSS("4") YES "allreduce 0.5 1041" LOSS("1") YES
    "allreduce 0.5 1042" LOSS("1") ",\"learned\":\"no\"\n"
                                   "allreduce 1 1041" LOSS("null") YES "allreduce 1 1042" LOSS("1") YES
    /* nothing is left; where it is not known whether a short launch learned, its loss counts */
    "none 0.25 1041" LOSS("null") YES "none 0.5 1042" LOSS(
        "2") ",\"learned\":\"no\"\n"
             "none 1 1042" LOSS("null") "\n"
                                        "ps 0.25 1041" LOSS("5") ",\"learned\":\"not_known\"\n"
                                                                 "ps 0.25 1042" LOSS(
                                                                     "5") ",\"learned\":\"not_known\"\n";

static void open_sweep(struct sweep *s, struct kit *k, char *words, const char *mode, const char *rates)
{
    char path[KIT_PATH_BYTES];

    kit_sweep(s, words);
    kit_axes(s, "linear", mode, "1,2");
    s->tune_lr = rates;
    s->campaign.n_launches_wanted = 2;
    snprintf(s->campaign.dir, sizeof s->campaign.dir, "%s", k->dir);
    snprintf(path, sizeof path, "%s", kit_path(k, "runs.jsonl"));
    assert_int_equal(atomic_file_open(&s->campaign.runs, path), RC_OK);
    assert_int_equal(sweep_plan(s), RC_OK);
    for (size_t i = 0; i < s->campaign.n_points; i++)
        s->campaign.point[i].n_steps = 200;
    kit_script(s, k);
    assert_true(kit_write(k, "program", PROGRAM));
    assert_true(kit_write(k, "losses", LOSSES));
    assert_int_equal(chmod(kit_path(k, "program"), 0700), 0);
}

static void end(struct sweep *s)
{
    kit_script_end(s);
    sweep_tuning_free(s);
    campaign_close(&s->campaign);
}

static const char TOLD[] =
    "\nrates chosen before, by the least mean loss at the end of 2 short launches, from seeds of their own:\n"
    "linear single, 1 worker: learning rate 0.5, of 0.25 (loss 3.0000), 0.5 (loss 2.0000), 1 (loss 2.5000)\n"
    "linear allreduce, 1 worker: learning rate 0.25 (at the edge of what was tried), of 0.25 (loss 3.5000), 0.5 (did "
    "not learn), 1 (did not learn)\n"
    "linear allreduce, 2 workers: learning rate 0.25 (at the edge of what was tried), of 0.25 (loss 3.5000), 0.5 (did "
    "not learn), 1 (did not learn)\n"
    "linear none, 1 worker: at none of these rates it learned, 0.1 is kept: 0.25 (did not learn), 0.5 (did not learn), "
    "1 (did not learn)\n"
    "linear none, 2 workers: at none of these rates it learned, 0.1 is kept: 0.25 (did not learn), 0.5 (did not "
    "learn), 1 (did not learn)\n"
    "linear ps, 1 worker: learning rate 0.25 (at the edge of what was tried), of 0.25 (loss 5.0000), 0.5 (loss "
    "9.0000), 1 (loss 9.0000)\n"
    "linear ps, 2 workers: learning rate 0.25 (at the edge of what was tried), of 0.25 (loss 5.0000), 0.5 (loss "
    "9.0000), 1 (loss 9.0000)\n";

static void assert_told(const struct sweep *s, const char *expected)
{
    struct printed p;

    printed_begin(&p);
    assert_int_equal(sweep_tell_tuning(s, p.to), RC_OK);
    char *text = printed_end(&p);
    for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1)
        assert_in_range(end - line, 0, 100);
    for (char *at; (at = strstr(text, "\n  "));) /* a line was broken here */
        memmove(at + 1, at + 3, strlen(at + 3) + 1), *at = ' ';
    assert_string_equal(text, expected);
    free(text);
}

/* U1 to U3: each rate twice, for half a launch's samples of one worker; then the launches, at the rate chosen. */
KIT_TEST(the_best_rate_is_chosen)
{
    struct kit *k = *state;
    struct sweep s;
    char words[] = "--world=threads --seed=41", *calls;

    open_sweep(&s, k, words, "single,allreduce,none,ps", "1,0.25,0.5");
    assert_int_equal(sweep_plan_tuning(&s), RC_OK);
    assert_int_equal(s.tuning.n_trials, 7 * 3 * 2);
    assert_told(&s, ""); /* not yet */
    if (sweep_tune(&s, NULL) != RC_OK)
        fail_msg("%s", rc_message());
    assert_told(&s, TOLD);
    calls = strdup(kit_read(k, "calls"));
    assert_int_equal(n_times(calls, "\n"), 7 * 3 * 2);
    assert_int_equal(n_times(calls, " --steps=100 "), 4 * 3 * 2); /* one worker */
    assert_int_equal(n_times(calls, " --steps=50 "), 3 * 3 * 2);
    assert_int_equal(n_times(calls, " --seed=1041 "), 7 * 3);
    assert_int_equal(n_times(calls, " --seed=1042 "), 7 * 3);
    assert_int_equal(s.campaign.n_launches_done, 0); /* a trial is no launch of the campaign */
    free(calls);
    assert_int_equal(unlink(kit_path(k, "calls")), 0);
    assert_int_equal(sweep_launch_all(&s, NULL), RC_OK);
    calls = strdup(kit_read(k, "calls"));
    assert_int_equal(n_times(calls, "\n"), 7 * 2);
    assert_int_equal(n_times(calls, " --steps=200 "), 7 * 2);
    assert_int_equal(n_times(calls, " --mode=single --workers=1 --compute=cpu --threads=1 --steps=200 --lr=0.5 "), 2);
    assert_int_equal(n_times(calls, " --lr=0.25 "), 4 * 2);
    assert_int_equal(n_times(calls, " --lr="), 5 * 2); /* none keeps the model's own */
    assert_int_equal(n_times(calls, " --seed=41 "), 7);
    assert_int_equal(n_times(calls, " --seed=42 "), 7);
    free(calls);
    end(&s);
}

/* Each trial has a record. */
KIT_TEST(trials_are_recorded)
{
    static const double rate[] = { 0.25, 0.5, 1 }, loss[] = { 3, 3, 2.5, 1.5, 1, 4 };
    struct kit *k = *state;
    struct sweep s;
    char words[] = "--world=threads --seed=41";
    json_error_t error;

    open_sweep(&s, k, words, "single", "0.25,0.5,1");
    atomic_file_discard(&s.campaign.runs);
    assert_int_equal(partial_file_open(&s.campaign.runs, kit_path(k, "runs.jsonl")), RC_OK);
    assert_int_equal(sweep_plan_tuning(&s), RC_OK);
    assert_int_equal(sweep_tune(&s, NULL), RC_OK);
    assert_int_equal(campaign_commit(&s.campaign), RC_OK);
    FILE *from = fopen(kit_path(k, "runs.jsonl"), "r");
    assert_non_null(from);
    for (int i = 0; i < 6; i++) {
        json_t *r = json_loadf(from, JSON_DISABLE_EOF_CHECK, &error);
        assert_non_null(r);
        assert_string_equal(json_string_value(json_object_get(r, "kind")), "tuning");
        assert_string_equal(json_string_value(json_object_get(r, "mode")), "single");
        assert_string_equal(json_string_value(json_object_get(r, "workers")), "1");
        assert_true(json_number_value(json_object_get(r, "learning_rate")) == rate[i / 2]);
        assert_true(json_number_value(json_object_get(r, "loss_last")) == loss[i]);
        assert_int_equal(json_integer_value(json_object_get(r, "seed")), 1041 + i % 2);
        assert_int_equal(json_integer_value(json_object_get(r, "steps_count")), 100);
        assert_int_equal(json_is_true(json_object_get(r, "did_not_learn")), 0);
        assert_int_equal(json_is_true(json_object_get(r, "is_chosen")), i / 2 == 1);
        json_decref(r);
    }
    assert_null(json_loadf(from, JSON_DISABLE_EOF_CHECK, &error));
    fclose(from);
    end(&s);
}

/* A campaign that is continued knows the rates it chose, and makes no trial again; but all of a point of which one is
 * missing. */
KIT_TEST(trials_are_not_made_again)
{
    struct kit *k = *state;
    struct left_out left_out;
    char path[KIT_PATH_BYTES];

    snprintf(path, sizeof path, "%s", kit_path(k, "runs.jsonl.partial"));
    for (int session = 0; session < 3; session++) {
        char words[] = "--world=threads --seed=41";
        const int n_expected = session == 0 ? 3 * 6 : session == 1 ? 0 : 6;
        struct sweep s;
        open_sweep(&s, k, words, "single,allreduce", "0.25,0.5,1");
        atomic_file_discard(&s.campaign.runs);
        assert_int_equal(sweep_plan_tuning(&s), RC_OK);
        if (session == 0) {
            assert_int_equal(partial_file_open(&s.campaign.runs, kit_path(k, "runs.jsonl")), RC_OK);
        } else {
            assert_int_equal(campaign_reopen(&s.campaign, k->dir), RC_OK);
            if (sweep_reload(&s, &left_out) != RC_OK)
                fail_msg("%s", rc_message());
            assert_int_equal(left_out.n_bytes > 0, session == 2);
            assert_int_equal(s.tuning.n_done, session == 1 ? 3 * 6 : 2 * 6);
        }
        assert_int_equal(sweep_tune(&s, NULL), RC_OK);
        assert_int_equal(n_times(kit_read(k, "calls"), "\n"), n_expected);
        assert_int_equal(s.tuning.n_done, 3 * 6);
        assert_true(s.campaign.point[0].tuned_lr == 0.5);
        assert_true(s.campaign.point[1].tuned_lr == 0.25 && s.campaign.point[2].tuned_lr == 0.25);
        end(&s);
        if (session == 1) { /* the last line is cut in its midst */
            const char *text = kit_read(k, "runs.jsonl.partial");
            assert_int_equal(truncate(path, (off_t)strlen(text) - 30), 0);
        }
    }
}

/* Whichever trial is damaged, those of its point are made again; but not where launches have the rate they chose. */
KIT_TEST(damaged_trials_are_made_again)
{
    struct kit *k = *state;
    char path[KIT_PATH_BYTES], whole[8192];

    for (int i = -1; i < 3 * 6; i++) {
        char words[] = "--world=threads --seed=41";
        struct left_out left_out;
        struct sweep s;
        open_sweep(&s, k, words, "single,allreduce", "0.25,0.5,1");
        atomic_file_discard(&s.campaign.runs);
        assert_int_equal(sweep_plan_tuning(&s), RC_OK);
        if (i < 0) {
            assert_int_equal(partial_file_open(&s.campaign.runs, kit_path(k, "runs.jsonl")), RC_OK);
            assert_int_equal(sweep_tune(&s, NULL), RC_OK);
            snprintf(whole, sizeof whole, "%s", kit_read(k, "runs.jsonl.partial"));
            end(&s);
            continue;
        }
        char *line = whole;
        for (int n = 0; n < i; n++)
            line = strchr(line, '\n') + 1;
        line[0] = 'x';
        snprintf(path, sizeof path, "%s", kit_path(k, "runs.jsonl.damaged"));
        assert_true(kit_write(k, "runs.jsonl.partial", whole));
        line[0] = '{';
        assert_int_equal(campaign_reopen(&s.campaign, k->dir), RC_OK);
        assert_int_equal(sweep_reload(&s, &left_out), RC_OK);
        assert_int_equal(left_out.damaged_line, i + 1);
        assert_int_equal(s.tuning.n_done, 2 * 6);
        assert_int_equal(sweep_tune(&s, NULL), RC_OK);
        assert_int_equal(n_times(kit_read(k, "calls"), "\n"), 6);
        assert_true(s.campaign.point[0].tuned_lr == 0.5);
        assert_true(s.campaign.point[1].tuned_lr == 0.25 && s.campaign.point[2].tuned_lr == 0.25);
        assert_int_equal(unlink(path), 0);
        end(&s);
    }
}

/* Launches at a rate whose trials are not there do not go with launches at a rate that is chosen anew. */
KIT_TEST(damaged_trials_of_launches_are_refused)
{
    struct kit *k = *state;
    char whole[16384], expected[300], text[2000];

    for (int session = 0; session < 2; session++) {
        char words[] = "--world=threads --seed=41";
        struct left_out left_out;
        struct sweep s;
        open_sweep(&s, k, words, "single", "0.25,0.5,1");
        atomic_file_discard(&s.campaign.runs);
        assert_int_equal(sweep_plan_tuning(&s), RC_OK);
        if (session == 0) {
            assert_int_equal(partial_file_open(&s.campaign.runs, kit_path(k, "runs.jsonl")), RC_OK);
            snprintf(text, sizeof text,
                     "%s{ echo '{\"kind\":\"manifest\"}'; cat \"$out\"; } >\"$dir/with\"; mv \"$dir/with\" \"$out\"\n",
                     PROGRAM);
            assert_true(kit_write(k, "program", text));
            assert_int_equal(sweep_tune(&s, NULL), RC_OK);
            assert_int_equal(sweep_launch_all(&s, NULL), RC_OK);
            snprintf(whole, sizeof whole, "%s", kit_read(k, "runs.jsonl.partial"));
            *(strchr(whole, '\n') + 1) = 'x';
            assert_true(kit_write(k, "runs.jsonl.partial", whole));
        } else {
            assert_int_equal(campaign_reopen(&s.campaign, k->dir), RC_OK);
            static const char why[] = ", line 2: is damaged, and so the trials are not whole that the rate of linear "
                                      "single, 1 worker was chosen by: mend it, or cut the file off before it";
            assert_int_equal(sweep_reload(&s, &left_out), RC_MISMATCH);
            snprintf(expected, sizeof expected, "%s%s", kit_path(k, "runs.jsonl.partial"), why);
            assert_string_equal(rc_message(), expected);
            assert_string_equal(kit_read(k, "runs.jsonl.partial"), whole);
        }
        end(&s);
    }
}

/* Trials, not launches: of all modes the rate 1 leaves no summary; of single the first one fails once; of allreduce all
 * fail. */
static const char FAILING[] = "case \"$*\" in *--steps=200*) ;;\n"
                              "*mode=allreduce*) echo it broke >&2; exit 3 ;;\n"
                              "*mode=single*--lr=0.25*) [ -f \"$dir/once\" ] || { : >\"$dir/once\"; exit 3; } ;;\n"
                              "*--lr=1\\ *) echo '{\"kind\":\"manifest\"}' >\"$out\" ;; esac\n";

static const char TOLD_OF_FAILING[] =
    "\nrates chosen before, by the least mean loss at the end of 2 short launches, from seeds of their own:\n"
    "linear single, 1 worker: learning rate 0.5, of 0.25 (loss 3.0000), 0.5 (loss 2.0000), 1 (failed)\n"
    "linear allreduce, 1 worker: cannot be tuned, as trials of every rate failed, 0.1 is kept: 0.25 (failed), 0.5 "
    "(failed), 1 (failed)\n"
    "linear allreduce, 2 workers: cannot be tuned, as trials of every rate failed, 0.1 is kept: 0.25 (failed), 0.5 "
    "(failed), 1 (failed)\n";

static void open_failing(struct sweep *s, struct kit *k, char *words)
{
    char text[6000];

    open_sweep(s, k, words, "single,allreduce", "0.25,0.5,1");
    atomic_file_discard(&s->campaign.runs);
    assert_int_equal(sweep_plan_tuning(s), RC_OK);
    snprintf(text, sizeof text, "%s%s", PROGRAM, FAILING);
    assert_true(kit_write(k, "program", text));
    s->max_failures = 2;
}

/* Where what is told ends in a path, only what is before and behind it. */
static void assert_failed_trials_told(const struct campaign *c)
{
    static const char first[] =
        "linear single, 1 worker: 3 trials of a rate failed; why the last one did: the launch of "
        "linear single, 1 worker failed: ";
    static const char rest[] =
        "the trial left no summary.\n"
        "linear allreduce, 1 worker: 6 trials of a rate failed; why the last one did: the launch "
        "of linear allreduce, 1 worker ended with exit code 3: it broke.\n"
        "linear allreduce, 2 workers: 6 trials of a rate failed; why the last one did: the launch "
        "of linear allreduce, 2 workers ended with exit code 3: it broke.\n";
    char *text = made_told(c, campaign_tell_failures);
    const size_t n_bytes = strlen(text);

    assert_true(n_bytes > strlen(first) + strlen(rest));
    assert_memory_equal(text, first, strlen(first));
    assert_string_equal(text + n_bytes - strlen(rest), rest);
    free(text);
}

/* A trial that fails is made again; a rate that fails too often is out, and of a point of which all are out the
 * launches are made all the same, at the rate it had. So also when it is read again (U5). */
KIT_TEST(trials_that_fail_U5)
{
    struct kit *k = *state;
    struct left_out left_out;

    for (int session = 0; session < 2; session++) {
        char words[] = "--world=threads --seed=41";
        struct sweep s;
        open_failing(&s, k, words);
        const struct point *p = s.campaign.point;
        if (session == 0) {
            assert_int_equal(partial_file_open(&s.campaign.runs, kit_path(k, "runs.jsonl")), RC_OK);
        } else {
            assert_int_equal(campaign_reopen(&s.campaign, k->dir), RC_OK);
            if (sweep_reload(&s, &left_out) != RC_OK)
                fail_msg("%s", rc_message());
        }
        if (sweep_tune(&s, NULL) != RC_OK)
            fail_msg("%s", rc_message());
        assert_int_equal(n_times(kit_read(k, "calls"), "\n"), session == 0 ? 7 + 6 + 6 : 0);
        assert_told(&s, TOLD_OF_FAILING);
        assert_true(p[0].tuned_lr == 0.5 && p[1].tuned_lr == 0 && p[2].tuned_lr == 0);
        assert_failed_trials_told(&s.campaign);
        assert_false(campaign_has_failures(&s.campaign)); /* of launches */
        assert_int_equal(sweep_launch_all(&s, NULL), RC_OK);
        for (int i = 0; i < 3; i++)
            assert_true(p[i].n_launches == 2 && !p[i].is_given_up);
        end(&s);
    }
}

/* A point whose launches fail too is given up, after as many of them as without tuning. */
KIT_TEST(a_point_that_always_fails)
{
    struct kit *k = *state;
    char words[] = "--world=threads --seed=41", text[6000];
    struct sweep s;

    open_sweep(&s, k, words, "single,allreduce", "0.5");
    assert_int_equal(sweep_plan_tuning(&s), RC_OK);
    snprintf(text, sizeof text, "%scase \"$*\" in *mode=allreduce*) exit 3 ;; esac\n", PROGRAM);
    assert_true(kit_write(k, "program", text));
    s.max_failures = 2;
    assert_int_equal(sweep_tune(&s, NULL), RC_OK);
    assert_int_equal(n_times(kit_read(k, "calls"), "\n"), 2 + 2 + 2);
    assert_int_equal(sweep_launch_all(&s, NULL), RC_OK);
    assert_int_equal(n_times(kit_read(k, "calls"), "\n"), 2 + 2 + 2 + 2 + 2 + 2);
    for (int i = 1; i < 3; i++)
        assert_true(s.campaign.point[i].is_given_up && s.campaign.point[i].n_failures == 2 &&
                    s.campaign.point[i].n_failed_trials == 2);
    end(&s);
}

/* auto: around --lr, or the model's; also in sim, where the seed of the launches is one. */
KIT_TEST(rates_around_a_given_one)
{
    static const struct {
        const char *words;
        double base;
    } cases[] = { { "--world=threads --lr=0.5", 0.5 }, { "--world=sim --lr=2", 2 }, { "--world=threads", 0.1 } };
    static const double factor[] = { 0.25, 0.5, 1, 2, 4 };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sweep s;
        char words[64], wanted[64];
        snprintf(words, sizeof words, "%s", cases[i].words);
        open_sweep(&s, *state, words, "single", "auto");
        s.campaign.point[0].n_steps = 30; /* too few to halve */
        assert_int_equal(sweep_plan_tuning(&s), RC_OK);
        assert_int_equal(sweep_tune(&s, NULL), RC_OK);
        const char *calls = kit_read(*state, "calls");
        assert_int_equal(n_times(calls, "\n"), 10);
        assert_int_equal(n_times(calls, " --steps=20 "), 10);
        assert_int_equal(n_times(calls, " --seed=1001 "), 5);
        for (int f = 0; f < 5; f++) {
            snprintf(wanted, sizeof wanted, " --lr=%.17g ", factor[f] * cases[i].base);
            assert_int_equal(n_times(kit_read(*state, "calls"), wanted), 2);
        }
        assert_true(s.campaign.point[0].tuned_lr == 0.25 * cases[i].base); /* all alike: the least */
        end(&s);
    }
}

KIT_TEST(what_is_refused)
{
    static const struct {
        const char *words, *rates, *message;
    } cases[] = {
        { "--world=threads", "0.1,x", "--tune-lr x: not a learning rate from 1e-12 to 1e6; a list of them, or auto" },
        { "--world=threads", "0", "--tune-lr 0: not a learning rate from 1e-12 to 1e6; a list of them, or auto" },
        { "--world=threads", "1,2,1", "--tune-lr 1,2,1: 1 is there twice" },
        { "--world=threads --forward-only", "auto", "--tune-lr auto: no point learns, so there is no best rate" },
        { "--world=sim --compute=hollow", "auto", "--tune-lr auto: no point learns, so there is no best rate" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sweep s;
        char words[64];
        snprintf(words, sizeof words, "%s", cases[i].words);
        open_sweep(&s, *state, words, "single", cases[i].rates);
        assert_int_equal(sweep_plan_tuning(&s), RC_INVAL);
        assert_string_equal(rc_message(), cases[i].message);
        end(&s);
    }
}

/* Nobody asked for it. */
KIT_TEST(rates_that_are_not_tuned)
{
    struct sweep s;
    char words[] = "--world=threads --lr=0.5";

    open_sweep(&s, *state, words, "single", "");
    assert_int_equal(sweep_plan_tuning(&s), RC_OK);
    assert_int_equal(sweep_tune(&s, NULL), RC_OK);
    assert_null(kit_read(*state, "calls"));
    assert_told(&s, "");
    assert_int_equal(sweep_launch_all(&s, NULL), RC_OK);
    assert_int_equal(n_times(kit_read(*state, "calls"), " --lr=0.5 "), 2);
    end(&s);
}

/* U1: under strong scaling a round of two workers has as many samples as one of one. */
KIT_TEST(trials_of_strong_scaling_have_as_many_rounds_U1)
{
    struct kit *k = *state;
    struct sweep s;
    char words[] = "--world=threads --seed=41 --global-batch=64";

    open_sweep(&s, k, words, "allreduce", "0.5");
    assert_int_equal(sweep_plan_tuning(&s), RC_OK);
    if (sweep_tune(&s, NULL) != RC_OK)
        fail_msg("%s", rc_message());
    const char *calls = kit_read(k, "calls");
    assert_int_equal(n_times(calls, " --workers=2 "), TUNING_SEEDS);
    assert_int_equal(n_times(calls, " --steps=100 "), 2 * TUNING_SEEDS);
    end(&s);
}

UNIT_MAIN("tuning")
