/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copy_test.c [N] - a slice that is copied to a new heir (copy.h): the heir has all that the holder has, to the bit, so
 * that its own copy is the same; and of N copies with a byte, a length, or a part that is not right, each part is taken
 * or refused, and nothing is read past a message's end or left behind (Y4; the sanitizers judge).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/base/rng.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"
#include "ps/layout.h"
#include "ps/ps.h"
#include "ps/recovery/copy.h"
#include "ps/recovery/replica.h"
#include "ps/server.h"
#include "ps/server_state.h"
#include "ps/suite/ps_rank.h"

enum { N_WORKERS = 3, N_SERVERS = 3, N_PARAMS = 24, N_CHUNKS = 2, MOST_PARTS = 16, MOST_BYTES = 4096, HEIR = 2 };

struct part {
    unsigned char head[PS_HEADER_BYTES];
    unsigned char body[MOST_BYTES];
    size_t n_bytes;
};

struct bench {                  /* servers of one process, which never run: what they send is kept, or dropped */
    struct transport transport; /* first: as ops see it */
    struct world world[N_SERVERS];
    struct ps_rank rank;
    struct sync_env env;
    float param[N_PARAMS];
    struct part part[MOST_PARTS]; /* forwards, as they were sent */
    int n_parts, n_held, n_lent;
};

/* --- a transport that keeps what is sent --- */

static enum rc keep_sent(struct transport *t, struct xfer *x)
{
    struct bench *b = (struct bench *)t;
    struct part *part = &b->part[b->n_parts];

    b->n_held += x->tag == PS_TAG_HELD;
    if (x->tag != PS_TAG_FORWARD)
        return RC_OK;
    assert_true(b->n_parts < MOST_PARTS && x->n_bytes <= MOST_BYTES);
    memcpy(part->head, x->head, sizeof part->head);
    if (x->n_bytes > 0)
        memcpy(part->body, x->ptr, x->n_bytes);
    part->n_bytes = x->n_bytes;
    b->n_parts++;
    return RC_OK;
}

static enum rc end_at_once(struct transport *t, struct xfer *x, int timeout_ms)
{
    (void)t, (void)x, (void)timeout_ms;
    return RC_OK;
}

static void free_message(struct transport *t, struct message *m)
{
    ((struct bench *)t)->n_lent--;
    free(m->priv);
}

static const struct transport_ops TRANSPORT = {
    .module.name = "bench", .post_send = keep_sent, .complete = end_at_once, .release = free_message
};

/* As if `peer` had sent it; in memory of its own length, so that a sanitizer sees each byte too many. */
static struct message message_of(struct bench *b, int peer, const struct part *part)
{
    unsigned char *bytes = NULL;

    assert_int_equal(posix_memalign((void **)&bytes, 16, PS_HEADER_BYTES + part->n_bytes), 0);
    memcpy(bytes, part->head, PS_HEADER_BYTES);
    memcpy(bytes + PS_HEADER_BYTES, part->body, part->n_bytes);
    b->n_lent++;
    return (struct message){ .head = bytes,
                             .n_head_bytes = PS_HEADER_BYTES,
                             .ptr = bytes + PS_HEADER_BYTES,
                             .n_bytes = part->n_bytes,
                             .peer = peer,
                             .tag = PS_TAG_FORWARD,
                             .priv = bytes };
}

/* --- servers --- */

static void tell_nobody(void *arg, const char *line)
{
    (void)arg, (void)line;
}

static void open_bench(struct bench *b, enum consistency_kind kind, bool is_elastic)
{
    const struct segment segment[N_CHUNKS] = { { 0, 14 }, { 14, 10 } };
    const struct bucket_opts each = { sizeof(float), 0 };
    const struct world_ops *threads = NULL;

    memset(b, 0, sizeof *b);
    for (int i = 0; i < N_PARAMS; i++)
        b->param[i] = (float)i;
    assert_int_equal(world_find(&threads, "threads"), RC_OK);
    assert_int_equal(compute_open(&b->rank.compute, &compute_cpu, &(struct compute_env){ 0 }), RC_OK);
    assert_int_equal(buckets_open(&b->rank.buckets, segment, N_CHUNKS, &each), RC_OK);
    assert_int_equal(placement_open(&b->rank.placement, &(struct placement_opts){ PLACEMENT_SPLIT, 0 }, segment,
                                    N_CHUNKS, N_SERVERS),
                     RC_OK);
    for (int i = 0; i < N_SERVERS; i++)
        b->world[i] = (struct world){ .ops = threads, .rank = N_WORKERS + i, .n_ranks = N_WORKERS + N_SERVERS };
    b->transport.ops = &TRANSPORT;
    b->env = (struct sync_env){ .compute = b->rank.compute,
                                .transport = &b->transport,
                                .buckets = &b->rank.buckets,
                                .placement = &b->rank.placement,
                                .consistency = { kind, kind == CONSISTENCY_SSP ? 2 : 0 },
                                .optimizer = optimizer_sgd(0.5, 0),
                                .n_workers = N_WORKERS,
                                .n_servers = N_SERVERS,
                                .n_replicas = 1,
                                .n_steps = 9,
                                .stop_at = kind == CONSISTENCY_ASYNC && !is_elastic ? 9 : 0,
                                .n_batches = is_elastic ? 9 : 0,
                                .slice_param = b->param,
                                .before_param = b->param,
                                .tell = tell_nobody };
}

static struct ps_server *open_server(struct bench *b, int i)
{
    struct sync_env env = b->env;
    struct ps_server *s = NULL;

    env.world = &b->world[i];
    b->transport.world = &b->world[i];
    if (ps_server_open(&s, &env) != RC_OK)
        fail_msg("%s", rc_message());
    s->recovery->chain.is_on = false; /* its heir was lost */
    return s;
}

static void close_server(struct ps_server **s)
{
    for (int i = 0; i < (*s)->n_here; i++)
        for (int w = 0; w < N_WORKERS; w++)
            server_forget((*s)->here[i], w, false);
    ps_server_close(s);
}

static void close_bench(struct bench *b)
{
    assert_int_equal(b->n_lent, 0);
    placement_close(&b->rank.placement);
    buckets_close(&b->rank.buckets);
    compute_close(&b->rank.compute);
}

/* Of the slice's first chunk that has any elements. */
static void push(struct bench *b, struct ps_server *s, int worker, uint32_t slot, uint32_t step)
{
    uint32_t k = 0;
    struct part part = { .n_bytes = 0 };

    while (s->chunk[k].part.n_elems == 0)
        k++;
    const uint32_t n = (uint32_t)s->chunk[k].part.n_elems;
    struct ps_header h = { .op = PS_PUSH, .n_elems = n, .chunk = k, .step = step, .lr = 0.25f };
    if (server_is_elastic(s)) /* of what it has ahead, but for its first one */
        h.batch = 1 + (step > 0 ? s->recovery->leases.ahead[worker] : s->recovery->leases.of[worker]);
    for (uint32_t i = 0; i < n; i++)
        memcpy(part.body + i * sizeof(float), &(float){ (float)(worker + 1) * (float)(i + step) }, sizeof(float));
    part.n_bytes = n * sizeof(float);
    ps_header_encode(part.head, &h);
    struct arrival a = { .message = message_of(b, worker, &part), .worker = worker, .slot = slot };
    assert_int_equal(server_serve(s, &a, &h), RC_OK);
    assert_int_equal(server_settle_all(s), RC_OK);
    transport_release(&b->transport, &a.message); /* where it was not kept */
}

/* In the middle of a step: worker 1 has pushed once more than worker 0, worker 2 is lost. */
static struct ps_server *open_holder(struct bench *b)
{
    struct ps_server *s = open_server(b, 0);

    for (int w = 0; w < N_WORKERS; w++)
        push(b, s, w, (uint32_t)w, 0);
    server_drop_now(s, 2);
    assert_int_equal(server_settle_all(s), RC_OK);
    push(b, s, 1, 5, 1);
    return s;
}

/* All parts of the copy to server `heir` into b->part. */
static void copy_out(struct bench *b, struct ps_server *s, int heir)
{
    b->n_parts = 0;
    b->transport.world = (struct world *)(uintptr_t)s->env.world;
    if (copy_begin(s, heir) != RC_OK)
        fail_msg("%s", rc_message());
}

static enum rc deliver(struct bench *b, struct ps_server *heir, const struct part *part, enum refused *why)
{
    struct message m = message_of(b, N_WORKERS, part);

    b->transport.world = &b->world[HEIR];
    return replica_take_forward(heir, &m, why);
}

static const struct {
    enum consistency_kind kind;
    int n_kept; /* gradients in the copy */
    bool is_elastic;
} cases[] = { { CONSISTENCY_ASYNC, 0, false },
              { CONSISTENCY_SSP, 0, false },
              { CONSISTENCY_SYNC, 1, false },
              { CONSISTENCY_ASYNC, 0, true } };
enum { N_CASES = sizeof cases / sizeof *cases };

static void expect_equal_params(const struct ps_server *a, const struct ps_server *b)
{
    float of_a[N_PARAMS], of_b[N_PARAMS];

    server_gather(a, of_a);
    server_gather(b, of_b);
    assert_memory_equal(of_a, of_b, a->n_elems * sizeof(float));
}

/* Who has which batch, and what is handed out next. Worker 1 has done a batch, and now worker 0; 2 was lost. */
static void the_books_are_the_same(struct ps_server *a, struct ps_server *b)
{
    assert_int_equal(a->recovery->leases.n_done, 2);
    assert_int_equal(b->recovery->leases.n_done, 2);
    for (int w = 0; w < 2; w++) {
        assert_true(a->recovery->leases.of[w] != NO_BATCH && a->recovery->leases.of[w] == b->recovery->leases.of[w]);
        assert_true(a->recovery->leases.ahead[w] == b->recovery->leases.ahead[w]);
        assert_int_equal(a->recovery->worker[w].n_batches, b->recovery->worker[w].n_batches);
    }
    while (leases_has_some(&a->recovery->leases)) { /* what was given back first, and so counted */
        leases_end(&a->recovery->leases, 0);
        leases_end(&b->recovery->leases, 0);
        assert_int_equal(leases_take(&a->recovery->leases, 0), leases_take(&b->recovery->leases, 0));
    }
    assert_false(leases_has_some(&b->recovery->leases));
    assert_true(a->recovery->leases.n_again > 0 && a->recovery->leases.n_again == b->recovery->leases.n_again);
}

static void a_copy_of_the_copy_is_the_same_Y1(void **state)
{
    (void)state;
    for (int i = 0; i < N_CASES; i++) {
        static struct bench b;
        static struct part of_holder[MOST_PARTS];
        enum refused why;
        open_bench(&b, cases[i].kind, cases[i].is_elastic);
        struct ps_server *holder = open_holder(&b), *heir = open_server(&b, HEIR);
        copy_out(&b, holder, HEIR);
        const int n = b.n_parts;
        assert_int_equal(n, 3 + cases[i].n_kept); /* words, parameters, momentum, gradients */
        for (int k = 0; k < n; k++) {
            assert_true(k == 0 || server_of_slice(heir, 0)->role == SLICE_PARTIAL);
            assert_int_equal(b.n_held, 0);
            assert_int_equal(deliver(&b, heir, &b.part[k], &why), RC_OK);
        }
        struct ps_server *replica = server_of_slice(heir, 0);
        assert_int_equal(b.n_held, 1);
        assert_int_equal(replica->role, SLICE_FOLLOWED);
        assert_int_equal(copy_end(holder), RC_OK);
        assert_int_equal(holder->facts.copies_count, 1);
        assert_true(holder->facts.copied_bytes == replica->facts.copied_bytes && holder->facts.copied_bytes > 0);
        expect_equal_params(replica, holder);
        copy_out(&b, holder, HEIR);
        memcpy(of_holder, b.part, sizeof of_holder);
        assert_int_equal(b.n_parts, n);
        copy_out(&b, replica, 1);
        assert_int_equal(b.n_parts, n);
        for (int k = 0; k < n; k++) {
            assert_int_equal(b.part[k].n_bytes, of_holder[k].n_bytes);
            assert_memory_equal(b.part[k].head, of_holder[k].head, PS_HEADER_BYTES);
            assert_memory_equal(b.part[k].body, of_holder[k].body, of_holder[k].n_bytes);
        }
        /* and what comes next makes the same of it */
        push(&b, holder, 0, 3, 1);
        push(&b, replica, 0, 3, 1);
        expect_equal_params(replica, holder);
        assert_memory_equal(replica->optimizer.moment[0], holder->optimizer.moment[0], holder->n_elems * sizeof(float));
        if (cases[i].is_elastic)
            the_books_are_the_same(holder, replica);
        close_server(&heir);
        close_server(&holder);
        close_bench(&b);
    }
}

static uint64_t draw(uint64_t seed, uint64_t *counter, uint64_t n)
{
    return rng_u64(seed, RNG_TEST, (*counter)++) % n;
}

/* A byte or two, a length, or the place of a part. Of the words the low bytes, more often than others. */
static void spoil(struct part *part, int *n_parts, uint64_t seed)
{
    uint64_t counter = 1;

    for (uint64_t n = 1 + draw(seed, &counter, 2); n > 0; n--) {
        struct part *of = &part[draw(seed, &counter, 2) ? 0 : draw(seed, &counter, (uint64_t)*n_parts)];
        const uint64_t what = draw(seed, &counter, 8);
        if (what < 4 && of->n_bytes > 8)
            of->body[8 * draw(seed, &counter, of->n_bytes / 8)] ^= (unsigned char)(1 + draw(seed, &counter, 3));
        else if (what == 4)
            of->head[draw(seed, &counter, PS_HEADER_BYTES)] ^= (unsigned char)(1u << draw(seed, &counter, 8));
        else if (what == 5)
            of->n_bytes = draw(seed, &counter, of->n_bytes + 4);
        else if (what == 6 && *n_parts > 1)
            *of = part[--*n_parts];
        else if (of->n_bytes > 0)
            of->body[draw(seed, &counter, of->n_bytes)] = (unsigned char)draw(seed, &counter, 256);
    }
}

/* Behind a copy that was taken: whatever comes next is served, refused, or told to be of another state. */
static void follow(struct bench *b, struct ps_server *heir)
{
    static const enum ps_op ops[] = { PS_LOST, PS_LEAVE };
    enum refused why;

    for (int w = 0; w < N_WORKERS; w++) {
        struct part part = { .n_bytes = 0 };
        ps_header_encode(part.head, &(struct ps_header){ .op = ops[w % 2] });
        ps_forward_mark(part.head, &(struct ps_mark){ w, 0, 0 });
        const enum rc rc = deliver(b, heir, &part, &why);
        assert_true(rc == RC_OK || rc == RC_MISMATCH);
    }
}

static void wrong_copies_are_refused_Y4(void **state)
{
    const uint64_t n = *(const uint64_t *)*state;
    static struct bench b;
    static struct part part[MOST_PARTS];
    int n_taken = 0, n_refused = 0;

    for (int i = 0; i < N_CASES; i++) {
        open_bench(&b, cases[i].kind, cases[i].is_elastic);
        struct ps_server *holder = open_holder(&b);
        for (uint64_t seed = 0; seed < n / N_CASES; seed++) {
            struct ps_server *heir = open_server(&b, HEIR);
            enum refused why = NOT_REFUSED;
            copy_out(&b, holder, HEIR);
            int n_parts = b.n_parts;
            memcpy(part, b.part, sizeof part);
            spoil(part, &n_parts, seed);
            for (int k = 0; k < n_parts; k++) {
                const enum rc rc = deliver(&b, heir, &part[k], &why);
                assert_true(rc == RC_OK || rc == RC_MISMATCH);
                n_refused += rc == RC_MISMATCH;
            }
            const struct ps_server *replica = server_of_slice(heir, 0);
            n_taken += replica && replica->role == SLICE_FOLLOWED;
            if (replica && replica->role == SLICE_FOLLOWED)
                follow(&b, heir);
            close_server(&heir);
            copy_abandon(holder);
            holder->recovery->chain.is_on = false;
        }
        close_server(&holder);
        close_bench(&b);
    }
    print_message("%d copies taken, %d parts refused\n", n_taken, n_refused);
    assert_true(n_taken > 0 && (uint64_t)n_refused > n / 3);
}

int main(int argc, char **argv)
{
    uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 20000;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copy_of_the_copy_is_the_same_Y1),
        cmocka_unit_test_prestate(wrong_copies_are_refused_Y4, &n),
    };

    return cmocka_run_group_tests_name("copy", tests, NULL, NULL);
}
