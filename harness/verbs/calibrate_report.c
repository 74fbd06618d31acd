/* SPDX-License-Identifier: Apache-2.0 */
/* calibrate_report.c - see calibrate_report.h. */
#include "harness/verbs/calibrate_report.h"

#include <math.h>

#include "harness/base/terminal.h"
#include "harness/report/table.h"

/* A residual from which on the line does not describe the times. */
#define BAD_RESIDUAL_RATIO 0.25
/* A rank that is slower than the median by more is named. */
#define SLOW_RATIO 0.9
/* Noise of equal work from which on other programs are the likely cause. */
#define NOISY_RATIO 0.2

static enum rc row(struct table *t, const char *what, double value, const char *unit, const char *fit, const char *from)
{
    enum rc rc;

    TRY(table_cell(t, "%s", what));
    TRY(table_cell(t, "%.4g %s", value, unit));
    TRY(table_cell(t, "%s", fit));
    TRY(table_cell(t, "%s", from));
out:
    return rc;
}

static enum rc link_rows(struct table *t, const struct link_fit *f, enum link_class of)
{
    char what[64], fit[64], from[64];
    enum rc rc = RC_OK;

    if (f->n_pairs == 0)
        return RC_OK;
    snprintf(from, sizeof from, "%d pairs, %d sizes", f->n_pairs, LINK_N_SIZES);
    snprintf(fit, sizeof fit, "residual %.1f %%, %zu bytes", 100 * fabs(f->message.worst_ratio),
             link_size_bytes((int)f->message.worst));
    snprintf(what, sizeof what, "%s: latency, one way", calibration_class_name(of));
    TRY(row(t, what, 1e6 * f->alpha_s, "us", fit, from));
    snprintf(what, sizeof what, "%s: rate", calibration_class_name(of));
    if (of == LINK_BETWEEN)
        TRY(row(t, what, 8e-9 / f->message.slope_s, "Gbit/s", fit, from));
    else
        TRY(row(t, what, 1e-9 / f->message.slope_s, "GB/s", fit, from));
    snprintf(from, sizeof from, "%d pairs, %d bursts", f->n_pairs, LINK_N_BURSTS);
    snprintf(fit, sizeof fit, "residual %.1f %%%s", 100 * fabs(f->burst.worst_ratio),
             f->is_capped ? "; half of the latency" : "");
    snprintf(what, sizeof what, "%s: overhead of a message", calibration_class_name(of));
    TRY(row(t, what, 1e6 * f->message_s, "us", fit, from));
out:
    return rc;
}

static enum rc compute_rows(struct table *t, const struct calibration *c)
{
    static const char *const kind[] = { "none above 0.1 %", "exponential", "half-normal", "lognormal" };
    const struct compute_bench *m = &c->compute;
    char fit[64], from[64];
    enum rc rc;

    snprintf(from, sizeof from, "%d ranks at once", c->n_ranks);
    snprintf(fit, sizeof fit, "%.4g to %.4g", 1e-9 * m->flops_per_s.least, 1e-9 * m->flops_per_s.most);
    TRY(row(t, "GEMM of a rank", 1e-9 * m->flops_per_s.median, "GFLOP/s", fit, from));
    snprintf(fit, sizeof fit, "%.4g to %.4g", 1e-9 * m->memory_bytes_per_s.least, 1e-9 * m->memory_bytes_per_s.most);
    TRY(row(t, "update of a rank", 1e-9 * m->memory_bytes_per_s.median, "GB/s", fit, from));
    if (c->server_memory_bytes_per_s > 0)
        TRY(row(t, "update of a server", 1e-9 * c->server_memory_bytes_per_s, "GB/s", "on the host", from));
    if (m->jitter.kind == JITTER_NONE)
        snprintf(fit, sizeof fit, "%s", kind[0]);
    else
        snprintf(fit, sizeof fit, "%s, KS distance %.3f", kind[m->jitter.kind], m->jitter.distance);
    snprintf(from, sizeof from, "%zu times %.3g ms", m->jitter.n_times, 1e3 * m->work_s);
    TRY(row(t, "jitter of equal work, mean", 100 * m->jitter.ratio, "%", fit, from));
out:
    return rc;
}

static enum rc print_parts(FILE *to, const struct calibration *c)
{
    static const struct column column[] = { { "measured", ALIGN_LEFT },
                                            { "value", ALIGN_RIGHT },
                                            { "largest residual, range", ALIGN_LEFT },
                                            { "from", ALIGN_LEFT } };
    struct table *t = NULL;
    enum rc rc;

    TRY(table_open(&t, column, sizeof column / sizeof *column));
    for (int of = LINK_N_CLASSES - 1; of >= 0; of--)
        TRY(link_rows(t, &c->links.link[of], (enum link_class)of));
    TRY(compute_rows(t, c));
    table_print(t, to);
out:
    table_close(&t);
    return rc;
}

static enum rc size_cells(struct table *t, const struct link_fit *f, int i)
{
    const double x = (double)link_size_bytes(i);
    enum rc rc;

    if (f->n_pairs == 0) {
        TRY(table_cell(t, "-"));
        TRY(table_cell(t, "-"));
    } else {
        TRY(table_cell(t, "%.5g", 1e6 * f->median_s[i]));
        TRY(table_cell(t, "%+.1f %%", 100 * line_fit_residual_ratio(&f->message, x, f->median_s[i])));
    }
out:
    return rc;
}

static enum rc print_sizes(FILE *to, const struct calibration *c)
{
    static const struct column column[] = { { "message, bytes", ALIGN_RIGHT },
                                            { "between hosts, us", ALIGN_RIGHT },
                                            { "over its line", ALIGN_RIGHT },
                                            { "within a host, us", ALIGN_RIGHT },
                                            { "over its line", ALIGN_RIGHT } };
    struct table *t = NULL;
    enum rc rc;

    TRY(table_open(&t, column, sizeof column / sizeof *column));
    for (int i = 0; i < LINK_N_SIZES; i++) {
        TRY(table_cell(t, "%zu", link_size_bytes(i)));
        TRY(size_cells(t, &c->links.link[LINK_BETWEEN], i));
        TRY(size_cells(t, &c->links.link[LINK_WITHIN], i));
    }
    fprintf(to, "\none way, median over pairs:\n");
    table_print(t, to);
out:
    table_close(&t);
    return rc;
}

static void print_links_notes(FILE *to, const struct link_fit *f, enum link_class of)
{
    enum { LONGEST = LINK_N_SIZES - 1 };
    const char *name = calibration_class_name(of);

    if (f->n_pairs == 0) {
        fprintf(to, "%s: not measured, %s; its values in the file are assumed\n", name,
                of == LINK_BETWEEN ? "all ranks are on one host" : "each host has one rank");
        return;
    }
    fprintf(to, "%s: 16 MiB take %.2f times as long while as many come in%s\n", name, f->both_ratio,
            of != LINK_BETWEEN                ? ""
            : isnan(link_fit_duplex_ratio(f)) ? "; two ranks that exchange wait for each other by this transport: "
                                                "three hosts would tell what links carry both ways"
            : link_fit_duplex_ratio(f) < 2    ? "; the description says so: link_duplex_ratio"
                                              : "");
    if (f->differs)
        fprintf(to, "%s: ranks %d and %d need %.3g times as long for 16 MiB as ranks %d and %d\n", name,
                f->slowest.from, f->slowest.to, f->slowest.median_s[LONGEST] / f->fastest.median_s[LONGEST],
                f->fastest.from, f->fastest.to);
    if (fabs(f->message.worst_ratio) > BAD_RESIDUAL_RATIO)
        fprintf(to, "%s: no line fits: messages of %zu bytes take %.3g times what it says\n", name,
                link_size_bytes((int)f->message.worst), 1 + f->message.worst_ratio);
}

static void print_notes(FILE *to, const struct calibration *c)
{
    const struct local_sharing *s = &c->links.sharing;
    const struct compute_spread *flops = &c->compute.flops_per_s;

    fprintf(to, "\n");
    for (int of = LINK_N_CLASSES - 1; of >= 0; of--)
        print_links_notes(to, &c->links.link[of], (enum link_class)of);
    if (s->n_pairs > 0)
        fprintf(to, "within a host: 16 MiB take %.2f times as long with %d pairs at once, %.2f from one rank to two\n",
                s->pairs_s / s->one_s, s->n_pairs, s->fan_s / s->one_s);
    if (flops->least < SLOW_RATIO * flops->median)
        fprintf(to, "the slowest rank computes at %.2f of the rate of the median one\n", flops->least / flops->median);
}

static void tell_link(FILE *to, const struct link_fit *f, enum link_class of)
{
    if (f->n_pairs == 0)
        return;
    fprintf(to, "  %s: latency %.4g us, ", of == LINK_BETWEEN ? "Between hosts" : "Within a host", 1e6 * f->alpha_s);
    if (of == LINK_BETWEEN)
        fprintf(to, "%.4g Gbit/s", 8e-9 / f->message.slope_s);
    else
        fprintf(to, "%.4g GB/s", 1e-9 / f->message.slope_s);
    if (fabs(f->message.worst_ratio) > BAD_RESIDUAL_RATIO)
        fprintf(to, ", doubtful: a message takes up to %.0f %% longer or less than these say",
                100 * fabs(f->message.worst_ratio));
    fprintf(to, ".\n");
}

static void tell_answer(FILE *to, const struct calibration *c)
{
    const struct compute_bench *m = &c->compute;
    const bool is_noisy = m->jitter.ratio > NOISY_RATIO;

    fprintf(to, "%d rank%s on %d host%s, at most %d each: %.4g GFLOP/s a rank, jitter %.3g %%.\n", c->n_ranks,
            c->n_ranks == 1 ? "" : "s", c->links.n_hosts, c->links.n_hosts == 1 ? "" : "s", c->links.n_most_host_ranks,
            1e-9 * m->flops_per_s.median, 100 * m->jitter.ratio);
    for (int of = LINK_N_CLASSES - 1; of >= 0; of--)
        tell_link(to, &c->links.link[of], (enum link_class)of);
    if (c->links.link[LINK_BETWEEN].n_pairs == 0)
        fprintf(to, "  Links between hosts were not measured: gradmark predict needs ranks on two hosts.\n");
    if (is_noisy)
        fprintf(to, "  Doubtful: equal work took %.0f %% longer than the fastest. Run again on an idle machine.\n",
                100 * m->jitter.ratio);
    fputc('\n', to);
}

enum rc calibrate_print(FILE *to, const struct calibration *c)
{
    struct terminal_text text;
    enum rc rc;

    TRY(terminal_text_open(&text));
    tell_answer(text.lines, c);
    TRY(terminal_text_close(&text, to));
    TRY(print_parts(to, c));
    if (c->n_ranks > 1)
        TRY(print_sizes(to, c));
    TRY(terminal_text_open(&text));
    print_notes(text.lines, c);
    TRY(terminal_text_close(&text, to));
out:
    return rc;
}
