/* SPDX-License-Identifier: Apache-2.0 */
/* profile_report.c - the measured step as a table, a chart and a profile. */
#include "harness/verbs/profile_report.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/file.h"
#include "harness/base/terminal.h"
#include "harness/report/chart.h"
#include "harness/report/table.h"
#include "harness/verbs/profile_roofs.h"

enum { F = PHASE_FORWARD, B = PHASE_BACKWARD };
static const double WIDE_RATIO = 1.25; /* of the quartiles of steps */

static double layer_ns(const struct layer_cost *l)
{
    return (double)l->ns[F] + (double)l->ns[B];
}

static double layer_flops(const struct layer_cost *l)
{
    return l->work[F].flops + l->work[B].flops;
}

static double layer_bytes(const struct layer_cost *l)
{
    return l->work[F].bytes + l->work[B].bytes;
}

static double all_layers_ns(const struct layer_timing *m)
{
    double sum_ns = 0.0;

    for (int i = 0; i < m->network->n_nodes; i++)
        sum_ns += layer_ns(&m->layer[i]);
    return sum_ns;
}

/* A number, or a dash where there is none. */
static void cell_or_dash(struct table *t, double x, const char *fmt_unit)
{
    char text[32];

    if (!isfinite(x) || x <= 0.0) {
        table_cell(t, "-");
        return;
    }
    snprintf(text, sizeof text, x >= 99.95 ? "%.0f%s" : x >= 9.995 ? "%.1f%s" : "%.2f%s", x, fmt_unit);
    table_cell(t, "%s", text);
}

static void layer_row(struct table *t, const struct node *n, const struct layer_cost *l, double all_ns,
                      double *so_far_ns)
{
    const double gemm_ns = (double)l->gemm_ns[F] + (double)l->gemm_ns[B];
    const bool has_gemm = layer_flops(l) > 0.0 && n->kind == NODE_CONV;

    *so_far_ns += layer_ns(l);
    table_cell(t, "%s", n->name);
    table_cell(t, "%d x %d x %d", n->C_out, n->out_h, n->out_w);
    table_cell(t, "%.3f", (double)l->ns[F] * 1e-6);
    table_cell(t, "%.3f", (double)l->ns[B] * 1e-6);
    cell_or_dash(t, layer_flops(l) / layer_ns(l), "");
    cell_or_dash(t, has_gemm ? 100.0 * gemm_ns / layer_ns(l) : (double)NAN, " %");
    cell_or_dash(t, layer_bytes(l) * 1e-6, "");
    table_cell(t, "%.1f %%", 100.0 * layer_ns(l) / all_ns);
    table_cell(t, "%.1f %%", 100.0 * *so_far_ns / all_ns);
}

static enum rc print_layers(FILE *to, const struct layer_timing *m)
{
    static const struct column column[] = {
        { "layer", ALIGN_LEFT },   { "output", ALIGN_LEFT },   { "fwd ms", ALIGN_RIGHT },
        { "bwd ms", ALIGN_RIGHT }, { "GFLOP/s", ALIGN_RIGHT }, { "in GEMMs", ALIGN_RIGHT },
        { "MB", ALIGN_RIGHT },     { "share", ALIGN_RIGHT },   { "so far", ALIGN_RIGHT },
    };
    const double all_ns = all_layers_ns(m);
    double so_far_ns = 0.0;
    struct table *t = table_open(column, sizeof column / sizeof *column);

    for (int i = 0; i < m->network->n_nodes; i++)
        if (layer_ns(&m->layer[i]) > 0.0)
            layer_row(t, &m->network->node[i], &m->layer[i], all_ns, &so_far_ns);
    return table_finish(t, to);
}

static void row(struct table *t, const char *name, const char *fmt, ...) PRINTF_LIKE(3, 4);

static void row(struct table *t, const char *name, const char *fmt, ...)
{
    char text[512];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    table_cell(t, "%s", name);
    table_cell(t, "%s", text);
}

static void row_ms(struct table *t, const char *name, const struct spread *s, const char *what)
{
    row(t, name, "%.3f ms (quartiles %.3f to %.3f)%s", s->median * 1e3, s->low * 1e3, s->high * 1e3, what);
}

static void memory_rows(struct table *t, const struct layer_timing *m)
{
    const struct network_memory *k = &m->memory;
    const double sum = (double)k->planned_bytes + (double)k->params_bytes + (double)k->state_bytes;

    row(t, "memory",
        "%.1f MB: activations %.1f (alive at one time %.1f, without reuse %.1f), parameters, gradients and "
        "momentum %.1f, "
        "running means %.1f",
        sum * 1e-6, (double)k->planned_bytes * 1e-6, (double)k->live_bytes * 1e-6, (double)k->unplanned_bytes * 1e-6,
        (double)k->params_bytes * 1e-6, (double)k->state_bytes * 1e-6);
    row(t, "", "the process held at most %.1f MB, %.2f x that, program and data set included",
        (double)m->peak_rss_bytes * 1e-6, (double)m->peak_rss_bytes / sum);
}

static void rate_rows(struct table *t, const struct layer_timing *m)
{
    double flops = 0.0, bytes = 0.0;

    for (int i = 0; i < m->network->n_nodes; i++) {
        flops += layer_flops(&m->layer[i]);
        bytes += layer_bytes(&m->layer[i]);
    }
    row(t, "arithmetic", "%.3g GFLOP a step at %.1f GFLOP/s, %.1f %% of the fastest large GEMM here (%.1f GFLOP/s)",
        flops * 1e-9, flops * 1e-9 / m->step_s.median, 100.0 * flops / m->step_s.median / m->peak_flops_per_s,
        m->peak_flops_per_s * 1e-9);
    row(t, "traffic", "%.3g GB a step at %.2f GB/s; a streaming sum reaches %.2f GB/s here", bytes * 1e-9,
        bytes * 1e-9 / m->step_s.median, m->peak_bytes_per_s * 1e-9);
}

static void run_rows(struct table *t, const struct layer_timing *m, const struct report_about *about)
{
    const struct network *n = m->network;

    row(t, "run", "%s%s, batch %d of %d x %d x %d, %d classes, %s %s, %d thread%s, %s", n->name,
        n->opts.width_divisor > 1 ? " (narrowed)" : "", about->batch, n->C_in, n->opts.image_size, n->opts.image_size,
        n->opts.n_classes, about->compute, about->precision, about->n_threads, about->n_threads == 1 ? "" : "s",
        about->device);
    row(t, "program", "%s", about->program);
    if (about->others)
        row(t, "disturbed", "before the first step %s", about->others);
    row(t, "steps", "%d, after %d of warm-up, each followed by its GEMMs alone; medians", m->n_steps, about->n_warmup);
}

static enum rc print_totals(FILE *to, const struct layer_timing *m, const struct report_about *about)
{
    static const struct column column[] = { { "figure", ALIGN_LEFT }, { "value", ALIGN_LEFT } };
    struct table *t = table_open(column, 2);
    enum rc rc;

    run_rows(t, m, about);
    row(t, "throughput", "%.4g images/s (quartiles %.4g to %.4g)", about->batch / m->step_s.median,
        about->batch / m->step_s.high, about->batch / m->step_s.low);
    row_ms(t, "step", &m->step_s, "");
    row_ms(t, "  layers", &m->layers_s,
           m->stamped ? ", timed apart: by the device's clock"
           : m->apart ? ", timed apart: with a wait after each"
                      : "");
    row_ms(t, "  update", &m->update_s, ", SGD with momentum on all parameters");
    if (!m->apart)
        row_ms(t, "  rest", &m->rest_s, ", data and the time between layers");
    row_ms(t, "GEMMs alone", &m->gemm_s, "");
    row(t, "step / GEMMs", "%.3f; the layers alone %.3f", m->step_s.median / m->gemm_s.median,
        m->layers_s.median / m->gemm_s.median);
    rate_rows(t, m);
    memory_rows(t, m);
    row(t, "loss", "%.6g in the first of these steps, %.6g in the last", m->loss_first, m->loss_last);
    TRY(table_print_named(t, to));
out:
    table_close(&t);
    return rc;
}

static void tell_slowest(FILE *to, const struct layer_timing *m)
{
    int slowest = 0;

    for (int i = 1; i < m->network->n_nodes; i++)
        if (layer_ns(&m->layer[i]) > layer_ns(&m->layer[slowest]))
            slowest = i;
    fprintf(to, " The slowest layer is %s: %.0f %% of the layers' time.\n", m->network->node[slowest].name,
            100 * layer_ns(&m->layer[slowest]) / all_layers_ns(m));
}

static void tell_answer(FILE *to, const struct layer_timing *m, const struct report_about *about)
{
    const double rate = about->batch / m->step_s.median;
    double flops = 0;

    for (int i = 0; i < m->network->n_nodes; i++)
        flops += layer_flops(&m->layer[i]);
    fprintf(to, "%s, batch %d, %s, %d thread%s: %.4g images/s, %.4g ms a step (quartiles %.4g to %.4g).\n",
            m->network->name, about->batch, about->precision, about->n_threads, about->n_threads == 1 ? "" : "s", rate,
            1e3 * m->step_s.median, 1e3 * m->step_s.low, 1e3 * m->step_s.high);
    fprintf(to, "  It reaches %.0f %% of the fastest large GEMM here.",
            100.0 * flops / m->step_s.median / m->peak_flops_per_s);
    tell_slowest(to, m);
    if (m->step_s.high > WIDE_RATIO * m->step_s.low)
        fprintf(to,
                "  Doubtful: the times of steps differ much. Run again on an idle machine, or with more --steps.\n");
    fputc('\n', to);
}

static enum rc print_answer(FILE *to, const struct layer_timing *m, const struct report_about *about)
{
    struct terminal_text text;
    enum rc rc;

    TRY(terminal_text_open(&text));
    tell_answer(text.lines, m, about);
    TRY(terminal_text_close(&text, to));
out:
    return rc;
}

enum rc profile_print(FILE *to, const struct layer_timing *m, const struct report_about *about)
{
    enum rc rc;

    TRY(print_answer(to, m, about));
    TRY(print_layers(to, m));
    terminal_note(to, "in GEMMs: of the layer's time, what its GEMMs take alone; MB: moved\n");
    TRY(print_totals(to, m, about));
    fflush(to);
out:
    return rc;
}

/* Timed apart, layers take longer than in a step without waits: shrunk to it, a replayed step is as long as a real
 * one. */
static double time_factor(const struct layer_timing *m)
{
    return m->apart ? (m->step_s.median - m->update_s.median) * 1e9 / all_layers_ns(m) : 1.0;
}

static uint64_t scaled_ns(uint64_t ns, double factor)
{
    return (uint64_t)llround((double)ns * factor);
}

enum rc profile_of_timing(struct profile **out, const struct layer_timing *m, const struct report_about *about)
{
    const double factor = time_factor(m);
    struct profile *p = NULL;
    enum rc rc;

    TRY(profile_of_network(&p, m->network, about->batch));
    snprintf(p->precision, sizeof p->precision, "%s", about->precision);
    snprintf(p->device, sizeof p->device, "%s", about->device);
    snprintf(p->source, sizeof p->source,
             "measured: medians of %d steps after %d of warm-up, compute %s, by %s; images_per_s is of whole steps, "
             "the update "
             "and the data included, the layers' times are of %s",
             m->n_steps, about->n_warmup, about->compute, about->program,
             m->apart ? "layers with waits between them, shrunk to a step without" : "the layers alone");
    if (about->others)
        snprintf(p->source + strlen(p->source), sizeof p->source - strlen(p->source), "; before the first step %s",
                 about->others);
    p->n_threads = about->n_threads;
    p->images_per_s = about->batch / m->step_s.median;
    for (int i = 0; i < p->n_layers; i++) {
        const struct layer_cost *from = &m->layer[i];
        struct profile_layer *l = &p->layer[i];
        l->forward_ns = scaled_ns(from->ns[F], factor);
        l->backward_ns = scaled_ns(from->ns[B], factor);
        l->gemm_forward_ns = scaled_ns(from->gemm_ns[F], factor);
        l->gemm_backward_ns = scaled_ns(from->gemm_ns[B], factor);
        l->flops_forward = from->work[F].flops;
        l->flops_backward = from->work[B].flops;
        l->bytes_forward = from->work[F].bytes;
        l->bytes_backward = from->work[B].bytes;
    }
    *out = p;
    p = NULL;
out:
    profile_close(&p);
    return rc;
}

enum rc profile_check_chart(const char *path, const char *out)
{
    char dir[CHART_PATH_BYTES], name[CHART_PATH_BYTES], roofs[2 * CHART_PATH_BYTES + 8];

    if (!chart_split_path(path, dir, name))
        return rc_raise(RC_INVAL, "--chart %.200s: use a name that ends in .png or .svg", path);
    if (strcmp(name, ROOFS_NAME) == 0)
        return rc_raise(RC_INVAL, "--chart %.200s: " ROOFS_NAME ".tsv holds the machine's roofs; take another name",
                        path);
    (void)snprintf(roofs, sizeof roofs, "%s/" ROOFS_NAME ".tsv", dir);
    if (out[0] && file_is_same(out, roofs))
        return rc_raise(RC_INVAL, "--out %.200s: --chart keeps the machine's roofs there; take another name", out);
    if (access(dir, W_OK | X_OK) != 0)
        return rc_raise(RC_INVAL, "--chart %.200s: the folder cannot be written", path);
    if (!chart_available())
        return rc_raise(RC_UNSUPPORTED, "--chart %.200s: needs gnuplot, which cannot be started (Debian: gnuplot-nox)",
                        path);
    return roofs_check(dir);
}

static const char *kind_name(const struct node *n)
{
    if (n->kind != NODE_CONV)
        return "other layers";
    if (n->out_h == 1 && n->out_w == 1 && n->in.kernel_h == n->in.H && n->in.kernel_w == n->in.W)
        return "dense";
    return n->in.kernel_h == 1 && n->in.kernel_w == 1 ? "1x1 convolution" : "larger convolution";
}

static bool is_drawn(const struct layer_cost *l)
{
    return layer_flops(l) > 0.0 && layer_bytes(l) > 0.0 && layer_ns(l) > 0.0;
}

/* The slowest layer that is drawn and slower than none of those before it: after node `after` among equals of
 * most_ns, else below it. -1: none is left. */
static int next_slowest(const struct layer_timing *m, double most_ns, int after)
{
    int best = -1;

    for (int i = 0; i < m->network->n_nodes; i++) {
        const double ns = layer_ns(&m->layer[i]);
        if (is_drawn(&m->layer[i]) && (ns < most_ns || (ns == most_ns && i > after)) &&
            (best < 0 || ns > layer_ns(&m->layer[best])))
            best = i;
    }
    return best;
}

static enum rc write_points(const struct layer_timing *m, const struct report_about *about, const char *path)
{
    const double all_ns = all_layers_ns(m);
    struct atomic_file file = { 0 };
    char machine[256];
    enum rc rc;

    snprintf(machine, sizeof machine, "batch %d, %d x %d, %s, %d thread%s, %s", about->batch,
             m->network->opts.image_size, m->network->opts.image_size, about->precision, about->n_threads,
             about->n_threads == 1 ? "" : "s", about->device);
    TRY(atomic_file_open(&file, path));
    roofs_write_head(file.stream, about, m->network->name, machine);
    fputs("kind\tintensity_flop_per_byte\tgflop_per_s\tshare_ratio\tlayer\n", file.stream);
    for (int i = next_slowest(m, INFINITY, -1); i >= 0; i = next_slowest(m, layer_ns(&m->layer[i]), i)) {
        const struct layer_cost *l = &m->layer[i];
        const struct node *n = &m->network->node[i];
        fprintf(file.stream, "%s\t%.17g\t%.17g\t%.17g\t%s\n", kind_name(n), layer_flops(l) / layer_bytes(l),
                layer_flops(l) / layer_ns(l), layer_ns(l) / all_ns, n->name);
    }
out:
    return atomic_file_finish(&file, rc);
}

enum rc profile_draw(const struct layer_timing *m, const struct report_about *about, const char *path)
{
    char dir[CHART_PATH_BYTES], name[CHART_PATH_BYTES], data[2 * CHART_PATH_BYTES + 8];
    enum rc rc;

    if (!chart_split_path(path, dir, name))
        FAIL(RC_INVAL, "--chart %.200s: use a name that ends in .png or .svg", path);
    snprintf(data, sizeof data, "%s/%s.tsv", dir, name);
    TRY(write_points(m, about, data));
    TRY(roofs_add(dir, m, about));
    TRY(roofs_draw(dir, about));
out:
    return rc;
}
