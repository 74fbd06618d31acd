/* SPDX-License-Identifier: Apache-2.0 */
/* server_check.c - does a push or a pull fit what its worker has done before (P3, P4), and this server's pieces? */
#include <stdio.h>

#include "ps/server_state.h"

/* Its indices are checked before anything is done with it. */
enum rc server_check_body(const struct ps_server *s, const struct arrival *a, const struct ps_header *h,
                          enum refused *why_refused)
{
    const struct push_body body = ps_push_body(h);
    char why[RC_MESSAGE_BYTES], compression[COMPRESSION_TEXT_BYTES];

    *why_refused = REFUSED_MALFORMED;
    if (!push_body_is_of(&body, &s->env.compression)) {
        compression_text(compression, sizeof compression, &s->env.compression);
        return rc_raise(RC_MISMATCH, "worker %d pushed piece %u in form %d, which is not of --compression %s",
                        a->worker, h->piece, (int)h->form, compression);
    }
    if (push_body_check(&body, server_is_hollow(s) ? NULL : a->message.ptr) != RC_OK) {
        (void)snprintf(why, sizeof why, "%s", rc_message());
        return rc_raise(RC_MISMATCH, "worker %d pushed piece %u: %.400s", a->worker, h->piece, why);
    }
    return RC_OK;
}

/* Does another request of piece k of worker w wait? */
static bool waits_for_piece(const struct ps_server *s, int w, size_t k)
{
    for (int i = 0; i < PS_CREDITS; i++) {
        const struct request *r = &s->client[w].request[i];
        if (request_waits(r) && r->answer.piece == k)
            return true;
    }
    return false;
}

static enum rc check_order(const struct ps_server *s, int worker, const struct ps_header *h, enum refused *why)
{
    *why = REFUSED_MALFORMED;
    if (h->piece >= s->env.buckets->n_pieces)
        return rc_raise(RC_MISMATCH, "worker %d pushed piece %u, of which there are %zu", worker, h->piece,
                        s->env.buckets->n_pieces);
    const struct piece_state *p = &s->piece[h->piece];
    if (h->n_elems == 0 || h->n_elems != p->part.n_elems)
        return rc_raise(RC_MISMATCH, "worker %d pushed piece %u with %u elements; this server holds %zu of it", worker,
                        h->piece, h->n_elems, p->part.n_elems);
    *why = h->step < p->clocks.clock[worker] ? REFUSED_REPLAYED : REFUSED_OUT_OF_ORDER;
    if (h->clock > p->clock)
        return rc_raise(RC_MISMATCH, "worker %d pushed from clock %llu, the server is at %llu", worker,
                        (unsigned long long)h->clock, (unsigned long long)p->clock);
    if (h->step != p->clocks.clock[worker])
        return rc_raise(RC_MISMATCH, "worker %d pushed piece %u of its step %u where that of step %u belongs", worker,
                        h->piece, h->step, p->clocks.clock[worker]);
    if (waits_for_piece(s, worker, h->piece))
        return rc_raise(RC_MISMATCH, "worker %d pushed piece %u again, before its push was answered", worker, h->piece);
    return RC_OK;
}

enum rc server_check_push(const struct ps_server *s, const struct arrival *a, const struct ps_header *h,
                          enum refused *why)
{
    enum rc rc;

    TRY(check_order(s, a->worker, h, why));
    TRY(s->ops->check(s, a, h, why));
    TRY(server_check_body(s, a, h, why));
out:
    return rc;
}

enum rc server_check_pull(const struct ps_server *s, const struct arrival *a, const struct ps_header *h,
                          enum refused *why)
{
    const int worker = a->worker;

    *why = REFUSED_MALFORMED;
    if (h->piece >= s->env.buckets->n_pieces || h->n_elems != 0 || s->piece[h->piece].part.n_elems == 0)
        return rc_raise(RC_MISMATCH, "worker %d pulled piece %u with %u elements, of which this server has none",
                        worker, h->piece, h->n_elems);
    *why = REFUSED_OUT_OF_ORDER;
    if (waits_for_piece(s, worker, h->piece))
        return rc_raise(RC_MISMATCH, "worker %d pulled piece %u before its push of it was answered", worker, h->piece);
    return RC_OK;
}
