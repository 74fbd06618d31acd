/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comm_report.c - the results of bench/comm_bench.h: as nccl-tests prints them, as records, as points of a chart; see
 * comm_report.h. Widths and titles are those of nccl-tests' common.cu.
 */
#include "harness/verbs/comm_report.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "harness/base/terminal.h"
#include "harness/exchange/collective.h"
#include "harness/verbs/comm_formats.h"

enum { SIGNIFICANT_DIGITS = 6 };

static const char *lane_name(const struct comm_about *about, int lane)
{
    return lane < about->terms->n_lanes                    ? about->terms->lane[lane].name
           : about->results->ceiling == COMM_LANE_ONE_PASS ? "memory"
                                                           : "link";
}

static bool is_ceiling(const struct comm_about *about, const struct comm_row *row)
{
    return row->lane == about->terms->n_lanes;
}

static uint64_t wrong_count(const struct comm_results *r)
{
    uint64_t n_wrong = 0;

    for (int i = 0; i < r->n_rows; i++)
        for (int p = 0; p < COMM_N_PLACEMENTS; p++)
            n_wrong += r->row[i].figure[p].n_wrong;
    return n_wrong;
}

static double algbw_bytes_per_s(const struct comm_row *row, enum comm_placement placement)
{
    return (double)row->n_bytes / row->figure[placement].time_s;
}

static double factor_of(const struct comm_about *about, const struct comm_row *row)
{
    return comm_results_bus_factor(about->results, about->terms->type, row);
}

static double busbw_bytes_per_s(const struct comm_about *about, const struct comm_row *row,
                                enum comm_placement placement)
{
    return algbw_bytes_per_s(row, placement) * factor_of(about, row);
}

static size_t counted_elems(const struct comm_about *about, const struct comm_row *row)
{
    return comm_counted_elems(about->terms->type, row->n_bytes / sizeof(float), about->results->n_ranks);
}

/* nccl-tests' word for what is not reduced, and its -1 for what has no root. */
static const char *operation_of(const struct comm_about *about)
{
    static const char *const operation_keys[] = { "none", "sum" };

    return operation_keys[comm_sums(about->terms->type)];
}

static int root_of(const struct comm_about *about)
{
    return about->terms->type == COMM_BROADCAST ? about->terms->root : -1;
}

static const char *memory_of(const struct comm_about *about, int lane)
{
    static const char *const memory_keys[] = { "none", "private", "shared", "staged", "device" };
    const bool has_none = about->results->is_hollow || about->terms->type == COMM_BARRIER;

    if (about->results->is_on_device)
        return memory_keys[about->terms->lane[lane].ops->module.caps & COLL_DEVICE ? 4 : 3];
    return memory_keys[has_none ? 0 : 1 + about->results->is_shared[lane]];
}

static const char *wait_of(const struct comm_about *about, int lane)
{
    return about->results->is_virtual ? NULL : about->results->spins[lane] ? "spin" : "sleep";
}

/* Of a lane of a library that OSU, nccl-tests or PyTorch measure, too: what differs here. NULL: nothing does, or the
 * algorithm is our own. */
static const char *unlike_own_benchmark(const struct comm_about *about, int lane)
{
    const struct comm_results *r = about->results;
    const struct comm_lane *l = &about->terms->lane[lane];

    if (lane == about->terms->n_lanes || !l->ops || l->ops->chosen || r->is_virtual ||
        !(l->ops->module.caps & (COLL_OPAQUE | COLL_THREADS)))
        return NULL;
    if (l->ops->module.caps & COLL_THREADS && r->spins[lane] && !r->threads_have_cores)
        return "ranks spin on cores that its threads need (--wait sleep changes that)";
    if (l->ops->module.caps & COLL_DEVICE ? !r->is_on_device : r->is_on_device)
        return "data is copied between GPU and host";
    if (r->rotated_bytes > 0)
        return "data is never in a cache (--rotate-bytes 0 changes that)";
    /* MPI copies it from process to process by the page; Gloo sends it through sockets. */
    return l->ops->module.caps & COLL_THREADS || r->pages == PAGES_SMALL ? NULL : "data is in huge pages";
}

/* --- blocks --- */

static void print_figure(FILE *to, const struct comm_about *about, const struct comm_row *row,
                         enum comm_placement placement)
{
    const struct comm_figure *f = &row->figure[placement];
    const double time_us = f->time_s * 1e6;
    char wrong[24] = "N/A";

    if (f->n_repeats == 0) {
        fprintf(to, "  %7s  %6s  %6s  %5s", "N/A", "N/A", "N/A", "N/A");
        return;
    }
    if (f->is_checked)
        snprintf(wrong, sizeof wrong, "%" PRIu64, f->n_wrong);
    fprintf(to, "  %7.*f  %6.2f  %6.2f  %5s",
            time_us >= 10000 ? 0
            : time_us >= 100 ? 1
                             : 2,
            time_us, algbw_bytes_per_s(row, placement) * 1e-9, busbw_bytes_per_s(about, row, placement) * 1e-9, wrong);
}

static void print_titles(FILE *to)
{
    fprintf(to, "#\n# %10s  %12s  %8s  %6s  %6s           out-of-place                       in-place          \n", "",
            "", "", "", "");
    fprintf(to, "# %10s  %12s  %8s  %6s  %6s  %7s  %6s  %6s %6s  %7s  %6s  %6s %6s\n", "size", "count", "type", "redop",
            "root", "time", "algbw", "busbw", "#wrong", "time", "algbw", "busbw", "#wrong");
    fprintf(to, "# %10s  %12s  %8s  %6s  %6s  %7s  %6s  %6s  %5s  %7s  %6s  %6s  %5s\n", "(B)", "(elements)", "", "",
            "", "(us)", "(GB/s)", "(GB/s)", "", "(us)", "(GB/s)", "(GB/s)", "");
}

/* As "%g" with nccl-tests, but always in decimals: programs that look for the line know no exponent. They take its last
 * word as the number, so that the unit has a line of its own. */
static void print_average(FILE *to, double gb_per_s)
{
    const int n_before = gb_per_s > 0 && isfinite(gb_per_s) ? (int)floor(log10(gb_per_s)) + 1 : 1;
    const int n_decimals = n_before < SIGNIFICANT_DIGITS ? SIGNIFICANT_DIGITS - n_before : 0;

    terminal_comment(to, "The average is in GB/s (1e9 bytes per second):");
    fprintf(to, "# Avg bus bandwidth    : %.*f\n#\n", n_decimals, gb_per_s);
}

static void print_rows(FILE *to, const struct comm_about *about, int lane)
{
    const struct comm_results *r = about->results;
    double sum = 0;
    uint64_t n_wrong = 0;
    int n_figures = 0, n_checked = 0;

    for (int i = 0; i < r->n_rows; i++) {
        const struct comm_row *row = &r->row[i];
        if (row->lane != lane)
            continue;
        fprintf(to, "%12zu  %12zu  %8s  %6s  %6d", row->n_bytes, counted_elems(about, row), "float",
                operation_of(about), root_of(about));
        print_figure(to, about, row, COMM_OUT_OF_PLACE);
        print_figure(to, about, row, COMM_IN_PLACE);
        fputc('\n', to);
        for (int p = 0; p < COMM_N_PLACEMENTS; p++)
            if (row->figure[p].n_repeats > 0) {
                sum += busbw_bytes_per_s(about, row, (enum comm_placement)p);
                n_wrong += row->figure[p].n_wrong;
                n_checked += row->figure[p].is_checked;
                n_figures++;
            }
    }
    if (n_checked > 0)
        fprintf(to, "# Out of bounds values : %" PRIu64 " %s\n", n_wrong, n_wrong ? "FAILED" : "OK");
    else
        fputs("# Out of bounds values : N/A, nothing was checked\n", to);
    print_average(to, n_figures ? sum * 1e-9 / n_figures : 0.0);
}

static void print_lane(FILE *to, const struct comm_about *about, int lane)
{
    const struct comm_results *r = about->results;
    const char *wait = wait_of(about, lane);

    comm_print_comment(to, "%s by %s: %d ranks on %d host%s, world %s, transport %s, compute %s, memory %s%s%s",
                       comm_type_name(about->terms->type), lane_name(about, lane), r->n_ranks, r->n_hosts,
                       r->n_hosts == 1 ? "" : "s", about->where.world, about->where.transport, about->where.compute,
                       memory_of(about, lane), wait ? ", wait " : "", wait ? wait : "");
    print_titles(to);
    print_rows(to, about, lane);
}

/* --- beside the ceiling --- */

/* Columns of a lane beside the ceiling: for "0.04088  58 %" and for its name. */
static int lane_width(const struct comm_about *about, int lane)
{
    enum { LEAST = 15 };
    const int n = (int)strlen(lane_name(about, lane));

    return n > LEAST ? n : LEAST;
}

/* The lanes that were measured, from `from` to before `end`. */
struct lanes {
    int from, end;
};

/* Those from `from` whose columns fit a line. */
static struct lanes lanes_that_fit(const struct comm_about *about, int from, int n_columns)
{
    enum { BEFORE = 2 + 10 + 2 + 11 }; /* "#", the size and the ceiling */
    struct lanes l = { from, from };

    for (int n = BEFORE; l.end < about->terms->n_lanes; l.end++) {
        n += about->results->why_not[l.end][0] ? 0 : 2 + lane_width(about, l.end);
        if (n > n_columns && l.end > from)
            break;
    }
    return l;
}

/* Rows of a size stand before its ceiling. */
static void print_size(FILE *to, const struct comm_about *about, const struct comm_row *ceiling, struct lanes lanes)
{
    const struct comm_row *row = ceiling;
    const double limit = busbw_bytes_per_s(about, ceiling, COMM_IN_PLACE);

    fprintf(to, "# %10zu  %11.4g", ceiling->n_bytes, limit * 1e-9);
    while (row > about->results->row && !is_ceiling(about, row - 1))
        row--;
    for (; row != ceiling; row++) {
        const double busbw = busbw_bytes_per_s(about, row, comm_row_main(row));
        if (row->lane >= lanes.from && row->lane < lanes.end)
            fprintf(to, "  %*.4g %3.0f %%", lane_width(about, row->lane) - 6, busbw * 1e-9, 100 * busbw / limit);
    }
    fputc('\n', to);
}

static void print_lanes(FILE *to, const struct comm_about *about, struct lanes lanes)
{
    const struct comm_results *r = about->results;

    fprintf(to, "# %10s  %11s", "size (B)", "ceiling");
    for (int lane = lanes.from; lane < lanes.end; lane++)
        if (!r->why_not[lane][0])
            fprintf(to, "  %*s", lane_width(about, lane), lane_name(about, lane));
    fputc('\n', to);
    for (int i = 0; i < r->n_rows; i++)
        if (is_ceiling(about, &r->row[i]))
            print_size(to, about, &r->row[i], lanes);
    fputs("#\n", to);
}

static void print_ceiling(FILE *to, const struct comm_about *about)
{
    const struct comm_results *r = about->results;

    if (!r->has_ceiling || r->n_rows == 0)
        return;
    comm_print_comment(to, "Bus bandwidth in GB/s, and its part of the ceiling. Ceiling: %s",
                       r->ceiling == COMM_LANE_ONE_PASS ? "memory, one pass by all ranks at once"
                                                        : "links, the bare transport around all ranks");
    for (struct lanes l = { 0, 0 }; l.end < about->terms->n_lanes;) {
        l = lanes_that_fit(about, l.end, terminal_line_columns(to));
        print_lanes(to, about, l);
    }
}

static void print_memory(FILE *to, const struct comm_about *about)
{
    const struct comm_results *r = about->results;

    if (r->is_hollow || about->terms->type == COMM_BARRIER)
        return;
    if (r->is_on_device)
        comm_print_comment(to, "Memory: of a %s each. Staged: the time includes copies to the host and back",
                           about->where.device_kind);
    if (r->is_virtual || r->rotated_bytes == 0)
        fprintf(to, "# Memory: %s\n", r->is_virtual ? "time is virtual" : "hot, each call uses the same");
    else
        comm_print_comment(
            to, "Memory: %s pages, rotated: %zu bytes per rank, %zu per host; last-level caches: %zu bytes",
            pages_text(r->pages), r->rotated_bytes, about->terms->rotated_bytes, about->where.cache_bytes);
}

static void print_differences(FILE *to, const struct comm_about *about)
{
    for (int lane = 0; lane < about->terms->n_lanes; lane++) {
        const char *why = unlike_own_benchmark(about, lane);
        if (why && !about->results->why_not[lane][0])
            comm_print_comment(to, "%s differs from its own benchmark: %s", lane_name(about, lane), why);
    }
}

/* --- the answer --- */

/* Is this the row of a reducer that chose another one, which was measured with as many bytes, too? */
static bool is_choice(const struct comm_about *about, const struct comm_row *row)
{
    const struct comm_results *r = about->results;
    const size_t n = strcspn(row->reason, " "); /* "ring for 4096 bytes: ..." */

    for (int i = 0; n > 0 && i < r->n_rows; i++) {
        const char *name = lane_name(about, r->row[i].lane);
        if (r->row[i].n_bytes == row->n_bytes && strlen(name) == n && strncmp(name, row->reason, n) == 0)
            return true;
    }
    return false;
}

/* "; auto chose ring" of those with as many bytes that do not count as they only chose another one. */
static void print_choices(FILE *to, const struct comm_about *about, size_t n_bytes)
{
    const struct comm_results *r = about->results;

    for (int i = 0; i < r->n_rows; i++)
        if (r->row[i].n_bytes == n_bytes && is_choice(about, &r->row[i]))
            fprintf(to, "; %s chose %.*s", lane_name(about, r->row[i].lane), (int)strcspn(r->row[i].reason, " "),
                    r->row[i].reason);
}

/* The fastest lane with as many bytes; but: this one does not count, NULL: all do. NULL: there is none. */
static const struct comm_row *fastest(const struct comm_about *about, size_t n_bytes, const struct comm_row *but)
{
    const struct comm_results *r = about->results;
    const struct comm_row *best = NULL;

    for (int i = 0; i < r->n_rows; i++) {
        const struct comm_row *row = &r->row[i];
        if (!is_ceiling(about, row) && !is_choice(about, row) && row->n_bytes == n_bytes && row != but &&
            (!best || row->figure[comm_row_main(row)].time_s < best->figure[comm_row_main(best)].time_s))
            best = row;
    }
    return best;
}

/* "ring 2.33 GB/s"; of what moves no bytes "ring 12.3 us" */
static void print_speed(FILE *to, const struct comm_about *about, const struct comm_row *row)
{
    const enum comm_placement main = comm_row_main(row);

    fprintf(to, "%s ", lane_name(about, row->lane));
    if (row->n_bytes > 0)
        fprintf(to, "%.4g GB/s", busbw_bytes_per_s(about, row, main) * 1e-9);
    else
        fprintf(to, "%.4g us", row->figure[main].time_s * 1e6);
}

/* What is fastest with the most bytes. */
static void print_fastest(FILE *to, const struct comm_about *about)
{
    const struct comm_results *r = about->results;
    const size_t n_bytes = r->n_rows > 0 ? r->row[r->n_rows - 1].n_bytes : 0;
    const struct comm_row *best = fastest(about, n_bytes, NULL), *next = best ? fastest(about, n_bytes, best) : NULL;
    const struct comm_row *ceiling = comm_results_ceiling(r, n_bytes);

    if (!best)
        return;
    const struct comm_figure *f = &best->figure[comm_row_main(best)];
    const bool is_unsure = next && !r->is_virtual && next->figure[comm_row_main(next)].low_s <= f->high_s;
    fprintf(to, is_unsure ? "Cannot tell what is fastest" : next ? "Fastest" : "Measured");
    if (n_bytes > 0)
        fprintf(to, " with %zu bytes", n_bytes);
    fprintf(to, ": ");
    print_speed(to, about, best);
    if (ceiling && n_bytes > 0)
        fprintf(to, ", %.0f %% of the ceiling",
                100 * busbw_bytes_per_s(about, best, comm_row_main(best)) /
                    busbw_bytes_per_s(about, ceiling, COMM_IN_PLACE));
    if (next) {
        fprintf(to, is_unsure ? ", or " : "; next ");
        print_speed(to, about, next);
    }
    print_choices(to, about, n_bytes);
    fputc('.', to);
}

/* Two comments, with no word that programs look for in the table: what is fastest, and whether all elements are right.
 */
static void print_answer(FILE *to, const void *of)
{
    const struct comm_about *about = of;
    const uint64_t n_wrong = wrong_count(about->results);
    char text[2 * RC_MESSAGE_BYTES] = "";
    FILE *line = fmemopen(text, sizeof text, "w");

    if (line) {
        print_fastest(line, about);
        fclose(line);
    }
    if (text[0])
        terminal_comment(to, text);
    if (text[0] && n_wrong > 0)
        fprintf(to, "# WRONG: %" PRIu64 " elements are not what they must be. Do not use these figures.\n", n_wrong);
}

static void print(FILE *to, const void *of)
{
    const struct comm_about *about = of;

    for (int lane = 0; lane < about->terms->n_lanes; lane++)
        if (!about->results->why_not[lane][0])
            print_lane(to, about, lane);
    print_ceiling(to, about);
    print_memory(to, about);
    print_differences(to, about);
    for (int i = 0; i < about->n_left_out; i++)
        comm_print_comment(to, "Left out: %s", about->left_out[i]);
    for (int lane = 0; lane < about->terms->n_lanes; lane++)
        if (about->results->why_not[lane][0])
            comm_print_comment(to, "Left out: %s", about->results->why_not[lane]);
}

/* --- records --- */

/* Keys of "" (the row's own) or "out_of_place_". */
static void record_figure(struct record *to, const struct comm_about *about, const struct comm_row *row,
                          enum comm_placement placement, const char *prefix)
{
    const struct comm_figure *f = &row->figure[placement];
    const bool is_measured = f->n_repeats > 0;
    const double factor_bytes = (double)row->n_bytes * factor_of(about, row);
    const struct {
        const char *key;
        double value;
    } real[] = { { "time_s", f->time_s },
                 { "time_low_s", f->low_s },
                 { "time_high_s", f->high_s },
                 { "algbw_bytes_per_s", algbw_bytes_per_s(row, placement) },
                 { "busbw_bytes_per_s", factor_bytes / f->time_s },
                 { "busbw_low_bytes_per_s", factor_bytes / f->high_s },
                 { "busbw_high_bytes_per_s", factor_bytes / f->low_s } };
    char key[64];

    for (size_t i = 0; i < sizeof real / sizeof *real; i++) {
        snprintf(key, sizeof key, "%s%s", prefix, real[i].key);
        record_f64(to, key, is_measured ? real[i].value : NAN);
    }
    snprintf(key, sizeof key, "%srepeats_count", prefix);
    record_i64(to, key, f->n_repeats);
    snprintf(key, sizeof key, "%swrong_count", prefix);
    record_count(to, key, f->is_checked, f->n_wrong);
}

static void record_ceiling(struct record *to, const struct comm_about *about, const struct comm_row *row)
{
    const struct comm_row *ceiling = comm_results_ceiling(about->results, row->n_bytes);
    const double limit = ceiling ? busbw_bytes_per_s(about, ceiling, COMM_IN_PLACE) : NAN;

    record_text(to, "ceiling", ceiling ? lane_name(about, ceiling->lane) : NULL);
    record_f64(to, "ceiling_busbw_bytes_per_s", limit);
    record_f64(to, "of_ceiling_ratio", busbw_bytes_per_s(about, row, comm_row_main(row)) / limit);
}

static enum rc write_row(struct report *to, const void *of, int i)
{
    const struct comm_about *about = of;
    const struct comm_results *r = about->results;
    const struct comm_row *row = &r->row[i];
    const enum comm_placement main = comm_row_main(row);
    struct record *record = report_begin(to, is_ceiling(about, row) ? "ceiling" : "row");

    record_text(record, "type", comm_type_name(about->terms->type));
    record_text(record, is_ceiling(about, row) ? "ceiling" : "reducer", lane_name(about, row->lane));
    record_text(record, "reducer_reason", row->reason[0] ? row->reason : NULL);
    record_text(record, "world", about->where.world);
    record_text(record, "transport", about->where.transport);
    record_text(record, "compute", about->where.compute);
    record_i64(record, "ranks_count", r->n_ranks);
    record_i64(record, "hosts_count", r->n_hosts);
    record_u64(record, "bytes_count", row->n_bytes);
    record_u64(record, "elements_count", counted_elems(about, row));
    record_text(record, "element_type", "float");
    record_text(record, "operation", operation_of(about));
    record_i64(record, "root_rank", root_of(about));
    record_text(record, "memory", memory_of(about, row->lane));
    record_u64(record, "rotated_bytes", r->rotated_bytes);
    record_i64(record, "calls_per_repeat_count", row->n_calls);
    record_text(record, "wait_policy", wait_of(about, row->lane));
    record_text(record, "unlike_own_benchmark", unlike_own_benchmark(about, row->lane));
    record_text(record, "placement", main == COMM_IN_PLACE ? "in place" : "out of place");
    record_figure(record, about, row, main, "");
    if (!is_ceiling(about, row)) {
        record_figure(record, about, row, COMM_OUT_OF_PLACE, "out_of_place_");
        record_ceiling(record, about, row);
    }
    return report_end(to);
}

static void record_pages(struct record *manifest, const void *of)
{
    const struct comm_results *r = ((const struct comm_about *)of)->results;

    record_text(manifest, "pages", r->is_hollow ? NULL : pages_text(r->pages));
}

/* --- all of it --- */

static struct comm_point point(const void *of, int i)
{
    const struct comm_about *about = of;
    const struct comm_row *row = &about->results->row[i];
    const struct comm_figure *f = &row->figure[comm_row_main(row)];

    return (struct comm_point){ lane_name(about, row->lane),
                                is_ceiling(about, row),
                                row->n_bytes,
                                (double)row->n_bytes * factor_of(about, row),
                                f->time_s,
                                f->low_s,
                                f->high_s };
}

struct comm_output comm_report_output(const struct comm_about *about)
{
    const struct comm_results *r = about->results;
    struct comm_output out = { .about = about,
                               .where = &about->where,
                               .plan = &about->terms->plan,
                               .end = &r->end,
                               .n_ranks = r->n_ranks,
                               .n_hosts = r->n_hosts,
                               .n_sizes_done = r->n_sizes_done,
                               .n_records = r->n_rows,
                               .n_wrong = wrong_count(r),
                               .is_virtual = r->is_virtual,
                               .rotated_bytes = r->rotated_bytes,
                               .rotated_host_bytes = about->terms->rotated_bytes,
                               .print_answer = print_answer,
                               .print = print,
                               .print_osu = comm_print_osu,
                               .print_table = comm_print_table,
                               .record_own = record_pages,
                               .write = write_row,
                               .point = point };

    snprintf(out.model, sizeof out.model, "%s", comm_type_name(about->terms->type));
    snprintf(out.ranks, sizeof out.ranks, "%d ranks on %d host%s", r->n_ranks, r->n_hosts, r->n_hosts == 1 ? "" : "s");
    return out;
}
