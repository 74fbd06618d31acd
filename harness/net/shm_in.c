/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shm_in.c - what one rank receives from other ranks through shared memory: posted receives, and messages that came
 * before their receive or are for any rank; see shm_in.h.
 */
#include "harness/net/shm_in.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "harness/net/message_pool.h"
#include "harness/net/shm_out.h"
#include "harness/net/xfer.h"
#include "harness/net/xfer_queue.h"
#include "harness/world/wait.h"

QUEUE_OF(arrivals, struct shm_arrival)

struct sender {
    struct byte_ring ring;
    struct unit_runs_shared *runs;
    unsigned char *units;
    size_t unit_bytes;
    struct doorbell *bell;
    struct xfer_queue recvs; /* posted, of this sender */
    struct arrivals early;   /* of tags, that no receive takes yet; the last may not be whole */
    bool is_attached, is_told_cut;
    /* the message whose bytes come now: */
    size_t n_bytes, n_done;
    struct xfer *x;        /* it goes there; or */
    struct shm_arrival *a; /* there; or, both NULL, nowhere */
};

struct shm_in {
    int rank, n_ranks;
    struct arrivals any; /* whole, for any rank */
    struct shm_arrival *unused;
    struct message_pool pool;
    struct sender from[];
};

enum rc shm_in_open(struct shm_in **out, int rank, int n_ranks)
{
    struct shm_in *in = calloc(1, sizeof *in + (size_t)n_ranks * sizeof in->from[0]);

    if (!in)
        return rc_raise(RC_NOMEM, "transport shm: no memory for %d ranks", n_ranks);
    in->rank = rank;
    in->n_ranks = n_ranks;
    arrivals_init(&in->any);
    *out = in;
    return RC_OK;
}

void shm_in_attach(struct shm_in *in, int peer, const struct shm_geometry *g, const struct shm_line_parts *line,
                   struct doorbell *sender)
{
    struct sender *s = &in->from[peer];

    *s = (struct sender){
        .runs = line->runs, .units = line->units, .unit_bytes = g->unit_bytes, .bell = sender, .is_attached = true
    };
    byte_ring_init(&s->ring, line->ring, g->ring_bytes);
    xfer_queue_init(&s->recvs);
    arrivals_init(&s->early);
}

/* --- messages of ours --- */

void shm_in_give(struct shm_in *in, struct shm_arrival *a)
{
    if (a->unit >= 0)
        unit_runs_give(in->from[a->peer].runs, a->unit);
    if (a->pooled)
        pooled_give(&in->pool, a->pooled);
    a->pooled = NULL;
    a->next = in->unused;
    in->unused = a;
}

/* Of a message with this head; without memory for its bytes. NULL: no memory. */
static struct shm_arrival *arrival_open(struct shm_in *in, int peer, const struct shm_head *head)
{
    struct shm_arrival *a = in->unused;

    if (a)
        in->unused = a->next;
    else
        a = malloc(sizeof *a);
    if (a)
        *a = (struct shm_arrival){ .bytes = (const unsigned char *)"",
                                   .n_bytes = (size_t)head->n_bytes,
                                   .peer = peer,
                                   .tag = head->tag,
                                   .unit = -1 };
    return a;
}

static enum rc arrival_of_ring(struct shm_arrival **out, struct shm_in *in, int peer, const struct shm_head *head)
{
    struct shm_arrival *a = arrival_open(in, peer, head);

    if (a && a->n_bytes > 0) {
        a->pooled = pooled_take(&in->pool, a->n_bytes);
        a->bytes = a->pooled ? (const unsigned char *)a->pooled->bytes : a->bytes;
    }
    if (a && (a->n_bytes == 0 || a->pooled)) {
        *out = a;
        return RC_OK;
    }
    if (a)
        shm_in_give(in, a);
    return rc_raise(RC_NOMEM, "transport shm: no memory for a message of %llu bytes from rank %d",
                    (unsigned long long)head->n_bytes, peer);
}

/* --- receives --- */

static void end_recv(struct xfer *x, enum shm_state state)
{
    atomic_store_explicit(&x->state, state, memory_order_relaxed);
}

/* Is a message of n_bytes too long for x (net.T9)? Ends x then, else prepares it. */
static bool is_refused(struct xfer *x, size_t n_bytes)
{
    if (n_bytes > xfer_n_bytes(x)) {
        x->priv = (void *)(uintptr_t)n_bytes;
        end_recv(x, SHM_TOO_LONG);
        return true;
    }
    xfer_set_received(x, n_bytes);
    return false;
}

/* a is whole, and x takes it. */
static void deliver(struct shm_in *in, struct xfer *x, struct shm_arrival *a)
{
    if (!is_refused(x, a->n_bytes)) {
        xfer_deliver(x, NULL, 0, a->bytes, a->n_bytes);
        end_recv(x, SHM_DONE);
    }
    shm_in_give(in, a);
}

void shm_in_post(struct shm_in *in, struct xfer *x)
{
    struct sender *s = &in->from[x->peer];

    atomic_store_explicit(&x->state, SHM_POSTED, memory_order_relaxed);
    for (struct shm_arrival **link = &s->early.first; *link; link = &(*link)->next) {
        if ((*link)->tag != x->tag)
            continue;
        struct shm_arrival *a = arrivals_take(&s->early, link); /* net.T4: older than all that come */
        if (a->is_whole)
            deliver(in, x, a);
        else
            a->x = x;
        return;
    }
    xfer_queue_append(&s->recvs, x);
}

/* --- the ring --- */

/* May pieces of a message be added to x as they come? They are whole floats, unless its body begins within one. */
static bool takes_pieces(const struct xfer *x)
{
    return !x->add || x->n_head_bytes % sizeof(float) == 0;
}

/* The oldest receive of this tag; the end of the queue: none. */
static struct xfer **find_recv(struct sender *s, uint32_t tag)
{
    struct xfer **link = &s->recvs.first;

    while (*link && (*link)->tag != tag)
        link = &(*link)->next;
    return link;
}

/* net.N1: does a message with this head stay where it is? */
static bool is_left(struct sender *s, const struct shm_head *head, bool for_any)
{
    if ((head->tag & TAG_ANY) || *find_recv(s, head->tag))
        return false;
    return !for_any && !s->recvs.first && !byte_ring_is_wanted(&s->ring);
}

/* The bytes of s's message have all come. */
static void end_message(struct shm_in *in, struct sender *s)
{
    struct shm_arrival *a = s->a;

    if (s->x)
        end_recv(s->x, SHM_DONE);
    s->x = NULL;
    s->a = NULL;
    s->n_bytes = s->n_done = 0;
    if (!a)
        return;
    a->is_whole = true;
    if (a->tag & TAG_ANY)
        arrivals_append(&in->any, a);
    else if (a->x)
        deliver(in, a->x, a);
}

/* A head has come: where do its bytes go? */
static enum rc begin_message(struct shm_in *in, int peer, const struct shm_head *head)
{
    struct sender *s = &in->from[peer];
    struct xfer **link = find_recv(s, head->tag); /* none has TAG_ANY (net.T8) */
    struct xfer *x = *link ? xfer_queue_take(&s->recvs, link) : NULL;
    enum rc rc = RC_OK;

    s->n_bytes = head->unit >= 0 ? 0 : (size_t)head->n_bytes;
    s->n_done = 0;
    if (x && is_refused(x, (size_t)head->n_bytes))
        goto out; /* to nowhere */
    if (x && takes_pieces(x)) {
        s->x = x;
        goto out;
    }
    if (head->unit >= 0) {
        s->a = arrival_open(in, peer, head);
        if (!s->a)
            FAIL(RC_NOMEM, "transport shm: no memory for a message from rank %d", peer);
        s->a->unit = head->unit;
        s->a->bytes = s->units + (size_t)head->unit * s->unit_bytes;
        goto out;
    }
    TRY(arrival_of_ring(&s->a, in, peer, head));
    s->a->x = x;
    if (!x && !(head->tag & TAG_ANY))
        arrivals_append(&s->early, s->a);
out:
    if (rc == RC_OK && s->n_bytes == 0)
        end_message(in, s);
    return rc;
}

/* bytes[n_bytes] of the message, which is not at its end. */
static void take_bytes(struct sender *s, const unsigned char *bytes, size_t n_bytes)
{
    if (s->x)
        xfer_deliver_piece(s->x, s->n_done, bytes, n_bytes);
    else if (s->a)
        memcpy(s->a->pooled->bytes + s->n_done, bytes, n_bytes);
    s->n_done += n_bytes;
}

/* What is in the ring of one sender, but at most as much as fits into it: then it is others' turn. */
static enum rc take_from(struct shm_in *in, int peer, bool for_any, bool *is_some)
{
    struct sender *s = &in->from[peer];
    enum rc rc = RC_OK;

    for (size_t n_turn = 0; n_turn < s->ring.n_bytes;) {
        size_t n;
        const unsigned char *bytes = byte_ring_next(&s->ring, &n);
        if (n == 0)
            break;
        if (s->n_done == s->n_bytes) {
            struct shm_head head;
            memcpy(&head, bytes, sizeof head);
            if (is_left(s, &head, for_any))
                break;
            *is_some = true;
            byte_ring_take(&s->ring, BYTE_RING_LINE);
            n_turn += BYTE_RING_LINE;
            TRY(begin_message(in, peer, &head));
            if (s->n_bytes > 0)
                continue; /* its room is freed with its first piece */
        } else {
            const size_t n_left = s->n_bytes - s->n_done, n_most = n < SHM_PIECE_BYTES ? n : SHM_PIECE_BYTES;
            n = n_left < n_most ? n_left : n_most;
            *is_some = true;
            take_bytes(s, bytes, n);
            byte_ring_take(&s->ring, shm_padded(n)); /* n is whole lines, but for the last piece */
            n_turn += shm_padded(n);
            if (s->n_done == s->n_bytes)
                end_message(in, s);
        }
        if (byte_ring_free(&s->ring))
            doorbell_ring(s->bell);
    }
out:
    return rc;
}

enum rc shm_in_take(struct shm_in *in, bool for_any, bool *is_some)
{
    enum rc rc = RC_OK;

    for (int r = 0; r < in->n_ranks; r++)
        if (r != in->rank)
            TRY(take_from(in, r, for_any, is_some));
out:
    return rc;
}

bool shm_in_has_any(const struct shm_in *in)
{
    return in->any.first != NULL;
}

struct shm_arrival *shm_in_take_any(struct shm_in *in)
{
    return in->any.first ? arrivals_take(&in->any, &in->any.first) : NULL;
}

void shm_in_withdraw(struct shm_in *in, struct xfer *x)
{
    struct sender *s = &in->from[x->peer];

    for (struct xfer **link = &s->recvs.first; *link; link = &(*link)->next)
        if (*link == x) {
            (void)xfer_queue_take(&s->recvs, link);
            return;
        }
    if (s->x == x)
        s->x = NULL; /* what comes goes nowhere */
    if (!s->a || s->a->x != x)
        return;
    shm_in_give(in, s->a);
    s->a = NULL;
}

/* --- ends --- */

bool shm_in_is_cut(struct shm_in *in, int peer)
{
    return byte_ring_is_cut(&in->from[peer].ring);
}

int shm_in_next_cut(struct shm_in *in)
{
    for (int r = 0; r < in->n_ranks; r++)
        if (r != in->rank && !in->from[r].is_told_cut && shm_in_is_cut(in, r)) {
            in->from[r].is_told_cut = true;
            return r;
        }
    return -1;
}

static void arrivals_close(struct shm_in *in, struct arrivals *q)
{
    while (q->first)
        shm_in_give(in, arrivals_take(q, &q->first));
}

void shm_in_close(struct shm_in **inp)
{
    struct shm_in *in = *inp;

    *inp = NULL;
    if (!in)
        return;
    for (int r = 0; r < in->n_ranks; r++) {
        struct sender *s = &in->from[r];
        if (!s->is_attached)
            continue;
        const bool is_listed = s->a && !s->a->x && !(s->a->tag & TAG_ANY);
        if (s->a && !is_listed)
            shm_in_give(in, s->a);
        arrivals_close(in, &s->early);
    }
    arrivals_close(in, &in->any);
    for (struct shm_arrival *a; (a = in->unused) != NULL;) {
        in->unused = a->next;
        free(a);
    }
    message_pool_fini(&in->pool);
    free(in);
}
