/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timeline.c - gathers the packed spans of all ranks, and writes the file.
 *
 * The file is written as it goes, an event a line: a million events need no more memory than one. Numbers are whole
 * numbers and never pass through a double (report.L2).
 */
#include "harness/report/timeline.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/file.h"
#include "harness/report/timeline_pack.h"
#include "harness/world/child.h"

enum { ROUND_BYTES = 64 << 20 }; /* from all ranks together, at rank 0 */

struct events {
    FILE *to;
    const char *separator; /* between events */
    int n_numbers;         /* above the highest rank */
    uint64_t zero_ns;
    struct world *world; /* may be NULL */
};

/* --- the file --------------------------------------------------------------------------------------------------------
 */

/* report.L1 */
static int pid_of(int rank)
{
    return rank + 1;
}

/* report.L1: unique over the file, and the pid for a rank's first task. */
static long long tid_of(const struct events *e, int rank, uint32_t task)
{
    return (long long)task * e->n_numbers + pid_of(rank);
}

static void print_index(struct events *e, const char *name, int pid, long long tid, uint32_t index)
{
    fprintf(e->to, "%s{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%d,\"tid\":%lld,\"args\":{\"sort_index\":%" PRIu32 "}}\n",
            e->separator, name, pid, tid, index);
}

static enum rc print_name(struct events *e, const char *name, int pid, long long tid, const char *text)
{
    char *quoted = NULL;
    enum rc rc;

    TRY(record_quote(&quoted, text));
    fprintf(e->to, "%s{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%d,\"tid\":%lld,\"args\":{\"name\":%s}}\n", e->separator,
            name, pid, tid, quoted);
    e->separator = ",";
out:
    free(quoted);
    return rc;
}

/* Microseconds from ts 0, with the nanoseconds as decimals. */
static void print_us(FILE *to, uint64_t at_ns, uint64_t zero_ns)
{
    const uint64_t apart_ns = at_ns < zero_ns ? zero_ns - at_ns : at_ns - zero_ns;

    fprintf(to, "%s%" PRIu64 ".%03d", at_ns < zero_ns ? "-" : "", apart_ns / 1000, (int)(apart_ns % 1000));
}

static void print_span(struct events *e, int pid, long long tid, const char *quoted_name, const struct timeline_span *s)
{
    const uint64_t ts_ns = s->start_ns - e->zero_ns, dur_ns = s->end_ns - s->start_ns;

    fprintf(e->to,
            "%s{\"ph\":\"X\",\"name\":%s,\"pid\":%d,\"tid\":%lld,\"ts\":%" PRIu64 ".%03d,\"dur\":%" PRIu64
            ".%03d,\"args\":{\"step\":%" PRIu32,
            e->separator, quoted_name, pid, tid, ts_ns / 1000, (int)(ts_ns % 1000), dur_ns / 1000, (int)(dur_ns % 1000),
            s->step);
    if (s->segment >= 0)
        fprintf(e->to, ",\"bucket\":%" PRId32 ",\"piece\":%" PRId32, s->segment, s->chunk);
    if (s->n_bytes > 0)
        fprintf(e->to, ",\"bytes\":%" PRIu64, s->n_bytes);
    if (s->submitted_ns > 0) { /* the span that was there then may be among those that were overwritten */
        fprintf(e->to, ",\"submitted_us\":");
        print_us(e->to, s->submitted_ns, e->zero_ns);
    }
    fprintf(e->to, "}}\n");
}

static enum rc print_rank(struct events *e, const struct timeline_rank *r)
{
    char **quoted = calloc(r->n_names + 1, sizeof *quoted);
    const int pid = pid_of(r->rank);
    uint64_t i = 0;
    enum rc rc = RC_OK;

    if (!quoted)
        FAIL(RC_NOMEM, "no memory for the names of spans");
    for (uint32_t k = 0; k < r->n_names; k++)
        TRY(record_quote(&quoted[k], timeline_name_at(r, k).text));
    TRY(print_name(e, "process_name", pid, pid, timeline_process(r)));
    print_index(e, "process_sort_index", pid, pid, (uint32_t)r->rank);
    for (uint32_t t = 0; t < r->n_tasks; t++) {
        const struct timeline_task task = timeline_task_at(r, t);
        const long long tid = tid_of(e, r->rank, t);

        TRY(print_name(e, "thread_name", pid, tid, task.name));
        print_index(e, "thread_sort_index", pid, tid, t);
        for (const uint64_t end = i + task.n_spans; i < end; i++) {
            const struct timeline_span s = timeline_span_at(r, i);

            timeline_tick(e->world, i);
            print_span(e, pid, tid, quoted[s.name], &s);
        }
    }
out:
    for (uint32_t k = 0; quoted && k < r->n_names; k++)
        free(quoted[k]);
    free(quoted);
    return rc;
}

/* "rank 0":{"main":0,"communicator":12}, ... */
static enum rc print_lost(FILE *to, const struct timeline_rank *rank, int n_ranks)
{
    char *quoted = NULL;
    enum rc rc = RC_OK;

    for (int r = 0; r < n_ranks; r++) {
        fprintf(to, "%s\"rank %d\":{", r > 0 ? "," : "", rank[r].rank);
        for (uint32_t t = 0; t < rank[r].n_tasks; t++) {
            const struct timeline_task task = timeline_task_at(&rank[r], t);

            TRY(record_quote(&quoted, task.name));
            fprintf(to, "%s%s:%" PRIu64, t > 0 ? "," : "", quoted, task.n_lost);
            free(quoted);
            quoted = NULL;
        }
        fputs("}", to);
    }
out:
    free(quoted);
    return rc;
}

/* "steps":{"first":3,"last":5} */
static void print_steps(FILE *to, const struct timeline_rank *rank, int n_ranks, struct world *w)
{
    uint32_t first = UINT32_MAX, last = 0;

    for (int r = 0; r < n_ranks; r++)
        for (uint64_t i = 0; i < rank[r].n_spans; i++) {
            const uint32_t step = timeline_span_at(&rank[r], i).step;

            timeline_tick(w, i);
            first = step < first ? step : first;
            last = step > last ? step : last;
        }
    if (first > last)
        fputs("\"steps\":null", to);
    else
        fprintf(to, "\"steps\":{\"first\":%" PRIu32 ",\"last\":%" PRIu32 "}", first, last);
}

static enum rc print_other_data(FILE *to, const struct timeline_rank *rank, int n_ranks, bool is_virtual,
                                const struct record *facts, struct world *w) /* report.L4 */
{
    uint64_t n_spans = 0;
    enum rc rc = RC_OK;

    for (int r = 0; r < n_ranks; r++)
        n_spans += rank[r].n_spans;
    fprintf(to, "\"otherData\":{\"clock\":\"%s\",\"spans_count\":%" PRIu64 ",",
            is_virtual ? "virtual" : "real, offsets between hosts removed", n_spans);
    print_steps(to, rank, n_ranks, w);
    fputs(",\"lost_spans_count\":{", to);
    TRY(print_lost(to, rank, n_ranks));
    fputs("},\"run\":", to);
    if (facts)
        TRY(record_print(facts, to));
    else
        fputs("null\n", to);
    fputs("}", to);
out:
    return rc;
}

static uint64_t earliest_ns(const struct timeline_rank *rank, int n_ranks)
{
    uint64_t zero_ns = UINT64_MAX;

    for (int r = 0; r < n_ranks; r++)
        /* the first span of a task is its earliest: report.L3 */
        for (uint64_t t = 0, i = 0; t < rank[r].n_tasks; t++) {
            const uint64_t n_spans = timeline_task_at(&rank[r], (uint32_t)t).n_spans;

            if (n_spans > 0 && timeline_span_at(&rank[r], i).start_ns < zero_ns)
                zero_ns = timeline_span_at(&rank[r], i).start_ns;
            i += n_spans;
        }
    return zero_ns;
}

/* w: ticks meanwhile; may be NULL */
static enum rc write_file(const char *path, const struct timeline_rank *rank, int n_ranks, bool is_virtual,
                          const struct record *facts, struct world *w)
{
    struct atomic_file file = { 0 };
    enum rc rc;

    TRY(atomic_file_open(&file, path)); /* report.L5; short writes are found by its commit */
    struct events events = { file.stream, "", rank[n_ranks - 1].rank + 1, earliest_ns(rank, n_ranks), w };
    fputs("{\"displayTimeUnit\":\"ms\",", file.stream);
    TRY(print_other_data(file.stream, rank, n_ranks, is_virtual, facts, w));
    fputs(",\"traceEvents\":[\n", file.stream);
    for (int r = 0; r < n_ranks; r++) {
        timeline_tick(w, 0);
        TRY(print_rank(&events, &rank[r]));
    }
    fputs("]}\n", file.stream);
out:
    return atomic_file_finish(&file, rc);
}

enum rc timeline_write(const char *path, const struct timeline_rank *rank, int n_ranks, bool is_virtual,
                       const struct record *facts)
{
    return write_file(path, rank, n_ranks, is_virtual, facts, NULL);
}

/* --- from all ranks --------------------------------------------------------------------------------------------------
 */

struct gathering { /* arrays are of n_ranks */
    uint64_t *n_bytes, n_max_bytes;
    size_t n_round_bytes;
    unsigned char *mine;           /* [n_bytes[w->rank]] */
    unsigned char **theirs;        /* rank 0: [r][n_bytes[r]] */
    unsigned char *sent, *arrived; /* of one round; arrived: rank 0, [n_ranks][n_round_bytes] */
    struct timeline_rank *rank;    /* rank 0 */
};

static void gathering_fini(struct gathering *g, int n_ranks)
{
    for (int r = 0; g->theirs && r < n_ranks; r++)
        free(g->theirs[r]);
    free(g->n_bytes);
    free(g->mine);
    free(g->theirs);
    free(g->sent);
    free(g->arrived);
    free(g->rank);
}

static enum rc pack_mine(struct gathering *g, struct world *w, const struct timeline_opts *opts, bool is_virtual)
{
    struct timeline_source source = { world_number(w, w->rank), opts->role, NULL, opts->ring, opts->n_rings, w };
    size_t n_bytes = 0;
    void *packed = NULL;
    char host[128];
    enum rc rc;

    child_host_name(host, sizeof host);
    source.host = is_virtual ? NULL : host; /* report.L7 */
    g->n_bytes = calloc((size_t)w->n_ranks, sizeof *g->n_bytes);
    if (!g->n_bytes)
        FAIL(RC_NOMEM, "no memory for the timeline of %d ranks", w->n_ranks);
    TRY(timeline_pack(&packed, &n_bytes, &source));
    g->mine = packed;
    g->n_bytes[w->rank] = n_bytes;
out:
    return rc;
}

/* Ranks have unlike many spans, and a gather takes equally many bytes from each: in rounds, nobody needs as much memory
 * as the largest times all. */
static enum rc exchange_sizes(struct gathering *g, struct world *w, size_t max_round_bytes)
{
    const size_t share_bytes = ROUND_BYTES / (size_t)w->n_ranks;
    const uint64_t n_mine_bytes = g->n_bytes[w->rank];
    enum rc rc;

    TRY(world_allgather(w, &n_mine_bytes, g->n_bytes, sizeof n_mine_bytes));
    for (int r = 0; r < w->n_ranks; r++)
        g->n_max_bytes = g->n_bytes[r] > g->n_max_bytes ? g->n_bytes[r] : g->n_max_bytes;
    g->n_round_bytes = max_round_bytes > 0 ? max_round_bytes : share_bytes > 4096 ? share_bytes : 4096;
    if (g->n_round_bytes > g->n_max_bytes)
        g->n_round_bytes = (size_t)g->n_max_bytes;
out:
    return rc;
}

static enum rc gathering_alloc(struct gathering *g, const struct world *w)
{
    const size_t n_ranks = (size_t)w->n_ranks;
    bool failed;

    g->sent = calloc(1, g->n_round_bytes);
    failed = !g->sent;
    if (w->rank == 0) {
        g->arrived = malloc(n_ranks * g->n_round_bytes);
        g->rank = calloc(n_ranks, sizeof *g->rank);
        g->theirs = calloc(n_ranks, sizeof *g->theirs);
        failed = failed || !g->arrived || !g->rank || !g->theirs;
        for (size_t r = 0; !failed && r < n_ranks; r++) {
            g->theirs[r] = malloc(g->n_bytes[r] + 1);
            failed = !g->theirs[r];
        }
    }
    return failed ? rc_raise(RC_NOMEM, "no memory for the timeline of %zu ranks", n_ranks) : RC_OK;
}

/* How many of n_bytes the round carries that begins at offset_bytes. */
static size_t part_bytes(uint64_t n_bytes, uint64_t offset_bytes, size_t n_round_bytes)
{
    const uint64_t n_left = n_bytes > offset_bytes ? n_bytes - offset_bytes : 0;

    return n_left < n_round_bytes ? (size_t)n_left : n_round_bytes;
}

static enum rc gather_rounds(struct gathering *g, struct world *w)
{
    enum rc rc = RC_OK;

    for (uint64_t offset = 0; offset < g->n_max_bytes; offset += g->n_round_bytes) {
        const size_t n_mine = part_bytes(g->n_bytes[w->rank], offset, g->n_round_bytes);

        if (n_mine > 0)
            memcpy(g->sent, g->mine + offset, n_mine);
        TRY(world_gather(w, g->sent, g->arrived, g->n_round_bytes));
        for (int r = 0; w->rank == 0 && r < w->n_ranks; r++) {
            const size_t n_theirs = part_bytes(g->n_bytes[r], offset, g->n_round_bytes);

            if (n_theirs > 0)
                memcpy(g->theirs[r] + offset, g->arrived + (size_t)r * g->n_round_bytes, n_theirs);
        }
    }
out:
    return rc;
}

enum rc timeline_gather_and_write(struct world *w, const struct timeline_opts *opts)
{
    const bool is_virtual = (w->ops->module.caps & WORLD_VIRTUAL_TIME) != 0;
    struct gathering g = { 0 };
    enum rc rc;

    TRY(pack_mine(&g, w, opts, is_virtual));
    TRY(exchange_sizes(&g, w, opts->max_round_bytes));
    TRY(gathering_alloc(&g, w));
    TRY(gather_rounds(&g, w));
    for (int r = 0; w->rank == 0 && r < w->n_ranks; r++) {
        world_tick(w);
        TRY(timeline_unpack(&g.rank[r], g.theirs[r], (size_t)g.n_bytes[r], world_number(w, r)));
    }
    if (w->rank == 0) {
        const enum rc written = write_file(opts->path, g.rank, w->n_ranks, is_virtual, opts->facts, w);
        if (opts->zero_ns && written == RC_OK)
            *opts->zero_ns = earliest_ns(g.rank, w->n_ranks);
        if (opts->written)
            *opts->written = written;
        else
            TRY(written);
    }
out:
    gathering_fini(&g, w->n_ranks);
    return rc;
}
