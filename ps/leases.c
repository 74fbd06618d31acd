/* SPDX-License-Identifier: Apache-2.0 */
/* leases.c - see leases.h. */
#include "ps/leases.h"

#include <assert.h>
#include <stdlib.h>

enum { WORD_BITS = 64 };

size_t leases_bytes(int most_workers)
{
    const struct leases *l = NULL;

    return (size_t)most_workers * (sizeof *l->of + sizeof *l->given);
}

enum rc leases_open(struct leases *out, int most_workers, int n_first, uint64_t n_batches)
{
    struct leases l = { .most_workers = most_workers, .n_batches = n_batches };

    l.of = calloc((size_t)most_workers, sizeof *l.of);
    l.given = calloc((size_t)most_workers, sizeof *l.given);
    if (!l.of || !l.given) {
        leases_close(&l);
        return rc_raise(RC_NOMEM, "parameter server: no memory for the batches of %d workers", most_workers);
    }
    for (int w = 0; w < most_workers; w++) /* B6 */
        l.of[w] = w < n_first && l.n_begun < n_batches ? l.n_begun++ : NO_BATCH;
    *out = l;
    return RC_OK;
}

void leases_close(struct leases *l)
{
    free(l->of);
    free(l->given);
    *l = (struct leases){ 0 };
}

void leases_end(struct leases *l, int w)
{
    assert(l->of[w] != NO_BATCH);
    l->of[w] = NO_BATCH;
    l->n_done++;
}

static uint64_t take_given(struct leases *l)
{
    const uint64_t batch = l->given[l->first_given];

    l->first_given = (l->first_given + 1) % l->most_workers;
    l->n_given--;
    l->n_again++;
    return batch;
}

uint64_t leases_take(struct leases *l, int w)
{
    if (l->of[w] != NO_BATCH)
        return l->of[w];
    if (l->n_given > 0)
        l->of[w] = take_given(l);
    else if (l->n_begun < l->n_batches)
        l->of[w] = l->n_begun++;
    return l->of[w];
}

void leases_give_back(struct leases *l, int w)
{
    if (l->of[w] == NO_BATCH)
        return;
    assert(l->n_given < l->most_workers);
    l->given[(l->first_given + l->n_given++) % l->most_workers] = l->of[w];
    l->of[w] = NO_BATCH;
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
