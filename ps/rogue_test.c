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
    struct compression compression;
    uint32_t first_word; /* of the payload; the others are 0 */
};

static enum rc rogue_worker(struct world *w, const struct transport_ops *ops, const struct rogue *rogue)
{
    float message[PS_HEADER_BYTES / sizeof(float) + 16] = { 0 };
    struct transport *t = NULL;
    enum rc rc;

    TRY(transport_open(&t, ops, w));
    ps_header_encode(message, &rogue->header);
    memcpy(message + PS_HEADER_BYTES / sizeof(float), &rogue->first_word, sizeof rogue->first_word);
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
                                  .compression = rogue->compression,
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
#define NONE                \
    {                       \
        COMPRESSION_NONE, 0 \
    }
#define FP16                \
    {                       \
        COMPRESSION_FP16, 0 \
    }
#define BF16                \
    {                       \
        COMPRESSION_BF16, 0 \
    }
#define TOPK                  \
    {                         \
        COMPRESSION_TOPK, 0.5 \
    }
    static const struct {
        struct rogue rogue;
        const char *says;
    } bad[] = {
        { { { .op = PS_PARAMS, .n_elems = 4 }, 16, 1, 1, ASYNC, NONE, 0 }, "worker 0 sent op" },
        { { { .op = PS_PUSH, .n_elems = 4 }, 16, 1, 1, ASYNC, NONE, 0 },
          "piece 0 with 4 elements; this server holds 3 of it" },
        { { { .op = PS_PUSH, .piece = 1, .n_elems = 3 }, 12, 1, 1, ASYNC, NONE, 0 },
          "piece 1 with 3 elements; this server holds 1 of it" },
        { { { .op = PS_PUSH, .piece = 2, .n_elems = 1 }, 4, 1, 1, ASYNC, NONE, 0 },
          "pushed piece 2, of which there are 2" },
        { { { .op = PS_PUSH, .piece = UINT32_MAX, .n_elems = 3 }, 12, 1, 1, ASYNC, NONE, 0 },
          "pushed piece 4294967295" },
        { { { .op = PS_PUSH, .n_elems = 3, .clock = 5 }, 12, 1, 1, ASYNC, NONE, 0 }, "clock 5" },
        { { { .op = PS_PUSH, .n_elems = 3, .step = 2 }, 12, 1, 1, ASYNC, NONE, 0 },
          "piece 0 of its step 2 where that of step 0 belongs" },
        { { { .op = PS_PUSH, .n_elems = 4 }, 12, 1, 1, ASYNC, NONE, 0 }, "carries" },
        { { { .op = PS_PUSH, .n_elems = 3, .form = PS_F16 }, 6, 1, 1, ASYNC, NONE, 0 },
          "piece 0 in form 1, which is not of --compression none" },
        { { { .op = PS_PUSH, .n_elems = 3 }, 12, 1, 1, ASYNC, BF16, 0 },
          "piece 0 in form 0, which is not of --compression bf16" },
        { { { .op = PS_PUSH, .n_elems = 3, .form = PS_F16 }, 6, 1, 1, ASYNC, TOPK, 0 },
          "not of --compression topk:0.5" },
        { { { .op = PS_PUSH, .n_elems = 3, .form = PS_F16 }, 12, 1, 1, ASYNC, FP16, 0 }, "carries 12 bytes" },
        { { { .op = PS_PUSH, .n_elems = 3, .form = PS_PAIRS, .n_pairs = 1 }, 8, 1, 1, ASYNC, TOPK, 3 },
          "worker 0 pushed piece 0: pair 0 of 1 is of element 3 of 3" },
        { { { .op = PS_PUSH, .n_elems = 3, .form = PS_PAIRS, .n_pairs = 2 }, 16, 1, 1, SYNC, TOPK, 2 },
          "worker 0 pushed piece 0: pair 1 of 2 is of element 0 of 3, behind one of element 2" },
        { { { .op = PS_PUSH, .n_elems = 3, .form = PS_PAIRS, .n_pairs = 4 }, 32, 1, 1, ASYNC, TOPK, 0 },
          "4 pairs of 3 elements" },
        { { { .op = PS_PUSH, .n_elems = 3, .form = (enum ps_form)PS_N_FORMS }, 12, 1, 1, ASYNC, NONE, 0 },
          "form 4 is unknown" },
        { { { .op = PS_PUSH, .n_elems = 3 }, 12, 2, 2, SYNC, NONE, 0 }, "sent op 1 before its push was answered" },
        { { { .op = PS_PUSH, .n_elems = 3 }, 12, 2, 2, SSP_0, NONE, 0 }, "sent op 1 before its push was answered" },
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
