/* SPDX-License-Identifier: Apache-2.0 */
/* exchange_flip.c - a bit of a gradient, flipped on order: what a fault of memory does, for drills. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "harness/exchange/exchange_state.h"

enum { FLIPPED_BIT = 20 }; /* of the 23 of a float's fraction */

static float flipped(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    bits ^= UINT32_C(1) << FLIPPED_BIT;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Is the parameter another one behind the update? Not where the gradient is 0, or far too small beside it. */
static bool changes(float param, float grad, float lr)
{
    enum { N_ROUNDINGS = 64 }; /* so that momentum and decay do not round it away */

    return fabsf(lr * (flipped(grad) - grad)) > (float)N_ROUNDINGS * FLT_EPSILON * fabsf(param);
}

/* The gradients that the update reads: copies of the host's where the exchange is staged. */
static enum rc get(struct exchange *x, float *out, const float *host, const float *own, size_t offset, size_t n)
{
    if (!x->is_staged || !host)
        return compute_fetch(x->optimizer.compute, out, own + offset, n * sizeof *out);
    memcpy(out, host + offset, n * sizeof *out);
    return RC_OK;
}

/* *out: the element of the piece that is to be changed. */
static enum rc find_element(size_t *out, struct exchange *x, struct range piece, float lr)
{
    enum { N_AT_ONCE = 256 };
    float param[N_AT_ONCE], grad[N_AT_ONCE];
    const size_t end = piece.offset_elems + piece.n_elems;
    enum rc rc = RC_OK;

    *out = x->flip.elem_index;
    for (size_t from = x->flip.elem_index; from < end; from += N_AT_ONCE) {
        const size_t n = end - from < N_AT_ONCE ? end - from : N_AT_ONCE;
        TRY(get(x, grad, x->host_grad, x->grad, from, n));
        TRY(get(x, param, NULL, x->param, from, n));
        for (size_t i = 0; i < n; i++)
            if (changes(param[i], grad[i], lr)) {
                *out = from + i;
                return RC_OK;
            }
    }
out:
    return rc;
}

enum rc exchange_flip(struct exchange *x, size_t k)
{
    const struct range piece = x->buckets.piece[k];
    const size_t drawn = x->flip.elem_index;
    size_t elem;
    float grad;
    enum rc rc = RC_OK;

    if (x->state[k].step != (uint32_t)x->flip.step || drawn < piece.offset_elems ||
        drawn >= piece.offset_elems + piece.n_elems)
        return RC_OK;
    TRY(find_element(&elem, x, piece, x->state[k].lr * x->optimizer.grad_scale));
    TRY(get(x, &grad, x->host_grad, x->grad, elem, 1));
    grad = flipped(grad);
    if (x->is_staged)
        memcpy(x->host_grad + elem, &grad, sizeof grad);
    else {
        compute_put(x->optimizer.compute, x->grad + elem, &grad, sizeof grad);
        TRY(compute_sync(x->optimizer.compute)); /* what is put is lent until then */
    }
out:
    return rc;
}
