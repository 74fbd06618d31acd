/* SPDX-License-Identifier: Apache-2.0 */
/* copy.c - a slice to a new heir, and from its holder; see copy.h. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/world/world.h"
#include "ps/recovery/copy.h"
#include "ps/recovery/copy_words.h"
#include "ps/recovery/elastic.h"
#include "ps/recovery/replica.h"

struct copy {
    unsigned char *words;
    float *params;       /* the slice, gathered; NULL: it is in one version */
    struct posted *part; /* [most_parts], of the holder; NULL: this end takes it */
    int n_parts, most_parts;
    int n_taken, n_due; /* of the heir: parts so far; gradients that are kept and to come yet */
    uint64_t began_ns, n_bytes;
};

/* --- parts --- */

static size_t n_word_parts(const struct ps_server *s)
{
    return (copy_words_bytes(s) + COPY_WORDS_BYTES - 1) / COPY_WORDS_BYTES;
}

/* COPY alone. */
static size_t n_copy_parts(const struct ps_server *s)
{
    return n_word_parts(s) + (s->n_elems > 0 ? 1 + (size_t)optimizer_n_moments(&s->env.optimizer) : 0);
}

static size_t part_elems(const struct ps_server *s, size_t i)
{
    const size_t n_left = copy_words_bytes(s) - (i < n_word_parts(s) ? i * COPY_WORDS_BYTES : 0);

    if (i >= n_word_parts(s))
        return s->n_elems;
    return (n_left < COPY_WORDS_BYTES ? n_left : COPY_WORDS_BYTES) / sizeof(float);
}

/* Where part i is, or belongs; NULL: hollow. */
static void *part_at(struct ps_server *s, size_t i)
{
    if (i < n_word_parts(s))
        return s->recovery->chain.copy->words + i * COPY_WORDS_BYTES;
    if (server_is_hollow(s))
        return NULL;
    if (i == n_word_parts(s))
        return s->recovery->chain.copy->params ? s->recovery->chain.copy->params : s->param;
    return s->optimizer.moment[i - n_word_parts(s) - 1];
}

static enum rc open_copy(struct ps_server *s)
{
    struct copy *c = calloc(1, sizeof *c);

    s->recovery->chain.copy = c;
    if (c) {
        c->words = calloc(1, copy_words_bytes(s));
        c->began_ns = world_now_ns(s->env.world);
    }
    return c && c->words ? RC_OK : rc_raise(RC_NOMEM, "parameter server: no memory for the copy of a slice");
}

static void close_copy(struct ps_server *s)
{
    struct copy *c = s->recovery->chain.copy;

    if (!c)
        return;
    free(c->words);
    free(c->params);
    free(c->part);
    free(c);
    s->recovery->chain.copy = NULL;
}

/* --- the holder --- */

static enum rc post_part(struct ps_server *s, const struct ps_header *h, const struct ps_mark *mark, const void *body,
                         size_t n_bytes)
{
    struct copy *c = s->recovery->chain.copy;
    struct posted *part = &c->part[c->n_parts++];
    const bool is_hollow = n_bytes > 0 && !body;

    assert(c->n_parts <= c->most_parts);
    ps_header_encode(part->header, h);
    ps_forward_mark(part->header, mark);
    part->xfer = (struct xfer){ .peer = s->recovery->chain.heir,
                                .tag = PS_TAG_FORWARD,
                                .head = part->header,
                                .n_head_bytes = PS_HEADER_BYTES,
                                .ptr = (void *)(uintptr_t)body,
                                .n_bytes = is_hollow ? 0 : n_bytes,
                                .n_hollow_bytes = is_hollow ? n_bytes : 0,
                                .lends = true };
    c->n_bytes += PS_HEADER_BYTES + n_bytes;
    return world_forgive_loss(s->env.world, s->recovery->chain.heir, server_post(s, part));
}

static enum rc post_copy(struct ps_server *s)
{
    const struct ps_mark mark = { 0, 0, s->slice };
    const size_t n = n_copy_parts(s);
    enum rc rc = RC_OK;

    for (size_t i = 0; i < n; i++) {
        const size_t n_elems = part_elems(s, i);
        const struct ps_header h = { .op = PS_COPY, .n_elems = (uint32_t)n_elems, .piece = (uint32_t)i, .clock = n };
        TRY(post_part(s, &h, &mark, part_at(s, i), n_elems * sizeof(float)));
    }
out:
    return rc;
}

/* The gradient that is kept of worker w in a slot. */
static enum rc post_kept(struct ps_server *s, int w, uint32_t slot)
{
    const struct request *r = &s->client[w].request[slot];
    const struct ps_header h = { .op = PS_PUSH,
                                 .n_elems = r->body.n_elems,
                                 .piece = r->answer.piece,
                                 .lr = r->lr,
                                 .form = r->body.form,
                                 .n_pairs = r->body.n_pairs };

    return post_part(s, &h, &(struct ps_mark){ w, slot, s->slice }, server_is_hollow(s) ? NULL : r->kept.ptr,
                     (size_t)push_body_bytes(&r->body));
}

/* Y1 */
static enum rc gather_params(struct ps_server *s)
{
    struct copy *c = s->recovery->chain.copy;

    if (s->versions.n_others == 0)
        return RC_OK;
    c->params = malloc(s->n_elems * sizeof *c->params);
    if (!c->params)
        return rc_raise(RC_NOMEM, "parameter server: no memory for the copy of %zu parameters", s->n_elems);
    server_gather(s, c->params);
    return RC_OK;
}

enum rc copy_begin(struct ps_server *s, int heir)
{
    const int n_slots = sync_most_workers(&s->env) * PS_CREDITS;
    enum rc rc;

    assert(!s->recovery->chain.copy && s->recovery->chain.pending.n == 0); /* Y1 */
    TRY(open_copy(s));
    s->recovery->chain.copy->most_parts = (int)n_copy_parts(s) + n_slots;
    s->recovery->chain.copy->part =
        calloc((size_t)s->recovery->chain.copy->most_parts, sizeof *s->recovery->chain.copy->part);
    if (!s->recovery->chain.copy->part)
        FAIL(RC_NOMEM, "parameter server: no memory for the copy of a slice");
    s->recovery->chain.heir = s->env.n_workers + heir;
    s->recovery->chain.n_held = 0;
    s->recovery->chain.is_on = true;
    TRY(gather_params(s));
    copy_words_write(s->recovery->chain.copy->words, s);
    TRY(post_copy(s));
    for (int i = 0; i < n_slots; i++)
        if (s->client[i / PS_CREDITS].request[i % PS_CREDITS].state == REQUEST_KEPT)
            TRY(post_kept(s, i / PS_CREDITS, (uint32_t)(i % PS_CREDITS)));
out:
    return rc;
}

/* Of all parts the first error. */
static enum rc end_parts(struct ps_server *s, int timeout_ms)
{
    struct copy *c = s->recovery->chain.copy;
    enum rc first = RC_OK;

    for (int i = 0; i < c->n_parts; i++) {
        const enum rc rc = server_end_posted(s, &c->part[i], timeout_ms);
        first = first == RC_OK ? rc : first;
    }
    return first;
}

void copy_abandon(struct ps_server *s)
{
    if (s->recovery->chain.copy && s->recovery->chain.copy->part)
        (void)!end_parts(s, DO_NOT_WAIT);
    close_copy(s);
}

/* Both ends count it: whichever is left says so. */
static void count_copy(struct ps_server *s, uint64_t n_bytes)
{
    s->facts.copies_count++;
    s->facts.copied_bytes += n_bytes;
}

enum rc copy_end(struct ps_server *s)
{
    const uint64_t n_bytes = s->recovery->chain.copy->n_bytes, began_ns = s->recovery->chain.copy->began_ns;
    const uint64_t end_ns = world_now_ns(s->env.world);
    char line[RC_MESSAGE_BYTES];
    enum rc rc;

    TRY(world_forgive_loss(s->env.world, s->recovery->chain.heir, end_parts(s, s->env.timeout_ms)));
    count_copy(s, n_bytes);
    server_note_span(s, "copy", began_ns, end_ns, -1, s->n_elems);
    (void)snprintf(line, sizeof line,
                   "the parameters of server %d have a replica again, on server %d: %llu bytes in %.3f s", s->slice,
                   s->recovery->chain.heir - s->env.n_workers, (unsigned long long)n_bytes,
                   1e-9 * (double)(end_ns - began_ns));
    server_tell(s, line);
out:
    close_copy(s);
    return rc;
}

/* --- the heir --- */

/* Where a copy begins: a replica without content. */
static enum rc open_partial(struct ps_server **out, struct ps_server *rank, int slice, int holder)
{
    struct sync_env env = rank->env;
    enum rc rc;

    env.slice_param = env.before_param = NULL;
    env.slice_state.moments = NULL;
    TRY(server_open_slice(out, &env, slice, rank));
    TRY(recovery_open(*out));
    (*out)->role = SLICE_PARTIAL;
    (*out)->recovery->chain.home = holder;
    TRY(open_copy(*out));
out:
    return rc;
}

/* All of it is there. */
static enum rc end_partial(struct ps_server *s)
{
    const uint64_t n_bytes = s->recovery->chain.copy->n_bytes;

    close_copy(s);
    s->role = SLICE_FOLLOWED;
    count_copy(s, n_bytes);
    if (server_has_book(s))
        server_tell_rounds(s);
    return replica_post_held(s); /* Y3 */
}

static enum rc note_part(struct ps_server *s, size_t n_bytes)
{
    struct copy *c = s->recovery->chain.copy;
    enum rc rc = RC_OK;

    c->n_bytes += PS_HEADER_BYTES + n_bytes;
    world_charge(s->env.world, 0, 2.0 * (double)n_bytes);
    if ((size_t)c->n_taken == n_copy_parts(s) && c->n_due == 0)
        TRY(end_partial(s));
out:
    return rc;
}

enum rc copy_take(struct ps_server *s, const struct message *m, int slice, const struct ps_header *h, enum refused *why)
{
    struct ps_server *replica = server_of_slice(s, slice);
    enum rc rc = RC_OK;

    *why = REFUSED_OUT_OF_ORDER;
    if (s->env.n_replicas == 0 || slice >= s->env.n_servers || slice == s->slice ||
        (replica ? replica->role != SLICE_PARTIAL || !replica->recovery->chain.copy ||
                       m->peer != replica->recovery->chain.home
                 : h->piece != 0 || sync_worker_of(&s->env, m->peer) >= 0))
        return rc_raise(RC_MISMATCH, "rank %d copies slice %d to this server, part %u", m->peer, slice, h->piece);
    if (!replica)
        TRY(open_partial(&replica, s, slice, m->peer));
    struct copy *c = replica->recovery->chain.copy;
    const size_t i = (size_t)c->n_taken, n = n_copy_parts(replica);
    const size_t n_elems = i < n ? part_elems(replica, i) : 0;
    const bool is_hollow = i >= n_word_parts(replica) && server_is_hollow(replica);
    if (h->piece != i || h->clock != n || i >= n || h->n_elems != n_elems || is_hollow != (m->n_hollow_bytes > 0))
        FAIL(RC_MISMATCH, "rank %d copies part %u of %llu of slice %d, with %u elements, where part %zu of %zu belongs",
             m->peer, h->piece, (unsigned long long)h->clock, slice, h->n_elems, i, n);
    if (!is_hollow)
        memcpy(part_at(replica, i), m->ptr, n_elems * sizeof(float));
    *why = REFUSED_MALFORMED;
    c->n_taken++;
    if ((size_t)c->n_taken == n_word_parts(replica) && !copy_words_read(replica, c->words, &c->n_due)) {
        c->n_taken = -1; /* Y4: no other part is the next one */
        FAIL(RC_MISMATCH, "rank %d copies a slice %d that is none of this run", m->peer, slice);
    }
    *why = NOT_REFUSED;
    TRY(note_part(replica, n_elems * sizeof(float)));
out:
    return rc;
}

enum rc copy_take_kept(struct ps_server *replica, struct arrival *a, const struct ps_header *h, enum refused *why)
{
    struct request *r = &replica->client[a->worker].request[a->slot];
    struct copy *c = replica->recovery->chain.copy;
    enum rc rc = RC_OK;

    *why = REFUSED_OUT_OF_ORDER;
    if (!c || (size_t)c->n_taken != n_copy_parts(replica) || !ps_is_push(h->op) || r->state != REQUEST_DUE ||
        h->piece != r->answer.piece || h->n_elems != replica->piece[h->piece].part.n_elems)
        FAIL(RC_MISMATCH, "op %d of worker %d is no gradient that is kept", (int)h->op, a->worker);
    TRY(server_check_body(replica, a, h, why));
    *why = NOT_REFUSED;
    r->kept = a->message;
    r->body = ps_push_body(h);
    r->lr = h->lr;
    r->state = REQUEST_KEPT;
    a->message = (struct message){ .peer = -1 };
    c->n_due--;
    TRY(note_part(replica, (size_t)push_body_bytes(&r->body)));
out:
    return rc;
}
