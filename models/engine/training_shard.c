/* SPDX-License-Identifier: Apache-2.0 */
/* training_shard.c - what the gradient of a shard (shard.h) needs to know of the images of the other ranks. */
#include <stdlib.h>

#include "models/engine/shard.h"
#include "models/engine/trainer.h"

enum rc network_group_open(struct network_trainer *t)
{
    const struct training_env *env = &t->base.env;
    const size_t n_bytes = (size_t)env->shard->n_shards * env->max_batch * sizeof(uint32_t);
    enum rc rc = RC_OK;

    if (!env->compute->ops->touches_memory || t->network->out_node != NODE_NONE) /* the loss is in another stage */
        return RC_OK;
    t->read_group_label = malloc(n_bytes);
    if (t->read_group_label == NULL)
        FAIL(RC_NOMEM, "model %s: no memory for %zu labels", t->network->name, n_bytes / sizeof(uint32_t));
    TRY(compute_memory_open(env->compute, &t->group_label, n_bytes, "the labels of a group"));
out:
    return rc;
}

/* Ranks of a group have batches that follow one another, in the order of shards. */
enum rc network_group_load(struct network_trainer *t, struct run *r, uint64_t first, size_t n_samples)
{
    const struct dense_shard *s = r->shard;
    enum rc rc = RC_OK;

    for (int k = 0; k < s->n_shards; k++) {
        const uint64_t its = first + (uint64_t)k * n_samples - (uint64_t)s->number * n_samples;
        t->group_key[k] = network_dropout_key(&t->base, its);
        if (t->group_label != NULL)
            TRY(network_read_labels(t, t->read_group_label + (size_t)k * r->B, its, r->B));
    }
    r->group_key = t->group_key;
    if (t->group_label == NULL)
        return RC_OK;
    compute_put(r->compute, t->group_label, t->read_group_label, (size_t)s->n_shards * r->B * sizeof(uint32_t));
    r->label = t->group_label;
out:
    return rc;
}
