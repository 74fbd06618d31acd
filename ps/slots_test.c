/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slots_test.c TRANSPORT - chunks that move up, down, and both ways, several at once and in any order (ps.h, wire.P4);
 * and workers that use slots as they may not.
 */
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/suite/unit.h"
#include "harness/compute/compute.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"
#include "ps/layout.h"
#include "ps/ps.h"
#include "ps/suite/ps_rank.h"
#include "ps/wire.h"

enum { N_CHUNKS = PS_CREDITS, CHUNK_ELEMS = 20000, N_PARAMS = N_CHUNKS * CHUNK_ELEMS, MOST_WORKERS = 3, N_STEPS = 5 };
enum { BOTH = EXCHANGE_PUSH | EXCHANGE_PULL };
enum { LIMIT_MS = 120000 };

static const char *transport_name = "inproc";

struct counted { /* messages of a chunk */
    uint32_t applied, refused;
};

struct job {
    int n_workers, n_servers;
    struct consistency rule;
    rank_main_fn *worker;
    void (*tell)(void *arg, const char *line); /* as sync_env has them */
    void *tell_arg;
    float final[N_PARAMS];                   /* what worker 0 fetched */
    uint32_t staleness_count[N_STEPS];       /* of worker 0 */
    struct counted counted[N_CHUNKS];        /* likewise, of the chunks of a step */
    float pulled[MOST_WORKERS][N_STEPS + 1]; /* first element of chunk 1, after what the test says */
    struct ps_rank *rank;                    /* [n_workers] */
};

static enum rc rank_open(struct ps_rank *r, const struct job *job)
{
    const struct segment model = { 0, N_PARAMS };
    const struct bucket_opts chunks = { .partition_bytes = CHUNK_ELEMS * sizeof(float) };
    const struct placement_opts parts = { PLACEMENT_CHUNK, CHUNK_ELEMS * sizeof(float) / (uint64_t)job->n_servers };
    const struct transport_ops *ops = NULL;
    enum rc rc;

    r->param = calloc(N_PARAMS, sizeof *r->param);
    r->grad = calloc(N_PARAMS, sizeof *r->grad);
    assert_true(r->param && r->grad);
    TRY(transport_find(&ops, transport_name));
    TRY(compute_open(&r->compute, &compute_cpu, &(struct compute_env){ 0 }));
    TRY(buckets_open(&r->buckets, &model, 1, &chunks));
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
                                  .timeout_ms = LIMIT_MS,
                                  .tell = job->tell,
                                  .tell_arg = job->tell_arg };
    TRY(sync_ps.open(&r->sync, &env));
out:
    return rc;
}

static enum rc body(struct world *w, void *arg)
{
    struct job *job = arg;
    struct ps_rank r = { .w = w };
    enum rc rc;

    TRY(rank_open(&r, job));
    if (w->rank >= job->n_workers) {
        TRY(sync_ps.servers->serve(r.sync, 0));
        goto out;
    }
    job->rank[w->rank] = r;
    TRY(job->worker(w, job));
    TRY(sync_ps.servers->final(r.sync, r.param, NULL));
    if (w->rank == 0)
        memcpy(job->final, r.param, sizeof job->final);
out:
    ps_rank_close(&r);
    return rc;
}

static enum rc run(struct job *job)
{
    const struct world_ops *threads = NULL;
    const struct world_opts opts = { .bind_cores = false };
    struct ps_rank rank[MOST_WORKERS];

    job->rank = rank;
    assert_int_equal(world_find(&threads, "threads"), RC_OK);
    return world_run(threads, &opts, job->n_workers + job->n_servers, body, job);
}

static void note_nothing(void *arg, const char *line)
{
    (void)arg, (void)line;
}

static void fill(float *to, float value)
{
    for (size_t i = 0; i < N_PARAMS; i++)
        to[i] = value;
}

/* All chunks at once, of worker w from chunk w on. */
static enum rc step_of(struct ps_rank *r, unsigned push_pull, uint32_t *staleness_count)
{
    enum rc rc = RC_OK;

    for (size_t k = 0; k < N_CHUNKS; k++) {
        const struct chunk_work work = { (k + (size_t)r->w->rank) % N_CHUNKS, push_pull, 1.0f, r->param, r->grad };
        TRY(ps_post(r->sync, &work));
    }
    for (size_t k = 0; k < N_CHUNKS; k++) {
        struct chunk_cost cost = { 0 };
        TRY(ps_complete(r->sync, r->param, &cost));
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
    struct ps_rank *r = &job->rank[w->rank];
    float *first = r->param + CHUNK_ELEMS, *pulled = job->pulled[0];
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
    TRY(ps_post(r->sync, &(struct chunk_work){ 1, EXCHANGE_PULL, 0, r->param, NULL })); /* that chunk alone */
    TRY(ps_complete(r->sync, r->param, &(struct chunk_cost){ 0 }));
    pulled[3] = *first;
    pulled[4] = first[-1];
    pulled[5] = first[CHUNK_ELEMS - 1];
out:
    return rc;
}

UNIT_TEST(a_chunk_moves_up_down_and_both_ways)
{
    const float pulled[] = { 0, -2, -3, -3, 77, -3 };

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

/* --- what is not finite --- */

static enum rc spoiling_worker(struct world *w, void *arg)
{
    struct job *job = arg;
    struct ps_rank *r = &job->rank[w->rank];
    enum rc rc = RC_OK;

    fill(r->grad, 1);
    r->grad[CHUNK_ELEMS] = NAN; /* of chunk 1, in the part on the first server */
    for (size_t k = 0; k < N_CHUNKS; k++) {
        const unsigned push_pull = k == 2 ? EXCHANGE_PULL : k == 3 ? EXCHANGE_PUSH : BOTH;
        TRY(ps_post(r->sync, &(struct chunk_work){ k, push_pull, 1.0f, r->param, r->grad }));
    }
    for (size_t k = 0; k < N_CHUNKS; k++) {
        struct chunk_cost cost = { 0 };
        TRY(ps_complete(r->sync, r->param, &cost));
        job->counted[k] = (struct counted){ cost.applied_count, cost.refused_count };
    }
out:
    return rc;
}

UNIT_TEST(a_worker_knows_what_was_refused_P6)
{
    for (uint32_t n_servers = 1; n_servers <= 2; n_servers++) { /* a part of each chunk on each */
        struct job job = {
            .n_workers = 1, .n_servers = (int)n_servers, .worker = spoiling_worker, .tell = note_nothing
        };
        if (run(&job) != RC_OK)
            fail_msg("%s", rc_message());
        for (size_t k = 0; k < N_CHUNKS; k++) {
            assert_int_equal(job.counted[k].refused, k == 1);
            assert_int_equal(job.counted[k].applied, k == 2 ? 0 : n_servers - (k == 1)); /* chunk 2 was pulled alone */
        }
    }
}

/* --- all at once, in orders that differ --- */

static enum rc at_once_worker(struct world *w, void *arg)
{
    struct job *job = arg;
    struct ps_rank *r = &job->rank[w->rank];
    enum rc rc = RC_OK;

    for (size_t k = 0; k < N_CHUNKS; k++)
        for (size_t i = 0; i < CHUNK_ELEMS; i++)
            r->grad[k * CHUNK_ELEMS + i] = (float)((size_t)w->rank + 1 + k);
    for (int i = 0; i < N_STEPS; i++) {
        TRY(step_of(r, i == 2 ? EXCHANGE_PUSH : BOTH, NULL));
        job->pulled[w->rank][i] = r->param[CHUNK_ELEMS];
    }
out:
    return rc;
}

/* What all pushed is there, whatever the order; in step with sync:0, where the mean of a round is applied. */
UNIT_TEST(chunks_may_be_answered_in_any_order_P4)
{
    static const struct consistency rules[] = { { CONSISTENCY_ASYNC, 0 },
                                                { CONSISTENCY_SSP, 1 },
                                                { CONSISTENCY_SYNC, 0 } };

    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        struct job job = { .n_workers = MOST_WORKERS, .n_servers = 2, .worker = at_once_worker, .rule = rules[i] };
        const bool is_mean = rules[i].kind == CONSISTENCY_SYNC;
        if (run(&job) != RC_OK)
            fail_msg("rule %zu: %s", i, rc_message());
        for (size_t k = 0; k < N_CHUNKS; k++)
            for (size_t n = 0; n < CHUNK_ELEMS; n++) {
                const float taken = (float)(N_STEPS * (is_mean ? 2 + k : 6 + 3 * k));
                if (job.final[k * CHUNK_ELEMS + n] != -taken)
                    fail_msg("rule %zu, chunk %zu: %g, not %g", i, k, (double)job.final[k * CHUNK_ELEMS + n],
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
    int n_sends, n_workers; /* the others send nothing, and leave then */
    enum consistency_kind kind;
    const char *says;
    enum refused why;
};

static const struct misuse misuses[] = {
    { { { .op = PS_PULL, .n_elems = 1 } }, { 0 }, 1, 1, CONSISTENCY_ASYNC, "carries", REFUSED_TRUNCATED },
    { { { .op = PS_PULL, .chunk = N_CHUNKS } },
      { 0 },
      1,
      1,
      CONSISTENCY_ASYNC,
      "worker 0 pulled chunk 8",
      REFUSED_MALFORMED },
    { { { .op = PS_TAKEN } },
      { 0 },
      1,
      1,
      CONSISTENCY_ASYNC,
      "worker 0 sent op 10, which is not for this server",
      REFUSED_OUT_OF_ORDER },
    { { { .op = PS_PULL } },
      { PS_CREDITS },
      1,
      1,
      CONSISTENCY_ASYNC,
      "in slot 8, which it has not",
      REFUSED_OUT_OF_ORDER },
    { { { .op = PS_LEAVE } },
      { 1 },
      1,
      1,
      CONSISTENCY_ASYNC,
      "sent op 3 in slot 1, which it has not",
      REFUSED_OUT_OF_ORDER },
    { { { .op = PS_GIVE, .n_elems = CHUNK_ELEMS }, { .op = PS_PULL, .chunk = 1 } },
      { 3, 3 },
      2,
      2,
      CONSISTENCY_SYNC,
      "sent op 9 before its push was answered",
      REFUSED_OUT_OF_ORDER },
    { { { .op = PS_GIVE, .n_elems = CHUNK_ELEMS }, { .op = PS_LEAVE } },
      { 3, 0 },
      2,
      2,
      CONSISTENCY_SYNC,
      "sent op 3 before its push was answered",
      REFUSED_OUT_OF_ORDER },
    { { { .op = PS_PUSH, .n_elems = CHUNK_ELEMS }, { .op = PS_GIVE, .n_elems = CHUNK_ELEMS, .step = 1 } },
      { 0, 1 },
      2,
      2,
      CONSISTENCY_SYNC,
      "pushed chunk 0 again, before its push was answered",
      REFUSED_OUT_OF_ORDER },
};

struct by_hand { /* a request */
    unsigned char head[PS_HEADER_BYTES];
    struct xfer tx;
};

struct misused { /* what came of one */
    const struct misuse *misuse;
    char line[1024]; /* the server's first */
    int n_lines;
    struct server_facts facts;
    enum ps_op answer[2];                       /* to what was sent, by slot and then in order */
    struct by_hand sent[2], last[MOST_WORKERS]; /* of worker 0; of each */
    atomic_bool has_sent;
};

static void note_line(void *arg, const char *line)
{
    struct misused *seen = arg;

    if (seen->n_lines++ == 0)
        (void)snprintf(seen->line, sizeof seen->line, "%s", line);
}

/* Lent until it was waited for: what the server keeps may be lent as long. */
static enum rc send_by_hand(struct by_hand *out, struct ps_rank *r, const struct ps_header *without_layout,
                            uint32_t slot)
{
    static const float body[CHUNK_ELEMS];
    struct ps_header h = *without_layout;

    h.layout = ps_layout_digest(&r->sync->env, 0);
    ps_header_encode(out->head, &h);
    out->tx = (struct xfer){ .peer = r->sync->env.n_workers,
                             .tag = PS_TAG_REQUEST + slot,
                             .head = out->head,
                             .n_head_bytes = PS_HEADER_BYTES,
                             .ptr = (void *)(uintptr_t)body, /* only read */
                             .n_bytes = ps_is_push(h.op) ? sizeof body : 0 };
    return transport_send(r->transport, &out->tx);
}

/* The next answer in this slot, or of a slot that there is not, in the first one. */
static enum rc take_by_hand(struct ps_rank *r, uint32_t slot, enum ps_op *out)
{
    unsigned char head[PS_HEADER_BYTES];
    struct xfer rx = { .peer = r->sync->env.n_workers,
                       .tag = PS_TAG_REPLY + (slot < PS_CREDITS ? slot : 0),
                       .head = head,
                       .n_head_bytes = sizeof head,
                       .ptr = r->param,
                       .n_bytes = N_PARAMS * sizeof(float) };
    struct ps_header answer;
    enum refused why;
    enum rc rc;

    TRY(transport_recv(r->transport, &rx));
    TRY(transport_wait(r->transport, &rx, LIMIT_MS));
    TRY(ps_header_decode(&answer, head, rx.n_head_bytes, rx.n_bytes, &why));
    *out = answer.op;
out:
    return rc;
}

/* Worker 0 gets an answer to each message: what waits for the others when they have left. */
static enum rc misusing_worker(struct ps_rank *r, struct misused *seen)
{
    const struct misuse *m = seen->misuse;
    struct by_hand *last = &seen->last[r->w->rank];
    enum ps_op answer;
    enum rc rc = RC_OK;

    for (int i = 0; r->w->rank == 0 && i < m->n_sends; i++)
        TRY(send_by_hand(&seen->sent[i], r, &m->header[i], m->slot[i]));
    while (r->w->rank > 0 && !atomic_load(&seen->has_sent) && (rc = world_check(r->w)) == RC_OK)
        world_pause(r->w, 1000000);
    TRY(rc);
    if (r->w->rank > 0) {
        TRY(send_by_hand(last, r, &(struct ps_header){ .op = PS_LEAVE }, 0));
        return transport_wait(r->transport, &last->tx, LIMIT_MS);
    }
    if (m->n_sends > 1) /* the refusal, which comes before the answer to what waits */
        TRY(take_by_hand(r, m->slot[1], &seen->answer[1]));
    atomic_store(&seen->has_sent, true);
    TRY(take_by_hand(r, m->slot[0], &seen->answer[0]));
    for (int i = 0; i < m->n_sends; i++)
        TRY(transport_wait(r->transport, &seen->sent[i].tx, LIMIT_MS));
    TRY(send_by_hand(last, r, &(struct ps_header){ .op = PS_FETCH }, 0));
    TRY(take_by_hand(r, 0, &answer));
    TRY(transport_wait(r->transport, &last->tx, LIMIT_MS));
    if (answer != PS_STATE)
        rc = rc_raise(RC_MISMATCH, "op %d where the state belongs", (int)answer);
out:
    return rc;
}

static enum rc misuse_body(struct world *w, void *arg)
{
    struct misused *seen = arg;
    const struct misuse *m = seen->misuse;
    struct job job = {
        .n_workers = m->n_workers, .n_servers = 1, .rule = { m->kind, 0 }, .tell = note_line, .tell_arg = seen
    };
    struct ps_rank r = { .w = w };
    enum rc rc;

    TRY(rank_open(&r, &job));
    if (w->rank < m->n_workers) {
        TRY(misusing_worker(&r, seen));
        goto out;
    }
    TRY(sync_ps.servers->serve(r.sync, 0));
    sync_ps.servers->served(r.sync, &seen->facts);
out:
    ps_rank_close(&r);
    return rc;
}

UNIT_TEST(slots_are_used_as_P4_says_or_P5_refuses)
{
    const struct world_ops *threads = NULL;
    const struct world_opts opts = { .bind_cores = false };

    assert_int_equal(world_find(&threads, "threads"), RC_OK);
    for (size_t i = 0; i < sizeof misuses / sizeof *misuses; i++) {
        const struct misuse *m = &misuses[i];
        struct misused seen = { .misuse = m };
        if (world_run(threads, &opts, m->n_workers + 1, misuse_body, &seen) != RC_OK)
            fail_msg("case %zu: %s", i, rc_message());
        if (!strstr(seen.line, m->says))
            fail_msg("\"%s\" does not say \"%s\"", seen.line, m->says);
        assert_int_equal(seen.n_lines, 1);
        assert_int_equal(seen.facts.refused_count[m->why], 1);
        assert_int_equal(refused_total(seen.facts.refused_count), 1);
        assert_int_equal(seen.answer[m->n_sends - 1], PS_REFUSED);
        if (m->n_sends > 1) /* what was in order is answered all the same */
            assert_int_equal(seen.answer[0], m->header[0].op == PS_GIVE ? PS_TAKEN : PS_PARAMS);
    }
}

int main(int argc, char **argv)
{
    if (argc > 1)
        transport_name = argv[1];
    return unit_run("slots", NULL, NULL, NULL);
}
