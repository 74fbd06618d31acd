/* SPDX-License-Identifier: Apache-2.0 */
/* profile_network.c - the network that a profile was recorded of. */
#include <stdlib.h>
#include <string.h>

#include "models/replay/profile.h"
#include "models/workload.h"

/* models.J2, J4: "vgg16" of "vgg16-8", and 8. NULL: no network of ours is called so. */
static const struct network_def *find_network(const struct profile *p, size_t *divisor)
{
    char name[sizeof p->model];
    char *cut, *end = NULL;

    memcpy(name, p->model, sizeof name);
    *divisor = 1;
    cut = strrchr(name, '-');
    if (cut != NULL && cut[1] >= '1' && cut[1] <= '9') {
        *divisor = strtoul(cut + 1, &end, 10);
        *cut = *end == '\0' ? '\0' : '-';
    }
    for (int i = 0; workload_at(i) != NULL; i++)
        if (strcmp(workload_at(i)->module.name, name) == 0)
            return workload_at(i)->network;
    return NULL;
}

/* Tensor i of the profile, counted over layers. */
static const struct profile_tensor *tensor_at(const struct profile *p, int i)
{
    int layer = 0;

    while (i >= p->layer[layer].n_tensors)
        i -= p->layer[layer++].n_tensors;
    return &p->layer[layer].tensor[i];
}

static enum rc compare(const struct profile *p, const struct network *n, size_t divisor, const char *path)
{
    if (profile_n_tensors(p) != n->n_segments)
        return rc_raise(RC_INVAL, "%s: has %d tensors, but model %s has %d: it is of another model", path,
                        profile_n_tensors(p), p->model, n->n_segments);
    for (int i = 0; i < n->n_segments; i++) {
        const struct profile_tensor *t = tensor_at(p, i);
        const size_t n_elems = profile_divided(n->segment[i].n_elems, divisor);
        if (strcmp(t->name, n->segment_name[i]) != 0 || t->n_elems != n_elems)
            return rc_raise(
                RC_INVAL,
                "%s: tensor %d is %s of %zu elements, but in model %s it is %s of %zu: it is of another model", path, i,
                t->name, t->n_elems, p->model, n->segment_name[i], n_elems);
    }
    return RC_OK;
}

static enum rc open_checked(struct network **out, const struct profile *p, const struct network_def *def,
                            size_t divisor, const char *path)
{
    const struct network_opts opts = { .image_size = p->image_size,
                                       .n_classes = p->n_classes,
                                       .aux_head = p->aux_head,
                                       .width_divisor = p->width_divisor };
    struct network *n = NULL;
    enum rc rc = RC_OK;

    if (network_open(&n, def, &opts) != RC_OK) {
        char why[RC_MESSAGE_BYTES];
        snprintf(why, sizeof why, "%.300s", rc_message());
        FAIL(RC_INVAL, "%s: model %s cannot be so: %s", path, p->model, why);
    }
    TRY(compare(p, n, divisor, path));
    *out = n;
    n = NULL;
out:
    network_close(&n);
    return rc;
}

enum rc profile_check_model(const struct profile *p, const char *path)
{
    struct network *n = NULL;
    size_t divisor;
    const struct network_def *def = find_network(p, &divisor);
    enum rc rc = RC_OK;

    if (def == NULL || divisor > 1)
        return RC_OK;
    TRY(open_checked(&n, p, def, divisor, path));
out:
    network_close(&n);
    return rc;
}

enum rc profile_open_network(struct network **out, size_t *divisor, const struct profile *p, const char *path)
{
    const struct network_def *def = find_network(p, divisor);
    struct network *n = NULL;
    enum rc rc = RC_OK;

    if (def == NULL)
        FAIL(RC_INVAL,
             "%s: model %s is none of gradmark's networks, whose layers tell what passes between stages; use one of "
             "those, "
             "or one at 1/N of its bytes, called as that and -N",
             path, p->model);
    TRY(open_checked(&n, p, def, *divisor, path));
    for (int i = 0; p->n_layers == n->n_nodes && i < n->n_nodes; i++)
        if (p->layer[i].n_tensors != n->node[i].n_segments)
            FAIL(RC_INVAL, "%s: layer %d (%s) has %d tensors, but node %s of model %s has %d", path, i,
                 p->layer[i].name, p->layer[i].n_tensors, n->node[i].name, n->name, n->node[i].n_segments);
    if (p->n_layers != n->n_nodes)
        FAIL(RC_INVAL, "%s: has %d layers, but model %s has %d nodes; use a layer for each node", path, p->n_layers,
             n->name, n->n_nodes);
    *out = n;
    n = NULL;
out:
    network_close(&n);
    return rc;
}
