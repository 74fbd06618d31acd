/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comm_ps_report.c - the results of bench/ps_bench.h as a table, as records, as points of a chart; see
 * comm_ps_report.h.
 */
#include "harness/verbs/comm_ps_report.h"

#include <inttypes.h>

#include "harness/exchange/exchange.h"
#include "harness/verbs/comm_formats.h"

static const char *const lane_keys[PS_N_LANES] = { "push", "pull", "push_pull", "bound" };

static double workers_bytes(const struct comm_ps_about *about, const struct ps_row *row)
{
    return (double)row->n_bytes * about->terms->n_workers;
}

static double goodput_bytes_per_s(const struct comm_ps_about *about, const struct ps_row *row, enum ps_lane lane)
{
    return workers_bytes(about, row) / row->figure[lane].time_s;
}

static uint64_t wrong_count(const struct ps_results *r)
{
    uint64_t n_wrong = 0;

    for (int i = 0; i < r->n_rows; i++)
        n_wrong += r->row[i].n_wrong;
    return n_wrong;
}

static const char *bound_text(enum ps_echo_kind kind)
{
    static const char *const text[] = { [PS_ECHO_ZEROMQ] = "an echo by bare ZeroMQ, without copies",
                                        [PS_ECHO_MEMORY] = "an echo of two copies through shared memory",
                                        [PS_ECHO_TWO_COPY] = "an echo through shared memory, two copies each way",
                                        [PS_ECHO_TRANSPORT] = "an echo by the bare transport" };

    return text[kind];
}

/* --- the table --- */

/* In at most 7 columns, up to 10 s. */
static int us_decimals(double us)
{
    return us >= 10000 ? 0 : us >= 1000 ? 1 : 2;
}

static void print_latencies(FILE *to, const struct ps_figure *f)
{
    const double p50 = f->p50_s * 1e6, p99 = f->p99_s * 1e6;

    fprintf(to, "  %7.*f %7.*f", us_decimals(p50), p50, us_decimals(p99), p99);
}

static void print_row(FILE *to, const struct comm_ps_about *about, const struct ps_row *row)
{
    const double bound = goodput_bytes_per_s(about, row, PS_LANE_BOUND);

    fprintf(to, "%10zu %6zu", row->n_bytes, row->n_chunks);
    for (int lane = 0; lane < PS_LANE_BOUND; lane++)
        fprintf(to, " %7.3g", goodput_bytes_per_s(about, row, (enum ps_lane)lane) * 1e-9);
    fprintf(to, " %7.3g %4.0f %%", bound * 1e-9, 100 * goodput_bytes_per_s(about, row, PS_LANE_PUSH_PULL) / bound);
    for (int lane = PS_LANE_PUSH_PULL; lane <= PS_LANE_BOUND; lane++)
        print_latencies(to, &row->figure[lane]);
    if (row->is_checked)
        fprintf(to, " %6" PRIu64 "\n", row->n_wrong);
    else
        fprintf(to, " %6s\n", "N/A");
}

/* Does anything go over a network? */
static bool has_encryption(const struct ps_results *r)
{
    return r->encryption && encryption_words(r->encryption)[0] != '\0';
}

/* Of the most bytes, a comment before the table. */
static void print_answer(FILE *to, const void *of)
{
    const struct comm_ps_about *about = of;
    const struct ps_results *r = about->results;

    if (r->n_rows == 0)
        return;
    const struct ps_row *row = &r->row[r->n_rows - 1];
    const double rate = goodput_bytes_per_s(about, row, PS_LANE_PUSH_PULL);
    fprintf(to, "# With %zu bytes: a push and a pull move %.4g GB/s, %.0f %% of the bound.\n", row->n_bytes,
            rate * 1e-9, 100 * rate / goodput_bytes_per_s(about, row, PS_LANE_BOUND));
    if (wrong_count(r) > 0)
        fprintf(to, "# WRONG: %" PRIu64 " elements are not what they must be. Do not use these figures.\n",
                wrong_count(r));
}

static void print(FILE *to, const void *of)
{
    const struct comm_ps_about *about = of;
    const struct ps_results *r = about->results;

    comm_print_comment(to, "push and pull: %d worker%s, %d server%s, on %d host%s, world %s, transport %s, compute %s",
                       about->terms->n_workers, about->terms->n_workers == 1 ? "" : "s", about->terms->n_servers,
                       about->terms->n_servers == 1 ? "" : "s", r->n_hosts, r->n_hosts == 1 ? "" : "s",
                       about->where.world, about->where.transport, about->where.compute);
    comm_print_comment(to,
                       "Goodput: bytes of all workers, once, over the time of the slowest. Bound: %s of the same "
                       "messages, at most %d chunks on the way in both",
                       bound_text(r->bound), r->n_in_flight);
    if (has_encryption(r))
        comm_print_comment(to, "Encryption, of both: %s", encryption_words(r->encryption));
    fprintf(to, "# %8s %6s %7s %7s %7s %7s %6s  %15s  %15s\n", "", "", "push", "pull", "both", "bound", "", "both",
            "bound");
    fprintf(to, "# %8s %6s %7s %7s %7s %7s %6s  %7s %7s  %7s %7s %6s\n", "size", "chunks", "GB/s", "GB/s", "GB/s",
            "GB/s", "of it", "p50 us", "p99 us", "p50 us", "p99 us", "#wrong");
    for (int i = 0; i < r->n_rows; i++)
        print_row(to, about, &r->row[i]);
    if (r->is_virtual || r->rotated_bytes == 0)
        fprintf(to, "# Memory: %s\n", r->is_virtual ? "time is virtual" : "hot, each call uses the same");
    else
        comm_print_comment(to, "Memory: rotated: %zu bytes per rank; last-level caches of a host: %zu bytes",
                           r->rotated_bytes, about->where.cache_bytes);
}

/* --- records --- */

static void record_figure(struct record *to, const struct comm_ps_about *about, const struct ps_row *row,
                          enum ps_lane lane)
{
    const struct ps_figure *f = &row->figure[lane];
    const double bytes = workers_bytes(about, row);

    record_f64(to, "goodput_bytes_per_s", bytes / f->time_s);
    record_f64(to, "goodput_low_bytes_per_s", bytes / f->high_s);
    record_f64(to, "goodput_high_bytes_per_s", bytes / f->low_s);
    record_f64(to, "time_s", f->time_s);
    record_f64(to, "time_low_s", f->low_s);
    record_f64(to, "time_high_s", f->high_s);
    record_f64(to, "latency_p50_s", f->p50_s);
    record_f64(to, "latency_p99_s", f->p99_s);
    record_u64(to, "latencies_count", f->n_latencies);
    record_i64(to, "repeats_count", f->n_repeats);
    record_i64(to, "calls_per_repeat_count", f->n_calls);
}

static void record_against_bound(struct record *to, const struct comm_ps_about *about, const struct ps_row *row,
                                 enum ps_lane lane)
{
    const double bound = goodput_bytes_per_s(about, row, PS_LANE_BOUND);

    record_f64(to, "bound_goodput_bytes_per_s", bound);
    record_f64(to, "of_bound_ratio", goodput_bytes_per_s(about, row, lane) / bound);
    record_count(to, "wrong_count", row->is_checked, row->n_wrong);
}

static enum rc write_lane(struct report *to, const void *of, int i)
{
    const struct comm_ps_about *about = of;
    const struct ps_row *row = &about->results->row[i / PS_N_LANES];
    const enum ps_lane lane = (enum ps_lane)(i % PS_N_LANES);
    const bool is_bound = lane == PS_LANE_BOUND;
    struct record *record = report_begin(to, is_bound ? "bound" : "row");

    record_text(record, "type", "ps");
    record_text(record, "operation", is_bound ? "echo" : lane_keys[lane]);
    record_text(record, "bound", ps_echo_kind_text(about->results->bound));
    record_text(record, "world", about->where.world);
    record_text(record, "transport", about->where.transport);
    record_text(record, "encryption", about->results->encryption);
    record_text(record, "compute", about->where.compute);
    record_i64(record, "workers_count", about->terms->n_workers);
    record_i64(record, "servers_count", about->terms->n_servers);
    record_i64(record, "hosts_count", about->results->n_hosts);
    record_u64(record, "bytes_count", row->n_bytes);
    record_u64(record, "pieces_count", row->n_chunks);
    record_i64(record, "pieces_in_flight_count", about->results->n_in_flight);
    record_u64(record, "rotated_bytes", about->results->rotated_bytes);
    record_figure(record, about, row, lane);
    if (!is_bound)
        record_against_bound(record, about, row, lane);
    return report_end(to);
}

/* --- all of it --- */

static struct comm_point point(const void *of, int i)
{
    const struct comm_ps_about *about = of;
    const struct ps_row *row = &about->results->row[i / PS_N_LANES];
    const int lane = i % PS_N_LANES;
    const struct ps_figure *f = &row->figure[lane];

    return (struct comm_point){ lane == PS_LANE_BOUND ? "echo" : lane_keys[lane],
                                lane == PS_LANE_BOUND,
                                row->n_bytes,
                                workers_bytes(about, row),
                                f->time_s,
                                f->low_s,
                                f->high_s };
}

struct comm_output comm_ps_report_output(const struct comm_ps_about *about)
{
    const struct ps_results *r = about->results;
    const int n_workers = about->terms->n_workers, n_servers = about->terms->n_servers;
    struct comm_output out = { .about = about,
                               .where = &about->where,
                               .plan = &about->terms->plan,
                               .end = &r->end,
                               .n_ranks = n_workers + n_servers,
                               .n_hosts = r->n_hosts,
                               .n_sizes_done = r->n_rows,
                               .n_records = r->n_rows * PS_N_LANES,
                               .n_wrong = wrong_count(r),
                               .is_virtual = r->is_virtual,
                               .rotated_bytes = r->rotated_bytes,
                               .rotated_host_bytes = about->terms->rotated_bytes,
                               .what = "goodput",
                               .ceiling_text = bound_text(r->bound),
                               .print_answer = print_answer,
                               .print = print,
                               .print_osu = comm_print_ps_osu,
                               .print_table = comm_print_ps_table,
                               .write = write_lane,
                               .point = point };

    snprintf(out.model, sizeof out.model, "parameter server, %d x %d", n_workers, n_servers);
    snprintf(out.ranks, sizeof out.ranks, "%d workers, %d servers, %d host%s", n_workers, n_servers, r->n_hosts,
             r->n_hosts == 1 ? "" : "s");
    return out;
}
