/* SPDX-License-Identifier: Apache-2.0 */
/* exchange_cost_test.c - exchange.X1: what lies in a wait of the worker is exposed, the rest hidden; times made up. */
#include "harness/base/suite/unit.h"
#include "harness/exchange/exchange_cost.h"

static void add(struct cost_account *a, uint64_t start_ns, uint64_t exchanged_ns, uint64_t applied_ns)
{
    const struct chunk_times t = { .start_ns = start_ns,
                                   .oldest_ns = start_ns,
                                   .exchanged_ns = exchanged_ns,
                                   .update_ns = exchanged_ns,
                                   .applied_ns = applied_ns };

    cost_add_chunk(a, &t, false);
}

/* waited, exchange, apply, server, hidden */
static void check(const struct cost_account *a, uint64_t waited_ns, uint64_t exchange_ns, uint64_t apply_ns,
                  uint64_t server_ns, uint64_t hidden_ns)
{
    assert_int_equal(a->sum.exchange_ns, exchange_ns);
    assert_int_equal(a->sum.waited_ns, waited_ns);
    assert_int_equal(a->sum.apply_ns, apply_ns);
    assert_int_equal(a->sum.server_ns, server_ns);
    assert_int_equal(a->sum.hidden_ns, hidden_ns);
}

/* Inline: the wait is open while chunks are added, and holds all of them. */
UNIT_TEST(inline_is_all_exposed)
{
    struct cost_account a = { 0 };

    cost_wait_begin(&a, 1000);
    add(&a, 1000, 1400, 1500);
    add(&a, 1500, 1900, 1950);
    cost_wait_end(&a, 1950);
    check(&a, 950, 800, 150, 0, 0);
}

/* Exchange 100-400, update 400-450; the worker waits 300-420: exposed 100, of the update 20; hidden 200. */
UNIT_TEST(a_wait_in_the_middle)
{
    struct cost_account a = { 0 };

    cost_wait_begin(&a, 300);
    cost_wait_end(&a, 420);
    add(&a, 100, 400, 450);
    check(&a, 120, 100, 20, 0, 200);
}

UNIT_TEST(without_a_wait_all_is_hidden)
{
    struct cost_account a = { 0 };

    add(&a, 100, 400, 450);
    check(&a, 0, 0, 0, 0, 300);
    cost_wait_begin(&a, 450); /* touches it */
    cost_wait_end(&a, 500);
    add(&a, 400, 450, 450);
    check(&a, 50, 0, 0, 0, 350);
}

/* Two waits meet one chunk: 100-150 and 180-300 of 120-200: 30 + 20 exposed, 30 hidden. */
UNIT_TEST(two_waits_meet_one_chunk)
{
    struct cost_account a = { 0 };

    cost_wait_begin(&a, 100);
    cost_wait_end(&a, 150);
    cost_wait_begin(&a, 180);
    add(&a, 120, 200, 200);
    cost_wait_end(&a, 300);
    check(&a, 170, 50, 0, 0, 30);
}

/* A wait of the step before still counts for the chunk that ran meanwhile; its length does not. */
UNIT_TEST(reset_keeps_the_waits)
{
    struct cost_account a = { 0 };

    cost_wait_begin(&a, 100);
    cost_wait_end(&a, 200);
    cost_reset(&a);
    check(&a, 0, 0, 0, 0, 0);
    add(&a, 150, 250, 300);
    check(&a, 0, 50, 0, 0, 50);
}

/* The server's share: exchange 0-1000, server queue 400, update 200, of which half is exposed. */
UNIT_TEST(a_server_has_its_share)
{
    const struct chunk_times t = { .start_ns = 1000,
                                   .oldest_ns = 1000,
                                   .exchanged_ns = 2000,
                                   .update_ns = 2000,
                                   .applied_ns = 2000,
                                   .at_server = { .server_ns = 400, .apply_ns = 200, .staleness_count = 3 } };
    struct chunk_times held = t;
    const struct chunk_times fresher = { .at_server.staleness_count = 2 };
    struct cost_account a = { 0 };

    held.at_server.held_ns = 300;
    held.at_server.late_count = 2;
    held.at_server.applied_count = 3;
    held.at_server.refused_count = 1;
    held.at_server.lead_count = 5;
    cost_wait_begin(&a, 1500);
    cost_wait_end(&a, 2100);
    cost_add_chunk(&a, &t, true);
    check(&a, 600, 200, 100, 200, 400); /* hidden: 500, of which 100 are the update */
    assert_int_equal(a.sum.staleness_count, 3);
    cost_add_chunk(&a, &fresher, true);
    assert_int_equal(a.sum.staleness_count, 3);
    a = (struct cost_account){ 0 };
    cost_wait_begin(&a, 1500); /* 300 of them for other workers, which are no exchanging: half is exposed */
    cost_wait_end(&a, 2100);
    cost_add_chunk(&a, &held, true);
    check(&a, 600, 50, 100, 200, 400);
    assert_int_equal(a.sum.held_ns, 150);
    assert_int_equal(a.sum.late_count, 2);
    assert_int_equal(a.sum.lead_count, 5);
    cost_add_chunk(&a, &held, true);
    assert_int_equal(a.sum.late_count, 4);
    assert_int_equal(a.sum.applied_count, 6);
    assert_int_equal(a.sum.refused_count, 2);
    assert_int_equal(a.sum.lead_count, 5);
    a = (struct cost_account){ 0 };
    cost_wait_begin(&a, 1000); /* all exposed: to the nanosecond */
    cost_add_chunk(&a, &t, true);
    cost_wait_end(&a, 2000);
    check(&a, 1000, 400, 200, 400, 0);
}

/* An update that comes later than its exchange, in the worker: 400-450, where the exchange was 100-200. */
UNIT_TEST(an_update_may_come_later)
{
    const struct chunk_times t = {
        .start_ns = 100, .oldest_ns = 100, .exchanged_ns = 200, .update_ns = 400, .applied_ns = 450
    };
    struct cost_account a = { 0 };

    cost_wait_begin(&a, 150);
    cost_add_chunk(&a, &t, false);
    cost_wait_end(&a, 460);
    check(&a, 310, 50, 50, 0, 50);
}

/* exchange.X2: 100-600 and 150-1000 at once; the second counts since 600, for 400 of its 850, and so does its server:
 * of 340 in the update 160, of 85 in the queue 40. */
UNIT_TEST(what_is_at_once_counts_once)
{
    const struct chunk_times first = {
        .start_ns = 100, .oldest_ns = 100, .exchanged_ns = 600, .update_ns = 600, .applied_ns = 600
    };
    const struct chunk_times second = { .start_ns = 150,
                                        .oldest_ns = 600,
                                        .exchanged_ns = 1000,
                                        .update_ns = 1000,
                                        .applied_ns = 1000,
                                        .at_server = { .server_ns = 85, .apply_ns = 340 } };
    struct cost_account a = { 0 };

    cost_wait_begin(&a, 100); /* all of it */
    cost_add_chunk(&a, &first, true);
    cost_add_chunk(&a, &second, true);
    cost_wait_end(&a, 1000);
    check(&a, 900, 500 + 200, 160, 40, 0);
    a = (struct cost_account){ 0 };
    cost_wait_begin(&a, 800); /* the last half of what the second counts for */
    cost_wait_end(&a, 1000);
    cost_add_chunk(&a, &first, true);
    cost_add_chunk(&a, &second, true);
    check(&a, 200, 100, 80, 20, 500 + 120);
}

/* Only the last waits are kept: of five, of 10 to 14 ns, the first is forgotten. */
UNIT_TEST(the_last_waits_are_kept)
{
    struct cost_account a = { 0 };

    for (uint64_t i = 0; i < N_WAITS_KEPT + 1; i++) {
        cost_wait_begin(&a, 100 * i);
        cost_wait_end(&a, 100 * i + 10 + i);
    }
    add(&a, 0, 1000, 1000);
    check(&a, 10 + 11 + 12 + 13 + 14, 11 + 12 + 13 + 14, 0, 0, 1000 - (11 + 12 + 13 + 14));
}

UNIT_MAIN("exchange_cost")
