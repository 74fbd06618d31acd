/* SPDX-License-Identifier: Apache-2.0 */
/* eager_steps.c - from arrival to arrival: between two of them the shares of all links stay as they are. */
#include "allreduce/eager_steps.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>

/* Parts of arrays that are cut evenly differ by one element; what arrives so much later arrives now. */
#define SAME_BYTES 8.0

struct message { /* that was sent and has not arrived */
    int from, to, step;
    bool waits; /* for one that was sent before on the same way */
    double left_bytes;
};

struct state {
    const struct eager_steps *of;
    int step[EAGER_MOST_RANKS];         /* that the rank is in */
    uint32_t awaited[EAGER_MOST_RANKS]; /* bit of each step in which something is sent to it */
    uint32_t arrived[EAGER_MOST_RANKS]; /* and of those in which it has come */
    uint32_t flies[EAGER_MOST_RANKS];   /* bit of each step whose message of the rank has not arrived */
    int n_out[EAGER_MOST_RANKS], n_in[EAGER_MOST_RANKS]; /* messages on its links, without those that wait */
    struct message flying[EAGER_MOST_RANKS * EAGER_MOST_STEPS];
    int n_flying;
};

static uint32_t bit_of(int step)
{
    return UINT32_C(1) << step;
}

/* The first that was sent this way; NULL: there is none. */
static struct message *first_of(struct state *s, int from, int to)
{
    struct message *first = NULL;

    for (int i = 0; i < s->n_flying; i++) {
        struct message *m = &s->flying[i];
        if (m->from == from && m->to == to && (!first || m->step < first->step))
            first = m;
    }
    return first;
}

static void count_on_links(struct state *s, const struct message *m, int n)
{
    s->n_out[m->from] += n;
    s->n_in[m->to] += n;
}

static void post(struct state *s, int rank, int step)
{
    const struct eager_send send = s->of->send(s->of->arg, rank, step);
    struct message m = { rank, send.to, step, false, (double)send.n_bytes };

    if (send.n_bytes == 0)
        return;
    m.waits = first_of(s, rank, send.to);
    if (!m.waits)
        count_on_links(s, &m, 1);
    s->flying[s->n_flying++] = m;
    s->flies[rank] |= bit_of(step);
}

/* Has the rank what it awaits in its step? */
static bool is_done(const struct state *s, int rank)
{
    const uint32_t flies = s->of->waits ? s->flies[rank] : 0;

    return !(((s->awaited[rank] & ~s->arrived[rank]) | flies) & bit_of(s->step[rank]));
}

/* The step that the rank is in, and those behind it, up to one whose message has not come. */
static void go_on(struct state *s, int rank)
{
    for (; s->step[rank] < s->of->n_steps; s->step[rank]++) {
        post(s, rank, s->step[rank]);
        if (!is_done(s, rank))
            return;
    }
}

static void plan(struct state *s)
{
    for (int rank = 0; rank < s->of->n_ranks; rank++)
        for (int step = 0; step < s->of->n_steps; step++) {
            const struct eager_send send = s->of->send(s->of->arg, rank, step);
            if (send.n_bytes > 0)
                s->awaited[send.to] |= bit_of(step);
        }
    for (int rank = 0; rank < s->of->n_ranks; rank++)
        go_on(s, rank);
}

/* Links that so many messages share each give one of them this part; the narrower one counts. */
static double share_of(const struct state *s, const struct message *m)
{
    const int n_out = s->n_out[m->from], n_in = s->n_in[m->to];

    return 1.0 / (n_out > n_in ? n_out : n_in);
}

/* Until the next arrival. Returns what a link carries in that time. */
static double fly(struct state *s)
{
    double carried_bytes = INFINITY;

    for (int i = 0; i < s->n_flying; i++)
        if (!s->flying[i].waits)
            carried_bytes = fmin(carried_bytes, s->flying[i].left_bytes / share_of(s, &s->flying[i]));
    for (int i = 0; i < s->n_flying; i++)
        if (!s->flying[i].waits)
            s->flying[i].left_bytes -= carried_bytes * share_of(s, &s->flying[i]);
    return carried_bytes;
}

/* Take one that is here out of those that fly; one that waited for it begins. */
static bool take_arrived(struct state *s, struct message *out)
{
    int i = 0;

    while (i < s->n_flying && (s->flying[i].waits || s->flying[i].left_bytes > SAME_BYTES))
        i++;
    if (i == s->n_flying)
        return false;
    *out = s->flying[i];
    s->flying[i] = s->flying[--s->n_flying];
    count_on_links(s, out, -1);
    struct message *next = first_of(s, out->from, out->to);
    if (next) {
        next->waits = false;
        count_on_links(s, next, 1);
    }
    return true;
}

static void arrive_at(struct state *s, int rank, int step)
{
    if (s->step[rank] == step && is_done(s, rank)) {
        s->step[rank]++;
        go_on(s, rank);
    }
}

static void arrive(struct state *s, const struct message *m)
{
    s->arrived[m->to] |= bit_of(m->step);
    s->flies[m->from] &= ~bit_of(m->step);
    arrive_at(s, m->to, m->step);
    if (s->of->waits)
        arrive_at(s, m->from, m->step);
}

uint64_t eager_steps_bytes(const struct eager_steps *of)
{
    struct state s = { .of = of };
    struct message m;
    double bytes = 0;

    assert(of->n_ranks <= EAGER_MOST_RANKS && of->n_steps <= EAGER_MOST_STEPS);
    plan(&s);
    while (s.n_flying > 0) {
        bytes += fly(&s);
        while (take_arrived(&s, &m))
            arrive(&s, &m);
    }
    return (uint64_t)bytes;
}
