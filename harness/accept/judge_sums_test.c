/* SPDX-License-Identifier: Apache-2.0 */
/* judge_sums_test.c - rows and findings of sums, and of what workers pull, that are wrong; by hand (accept.D2, D3). */
#include "harness/accept/suite/judge_kit.h"

static void add_wrong(struct fixture *f, size_t n_bytes, int rank, uint64_t n_wrong)
{
    const struct wrong_sum w = { ACCEPT_COLLECTIVES, n_bytes, rank, n_wrong, 7, 27.5, 28 };

    assert_int_equal(acceptance_add_wrong_sum(&f->a, &w), RC_OK);
}

static void add_wrong_pull(struct fixture *f, int rank, uint64_t n_wrong)
{
    const struct wrong_sum w = { ACCEPT_PS, 4096, rank, n_wrong, 1023, -65, -66 };

    assert_int_equal(acceptance_add_wrong_sum(&f->a, &w), RC_OK);
}

/* accept.D3: of few ranks each has its finding; where most got something wrong, whose it was is not known. */
ON_A_FLEET(wrong_sums_fail)
{
    struct fixture *f = *state;

    judge_it(f);
    assert_row(f, "sums are right", OUTCOME_PASS, "every element of 12 sums, on 8 ranks");
    assert_int_equal(row_of(f, "sums are right")->n_samples, 12);
    add_wrong(f, 4096, 2, 12);
    add_wrong(f, 4096, 5, 1);
    judge_it(f);
    assert_row(f, "sums are right", OUTCOME_FAIL,
               "2 found, the first rank 2 on host1: its sums of 4096 bytes are wrong, in 12 elements of all repeats, "
               "first in element 7: 27.5, not 28");
    assert_int_equal(f->a.n_findings, 2);
    assert_finding(f, 0, SUBJECT_RANK, 2, 12, 0);
    assert_finding(f, 1, SUBJECT_RANK, 5, 1, 0);
    assert_int_equal(f->a.finding[1].b, 2);
    assert_string_equal(f->a.finding[1].metric, "allreduce_sums");
    assert_outcomes(f, ACCEPT_COLLECTIVES, OUTCOME_FAIL, OUTCOME_FAIL);
    add_wrong(f, 262144, 0, 3);
    for (int r = 3; r < 8; r++)
        add_wrong(f, 262144, r, 2);
    judge_it(f);
    assert_int_equal(f->a.n_findings, 3);
    assert_finding(f, 2, SUBJECT_FLEET, 0, 13, 0);
    assert_string_equal(f->a.finding[2].text,
                        "sums of 262144 bytes are wrong on 6 of 8 ranks, first in element 7: 27.5, not 28; "
                        "rank 0 on host0, 3 on host1, 4 on host2, 5 on host2 and 2 more");
    f->a.n_wrong_sums = 0;
    for (int r = 0; r < 4; r++) /* half: no majority is right */
        add_wrong(f, 4096, r, 1);
    judge_it(f);
    assert_int_equal(f->a.n_findings, 1);
    assert_finding(f, 0, SUBJECT_FLEET, 0, 4, 0);
    f->a.n_wrong_sums = 0;
    f->a.sum_checks_count = 0; /* a hollow backend */
    snprintf(f->a.compute, sizeof f->a.compute, "hollow");
    judge_it(f);
    assert_row(f, "sums are right", OUTCOME_SKIPPED, "--compute hollow computes no numbers to sum");
    assert_outcomes(f, ACCEPT_COLLECTIVES, OUTCOME_NO_LIMIT, OUTCOME_PASS);
}

/* Sums of one size that were checked twice, in two orders of ranks: a rank is wrong once, and nobody else counts.
 * Regression: wrong sums in two orders counted as two ranks, and nobody was blamed. */
ON_A_FLEET(wrong_sums_of_a_rank_are_one)
{
    struct fixture *f = *state;

    for (int i = 0; i < 4; i++) {
        add_wrong(f, 262144, 6, 2);
        add_wrong(f, 4096, 6, 1);
        add_wrong(f, 4096, 5, 1);
        add_wrong_pull(f, 1, 1);
    }
    assert_int_equal(f->a.n_wrong_sums, 4);
    judge_it(f);
    assert_int_equal(f->a.n_findings, 4);
    assert_finding(f, 0, SUBJECT_RANK, 5, 4, 0);
    assert_finding(f, 1, SUBJECT_RANK, 6, 4, 0);
    assert_finding(f, 2, SUBJECT_RANK, 6, 8, 0);
    assert_finding(f, 3, SUBJECT_RANK, 1, 4, 0);
    f->a.n_wrong_sums = 0;
}

/* accept.D3: what one worker of seven pulls wrongly is its own fault; what most do may be the server's, which is rank
 * 6. */
ON_A_FLEET(wrong_pulls_fail)
{
    struct fixture *f = *state;

    judge_it(f);
    assert_row(f, "pulls are right", OUTCOME_PASS, "every element of 9 pulls, on 7 workers");
    assert_int_equal(row_of(f, "pulls are right")->n_samples, 9);
    add_wrong_pull(f, 3, 2);
    judge_it(f);
    assert_row(f, "sums are right", OUTCOME_PASS, "every element of 12 sums, on 8 ranks");
    assert_row(f, "pulls are right", OUTCOME_FAIL,
               "1 found: rank 3 on host1: what it pulls of 4096 bytes from rank 6 on host3, the server, is wrong, in 2 "
               "elements of all repeats, first in element 1023: -65, not -66");
    assert_int_equal(f->a.n_findings, 1);
    assert_finding(f, 0, SUBJECT_RANK, 3, 2, 0);
    assert_int_equal(f->a.finding[0].stage, ACCEPT_PS);
    assert_string_equal(f->a.finding[0].metric, "ps_pulls");
    assert_outcomes(f, ACCEPT_PS, OUTCOME_FAIL, OUTCOME_FAIL);
    for (int r = 0; r < 3; r++)
        add_wrong_pull(f, r, 1);
    judge_it(f);
    assert_int_equal(f->a.n_findings, 1);
    assert_finding(f, 0, SUBJECT_FLEET, 0, 5, 0);
    assert_string_equal(f->a.finding[0].text,
                        "what 4 of 7 workers pull of 4096 bytes from rank 6 on host3 is wrong, first in element 1023: "
                        "-65, not -66; rank 0 on host0, 1 on host0, 2 on host1, 3 on host1");
    f->a.n_wrong_sums = 0;
    f->a.pull_checks_count = 0; /* a hollow backend */
    snprintf(f->a.compute, sizeof f->a.compute, "hollow");
    judge_it(f);
    assert_row(f, "pulls are right", OUTCOME_SKIPPED, "--compute hollow computes no numbers to push");
    assert_outcomes(f, ACCEPT_PS, OUTCOME_NO_LIMIT, OUTCOME_PASS);
}

/* One node: the server is its last rank. Its one worker alone has a wrong pull: whose fault it is is not known. */
UNIT_TEST(a_pull_of_one_worker_blames_nobody)
{
    struct fixture f;

    open_fleet(&f, 1, 2);
    limits(&f, "stages=ps");
    add_wrong_pull(&f, 0, 1);
    judge_it(&f);
    assert_int_equal(f.a.n_findings, 1);
    assert_finding(&f, 0, SUBJECT_FLEET, 0, 1, 0);
    assert_non_null(
        strstr(f.a.finding[0].text, "what 1 of 1 workers pull of 4096 bytes from rank 1 on host0 is wrong"));
    assert_int_equal(f.a.outcome, OUTCOME_FAIL);
    acceptance_close(&f.a);
}

UNIT_MAIN("judge_sums")
