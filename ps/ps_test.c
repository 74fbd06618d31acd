/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ps_test.c - wire format (P1, fuzzed), a server that meets workers who break the rules, and the loss of ranks.
 * ps_test.c loss - the loss of a worker that others wait for.
 */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/rng.h"
#include "harness/base/suite/unit.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"
#include "ps/layout.h"
#include "ps/ps.h"
#include "ps/server.h"
#include "ps/suite/ps_rank.h"
#include "ps/wire.h"

UNIT_TEST(headers_round_trip)
{
    const struct ps_header h = { .op = PS_PARAMS,
                                 .n_elems = 3,
                                 .is_last = true,
                                 .clock = UINT64_MAX,
                                 .staleness = 7,
                                 .next = 0x90a0b0c0,
                                 .queue_ns = 1,
                                 .held_ns = 77,
                                 .chunk = 0x01020304,
                                 .step = 0x05060708,
                                 .apply_ns = UINT64_C(1) << 40 };
    const struct ps_header taken = { .op = PS_TAKEN, .staleness = 4, .step = 6, .held_ns = 8 };
    const struct ps_header push = { .op = PS_PUSH,
                                    .lr = 0.25f,
                                    .sent_ns = 5,
                                    .n_elems = 9,
                                    .form = PS_PAIRS,
                                    .n_pairs = 3,
                                    .layout = UINT64_C(0x1122334455667788) };
    unsigned char bytes[PS_HEADER_BYTES + 12] = { 0 };
    struct ps_header back;
    enum refused why;

    ps_header_encode(bytes, &h);
    assert_memory_equal(bytes, "GMPS", 4);
    assert_int_equal(ps_header_decode(&back, bytes, sizeof bytes, 0, &why), RC_OK);
    assert_int_equal(ps_header_decode(&back, bytes, PS_HEADER_BYTES, 12, &why), RC_OK);
    assert_true(back.op == h.op && back.n_elems == 3 && back.is_last && back.lr == 0 && back.clock == h.clock);
    assert_true(back.next == 0x90a0b0c0 && bytes[28] == 0xc0);
    assert_true(back.staleness == 7 && back.queue_ns == 1 && back.held_ns == 77 && back.apply_ns == h.apply_ns);
    assert_int_equal(back.sent_ns, 0);
    assert_int_equal(back.chunk, h.chunk);
    assert_int_equal(back.step, h.step);
    assert_int_equal(bytes[56], 4); /* little-endian */
    assert_int_equal(bytes[60], 8);
    ps_header_encode(bytes, &push);
    assert_int_equal(ps_header_decode(&back, bytes, PS_HEADER_BYTES, 24, &why), RC_OK);
    assert_true(back.sent_ns == 5 && back.held_ns == 0 && back.staleness == 0 && back.next == 0);
    assert_true(back.form == PS_PAIRS && back.n_pairs == 3 && back.n_elems == 9 && back.lr == 0.25f && !back.is_last);
    assert_true(back.layout == UINT64_C(0x1122334455667788) && back.queue_ns == 0 && back.why == NOT_REFUSED);
    assert_int_equal(back.batch, 0);
    bytes[43] = 0xff; /* of PUSH alone: a batch, + 1 */
    assert_int_equal(ps_header_decode(&back, bytes, PS_HEADER_BYTES, 24, &why), RC_OK);
    assert_true(back.batch == UINT64_C(0xff000000) && back.apply_ns == 0);
    bytes[43] = 0;
    bytes[6] = PS_GIVE; /* as a PUSH */
    assert_int_equal(ps_header_decode(&back, bytes, PS_HEADER_BYTES, 24, &why), RC_OK);
    assert_true(back.op == PS_GIVE && back.sent_ns == 5 && back.n_pairs == 3);
    ps_header_encode(bytes, &taken);
    assert_int_equal(ps_header_decode(&back, bytes, PS_HEADER_BYTES, 0, &why), RC_OK);
    assert_true(back.op == PS_TAKEN && back.staleness == 4 && back.step == 6 && back.held_ns == 8 && back.n_elems == 0);
    assert_false(back.is_last);
    ps_header_encode(bytes, &(struct ps_header){ .op = PS_LATE, .staleness = UINT64_MAX, .next = 5 });
    assert_int_equal(ps_header_decode(&back, bytes, PS_HEADER_BYTES, 0, &why), RC_OK);
    assert_true(back.staleness == UINT32_MAX && back.next == 5); /* as much as there is room for */
    bytes[12] = 2;
    assert_int_equal(ps_header_decode(&back, bytes, PS_HEADER_BYTES, 0, &why), RC_MISMATCH);
    assert_non_null(strstr(rc_message(), "is_last is 2"));
    ps_header_encode(bytes, &(struct ps_header){ .op = PS_PULL, .step = 1 });
    assert_int_equal(ps_header_decode(&back, bytes, PS_HEADER_BYTES, 0, &why), RC_MISMATCH);
    assert_non_null(strstr(rc_message(), "which has none"));
    ps_header_encode(bytes, &(struct ps_header){
                                .op = PS_REFUSED, .why = REFUSED_REPLAYED, .step = 8, .queue_ns = 4, .is_last = true });
    assert_int_equal(ps_header_decode(&back, bytes, PS_HEADER_BYTES, 0, &why), RC_OK);
    assert_true(back.op == PS_REFUSED && back.why == REFUSED_REPLAYED && back.step == 8 && back.staleness == 0);
    assert_true(back.queue_ns == 4 && back.layout == 0 && back.is_last && back.lr == 0);
    ps_header_encode(bytes, &(struct ps_header){ .op = PS_NEXT, .clock = 8, .layout = 9 });
    assert_int_equal(ps_header_decode(&back, bytes, PS_HEADER_BYTES, 0, &why), RC_OK);
    assert_true(ps_op_is_request(back.op) && back.op == PS_NEXT && back.clock == 8 && back.layout == 9);
    bytes[40] = 1;
    assert_int_equal(ps_header_decode(&back, bytes, PS_HEADER_BYTES, 0, &why), RC_MISMATCH);
    assert_non_null(strstr(rc_message(), "how long applying took"));
    ps_header_encode(bytes, &(struct ps_header){ .op = PS_BATCH, .clock = 7, .is_last = true });
    assert_int_equal(ps_header_decode(&back, bytes, PS_HEADER_BYTES, 0, &why), RC_OK);
    assert_true(back.op == PS_BATCH && back.clock == 7 && back.is_last && !ps_op_is_request(back.op));
}

UNIT_TEST(every_wrong_field_is_named_P1)
{
    static const struct {
        int at;
        unsigned char value;
        const char *says;
        enum refused why;
    } wrong[] = { { 0, 'X', "magic", REFUSED_MALFORMED },
                  { 4, 3, "version", REFUSED_VERSION },
                  { 4, 6, "version 6, this program speaks 14", REFUSED_VERSION },
                  { 6, 0, "op", REFUSED_MALFORMED },
                  { 6, PS_COPY + 1, "op", REFUSED_MALFORMED },
                  { 8, 4, "carries", REFUSED_TRUNCATED },
                  { 8, 2, "carries", REFUSED_OVERSIZED },
                  { 15, 0x7f, "rate", REFUSED_MALFORMED },
                  { 6, PS_REFUSED, "reason 0", REFUSED_MALFORMED },
                  { 24, 1, "carries", REFUSED_OVERSIZED },
                  { 24, 4, "form 4", REFUSED_MALFORMED },
                  { 28, 1, "1 pairs", REFUSED_MALFORMED },
                  { 44, 1, "how long applying took", REFUSED_MALFORMED } };
    const struct ps_header h = { .op = PS_PUSH, .n_elems = 3, .lr = INFINITY };
    const struct ps_header right = { .op = PS_PUSH, .n_elems = 3, .lr = 1.0f };
    unsigned char bytes[PS_HEADER_BYTES + 12] = { 0 };
    struct ps_header back;
    enum refused why;

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ps_header_encode(bytes, wrong[i].at == 15 ? &h : &right);
        if (wrong[i].at != 15)
            bytes[wrong[i].at] = wrong[i].value;
        assert_int_equal(ps_header_decode(&back, bytes, sizeof bytes, 0, &why), RC_MISMATCH);
        if (!strstr(rc_message(), wrong[i].says))
            fail_msg("\"%s\" does not say %s", rc_message(), wrong[i].says);
        assert_int_equal(why, wrong[i].why);
    }
    for (uint32_t n_moments = 1; n_moments <= 3; n_moments++) { /* a state of 3 parameters, and no other arrays */
        ps_header_encode(bytes, &(struct ps_header){ .op = PS_STATE, .n_elems = 3, .n_moments = n_moments });
        assert_int_equal(ps_header_decode(&back, bytes, sizeof bytes, 0, &why), RC_MISMATCH);
        assert_non_null(strstr(rc_message(), n_moments > 2 ? "a state of 3 arrays" : "carries"));
        assert_int_equal(ps_header_decode(&back, bytes, sizeof bytes, 12 * n_moments, &why),
                         n_moments > 2 ? RC_MISMATCH : RC_OK);
    }
    ps_header_encode(bytes, &(struct ps_header){ .op = PS_FETCH, .step = 0x100 });
    assert_int_equal(ps_header_decode(&back, bytes, PS_HEADER_BYTES, 0, &why), RC_MISMATCH);
    assert_non_null(strstr(rc_message(), "step 256 of op 2, which has none"));
    ps_header_encode(bytes, &right);
    for (size_t n = 0; n < sizeof bytes; n++)
        assert_int_equal(ps_header_decode(&back, bytes, n, 0, &why), RC_MISMATCH);
}

/* Of a request that is forwarded: a worker cannot send such a one itself. */
UNIT_TEST(forwards_say_whose_they_are)
{
    const struct ps_header push = { .op = PS_GIVE, .n_elems = 3, .lr = 1.0f, .step = 9, .layout = 77, .batch = 5 };
    unsigned char bytes[PS_HEADER_BYTES];
    struct ps_header back;
    enum refused why;
    struct ps_mark mark;

    ps_header_encode(bytes, &push);
    ps_forward_mark(bytes, &(struct ps_mark){ 0x10203, 7, 0x1234 });
    assert_int_equal(ps_header_decode(&back, bytes, sizeof bytes, 12, &why), RC_OK);
    assert_int_not_equal(back.layout, 77); /* so a worker that sends it has another model */
    assert_int_equal(ps_forward_unmark(bytes, &mark), RC_OK);
    assert_true(mark.worker == 0x10203 && mark.slot == 7 && mark.slice == 0x1234);
    assert_int_equal(ps_header_decode(&back, bytes, sizeof bytes, 12, &why), RC_OK);
    assert_true(back.op == PS_GIVE && back.n_elems == 3 && back.step == 9 && back.batch == 5 && back.layout == 0);
    assert_int_equal(ps_forward_unmark(bytes, &mark), RC_MISMATCH);
    ps_header_encode(bytes, &(struct ps_header){ .op = PS_COPY, .n_elems = 3, .chunk = 2, .clock = 9 });
    ps_forward_mark(bytes, &(struct ps_mark){ 0, 0, 3 });
    assert_int_equal(ps_forward_unmark(bytes, &mark), RC_OK);
    assert_int_equal(ps_header_decode(&back, bytes, sizeof bytes, 12, &why), RC_OK);
    assert_true(back.op == PS_COPY && back.chunk == 2 && back.clock == 9 && mark.slice == 3 && mark.worker == 0);
    assert_false(ps_op_is_request(PS_COPY));
    ps_header_encode(bytes, &(struct ps_header){ .op = PS_HELD, .clock = UINT64_C(1) << 40 });
    assert_int_equal(ps_header_decode(&back, bytes, sizeof bytes, 0, &why), RC_OK);
    assert_true(back.op == PS_HELD && back.clock == UINT64_C(1) << 40 && !ps_op_is_request(back.op));
    assert_false(ps_op_is_request(PS_LOST));
}

/* Any bytes of any length: an answer, never a read past the end (the sanitizers judge). */
UNIT_TEST(any_bytes_are_decoded_or_refused_P1)
{
    const struct ps_header right = { .op = PS_PUSH, .n_elems = 3, .lr = 1.0f };

    for (uint64_t i = 0; i < 20000; i++) {
        const size_t n_bytes = rng_u64(1, RNG_TEST, 4 * i) % 90;
        unsigned char *bytes = malloc(n_bytes + 1), whole[PS_HEADER_BYTES + 12] = { 0 };
        struct ps_header back;
        enum refused why;
        assert_non_null(bytes);
        ps_header_encode(whole, &right);
        for (size_t k = 0; k < n_bytes; k++)
            bytes[k] = k < sizeof whole ? whole[k] : 0;
        for (int change = 0; change < 2 && n_bytes > 0; change++)
            bytes[rng_u64(1, RNG_TEST, 4 * i + 1) % n_bytes] ^=
                (unsigned char)rng_u64(2, RNG_TEST, 4 * i + (uint64_t)change);
        const enum rc rc = ps_header_decode(&back, bytes, n_bytes, 0, &why);
        assert_true((rc == RC_OK) == (why == NOT_REFUSED));
        assert_true(rc == RC_OK || rc == RC_MISMATCH);
        free(bytes);
    }
}

UNIT_TEST(slices_that_no_message_can_carry_are_refused)
{
    const struct segment huge = { 0, ((size_t)2 << 32) + 2 };
    const struct sync_env env = { .n_workers = 1, .n_servers = 2 };
    struct sync_env with_plan = env;
    struct buckets buckets = { 0 };
    struct placement placement = { 0 };
    struct sync *sync = NULL;

    assert_int_equal(buckets_open(&buckets, &huge, 1, &(struct bucket_opts){ 0, (uint64_t)1 << 32 }), RC_OK);
    assert_int_equal(placement_open(&placement, &(struct placement_opts){ PLACEMENT_SPLIT, 0 }, &huge, 1, 2), RC_OK);
    with_plan.buckets = &buckets;
    with_plan.placement = &placement;
    assert_int_equal(sync_ps.open(&sync, &with_plan), RC_INVAL);
    assert_non_null(strstr(rc_message(), "a server would hold 4294967297 parameters"));
    assert_null(sync);
    buckets_close(&buckets);
    placement_close(&placement);
}

/* Ranks 0 to 2 are workers, the rest servers; parameters 1 2 3 4, rate 1, no momentum, so that a push of ones takes 1
 * from each. */
enum { N_LOSS_WORKERS = 3, N_LOSS_PARAMS = 4, LOSS_PAUSE_NS = 20000000 };

struct loss_case {
    const char *transport;
    int n_servers, dies;
    bool workers_wait; /* they send nothing, until the run ends */
    bool owes_reply;  /* the worker that dies has pushed, and does not take the answer; else it has pushed and pulled */
    bool dies_unseen; /* it has pushed nothing, and dies when the others have begun; worker 2 pushes at once, and waits
                       */
    struct consistency consistency;
    float fetched[N_LOSS_PARAMS];
    int server_timeout_ms;      /* 0: long */
    uint64_t step_ns, n_pauses; /* as the server is told; of workers before they leave, in slow_body() */
};

static enum rc loss_rank_open(struct ps_rank *r, const struct loss_case *c)
{
    const float param[N_LOSS_PARAMS] = { 1, 2, 3, 4 };
    const struct segment segment = { 0, N_LOSS_PARAMS };
    const struct bucket_opts one_bucket = { 0 };
    const struct transport_ops *transport = NULL;
    enum rc rc;

    TRY(transport_find(&transport, c->transport));
    TRY(compute_open(&r->compute, &compute_cpu, &(struct compute_env){ 0 }));
    TRY(buckets_open(&r->buckets, &segment, 1, &one_bucket));
    TRY(placement_open(&r->placement, &(struct placement_opts){ PLACEMENT_SPLIT, 0 }, &segment, 1, c->n_servers));
    TRY(transport_open(&r->transport, transport, r->w));
    const struct sync_env env = { .world = r->w,
                                  .compute = r->compute,
                                  .transport = r->transport,
                                  .buckets = &r->buckets,
                                  .placement = &r->placement,
                                  .consistency = c->consistency,
                                  .n_workers = N_LOSS_WORKERS,
                                  .n_servers = c->n_servers,
                                  .slice_param = c->n_servers > 1 && r->w->rank > N_LOSS_WORKERS ? param + 2 : param,
                                  .timeout_ms = r->w->rank >= N_LOSS_WORKERS && c->server_timeout_ms > 0
                                                    ? c->server_timeout_ms
                                                    : 120000 };
    TRY(sync_ps.open(&r->sync, &env));
out:
    return rc;
}

/* Send a push of ones, whose answer is not taken. The send ends when the server has served it, which may be never where
 * it keeps the gradient: then it is left to itself, with its memory. */
static enum rc push_alone(struct ps_rank *r, bool is_kept)
{
    const size_t n_bytes = PS_HEADER_BYTES + N_LOSS_PARAMS * sizeof(float);
    const struct ps_header h = {
        .op = PS_PUSH, .n_elems = N_LOSS_PARAMS, .lr = 1.0f, .layout = ps_layout_digest(&r->sync->env, 0)
    };
    float *message = malloc(n_bytes);
    struct xfer *tx = calloc(1, sizeof *tx);
    enum rc rc;

    if (!message || !tx)
        FAIL(RC_NOMEM, "no memory for a push");
    ps_header_encode(message, &h);
    for (size_t i = 0; i < N_LOSS_PARAMS; i++)
        message[PS_HEADER_BYTES / sizeof(float) + i] = 1;
    *tx = (struct xfer){ .peer = N_LOSS_WORKERS, .tag = PS_TAG_REQUEST, .ptr = message, .n_bytes = n_bytes };
    TRY(transport_send(r->transport, tx));
    if (is_kept) {
        world_pause(r->w, LOSS_PAUSE_NS); /* until it is there */
        return RC_OK;
    }
    TRY(transport_wait(r->transport, tx, 120000));
out:
    free(tx);
    free(message);
    return rc;
}

static enum rc push_and_pull(struct ps_rank *r, float ones, float *param)
{
    float grad[N_LOSS_PARAMS] = { ones, ones, ones, ones };
    struct chunk_cost cost = { 0 };

    return ps_push_pull(r->sync, 1.0f, param, grad, &cost);
}

static void await_loss(struct world *w, int rank)
{
    while (!world_is_lost(w, rank) && world_check(w) == RC_OK)
        world_pause(w, 1000000);
}

/* The rank that dies pushes ones before; worker 2, when it is lost, twos; worker 0 fetches what is there at the end. */
static enum rc loss_body(struct world *w, void *arg)
{
    struct loss_case *c = arg;
    struct ps_rank r = { .w = w };
    const bool is_kept = c->consistency.kind == CONSISTENCY_SYNC && c->owes_reply;
    float param[N_LOSS_PARAMS] = { 0 };
    enum rc rc;

    TRY(loss_rank_open(&r, c));
    TRY(world_barrier(w));
    if (w->rank == c->dies && c->dies_unseen)
        world_pause(w, LOSS_PAUSE_NS);
    else if (w->rank == c->dies && w->rank < N_LOSS_WORKERS)
        TRY(c->owes_reply ? push_alone(&r, is_kept) : push_and_pull(&r, 1, param));
    if (w->rank == c->dies) {
        if (!is_kept) /* else what is sent is still lent */
            ps_rank_close(&r);
        world_die(w);
    }
    if (w->rank >= N_LOSS_WORKERS) {
        TRY(sync_ps.servers->serve(r.sync, c->step_ns));
        goto out;
    }
    while (c->workers_wait && (rc = world_check(w)) == RC_OK)
        world_pause(w, 1000000);
    TRY(rc);
    if (w->rank == 2) {
        if (!c->dies_unseen)
            await_loss(w, c->dies);
        TRY(push_and_pull(&r, 2, param));
    }
    TRY(sync_ps.servers->final(r.sync, param, NULL));
    if (w->rank == 0)
        memcpy(c->fetched, param, sizeof param);
out:
    if (rc != RC_OK)
        world_abort(w, rc);
    ps_rank_close(&r);
    return rc;
}

static enum rc run_losing(struct loss_case *c)
{
    const struct world_ops *threads = NULL;
    const struct world_opts opts = { .on_loss = ON_LOSS_REPORT };

    assert_int_equal(world_find(&threads, "threads"), RC_OK);
    return world_run(threads, &opts, N_LOSS_WORKERS + c->n_servers, loss_body, c);
}

/* FETCH is answered when the others have left or are lost; what the lost one had pushed counts. */
UNIT_TEST(a_lost_worker_is_dropped)
{
    const float left[N_LOSS_PARAMS] = { 1 - 3, 2 - 3, 3 - 3, 4 - 3 };
    struct loss_case cases[] = {
        { .transport = "inproc", .n_servers = 1, .dies = 1 },
        { .transport = "inproc", .n_servers = 1, .dies = 1, .owes_reply = true },
        { .transport = "inproc", .n_servers = 2, .dies = 1 },
        { .transport = "zmq", .n_servers = 1, .dies = 1 },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (run_losing(&cases[i]) != RC_OK)
            fail_msg("case %zu: %s", i, rc_message());
        assert_memory_equal(cases[i].fetched, left, sizeof left);
    }
}

/* Nobody waits for it any more (clocks.Q4); what is kept of it is dropped, and the round is one of those left. */
UNIT_TEST_OF("loss", a_lost_worker_holds_up_nobody)
{
    const float by_both[N_LOSS_PARAMS] = { -2, -1, 0, 1 }, by_one[N_LOSS_PARAMS] = { -1, 0, 1, 2 };

    for (int i = 0; i < 8; i += i == 0 ? 2 : 1) { /* over zmq a push may be lost with its worker */
        struct loss_case c = { .transport = i % 2 ? "zmq" : "inproc", .n_servers = 1, .dies = 1 };
        c.consistency.kind = i / 2 % 2 ? CONSISTENCY_SYNC : CONSISTENCY_SSP;
        c.owes_reply = !(c.dies_unseen = i >= 4);
        if (run_losing(&c) != RC_OK)
            fail_msg("case %d: %s", i, rc_message());
        assert_memory_equal(c.fetched, i < 2 ? by_both : by_one, sizeof by_one);
    }
}

/* A server's parameters are lost with it. */
UNIT_TEST(a_lost_server_ends_the_run)
{
    for (int i = 0; i < 3; i++) { /* the workers notice it, or, the last time, the other server alone can */
        struct loss_case c = { .transport = "inproc", .n_servers = i < 1 ? 1 : 2, .dies = 3, .workers_wait = i == 2 };
        assert_int_equal(run_losing(&c), RC_PEER);
        if (!strstr(rc_message(), "rank 3 was lost: ended before its work was done"))
            fail_msg("\"%s\" does not name rank 3", rc_message());
    }
}

/* Workers that are silent for so many pauses, or until the server ends the run, and then leave. */
static enum rc slow_body(struct world *w, void *arg)
{
    struct loss_case *c = arg;
    struct ps_rank r = { .w = w };
    float param[N_LOSS_PARAMS];
    enum rc rc;

    TRY(loss_rank_open(&r, c));
    if (w->rank >= N_LOSS_WORKERS)
        TRY(sync_ps.servers->serve(r.sync, c->step_ns));
    else {
        for (uint64_t i = 0; i < c->n_pauses && (rc = world_check(w)) == RC_OK; i++)
            world_pause(w, LOSS_PAUSE_NS);
        TRY(sync_ps.servers->final(r.sync, param, NULL));
    }
out:
    if (rc != RC_OK)
        world_abort(w, rc);
    ps_rank_close(&r);
    return rc;
}

/* A server waits for messages as long as steps take, where that is longer than the limit. */
UNIT_TEST(silence_follows_the_measured_step)
{
    const struct world_ops *threads = NULL;
    const struct world_opts opts = { .bind_cores = false };
    struct loss_case c = { .transport = "inproc", .n_servers = 1, .server_timeout_ms = 20, .n_pauses = UINT64_MAX };

    assert_int_equal(ps_server_silence_ms(240000, 6000), 240000);
    assert_int_equal(ps_server_silence_ms(240000, UINT64_C(12000000000)), 240000);
    assert_int_equal(ps_server_silence_ms(240000, UINT64_C(13000000000)), 260000);
    assert_int_equal(ps_server_silence_ms(0, UINT64_C(13000000000)), 0);
    assert_int_equal(ps_server_silence_ms(240000, UINT64_MAX / 2), INT_MAX);
    assert_int_equal(world_find(&threads, "threads"), RC_OK);
    assert_int_equal(world_run(threads, &opts, N_LOSS_WORKERS + 1, slow_body, &c), RC_TIMEOUT);
    assert_non_null(strstr(rc_message(), "no message from any rank after 20 ms"));
    /* 6 s of silence of the 20 that are allowed. An answer has 5 s to be taken, long enough without a core. */
    c.server_timeout_ms = 5000;
    c.step_ns = 1000000000;
    c.n_pauses = UINT64_C(6000000000) / LOSS_PAUSE_NS;
    assert_int_equal(world_run(threads, &opts, N_LOSS_WORKERS + 1, slow_body, &c), RC_OK);
}

UNIT_MAIN("ps")
