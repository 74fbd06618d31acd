/* SPDX-License-Identifier: Apache-2.0 */
/* transport_fault_test.c - each planted fault does what it says, to the message it names, and to no other. */
#include "harness/base/suite/unit.h"
#include "harness/net/suite/transport_fault.h"
#include "harness/net/suite/transport_suite_kit.h"

extern const struct world_ops world_threads;
extern const struct transport_ops transport_inproc;

enum { N_MESSAGES = 5, NTH = 2, GAP_MS = 300 };

struct drill {
    struct fault fault;
    uint32_t got[N_MESSAGES + 1]; /* by rank 1, in order of arrival */
    size_t n_bytes[N_MESSAGES + 1];
    int n_got;
    enum rc end; /* of the receive after the last one */
    uint64_t n_sends;
    int n_failures;
};

static void send_all(struct suite *s, struct transport *t, struct drill *drill)
{
    uint32_t value[N_MESSAGES];
    struct xfer tx[N_MESSAGES];

    for (uint32_t i = 0; i < N_MESSAGES; i++) {
        value[i] = 100 + i;
        tx[i] = (struct xfer){ .ptr = &value[i], .n_bytes = sizeof value[i], .peer = 1, .tag = 1 };
        EXPECT_OK(s, transport_send(t, &tx[i]));
    }
    EXPECT_OK(s, world_barrier(s->w)); /* what comes is there: the gap behind it does not judge speed */
    for (int i = 0; i < N_MESSAGES; i++) {
        EXPECT_OK(s, transport_wait(t, &tx[i], s->timeout_ms));
        EXPECT(s, tx[i].n_bytes == sizeof value[i]);
    }
    drill->n_sends = transport_fault_n_sends(t);
    EXPECT_OK(s, world_barrier(s->w));
    transport_close(&t);
}

static void receive_all(struct suite *s, struct transport *t, struct drill *drill)
{
    EXPECT_OK(s, world_barrier(s->w));
    for (int i = 0; i <= N_MESSAGES && drill->end == RC_OK; i++) {
        struct xfer rx = { .ptr = &drill->got[i], .n_bytes = sizeof drill->got[i], .peer = 0, .tag = 1 };
        EXPECT_OK(s, transport_recv(t, &rx));
        drill->end = transport_wait(t, &rx, GAP_MS);
        drill->n_bytes[i] = rx.n_bytes;
        drill->n_got += drill->end == RC_OK;
    }
    EXPECT_OK(s, world_barrier(s->w));
    transport_close(&t);
}

static enum rc body(struct world *w, void *arg)
{
    struct drill *drill = arg;
    struct suite s = { .w = w, .ops = &transport_inproc, .timeout_ms = 20000, .name = "fault" };
    struct transport *t = NULL;

    if (EXPECT_OK(&s, transport_fault_open(&t, &transport_inproc, w, &drill->fault))) {
        if (w->rank == 0)
            send_all(&s, t, drill);
        else
            receive_all(&s, t, drill);
    }
    if (w->rank == 0)
        drill->n_failures = s.n_failures;
    return s.n_failures == 0 ? RC_OK : rc_raise(RC_BUG, "%d expectations failed", s.n_failures);
}

static struct drill run(enum fault_kind kind)
{
    struct drill drill = { .fault = { .kind = kind, .rank = 0, .nth = NTH, .delay_ns = 5000000 } };
    const struct world_opts opts = { .bind_cores = false };

    assert_int_equal(world_run(&world_threads, &opts, 2, body, &drill), RC_OK);
    assert_int_equal(drill.n_failures, 0);
    assert_int_equal(drill.n_sends, N_MESSAGES);
    return drill;
}

UNIT_TEST(each_fault_is_of_its_message)
{
    static const uint32_t all[] = { 100, 101, 102, 103, 104 }, without[] = { 100, 101, 103, 104 },
                          twice[] = { 100, 101, 102, 102, 103, 104 };
    static const struct {
        enum fault_kind kind;
        const uint32_t *got;
        int n_got;
    } of[] = { { FAULT_NONE, all, 5 },
               { FAULT_DROP, without, 4 },
               { FAULT_DELAY, all, 5 },
               { FAULT_TRUNCATE, all, 5 },
               { FAULT_DUPLICATE, twice, 6 } };

    for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
        const struct drill d = run(of[k].kind);
        assert_int_equal(d.n_got, of[k].n_got);
        for (int i = 0; i < d.n_got; i++) {
            const bool is_cut = of[k].kind == FAULT_TRUNCATE && i == NTH;
            assert_int_equal(d.n_bytes[i], sizeof(uint32_t) - is_cut);
            assert_true(is_cut || d.got[i] == of[k].got[i]);
        }
        assert_int_equal(d.end, d.n_got > N_MESSAGES ? RC_OK : RC_TIMEOUT);
    }
}

UNIT_MAIN("transport_fault")
