/* SPDX-License-Identifier: Apache-2.0 */
/* network_facts.c - an opened network beside what is published. */
#include "models/suite/network_facts.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { LINE_BYTES = 160 };

/* ---- outlines ---- */

static void append_window(struct outline *o, const struct node *d)
{
    outline_append(o, "%dx%d", d->in.kernel_h, d->in.kernel_w);
    if (d->in.stride_h != 1 || d->in.stride_w != 1)
        outline_append(o, "/%d", d->in.stride_h == d->in.stride_w ? d->in.stride_h : -1);
}

static void append_node(struct outline *o, const struct network *n, int i)
{
    const struct node *d = &n->node[i];

    if (d->kind == NODE_CONV) {
        append_window(o, d);
        outline_append(o, "%s", d->norm == NORM_BATCH ? "n" : d->norm == NORM_BIAS ? "b" : "");
        if (d->add_from != NODE_NONE)
            outline_append(o, "+%d", i - d->add_from);
        outline_append(o, "%s", d->relu ? "r" : "");
    } else if (d->kind == NODE_MAX_POOL || d->kind == NODE_AVG_POOL) {
        outline_append(o, d->kind == NODE_MAX_POOL ? "max" : "avg");
        append_window(o, d);
    } else if (d->kind == NODE_ADAPTIVE_POOL) {
        outline_append(o, "to%dx%d", d->out_h, d->out_w);
    } else if (d->kind == NODE_CONCAT) {
        outline_append(o, "cat");
        for (int k = 0; k < d->n_parts; k++)
            outline_append(o, "%s%d", k == 0 ? "" : ",", i - d->part[k]);
    } else if (d->kind == NODE_DROPOUT) {
        outline_append(o, "drop%g", (double)d->drop_ratio);
    } else {
        outline_append(o, "loss%g", (double)d->loss_weight);
    }
    if (d->kind != NODE_CONCAT && d->from != i - 1)
        outline_append(o, "<%d", i - d->from);
    outline_append(o, " ");
}

/* -1, the image, is the node before the first. */
static void outline_of(struct outline *o, const struct network *n)
{
    for (int i = 0; i < n->n_nodes; i++)
        append_node(o, n, i);
}

/* ---- facts: each returns the number of contradictions ---- */

static int outline_is_the_published_one(const struct network *n, const struct published_network *published)
{
    struct outline *is = calloc(1, sizeof *is), *should = calloc(1, sizeof *should);
    int n_wrong;

    assert_non_null(is);
    assert_non_null(should);
    outline_of(is, n);
    if (published->outline != NULL)
        outline_append(should, "%s", published->outline);
    else
        published->append_outline(should, n->opts.aux_head);
    n_wrong = strcmp(is->text, should->text) != 0;
    if (n_wrong != 0)
        print_message("%s is\n%s\nshould be\n%s\n", n->name, is->text, should->text);
    free(is);
    free(should);
    return n_wrong;
}

static const struct node *owner(const struct network *n, int segment)
{
    for (int i = 0; i < n->n_nodes; i++)
        if (segment >= n->node[i].first_segment && segment < n->node[i].first_segment + n->node[i].n_segments)
            return &n->node[i];
    fail_msg("segment %d belongs to no node", segment);
    return NULL;
}

static bool ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text), n_end = strlen(end);

    return n >= n_end && strcmp(text + n - n_end, end) == 0;
}

static int tensor_is(const struct network *n, int i, const char *name, size_t n_elems, double multiply_adds)
{
    const double work = ends_with(name, "/w") ? node_multiply_adds(owner(n, i)) : 0.0;

    if (strcmp(n->segment_name[i], name) == 0 && n->segment[i].n_elems == n_elems && work == multiply_adds)
        return 0;
    print_message("%s tensor %d is %s, %zu elements, %.0f multiply-adds; should be %s, %zu, %.0f\n", n->name, i,
                  n->segment_name[i], n->segment[i].n_elems, work, name, n_elems, multiply_adds);
    return 1;
}

struct row { /* of model_tensors.csv */
    char model[32], name[64];
    size_t n_elems;
    double multiply_adds;
};

static bool read_row(struct row *out, FILE *from)
{
    char line[LINE_BYTES], n_elems[32], multiply_adds[32];

    if (fgets(line, sizeof line, from) == NULL)
        return false;
    assert_int_equal(sscanf(line, "%31[^,],%63[^,],%31[^,],%31[^,\n]", out->model, out->name, n_elems, multiply_adds),
                     4);
    out->n_elems = (size_t)strtoull(n_elems, NULL, 10);
    out->multiply_adds = strtod(multiply_adds, NULL);
    return true;
}

/* The tensors of the network, in order; those of the auxiliary head are not in the file and are skipped. */
static int tensors_are_the_published_ones(const struct network *n, const char *tensors_path)
{
    FILE *file = fopen(tensors_path, "r");
    struct row row;
    int n_wrong = 0, n_rows = 0, i = 0;

    assert_non_null(file);
    while (read_row(&row, file)) {
        if (strcmp(row.model, n->name) != 0)
            continue;
        n_rows++;
        while (i < n->n_segments && strncmp(n->segment_name[i], "aux/", 4) == 0)
            i++;
        if (i == n->n_segments) {
            print_message("%s has no tensor for %s\n", n->name, row.name);
            n_wrong++;
        } else {
            n_wrong += tensor_is(n, i++, row.name, row.n_elems, row.multiply_adds);
        }
    }
    fclose(file);
    assert_true(n_rows > 0);
    return n_wrong + (i != n->n_segments);
}

static int totals_are_the_published_ones(const struct network *n, const struct published_network *published)
{
    const size_t n_params = published->n_params + (n->opts.aux_head ? published->n_params_aux : 0);
    const double work = network_multiply_adds(n);

    if (n->n_params == n_params && fabs(work - published->multiply_adds) <= 0.001 * published->multiply_adds)
        return 0;
    print_message("%s: %zu parameters, %.4g multiply-adds; should be %zu, %.4g\n", n->name, n->n_params, work, n_params,
                  published->multiply_adds);
    return 1;
}

/* models.Y1: the segments of the nodes, one after the other, are the parameters. */
int network_segments_lie_in_order(const struct network *n)
{
    size_t at = 0, state_at = 0;
    int n_wrong = 0, i_segment = 0;

    for (int i = 0; i < n->n_nodes; i++) {
        const struct node *d = &n->node[i];
        const struct segment own[] = { d->weight, d->gamma, d->shift };
        for (size_t k = 0; k < sizeof own / sizeof own[0]; k++) {
            if (own[k].n_elems == 0)
                continue;
            n_wrong += own[k].offset_elems != at || n->segment[i_segment].offset_elems != at ||
                       n->segment[i_segment].n_elems != own[k].n_elems;
            at += own[k].n_elems;
            i_segment++;
        }
        if (d->norm == NORM_BATCH) {
            n_wrong += d->running_offset_elems != state_at;
            state_at += 2 * (size_t)d->C_out;
        }
    }
    return n_wrong + (at != n->n_params) + (i_segment != n->n_segments) + (state_at != n->n_state);
}

/* models.Y3, and what a reader of the table counts on: inputs come before, everything is used, shapes fit. */
int network_nodes_hang_together(const struct network *n)
{
    int *n_uses = calloc((size_t)n->n_nodes, sizeof *n_uses),
        *n_concats = calloc((size_t)n->n_nodes, sizeof *n_concats);
    int n_wrong = 0;

    assert_non_null(n_uses);
    assert_non_null(n_concats);
    for (int i = 0; i < n->n_nodes; i++) {
        const struct node *d = &n->node[i];
        int C = 0;
        n_wrong += d->from >= i || d->add_from >= i || d->out_h < 1 || d->out_w < 1 || d->C_out < 1;
        if (d->kind != NODE_CONCAT && d->from >= 0) {
            const struct node *x = &n->node[d->from];
            n_uses[d->from]++;
            n_wrong += d->in.C != x->C_out || d->in.H != x->out_h || d->in.W != x->out_w;
        }
        if (d->add_from >= 0) {
            n_uses[d->add_from]++;
            n_wrong += node_out_elems(d) != node_out_elems(&n->node[d->add_from]);
        }
        for (int k = 0; k < d->n_parts; k++) {
            n_uses[d->part[k]]++;
            n_wrong += n_concats[d->part[k]]++ != 0;
            C += n->node[d->part[k]].C_out;
        }
        n_wrong += d->kind == NODE_CONCAT && C != d->C_out;
    }
    for (int i = 0; i < n->n_nodes; i++)
        n_wrong += n->node[i].kind == NODE_LOSS ? n_uses[i] != 0 : n_uses[i] == 0;
    free(n_uses);
    free(n_concats);
    return n_wrong;
}

static int aux_is_what_the_first_loss_does_without(const struct network *n)
{
    const struct node *first_loss = NULL;
    int n_wrong = 0, n_aux = 0;

    for (int i = 0; i < n->n_nodes; i++) {
        const struct node *d = &n->node[i];
        if (d->kind == NODE_LOSS && first_loss == NULL)
            first_loss = d;
        n_aux += d->aux;
        n_wrong += strncmp(d->name, "aux/", 4) == 0 && !d->aux;
    }
    n_wrong += first_loss == NULL || first_loss->aux || first_loss->loss_weight != 1.0f;
    return n_wrong + (n_aux != (n->opts.aux_head ? 6 : 0)); /* two pools, two units, logits, loss */
}

static int epsilon_is_the_published_one(const struct network *n, const struct published_network *published)
{
    int n_wrong = 0;

    for (int i = 0; i < n->n_nodes; i++)
        n_wrong += n->node[i].norm == NORM_BATCH && n->node[i].epsilon != published->epsilon;
    return n_wrong;
}

/* Channels under a divisor, by the tensors of the published network: each C / divisor, at least 1. */
static int widths_are_divided(const struct network *n, const struct network_def *def)
{
    const struct network_opts opts = { n->opts.image_size, n->opts.n_classes, n->opts.aux_head, 1 };
    struct network *whole = NULL;

    assert_int_equal(network_open(&whole, def, &opts), RC_OK);
    int n_wrong = whole->n_nodes != n->n_nodes;

    for (int i = 0; i < n->n_nodes && n_wrong == 0; i++) {
        const struct node *w = &whole->node[i], *d = &n->node[i];
        const bool is_logits = d->kind == NODE_CONV && d->norm == NORM_BIAS && !d->relu;
        const int C = w->C_out / n->opts.width_divisor;
        if (d->kind == NODE_CONV)
            n_wrong += d->C_out != (is_logits ? w->C_out : C > 1 ? C : 1);
    }
    network_close(&whole);
    return n_wrong;
}

int network_contradictions(const struct network *n, const struct workload *w, const char *tensors_path)
{
    const struct published_network *published = published_network_find(w);
    int n_wrong = outline_is_the_published_one(n, published) + network_segments_lie_in_order(n) +
                  network_nodes_hang_together(n) + aux_is_what_the_first_loss_does_without(n) +
                  epsilon_is_the_published_one(n, published) + widths_are_divided(n, w->network);

    if (n->opts.width_divisor != 1 || n->opts.image_size != w->network->image_size)
        return n_wrong;
    n_wrong += totals_are_the_published_ones(n, published);
    if (published->has_tensors)
        n_wrong += tensors_are_the_published_ones(n, tensors_path);
    return n_wrong;
}

/* Outlines, parameters and multiply-adds of the published networks. */

void outline_append(struct outline *o, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    o->n_bytes += (size_t)vsnprintf(o->text + o->n_bytes, sizeof o->text - o->n_bytes, fmt, args);
    va_end(args);
    assert_true(o->n_bytes < sizeof o->text);
}

#define THREE "3x3br "
static const char lenet_outline[] = THREE "max2x2/2 " THREE "max2x2/2 2x2br 1x1b loss1 ";
static const char alexnet_outline[] =
    "11x11/4br max3x3/2 5x5br max3x3/2 " THREE THREE THREE "max3x3/2 to6x6 drop0.5 6x6br drop0.5 1x1br 1x1b loss1 ";
static const char vgg16_outline[] =
    THREE THREE "max2x2/2 " THREE THREE "max2x2/2 " THREE THREE THREE "max2x2/2 " THREE THREE THREE
                "max2x2/2 " THREE THREE THREE "max2x2/2 to7x7 7x7br drop0.5 1x1br drop0.5 1x1b loss1 ";
static const char resnet8_outline[] =
    "3x3nr 3x3nr 3x3n+2r 1x1/2n 3x3/2nr<2 3x3n+2r 1x1/2n 3x3/2nr<2 3x3n+2r to1x1 1x1b "
    "loss1 ";

static void append_resnet(struct outline *o, const int n_blocks[4])
{
    outline_append(o, "7x7/2nr max3x3/2 ");
    for (int stage = 0; stage < 4; stage++)
        for (int block = 0; block < n_blocks[stage]; block++) {
            const char *stride = block == 0 && stage > 0 ? "/2" : "";
            if (block == 0)
                outline_append(o, "1x1%sn ", stride);
            outline_append(o, "1x1nr%s 3x3%snr 1x1n+3r ", block == 0 ? "<2" : "", stride);
        }
    outline_append(o, "to1x1 1x1b loss1 ");
}

static void append_resnet50(struct outline *o, bool aux)
{
    static const int n_blocks[] = { 3, 4, 6, 3 };

    (void)aux;
    append_resnet(o, n_blocks);
}

static void append_resnet101(struct outline *o, bool aux)
{
    static const int n_blocks[] = { 3, 4, 23, 3 };

    (void)aux;
    append_resnet(o, n_blocks);
}

static void append_resnet152(struct outline *o, bool aux)
{
    static const int n_blocks[] = { 3, 8, 36, 3 };

    (void)aux;
    append_resnet(o, n_blocks);
}

static const char block_35[] = "1x1nr 1x1nr<2 5x5nr 1x1nr<4 3x3nr 3x3nr avg3x3<7 1x1nr cat8,6,3,1 ";
static const char block_17[] = "1x1nr 1x1nr<2 1x7nr 7x1nr 1x1nr<5 7x1nr 1x7nr 7x1nr 1x7nr avg3x3<10 1x1nr cat11,8,3,1 ";
static const char block_8[] = "1x1nr 1x1nr<2 1x3nr 3x1nr<2 1x1nr<5 3x3nr 1x3nr 3x1nr<2 avg3x3<9 1x1nr cat10,8,7,4,3,1 ";

static void append_inception3(struct outline *o, bool aux)
{
    const int n_aux = aux ? 5 : 0;

    outline_append(o, "3x3/2nr 3x3nr 3x3nr max3x3/2 1x1nr 3x3nr max3x3/2 %s%s%s", block_35, block_35, block_35);
    outline_append(o, "3x3/2nr 1x1nr<2 3x3nr 3x3/2nr max3x3/2<5 cat5,2,1 %s%s%s%s", block_17, block_17, block_17,
                   block_17);
    if (aux)
        outline_append(o, "avg5x5/3 1x1nr 5x5nr to1x1 1x1b 1x1nr<6 ");
    else
        outline_append(o, "1x1nr ");
    outline_append(o, "3x3/2nr 1x1nr<%d 1x7nr 7x1nr 3x3/2nr max3x3/2<%d cat6,2,1 ", n_aux + 3, n_aux + 7);
    outline_append(o, "%s%sto1x1 drop0.5 1x1b loss1 ", block_8, block_8);
    if (aux) /* after the reduction, two blocks, three nodes and the loss */
        outline_append(o, "loss0.4<%d ", 8 + 2 * 11 + 4 + 1);
}

static const struct published_network published[] = {
    { .workload = &workload_lenet,
      .outline = lenet_outline,
      .n_params = 160 + 4640 + 8256 + 650,
      .multiply_adds = 9216 + 73728 + 8192 + 640 },
    { .workload = &workload_alexnet,
      .outline = alexnet_outline,
      .n_params = 61100840,
      .multiply_adds = 0.7142e9,
      .has_tensors = true },
    { .workload = &workload_vgg16,
      .outline = vgg16_outline,
      .n_params = 138357544,
      .multiply_adds = 15.4703e9,
      .has_tensors = true },
    { .workload = &workload_resnet8, /* by hand: 6n+2 layers of He et al. */
      .outline = resnet8_outline,
      .epsilon = 1e-5f,
      .n_params = 78042,
      .multiply_adds = 12501632 },
    { .workload = &workload_resnet50,
      .append_outline = append_resnet50,
      .epsilon = 1e-5f,
      .n_params = 25557032,
      .multiply_adds = 4.0892e9,
      .has_tensors = true },
    { .workload = &workload_resnet101,
      .append_outline = append_resnet101,
      .epsilon = 1e-5f,
      .n_params = 44549160,
      .multiply_adds = 7.8014e9,
      .has_tensors = true },
    { .workload = &workload_resnet152,
      .append_outline = append_resnet152,
      .epsilon = 1e-5f,
      .n_params = 60192808,
      .multiply_adds = 11.5136e9,
      .has_tensors = true },
    { .workload = &workload_inception3,
      .append_outline = append_inception3,
      .epsilon = 1e-3f,
      .n_params = 23834568,
      .n_params_aux = 27161264 - 23834568,
      .multiply_adds = 5.7132e9,
      .has_tensors = true },
};

const struct published_network *published_network_find(const struct workload *w)
{
    for (size_t i = 0; i < sizeof published / sizeof published[0]; i++)
        if (published[i].workload == w)
            return &published[i];
    fail_msg("network %s has no entry in suite/network_facts.c", w->module.name);
    return NULL;
}
