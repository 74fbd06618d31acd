/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chart_test.c - each chart drawn from small tables; failures told in gnuplot's words.
 *   chart_test throughput|efficiency|loss|cost|roofline|reproduce|path|lesson|busbw|text|errors
 */
#include "harness/report/chart.h"

#include <sys/stat.h>

#include "harness/base/suite/unit.h"
#include "harness/report/suite/report_kit.h"

enum { LEAST_PICTURE_BYTES = 5000 };

static const struct chart_var VARS[] = {
    { "model", "lenet's _test_ \"quoted\" $HOME `date` %d" }, /* nothing of it may be interpreted */
    { "scaling", "weak scaling: batch 32 per worker" },
    { "machine", "a machine\nof 2 cores" },
    { "launches", "3" },
    { "peak_gflop_per_s", "112.5" },
    { "peak_gb_per_s", "9.5" },
    { "mean_x", "0.01" },
    { "mean_xx", "0.08" },
    { "least_slope", "2" },
    { "least_offset", "-0.1" },
    { "xtitle", "steps" },
    { "ytitle", "loss" },
    { "lower", "start-up" },
    { "upper", "training" },
    { "launch", "a launch" },
};

/* Tables that hold what may come: comments, nan, one point, oversubscription, long and unknown modes. */
static const struct sample {
    const char *script, *table;
} SAMPLES[] = {
    { "throughput", "# samples\n"
                    "mode\tworkers\tmean\tlow\thigh\toversubscribed\n"
                    "none\t1\t8100\t8000\t8200\t0\nsingle\t1\t8200\t8100\t8300\t0\nps\t1\t6100\t6000\t6200\t0\n"
                    "none\t2\t16100\t16000\t16200\t0\nps\t2\tnan\tnan\tnan\t0\n"
                    "none\t4\t16000\t15000\t17000\t1\nps\t4\t9100\t9000\t9200\t1\n" },
    { "throughput", "mode\tworkers\tmean\tlow\thigh\toversubscribed\nsingle\t1\t8200\tnan\tnan\t0\n" },
    { "throughput", "mode\tworkers\tmean\tlow\thigh\toversubscribed\n"
                    "single\t1\t2e6\t1.9E+6\t2.1e6\t0\nps, four servers and a very_long_name\t1\t900\t800\t1000\t0\n"
                    "ps, four servers and a very_long_name\t512\t90000\t80000\t100000\t0\n" },
    { "throughput", "mode\tworkers\tmean\tlow\thigh\toversubscribed\tlaunch_0\tlaunch_1\n"
                    "single\t1\t8200\t8100\t8300\t0\t8150\t8250\nps\t2\tnan\tnan\tnan\t0\tnan\tnan\n" },
    { "efficiency", "mode\tworkers\tmean\tlow\thigh\toversubscribed\n"
                    "none\t1\t0.99\t0.98\t1.01\t0\nallreduce\t1\t0.9\tnan\tnan\t0\nallreduce\t2\t0.8\t0.7\t0.9\t1\n" },
    { "efficiency", "mode\tworkers\tmean\tlow\thigh\toversubscribed\nsingle\t1\t1\tnan\tnan\t0\n" },
    { "loss", "mode\tworkers\tseconds\tsamples\tloss\n"
              "single\t1\t0.1\t32\t2.3\nsingle\t1\t0.2\t64\tnan\nsingle\t1\t0.3\t96\t0.01\n"
              "ps\t2\t0.1\t64\t2.2\nps\t2\t0.2\t128\t0.02\n" },
    { "loss", "mode\tworkers\tseconds\tsamples\tloss\toversubscribed\nps\t4\t0.1\t32\t2\t1\n" },
    { "loss", "mode\tworkers\tseconds\tsamples\tloss\nsingle\t1\t0.00001\t32\t0\n" },
    { "loss", "mode\tworkers\taxis\tat\tmedian\tlow\thigh\toversubscribed\n"
              "single\t1\tseconds\t0.1\t2.3\t2\t2.5\t0\nsingle\t1\tseconds\t0.2\tnan\tnan\tnan\t0\n"
              "single\t1\tsamples\t64\t0.01\t0.005\tnan\t0\nps, four servers and a "
              "very_long_name\t2\tsamples\t64\t2\t1\t3\t1\n" },
    { "loss", "mode\tworkers\taxis\tat\tmedian\tlow\thigh\toversubscribed\nps\t4\tseconds\t0\t2\t2\t2\t1\n" },
    { "cost", "mode\tworkers\tcompute_us\tcompute_low_us\tcompute_high_us\twait_us\twait_low_us\twait_high_us\twire_"
              "us\twire_low_us\twire_high_us\tserver_us\tserver_low_us\tserver_high_us\tapply_us\tapply_low_us\tapply_"
              "high_us\trest_us\trest_low_us\trest_high_us\tstep_us\tstep_low_us\tstep_high_us\toversubscribed\n"
              "single\t1\t3900\t3510.0\t4290.0\t0\t0.0\t0.0\t0\t0.0\t0.0\tnan\tnan\tnan\t80\t72.0\t88.0\t10\t9.0\t11."
              "0\t3990\t3591.0\t4389.0\t0\n"
              "ps\t2\t3900\t3510.0\t4290.0\t0\t0.0\t0.0\t400\t360.0\t440.0\t150\t135.0\t165.0\t80\t72.0\t88.0\t20\t18."
              "0\t22.0\t4550\t4095.0\t5005.0\t0\n"
              "ps\t4\t7900\t7110.0\t8690.0\t0\t0.0\t0.0\t900\t810.0\t990.0\t350\t315.0\t385.0\t80\t72.0\t88.0\t0\t0."
              "0\t0.0\t9230\t8307.0\t10153.0\t1\n" },
    { "cost", "mode\tworkers\tcompute_us\tcompute_low_us\tcompute_high_us\twait_us\twait_low_us\twait_high_us\twire_"
              "us\twire_low_us\twire_high_us\tserver_us\tserver_low_us\tserver_high_us\tapply_us\tapply_low_us\tapply_"
              "high_us\trest_us\trest_low_us\trest_high_us\tstep_us\tstep_low_us\tstep_high_us\toversubscribed\n"
              "single\t1\t39\tnan\tnan\tnan\tnan\tnan\tnan\tnan\tnan\tnan\tnan\tnan\tnan\tnan\tnan\tnan\tnan\tnan\tnan"
              "\tnan\tnan\t0\n" },
    { "roofline", "# slowest first\n"
                  "kind\tintensity_flop_per_byte\tgflop_per_s\tshare_ratio\tlayer\n"
                  "larger convolution\t80\t61.5\t0.3\ts0b0/2\nlarger convolution\t80\t61\t0.2\ts0b1/2\n"
                  "1x1 convolution\t12\t130\t0.1\ts0b0/3\ndense\t0.4\t3.1\t0.01\tfc\n" },
    { "roofline", "kind\tintensity_flop_per_byte\tgflop_per_s\tshare_ratio\tlayer\ndense\t0.4\t0.0001\t1\tfc\n" },
    { "reproduce", "# a line, another, and what was published\n"
                   "line\tkind\tgpus\tefficiency\timages_per_s\n"
                   "ring, rdma\tpredicted\t1\t1\t130\nring, rdma\tpredicted\t512\t0.7\t46592\n"
                   "parameter server, grpc\tpredicted\t1\t0.4\t52\nparameter server, grpc\tpredicted\t512\tnan\tnan\n"
                   "ring, rdma\tpublished\t512\t0.68\t45260\nring, rdma\tnot counted\t16\t0.87\t1810\n" },
    { "reproduce", "line\tkind\tgpus\tefficiency\timages_per_s\nring, rdma\tpredicted\t1\t1\t130\n" },
    { "path", "line\tpart\tslope\toffset\nbatch 10\tbegin\t0\t0\nbatch 10\tbegin\t1\t0.1\nbatch 10\trest\t2\t-0.1\n"
              "batch 1\tbegin\t0\t0\nbatch 1\tbegin\tnan\tnan\nbatch 1\trest\t9\t9\n" },
    { "path", "line\tpart\tslope\toffset\nbatch 10\tbegin\t0\t0\n" },
    { "lesson",
      "line\tx\ty\thigh\nbatch 10\t1\t0.5\tnan\nbatch 10\t2\t0.25\tnan\nbatch 1\t1\tnan\tnan\nbatch 1\t2\t0\tnan\n" },
    { "lesson", "line\tx\ty\thigh\nbatch 10\t1\t0.5\tnan\n" },
    { "lesson",
      "line\tx\ty\thigh\na band\t1\t0.5\t0.7\na band\t2\t0.4\t0.6\nbatch 10\t1\t0.5\tnan\nbatch 10\t64\tnever\tnan\n"
      "batch 1\t1\tnever\tnan\n" },
    { "bars",
      "way\tpart\ty\n1 worker\tlower\t0.5\n1 worker\tupper\t0.25\n1 worker\tlaunch\t0.7\n1 worker\tlaunch\t0.8\n"
      "a smaller model\tlower\t0.5\na smaller model\tupper\tnan\nfar too long a name for it\tupper\t0.1\n" },
    { "bars", "way\tpart\ty\n1 worker\tlower\t0.5\n" },
    { "busbw", "line\tkind\tbytes\tgb_per_s\tlow\thigh\n"
               "ring\tmeasured\t4\t0.001\t0.0005\t0.002\nhalving-doubling\tmeasured\t4\t0.002\tnan\tnan\n"
               "memory\tceiling\t4\tnan\tnan\tnan\n"
               "ring\tmeasured\t67108864\t10\t9\t11\nhalving-doubling\tmeasured\t67108864\tnan\tnan\tnan\n"
               "memory\tceiling\t67108864\t13\t12\t14\n" },
    { "busbw", "line\tkind\tbytes\tgb_per_s\tlow\thigh\nring\tmeasured\t4\t0.001\tnan\tnan\n" },
    { "layouts",
      "layout\tkind\tranks\tmean\tlow\thigh\tefficiency\toversubscribed\tlaunch_0\tlaunch_1\n"
      "4x1x4\tshards\t4\t480\t470\t490\t0.8\t0\t479\t481\n1x1x1\tdata\t1\t150\tnan\tnan\t1\t0\t150\tnan\n"
      "allreduce:4x1x1\tdata\t4\t236\t200\t300\t0.4\t0\t230\t242\n1x8x1\tstages\t8\t90\t1\t9000\tnan\t1\t90\t9000\n"
      "4x2x2\tboth\t8\tnan\tnan\tnan\tnan\t1\tnan\tnan\n" },
    { "layouts", "layout\tkind\tranks\tmean\tlow\thigh\tefficiency\toversubscribed\n"
                 "1x2x1\tstages\t2\t0.5\tnan\tnan\tnan\t0\n" },
};

static enum rc draw(struct kit *k, const char *script)
{
    char data_path[KIT_PATH_BYTES];

    snprintf(data_path, sizeof data_path, "%s", kit_path(k, "data.tsv"));
    return chart_draw(script, data_path, k->dir, "picture", VARS, sizeof VARS / sizeof *VARS);
}

static void check_pictures(struct kit *k)
{
    struct stat about;

    assert_int_equal(stat(kit_path(k, "picture.png"), &about), 0);
    assert_true(about.st_size > LEAST_PICTURE_BYTES);
    assert_memory_equal(kit_read(k, "picture.png"), "\x89PNG\r\n\x1a\n", 8);
    const char *svg = kit_read(k, "picture.svg");
    assert_true(strlen(svg) > LEAST_PICTURE_BYTES);
    assert_non_null(strstr(svg, "<svg"));
    assert_non_null(strstr(svg, "lenet's _test_")); /* the title as it was given */
    assert_non_null(strstr(svg, "$HOME `date` %d"));
    assert_null(strstr(svg, "scale(0.00)")); /* some viewers refuse the whole picture */
    assert_int_equal(kit_count_files(k), 3); /* with the data */
}

KIT_TEST(draws)
{
    struct kit *k = *state;
    const char *script = getenv("CHART_TEST_SCRIPT");
    int n_drawn = 0;

    for (size_t i = 0; i < sizeof SAMPLES / sizeof *SAMPLES; i++) {
        if (strcmp(SAMPLES[i].script, script) != 0)
            continue;
        assert_true(kit_write(k, "data.tsv", SAMPLES[i].table));
        if (draw(k, script) != RC_OK)
            fail_msg("sample %zu: %s", i, rc_message());
        check_pictures(k);
        n_drawn++;
    }
    assert_true(n_drawn > 0);
}

UNIT_LISTED("errors", tells_what_is_wrong_with_a_table, kit_set_up, kit_tear_down)
{
    static const char *const script[] = { "throughput", "efficiency", "loss", "cost",  "roofline", "reproduce",
                                          "path",       "lesson",     "bars", "busbw", "layouts" };
    static const char *const broken[] = { "", "mode\tworkers\n", "this is\nno table\nat all\n" };
    struct kit *k = *state;

    for (size_t i = 0; i < sizeof script / sizeof *script; i++)
        for (size_t j = 0; j < sizeof broken / sizeof *broken; j++) {
            assert_true(kit_write(k, "data.tsv", broken[j]));
            assert_int_equal(draw(k, script[i]), RC_IO);
            assert_non_null(strstr(rc_message(), "gnuplot failed: "));
            assert_true(strlen(strstr(rc_message(), "gnuplot failed: ")) > strlen("gnuplot failed: ") + 10);
            assert_null(strchr(rc_message(), '\n'));
            assert_int_equal(kit_count_files(k), 1); /* no half picture is left */
        }
}

/* The letter before a name, in the rows above a picture in text. */
static char letter_of(const char *text, const char *name)
{
    const char *at = strstr(text, name);

    return at && at - text >= 2 && at[-1] == ' ' ? at[-2] : '\0';
}

static size_t longest_line(const char *text)
{
    size_t n_most = 0;

    for (; *text; text += strcspn(text, "\n"), text += *text == '\n')
        if (strcspn(text, "\n") > n_most)
            n_most = strcspn(text, "\n");
    return n_most;
}

/* On a terminal: heading, what is upwards, which letter a line is, no line too long, and nothing left behind. */
UNIT_LISTED("text", prints, kit_set_up, kit_tear_down)
{
    struct kit *k = *state;
    char data_path[KIT_PATH_BYTES], text[16384] = "";
    FILE *to = tmpfile();

    assert_non_null(to);
    assert_true(kit_write(
        k, "data.tsv",
        "line\tx\ty\thigh\nbatch 10\t1\t0.5\tnan\nbatch 10\t2\t0.25\tnan\nbatch 1 \t1\t1\tnan\nbatch 1 \t2\t2\tnan\n"));
    snprintf(data_path, sizeof data_path, "%s", kit_path(k, "data.tsv"));
    assert_int_equal(chart_print("lesson", data_path, VARS, sizeof VARS / sizeof *VARS, to), RC_OK);
    rewind(to);
    assert_true(fread(text, 1, sizeof text - 1, to) > 1000);
    (void)fclose(to);
    assert_non_null(strstr(text, "lenet's _test_"));
    assert_non_null(strstr(text, "upwards: loss"));
    assert_int_equal(letter_of(text, "batch 10"), 'o');
    assert_int_equal(letter_of(text, "batch 1 "), 'x');
    assert_int_equal(longest_line(text), 79); /* as a terminal of 80 columns has them whole */
    assert_null(strchr(text, '*'));           /* no grid, whose letters would be those of a line */
    assert_null(strchr(text, '\f'));
    assert_int_equal(kit_count_files(k), 1);
}

UNIT_LISTED("errors", keeps_the_old_picture, kit_set_up, kit_tear_down)
{
    struct kit *k = *state;

    assert_true(kit_write(k, "data.tsv", ""));
    assert_true(kit_write(k, "picture.svg", "old"));
    assert_int_equal(draw(k, "loss"), RC_IO);
    assert_string_equal(kit_read(k, "picture.svg"), "old");
}

UNIT_LISTED("errors", tells_what_cannot_be_found, kit_set_up, kit_tear_down)
{
    struct kit *k = *state;

    assert_int_equal(draw(k, "loss"), RC_IO); /* no data */
    assert_non_null(strstr(rc_message(), "data.tsv"));
    assert_true(kit_write(k, "data.tsv", SAMPLES[0].table));
    assert_int_equal(draw(k, "no-such-chart"), RC_IO);
    assert_non_null(strstr(rc_message(), "no-such-chart"));
    assert_int_equal(chart_draw("loss", k->path, "/no/such/folder", "picture", NULL, 0), RC_IO);
    setenv("GRADMARK_SHARE_DIR", k->dir, 1); /* scripts are looked for here now */
    assert_int_equal(draw(k, "throughput"), RC_IO);
    unsetenv("GRADMARK_SHARE_DIR");
}

UNIT_LISTED("errors", says_when_there_is_no_gnuplot, kit_set_up, kit_tear_down)
{
    struct kit *k = *state;
    const char *path = getenv("PATH");
    char saved[4096];

    assert_true(kit_write(k, "data.tsv", SAMPLES[0].table));
    snprintf(saved, sizeof saved, "%s", path ? path : "");
    setenv("PATH", k->dir, 1);
    bool available = chart_available();
    enum rc rc = draw(k, "throughput");
    setenv("PATH", saved, 1);
    assert_false(available);
    assert_int_equal(rc, RC_UNSUPPORTED);
    assert_non_null(strstr(rc_message(), "gnuplot"));
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    unsetenv("GRADMARK_SHARE_DIR");
    if (!chart_available()) {
        fprintf(stderr, "skipped: gnuplot cannot be started\n");
        return 77;
    }
    setenv("CHART_TEST_SCRIPT", argv[1], 1);
    return unit_run("chart", strcmp(argv[1], "text") == 0 || strcmp(argv[1], "errors") == 0 ? argv[1] : NULL, NULL,
                    NULL);
}
