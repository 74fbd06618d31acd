/* SPDX-License-Identifier: Apache-2.0 */
/* server_audit.c - who has the book asks other servers which batches they have; see audit.h. */
#include <string.h>

#include "harness/world/world.h"
#include "ps/audit.h"
#include "ps/heir.h"
#include "ps/protocol.h"
#include "ps/snapshot.h"

enum { ANSWER_BATCHES = 8 * AUDIT_BYTES };

static int n_lost_servers(const struct ps_server *s)
{
    int n = 0;

    for (int i = 0; i < s->env.n_servers; i++)
        n += world_is_lost(s->env.world, s->env.n_workers + i);
    return n;
}

/* --- who has the book --- */

static bool has_open_book(const struct ps_server *s)
{
    return s->env.snapshots && server_has_book(s) && server_is_holder(s) && !s->audit.is_closed &&
           !s->rank->has_given_state && !server_collects_leases(s);
}

/* May one begin, where none is under way? */
static bool is_wanted(const struct ps_server *s)
{
    return leases_are_done(&s->leases) || s->audit.n_lost != n_lost_servers(s);
}

bool audit_is_due(const struct ps_server *s)
{
    const struct audit *a = &s->audit, *of_rank = &s->rank->audit;

    if (of_rank->is_due && of_rank->due.slice == s->slice && server_is_holder(s))
        return true;
    return has_open_book(s) && (a->is_on ? !a->is_asked || a->n_lost != n_lost_servers(s) : is_wanted(s));
}

/* Of the slice that is to be asked next, and those behind it: that which this audit is of; n_servers: none. */
static int next_slice(const struct ps_server *s, int slice)
{
    for (; slice < s->env.n_servers; slice++)
        if (slice != s->slice && (s->audit.is_last || world_is_lost(s->env.world, s->env.n_workers + slice)))
            break;
    return slice;
}

static void begin(struct ps_server *s)
{
    struct audit *a = &s->audit;

    a->is_on = true;
    a->is_last = leases_are_done(&s->leases);
    a->n_lost = n_lost_servers(s);
    a->slice = next_slice(s, 0);
    a->first = 0;
}

/* What was sent to a server that lives has arrived, or will; what was sent to a lost one is nobody's. */
static enum rc end_sent(struct ps_server *s, bool *is_sent, struct xfer *x)
{
    const bool is_lost = *is_sent && world_is_lost(s->env.world, x->peer);
    enum rc rc = RC_OK;

    if (*is_sent)
        rc = transport_wait(s->env.transport, x, is_lost ? DO_NOT_WAIT : s->env.timeout_ms);
    *is_sent = false;
    return is_lost ? RC_OK : ps_forgive_loss(s->env.world, x->peer, rc);
}

/* It is over. */
static enum rc finish(struct ps_server *s)
{
    struct audit *a = &s->audit;
    enum rc rc = RC_OK;

    a->is_on = false;
    if (!a->is_last || !leases_are_done(&s->leases))
        return RC_OK;
    if (!s->is_replica) /* U2 */
        TRY(snapshot_write(s));
    a->is_closed = true;
out:
    return rc;
}

/* The batch is not in a slice that was asked. */
static void undo(struct ps_server *s, uint64_t batch)
{
    (void)leases_undo(&s->leases, batch); /* else it is not done, and so done in all slices later */
}

/* Batches up to n of the slice have been asked for. */
static void go_on(struct ps_server *s, uint64_t n)
{
    struct audit *a = &s->audit;

    a->first = n;
    if (n < s->env.n_batches)
        return;
    a->first = 0;
    a->slice = next_slice(s, a->slice + 1);
}

/* The slice is held here, too. */
static void ask_own(struct ps_server *s, const struct ps_server *slice)
{
    for (uint64_t batch = 0; batch < s->env.n_batches; batch++)
        if (!server_has_whole(slice, batch))
            undo(s, batch);
    go_on(s, s->env.n_batches);
}

static enum rc ask(struct ps_server *s, int holder)
{
    struct audit *a = &s->audit;
    const struct ps_header h = {
        .op = PS_AUDIT, .piece = (uint32_t)a->slice, .clock = a->first, .staleness = ++a->number
    };
    enum rc rc;

    ps_header_encode(a->ask_header, &h);
    a->peer = s->env.n_workers + holder;
    a->ask =
        (struct xfer){ .peer = a->peer, .tag = PS_TAG_AUDIT, .head = a->ask_header, .n_head_bytes = PS_HEADER_BYTES };
    rc = transport_send(s->env.transport, &a->ask);
    a->is_asked = rc == RC_OK;
    return ps_forgive_loss(s->env.world, a->peer, rc);
}

/* Of the next slice; *waits: that has to wait for a message, or for the loss of a server to be seen to. */
static enum rc ask_next(struct ps_server *s, bool *waits)
{
    const int holder = ps_living(&s->env, s->audit.slice), own = s->env.world->rank - s->env.n_workers;
    const struct ps_server *slice = holder == own ? server_of_slice(s->rank, s->audit.slice) : NULL;

    *waits = holder != own || !slice || !server_is_holder(slice);
    if (holder != own)
        return ask(s, holder);
    if (!*waits)
        ask_own(s, slice);
    return RC_OK;
}

static enum rc look_at_book(struct ps_server *s)
{
    struct audit *a = &s->audit;
    bool waits = false;
    enum rc rc = RC_OK;

    if (a->is_on && a->n_lost != n_lost_servers(s)) {
        TRY(end_sent(s, &a->is_asked, &a->ask));
        a->is_on = false;
    }
    if (!a->is_on && is_wanted(s))
        begin(s);
    while (a->is_on && !a->is_asked && !waits) {
        if (a->slice == s->env.n_servers)
            TRY(finish(s));
        else
            TRY(ask_next(s, &waits));
    }
out:
    return rc;
}

static enum rc take_answer(struct ps_server *s, const struct message *m, const struct ps_header *h)
{
    const uint64_t first = h->clock, n_left = s->env.n_batches - s->audit.first;
    const uint64_t n = n_left < ANSWER_BATCHES ? n_left : ANSWER_BATCHES;
    const unsigned char *bits = m->ptr;
    enum rc rc;

    if (m->peer != s->audit.peer || h->piece != (uint32_t)s->audit.slice || first != s->audit.first ||
        m->n_bytes != (n + 31) / 32 * sizeof(uint32_t))
        return rc_raise(RC_MISMATCH, "rank %d says which batches slice %u has from %llu on, in %zu bytes", m->peer,
                        h->piece, (unsigned long long)first, m->n_bytes);
    for (uint64_t i = 0; i < n; i++)
        if (!(bits[i / 8] >> i % 8 & 1))
            undo(s, first + i);
    TRY(end_sent(s, &s->audit.is_asked, &s->audit.ask));
    go_on(s, first + n);
out:
    return rc;
}

/* --- who holds a slice --- */

/* U2 */
static enum rc save_whole(struct ps_server *slice)
{
    if (slice->is_replica || slice->is_saved)
        return RC_OK;
    for (size_t k = 0; k < slice->env.buckets->n_pieces; k++)
        if (slice->piece[k].part.n_elems > 0 && slice->has[k].n_in < slice->env.n_batches)
            return RC_OK;
    return snapshot_write(slice);
}

static enum rc answer(struct ps_server *s, struct ps_server *slice)
{
    struct audit *a = &s->audit;
    const struct audit_question *q = &a->due;
    const uint64_t n_left = s->env.n_batches - q->first, n = n_left < ANSWER_BATCHES ? n_left : ANSWER_BATCHES;
    const struct ps_header h = { .op = PS_AUDITED,
                                 .n_elems = (uint32_t)((n + 31) / 32),
                                 .piece = (uint32_t)q->slice,
                                 .clock = q->first,
                                 .staleness = q->number };
    enum rc rc;

    TRY(save_whole(slice));
    TRY(end_sent(s, &a->is_answered, &a->answer));
    memset(a->body, 0, sizeof a->body);
    for (uint64_t i = 0; i < n; i++)
        a->body[i / 8] |= (unsigned char)(server_has_whole(slice, q->first + i) << i % 8);
    ps_header_encode(a->answer_header, &h);
    a->answer = (struct xfer){ .peer = q->peer,
                               .tag = PS_TAG_AUDIT,
                               .head = a->answer_header,
                               .n_head_bytes = PS_HEADER_BYTES,
                               .ptr = a->body,
                               .n_bytes = h.n_elems * sizeof(uint32_t) };
    a->is_due = false;
    rc = transport_send(s->env.transport, &a->answer);
    a->is_answered = rc == RC_OK;
    rc = ps_forgive_loss(s->env.world, q->peer, rc);
out:
    return rc;
}

enum rc audit_look(struct ps_server *s)
{
    struct audit *of_rank = &s->rank->audit;
    enum rc rc = RC_OK;

    if (of_rank->is_due && of_rank->due.slice == s->slice)
        TRY(answer(s->rank, s));
    if (has_open_book(s))
        TRY(look_at_book(s));
out:
    return rc;
}

/* --- messages --- */

/* The slice with the book, where that is held here; NULL: it is not. */
static struct ps_server *book_of(const struct ps_server *s)
{
    struct ps_server *slice = server_of_slice(s, 0);

    return slice && server_is_holder(slice) ? slice : NULL;
}

static enum rc take_question(struct ps_server *s, const struct message *m, const struct ps_header *h)
{
    if (h->piece >= (uint32_t)s->env.n_servers || h->clock >= s->env.n_batches || h->clock % ANSWER_BATCHES != 0 ||
        h->n_elems != 0)
        return rc_raise(RC_MISMATCH, "rank %d asks which batches slice %u has from %llu on", m->peer, h->piece,
                        (unsigned long long)h->clock);
    s->audit.is_due = true;
    s->audit.due = (struct audit_question){ (int)h->piece, m->peer, h->clock, h->staleness };
    return RC_OK;
}

enum rc audit_take(struct ps_server *s, const struct message *m, enum refused *why)
{
    struct ps_server *book = book_of(s);
    struct ps_header h;
    enum rc rc;

    TRY(ps_header_decode(&h, m->head, m->n_head_bytes, m->n_bytes + m->n_hollow_bytes, why));
    *why = REFUSED_OUT_OF_ORDER;
    if (!s->env.snapshots || !server_is_elastic(s) || m->n_hollow_bytes > 0 || m->n_head_bytes != PS_HEADER_BYTES ||
        (h.op != PS_AUDIT && h.op != PS_AUDITED))
        FAIL(RC_MISMATCH, "rank %d sent op %d where no audit is", m->peer, (int)h.op);
    if (world_is_lost(s->env.world, m->peer)) /* U4 */
        goto out;
    if (h.op == PS_AUDIT) {
        TRY(take_question(s, m, &h));
        goto out;
    }
    if (!book || h.staleness > book->audit.number)
        FAIL(RC_MISMATCH, "rank %d answers AUDIT %llu, which this server has not sent", m->peer,
             (unsigned long long)h.staleness);
    if (book->audit.is_asked && h.staleness == book->audit.number) /* else U4 */
        TRY(take_answer(book, m, &h));
out:
    return rc;
}

void audit_end(struct ps_server *s, bool has_failed)
{
    struct audit *a = &s->audit;
    const int timeout_ms = has_failed ? DO_NOT_WAIT : s->env.timeout_ms;

    if (a->is_asked) /* nobody waits for an answer any more */
        (void)!transport_wait(s->env.transport, &a->ask, DO_NOT_WAIT);
    if (a->is_answered) /* who asked may be lost, or over */
        (void)!transport_wait(s->env.transport, &a->answer, timeout_ms);
    a->is_asked = a->is_answered = false;
}
