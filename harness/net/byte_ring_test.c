/* SPDX-License-Identifier: Apache-2.0 */
/* byte_ring_test.c - invariants of byte_ring.h and unit_runs.h. */
#include <stdlib.h>
#include <string.h>

#include "harness/base/suite/unit.h"
#include "harness/net/byte_ring.h"
#include "harness/net/unit_runs.h"
#include "harness/world/wait.h"
#include "harness/world/world.h"

extern const struct world_ops world_threads;

enum { RING_BYTES = 4 * BYTE_RING_LINE };

struct ends {
    void *shared;
    struct byte_ring put, take;
};

static void ends_init(struct ends *e, size_t n_bytes)
{
    e->shared = aligned_alloc(BYTE_RING_LINE, byte_ring_shared_bytes(n_bytes));
    assert_non_null(e->shared);
    memset(e->shared, 0, byte_ring_shared_bytes(n_bytes));
    byte_ring_init(&e->put, e->shared, n_bytes);
    byte_ring_init(&e->take, e->shared, n_bytes);
}

static unsigned char byte_at(uint64_t position)
{
    return (unsigned char)(position * 2654435761u >> 13);
}

static void fill(unsigned char *out, uint64_t position, size_t n_bytes)
{
    for (size_t i = 0; i < n_bytes; i++)
        out[i] = byte_at(position + i);
}

UNIT_TEST(bytes_come_in_order_around_the_end_R3)
{
    unsigned char some[RING_BYTES];
    uint64_t n_put = 0, n_taken = 0;
    struct ends e;

    ends_init(&e, RING_BYTES);
    for (int i = 0; i < 100; i++) {
        const size_t n = 1 + (size_t)i * 37 % (RING_BYTES - 1), n_most = byte_ring_room(&e.put);
        const size_t n_now = n < n_most ? n : n_most;
        fill(some, n_put, n_now);
        byte_ring_put(&e.put, some, n_now);
        byte_ring_publish(&e.put);
        n_put += n_now;
        while (n_taken < n_put) {
            size_t n_there;
            const unsigned char *there = byte_ring_next(&e.take, &n_there);
            assert_true(n_there > 0 && n_there <= n_put - n_taken);
            for (size_t k = 0; k < n_there; k++)
                assert_int_equal(there[k], byte_at(n_taken + k));
            byte_ring_take(&e.take, n_there);
            n_taken += n_there;
        }
        (void)byte_ring_free(&e.take);
    }
    assert_true(n_taken > 10 * RING_BYTES);
    free(e.shared);
}

UNIT_TEST(what_is_not_published_is_not_there_R3)
{
    size_t n;
    struct ends e;

    ends_init(&e, RING_BYTES);
    byte_ring_put(&e.put, "abc", 3);
    (void)byte_ring_next(&e.take, &n);
    assert_int_equal(n, 0);
    byte_ring_publish(&e.put);
    assert_memory_equal(byte_ring_next(&e.take, &n), "abc", 3);
    assert_int_equal(n, 3);
    free(e.shared);
}

UNIT_TEST(room_is_there_once_it_was_freed_R4)
{
    size_t n;
    struct ends e;

    ends_init(&e, RING_BYTES);
    assert_int_equal(byte_ring_room(&e.put), RING_BYTES);
    byte_ring_put(&e.put, NULL, RING_BYTES);
    byte_ring_publish(&e.put);
    assert_int_equal(byte_ring_room(&e.put), 0);
    (void)byte_ring_next(&e.take, &n);
    byte_ring_take(&e.take, BYTE_RING_LINE);
    assert_int_equal(byte_ring_room(&e.put), 0);
    (void)byte_ring_free(&e.take);
    assert_int_equal(byte_ring_room(&e.put), BYTE_RING_LINE);
    free(e.shared);
}

UNIT_TEST(who_wants_room_is_told_of_it_R5)
{
    struct ends e;

    ends_init(&e, RING_BYTES);
    assert_false(byte_ring_free(&e.take));
    assert_false(byte_ring_is_wanted(&e.take));
    assert_true(byte_ring_want_room(&e.put, true));
    assert_false(byte_ring_want_room(&e.put, true));
    assert_true(byte_ring_is_wanted(&e.take));
    assert_true(byte_ring_free(&e.take));
    assert_true(byte_ring_free(&e.take)); /* until it wants none */
    assert_true(byte_ring_want_room(&e.put, false));
    assert_false(byte_ring_is_wanted(&e.take));
    assert_false(byte_ring_free(&e.take));
    free(e.shared);
}

UNIT_TEST(a_cut_is_seen_behind_the_last_byte)
{
    size_t n;
    struct ends e;

    ends_init(&e, RING_BYTES);
    byte_ring_put(&e.put, "abc", 3);
    byte_ring_publish(&e.put);
    assert_false(byte_ring_is_cut(&e.take));
    byte_ring_cut(&e.put);
    assert_false(byte_ring_is_cut(&e.take));
    (void)byte_ring_next(&e.take, &n);
    byte_ring_take(&e.take, n);
    assert_true(byte_ring_is_cut(&e.take));
    free(e.shared);
}

/* --- two threads --- */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) /* a minute there */
enum { N_STREAMED = 1 << 18 };
#else
enum { N_STREAMED = 1 << 21 };
#endif

struct stream {
    struct ends e;
    struct doorbell bell[2]; /* of the writer, of the reader */
    uint64_t n_wrong, n_taken;
};

static void write_all(struct stream *s)
{
    unsigned char some[RING_BYTES];

    for (uint64_t n_put = 0; n_put < N_STREAMED;) {
        const uint32_t seen = doorbell_seen(&s->bell[0]);
        size_t n = byte_ring_room(&s->e.put);
        if (n == 0) {
            (void)byte_ring_want_room(&s->e.put, true);
            n = byte_ring_room(&s->e.put);
        }
        if (n == 0) {
            (void)doorbell_wait(&s->bell[0], seen, false, UINT64_C(20000000000));
            continue;
        }
        (void)byte_ring_want_room(&s->e.put, false);
        n = n < N_STREAMED - n_put ? n : (size_t)(N_STREAMED - n_put);
        fill(some, n_put, n);
        byte_ring_put(&s->e.put, some, n);
        byte_ring_publish(&s->e.put);
        doorbell_ring(&s->bell[1]);
        n_put += n;
    }
}

static void read_all(struct stream *s)
{
    while (s->n_taken < N_STREAMED) {
        const uint32_t seen = doorbell_seen(&s->bell[1]);
        size_t n;
        const unsigned char *there = byte_ring_next(&s->e.take, &n);
        if (n == 0) {
            (void)doorbell_wait(&s->bell[1], seen, false, UINT64_C(20000000000));
            continue;
        }
        for (size_t k = 0; k < n; k++)
            s->n_wrong += there[k] != byte_at(s->n_taken + k);
        byte_ring_take(&s->e.take, n);
        s->n_taken += n;
        if (byte_ring_free(&s->e.take))
            doorbell_ring(&s->bell[0]);
    }
}

static enum rc stream_body(struct world *w, void *arg)
{
    if (w->rank == 0)
        write_all(arg);
    else
        read_all(arg);
    return RC_OK;
}

UNIT_TEST(two_threads_lose_no_byte_and_no_ring_R5)
{
    const struct world_opts opts = { .bind_cores = false };
    static struct stream s;

    ends_init(&s.e, RING_BYTES);
    assert_int_equal(world_run(&world_threads, &opts, 2, stream_body, &s), RC_OK);
    assert_int_equal(s.n_taken, N_STREAMED);
    assert_int_equal(s.n_wrong, 0);
    free(s.e.shared);
}

/* --- units --- */

UNIT_TEST(runs_do_not_overlap_U1)
{
    static struct unit_runs_shared shared;
    struct unit_runs r;

    unit_runs_init(&r, &shared, 100);
    assert_int_equal(unit_runs_take(&r, 101), 0); /* 2 units */
    assert_int_equal(unit_runs_take(&r, 100), 2);
    assert_int_equal(unit_runs_take(&r, 6100), 3); /* all the others */
    assert_int_equal(unit_runs_take(&r, 1), -1);
    unit_runs_give(&shared, 0);
    assert_int_equal(unit_runs_take(&r, 300), -1);
    assert_int_equal(unit_runs_take(&r, 200), 0);
    unit_runs_give(&shared, 2);
    unit_runs_give(&shared, 0); /* in any order */
    assert_int_equal(unit_runs_take(&r, 300), 0);
    unit_runs_give(&shared, 3);
    assert_int_equal(unit_runs_take(&r, 6100), 3);
    unit_runs_give(&shared, 0);
    unit_runs_give(&shared, 3);
    assert_int_equal(unit_runs_take(&r, 6400), 0);
    assert_int_equal(unit_runs_take(&r, 1), -1);
}

UNIT_TEST(what_fits_into_no_run_has_none)
{
    static struct unit_runs_shared shared;
    struct unit_runs r;

    unit_runs_init(&r, &shared, 64);
    assert_int_equal(unit_runs_take(&r, 64 * N_UNITS + 1), -1);
    assert_int_equal(unit_runs_take(&r, SIZE_MAX), -1);
    assert_int_equal(unit_runs_take(&r, 0), -1);
    assert_int_equal(unit_runs_take(&r, 64 * N_UNITS), 0);
}

UNIT_MAIN("byte_ring")
