/* SPDX-License-Identifier: Apache-2.0 */
/* training_check.c - whether a network can learn from a data set, and from batches of this size. */
#include <limits.h>

#include "data/dataset.h"
#include "models/engine/trainer.h"

enum rc network_check_dataset(const struct network *n, const struct dataset *d)
{
    const struct network_opts *o = &n->opts;

    if (d->C == 0)
        return rc_raise(RC_INVAL, "model %s learns from images, data set %s has none", n->name, d->name);
    if (d->C != n->C_in || d->H != o->image_size || d->W != o->image_size)
        return rc_raise(RC_INVAL, "model %s is open for images of %d x %d x %d, data set %s has %d x %d x %d", n->name,
                        n->C_in, o->image_size, o->image_size, d->name, d->C, d->H, d->W);
    if (d->n_classes > (size_t)o->n_classes)
        return rc_raise(RC_INVAL, "model %s is open for %d classes, data set %s has %zu", n->name, o->n_classes,
                        d->name, d->n_classes);
    return RC_OK;
}

/* Elements of one image in a channel of the node's input or output, whichever has more. */
static size_t channel_elems(const struct node *n)
{
    const size_t n_in = (size_t)n->in.H * (size_t)n->in.W, n_out = (size_t)n->out_h * (size_t)n->out_w;

    return (size_t)n->group * (n_in > n_out ? n_in : n_out);
}

enum rc network_check_batch(const struct network *n, size_t max_batch)
{
    const struct node *largest = &n->node[0];

    for (int i = 1; i < n->n_nodes; i++)
        if (channel_elems(&n->node[i]) > channel_elems(largest))
            largest = &n->node[i];
    const size_t n_elems = channel_elems(largest);
    if (max_batch <= INT_MAX / n_elems)
        return RC_OK;
    return rc_raise(RC_INVAL,
                    "--batch %zu: model %s: node %s has %zu places an image, %d of a batch can be counted; at most %zu "
                    "would be right",
                    max_batch, n->name, largest->name[0] != '\0' ? largest->name : node_kind_name(largest->kind),
                    n_elems, INT_MAX, INT_MAX / n_elems);
}
