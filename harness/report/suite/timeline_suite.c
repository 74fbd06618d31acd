/* SPDX-License-Identifier: Apache-2.0 */
/* timeline_suite.c - small runs whose file is known to the byte, and packed bytes damaged in every field. */
#include "harness/report/suite/timeline_suite.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "harness/report/suite/report_kit.h"
#include "harness/report/suite/timeline_kit.h"
#include "harness/report/timeline_pack.h"

#define N_ELEMS(a) (sizeof(a) / sizeof *(a))
enum { N_RANKS_MAX = 3 };

const struct timeline_impl timeline_impl_real = { timeline_pack, timeline_unpack, timeline_write };

struct run { /* packed ranks, and what becomes of them */
    const struct timeline_impl *impl;
    struct kit kit;
    void *bytes[N_RANKS_MAX];
    size_t n_bytes[N_RANKS_MAX];
    struct timeline_rank rank[N_RANKS_MAX];
    int n_ranks, n_failures;
    int n_missing; /* ranks of the run before the next one that are not there */
};

static bool expect(struct run *run, bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "  does not hold: %s (last error: %s)\n", what, rc_message());
        run->n_failures++;
    }
    return holds;
}

/* The next rank has these rings, which are closed. */
static void add_rank(struct run *run, const char *role, const char *host, struct span_ring **ring, size_t n_rings)
{
    const int r = run->n_ranks, number = r + run->n_missing;
    const struct timeline_source source = { number, role, host, ring, n_rings, NULL };

    if (expect(run, run->impl->pack(&run->bytes[r], &run->n_bytes[r], &source) == RC_OK, "a rank is packed") &&
        expect(run, run->impl->unpack(&run->rank[r], run->bytes[r], run->n_bytes[r], number) == RC_OK, "and unpacked"))
        run->n_ranks++;
    for (size_t i = 0; i < n_rings; i++)
        span_ring_close(&ring[i]);
}

static void add_one_ring(struct run *run, const char *name, const struct span *span, size_t n_spans)
{
    struct span_ring *ring[] = { kit_ring_of(name, n_spans + 1, span, n_spans) };

    add_rank(run, NULL, NULL, ring, 1);
}

/* The file's text, "" when there is none; lent until the next call. */
static const char *written(struct run *run, bool is_virtual, const struct record *facts)
{
    const char *text = NULL;

    if (expect(run,
               run->impl->write(kit_path(&run->kit, "t.json"), run->rank, run->n_ranks, is_virtual, facts) == RC_OK,
               "a timeline is written"))
        text = kit_read(&run->kit, "t.json");
    return text ? text : "";
}

static void drop_ranks(struct run *run)
{
    for (int r = 0; r < N_RANKS_MAX; r++) {
        free(run->bytes[r]);
        run->bytes[r] = NULL;
    }
    run->n_ranks = 0;
}

static void expect_text(struct run *run, const char *text, const char *wanted)
{
    if (!expect(run, strcmp(text, wanted) == 0, "the file is as expected"))
        fprintf(stderr, "--- wanted\n%s--- found\n%s", wanted, text);
}

static void make_golden_ranks(struct run *run)
{
    const struct span of_main[] = {
        { 5000000, 5001001, "forward", -1, 0, 0, 7, 0 },
        { 5001001, 5003000, "backward", 2, 5, 0, 7, 0 },
    };
    const struct span of_communicator[] = { { 5001500, 5002499, "reduce", 2, 6, 4096, 7, 5001001 } };
    const struct span of_server[] = { { 4999999, 4999999, "wait", -1, 0, 0, 6, 0 } };
    struct span_ring *worker[] = { kit_ring_of("main", 2, of_main, 2), NULL,
                                   kit_ring_of("communicator", 9, of_communicator, 1) };
    struct span_ring *server[] = { kit_ring_of("main", 1, of_server, 1), kit_ring_of("idle", 1, NULL, 0) };

    add_rank(run, "worker", "node-a", worker, 3);
    add_rank(run, "server", "node-b", server, 2);
}

static const char golden[] =
    "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"clock\":\"real, offsets between hosts removed\",\"spans_count\":4,"
    "\"steps\":{\"first\":6,\"last\":7},\"lost_spans_count\":{\"rank 0\":{\"main\":0,\"communicator\":0},\"rank "
    "1\":{\"main\":0,\"idle\":0}},\"run\":null\n"
    "},\"traceEvents\":[\n"
    "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"tid\":1,\"args\":{\"name\":\"rank 0, worker (node-a)\"}}\n"
    ",{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":1,\"tid\":1,\"args\":{\"sort_index\":0}}\n"
    ",{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":1,\"args\":{\"name\":\"main\"}}\n"
    ",{\"ph\":\"M\",\"name\":\"thread_sort_index\",\"pid\":1,\"tid\":1,\"args\":{\"sort_index\":0}}\n"
    ",{\"ph\":\"X\",\"name\":\"forward\",\"pid\":1,\"tid\":1,\"ts\":0.001,\"dur\":1.001,\"args\":{\"step\":7}}\n"
    ",{\"ph\":\"X\",\"name\":\"backward\",\"pid\":1,\"tid\":1,\"ts\":1.002,\"dur\":1.999,"
    "\"args\":{\"step\":7,\"bucket\":2,\"piece\":5}}\n"
    ",{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":3,\"args\":{\"name\":\"communicator\"}}\n"
    ",{\"ph\":\"M\",\"name\":\"thread_sort_index\",\"pid\":1,\"tid\":3,\"args\":{\"sort_index\":1}}\n"
    ",{\"ph\":\"X\",\"name\":\"reduce\",\"pid\":1,\"tid\":3,\"ts\":1.501,\"dur\":0.999,"
    "\"args\":{\"step\":7,\"bucket\":2,\"piece\":6,\"bytes\":4096,\"submitted_us\":1.002}}\n"
    ",{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":2,\"tid\":2,\"args\":{\"name\":\"rank 1, server (node-b)\"}}\n"
    ",{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":2,\"tid\":2,\"args\":{\"sort_index\":1}}\n"
    ",{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":2,\"tid\":2,\"args\":{\"name\":\"main\"}}\n"
    ",{\"ph\":\"M\",\"name\":\"thread_sort_index\",\"pid\":2,\"tid\":2,\"args\":{\"sort_index\":0}}\n"
    ",{\"ph\":\"X\",\"name\":\"wait\",\"pid\":2,\"tid\":2,\"ts\":0.000,\"dur\":0.000,\"args\":{\"step\":6}}\n"
    ",{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":2,\"tid\":4,\"args\":{\"name\":\"idle\"}}\n"
    ",{\"ph\":\"M\",\"name\":\"thread_sort_index\",\"pid\":2,\"tid\":4,\"args\":{\"sort_index\":1}}\n"
    "]}\n";

static void check_golden(struct run *run) /* report.L1, L2, L4 */
{
    make_golden_ranks(run);
    expect_text(run, written(run, false, NULL), golden);
    expect(run, kit_count_files(&run->kit) == 1, "L5 one file");
}

/* The same from bytes at an odd address, with nothing behind them (report.L6, for the address sanitizer). */
static void check_address(struct run *run)
{
    unsigned char *copy[N_RANKS_MAX] = { NULL };

    make_golden_ranks(run);
    for (int r = 0; r < run->n_ranks; r++) {
        copy[r] = malloc(run->n_bytes[r] + 1);
        if (!expect(run, copy[r] != NULL, "memory"))
            break;
        memcpy(copy[r] + 1, run->bytes[r], run->n_bytes[r]);
        expect(run, run->impl->unpack(&run->rank[r], copy[r] + 1, run->n_bytes[r], r) == RC_OK, "L6 any address");
    }
    expect_text(run, written(run, false, NULL), golden);
    for (int r = 0; r < run->n_ranks; r++)
        free(copy[r]);
}

static void check_facts(struct run *run) /* report.L4, L7 */
{
    static const char wanted[] =
        "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"clock\":\"virtual\",\"spans_count\":0,"
        "\"steps\":null,\"lost_spans_count\":{\"rank 0\":{}},\"run\":{\"command\":\"gradmark \\\"train\\\"\","
        "\"workers_count\":3}\n},\"traceEvents\":[\n"
        "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"tid\":1,"
        "\"args\":{\"name\":\"rank 0\"}}\n"
        ",{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":1,\"tid\":1,"
        "\"args\":{\"sort_index\":0}}\n]}\n";
    struct record *facts = record_open(NULL);

    record_text(facts, "command", "gradmark \"train\"");
    record_u64(facts, "workers_count", 3);
    add_rank(run, NULL, NULL, NULL, 0); /* a rank that recorded nothing */
    expect_text(run, written(run, true, facts), wanted);
    record_close(&facts);
}

/* The names of all spans, in the order of the file, a space behind each; lent. */
static const char *names_of(const char *text)
{
    static char names[4096];
    size_t n = 0;

    names[0] = '\0';
    for (const char *at = text; (at = strstr(at, "\"ph\":\"X\",\"name\":\"")) != NULL;) {
        at += strlen("\"ph\":\"X\",\"name\":\"");
        n += (size_t)snprintf(names + n, sizeof names - n, "%.*s ", (int)strcspn(at, "\""), at);
    }
    return names;
}

static void check_order(struct run *run) /* report.L3 */
{
    const struct span span[] = {
        kit_span("b", 10, 20), /* b and c are in a, d in c */
        kit_span("d", 20, 30), kit_span("c", 20, 40), kit_span("a", 10, 50), kit_span("e", 50, 50),
        kit_span("g", 50, 60), /* g in f, as long; e before both, of no length */
        kit_span("f", 50, 60), kit_span("h", 60, 60), kit_span("i", 60, 70), kit_span("z", 0, 1),
    };

    add_one_ring(run, "main", span, N_ELEMS(span));
    expect(run, strcmp(names_of(written(run, true, NULL)), "z a b c d f g e i h ") == 0, "L3 outer ones first");
}

static void check_digits(struct run *run) /* report.L2 */
{
    const uint64_t zero_ns = 123456789;
    const struct span span[] = {
        kit_span("a", zero_ns, zero_ns + 999),
        kit_span("b", zero_ns + 1000, zero_ns + 2001),
        kit_span("c", zero_ns + 86400000000007, zero_ns + 86400000000077),
        kit_span("d", zero_ns + 9007199254740993, zero_ns + 18014398509481987),
    };
    static const char *const wanted[] = {
        "\"ts\":0.000,\"dur\":0.999,",
        "\"ts\":1.000,\"dur\":1.001,",
        "\"ts\":86400000000.007,\"dur\":0.070,",
        "\"ts\":9007199254740.993,\"dur\":9007199254740.994,",
    };

    add_one_ring(run, "main", span, N_ELEMS(span));
    const char *text = written(run, true, NULL);
    for (size_t i = 0; i < N_ELEMS(wanted); i++)
        expect(run, strstr(text, wanted[i]) != NULL, wanted[i]);
}

/* report.L2: the earliest span is neither rank 0's nor a first task's; report.L1: ranks keep their numbers where rank 2
 * is missing */
static void check_zero(struct run *run)
{
    const struct span late = kit_span("late", 5000, 6000), first = kit_span("first", 2000, 9000);
    struct span_ring *ring[] = { kit_ring_of("empty", 1, NULL, 0), kit_ring_of("main", 1, &late, 1),
                                 kit_ring_of("other", 1, &first, 1) };

    add_one_ring(run, "main", &late, 1);
    add_rank(run, NULL, NULL, ring, 3);
    run->n_missing = 1;
    add_one_ring(run, "main", &late, 1);
    const char *text = written(run, true, NULL);
    expect(run, strstr(text, "\"name\":\"first\",\"pid\":2,\"tid\":10,\"ts\":0.000,") != NULL,
           "L2 ts 0 is the earliest");
    expect(run, strstr(text, "\"name\":\"late\",\"pid\":4,\"tid\":4,\"ts\":3.000,") != NULL, "L2 of all ranks");
    expect(run, strstr(text, "\"rank 3\":{\"main\":0}}") != NULL, "L4 of each number");
}

/* report.L1: on the axis of ts; also what was submitted in a span that is lost */
static void check_submitted(struct run *run)
{
    const struct span span[] = {
        { .start_ns = 7000, .end_ns = 7000, .what = "a", .segment = -1, .submitted_ns = 5999 },
        { .start_ns = 7000, .end_ns = 9000, .what = "b", .segment = -1, .submitted_ns = 7000 },
        { .start_ns = 9100, .end_ns = 9200, .what = "c", .segment = -1, .submitted_ns = 8001 },
        { .start_ns = 9200, .end_ns = 9300, .what = "d", .segment = -1 },
    };
    static const char *const wanted[] = {
        "\"ts\":0.000,\"dur\":0.000,\"args\":{\"step\":0,\"submitted_us\":-1.001}}\n",
        "\"ts\":0.000,\"dur\":2.000,\"args\":{\"step\":0,\"submitted_us\":0.000}}\n",
        "\"ts\":2.100,\"dur\":0.100,\"args\":{\"step\":0,\"submitted_us\":1.001}}\n",
        "\"ts\":2.200,\"dur\":0.100,\"args\":{\"step\":0}}\n",
    };

    add_one_ring(run, "queue", span, N_ELEMS(span));
    const char *text = written(run, true, NULL);
    for (size_t i = 0; i < N_ELEMS(wanted); i++)
        expect(run, strstr(text, wanted[i]) != NULL, wanted[i]);
}

static void check_lost(struct run *run) /* report.L4 */
{
    struct span span[10];
    struct span_ring *ring[2];

    for (size_t i = 0; i < 10; i++)
        span[i] = kit_span("x", 100 * i, 100 * i + 50);
    ring[0] = kit_ring_of("main", 10, span, 10);
    ring[1] = kit_ring_of("communicator", 3, span, 10);
    add_rank(run, NULL, NULL, ring, 2);
    const char *text = written(run, true, NULL);
    expect(run,
           strstr(text, "\"spans_count\":13,\"steps\":{\"first\":0,\"last\":0},\"lost_spans_count\":{\"rank "
                        "0\":{\"main\":0,\"communicator\":7}}"),
           "L4 lost spans are counted");
    expect(run, strstr(text, "\"pid\":1,\"tid\":2,\"ts\":0.700,") && !strstr(text, "\"pid\":1,\"tid\":2,\"ts\":0.600,"),
           "L4 the newest are kept");
}

static void check_text(struct run *run) /* names as JSON, whatever they are */
{
    const struct span span[] = { kit_span("a \"b\"\\\n", 0, 1), kit_span("\xff\xfe", 1, 2),
                                 kit_span("\xc3\xa4", 2, 3) };
    static const char *const wanted[] = { "a \"b\"\\\n", "\xef\xbf\xbd\xef\xbf\xbd", "\xc3\xa4" };
    struct span_ring *ring[] = { kit_ring_of("t\"", 3, span, 3) };
    size_t n_found = 0, i;
    json_t *event;

    add_rank(run, NULL, "h\"\x01", ring, 1);
    json_t *trace = json_loads(written(run, false, NULL), JSON_REJECT_DUPLICATES, NULL);
    expect(run, trace != NULL, "it is JSON");
    json_array_foreach(json_object_get(trace, "traceEvents"), i, event)
    {
        const char *name = json_string_value(json_object_get(event, "name"));
        const char *value = json_string_value(json_object_get(json_object_get(event, "args"), "name"));

        if (i == 0)
            expect(run, value && strcmp(value, "rank 0 (h\"\x01)") == 0, "the name of a process");
        if (i == 2)
            expect(run, value && strcmp(value, "t\"") == 0, "the name of a task");
        if (i >= 4 && n_found < 3)
            expect(run, name && strcmp(name, wanted[n_found++]) == 0, "the name of a span");
    }
    expect(run, n_found == 3, "three spans");
    json_decref(trace);
}

static void expect_refused(struct run *run, struct span_ring **ring, size_t n_rings, const char *message)
{
    const struct timeline_source source = { 5, NULL, NULL, ring, n_rings, NULL };
    size_t n_bytes = 77;
    void *bytes = run;

    rc_clear();
    expect(run, run->impl->pack(&bytes, &n_bytes, &source) == RC_BUG && bytes == run && n_bytes == 77, message);
    expect(run, strstr(rc_message(), message) != NULL, "the message says what is wrong");
    for (size_t i = 0; i < n_rings; i++)
        span_ring_close(&ring[i]);
}

static void check_refused(struct run *run) /* report.L3 */
{
    static char names[TIMELINE_MAX_NAMES + 1][8], name[SPAN_NAME_BYTES + 1];
    const struct span in_part[] = { kit_span("reduce", 10, 20), kit_span("wait", 19, 21) };
    const struct span inside[] = { kit_span("reduce", 0, 5), kit_span("wait", 5, 21), kit_span("all", 0, 20) };
    const struct span one = kit_span("x", 0, 1);
    const struct span early = { .start_ns = 10, .end_ns = 20, .what = "queue", .submitted_ns = 11 };
    struct span span[TIMELINE_MAX_NAMES + 1];

    for (size_t i = 0; i <= TIMELINE_MAX_NAMES; i++) {
        snprintf(names[i], sizeof names[i], "n%zu", i);
        span[i] = kit_span(names[i], i, i + 1);
    }
    expect_refused(run, (struct span_ring *[]){ kit_ring_of("main", 2, in_part, 2) }, 1,
                   "rank 5, task main, step 0: span wait, 19 ns to 21 ns, overlaps another one in part");
    expect_refused(run, (struct span_ring *[]){ kit_ring_of("main", 3, inside, 3) }, 1,
                   "span wait, 5 ns to 21 ns, overlaps another one in part");
    expect_refused(run, (struct span_ring *[]){ kit_ring_of("queue", 1, &early, 1) }, 1,
                   "span queue, 10 ns to 20 ns, was submitted after it started");
    expect_refused(run, (struct span_ring *[]){ kit_ring_of("main", 300, span, TIMELINE_MAX_NAMES + 1) }, 1,
                   "rank 5: span n256 has one name too many");
    expect_refused(run, (struct span_ring *[]){ kit_ring_of("t", 1, &one, 1), NULL, kit_ring_of("t", 1, &one, 1) }, 3,
                   "rank 5: two tasks are called t");
    for (size_t i = 0; i <= TIMELINE_MAX_DEPTH; i++)
        span[i] = kit_span("x", i, 1000 - i);
    expect_refused(run, (struct span_ring *[]){ kit_ring_of("main", 300, span, TIMELINE_MAX_DEPTH + 1) }, 1,
                   "span x, 64 ns to 936 ns, is inside too many others");
    memset(name, 'x', SPAN_NAME_BYTES);
    span[0] = kit_span(name, 0, 1);
    expect_refused(run, (struct span_ring *[]){ kit_ring_of("main", 1, span, 1) }, 1, "is too long");
    expect_refused(run, (struct span_ring *[]){ kit_ring_of(name, 1, NULL, 0) }, 1, "is too long");
    name[SPAN_NAME_BYTES - 1] = '\0'; /* the longest, the most, and the deepest that are allowed */
    for (size_t i = 0; i < TIMELINE_MAX_DEPTH; i++)
        span[i] = kit_span(names[i], i, 1000 - i);
    for (size_t i = TIMELINE_MAX_DEPTH; i < TIMELINE_MAX_NAMES - 1; i++)
        span[i] = kit_span(names[i], 1000 + i, 1001 + i);
    span[TIMELINE_MAX_NAMES - 1] = kit_span(name, 2000, 2001);
    add_one_ring(run, name, span, TIMELINE_MAX_NAMES);
    expect(run, strstr(written(run, true, NULL), name) != NULL, "a long name");
}

/* report.L6: unpack() must refuse these bytes, and leave its output alone. */
static void expect_mismatch(struct run *run, const void *bytes, size_t n_bytes, const char *what)
{
    struct timeline_rank out = { .rank = -77 };

    rc_clear();
    expect(run, run->impl->unpack(&out, bytes, n_bytes, 0) == RC_MISMATCH && out.rank == -77, what);
    expect(run, strstr(rc_message(), "rank 0") != NULL, "the message names the rank");
}

static void check_lengths(struct run *run) /* report.L6 */
{
    make_golden_ranks(run);
    const size_t n_bytes = run->n_bytes[0];
    for (size_t n = 0; n <= n_bytes + 100; n++) { /* each in a block of its own, for the address sanitizer */
        unsigned char *copy = calloc(1, n + (n == 0));

        if (copy && n != n_bytes) {
            memcpy(copy, run->bytes[0], n < n_bytes ? n : n_bytes);
            expect_mismatch(run, copy, n, "L6 bytes cut off or added");
        }
        free(copy);
    }
    struct timeline_rank out = { .rank = -77 };
    expect(run, run->impl->unpack(&out, run->bytes[1], run->n_bytes[1], 0) == RC_MISMATCH && out.rank == -77,
           "L6 another rank's bytes");
}

static void check_damage(struct run *run) /* report.L6: rank 0 has 2 tasks, 3 names, 3 spans, 2 of them of task 0 */
{
    enum {
        TASK = sizeof(struct timeline_head),
        NAME = TASK + 2 * sizeof(struct timeline_task),
        SPAN = NAME + 3 * sizeof(struct timeline_name),
        SPAN_1 = SPAN + sizeof(struct timeline_span)
    };
#define HEAD_AT(member) offsetof(struct timeline_head, member)
#define TASK_AT(member) TASK + offsetof(struct timeline_task, member)
#define SPAN_AT(member) SPAN + offsetof(struct timeline_span, member)
    static const struct {
        const char *what;
        size_t offset_bytes, n_bytes;
        uint64_t value;
    } damage[] = {
        { "magic", HEAD_AT(magic), 8, TIMELINE_MAGIC + 1 },
        { "rank", HEAD_AT(rank), 4, 1 },
        { "fewer spans", HEAD_AT(n_spans), 8, 2 },
        { "more spans", HEAD_AT(n_spans), 8, 4 },
        { "2^64 - 1 spans", HEAD_AT(n_spans), 8, UINT64_MAX },
        { "spans that overflow to as many bytes", HEAD_AT(n_spans), 8, 3 + (UINT64_C(1) << 61) },
        { "fewer tasks", HEAD_AT(n_tasks), 4, 1 },
        { "more tasks", HEAD_AT(n_tasks), 4, 3 },
        { "2^32 - 1 tasks", HEAD_AT(n_tasks), 4, UINT32_MAX },
        { "fewer names", HEAD_AT(n_names), 4, 2 },
        { "more names", HEAD_AT(n_names), 4, 4 },
        { "2^32 - 1 names", HEAD_AT(n_names), 4, UINT32_MAX },
        { "a task with fewer spans", TASK_AT(n_spans), 8, 1 },
        { "a task with more spans", TASK_AT(n_spans), 8, 4 },
        { "a task with 2^64 - 1 spans", TASK_AT(n_spans), 8, UINT64_MAX },
        { "a span with the name behind the last", SPAN_AT(name), 4, 3 },
        { "a span with name 2^32 - 1", SPAN_AT(name), 4, UINT32_MAX },
        { "a span that ends before it starts", SPAN_AT(end_ns), 8, 4999999 },
        { "a span that was submitted after it started", SPAN_AT(submitted_ns), 8, 5000001 },
        { "a span into the next", SPAN_AT(end_ns), 8, 5001002 },
        { "a span behind the next", SPAN_AT(start_ns), 8, 5001002 },
        { "the second in front of the first", SPAN_1 + offsetof(struct timeline_span, start_ns), 8, 4999999 },
    };
    static const struct {
        const char *what;
        size_t offset_bytes, n_bytes;
    } endless[] = {
        { "a process", HEAD_AT(process), TIMELINE_PROCESS_BYTES },
        { "a task", TASK_AT(name), SPAN_NAME_BYTES },
        { "the last task", TASK_AT(name) + sizeof(struct timeline_task), SPAN_NAME_BYTES },
        { "a name", NAME, SPAN_NAME_BYTES },
        { "the last name", NAME + 2 * sizeof(struct timeline_name), SPAN_NAME_BYTES },
    };

    make_golden_ranks(run);
    unsigned char *copy = malloc(run->n_bytes[0]);
    if (!expect(run, copy != NULL && run->n_bytes[0] == SPAN + 3 * sizeof(struct timeline_span), "the layout"))
        goto out;
    for (size_t i = 0; i < N_ELEMS(damage); i++) {
        memcpy(copy, run->bytes[0], run->n_bytes[0]);
        memcpy(copy + damage[i].offset_bytes, &damage[i].value, damage[i].n_bytes); /* little-endian, as the kit */
        expect_mismatch(run, copy, run->n_bytes[0], damage[i].what);
    }
    for (size_t i = 0; i < N_ELEMS(endless); i++) {
        memcpy(copy, run->bytes[0], run->n_bytes[0]);
        memset(copy + endless[i].offset_bytes, 'x', endless[i].n_bytes);
        expect_mismatch(run, copy, run->n_bytes[0], endless[i].what);
    }
out:
    free(copy);
}

static void check_file(struct run *run) /* report.L5 */
{
    char path[KIT_PATH_BYTES];

    make_golden_ranks(run);
    snprintf(path, sizeof path, "%s", kit_path(&run->kit, "no-folder/t.json"));
    expect(run, run->impl->write(path, run->rank, run->n_ranks, false, NULL) == RC_INVAL, "there is no such folder");
    expect(run, strstr(rc_message(), "no-folder/t.json") != NULL, "the message names the file");
    expect(run, kit_count_files(&run->kit) == 0, "L5 nothing is left");
    expect(run, kit_write(&run->kit, "t.json", "an old file, longer than it need be") == 1, "an old file");
    expect_text(run, written(run, false, NULL), golden);
}

int timeline_suite(const struct timeline_impl *impl)
{
    static void (*const check[])(struct run * run) = { check_golden, check_address, check_facts,     check_order,
                                                       check_digits, check_zero,    check_submitted, check_lost,
                                                       check_text,   check_refused, check_lengths,   check_damage,
                                                       check_file };
    int n_failures = 0;

    for (size_t i = 0; i < N_ELEMS(check); i++) {
        static struct run run;

        run = (struct run){ .impl = impl };
        if (!expect(&run, kit_open(&run.kit), "a folder"))
            return 1;
        check[i](&run);
        drop_ranks(&run);
        kit_close(&run.kit);
        n_failures += run.n_failures;
    }
    return n_failures;
}
