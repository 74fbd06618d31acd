/* SPDX-License-Identifier: Apache-2.0 */
/*
 * network_shard.c - splits the dense layers of a network into shards, each a separate network (Krizhevsky, "One weird
 * trick for parallelizing convolutional neural networks", 2014, section 4, scheme (a)); see network_shard.h.
 */
#include "models/engine/network_shard.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- which layers are dense --- */

static bool is_dense(const struct node *d)
{
    const struct window *g = &d->in;

    return d->kind == NODE_CONV && d->norm != NORM_BATCH && d->add_from == NODE_NONE && g->kernel_h == g->H &&
           g->kernel_w == g->W && g->pad_h == 0 && g->pad_w == 0;
}

/* How many inputs of nodes are this one's output. */
static int n_readers(const struct network *n, int node)
{
    int count = 0;

    for (int i = 0; i < n->n_nodes; i++) {
        const struct node *d = &n->node[i];
        count += d->kind != NODE_CONCAT && d->from == node;
        count += d->kind == NODE_CONV && d->add_from == node;
        for (int k = 0; d->kind == NODE_CONCAT && k < d->n_parts; k++)
            count += d->part[k] == node;
    }
    return count;
}

/* Is it not the whole network? */
static bool is_stage(const struct network *n)
{
    return n->in_elems > 0 || n->out_node != NODE_NONE;
}

int network_first_dense(const struct network *n)
{
    int first = NODE_NONE, n_losses = 0;

    if (is_stage(n))
        return n->first_dense;

    for (int i = n->n_nodes - 1; i >= 0; i--) {
        const struct node *d = &n->node[i];
        n_losses += d->kind == NODE_LOSS;
        if (!is_dense(d) && d->kind != NODE_DROPOUT && d->kind != NODE_LOSS)
            break;
        if (is_dense(d) && d->weight.offset_elems > 0 && d->from >= 0 && n_readers(n, d->from) == 1)
            first = i;
        if (d->from != i - 1)
            break;
    }
    for (int i = 0; i < first; i++)
        n_losses += n->node[i].kind == NODE_LOSS;
    return n_losses == 1 ? first : NODE_NONE;
}

int network_most_shards(const struct network *n)
{
    const int first = network_first_dense(n);
    int most = 0;

    for (int i = first; first >= 0 && i < n->n_nodes; i++)
        if (n->node[i].kind == NODE_CONV && (most == 0 || n->node[i].C_out < most))
            most = n->node[i].C_out;
    return most;
}

size_t network_common_params(const struct network *n)
{
    return n->node[network_first_dense(n)].weight.offset_elems;
}

/* --- models.D1 --- */

/* The node that segment i is of. */
static const struct node *node_of_segment(const struct network *n, int i)
{
    const struct node *d = n->node;

    while (i < d->first_segment || i >= d->first_segment + d->n_segments)
        d++;
    return d;
}

struct range network_shard_range(const struct network *whole, int i, int number, int n_shards)
{
    const struct segment s = whole->segment[i];
    const struct node *d = node_of_segment(whole, i);

    if (s.offset_elems < network_common_params(whole))
        return (struct range){ s.offset_elems, s.n_elems };
    const struct range rows = range_part((size_t)d->C_out, n_shards, number);
    const size_t row_elems = s.n_elems / (size_t)d->C_out;
    return (struct range){ s.offset_elems + rows.offset_elems * row_elems, rows.n_elems * row_elems };
}

static enum rc cut_segments(struct network *shard, const struct network *whole)
{
    const size_t n = (size_t)whole->n_segments;

    shard->n_segments = whole->n_segments;
    shard->segment = malloc(n * sizeof *shard->segment);
    shard->segment_name = malloc(n * sizeof *shard->segment_name);
    if (shard->segment == NULL || shard->segment_name == NULL)
        return rc_raise(RC_NOMEM, "network %s: no memory for a shard", whole->name);
    memcpy(shard->segment_name, whole->segment_name, n * sizeof *shard->segment_name);
    for (int i = 0; i < whole->n_segments; i++) {
        const struct range r = network_shard_range(whole, i, shard->shard, shard->n_shards);
        shard->segment[i] = (struct segment){ .offset_elems = shard->n_params, .n_elems = r.n_elems };
        shard->n_params += r.n_elems;
    }
    return RC_OK;
}

/* --- nodes --- */

/* C, H, W of an image of the output. */
struct image_shape {
    int C, H, W;
};

static struct image_shape output_shape(const struct node *d)
{
    return (struct image_shape){ d->C_out, d->out_h, d->out_w };
}

static struct image_shape input_shape(const struct node *d)
{
    return (struct image_shape){ d->in.C, d->in.H, d->in.W };
}

static struct node gather_of(enum node_kind kind, struct image_shape x, int from, int group)
{
    struct node d = { .kind = kind,
                      .from = from,
                      .add_from = NODE_NONE,
                      .in = { 1, x.C, x.H, x.W, 1, 1, 1, 1, 0, 0 },
                      .C_out = x.C,
                      .out_h = x.H,
                      .out_w = x.W,
                      .group = group };

    snprintf(d.name, sizeof d.name, "%s",
             kind == NODE_GATHER_IMAGES     ? "images"
             : kind == NODE_GATHER_CHANNELS ? "channels"
                                            : "own");
    return d;
}

/* Rows of a dense layer; of a dropout behind one, channels. */
static void cut_node(struct node *d, const struct network *shard)
{
    const struct range rows = range_part((size_t)d->C_out, shard->n_shards, shard->shard);
    const int i = d->first_segment;

    d->C_out = (int)rows.n_elems;
    d->first_out = (int)rows.offset_elems;
    if (d->kind != NODE_CONV) {
        d->in.C = d->C_out;
        return;
    }
    d->elems_cut_before = d->weight.offset_elems + rows.offset_elems * d->fan_in - shard->segment[i].offset_elems;
    d->weight = shard->segment[i];
    if (d->norm == NORM_BIAS)
        d->shift = shard->segment[i + 1];
}

/* What the next stage takes are this rank's images, with the channels of all shards. */
static void add_way_out(struct network *shard, const struct network *whole)
{
    const struct image_shape x = output_shape(&whole->node[whole->n_nodes - 1]);
    int n = shard->n_nodes;

    shard->node[n] = gather_of(NODE_GATHER_CHANNELS, x, n - 1, shard->n_shards);
    n++;
    shard->node[n] = gather_of(NODE_OWN_IMAGES, x, n - 1, 1);
    shard->out_node = n;
    shard->n_nodes = n + 1;
}

/* Nodes up to `first` as they are, then those of the dense layers, with gathers before them, before the loss, and
 * before what the next stage takes. */
static void cut_nodes(struct network *shard, const struct network *whole, int first)
{
    struct node *out = shard->node;
    int n = first, n_gathers = 0;

    memcpy(out, whole->node, (size_t)first * sizeof *out);
    for (int i = first; i < whole->n_nodes; i++) {
        struct node d = whole->node[i];
        const int from = i == first ? d.from : n - 1;
        d.from = from;
        if (i == first || d.kind != NODE_DROPOUT) {
            const enum node_kind kind = i == first ? NODE_GATHER_IMAGES : NODE_GATHER_CHANNELS;
            const struct image_shape x = i == first ? input_shape(&d) : output_shape(&whole->node[i - 1]);
            out[n] = gather_of(kind, x, from, shard->n_shards);
            out[n].n_gathers_before = n_gathers++;
            d.from = n++;
        }
        d.group = shard->n_shards;
        d.n_gathers_before = n_gathers;
        if (d.kind != NODE_LOSS)
            cut_node(&d, shard);
        out[n++] = d;
    }
    shard->n_nodes = n;
    if (whole->out_node != NODE_NONE)
        add_way_out(shard, whole);
}

enum rc network_open_shard(struct network **out, const struct network *whole, int number, int n_shards)
{
    struct network *shard = calloc(1, sizeof *shard);
    const int first = network_first_dense(whole);
    enum rc rc = RC_OK;

    assert(n_shards >= 2 && n_shards <= network_most_shards(whole) && n_shards <= NETWORK_MAX_SHARDS);
    if (shard == NULL)
        return rc_raise(RC_NOMEM, "network %s: no memory for a shard", whole->name);
    shard->name = whole->name;
    shard->opts = whole->opts;
    shard->C_in = whole->C_in;
    shard->out_node = NODE_NONE;
    shard->n_state = whole->n_state;
    shard->first_node = whole->first_node;
    shard->first_param = whole->first_param;
    shard->first_state = whole->first_state;
    shard->in_elems = whole->in_elems;
    shard->shard = number;
    shard->n_shards = n_shards;
    TRY(cut_segments(shard, whole));
    shard->node = malloc((size_t)(2 * whole->n_nodes + 2) * sizeof *shard->node);
    if (shard->node == NULL)
        FAIL(RC_NOMEM, "network %s: no memory for a shard", whole->name);
    cut_nodes(shard, whole, first);
    *out = shard;
    shard = NULL;
out:
    network_close(&shard);
    return rc;
}

/* --- what crosses --- */

/* Elements of the piece of shard k of a gather, for one image of the batch. */
static size_t piece_elems(const struct network *n, const struct node *gather, int k)
{
    const size_t all = node_out_elems(gather);

    return gather->kind == NODE_GATHER_IMAGES
               ? all / (size_t)n->n_shards
               : all / (size_t)gather->C_out * range_part((size_t)gather->C_out, n->n_shards, k).n_elems;
}

void network_shard_pieces(size_t *n_elems, const struct network *shard, const struct node *gather, size_t B)
{
    for (int k = 0; k < shard->n_shards; k++)
        n_elems[k] = B * piece_elems(shard, gather, k);
}

static bool is_gather(const struct node *d)
{
    return d->kind == NODE_GATHER_IMAGES || d->kind == NODE_GATHER_CHANNELS;
}

/* Forward its own piece to each of the others; and backward, but of logits, which all have, the piece of each of them.
 */
struct shard_traffic network_shard_traffic(const struct network *shard)
{
    struct shard_traffic t = { 0 };

    for (int i = 0; i < shard->n_nodes; i++) {
        const struct node *d = &shard->node[i];
        if (!is_gather(d))
            continue;
        const size_t own = piece_elems(shard, d, shard->shard);
        t.n_gathers++;
        t.gathered_elems += (size_t)(shard->n_shards - 1) * own;
        if (shard->node[i + 1].kind == NODE_LOSS)
            continue;
        t.n_scatters++;
        t.scattered_elems += node_out_elems(d) - own;
    }
    return t;
}

size_t network_shard_most_elems(const struct network *shard)
{
    size_t most = 0;

    for (int i = 0; i < shard->n_nodes; i++)
        for (int k = 0; is_gather(&shard->node[i]) && k < shard->n_shards; k++) {
            const size_t n_elems = piece_elems(shard, &shard->node[i], k);
            most = n_elems > most ? n_elems : most;
        }
    return most;
}
