/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff_test.c - two campaigns of known throughputs. Launches of a point are its rate over the spread, the rate, and
 * times it: logarithms 0 and +-ln(spread), variance ln(spread)^2; of two such, squared error 2/3 ln(spread)^2 with 4
 * degrees of freedom, whose 0.975 quantile is 2.776445. With a spread of 1.01: half of an interval
 * 2.776445 x 0.816497 x 0.00995033 = 0.0225571; of 1.1: 0.216064.
 */
#include "harness/base/suite/printed.h"
#include "harness/campaign/diff.h"
#include "harness/campaign/suite/recorded_test_kit.h"

static const struct made_point FOUR[] = { { "lenet", "none", 2, 0, 3, 2500, 1.01, NAN, 1 },
                                          { "lenet", "single", 1, 0, 3, 1250, 1.1, NAN, 2 },
                                          { "lenet", "ps", 2, 1, 3, 1800, 1.01, NAN, 3 },
                                          { "linear", "allreduce", 2, 0, 3, 4e6, 1.01, NAN, 4 } };

/* What two kits' campaigns differ in, with these points; *text: what is printed, or the error. Freed by the caller. */
static enum rc diff_rows_of(struct kit *k, const struct made_point *a, size_t n_a, const struct recorded_kit *kit_a,
                            const struct made_point *b, size_t n_b, const struct recorded_kit *kit_b, bool all_rows,
                            struct diff_counts *n, char **text)
{
    struct recorded first, second;
    size_t n_bytes = 0;
    FILE *to = open_memstream(text, &n_bytes);

    assert_non_null(to);
    recorded_write(k, a, n_a, kit_a);
    if (recorded_open(&first, k->dir) != RC_OK)
        fail_msg("%s", rc_message());
    recorded_write(k, b, n_b, kit_b);
    if (recorded_open(&second, k->dir) != RC_OK)
        fail_msg("%s", rc_message());
    snprintf(first.name, sizeof first.name, "first");
    snprintf(second.name, sizeof second.name, "second");
    const enum rc rc = campaign_diff(&first, &second, all_rows, n, to);
    if (rc != RC_OK) {
        fprintf(to, "%s", rc_message());
        rc_clear();
    }
    assert_int_equal(fclose(to), 0);
    recorded_close(&first);
    recorded_close(&second);
    return rc;
}

static enum rc diff_of(struct kit *k, const struct made_point *a, size_t n_a, const struct recorded_kit *kit_a,
                       const struct made_point *b, size_t n_b, const struct recorded_kit *kit_b, struct diff_counts *n,
                       char **text)
{
    return diff_rows_of(k, a, n_a, kit_a, b, n_b, kit_b, true, n, text);
}

static const struct recorded_kit PLAIN = { .host = NULL };

KIT_TEST(a_campaign_against_itself)
{
    struct diff_counts n;
    char *text;

    assert_int_equal(diff_of(*state, FOUR, 4, &PLAIN, FOUR, 4, &PLAIN, &n, &text), RC_OK);
    made_squeeze(text);
    assert_string_equal(
        text, "B against A: better in 0, worse in 0, cannot tell in 4 of 4 points.\n"
              " Where it cannot tell, B / A is from 1.000 to 1.000, and the 95 % CIs are from 0.806 to 1.241.\n"
              "\n"
              "model mode workers A samples/s B samples/s B / A 95 % CI B is runs\n"
              "- - - - - - - - -\n"
              "lenet none 2 2.5 k 2.5 k 1.000 0.978-1.023 cannot tell 3, 3\n"
              "lenet single 1 1.25 k 1.25 k 1.000 0.806-1.241 cannot tell 3, 3\n"
              "lenet ps 2 1.8 k 1.8 k 1.000 0.978-1.023 cannot tell 3, 3\n"
              "- - - - - - - - -\n"
              "linear allreduce 2 4 M 4 M 1.000 0.978-1.023 cannot tell 3, 3\n"
              "\n"
              "A: first, 2026-11-22T10:00:00Z, host host0, commit 0123456789ab with changes\n"
              "B: second, 2026-11-22T10:00:00Z, host host0, commit 0123456789ab with changes\n"
              "\nThe chance of any wrong verdict among these 4 is at most 5 % (Welch's test on logarithms, Holm).\n"
              " Each interval is 95 % by itself, over the runs of each campaign. What changed on the machine\n"
              " between the two campaigns is in the ratio and not in the interval: two campaigns of the same\n"
              " program show how much that is.\n");
    assert_int_equal(n.n_better + n.n_worse + n.n_not_compared, 0);
    assert_int_equal(n.n_untold, 4);
    free(text);
}

/* t of a ratio r is |ln r| / 0.0081244 (spread 1.01): 1.06 is 7.17, p 0.0020, and holds among four (0.0125); 0.975 is
 * 3.12, p 0.036, which does not hold as the third of four (0.025), and would by itself. */
KIT_TEST(better_worse_and_cannot_tell)
{
    struct made_point other[] = { FOUR[0], FOUR[1], FOUR[2], FOUR[3] };
    struct diff_counts n;
    char *text;

    other[0].samples_per_s *= 1.06;
    other[1].samples_per_s *= 1.06; /* its launches differ by more than that */
    other[2].samples_per_s *= 0.975;
    other[3].samples_per_s *= 0.9;
    assert_int_equal(diff_of(*state, FOUR, 4, &PLAIN, other, 4, &PLAIN, &n, &text), RC_OK);
    made_squeeze(text);
    assert_non_null(strstr(text, "\nlenet none 2 2.5 k 2.65 k 1.060 1.036-1.084 better 3, 3\n"));
    assert_non_null(strstr(text, "\nlenet single 1 1.25 k 1.325 k 1.060 0.854-1.316 cannot tell 3, 3\n"));
    assert_non_null(strstr(text, "\nlenet ps 2 1.8 k 1.755 k 0.975 0.953-0.997 cannot tell 3, 3\n"));
    assert_non_null(strstr(text, "\nlinear allreduce 2 4 M 3.6 M 0.900 0.880-0.921 worse 3, 3\n"));
    static const char answer[] = "B against A: better in 1, worse in 1, cannot tell in 2 of 4 points.\n"
                                 " Most worse: linear allreduce, 2 workers, 0.900x (95 % CI 0.880 to 0.921).\n"
                                 " Most better: lenet none, 2 workers, 1.060x (95 % CI 1.036 to 1.084).\n"
                                 " 1 difference is sure alone, but not as one of 4 comparisons (Holm's correction). ";
    assert_int_equal(strncmp(text, answer, strlen(answer)), 0);
    assert_true(n.n_better == 1 && n.n_worse == 1 && n.n_untold == 2 && n.n_not_compared == 0);
    free(text);
    /* By itself the third holds. */
    assert_int_equal(diff_of(*state, FOUR + 2, 1, &PLAIN, other + 2, 1, &PLAIN, &n, &text), RC_OK);
    assert_true(n.n_worse == 1 && n.n_untold == 0);
    free(text);
    /* The other way round what was worse is better. */
    assert_int_equal(diff_of(*state, other, 4, &PLAIN, FOUR, 4, &PLAIN, &n, &text), RC_OK);
    made_squeeze(text);
    assert_non_null(strstr(text, "\nlinear allreduce 2 3.6 M 4 M 1.111 1.086-1.136 better 3, 3\n"));
    assert_true(n.n_better == 1 && n.n_worse == 1);
    free(text);
}

/* Of two campaigns: the rows that differ, and how many do not. */
KIT_TEST(rows_without_a_difference_are_counted)
{
    struct made_point other[] = { FOUR[0], FOUR[1], FOUR[2], FOUR[3] };
    struct diff_counts n;
    struct recorded a, b;

    other[3].samples_per_s *= 0.9;
    for (int n_worse = 0; n_worse < 2; n_worse++) {
        struct printed p;
        printed_begin(&p);
        recorded_write(*state, FOUR, 4, &PLAIN);
        assert_int_equal(recorded_open(&a, ((struct kit *)*state)->dir), RC_OK);
        recorded_write(*state, n_worse ? other : FOUR, 4, &PLAIN);
        assert_int_equal(recorded_open(&b, ((struct kit *)*state)->dir), RC_OK);
        assert_int_equal(campaign_diff(&a, &b, false, &n, p.to), RC_OK);
        char *text = printed_end(&p);
        assert_int_equal(n.n_worse, n_worse);
        assert_true(!strstr(text, "model") == !n_worse);
        assert_null(strstr(text, "\nlenet"));
        assert_true(!strstr(text, "\nlinear  allreduce") == !n_worse);
        assert_non_null(strstr(
            text, n_worse ? "\n3 of 4 settings are not listed: the data show no difference. --all lists every row.\n"
                          : "\n4 of 4 settings are not listed: "));
        free(text);
        recorded_close(&a);
        recorded_close(&b);
    }
}

/* Without --all, too: B / A may be far from 1, and no verdict is given. */
KIT_TEST(withheld_verdicts_are_listed_and_named)
{
    static const struct recorded_kit disturbed = { .summary = ",\"disturbed\":\"yes\"" };
    struct made_point half[] = { FOUR[0], FOUR[1], FOUR[2], FOUR[3] };
    struct diff_counts n;
    char *text;

    for (size_t i = 0; i < 4; i++)
        half[i].samples_per_s *= 0.5;
    assert_int_equal(diff_rows_of(*state, FOUR, 4, &PLAIN, half, 4, &disturbed, false, &n, &text), RC_OK);
    made_squeeze(text);
    assert_non_null(strstr(text, "\n 4 verdicts are withheld: lenet none, 2 workers; lenet single, 1 worker;"));
    assert_non_null(strstr(text, " more. In A "));
    assert_non_null(strstr(text, "\nlinear allreduce 2 4 M 2 M 0.500 0.489-0.511 withheld 3, 3 d\n"));
    assert_null(strstr(text, "not listed"));
    assert_null(strstr(text, "The chance")); /* nothing is tested */
    free(text);
}

/* N1 */
KIT_TEST(points_of_one_alone_are_named)
{
    struct diff_counts n;
    char *text;

    assert_int_equal(diff_of(*state, FOUR, 3, &PLAIN, FOUR + 1, 3, &PLAIN, &n, &text), RC_OK);
    assert_non_null(strstr(text, "\nlenet none, 2 workers: in A alone\n"));
    assert_non_null(strstr(text, "\nlinear allreduce, 2 workers: in B alone\n"));
    assert_int_equal(n.n_untold, 2);
    free(text);
    assert_int_equal(diff_of(*state, FOUR, 1, &PLAIN, FOUR + 1, 3, &PLAIN, &n, &text), RC_INVAL);
    assert_string_equal(
        text,
        "first and second: no point is in both; use results that have a model, mode and number of workers in common");
    free(text);
}

/* N2 */
KIT_TEST(other_samples_are_not_compared)
{
    const struct recorded_kit small = { .summary = ",\"image_size_px\":8,\"dataset\":\"digits\"" },
                              large = { .summary = ",\"image_size_px\":16,\"dataset\":\"synthetic\"" },
                              simulated = { .summary = ",\"virtual_s\":1.5" };
    struct diff_counts n;
    char *text;

    assert_int_equal(diff_of(*state, FOUR, 4, &small, FOUR, 4, &large, &n, &text), RC_INVAL);
    assert_string_equal(text, "first and second: no point can be compared: dataset digits and synthetic, image_size_px "
                              "8 and 16");
    free(text);
    assert_int_equal(diff_of(*state, FOUR, 4, &small, FOUR, 4, &PLAIN, &n, &text), RC_OK); /* not known there */
    assert_int_equal(n.n_untold, 4);
    free(text);
    assert_int_equal(diff_of(*state, FOUR, 4, &PLAIN, FOUR, 4, &simulated, &n, &text), RC_INVAL);
    assert_string_equal(text, "second is simulated, first was measured: they cannot be compared");
    free(text);
}

/* N2: the others are compared all the same. */
KIT_TEST(points_of_other_samples_are_named)
{
    const struct recorded_kit a = { .of_linear = ",\"params_count\":10" }, b = { .of_linear = ",\"params_count\":11" };
    struct diff_counts n;
    char *text;

    assert_int_equal(diff_of(*state, FOUR, 4, &a, FOUR, 4, &b, &n, &text), RC_OK);
    assert_non_null(strstr(text, "\nlinear allreduce, 2 workers: not compared: params_count 10 and 11\n"));
    assert_null(strstr(text, "lenet none, 2 workers: not compared"));
    assert_int_equal(n.n_untold, 3);
    assert_int_equal(n.n_not_compared, 1);
    free(text);
}

/* N3 */
KIT_TEST(what_differs_is_named)
{
    const struct recorded_kit here = { .host = "here",
                                       .options = ",\"reducer\":\"ring\",\"threads\":1,\"batch\":32",
                                       .manifest = ",\"compiler\":\"GNU 12\",\"memory_bytes\":1000" };
    const struct recorded_kit there = { .host = "there",
                                        .options = ",\"reducer\":\"root\",\"threads\":2,\"wait\":\"spin\","
                                                   "\"batch\":32",
                                        .manifest = ",\"compiler\":\"GNU 13\",\"memory_bytes\":1000,\"libraries\":{"
                                                    "\"hwloc\":\"2.10\",\"mpi\":null}" };
    struct made_point other[] = { FOUR[0], FOUR[1] };
    struct diff_counts n;
    char *text;

    other[0].samples_per_s *= 0.9;
    assert_int_equal(diff_of(*state, FOUR, 2, &here, other, 2, &there, &n, &text), RC_OK);
    assert_non_null(strstr(text, "commit 0123456789ab with changes\nother machine: host here and there\n"
                                 "other program: compiler GNU 12 and GNU 13\nother library: hwloc 2.9.0 and 2.10\n"
                                 "other option: reducer ring and root\nother option: threads 1 and 2\n\n"));
    assert_non_null(strstr(text, "  5 other things differ (see below), and may be the cause of a difference.\n"));
    free(text);
    assert_int_equal(diff_of(*state, FOUR, 2, &here, FOUR, 2, &there, &n, &text), RC_OK);
    assert_non_null(strstr(text, "\nother machine: host here and there\n"));
    assert_null(strstr(text, "the cause of a difference")); /* of none */
    free(text);
}

/* N3: variables of one alone too; what is not known says nothing, and neither does the order. */
KIT_TEST(other_environments_are_named)
{
    static const struct {
        const char *a, *b, *told; /* "": nothing */
    } cases[] = {
        { ",\"environment\":{\"OMP_A\":\"1\",\"UCX_B\":null}", ",\"environment\":{\"UCX_B\":null,\"OMP_A\":\"1\"}",
          "" },
        { ",\"environment\":{\"OMP_A\":\"1\"}", ",\"dataset\":\"digits\"", "" },
        { ",\"environment\":{\"OMP_A\":\"1\",\"OMP_C\":\"x\"}", ",\"environment\":{\"OMP_A\":\"4\",\"UCX_B\":\"y\"}",
          "other environment: OMP_A 1 and 4\nother environment: OMP_C x and not set\nother environment: UCX_B not set "
          "and y\n" },
        /* What the process was given, where both know that. */
        { ",\"environment\":{\"OMPI_X\":\"1\"},\"plan\":{\"environment\":{\"OMP_A\":\"1\"}}",
          ",\"environment\":{\"OMPI_X\":\"2\"},\"plan\":{\"environment\":{\"OMP_A\":\"2\"}}",
          "other environment: OMP_A 1 and 2\n" },
        { ",\"environment\":{\"OMPI_X\":\"1\"}",
          ",\"environment\":{\"OMPI_X\":\"2\"},\"plan\":{\"environment\":{\"OMP_A\":\"2\"}}",
          "other environment: OMPI_X 1 and 2\n" },
    };
    struct diff_counts n;
    char *text;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct recorded_kit a = { .manifest = cases[i].a }, b = { .manifest = cases[i].b };
        char expected[300];
        assert_int_equal(diff_of(*state, FOUR, 2, &a, FOUR, 2, &b, &n, &text), RC_OK);
        snprintf(expected, sizeof expected,
                 "B: second, 2026-11-22T10:00:00Z, host host0, commit 0123456789ab with changes\n%s\nThe chance ",
                 cases[i].told);
        if (!strstr(text, expected))
            fail_msg("case %zu: %s", i, text);
        free(text);
    }
}

/* N3: hosts of ranks behind the first, and what had changed when a campaign was continued. */
KIT_TEST(other_hosts_and_continuing_are_named)
{
    const struct recorded_kit alone = { .host = "node" },
                              two = { .host = "node",
                                      .n_ranks_per_host = 1,
                                      .manifest = ",\"continued_despite\":\"kernel was 1, is 2\"" },
                              others = { .host = "other", .n_ranks_per_host = 1 };
    struct diff_counts n;
    char *text;

    assert_int_equal(diff_of(*state, FOUR, 2, &two, FOUR, 2, &two, &n, &text), RC_OK);
    assert_null(strstr(text, "other hosts"));
    free(text);
    assert_int_equal(diff_of(*state, FOUR, 2, &alone, FOUR, 2, &two, &n, &text), RC_OK);
    assert_non_null(strstr(text,
                           "with changes\nother hosts: node-1 in B alone\nB was continued though it was begun under "
                           "other conditions: kernel was 1, is 2\n\nThe chance "));
    free(text);
    assert_int_equal(diff_of(*state, FOUR, 2, &two, FOUR, 2, &others, &n, &text), RC_OK);
    assert_non_null(strstr(text,
                           "\nother hosts: node, node-1 in A alone\nother hosts: other, other-1 in B alone\nA was "
                           "continued though"));
    free(text);
}

/* N3: they differ behind 300 bytes, in two points in different ways. */
KIT_TEST(long_values_are_compared_whole)
{
    char same[301], flags[2][400], options[2][400];
    struct recorded_kit kit[2];
    struct diff_counts n;
    char *text;

    memset(same, 'x', sizeof same - 1);
    same[sizeof same - 1] = '\0';
    for (int i = 0; i < 2; i++) {
        snprintf(flags[i], sizeof flags[i], ",\"compiler_flags\":\"%s-O%d\"", same, i + 2);
        snprintf(options[i], sizeof options[i], ",\"data\":\"\xc3\xa9%s/\xc3\xa9%d%s\"", same, i, i == 0 ? "/abc" : "");
        kit[i] = (struct recorded_kit){ .manifest = flags[i], .options = options[i] };
    }
    assert_int_equal(diff_of(*state, FOUR, 2, &kit[0], FOUR, 2, &kit[1], &n, &text), RC_OK);
    assert_non_null(
        strstr(text, "\nother program: compiler_flags ...xxxxxxxxxxxxxxxxxx-O2 and ...xxxxxxxxxxxxxxxxxx-O3\n"));
    assert_non_null(strstr(text, "\nother option: data ...xxxxxxxxxxxxxxxxx/\xc3\xa9"
                                 "0/abc and ...xxxxxxxxxxxxxxxxx/\xc3\xa9"
                                 "1\n\n"));
    free(text);
    assert_int_equal(diff_of(*state, FOUR, 2, &kit[0], FOUR, 2, &kit[0], &n, &text), RC_OK);
    assert_null(strstr(text, "other"));
    free(text);
    /* Of such that differ early the beginning. */
    snprintf(options[1], sizeof options[1], ",\"data\":\"a%s\"", same);
    snprintf(options[0], sizeof options[0], ",\"data\":\"b%s\"", same);
    assert_int_equal(diff_of(*state, FOUR, 2, &kit[0], FOUR, 2, &kit[1], &n, &text), RC_OK);
    assert_non_null(strstr(text, "other option: data\n  bxxxxx"));
    assert_non_null(strstr(text, "xxx...\n  and\n  axxxxx"));
    free(text);
}

/* Fast for nothing; marks are counted for each. */
KIT_TEST(doubtful_launches_are_told)
{
    const struct recorded_kit unlearned = { .summary = ",\"learned\":\"no\",\"disturbed\":\"yes\"" };
    struct diff_counts n;
    char *text;

    assert_int_equal(diff_of(*state, FOUR, 1, &PLAIN, FOUR, 1, &unlearned, &n, &text), RC_OK);
    made_squeeze(text);
    assert_non_null(strstr(text, " B is runs marks\n"));
    assert_non_null(
        strstr(text, "\n 1 verdict is withheld: lenet none, 2 workers. In A or B, more than 25 % of the runs "));
    assert_non_null(strstr(
        text,
        " withheld 3, 3 d\nd other programs disturbed more than a quarter of the runs in A or B (1 of 1 points)\n"));
    assert_non_null(strstr(text, "\nlenet none, 2 workers: did not learn in 0 of 3 launches of A, in 3 of 3 of B\n"));
    free(text);
}

/* N4 */
KIT_TEST(simulated_points_differ_exactly)
{
    const struct recorded_kit simulated = { .summary = ",\"virtual_s\":1.5" };
    struct made_point one[3], other[3];
    struct diff_counts n;
    char *text;

    for (int i = 0; i < 3; i++) {
        one[i] = FOUR[i];
        one[i].n_launches = 1;
        other[i] = one[i];
    }
    other[0].samples_per_s *= 1.000001;
    other[2].samples_per_s *= 0.999999;
    assert_int_equal(diff_of(*state, one, 3, &simulated, other, 3, &simulated, &n, &text), RC_OK);
    assert_true(n.n_better == 1 && n.n_worse == 1 && n.n_untold == 1);
    assert_non_null(strstr(text, "better in 1, worse in 1, equal in 1 of 3 points.\n  Most worse: "));
    assert_non_null(strstr(text, "\n\nSimulated throughputs do not vary, so every difference is real.\n"));
    free(text);
    /* Measured, one launch decides nothing. */
    assert_int_equal(diff_of(*state, one, 3, &PLAIN, other, 3, &PLAIN, &n, &text), RC_OK);
    assert_true(n.n_untold == 3);
    free(text);
}

/* N5. Regression: a simulation above its bound was better or worse like any other. */
KIT_TEST(runs_above_their_bound_give_no_verdict)
{
    static const struct recorded_kit kits[] = { { .summary = ",\"virtual_s\":1.5" },
                                                { .summary = ",\"virtual_s\":1.5,\"bound_ratio\":1.25" },
                                                { .host = NULL },
                                                { .summary = ",\"bound_ratio\":1.25" } };
    struct made_point half[2] = { FOUR[0], FOUR[1] };
    struct diff_counts n;
    char *text;

    half[0].samples_per_s *= 0.5;
    half[1].samples_per_s *= 0.5;
    for (int i = 0; i < 4; i += 2) {
        assert_int_equal(diff_of(*state, FOUR, 2, &kits[i], half, 2, &kits[i], &n, &text), RC_OK);
        assert_int_equal(n.n_worse, 2);
        free(text);
        assert_int_equal(diff_of(*state, FOUR, 2, &kits[i], half, 2, &kits[i + 1], &n, &text), RC_OK);
        assert_true(n.n_worse == 0 && n.n_better == 0);
        assert_non_null(
            strstr(text, i == 0 ? "worse in 0, equal in 0 of 2 points." : "worse in 0, cannot tell in 2 of"));
        made_squeeze(text);
        assert_non_null(strstr(text, "\n 2 verdicts are withheld: "));
        assert_non_null(strstr(text, i == 0 ? " -steps.\n" : "machine.\n"));
        free(text);
    }
}

/* A point of which every launch of B failed is in both. */
KIT_TEST(launches_that_failed_are_told)
{
    struct kit *k = *state;
    struct recorded first, second;
    struct diff_counts n;
    struct printed p;

    printed_begin(&p);
    recorded_write(k, FOUR, 2, &PLAIN);
    assert_int_equal(recorded_open(&first, k->dir), RC_OK);
    recorded_write(k, FOUR, 1, &PLAIN);
    recorded_failure(k, &FOUR[1], "it broke", ",\"is_given_up\":true");
    assert_int_equal(recorded_open(&second, k->dir), RC_OK);
    assert_int_equal(campaign_diff(&first, &second, true, &n, p.to), RC_OK);
    char *text = printed_end(&p);
    made_squeeze(text);
    assert_non_null(strstr(text, "\nlenet single 1 1.25 k - - - cannot tell 3, 0\n"));
    assert_null(strstr(text, " alone"));
    assert_null(strstr(text, "Launches of A"));
    assert_non_null(strstr(text,
                           "\n\nLaunches of B that failed:\nlenet single, 1 worker: 1 launch failed, and the point "
                           "was given up after 0 of 3; why: it broke.\n\nThe chance of a wrong verdict is "));
    assert_int_equal(n.n_untold, 2);
    free(text);
    recorded_close(&first);
    recorded_close(&second);
}

/* Some launch has no throughput: nothing is compared with the others of it. */
KIT_TEST(a_point_without_throughput)
{
    struct made_point broken = FOUR[0];
    struct diff_counts n;
    char *text;

    broken.samples_per_s = NAN;
    assert_int_equal(diff_of(*state, FOUR, 1, &PLAIN, &broken, 1, &PLAIN, &n, &text), RC_OK);
    made_squeeze(text);
    assert_non_null(strstr(text, "\nlenet none 2 2.5 k - - - cannot tell 3, 3\n"));
    assert_int_equal(n.n_untold, 1);
    free(text);
}

UNIT_MAIN("diff")
