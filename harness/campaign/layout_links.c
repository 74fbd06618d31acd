/* SPDX-License-Identifier: Apache-2.0 */
/* layout_links.c - shared links of layout_play.h. */
#include "harness/campaign/layout_play.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct count { /* of one link */
    double bytes_per_s;
    uint32_t *n_messages; /* [n_kinds] */
};

struct counts {
    struct layout_links *links;
    const struct topology *topology;
    struct layout layout;
    size_t first[TOPOLOGY_N_KINDS]; /* link i of that kind is count[first + i] */
    struct count *count;
    size_t n;
    uint32_t *n_messages; /* of all of them */
};

static enum rc counts_open(struct counts *c, size_t n_kinds)
{
    const struct topology *t = c->topology;
    const size_t n_cards = (size_t)t->n_slots * (size_t)t->cluster.n_nics_per_host;
    const size_t n_others = (size_t)(t->n_ranks > t->n_groups ? t->n_ranks : t->n_groups);

    for (int kind = 0; kind < TOPOLOGY_N_KINDS; kind++) {
        c->first[kind] = c->n;
        c->n += n_cards > n_others ? n_cards : n_others;
    }
    c->count = calloc(c->n, sizeof *c->count);
    c->n_messages = calloc(c->n * n_kinds, sizeof *c->n_messages);
    if (!c->count || !c->n_messages)
        return rc_raise(RC_NOMEM, "no memory for the links of %d ranks", t->n_ranks);
    for (size_t i = 0; i < c->n; i++)
        c->count[i].n_messages = c->n_messages + i * n_kinds;
    return RC_OK;
}

/* A message of this kind, from rank to rank. */
static void add(struct counts *c, int stage, enum layout_crossing crossing, int from, int to)
{
    struct topology_link link[TOPOLOGY_MAX_PATH];
    const int n = topology_path(c->topology, from, to, link);
    const size_t kind = layout_kind(stage, crossing);
    double latency_s = 2 * topology_message_s(c->topology, from, to);
    double *limit = &c->links->limit_bytes_per_s[kind];

    for (int i = 0; i < n; i++) {
        struct count *shared = &c->count[c->first[link[i].kind] + (size_t)link[i].index];
        latency_s += link[i].latency_s;
        *limit = fmin(*limit, link[i].bytes_per_s);
        if (!link[i].is_shared)
            continue;
        shared->bytes_per_s = link[i].bytes_per_s;
        shared->n_messages[kind]++;
    }
    c->links->latency_s[kind] = fmax(c->links->latency_s[kind], latency_s);
}

/* L1 */
static int rank_of(const struct counts *c, int worker, int stage)
{
    return worker % c->layout.n_workers * c->layout.n_stages + stage;
}

/* What a rank sends. */
static void add_rank(struct counts *c, int worker, int stage)
{
    const int W = c->layout.n_workers, S = c->layout.n_stages, K = c->layout.n_shards, group = worker / K * K;
    const int own = rank_of(c, worker, stage);

    if (stage + 1 < S)
        add(c, stage, CROSSES_VALUE, own, own + 1);
    if (stage > 0)
        add(c, stage, CROSSES_GRAD, own, own - 1);
    for (int other = group; other < group + K; other++)
        if (other != worker)
            add(c, stage, CROSSES_GROUP, own, rank_of(c, other, stage));
    if (W > 1)
        add(c, stage, CROSSES_COMMON, own, rank_of(c, worker + 1, stage));
    if (W > K)
        add(c, stage, CROSSES_OWN, own, rank_of(c, worker + K, stage));
}

/* Is crossed by the same. */
static bool is_same(const struct count *a, const struct count *b, size_t n_kinds)
{
    return a->bytes_per_s == b->bytes_per_s &&
           memcmp(a->n_messages, b->n_messages, n_kinds * sizeof *a->n_messages) == 0;
}

/* One of those that are the same, without what nothing crosses. Returns how many are left. */
static size_t keep_different(struct count *count, size_t n, size_t n_kinds)
{
    size_t n_kept = 0;

    for (size_t i = 0; i < n; i++) {
        size_t k = 0;
        if (!(count[i].bytes_per_s > 0))
            continue;
        while (k < n_kept && !is_same(&count[k], &count[i], n_kinds))
            k++;
        if (k == n_kept)
            count[n_kept++] = count[i];
    }
    return n_kept;
}

static enum rc keep(struct layout_links *l, const struct count *count, size_t n)
{
    size_t n_crossed = 0;

    l->link = calloc(n + 1, sizeof *l->link);
    l->crossed = calloc(n * l->n_kinds + 1, sizeof *l->crossed);
    if (!l->link || !l->crossed)
        return rc_raise(RC_NOMEM, "no memory for %zu links", n);
    for (size_t i = 0; i < n; i++) {
        l->link[i] = (struct shared_link){ .bytes_per_s = count[i].bytes_per_s, .first = n_crossed };
        for (size_t kind = 0; kind < l->n_kinds; kind++)
            if (count[i].n_messages[kind] > 0)
                l->crossed[n_crossed++] = (struct link_crossed){ kind, count[i].n_messages[kind] };
        l->link[i].n = n_crossed - l->link[i].first;
    }
    l->n_links = n;
    return RC_OK;
}

enum rc layout_links_open(struct layout_links *out, const struct topology *t, const struct layout *l)
{
    struct layout_links links = { .n_kinds = (size_t)l->n_stages * N_LAYOUT_CROSSINGS };
    struct counts c = { .links = &links, .topology = t, .layout = *l };
    enum rc rc;

    links.latency_s = calloc(links.n_kinds, sizeof *links.latency_s);
    links.limit_bytes_per_s = calloc(links.n_kinds, sizeof *links.limit_bytes_per_s);
    if (!links.latency_s || !links.limit_bytes_per_s)
        FAIL(RC_NOMEM, "no memory for the messages of %d stages", l->n_stages);
    for (size_t kind = 0; kind < links.n_kinds; kind++)
        links.limit_bytes_per_s[kind] = INFINITY;
    TRY(counts_open(&c, links.n_kinds));
    for (int worker = 0; worker < l->n_workers; worker++)
        for (int stage = 0; stage < l->n_stages; stage++)
            add_rank(&c, worker, stage);
    TRY(keep(&links, c.count, keep_different(c.count, c.n, links.n_kinds)));
    *out = links;
    links = (struct layout_links){ 0 };
out:
    free(c.count);
    free(c.n_messages);
    layout_links_close(&links);
    return rc;
}

void layout_links_close(struct layout_links *l)
{
    free(l->latency_s);
    free(l->limit_bytes_per_s);
    free(l->link);
    free(l->crossed);
    *l = (struct layout_links){ 0 };
}

void layout_links_share(const struct layout_links *l, double *bytes_per_s, const bool *crosses)
{
    memcpy(bytes_per_s, l->limit_bytes_per_s, l->n_kinds * sizeof *bytes_per_s);
    for (size_t i = 0; i < l->n_links; i++) {
        const struct link_crossed *crossed = l->crossed + l->link[i].first;
        double n_messages = 0;
        for (size_t k = 0; k < l->link[i].n; k++)
            n_messages += crosses[crossed[k].kind] ? crossed[k].n_messages : 0;
        for (size_t k = 0; k < l->link[i].n; k++) /* L3 */
            bytes_per_s[crossed[k].kind] = fmin(bytes_per_s[crossed[k].kind], l->link[i].bytes_per_s / n_messages);
    }
}
