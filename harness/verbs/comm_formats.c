/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comm_formats.c - gradmark comm --format osu and csv: the results as OSU's micro-benchmarks print them, and as one
 * table of comma-separated values; see comm_formats.h.
 *
 * Titles and widths of --format osu are those of OSU's micro-benchmarks 6.2, which have floats too:
 *
 *   TYPE            its benchmark       size of a row                 time of a row
 *   allreduce       osu_allreduce       of each rank's array          out of place, if that is measured
 *   broadcast       osu_bcast           of the root's array           in place
 *   allgather       osu_allgather       of the array of one rank      as allreduce
 *   reduce-scatter  osu_reduce_scatter  of the array that each has    as allreduce
 *   barrier         osu_barrier         none                          of a barrier
 *   ps              osu_latency         of the array                  half of a push and its pull
 *
 * A time is that of the slowest rank (bench.B1); OSU's average is over ranks. Comments after the rows say what differs:
 * programs take the first comment for the title, and count lines from there.
 */
#include "harness/verbs/comm_formats.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/terminal.h"
#include "harness/report/table.h"

enum { SIZE_COLUMNS = 10, TIME_COLUMNS = 18, BARRIER_COLUMNS = 17 };

#define OSU_VERSION "v6.2"

static const char *osu_name(enum comm_type type)
{
    static const char *const name[COMM_N_TYPES] = { [COMM_ALLREDUCE] = "Allreduce",
                                                    [COMM_BROADCAST] = "Broadcast",
                                                    [COMM_ALLGATHER] = "Allgather",
                                                    [COMM_REDUCE_SCATTER] = "Reduce_scatter",
                                                    [COMM_BARRIER] = "Barrier" };

    return name[type];
}

void comm_print_comment(FILE *to, const char *fmt, ...)
{
    char text[2 * RC_MESSAGE_BYTES];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    terminal_comment(to, text);
}

bool comm_is_osu(const struct verb_call *call)
{
    return strcmp(call->output.format, "osu") == 0;
}

enum rc comm_check_osu(const struct verb_call *call, const struct comm_terms *terms)
{
    if (!comm_is_osu(call))
        return RC_OK;
    if (!osu_name(terms->type))
        return rc_raise(RC_INVAL, "--format osu: OSU has no benchmark of %s; use --format text",
                        comm_type_name(terms->type));
    if (terms->n_lanes != 1)
        return rc_raise(RC_INVAL, "--format osu: prints one algorithm, and %d are chosen; use --reducer %s",
                        terms->n_lanes, terms->lane[0].name);
    return RC_OK;
}

enum rc comm_check_ps_osu(const struct verb_call *call, const struct ps_terms *terms)
{
    if (comm_is_osu(call) && (terms->n_workers != 1 || terms->n_servers != 1))
        return rc_raise(RC_INVAL,
                        "--format osu: osu_latency has one rank on each side, and here are %d and %d; use --workers 1 "
                        "--servers 1",
                        terms->n_workers, terms->n_servers);
    return RC_OK;
}

/* --- as OSU prints it --- */

static void print_osu_row(FILE *to, size_t n_bytes, double time_s)
{
    fprintf(to, "%-*zu%*.2f\n", SIZE_COLUMNS, n_bytes, TIME_COLUMNS, time_s * 1e6);
}

static const struct comm_figure *osu_figure(const struct comm_about *about, const struct comm_row *row)
{
    const struct comm_figure *out_of_place = &row->figure[COMM_OUT_OF_PLACE];

    return out_of_place->n_repeats > 0 && about->terms->type != COMM_BROADCAST ? out_of_place
                                                                               : &row->figure[comm_row_main(row)];
}

static size_t osu_bytes(const struct comm_about *about, const struct comm_row *row)
{
    return about->terms->type == COMM_ALLGATHER
               ? sizeof(float) *
                     comm_counted_elems(COMM_ALLGATHER, row->n_bytes / sizeof(float), about->results->n_ranks)
               : row->n_bytes;
}

void comm_print_osu(FILE *to, const void *of)
{
    const struct comm_about *about = of;
    const struct comm_results *r = about->results;
    const enum comm_type type = about->terms->type;
    bool is_out_of_place = false;

    fprintf(to, "\n# OSU MPI %s Latency Test " OSU_VERSION "\n", osu_name(type));
    if (type == COMM_BARRIER)
        fputs("# Avg Latency(us)\n", to);
    else
        fprintf(to, "%-*s%*s\n", SIZE_COLUMNS, "# Size", TIME_COLUMNS, "Avg Latency(us)");
    for (int i = 0; i < r->n_rows; i++) {
        const struct comm_row *row = &r->row[i];
        if (row->lane == about->terms->n_lanes) /* the ceiling */
            continue;
        is_out_of_place = osu_figure(about, row) == &row->figure[COMM_OUT_OF_PLACE];
        if (type == COMM_BARRIER)
            fprintf(to, "%*.2f\n", BARRIER_COLUMNS, osu_figure(about, row)->time_s * 1e6);
        else
            print_osu_row(to, osu_bytes(about, row), osu_figure(about, row)->time_s);
    }
    comm_print_comment(
        to,
        "Measured by gradmark: %s%s, %d ranks on %d host%s, world %s, transport %s. Time of the slowest rank, "
        "the median of repeats",
        about->terms->lane[0].name,
        type == COMM_BARRIER ? ""
        : is_out_of_place    ? ", out of place"
                             : ", in place",
        r->n_ranks, r->n_hosts, r->n_hosts == 1 ? "" : "s", about->where.world, about->where.transport);
}

void comm_print_ps_osu(FILE *to, const void *of)
{
    const struct comm_ps_about *about = of;
    const struct ps_results *r = about->results;

    fprintf(to, "# OSU MPI Latency Test " OSU_VERSION "\n%-*s%*s\n", SIZE_COLUMNS, "# Size", TIME_COLUMNS,
            "Latency (us)");
    for (int i = 0; i < r->n_rows; i++)
        print_osu_row(to, r->row[i].n_bytes, r->row[i].figure[PS_LANE_PUSH_PULL].time_s / 2);
    comm_print_comment(to,
                       "Measured by gradmark: half of a push and its pull, 1 worker, 1 server, world %s, transport %s",
                       about->where.world, about->where.transport);
}

/* --- one table --- */

/* Nine digits; nothing for what was not measured. */
static void number_cell(struct table *t, double value)
{
    isfinite(value) ? table_cell(t, "%.9g", value) : table_cell(t, "%s", "");
}

static void figure_cells(struct table *t, const struct comm_about *about, const struct comm_row *row,
                         enum comm_placement placement)
{
    const struct comm_figure *f = &row->figure[placement];
    const double algbw = f->n_repeats > 0 ? 1e-9 * (double)row->n_bytes / f->time_s : NAN;
    const double per_us = f->n_repeats > 0 ? 1e6 : NAN;

    number_cell(t, f->time_s * per_us);
    number_cell(t, f->low_s * per_us);
    number_cell(t, f->high_s * per_us);
    number_cell(t, algbw);
    number_cell(t, algbw * comm_results_bus_factor(about->results, about->terms->type, row));
    f->is_checked ? table_cell(t, "%" PRIu64, f->n_wrong) : table_cell(t, "%s", "");
}

enum rc comm_print_table(FILE *to, const void *of)
{
    static const struct column column[] = {
        { "type", ALIGN_LEFT },
        { "reducer", ALIGN_LEFT },
        { "size B", ALIGN_RIGHT },
        { "count", ALIGN_RIGHT },
        { "out-of-place time us", ALIGN_RIGHT },
        { "out-of-place time us low", ALIGN_RIGHT },
        { "out-of-place time us high", ALIGN_RIGHT },
        { "out-of-place algbw GB/s", ALIGN_RIGHT },
        { "out-of-place busbw GB/s", ALIGN_RIGHT },
        { "out-of-place #wrong", ALIGN_RIGHT },
        { "in-place time us", ALIGN_RIGHT },
        { "in-place time us low", ALIGN_RIGHT },
        { "in-place time us high", ALIGN_RIGHT },
        { "in-place algbw GB/s", ALIGN_RIGHT },
        { "in-place busbw GB/s", ALIGN_RIGHT },
        { "in-place #wrong", ALIGN_RIGHT },
    };
    const struct comm_about *about = of;
    const struct comm_results *r = about->results;
    struct table *t = table_open(column, sizeof column / sizeof *column);

    for (int i = 0; i < r->n_rows; i++) {
        const struct comm_row *row = &r->row[i];
        const bool is_ceiling = row->lane == about->terms->n_lanes;
        table_cell(t, "%s", comm_type_name(about->terms->type));
        table_cell(t, "%s", is_ceiling ? "ceiling" : about->terms->lane[row->lane].name);
        table_cell(t, "%zu", row->n_bytes);
        table_cell(t, "%zu", comm_counted_elems(about->terms->type, row->n_bytes / sizeof(float), r->n_ranks));
        figure_cells(t, about, row, COMM_OUT_OF_PLACE);
        figure_cells(t, about, row, COMM_IN_PLACE);
    }
    return table_finish(t, to);
}

enum rc comm_print_ps_table(FILE *to, const void *of)
{
    static const struct column column[] = {
        { "size B", ALIGN_RIGHT },       { "chunks", ALIGN_RIGHT },       { "push GB/s", ALIGN_RIGHT },
        { "pull GB/s", ALIGN_RIGHT },    { "both GB/s", ALIGN_RIGHT },    { "bound GB/s", ALIGN_RIGHT },
        { "of bound", ALIGN_RIGHT },     { "both p50 us", ALIGN_RIGHT },  { "both p99 us", ALIGN_RIGHT },
        { "bound p50 us", ALIGN_RIGHT }, { "bound p99 us", ALIGN_RIGHT }, { "#wrong", ALIGN_RIGHT },
    };
    const struct comm_ps_about *about = of;
    struct table *t = table_open(column, sizeof column / sizeof *column);

    for (int i = 0; i < about->results->n_rows; i++) {
        const struct ps_row *row = &about->results->row[i];
        const double gb = 1e-9 * (double)row->n_bytes * about->terms->n_workers;
        table_cell(t, "%zu", row->n_bytes);
        table_cell(t, "%zu", row->n_chunks);
        for (int lane = 0; lane < PS_N_LANES; lane++)
            number_cell(t, gb / row->figure[lane].time_s);
        number_cell(t, row->figure[PS_LANE_BOUND].time_s / row->figure[PS_LANE_PUSH_PULL].time_s);
        for (int lane = PS_LANE_PUSH_PULL; lane < PS_N_LANES; lane++) {
            number_cell(t, row->figure[lane].p50_s * 1e6);
            number_cell(t, row->figure[lane].p99_s * 1e6);
        }
        row->is_checked ? table_cell(t, "%" PRIu64, row->n_wrong) : table_cell(t, "%s", "");
    }
    return table_finish(t, to);
}
