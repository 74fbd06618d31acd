/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile_roofs_test.c - roofs that several runs have measured, and the charts that are drawn under them.
 *
 * gnuplot is a script here that notes how it was called; what it draws is harness/report's.
 */
#include "harness/verbs/profile_roofs.h"

#include <sys/stat.h>
#include <sys/wait.h>

#include "harness/base/suite/names.h"
#include "harness/base/suite/unit.h"
#include "harness/report/suite/report_kit.h"

static const char GNUPLOT[] = "#!/bin/sh\n"
                              "[ \"$1\" = --version ] && exit 0\n"
                              "eval \"$2\"\n" /* the assignments read as those of a shell */
                              "printf '%s %s %s|%s|%s|%s|%s|%s|%s|%s\\n' \"${3##*/}\" \"${data##*/}\" \"${out##*/}\" "
                              "\"$model\" \"$machine\" \"$peak_gflop_per_s\" \"$peak_gb_per_s\" \"$least_gflop_per_s\" "
                              "\"$least_gb_per_s\" \"$n_roofs\" >>\"${0%/*}/calls\"\n"
                              "printf '%0300d' 0 >\"$out\"\n";

#define HEAD "device\tcompute\tprecision\tthreads\tgflop_per_s\tgb_per_s\n"

static const struct report_about MINE = { "a program", "cpu", "fp32", "a\tdevice", 8, 2, 3, NULL };
static const struct report_about BF16 = { "a program", "cpu", "bf16", "a\tdevice", 8, 2, 3, NULL };
static const struct report_about ONE_THREAD = { "a program", "cpu", "fp32", "a\tdevice", 8, 1, 3, NULL };
static const struct report_about OTHER = { "a program", "cpu", "fp32", "a\tdevice of another", 8, 2, 3, NULL };

static enum rc add(struct kit *k, const struct report_about *about, double first_gflop, double first_gb,
                   double second_gflop, double second_gb)
{
    const struct layer_timing m = {
        .roof = { { first_gflop * 1e9, first_gb * 1e9 }, { second_gflop * 1e9, second_gb * 1e9 } }, .n_roofs = 2
    };

    return roofs_add(k->dir, &m, about);
}

static enum rc draw(struct kit *k, const struct report_about *about)
{
    const char *path = getenv("PATH");
    char saved[4096];

    snprintf(saved, sizeof saved, "%s", path ? path : "");
    assert_true(kit_write(k, "gnuplot", GNUPLOT));
    assert_int_equal(chmod(kit_path(k, "gnuplot"), 0700), 0);
    setenv("PATH", k->dir, 1);
    const enum rc rc = roofs_draw(k->dir, about);
    setenv("PATH", saved, 1);
    return rc;
}

/* The table of a chart of one layer. */
static void make_chart(struct kit *k, const char *file, const struct report_about *about, const char *model)
{
    FILE *to = fopen(kit_path(k, file), "w");

    assert_non_null(to);
    roofs_write_head(to, about, model, "batch 8,\ta machine");
    fputs("kind\tintensity_flop_per_byte\tgflop_per_s\tshare_ratio\tlayer\ndense\t1\t1\t1\tfc\n", to);
    assert_int_equal(fclose(to), 0);
}

KIT_TEST(every_measurement_is_kept_F1)
{
    struct kit *k = *state;

    assert_int_equal(add(k, &MINE, 100, 9, 90, 10), RC_OK);
    assert_string_equal(kit_read(k, "roofs.tsv"),
                        HEAD "a device\tcpu\tfp32\t2\t100\t9\na device\tcpu\tfp32\t2\t90\t10\n");
    assert_int_equal(roofs_check(k->dir), RC_OK);
    assert_int_equal(add(k, &BF16, 400, 8, 410, 8.5), RC_OK);
    assert_int_equal(add(k, &MINE, 110, 9.5, 105, 7), RC_OK);
    assert_string_equal(kit_read(k, "roofs.tsv"),
                        HEAD "a device\tcpu\tfp32\t2\t100\t9\na device\tcpu\tfp32\t2\t90\t10\n"
                             "a device\tcpu\tbf16\t2\t400\t8\na device\tcpu\tbf16\t2\t410\t8.5\n"
                             "a device\tcpu\tfp32\t2\t110\t9.5\na device\tcpu\tfp32\t2\t105\t7\n");
    assert_int_equal(kit_count_files(k), 1);
}

/* Of four measurements of these roofs, whatever was measured of others; and no chart of others is touched. */
KIT_TEST(charts_of_a_machine_have_one_roof_F3)
{
    struct kit *k = *state;

    assert_int_equal(add(k, &MINE, 100, 9, 90, 10), RC_OK);
    assert_int_equal(add(k, &BF16, 400, 80, 4, 0.8), RC_OK);
    assert_int_equal(add(k, &ONE_THREAD, 500, 90, 5, 0.9), RC_OK);
    assert_int_equal(add(k, &OTHER, 600, 95, 6, 0.95), RC_OK);
    assert_int_equal(add(k, &MINE, 110, 9.5, 105, 7), RC_OK);
    make_chart(k, "b.tsv", &MINE, "resnet50");
    make_chart(k, "a.tsv", &MINE, "vgg16");
    make_chart(k, "bf16.tsv", &BF16, "vgg16");
    make_chart(k, "one.tsv", &ONE_THREAD, "vgg16");
    make_chart(k, "other.tsv", &OTHER, "vgg16");
    assert_true(kit_write(k, "kept.tsv", "kind\tintensity_flop_per_byte\tgflop_per_s\tshare_ratio\tlayer\n"));
    assert_true(kit_write(k, "empty.tsv", ""));
    if (draw(k, &MINE) != RC_OK)
        fail_msg("%s", rc_message());
    assert_string_equal(kit_read(k, "calls"),
                        "roofline.gp a.tsv .a.svg.part|vgg16|batch 8, a machine|110|10|90|7|4\n"
                        "roofline.gp a.tsv .a.png.part|vgg16|batch 8, a machine|110|10|90|7|4\n"
                        "roofline.gp b.tsv .b.svg.part|resnet50|batch 8, a machine|110|10|90|7|4\n"
                        "roofline.gp b.tsv .b.png.part|resnet50|batch 8, a machine|110|10|90|7|4\n");
    assert_non_null(kit_read(k, "b.png"));
    assert_null(kit_read(k, "bf16.png"));
}

/* Write the file anew as a spreadsheet program does. */
static void add_marks(struct kit *k, const char *file)
{
    char text[KIT_TEXT_BYTES];

    snprintf(text, sizeof text, "%s", kit_read(k, file));
    FILE *to = fopen(kit_path(k, file), "w");
    assert_non_null(to);
    fputs("\xef\xbb\xbf", to);
    for (const char *c = text; *c; c++)
        *c == '\n' ? fputs("\r\n", to) : fputc(*c, to);
    assert_int_equal(fclose(to), 0);
}

/* What it adds is no part of a table. */
KIT_TEST(tables_may_be_edited)
{
    struct kit *k = *state;

    assert_true(kit_write(k, "roofs.tsv", HEAD "a device\tcpu\tfp32\t2\t100\t9\n"));
    add_marks(k, "roofs.tsv");
    assert_int_equal(roofs_check(k->dir), RC_OK);
    assert_int_equal(add(k, &MINE, 90, 10, 95, 9.5), RC_OK);
    assert_string_equal(kit_read(k, "roofs.tsv"),
                        HEAD "a device\tcpu\tfp32\t2\t100\t9\na device\tcpu\tfp32\t2\t90\t10\n"
                             "a device\tcpu\tfp32\t2\t95\t9.5\n");
    make_chart(k, "b.tsv", &MINE, "resnet50");
    add_marks(k, "b.tsv");
    assert_int_equal(draw(k, &MINE), RC_OK);
    assert_non_null(strstr(kit_read(k, "calls"), "|resnet50|batch 8, a machine|100|10|90|9|3\n"));
}

/* What is there is no table of roofs: it is left as it is, and nothing is drawn under half of it. */
KIT_TEST(other_tables_are_refused)
{
    static const char *const WRONG[] = {
        "",
        "mode\tworkers\n",
        HEAD "a device\tcpu\tfp32\t2\t100\n",
        HEAD "a device\tcpu\tfp32\t2\t100\t9\n\n",
        HEAD "a device\tcpu\tfp32\t2\t100\t-9\n",
        HEAD "a device\tcpu\tfp32\t2\tnan\t9\n",
        HEAD "a device\tcpu\tfp32\t2\t100\t9\tmore\n",
        HEAD "a device\tcpu\tfp32\t2\t100\t9",
    };
    struct kit *k = *state;

    assert_int_equal(roofs_check(k->dir), RC_OK); /* there is none */
    make_chart(k, "a.tsv", &MINE, "vgg16");
    assert_int_equal(draw(k, &MINE), RC_MISMATCH);
    for (size_t i = 1; i < sizeof WRONG / sizeof *WRONG; i++) {
        assert_true(kit_write(k, "roofs.tsv", WRONG[i]));
        if (roofs_check(k->dir) != RC_MISMATCH || add(k, &MINE, 1, 1, 1, 1) != RC_MISMATCH ||
            draw(k, &MINE) != RC_MISMATCH)
            fail_msg("table %zu was taken: %s", i, WRONG[i]);
        assert_non_null(strstr(rc_message(), "roofs.tsv: line "));
        assert_string_equal(kit_read(k, "roofs.tsv"), WRONG[i]);
    }
    assert_null(kit_read(k, "calls"));
}

/* Several processes that add at once: every row of each is there. */
KIT_TEST(runs_at_once_lose_nothing_F4)
{
    enum { N_PROCESSES = 3, N_EACH = 8 };
    struct kit *k = *state;
    pid_t child[N_PROCESSES];
    char row[80];

    for (int i = 0; i < N_PROCESSES; i++) {
        child[i] = fork();
        assert_true(child[i] >= 0);
        if (child[i] == 0) {
            bool ok = true;
            for (int n = 0; n < N_EACH; n++)
                ok = add(k, &MINE, 100 + i, 9, 200 + i, 10) == RC_OK && ok;
            _exit(ok ? 0 : 1);
        }
    }
    for (int i = 0; i < N_PROCESSES; i++) {
        int status = -1;
        assert_int_equal(waitpid(child[i], &status, 0), child[i]);
        assert_int_equal(status, 0);
    }
    const char *text = kit_read(k, "roofs.tsv");
    for (int i = 0; i < N_PROCESSES; i++) {
        snprintf(row, sizeof row, "\na device\tcpu\tfp32\t2\t%d\t9\na device\tcpu\tfp32\t2\t%d\t10", 100 + i, 200 + i);
        assert_int_equal(n_times(text, row), N_EACH);
    }
    assert_int_equal(kit_count_files(k), 1); /* no lock stays, nor a temporary file */
}

/* Nobody writes to these pipes: who opened one as a file would wait for ever. */
KIT_TEST(pipes_are_not_waited_for_F4)
{
    struct kit *k = *state;

    assert_int_equal(add(k, &MINE, 100, 9, 90, 10), RC_OK);
    make_chart(k, "b.tsv", &MINE, "resnet50");
    assert_int_equal(mkfifo(kit_path(k, "a.tsv"), 0600), 0);
    if (draw(k, &MINE) != RC_OK)
        fail_msg("%s", rc_message());
    assert_non_null(kit_read(k, "b.svg"));
    assert_int_equal(unlink(kit_path(k, "roofs.tsv")), 0);
    assert_int_equal(mkfifo(kit_path(k, "roofs.tsv"), 0600), 0);
    assert_int_equal(roofs_check(k->dir), RC_INVAL);
    assert_non_null(strstr(rc_message(), "roofs.tsv: cannot be read: is a pipe, not a regular file"));
    assert_int_equal(add(k, &MINE, 1, 1, 1, 1), RC_INVAL);
    assert_int_equal(draw(k, &MINE), RC_INVAL);
}

UNIT_MAIN("profile roofs")
