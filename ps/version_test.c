/* SPDX-License-Identifier: Apache-2.0 */
/*
 * version_test.c - versions of a chunk (server_push.c, V1): what an answer is sent from stays as it was, to the bit,
 * while others push as often as they like; it is no copy; and there are never more versions than workers. And how long
 * a push has waited for its server, on a clock of the test.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/suite/unit.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"
#include "ps/ps.h"
#include "ps/server.h"
#include "ps/server_state.h"
#include "ps/suite/ps_rank.h"

enum {
    N_WORKERS = 3,
    N_SERVERS = 2,
    N_CHUNKS = 2,
    N_LONG = 40000, /* elements of chunk 1, first in the slice: an update of a held version of it takes some blocks */
    N_SHORT = 6,    /* of chunk 0, behind it */
    N_SLICE = N_LONG + N_SHORT,
    SHORT = 0,
    LONG = 1,
    N_STEPS = 6
};

struct bench { /* two servers, which never run, the second one the heir of the first; what that answers */
    struct transport transport; /* first: as ops see it */
    struct transport_ops ops;
    struct world world[N_SERVERS];
    struct ps_rank rank;
    struct ps_server *server[N_SERVERS];
    const float
        *reply[N_WORKERS][PS_CREDITS]; /* where the body of the last answer is; NULL: it has ended, or has none */
    int n_ended;
    float grad[N_WORKERS][N_LONG]; /* of each worker's last push */
    /* What is to be: of the slice; and at each worker's last answer with LONG. */
    float param[N_SLICE], velocity[N_SLICE], read[N_WORKERS][N_LONG];
};

/* --- a transport that keeps where a body is --- */

static const float **reply_of(struct transport *t, const struct xfer *x)
{
    return &((struct bench *)t)->reply[x->peer][x->tag % PS_CREDITS];
}

static enum rc keep_sent(struct transport *t, struct xfer *x)
{
    assert_null(*reply_of(t, x));
    *reply_of(t, x) = x->n_bytes > 0 ? x->ptr : NULL;
    return RC_OK;
}

static enum rc end_sent(struct transport *t, struct xfer *x, int timeout_ms)
{
    (void)timeout_ms;
    *reply_of(t, x) = NULL;
    ((struct bench *)t)->n_ended++;
    return RC_OK;
}

static void release_nothing(struct transport *t, struct message *m)
{
    (void)t, (void)m;
}

static bool sends_long_lent(const struct transport *t, size_t n_body_bytes)
{
    (void)t;
    return n_body_bytes >= N_LONG * sizeof(float);
}

/* --- servers --- */

struct terms {
    struct consistency rule;
    unsigned caps;
    bool (*sends_lent)(const struct transport *t, size_t n_body_bytes); /* NULL: as caps say */
};

static const struct terms async = { { CONSISTENCY_ASYNC, 0 }, 0, NULL };

static void open_server(struct bench *b, const struct terms *terms, int i)
{
    b->world[i] = (struct world){ .ops = b->world[0].ops, .rank = N_WORKERS + i, .n_ranks = N_WORKERS + N_SERVERS };
    const struct sync_env env = { .world = &b->world[i],
                                  .compute = b->rank.compute,
                                  .transport = &b->transport,
                                  .buckets = &b->rank.buckets,
                                  .placement = &b->rank.placement,
                                  .consistency = terms->rule,
                                  .optimizer = optimizer_sgd(0.5, 0),
                                  .n_workers = N_WORKERS,
                                  .n_servers = N_SERVERS,
                                  .n_steps = 99,
                                  .slice_param = b->param };
    if (ps_server_open(&b->server[i], &env) != RC_OK)
        fail_msg("%s", rc_message());
}

static struct bench *open_bench(const struct terms *terms)
{
    const struct segment segment[N_CHUNKS] = { { 0, N_SERVERS * N_LONG }, { N_SERVERS * N_LONG, N_SHORT } };
    const struct bucket_opts each = { sizeof(float), 0 };
    const struct placement_opts chunks = { PLACEMENT_CHUNK, N_LONG * sizeof(float) };
    struct bench *b = calloc(1, sizeof *b);

    assert_non_null(b);
    b->ops = (struct transport_ops){ .module.name = "bench",
                                     .module.caps = terms->caps,
                                     .post_send = keep_sent,
                                     .sends_lent = terms->sends_lent,
                                     .complete = end_sent,
                                     .release = release_nothing };
    b->transport = (struct transport){ .ops = &b->ops, .world = &b->world[0] };
    assert_int_equal(world_find(&b->world[0].ops, "threads"), RC_OK);
    assert_int_equal(compute_open(&b->rank.compute, &compute_cpu, &(struct compute_env){ 0 }), RC_OK);
    assert_int_equal(buckets_open(&b->rank.buckets, segment, N_CHUNKS, &each), RC_OK);
    assert_int_equal(placement_open(&b->rank.placement, &chunks, segment, N_CHUNKS, N_SERVERS), RC_OK);
    for (size_t i = 0; i < N_SLICE; i++)
        b->param[i] = (float)(i % 97);
    for (int i = 0; i < N_SERVERS; i++)
        open_server(b, terms, i);
    assert_int_equal(b->server[0]->n_elems, N_SLICE);
    assert_int_equal(b->server[0]->chunk[LONG].part.offset_elems, 0);
    assert_int_equal(b->server[0]->chunk[SHORT].part.offset_elems, N_LONG);
    return b;
}

static void close_bench(struct bench *b)
{
    for (int i = 0; i < N_SERVERS; i++)
        ps_server_close(&b->server[i]);
    placement_close(&b->rank.placement);
    buckets_close(&b->rank.buckets);
    compute_close(&b->rank.compute);
    free(b);
}

/* --- pushes --- */

static struct range part_of(const struct bench *b, size_t k)
{
    return b->server[0]->chunk[k].part;
}

/* Worker w pushes chunk k, whose elements are small whole numbers, in a slot. */
static void push(struct bench *b, int w, uint32_t slot, uint32_t k, uint32_t step)
{
    const struct range part = part_of(b, k);
    const struct ps_header h = {
        .op = PS_PUSH, .n_elems = (uint32_t)part.n_elems, .chunk = k, .step = step, .lr = 0.25f
    };
    struct arrival a = { .message = { .ptr = b->grad[w], .n_bytes = part.n_elems * sizeof(float), .peer = w },
                         .worker = w,
                         .slot = slot };

    for (size_t i = 0; i < part.n_elems; i++)
        b->grad[w][i] = (float)((i + 3 * (size_t)w + 5 * step) % 11);
    assert_int_equal(server_serve(b->server[0], &a, &h), RC_OK);
}

/* The update by the mean of the gradients of workers v and w, which may be one. */
static void expect_update(struct bench *b, int v, int w, uint32_t k)
{
    const struct range part = part_of(b, k);

    for (size_t i = 0; i < part.n_elems; i++) {
        const size_t at = part.offset_elems + i;
        b->velocity[at] = 0.5f * b->velocity[at] + 0.5f * (b->grad[v][i] + b->grad[w][i]);
        b->param[at] -= 0.25f * b->velocity[at];
    }
}

/* Worker w has just got its answer with LONG: that is where the parameters are. */
static void note_read(struct bench *b, int w, uint32_t slot)
{
    assert_ptr_equal(b->reply[w][slot], server_param(b->server[0], LONG));
    memcpy(b->read[w], b->param, sizeof b->read[w]);
}

/* The answer that a worker has, wherever that is, is as it was; where it has none, slot is -1. */
static void expect_read(const struct bench *b, const int slot[N_WORKERS])
{
    for (int w = 0; w < N_WORKERS; w++)
        if (slot[w] >= 0)
            assert_memory_equal(b->reply[w][slot[w]], b->read[w], sizeof b->read[w]);
}

static void expect_slice(const struct bench *b)
{
    float *is = malloc(N_SLICE * sizeof *is);

    assert_non_null(is);
    server_gather(b->server[0], is);
    assert_memory_equal(is, b->param, sizeof b->param);
    assert_memory_equal(b->server[0]->optimizer.moment[0], b->velocity, sizeof b->velocity);
    free(is);
}

/* Answers that hold any version of LONG. */
static int n_held(const struct bench *b)
{
    const struct ps_server *s = b->server[0];
    int n = 0;

    for (int v = 0; v <= s->versions.n_others; v++) {
        assert_true(s->chunk[LONG].n_readers[v] >= 0);
        n += s->chunk[LONG].n_readers[v];
    }
    return n;
}

/* Worker 1 reads once and then nothing for long, workers 0 and 2 push in turns. */
static void slow_reader(struct bench *b)
{
    const int slot[N_WORKERS] = { 0, 3, 2 };

    push(b, 1, 3, LONG, 0);
    expect_update(b, 1, 1, LONG);
    note_read(b, 1, 3);
    for (uint32_t step = 0; step < N_STEPS; step++)
        for (int w = 0; w < N_WORKERS; w += 2) {
            const int none_yet[N_WORKERS] = { -1, 3, -1 };
            expect_read(b, step == 0 ? none_yet : slot);
            push(b, w, (uint32_t)slot[w], LONG, step);
            expect_update(b, w, w, LONG);
            note_read(b, w, (uint32_t)slot[w]);
            expect_slice(b);
        }
    expect_read(b, slot);
    assert_int_equal(n_held(b), N_WORKERS);
}

/* --- tests --- */

UNIT_TEST(what_is_read_stays_V1)
{
    static const struct terms terms[] = {
        { { CONSISTENCY_ASYNC, 0 }, 0, NULL },
        { { CONSISTENCY_SSP, 9 }, 0, NULL },
        { { CONSISTENCY_ASYNC, 0 }, TR_COPIES, sends_long_lent },
    };

    for (size_t i = 0; i < sizeof terms / sizeof terms[0]; i++) {
        struct bench *b = open_bench(&terms[i]);
        assert_int_equal(b->server[0]->versions.n_others, N_WORKERS - 1);
        slow_reader(b);
        close_bench(b);
    }
}

/* Rounds of two workers, and the third one's late push, whose answer it has for long. */
UNIT_TEST(rounds_make_versions_too_V1)
{
    const struct terms terms = { { CONSISTENCY_SYNC, 1 }, 0, NULL };
    struct bench *b = open_bench(&terms);

    for (uint32_t step = 0; step < N_STEPS; step++) {
        const int slot[N_WORKERS] = { step == 0 ? -1 : 0, step == 0 ? -1 : 3, -1 };
        push(b, 2, 2, LONG, step);
        expect_read(b, slot);
        push(b, 0, 0, LONG, step);
        expect_update(b, 0, 2, LONG);
        note_read(b, 0, 0);
        note_read(b, 2, 2);
        expect_slice(b);
        if (step == 0) { /* late */
            push(b, 1, 3, LONG, 0);
            note_read(b, 1, 3);
        }
        expect_read(b, (const int[N_WORKERS]){ 0, 3, 2 });
    }
    close_bench(b);
}

/* Who pushes again, in whatever slot, or is lost, has ended what it held: V2. Else updates are in place: V1. */
UNIT_TEST(what_nobody_holds_is_changed_in_place_V1_V2)
{
    struct bench *b = open_bench(&async);
    const float *first = server_param(b->server[0], LONG);

    push(b, 0, 0, LONG, 0);
    push(b, 0, 5, LONG, 1);
    assert_int_equal(b->n_ended, 1);
    assert_null(b->reply[0][0]);
    assert_ptr_equal(b->reply[0][5], first);
    assert_int_equal(n_held(b), 1);
    push(b, 0, 5, SHORT, 0); /* the slot, and with it the version of LONG */
    assert_int_equal(n_held(b), 0);
    push(b, 1, 0, LONG, 0);
    assert_ptr_equal(b->reply[1][0], first);
    push(b, 2, 0, LONG, 0);
    assert_ptr_not_equal(b->reply[2][0], first);
    assert_int_equal(n_held(b), 2);
    server_drop_now(b->server[0], 1);
    assert_int_equal(n_held(b), 1);
    push(b, 0, 0, LONG, 2);
    assert_ptr_equal(b->reply[0][0], first); /* again */
    assert_int_equal(n_held(b), 2);
    close_bench(b);
}

/* Where nothing is sent from where it is, or nobody pushes before all have read, there is one version. */
UNIT_TEST(others_have_one_version_V2)
{
    const struct terms one[] = { { { CONSISTENCY_ASYNC, 0 }, TR_COPIES, NULL }, { { CONSISTENCY_SYNC, 0 }, 0, NULL } };
    const struct terms some = { { CONSISTENCY_ASYNC, 0 }, TR_COPIES, sends_long_lent };

    for (int i = 0; i < 2; i++) {
        struct bench *b = open_bench(&one[i]);
        assert_int_equal(b->server[0]->versions.n_others, 0);
        for (int w = 0; w < N_WORKERS; w++)
            push(b, w, 0, LONG, 0);
        for (int w = 0; w < N_WORKERS; w++)
            assert_ptr_equal(b->reply[w][0], b->server[0]->param);
        close_bench(b);
    }
    struct bench *b = open_bench(&some);
    for (int w = 0; w < N_WORKERS; w++) {
        push(b, w, 0, SHORT, 0);
        expect_update(b, w, w, SHORT);
        assert_ptr_equal(b->reply[w][0], b->server[0]->param + N_LONG);
    }
    expect_slice(b);
    close_bench(b);
}

/* Chunks in different versions are whole in what worker 0 looks at. */
UNIT_TEST(a_slice_is_gathered)
{
    const struct ps_header look = { .op = PS_LOOK };
    struct arrival a = { .message.peer = 0, .worker = 0 };
    struct bench *b = open_bench(&async);

    slow_reader(b);
    for (int w = 1; w < N_WORKERS; w++) {
        push(b, w, 6, SHORT, 0);
        expect_update(b, w, w, SHORT);
    }
    assert_int_not_equal(b->server[0]->chunk[LONG].version, b->server[0]->chunk[SHORT].version);
    assert_int_equal(server_serve(b->server[0], &a, &look), RC_OK);
    assert_memory_equal(b->reply[0][0], b->param, sizeof b->param);
    assert_memory_equal(b->reply[0][0] + N_SLICE, b->velocity, sizeof b->velocity);
    close_bench(b);
}

static uint64_t test_now_ns;

static uint64_t tell_test_clock(struct world *w)
{
    (void)w;
    return test_now_ns;
}

/* Each push is seen after its transit, and served at now_ns. A server that waited for it saw it arrive, however long
 * that took: transit is no wait. A busy server saw it late: it came after the least transit so far. */
UNIT_TEST(a_push_waits_from_its_arrival_on)
{
    static const struct {
        int worker;
        uint32_t step;
        uint64_t sent_ns, arrived_ns, seen_ns; /* arrived: as the transport tells; 0: it does not */
        bool was_awaited;
        uint64_t now_ns, queue_ns;
    } pushes[] = {
        { 0, 0, 999000, 0, 999100, false, 1000000, 900 },        /* transit 100, the least so far */
        { 1, 0, 1000100, 0, 1000700, true, 1000750, 50 },        /* 600, to an idle server */
        { 2, 0, 1000800, 0, 1002000, false, 1002500, 1600 },     /* 1200, to a busy one: came after 100 */
        { 0, 1, 1002600, 1002700, 1003000, true, 1003100, 400 }, /* the transport knows */
        { 1, 1, 1004000, 0, 1004040, false, 1004300, 260 },      /* 40: now the least */
        { 2, 1, 1004500, 0, 1005000, false, 1005100, 560 },
        { 0, 2, 1006200, 0, 1006000, false, 1006300, 300 }, /* sent later than seen: clocks differ a little */
        { 1, 2, 1007000, 0, 1007500, false, 1007600, 600 }, /* the least is 0 then */
    };
    struct bench *b = open_bench(&async);
    struct world_ops ops = *b->world[0].ops;

    ops.now_ns = tell_test_clock;
    for (int i = 0; i < N_SERVERS; i++)
        b->world[i].ops = &ops;
    for (size_t i = 0; i < sizeof pushes / sizeof *pushes; i++) {
        const struct ps_header h = {
            .op = PS_PUSH, .n_elems = N_SHORT, .chunk = SHORT, .step = pushes[i].step, .sent_ns = pushes[i].sent_ns
        };
        struct arrival a = { .message = { .ptr = b->grad[0],
                                          .n_bytes = N_SHORT * sizeof(float),
                                          .peer = pushes[i].worker,
                                          .arrived_ns = pushes[i].arrived_ns },
                             .worker = pushes[i].worker,
                             .seen_ns = pushes[i].seen_ns,
                             .was_awaited = pushes[i].was_awaited };
        test_now_ns = pushes[i].now_ns;
        assert_int_equal(server_serve(b->server[0], &a, &h), RC_OK);
        assert_int_equal(b->server[0]->client[pushes[i].worker].request[0].answer.queue_ns, pushes[i].queue_ns);
    }
    close_bench(b);
}

UNIT_MAIN("version")
