/* SPDX-License-Identifier: Apache-2.0 */
/* frame_fuzz.c - a server in a made-up world over a made-up transport; the contract is in frame_fuzz.h. */
#include "ps/suite/frame_fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "harness/base/bytes.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"
#include "ps/layout.h"
#include "ps/recovery/recovery.h"
#include "ps/server_state.h"

enum { N_PARAMS = FUZZ_N_ELEMS_0 + FUZZ_N_ELEMS_1, STEP_NS = 1000, MOST_MESSAGES = 4096 };
enum { N_BATCHES = 12 };
enum { /* wire.h */
       AT_MAGIC = 0,
       AT_VERSION = 4,
       AT_OP = 6,
       AT_CLOCK = 16,
       AT_LAYOUT = 32,
       AT_APPLY = 40,
       AT_CHUNK = 56,
       AT_STEP = 60
};

struct fuzz {
    struct world world;         /* first: as ops see it */
    struct transport transport; /* of this input */
    const unsigned char *next, *end;
    struct ps_server *server;
    uint64_t now_ns, layout;
    size_t n_lent, n_received, n_sent;
    unsigned char sum; /* of all that was sent: it is all readable */
    bool wrote_wrong;
};

static struct fuzz *of_world(struct world *w)
{
    return (struct fuzz *)w;
}

static uint64_t now_ns(struct world *w)
{
    return of_world(w)->now_ns += STEP_NS;
}

static enum rc check(struct world *w)
{
    (void)w;
    return RC_OK;
}

static const struct world_ops WORLD = { .module.name = "fuzz", .now_ns = now_ns, .check = check };

/* --- the transport --- */

/* Of an elastic run: the batch that its worker has, in a message that has room for it. */
static void repair_batch(const struct fuzz *f, unsigned char *bytes, int worker)
{
    const struct ps_server *s = f->server;
    const enum ps_op op = (enum ps_op)bytes_get(bytes + AT_OP, 2);

    if (server_is_elastic(s) && ps_is_push(op) && s->recovery->leases.ahead[worker] != NO_BATCH &&
        bytes[AT_APPLY] % 2 == 1)
        bytes_put(bytes + AT_APPLY, s->recovery->leases.ahead[worker] + 1, 8);
    else if (server_is_elastic(s) && ps_is_push(op))
        bytes_put(bytes + AT_APPLY, s->recovery->leases.of[worker] + 1, 8);
    if (server_is_elastic(s) && op == PS_NEXT)
        bytes_put(bytes + AT_CLOCK, s->recovery->worker[worker].has_begun ? s->recovery->leases.of[worker] + 1 : 0, 8);
}

static void repair(struct fuzz *f, unsigned char *bytes, size_t n_bytes, unsigned how, int worker)
{
    unsigned char right[PS_HEADER_BYTES];

    ps_header_encode(right, &(struct ps_header){ .op = PS_LEAVE, .layout = f->layout });
    if (how & FUZZ_REPAIR_KIND && n_bytes >= AT_VERSION + 2)
        memcpy(bytes + AT_MAGIC, right + AT_MAGIC, AT_VERSION + 2);
    if (how & FUZZ_REPAIR_LAYOUT && n_bytes >= AT_APPLY + 8) {
        memcpy(bytes + AT_LAYOUT, right + AT_LAYOUT, AT_APPLY + 8 - AT_LAYOUT);
        repair_batch(f, bytes, worker);
    }
    if (how & FUZZ_REPAIR_STEP && n_bytes >= PS_HEADER_BYTES) {
        const uint64_t chunk = bytes_get(bytes + AT_CHUNK, 4);
        if (chunk < f->server->env.buckets->n_chunks)
            bytes_put(bytes + AT_STEP, f->server->chunk[chunk].clocks.clock[worker], 4);
    }
}

/* The next message of the input, in memory of its own length, so that a sanitizer sees each byte too many. */
static enum rc recv_message(struct transport *t, struct message *out, int timeout_ms)
{
    struct fuzz *f = of_world(t->world);
    unsigned char *bytes;

    if (f->end - f->next < 2 || f->n_received >= MOST_MESSAGES)
        return timeout_ms == DO_NOT_WAIT ? RC_OK : rc_raise(RC_TIMEOUT, "the input ends");
    const unsigned how = f->next[0];
    const size_t n_left = (size_t)(f->end - f->next) - 2, n_bytes = f->next[1] < n_left ? f->next[1] : n_left;
    const bool is_guest = how & FUZZ_GUEST && f->server->env.n_guests > 0;
    const int worker = is_guest ? FUZZ_N_WORKERS : (int)(how % FUZZ_N_WORKERS);
    const uint32_t slot = how / FUZZ_SLOT % FUZZ_N_SLOTS;
    if (posix_memalign((void **)&bytes, 16, n_bytes > 0 ? n_bytes : 1) != 0)
        return rc_raise(RC_NOMEM, "no memory");
    memcpy(bytes, f->next + 2, n_bytes);
    f->next += 2 + n_bytes;
    repair(f, bytes, n_bytes, how, worker);
    *out = (struct message){ .ptr = bytes,
                             .n_bytes = n_bytes,
                             .peer = sync_rank_of(&f->server->env, worker),
                             .tag = PS_TAG_REQUEST + slot,
                             .priv = bytes };
    f->n_lent++;
    f->n_received++;
    return RC_OK;
}

static void release(struct transport *t, struct message *m)
{
    of_world(t->world)->n_lent--;
    free(m->priv);
}

/* What is sent is an answer that a worker understands. */
static enum rc post_send(struct transport *t, struct xfer *x)
{
    struct fuzz *f = of_world(t->world);
    struct ps_header h;
    enum refused why;

    f->n_sent++;
    for (size_t i = 0; i < x->n_bytes; i++)
        f->sum ^= ((const unsigned char *)x->ptr)[i];
    f->wrote_wrong |=
        ps_header_decode(&h, x->head, x->n_head_bytes, x->n_bytes, &why) != RC_OK || ps_op_is_request(h.op);
    return RC_OK;
}

static enum rc complete(struct transport *t, struct xfer *x, int timeout_ms)
{
    (void)t, (void)x, (void)timeout_ms;
    return RC_OK;
}

static enum rc open_made(struct transport **out, struct world *w);

static void close_made(struct transport **t)
{
    *t = NULL;
}

static const struct transport_ops TRANSPORT = { .module.name = "fuzz",
                                                .module.caps = TR_COPIES,
                                                .open = open_made,
                                                .post_send = post_send,
                                                .complete = complete,
                                                .recv_message = recv_message,
                                                .release = release,
                                                .close = close_made };

static enum rc open_made(struct transport **out, struct world *w)
{
    struct fuzz *f = of_world(w);

    f->transport = (struct transport){ .ops = &TRANSPORT, .world = w };
    *out = &f->transport;
    return RC_OK;
}

/* --- one input --- */

static void tell_nobody(void *arg, const char *line)
{
    (void)arg, (void)line;
}

struct parts { /* of a server's run; opened for each input: nothing of one is left for the next */
    struct compute *compute;
    struct buckets buckets;
    struct placement placement;
    struct transport *transport;
};

static enum rc open_server(struct fuzz *f, struct parts *p, unsigned rules)
{
    static const float param[N_PARAMS] = { 1, 2, 3, 4 };
    static const struct segment segments[] = { { 0, FUZZ_N_ELEMS_1 }, { FUZZ_N_ELEMS_1, FUZZ_N_ELEMS_0 } };
    static const struct consistency rule[FUZZ_N_RULES] = {
        { CONSISTENCY_ASYNC, 0 }, { CONSISTENCY_SSP, 1 }, { CONSISTENCY_SYNC, 0 }, { CONSISTENCY_SYNC, 1 }
    };
    static const struct compression form[FUZZ_N_FORMS] = {
        { COMPRESSION_NONE, 0 }, { COMPRESSION_FP16, 0 }, { COMPRESSION_BF16, 0 }, { COMPRESSION_TOPK, 0.5 }
    };
    const struct bucket_opts by_segments = { .bucket_bytes = 4 };
    enum rc rc;

    TRY(compute_open(&p->compute, &compute_cpu, &(struct compute_env){ 0 }));
    TRY(buckets_open(&p->buckets, segments, 2, &by_segments));
    TRY(placement_open(&p->placement, &(struct placement_opts){ PLACEMENT_SPLIT, 0 }, segments, 2, 1));
    TRY(transport_open(&p->transport, &TRANSPORT, &f->world));
    const struct sync_env env = { .world = &f->world,
                                  .compute = p->compute,
                                  .transport = p->transport,
                                  .buckets = &p->buckets,
                                  .placement = &p->placement,
                                  .n_workers = FUZZ_N_WORKERS,
                                  .n_servers = 1,
                                  .slice_param = param,
                                  .optimizer = optimizer_sgd(0.5, 0),
                                  .consistency = rule[rules % FUZZ_N_RULES],
                                  .compression = form[rules / FUZZ_N_RULES % FUZZ_N_FORMS],
                                  .n_batches = fuzz_is_elastic(rules) ? N_BATCHES : 0,
                                  .n_guests = fuzz_is_elastic(rules),
                                  .timeout_ms = 1,
                                  .tell = tell_nobody };
    f->layout = ps_layout_digest(&env, 0);
    TRY(ps_server_open(&f->server, &env));
out:
    return rc;
}

static void note(struct fuzz_outcome *out, const struct fuzz *f)
{
    struct server_facts facts;

    ps_server_facts(f->server, &facts);
    *out = (struct fuzz_outcome){ .n_messages = f->n_received,
                                  .n_answers = f->n_sent,
                                  .n_refused = refused_total(facts.refused_count) };
    for (int i = 0; i < STALENESS_BINS; i++)
        out->n_applied += facts.pushes_count[i];
}

/* Why the end of a run is none that may be; NULL: it is. */
static const char *judge(const struct fuzz *f, const struct fuzz_outcome *seen, enum rc rc)
{
    if (rc != RC_OK && rc != RC_TIMEOUT && rc != RC_MISMATCH)
        return "the server ended with an error that no message is to cause";
    if (rc == RC_MISMATCH && !strstr(rc_message(), "worker 0 sent what is no message of the run"))
        return "one message ended the server";
    if (f->n_lent > 0)
        return "a message was not released";
    if (f->wrote_wrong)
        return "an answer is none";
    if (seen->n_answers > seen->n_messages)
        return "more answers than messages";
    if (seen->n_applied + seen->n_refused > seen->n_messages)
        return "a message was refused and applied";
    return NULL;
}

bool frame_fuzz(struct fuzz_outcome *out, const char **why, const unsigned char *bytes, size_t n_bytes)
{
    struct fuzz f = { .next = bytes + (n_bytes > 0), .end = bytes + n_bytes };
    struct parts p = { .compute = NULL };
    enum rc rc;

    *out = (struct fuzz_outcome){ .n_messages = 0 };
    f.world = (struct world){ .ops = &WORLD, .rank = FUZZ_N_WORKERS, .n_ranks = FUZZ_N_WORKERS + 2 };
    rc = open_server(&f, &p, n_bytes > 0 ? bytes[0] : 0);
    *why = rc == RC_OK ? NULL : "no server";
    if (rc == RC_OK) {
        rc = ps_server_run(f.server, 0);
        note(out, &f);
    }
    ps_server_close(&f.server);
    if (!*why)
        *why = judge(&f, out, rc);
    transport_close(&p.transport);
    buckets_close(&p.buckets);
    placement_close(&p.placement);
    compute_close(&p.compute);
    return *why == NULL;
}
