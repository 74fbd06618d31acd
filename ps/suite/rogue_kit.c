/* SPDX-License-Identifier: Apache-2.0 */
/* rogue_kit.c - see rogue_kit.h. */
#include "ps/suite/rogue_kit.h"

#include "harness/compute/compute.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"
#include "ps/layout.h"
#include "ps/ps.h"

enum { LIMIT_MS = 120000, STATE_BYTES = 2 * N_PARAMS * sizeof(float) };

struct member {
    struct world *w;
    struct seen *seen;
    struct compute *compute;
    struct transport *transport;
    struct buckets buckets; /* chunk 0: parameters 1 to 3; chunk 1: parameter 0 */
    struct placement placement;
    struct sync *sync;
    struct sync_env env;
};

static void note_line(void *arg, const char *line)
{
    struct seen *seen = arg;

    if (seen->n_lines++ == 0)
        (void)snprintf(seen->line, sizeof seen->line, "%s", line);
}

static enum rc member_open(struct member *m)
{
    static const float param[N_PARAMS] = { 1, 2, 3, 4 };
    static const struct segment segments[] = { { 0, 1 }, { 1, 3 } };
    const struct bucket_opts by_segments = { .bucket_bytes = 4 };
    const struct rogue *rogue = m->seen->rogue;
    const struct compute_backend *cpu = NULL;
    const struct transport_ops *zmq = NULL;
    enum rc rc;

    TRY(transport_find(&zmq, "zmq"));
    TRY(compute_find(&cpu, "cpu"));
    TRY(compute_open(&m->compute, cpu, &(struct compute_env){ 0 }));
    TRY(buckets_open(&m->buckets, segments, 2, &by_segments));
    TRY(placement_open(&m->placement, &(struct placement_opts){ PLACEMENT_SPLIT, 0 }, segments, 2, 1));
    TRY(transport_open(&m->transport, zmq, m->w));
    m->env = (struct sync_env){ .world = m->w,
                                .compute = m->compute,
                                .transport = m->transport,
                                .buckets = &m->buckets,
                                .placement = &m->placement,
                                .n_workers = rogue->n_workers,
                                .n_servers = 1,
                                .slice_param = param,
                                .consistency = rogue->rule,
                                .compression = rogue->compression,
                                .n_batches = rogue->n_batches,
                                .timeout_ms = LIMIT_MS,
                                .tell = note_line,
                                .tell_arg = m->seen };
out:
    return rc;
}

static void member_close(struct member *m)
{
    transport_close(&m->transport);
    if (m->sync)
        sync_ps.close(&m->sync);
    buckets_close(&m->buckets);
    placement_close(&m->placement);
    compute_close(&m->compute);
}

/* --- requests by hand --- */

static enum rc send_request(struct member *m, const struct ps_header *h, const void *payload, size_t n_bytes, int n_cut)
{
    unsigned char head[PS_HEADER_BYTES];
    struct xfer tx = { .peer = m->env.n_workers,
                       .tag = PS_TAG_REQUEST,
                       .head = head,
                       .n_head_bytes = PS_HEADER_BYTES - (size_t)n_cut,
                       .ptr = (void *)(uintptr_t)payload,
                       .n_bytes = n_bytes };
    enum rc rc;

    ps_header_encode(head, h);
    TRY(transport_send(m->transport, &tx));
    TRY(transport_wait(m->transport, &tx, LIMIT_MS));
out:
    return rc;
}

/* *out := the header of the next answer, whose floats go to body[2 N_PARAMS]. */
static enum rc take_answer(struct member *m, struct ps_header *out, float *body)
{
    unsigned char head[PS_HEADER_BYTES];
    enum refused why;
    struct xfer rx = { .peer = m->env.n_workers,
                       .tag = PS_TAG_REPLY,
                       .head = head,
                       .n_head_bytes = sizeof head,
                       .ptr = body,
                       .n_bytes = STATE_BYTES };
    enum rc rc;

    TRY(transport_recv(m->transport, &rx));
    TRY(transport_wait(m->transport, &rx, LIMIT_MS));
    TRY(ps_header_decode(out, head, rx.n_head_bytes, rx.n_bytes, &why));
out:
    return rc;
}

static enum rc note_answer(struct member *m)
{
    float body[2 * N_PARAMS];

    return take_answer(m, &m->seen->answer[m->seen->n_answers++], body);
}

static enum rc end_by(struct member *m, enum ps_op op)
{
    const struct ps_header h = { .op = op, .layout = ps_layout_digest(&m->env, 0) };

    return send_request(m, &h, NULL, 0, 0);
}

static enum rc fetch(struct member *m)
{
    struct ps_header answer;
    float body[2 * N_PARAMS];
    enum rc rc;

    TRY(end_by(m, PS_FETCH));
    TRY(take_answer(m, &answer, body));
    memcpy(m->seen->final, body, sizeof m->seen->final);
    if (answer.op != PS_STATE)
        rc = rc_raise(RC_MISMATCH, "op %d where the state belongs", (int)answer.op);
out:
    return rc;
}

static enum rc push_ones(struct member *m)
{
    const struct ps_header h = { .op = PS_PUSH, .n_elems = 3, .lr = 1, .layout = ps_layout_digest(&m->env, 0) };
    const float ones[3] = { 1, 1, 1 };
    struct ps_header answer;
    float body[2 * N_PARAMS];
    enum rc rc;

    TRY(send_request(m, &h, ones, sizeof ones, 0));
    TRY(take_answer(m, &answer, body));
    if (answer.op != PS_PARAMS)
        FAIL(RC_MISMATCH, "op %d where the parameters belong", (int)answer.op);
    TRY(end_by(m, PS_LEAVE));
out:
    return rc;
}

/* Worker 0 gets its first batch. */
static enum rc ask_first(struct member *m)
{
    const struct ps_header h = { .op = PS_NEXT, .layout = ps_layout_digest(&m->env, 0) };
    struct ps_header answer;
    float body[2 * N_PARAMS];
    enum rc rc;

    TRY(send_request(m, &h, NULL, 0, 0));
    TRY(take_answer(m, &answer, body));
    if (answer.op != PS_BATCH || answer.clock != 0 || answer.is_last)
        rc = rc_raise(RC_MISMATCH, "op %d, batch %llu where batch 0 belongs", (int)answer.op,
                      (unsigned long long)answer.clock);
out:
    return rc;
}

/* Worker 0 sends, and gets an answer to each but the pushes that wait for the others, which leave then. */
static enum rc rogue_worker(struct member *m)
{
    const struct rogue *rogue = m->seen->rogue;
    const bool waits = rogue->n_workers > 1 && rogue->n_sends > 1;
    uint32_t payload[16] = { rogue->first_word };
    struct ps_header h = rogue->header;
    enum rc rc = RC_OK;

    h.layout = ps_layout_digest(&m->env, 0) ^ rogue->is_other_layout;
    if (m->w->rank > 0 && rogue->others_push)
        return push_ones(m);
    if (m->w->rank == 0 && rogue->n_batches > 0)
        TRY(ask_first(m));
    for (int i = 0; m->w->rank == 0 && i < rogue->n_sends; i++)
        TRY(send_request(m, &h, payload, rogue->n_payload_bytes, rogue->n_cut_bytes));
    for (int i = 0; m->w->rank == 0 && i < rogue->n_sends - waits; i++)
        TRY(note_answer(m));
    while (m->w->rank > 0 && !atomic_load(&m->seen->has_sent) && (rc = world_check(m->w)) == RC_OK)
        world_pause(m->w, 1000000);
    TRY(rc);
    atomic_store(&m->seen->has_sent, true);
    if (m->w->rank > 0)
        return end_by(m, PS_LEAVE);
    if (waits)
        TRY(note_answer(m));
    TRY(fetch(m));
out:
    return rc;
}

static enum rc rogue_body(struct world *w, void *arg)
{
    struct member m = { .w = w, .seen = arg };
    enum rc rc;

    TRY(member_open(&m));
    if (w->rank < m.env.n_workers) {
        TRY(rogue_worker(&m));
        goto out;
    }
    TRY(sync_ps.open(&m.sync, &m.env));
    rc = sync_ps.servers->serve(m.sync, 0);
    sync_ps.servers->served(m.sync, &m.seen->facts);
out:
    if (rc != RC_OK)
        world_abort(w, rc);
    member_close(&m);
    return rc;
}

enum rc rogue_run(struct seen *seen, const struct rogue *rogue)
{
    const struct world_ops *threads = NULL;
    const struct world_opts opts = { .bind_cores = false };

    memset(seen, 0, sizeof *seen);
    seen->rogue = rogue;
    assert_int_equal(world_find(&threads, "threads"), RC_OK);
    return world_run(threads, &opts, rogue->n_workers + 1, rogue_body, seen);
}

void rogue_expect_params(const struct seen *seen, float a, float b, float c, float d)
{
    const float wanted[N_PARAMS] = { a, b, c, d };

    assert_memory_equal(seen->final, wanted, sizeof wanted);
}
