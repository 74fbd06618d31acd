/* SPDX-License-Identifier: Apache-2.0 */
/* server_copy.c - a slice to a new heir, and from its holder; see copy.h. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/bytes.h"
#include "harness/world/world.h"
#include "ps/copy.h"
#include "ps/replica.h"

enum { WORD_BYTES = 8, HEADER_WORDS = PS_HEADER_BYTES / WORD_BYTES, WORD_FLOATS = WORD_BYTES / sizeof(float) };
enum { SLOT_IS_USED = 1, SLOT_WAITS = 2, SLOT_IS_KEPT = 4, SLOT_IS_REFUSED = 8, SLOT_ALL = 15 };

struct part { /* that is sent */
    struct xfer tx;
    unsigned char header[PS_HEADER_BYTES];
    bool is_posted;
};

struct copy {
    unsigned char *words;
    size_t n_words_bytes;
    struct part *part; /* [most_parts], of the holder; NULL: this end takes it */
    int n_parts, most_parts;
    int n_taken, n_due; /* of the heir: parts so far; gradients that are kept and to come yet */
    uint64_t began_ns, n_bytes;
};

/* --- words --- */

struct cursor { /* over the words: they are written, or read */
    unsigned char *at;
    bool reads, is_wrong;
};

/* value, or what is there in its place; is_wrong: that is above `most`. */
static uint64_t pass(struct cursor *c, uint64_t value, uint64_t most)
{
    unsigned char *at = c->at;

    c->at += WORD_BYTES;
    if (!c->reads) {
        bytes_put(at, value, WORD_BYTES);
        return value;
    }
    const uint64_t read = bytes_get(at, WORD_BYTES);
    c->is_wrong |= read > most;
    return read > most ? 0 : read;
}

static size_t words_bytes(const struct ps_server *s)
{
    enum { OF_ALL = 4, OF_FACTS = 5 + STALENESS_BINS, OF_PIECE = 7, OF_PIECE_WORKER = 2, OF_WORKER = 2 };
    const size_t n_workers = (size_t)sync_most_workers(&s->env), n_pieces = s->env.buckets->n_pieces;

    return WORD_BYTES * (OF_ALL + OF_FACTS + n_pieces * (OF_PIECE + OF_PIECE_WORKER * n_workers) +
                         n_workers * (OF_WORKER + (size_t)PS_CREDITS * (1 + HEADER_WORDS)));
}

/* Y5 */
static void pass_facts(struct cursor *c, struct server_facts *f)
{
    for (int i = 0; i < STALENESS_BINS; i++)
        f->pushes_count[i] = (uint32_t)pass(c, f->pushes_count[i], UINT32_MAX);
    f->late_count = pass(c, f->late_count, UINT64_MAX);
    f->lead_max_count = (uint32_t)pass(c, f->lead_max_count, UINT32_MAX);
    f->refused_count[REFUSED_NOT_FINITE] = pass(c, f->refused_count[REFUSED_NOT_FINITE], UINT64_MAX);
    f->copies_count = pass(c, f->copies_count, UINT64_MAX);
    f->copied_bytes = pass(c, f->copied_bytes, UINT64_MAX);
}

static void pass_clocks(struct cursor *c, struct clocks *of)
{
    const uint64_t n = (uint64_t)of->n_workers;
    int n_out = 0;

    of->round = (uint32_t)pass(c, of->round, UINT32_MAX);
    of->slowest = (uint32_t)pass(c, of->slowest, UINT32_MAX);
    of->n_slowest = (int)pass(c, (uint64_t)of->n_slowest, n);
    of->n_kept = (int)pass(c, (uint64_t)of->n_kept, n);
    for (int w = 0; w < of->n_workers; w++) {
        of->clock[w] = (uint32_t)pass(c, of->clock[w], UINT32_MAX);
        of->is_out[w] = pass(c, of->is_out[w], 1) != 0;
        n_out += of->is_out[w];
    }
    of->n_out = n_out;
}

static void pass_piece(struct cursor *c, struct piece_state *p)
{
    p->clock = pass(c, p->clock, UINT64_MAX);
    p->n_rolled_back = pass(c, p->n_rolled_back, UINT64_MAX);
    p->n_rounds_restored = (uint32_t)pass(c, p->n_rounds_restored, UINT32_MAX);
    pass_clocks(c, &p->clocks);
}

/* The answer to what came last in a slot. */
static void pass_answer(struct cursor *c, const struct ps_server *s, struct ps_header *answer)
{
    unsigned char *at = c->at;
    enum refused why;

    c->at += PS_HEADER_BYTES;
    if (!c->reads) {
        ps_header_encode(at, answer);
        return;
    }
    const size_t n_body_bytes = bytes_get(at + 8, 4) * sizeof(float); /* wire.h */
    if (ps_header_decode(answer, at, PS_HEADER_BYTES, n_body_bytes, &why) == RC_OK && ps_is_answer(answer->op) &&
        answer->piece < s->env.buckets->n_pieces &&
        (answer->n_elems == 0 || answer->n_elems == s->piece[answer->piece].part.n_elems))
        return;
    c->is_wrong = true;
    *answer = (struct ps_header){ .op = PS_PARAMS };
}

/* Y6 */
static void pass_slot(struct cursor *c, struct ps_server *s, int w, int slot)
{
    struct request *r = &s->client[w].request[slot];
    const bool is_used = r->answer.op != 0;
    const struct ps_header none = { .op = PS_PARAMS };
    const unsigned own = (is_used ? SLOT_IS_USED : 0) | (r->waits ? SLOT_WAITS : 0) | (r->is_kept ? SLOT_IS_KEPT : 0) |
                         (r->is_refused ? SLOT_IS_REFUSED : 0);
    const unsigned is = (unsigned)pass(c, is_used ? own : 0, SLOT_ALL);
    struct ps_header answer = is_used ? r->answer : none;

    pass_answer(c, s, &answer);
    if (!c->reads || !(is & SLOT_IS_USED))
        return;
    r->answer = answer;
    r->waits = is & SLOT_WAITS;
    r->is_due = is & SLOT_IS_KEPT;
    r->is_refused = is & SLOT_IS_REFUSED;
    r->is_silent = true;
    r->waits_since_ns = world_now_ns(s->env.world);
    c->is_wrong |= r->is_due && (!r->waits || s->env.consistency.kind != CONSISTENCY_SYNC);
    s->chain.copy->n_due += r->is_due;
}

/* A FETCH that this end has answered may come again at the heir. */
static void pass_worker(struct cursor *c, struct ps_server *s, int w)
{
    struct client *of = &s->client[w];
    const enum worker_state state = w == 0 && of->state == LEFT && !c->reads ? FETCHING : of->state;
    const enum worker_state read = (enum worker_state)pass(c, (uint64_t)state, ABSENT);

    of->may_push = pass(c, of->may_push, 1) != 0;
    for (int i = 0; i < PS_CREDITS; i++)
        pass_slot(c, s, w, i);
    if (!c->reads)
        return;
    of->state = read;
    if (read == FETCHING)
        of->request[0].is_silent = true;
}

/* Of s, or into it. false: no slice of this run has those. */
static bool pass_words(struct ps_server *s, bool reads)
{
    struct cursor c = { .at = s->chain.copy->words, .reads = reads };
    const int n_workers = sync_most_workers(&s->env);
    const bool has_left = !reads && s->client[0].state == LEFT;

    (void)pass(&c, s->layout, UINT64_MAX);
    c.is_wrong = reads && bytes_get(s->chain.copy->words, WORD_BYTES) != s->layout;
    s->n_updates_before = pass(&c, s->n_updates_before, UINT64_MAX);
    s->n_granted = pass(&c, s->n_granted, UINT64_MAX);
    const int n_left = (int)pass(&c, (uint64_t)(s->n_left - has_left), (uint64_t)n_workers);
    s->n_left = reads ? n_left : s->n_left;
    pass_facts(&c, &s->facts);
    for (size_t k = 0; k < s->env.buckets->n_pieces; k++)
        pass_piece(&c, &s->piece[k]);
    for (int w = 0; w < n_workers; w++)
        pass_worker(&c, s, w);
    assert(c.at == s->chain.copy->words + s->chain.copy->n_words_bytes);
    return !c.is_wrong;
}

/* --- parts --- */

static size_t n_word_parts(const struct ps_server *s)
{
    return (words_bytes(s) + COPY_WORDS_BYTES - 1) / COPY_WORDS_BYTES;
}

/* COPY alone. */
static size_t n_copy_parts(const struct ps_server *s)
{
    return n_word_parts(s) + (s->n_elems > 0 ? 1 + (size_t)optimizer_n_moments(&s->env.optimizer) : 0);
}

static size_t part_elems(const struct ps_server *s, size_t i)
{
    const size_t n_left = words_bytes(s) - (i < n_word_parts(s) ? i * COPY_WORDS_BYTES : 0);

    if (i >= n_word_parts(s))
        return s->n_elems;
    return (n_left < COPY_WORDS_BYTES ? n_left : COPY_WORDS_BYTES) / sizeof(float);
}

/* Where part i is, or belongs; NULL: hollow. */
static void *part_at(struct ps_server *s, size_t i)
{
    if (i < n_word_parts(s))
        return s->chain.copy->words + i * COPY_WORDS_BYTES;
    if (server_is_hollow(s))
        return NULL;
    return i == n_word_parts(s) ? s->param : s->optimizer.moment[i - n_word_parts(s) - 1];
}

static enum rc open_copy(struct ps_server *s)
{
    struct copy *c = calloc(1, sizeof *c);

    s->chain.copy = c;
    if (c) {
        c->n_words_bytes = words_bytes(s);
        c->words = calloc(1, c->n_words_bytes);
        c->began_ns = world_now_ns(s->env.world);
    }
    return c && c->words ? RC_OK : rc_raise(RC_NOMEM, "parameter server: no memory for the copy of a slice");
}

static void close_copy(struct ps_server *s)
{
    struct copy *c = s->chain.copy;

    if (!c)
        return;
    free(c->words);
    free(c->part);
    free(c);
    s->chain.copy = NULL;
}

/* --- the holder --- */

static enum rc post_part(struct ps_server *s, const struct ps_header *h, const struct ps_mark *mark, const void *body,
                         size_t n_bytes)
{
    struct copy *c = s->chain.copy;
    struct part *part = &c->part[c->n_parts++];
    const bool is_hollow = n_bytes > 0 && !body;

    assert(c->n_parts <= c->most_parts);
    ps_header_encode(part->header, h);
    ps_forward_mark(part->header, mark);
    part->tx = (struct xfer){ .peer = s->chain.heir,
                              .tag = PS_TAG_FORWARD,
                              .head = part->header,
                              .n_head_bytes = PS_HEADER_BYTES,
                              .ptr = (void *)(uintptr_t)body,
                              .n_bytes = is_hollow ? 0 : n_bytes,
                              .n_hollow_bytes = is_hollow ? n_bytes : 0,
                              .lends = true };
    c->n_bytes += PS_HEADER_BYTES + n_bytes;
    const enum rc rc = transport_send(s->env.transport, &part->tx);
    part->is_posted = rc == RC_OK;
    return ps_forgive_loss(s->env.world, s->chain.heir, rc);
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

enum rc copy_begin(struct ps_server *s, int heir)
{
    const int n_slots = sync_most_workers(&s->env) * PS_CREDITS;
    enum rc rc;

    assert(!s->chain.copy && s->chain.n_pending == 0); /* Y1 */
    TRY(open_copy(s));
    s->chain.copy->most_parts = (int)n_copy_parts(s) + n_slots;
    s->chain.copy->part = calloc((size_t)s->chain.copy->most_parts, sizeof *s->chain.copy->part);
    if (!s->chain.copy->part)
        FAIL(RC_NOMEM, "parameter server: no memory for the copy of a slice");
    s->chain.heir = s->env.n_workers + heir;
    s->chain.n_held = 0;
    s->chain.is_on = true;
    (void)pass_words(s, false);
    TRY(post_copy(s));
    for (int i = 0; i < n_slots; i++)
        if (s->client[i / PS_CREDITS].request[i % PS_CREDITS].is_kept)
            TRY(post_kept(s, i / PS_CREDITS, (uint32_t)(i % PS_CREDITS)));
out:
    return rc;
}

/* Of all parts the first error. */
static enum rc end_parts(struct ps_server *s, int timeout_ms)
{
    struct copy *c = s->chain.copy;
    enum rc first = RC_OK;

    for (int i = 0; i < c->n_parts; i++) {
        if (!c->part[i].is_posted)
            continue;
        c->part[i].is_posted = false;
        const enum rc rc = transport_wait(s->env.transport, &c->part[i].tx, timeout_ms);
        first = first == RC_OK ? rc : first;
    }
    return first;
}

void copy_abandon(struct ps_server *s)
{
    if (s->chain.copy && s->chain.copy->part)
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
    const uint64_t n_bytes = s->chain.copy->n_bytes, began_ns = s->chain.copy->began_ns;
    const uint64_t end_ns = world_now_ns(s->env.world);
    char line[RC_MESSAGE_BYTES];
    enum rc rc;

    TRY(ps_forgive_loss(s->env.world, s->chain.heir, end_parts(s, s->env.timeout_ms)));
    count_copy(s, n_bytes);
    server_note_span(s, "copy", began_ns, end_ns, -1, s->n_elems);
    (void)snprintf(line, sizeof line,
                   "the parameters of server %d have a replica again, on server %d: %llu bytes in %.3f s", s->slice,
                   s->chain.heir - s->env.n_workers, (unsigned long long)n_bytes, 1e-9 * (double)(end_ns - began_ns));
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
    (*out)->is_partial = true;
    (*out)->chain.home = holder;
    TRY(open_copy(*out));
out:
    return rc;
}

/* All of it is there. */
static enum rc end_partial(struct ps_server *s)
{
    const uint64_t n_bytes = s->chain.copy->n_bytes;

    close_copy(s);
    s->is_partial = false;
    count_copy(s, n_bytes);
    return replica_post_held(s); /* Y3 */
}

static enum rc note_part(struct ps_server *s, size_t n_bytes)
{
    struct copy *c = s->chain.copy;
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
        (replica ? !replica->is_partial || !replica->chain.copy || m->peer != replica->chain.home
                 : h->piece != 0 || sync_worker_of(&s->env, m->peer) >= 0))
        return rc_raise(RC_MISMATCH, "rank %d copies slice %d to this server, part %u", m->peer, slice, h->piece);
    if (!replica)
        TRY(open_partial(&replica, s, slice, m->peer));
    struct copy *c = replica->chain.copy;
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
    if ((size_t)c->n_taken == n_word_parts(replica) && !pass_words(replica, true)) {
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
    struct copy *c = replica->chain.copy;
    enum rc rc = RC_OK;

    *why = REFUSED_OUT_OF_ORDER;
    if (!c || (size_t)c->n_taken != n_copy_parts(replica) || !ps_is_push(h->op) || !r->is_due ||
        h->piece != r->answer.piece || h->n_elems != replica->piece[h->piece].part.n_elems)
        FAIL(RC_MISMATCH, "op %d of worker %d is no gradient that is kept", (int)h->op, a->worker);
    TRY(server_check_body(replica, a, h, why));
    *why = NOT_REFUSED;
    r->kept = a->message;
    r->body = ps_push_body(h);
    r->lr = h->lr;
    r->is_kept = true;
    r->is_due = false;
    a->message = (struct message){ .peer = -1 };
    c->n_due--;
    TRY(note_part(replica, (size_t)push_body_bytes(&r->body)));
out:
    return rc;
}
