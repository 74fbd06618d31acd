/* SPDX-License-Identifier: Apache-2.0 */
/* server_copy_words.c - the state of a slice beside its arrays, as words; see copy_words.h. */
#include <assert.h>

#include "harness/base/bytes.h"
#include "harness/world/world.h"
#include "ps/copy_words.h"

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

size_t copy_words_bytes(const struct ps_server *s)
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
    c->n_due += r->is_due;
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

/* Y4: gradients of piece k that are kept, of worker w; how many come. */
static int n_due_of(const struct ps_server *s, int w, size_t k)
{
    int n = 0;

    for (int i = 0; i < PS_CREDITS; i++)
        n += s->client[w].request[i].is_due && s->client[w].request[i].answer.piece == k;
    return n;
}

/* Y4: can the clocks of piece k have become so (clocks.h), with workers in these states? */
static bool clocks_fit(const struct ps_server *s, size_t k)
{
    const struct clocks *c = &s->piece[k].clocks;
    uint32_t slowest = UINT32_MAX;
    int n_slowest = 0, n_kept = 0;

    for (int w = 0; w < c->n_workers; w++) {
        const int n_due = n_due_of(s, w, k);
        const bool has_rounds = c->rule.kind == CONSISTENCY_SYNC, is_ahead = c->clock[w] == c->round + 1;
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

static bool state_fits(const struct ps_server *s)
{
    int n_left = 0;

    for (int w = 0; w < sync_most_workers(&s->env); w++)
        n_left += s->client[w].state == LEFT || s->client[w].state == LOST;
    for (size_t k = 0; k < s->env.buckets->n_pieces; k++)
        if (s->piece[k].part.n_elems > 0 && !clocks_fit(s, k))
            return false;
    return n_left == s->n_left;
}

/* Of s, or into it. */
static void pass_words(struct cursor *c, struct ps_server *s)
{
    const int n_workers = sync_most_workers(&s->env);
    const bool has_left = !c->reads && s->client[0].state == LEFT;
    const uint64_t layout = pass(c, s->layout, UINT64_MAX);

    c->is_wrong |= layout != s->layout;
    s->n_updates_before = pass(c, s->n_updates_before, UINT64_MAX);
    s->n_granted = pass(c, s->n_granted, UINT64_MAX);
    const int n_left = (int)pass(c, (uint64_t)(s->n_left - has_left), (uint64_t)n_workers);
    s->n_left = c->reads ? n_left : s->n_left;
    pass_facts(c, &s->facts);
    for (size_t k = 0; k < s->env.buckets->n_pieces; k++)
        pass_piece(c, &s->piece[k]);
    for (int w = 0; w < n_workers; w++)
        pass_worker(c, s, w);
}

void copy_words_write(unsigned char *out, struct ps_server *s)
{
    struct cursor c = { .at = out };

    pass_words(&c, s);
    assert(c.at == out + copy_words_bytes(s));
}

bool copy_words_read(struct ps_server *s, unsigned char *words, int *n_due)
{
    struct cursor c = { .at = words, .reads = true };

    pass_words(&c, s);
    *n_due = c.n_due;
    return !c.is_wrong && state_fits(s);
}
