/* SPDX-License-Identifier: Apache-2.0 */
/* coroutine_test.c - in which order coroutines run, what their stacks and last errors keep, and freeing those that have
 * not ended. */
#include <stdio.h>

#include "harness/base/suite/unit.h"
#include "harness/world/sim/coroutine.h"

enum { STACK_BYTES = 256 << 10, N = 3, ROUNDS = 4 };

struct ring {
    struct coroutine *caller, *member[N];
    char order[64];
    size_t n_order;
};

struct place {
    struct ring *ring;
    int number;
};

static void go_round(void *arg)
{
    const struct place *p = arg;
    struct ring *r = p->ring;
    int kept[1000]; /* on the stack, while the others run */
    char error[32];

    assert_string_equal(rc_message(), "");
    assert_int_equal(rc_raise(RC_IO, "of %d", p->number), RC_IO);
    snprintf(error, sizeof error, "of %d", p->number);
    for (int i = 0; i < 1000; i++)
        kept[i] = p->number * 1000 + i;
    for (int round = 0; round < ROUNDS; round++) {
        r->order[r->n_order++] = (char)('a' + p->number);
        coroutine_switch(r->member[p->number], r->member[(p->number + 1) % N]);
        assert_string_equal(rc_message(), error);
    }
    for (int i = 0; i < 1000; i++)
        assert_int_equal(kept[i], p->number * 1000 + i);
    r->order[r->n_order++] = (char)('A' + p->number);
    coroutine_end(r->member[p->number], p->number + 1 < N ? r->member[p->number + 1] : r->caller);
}

UNIT_TEST(each_runs_when_it_is_told_and_keeps_its_stack_and_error)
{
    struct ring r = { .n_order = 0 };
    struct place place[N];

    assert_int_equal(coroutine_of_caller(&r.caller), RC_OK);
    for (int i = 0; i < N; i++) {
        place[i] = (struct place){ &r, i };
        assert_int_equal(coroutine_new(&r.member[i], STACK_BYTES, go_round, &place[i]), RC_OK);
    }
    assert_int_equal(rc_raise(RC_IO, "of the caller"), RC_IO);
    coroutine_switch(r.caller, r.member[0]);
    assert_string_equal(rc_message(), "of the caller");
    assert_string_equal(r.order, "abcabcabcabcABC");
    for (int i = 0; i < N; i++)
        coroutine_free(&r.member[i]);
    coroutine_free(&r.caller);
    assert_null(r.caller);
}

UNIT_TEST(those_that_have_not_ended_can_be_freed)
{
    struct ring r = { .n_order = 0 };
    struct place place[N];

    assert_int_equal(coroutine_of_caller(&r.caller), RC_OK);
    for (int i = 0; i < N; i++) {
        place[i] = (struct place){ &r, i };
        assert_int_equal(coroutine_new(&r.member[i], STACK_BYTES, go_round, &place[i]), RC_OK);
    }
    coroutine_free(&r.member[1]); /* not even begun */
    r.member[1] = r.caller;       /* so the first one comes back here after its first turn */
    coroutine_switch(r.caller, r.member[0]);
    assert_string_equal(r.order, "a");
    coroutine_free(&r.member[0]);
    coroutine_free(&r.member[2]);
    coroutine_free(&r.caller);
}

UNIT_MAIN("coroutine")
