/* SPDX-License-Identifier: Apache-2.0 */
/* comm_values.c - arrays are copied and compared period by period: at the speed of memory. */
#include "harness/bench/comm_values.h"

#include <stdlib.h>
#include <string.h>

enum { PERIOD = COMM_VALUES_PERIOD, LEAST_ABOVE = 64, RANK_SHIFT = 31, CALL_SHIFT = 17, MANY_TIMES = 1 << 16 };

#define EXACT 16777216.0 /* whole floats up to this */

static size_t shift_of(int rank, uint64_t call)
{
    return ((size_t)rank * RANK_SHIFT + (size_t)(call % PERIOD) * CALL_SHIFT) % PERIOD;
}

enum rc comm_values_open(struct comm_values *v, enum comm_type type, int rank, int n_ranks, int root)
{
    enum rc rc = RC_OK;

    *v = (struct comm_values){ .type = type, .rank = rank, .n_ranks = n_ranks, .root = root };
    v->brought = calloc((size_t)2 * PERIOD, sizeof *v->brought);
    v->sum = calloc((size_t)2 * PERIOD, sizeof *v->sum);
    if (!v->brought || !v->sum)
        FAIL(RC_NOMEM, "no memory for the values of %s", comm_type_name(type));
    for (uint32_t i = 0; i < PERIOD; i++)
        v->brought[i] = v->brought[i + PERIOD] = (float)((i * 2654435761u >> 16) % LEAST_ABOVE);
    for (size_t i = 0; i < PERIOD; i++) {
        for (int r = 0; r < n_ranks; r++)
            v->sum[i] += v->brought[i + shift_of(r, 0)];
        v->sum[i + PERIOD] = v->sum[i];
    }
out:
    if (rc != RC_OK)
        comm_values_close(v);
    return rc;
}

void comm_values_close(struct comm_values *v)
{
    free(v->brought);
    free(v->sum);
    v->brought = v->sum = NULL;
}

struct range comm_values_own_part(const struct comm_values *v, size_t n_elems)
{
    if (v->type == COMM_ALLGATHER)
        return range_part(n_elems, v->n_ranks, v->rank);
    return (struct range){ 0, v->type == COMM_BROADCAST && v->rank != v->root ? 0 : n_elems };
}

void comm_values_poison(float *data, size_t n_elems)
{
    for (size_t i = 0; i < n_elems; i++)
        data[i] = COMM_POISON;
}

void comm_values_fill(const struct comm_values *v, float *data, size_t n_elems, uint64_t call)
{
    const struct range own = comm_values_own_part(v, n_elems);
    const size_t shift = shift_of(v->rank, call), end = own.offset_elems + own.n_elems;

    comm_values_poison(data, own.offset_elems);
    for (size_t i = own.offset_elems, n; i < end; i += n) {
        const size_t place = (i + shift) % PERIOD;
        n = PERIOD < end - i ? PERIOD : end - i;
        memcpy(data + i, v->brought + place, n * sizeof *data);
    }
    comm_values_poison(data + end, n_elems - end);
}

/* Of a part that should hold table[(i + shift) % PERIOD], i the element's place in the whole array. */
static uint64_t wrong_in(const float *data, struct range part, const float *table, size_t shift)
{
    const size_t end = part.offset_elems + part.n_elems;
    uint64_t n_wrong = 0;

    for (size_t i = part.offset_elems, n; i < end; i += n) {
        const float *expected = table + (i + shift) % PERIOD;
        n = PERIOD < end - i ? PERIOD : end - i;
        if (memcmp(data + i, expected, n * sizeof *data) == 0)
            continue;
        for (size_t k = 0; k < n; k++)
            n_wrong += memcmp(&data[i + k], &expected[k], sizeof *data) != 0;
    }
    return n_wrong;
}

static double factor_of(const struct comm_values *v, int n_times)
{
    double factor = 1;

    for (int i = 1; i < n_times; i++)
        factor *= v->n_ranks;
    return factor;
}

/* Sums of sums: each of n_times but the first multiplies by n_ranks, exactly. */
static uint64_t wrong_sums(const struct comm_values *v, const float *data, struct range part, uint64_t call,
                           int n_times)
{
    const float factor = (float)factor_of(v, n_times);
    float scaled[2 * PERIOD];

    if (n_times <= 1)
        return wrong_in(data, part, v->sum, shift_of(0, call));
    for (size_t i = 0; i < 2 * PERIOD; i++)
        scaled[i] = v->sum[i] * factor;
    return wrong_in(data, part, scaled, shift_of(0, call));
}

uint64_t comm_values_wrong(const struct comm_values *v, const float *data, size_t n_elems, uint64_t call, int n_times)
{
    const struct range all = { 0, n_elems };
    uint64_t n_wrong = 0;

    switch (v->type) {
    case COMM_ALLREDUCE:
        return wrong_sums(v, data, all, call, n_times);
    case COMM_REDUCE_SCATTER:
        return wrong_sums(v, data, range_part(n_elems, v->n_ranks, v->rank), call, 1);
    case COMM_ALLGATHER:
        for (int r = 0; r < v->n_ranks; r++)
            n_wrong += wrong_in(data, range_part(n_elems, v->n_ranks, r), v->brought, shift_of(r, call));
        return n_wrong;
    case COMM_BROADCAST:
        return wrong_in(data, all, v->brought, shift_of(v->root, call));
    case COMM_SENDRECV:
        return wrong_in(data, all, v->brought, shift_of((v->rank + v->n_ranks - 1) % v->n_ranks, call));
    case COMM_BARRIER:
    case COMM_N_TYPES:
        break;
    }
    return 0;
}

int comm_values_most_times(const struct comm_values *v)
{
    int n = 1;

    if (v->type == COMM_REDUCE_SCATTER)
        return 1;
    if (v->type != COMM_ALLREDUCE)
        return MANY_TIMES;
    while (LEAST_ABOVE * (double)v->n_ranks * factor_of(v, n + 1) <= EXACT)
        n++;
    return n;
}
