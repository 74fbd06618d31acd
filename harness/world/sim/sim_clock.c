/* SPDX-License-Identifier: Apache-2.0 */
/* sim_clock.c - a heap of four children a node: flat, as most events are set late and taken out early. */
#include "harness/world/sim/sim_clock.h"

#include <assert.h>
#include <stdlib.h>

enum { N_CHILDREN = 4, FIRST_ROOM = 64 };

void sim_clock_init(struct sim_clock *out)
{
    *out = (struct sim_clock){ .now_s = 0 };
}

void sim_clock_fini(struct sim_clock *c)
{
    free(c->heap);
    *c = (struct sim_clock){ .now_s = 0 };
}

void sim_clock_clear(struct sim_clock *c)
{
    for (size_t i = 1; i <= c->n; i++)
        c->heap[i].event->place = 0;
    c->n = 0;
}

enum rc sim_clock_reserve(struct sim_clock *c, size_t n)
{
    size_t n_room = c->n_room > 0 ? c->n_room : FIRST_ROOM;
    struct sim_clock_entry *heap;

    while (n_room < c->n_reserved + n)
        n_room *= 2;
    if (n_room > c->n_room) {
        heap = realloc(c->heap, (n_room + 1) * sizeof *heap);
        if (!heap)
            return rc_raise(RC_NOMEM, "no memory for %zu events of the simulation", n_room);
        c->heap = heap;
        c->n_room = n_room;
    }
    c->n_reserved += n;
    return RC_OK;
}

void sim_clock_release(struct sim_clock *c, size_t n)
{
    assert(c->n + n <= c->n_reserved);
    c->n_reserved -= n;
}

static bool is_before(const struct sim_clock_entry *a, const struct sim_clock_entry *b)
{
    return a->time_s < b->time_s || (a->time_s == b->time_s && a->order < b->order);
}

static void put(struct sim_clock *c, size_t place, struct sim_clock_entry entry)
{
    c->heap[place] = entry;
    entry.event->place = (uint32_t)place;
}

static size_t parent_of(size_t place)
{
    return (place - 2) / N_CHILDREN + 1;
}

static void move_up(struct sim_clock *c, size_t place, struct sim_clock_entry entry)
{
    for (; place > 1 && is_before(&entry, &c->heap[parent_of(place)]); place = parent_of(place))
        put(c, place, c->heap[parent_of(place)]);
    put(c, place, entry);
}

static void move_down(struct sim_clock *c, size_t place, struct sim_clock_entry entry)
{
    for (;;) {
        const size_t first = N_CHILDREN * (place - 1) + 2;
        size_t best = first;
        if (first > c->n)
            break;
        for (size_t i = first + 1; i < first + N_CHILDREN && i <= c->n; i++)
            if (is_before(&c->heap[i], &c->heap[best]))
                best = i;
        if (!is_before(&c->heap[best], &entry))
            break;
        put(c, place, c->heap[best]);
        place = best;
    }
    put(c, place, entry);
}

/* To its place, from a place that is free. */
static void settle_entry(struct sim_clock *c, size_t place, struct sim_clock_entry entry)
{
    if (place > 1 && is_before(&entry, &c->heap[parent_of(place)]))
        move_up(c, place, entry);
    else
        move_down(c, place, entry);
}

void sim_clock_set(struct sim_clock *c, struct sim_event *e, double time_s)
{
    const struct sim_clock_entry entry = { time_s > c->now_s ? time_s : c->now_s, c->n_set++, e }; /* world.C3 */

    if (e->place != 0) {
        settle_entry(c, e->place, entry);
        return;
    }
    assert(c->n < c->n_reserved);
    move_up(c, ++c->n, entry);
}

void sim_clock_unset(struct sim_clock *c, struct sim_event *e)
{
    const size_t place = e->place;

    if (place == 0)
        return;
    e->place = 0;
    c->n--;
    if (place <= c->n)
        settle_entry(c, place, c->heap[c->n + 1]);
}

double sim_clock_time_s(const struct sim_clock *c, const struct sim_event *e)
{
    assert(e->place != 0);
    return c->heap[e->place].time_s;
}

double sim_clock_instant_s(const struct sim_clock *c)
{
    const double of_digits_s = 1e-15 * c->now_s;

    return of_digits_s > 1e-12 ? of_digits_s : 1e-12;
}

struct sim_event *sim_clock_advance(struct sim_clock *c)
{
    if (c->n == 0)
        return NULL;
    c->now_s = c->heap[1].time_s;
    return sim_clock_more(c);
}

struct sim_event *sim_clock_more(struct sim_clock *c)
{
    struct sim_event *e;

    if (c->n == 0 || c->heap[1].time_s > c->now_s + sim_clock_instant_s(c))
        return NULL;
    e = c->heap[1].event;
    sim_clock_unset(c, e);
    return e;
}
