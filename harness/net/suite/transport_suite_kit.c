/* SPDX-License-Identifier: Apache-2.0 */
/* transport_suite_kit.c - expectations, patterns and guarded memory; see suite_tools.h. */
#include "harness/net/suite/transport_suite_kit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD_BYTES = 64, GUARD_VALUE = 0xa5, FRESH_VALUE = 0xee };

const size_t suite_length_bytes[SUITE_N_LENGTHS] = { 0, 1, 97, 4096, 5000, 65537, 3000001 };

bool suite_expect(struct suite *s, bool ok, const char *what, const char *file, int line)
{
    if (!ok) {
        s->n_failures++;
        fprintf(stderr, "%s: %s, rank %d of %d: not so: %s (%s:%d; last error: %s)\n", s->ops->module.name, s->name,
                s->w->rank, s->w->n_ranks, what, file, line, rc_message());
    }
    return ok;
}

bool guarded_alloc(struct suite *s, struct guarded *out, size_t n_bytes)
{
    unsigned char *block = malloc(n_bytes + 2 * GUARD_BYTES);

    out->ptr = NULL;
    out->n_bytes = n_bytes;
    if (!EXPECT(s, block != NULL))
        return false;
    memset(block, GUARD_VALUE, n_bytes + 2 * GUARD_BYTES);
    out->ptr = block + GUARD_BYTES;
    memset(out->ptr, FRESH_VALUE, n_bytes);
    return true;
}

bool guarded_whole(const struct guarded *g)
{
    const unsigned char *before = g->ptr - GUARD_BYTES, *after = g->ptr + g->n_bytes;

    for (int i = 0; i < GUARD_BYTES; i++)
        if (before[i] != GUARD_VALUE || after[i] != GUARD_VALUE)
            return false;
    return true;
}

bool guarded_untouched(const struct guarded *g)
{
    for (size_t i = 0; i < g->n_bytes; i++)
        if (g->ptr[i] != FRESH_VALUE)
            return false;
    return true;
}

void guarded_free(struct guarded *g)
{
    if (g->ptr)
        free(g->ptr - GUARD_BYTES);
    g->ptr = NULL;
}

/* Differs from the next byte and between messages; never 0, so that a lost byte shows. */
static unsigned char pattern_byte(size_t i, int from, int to, uint32_t key)
{
    return (unsigned char)(1 + (i * 7 + (i >> 8) * 31 + (size_t)from * 61 + (size_t)to * 101 + key * 13) % 251);
}

void pattern_fill(unsigned char *out, size_t n_bytes, int from, int to, uint32_t key)
{
    for (size_t i = 0; i < n_bytes; i++)
        out[i] = pattern_byte(i, from, to, key);
}

bool pattern_holds(const unsigned char *in, size_t n_bytes, int from, int to, uint32_t key)
{
    for (size_t i = 0; i < n_bytes; i++)
        if (in[i] != pattern_byte(i, from, to, key))
            return false;
    return true;
}

int suite_next(const struct suite *s, int d)
{
    return (s->w->rank + d) % s->w->n_ranks;
}

int suite_prev(const struct suite *s, int d)
{
    return (s->w->rank - d + s->w->n_ranks) % s->w->n_ranks;
}
