/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim_network.c - links, and the flows on them.
 *
 * A link that is full holds some of its flows (it is their bottleneck): they all get its level, so it need not know
 * what each has moved, but only what a flow that it held all the time would have (`service`). A flow is done when the
 * service reaches its tag, and the next one to be done stands first in the link's heap. A flow more or less thus costs
 * a logarithm, however many there are. Only when the level has changed by FAIR_RATIO does the link look at all its
 * flows again (share_out()), and tell their other links; those do the same where it matters to them.
 */
#include "harness/world/sim/sim_network.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "harness/world/sim/sim_links.h"

static void mark_dirty(struct sim_network *n, struct link *l)
{
    if (l->is_dirty)
        return;
    l->is_dirty = true;
    l->next_dirty = NULL;
    *(n->last_dirty ? &n->last_dirty->next_dirty : &n->first_dirty) = l;
    n->last_dirty = l;
}

/* The link's next flow that is done, or when, has changed. */
static void mark_moved(struct sim_network *n, struct link *l)
{
    if (l->is_moved)
        return;
    l->is_moved = true;
    l->next_moved = n->first_moved;
    n->first_moved = l;
}

/* Bring the service up to now. */
static void serve(const struct sim_network *n, struct link *l)
{
    if (l->n_held == 0)
        l->service_bytes = 0;
    else if (isfinite(l->level))
        l->service_bytes += l->level * (n->clock->now_s - l->since_s);
    l->since_s = n->clock->now_s;
}

static void set_level(struct sim_network *n, struct link *l, double level)
{
    serve(n, l);
    l->level = level;
    mark_moved(n, l);
}

/* Does it go to and fro at this instant: how often by 16 visits? */
static int n_returns(const struct link *l)
{
    return l->n_visits / 16;
}

/* How far a link's changes may go before others are told: further where they go to and fro. */
static double tolerance(const struct link *l)
{
    return FAIR_RATIO * (1 + n_returns(l));
}

/* A full link's level, by what is known of its other flows. */
static void relevel(struct sim_network *n, struct link *l)
{
    const double least = l->bytes_per_s / l->n_flows, level = (l->bytes_per_s - l->others) / l->n_held;

    set_level(n, l, level > least ? level : least);
    if (l->level > l->published * (1 + tolerance(l)) || l->level * (1 + tolerance(l)) < l->published)
        mark_dirty(n, l);
}

static void hold(struct sim_network *n, struct sim_flow *f, int hop, double left_bytes)
{
    f->bottleneck = hop;
    if (hop < 0) {
        sim_clock_set(n->clock, &f->event, n->clock->now_s + left_bytes / f->limit_bytes_per_s);
        return;
    }
    struct link *l = &n->link[f->hop[hop].link];
    serve(n, l);
    link_hold(l, f, l->service_bytes + left_bytes);
    mark_moved(n, l);
}

/* Returns the bytes that it has left. */
static double let_go(struct sim_network *n, struct sim_flow *f)
{
    double left_bytes;

    if (f->bottleneck < 0) {
        left_bytes = (sim_clock_time_s(n->clock, &f->event) - n->clock->now_s) * f->limit_bytes_per_s;
        sim_clock_unset(n->clock, &f->event);
    } else {
        struct link *l = &n->link[f->hop[f->bottleneck].link];
        serve(n, l);
        left_bytes = l->heap[f->place].tag - l->service_bytes;
        link_let_go(l, f);
        mark_moved(n, l);
    }
    return left_bytes > 0 ? left_bytes : 0;
}

double sim_network_bytes_per_s(const struct sim_network *n, const struct sim_flow *f)
{
    return f->bottleneck < 0 ? f->limit_bytes_per_s : n->link[f->hop[f->bottleneck].link].level;
}

/* What a flow can have, as far as its links but one know. *hop: the one of these that holds it lowest; -1: its limit.
 */
static double offer(const struct sim_network *n, const struct sim_flow *f, int but, int *hop)
{
    double least = f->limit_bytes_per_s;

    *hop = -1;
    for (int h = 0; h < f->n_hops; h++)
        if (h != but && n->link[f->hop[h].link].level < least) {
            least = n->link[f->hop[h].link].level;
            *hop = h;
        }
    return least;
}

/* A link that is not full: its flows may grow by half of what is free before it must know, new ones may have the rest.
 */
static void count_free(struct sim_network *n, struct link *l, double sum)
{
    const double free_bytes_per_s = l->bytes_per_s > sum ? l->bytes_per_s - sum : 0;
    const double growth = sum > 0 ? (sum + free_bytes_per_s / 2) / sum : 1;

    for (int i = 0; i < l->n_flows; i++)
        l->crossing[i].flow->hop[l->crossing[i].hop].counted_bytes_per_s = growth * n->offer[i].bytes_per_s;
    l->spare = free_bytes_per_s / 2;
    l->others = 0;
}

/* The level at which the flows of a full link fill it: those with smaller offers have these. */
static double fill(const struct sim_network *n, const struct link *l)
{
    double level = l->bytes_per_s / l->n_flows;

    for (int n_below = -1;;) {
        double sum = 0;
        int k = 0;
        for (int i = 0; i < l->n_flows; i++)
            if (n->offer[i].bytes_per_s <= level) {
                sum += n->offer[i].bytes_per_s;
                k++;
            }
        if (k <= n_below || k == l->n_flows) /* fewer: the last digit */
            return level;
        n_below = k;
        level = (l->bytes_per_s - sum) / (l->n_flows - k);
    }
}

/* Another link, or none, holds this flow from now on. */
static void move(struct sim_network *n, struct sim_flow *f, int to)
{
    if (f->bottleneck >= 0)
        mark_dirty(n, &n->link[f->hop[f->bottleneck].link]);
    hold(n, f, to, let_go(n, f));
    for (int h = 0; h < f->n_hops; h++)
        if (to < 0 || h == to)
            mark_dirty(n, &n->link[f->hop[h].link]);
    if (to >= 0)
        n->link[f->hop[to].link].has_new = true;
}

/* Tell the other links of the flows that l holds what these get now. */
static void publish(struct sim_network *n, struct link *l)
{
    l->published = l->level;
    l->has_new = false;
    for (int i = 1; i <= l->n_held; i++) {
        struct sim_flow *f = l->heap[i].flow;
        for (int h = 0; h < f->n_hops; h++) {
            struct sim_hop *hop = &f->hop[h];
            struct link *other = &n->link[hop->link];
            if (h == f->bottleneck || other->is_dirty)
                continue;
            if (isfinite(other->level)) {
                other->others += l->level - hop->counted_bytes_per_s;
                hop->counted_bytes_per_s = l->level;
                relevel(n, other);
            } else if (l->level > hop->counted_bytes_per_s * (1 + 1e-12))
                mark_dirty(n, other);
        }
    }
}

/* Does a full link of this level hold the flow of crossing i? One that it holds already, and one that it does not, may
 * stay so if the link was here often at this instant. */
static bool is_to_hold(const struct sim_network *n, const struct link *l, int i, double level)
{
    const struct crossing *c = &l->crossing[i];
    const double slack = 1e-12 + FAIR_RATIO * n_returns(l);

    if (c->flow->bottleneck == c->hop)
        return n->offer[i].bytes_per_s > level * (1 - slack);
    return n->offer[i].bytes_per_s > level * (1 + slack);
}

/* Look at all flows of l: which it holds, at which level. */
static void share_out(struct sim_network *n, struct link *l)
{
    const double before = l->published;
    double sum = 0, most = 0;

    for (int i = 0; i < l->n_flows; i++) {
        const struct crossing *c = &l->crossing[i];
        const double bytes_per_s = offer(n, c->flow, c->hop, &n->offer[i].hop);
        n->offer[i].bytes_per_s = bytes_per_s;
        sum += bytes_per_s;
        most = bytes_per_s > most ? bytes_per_s : most;
    }
    const double filled = sum > l->bytes_per_s * (1 + 1e-12) ? fill(n, l) : INFINITY;
    const double level = most > filled * (1 + 1e-12) ? filled : INFINITY;
    set_level(n, l, level);
    if (!isfinite(level))
        count_free(n, l, sum);
    l->others = 0;
    for (int i = 0; i < l->n_flows; i++) {
        const struct crossing *c = &l->crossing[i];
        const bool is_held = isfinite(level) && is_to_hold(n, l, i, level);
        if (isfinite(level) && !is_held) {
            c->flow->hop[c->hop].counted_bytes_per_s = n->offer[i].bytes_per_s;
            l->others += n->offer[i].bytes_per_s;
        }
        if (is_held != (c->flow->bottleneck == c->hop))
            move(n, c->flow, is_held ? c->hop : n->offer[i].hop);
    }
    if (l->n_held == 0 && isfinite(level))
        set_level(n, l, INFINITY);
    if (l->has_new || !isfinite(before) || fabs(l->level - before) > 1e-12 * before)
        publish(n, l);
}

/* A flow on links that nobody else uses. */
static void join_alone(struct sim_network *n, struct sim_flow *f)
{
    double least = f->limit_bytes_per_s;
    int bottleneck = -1;

    for (int h = 0; h < f->n_hops; h++)
        if (n->link[f->hop[h].link].bytes_per_s < least) {
            least = n->link[f->hop[h].link].bytes_per_s;
            bottleneck = h;
        }
    for (int h = 0; h < f->n_hops; h++) {
        struct link *l = &n->link[f->hop[h].link];
        const double free_bytes_per_s = l->bytes_per_s - least;
        l->since_s = n->clock->now_s;
        l->others = 0;
        l->spare = free_bytes_per_s / 2;
        f->hop[h].counted_bytes_per_s = least + free_bytes_per_s / 2;
        l->level = l->published = h == bottleneck ? least : INFINITY;
    }
    hold(n, f, bottleneck, f->n_bytes);
}

/* A flow that one full link holds, and that the others have room for. False: nothing was done. */
static bool join_held(struct sim_network *n, struct sim_flow *f)
{
    double least = f->limit_bytes_per_s;
    int bottleneck = -1;

    for (int h = 0; h < f->n_hops; h++) {
        const struct link *l = &n->link[f->hop[h].link];
        const double level = isfinite(l->level) ? (l->bytes_per_s - l->others) / (l->n_held + 1) : INFINITY;
        if (l->is_dirty)
            return false;
        if (level < least) {
            least = level;
            bottleneck = h;
        }
    }
    if (!(least > 0) || !isfinite(least))
        return false;
    for (int h = 0; h < f->n_hops; h++) {
        const struct link *l = &n->link[f->hop[h].link];
        if (!isfinite(l->level) && least > (l->n_flows == 1 ? l->bytes_per_s : l->spare))
            return false;
    }
    hold(n, f, bottleneck, f->n_bytes);
    for (int h = 0; h < f->n_hops; h++) {
        struct link *l = &n->link[f->hop[h].link];
        if (h != bottleneck && isfinite(l->level)) {
            f->hop[h].counted_bytes_per_s = least;
            l->others += least;
        } else if (h != bottleneck) {
            const double spare = l->n_flows == 1 ? l->bytes_per_s : l->spare;
            f->hop[h].counted_bytes_per_s = 2 * least < spare ? 2 * least : spare;
            l->spare = spare - f->hop[h].counted_bytes_per_s;
        }
        if (isfinite(l->level))
            relevel(n, l);
    }
    return true;
}

/* Any other: a guess, and all its links are to look. */
static void join_anyhow(struct sim_network *n, struct sim_flow *f)
{
    double least = f->limit_bytes_per_s;
    int bottleneck = -1;

    for (int h = 0; h < f->n_hops; h++) {
        struct link *l = &n->link[f->hop[h].link];
        if (l->bytes_per_s / l->n_flows < least) {
            least = l->bytes_per_s / l->n_flows;
            bottleneck = h;
        }
        f->hop[h].counted_bytes_per_s = 0;
        mark_dirty(n, l);
    }
    if (bottleneck >= 0)
        n->link[f->hop[bottleneck].link].has_new = true;
    hold(n, f, bottleneck, f->n_bytes);
}

void sim_network_join(struct sim_network *n, struct sim_flow *f)
{
    bool is_alone = true;

    for (int h = 0; h < f->n_hops; h++) {
        struct link *l = &n->link[f->hop[h].link];
        link_add(l, f, h);
        is_alone = is_alone && l->n_flows == 1 && !l->is_dirty;
    }
    if (is_alone)
        join_alone(n, f);
    else if (!join_held(n, f))
        join_anyhow(n, f);
}

/* f, which nothing holds any more, leaves its links. */
static void leave(struct sim_network *n, struct sim_flow *f)
{
    for (int h = 0; h < f->n_hops; h++) {
        struct link *l = &n->link[f->hop[h].link];
        link_remove(l, &f->hop[h]);
        if (l->n_flows == 0) {
            l->level = l->published = INFINITY;
            l->others = 0;
        } else if (!isfinite(l->level))
            l->spare += f->hop[h].counted_bytes_per_s;
        else if (l->n_held == 0)
            mark_dirty(n, l);
        else {
            l->others -= h == f->bottleneck ? 0 : f->hop[h].counted_bytes_per_s;
            relevel(n, l);
        }
    }
}

void sim_network_settle(struct sim_network *n)
{
    for (struct link *l; (l = n->first_dirty) != NULL;) {
        n->first_dirty = l->next_dirty;
        if (!n->first_dirty)
            n->last_dirty = NULL;
        l->is_dirty = false;
        l->n_visits++;
        if (!l->is_moved)
            mark_moved(n, l);
        if (l->n_flows > 0)
            share_out(n, l);
    }
    for (struct link *l; (l = n->first_moved) != NULL;) {
        n->first_moved = l->next_moved;
        l->is_moved = false;
        l->n_visits = 0;
        if (l->n_held > 0)
            sim_clock_set(n->clock, &l->event, l->since_s + (l->heap[1].tag - l->service_bytes) / l->level);
        else
            sim_clock_unset(n->clock, &l->event);
    }
}

struct sim_flow *sim_network_take_done(struct sim_network *n, struct sim_event *e)
{
    struct sim_flow *done = NULL, **last = &done;

    if (e->kind == EVENT_FLOW) {
        done = sim_event_flow(e);
        leave(n, done);
        link_withdraw(n, done);
        return done;
    }
    struct link *l = sim_event_link(e);
    serve(n, l);
    const double reached_bytes = l->service_bytes + l->level * sim_clock_instant_s(n->clock) + 4e-16 * l->service_bytes;
    do { /* at least one: the event is its */
        struct sim_flow *f = l->heap[1].flow;
        link_let_go(l, f);
        *last = f;
        last = &f->next;
    } while (l->n_held > 0 && l->heap[1].tag <= reached_bytes);
    *last = NULL;
    mark_moved(n, l);
    for (struct sim_flow *f = done; f; f = f->next) {
        leave(n, f);
        link_withdraw(n, f);
    }
    return done;
}
