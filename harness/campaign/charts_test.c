/* SPDX-License-Identifier: Apache-2.0 */
/*
 * charts_test.c - every column of every table that a campaign writes, and which charts are drawn of them.
 *
 * What gnuplot draws from such tables is chart_values_test.c's.
 */
#include <sys/utsname.h>

#include "harness/campaign/suite/charts_test_kit.h"
#include "harness/world/cores.h"

static bool same_field(const char *text, const char *expected)
{
    char *text_end, *expected_end;
    const double value = strtod(text, &text_end), wanted = strtod(expected, &expected_end);

    if (strcmp(text, expected) == 0)
        return true;
    return *text_end == '\0' && *expected_end == '\0' && fabs(value - wanted) <= 1e-4 * fabs(wanted);
}

/* Field by field; numbers to four digits, which is how exact Student's t is said to be. */
static void check_sheet(struct kit *k, const char *name, const char *expected)
{
    char text[4000], wanted[4000], *line_rest = text, *wanted_rest = wanted;
    const char *read = kit_read(k, name);

    if (!read)
        fail_msg("%s was not written", name);
    snprintf(text, sizeof text, "%s", read ? read : "");
    snprintf(wanted, sizeof wanted, "%s", expected);
    for (int row = 0; *line_rest || *wanted_rest; row++) {
        char *fields = strsep(&line_rest, "\n"), *wanted_fields = strsep(&wanted_rest, "\n");
        if (!line_rest || !wanted_rest)
            fail_msg("%s: row %d: rows are missing, or too many, or without an end", name, row);
        for (int column = 0; fields || wanted_fields; column++) {
            const char *field = strsep(&fields, "\t"), *wanted_field = strsep(&wanted_fields, "\t");
            if (!field || !wanted_field || !same_field(field, wanted_field))
                fail_msg("%s: row %d, column %d is %s, not %s", name, row, column, field ? field : "missing",
                         wanted_field ? wanted_field : "expected");
        }
    }
}

#define SCALING "mode\tworkers\tmean\tlow\thigh\toversubscribed\tcores\n" /* of one launch */
#define SCALING_OF_3 "mode\tworkers\tmean\tlow\thigh\toversubscribed\tcores\tlaunch_0\tlaunch_1\tlaunch_2\n"
#define BOUND "mode\tworkers\tmean\tlow\thigh\tfailed\tlaunches\tcores\n"
#define COST                                                                                                       \
    "mode\tworkers\tcompute_us\tcompute_low_us\tcompute_high_us\twait_us\twait_low_us\twait_high_us\twire_us\t"    \
    "wire_low_us\twire_high_us\tserver_us\tserver_low_us\tserver_high_us\tapply_us\tapply_low_us\tapply_high_us\t" \
    "rest_us\trest_low_us\trest_high_us\tstep_us\tstep_low_us\tstep_high_us\toversubscribed\tcores\n"
/* Of launches at 0.5, 1 and 1.5 times the mean the interval is 4.30265 / root 12 of it to either side. */
#define PART(us, low_us, high_us) "\t" #us "\t" #low_us "\t" #high_us
#define NONE PART(nan, nan, nan)

static const struct {
    const char *name, *text;
} SHEETS[] = {
    /* beginning with another launch in each: campaign_test_kit.h */
    { "throughput-lenet.tsv",
      SCALING_OF_3 "none\t2\t2500\t2438.9625\t2562.5650\t0\t2\t2500\t2525\t2475.2475\n"
                   "single\t1\t1250\t718.07895\t2175.9446\t0\t1\t1562.5\t1000\t1250\n"
                   "ps\t2\t1800\t1756.0530\t1845.0468\t0\t3\t1782.1782\t1800\t1818\n"
                   "ps\t4\t1625\t1585.3256\t1665.6673\t1\t5\t1625\t1641.25\t1608.9109\n"
                   "allreduce\t2\t2125\t2073.1181\t2178.1803\t0\t2\t2146.25\t2103.9604\t2125\n" },
    { "throughput-linear.tsv", SCALING_OF_3 "single\t1\t4e6\t3902339.98\t4100104.06\t0\t1\t3960396.04\t4e6\t4.04e6\n"
                                            "ps\t2\tnan\tnan\tnan\t0\t3\tnan\tnan\tnan\n"
                                            "allreduce\t2\t6e6\t5.4e6\t7.2e6\t0\t2\t6e6\tnan\tnan\n" },
    { "bound-lenet.tsv", BOUND "none\t2\t0.51\t0.49754835\t0.52276327\t0\t3\t2\n"
                               "single\t1\t0.52\t0.29872083\t0.90519298\t0\t3\t1\n"
                               "ps\t2\t0.53\t0.51706005\t0.54326379\t0\t3\t3\n"
                               "ps\t4\t0.54\t0.5268159\t0.55351405\t0\t3\t5\n"
                               "allreduce\t2\t0.55\t0.53657175\t0.56376431\t0\t3\t2\n" },
    { "bound-linear.tsv", BOUND "single\t1\t0.56\t0.5463276\t0.57401457\t0\t3\t1\n"
                                "ps\t2\t0.57\t0.55608345\t0.58426483\t0\t3\t3\n"
                                "allreduce\t2\t0.58\t0.522\t0.696\t0\t1\t2\n" },
    /* each pair of launches in a block: their geometric mean is the mean */
    { "efficiency-lenet.tsv",
      SCALING_OF_3 "none\t2\t1\t0.5671777802\t1.7631156135\t0\t2\t0.8\t1.2625\t0.990099\n"
                   "single\t1\t1\tnan\tnan\t0\t1\tnan\tnan\tnan\n"
                   "ps\t2\t0.72\t0.4083680018\t1.2694432418\t0\t3\t0.570297\t0.9\t0.7272\n"
                   "ps\t4\t0.325\t0.1843327786\t0.5730125744\t1\t5\t0.26\t0.4103125\t0.3217822\n"
                   "allreduce\t2\t0.85\t0.5005137299\t1.4435168446\t0\t2\t0.6868\t1.0519802\t0.85\n" },
    { "efficiency-linear.tsv", SCALING_OF_3 "single\t1\t1\tnan\tnan\t0\t1\tnan\tnan\tnan\n"
                                            "allreduce\t2\t0.75\tnan\tnan\t0\t2\t0.7575\tnan\tnan\n" },
    { "cost-lenet.tsv",
      COST "none\t2" PART(101, -24.449, 226.449) PART(21, -5.08345, 47.0834) PART(31, -7.50413, 69.5041)
          NONE PART(51, -12.3455, 114.346) PART(60, -14.5241, 134.524) PART(
              264, -63.9062,
              591.906) "\t0\t2\n"
                       "single\t1" PART(102, -24.691, 228.691) PART(22, -5.32551, 49.3255) PART(32, -7.7462, 71.7462)
                           NONE PART(52, -12.5876, 116.588) PART(60, -14.5241, 134.524)
                               PART(268, -64.8745,
                                    600.874) "\t0\t1\n"
                                             "ps\t2" PART(103, -24.9331, 230.933) PART(23, -5.56758, 51.5676) PART(
                                                 33, -7.98827, 73.9883) PART(43, -10.409, 96.409)
                                                 PART(53, -12.8296, 118.83) PART(60, -14.5241, 134.524) PART(
                                                     315, -76.2517,
                                                     706.252) "\t0\t3\n"
                                                              "ps\t4" PART(104, -25.1752,
                                                                           233.175) PART(24, -5.80965, 53.8097)
                                                                  PART(34, -8.23034,
                                                                       76.2303) PART(44, -10.651, 98.651)
                                                                      PART(54, -13.0717, 121.072)
                                                                          PART(60, -14.5241, 134.524) PART(
                                                                              320, -77.462,
                                                                              717.462) "\t1\t5\n"
                                                                                       "allreduce\t2" PART(
                                                                                           105, -25.4172, 235.417)
                                                                                           PART(25, -6.05172, 56.0517) PART(
                                                                                               35,
                                                                                               -8.47241,
                                                                                               78.4724) NONE
                                                                                               PART(55, -13.3138,
                                                                                                    123.314)
                                                                                                   PART(60, -14.5241,
                                                                                                        134.524)
                                                                                                       PART(
                                                                                                           280,
                                                                                                           -67.7793,
                                                                                                           627.779) "\t"
                                                                                                                    "0"
                                                                                                                    "\t"
                                                                                                                    "2"
                                                                                                                    "\n" },
    { "cost-linear.tsv",
      COST "single\t1" PART(106, -25.6593, 237.659) PART(26, -6.29379, 58.2938) PART(36, -8.71448, 80.7145)
          NONE PART(56, -13.5559, 125.556) PART(60, -14.5241, 134.524)
              PART(284, -68.7476,
                   636.748) "\t0\t1\n"
                            "ps\t2" PART(107, -25.9014, 239.901) PART(27, -6.53586, 60.5359) PART(37, -8.95655, 82.9565)
                                PART(47, -11.3772, 105.377) PART(57, -13.7979, 127.798) PART(60, -14.5241, 134.524)
                                    PART(335, -81.0931, 751.093) "\t0\t3\n"
                                                                 "allreduce\t2" PART(54, nan, nan) PART(14, nan, nan)
                                                                     PART(19, nan, nan) NONE PART(29, nan, nan) PART(
                                                                         30, nan, nan) PART(146, nan, nan) "\t0\t2\n" },
};

struct shown { /* a point whose losses a sheet has */
    const char *mode;
    int n_workers;
    double unit; /* of the made-up point */
    int n_launches, oversubscribed;
};

/* Loss of a made-up launch: of round r 1 / (r unit), after r x unit x 10^launch seconds, or r x 32 samples a worker;
 * straight between them, and before the first that of the first (curves.K1). */
static double made_loss(const struct shown *p, int launch, bool by_seconds, double at)
{
    const double rounds = by_seconds ? at / (p->unit * pow(10, launch)) : at / (32 * p->n_workers), r = floor(rounds);

    if (rounds <= 1)
        return 1 / p->unit;
    return (1 / r + (rounds - r) * (1 / (r + 1) - 1 / r)) / p->unit;
}

static double median_of_launches(const double *loss, int n) /* one, or three */
{
    return n == 1 ? loss[0] : fmax(fmin(loss[0], loss[1]), fmin(fmax(loss[0], loss[1]), loss[2]));
}

static void check_loss_row(const struct shown *p, bool by_seconds, const double row[4], const char *line)
{
    double loss[MADE_LAUNCHES], low = INFINITY, high = 0;

    for (int i = 0; i < p->n_launches; i++) {
        loss[i] = made_loss(p, i, by_seconds, row[0]);
        low = fmin(low, loss[i]);
        high = fmax(high, loss[i]);
    }
    const double expected[] = { median_of_launches(loss, p->n_launches), low, high };
    for (int i = 0; i < 3; i++)
        if (!(fabs(row[1 + i] - expected[i]) <= 0.005 * expected[i]))
            fail_msg("column %d is %g, not %g: %s", 4 + i, row[1 + i], expected[i], line);
}

/* Every row; all points have the same places, from first to last (curves.K2). */
static void check_losses(struct kit *k, const char *name, const struct shown *shown, size_t n_shown,
                         const double range[2][2])
{
    char *text = strdup(kit_read(k, name)), *rest = text;
    const char *const header = strsep(&rest, "\n");

    assert_string_equal(header, "mode\tworkers\taxis\tat\tmedian\tlow\thigh\toversubscribed");
    for (size_t i = 0; i < n_shown; i++)
        for (int axis = 0; axis < 2; axis++) {
            const double width = range[axis][1] - range[axis][0];
            char place[200], expected[100];
            double last = range[axis][0];
            int n_rows = 0;
            snprintf(expected, sizeof expected, "%s\t%d\t%s\t", shown[i].mode, shown[i].n_workers,
                     axis ? "samples" : "seconds");
            while (rest && strncmp(rest, expected, strlen(expected)) == 0) {
                const char *line = strsep(&rest, "\n");
                double row[4];
                int oversubscribed = -1;
                assert_int_equal(sscanf(line + strlen(expected), "%lf\t%lf\t%lf\t%lf\t%d", &row[0], &row[1], &row[2],
                                        &row[3], &oversubscribed),
                                 5);
                assert_int_equal(oversubscribed, shown[i].oversubscribed);
                if (row[0] <= last || row[0] > last + 0.02 * width)
                    fail_msg("%s is far behind %g", line, last);
                check_loss_row(&shown[i], axis == 0, row, line);
                last = row[0];
                n_rows++;
            }
            snprintf(place, sizeof place, "%s %d: %d rows to %g", shown[i].mode, axis, n_rows, last);
            if (n_rows < 50 || last > range[axis][1] || last < range[axis][1] - 0.02 * width)
                fail_msg("%s", place);
        }
    assert_string_equal(rest, ""); /* and no other */
    free(text);
}

KIT_TEST(losses_of_all_launches)
{
    /* of ps the point at 2 workers: at 4 they share cores */
    static const struct shown lenet[] = {
        { "none", 2, 1, 3, 0 }, { "single", 1, 2, 3, 0 }, { "ps", 2, 3, 3, 0 }, { "allreduce", 2, 5, 3, 0 }
    };
    static const struct shown linear[] = { { "single", 1, 6, 3, 0 },
                                           { "ps", 2, 7, 3, 0 },
                                           { "allreduce", 2, 8, 1, 0 } };
    struct campaign c;

    made_open(&c, *state, MADE_CAMPAIGN, MADE_POINTS, false);
    assert_int_equal(draw(*state, &c, false), RC_UNSUPPORTED);
    check_losses(*state, "loss-lenet.tsv", lenet, 4, (const double[2][2]){ { 1, 3 }, { 32, 96 } });
    check_losses(*state, "loss-linear.tsv", linear, 3, (const double[2][2]){ { 6, 18 }, { 32, 96 } });
    campaign_close(&c);
}

KIT_TEST(every_column_of_every_sheet)
{
    struct campaign c;

    made_open(&c, *state, MADE_CAMPAIGN, MADE_POINTS, false);
    assert_int_equal(draw(*state, &c, false), RC_UNSUPPORTED); /* no gnuplot: the data is written all the same */
    assert_non_null(strstr(rc_message(), c.dir));
    for (size_t i = 0; i < sizeof SHEETS / sizeof *SHEETS; i++)
        check_sheet(*state, SHEETS[i].name, SHEETS[i].text);
    campaign_close(&c);
}

/* No efficiency without a launch of `single`, no loss where nothing was computed, no row of a point without launches.
 */
KIT_TEST(sheets_that_would_be_empty)
{
    static const struct made_point point[] = {
        { "replay", "single", 1, 0, 0, 1000, 1, NAN, 1 },
        { "replay", "ps", 2, 1, 1, 1000, 1, NAN, NAN }, /* a unit of NaN: all but throughput is null */
        { "replay", "allreduce", 2, 0, 0, 1000, 1, NAN, 3 },
    };
    struct kit *k = *state;
    struct campaign c;

    made_open(&c, k, point, 3, false);
    assert_int_equal(draw(k, &c, false), RC_UNSUPPORTED);
    check_sheet(k, "throughput-replay.tsv", SCALING "ps\t2\t1000\t900\t1200\t0\t3\n");
    check_sheet(k, "cost-replay.tsv", COST "ps\t2" NONE NONE NONE NONE NONE NONE NONE "\t0\t3\n");
    assert_null(kit_read(k, "efficiency-replay.tsv"));
    assert_null(kit_read(k, "loss-replay.tsv"));
    assert_null(kit_read(k, "bound-replay.tsv"));
    campaign_close(&c);
}

/* Failed bounds are a number of launches beside no mean. */
KIT_TEST(a_sheet_of_failed_bounds)
{
    static const struct made_point point[] = { { "lenet", "none", 2, 0, 3, 2500, 1.25, NAN, 42 } };
    struct campaign c;

    made_open(&c, *state, point, 1, false); /* 92 % x 0.8, 1, 1.25 */
    assert_int_equal(draw(*state, &c, false), RC_UNSUPPORTED);
    check_sheet(*state, "bound-lenet.tsv", BOUND "none\t2\tnan\tnan\tnan\t1\t3\t2\n");
    campaign_close(&c);
}

/* A value with slashes, as a folder has them, is part of a file's name without them. */
KIT_TEST(a_folder_in_the_name_of_a_sheet)
{
    static const struct made_point point[] = { { "lenet", "ps", 2, 1, 1, 1000, 1, NAN, 1 } };
    struct kit *k = *state;
    struct campaign c;

    made_open(&c, k, point, 1, false);
    made_assign(&c.point[0].assigned[c.point[0].n_assigned++], "data", "/a/b-c/d");
    assert_int_equal(draw(k, &c, false), RC_UNSUPPORTED);
    check_sheet(k, "throughput-lenet-data--a-b-c-d.tsv", SCALING "ps\t2\t1000\t900\t1200\t0\t3\n");
    campaign_close(&c);
}

/* In sim the title tells the cluster, and nothing of this machine. */
KIT_TEST(a_simulated_campaign_names_its_cluster)
{
    static const struct made_point point = { "lenet", "single", 1, 0, 1, 1000, 1, NAN, 1 };
    struct kit *k = *state;
    struct campaign c;

    made_open(&c, k, &point, 1, true);
    assert_int_equal(draw(k, &c, true), RC_OK);
    const char *calls = kit_read(k, "calls");
    assert_non_null(strstr(
        calls,
        "loss.gp loss-lenet.tsv svg .loss-lenet.svg.part|lenet|weak scaling: batch 32 per worker|simulated cluster a "
        "cluster|1|\n"));
    assert_int_equal(n_lines(calls), 4 * 2);
    check_losses(k, "loss-lenet.tsv", &(const struct shown){ "single", 1, 1, 1, 0 }, 1,
                 (const double[2][2]){ { 1, 3 }, { 32, 96 } });
    campaign_close(&c);
}

/* On a machine with a core less than workers: the loss is of the largest point of each mode, and marked.
 * Regression: without a point to show, gnuplot failed, and the charts behind this one were missing. */
KIT_TEST(a_campaign_of_oversubscribed_points)
{
    static const struct made_point point[] = {
        { "lenet", "allreduce", 3, 0, 3, 1000, 1, NAN, 1 },
        { "lenet", "allreduce", 4, 0, 3, 1000, 1, NAN, 2 },
        { "lenet", "ps", 3, 1, 3, 1000, 1, NAN, 4 },
        { "lenet", "ps", 8, 1, 0, 1000, 1, NAN, 5 }, /* never launched */
    };
    struct kit *k = *state;
    struct campaign c;

    made_open(&c, k, point, 4, false);
    assert_int_equal(draw(k, &c, true), RC_OK);
    check_losses(k, "loss-lenet.tsv", (const struct shown[]){ { "allreduce", 4, 2, 3, 1 }, { "ps", 3, 4, 3, 1 } }, 2,
                 (const double[2][2]){ { 2, 6 }, { 96, 288 } });
    assert_int_equal(n_lines(kit_read(k, "calls")), 3 * 2); /* no efficiency: nothing is compared with one worker */
    assert_non_null(kit_read(k, "loss-lenet.svg"));
    assert_non_null(kit_read(k, "cost-lenet.png"));
    campaign_close(&c);
}

/* One worker alone has launches, and so there would be an efficiency, but none has a throughput. */
KIT_TEST(a_campaign_without_a_throughput)
{
    static const struct made_point point[] = {
        { "lenet", "single", 1, 0, 1, NAN, 1, NAN, 1 },
        { "lenet", "allreduce", 2, 0, 2, NAN, 1, NAN, 1 },
    };
    struct kit *k = *state;
    struct campaign c;
    char *told;

    made_open(&c, k, point, 2, false);
    assert_int_equal(draw_telling(k, &c, true, &told), RC_OK);
    assert_string_equal(told, "chart throughput-lenet: left out: no point has a throughput\n"
                              "chart efficiency-lenet: left out: no point has an efficiency\n");
    free(told);
    campaign_close(&c);
}

/* What has nothing to show is left out with a line, before the others are drawn and behind them. */
KIT_TEST(a_chart_without_anything_to_show)
{
    static const struct made_point point[] = {
        { "lenet", "allreduce", 4, 0, 3, NAN, 1, NAN, 1 }, /* the workers never trained all at once */
        { "replay", "ps", 2, 1, 1, 1000, 1, NAN, NAN },
    };
    struct kit *k = *state;
    struct campaign c;
    char *told;

    made_open(&c, k, point, 2, false);
    assert_int_equal(draw_telling(k, &c, true, &told), RC_OK);
    assert_string_equal(told, "chart throughput-lenet: left out: no point has a throughput\n"
                              "chart cost-replay: left out: no point has a step that could be measured\n");
    free(told);
    assert_non_null(kit_read(k, "loss-lenet.svg"));
    assert_non_null(kit_read(k, "cost-lenet.svg"));
    assert_non_null(kit_read(k, "throughput-replay.svg"));
    assert_null(kit_read(k, "throughput-lenet.svg"));
    assert_null(kit_read(k, "cost-replay.svg"));
    assert_non_null(kit_read(k, "throughput-lenet.tsv")); /* what there is to see, is there */
    campaign_close(&c);
}

/* The other charts are there all the same, and the first failure is returned. */
KIT_TEST(a_chart_that_fails)
{
    struct kit *k = *state;
    struct campaign c;
    char *told, first[700];

    made_open(&c, k, MADE_CAMPAIGN, MADE_POINTS, false);
    assert_true(kit_write(k, "fails-efficiency.gp", ""));
    assert_true(kit_write(k, "fails-loss.gp", ""));
    assert_int_equal(draw_telling(k, &c, true, &told), RC_IO);
    snprintf(first, sizeof first, "%s/efficiency-lenet.svg: gnuplot failed: No valid data points", k->dir);
    assert_string_equal(rc_message(), first);
    assert_int_equal(strncmp(told, "chart efficiency-lenet: failed: ", 32), 0);
    assert_int_equal(strncmp(told + 32, first, strlen(first)), 0);
    assert_int_equal(n_lines(told), 4);
    for (const char *const *name = (const char *const[]){ "chart loss-lenet: failed: ", "chart efficiency-linear: ",
                                                          "chart loss-linear: failed: ", NULL };
         *name; name++)
        assert_non_null(strstr(told, *name));
    free(told);
    assert_non_null(kit_read(k, "throughput-lenet.svg"));
    assert_non_null(kit_read(k, "cost-lenet.png"));
    assert_non_null(kit_read(k, "cost-linear.png"));
    assert_null(kit_read(k, "loss-lenet.svg"));
    campaign_close(&c);
}

/* What gnuplot is asked to draw, under which titles. */

/* Each sheet by the script of its name, with what the title tells. */
KIT_TEST(gnuplot_is_asked_for_each_sheet)
{
    static const char *const script[] = { "throughput", "efficiency", "loss", "cost" };
    static const char *const model[] = { "lenet", "linear" };
    static const char *const format[] = { "svg", "png" };
    struct kit *k = *state;
    struct utsname about;
    struct campaign c;
    char line[400];

    made_open(&c, k, MADE_CAMPAIGN, MADE_POINTS, false);
    snprintf(c.exchange, sizeof c.exchange, "overlap on");
    assert_int_equal(draw(k, &c, true), RC_OK);
    assert_int_equal(uname(&about), 0);
    const char *calls = kit_read(k, "calls");
    assert_non_null(calls);
    for (int s = 0; s < 4; s++)
        for (int m = 0; m < 2; m++)
            for (int f = 0; f < 2; f++) {
                snprintf(line, sizeof line,
                         "%s.gp %s-%s.tsv %s .%s-%s.%s.part|%s|weak scaling: batch 32 per worker|%d cores, "
                         "%s|%s|overlap on\n",
                         script[s], script[s], model[m], format[f], script[s], model[m], format[f], model[m],
                         cores_allowed_count(), about.machine, m == 0 ? "3" : "1 to 3");
                if (!strstr(calls, line))
                    fail_msg("expected: %sgnuplot was called:\n%s", line, calls);
            }
    assert_int_equal(n_lines(calls), 4 * 2 * 2);
    assert_non_null(kit_read(k, "cost-linear.svg"));
    assert_non_null(kit_read(k, "cost-linear.png"));
    campaign_close(&c);
}

/* Titles tell of the points that were launched: the first of the table may be one that never was. */
KIT_TEST(titles_tell_of_what_was_launched)
{
    static const struct made_point point[] = {
        { "lenet", "single", 1, 0, 0, 1000, 1, NAN, 1 },
        { "lenet", "allreduce", 2, 0, 2, 1000, 1, NAN, 2 },
        { "lenet", "ps", 2, 1, 2, 1000, 1, NAN, 3 },
    };
    struct kit *k = *state;
    struct campaign c;

    made_open(&c, k, point, 3, false);
    campaign_set_data(&c, "/home/me/shards-g1/");
    c.point[1].batch_per_worker_count = 16;
    c.point[1].global_batch_count = 32;
    assert_int_equal(draw(k, &c, true), RC_OK);
    const char *calls = kit_read(k, "calls"), *svg = strstr(calls, "throughput-lenet.tsv svg ");
    assert_non_null(svg);
    assert_non_null(strstr(svg, "|lenet, data shards-g1|strong scaling: batch 32 of all workers|"));
    assert_int_equal(strncmp(strchr(svg, '\n') - 3, "|2|", 3), 0);
    campaign_close(&c);
}

/* A chart goes without the text beside it: that the machine was disturbed is on it, of its own setting. */
KIT_TEST(titles_tell_of_disturbed_launches)
{
    struct kit *k = *state;
    struct campaign c;

    made_open(&c, k, MADE_CAMPAIGN, MADE_POINTS, false);
    for (size_t i = 0; i < 2; i++) /* of lenet, which has 15 */
        c.point[i].launch[i].was_disturbed = true;
    assert_int_equal(draw(k, &c, true), RC_OK);
    const char *calls = kit_read(k, "calls");
    assert_non_null(calls);
    const char *lenet = strstr(calls, "cost-lenet.tsv png "), *linear = strstr(calls, "cost-linear.tsv png ");
    assert_non_null(lenet);
    assert_non_null(linear);
    const char *told = strstr(lenet, "  ·  2 of 15 launches disturbed|");
    assert_true(told && told < strchr(lenet, '\n'));
    told = strstr(linear, " disturbed|");
    assert_true(!told || told > strchr(linear, '\n'));
    campaign_close(&c);
}

UNIT_MAIN("charts")
