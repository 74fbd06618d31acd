/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slots_test.c TRANSPORT - pieces that move up, down, and both ways, several at once and in any order (ps.h, wire.P4);
 * and workers that use slots as they may not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/compute/compute.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"
#include "ps/protocol.h"
#include "ps/ps.h"
#include "ps/wire.h"

enum { N_PIECES = PS_CREDITS, PIECE_ELEMS = 20000, N_PARAMS = N_PIECES * PIECE_ELEMS, MOST_WORKERS = 3, N_STEPS = 5 };
enum { BOTH = EXCHANGE_PUSH | EXCHANGE_PULL };

static const char *transport_name = "inproc";

struct rank {
    struct world *w;
    struct compute *compute;
    struct transport *transport;
    struct buckets buckets;
    struct placement placement;
    struct sync *sync;
    float *param, *grad;
};

struct job {
    int n_workers, n_servers;
    struct consistency rule;
    rank_main_fn *worker;
    float final[N_PARAMS];                   /* what worker 0 fetched */
    uint32_t staleness_count[N_STEPS];       /* of worker 0 */
    float pulled[MOST_WORKERS][N_STEPS + 1]; /* first element of piece 1, after what the test says */
    struct rank *rank;                       /* [n_workers] */
};

static void rank_close(struct rank *r)
{
    transport_close(&r->transport);
    if (r->sync)
        sync_ps.close(&r->sync);
    buckets_close(&r->buckets);
    placement_close(&r->placement);
    compute_close(&r->compute);
    free(r->param);
    free(r->grad);
}

static enum rc rank_open(struct rank *r, const struct job *job)
{
    const struct segment model = { 0, N_PARAMS };
    const struct bucket_opts pieces = { .partition_bytes = PIECE_ELEMS * sizeof(float) };
    const struct placement_opts parts = { PLACEMENT_CHUNK, PIECE_ELEMS * sizeof(float) / (uint64_t)job->n_servers };
    const struct transport_ops *ops = NULL;
    enum rc rc;

    r->param = calloc(N_PARAMS, sizeof *r->param);
    r->grad = calloc(N_PARAMS, sizeof *r->grad);
    assert_true(r->param && r->grad);
    TRY(transport_find(&ops, transport_name));
    TRY(compute_open(&r->compute, &compute_cpu, &(struct compute_env){ 0 }));
    TRY(buckets_open(&r->buckets, &model, 1, &pieces));
    TRY(placement_open(&r->placement, &parts, &model, 1, job->n_servers));
    TRY(transport_open(&r->transport, ops, r->w));
    const struct sync_env env = { .world = r->w,
                                  .compute = r->compute,
                                  .transport = r->transport,
                                  .buckets = &r->buckets,
                                  .placement = &r->placement,
                                  .consistency = job->rule,
                                  .n_workers = job->n_workers,
                                  .n_servers = job->n_servers,
                                  .slice_param = r->param,
                                  .timeout_ms = 20000 };
    TRY(sync_ps.open(&r->sync, &env));
out:
    return rc;
}

static enum rc body(struct world *w, void *arg)
{
    struct job *job = arg;
    struct rank r = { .w = w };
    enum rc rc;

    TRY(rank_open(&r, job));
    if (w->rank >= job->n_workers) {
        TRY(sync_ps.serve(r.sync, 0));
        goto out;
    }
    job->rank[w->rank] = r;
    TRY(job->worker(w, job));
    TRY(sync_ps.final(r.sync, r.param, NULL));
    if (w->rank == 0)
        memcpy(job->final, r.param, sizeof job->final);
out:
    rank_close(&r);
    return rc;
}

static enum rc run(struct job *job)
{
    const struct world_ops *threads = NULL;
    const struct world_opts opts = { .bind_cores = false };
    struct rank rank[MOST_WORKERS];

    job->rank = rank;
    assert_int_equal(world_find(&threads, "threads"), RC_OK);
    return world_run(threads, &opts, job->n_workers + job->n_servers, body, job);
}

static void fill(float *to, float value)
{
    for (size_t i = 0; i < N_PARAMS; i++)
        to[i] = value;
}

/* All pieces at once, of worker w from piece w on. */
static enum rc step_of(struct rank *r, unsigned parts, uint32_t *staleness_count)
{
    enum rc rc = RC_OK;

    for (size_t k = 0; k < N_PIECES; k++) {
        const struct piece_work work = { (k + (size_t)r->w->rank) % N_PIECES, parts, 1.0f, r->param, r->grad };
        TRY(ps_post(r->sync, &work));
    }
    for (size_t k = 0; k < N_PIECES; k++) {
        struct piece_cost cost = { 0 };
        TRY(ps_end(r->sync, r->param, &cost));
        if (staleness_count)
            *staleness_count = cost.staleness_count;
    }
out:
    return rc;
}

/* --- moves --- */

static enum rc moves_worker(struct world *w, void *arg)
{
    struct job *job = arg;
    struct rank *r = &job->rank[w->rank];
    float *first = r->param + PIECE_ELEMS, *pulled = job->pulled[0];
    enum rc rc;

    fill(r->grad, 1);
    TRY(step_of(r, EXCHANGE_PUSH, &job->staleness_count[0]));
    pulled[0] = *first; /* no pull: as it was */
    TRY(step_of(r, EXCHANGE_PUSH, &job->staleness_count[1]));
    TRY(step_of(r, EXCHANGE_PULL, &job->staleness_count[2]));
    pulled[1] = *first;
    TRY(step_of(r, BOTH, &job->staleness_count[3]));
    pulled[2] = *first;
    fill(r->param, 77);
    TRY(ps_post(r->sync, &(struct piece_work){ 1, EXCHANGE_PULL, 0, r->param, NULL })); /* that piece alone */
    TRY(ps_end(r->sync, r->param, &(struct piece_cost){ 0 }));
    pulled[3] = *first;
    pulled[4] = first[-1];
    pulled[5] = first[PIECE_ELEMS - 1];
out:
    return rc;
}

static void a_piece_moves_up_down_and_both_ways(void **state)
{
    const float pulled[] = { 0, -2, -3, -3, 77, -3 };

    (void)state;
    for (int n_servers = 1; n_servers <= 2; n_servers++) {
        struct job job = { .n_workers = 1, .n_servers = n_servers, .worker = moves_worker };
        if (run(&job) != RC_OK)
            fail_msg("%s", rc_message());
        assert_memory_equal(job.pulled[0], pulled, sizeof pulled);
        for (size_t i = 0; i < N_PARAMS; i++)
            assert_true(job.final[i] == -3);
        for (int i = 0; i < 4; i++) /* P2: all updates are its own */
            assert_int_equal(job.staleness_count[i], 0);
    }
}

/* --- all at once, in orders that differ --- */

static enum rc at_once_worker(struct world *w, void *arg)
{
    struct job *job = arg;
    struct rank *r = &job->rank[w->rank];
    enum rc rc = RC_OK;

    for (size_t k = 0; k < N_PIECES; k++)
        for (size_t i = 0; i < PIECE_ELEMS; i++)
            r->grad[k * PIECE_ELEMS + i] = (float)((size_t)w->rank + 1 + k);
    for (int i = 0; i < N_STEPS; i++) {
        TRY(step_of(r, i == 2 ? EXCHANGE_PUSH : BOTH, NULL));
        job->pulled[w->rank][i] = r->param[PIECE_ELEMS];
    }
out:
    return rc;
}

/* What all pushed is there, whatever the order; in step with sync:0, where the mean of a round is applied. */
static void pieces_may_be_answered_in_any_order_P4(void **state)
{
    static const struct consistency rules[] = { { CONSISTENCY_ASYNC, 0 },
                                                { CONSISTENCY_SSP, 1 },
                                                { CONSISTENCY_SYNC, 0 } };

    (void)state;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        struct job job = { .n_workers = MOST_WORKERS, .n_servers = 2, .worker = at_once_worker, .rule = rules[i] };
        const bool is_mean = rules[i].kind == CONSISTENCY_SYNC;
        if (run(&job) != RC_OK)
            fail_msg("rule %zu: %s", i, rc_message());
        for (size_t k = 0; k < N_PIECES; k++)
            for (size_t n = 0; n < PIECE_ELEMS; n++) {
                const float taken = (float)(N_STEPS * (is_mean ? 2 + k : 6 + 3 * k));
                if (job.final[k * PIECE_ELEMS + n] != -taken)
                    fail_msg("rule %zu, piece %zu: %g, not %g", i, k, (double)job.final[k * PIECE_ELEMS + n],
                             (double)-taken);
            }
        for (int w = 0; is_mean && w < MOST_WORKERS; w++)
            for (int step = 0; step < N_STEPS; step++) /* of the third there was no pull */
                assert_true(job.pulled[w][step] == -3.0f * (float)(step == 2 ? 2 : step + 1));
    }
}

/* --- slots as they may not be used --- */

struct misuse {
    struct ps_header header[2];
    uint32_t slot[2];
    int n_sends, n_workers; /* the others send nothing */
    enum consistency_kind kind;
    const char *says;
};

static const struct misuse misuses[] = {
    { { { .op = PS_PULL, .n_elems = 1 } }, { 0 }, 1, 1, CONSISTENCY_ASYNC, "carries" },
    { { { .op = PS_PULL, .piece = N_PIECES } }, { 0 }, 1, 1, CONSISTENCY_ASYNC, "worker 0 pulled piece 8" },
    { { { .op = PS_TAKEN } }, { 0 }, 1, 1, CONSISTENCY_ASYNC, "worker 0 sent op 10, which is not for this server" },
    { { { .op = PS_PULL } }, { PS_CREDITS }, 1, 1, CONSISTENCY_ASYNC, "in slot 8, which it has not" },
    { { { .op = PS_LEAVE } }, { 1 }, 1, 1, CONSISTENCY_ASYNC, "sent op 3 in slot 1, which it has not" },
    { { { .op = PS_GIVE, .n_elems = PIECE_ELEMS }, { .op = PS_PULL, .piece = 1 } },
      { 3, 3 },
      2,
      2,
      CONSISTENCY_SYNC,
      "sent op 9 before its push was answered" },
    { { { .op = PS_GIVE, .n_elems = PIECE_ELEMS }, { .op = PS_LEAVE } },
      { 3, 0 },
      2,
      2,
      CONSISTENCY_SYNC,
      "sent op 3 before its push was answered" },
    { { { .op = PS_PUSH, .n_elems = PIECE_ELEMS }, { .op = PS_GIVE, .n_elems = PIECE_ELEMS, .step = 1 } },
      { 0, 1 },
      2,
      2,
      CONSISTENCY_SYNC,
      "pushed piece 0 again, before its push was answered" },
};

static enum rc misusing_worker(struct world *w, const struct misuse *m)
{
    static const float body[PIECE_ELEMS];
    unsigned char head[2][PS_HEADER_BYTES];
    const struct transport_ops *ops = NULL;
    struct transport *t = NULL;
    struct xfer tx[2];
    enum rc rc;

    TRY(transport_find(&ops, transport_name));
    TRY(transport_open(&t, ops, w));
    for (int i = 0; w->rank == 0 && i < m->n_sends; i++) {
        ps_header_encode(head[i], &m->header[i]);
        tx[i] = (struct xfer){ .peer = m->n_workers,
                               .tag = PS_TAG_REQUEST + m->slot[i],
                               .head = head[i],
                               .n_head_bytes = PS_HEADER_BYTES,
                               .ptr = (void *)(uintptr_t)body, /* only read */
                               .n_bytes = ps_is_push(m->header[i].op) ? sizeof body : 0 };
        TRY(transport_send(t, &tx[i]));
    }
    while ((rc = world_check(w)) == RC_OK) /* until the server has ended the run */
        world_pause(w, 1000000);
    for (int i = 0; w->rank == 0 && i < m->n_sends; i++)
        (void)!transport_wait(t, &tx[i], DO_NOT_WAIT);
    rc = RC_OK;
out:
    transport_close(&t);
    return rc;
}

static enum rc misuse_body(struct world *w, void *arg)
{
    const struct misuse *m = arg;
    struct job job = { .n_workers = m->n_workers, .n_servers = 1, .rule = { m->kind, 0 } };
    struct rank r = { .w = w };
    enum rc rc;

    if (w->rank < m->n_workers)
        return misusing_worker(w, m);
    TRY(rank_open(&r, &job));
    TRY(sync_ps.serve(r.sync, 0));
out:
    rank_close(&r);
    return rc;
}

static void slots_are_used_as_P4_says(void **state)
{
    const struct world_ops *threads = NULL;
    const struct world_opts opts = { .bind_cores = false };

    (void)state;
    assert_int_equal(world_find(&threads, "threads"), RC_OK);
    for (size_t i = 0; i < sizeof misuses / sizeof *misuses; i++) {
        struct misuse m = misuses[i];
        assert_int_equal(world_run(threads, &opts, m.n_workers + 1, misuse_body, &m), RC_MISMATCH);
        if (!strstr(rc_message(), m.says))
            fail_msg("\"%s\" does not say \"%s\"", rc_message(), m.says);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_piece_moves_up_down_and_both_ways),
        cmocka_unit_test(pieces_may_be_answered_in_any_order_P4),
        cmocka_unit_test(slots_are_used_as_P4_says),
    };

    if (argc > 1)
        transport_name = argv[1];
    return cmocka_run_group_tests_name("slots", tests, NULL, NULL);
}
