/* SPDX-License-Identifier: Apache-2.0 */
/* span.c - rings of spans, and the overlap of two lists. */
#include "harness/world/span.h"

#include <assert.h>
#include <stdlib.h>

struct span_ring {
    const char *name;
    size_t n_spans;   /* capacity */
    size_t next;      /* place of the next span: n_added modulo n_spans */
    uint64_t n_added; /* ever */
    struct span span[];
};

enum rc span_ring_open(struct span_ring **out, const char *name, size_t n_spans)
{
    struct span_ring *ring = NULL;

    *out = NULL;
    assert(n_spans > 0);
    if (n_spans <= (SIZE_MAX - sizeof *ring) / sizeof *ring->span)
        ring = malloc(sizeof *ring + n_spans * sizeof *ring->span);
    if (!ring)
        return rc_raise(RC_NOMEM, "no memory for %zu spans of task %s", n_spans, name);
    *ring = (struct span_ring){ .name = name, .n_spans = n_spans };
    for (size_t i = 0; i < n_spans; i++) /* world.S2; not all zero, which a compiler may leave to pages not yet there */
        ring->span[i] = (struct span){ .what = name, .segment = -1 };
    *out = ring;
    return RC_OK;
}

void span_ring_add(struct span_ring *ring, const struct span *s)
{
    if (!ring)
        return;
    assert(s->start_ns <= s->end_ns);
    ring->span[ring->next] = *s;
    if (++ring->next == ring->n_spans)
        ring->next = 0;
    ring->n_added++;
}

uint64_t span_ring_n_added(const struct span_ring *ring)
{
    return ring ? ring->n_added : 0;
}

uint64_t span_ring_n_lost(const struct span_ring *ring)
{
    return ring && ring->n_added > ring->n_spans ? ring->n_added - ring->n_spans : 0;
}

const struct span *span_ring_get(const struct span_ring *ring, uint64_t i)
{
    if (!ring || i >= ring->n_added || i < span_ring_n_lost(ring))
        return NULL;
    return &ring->span[i % ring->n_spans];
}

const char *span_ring_name(const struct span_ring *ring)
{
    return ring->name;
}

void span_ring_close(struct span_ring **ring)
{
    free(*ring);
    *ring = NULL;
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Of two spans the one that ends first meets no later span of the other list: both lists are disjoint and in order. */
uint64_t spans_overlap_ns(const struct span *a, size_t n_a, const struct span *b, size_t n_b)
{
    uint64_t sum_ns = 0;

    for (size_t i = 0, k = 0; i < n_a && k < n_b;) {
        const uint64_t start_ns = later(a[i].start_ns, b[k].start_ns), end_ns = earlier(a[i].end_ns, b[k].end_ns);

        assert(i + 1 == n_a || a[i].end_ns <= a[i + 1].start_ns);
        assert(k + 1 == n_b || b[k].end_ns <= b[k + 1].start_ns);
        if (start_ns < end_ns)
            sum_ns += end_ns - start_ns;
        if (a[i].end_ns < b[k].end_ns)
            i++;
        else
            k++;
    }
    return sum_ns;
}
