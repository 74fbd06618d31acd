/* SPDX-License-Identifier: Apache-2.0 */
/* run_group.c - see run_group.h. */
#include "models/engine/run_group.h"

#include "harness/base/rng.h"
#include "harness/compute/dropout.h"
#include "models/engine/run_operands.h"
#include "models/engine/shard.h"
#include "models/layer.h"

void run_group_dropout(const struct run *r, const struct op *op, const struct node *n, uint64_t number)
{
    const size_t C = (size_t)n->C_out, K = (size_t)n->group, inner = node_out_elems(n) / C / K * r->B;
    const uint64_t first = (uint64_t)n->first_out * inner;
    float *x = output_of(r, op, OPERAND_OUT), *room = array_of(r, op->v[OPERAND_IN]);

    compute_swap_axes(r->compute, room, x, C, K, inner);
    for (size_t k = 0; k < K; k++)
        compute_dropout(r->compute, layer_at(room, k * C * inner), C * inner, 1.0f - n->drop_ratio,
                        dropout_key_from(rng_u64(r->group_key[k], RNG_DROPOUT, number), first));
    compute_swap_axes(r->compute, x, room, K, C, inner);
}

void run_group_join_images(const struct run *r, const struct op *op, const struct node *n)
{
    const size_t K = (size_t)n->group, C = (size_t)n->C_out;

    compute_swap_axes(r->compute, output_of(r, op, OPERAND_OUT), input_of(r, op, OPERAND_IN), K, C,
                      r->B * node_out_elems(n) / K / C);
}

void run_group_part_images(const struct run *r, const struct op *op, const struct node *n)
{
    const size_t K = (size_t)n->group, C = (size_t)n->C_out;

    compute_swap_axes(r->compute, output_of(r, op, OPERAND_OUT), input_of(r, op, OPERAND_IN), C, K,
                      r->B * node_out_elems(n) / K / C);
}

void run_group_zero_others(const struct run *r, const struct op *op, const struct node *n)
{
    const size_t n_elems = r->B * node_out_elems(n) / (size_t)n->group;

    for (int k = 0; k < n->group; k++)
        if (k != r->shard->number)
            compute_zero(r->compute, layer_at(output_of(r, op, OPERAND_OUT), (size_t)k * n_elems), n_elems);
}

enum rc run_group_exchange(const struct run *r, const struct op *op, const struct node *n)
{
    const struct shard_group *g = &r->shard->group;
    size_t n_elems[NETWORK_MAX_SHARDS];
    enum rc rc;

    network_shard_pieces(n_elems, r->network, n, r->B);
    TRY(compute_sync(r->compute));
    if (op->kind == OP_GATHER_IMAGES || op->kind == OP_GATHER_CHANNELS)
        TRY(g->gather(g->arg, output_of(r, op, OPERAND_OUT), input_of(r, op, OPERAND_IN), n_elems));
    else
        TRY(g->scatter(g->arg, output_of(r, op, OPERAND_OUT), array_of(r, op->v[OPERAND_IN]), n_elems));
out:
    return rc;
}
