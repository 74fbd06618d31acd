/* SPDX-License-Identifier: Apache-2.0 */
/* tcp_hub_calls.c - the calls in which ranks meet (world.G3). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/bytes.h"
#include "harness/world/tcp/tcp_hub_state.h"

static const char *const operation_names[TCP_N_OPERATIONS] = { "barrier", "allgather", "gather", "broadcast",
                                                               "split",   "survivors", "begin" };

/* --- worlds --- */

static void call_fini(struct hub_call *c, int n_ranks)
{
    for (int i = 0; c->input && i < n_ranks; i++)
        free(c->input[i].body);
    free(c->has);
    free(c->number);
    free(c->input);
    *c = (struct hub_call){ 0 };
}

static bool call_init(struct hub_call *c, int n_ranks)
{
    const size_t n = (size_t)n_ranks;

    c->has = calloc(n, sizeof *c->has);
    c->number = calloc(n, sizeof *c->number);
    c->input = calloc(n, sizeof *c->input);
    return c->has && c->number && c->input;
}

static void world_free(struct hub_world *w)
{
    if (!w)
        return;
    call_fini(&w->call, w->n_ranks);
    call_fini(&w->survivors, w->n_ranks);
    free(w->number);
    free(w);
}

/* With room for n_ranks numbers. NULL: no memory. */
static struct hub_world *world_alloc(struct tcp_hub *h, int n_ranks)
{
    struct hub_world *w = calloc(1, sizeof *w);

    if (!w)
        return NULL;
    w->number = calloc((size_t)n_ranks, sizeof *w->number);
    if (!w->number || !call_init(&w->call, n_ranks) || !call_init(&w->survivors, n_ranks)) {
        w->n_ranks = n_ranks;
        world_free(w);
        return NULL;
    }
    w->id = ++h->last_id;
    w->n_ranks = n_ranks;
    w->next = h->worlds;
    h->worlds = w;
    return w;
}

enum rc hub_worlds_open(struct tcp_hub *h)
{
    struct hub_world *w = world_alloc(h, h->n_ranks);

    if (!w)
        return rc_raise(RC_NOMEM, "no memory for the world of %d ranks", h->n_ranks);
    for (int r = 0; r < h->n_ranks; r++)
        w->number[r] = r;
    w->n_users = h->n_ranks;
    return RC_OK;
}

void hub_worlds_close(struct tcp_hub *h)
{
    while (h->worlds) {
        struct hub_world *w = h->worlds;
        h->worlds = w->next;
        world_free(w);
    }
}

/* The world with this id, of which rank `rank` of the run is rank *place; NULL: there is none such. */
static struct hub_world *find_world(struct tcp_hub *h, uint64_t id, int rank, int *place)
{
    for (struct hub_world *w = h->worlds; w; w = w->next)
        if (w->id == id)
            for (*place = 0; *place < w->n_ranks; ++*place)
                if (w->number[*place] == rank)
                    return w;
    return NULL;
}

enum rc hub_close_world(struct tcp_hub *h, int rank, const struct tcp_message *m)
{
    struct hub_world **link = &h->worlds;
    int place;

    if (m->n_bytes != 4)
        return rc_raise(RC_MISMATCH, "an end of a world of %zu bytes", m->n_bytes);
    struct hub_world *w = find_world(h, bytes_get(m->body, 4), rank, &place);
    if (!w || w->id == TCP_RUN_WORLD)
        return rc_raise(RC_MISMATCH, "a request to end an unknown world");
    if (--w->n_users > 0)
        return RC_OK;
    while (*link != w)
        link = &(*link)->next;
    *link = w->next;
    world_free(w);
    return RC_OK;
}

/* --- answers --- */

static void reset(struct hub_call *c, int n_ranks)
{
    for (int i = 0; i < n_ranks; i++) {
        free(c->input[i].body);
        c->input[i] = (struct tcp_message){ 0 };
        c->has[i] = 0;
    }
    c->n_came = 0;
}

/* body: room for TCP_RESULT_FIXED_BYTES, and the output behind it. */
static void answer_one(struct tcp_hub *h, const struct hub_world *w, const struct hub_call *c, int place,
                       struct tcp_message *result)
{
    result->type = TCP_RESULT;
    result->number = c->number[place];
    hub_post(h, w->number[place], result);
}

static void put_result(unsigned char *body, enum rc code, int lost)
{
    bytes_put(body, (uint32_t)code, 4);
    bytes_put(body + 4, (uint32_t)lost, 4);
}

/* The same error to all who have called. lost: a rank of the run, or -1. */
static void answer_error(struct tcp_hub *h, struct hub_world *w, struct hub_call *c, enum rc code, int lost,
                         const char *why)
{
    unsigned char body[TCP_RESULT_FIXED_BYTES + RC_MESSAGE_BYTES];
    const size_t n_text = strnlen(why, RC_MESSAGE_BYTES - 1);
    struct tcp_message result = { .body = body, .n_bytes = TCP_RESULT_FIXED_BYTES + n_text };

    put_result(body, code, lost);
    memcpy(body + TCP_RESULT_FIXED_BYTES, why, n_text);
    for (int i = 0; i < w->n_ranks; i++)
        if (c->has[i])
            answer_one(h, w, c, i, &result);
    reset(c, w->n_ranks);
}

static void answer_no_memory(struct tcp_hub *h, struct hub_world *w, struct hub_call *c)
{
    answer_error(h, w, c, RC_NOMEM, -1, "rank 0 has no memory for the call of all ranks");
}

/* Barrier, allgather, gather, broadcast: all inputs in the order of ranks, those of a broadcast being rank 0's alone.
 */
static void answer_inputs(struct tcp_hub *h, struct hub_world *w, struct hub_call *c)
{
    const size_t n_each = (size_t)c->n_bytes_each;
    const bool is_broadcast = c->operation == TCP_BROADCAST;
    const size_t n_output = is_broadcast ? n_each : n_each * (size_t)w->n_ranks;
    unsigned char *body = malloc(TCP_RESULT_FIXED_BYTES + n_output);
    struct tcp_message result = { .body = body };

    if (!body) {
        answer_no_memory(h, w, c);
        return;
    }
    put_result(body, RC_OK, -1);
    for (int i = 0; i < (is_broadcast ? 1 : w->n_ranks) && n_each > 0; i++)
        memcpy(body + TCP_RESULT_FIXED_BYTES + (size_t)i * n_each, c->input[i].body + TCP_CALL_FIXED_BYTES, n_each);
    for (int i = 0; i < w->n_ranks; i++) {
        const bool has_output = i == 0 || c->operation != TCP_GATHER;
        result.n_bytes = TCP_RESULT_FIXED_BYTES + (has_output ? n_output : 0);
        answer_one(h, w, c, i, &result);
    }
    free(body);
    reset(c, w->n_ranks);
}

/* --- parts --- */

struct claim { /* what a rank asks of a split */
    int32_t color, key;
    int place;
};

/* Ranks of equal color are neighbours, in the order that they get. */
static int compare_claims(const void *pa, const void *pb)
{
    const struct claim *a = pa, *b = pb;

    if (a->color != b->color)
        return a->color < b->color ? -1 : 1;
    return a->key != b->key ? (a->key < b->key ? -1 : 1) : a->place - b->place;
}

/* Tell the ranks of w that are at these places that they are a world of their own. busy[n_ranks of the run]: ranks on
 * each host that are in one. */
static bool answer_part(struct tcp_hub *h, struct hub_world *w, const struct hub_call *c, const struct claim *claim,
                        int n_ranks, const int *busy)
{
    const size_t n_bytes = TCP_RESULT_FIXED_BYTES + TCP_PART_FIXED_BYTES + 4 * (size_t)n_ranks;
    struct hub_world *part = world_alloc(h, n_ranks);
    unsigned char *body = malloc(n_bytes);
    struct tcp_message result = { .body = body, .n_bytes = n_bytes };

    if (!part || !body) {
        free(body);
        return false;
    }
    part->n_users = n_ranks;
    put_result(body, RC_OK, -1);
    bytes_put(body + TCP_RESULT_FIXED_BYTES, part->id, 4);
    for (int i = 0; i < n_ranks; i++) {
        part->number[i] = w->number[claim[i].place];
        bytes_put(body + TCP_RESULT_FIXED_BYTES + TCP_PART_FIXED_BYTES + 4 * (size_t)i, (uint64_t)part->number[i], 4);
    }
    for (int i = 0; i < n_ranks; i++) {
        bytes_put(body + TCP_RESULT_FIXED_BYTES + 4, (uint64_t)busy[h->member[part->number[i]].host], 4);
        answer_one(h, w, c, claim[i].place, &result);
    }
    free(body);
    return true;
}

/* color < 0: in no part. */
static void answer_apart(struct tcp_hub *h, struct hub_world *w, const struct hub_call *c, int place)
{
    unsigned char body[TCP_RESULT_FIXED_BYTES];
    struct tcp_message result = { .body = body, .n_bytes = sizeof body };

    put_result(body, RC_OK, -1);
    answer_one(h, w, c, place, &result);
}

/* claim[n]: of those that have called, who are told; where memory lacks, the run fails: some may have been. */
static void answer_claims(struct tcp_hub *h, struct hub_world *w, struct hub_call *c, struct claim *claim, int n)
{
    int *busy = calloc((size_t)h->n_ranks, sizeof *busy);
    bool is_well = busy != NULL;

    qsort(claim, (size_t)n, sizeof *claim, compare_claims);
    for (int i = 0; is_well && i < n; i++)
        busy[h->member[w->number[claim[i].place]].host] += claim[i].color >= 0;
    for (int i = 0, n_part; is_well && i < n; i += n_part) {
        for (n_part = 1; i + n_part < n && claim[i + n_part].color == claim[i].color;)
            n_part++;
        if (claim[i].color >= 0)
            is_well = answer_part(h, w, c, claim + i, n_part, busy);
        for (int k = 0; claim[i].color < 0 && k < n_part; k++)
            answer_apart(h, w, c, claim[i + k].place);
    }
    free(busy);
    reset(c, w->n_ranks);
    if (!is_well)
        hub_fail(h, -1, RC_NOMEM, "rank 0 has no memory for a part of the world");
}

static void answer_split(struct tcp_hub *h, struct hub_world *w, struct hub_call *c)
{
    struct claim *claim = calloc((size_t)w->n_ranks, sizeof *claim);

    if (!claim) {
        answer_no_memory(h, w, c);
        return;
    }
    for (int i = 0; i < w->n_ranks; i++) {
        const unsigned char *input = c->input[i].body + TCP_CALL_FIXED_BYTES;
        claim[i] = (struct claim){ (int32_t)bytes_get(input, 4), (int32_t)bytes_get(input + 4, 4), i };
    }
    answer_claims(h, w, c, claim, w->n_ranks);
    free(claim);
}

/* Once all ranks have called that are not lost. */
static void answer_survivors(struct tcp_hub *h, struct hub_world *w, struct hub_call *c)
{
    struct claim *claim = NULL;
    char why[RC_MESSAGE_BYTES];
    int n = 0;

    if (c->n_came == 0)
        return;
    for (int i = 0; i < w->n_ranks; i++)
        if (!c->has[i] && !hub_is_lost(h, w->number[i], why))
            return;
    claim = calloc((size_t)w->n_ranks, sizeof *claim);
    if (!claim) {
        answer_no_memory(h, w, c);
        return;
    }
    for (int i = 0; i < w->n_ranks; i++)
        if (c->has[i] && !hub_is_lost(h, w->number[i], why))
            claim[n++] = (struct claim){ 0, 0, i };
    answer_claims(h, w, c, claim, n);
    free(claim);
}

/* --- calls --- */

/* RC_MISMATCH where the rank at `place` asks for something else than the first one. */
static bool agrees(struct tcp_hub *h, struct hub_world *w, struct hub_call *c, int place, enum tcp_operation operation,
                   uint64_t n_bytes_each)
{
    char why[RC_MESSAGE_BYTES];

    if (operation == c->operation && n_bytes_each == c->n_bytes_each)
        return true;
    (void)snprintf(why, sizeof why, "rank %d calls %s of %llu bytes, rank %d %s of %llu bytes", w->number[c->first],
                   operation_names[c->operation], (unsigned long long)c->n_bytes_each, w->number[place],
                   operation_names[operation], (unsigned long long)n_bytes_each);
    answer_error(h, w, c, RC_MISMATCH, -1, why);
    return false;
}

static void answer(struct tcp_hub *h, struct hub_world *w, struct hub_call *c)
{
    if (c == &w->survivors)
        answer_survivors(h, w, c);
    else if (c->n_came == w->n_ranks && c->operation == TCP_SPLIT)
        answer_split(h, w, c);
    else if (c->n_came == w->n_ranks) {
        h->has_begun = h->has_begun || c->operation == TCP_BEGIN;
        answer_inputs(h, w, c);
    }
}

/* The first rank of w that is lost; -1: none. */
static int find_loss(struct tcp_hub *h, const struct hub_world *w, char *why)
{
    for (int i = 0; i < w->n_ranks && h->on_loss == ON_LOSS_REPORT && h->has_begun; i++)
        if (hub_is_lost(h, w->number[i], why))
            return w->number[i];
    return -1;
}

/* Bytes that a rank has to send as its input. */
static uint64_t input_bytes(enum tcp_operation operation, uint64_t n_bytes_each, int place)
{
    if (operation == TCP_SPLIT)
        return 8;
    if (operation == TCP_BARRIER || operation == TCP_SURVIVORS || operation == TCP_BEGIN ||
        (operation == TCP_BROADCAST && place > 0))
        return 0;
    return n_bytes_each;
}

enum rc hub_call(struct tcp_hub *h, int rank, struct tcp_message *m)
{
    char why[RC_MESSAGE_BYTES];
    int place = -1;

    if (m->n_bytes < TCP_CALL_FIXED_BYTES)
        return rc_raise(RC_MISMATCH, "a call of %zu bytes", m->n_bytes);
    struct hub_world *w = find_world(h, bytes_get(m->body, 4), rank, &place);
    const uint64_t operation = bytes_get(m->body + 4, 4), n_bytes_each = bytes_get(m->body + 8, 8);
    if (!w || operation >= TCP_N_OPERATIONS || (operation == TCP_BEGIN && (w->id != TCP_RUN_WORLD || h->has_begun)) ||
        m->n_bytes - TCP_CALL_FIXED_BYTES != input_bytes((enum tcp_operation)operation, n_bytes_each, place))
        return rc_raise(RC_MISMATCH, "an invalid call");
    struct hub_call *c = operation == TCP_SURVIVORS ? &w->survivors : &w->call;
    if (c->has[place])
        return rc_raise(RC_MISMATCH, "a call before the end of another");
    if (c->n_came == 0) {
        c->operation = (enum tcp_operation)operation;
        c->n_bytes_each = n_bytes_each;
        c->first = place;
    }
    c->has[place] = 1;
    c->number[place] = m->number;
    c->input[place] = *m;
    m->body = NULL;
    c->n_came++;
    if (!agrees(h, w, c, place, (enum tcp_operation)operation, n_bytes_each))
        return RC_OK;
    const int lost = c == &w->call ? find_loss(h, w, why) : -1;
    if (lost >= 0)
        answer_error(h, w, c, RC_PEER, lost, why);
    else
        answer(h, w, c);
    return RC_OK;
}

void hub_answer_losses(struct tcp_hub *h)
{
    char why[RC_MESSAGE_BYTES];

    for (int r = 0; r < h->n_ranks && !h->has_begun; r++)
        if (hub_is_lost(h, r, why))
            hub_fail(h, r, RC_PEER, why);
    if (!h->has_begun)
        return;
    for (int r = 0; r < h->n_ranks; r++) {
        if (h->member[r].is_lost || !hub_is_lost(h, r, why))
            continue;
        tcp_stream_close(&h->member[r].stream); /* should it go on, it learns that it is lost */
        h->member[r].is_lost = true;
        hub_tell_guests_of_loss(h, r, why);
    }
    for (struct hub_world *w = h->worlds, *next; w; w = next) {
        next = w->next; /* answers put new worlds in front */
        const int lost = find_loss(h, w, why);
        if (lost >= 0 && w->call.n_came > 0)
            answer_error(h, w, &w->call, RC_PEER, lost, why);
        answer_survivors(h, w, &w->survivors);
    }
}
