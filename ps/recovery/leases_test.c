/* SPDX-License-Identifier: Apache-2.0 */
/* leases_test.c - the book of batches, and sets of them, without messages: by hand, and by the thousand at random. */
#include <stdlib.h>

#include "harness/base/rng.h"
#include "harness/base/suite/unit.h"
#include "ps/recovery/elastic.h"
#include "ps/recovery/leases.h"

enum { MOST_WORKERS = 6, MOST_BATCHES = 40, N_SCHEDULES = 2000 };

UNIT_TEST(a_worker_has_one_batch_at_a_time_B1)
{
    struct leases l;

    assert_int_equal(leases_open(&l, 2, 2, 5), RC_OK);
    for (int i = 0; i < 2; i++) { /* B6; asking again changes nothing */
        assert_int_equal(leases_take(&l, 0), 0);
        assert_int_equal(leases_take(&l, 1), 1);
    }
    leases_end(&l, 1);
    assert_int_equal(leases_take(&l, 1), 2);
    leases_end(&l, 1);
    assert_int_equal(leases_take(&l, 1), 3);
    assert_int_equal(l.n_done, 2);
    assert_int_equal(l.n_again, 0);
    leases_close(&l);
}

UNIT_TEST(what_is_given_back_comes_first_and_is_counted_B2)
{
    struct leases l;

    assert_int_equal(leases_open(&l, 3, 3, 5), RC_OK);
    leases_give_back(&l, 2);
    leases_give_back(&l, 2); /* gone before */
    leases_end(&l, 0);
    assert_int_equal(leases_take(&l, 0), 2);
    assert_int_equal(l.n_again, 1);
    leases_end(&l, 0);
    assert_int_equal(leases_take(&l, 0), 3);
    leases_give_back(&l, 1);
    assert_true(leases_has_some(&l));
    leases_end(&l, 0);
    assert_int_equal(leases_take(&l, 0), 1);
    leases_end(&l, 0);
    assert_int_equal(leases_take(&l, 0), 4);
    assert_false(leases_has_some(&l));
    assert_false(leases_are_done(&l));
    leases_end(&l, 0);
    assert_true(leases_take(&l, 0) == NO_BATCH);
    assert_true(leases_are_done(&l));
    assert_int_equal(l.n_again, 2);
    leases_close(&l);
}

/* One that never asked gives back its first batch, too; one that there is no batch for has none to give. */
UNIT_TEST(more_workers_than_batches)
{
    struct leases l;

    assert_int_equal(leases_open(&l, 3, 3, 2), RC_OK);
    assert_true(leases_take(&l, 2) == NO_BATCH);
    leases_give_back(&l, 2);
    assert_false(leases_has_some(&l));
    leases_give_back(&l, 1);
    leases_end(&l, 0);
    assert_int_equal(leases_take(&l, 0), 1);
    leases_end(&l, 0);
    assert_true(leases_are_done(&l));
    leases_close(&l);
}

UNIT_TEST(a_worker_has_one_ahead_B1)
{
    struct leases l;

    assert_int_equal(leases_open(&l, 2, 2, 8), RC_OK);
    assert_int_equal(leases_ahead(&l, 0), 2);
    assert_int_equal(leases_ahead(&l, 0), 2); /* asking again changes nothing */
    assert_int_equal(leases_take(&l, 0), 0);
    assert_int_equal(leases_ahead(&l, 1), 3);
    leases_end(&l, 0);
    assert_int_equal(leases_take(&l, 0), 2);
    assert_int_equal(leases_ahead(&l, 0), 4);
    leases_give_back(&l, 0); /* both; the ring has room for two of each worker */
    leases_give_back(&l, 1);
    assert_int_equal(l.n_given, 4);
    assert_int_equal(leases_take(&l, 1), 2);
    assert_int_equal(leases_ahead(&l, 1), 4);
    assert_int_equal(l.n_again, 2);
    assert_int_equal(l.n_done, 1);
    leases_close(&l);
}

/* At the end nobody keeps one that another could begin with: 2 workers have one each, and 2 are left. */
UNIT_TEST(none_is_ahead_at_the_end_B1)
{
    struct leases l;

    assert_int_equal(leases_open(&l, 3, 2, 4), RC_OK);
    assert_true(leases_ahead(&l, 0) == NO_BATCH);
    leases_end(&l, 1); /* one of two has none any more: of two that are left one may be ahead */
    assert_int_equal(leases_ahead(&l, 0), 2);
    assert_int_equal(leases_take(&l, 1), 3);
    assert_true(leases_ahead(&l, 1) == NO_BATCH);
    leases_give_back(&l, 0);
    assert_int_equal(leases_ahead(&l, 1), 0); /* of two that were given back, and one worker */
    leases_end(&l, 1);
    assert_int_equal(leases_take(&l, 1), 0);
    assert_true(leases_ahead(&l, 1) == NO_BATCH);
    leases_end(&l, 1);
    assert_int_equal(leases_take(&l, 1), 2);
    leases_end(&l, 1);
    assert_true(leases_are_done(&l));
    assert_int_equal(l.n_again, 2);
    leases_close(&l);
}

/* Who leaves has not begun with what it had ahead: it is another one's, and was handed out once. */
UNIT_TEST(what_was_not_begun_is_not_again)
{
    struct leases l;

    assert_int_equal(leases_open(&l, 2, 2, 6), RC_OK);
    assert_int_equal(leases_ahead(&l, 1), 2);
    leases_end(&l, 1);
    leases_return(&l, 1);
    leases_return(&l, 1);
    leases_give_back(&l, 1);
    assert_int_equal(l.n_given, 1);
    assert_int_equal(leases_ahead(&l, 0), 2);
    assert_int_equal(l.n_again, 0);
    leases_close(&l);
}

struct schedule {
    uint64_t seed, counter;
    int n_workers, n_gone, n_times_done[MOST_BATCHES];
    bool is_gone[MOST_WORKERS], fits_not;
    struct leases l;
};

static uint64_t draw(struct schedule *s, uint64_t n)
{
    return rng_u64(s->seed, RNG_TEST, s->counter++) % n;
}

/* Has a worker ended what it had, and not begun with what it has ahead? A server does both at once. */
static bool is_between(const struct schedule *s)
{
    for (int w = 0; w < s->n_workers; w++)
        if (s->l.of[w] == NO_BATCH && s->l.ahead[w] != NO_BATCH)
            return true;
    return false;
}

/* Worker w does what it has, or is gone, but for the last that is left. False: it has nothing, and gets nothing. */
static bool turn(struct schedule *s, int w)
{
    const uint64_t batch = leases_take(&s->l, w);

    if (batch != NO_BATCH && draw(s, 2) == 0)
        (void)leases_ahead(&s->l, w);
    s->fits_not |= !is_between(s) && !leases_fit(&s->l);
    if (s->n_gone + 1 < s->n_workers && draw(s, 8) == 0) {
        leases_give_back(&s->l, w);
        s->is_gone[w] = true;
        s->n_gone++;
        return true;
    }
    if (batch == NO_BATCH)
        return false;
    s->n_times_done[batch]++;
    leases_end(&s->l, w);
    return true;
}

/* B2: whoever is gone when, each batch is done once, and at most two of each worker that is gone are handed out again.
 */
UNIT_TEST(each_batch_is_done_once_in_any_schedule_B2)
{
    for (uint64_t seed = 1; seed <= N_SCHEDULES; seed++) {
        struct schedule s = { .seed = seed };
        s.n_workers = 1 + (int)draw(&s, MOST_WORKERS);
        const uint64_t n_batches = 1 + draw(&s, MOST_BATCHES);
        assert_int_equal(leases_open(&s.l, s.n_workers, s.n_workers, n_batches), RC_OK);
        for (int n_idle = 0; !leases_are_done(&s.l) && n_idle < 1000; n_idle++) {
            const int w = (int)draw(&s, (uint64_t)s.n_workers);
            if (!s.is_gone[w] && turn(&s, w))
                n_idle = 0;
        }
        for (uint64_t b = 0; b < n_batches; b++)
            if (s.n_times_done[b] != 1)
                fail_msg("seed %llu: batch %llu is done %d times", (unsigned long long)seed, (unsigned long long)b,
                         s.n_times_done[b]);
        assert_true(s.l.n_again <= 2 * (uint64_t)s.n_gone);
        assert_int_equal(s.l.n_done, n_batches);
        assert_false(s.fits_not);
        leases_close(&s.l);
    }
}

UNIT_TEST(a_set_takes_each_batch_once_B4)
{
    for (uint64_t n = 1; n <= 200; n++) {
        struct batch_set s;
        assert_int_equal(batch_set_open(&s, n), RC_OK);
        for (uint64_t b = n; b-- > 0;) { /* the first is missing until the end */
            assert_int_equal(batch_set_first_missing(&s), 0);
            assert_false(batch_set_has(&s, b));
            assert_true(batch_set_add(&s, b));
            assert_true(batch_set_has(&s, b));
            assert_false(batch_set_add(&s, b));
            assert_int_equal(s.n_in, n - b);
        }
        assert_int_equal(batch_set_first_missing(&s), n);
        batch_set_close(&s);
        assert_int_equal(batch_set_open(&s, n), RC_OK);
        for (uint64_t b = 0; b < n; b++) {
            assert_int_equal(batch_set_first_missing(&s), b);
            assert_true(batch_set_add(&s, b));
        }
        batch_set_close(&s);
    }
}

/* Of each part of which there are parameters. The first chunk lacks batch 2, the last one batch 3. */
UNIT_TEST(facts_are_of_the_part_that_has_least)
{
    static const uint64_t of_first[] = { 0, 1, 3 }, of_last[] = { 0, 1, 2, 4 };
    struct buckets buckets = { .n_chunks = 3 };
    struct chunk_state chunk[3] = { { .part = { 0, 4 } }, { .part = { 4, 0 } }, { .part = { 4, 4 } } };
    struct batch_set has[3];
    struct batch_set none = { .n_batches = 5, .word = (uint64_t[1]){ 0 } };
    struct chunk_state all = { .part = { 0, 4 } };
    struct buckets one = { .n_chunks = 1 };
    struct recovery of_own = { .has = has }, of_followed = { .has = &none };
    struct ps_server s = { .env = { .buckets = &buckets, .n_batches = 5, .n_workers = 2 },
                           .chunk = chunk,
                           .recovery = &of_own };
    struct ps_server followed = {
        .env = s.env, .chunk = &all, .recovery = &of_followed, .role = SLICE_PARTIAL, .slice = 1
    };
    struct ps_server *here[] = { &s, &followed };
    struct server_facts facts = { 0 };

    for (int k = 0; k < 3; k++)
        assert_int_equal(batch_set_open(&has[k], 5), RC_OK);
    for (size_t i = 0; i < 3; i++)
        assert_true(batch_set_add(&has[0], of_first[i]));
    for (size_t i = 0; i < 4; i++)
        assert_true(batch_set_add(&has[2], of_last[i]));
    followed.env.buckets = &one;
    s.here = here;
    s.n_here = 2;
    server_batch_facts(&s, &facts);
    assert_true(facts.has_book);
    assert_int_equal(facts.batches_held_count, 3);
    assert_int_equal(facts.batches_whole_count, 2);
    followed.role = SLICE_TAKEN; /* what it has is from now on in this server alone */
    server_batch_facts(&s, &facts);
    assert_int_equal(facts.batches_held_count, 0);
    assert_int_equal(facts.batches_whole_count, 0);
    for (int k = 0; k < 3; k++)
        batch_set_close(&has[k]);
}

/* Of the batch ahead a worker pushes when the one before is here as a whole: else that would count as done. */
UNIT_TEST(a_batch_ahead_waits_for_the_one_before_B5)
{
    struct buckets buckets = { .n_chunks = 2 };
    struct chunk_state chunk[2] = { { .part = { 0, 4 } }, { .part = { 4, 4 } } };
    struct batch_set has[2];
    struct recovery_worker worker[2] = { { .has_begun = true }, { .has_begun = true } };
    struct recovery r = { .has = has, .worker = worker };
    struct ps_server s = { .env = { .buckets = &buckets, .n_batches = 8, .n_workers = 100 }, /* no round ends here */
                           .chunk = chunk,
                           .recovery = &r };
    struct ps_header answer = { .next = 0 };
    const struct arrival a = { .worker = 0 };
    const struct ps_header first = { .op = PS_PUSH, .batch = 1 }, ahead = { .op = PS_PUSH, .batch = 3 },
                           of_other = { .op = PS_PUSH, .batch = 2 };
    enum refused why;

    assert_int_equal(leases_open(&r.leases, 2, 2, 8), RC_OK);
    for (int k = 0; k < 2; k++)
        assert_int_equal(batch_set_open(&has[k], 8), RC_OK);
    assert_true(server_push_batch(&s, 0, &first, &answer)); /* of chunk 0 */
    assert_int_equal(answer.next, 3);
    assert_int_equal(server_check_batch(&s, &a, &first, &why), RC_OK);
    assert_int_equal(server_check_batch(&s, &a, &of_other, &why), RC_MISMATCH);
    assert_int_equal(server_check_batch(&s, &a, &ahead, &why), RC_MISMATCH);
    assert_int_equal(why, REFUSED_OUT_OF_ORDER);
    assert_true(batch_set_add(&has[1], 0));
    assert_int_equal(server_check_batch(&s, &a, &ahead, &why), RC_OK);
    assert_false(server_push_batch(&s, 0, &first, &answer)); /* again: B4 */
    assert_int_equal(r.leases.n_done, 0);
    assert_true(server_push_batch(&s, 0, &ahead, &answer));
    assert_int_equal(r.leases.n_done, 1);
    assert_int_equal(worker[0].n_batches, 1);
    assert_int_equal(server_check_batch(&s, &a, &first, &why), RC_MISMATCH);
    assert_int_equal(server_check_batch(&s, &a, &ahead, &why), RC_OK);
    assert_int_equal(answer.next, 4);
    for (int k = 0; k < 2; k++)
        batch_set_close(&has[k]);
    leases_close(&r.leases);
}

/* Who may join has none before it asks, and then one as all have; what it gives back is another one's. */
UNIT_TEST(a_guest_has_none_at_first_B8)
{
    struct leases l;

    assert_int_equal(leases_open(&l, 3, 2, 6), RC_OK);
    assert_true(l.of[2] == NO_BATCH);
    assert_int_equal(l.n_begun, 2);
    leases_give_back(&l, 2);
    assert_int_equal(l.n_given, 0);
    assert_int_equal(leases_take(&l, 2), 2);
    leases_give_back(&l, 2);
    leases_end(&l, 0);
    assert_int_equal(leases_take(&l, 0), 2);
    assert_int_equal(l.n_again, 1);
    leases_close(&l);
}

/* One that was read from a message: B1, B2. */
UNIT_TEST(a_book_that_cannot_be_does_not_fit)
{
    struct leases l;

    assert_int_equal(leases_open(&l, 3, 3, 20), RC_OK);
    assert_int_equal(leases_ahead(&l, 0), 3);
    assert_int_equal(leases_ahead(&l, 2), 4);
    leases_give_back(&l, 2); /* 2, and 4 */
    leases_end(&l, 1);
    assert_true(leases_fit(&l));
    const struct {
        uint64_t *at, value;
    } wrong[] = {
        { &l.of[1], 1 },           /* done, and nobody counts him busy */
        { &l.of[0], 5 },           /* never begun */
        { &l.of[0], 3 },           /* its own one ahead */
        { &l.ahead[0], 0 },        /* leased to it */
        { &l.ahead[0], 2 },        /* given back */
        { &l.ahead[1], 1 },        /* ahead of nothing */
        { &l.given[0], 4 },        /* given back twice */
        { &l.n_begun, 4 },         /* 4 was not begun */
        { &l.n_begun, 6 },         /* 5 is nowhere */
        { &l.n_done, 0 },          /* so is 1 */
        { &l.n_batches, 4 },       /* more were begun than are there */
        { &l.n_done, UINT64_MAX }, /* no sum of these wraps around */
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const uint64_t before = *wrong[i].at;
        *wrong[i].at = wrong[i].value;
        if (leases_fit(&l))
            fail_msg("case %zu fits", i);
        *wrong[i].at = before;
        assert_true(leases_fit(&l));
    }
    leases_close(&l);
}

UNIT_MAIN("leases")
