/* SPDX-License-Identifier: Apache-2.0 */
/* refusal_test.c - ranks agree on who refuses, and why: in threads, of one rank and of several.
 * Regression: each rank of an acceptance test printed the refusal. */
#include <stdatomic.h>

#include <string.h>

#include "harness/base/suite/unit.h"
#include "harness/verbs/refusal.h"

extern const struct world_ops world_threads;

enum { MOST_RANKS = 5 };

struct trial {
    enum rc own[MOST_RANKS];
    const char *why[MOST_RANKS]; /* NULL: an error without words */
    struct refusal refusal;      /* shared by all, as in a verb */
    atomic_int n_refused;        /* ranks that were told so */
};

static enum rc body(struct world *w, void *arg)
{
    struct trial *t = arg;
    const enum rc own = t->own[w->rank];
    bool is_refused;
    enum rc rc;

    rc_clear();
    TRY(refusal_agree(w, &t->refusal, own == RC_OK ? own : rc_raise(own, "%s", t->why[w->rank]), &is_refused));
    atomic_fetch_add(&t->n_refused, is_refused);
out:
    return rc;
}

static void must_agree(struct trial *t, int n_ranks)
{
    static const struct world_opts plain = { .on_loss = ON_LOSS_ABORT };

    assert_int_equal(world_run(&world_threads, &plain, n_ranks, body, t), RC_OK);
}

UNIT_TEST(nobody_refuses)
{
    struct trial t = { .refusal = { .rc = RC_IO } };
    struct verb_call call = { .stage = STAGE_RUN };

    must_agree(&t, 4);
    assert_int_equal(atomic_load(&t.n_refused), 0);
    assert_int_equal(refusal_raise(&t.refusal, &call), RC_OK);
    assert_int_equal(call.stage, STAGE_RUN);
}

/* What all refuse reads as what one process would say of it. */
UNIT_TEST(all_refuse_alike)
{
    struct trial t = { .own = { RC_INVAL, RC_INVAL, RC_INVAL }, .why = { "--x: is wrong", "--x: is wrong", "--x" } };
    struct verb_call call = { .stage = STAGE_RUN };

    must_agree(&t, 3);
    assert_int_equal(atomic_load(&t.n_refused), 3);
    assert_int_equal(refusal_raise(&t.refusal, &call), RC_INVAL);
    assert_string_equal(rc_message(), "--x: is wrong");
    assert_int_equal(call.stage, STAGE_INPUT);
}

UNIT_TEST(one_refuses_for_all)
{
    struct trial t = { .own = { [2] = RC_UNSUPPORTED, [4] = RC_NOMEM },
                       .why = { [2] = "no such device", [4] = "no memory" } };
    struct verb_call call = { .stage = STAGE_RUN };

    must_agree(&t, MOST_RANKS);
    assert_int_equal(atomic_load(&t.n_refused), MOST_RANKS);
    assert_int_equal(refusal_raise(&t.refusal, &call), RC_UNSUPPORTED);
    assert_string_equal(rc_message(), "rank 2: no such device");
}

/* A message as long as messages may be stays one. */
UNIT_TEST(a_long_message_is_cut)
{
    char long_one[RC_MESSAGE_BYTES];
    struct trial t = { .own = { [1] = RC_INVAL }, .why = { [1] = long_one } };

    memset(long_one, 'x', sizeof long_one - 1);
    long_one[sizeof long_one - 1] = '\0';
    must_agree(&t, 2);
    assert_int_equal(strncmp(t.refusal.why, "rank 1: xxx", 11), 0);
    assert_in_range(strlen(t.refusal.why), RC_MESSAGE_BYTES - 40, RC_MESSAGE_BYTES - 1);
}

UNIT_MAIN("refusal")
