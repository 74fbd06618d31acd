/* SPDX-License-Identifier: Apache-2.0 */
/* server_lease.c - what a server does in an elastic run: server 0 hands out batches, every one notes what it has of
 * them; see leases.h. */
#include <stdlib.h>

#include "ps/server_state.h"

/* Does this server have the book? */
static bool hands_out(const struct ps_server *s)
{
    return server_is_elastic(s) && s->slice == 0;
}

enum rc server_open_leases(struct ps_server *s)
{
    const size_t n_pieces = s->env.buckets->n_pieces;
    enum rc rc = RC_OK;

    if (!server_is_elastic(s))
        return RC_OK;
    if (hands_out(s))
        TRY(leases_open(&s->leases, sync_most_workers(&s->env), s->env.n_workers, s->env.n_batches));
    s->has = calloc(n_pieces, sizeof *s->has);
    if (!s->has)
        FAIL(RC_NOMEM, "parameter server: no memory for %zu pieces", n_pieces);
    for (size_t k = 0; k < n_pieces; k++)
        TRY(batch_set_open(&s->has[k], s->env.n_batches));
out:
    return rc;
}

void server_close_leases(struct ps_server *s)
{
    leases_close(&s->leases);
    for (size_t k = 0; s->has && k < s->env.buckets->n_pieces; k++)
        batch_set_close(&s->has[k]);
    free(s->has);
    s->has = NULL;
}

/* Has this server all its parts of it? */
static bool has_whole(const struct ps_server *s, uint64_t batch)
{
    for (size_t k = 0; k < s->env.buckets->n_pieces; k++)
        if (s->piece[k].part.n_elems > 0 && !batch_set_has(&s->has[k], batch))
            return false;
    return true;
}

/* --- checks --- */

/* leases.B5, at the server that has the book */
static bool may_push_of(const struct ps_server *s, int worker, uint64_t batch)
{
    const struct leases *l = &s->leases;

    return l->of[worker] == batch ||
           (l->of[worker] != NO_BATCH && l->ahead[worker] == batch && has_whole(s, l->of[worker]));
}

enum rc server_check_batch(const struct ps_server *s, const struct arrival *a, const struct ps_header *h,
                           enum refused *why)
{
    const struct client *c = &s->client[a->worker];

    *why = REFUSED_MALFORMED;
    if (!server_is_elastic(s) && h->batch != 0)
        return rc_raise(RC_MISMATCH, "worker %d pushed of a batch, and this run hands out none", a->worker);
    if (server_is_elastic(s) && (h->batch == 0 || h->batch > s->env.n_batches))
        return rc_raise(RC_MISMATCH, "worker %d pushed of batch %lld, of which there are %llu", a->worker,
                        (long long)h->batch - 1, (unsigned long long)s->env.n_batches);
    *why = REFUSED_OUT_OF_ORDER;
    if (hands_out(s) && (!c->has_begun || !may_push_of(s, a->worker, h->batch - 1)))
        return rc_raise(RC_MISMATCH, "worker %d pushed of batch %llu, which it has not", a->worker,
                        (unsigned long long)h->batch - 1);
    return RC_OK;
}

enum rc server_check_done(const struct ps_server *s, const struct arrival *a, const struct ps_header *h,
                          enum refused *why)
{
    const struct client *c = &s->client[a->worker];
    const bool asks = h->op == PS_NEXT;

    *why = REFUSED_OUT_OF_ORDER;
    if (asks && !hands_out(s))
        return rc_raise(RC_MISMATCH, "worker %d asks for a batch, and this server hands out none", a->worker);
    if (!hands_out(s))
        return RC_OK;
    const uint64_t done = c->has_begun ? s->leases.of[a->worker] + 1 : 0; /* NO_BATCH: 0, too: nothing ends then */
    const bool gives_back = !asks && h->clock == 0, is_over = asks && c->has_begun && done == 0;
    if ((h->clock != done && !gives_back) || is_over)
        return rc_raise(RC_MISMATCH, "worker %d says that batch %lld is done, which it has not", a->worker,
                        (long long)h->clock - 1);
    *why = REFUSED_MALFORMED;
    if (asks && h->n_elems != 0)
        return rc_raise(RC_MISMATCH, "worker %d asks for a batch with %u elements", a->worker, h->n_elems);
    return RC_OK;
}

enum rc server_check_join(const struct ps_server *s, const struct arrival *a, const struct ps_header *h,
                          enum refused *why)
{
    const bool is_absent = s->client[a->worker].state == ABSENT;

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

static void stop_asking(struct ps_server *s, struct client *c)
{
    s->n_asking -= c->asks;
    c->asks = false;
}

/* What worker w asks for is there, or never will be. */
static enum rc answer_one(struct ps_server *s, int w, uint64_t batch)
{
    struct client *c = &s->client[w];
    const struct ps_header h = { .op = PS_BATCH, .clock = batch == NO_BATCH ? 0 : batch, .is_last = batch == NO_BATCH };

    stop_asking(s, c);
    return server_post_reply(s, w, 0, &h, NULL);
}

bool server_leases_are_due(const struct ps_server *s)
{
    return s->n_asking > 0 && (leases_has_some(&s->leases) || leases_are_done(&s->leases));
}

enum rc server_answer_next(struct ps_server *s)
{
    enum rc rc = RC_OK;

    for (int w = 0; w < sync_most_workers(&s->env) && server_leases_are_due(s); w++) {
        if (!s->client[w].asks)
            continue;
        const enum rc answered = answer_one(s, w, leases_take(&s->leases, w));
        TRY(answered == RC_PEER ? server_forgive_lost(s, w) : answered);
    }
out:
    return rc;
}

void server_note_change(struct ps_server *s, int worker, enum worker_change_kind what)
{
    if (!hands_out(s) || leases_are_done(&s->leases))
        return;
    if (s->facts.changes_count < MOST_WORKER_CHANGES)
        s->facts.change[s->facts.changes_count] =
            (struct worker_change){ what, worker, s->leases.n_done, s->client[worker].n_batches };
    s->facts.changes_count++;
}

enum rc server_join(struct ps_server *s, const struct arrival *a)
{
    struct client *c = &s->client[a->worker];
    const bool is_late = hands_out(s) && leases_are_done(&s->leases); /* B9 */
    const struct ps_header h = { .op = PS_BATCH, .is_last = is_late };
    enum rc rc;

    TRY(server_end_reply(s, &c->request[0]));
    TRY(server_post_reply(s, a->worker, 0, &h, NULL));
    if (is_late)
        return RC_OK;
    c->state = TRAINING;
    s->n_seen++;
    server_note_change(s, a->worker, WORKER_JOINED);
    for (size_t k = 0; k < s->env.buckets->n_pieces; k++)
        (void)clocks_join(&s->piece[k].clocks, a->worker);
out:
    return rc;
}

static void end_batch(struct ps_server *s, int worker)
{
    leases_end(&s->leases, worker);
    s->client[worker].n_batches++;
    s->facts.guest_batches_count += worker >= s->env.n_workers;
    if (s->env.on_batch)
        s->env.on_batch(s->env.on_batch_arg, s->leases.n_done);
}

void server_end_batch(struct ps_server *s, int worker, const struct ps_header *h)
{
    if (hands_out(s) && h->clock > 0)
        end_batch(s, worker);
}

void server_return_batch(struct ps_server *s, int worker)
{
    if (hands_out(s))
        leases_return(&s->leases, worker);
}

void server_begin_batch(struct ps_server *s, int worker, const struct ps_header *h)
{
    if (!hands_out(s) || s->leases.of[worker] == h->batch - 1)
        return;
    end_batch(s, worker);
    (void)leases_take(&s->leases, worker);
}

uint64_t server_next_batch(struct ps_server *s, int worker)
{
    return hands_out(s) ? leases_ahead(&s->leases, worker) + 1 : 0; /* NO_BATCH: 0, too */
}

enum rc server_next(struct ps_server *s, const struct arrival *a, const struct ps_header *h)
{
    struct client *c = &s->client[a->worker];
    enum rc rc;

    TRY(server_end_reply(s, &c->request[0]));
    server_end_batch(s, a->worker, h);
    c->has_begun = c->asks = true;
    s->n_asking++;
    const uint64_t batch = leases_take(&s->leases, a->worker);
    if (batch != NO_BATCH)
        return answer_one(s, a->worker, batch);
    TRY(server_answer_next(s)); /* it was the last one */
out:
    return rc;
}

void server_end_lease(struct ps_server *s, int worker)
{
    if (!hands_out(s))
        return;
    stop_asking(s, &s->client[worker]);
    if (s->leases.of[worker] != NO_BATCH && s->env.n_servers == 1 && has_whole(s, s->leases.of[worker]))
        end_batch(s, worker);
    leases_give_back(&s->leases, worker);
}

/* --- parts of the parameters --- */

bool server_takes_part(struct ps_server *s, const struct ps_header *h)
{
    if (!server_is_elastic(s) || batch_set_add(&s->has[h->piece], h->batch - 1))
        return true;
    s->facts.repeated_parts_count++;
    return false;
}

void server_batch_facts(const struct ps_server *s, struct server_facts *out)
{
    out->batches_done_count = s->leases.n_done;
    out->batches_again_count = s->leases.n_again;
    out->batches_held_count = out->batches_whole_count = s->env.n_batches;
    for (size_t k = 0; s->has && k < s->env.buckets->n_pieces; k++) {
        const uint64_t n_whole = batch_set_first_missing(&s->has[k]);
        if (s->piece[k].part.n_elems == 0)
            continue;
        if (s->has[k].n_in < out->batches_held_count)
            out->batches_held_count = s->has[k].n_in;
        if (n_whole < out->batches_whole_count)
            out->batches_whole_count = n_whole;
    }
}
