/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile_report_test.c - a measurement made by hand, of which every printed figure is known: a share turned upside
 * down, a sum that forgets a pass or a unit that is off must change the text.
 */
#include "harness/base/suite/printed.h"
#include "harness/base/suite/unit.h"
#include "harness/verbs/profile_report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { F = PHASE_FORWARD, B = PHASE_BACKWARD };

static const struct report_about ABOUT = {
    .program = "gradmark 9.9 (commit abc), products: by a library, a date",
    .compute = "cpu",
    .precision = "fp32",
    .device = "a device",
    .batch = 8,
    .n_threads = 2,
    .n_warmup = 3,
};

/* lenet; its first layer: 2 + 6 ms, 0.6 + 1.4 ms of GEMM, 80 Mflop, 4 MB. Each other layer with flops: 1 + 2 ms. */
static void make(struct layer_timing *m)
{
    int n_others = 0;

    *m = (struct layer_timing){ .n_steps = 7,
                                .step_s = { 0.05, 0.04, 0.1 },
                                .layers_s = { 0.04, 0.03, 0.05 },
                                .update_s = { 0.006, 0.005, 0.007 },
                                .rest_s = { 0.004, 0.003, 0.0045 },
                                .gemm_s = { 0.032, 0.03, 0.04 },
                                .loss_first = 2.5,
                                .loss_last = 1.25,
                                .peak_flops_per_s = 100e9,
                                .peak_bytes_per_s = 10e9,
                                .roof = { { 100e9, 9e9 }, { 90e9, 10e9 } },
                                .n_roofs = 2,
                                .memory = { .planned_bytes = 3000000,
                                            .unplanned_bytes = 9000000,
                                            .live_bytes = 2500000,
                                            .params_bytes = 6000000,
                                            .state_bytes = 1000000 },
                                .peak_rss_bytes = 12500000 };
    assert_int_equal(network_open(&m->network, workload_lenet.network, &(struct network_opts){ 0 }), RC_OK);
    m->layer = calloc((size_t)m->network->n_nodes, sizeof *m->layer);
    assert_non_null(m->layer);
    for (int i = 1; i < m->network->n_nodes; i++)
        if (m->network->node[i].kind == NODE_CONV) {
            m->layer[i] =
                (struct layer_cost){ { 1000000, 2000000 }, { 500000, 1500000 }, { { 10e6, 1e6 }, { 20e6, 2e6 } } };
            n_others++;
        }
    assert_int_equal(n_others, 3);
    m->layer[0] = (struct layer_cost){ { 2000000, 6000000 }, { 600000, 1400000 }, { { 40e6, 1e6 }, { 40e6, 3e6 } } };
}

static char *printed(const struct layer_timing *m)
{
    struct printed p;

    printed_begin(&p);
    assert_int_equal(profile_print(p.to, m, &ABOUT), RC_OK);
    char *text = printed_end(&p);
    return text;
}

enum { NAME_COLUMNS = 14 }; /* before what rows say */

/* The row that begins with a name, spaces squeezed to one. */
static void line_of(char out[512], const char *text, const char *name)
{
    size_t n = 0;

    for (const char *at = text; at != NULL; at = strchr(at, '\n')) {
        at += strspn(at, " \n");
        if (strncmp(at, name, strlen(name)) != 0 || at[strlen(name)] != ' ')
            continue;
        for (; *at != '\0' && n + 1 < 512; at++) {
            if (*at == '\n' && strspn(at + 1, " ") < NAME_COLUMNS) /* else the line was broken there */
                break;
            if (*at != ' ' && *at != '\n')
                out[n++] = *at;
            else if (n > 0 && out[n - 1] != ' ')
                out[n++] = ' ';
        }
        break;
    }
    out[n] = '\0';
}

static const struct {
    const char *name, *expected;
} LINES[] = {
    { "c1", "2.000 6.000 10.0 25.0 % 4.00 47.1 % 47.1 %" }, /* 80 Mflop in 8 ms; GEMMs 2 of 8 ms; 4 MB; 8 of 17 ms */
    { "fc4", "1.000 2.000 10.0 66.7 % 3.00 17.6 % 100.0 %" },
    { "run", "lenet, batch 8 of 1 x 8 x 8, 10 classes, cpu fp32, 2 threads, a device" },
    { "program", "gradmark 9.9 (commit abc), products: by a library, a date" },
    { "steps", "7, after 3 of warm-up" },
    { "throughput", "160 images/s (quartiles 80 to 200)" },
    { "step", "50.000 ms (quartiles 40.000 to 100.000)" },
    { "layers", "40.000 ms (quartiles 30.000 to 50.000)" },
    { "update", "6.000 ms" },
    { "rest", "4.000 ms (quartiles 3.000 to 4.500)" },
    { "GEMMs alone", "32.000 ms" },
    { "step / GEMMs", "1.562; the layers alone 1.250" },
    { "arithmetic", "0.17 GFLOP a step at 3.4 GFLOP/s, 3.4 % of" },
    { "traffic", "0.013 GB a step at 0.26 GB/s; a streaming sum reaches 10.00 GB/s" },
    { "memory",
      "10.0 MB: activations 3.0 (alive at one time 2.5, without reuse 9.0), parameters, gradients and momentum 6.0, "
      "running means 1.0" },
    { "the process", "at most 12.5 MB, 1.25 x that" },
    { "loss", "2.5 in the first of these steps, 1.25 in the last" },
};

/* Lines of the text that are not as expected; told when loud. */
static int wrong_lines(const struct layer_timing *m, bool loud)
{
    char *text = printed(m), line[512];
    int n_wrong = 0;

    for (size_t i = 0; i < sizeof LINES / sizeof *LINES; i++) {
        line_of(line, text, LINES[i].name);
        if (strstr(line, LINES[i].expected) != NULL)
            continue;
        n_wrong++;
        if (loud)
            fprintf(stderr, "%s: \"%s\" does not hold \"%s\"\n", LINES[i].name, line, LINES[i].expected);
    }
    free(text);
    return n_wrong;
}

UNIT_TEST(the_table_says_what_was_measured)
{
    struct layer_timing m;

    make(&m);
    assert_int_equal(wrong_lines(&m, true), 0);
    layer_timing_free(&m);
}

static void swap(void *a, void *b, size_t n_bytes)
{
    char c[64];

    assert_true(n_bytes <= sizeof c);
    memcpy(c, a, n_bytes);
    memcpy(a, b, n_bytes);
    memcpy(b, c, n_bytes);
}

/* A report that took one thing for another would print of the right measurement what the right report prints of one
 * whose things are swapped: each such mistake must show. */
UNIT_TEST(a_report_that_takes_one_thing_for_another_is_caught)
{
    enum { N_MISTAKES = 11 };

    for (int mistake = 0; mistake < N_MISTAKES; mistake++) {
        struct layer_timing m;
        make(&m);
        struct layer_cost *l = &m.layer[0];
        switch (mistake) {
        case 0: /* the share of the GEMM limit upside down */
            swap(l->ns, l->gemm_ns, sizeof l->ns);
            break;
        case 1:
            swap(&l->ns[F], &l->ns[B], sizeof l->ns[F]);
            break;
        case 2:
            swap(&l->work[F].flops, &l->work[F].bytes, sizeof(double));
            break;
        case 3: /* a pass that is forgotten */
            l->gemm_ns[B] = 0;
            break;
        case 4:
            l->work[B] = (struct work){ 0 };
            break;
        case 5:
            swap(&m.step_s.low, &m.step_s.high, sizeof(double));
            break;
        case 6:
            swap(&m.layers_s, &m.gemm_s, sizeof m.gemm_s);
            break;
        case 7:
            swap(&m.step_s, &m.layers_s, sizeof m.step_s);
            break;
        case 8:
            swap(&m.peak_flops_per_s, &m.peak_bytes_per_s, sizeof(double));
            break;
        case 9:
            swap(&m.memory.planned_bytes, &m.memory.unplanned_bytes, sizeof(size_t));
            break;
        default:
            swap(&m.loss_first, &m.loss_last, sizeof(double));
        }
        if (wrong_lines(&m, false) == 0)
            fail_msg("mistake %d is not seen", mistake);
        layer_timing_free(&m);
    }
}

UNIT_TEST(the_profile_holds_what_was_measured)
{
    struct layer_timing m;
    struct profile *p = NULL;

    make(&m);
    assert_int_equal(profile_of_timing(&p, &m, &ABOUT), RC_OK);
    assert_string_equal(p->model, "lenet");
    assert_true(p->images_per_s == 8 / 0.05);
    assert_int_equal(p->n_threads, 2);
    assert_non_null(strstr(p->source, "measured: medians of 7 steps after 3"));
    assert_non_null(strstr(p->source, ABOUT.program));
    assert_int_equal(p->layer[0].forward_ns, 2000000);
    assert_int_equal(p->layer[0].backward_ns, 6000000);
    assert_int_equal(p->layer[0].gemm_forward_ns, 600000);
    assert_int_equal(p->layer[0].gemm_backward_ns, 1400000);
    assert_true(p->layer[0].flops_forward == 40e6 && p->layer[0].flops_backward == 40e6);
    assert_true(p->layer[0].bytes_forward == 1e6 && p->layer[0].bytes_backward == 3e6);
    assert_int_equal(profile_step_ns(p), 17000000);
    assert_int_equal(profile_n_params(p), m.network->n_params);
    profile_close(&p);
    m.apart = true; /* 17 ms of layers with waits, in a step of 44 ms without the update */
    assert_int_equal(profile_of_timing(&p, &m, &ABOUT), RC_OK);
    assert_int_equal(p->layer[0].forward_ns, 5176471);
    assert_int_equal(p->layer[0].gemm_forward_ns, 1552941);
    assert_true(llabs((long long)profile_step_ns(p) - 44000000) < 10);
    profile_close(&p);
    layer_timing_free(&m);
}

UNIT_TEST(points_are_drawn_slowest_first)
{
    const char *base = getenv("TMPDIR");
    char dir[200], path[256], text[2048];
    struct layer_timing m;

    make(&m);
    m.layer[2].ns[0] += 5000000;
    snprintf(dir, sizeof dir, "%.150s/gradmark-report-XXXXXX", base != NULL && *base != '\0' ? base : "/tmp");
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/r.png", dir);
    const enum rc rc = profile_draw(&m, &ABOUT, path);
    assert_true(rc == RC_OK || rc == RC_UNSUPPORTED); /* without gnuplot the data is there nevertheless */
    snprintf(path, sizeof path, "%s/r.tsv", dir);
    FILE *from = fopen(path, "r");
    assert_non_null(from);
    text[fread(text, 1, sizeof text - 1, from)] = '\0';
    fclose(from);
    assert_int_equal(
        strncmp(text,
                "# roofs\ta device\tcpu\tfp32\t2\n"
                "# title\tlenet\tbatch 8, 8 x 8, fp32, 2 threads, a device\nkind\t",
                strlen("# roofs\ta device\tcpu\tfp32\t2\n# title\tlenet\tbatch 8, 8 x 8, fp32, 2 threads, a "
                       "device\nkind\t")),
        0);
    const char *first = strchr(strstr(text, "\nkind\t") + 1, '\n');
    assert_non_null(first);
    assert_non_null(strstr(first, "larger convolution\t20\t10\t"));
    int n_lines = 0;
    double last_share = 1;
    for (const char *at = first; at != NULL && at[1] != '\0'; at = strchr(at + 1, '\n')) {
        const char *cell = at;
        for (int k = 0; k < 3; k++) {
            cell = strchr(cell, '\t');
            assert_non_null(cell++);
        }
        const double share = strtod(cell, NULL);
        assert_true(share <= last_share && share > 0);
        last_share = share;
        n_lines++;
    }
    assert_int_equal(n_lines, 4);
    for (int i = 0; i < 4; i++) {
        static const char *const name[] = { "r.tsv", "r.png", "r.svg", "roofs.tsv" };
        snprintf(path, sizeof path, "%s/%s", dir, name[i]);
        unlink(path);
    }
    assert_int_equal(rmdir(dir), 0);
    layer_timing_free(&m);
}

UNIT_TEST(charts_need_a_name_that_tells_what_they_are)
{
    static const char *const wrong[] = {
        "chart", ".png", "chart.pdf", "/nowhere/at/all.png", "roofs.png", "./roofs.svg"
    };

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(profile_check_chart(wrong[i], ""), RC_INVAL);
        assert_non_null(strstr(rc_message(), wrong[i]));
    }
}

/* The machine's roofs would take the place of the profile. Files of the chart itself: files_cli_test. */
UNIT_TEST(a_profile_is_no_file_of_roofs)
{
    static const char *const right[] = { "roof.json", "/tmp/roofs.tsv", "", "/tmp/roof.png", "roofs.png", "roof" };

    assert_int_equal(profile_check_chart("roof.png", "roofs.tsv"), RC_INVAL);
    assert_string_equal(rc_message(), "--out roofs.tsv: --chart keeps the machine's roofs there; take another name");
    assert_int_equal(profile_check_chart("/tmp/roof.png", "/tmp/roofs.tsv"), RC_INVAL);
    assert_int_equal(profile_check_chart("roof.png", "./roofs.tsv"), RC_INVAL);
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        const enum rc rc = profile_check_chart("roof.png", right[i]);
        assert_true(rc == RC_OK || rc == RC_UNSUPPORTED); /* there may be no gnuplot */
    }
}

UNIT_MAIN("profile_report")
