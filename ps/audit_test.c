/* SPDX-License-Identifier: Apache-2.0 */
/*
 * audit_test.c - a book behind a snapshot: by hand, and by the thousand at random (leases.B12); and messages of an
 * audit (audit.h) that are right, and that are not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/base/rng.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"
#include "ps/audit.h"
#include "ps/leases.h"

enum { MOST_BATCHES = 40, N_SCHEDULES = 2000, N_WORKERS = 4 };

/* --- the book --- */

static void what_is_undone_comes_again_B12(void **state)
{
    struct leases l;

    (void)state;
    assert_int_equal(leases_open(&l, 2, 2, 70), RC_OK);
    for (int i = 0; i < 66; i++) {
        leases_end(&l, 0);
        (void)leases_take(&l, 0);
    }
    assert_int_equal(l.of[0], 67);
    assert_false(leases_undo(&l, 1));  /* leased */
    assert_false(leases_undo(&l, 68)); /* new */
    assert_true(leases_undo(&l, 65));
    assert_true(leases_undo(&l, 3));
    assert_false(leases_undo(&l, 3));
    assert_int_equal(l.n_done, 64);
    assert_true(leases_fit(&l));
    assert_int_equal(leases_ahead(&l, 0), 3); /* the first one, before a new one */
    assert_false(leases_undo(&l, 3));         /* ahead */
    assert_false(leases_redo(&l, 3));
    leases_end(&l, 1);
    assert_int_equal(leases_take(&l, 1), 65);
    assert_int_equal(l.n_again, 2);
    leases_end(&l, 1);
    assert_true(leases_undo(&l, 65));
    assert_true(leases_redo(&l, 65)); /* found to be there */
    assert_int_equal(leases_take(&l, 1), 68);
    assert_int_equal(l.n_again, 2);
    assert_true(leases_fit(&l));
    leases_clear(&l);
    assert_int_equal(l.undone.n_in, 0);
    leases_close(&l);
}

/* A worker says what it has: new, undone, given back, another one's or done, as the book has it. */
static void a_worker_has_what_it_says_B12(void **state)
{
    struct leases l;

    (void)state;
    assert_int_equal(leases_open(&l, 4, 3, 20), RC_OK);
    assert_int_equal(leases_ahead(&l, 0), 3);
    leases_forgo(&l, 0); /* 0 and 3 */
    assert_int_equal(l.undone.n_in, 2);
    assert_int_equal(l.n_busy, 2);
    assert_true(leases_fit(&l));
    leases_claim(&l, 0, 6); /* 4 and 5 were handed out, too */
    assert_int_equal(l.n_begun, 7);
    assert_int_equal(l.undone.n_in, 4);
    assert_true(leases_fit(&l));
    leases_claim(&l, 3, 4); /* undone */
    assert_int_equal(l.undone.n_in, 3);
    assert_int_equal(leases_holder(&l, 4), 3);
    leases_give_back(&l, 1);
    leases_give_back(&l, 2);
    leases_claim(&l, 2, 1); /* the first of two that were given back */
    assert_int_equal(l.n_given, 1);
    assert_int_equal(leases_holder(&l, 2), -1);
    assert_true(leases_fit(&l));
    assert_int_equal(leases_ahead(&l, 3), 2);
    leases_claim(&l, 1, 2); /* ahead with another one */
    assert_true(l.ahead[3] == NO_BATCH);
    assert_int_equal(l.n_busy, 4);
    leases_end(&l, 3);
    assert_int_equal(l.n_done, 1);
    leases_claim(&l, 3, 4); /* done */
    assert_int_equal(l.n_done, 0);
    assert_int_equal(leases_ahead(&l, 2), 0);
    leases_forgo(&l, 1);
    leases_claim(&l, 1, 1); /* another one's, which has one ahead */
    assert_true(l.of[2] == NO_BATCH && l.ahead[2] == NO_BATCH);
    assert_true(batch_set_has(&l.undone, 0));
    assert_int_equal(l.n_busy, 3);
    assert_true(leases_fit(&l));
    leases_close(&l);
}

static void a_book_with_a_batch_twice_does_not_fit(void **state)
{
    struct leases l;

    (void)state;
    assert_int_equal(leases_open(&l, 2, 2, 9), RC_OK);
    leases_end(&l, 0);
    assert_true(leases_undo(&l, 0));
    assert_true(leases_fit(&l));
    l.n_done++; /* done, and undone */
    assert_false(leases_fit(&l));
    l.n_done--;
    batch_set_remove(&l.undone, 0);
    assert_false(leases_fit(&l)); /* nowhere */
    assert_true(batch_set_add(&l.undone, 1));
    assert_false(leases_fit(&l)); /* leased, and undone */
    batch_set_remove(&l.undone, 1);
    assert_true(batch_set_add(&l.undone, 2));
    assert_false(leases_fit(&l)); /* new, and undone */
    leases_close(&l);
}

struct schedule {
    uint64_t seed, counter;
    struct leases book, then; /* then: as a snapshot has it */
    bool has[MOST_BATCHES], had[MOST_BATCHES];
};

static uint64_t draw(struct schedule *s, uint64_t n)
{
    return rng_u64(s->seed, RNG_TEST, s->counter++) % n;
}

/* Of two books of one run. */
static void copy_book(struct leases *to, const struct leases *from)
{
    const struct leases own = *to;
    const size_t n = (size_t)from->most_workers * sizeof *from->of;

    *to = *from;
    to->of = memcpy(own.of, from->of, n);
    to->ahead = memcpy(own.ahead, from->ahead, n);
    to->given = memcpy(own.given, from->given, (size_t)from->most_given * sizeof *from->given);
    to->undone.word = memcpy(own.undone.word, from->undone.word, batch_set_bytes(from->n_batches));
}

/* Some worker does what it has, and goes on. */
static void turn(struct schedule *s)
{
    const int w = (int)draw(s, N_WORKERS);
    const uint64_t batch = leases_take(&s->book, w);

    if (batch == NO_BATCH)
        return;
    s->has[batch] = true;
    if (draw(s, 2) == 0)
        (void)leases_ahead(&s->book, w);
    leases_end(&s->book, w);
    (void)leases_take(&s->book, w);
}

/* The server is lost: who goes on has the book and the parts of `then`, and hears of each worker what it has now. */
static void go_back(struct schedule *s)
{
    uint64_t own[N_WORKERS];

    memcpy(own, s->book.of, sizeof own);
    copy_book(&s->book, &s->then);
    memcpy(s->has, s->had, sizeof s->has);
    for (int w = 0; w < N_WORKERS; w++) {
        leases_forgo(&s->book, w);
        if (own[w] != NO_BATCH)
            leases_claim(&s->book, w, own[w]);
    }
    for (uint64_t b = 0; b < s->book.n_batches; b++)
        if (s->has[b])
            (void)leases_redo(&s->book, b);
}

/* B2, B12: after any losses each batch is done in the parts that are there at the end. */
static void no_batch_is_lost_with_a_server_B12(void **state)
{
    uint64_t n_again = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= N_SCHEDULES; seed++) {
        struct schedule s = { .seed = seed };
        const uint64_t n_batches = 1 + draw(&s, MOST_BATCHES);
        assert_int_equal(leases_open(&s.book, N_WORKERS, N_WORKERS, n_batches), RC_OK);
        assert_int_equal(leases_open(&s.then, N_WORKERS, N_WORKERS, n_batches), RC_OK);
        for (int i = 0, n_losses = 0; i < 2000 && !leases_are_done(&s.book); i++) {
            turn(&s);
            if (draw(&s, 9) == 0) {
                copy_book(&s.then, &s.book);
                memcpy(s.had, s.has, sizeof s.had);
            }
            if (n_losses < 3 && draw(&s, 20) == 0) {
                n_losses++;
                go_back(&s);
            }
            if (!leases_fit(&s.book))
                fail_msg("seed %llu: the book does not fit", (unsigned long long)seed);
        }
        assert_int_equal(s.book.n_done, n_batches);
        for (uint64_t b = 0; b < n_batches; b++)
            if (!s.has[b])
                fail_msg("seed %llu: batch %llu is missing", (unsigned long long)seed, (unsigned long long)b);
        n_again += s.book.n_again;
        leases_close(&s.book);
        leases_close(&s.then);
    }
    assert_true(n_again > 0);
}

/* --- messages --- */

enum { N_SERVERS = 2, N_BATCHES = 40 };

struct fixture { /* server 0, which has the book and has asked server 1 from batch 0 on */
    struct world world;
    struct transport transport;
    struct buckets buckets;
    struct piece_state piece;
    struct batch_set has;
    struct client client[2];
    struct ps_server server, *here[1];
    unsigned char header[PS_HEADER_BYTES], body[8];
};

static enum rc end_at_once(struct transport *t, struct xfer *x, int timeout_ms)
{
    (void)t, (void)x, (void)timeout_ms;
    return RC_OK;
}

static const struct transport_ops TRANSPORT = { .module.name = "fixture", .complete = end_at_once };

static void open_fixture(struct fixture *f)
{
    *f = (struct fixture){ .world = { .rank = 2, .n_ranks = 4 }, .buckets = { .n_pieces = 1 } };
    f->piece.part.n_elems = 4;
    f->transport = (struct transport){ .ops = &TRANSPORT, .world = &f->world };
    f->server = (struct ps_server){
        .env = { .world = &f->world,
                 .transport = &f->transport,
                 .buckets = &f->buckets,
                 .n_batches = N_BATCHES,
                 .n_workers = 2,
                 .n_servers = N_SERVERS,
                 .snapshots = "." },
        .piece = &f->piece,
        .has = &f->has,
        .client = f->client,
        .here = f->here,
        .n_here = 1,
        .rank = &f->server,
        .audit = { .is_on = true, .is_asked = true, .is_last = true, .slice = 1, .peer = 3, .number = 5, .ask.peer = 3 }
    };
    f->here[0] = &f->server;
    assert_int_equal(world_find(&f->world.ops, "threads"), RC_OK);
    assert_int_equal(batch_set_open(&f->has, N_BATCHES), RC_OK);
    assert_int_equal(leases_open(&f->server.leases, 2, 2, N_BATCHES), RC_OK);
    for (int i = 0; i < 10; i++) {
        leases_end(&f->server.leases, 0);
        (void)leases_take(&f->server.leases, 0);
    }
}

static void close_fixture(struct fixture *f)
{
    batch_set_close(&f->has);
    leases_close(&f->server.leases);
}

static enum rc take(struct fixture *f, int peer, const struct ps_header *h, size_t n_body_bytes)
{
    struct message m = { .peer = peer,
                         .tag = PS_TAG_AUDIT,
                         .head = f->header,
                         .n_head_bytes = PS_HEADER_BYTES,
                         .ptr = f->body,
                         .n_bytes = n_body_bytes };
    enum refused why = NOT_REFUSED;

    ps_header_encode(f->header, h);
    const enum rc rc = audit_take(&f->server, &m, &why);
    assert_true(rc == RC_OK || why != NOT_REFUSED);
    return rc;
}

/* What is not in the answer is undone if it was done; the end of the slice is the end of its questions. */
static void an_answer_undoes_what_is_missing(void **state)
{
    const struct ps_header h = { .op = PS_AUDITED, .n_elems = 2, .piece = 1, .staleness = 5 };
    struct fixture f;

    (void)state;
    open_fixture(&f);
    assert_int_equal(f.server.leases.of[0], 11);
    memset(f.body, 0xff, 5);
    f.body[0] = 0xfe; /* not batch 0 */
    f.body[1] = 0xf0; /* nor 8 to 11, of which 11 is leased */
    assert_int_equal(take(&f, 3, &(struct ps_header){ .op = PS_AUDITED, .n_elems = 2, .piece = 1, .staleness = 4 }, 8),
                     RC_OK); /* U4: to a question before */
    assert_int_equal(f.server.leases.undone.n_in, 0);
    assert_int_equal(take(&f, 3, &h, 8), RC_OK);
    assert_int_equal(f.server.leases.undone.n_in, 4);
    assert_true(batch_set_has(&f.server.leases.undone, 0) && batch_set_has(&f.server.leases.undone, 10));
    assert_int_equal(f.server.leases.n_done, 10 - 4);
    assert_false(f.server.audit.is_asked);
    assert_int_equal(f.server.audit.slice, N_SERVERS);
    memset(f.body, 0, 8);
    assert_int_equal(take(&f, 3, &h, 8), RC_OK); /* U4: nothing is asked */
    assert_int_equal(f.server.leases.undone.n_in, 4);
    close_fixture(&f);
}

static void what_is_no_answer_changes_nothing_U4(void **state)
{
    const struct {
        int peer;
        size_t n_bytes;
        struct ps_header h;
    } wrong[] = {
        { 2, 8, { .op = PS_AUDITED, .n_elems = 2, .piece = 1, .staleness = 5 } },              /* another rank */
        { 3, 8, { .op = PS_AUDITED, .n_elems = 2, .piece = 0, .staleness = 5 } },              /* slice */
        { 3, 8, { .op = PS_AUDITED, .n_elems = 2, .piece = 1, .staleness = 6 } },              /* number */
        { 3, 8, { .op = PS_AUDITED, .n_elems = 2, .piece = 1, .staleness = 5, .clock = 32 } }, /* first */
        { 3, 4, { .op = PS_AUDITED, .n_elems = 1, .piece = 1, .staleness = 5 } },              /* too short */
        { 3, 4, { .op = PS_AUDITED, .n_elems = 2, .piece = 1, .staleness = 5 } },              /* cut off */
        { 3, 0, { .op = PS_HELD, .piece = 1 } },
        { 3, 0, { .op = PS_AUDIT, .piece = N_SERVERS } },
        { 3, 0, { .op = PS_AUDIT, .piece = 0, .clock = N_BATCHES } },
        { 3, 0, { .op = PS_AUDIT, .piece = 0, .clock = 8 } }, /* where no answer begins */
        { 3, 4, { .op = PS_AUDIT, .piece = 0, .n_elems = 1 } },
    };
    struct fixture f;

    (void)state;
    open_fixture(&f);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        if (take(&f, wrong[i].peer, &wrong[i].h, wrong[i].n_bytes) != RC_MISMATCH)
            fail_msg("case %zu is taken", i);
        assert_int_equal(f.server.leases.undone.n_in, 0);
        assert_true(f.server.audit.is_asked && !f.server.audit.is_due);
    }
    assert_int_equal(take(&f, 3, &(struct ps_header){ .op = PS_AUDIT, .piece = 0, .staleness = 9 }, 0), RC_OK);
    assert_true(f.server.audit.is_due);
    assert_int_equal(f.server.audit.due.peer, 3);
    assert_int_equal(f.server.audit.due.number, 9);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_undone_comes_again_B12),
        cmocka_unit_test(a_worker_has_what_it_says_B12),
        cmocka_unit_test(a_book_with_a_batch_twice_does_not_fit),
        cmocka_unit_test(no_batch_is_lost_with_a_server_B12),
        cmocka_unit_test(an_answer_undoes_what_is_missing),
        cmocka_unit_test(what_is_no_answer_changes_nothing_U4),
    };

    return cmocka_run_group_tests_name("audit", tests, NULL, NULL);
}
