/* SPDX-License-Identifier: Apache-2.0 */
/* elastic.c - what a server does in an elastic run: server 0 hands out batches, every one notes what it has of
 * them; see leases.h. */
#include "ps/recovery/elastic.h"

#include <stdlib.h>
#include <string.h>

#include "harness/world/world.h"
#include "ps/recovery/replica.h"

bool server_has_book(const struct ps_server *s)
{
    return server_is_elastic(s) && s->slice == 0;
}

static size_t n_rounds(const struct ps_server *s)
{
    return (size_t)(s->env.n_batches / (uint64_t)s->env.n_workers);
}

enum rc server_open_leases(struct ps_server *s)
{
    const size_t n_chunks = s->env.buckets->n_chunks;
    enum rc rc = RC_OK;

    if (!server_is_elastic(s))
        return RC_OK;
    if (server_has_book(s))
        TRY(leases_open(&s->recovery->leases, sync_most_workers(&s->env), s->env.n_workers, s->env.n_batches));
    s->recovery->has = calloc(n_chunks, sizeof *s->recovery->has);
    s->recovery->round_ns = calloc(n_rounds(s) + 1, sizeof *s->recovery->round_ns);
    if (!s->recovery->has || !s->recovery->round_ns)
        FAIL(RC_NOMEM, "parameter server: no memory for %zu chunks", n_chunks);
    for (size_t k = 0; k < n_chunks; k++)
        TRY(batch_set_open(&s->recovery->has[k], s->env.n_batches));
out:
    return rc;
}

void server_close_leases(struct ps_server *s)
{
    leases_close(&s->recovery->leases);
    for (size_t k = 0; s->recovery->has && k < s->env.buckets->n_chunks; k++)
        batch_set_close(&s->recovery->has[k]);
    free(s->recovery->has);
    free(s->recovery->round_ns);
    s->recovery->has = NULL;
    s->recovery->round_ns = NULL;
}

static bool has_whole(const struct ps_server *s, uint64_t batch)
{
    for (size_t k = 0; k < s->env.buckets->n_chunks; k++)
        if (s->chunk[k].part.n_elems > 0 && !batch_set_has(&s->recovery->has[k], batch))
            return false;
    return true;
}

/* --- checks --- */

/* leases.B5, at the server that has the book */
static bool may_push_of(const struct ps_server *s, int worker, uint64_t batch)
{
    const struct leases *l = &s->recovery->leases;
    const uint64_t own = l->of[worker];

    return own == batch || (own != NO_BATCH && l->ahead[worker] == batch && has_whole(s, own));
}

enum rc server_check_batch(const struct ps_server *s, const struct arrival *a, const struct ps_header *h,
                           enum refused *why)
{
    if (!server_is_elastic(s))
        return no_recovery.check(s, a, h, why);
    *why = REFUSED_MALFORMED;
    if (h->batch == 0 || h->batch > s->env.n_batches)
        return rc_raise(RC_MISMATCH, "worker %d pushed a gradient of batch %lld, but there are %llu batches", a->worker,
                        (long long)(h->batch - 1), (unsigned long long)s->env.n_batches);
    *why = REFUSED_OUT_OF_ORDER;
    if (server_has_book(s) && (!s->recovery->worker[a->worker].has_begun || !may_push_of(s, a->worker, h->batch - 1)))
        return rc_raise(RC_MISMATCH, "worker %d pushed of batch %llu, which it has not", a->worker,
                        (unsigned long long)h->batch - 1);
    return RC_OK;
}

enum rc server_check_done(const struct ps_server *s, const struct arrival *a, const struct ps_header *h,
                          enum refused *why)
{
    const bool asks = h->op == PS_NEXT, has_begun = s->recovery->worker[a->worker].has_begun;

    *why = REFUSED_OUT_OF_ORDER;
    if (!server_has_book(s))
        return no_recovery.check(s, a, h, why);
    const uint64_t done =
        has_begun ? s->recovery->leases.of[a->worker] + 1 : 0; /* NO_BATCH: 0, too: nothing ends then */
    const bool gives_back = !asks && h->clock == 0, is_over = asks && has_begun && done == 0;
    if ((h->clock != done && !gives_back) || is_over)
        return rc_raise(RC_MISMATCH, "worker %d says that batch %lld is done, which it has not", a->worker,
                        (long long)(h->clock - 1));
    *why = REFUSED_MALFORMED;
    if (asks && h->n_elems != 0)
        return rc_raise(RC_MISMATCH, "worker %d asks for a batch with %u elements", a->worker, h->n_elems);
    return RC_OK;
}

enum rc server_check_join(const struct ps_server *s, const struct arrival *a, const struct ps_header *h,
                          enum refused *why)
{
    const struct recovery_worker *w = &s->recovery->worker[a->worker];
    const bool is_absent = s->client[a->worker].state == ABSENT && !w->forward[0].is_pending && !w->is_ending;

    *why = REFUSED_OUT_OF_ORDER;
    if (h->op != PS_JOIN || !is_absent || a->slot != 0)
        return rc_raise(RC_MISMATCH, "worker %d sent op %d %s", a->worker, (int)h->op,
                        is_absent ? "before it joined" : "to join, which it has done");
    *why = REFUSED_MALFORMED;
    if (h->n_elems != 0)
        return rc_raise(RC_MISMATCH, "worker %d joins with %u elements", a->worker, h->n_elems);
    *why = REFUSED_MODEL;
    return server_check_layout(s, a, h);
}

/* --- the book --- */

static void stop_asking(struct ps_server *s, int worker)
{
    struct recovery_worker *w = &s->recovery->worker[worker];

    s->recovery->n_asking -= w->asks;
    w->asks = false;
}

/* Sends the answer, without a body, to a served request in slot 0; nothing if it is silent (replica.R4). */
static enum rc answer_alone(struct ps_server *s, int worker, const struct ps_header *h)
{
    struct request *r = &s->client[worker].request[0];

    r->answer = *h;
    return r->is_silent ? RC_OK : server_post_reply(s, worker, 0, h, NULL);
}

bool server_lease_is_again(const struct ps_server *s, const struct arrival *a, const struct ps_header *h)
{
    const struct client *c = &s->client[a->worker];
    const struct recovery_worker *w = &s->recovery->worker[a->worker];
    const bool is_answer = a->slot == 0 && c->request[0].answer.op == PS_BATCH;

    if (h->op == PS_NEXT) /* no two in turn say the same of a worker: a batch is done once */
        return is_answer && c->state == TRAINING && w->has_begun && w->asked == h->clock;
    if (h->op == PS_JOIN)
        return is_answer && c->state == TRAINING;
    return h->op == PS_LEAVE && is_answer && a->worker > 0 && c->state == LEFT;
}

enum rc server_lease_again(struct ps_server *s, const struct arrival *a)
{
    struct client *c = &s->client[a->worker];
    enum rc rc = RC_OK;

    c->request[0].is_silent = false;
    if (s->recovery->worker[a->worker].asks)
        return RC_OK;
    TRY(server_end_reply(s, &c->request[0], s->env.timeout_ms));
    TRY(server_post_reply(s, a->worker, 0, &c->request[0].answer, NULL));
out:
    return rc;
}

/* What worker w asks for is there, or never will be. */
static enum rc answer_one(struct ps_server *s, int w, uint64_t batch)
{
    const struct ps_header h = { .op = PS_BATCH, .clock = batch == NO_BATCH ? 0 : batch, .is_last = batch == NO_BATCH };

    stop_asking(s, w);
    return answer_alone(s, w, &h);
}

bool server_leases_are_due(const struct ps_server *s)
{
    return s->recovery->n_asking > 0 &&
           (leases_has_some(&s->recovery->leases) || leases_are_done(&s->recovery->leases));
}

enum rc server_answer_next(struct ps_server *s)
{
    enum rc rc = RC_OK;

    for (int w = 0; w < sync_most_workers(&s->env) && server_leases_are_due(s); w++) {
        if (!s->recovery->worker[w].asks)
            continue;
        const enum rc answered = answer_one(s, w, leases_take(&s->recovery->leases, w));
        TRY(answered == RC_PEER ? server_forgive_lost(s, w) : answered);
    }
out:
    return rc;
}

/* For the report, with the queue: the worker joined or ended before every batch was done. */
static void note_change(struct ps_server *s, int worker, enum worker_change_kind what)
{
    if (!server_has_book(s) || leases_are_done(&s->recovery->leases))
        return;
    if (s->facts.changes_count < MOST_WORKER_CHANGES)
        s->facts.change[s->facts.changes_count] =
            (struct worker_change){ what, worker, s->recovery->leases.n_done, s->recovery->worker[worker].n_batches };
    s->facts.changes_count++;
}

bool server_joins_late(const struct ps_server *s)
{
    return server_has_book(s) && leases_are_done(&s->recovery->leases);
}

static void let_in(struct ps_server *s, int worker)
{
    s->client[worker].state = TRAINING;
    s->recovery->worker[worker].is_seen = true;
    s->n_seen++;
    note_change(s, worker, WORKER_JOINED);
    for (size_t k = 0; k < s->env.buckets->n_chunks; k++)
        (void)clocks_join(&s->chunk[k].clocks, worker);
}

/* The late joiner becomes a worker, unless every batch is done. */
static enum rc join(struct ps_server *s, const struct arrival *a)
{
    const struct ps_header h = { .op = PS_BATCH, .is_last = server_joins_late(s) };
    enum rc rc;

    TRY(server_begin_request(s, a->worker, 0));
    if (!h.is_last)
        let_in(s, a->worker); /* before the answer: R1 of replica.h holds even if that goes to nobody */
    TRY(answer_alone(s, a->worker, &h));
out:
    return rc;
}

/* A round is done: this one, at this time, which is no earlier than the one before (its time may be another server's).
 */
static void end_round(struct ps_server *s, size_t round)
{
    const uint64_t now_ns = world_now_ns(s->env.world);
    const uint64_t before_ns = round > 0 ? s->recovery->round_ns[round - 1] : 0;

    s->recovery->round_ns[round] = now_ns > before_ns ? now_ns : before_ns;
    if (s->env.on_round)
        s->env.on_round(s->env.on_round_arg, round, s->recovery->round_ns[round]);
}

void server_tell_rounds(const struct ps_server *s)
{
    const uint64_t n = s->recovery->leases.n_done / (uint64_t)s->env.n_workers;

    for (size_t i = 0; s->env.on_round && i < n; i++)
        s->env.on_round(s->env.on_round_arg, i, s->recovery->round_ns[i]);
}

/* One batch more is done. */
static void note_done(struct ps_server *s)
{
    if (s->recovery->leases.n_done % (uint64_t)s->env.n_workers == 0)
        end_round(s, (size_t)(s->recovery->leases.n_done / (uint64_t)s->env.n_workers) - 1);
}

static void end_batch(struct ps_server *s, int worker)
{
    leases_end(&s->recovery->leases, worker);
    s->recovery->worker[worker].n_batches++;
    s->facts.guest_batches_count += worker >= s->env.n_workers;
    note_done(s);
}

/* The batch of the worker that the message with header h reports is done. */
static void end_reported(struct ps_server *s, int worker, const struct ps_header *h)
{
    if (server_has_book(s) && h->clock > 0)
        end_batch(s, worker);
}

bool server_push_batch(struct ps_server *s, int worker, const struct ps_header *h, struct ps_header *answer)
{
    struct leases *l = &s->recovery->leases;

    if (!server_is_elastic(s))
        return true;
    if (server_has_book(s) && l->of[worker] != h->batch - 1) {
        end_batch(s, worker);
        (void)leases_take(l, worker);
    }
    answer->next = server_has_book(s) ? leases_ahead(l, worker) + 1 : 0; /* NO_BATCH: 0, too */
    if (batch_set_add(&s->recovery->has[h->chunk], h->batch - 1))
        return true;
    s->facts.repeated_parts_count++;
    return false;
}

/* NEXT: is answered once there is a batch, or every batch is done. */
static enum rc serve_next(struct ps_server *s, const struct arrival *a, const struct ps_header *h)
{
    struct recovery_worker *w = &s->recovery->worker[a->worker];
    enum rc rc;

    TRY(server_begin_request(s, a->worker, 0));
    s->client[a->worker].request[0].answer = (struct ps_header){ .op = PS_BATCH };
    end_reported(s, a->worker, h);
    w->has_begun = w->asks = true;
    w->asked = h->clock;
    s->recovery->n_asking++;
    const uint64_t batch = leases_take(&s->recovery->leases, a->worker);
    if (batch != NO_BATCH)
        return answer_one(s, a->worker, batch);
    TRY(server_answer_next(s)); /* it was the last one */
out:
    return rc;
}

/* LEAVE is answered. */
static enum rc leave(struct ps_server *s, int worker)
{
    const struct ps_header h = { .op = PS_BATCH, .is_last = true };
    enum rc rc;

    TRY(server_begin_request(s, worker, 0));
    server_leave(s, worker);
    note_change(s, worker, WORKER_LEFT);
    TRY(answer_alone(s, worker, &h));
out:
    return rc;
}

enum rc server_serve_batch(struct ps_server *s, struct arrival *a, const struct ps_header *h)
{
    if (h->op == PS_NEXT)
        return serve_next(s, a, h);
    if (h->op == PS_JOIN)
        return join(s, a);
    end_reported(s, a->worker, h);
    if (server_has_book(s))
        leases_return(&s->recovery->leases, a->worker); /* it has not started its batch ahead */
    return h->op == PS_LEAVE ? leave(s, a->worker) : server_serve(s, a, h);
}

void server_end_lease(struct ps_server *s, int worker, bool is_loss)
{
    if (!server_has_book(s))
        return;
    if (is_loss)
        note_change(s, worker, WORKER_LOST);
    stop_asking(s, worker);
    if (s->recovery->leases.of[worker] != NO_BATCH && s->env.n_servers == 1 &&
        has_whole(s, s->recovery->leases.of[worker]))
        end_batch(s, worker);
    leases_give_back(&s->recovery->leases, worker);
}

/* --- parts of the parameters --- */

static void add_book(const struct ps_server *s, struct server_facts *out)
{
    const struct server_facts *of = &s->facts;

    out->has_book = server_is_holder(s);
    out->follows_book = !out->has_book;
    out->batches_done_count = s->recovery->leases.n_done;
    out->batches_again_count = s->recovery->leases.n_again;
    out->guest_batches_count = of->guest_batches_count;
    out->changes_count = of->changes_count;
    memcpy(out->change, of->change, sizeof out->change);
}

static void add_parts(const struct ps_server *s, struct server_facts *out)
{
    for (size_t k = 0; s->recovery->has && k < s->env.buckets->n_chunks; k++) {
        const uint64_t n_whole = batch_set_first_missing(&s->recovery->has[k]);
        if (s->chunk[k].part.n_elems == 0)
            continue;
        if (s->recovery->has[k].n_in < out->batches_held_count)
            out->batches_held_count = s->recovery->has[k].n_in;
        if (n_whole < out->batches_whole_count)
            out->batches_whole_count = n_whole;
    }
}

/* Is what this slice has of the book that of the run's end (replica.R3)? */
static bool knows_book(const struct ps_server *s)
{
    return server_is_holder(s) || (s->env.n_replicas > 0 && s->role != SLICE_PARTIAL);
}

void server_batch_facts(const struct ps_server *s, struct server_facts *out)
{
    out->batches_held_count = out->batches_whole_count = s->env.n_batches;
    for (int i = 0; i < s->n_here; i++) {
        const struct ps_server *slice = s->here[i];
        if (server_is_holder(slice) || replica_is_left_with(slice))
            add_parts(slice, out);
        if (server_has_book(slice) && knows_book(slice))
            add_book(slice, out);
    }
}
