/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server_version.c - versions of a piece: what answers are sent from while others push.
 *
 * There are arrays as long as the slice, the parameters' first one and others. Each piece has its newest version in one
 * of them, at its place in the slice.
 *
 * Invariants
 *   V1  An answer that the transport sends from where it is holds its version until server_end_reply(). An update of a
 *       version that nobody holds is made in place; of one that is held, block by block into one that nobody holds,
 *       which is the newest from then on. So what a worker reads is of one version, and is not copied.
 *   V2  There is always one that nobody holds, with as many versions as workers: a worker holds one of a piece at most,
 *       for it asks for the piece again behind its answer (wire.P4), and so ends that; and who has pushed what an
 *       update takes holds none. Where all have pushed that, or there is only one worker, or the transport copies what
 *       is sent, one version is enough; and in a slice that nobody is answered from (replica.R4).
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "ps/server_state.h"

/* V2 */
static int n_versions(const struct ps_server *s)
{
    size_t n_longest = 0;

    for (size_t k = 0; k < s->env.buckets->n_pieces; k++)
        n_longest = s->piece[k].part.n_elems > n_longest ? s->piece[k].part.n_elems : n_longest;
    if (!s->param || consistency_waits_for_all(&s->env.consistency) ||
        !transport_sends_lent(s->env.transport, n_longest * sizeof(float)))
        return 1;
    return sync_most_workers(&s->env);
}

enum rc server_open_versions(struct ps_server *s)
{
    const size_t n_pieces = s->env.buckets->n_pieces, n = (size_t)n_versions(s);
    struct versions *v = &s->versions;
    enum rc rc = RC_OK;

    if (n == 1)
        return RC_OK;
    TRY(arena_open_ticking(&v->arena, (n - 1) * arena_floats_bytes(s->n_elems), s->env.compute->env.tick,
                           s->env.compute->env.arg));
    v->other = calloc(n, sizeof *v->other);
    v->n_readers = calloc(n_pieces * n, sizeof *v->n_readers);
    if (!v->other || !v->n_readers)
        FAIL(RC_NOMEM, "parameter server: no memory for %zu versions of %zu pieces", n, n_pieces);
    for (size_t i = 0; i < n - 1; i++)
        v->other[i] = arena_floats(&v->arena, s->n_elems);
    for (size_t k = 0; k < n_pieces; k++)
        if (transport_sends_lent(s->env.transport, s->piece[k].part.n_elems * sizeof(float)))
            s->piece[k].n_readers = v->n_readers + k * n;
    v->n_others = (int)n - 1;
out:
    return rc;
}

void server_close_versions(struct ps_server *s)
{
    arena_close(&s->versions.arena);
    free(s->versions.other);
    free(s->versions.n_readers);
    s->versions = (struct versions){ .n_others = 0 };
}

float *server_version(const struct ps_server *s, size_t k, int v)
{
    float *slice = v == 0 ? s->param : s->versions.other[v - 1];

    return slice ? slice + s->piece[k].part.offset_elems : NULL;
}

float *server_param(const struct ps_server *s, size_t k)
{
    return server_version(s, k, s->piece[k].version);
}

void server_gather(const struct ps_server *s, float *out)
{
    for (size_t k = 0; k < s->env.buckets->n_pieces; k++) {
        const struct range part = s->piece[k].part;
        if (part.n_elems > 0)
            memcpy(out + part.offset_elems, server_param(s, k), part.n_elems * sizeof *out);
    }
}

int server_next_version(const struct ps_server *s, size_t k)
{
    const struct piece_state *p = &s->piece[k];
    int v = 0;

    if (!p->n_readers || p->n_readers[p->version] == 0)
        return p->version;
    while (v < s->versions.n_others && p->n_readers[v] > 0)
        v++;
    assert(p->n_readers[v] == 0); /* V2 */
    return v;
}

void server_hold_version(struct ps_server *s, struct request *r)
{
    struct piece_state *p = &s->piece[r->answer.piece];

    if (!p->n_readers)
        return;
    r->n_readers = &p->n_readers[p->version];
    ++*r->n_readers;
}

void server_release_version(struct request *r)
{
    if (r->n_readers)
        --*r->n_readers;
    r->n_readers = NULL;
}
