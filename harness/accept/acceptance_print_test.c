/* SPDX-License-Identifier: Apache-2.0 */
/* acceptance_print_test.c - what a terminal shows, to the letter; quantities and verdicts in words. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/accept/acceptance_report.h"
#include "harness/accept/report_words.h"
#include "harness/accept/suite/acceptance_kit.h"

static void print(const struct acceptance *a, FILE *to)
{
    assert_int_equal(acceptance_print(a, to), RC_OK);
}

/* And close it. */
static void prints(struct acceptance *a, void (*how)(const struct acceptance *a, FILE *to), const char *expected)
{
    char *text = kit_printed(a, how);

    assert_string_equal(text, expected);
    free(text);
    acceptance_close(a);
}

UNIT_TEST(a_faulty_cluster_is_told_in_the_first_line)
{
    static const char expected[] =
        "FAIL: 1 node, 1 rank and 1 link are slow: host3; link host1 - host4; rank 3 on host2\n"
        "\n"
        "stage        criterion                        outcome   value  limit  95 % CI  unit\n"
        "-----------  -------------------------------  -------  ------  -----  -------  -------\n"
        "compute      flops_per_s                      FAIL         35  >= 40        -  Gflop/s\n"
        "noise        detour_ratio                     pass     0.1005   <= 1        -  %\n"
        "pairwise     pair_latency_s                   pass         40  <= 50        -  us\n"
        "pairwise     pair_bytes_per_s                 FAIL       50.5  >= 90        -  MB/s\n"
        "collectives  allreduce_busbw_bytes_per_s 1Mi  pass         90  >= 80    88-92  MB/s\n"
        "training     efficiency_ratio                 pass         93  >= 80        -  %\n"
        "integrity    corruptions                      pass          0   <= 0        -\n"
        "\n"
        "Failed:\n"
        "  host3: it sends and receives slowly (pairwise, bytes_per_s: 60.6 MB/s, expected 101 MB/s: 60.0 %;\n"
        "    false-discovery rate less than 0.001).\n"
        "  link host1 - host4 (pairwise, bytes_per_s: 50.5 MB/s, expected 101 MB/s: 50.0 %; false-discovery\n"
        "    rate 0.0012).\n"
        "  rank 3 on host2 computes slowly (compute, flops_per_s: 35 Gflop/s, expected 50 Gflop/s: 70.0 %;\n"
        "    false-discovery rate 0.002).\n"
        "  flops_per_s: the worst is beyond the limit.\n"
        "  pair_bytes_per_s: the worst is beyond the limit.\n"
        "\n"
        "Next steps:\n"
        "  compute: look for other programs, low clock rates and heat.\n"
        "  pairwise: check the network cards, cables and switch ports.\n"
        "  Start jobs on the nodes of good.hosts until this is repaired. Then test again.\n"
        "\n"
        "Not judged, or in part:\n"
        "  ps: no data: there is no server\n"
        "  skipped: soak\n";
    struct acceptance a;

    kit_acceptance(&a, FAULT_IN_NODE | FAULT_IN_LINK | FAULT_IN_RANK | FAULT_IN_PS);
    prints(&a, print, expected);
}

UNIT_TEST(what_is_no_slowness_is_a_fault)
{
    struct acceptance a;

    kit_acceptance(&a, FAULT_IN_PARAMETERS);
    prints(&a, verdict_print, "FAIL: 1 rank is at fault: rank 5 on host3");
    const struct finding pull = {
        ACCEPT_PS, SUBJECT_RANK, 2, 1, false, "ps_pulls", "elements", 1, 0, 0, "what it pulls is wrong"
    };
    kit_acceptance(&a, 0);
    assert_int_equal(acceptance_add_finding(&a, &pull), RC_OK);
    a.outcome = OUTCOME_FAIL;
    prints(&a, verdict_print, "FAIL: 1 rank is at fault: rank 2 on host2");
}

UNIT_TEST(a_healthy_cluster_passes)
{
    struct acceptance a;

    kit_acceptance(&a, 0);
    prints(&a, verdict_print, "PASS: 7 criteria hold on 4 nodes and 8 ranks");
    kit_acceptance(&a, 0);
    prints(&a, verdict_print_notes, ""); /* rates have limits */
    kit_acceptance(&a, 0);
    for (int i = 0; i < a.n_criteria; i++)
        a.criterion[i].limit = NAN;
    prints(&a, verdict_print_notes,
           "No rate had a limit, so a slow cluster passes, too. To write limits: gradmark accept "
           "--init FILE\n");
}

UNIT_TEST(no_data_is_no_pass)
{
    struct acceptance a;

    kit_acceptance(&a, FAULT_IN_PS);
    prints(&a, verdict_print, "NO DATA: 1 stage has no data: ps");
    assert_int_equal(acceptance_open(&a, 1, 1), RC_OK);
    prints(&a, verdict_print, "NO DATA: nothing was judged");
    kit_acceptance(&a, 0);
    a.outcome = a.criterion[1].outcome = a.criterion[3].outcome = OUTCOME_NO_DATA;
    prints(&a, verdict_print, "NO DATA: 2 of 7 criteria have no data: detour_ratio; pair_bytes_per_s");
}

UNIT_TEST(criteria_fail_without_anybody_to_blame)
{
    struct acceptance a;

    kit_acceptance(&a, FAULT_IN_RANK);
    a.n_findings = 0;
    prints(&a, verdict_print, "FAIL: 1 of 7 criteria fails: flops_per_s");
}

/* One node of many findings is one; of many nodes eight have names. */
/* As prints(), of a test that stays open. */
static void shows(const struct acceptance *a, void (*how)(const struct acceptance *a, FILE *to), const char *expected)
{
    char *text = kit_printed(a, how);

    assert_string_equal(text, expected);
    free(text);
}

/* The first line says who ended it. */
UNIT_TEST(a_lost_rank_is_in_the_first_line)
{
    static const struct finding lost = { ACCEPT_PAIRWISE,         SUBJECT_RANK, 4, 2, false, "lost", "", NAN, NAN, 0,
                                         "lost in stage pairwise" };
    struct acceptance a;

    kit_acceptance(&a, FAULT_IN_PS);
    a.lost_rank = 4;
    shows(&a, verdict_print, "NO DATA: rank 4 on host3 was lost; 1 stage has no data: ps");
    assert_int_equal(acceptance_add_finding(&a, &lost), RC_OK);
    shows(&a, verdict_print, "NO DATA: rank 4 on host3 was lost in stage pairwise; 1 stage has no data: ps");
    acceptance_close(&a);
    kit_acceptance(&a, FAULT_IN_NODE);
    a.lost_rank = 4;
    assert_int_equal(acceptance_add_finding(&a, &lost), RC_OK);
    const struct finding other = a.finding[0];
    a.finding[0] = a.finding[1]; /* where judge() puts it */
    a.finding[1] = other;
    shows(&a, verdict_print, "FAIL: rank 4 on host3 was lost in stage pairwise; found: 1 node is slow: host3");
    a.n_findings = 1;
    shows(&a, verdict_print,
          "FAIL: rank 4 on host3 was lost in stage pairwise; found: 1 of 7 criteria fails: pair_bytes_per_s");
    a.lost_rank = -1;
    acceptance_close(&a);
}

/* What is found is found, though nothing is passed. */
UNIT_TEST(a_part_says_what_it_found)
{
    struct acceptance a;

    kit_acceptance(&a, FAULT_IN_NODE | FAULT_IN_PS);
    a.outcome = OUTCOME_NO_DATA;
    a.is_partial = true;
    shows(&a, verdict_print,
          "NO DATA: the test did not come to its end; found: 1 node is slow: host3; 1 stage has no data: ps");
    shows(&a, verdict_print_notes, "The test did not come to its end: this is what it had measured.\n");
    a.stop_signal = 15;
    shows(&a, verdict_print,
          "NO DATA: SIGTERM stopped the test; found: 1 node is slow: host3; 1 stage has no data: ps");
    a.n_findings = 0;
    prints(
        &a, verdict_print,
        "NO DATA: SIGTERM stopped the test; found: 1 of 7 criteria fails: pair_bytes_per_s; 1 stage has no data: ps");
    acceptance_close(&a);
}

UNIT_TEST(a_subject_counts_once_and_few_are_named)
{
    struct acceptance a;
    struct finding f = { ACCEPT_PAIRWISE, SUBJECT_NODE, 0, 0, false, "bytes_per_s", "byte/s", 1, 2, 0.01, "" };

    kit_fleet(&a, 16);
    a.outcome = OUTCOME_FAIL;
    for (int i = 0; i < 20; i++) {
        f.a = i % 10;
        assert_int_equal(acceptance_add_finding(&a, &f), RC_OK);
    }
    f.subject = SUBJECT_FLEET;
    assert_int_equal(acceptance_add_finding(&a, &f), RC_OK);
    prints(
        &a, verdict_print,
        "FAIL: 10 nodes and the whole fleet are slow: node000; node001; node002; node003; node004; node005; node006; "
        "node007; and 3 more");
}

/* Who loses messages is not slow, and who is both is at fault. */
UNIT_TEST(lost_messages_have_a_word_of_their_own)
{
    struct acceptance a;
    struct finding f = { ACCEPT_PAIRWISE, SUBJECT_NODE, 3, 0, false, "late_ratio", "", 0.1, 0, 0.01, "" };

    kit_fleet(&a, 16);
    a.outcome = OUTCOME_FAIL;
    assert_int_equal(acceptance_add_finding(&a, &f), RC_OK);
    shows(&a, verdict_print, "FAIL: 1 node loses messages: node003");
    f.a = 5;
    assert_int_equal(acceptance_add_finding(&a, &f), RC_OK);
    shows(&a, verdict_print, "FAIL: 2 nodes lose messages: node003; node005");
    f.metric = "bytes_per_s";
    assert_int_equal(acceptance_add_finding(&a, &f), RC_OK);
    prints(&a, verdict_print, "FAIL: 2 nodes are at fault: node003; node005");
}

UNIT_TEST(injected_faults_and_a_signal_are_told_N2)
{
    struct acceptance a;

    kit_acceptance(&a, 0);
    snprintf(a.injected, sizeof a.injected, "rank:5=0.7");
    a.stop_signal = 15;
    char *text = kit_printed(&a, print);
    assert_non_null(strstr(text, "4 nodes and 8 ranks\nFaults were injected by --inject: rank:5=0.7.\n"
                                 "SIGTERM stopped the test before its end: this is what it had measured.\n\n"));
    free(text);
    acceptance_close(&a);
}

UNIT_TEST(a_name_takes_one_line)
{
    struct acceptance a;

    kit_acceptance(&a, FAULT_IN_NODE);
    snprintf(a.node[2].name, sizeof a.node[2].name, "h\n\x1b[31m<3>");
    a.n_criteria = 0;
    prints(&a, print,
           "FAIL: 1 node is slow: h??[31m<3>\n\nFailed:\n  h??[31m<3>: it sends and receives slowly (pairwise, "
           "bytes_per_s: 60.6 MB/s, expected 101 MB/s:\n    60.0 %; false-discovery rate less than 0.001).\n\nNext "
           "steps:\n  "
           "pairwise: check the network cards, cables and "
           "switch ports.\n  Start jobs on the nodes of good.hosts until this is repaired. Then test again.\n\nNot "
           "judged, or in "
           "part:\n  skipped: soak\n");
}

UNIT_TEST(quantities_are_in_units_for_people)
{
    static const struct {
        double value;
        const char *unit, *text;
    } known[] = {
        { 117.44e6, "byte/s", "117.4 MB/s" },
        { 1.5e12, "flop/s", "1500 Gflop/s" },
        { 12345, "byte/s", "12.35 kB/s" },
        { 9999, "samples/s", "9999 samples/s" },
        { 0, "byte/s", "0 B/s" },
        { 12, "cores", "12 cores" },
        { 2.5, "s", "2.5 s" },
        { 0.00235, "s", "2.35 ms" },
        { 20e-6, "s", "20 us" },
        { 5e-10, "s", "0.5 ns" },
        { 0, "s", "0 s" },
        { -0.25, "s", "-250 ms" },
        { 0.931, "ratio", "93.1 %" },
        { 0.0052, "of the time", "0.52 % of the time" },
        { 3, "", "3" },
        { 3.4e-5, "", "0.000034" },
        { 3.4e-7, "ratio", "0.000034 %" },
        { 1e-128, "", "< 0.000001" },
        { -1e-128, "", "> -0.000001" },
        { NAN, "s", "-" },
        { 1e15, "", "1e+15" },
        { 123456, "", "123456" },
    };
    char text[QUANTITY_BYTES];

    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        quantity_text(text, sizeof text, known[i].value, known[i].unit);
        assert_string_equal(text, known[i].text);
    }
}

/* A row of a terminal has one unit. */
UNIT_TEST(a_row_has_one_unit)
{
    const struct quantity_scale rate = quantity_scale(1.5e9, "byte/s"), part = quantity_scale(0.5, "of the time");
    char text[QUANTITY_BYTES];

    assert_string_equal(rate.unit, "GB/s");
    assert_string_equal(part.unit, "%");
    scaled_text(text, sizeof text, 643e6, rate.factor);
    assert_string_equal(text, "0.643");
    scaled_text(text, sizeof text, NAN, rate.factor);
    assert_string_equal(text, "-");
    scaled_interval_text(text, sizeof text, 643.4e6, 2e9, rate.factor);
    assert_string_equal(text, "0.643-2");
    scaled_interval_text(text, sizeof text, 643.4e6, NAN, rate.factor);
    assert_string_equal(text, ">= 0.643");
    scaled_interval_text(text, sizeof text, NAN, NAN, rate.factor);
    assert_string_equal(text, "-");
    scaled_interval_text(text, sizeof text, -0.01, 0.02, part.factor);
    assert_string_equal(text, "-1 to 2");
}

UNIT_TEST(limits_say_which_side)
{
    struct criterion c = { .limit = 0.01, .unit = "ratio", .at_least = true };
    char text[QUANTITY_BYTES];

    limit_text(text, sizeof text, &c);
    assert_string_equal(text, "at least 1 %");
    c.at_least = false;
    limit_text(text, sizeof text, &c);
    assert_string_equal(text, "at most 1 %");
    c.limit = NAN;
    limit_text(text, sizeof text, &c);
    assert_string_equal(text, "-");
    interval_text(text, sizeof text, NAN, NAN, "s");
    assert_string_equal(text, "-");
    interval_text(text, sizeof text, 1, INFINITY, "s");
    assert_string_equal(text, "1 s or more");
    interval_text(text, sizeof text, 1, NAN, "s"); /* the same, read from a record, which has no infinity */
    assert_string_equal(text, "1 s or more");
}

/* Where they were measured, behind the criteria. */
UNIT_TEST(orders_of_ranks_are_told)
{
    static const char expected[] =
        "\n"
        "Allreduce of 4194304 bytes by order of ranks; rank_order.hosts has switches:\n"
        "order of        bus      of the       95 %\n"
        "ranks     bandwidth  launcher's   interval  which\n"
        "--------  ---------  ----------  ---------  --------------------------------------\n"
        "launcher    90 MB/s       100 %     99-101\n"
        "pack        90 MB/s       100 %     99-101  as launcher\n"
        "spread      45 MB/s        50 %  49.5-50.5\n"
        "switches    99 MB/s       110 %    109-111  the best; switches as Slurm knows them\n"
        "shortest          -           -          -  rates are not known\n";
    struct acceptance a;

    kit_acceptance(&a, 0);
    kit_add_rank_orders(&a);
    char *text = kit_printed(&a, print);
    if (!strstr(text, expected))
        fail_msg("%s", text);
    free(text);
    acceptance_close(&a);
}

UNIT_MAIN("acceptance_print")
