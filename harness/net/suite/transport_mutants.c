/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transport_mutants.c - a row for each planted bug; calls a mutant does not change it forwards to inproc.
 */
#include "harness/net/suite/transport_mutants.h"

#include <stdlib.h>
#include <string.h>

#include "harness/net/transport.h"
#include "harness/world/world.h"

extern const struct transport_ops transport_inproc;
extern const struct world_ops world_threads;

enum { BLOCK_LIMIT_MS = 200, LENT_BYTES = 1 << 20, MAX_CUTS = 16, BUFFER_BYTES = 2 << 20, MAX_HELD = 30 };

struct cut {        /* a receive with more room than it asked for */
    struct xfer *x; /* NULL: free */
    void *ptr;
    size_t capacity_bytes;
};

struct mutant {
    struct transport base;
    struct transport *inner;
    struct xfer *held; /* swap: a send not yet posted */
    char *lent;        /* short_lent: the one piece */
    int n_held;        /* messages that were lent and not released */
    struct cut cut[MAX_CUTS];
};

static struct mutant *self(struct transport *t)
{
    return (struct mutant *)t;
}

static struct transport *inner_of(struct transport *t)
{
    return self(t)->inner;
}

static void close_any(struct transport **tp)
{
    struct mutant *t = self(*tp);

    transport_close(&t->inner);
    free(t->lent);
    free(t);
    *tp = NULL;
}

static enum rc post_send(struct transport *t, struct xfer *x)
{
    return transport_inproc.post_send(inner_of(t), x);
}

static enum rc post_recv(struct transport *t, struct xfer *x)
{
    return transport_inproc.post_recv(inner_of(t), x);
}

static enum rc complete(struct transport *t, struct xfer *x, int timeout_ms)
{
    transport_follow(inner_of(t), t);
    return transport_inproc.complete(inner_of(t), x, timeout_ms);
}

static enum rc recv_message(struct transport *t, struct message *out, int timeout_ms)
{
    transport_follow(inner_of(t), t);
    const enum rc rc = transport_inproc.recv_message(inner_of(t), out, timeout_ms);

    self(t)->n_held += rc == RC_OK && out->peer >= 0;
    return rc;
}

static void release(struct transport *t, struct message *m)
{
    self(t)->n_held--;
    transport_inproc.release(inner_of(t), m);
}

/* The last byte of every message is lost on the way. */
static enum rc losetail_complete(struct transport *t, struct xfer *x, int timeout_ms)
{
    const enum rc rc = complete(t, x, timeout_ms);

    if (rc == RC_OK && x->receives && x->n_bytes > 0)
        ((char *)x->ptr)[x->n_bytes - 1] = 0;
    return rc;
}

/* A receive says it got one byte more than it did. */
static enum rc miscount_complete(struct transport *t, struct xfer *x, int timeout_ms)
{
    const enum rc rc = complete(t, x, timeout_ms);

    x->n_bytes += rc == RC_OK && x->receives;
    return rc;
}

/* One byte is written past what was received. */
static enum rc overrun_complete(struct transport *t, struct xfer *x, int timeout_ms)
{
    const enum rc rc = complete(t, x, timeout_ms);

    if (rc == RC_OK && x->receives && x->ptr)
        ((char *)x->ptr)[x->n_bytes] = 0;
    return rc;
}

/* What does not fit into a buffer at once is lost. */
static enum rc buffered_complete(struct transport *t, struct xfer *x, int timeout_ms)
{
    const enum rc rc = complete(t, x, timeout_ms);

    if (rc == RC_OK && x->receives && x->n_bytes > BUFFER_BYTES)
        x->n_bytes = BUFFER_BYTES;
    return rc;
}

/* Who holds many messages gets no more. */
static enum rc stingy_recv_message(struct transport *t, struct message *out, int timeout_ms)
{
    if (self(t)->n_held >= MAX_HELD)
        return rc_raise(RC_TIMEOUT, "%d messages are held", self(t)->n_held);
    return recv_message(t, out, timeout_ms);
}

/* Of two sends posted one after the other, the second leaves first. */
static enum rc swap_post_send(struct transport *t, struct xfer *x)
{
    struct xfer *held = self(t)->held;
    enum rc rc = RC_OK;

    if (!held) {
        self(t)->held = x;
        return RC_OK;
    }
    self(t)->held = NULL;
    TRY(post_send(t, x));
    TRY(post_send(t, held));
out:
    return rc;
}

static enum rc swap_complete(struct transport *t, struct xfer *x, int timeout_ms)
{
    struct xfer *held = self(t)->held;
    enum rc rc = RC_OK;

    self(t)->held = NULL;
    if (held)
        TRY(post_send(t, held));
    TRY(complete(t, x, timeout_ms));
out:
    return rc;
}

/* Tags are ignored: the next message from a rank goes to its oldest receive. */
static enum rc tagless_post_send(struct transport *t, struct xfer *x)
{
    x->tag &= TAG_ANY;
    return post_send(t, x);
}

static enum rc tagless_post_recv(struct transport *t, struct xfer *x)
{
    x->tag = 0;
    return post_recv(t, x);
}

/* Posting a receive waits for its message. */
static enum rc block_post_recv(struct transport *t, struct xfer *x)
{
    enum rc rc;

    TRY(post_recv(t, x));
    TRY(complete(t, x, BLOCK_LIMIT_MS));
out:
    return rc;
}

static enum rc block_complete(struct transport *t, struct xfer *x, int timeout_ms)
{
    return x->receives ? RC_OK : complete(t, x, timeout_ms);
}

/* A receive that timed out stays posted, and is written to by a late message. */
static enum rc zombie_complete(struct transport *t, struct xfer *x, int timeout_ms)
{
    const enum rc rc = complete(t, x, timeout_ms);

    if (rc == RC_TIMEOUT && x->receives)
        (void)!post_recv(t, x);
    return rc;
}

/* A message that is too long is cut, and passes. */
static enum rc cut_post_recv(struct transport *t, struct xfer *x)
{
    struct cut *cut = NULL;

    for (int i = 0; i < MAX_CUTS && !cut; i++)
        if (!self(t)->cut[i].x)
            cut = &self(t)->cut[i];
    if (!cut)
        return rc_raise(RC_NOMEM, "too many receives for a mutant");
    *cut = (struct cut){ .x = x, .ptr = x->ptr, .capacity_bytes = x->n_bytes };
    x->n_bytes = 6 * LENT_BYTES; /* room for any message of the suite */
    x->ptr = malloc(x->n_bytes);
    return x->ptr ? post_recv(t, x) : rc_raise(RC_NOMEM, "no memory for a mutant");
}

static enum rc cut_complete(struct transport *t, struct xfer *x, int timeout_ms)
{
    const enum rc rc = complete(t, x, timeout_ms);

    for (int i = 0; i < MAX_CUTS; i++) {
        struct cut *cut = &self(t)->cut[i];
        if (cut->x != x)
            continue;
        x->n_bytes = x->n_bytes < cut->capacity_bytes ? x->n_bytes : cut->capacity_bytes;
        if (rc == RC_OK && x->n_bytes > 0)
            memcpy(cut->ptr, x->ptr, x->n_bytes);
        free(x->ptr);
        x->ptr = cut->ptr;
        cut->x = NULL;
    }
    return rc;
}

/* Waits do not hear that a rank died. */
static enum rc deaf_complete(struct transport *t, struct xfer *x, int timeout_ms)
{
    const struct world_ops *ops = t->world->ops;

    t->world->ops = &world_threads;
    const enum rc rc = complete(t, x, timeout_ms);
    t->world->ops = ops;
    return rc;
}

/* Lent messages share one piece of memory. */
static enum rc short_lent_recv_message(struct transport *t, struct message *out, int timeout_ms)
{
    const enum rc rc = recv_message(t, out, timeout_ms);

    if (rc == RC_OK && out->peer >= 0 && out->n_bytes > 0) {
        memcpy(self(t)->lent, out->ptr, out->n_bytes);
        out->ptr = self(t)->lent;
    }
    return rc;
}

/* Nothing there yet is taken for an error. */
static enum rc impatient_recv_message(struct transport *t, struct message *out, int timeout_ms)
{
    const enum rc rc = recv_message(t, out, timeout_ms);

    return rc == RC_OK && out->peer < 0 ? rc_raise(RC_TIMEOUT, "no message") : rc;
}

/* Every message seems to come from rank 1. */
static enum rc misnamed_recv_message(struct transport *t, struct message *out, int timeout_ms)
{
    const enum rc rc = recv_message(t, out, timeout_ms);

    if (rc == RC_OK && out->peer >= 0)
        out->peer = 1;
    return rc;
}

/* Copies at the wait, so that what the sender wrote meanwhile is sent. */
static enum rc late_post_send(struct transport *t, struct xfer *x)
{
    x->next = NULL;
    x->priv = t;
    return RC_OK;
}

static enum rc late_complete(struct transport *t, struct xfer *x, int timeout_ms)
{
    enum rc rc;

    if (!x->receives)
        TRY(post_send(t, x));
    TRY(complete(t, x, timeout_ms));
out:
    return rc;
}

/* Adding overwrites. */
static enum rc addless_post_recv(struct transport *t, struct xfer *x)
{
    x->add = 0;
    return post_recv(t, x);
}

/* The body leaves before the header. */
static enum rc parts_swapped_post_send(struct transport *t, struct xfer *x)
{
    const struct xfer sent = *x;

    x->head = sent.ptr;
    x->n_head_bytes = sent.n_bytes;
    x->ptr = sent.head;
    x->n_bytes = sent.n_head_bytes;
    return post_send(t, x);
}

/* Behind a header, the last byte of the body is not sent. */
static enum rc body_cut_post_send(struct transport *t, struct xfer *x)
{
    x->n_bytes -= x->n_head_bytes > 0 && x->n_bytes > 0;
    return post_send(t, x);
}

/* The header is not sent. */
static enum rc header_lost_post_send(struct transport *t, struct xfer *x)
{
    x->n_head_bytes = 0;
    return post_send(t, x);
}

/* A lent message has no header. */
static enum rc header_not_lent_recv_message(struct transport *t, struct message *out, int timeout_ms)
{
    const enum rc rc = recv_message(t, out, timeout_ms);

    out->n_head_bytes = 0;
    return rc;
}

/* A receive gets header and body as they were sent, not as it asked for them. */
static enum rc border_complete(struct transport *t, struct xfer *x, int timeout_ms)
{
    const enum rc rc = complete(t, x, timeout_ms);

    if (rc == RC_OK && x->receives && x->n_head_bytes > 33) { /* one of its bytes goes to the body */
        x->n_head_bytes--;
        x->n_bytes++;
    }
    return rc;
}

/* One rank's loss ends the waits for all. */
static enum rc panic_complete(struct transport *t, struct xfer *x, int timeout_ms)
{
    inner_of(t)->fails_together = true;
    return transport_inproc.complete(inner_of(t), x, timeout_ms);
}

/* Where all should end together, only those do that wait for the lost one. */
static enum rc apart_complete(struct transport *t, struct xfer *x, int timeout_ms)
{
    inner_of(t)->fails_together = false;
    return transport_inproc.complete(inner_of(t), x, timeout_ms);
}

static enum rc apart_recv_message(struct transport *t, struct message *out, int timeout_ms)
{
    inner_of(t)->fails_together = false;
    return transport_inproc.recv_message(inner_of(t), out, timeout_ms);
}

/* Waits do not look for losses. */
static enum rc unaware_complete(struct transport *t, struct xfer *x, int timeout_ms)
{
    struct peer_losses *losses = t->world->losses;

    t->world->losses = NULL;
    const enum rc rc = complete(t, x, timeout_ms);
    t->world->losses = losses;
    return rc;
}

/* A server sleeps through a loss. */
static enum rc asleep_recv_message(struct transport *t, struct message *out, int timeout_ms)
{
    struct peer_losses *losses = t->world->losses;

    t->world->losses = NULL;
    const enum rc rc = recv_message(t, out, timeout_ms);
    t->world->losses = losses;
    return rc;
}

/* A loss is an error of the server's wait. */
static enum rc alarmed_recv_message(struct transport *t, struct message *out, int timeout_ms)
{
    const enum rc rc = recv_message(t, out, timeout_ms);

    return rc == RC_OK && out->peer < 0 && timeout_ms != DO_NOT_WAIT ? rc_raise(RC_PEER, "a rank was lost") : rc;
}

static const struct {
    const char *name;
    const char *invariant;
    struct transport_ops ops; /* those with the bug; NULL: what forwards */
} all[] = {
    { .name = "none", .invariant = "" },
    { "losetail", "T1", .ops.complete = losetail_complete },
    { "miscount", "T1", .ops.complete = miscount_complete },
    { "overrun", "T1", .ops.complete = overrun_complete },
    { "buffered", "T2", .ops.complete = buffered_complete },
    { "stingy", "T8", .ops.recv_message = stingy_recv_message },
    { "swap", "T4", .ops.post_send = swap_post_send, .ops.complete = swap_complete },
    { "tagless", "T2", .ops.post_send = tagless_post_send, .ops.post_recv = tagless_post_recv },
    { "block", "T1", .ops.post_recv = block_post_recv, .ops.complete = block_complete },
    { "zombie", "T3", .ops.complete = zombie_complete },
    { "cut", "T6", .ops.post_recv = cut_post_recv, .ops.complete = cut_complete },
    { "deaf", "T10", .ops.complete = deaf_complete },
    { "short_lent", "T8", .ops.recv_message = short_lent_recv_message },
    { "impatient", "T8", .ops.recv_message = impatient_recv_message },
    { "misnamed", "T8", .ops.recv_message = misnamed_recv_message },
    { "late", "T1", .ops.post_send = late_post_send, .ops.complete = late_complete },
    { "addless", "add", .ops.post_recv = addless_post_recv },
    { "parts_swapped", "T11", .ops.post_send = parts_swapped_post_send },
    { "body_cut", "T11", .ops.post_send = body_cut_post_send },
    { "header_lost", "T11", .ops.post_send = header_lost_post_send },
    { "header_not_lent", "T11", .ops.recv_message = header_not_lent_recv_message },
    { "border", "T11", .ops.complete = border_complete },
    { "panic", "loss wait", .ops.complete = panic_complete },
    { "apart", "loss together", .ops.complete = apart_complete },
    { "apart_server", "loss together later", .ops.recv_message = apart_recv_message },
    { "unaware", "loss wait", .ops.complete = unaware_complete },
    { "asleep", "loss together later", .ops.recv_message = asleep_recv_message },
    { "alarmed", "loss server", .ops.recv_message = alarmed_recv_message },
};

static struct transport_ops found;

static enum rc open_found(struct transport **out, struct world *w)
{
    struct mutant *t = calloc(1, sizeof *t);
    enum rc rc;

    if (!t)
        return rc_raise(RC_NOMEM, "no memory for a mutant");
    t->base = (struct transport){ .ops = &found, .world = w };
    TRY(transport_open(&t->inner, &transport_inproc, w));
    t->lent = malloc(LENT_BYTES);
    *out = &t->base;
    t = NULL;
out:
    free(t);
    return rc;
}

bool transport_mutant_find(struct transport_mutant *out, const char *name)
{
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const struct transport_ops *bug = &all[i].ops;
        if (strcmp(all[i].name, name) != 0)
            continue;
        found = (struct transport_ops){ .module.name = all[i].name,
                                        .module.caps = TR_ADD,
                                        .open = open_found,
                                        .post_send = bug->post_send ? bug->post_send : post_send,
                                        .post_recv = bug->post_recv ? bug->post_recv : post_recv,
                                        .complete = bug->complete ? bug->complete : complete,
                                        .recv_message = bug->recv_message ? bug->recv_message : recv_message,
                                        .release = release,
                                        .close = close_any };
        *out = (struct transport_mutant){ &found, all[i].invariant };
        return true;
    }
    return false;
}
