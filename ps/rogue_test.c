/* SPDX-License-Identifier: Apache-2.0 */
/* rogue_test.c - a worker that breaks the rules of the protocol ends the run, with a message that names it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "harness/compute/compute.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"
#include "ps/protocol.h"
#include "ps/ps.h"
#include "ps/wire.h"

/* A worker that sends something else than the protocol; the server must end with a message that names it. */
struct rogue {
    struct ps_header header;
    size_t n_payload_bytes;
    int n_sends;
    int n_workers; /* the others send nothing */
    struct consistency rule;
};

static enum rc rogue_worker(struct world *w, const struct transport_ops *ops, const struct rogue *rogue)
{
    float message[PS_HEADER_BYTES / sizeof(float) + 16] = { 0 };
    struct transport *t = NULL;
    enum rc rc;

    TRY(transport_open(&t, ops, w));
    ps_header_encode(message, &rogue->header);
    for (int i = 0; w->rank == 0 && i < rogue->n_sends; i++) {
        struct xfer tx = { .peer = rogue->n_workers,
                           .tag = PS_TAG_REQUEST,
                           .ptr = message,
                           .n_bytes = PS_HEADER_BYTES + rogue->n_payload_bytes };
        TRY(transport_send(t, &tx));
        TRY(transport_wait(t, &tx, 20000));
    }
    while ((rc = world_check(w)) == RC_OK) /* until the server has ended the run */
        world_pause(w, 1000000);
    rc = RC_OK;
out:
    transport_close(&t);
    return rc;
}

static enum rc rogue_body(struct world *w, void *arg)
{
    const struct rogue *rogue = arg;
    const float param[4] = { 1, 2, 3, 4 };
    const struct compute_backend *cpu = NULL;
    const struct transport_ops *zmq = NULL;
    const struct segment segments[] = { { 0, 1 }, { 1, 3 } };
    const struct bucket_opts by_segments = { .bucket_bytes = 4 };
    struct compute *compute = NULL;
    struct transport *transport = NULL;
    struct buckets buckets = { 0 };
    struct placement placement = { 0 };
    struct sync *sync = NULL;
    enum rc rc;

    TRY(transport_find(&zmq, "zmq"));
    if (w->rank < rogue->n_workers)
        return rogue_worker(w, zmq, rogue);
    TRY(compute_find(&cpu, "cpu"));
    TRY(compute_open(&compute, cpu, &(struct compute_env){ 0 }));
    TRY(buckets_open(&buckets, segments, 2, &by_segments)); /* piece 0: parameters 1 to 3; piece 1: parameter 0 */
    TRY(placement_open(&placement, &(struct placement_opts){ PLACEMENT_SPLIT, 0 }, segments, 2, 1));
    TRY(transport_open(&transport, zmq, w));
    const struct sync_env env = { .world = w,
                                  .compute = compute,
                                  .transport = transport,
                                  .buckets = &buckets,
                                  .placement = &placement,
                                  .n_workers = rogue->n_workers,
                                  .n_servers = 1,
                                  .slice_param = param,
                                  .consistency = rogue->rule,
                                  .timeout_ms = 20000 };
    TRY(sync_ps.open(&sync, &env));
    TRY(sync_ps.serve(sync, 0));
out:
    transport_close(&transport);
    if (sync)
        sync_ps.close(&sync);
    buckets_close(&buckets);
    placement_close(&placement);
    compute_close(&compute);
    return rc;
}

static void a_server_refuses_what_breaks_the_rules(void **state)
{
#define ASYNC                \
    {                        \
        CONSISTENCY_ASYNC, 0 \
    }
#define SYNC                \
    {                       \
        CONSISTENCY_SYNC, 0 \
    }
#define SSP_0              \
    {                      \
        CONSISTENCY_SSP, 0 \
    }
    static const struct {
        struct rogue rogue;
        const char *says;
    } bad[] = {
        { { { .op = PS_PARAMS, .n_elems = 4 }, 16, 1, 1, ASYNC }, "worker 0 sent op" },
        { { { .op = PS_PUSH, .n_elems = 4 }, 16, 1, 1, ASYNC }, "piece 0 with 4 elements; this server holds 3 of it" },
        { { { .op = PS_PUSH, .piece = 1, .n_elems = 3 }, 12, 1, 1, ASYNC },
          "piece 1 with 3 elements; this server holds 1 of it" },
        { { { .op = PS_PUSH, .piece = 2, .n_elems = 1 }, 4, 1, 1, ASYNC }, "pushed piece 2, of which there are 2" },
        { { { .op = PS_PUSH, .piece = UINT32_MAX, .n_elems = 3 }, 12, 1, 1, ASYNC }, "pushed piece 4294967295" },
        { { { .op = PS_PUSH, .n_elems = 3, .clock = 5 }, 12, 1, 1, ASYNC }, "clock 5" },
        { { { .op = PS_PUSH, .n_elems = 3, .step = 2 }, 12, 1, 1, ASYNC },
          "piece 0 of its step 2 where that of step 0 belongs" },
        { { { .op = PS_PUSH, .n_elems = 4 }, 12, 1, 1, ASYNC }, "carries" },
        { { { .op = PS_PUSH, .n_elems = 3 }, 12, 2, 2, SYNC }, "sent op 1 before its push was answered" },
        { { { .op = PS_PUSH, .n_elems = 3 }, 12, 2, 2, SSP_0 }, "sent op 1 before its push was answered" },
    };
    const struct world_ops *threads = NULL;
    const struct world_opts opts = { .bind_cores = false };

    (void)state;
    assert_int_equal(world_find(&threads, "threads"), RC_OK);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct rogue rogue = bad[i].rogue;
        assert_int_equal(world_run(threads, &opts, rogue.n_workers + 1, rogue_body, &rogue), RC_MISMATCH);
        if (!strstr(rc_message(), bad[i].says))
            fail_msg("\"%s\" does not say \"%s\"", rc_message(), bad[i].says);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(a_server_refuses_what_breaks_the_rules) };

    return cmocka_run_group_tests_name("rogue", tests, NULL, NULL);
}
