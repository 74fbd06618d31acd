/* SPDX-License-Identifier: Apache-2.0 */
/* network_builder.c - appends nodes: shapes follow from the inputs, tensors from the shapes. */
#include "models/engine/network_builder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/layer.h"

struct network_builder {
    struct network *network;
    enum rc rc; /* the first error */
    float epsilon;
    enum fan fan;
    double gain; /* node_initial_weights() */
    int n_allocated_nodes, n_allocated_segments;
    int n_of_kind[NODE_LOSS + 1];
};

struct shape { /* of an output, or of the image */
    int C, h, w;
};

enum rc network_builder_open(struct network_builder **out, const struct network_def *def,
                             const struct network_opts *opts)
{
    struct network_builder *b = calloc(1, sizeof *b);
    enum rc rc = RC_OK;

    if (b == NULL || (b->network = calloc(1, sizeof *b->network)) == NULL)
        FAIL(RC_NOMEM, "network %s: %zu bytes", def->name, sizeof *b->network);
    b->network->name = def->name;
    b->network->opts = *opts;
    b->network->C_in = def->C_in;
    b->network->out_node = NODE_NONE;
    b->epsilon = BATCH_NORM_EPSILON;
    *out = b;
    b = NULL;
out:
    network_builder_close(&b);
    return rc;
}

void network_builder_close(struct network_builder **b)
{
    if (*b == NULL)
        return;
    network_close(&(*b)->network);
    free(*b);
    *b = NULL;
}

const struct network_opts *node_opts(const struct network_builder *b)
{
    return &b->network->opts;
}

void node_epsilon(struct network_builder *b, float epsilon)
{
    b->epsilon = epsilon;
}

void node_initial_weights(struct network_builder *b, enum fan fan, double gain)
{
    b->fan = fan;
    b->gain = gain;
}

static struct shape shape_of(const struct network *n, int node)
{
    if (node == NODE_IMAGE)
        return (struct shape){ n->C_in, n->opts.image_size, n->opts.image_size };
    return (struct shape){ n->node[node].C_out, n->node[node].out_h, n->node[node].out_w };
}

/* Memory for one more element of *array, which has n elements and memory for *n_allocated. */
static enum rc grow(void **array, int *n_allocated, int n, size_t elem_bytes)
{
    const int n_new = *n_allocated == 0 ? 32 : 2 * *n_allocated;
    void *larger;
    enum rc rc = RC_OK;

    if (n < *n_allocated)
        goto out;
    if ((larger = realloc(*array, (size_t)n_new * elem_bytes)) == NULL)
        FAIL(RC_NOMEM, "network: %zu bytes", (size_t)n_new * elem_bytes);
    *array = larger;
    *n_allocated = n_new;
out:
    return rc;
}

static enum rc check_input(const struct network *n, const char *name, int from)
{
    enum rc rc = RC_OK;

    if (from != NODE_IMAGE && (from < 0 || from >= n->n_nodes))
        FAIL(RC_BUG, "network %s: node %s has input %d of %d nodes", n->name, name, from, n->n_nodes);
out:
    return rc;
}

static enum rc check_window(const struct network *n, const struct node *d)
{
    const struct window *g = &d->in;
    enum rc rc = RC_OK;

    if (g->kernel_h < 1 || g->kernel_w < 1 || g->stride_h < 1 || g->stride_w < 1 || g->pad_h < 0 || g->pad_w < 0 ||
        g->pad_h >= g->kernel_h || g->pad_w >= g->kernel_w)
        FAIL(RC_BUG, "network %s: node %s has an impossible window", n->name, d->name);
    if (g->H + 2 * g->pad_h < g->kernel_h || g->W + 2 * g->pad_w < g->kernel_w)
        FAIL(RC_INVAL, "network %s: image size %d is too small: %s needs %d x %d, gets %d x %d", n->name,
             n->opts.image_size, d->name, g->kernel_h - 2 * g->pad_h, g->kernel_w - 2 * g->pad_w, g->H, g->W);
out:
    return rc;
}

static enum rc add_segment(struct network_builder *b, struct segment *out, const struct node *d, const char *suffix,
                           size_t n_elems)
{
    struct network *n = b->network;
    int n_allocated = b->n_allocated_segments;
    void *segment = n->segment, *name = n->segment_name;
    enum rc rc;

    rc = grow(&segment, &n_allocated, n->n_segments, sizeof *n->segment);
    n->segment = segment;
    TRY(rc);
    n_allocated = b->n_allocated_segments;
    rc = grow(&name, &n_allocated, n->n_segments, sizeof *n->segment_name);
    n->segment_name = name;
    TRY(rc);
    b->n_allocated_segments = n_allocated;
    *out = layer_take(&n->n_params, n_elems);
    n->segment[n->n_segments] = *out;
    snprintf(n->segment_name[n->n_segments], sizeof *n->segment_name, "%s/%s", d->name, suffix);
    n->n_segments++;
out:
    return rc;
}

static double initial_variance(const struct network_builder *b, const struct node *d)
{
    const double fan_out = (double)d->C_out * (double)d->in.kernel_h * (double)d->in.kernel_w;

    if (b->gain == 0.0)
        return (d->relu || d->norm == NORM_BATCH ? 2.0 : 1.0) / (double)d->fan_in;
    return b->gain / (b->fan == FAN_OUT ? fan_out : (double)d->fan_in);
}

/* (C_out, fan_in), from an aligned address to the next. */
static size_t packed_bytes_of_weight(size_t C_out, size_t fan_in)
{
    const size_t n_bytes = C_out * packed_row_elems(fan_in) * sizeof(uint16_t);

    return (n_bytes + COMPUTE_ALIGN_BYTES - 1) / COMPUTE_ALIGN_BYTES * COMPUTE_ALIGN_BYTES;
}

/* models.Y1: weight, then bias, or gamma, beta. */
static enum rc add_tensors(struct network_builder *b, struct node *d)
{
    const size_t C_out = (size_t)d->C_out;
    enum rc rc;

    d->fan_in = (size_t)d->in.C * (size_t)d->in.kernel_h * (size_t)d->in.kernel_w;
    d->initial_variance = initial_variance(b, d);
    d->packed_offset_elems = b->network->n_packed_elems;
    b->network->n_packed_elems += packed_bytes_of_weight(C_out, d->fan_in) / sizeof(uint16_t);
    d->first_segment = b->network->n_segments;
    TRY(add_segment(b, &d->weight, d, "w", C_out * d->fan_in));
    if (d->norm == NORM_BATCH) {
        TRY(add_segment(b, &d->gamma, d, "gamma", C_out));
        d->running_offset_elems = b->network->n_state;
        b->network->n_state += 2 * C_out;
        d->epsilon = b->epsilon;
    }
    if (d->norm != NORM_NONE)
        TRY(add_segment(b, &d->shift, d, d->norm == NORM_BATCH ? "beta" : "b", C_out));
    d->n_segments = b->network->n_segments - d->first_segment;
out:
    return rc;
}

/* A node with its input looked up; its window and its output have the input's shape until the caller sets them. */
static enum rc init_node(struct network_builder *b, struct node *out, enum node_kind kind, const char *name, int from)
{
    struct network *n = b->network;
    struct shape x;
    enum rc rc = b->rc;

    *out = (struct node){ .kind = kind, .from = from, .add_from = NODE_NONE, .group = 1 };
    if (rc != RC_OK)
        goto out;
    b->n_of_kind[kind]++;
    if (name != NULL && strlen(name) >= sizeof out->name)
        FAIL(RC_BUG, "network %s: node name %s is longer than %zu bytes", n->name, name, sizeof out->name - 1);
    if (name != NULL)
        snprintf(out->name, sizeof out->name, "%s", name);
    else
        snprintf(out->name, sizeof out->name, "%s%d", node_kind_name(kind), b->n_of_kind[kind]);
    TRY(check_input(n, out->name, from));
    x = shape_of(n, from);
    out->in = (struct window){ 1, x.C, x.h, x.w, 1, 1, 1, 1, 0, 0 };
    out->C_out = x.C;
    out->out_h = x.h;
    out->out_w = x.w;
out:
    return rc;
}

/* The node's number, or NODE_NONE once something went wrong. */
static int append_node(struct network_builder *b, const struct node *d, enum rc rc)
{
    struct network *n = b->network;
    void *node = n->node;

    if (rc == RC_OK)
        rc = grow(&node, &b->n_allocated_nodes, n->n_nodes, sizeof *n->node);
    n->node = node;
    b->rc = rc;
    if (rc != RC_OK)
        return NODE_NONE;
    n->node[n->n_nodes] = *d;
    return n->n_nodes++;
}

static enum rc set_window(const struct network *n, struct node *d, struct extent kernel, struct extent stride,
                          struct extent pad)
{
    enum rc rc;

    d->in.kernel_h = kernel.h;
    d->in.kernel_w = kernel.w;
    d->in.stride_h = stride.h;
    d->in.stride_w = stride.w;
    d->in.pad_h = pad.h;
    d->in.pad_w = pad.w;
    TRY(check_window(n, d));
    d->out_h = (d->in.H + 2 * pad.h - kernel.h) / stride.h + 1;
    d->out_w = (d->in.W + 2 * pad.w - kernel.w) / stride.w + 1;
out:
    return rc;
}

static enum rc check_add(const struct network *n, const struct node *d)
{
    struct shape a;
    enum rc rc = RC_OK;

    if (d->add_from == NODE_NONE)
        goto out;
    TRY(check_input(n, d->name, d->add_from));
    a = shape_of(n, d->add_from);
    if (a.C != d->C_out || a.h != d->out_h || a.w != d->out_w)
        FAIL(RC_BUG, "network %s: node %s is %d x %d x %d, what is added is %d x %d x %d", n->name, d->name, d->C_out,
             d->out_h, d->out_w, a.C, a.h, a.w);
out:
    return rc;
}

static int divided(const struct network_builder *b, int C)
{
    const int divisor = b->network->opts.width_divisor;

    return C / divisor > 1 ? C / divisor : 1;
}

/* kernel NULL: the whole input. */
static int add_conv(struct network_builder *b, const char *name, int from, int add_from, int C_out,
                    const struct extent *kernel, struct extent stride, struct extent pad, int then)
{
    struct node d;
    enum rc rc;

    if ((rc = init_node(b, &d, NODE_CONV, name, from)) != RC_OK)
        goto out;
    d.add_from = add_from;
    d.C_out = C_out;
    d.norm = (then & NODE_BATCH_NORM) != 0 ? NORM_BATCH : (then & NODE_BIAS) != 0 ? NORM_BIAS : NORM_NONE;
    d.relu = (then & NODE_RELU) != 0;
    TRY(set_window(b->network, &d, kernel != NULL ? *kernel : NODE_KERNEL(d.in.H, d.in.W), stride, pad));
    TRY(check_add(b->network, &d));
    TRY(add_tensors(b, &d));
out:
    return append_node(b, &d, rc);
}

int node_conv(struct network_builder *b, const char *name, int from, int C_out, struct extent kernel,
              struct extent stride, struct extent pad, int then)
{
    return add_conv(b, name, from, NODE_NONE, divided(b, C_out), &kernel, stride, pad, then);
}

int node_conv_add(struct network_builder *b, const char *name, int from, int add_from, int C_out, struct extent kernel,
                  struct extent stride, struct extent pad, int then)
{
    return add_conv(b, name, from, add_from, divided(b, C_out), &kernel, stride, pad, then);
}

int node_dense(struct network_builder *b, const char *name, int from, int n_out, int then)
{
    return add_conv(b, name, from, NODE_NONE, divided(b, n_out), NULL, NODE_STRIDE(1), NODE_PAD(0, 0), then);
}

int node_logits(struct network_builder *b, const char *name, int from)
{
    return add_conv(b, name, from, NODE_NONE, b->network->opts.n_classes, NULL, NODE_STRIDE(1), NODE_PAD(0, 0),
                    NODE_BIAS);
}

static int add_pool(struct network_builder *b, enum node_kind kind, int from, struct extent kernel,
                    struct extent stride, struct extent pad)
{
    struct node d;
    enum rc rc;

    if ((rc = init_node(b, &d, kind, NULL, from)) != RC_OK)
        goto out;
    TRY(set_window(b->network, &d, kernel, stride, pad));
out:
    return append_node(b, &d, rc);
}

int node_max_pool(struct network_builder *b, int from, struct extent kernel, struct extent stride, struct extent pad)
{
    return add_pool(b, NODE_MAX_POOL, from, kernel, stride, pad);
}

int node_avg_pool(struct network_builder *b, int from, struct extent kernel, struct extent stride, struct extent pad)
{
    return add_pool(b, NODE_AVG_POOL, from, kernel, stride, pad);
}

int node_adaptive_pool(struct network_builder *b, int from, int out_h, int out_w)
{
    struct node d;
    enum rc rc;

    if ((rc = init_node(b, &d, NODE_ADAPTIVE_POOL, NULL, from)) != RC_OK)
        goto out;
    d.out_h = out_h;
    d.out_w = out_w;
out:
    return append_node(b, &d, rc);
}

/* models.Y3: a node is part of one concatenation at most. */
static bool is_part(const struct network *n, int node)
{
    for (int i = 0; i < n->n_nodes; i++)
        for (int k = 0; k < n->node[i].n_parts; k++)
            if (n->node[i].part[k] == node)
                return true;
    return false;
}

static enum rc add_part(const struct network *n, struct node *d, int part)
{
    struct shape p;
    enum rc rc;

    TRY(check_input(n, d->name, part));
    if (part == NODE_IMAGE || is_part(n, part))
        FAIL(RC_BUG, "network %s: node %s cannot have %d as a part", n->name, d->name, part);
    for (int k = 0; k < d->n_parts; k++)
        if (d->part[k] == part)
            FAIL(RC_BUG, "network %s: node %s has part %d twice", n->name, d->name, part);
    p = shape_of(n, part);
    if (p.h != d->out_h || p.w != d->out_w)
        FAIL(RC_BUG, "network %s: node %s is %d x %d, its part %d is %d x %d", n->name, d->name, d->out_h, d->out_w,
             part, p.h, p.w);
    d->part[d->n_parts++] = part;
    d->C_out += p.C;
out:
    return rc;
}

int node_concat(struct network_builder *b, const int *part, int n_parts)
{
    struct node d;
    enum rc rc;

    if ((rc = init_node(b, &d, NODE_CONCAT, NULL, part[0])) != RC_OK)
        goto out;
    if (n_parts < 2 || n_parts > NETWORK_MAX_PARTS)
        FAIL(RC_BUG, "network %s: node %s has %d parts", b->network->name, d.name, n_parts);
    d.C_out = 0;
    for (int k = 0; k < n_parts; k++)
        TRY(add_part(b->network, &d, part[k]));
out:
    return append_node(b, &d, rc);
}

int node_dropout(struct network_builder *b, int from, float drop_ratio)
{
    struct node d;
    enum rc rc;

    if ((rc = init_node(b, &d, NODE_DROPOUT, NULL, from)) != RC_OK)
        goto out;
    d.drop_ratio = drop_ratio;
out:
    return append_node(b, &d, rc);
}

int node_loss(struct network_builder *b, int from, float loss_weight)
{
    struct node d;
    enum rc rc;

    if ((rc = init_node(b, &d, NODE_LOSS, NULL, from)) != RC_OK)
        goto out;
    d.loss_weight = loss_weight;
    if (d.out_h != 1 || d.out_w != 1 || d.C_out != b->network->opts.n_classes)
        FAIL(RC_BUG, "network %s: node %s is given %d x %d x %d", b->network->name, d.name, d.C_out, d.out_h, d.out_w);
out:
    return append_node(b, &d, rc);
}

/* Nodes that the first loss, which is the one that is evaluated, does not depend on. */
static void find_aux(struct network *n)
{
    int node = 0;

    while (node < n->n_nodes && n->node[node].kind != NODE_LOSS)
        node++;
    for (int i = 0; i < n->n_nodes; i++)
        n->node[i].aux = i != node;
    for (; node >= 0; node--) {
        const struct node *d = &n->node[node];
        if (d->aux)
            continue;
        if (d->from >= 0)
            n->node[d->from].aux = false;
        if (d->add_from >= 0)
            n->node[d->add_from].aux = false;
        for (int k = 0; k < d->n_parts; k++)
            n->node[d->part[k]].aux = false;
    }
}

enum rc network_builder_finish(struct network_builder **b, struct network **out)
{
    enum rc rc;

    TRY((*b)->rc);
    if ((*b)->n_of_kind[NODE_LOSS] == 0)
        FAIL(RC_BUG, "network %s has no loss", (*b)->network->name);
    find_aux((*b)->network);
    *out = (*b)->network;
    (*b)->network = NULL;
out:
    network_builder_close(b);
    return rc;
}
