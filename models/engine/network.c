/* SPDX-License-Identifier: Apache-2.0 */
/* network.c - a table, opened: options checked, work counted, initial values. */
#include "models/engine/network.h"

#include <stdlib.h>

#include "models/engine/network_builder.h"
#include "models/layer.h"

enum { MAX_IMAGE_SIZE = 8192, MAX_CLASSES = 1 << 20, MAX_WIDTH_DIVISOR = 1024 };

const char *node_kind_name(enum node_kind kind)
{
    static const char *const name[] = { "conv",    "maxpool", "avgpool", "adaptpool", "concat",
                                        "dropout", "loss",    "gather",  "gather" };

    return name[kind];
}

static struct network_opts resolve_opts(const struct network_def *def, const struct network_opts *opts)
{
    struct network_opts o = *opts;

    if (o.image_size == 0)
        o.image_size = def->image_size;
    if (o.n_classes == 0)
        o.n_classes = def->n_classes;
    if (o.width_divisor == 0)
        o.width_divisor = 1;
    return o;
}

static enum rc check_opts(const struct network_def *def, const struct network_opts *o)
{
    enum rc rc = RC_OK;

    if (o->aux_head && def->min_image_size_aux == 0)
        FAIL(RC_INVAL, "network %s has no auxiliary head", def->name);
    if (o->image_size < def->min_image_size)
        FAIL(RC_INVAL, "--image-size %d: too small for %s, the smallest is %d", o->image_size, def->name,
             def->min_image_size);
    if (o->aux_head && o->image_size < def->min_image_size_aux)
        FAIL(RC_INVAL, "--image-size %d: too small for %s with its auxiliary head, the smallest is %d", o->image_size,
             def->name, def->min_image_size_aux);
    if (o->image_size > MAX_IMAGE_SIZE)
        FAIL(RC_INVAL, "network %s: image size %d is too large, the largest is %d", def->name, o->image_size,
             MAX_IMAGE_SIZE);
    if (o->n_classes < 2 || o->n_classes > MAX_CLASSES)
        FAIL(RC_INVAL, "network %s: %d classes; 2 to %d are possible", def->name, o->n_classes, MAX_CLASSES);
    if (o->width_divisor < 1 || o->width_divisor > MAX_WIDTH_DIVISOR)
        FAIL(RC_INVAL, "network %s: width divisor %d; 1 to %d are possible", def->name, o->width_divisor,
             MAX_WIDTH_DIVISOR);
out:
    return rc;
}

enum rc network_open(struct network **out, const struct network_def *def, const struct network_opts *opts)
{
    const struct network_opts resolved = resolve_opts(def, opts);
    struct network_builder *b = NULL;
    enum rc rc;

    TRY(check_opts(def, &resolved));
    TRY(network_builder_open(&b, def, &resolved));
    def->build(b);
    TRY(network_builder_finish(&b, out));
out:
    network_builder_close(&b);
    return rc;
}

void network_close(struct network **n)
{
    if (*n == NULL)
        return;
    free((*n)->node);
    free((*n)->segment);
    free((*n)->segment_name);
    free(*n);
    *n = NULL;
}

size_t node_out_elems(const struct node *n)
{
    return (size_t)n->C_out * (size_t)n->out_h * (size_t)n->out_w * (size_t)n->group;
}

double node_multiply_adds(const struct node *n)
{
    return n->kind == NODE_CONV ? (double)node_out_elems(n) * (double)n->fan_in : 0.0;
}

double network_multiply_adds(const struct network *n)
{
    double sum = 0.0;

    for (int i = 0; i < n->n_nodes; i++)
        if (!n->node[i].aux)
            sum += node_multiply_adds(&n->node[i]);
    return sum;
}

double network_train_flops(const struct network *n)
{
    double sum = 0.0;

    for (int i = 0; i < n->n_nodes; i++) { /* an image has no gradient */
        const double n_gemms = n->node[i].from == NODE_IMAGE && n->in_elems == 0 ? 2.0 : 3.0;
        sum += n_gemms * 2.0 * node_multiply_adds(&n->node[i]);
    }
    return sum;
}

enum { TICK_ELEMS = 1 << 18 }; /* some milliseconds of random numbers */

/* Random numbers go by the place in the whole network (models.U2, models.D1). */
static void init_weight(const struct network *n, const struct node *d, uint64_t seed, float *param,
                        struct compute *ticks)
{
    const size_t end = d->weight.offset_elems + d->weight.n_elems;

    for (size_t i = d->weight.offset_elems; i < end; i += TICK_ELEMS) {
        const struct segment part = { .offset_elems = i, .n_elems = end - i < TICK_ELEMS ? end - i : TICK_ELEMS };
        if (ticks)
            compute_tick(ticks);
        layer_init_bell(param, part, n->first_param + d->elems_cut_before, d->initial_variance, seed);
    }
}

void network_init(const struct network *n, uint64_t seed, float *param, struct compute *ticks)
{
    for (int i = 0; i < n->n_nodes; i++) {
        const struct node *d = &n->node[i];
        if (d->kind != NODE_CONV)
            continue;
        init_weight(n, d, seed, param, ticks);
        layer_init_value(param, d->gamma, 1.0f);
        layer_init_value(param, d->shift, 0.0f);
    }
}

void network_init_state(const struct network *n, float *state)
{
    for (int i = 0; i < n->n_nodes; i++) {
        const struct node *d = &n->node[i];
        if (d->norm != NORM_BATCH)
            continue;
        const struct segment mean = { d->running_offset_elems, (size_t)d->C_out };
        const struct segment var = { d->running_offset_elems + mean.n_elems, mean.n_elems };
        layer_init_value(state, mean, 0.0f);
        layer_init_value(state, var, 1.0f);
    }
}
