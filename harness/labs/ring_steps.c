/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring_steps.c - an allreduce around a ring, reconstructed from the messages that its ranks sent; see ring_steps.h.
 */
#include "harness/labs/ring_steps.h"

#include <math.h>
#include <string.h>

/* Message k of rank, sent or received; NULL: there are not so many. */
static const struct moved_message *nth(const struct moved *m, int rank, bool is_received, int k)
{
    for (size_t i = 0; i < m->n; i++)
        if (m->message[i].rank == rank && m->message[i].is_received == is_received && !isnan(m->message[i].step) &&
            k-- == 0)
            return &m->message[i];
    return NULL;
}

static int n_of(const struct moved *m, int rank, bool is_received)
{
    int n = 0;

    while (nth(m, rank, is_received, n))
        n++;
    return n;
}

/* The places that chunks are sent from, in their order. */
static enum rc find_chunks(struct ring_steps *out, double offset_bytes[RING_MOST_RANKS], const struct moved *m)
{
    int n = 0;

    for (size_t i = 0; i < m->n; i++) {
        const struct moved_message *one = &m->message[i];
        int at = 0;
        if (one->is_received || isnan(one->step))
            continue;
        if (isnan(one->offset_bytes))
            return rc_raise(RC_MISMATCH, "rank %d sent what is not in its gradients", one->rank);
        while (at < n && offset_bytes[at] < one->offset_bytes)
            at++;
        if (at < n && offset_bytes[at] == one->offset_bytes)
            continue;
        if (n == out->n_ranks)
            return rc_raise(RC_MISMATCH, "rank %d sent from more places than a ring of %d has chunks", one->rank,
                            out->n_ranks);
        memmove(&offset_bytes[at + 1], &offset_bytes[at], (size_t)(n - at) * sizeof *offset_bytes);
        offset_bytes[at] = one->offset_bytes;
        n++;
    }
    out->n_chunks = n;
    return RC_OK;
}

static int chunk_at(const struct ring_steps *s, const double *offset_bytes, double wanted)
{
    int c = 0;

    while (c < s->n_chunks && offset_bytes[c] != wanted)
        c++;
    return c;
}

/* Message k of rank r, and what its receiver did with it. */
static enum rc pair(struct ring_message *out, const struct ring_steps *s, const double *offset_bytes,
                    const struct moved *m, int r, int k)
{
    const struct moved_message *tx = nth(m, r, false, k);
    const struct moved_message *rx = tx->peer >= 0 && tx->peer < s->n_ranks ? nth(m, tx->peer, true, k) : NULL;
    const int chunk = chunk_at(s, offset_bytes, tx->offset_bytes);

    if (!rx || rx->peer != r || rx->tag != tx->tag || rx->n_bytes != tx->n_bytes)
        return rc_raise(RC_MISMATCH, "rank %d did not receive message %d of rank %d as its own message %d", tx->peer, k,
                        r, k);
    *out = (struct ring_message){ .to = tx->peer,
                                  .chunk = chunk,
                                  .adds = rx->adds || isnan(rx->offset_bytes),
                                  .n_bytes = tx->n_bytes,
                                  .start_s = tx->start_s,
                                  .end_s = rx->end_s };
    if (!out->adds && rx->offset_bytes != tx->offset_bytes)
        return rc_raise(RC_MISMATCH, "rank %d received chunk %d of rank %d into another one", tx->peer, chunk, r);
    return RC_OK;
}

/* What step k has changed. */
static enum rc apply(struct ring_steps *s, int k)
{
    memcpy(s->held[k + 1], s->held[k], sizeof s->held[k]);
    for (int r = 0; r < s->n_ranks; r++) {
        const struct ring_message *m = &s->sent[k][r];
        const uint32_t brought = s->held[k][r][m->chunk], had = s->held[k][m->to][m->chunk];
        if (m->adds && brought & had)
            return rc_raise(RC_MISMATCH, "in step %d rank %d adds to chunk %d what is in it", k, m->to, m->chunk);
        s->held[k + 1][m->to][m->chunk] = m->adds ? brought | had : brought;
    }
    return RC_OK;
}

enum rc ring_steps_find(struct ring_steps *out, const struct moved *m, int n_ranks)
{
    double offset_bytes[RING_MOST_RANKS + 1];
    enum rc rc = RC_OK;

    *out = (struct ring_steps){ .n_ranks = n_ranks, .n_steps = n_of(m, 0, false) };
    TRY(find_chunks(out, offset_bytes, m));
    for (int r = 0; r < n_ranks; r++)
        if (n_of(m, r, false) != out->n_steps || n_of(m, r, true) != out->n_steps || out->n_steps > RING_MOST_STEPS)
            FAIL(RC_MISMATCH, "rank %d sent %d messages and received %d, where rank 0 sent %d", r, n_of(m, r, false),
                 n_of(m, r, true), out->n_steps);
    for (int r = 0; r < n_ranks; r++)
        for (int c = 0; c < out->n_chunks; c++)
            out->held[0][r][c] = 1u << r;
    for (int k = 0; k < out->n_steps; k++) {
        for (int r = 0; r < n_ranks; r++)
            TRY(pair(&out->sent[k][r], out, offset_bytes, m, r, k));
        TRY(apply(out, k));
    }
out:
    return rc;
}

bool ring_steps_are_whole(const struct ring_steps *s)
{
    for (int r = 0; r < s->n_ranks; r++)
        for (int c = 0; c < s->n_chunks; c++)
            if (s->held[s->n_steps][r][c] != (1u << s->n_ranks) - 1)
                return false;
    return true;
}
