/* SPDX-License-Identifier: Apache-2.0 */
/* copy.c - a slice to a new standby, and from its holder; see copy.h. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/bytes.h"
#include "harness/world/world.h"
#include "ps/recovery/copy.h"
#include "ps/recovery/elastic.h"
#include "ps/recovery/replica.h"

struct copy {
    unsigned char *words;
    float *params;       /* the slice, gathered; NULL: it is in one version */
    struct posted *part; /* [n_copy_parts()], of the holder; NULL: this end takes it */
    int n_taken, n_due;  /* of the heir: parts so far; gradients that are kept and to come yet */
    uint64_t began_ns, n_bytes;
};

/* --- words --- */

/*
 * The words of a copy (copy.h): u64, little-endian. Writer and reader use this order.
 *
 *   layout (layout.h), n_updates_before, n_granted, n_left, n_seen
 *   pushes by staleness, late pushes, the greatest lead, pushes refused as not finite, copies and their bytes (copy.Y5)
 *   per chunk       clock, round, slowest, n_slowest, n_kept; and per worker its clock, and whether it is out
 *                   (clocks.h)
 *   per worker      state, may_push, is_seen; and per slot its flags: used, waiting, with a kept gradient, not finite;
 *                   and the header of its answer (wire.h)
 *
 * In an elastic run (leases.h) these follow:
 *
 *   per worker      has_begun, asks, n_batches, asked
 *   repeated parts, batches of late joiners, changes. For each of the first MOST_WORKER_CHANGES changes: what, worker,
 *                   n_done_count, own_count
 *   slice 0         n_begun, n_done, n_again, n_given. Per worker its batch and its batch ahead, each + 1 (0: none).
 *                   Batches given back, in order, then 0 up to most_given. The end of each round.
 *   per local chunk its batch_set
 */

enum { WORD_BYTES = 8, HEADER_WORDS = PS_HEADER_BYTES / WORD_BYTES };
enum { SLOT_IS_USED = 1, SLOT_WAITS = 2, SLOT_IS_KEPT = 4, SLOT_IS_REFUSED = 8, SLOT_ALL = 15 };

struct cursor { /* over the words: they are written, or read */
    unsigned char *at;
    bool reads, is_wrong;
    int n_due; /* gradients that are kept, and come behind them */
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

static size_t n_rounds(const struct ps_server *s)
{
    return (size_t)(s->env.n_batches / (uint64_t)s->env.n_workers);
}

/* Of an elastic run, behind the others. */
static size_t n_batch_words(const struct ps_server *s)
{
    enum { OF_FACTS = 3 + 4 * MOST_WORKER_CHANGES, OF_WORKER = 4, OF_BOOK = 4, OF_BOOK_WORKER = 2 };
    const size_t n_workers = (size_t)sync_most_workers(&s->env);
    size_t n = OF_FACTS + OF_WORKER * n_workers;

    if (!server_is_elastic(s))
        return 0;
    if (server_has_book(s))
        n += OF_BOOK + OF_BOOK_WORKER * n_workers + (size_t)s->recovery->leases.most_given + n_rounds(s);
    for (size_t k = 0; k < s->env.buckets->n_chunks; k++)
        n += s->chunk[k].part.n_elems > 0 ? batch_set_bytes(s->env.n_batches) / sizeof(uint64_t) : 0;
    return n;
}

static size_t words_bytes(const struct ps_server *s)
{
    enum { OF_ALL = 5, OF_FACTS = 5 + STALENESS_BINS, OF_CHUNK = 5, OF_CHUNK_WORKER = 2, OF_WORKER = 3 };
    const size_t n_workers = (size_t)sync_most_workers(&s->env), n_chunks = s->env.buckets->n_chunks;

    return WORD_BYTES * (OF_ALL + OF_FACTS + n_chunks * (OF_CHUNK + OF_CHUNK_WORKER * n_workers) +
                         n_workers * (OF_WORKER + (size_t)PS_CREDITS * (1 + HEADER_WORDS)) + n_batch_words(s));
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

static void pass_chunk(struct cursor *c, struct chunk_state *p)
{
    p->clock = pass(c, p->clock, UINT64_MAX);
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
        answer->chunk < s->env.buckets->n_chunks &&
        (answer->n_elems == 0 || answer->n_elems == s->chunk[answer->chunk].part.n_elems))
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
    const unsigned own = (is_used ? SLOT_IS_USED : 0) | (request_waits(r) ? SLOT_WAITS : 0) |
                         (r->state == REQUEST_KEPT ? SLOT_IS_KEPT : 0) |
                         (r->answer.op == PS_REFUSED ? SLOT_IS_REFUSED : 0);
    const unsigned is = (unsigned)pass(c, is_used ? own : 0, SLOT_ALL);
    struct ps_header answer = is_used ? r->answer : none;

    pass_answer(c, s, &answer);
    if (!c->reads || !(is & SLOT_IS_USED))
        return;
    r->answer = answer;
    r->state = is & SLOT_IS_KEPT ? REQUEST_DUE : is & SLOT_WAITS ? REQUEST_WAITS : REQUEST_ANSWERED;
    r->is_silent = true;
    r->waits_since_ns = world_now_ns(s->env.world);
    c->is_wrong |= r->state == REQUEST_DUE && (!(is & SLOT_WAITS) || !consistency_has_rounds(&s->env.consistency));
    c->is_wrong |= (r->answer.op == PS_REFUSED) != !!(is & SLOT_IS_REFUSED);
    c->n_due += r->state == REQUEST_DUE;
}

/* A FETCH that this end has answered may come again at the heir. */
static void pass_worker(struct cursor *c, struct ps_server *s, int w)
{
    struct client *of = &s->client[w];
    const enum worker_state state = w == 0 && of->state == LEFT && !c->reads ? FETCHING : of->state;
    const enum worker_state read = (enum worker_state)pass(c, (uint64_t)state, ABSENT);

    of->may_push = pass(c, of->may_push, 1) != 0;
    s->recovery->worker[w].is_seen = pass(c, s->recovery->worker[w].is_seen, 1) != 0;
    for (int i = 0; i < PS_CREDITS; i++)
        pass_slot(c, s, w, i);
    if (!c->reads)
        return;
    of->state = read;
    if (read == FETCHING)
        of->request[0].is_silent = true;
}

/* Y4: gradients of chunk k that are kept, of worker w; how many come. */
static int n_due_of(const struct ps_server *s, int w, size_t k)
{
    int n = 0;

    for (int i = 0; i < PS_CREDITS; i++)
        n += s->client[w].request[i].state == REQUEST_DUE && s->client[w].request[i].answer.chunk == k;
    return n;
}

/* Y4: can the clocks of chunk k have become so (clocks.h), with workers in these states? */
static bool clocks_fit(const struct ps_server *s, size_t k)
{
    const struct clocks *c = &s->chunk[k].clocks;
    uint32_t slowest = UINT32_MAX;
    int n_slowest = 0, n_kept = 0;

    for (int w = 0; w < c->n_workers; w++) {
        const int n_due = n_due_of(s, w, k);
        const bool has_rounds = consistency_has_rounds(&c->rule), is_ahead = c->clock[w] == c->round + 1;
        n_kept += n_due;
        if (c->is_out[w] != (s->client[w].state != TRAINING) || n_due != (has_rounds && !c->is_out[w] && is_ahead))
            return false;
        if (c->is_out[w])
            continue;
        if (has_rounds && c->clock[w] > c->round + 1)
            return false;
        slowest = c->clock[w] < slowest ? c->clock[w] : slowest;
    }
    for (int w = 0; w < c->n_workers; w++)
        n_slowest += !c->is_out[w] && c->clock[w] == slowest;
    return n_kept == c->n_kept && (c->n_out == c->n_workers || (c->slowest == slowest && c->n_slowest == n_slowest));
}

/* A guest may be lost before it has joined, and was not seen then; who begins with the run was. */
static bool worker_fits(const struct ps_server *s, int w)
{
    const enum worker_state state = s->client[w].state;
    const bool is_seen = s->recovery->worker[w].is_seen;

    if (w < s->env.n_workers || state == ABSENT)
        return is_seen == (w < s->env.n_workers) && (state != ABSENT || w >= s->env.n_workers);
    return is_seen || state == LOST;
}

/* leases.B1, and who waits: a worker that is there, and has nothing. */
static bool lease_fits(const struct ps_server *s, int w)
{
    const struct recovery_worker *of = &s->recovery->worker[w];
    const bool is_there = s->client[w].state == TRAINING;

    if (of->asks && (!is_there || !of->has_begun || !server_has_book(s)))
        return false;
    return !server_has_book(s) || s->recovery->leases.of[w] == NO_BATCH || (is_there && !of->asks);
}

/* No bit behind the last batch. */
static bool ends_with_last(const struct batch_set *of)
{
    return of->word[batch_set_bytes(of->n_batches) / sizeof *of->word - 1] >> of->n_batches % 64 == 0;
}

static bool batches_fit(const struct ps_server *s)
{
    for (int w = 0; w < sync_most_workers(&s->env); w++)
        if (!lease_fits(s, w))
            return false;
    for (size_t k = 0; k < s->env.buckets->n_chunks; k++)
        if (!ends_with_last(&s->recovery->has[k]))
            return false;
    return !server_has_book(s) || leases_fit(&s->recovery->leases);
}

static bool state_fits(const struct ps_server *s)
{
    int n_left = 0, n_seen = 0;

    for (int w = 0; w < sync_most_workers(&s->env); w++) {
        const enum worker_state state = s->client[w].state;
        const bool is_seen = s->recovery->worker[w].is_seen;
        n_left += is_seen && (state == LEFT || state == LOST);
        n_seen += is_seen;
        if (!worker_fits(s, w))
            return false;
    }
    for (size_t k = 0; k < s->env.buckets->n_chunks; k++)
        if (s->chunk[k].part.n_elems > 0 && !clocks_fit(s, k))
            return false;
    return n_left == s->n_left && n_seen == s->n_seen && (!server_is_elastic(s) || batches_fit(s));
}

/* A batch, or NO_BATCH, as + 1 or 0. */
static void pass_batch(struct cursor *c, const struct ps_server *s, uint64_t *batch)
{
    *batch = pass(c, *batch + 1, s->env.n_batches) - 1;
}

static void pass_set(struct cursor *c, struct batch_set *of)
{
    of->n_in = 0;
    for (size_t i = 0; i < batch_set_bytes(of->n_batches) / sizeof *of->word; i++) {
        of->word[i] = pass(c, of->word[i], UINT64_MAX);
        for (uint64_t left = of->word[i]; left != 0; left &= left - 1)
            of->n_in++;
    }
}

/* leases.h, B1 to B3 */
static void pass_book(struct cursor *c, struct ps_server *s)
{
    struct leases *l = &s->recovery->leases;
    int n_busy = 0;

    l->n_begun = pass(c, l->n_begun, l->n_batches);
    l->n_done = pass(c, l->n_done, l->n_batches);
    l->n_again = pass(c, l->n_again, UINT64_MAX);
    l->n_given = (int)pass(c, (uint64_t)l->n_given, (uint64_t)l->most_given);
    for (int w = 0; w < l->most_workers; w++) {
        pass_batch(c, s, &l->of[w]);
        pass_batch(c, s, &l->ahead[w]);
        n_busy += l->of[w] != NO_BATCH;
    }
    l->n_busy = n_busy;
    l->first_given = c->reads ? 0 : l->first_given;
    for (int i = 0; i < l->most_given; i++) {
        uint64_t *given = &l->given[(l->first_given + i) % l->most_given];
        const uint64_t read = pass(c, i < l->n_given ? *given : 0, UINT64_MAX);
        *given = c->reads ? read : *given;
    }
    for (size_t i = 0; i < n_rounds(s); i++)
        s->recovery->round_ns[i] = pass(c, s->recovery->round_ns[i], UINT64_MAX);
}

static void pass_changes(struct cursor *c, struct ps_server *s)
{
    struct server_facts *f = &s->facts;

    f->repeated_parts_count = pass(c, f->repeated_parts_count, UINT64_MAX);
    f->guest_batches_count = pass(c, f->guest_batches_count, UINT64_MAX);
    f->changes_count = pass(c, f->changes_count, UINT64_MAX);
    for (int i = 0; i < MOST_WORKER_CHANGES; i++) {
        struct worker_change *of = &f->change[i];
        of->what = (enum worker_change_kind)pass(c, (uint64_t)of->what, WORKER_LOST);
        of->worker = (int32_t)pass(c, (uint64_t)of->worker, (uint64_t)sync_most_workers(&s->env));
        of->n_done_count = pass(c, of->n_done_count, UINT64_MAX);
        of->own_count = pass(c, of->own_count, UINT64_MAX);
    }
}

/* Of an elastic run. */
static void pass_batches(struct cursor *c, struct ps_server *s)
{
    s->recovery->n_asking = 0;
    for (int w = 0; w < sync_most_workers(&s->env); w++) {
        struct recovery_worker *of = &s->recovery->worker[w];
        of->has_begun = pass(c, of->has_begun, 1) != 0;
        of->asks = pass(c, of->asks, 1) != 0;
        of->n_batches = pass(c, of->n_batches, UINT64_MAX);
        of->asked = pass(c, of->asked, UINT64_MAX);
        s->recovery->n_asking += of->asks;
    }
    pass_changes(c, s);
    if (server_has_book(s))
        pass_book(c, s);
    for (size_t k = 0; k < s->env.buckets->n_chunks; k++)
        if (s->chunk[k].part.n_elems > 0)
            pass_set(c, &s->recovery->has[k]);
}

/* Of s, or into it. */
static void pass_words(struct cursor *c, struct ps_server *s)
{
    const int n_workers = sync_most_workers(&s->env);
    const bool has_left = !c->reads && s->client[0].state == LEFT;
    const uint64_t layout = pass(c, s->layout, UINT64_MAX);

    c->is_wrong |= layout != s->layout;
    s->n_updates_before = pass(c, s->n_updates_before, UINT64_MAX);
    s->stop.n_granted = pass(c, s->stop.n_granted, UINT64_MAX);
    const int n_left = (int)pass(c, (uint64_t)(s->n_left - has_left), (uint64_t)n_workers);
    s->n_left = c->reads ? n_left : s->n_left;
    s->n_seen = (int)pass(c, (uint64_t)s->n_seen, (uint64_t)n_workers);
    pass_facts(c, &s->facts);
    for (size_t k = 0; k < s->env.buckets->n_chunks; k++)
        pass_chunk(c, &s->chunk[k]);
    for (int w = 0; w < n_workers; w++)
        pass_worker(c, s, w);
    if (server_is_elastic(s))
        pass_batches(c, s);
}

static void write_words(unsigned char *out, struct ps_server *s)
{
    struct cursor c = { .at = out };

    pass_words(&c, s);
    assert(c.at == out + words_bytes(s));
}

static bool read_words(struct ps_server *s, unsigned char *words, int *n_due)
{
    struct cursor c = { .at = words, .reads = true };

    pass_words(&c, s);
    *n_due = c.n_due;
    if (!c.is_wrong && state_fits(s))
        return true;
    if (server_has_book(s))
        leases_clear(&s->recovery->leases);
    return false;
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
        c->words = calloc(1, words_bytes(s));
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

static enum rc post_part(struct ps_server *s, struct posted *part, const struct ps_header *h,
                         const struct ps_mark *mark, const void *body, size_t n_bytes)
{
    const bool is_hollow = n_bytes > 0 && !body;

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
    s->recovery->chain.copy->n_bytes += PS_HEADER_BYTES + n_bytes;
    return world_forgive_loss(s->env.world, s->recovery->chain.heir, server_post(s, part));
}

static enum rc post_copy(struct ps_server *s)
{
    const struct ps_mark mark = { 0, 0, s->slice };
    const size_t n = n_copy_parts(s);
    enum rc rc = RC_OK;

    for (size_t i = 0; i < n; i++) {
        const size_t n_elems = part_elems(s, i);
        const struct ps_header h = { .op = PS_COPY, .n_elems = (uint32_t)n_elems, .chunk = (uint32_t)i, .clock = n };
        TRY(post_part(s, &s->recovery->chain.copy->part[i], &h, &mark, part_at(s, i), n_elems * sizeof(float)));
    }
out:
    return rc;
}

/* The gradient that is kept of worker w in a slot. Its memory is lent until its round has ended at the standby, as that
 * of a forward (replica.R7). */
static enum rc post_kept(struct ps_server *s, int w, uint32_t slot)
{
    const struct request *r = &s->client[w].request[slot];
    const struct ps_header h = { .op = PS_PUSH,
                                 .n_elems = r->body.n_elems,
                                 .chunk = r->answer.chunk,
                                 .lr = r->lr,
                                 .form = r->body.form,
                                 .n_pairs = r->body.n_pairs };

    return post_part(s, &s->recovery->worker[w].forward[slot].posted, &h, &(struct ps_mark){ w, slot, s->slice },
                     server_is_hollow(s) ? NULL : r->kept.ptr, (size_t)push_body_bytes(&r->body));
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
    s->recovery->chain.copy->part = calloc(n_copy_parts(s), sizeof *s->recovery->chain.copy->part);
    if (!s->recovery->chain.copy->part)
        FAIL(RC_NOMEM, "parameter server: no memory for the copy of a slice");
    s->recovery->chain.heir = s->env.n_workers + heir;
    s->recovery->chain.n_held = 0;
    s->recovery->chain.is_on = true;
    TRY(gather_params(s));
    write_words(s->recovery->chain.copy->words, s);
    TRY(post_copy(s));
    for (int i = 0; i < n_slots; i++)
        if (s->client[i / PS_CREDITS].request[i % PS_CREDITS].state == REQUEST_KEPT)
            TRY(post_kept(s, i / PS_CREDITS, (uint32_t)(i % PS_CREDITS)));
out:
    return rc;
}

/* Of all parts but kept gradients the first error. */
static enum rc end_parts(struct ps_server *s, int timeout_ms)
{
    struct copy *c = s->recovery->chain.copy;
    enum rc first = RC_OK;

    for (size_t i = 0; i < n_copy_parts(s); i++) {
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

/* Does the message belong to a copy that is under way here, or does it begin one? A copy comes from one server, and its
 * first part to a server that has nothing of the slice. */
static bool belongs_to_copy(const struct ps_server *s, const struct ps_server *replica, const struct message *m,
                            int slice, const struct ps_header *h)
{
    if (s->env.n_replicas == 0 || slice >= s->env.n_servers || slice == s->slice)
        return false;
    if (!replica)
        return h->chunk == 0 && sync_worker_of(&s->env, m->peer) < 0;
    return replica->role == SLICE_PARTIAL && replica->recovery->chain.copy && m->peer == replica->recovery->chain.home;
}

/* The next part of a slice: h->chunk is its number, h->clock how many there are. The words come first. */
enum rc copy_take(struct ps_server *s, const struct message *m, int slice, const struct ps_header *h, enum refused *why)
{
    struct ps_server *replica = server_of_slice(s, slice);
    enum rc rc = RC_OK;

    *why = REFUSED_OUT_OF_ORDER;
    if (!belongs_to_copy(s, replica, m, slice, h))
        return rc_raise(RC_MISMATCH, "rank %d copies slice %d to this server, part %u", m->peer, slice, h->chunk);
    if (!replica)
        TRY(open_partial(&replica, s, slice, m->peer));
    struct copy *c = replica->recovery->chain.copy;
    const size_t i = (size_t)c->n_taken, n = n_copy_parts(replica);
    const size_t n_elems = i < n ? part_elems(replica, i) : 0;
    const bool is_hollow = i >= n_word_parts(replica) && server_is_hollow(replica);
    if (h->chunk != i || h->clock != n || i >= n || h->n_elems != n_elems || is_hollow != (m->n_hollow_bytes > 0))
        FAIL(RC_MISMATCH, "rank %d copies part %u of %llu of slice %d, with %u elements, where part %zu of %zu belongs",
             m->peer, h->chunk, (unsigned long long)h->clock, slice, h->n_elems, i, n);
    if (!is_hollow)
        memcpy(part_at(replica, i), m->ptr, n_elems * sizeof(float));
    *why = REFUSED_MALFORMED;
    c->n_taken++;
    if ((size_t)c->n_taken == n_word_parts(replica) && !read_words(replica, c->words, &c->n_due)) {
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
        h->chunk != r->answer.chunk || h->n_elems != replica->chunk[h->chunk].part.n_elems)
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
