/* SPDX-License-Identifier: Apache-2.0 */
/* shm_lines_test.c - invariants of shm_line.h, shm_out.h and shm_in.h: rank 0 sends to rank 1, both in one thread. */
#include <stdlib.h>
#include <string.h>

#include "harness/base/suite/unit.h"
#include "harness/net/shm_in.h"
#include "harness/net/shm_out.h"
#include "harness/net/xfer.h"
#include "harness/world/wait.h"

enum { RING_BYTES = 8192, LONG_BYTES = 5 * RING_BYTES + 12, ANY_BYTES = 20000 };

struct pair {
    struct shm_geometry g;
    void *block; /* of rank 1 */
    struct doorbell bell[2];
    struct shm_out out;
    struct shm_in *in;
    unsigned char sent[LONG_BYTES], got[LONG_BYTES];
};

static struct pair *pair_open(void)
{
    const struct transport_plan plan = { .most_message_bytes = RING_BYTES - 64, .most_messages = 4 };
    struct pair *p = calloc(1, sizeof *p);

    assert_non_null(p);
    p->g = shm_geometry_of(2, &plan);
    assert_int_equal(p->g.ring_bytes, RING_BYTES);
    p->block = aligned_alloc(64, (p->g.block_bytes + 63) / 64 * 64);
    assert_non_null(p->block);
    memset(p->block, 0, p->g.block_bytes);
    const struct shm_line_parts line = shm_line_at(&p->g, p->block, 1, 0);
    shm_out_init(&p->out, &p->g, &line, &p->bell[1]);
    assert_int_equal(shm_in_open(&p->in, 1, 2), RC_OK);
    shm_in_attach(p->in, 0, &p->g, &line, &p->bell[0]);
    for (int i = 0; i < LONG_BYTES; i++)
        p->sent[i] = (unsigned char)(i * 7 + i / 251);
    return p;
}

static void pair_close(struct pair *p)
{
    shm_in_close(&p->in);
    free(p->block);
    free(p);
}

static bool take(struct pair *p)
{
    bool is_some = false;

    assert_int_equal(shm_in_take(p->in, false, &is_some), RC_OK);
    return is_some;
}

/* Until nothing moves. */
static void move_all(struct pair *p)
{
    for (bool is_some = true; is_some;) {
        is_some = shm_out_push(&p->out);
        is_some = take(p) || is_some;
    }
}

static struct xfer send_of(struct pair *p, size_t n_bytes, uint32_t tag)
{
    return (struct xfer){ .ptr = p->sent, .n_bytes = n_bytes, .peer = 1, .tag = tag };
}

static struct xfer recv_of(struct pair *p, size_t n_bytes, uint32_t tag)
{
    return (struct xfer){ .ptr = p->got, .n_bytes = n_bytes, .peer = 0, .tag = tag, .receives = true };
}

UNIT_TEST(a_long_message_goes_through_a_short_ring_N2)
{
    struct pair *p = pair_open();
    struct xfer tx = send_of(p, LONG_BYTES, 3), rx = recv_of(p, LONG_BYTES, 3);

    shm_out_post(&p->out, &tx);
    assert_int_equal(tx.state, SHM_POSTED); /* net.M1: no more than a ring ahead */
    assert_int_equal(p->out.n_done, RING_BYTES - 64);
    shm_in_post(p->in, &rx);
    assert_true(take(p));
    assert_memory_equal(p->got, p->sent, RING_BYTES - 64);
    assert_int_equal(p->got[RING_BYTES - 64], 0);
    assert_int_equal(doorbell_seen(&p->bell[0]) > 0, true); /* the sender waits for room, and is rung */
    move_all(p);
    assert_int_equal(tx.state, SHM_DONE);
    assert_int_equal(rx.state, SHM_DONE);
    assert_memory_equal(p->got, p->sent, LONG_BYTES);
    const uint32_t n_rings = doorbell_seen(&p->bell[0]);
    tx = send_of(p, 100, 3);
    rx = recv_of(p, 100, 3);
    shm_in_post(p->in, &rx);
    shm_out_post(&p->out, &tx);
    assert_true(take(p));
    assert_int_equal(doorbell_seen(&p->bell[0]), n_rings); /* nobody waits */
    pair_close(p);
}

UNIT_TEST(early_messages_wait_for_their_receives_T4)
{
    struct pair *p = pair_open();
    struct xfer tx[4], rx[4];

    for (int i = 0; i < 4; i++) { /* tags 5, 6, 5, 6; the last is longer than the ring */
        tx[i] = send_of(p, i == 3 ? LONG_BYTES : 10 + (size_t)i, 5 + (uint32_t)i % 2);
        shm_out_post(&p->out, &tx[i]);
    }
    assert_true(take(p));
    for (int i = 0; i < 4; i++) {
        rx[i] = recv_of(p, LONG_BYTES, i < 2 ? 6 : 5);
        shm_in_post(p->in, &rx[i]);
    }
    assert_int_equal(rx[0].n_bytes, 11);
    assert_int_equal(rx[1].state, SHM_POSTED); /* it has begun to come */
    assert_int_equal(rx[2].n_bytes, 10);
    assert_int_equal(rx[3].n_bytes, 12);
    memset(p->got, 0, sizeof p->got);
    move_all(p);
    assert_int_equal(rx[1].state, SHM_DONE);
    assert_int_equal(rx[1].n_bytes, LONG_BYTES);
    assert_memory_equal(p->got, p->sent, LONG_BYTES);
    pair_close(p);
}

/* net.N1: it is copied once, by who receives it, unless another one behind it is awaited or wants its room. */
UNIT_TEST(an_early_message_stays_while_it_may)
{
    struct pair *p = pair_open();
    struct xfer tx[2] = { send_of(p, 3000, 5), send_of(p, 10, 6) }, rx = recv_of(p, 100, 6);
    struct xfer next;
    bool is_some = false;

    shm_out_post(&p->out, &tx[0]);
    assert_false(take(p));
    assert_int_equal(shm_in_take(p->in, true, &is_some), RC_OK); /* one for any rank may be behind it */
    assert_true(is_some);
    shm_out_post(&p->out, &tx[0]);
    shm_out_post(&p->out, &tx[1]);
    assert_false(take(p));
    shm_in_post(p->in, &rx);
    assert_true(take(p));
    assert_int_equal(rx.state, SHM_DONE);
    assert_int_equal(rx.n_bytes, 10);
    pair_close(p);
    p = pair_open();
    tx[1] = send_of(p, 10, 6);
    next = send_of(p, RING_BYTES - 128, 7);
    shm_out_post(&p->out, &tx[1]);
    assert_false(take(p));
    const uint32_t n_rings = doorbell_seen(&p->bell[1]);
    shm_out_post(&p->out, &next); /* all but its last line fits behind tx[1] */
    assert_int_equal(next.state, SHM_POSTED);
    assert_int_equal(doorbell_seen(&p->bell[1]), n_rings + 2); /* for what was written, and for room */
    assert_true(take(p));
    assert_true(shm_out_push(&p->out));
    assert_int_equal(next.state, SHM_DONE);
    pair_close(p);
}

UNIT_TEST(a_message_for_any_rank_is_lent_where_it_is_M3)
{
    struct pair *p = pair_open();
    struct xfer tx = send_of(p, ANY_BYTES, TAG_ANY | 1);
    const struct shm_line_parts line = shm_line_at(&p->g, p->block, 1, 0);

    shm_out_post(&p->out, &tx);
    assert_int_equal(tx.state, SHM_DONE);
    assert_true(take(p));
    struct shm_arrival *a = shm_in_take_any(p->in);
    assert_non_null(a);
    assert_ptr_equal(a->bytes, line.units);
    assert_int_equal(a->n_bytes, ANY_BYTES);
    assert_int_equal(a->tag, TAG_ANY | 1);
    assert_memory_equal(a->bytes, p->sent, ANY_BYTES);
    assert_null(shm_in_take_any(p->in));
    shm_in_give(p->in, a);
    tx = send_of(p, ANY_BYTES, TAG_ANY | 1);
    shm_out_post(&p->out, &tx);
    assert_true(take(p));
    a = shm_in_take_any(p->in);
    assert_ptr_equal(a->bytes, line.units); /* again */
    shm_in_give(p->in, a);
    pair_close(p);
}

/* net.T2: who holds what it was lent, and waits for more, gets it. */
UNIT_TEST(who_holds_messages_gets_more_M3)
{
    enum { N = 12 };
    struct pair *p = pair_open();
    struct shm_arrival *held[N];
    struct xfer tx[N];

    for (int i = 0; i < N; i++) {
        tx[i] = send_of(p, ANY_BYTES - (size_t)i, TAG_ANY | (uint32_t)i);
        shm_out_post(&p->out, &tx[i]);
    }
    move_all(p);
    for (int i = 0; i < N; i++) {
        held[i] = shm_in_take_any(p->in);
        assert_non_null(held[i]);
        assert_int_equal(tx[i].state, SHM_DONE);
        assert_int_equal(held[i]->tag, TAG_ANY | (uint32_t)i);
        assert_int_equal(held[i]->n_bytes, ANY_BYTES - i);
        assert_memory_equal(held[i]->bytes, p->sent, ANY_BYTES - (size_t)i);
    }
    assert_true(held[0]->unit >= 0 && held[N - 1]->unit < 0);
    for (int i = 0; i < N; i++)
        shm_in_give(p->in, held[i]);
    pair_close(p);
}

/* TR_ADD: over many pieces, also where floats begin within a header's word. */
UNIT_TEST(values_are_added_piece_by_piece)
{
    enum { N = RING_BYTES };
    struct pair *p = pair_open();
    float *values = calloc(N, sizeof *values), *sum = calloc(N, sizeof *sum);

    assert_true(values && sum);
    for (size_t n_head = 0; n_head <= 64; n_head += n_head == 4 ? 60 : 1) {
        unsigned char head[64];
        for (int i = 0; i < N; i++) {
            values[i] = (float)i;
            sum[i] = 1;
        }
        struct xfer tx = {
            .head = p->sent, .n_head_bytes = n_head, .ptr = values, .n_bytes = N * sizeof *values, .peer = 1, .tag = 2
        };
        struct xfer rx = { .head = head,
                           .n_head_bytes = n_head,
                           .ptr = sum,
                           .n_bytes = N * sizeof *sum,
                           .tag = 2,
                           .add = 1,
                           .receives = true };
        shm_in_post(p->in, &rx);
        shm_out_post(&p->out, &tx);
        move_all(p);
        assert_int_equal(rx.state, SHM_DONE);
        assert_memory_equal(head, p->sent, n_head);
        for (int i = 0; i < N; i++)
            assert_true(sum[i] == (float)(i + 1));
    }
    free(values);
    free(sum);
    pair_close(p);
}

UNIT_TEST(what_is_too_long_goes_nowhere_T9)
{
    struct pair *p = pair_open();
    struct xfer tx = send_of(p, LONG_BYTES, 1), next = send_of(p, 50, 2), rx = recv_of(p, LONG_BYTES - 1, 1);
    struct xfer rx_next = recv_of(p, 50, 2);

    shm_in_post(p->in, &rx);
    shm_out_post(&p->out, &tx);
    shm_out_post(&p->out, &next);
    move_all(p);
    assert_int_equal(rx.state, SHM_TOO_LONG);
    assert_int_equal((size_t)(uintptr_t)rx.priv, LONG_BYTES);
    for (int i = 0; i < LONG_BYTES; i++)
        assert_int_equal(p->got[i], 0);
    shm_in_post(p->in, &rx_next);
    move_all(p);
    assert_int_equal(rx_next.state, SHM_DONE);
    assert_memory_equal(p->got, p->sent, 50);
    pair_close(p);
}

/* net.T3 */
UNIT_TEST(a_receive_that_is_given_up_is_not_written_again)
{
    struct pair *p = pair_open();
    struct xfer tx = send_of(p, LONG_BYTES, 1), next = send_of(p, 50, 2), rx = recv_of(p, LONG_BYTES, 1);
    struct xfer rx_next = recv_of(p, 50, 2);

    for (int is_early = 0; is_early < 2; is_early++) {
        tx = send_of(p, LONG_BYTES, 1);
        next = send_of(p, 50, 2);
        rx = recv_of(p, LONG_BYTES, 1);
        rx_next = recv_of(p, 50, 2);
        if (!is_early)
            shm_in_post(p->in, &rx);
        shm_out_post(&p->out, &tx);
        shm_out_post(&p->out, &next);
        assert_true(take(p));
        if (is_early)
            shm_in_post(p->in, &rx);
        shm_in_withdraw(p->in, &rx);
        memset(p->got, 0xa5, sizeof p->got);
        move_all(p);
        assert_int_equal(rx.state, SHM_POSTED);
        for (int i = 0; i < LONG_BYTES; i++)
            assert_int_equal(p->got[i], 0xa5);
        shm_in_post(p->in, &rx_next);
        move_all(p);
        assert_int_equal(rx_next.state, SHM_DONE);
        assert_memory_equal(p->got, p->sent, 50);
    }
    pair_close(p);
}

/* net.T3: the sender's memory is its own again, and the receiver learns that the rest does not come. */
UNIT_TEST(a_send_that_is_given_up_is_cut)
{
    struct pair *p = pair_open();
    struct xfer tx = send_of(p, LONG_BYTES, 1), behind = send_of(p, 50, 2), rx = recv_of(p, LONG_BYTES, 1);

    shm_in_post(p->in, &rx);
    shm_out_post(&p->out, &tx);
    shm_out_post(&p->out, &behind);
    assert_false(shm_in_is_cut(p->in, 0));
    shm_out_withdraw(&p->out, &behind); /* had not begun */
    shm_out_withdraw(&p->out, &tx);
    assert_false(shm_in_is_cut(p->in, 0)); /* there is more to take */
    move_all(p);
    assert_true(shm_in_is_cut(p->in, 0));
    assert_int_equal(rx.state, SHM_POSTED);
    assert_int_equal(shm_in_next_cut(p->in), 0);
    assert_int_equal(shm_in_next_cut(p->in), -1);
    pair_close(p);
}

UNIT_TEST(a_block_is_bounded_and_lines_are_apart_T13)
{
    static const int n_ranks[] = { 1, 2, 3, 8, 64, 1000 };
    const struct transport_plan none = { 0 }, little = { .most_message_bytes = 1000, .most_messages = 3 };

    for (size_t i = 0; i < sizeof n_ranks / sizeof *n_ranks; i++) {
        const int n = n_ranks[i];
        const struct shm_geometry g = shm_geometry_of(n, &none), planned = shm_geometry_of(n, &little);
        assert_true((size_t)n * g.block_bytes <= (256 << 20) + (size_t)n * (size_t)n * (RING_BYTES + 64 * 64 + 256));
        assert_true(planned.line_bytes <= RING_BYTES + 64 * 64 + 256);
        assert_true(g.ring_bytes % 64 == 0 && g.unit_bytes % 64 == 0 && g.line_bytes % 64 == 0);
        for (int from = 0, to = n / 2, k = 0; from < n; from++) {
            if (from == to)
                continue;
            const struct shm_line_parts line = shm_line_at(&g, NULL, to, from);
            assert_int_equal((uintptr_t)line.runs, 64 + (size_t)k++ * g.line_bytes);
            assert_int_equal((uintptr_t)line.units, (uintptr_t)line.runs + sizeof(struct unit_runs_shared));
            assert_int_equal((uintptr_t)line.ring, (uintptr_t)line.units + 64 * g.unit_bytes);
            assert_true((uintptr_t)line.ring + byte_ring_shared_bytes(g.ring_bytes) <= g.block_bytes);
        }
    }
}

UNIT_MAIN("shm_lines")
