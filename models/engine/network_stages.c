/* SPDX-License-Identifier: Apache-2.0 */
/*
 * network_stages.c - cuts a network into stages, each a separate network: for pipelines, in which each rank computes
 * one stage; see network_stages.h.
 */
#include "models/engine/network_stages.h"

#include <assert.h>
#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "models/engine/network_shard.h"

/* What is read across a cut: NODE_NONE so far, one node (NODE_IMAGE: the image), or more than one. */
enum { MANY = -3 };

static void note_read(int *crossing, int node, int cut)
{
    if (node == NODE_NONE || node >= cut || *crossing == node)
        return;
    *crossing = *crossing == NODE_NONE ? node : MANY;
}

/* models.U1: the node whose output crosses the cut before node `cut`; below 0: there can be no cut. */
static int crossing_of(const struct network *n, int cut)
{
    int crossing = NODE_NONE;

    if (n->node[cut].kind == NODE_DROPOUT) /* which works in the place of its input */
        return MANY;
    for (int i = 0; i < cut; i++)
        if (n->node[i].kind == NODE_LOSS)
            return MANY;
    for (int i = cut; i < n->n_nodes; i++) {
        const struct node *d = &n->node[i];
        for (int k = 0; d->kind == NODE_CONCAT && k < d->n_parts; k++)
            if (d->part[k] < cut)
                return MANY;
        if (d->kind != NODE_CONCAT)
            note_read(&crossing, d->from, cut);
        if (d->kind == NODE_CONV)
            note_read(&crossing, d->add_from, cut);
    }
    return crossing;
}

static bool has_params(const struct network *n, int first, int end)
{
    for (int i = first; i < end; i++)
        if (n->node[i].weight.n_elems > 0)
            return true;
    return false;
}

/* The places at which there can be a cut, 0 and n_nodes among them, in order; their number. place: [n_nodes + 1]. */
static int list_places(const struct network *n, int *place)
{
    int n_places = 0;

    place[n_places++] = 0;
    for (int c = 1; c < n->n_nodes; c++)
        if (crossing_of(n, c) >= 0)
            place[n_places++] = c;
    place[n_places++] = n->n_nodes;
    return n_places;
}

int network_most_stages(const struct network *n)
{
    int most = 0, first = 0;

    for (int c = 1; c <= n->n_nodes; c++) {
        const bool is_end = c == n->n_nodes;
        if (!has_params(n, first, c) || (!is_end && (crossing_of(n, c) < 0 || !has_params(n, c, n->n_nodes))))
            continue; /* what is left without any joins the last one */
        most++;
        first = c;
    }
    return most;
}

void network_flops_of_nodes(const struct network *n, double *cost)
{
    for (int i = 0; i < n->n_nodes; i++)
        cost[i] = (n->node[i].from == NODE_IMAGE ? 2.0 : 3.0) * node_multiply_adds(&n->node[i]);
}

struct balance { /* by dynamic programming over the places */
    const struct network *n;
    const double *cost;
    const struct network_limits *limits; /* NULL: none */
    int n_places;
    int *place;
    double *best; /* [stages][n_places]: the least cost of the most expensive of so many stages up to there */
    int *from;    /* [stages][n_places]: the place at which the last of them begins; -1: there is no such cut */
};

static double cost_between(const struct balance *b, int from, int to)
{
    double sum = 0.0;

    for (int i = b->place[from]; i < b->place[to]; i++)
        sum += b->cost[i];
    return sum;
}

static bool fits(const struct balance *b, int stage, int from, int to)
{
    return b->limits == NULL || b->limits->fits(b->limits->arg, stage, b->place[from], b->place[to]);
}

/* The best last stage of `stage` + 1 stages that end at place `to`. */
static void fill_place(struct balance *b, int stage, int to)
{
    double *best = &b->best[stage * b->n_places + to];
    int *from = &b->from[stage * b->n_places + to];

    *best = DBL_MAX;
    *from = -1;
    for (int k = 0; k < to; k++) {
        const bool is_reached = stage == 0 ? k == 0 : b->from[(stage - 1) * b->n_places + k] >= 0;
        if (!is_reached || !has_params(b->n, b->place[k], b->place[to]))
            continue;
        const double before = stage == 0 ? 0.0 : b->best[(stage - 1) * b->n_places + k];
        const double last = cost_between(b, k, to), most = before > last ? before : last;
        if (most < *best && fits(b, stage, k, to)) {
            *best = most;
            *from = k;
        }
    }
}

enum rc network_balance(struct network_stages *out, const struct network *n, const double *cost, int n_stages)
{
    return network_balance_within(out, n, cost, n_stages, NULL);
}

enum rc network_balance_within(struct network_stages *out, const struct network *n, const double *cost, int n_stages,
                               const struct network_limits *limits)
{
    const int most = network_most_stages(n);
    struct balance b = { .n = n, .cost = cost, .limits = limits };
    enum rc rc = RC_OK;

    if (n_stages < 1 || n_stages > most || n_stages > NETWORK_MAX_STAGES)
        FAIL(RC_INVAL, "network %s can be cut into 1 to %d stages, not %d", n->name,
             most < NETWORK_MAX_STAGES ? most : NETWORK_MAX_STAGES, n_stages);
    b.place = calloc((size_t)n->n_nodes + 1, sizeof *b.place);
    if (b.place == NULL)
        FAIL(RC_NOMEM, "network %s: no memory for its cuts", n->name);
    b.n_places = list_places(n, b.place);
    b.best = calloc((size_t)n_stages * (size_t)b.n_places, sizeof *b.best);
    b.from = calloc((size_t)n_stages * (size_t)b.n_places, sizeof *b.from);
    if (b.best == NULL || b.from == NULL)
        FAIL(RC_NOMEM, "network %s: no memory for its cuts", n->name);
    for (int stage = 0; stage < n_stages; stage++)
        for (int to = 0; to < b.n_places; to++)
            fill_place(&b, stage, to);
    if (b.from[n_stages * b.n_places - 1] < 0)
        FAIL(RC_INVAL, "network %s: no cut into %d stages has only stages that fit", n->name, n_stages);
    out->n_stages = n_stages;
    for (int stage = n_stages - 1, at = b.n_places - 1; stage >= 0; stage--) {
        out->end[stage] = b.place[at];
        at = b.from[stage * b.n_places + at];
        assert(at >= 0);
    }
out:
    free(b.place);
    free(b.best);
    free(b.from);
    return rc;
}

/* --- models.U2 --- */

static int renumbered(int node, int first)
{
    if (node == NODE_NONE || node == NODE_IMAGE)
        return node;
    return node < first ? NODE_IMAGE : node - first;
}

static void rebase(struct segment *s, size_t first_elem)
{
    if (s->n_elems > 0)
        s->offset_elems -= first_elem;
}

/* The node of a stage: another number, other offsets. */
static void move_node(struct node *d, const struct network *stage)
{
    const int first = stage->first_node;

    d->from = renumbered(d->from, first);
    d->add_from = renumbered(d->add_from, first);
    for (int k = 0; k < d->n_parts; k++)
        d->part[k] = renumbered(d->part[k], first);
    rebase(&d->weight, stage->first_param);
    rebase(&d->shift, stage->first_param);
    rebase(&d->gamma, stage->first_param);
    if (d->norm == NORM_BATCH)
        d->running_offset_elems -= stage->first_state;
}

static size_t state_elems(const struct node *d)
{
    return d->kind == NODE_CONV && d->norm == NORM_BATCH ? 2 * (size_t)d->C_out : 0;
}

static int first_node_of(const struct network_stages *s, int number)
{
    return number > 0 ? s->end[number - 1] : 0;
}

struct network_range network_stage_range(const struct network *n, const struct network_stages *s, int number)
{
    const int first = first_node_of(s, number), end = s->end[number];
    struct network_range r = { 0 };

    for (int i = 0; i < end; i++) {
        const struct node *d = &n->node[i];
        const size_t n_elems = d->weight.n_elems + d->shift.n_elems + d->gamma.n_elems;
        *(i < first ? &r.first_param : &r.n_params) += n_elems;
        *(i < first ? &r.first_state : &r.n_state) += state_elems(d);
    }
    return r;
}

static enum rc copy_nodes(struct network *stage, const struct network *whole, int end)
{
    const int first = stage->first_node;

    stage->n_nodes = end - first;
    stage->node = malloc((size_t)stage->n_nodes * sizeof *stage->node);
    if (stage->node == NULL)
        return rc_raise(RC_NOMEM, "network %s: no memory for a stage", whole->name);
    memcpy(stage->node, whole->node + first, (size_t)stage->n_nodes * sizeof *stage->node);
    for (int i = 0; i < stage->n_nodes; i++)
        move_node(&stage->node[i], stage);
    return RC_OK;
}

static enum rc copy_segments(struct network *stage, const struct network *whole)
{
    int first = 0;

    while (first < whole->n_segments && whole->segment[first].offset_elems < stage->first_param)
        first++;
    while (first + stage->n_segments < whole->n_segments &&
           whole->segment[first + stage->n_segments].offset_elems < stage->first_param + stage->n_params)
        stage->n_segments++;
    const size_t n = (size_t)stage->n_segments;
    stage->segment = malloc(n * sizeof *stage->segment);
    stage->segment_name = malloc(n * sizeof *stage->segment_name);
    if (stage->segment == NULL || stage->segment_name == NULL)
        return rc_raise(RC_NOMEM, "network %s: no memory for a stage", whole->name);
    memcpy(stage->segment, whole->segment + first, n * sizeof *stage->segment);
    memcpy(stage->segment_name, whole->segment_name + first, n * sizeof *stage->segment_name);
    for (size_t i = 0; i < n; i++)
        rebase(&stage->segment[i], stage->first_param);
    for (int i = 0; i < stage->n_nodes; i++)
        stage->node[i].first_segment -= first;
    return RC_OK;
}

size_t network_passed_elems(const struct network *n, const struct network_stages *s, int number)
{
    return node_out_elems(&n->node[crossing_of(n, s->end[number])]);
}

/* Which node of the stage [first, end) is the first that is dense in the whole network. */
static int first_dense_of(const struct network *whole, int first, int end)
{
    const int dense = network_first_dense(whole);

    if (dense == NODE_NONE || dense >= end)
        return NODE_NONE;
    return dense > first ? dense - first : 0;
}

enum rc network_open_stage(struct network **out, const struct network *whole, const struct network_stages *s,
                           int number)
{
    const struct network_range range = network_stage_range(whole, s, number);
    const int first = first_node_of(s, number), end = s->end[number];
    struct network *stage = calloc(1, sizeof *stage);
    enum rc rc = RC_OK;

    if (stage == NULL)
        return rc_raise(RC_NOMEM, "network %s: no memory for a stage", whole->name);
    stage->name = whole->name;
    stage->opts = whole->opts;
    stage->C_in = whole->C_in;
    stage->first_node = first;
    stage->in_elems = first > 0 ? node_out_elems(&whole->node[crossing_of(whole, first)]) : 0;
    stage->out_node = end < whole->n_nodes ? crossing_of(whole, end) - first : NODE_NONE;
    stage->first_param = range.first_param;
    stage->n_params = range.n_params;
    stage->first_state = range.first_state;
    stage->n_state = range.n_state;
    stage->first_dense = first_dense_of(whole, first, end);
    TRY(copy_nodes(stage, whole, end));
    TRY(copy_segments(stage, whole));
    *out = stage;
    stage = NULL;
out:
    network_close(&stage);
    return rc;
}
