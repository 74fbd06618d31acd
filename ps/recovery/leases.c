/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leases.c - the work queue of an elastic run (exchange.E13): server 0 assigns batches to workers while the run
 * lasts; see leases.h.
 */
#include "ps/recovery/leases.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { WORD_BITS = 64 };

#define UNBEGUN (UINT64_C(1) << 62) /* of a batch that was given back */

size_t leases_bytes(int most_workers)
{
    const struct leases *l = NULL;

    return (size_t)most_workers * (sizeof *l->of + sizeof *l->ahead + 2 * sizeof *l->given);
}

enum rc leases_open(struct leases *out, int most_workers, int n_first, uint64_t n_batches)
{
    struct leases l = { .most_workers = most_workers, .n_batches = n_batches, .most_given = 2 * most_workers };
    enum rc rc = RC_OK;

    l.of = calloc((size_t)most_workers, sizeof *l.of);
    l.ahead = calloc((size_t)most_workers, sizeof *l.ahead);
    l.given = calloc((size_t)l.most_given, sizeof *l.given);
    if (!l.of || !l.ahead || !l.given)
        FAIL(RC_NOMEM, "parameter server: no memory for the batches of %d workers", most_workers);
    for (int w = 0; w < most_workers; w++) { /* B6 */
        l.of[w] = w < n_first && l.n_begun < n_batches ? l.n_begun++ : NO_BATCH;
        l.ahead[w] = NO_BATCH;
    }
    l.n_busy = (int)l.n_begun;
    *out = l;
    l = (struct leases){ 0 };
out:
    leases_close(&l);
    return rc;
}

void leases_close(struct leases *l)
{
    free(l->of);
    free(l->ahead);
    free(l->given);
    *l = (struct leases){ 0 };
}

void leases_end(struct leases *l, int w)
{
    assert(l->of[w] != NO_BATCH);
    l->of[w] = NO_BATCH;
    l->n_busy--;
    l->n_done++;
}

static uint64_t take_given(struct leases *l)
{
    const uint64_t batch = l->given[l->first_given];

    l->first_given = (l->first_given + 1) % l->most_given;
    l->n_given--;
    l->n_again += !(batch & UNBEGUN);
    return batch & ~UNBEGUN;
}

/* NO_BATCH: there is none. */
static uint64_t take_any(struct leases *l)
{
    if (l->n_given > 0)
        return take_given(l);
    return l->n_begun < l->n_batches ? l->n_begun++ : NO_BATCH;
}

uint64_t leases_take(struct leases *l, int w)
{
    if (l->of[w] != NO_BATCH)
        return l->of[w];
    l->of[w] = l->ahead[w] != NO_BATCH ? l->ahead[w] : take_any(l);
    l->ahead[w] = NO_BATCH;
    l->n_busy += l->of[w] != NO_BATCH;
    return l->of[w];
}

uint64_t leases_ahead(struct leases *l, int w)
{
    const uint64_t n_left = l->n_batches - l->n_begun + (uint64_t)l->n_given;

    assert(l->of[w] != NO_BATCH);
    if (l->ahead[w] == NO_BATCH && n_left > (uint64_t)l->n_busy)
        l->ahead[w] = take_any(l);
    return l->ahead[w];
}

static void give(struct leases *l, uint64_t *batch, uint64_t mark)
{
    if (*batch == NO_BATCH)
        return;
    assert(l->n_given < l->most_given);
    l->given[(l->first_given + l->n_given++) % l->most_given] = *batch | mark;
    *batch = NO_BATCH;
}

void leases_return(struct leases *l, int w)
{
    give(l, &l->ahead[w], UNBEGUN);
}

void leases_give_back(struct leases *l, int w)
{
    l->n_busy -= l->of[w] != NO_BATCH;
    give(l, &l->of[w], 0);
    give(l, &l->ahead[w], 0);
}

/* The batch of place i among all that are leased, ahead or given back; NO_BATCH: none. */
static uint64_t batch_in(const struct leases *l, int i)
{
    const int n = l->most_workers;

    if (i < n)
        return l->of[i];
    if (i < 2 * n)
        return l->ahead[i - n];
    return i - 2 * n < l->n_given ? l->given[(l->first_given + i - 2 * n) % l->most_given] & ~UNBEGUN : NO_BATCH;
}

bool leases_fit(const struct leases *l)
{
    const int n_places = 2 * l->most_workers + l->most_given;
    int n_in = 0, n_busy = 0;

    for (int w = 0; w < l->most_workers; w++) {
        n_busy += l->of[w] != NO_BATCH;
        if (l->ahead[w] != NO_BATCH && l->of[w] == NO_BATCH)
            return false;
    }
    for (int i = 0; i < n_places; i++) {
        const uint64_t batch = batch_in(l, i);
        n_in += batch != NO_BATCH;
        if (batch != NO_BATCH && batch >= l->n_begun)
            return false;
        for (int k = 0; k < i && batch != NO_BATCH; k++)
            if (batch_in(l, k) == batch)
                return false;
    }
    return l->n_begun <= l->n_batches && n_busy == l->n_busy && n_in <= l->most_given && l->n_done <= l->n_begun &&
           l->n_done + (uint64_t)n_in == l->n_begun;
}

/* For a queue that was read and is none (leases_fit()): no worker has a batch. */
void leases_clear(struct leases *l)
{
    for (int w = 0; w < l->most_workers; w++)
        l->of[w] = l->ahead[w] = NO_BATCH;
    l->n_busy = l->n_given = 0;
}

size_t batch_set_bytes(uint64_t n_batches)
{
    return (size_t)(n_batches / WORD_BITS + 1) * sizeof(uint64_t);
}

enum rc batch_set_open(struct batch_set *out, uint64_t n_batches)
{
    uint64_t *word = calloc(1, batch_set_bytes(n_batches));

    if (!word)
        return rc_raise(RC_NOMEM, "parameter server: no memory for the numbers of %llu batches",
                        (unsigned long long)n_batches);
    *out = (struct batch_set){ .n_batches = n_batches, .word = word };
    return RC_OK;
}

void batch_set_close(struct batch_set *s)
{
    free(s->word);
    *s = (struct batch_set){ 0 };
}

bool batch_set_add(struct batch_set *s, uint64_t batch)
{
    const uint64_t bit = UINT64_C(1) << batch % WORD_BITS;
    uint64_t *word = &s->word[batch / WORD_BITS];

    assert(batch < s->n_batches);
    if (*word & bit)
        return false;
    *word |= bit;
    s->n_in++;
    return true;
}

bool batch_set_has(const struct batch_set *s, uint64_t batch)
{
    return s->word[batch / WORD_BITS] >> batch % WORD_BITS & 1;
}

uint64_t batch_set_first_missing(const struct batch_set *s)
{
    uint64_t batch = 0;

    while (batch + WORD_BITS <= s->n_batches && s->word[batch / WORD_BITS] == UINT64_MAX)
        batch += WORD_BITS;
    while (batch < s->n_batches && batch_set_has(s, batch))
        batch++;
    return batch;
}
