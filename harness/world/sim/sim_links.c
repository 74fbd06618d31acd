/* SPDX-License-Identifier: Apache-2.0 */
/* sim_links.c - the links of a topology, the paths over them, and each link's flows. */
#include "harness/world/sim/sim_links.h"

#include <math.h>
#include <stdlib.h>

enum { FIRST_ROOM = 4 };

void link_add(struct link *l, struct sim_flow *f, int hop)
{
    f->hop[hop].place = (uint32_t)l->n_flows;
    l->crossing[l->n_flows++] = (struct crossing){ f, hop };
}

void link_remove(struct link *l, const struct sim_hop *hop)
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

void link_hold(struct link *l, struct sim_flow *f, double tag)
{
    move_up(l, ++l->n_held, (struct held){ tag, f->order, f });
}

void link_let_go(struct link *l, struct sim_flow *f)
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

void link_withdraw(struct sim_network *n, struct sim_flow *f)
{
    for (int h = 0; h < f->n_hops; h++)
        n->link[f->hop[h].link].n_planned--;
}

void sim_network_forget(struct sim_network *n, struct sim_flow *f)
{
    sim_clock_unset(n->clock, &f->event);
    link_withdraw(n, f);
}
