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
#include <stddef.h>
#include <stdlib.h>

struct crossing {
    struct sim_flow *flow;
    int hop; /* of the flow */
};

struct held {
    double tag; /* the service at which the flow is done */
    uint64_t order;
    struct sim_flow *flow;
};

struct link {
    struct sim_event event; /* the first flow that it holds is done */
    double bytes_per_s, latency_s;
    double level;     /* rate of each flow that it holds; infinite: it is not full */
    double published; /* the level known to the flows' other links */
    double others;    /* full: the rate of flows that it does not hold */
    double spare;     /* not full: the rate that new flows may take without a new computation */
    double service_bytes, since_s;
    struct crossing *crossing; /* [n_flows] */
    struct held *heap;         /* [n_held + 1]: from 1 */
    int n_flows, n_held, n_planned, n_room;
    int n_visits; /* share_out() at this instant */
    bool has_new; /* it holds a flow that other links count at another rate */
    bool is_dirty, is_moved;
    struct link *next_dirty, *next_moved;
};

struct link_end { /* the links that a message crosses at one of its ends */
    uint32_t link[TOPOLOGY_MAX_END];
    int n_links;
    double latency_s, limit_bytes_per_s;
};

struct rank_links {
    int slot, group;
    struct link_end out, in, local_out, local_in, group_up, group_down;
};

struct sim_network {
    struct sim_clock *clock;
    struct link *link;
    size_t n_links;
    struct rank_links *rank; /* [n_ranks] */
    uint64_t n_flows_ever;
    struct link *first_dirty, *last_dirty, *first_moved;
    struct { /* for each flow of the link that shares out its rate */
        double bytes_per_s;
        int hop;
    } * offer;
    int n_offers_room;
};

static inline struct sim_flow *sim_event_flow(struct sim_event *e)
{
    return (struct sim_flow *)e; /* first member */
}

static inline struct link *sim_event_link(struct sim_event *e)
{
    return (struct link *)e; /* first member */
}

/* --- links --- */

enum { FIRST_ROOM = 4 };

static void link_add(struct link *l, struct sim_flow *f, int hop)
{
    f->hop[hop].place = (uint32_t)l->n_flows;
    l->crossing[l->n_flows++] = (struct crossing){ f, hop };
}

static void link_remove(struct link *l, const struct sim_hop *hop)
{
    const struct crossing last = l->crossing[--l->n_flows];

    l->crossing[hop->place] = last;
    last.flow->hop[last.hop].place = hop->place;
}

static bool is_before(const struct held *a, const struct held *b)
{
    return a->tag < b->tag || (a->tag == b->tag && a->order < b->order);
}

static void put(struct link *l, int place, struct held held)
{
    l->heap[place] = held;
    held.flow->place = (uint32_t)place;
}

static void move_up(struct link *l, int place, struct held held)
{
    for (; place > 1 && is_before(&held, &l->heap[place / 2]); place /= 2)
        put(l, place, l->heap[place / 2]);
    put(l, place, held);
}

static void move_down(struct link *l, int place, struct held held)
{
    for (int child; (child = 2 * place) <= l->n_held; place = child) {
        if (child < l->n_held && is_before(&l->heap[child + 1], &l->heap[child]))
            child++;
        if (!is_before(&l->heap[child], &held))
            break;
        put(l, place, l->heap[child]);
    }
    put(l, place, held);
}

static void link_hold(struct link *l, struct sim_flow *f, double tag)
{
    move_up(l, ++l->n_held, (struct held){ tag, f->order, f });
}

static void link_let_go(struct link *l, struct sim_flow *f)
{
    const int place = (int)f->place;
    const struct held last = l->heap[l->n_held--];

    if (place > l->n_held)
        return;
    if (place > 1 && is_before(&last, &l->heap[place / 2]))
        move_up(l, place, last);
    else
        move_down(l, place, last);
}

/* --- paths --- */

/* The first index of each kind, and how many links there are. */
static size_t count_links(const struct topology *t, size_t first[TOPOLOGY_N_KINDS])
{
    const size_t n_cards = (size_t)t->n_slots * (size_t)t->cluster.n_nics_per_host;
    const size_t n_local = (size_t)(t->n_ranks > t->n_slots ? t->n_ranks : t->n_slots);
    size_t n = 0;

    for (int kind = 0; kind < TOPOLOGY_N_KINDS; kind++) {
        first[kind] = n;
        switch ((enum topology_link_kind)kind) {
        case LINK_NIC_UP:
        case LINK_NIC_DOWN:
        case LINK_NIC_BOTH:
            n += n_cards;
            break;
        case LINK_GROUP_UP:
        case LINK_GROUP_DOWN:
            n += (size_t)t->n_groups;
            break;
        default:
            n += n_local;
        }
    }
    return n;
}

static struct link_end end_of(struct sim_network *n, const size_t first[TOPOLOGY_N_KINDS],
                              const struct topology_link *link, int n_links)
{
    struct link_end end = { .limit_bytes_per_s = INFINITY };

    for (int i = 0; i < n_links; i++) {
        const size_t number = first[link[i].kind] + (size_t)link[i].index;
        end.latency_s += link[i].latency_s;
        if (!link[i].is_shared) {
            end.limit_bytes_per_s = fmin(end.limit_bytes_per_s, link[i].bytes_per_s);
            continue;
        }
        n->link[number].bytes_per_s = link[i].bytes_per_s;
        end.link[end.n_links++] = (uint32_t)number;
    }
    return end;
}

static void find_ends(struct sim_network *n, const struct topology *t, const size_t first[TOPOLOGY_N_KINDS])
{
    struct topology_link link[TOPOLOGY_MAX_END];

    for (int r = 0; r < t->n_ranks; r++) {
        struct rank_links *rank = &n->rank[r];
        rank->slot = topology_slot(t, r);
        rank->group = topology_group(t, rank->slot);
        rank->out = end_of(n, first, link, topology_links_out(t, r, link));
        rank->in = end_of(n, first, link, topology_links_in(t, r, link));
        rank->local_out = end_of(n, first, link, topology_local_out(t, r, link));
        rank->local_in = end_of(n, first, link, topology_local_in(t, r, link));
        if (t->n_groups > 1) {
            link[0] = topology_group_link(t, rank->group, true);
            rank->group_up = end_of(n, first, link, 1);
            link[0] = topology_group_link(t, rank->group, false);
            rank->group_down = end_of(n, first, link, 1);
        }
    }
}

enum rc sim_network_open(struct sim_network **out, const struct topology *t, struct sim_clock *clock)
{
    size_t first[TOPOLOGY_N_KINDS];
    struct sim_network *n = calloc(1, sizeof *n);
    enum rc rc = RC_OK;

    if (!n)
        return rc_raise(RC_NOMEM, "no memory for a simulated network");
    n->clock = clock;
    const size_t n_links = count_links(t, first);
    n->link = calloc(n_links, sizeof *n->link);
    n->rank = calloc((size_t)t->n_ranks, sizeof *n->rank);
    if (!n->link || !n->rank)
        FAIL(RC_NOMEM, "no memory for the links of %d simulated ranks", t->n_ranks);
    TRY(sim_clock_reserve(clock, n_links));
    n->n_links = n_links;
    for (size_t i = 0; i < n_links; i++) {
        n->link[i].event.kind = EVENT_LINK;
        n->link[i].level = n->link[i].published = INFINITY;
    }
    find_ends(n, t, first);
    *out = n;
    n = NULL;
out:
    sim_network_close(&n);
    return rc;
}

void sim_network_close(struct sim_network **np)
{
    struct sim_network *n = *np;

    *np = NULL;
    if (!n)
        return;
    for (size_t i = 0; i < n->n_links; i++) {
        sim_clock_unset(n->clock, &n->link[i].event);
        free(n->link[i].crossing);
        free(n->link[i].heap);
    }
    sim_clock_release(n->clock, n->n_links);
    free(n->link);
    free(n->rank);
    free(n->offer);
    free(n);
}

static void cross(struct sim_flow *f, const struct link_end *end)
{
    for (int i = 0; i < end->n_links; i++)
        f->hop[f->n_hops++] = (struct sim_hop){ .link = end->link[i] };
    f->latency_s += end->latency_s;
    f->limit_bytes_per_s = fmin(f->limit_bytes_per_s, end->limit_bytes_per_s);
}

/* Have room for as many flows on l as are planned. */
static enum rc make_room(struct sim_network *n, struct link *l)
{
    const int n_room = l->n_room > 0 ? 2 * l->n_room : FIRST_ROOM;
    struct crossing *crossing;
    struct held *heap;
    void *offer;

    if (l->n_planned <= l->n_room)
        return RC_OK;
    crossing = realloc(l->crossing, (size_t)n_room * sizeof *crossing);
    l->crossing = crossing ? crossing : l->crossing;
    heap = crossing ? realloc(l->heap, (size_t)(n_room + 1) * sizeof *heap) : NULL;
    l->heap = heap ? heap : l->heap;
    offer = n_room > n->n_offers_room && heap ? realloc(n->offer, (size_t)n_room * sizeof *n->offer) : n->offer;
    if (!crossing || !heap || !offer)
        return rc_raise(RC_NOMEM, "no memory for %d messages on one simulated link", n_room);
    n->offer = offer;
    n->n_offers_room = n_room > n->n_offers_room ? n_room : n->n_offers_room;
    l->n_room = n_room;
    return RC_OK;
}

/* Undo sim_network_plan(). */
static void link_withdraw(struct sim_network *n, struct sim_flow *f)
{
    for (int h = 0; h < f->n_hops; h++)
        n->link[f->hop[h].link].n_planned--;
}

enum rc sim_network_plan(struct sim_network *n, struct sim_flow *out, int from, int to, double n_bytes)
{
    const struct rank_links *here = &n->rank[from], *there = &n->rank[to];
    enum rc rc = RC_OK;

    *out = (struct sim_flow){ .event.kind = EVENT_FLOW,
                              .order = n->n_flows_ever++,
                              .n_bytes = n_bytes,
                              .limit_bytes_per_s = INFINITY,
                              .bottleneck = -1 };
    if (here->slot == there->slot) {
        cross(out, &here->local_out);
        cross(out, &there->local_in);
    } else {
        cross(out, &here->out);
        if (here->group != there->group) {
            cross(out, &here->group_up);
            cross(out, &there->group_down);
        }
        cross(out, &there->in);
    }
    for (int h = 0; h < out->n_hops; h++)
        n->link[out->hop[h].link].n_planned++;
    for (int h = 0; h < out->n_hops && rc == RC_OK; h++)
        rc = make_room(n, &n->link[out->hop[h].link]);
    if (rc != RC_OK)
        link_withdraw(n, out);
    return rc;
}

void sim_network_forget(struct sim_network *n, struct sim_flow *f)
{
    sim_clock_unset(n->clock, &f->event);
    link_withdraw(n, f);
}

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
