/* SPDX-License-Identifier: Apache-2.0 */
/* collective_test.c - exchange.A6 and the other checks that algorithms share, on made-up ones that only count their
 * calls. */
#include <stdlib.h>
#include <string.h>

#include "harness/base/suite/unit.h"
#include "harness/compute/compute.h"
#include "harness/exchange/collective.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"

struct made {
    struct collective base;
    struct collective_call last;
    int n_runs;
};

static enum rc made_open(struct collective **out, const struct collective_env *env)
{
    struct made *m = calloc(1, sizeof *m);

    (void)env;
    assert_non_null(m);
    *out = &m->base;
    return RC_OK;
}

static enum rc made_run(struct collective *c, const struct collective_call *call, float *data)
{
    struct made *m = (struct made *)c;

    (void)data;
    m->last = *call;
    m->n_runs++;
    return RC_OK;
}

static void made_close(struct collective **c)
{
    free(*c);
    *c = NULL;
}

#define MADE(name_, caps_)                                                                                  \
    {                                                                                                       \
        .module = { .name = name_, .caps = caps_ }, .open = made_open, .run = made_run, .close = made_close \
    }

static const struct collective_ops first = MADE("alpha", COLL_ALLREDUCE | COLL_BROADCAST);
static const struct collective_ops second = MADE("beta", COLL_ALLREDUCE | COLL_REDUCE_SCATTER | COLL_NARROW);
static const struct collective_ops third = MADE("gamma", COLL_REDUCE_SCATTER | COLL_BROADCAST);

static const struct module *made_at(int i)
{
    static const struct module *const all[] = { &first.module, &second.module, &third.module, NULL };

    return all[i];
}

static const struct module_kind made_kind = { "reducer", made_at, NULL, "alpha", NULL };

UNIT_TEST(types_have_names)
{
    assert_string_equal(collective_type_name(COLL_ALLREDUCE), "allreduce");
    assert_string_equal(collective_type_name(COLL_REDUCE_SCATTER), "reduce-scatter");
    assert_string_equal(collective_type_name(COLL_ALLGATHER), "allgather");
    assert_string_equal(collective_type_name(COLL_BROADCAST), "broadcast");
}

UNIT_TEST(algorithms_are_found_by_name)
{
    const struct collective_ops *ops = NULL;

    assert_int_equal(collective_find(&ops, &made_kind, "beta"), RC_OK);
    assert_ptr_equal(ops, &second);
    assert_int_equal(collective_find(&ops, &made_kind, "gama"), RC_INVAL);
    assert_non_null(strstr(rc_message(), "gamma"));
}

UNIT_TEST(missing_types_are_refused_with_who_has_them_A6)
{
    static const struct {
        const struct collective_ops *ops;
        unsigned types;
        const char *message; /* NULL: it has all */
    } cases[] = {
        { &first, COLL_ALLREDUCE | COLL_BROADCAST, NULL },
        { &first, 0, NULL },
        { &first, COLL_ALLREDUCE | COLL_REDUCE_SCATTER, "reducer alpha has no reduce-scatter; beta or gamma has" },
        { &second, COLL_BROADCAST, "reducer beta has no broadcast; alpha or gamma has" },
        { &third, COLL_ALLREDUCE, "reducer gamma has no allreduce; alpha or beta has" },
        { &second, COLL_ALLGATHER, "reducer beta has no allgather, and no other reducer has it" },
    };
    struct world world = { .n_ranks = 3 };
    struct transport transport = { .world = &world };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct collective_env env = { .kind = &made_kind, .transport = &transport, .types = cases[i].types };
        const enum rc wanted = cases[i].message ? RC_UNSUPPORTED : RC_OK;
        struct collective *c = NULL;
        assert_int_equal(collective_require(&made_kind, cases[i].ops, cases[i].types), wanted);
        assert_int_equal(collective_open(&c, cases[i].ops, &env), wanted);
        if (cases[i].message)
            assert_string_equal(rc_message(), cases[i].message);
        assert_int_equal(c != NULL, wanted == RC_OK);
        collective_close(&c);
        assert_null(c);
    }
}

static enum rc check_hosts(const struct collective_ops *ops, int n_ranks, int n_host_ranks, bool memories_are_apart)
{
    return collective_check_hosts(&made_kind, ops,
                                  &(struct collective_hosts){ n_ranks, n_host_ranks, memories_are_apart });
}

UNIT_TEST(several_hosts_are_refused_where_one_is_needed_A12)
{
    static const struct collective_ops near = MADE("delta", COLL_ALLREDUCE | COLL_ONE_HOST);
    static const int not_known = 0;

    assert_int_equal(check_hosts(&first, 4, 1, false), RC_OK);
    assert_int_equal(check_hosts(&near, 4, 4, false), RC_OK);
    assert_int_equal(check_hosts(&near, 4, 8, false), RC_OK);
    assert_int_equal(check_hosts(&near, 4, not_known, false), RC_OK);
    assert_int_equal(check_hosts(&near, 5, 4, false), RC_INVAL);
    assert_non_null(strstr(rc_message(), "reducer delta: "));
    assert_non_null(strstr(rc_message(), "4 of the 5 ranks"));
}

UNIT_TEST(memory_in_common_is_needed_to_sum_in_it_A12)
{
    static const struct collective_ops shared = MADE("delta", COLL_ALLREDUCE | COLL_SHARED);
    static const struct collective_ops chooser = MADE("omega", COLL_ALLREDUCE | COLL_SHARED | COLL_OPAQUE);

    assert_int_equal(check_hosts(&shared, 4, 4, false), RC_OK);
    assert_int_equal(check_hosts(&first, 4, 4, true), RC_OK);
    assert_int_equal(check_hosts(&chooser, 4, 4, true), RC_OK);
    assert_int_equal(check_hosts(&shared, 4, 4, true), RC_INVAL);
    assert_non_null(strstr(rc_message(), "reducer delta: "));
    assert_non_null(strstr(rc_message(), "use another reducer"));
}

UNIT_TEST(wrong_calls_do_not_run)
{
    static const struct {
        struct collective_call call;
        enum rc rc;
        const char *message;
    } cases[] = {
        { { COLL_ALLGATHER, 0, 5, WIRE_F32, NULL },
          RC_UNSUPPORTED,
          "reducer gamma has no allgather, and no other reducer has it" },
        { { COLL_ALLREDUCE, 0, 5, WIRE_F32, NULL },
          RC_UNSUPPORTED,
          "reducer gamma has no allreduce; alpha or beta has" },
        { { COLL_REDUCE_SCATTER, 0, 5, WIRE_F32, NULL },
          RC_INVAL,
          "collective gamma was opened without reduce-scatter" },
        { { (enum collective_type)0, 0, 5, WIRE_F32, NULL },
          RC_INVAL,
          "collective gamma was opened without unknown type" },
        { { COLL_BROADCAST, 0, 11, WIRE_F32, NULL }, RC_INVAL, "collective gamma: 11 elements, opened for 10" },
        { { COLL_BROADCAST, 3, 5, WIRE_F32, NULL }, RC_INVAL, "collective gamma: broadcast from rank 3 of 3" },
        { { COLL_BROADCAST, -1, 5, WIRE_F32, NULL }, RC_INVAL, "collective gamma: broadcast from rank -1 of 3" },
        { { COLL_BROADCAST, 0, 5, WIRE_F16, NULL },
          RC_INVAL,
          "collective gamma: broadcast with 16 bits a float, opened without them" },
    };
    const struct collective_call right = { COLL_BROADCAST, 2, 10, WIRE_F32, NULL };
    struct world world = { .n_ranks = 3 };
    struct transport transport = { .world = &world };
    const struct collective_env env = {
        .kind = &made_kind, .transport = &transport, .types = COLL_BROADCAST, .max_elems = 10
    };
    struct collective *c = NULL;

    assert_int_equal(collective_open(&c, &third, &env), RC_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(collective_run(c, &cases[i].call, NULL), cases[i].rc);
        assert_string_equal(rc_message(), cases[i].message);
    }
    assert_int_equal(((struct made *)c)->n_runs, 0);
    assert_int_equal(collective_run(c, &right, NULL), RC_OK);
    assert_int_equal(((struct made *)c)->n_runs, 1);
    assert_int_equal(((struct made *)c)->last.root, 2);
    collective_close(&c);
    collective_close(&c); /* NULL-safe */
}

UNIT_TEST(messages_of_16_bits_need_the_cap_A10)
{
    struct world world = { .n_ranks = 3 };
    struct transport transport = { .world = &world };
    struct collective_env env = {
        .kind = &made_kind, .transport = &transport, .types = COLL_ALLREDUCE, .narrow = true, .max_elems = 10
    };
    const struct collective_call narrow = { COLL_ALLREDUCE, 0, 5, WIRE_BF16, NULL };
    struct collective *c = NULL;

    assert_int_equal(compute_open(&env.compute, &compute_cpu, NULL), RC_OK);
    assert_int_equal(collective_open(&c, &first, &env), RC_UNSUPPORTED);
    assert_string_equal(rc_message(), "reducer alpha has no messages of 16 bits; beta has");
    assert_null(c);
    env.types |= COLL_REDUCE_SCATTER;
    assert_int_equal(collective_open(&c, &second, &env), RC_OK);
    assert_non_null(c->halves);
    assert_int_equal(collective_run(c, &(struct collective_call){ COLL_REDUCE_SCATTER, 0, 5, WIRE_F16, NULL }, NULL),
                     RC_INVAL);
    assert_string_equal(rc_message(),
                        "collective beta: reduce-scatter with 16 bits a float, which allreduce alone has");
    assert_int_equal(collective_run(c, &narrow, NULL), RC_OK);
    assert_int_equal(c->wire, WIRE_BF16);
    collective_close(&c);
    compute_close(&env.compute);
}

UNIT_MAIN("collective")
