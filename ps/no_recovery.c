/* SPDX-License-Identifier: Apache-2.0 */
/* no_recovery.c - a server with nothing attached; see recovery.h. */
#include "ps/recovery.h"
#include "ps/server_state.h"

static enum rc arrived(struct ps_server *s, struct arrival *a, const struct ps_header *h, bool *is_taken)
{
    (void)s;
    (void)a;
    (void)h;
    *is_taken = false;
    return RC_OK;
}

static enum rc check(const struct ps_server *s, const struct arrival *a, const struct ps_header *h, enum refused *why)
{
    (void)s;
    if (ps_is_push(h->op) && h->batch != 0) {
        *why = REFUSED_MALFORMED;
        return rc_raise(RC_MISMATCH, "worker %d pushed of a batch, and this run hands out none", a->worker);
    }
    *why = REFUSED_OUT_OF_ORDER;
    if (h->op == PS_NEXT)
        return rc_raise(RC_MISMATCH, "worker %d asks for a batch, and this server hands out none", a->worker);
    return RC_OK;
}

static bool applied(struct ps_server *s, int worker, const struct ps_header *h, struct ps_header *answer)
{
    (void)s;
    (void)worker;
    (void)h;
    (void)answer;
    return true;
}

static void released(struct ps_server *s, int worker, struct request *r)
{
    (void)s;
    (void)worker;
    (void)r;
}

static enum rc lost(struct ps_server *s, int worker)
{
    server_drop_now(s, worker);
    return RC_OK;
}

static void left(struct ps_server *s, int worker, bool is_loss)
{
    (void)s;
    (void)worker;
    (void)is_loss;
}

static enum rc nothing(struct ps_server *s)
{
    (void)s;
    return RC_OK;
}

static bool is_due(const struct ps_server *own)
{
    (void)own;
    return false;
}

static enum awaited awaits(const struct ps_server *own)
{
    return own->n_left == own->n_seen ? AWAITS_NOBODY : AWAITS_WORKERS;
}

static bool may_give_state(const struct ps_server *s)
{
    (void)s;
    return true;
}

static enum rc receive(struct ps_server *own, struct message *m, enum refused *why)
{
    (void)own;
    (void)m;
    *why = REFUSED_OUT_OF_ORDER;
    return rc_raise(RC_MISMATCH, "it is of another server");
}

static void end(struct ps_server *own, bool has_failed)
{
    (void)own;
    (void)has_failed;
}

static void facts(const struct ps_server *own, struct server_facts *out)
{
    (void)own;
    (void)out;
}

static void close(struct ps_server *s)
{
    (void)s;
}

const struct recovery_ops no_recovery = {
    .arrived = arrived,
    .check = check,
    .serve = server_serve,
    .applied = applied,
    .released = released,
    .lost = lost,
    .left = left,
    .turn = nothing,
    .settle = nothing,
    .is_due = is_due,
    .awaits = awaits,
    .may_give_state = may_give_state,
    .receive = receive,
    .end = end,
    .facts = facts,
    .close = close,
};
