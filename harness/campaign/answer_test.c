/* SPDX-License-Identifier: Apache-2.0 */
/*
 * answer_test.c - the first lines of a campaign, and the records of its comparisons, whose every figure was worked out
 * by hand as in verdict_test.c: pairs of three runs whose ratio has the ends 1.04374^(+-1) times it.
 */
#include <jansson.h>
#include <unistd.h>

#include "harness/campaign/suite/campaign_test_kit.h"

#define IN_MODEL "lenet", /* the one of all cases */
#define REAL_SETTING "lenet, batch 32 per worker, 2 cores, made up\n"
#define SIM_SETTING "lenet, batch 32 per worker, simulated cluster made up\n"

#define NOT_OF_2 " Sure enough alone, but not as one of 2 comparisons (Holm's correction)"

struct answer_case {
    bool is_virtual;
    struct made_point point[6]; /* without a model: the end */
    const char *text;
};

static const struct answer_case CASES[] = {
    { false, /* 1000 / 850 = 1.176; of 1250 samples/s without exchange 80 % and 68 % are left */
      { { IN_MODEL "none", 2, 0, 3, 1250, 1.01, NAN, 3 },
        { IN_MODEL "allreduce", 2, 0, 3, 1000, 1.01, NAN, 1 },
        { IN_MODEL "ps", 2, 1, 3, 850, 1.01, NAN, 2 } },
      REAL_SETTING
      "  With 2 workers, allreduce trains 1.18x as fast as the parameter server (95 % CI 1.13 to 1.23).\n"
      "  Gradient exchange costs allreduce 20 % of the throughput (95 % CI 17 to 23), the parameter server 32 % (29 to "
      "35).\n" },
    { false, /* the other way round; what is not more than nothing has an upper end alone */
      { { IN_MODEL "none", 2, 0, 3, 1000, 1.01, NAN, 3 },
        { IN_MODEL "allreduce", 2, 0, 3, 850, 1.01, NAN, 1 },
        { IN_MODEL "ps", 2, 1, 3, 1000, 1.01, NAN, 2 } },
      REAL_SETTING
      "  With 2 workers, the parameter server trains 1.18x as fast as allreduce (95 % CI 1.13 to 1.23).\n"
      "  Gradient exchange costs allreduce 15 % of the throughput (95 % CI 11 to 19), the parameter server -4 to 4 % "
      "(95 % CI).\n" },
    { false, /* no difference */
      { { IN_MODEL "allreduce", 2, 0, 3, 1000, 1.01, NAN, 1 }, { IN_MODEL "ps", 2, 1, 3, 1012, 1.01, NAN, 2 } },
      REAL_SETTING "  With 2 workers, cannot tell whether allreduce or the parameter server is faster: 0.99x (95 % CI "
                   "0.95 to 1.03). More --launches would show a smaller difference.\n" },
    { false, /* the control makes no sense: 1100 of 1000 */
      { { IN_MODEL "none", 2, 0, 3, 1000, 1.01, NAN, 3 },
        { IN_MODEL "allreduce", 2, 0, 3, 850, 1.01, NAN, 1 },
        { IN_MODEL "ps", 2, 1, 3, 1100, 1.01, NAN, 2 } },
      REAL_SETTING
      "  With 2 workers, cannot tell whether allreduce or the parameter server is faster: the control makes no sense: "
      "ps trains 1.10 x as many samples/s as none (95 %: 1.05 to 1.15). Run again on an idle machine.\n"
      "  Gradient exchange costs allreduce 15 % of the throughput (95 % CI 11 to 19).\n"
      "  Cannot tell what gradient exchange costs the parameter server: the control makes no sense: ps trains 1.10 x "
      "as "
      "many samples/s as none (95 %: 1.05 to 1.15). Run again on an idle machine.\n" },
    { true, /* simulated: at equal cores, as the server has one of its own */
      { { IN_MODEL "single", 1, 0, 1, 1100, 1, 8, 1 },
        { IN_MODEL "allreduce", 2, 0, 1, 2000, 1, 5, 2 },
        { IN_MODEL "ps", 1, 1, 1, 500, 1, 10, 3 },
        { IN_MODEL "ps", 2, 1, 1, 1000, 1, 9, 4 } },
      SIM_SETTING
      "  Use 2 workers. They reach the target loss sooner than 1 worker: allreduce is 1.60x as fast.\n"
      "  With 2 cores for each mode (2 workers, or 1 worker and 1 server), allreduce trains 4.00x as fast as the "
      "parameter server.\n" },
    { true, /* later, both */
      { { IN_MODEL "single", 1, 0, 1, 1100, 1, 4, 1 },
        { IN_MODEL "allreduce", 2, 0, 1, 2000, 1, 5, 2 },
        { IN_MODEL "ps", 2, 1, 1, 2100, 1, 8, 4 } },
      SIM_SETTING
      "  Use 1 worker. 2 workers reach the target loss later: allreduce takes 1.25x as long, the parameter server "
      "2.00x.\n"
      "  With 2 workers, the parameter server trains 1.05x as fast as allreduce. It uses 1 core more: not equal "
      "resources.\n" },
    { true, /* not all reached it */
      { { IN_MODEL "single", 1, 0, 1, 1100, 1, 4, 1 }, { IN_MODEL "allreduce", 2, 0, 1, 2000, 1, NAN, 2 } },
      SIM_SETTING "  Cannot tell how many workers to use: 0 of 1 run of allreduce reached the target loss, and 1 of 1 "
                  "with 1 worker. Use more --steps, or a larger --target-loss.\n" },
    { true, /* none reached it */
      { { IN_MODEL "single", 1, 0, 1, 1100, 1, NAN, 1 }, { IN_MODEL "allreduce", 2, 0, 1, 2000, 1, NAN, 2 } },
      SIM_SETTING "  Cannot tell how many workers to use: no run reached the target loss. Use more --steps, "
                  "or a larger --target-loss.\n" },
    { false, /* later, with an interval */
      { { IN_MODEL "single", 1, 0, 3, 1100, 1.01, 4, 1 }, { IN_MODEL "allreduce", 2, 0, 3, 2000, 1.01, 8, 2 } },
      REAL_SETTING
      "  Use 1 worker. 2 workers reach the target loss later: allreduce takes 2.00x as long (95 % CI 1.92 to "
      "2.09).\n" },
    { false,
      { { IN_MODEL "allreduce", 2, 0, 3, 1000, 1.01, NAN, 1 } },
      REAL_SETTING "  Nothing to compare: use --mode with two modes that exchange gradients, or with mode none "
                   "beside one of them.\n" },
    { false, /* 2 cores: 4 workers share them */
      { { IN_MODEL "single", 1, 0, 3, 1100, 1.01, NAN, 1 }, { IN_MODEL "allreduce", 4, 0, 3, 2000, 1.01, 9, 2 } },
      REAL_SETTING "  Nothing to compare: 4 workers with 1 thread each need 4 cores. Use fewer --workers or "
                   "--threads.\n" },
    { false, /* nor would more steps help */
      { { IN_MODEL "single", 1, 0, 3, 1100, 1.01, NAN, 1 }, { IN_MODEL "allreduce", 4, 0, 3, 2000, 1.01, NAN, 2 } },
      REAL_SETTING "  Nothing to compare: 4 workers with 1 thread each need 4 cores. Use fewer --workers or "
                   "--threads.\n" },
    { false, /* the control makes no sense for both */
      { { IN_MODEL "none", 2, 0, 3, 1000, 1.01, NAN, 3 },
        { IN_MODEL "allreduce", 2, 0, 3, 1200, 1.01, NAN, 1 },
        { IN_MODEL "ps", 2, 1, 3, 1100, 1.01, NAN, 2 } },
      REAL_SETTING
      "  With 2 workers, cannot tell whether allreduce or the parameter server is faster: the control makes no sense: "
      "allreduce trains 1.20 x as many samples/s as none (95 %: 1.15 to 1.25). Run again on an idle machine.\n"
      "  Cannot tell what gradient exchange costs allreduce or the parameter server: the control makes no sense: "
      "allreduce trains 1.20 x as many samples/s as none (95 %: 1.15 to 1.25). Run again on an idle machine.\n" },
    { true, /* a server updates while workers compute: nothing is wrong */
      { { IN_MODEL "none", 2, 0, 1, 1000, 1, NAN, 3 },
        { IN_MODEL "allreduce", 2, 0, 1, 1001, 1, NAN, 1 },
        { IN_MODEL "ps", 2, 1, 1, 1100, 1, NAN, 2 } },
      SIM_SETTING
      "  With 2 workers, the parameter server trains 1.10x as fast as allreduce. It uses 1 core more: not equal "
      "resources.\n"
      "  Gradient exchange costs allreduce 0 % of the throughput, the parameter server 0 % (1.10x as fast as "
      "none).\n" },
    { true, /* a unit above 50: faster than its bound (campaign_test_kit.h) */
      { { IN_MODEL "none", 2, 0, 1, 1250, 1, NAN, 3 },
        { IN_MODEL "allreduce", 2, 0, 1, 1000, 1, NAN, 1 },
        { IN_MODEL "ps", 2, 1, 1, 850, 1, NAN, 51 } },
      SIM_SETTING
      "  With 2 workers, cannot tell whether allreduce or the parameter server is faster: a simulated run is faster "
      "than "
      "its bound. Use more --steps. If that does not help, it is a fault of gradmark: report it.\n"
      "  Gradient exchange costs allreduce 20 % of the throughput.\n"
      "  Cannot tell what gradient exchange costs the parameter server: a simulated run is faster than its bound. Use "
      "more --steps. If that does not help, it is a fault of gradmark: report it.\n" },
    { true,
      { { IN_MODEL "single", 1, 0, 1, 1000, 1, 8, 52 }, { IN_MODEL "allreduce", 2, 0, 1, 2000, 1, 5, 2 } },
      SIM_SETTING "  Cannot tell what to use, which mode is faster or what exchange costs: a simulated run is faster "
                  "than its bound. "
                  "Use more --steps. If that does not help, it is a fault of gradmark: report it.\n" },
    { true, /* something is left, and where nothing is known, more steps help */
      { { IN_MODEL "none", 2, 0, 1, 1000, 1, NAN, 3 },
        { IN_MODEL "allreduce", 2, 0, 1, 0.6, 1, NAN, 1 },
        { IN_MODEL "ps", 2, 1, 1, NAN, 1, NAN, 2 } },
      SIM_SETTING "  With 2 workers, cannot tell whether allreduce or the parameter server is faster: in some run the "
                  "workers never "
                  "trained all at once. Use more --steps.\n"
                  "  Gradient exchange costs allreduce 99.94 % of the throughput.\n" },
    { false, /* 1.05 x has a p value of 0.039 (verdict_test.c): enough alone */
      { { IN_MODEL "none", 2, 0, 3, 1050, 1.01, NAN, 1 }, { IN_MODEL "ps", 2, 1, 3, 1000, 1.01, NAN, 2 } },
      REAL_SETTING "  Gradient exchange costs the parameter server 5 % of the throughput (95 % CI 1 to 9).\n" },
    { false, /* of two, one has to be at most 0.025: both kinds of difference are beyond "none", and neither is told */
      { { IN_MODEL "single", 1, 0, 3, 1000, 1.01, 8.4, 1 },
        { IN_MODEL "none", 2, 0, 3, 1050, 1.01, NAN, 1 },
        { IN_MODEL "ps", 2, 1, 3, 1000, 1.01, 8, 2 } },
      REAL_SETTING
      "  Use 1 worker. It is not shown that 2 workers reach the target loss sooner: the parameter server is 1.05x as "
      "fast (95 % CI 1.01 to 1.10)." NOT_OF_2 ": the parameter server. Use more --launches.\n"
      "  Gradient exchange costs the parameter server 1 to 9 % of the throughput (95 % CI).\n" },
    { false, /* Regression: an interval without 1 was told, and not why it is no answer */
      { { IN_MODEL "allreduce", 2, 0, 3, 1050, 1.01, NAN, 1 },
        { IN_MODEL "ps", 2, 1, 3, 1000, 1.01, NAN, 2 },
        { "linear", "allreduce", 2, 0, 3, 1000, 1.01, NAN, 3 },
        { "linear", "ps", 2, 1, 3, 1000, 1.01, NAN, 4 } },
      REAL_SETTING "  With 2 workers, cannot tell whether allreduce or the parameter server is faster: 1.05x (95 % CI "
                   "1.01 to 1.10)." NOT_OF_2 ". Use more --launches.\n"
                   "linear, batch 32 per worker, 2 cores, made up\n"
                   "  With 2 workers, cannot tell whether allreduce or the parameter server is faster: 1.00x (95 % CI "
                   "0.96 to 1.04). More --launches would show a smaller difference.\n" },
};

static void open_case(struct campaign *c, struct kit *kit, const struct answer_case *k)
{
    size_t n = 0;

    while (n < 6 && k->point[n].model)
        n++;
    made_open(c, kit, k->point, n, k->is_virtual);
    snprintf(c->machine, sizeof c->machine, "%s", k->is_virtual ? "" : "2 cores, made up");
    snprintf(c->cluster_name, sizeof c->cluster_name, "%s", "made up");
}

/* Printed, and kept in the folder, alike. */
KIT_TEST(the_answer_of_each_case)
{
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct campaign c;
        open_case(&c, *state, &CASES[i]);
        char *text = made_text(&c, campaign_answer);
        assert_string_equal(text, CASES[i].text);
        free(text);
        assert_int_equal(campaign_keep_verdicts(&c), RC_OK);
        const char *kept = kit_read(*state, "answer.txt");
        assert_non_null(kept);
        assert_string_equal(kept, CASES[i].text);
        campaign_close(&c);
    }
}

/* Own data is named, by the last part of its path. */
KIT_TEST(own_data_is_named)
{
    static const char *const path[] = { "shards-g1", "/home/me/shards-g1", "/home/me/shards-g1//" };
    struct campaign c;

    open_case(&c, *state, &CASES[0]);
    for (size_t i = 0; i < sizeof path / sizeof *path; i++) {
        campaign_set_data(&c, path[i]);
        char *text = made_text(&c, campaign_answer);
        assert_int_equal(strncmp(text, "lenet, data shards-g1, batch 32 per worker, ", 44), 0);
        free(text);
    }
    campaign_close(&c);
}

/* Regression: under mpirun it named the one core to which its own rank was bound. */
KIT_TEST(cores_are_those_of_the_hosts)
{
    struct campaign c;

    open_case(&c, *state, &CASES[0]);
    c.machine[0] = '\0';
    c.is_launched = true;
    c.point[1].n_host_cores = 123;
    char *text = made_text(&c, campaign_answer);
    assert_int_equal(strncmp(text, "lenet, batch 32 per worker, 123 cores\n", 38), 0);
    free(text);
    campaign_close(&c);
}

/* Regression: the answer for --over batch=32,64 began with "lenet, batch 32, batch 32 per worker". */
KIT_TEST(a_compared_batch_is_named_once)
{
    struct campaign c;

    open_case(&c, *state, &CASES[0]);
    for (size_t i = 0; i < c.n_points; i++) {
        c.point[i].n_assigned = 1;
        c.point[i].assigned[0] = (struct assignment){ .option = "batch", .value = "32" };
    }
    char *text = made_text(&c, campaign_answer);
    assert_int_equal(strncmp(text, "lenet, batch 32, 2 cores", 24), 0);
    free(text);
    campaign_close(&c);
}

/* Regression: "Nothing to compare", followed by the comparison of values of --over. */
KIT_TEST(values_are_compared_without_other_modes)
{
    struct assignment assigned[] = {
        { "model", "lenet" }, { "mode", "allreduce" }, { "workers", "2" }, { "batch", "8" }
    };
    const struct made_point m = { IN_MODEL "allreduce", 2, 0, 1, 1000, 1, NAN, 1 };
    struct campaign c;

    made_begin(&c, *state, true);
    for (int i = 0; i < 2; i++) {
        struct point *p = NULL;
        assigned[3].value[0] = i == 0 ? '8' : '4';
        assert_int_equal(campaign_add(&c, assigned, 4, &p), RC_OK);
        made_fill(&c, p, &m);
    }
    char *text = made_text(&c, campaign_answer);
    assert_string_equal(text, "lenet, batch 8, simulated cluster a cluster\n"
                              "  No modes to compare. Values of --over are compared below.\n"
                              "lenet, batch 4, simulated cluster a cluster\n"
                              "  No modes to compare. Values of --over are compared below.\n"
                              "lenet allreduce, 2 workers, batch 4: 1.00 x the samples/s of batch 8 (simulated: no "
                              "spread).\n");
    free(text);
    campaign_close(&c);
}

/* One worker has one thread in a comparison: on more cores than that, the answer says so. */
KIT_TEST(one_worker_leaves_cores_idle)
{
    static const struct {
        double other_s;
        const char *text;
    } cases[] = { { 4, "  Use 2 workers. They reach the target loss sooner than 1 worker (1 of 2 cores): " },
                  { 8.01, "  Use 1 worker (1 of 2 cores). It is not shown that 2 workers reach the target loss " },
                  { 16, "  Use 1 worker (1 of 2 cores). 2 workers reach the target loss later: " } };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct made_point point[] = { { IN_MODEL "single", 1, 0, 3, 1100, 1.01, 8, 1 },
                                            { IN_MODEL "allreduce", 2, 0, 3, 2000, 1.01, cases[i].other_s, 2 } };
        struct campaign c;
        made_open(&c, *state, point, 2, false);
        c.point[0].n_host_cores = 2;
        char *text = made_text(&c, campaign_answer);
        assert_non_null(strstr(text, cases[i].text));
        free(text);
        campaign_close(&c);
    }
}

/* All runs are disturbed, too short, or both: each reason is told, with what to do about it. */
KIT_TEST(a_disturbed_campaign_lacks_steps_too)
{
    static const char withheld[] =
        "  Cannot tell what to use, which mode is faster or what exchange costs: the machine "
        "was disturbed in 3 of 3 pairs of runs. Other programs used up to 1.81 cores. Other "
        "virtual machines took up to 3 % (steal). Stop them (top shows them), then run "
        "again.\n";
    static const char short_of[] = "  Cannot tell how many workers to use: no run reached the target loss in 22 steps. "
                                   "Use more --steps, or a larger --target-loss.\n";
    static const struct made_point point[] = { { IN_MODEL "single", 1, 0, 3, 1250, 1.01, NAN, 3 },
                                               { IN_MODEL "allreduce", 2, 0, 3, 1000, 1.01, NAN, 1 },
                                               { IN_MODEL "ps", 2, 1, 3, 850, 1.01, NAN, 2 } };
    struct campaign c;
    char expected[1024];

    made_open(&c, *state, point, 3, false);
    snprintf(c.machine, sizeof c.machine, "%s", "2 cores, made up");
    for (size_t i = 0; i < 3; i++) {
        c.point[i].n_steps = 22;
        for (size_t k = 0; k < 3; k++) {
            c.point[i].launch[k].was_disturbed = true;
            c.point[i].launch[k].others_cores_count = 1.81 - (double)k;
            c.point[i].launch[k].steal_ratio = 0.03;
        }
    }
    char *text = made_text(&c, campaign_answer);
    snprintf(expected, sizeof expected, "%s%s%s", REAL_SETTING, withheld, short_of);
    assert_string_equal(text, expected);
    free(text);
    campaign_close(&c);
}

/* Regression: an answer of runs whose machine does not tell its load was as sure as any. */
KIT_TEST(an_unknown_load_is_told)
{
    struct campaign c;

    open_case(&c, *state, &CASES[0]);
    c.point[1].launch[2].is_load_unknown = true;
    char *text = made_text(&c, campaign_answer);
    assert_non_null(strstr(text,
                           "\nIt is not known whether other programs disturbed 1 of 9 runs: a run was shorter than "
                           "0.1 s, or /proc/stat does not tell the load.\n"));
    free(text);
    campaign_close(&c);
}

/* Each reason to withhold a price has its line. */
KIT_TEST(each_withheld_price_has_its_reason)
{
    struct campaign c;

    open_case(&c, *state, &CASES[3]); /* the control makes no sense beside ps */
    c.point[1].launch[2].was_disturbed = true;
    c.point[1].launch[2].others_cores_count = 1.81;
    char *text = made_text(&c, campaign_answer);
    assert_non_null(strstr(text, "\n  Cannot tell what gradient exchange costs allreduce: the machine was disturbed in "
                                 "1 of 3 pairs of runs. Other programs used up to 1.81 cores. Stop them (top shows "
                                 "them), then run again.\n  Cannot tell what gradient exchange costs the parameter "
                                 "server: the control makes no sense: ps trains 1.10 x "));
    free(text);
    campaign_close(&c);
}

/* "1.180", "-" for null. */
static void append_ratio(char *out, size_t n_bytes, const json_t *record, const char *key)
{
    const json_t *value = json_object_get(record, key);
    const size_t n_used = strlen(out);

    assert_true(json_is_number(value) || json_is_null(value));
    if (json_is_null(value))
        snprintf(out + n_used, n_bytes - n_used, " -");
    else
        snprintf(out + n_used, n_bytes - n_used, " %.3f", json_number_value(value));
}

static void append_word(char *out, size_t n_bytes, const json_t *record, const char *key)
{
    const json_t *value = json_object_get(record, key);
    const size_t n_used = strlen(out);

    if (json_is_integer(value))
        snprintf(out + n_used, n_bytes - n_used, " %lld", (long long)json_integer_value(value));
    else
        snprintf(out + n_used, n_bytes - n_used, " %s", json_is_string(value) ? json_string_value(value) : "-");
}

/* A line for each record of verdicts.jsonl. */
static void read_verdicts(char *out, size_t n_bytes, struct kit *kit)
{
    static const char *const word[] = { "quantity", "a_mode", "a_workers_count", "b_mode", "b_workers_count" };
    static const char *const ratio[] = { "ratio", "low_ratio", "high_ratio" };
    static const char *const rest[] = { "pairs_count", "disturbed_pairs_count", "unsteady_pairs_count", "result",
                                        "withheld",    "withheld_reason" };
    FILE *from = fopen(kit_path(kit, "verdicts.jsonl"), "r");
    json_t *record;

    assert_non_null(from);
    out[0] = '\0';
    while ((record = json_loadf(from, JSON_DISABLE_EOF_CHECK, NULL)) != NULL) {
        assert_string_equal(json_string_value(json_object_get(record, "kind")), "verdict");
        for (size_t i = 0; i < sizeof word / sizeof *word; i++)
            append_word(out, n_bytes, record, word[i]);
        for (size_t i = 0; i < sizeof ratio / sizeof *ratio; i++)
            append_ratio(out, n_bytes, record, ratio[i]);
        for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
            append_word(out, n_bytes, record, rest[i]);
        snprintf(out + strlen(out), n_bytes - strlen(out), "\n");
        json_decref(record);
    }
    fclose(from);
}

/* Of what, a and b, ratio with its ends, pairs (disturbed, unsteady), who is better, and why nobody is. */
KIT_TEST(the_record_of_each_comparison)
{
    static const struct {
        size_t at; /* of CASES */
        bool is_disturbed;
        const char *text;
    } cases[] = {
        { 0, false,
          " throughput allreduce 2 ps 2 1.176 1.127 1.228 3 0 0 a - -\n"
          " exchange_cost allreduce 2 none 2 0.800 0.766 0.835 3 0 0 b - -\n"
          " exchange_cost ps 2 none 2 0.680 0.652 0.710 3 0 0 b - -\n" },
        { 0, true, /* one run of allreduce, of three */
          " throughput allreduce 2 ps 2 1.176 1.127 1.228 3 1 0 cannot tell disturbed the machine was disturbed in 1 "
          "of 3 pairs of runs. Other programs used up to 1.81 cores.\n"
          " exchange_cost allreduce 2 none 2 0.800 0.766 0.835 3 1 0 cannot tell disturbed the machine was disturbed "
          "in 1 of 3 pairs of runs. Other programs used up to 1.81 cores.\n"
          " exchange_cost ps 2 none 2 0.680 0.652 0.710 3 0 0 b - -\n" },
        { 2, false, " throughput allreduce 2 ps 2 0.988 0.947 1.031 3 0 0 cannot tell - -\n" },
        { 3, false,
          " throughput allreduce 2 ps 2 0.773 0.740 0.807 3 0 0 cannot tell control the control makes no sense: ps "
          "trains 1.10 x as many samples/s as none (95 %: 1.05 to 1.15).\n"
          " exchange_cost allreduce 2 none 2 0.850 0.814 0.887 3 0 0 b - -\n"
          " exchange_cost ps 2 none 2 1.100 1.054 1.148 3 0 0 cannot tell control the control makes no sense: ps "
          "trains 1.10 x as many samples/s as none (95 %: 1.05 to 1.15).\n" },
        { 4, false, /* simulated: no interval */
          " throughput allreduce 2 ps 2 2.000 - - 1 0 0 a - -\n"
          " throughput allreduce 2 ps 1 4.000 - - 1 0 0 a - -\n"
          " time_to_target allreduce 2 single 1 1.600 - - 1 0 0 a - -\n"
          " time_to_target ps 2 single 1 0.889 - - 1 0 0 b - -\n" },
        { 6, false, " time_to_target allreduce 2 single 1 - - - 0 0 0 cannot tell - -\n" },
        { 14, false,
          " throughput allreduce 2 ps 2 1.176 - - 1 0 0 cannot tell bound a simulated run is faster than its bound.\n"
          " exchange_cost allreduce 2 none 2 0.800 - - 1 0 0 b - -\n"
          " exchange_cost ps 2 none 2 0.680 - - 1 0 0 cannot tell bound a simulated run is faster than its bound.\n" },
        { 7, false, "" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[2048];
        struct campaign c;
        open_case(&c, *state, &CASES[cases[i].at]);
        if (cases[i].is_disturbed) {
            c.point[1].launch[2].was_disturbed = true;
            c.point[1].launch[2].others_cores_count = 1.81;
        }
        assert_int_equal(campaign_keep_verdicts(&c), RC_OK);
        read_verdicts(text, sizeof text, *state);
        assert_string_equal(text, cases[i].text);
        campaign_remove_verdicts(&c);
        assert_int_equal(access(kit_path(*state, "verdicts.jsonl"), F_OK), -1);
        assert_int_equal(access(kit_path(*state, "answer.txt"), F_OK), -1);
        campaign_close(&c);
    }
}

UNIT_MAIN("answer")
