/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span_mutants.c - rings and overlaps with one bug each; the suite must catch each. The rings are written anew here,
 * without a bug first: "none" must pass.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "harness/world/suite/span_suite.h"

struct span_ring {
    const char *name;
    size_t n_spans;
    uint64_t n_added;
    struct span *span;
};

static enum rc open_untouched(struct span_ring **out, const char *name, size_t n_spans)
{
    struct span_ring *ring = calloc(1, sizeof *ring);

    *out = NULL;
    if (ring && n_spans < SIZE_MAX / sizeof *ring->span)
        *ring = (struct span_ring){ .name = name, .n_spans = n_spans };
    if (ring && n_spans < SIZE_MAX / sizeof *ring->span)
        ring->span = malloc(n_spans * sizeof *ring->span);
    if (!ring || !ring->span) {
        free(ring);
        return rc_raise(RC_NOMEM, "no memory for task %s", name);
    }
    *out = ring;
    return RC_OK;
}

static enum rc open_touched(struct span_ring **out, const char *name, size_t n_spans)
{
    enum rc rc;

    TRY(open_untouched(out, name, n_spans));
    memset((*out)->span, 1, n_spans * sizeof *(*out)->span);
out:
    return rc;
}

static void add(struct span_ring *ring, const struct span *s)
{
    if (ring)
        ring->span[ring->n_added++ % ring->n_spans] = *s;
}

static uint64_t n_added(const struct span_ring *ring)
{
    return ring ? ring->n_added : 0;
}

static uint64_t n_lost(const struct span_ring *ring)
{
    return ring && ring->n_added > ring->n_spans ? ring->n_added - ring->n_spans : 0;
}

static const struct span *get(const struct span_ring *ring, uint64_t i)
{
    return ring && i < ring->n_added && i >= n_lost(ring) ? &ring->span[i % ring->n_spans] : NULL;
}

static const char *name_of(const struct span_ring *ring)
{
    return ring->name;
}

static void close_ring(struct span_ring **ring)
{
    if (*ring)
        free((*ring)->span);
    free(*ring);
    *ring = NULL;
}

/* A full ring keeps its oldest spans. */
static void add_while_room(struct span_ring *ring, const struct span *s)
{
    if (ring && ring->n_added < ring->n_spans)
        ring->span[ring->n_added] = *s;
    if (ring)
        ring->n_added++;
}

static const struct span *get_oldest(const struct span_ring *ring, uint64_t i)
{
    return ring && i < ring->n_added && i >= n_lost(ring) ? &ring->span[i - n_lost(ring)] : NULL;
}

/* Grows on the way. */
static void add_allocating(struct span_ring *ring, const struct span *s)
{
    void *more = malloc(64);

    memset(&more, 0, more ? 0 : sizeof more);
    add(ring, s);
    free(more);
}

/* The step is forgotten. */
static void add_without_step(struct span_ring *ring, const struct span *s)
{
    struct span copy = *s;

    copy.step = 0;
    add(ring, &copy);
}

/* Counts the span that will be overwritten next. */
static uint64_t n_lost_early(const struct span_ring *ring)
{
    return ring && ring->n_added >= ring->n_spans ? ring->n_added - ring->n_spans + 1 : 0;
}

/* Hands out what lies in the place of an overwritten span. */
static const struct span *get_any(const struct span_ring *ring, uint64_t i)
{
    return ring && i < ring->n_added ? &ring->span[i % ring->n_spans] : NULL;
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t sooner(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t overlap_of(const struct span *a, const struct span *b)
{
    const uint64_t start_ns = later(a->start_ns, b->start_ns), end_ns = sooner(a->end_ns, b->end_ns);

    return start_ns < end_ns ? end_ns - start_ns : 0;
}

/* Both lists advance at once. */
static uint64_t overlap_in_step(const struct span *a, size_t n_a, const struct span *b, size_t n_b)
{
    uint64_t sum_ns = 0;

    for (size_t i = 0; i < n_a && i < n_b; i++)
        sum_ns += overlap_of(&a[i], &b[i]);
    return sum_ns;
}

/* The list whose span began first advances. */
static uint64_t overlap_by_start(const struct span *a, size_t n_a, const struct span *b, size_t n_b)
{
    uint64_t sum_ns = 0;

    for (size_t i = 0, k = 0; i < n_a && k < n_b;) {
        sum_ns += overlap_of(&a[i], &b[k]);
        if (a[i].start_ns < b[k].start_ns)
            i++;
        else
            k++;
    }
    return sum_ns;
}

/* Sums in floating point. */
static uint64_t overlap_rounded(const struct span *a, size_t n_a, const struct span *b, size_t n_b)
{
    double sum_s = 0;

    for (size_t i = 0; i < n_a; i++)
        for (size_t k = 0; k < n_b; k++)
            sum_s += (double)overlap_of(&a[i], &b[k]) * 1e-9;
    return (uint64_t)(sum_s * 1e9 + 0.5);
}

/* Counts a nanosecond where spans only touch. */
static uint64_t overlap_inclusive(const struct span *a, size_t n_a, const struct span *b, size_t n_b)
{
    uint64_t sum_ns = 0;

    for (size_t i = 0; i < n_a; i++)
        for (size_t k = 0; k < n_b; k++)
            sum_ns += later(a[i].start_ns, b[k].start_ns) <= sooner(a[i].end_ns, b[k].end_ns)
                          ? sooner(a[i].end_ns, b[k].end_ns) - later(a[i].start_ns, b[k].start_ns) + 1
                          : 0;
    return sum_ns;
}

#define READ n_added, n_lost, get, name_of, close_ring
#define RING open_touched, add, READ

const struct span_impl *span_mutant(const char *name)
{
    static const struct {
        const char *name;
        struct span_impl impl;
    } mutants[] = {
        { "none", { RING, spans_overlap_ns } },
        { "untouched", { open_untouched, add, READ, spans_overlap_ns } },
        { "keeps-oldest",
          { open_touched, add_while_room, n_added, n_lost, get_oldest, name_of, close_ring, spans_overlap_ns } },
        { "allocates", { open_touched, add_allocating, READ, spans_overlap_ns } },
        { "no-step", { open_touched, add_without_step, READ, spans_overlap_ns } },
        { "lost-early", { open_touched, add, n_added, n_lost_early, get, name_of, close_ring, spans_overlap_ns } },
        { "overwritten", { open_touched, add, n_added, n_lost, get_any, name_of, close_ring, spans_overlap_ns } },
        { "overlap-in-step", { RING, overlap_in_step } },
        { "overlap-by-start", { RING, overlap_by_start } },
        { "overlap-rounded", { RING, overlap_rounded } },
        { "overlap-inclusive", { RING, overlap_inclusive } },
    };

    for (size_t i = 0; i < sizeof mutants / sizeof *mutants; i++)
        if (strcmp(name, mutants[i].name) == 0)
            return &mutants[i].impl;
    return NULL;
}
