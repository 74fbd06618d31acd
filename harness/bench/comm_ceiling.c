/* SPDX-License-Identifier: Apache-2.0 */
/* comm_ceiling.c - block by block, so that a sum is written while it is in the first cache. */
#include "harness/bench/comm_ceiling.h"

#include <string.h>

#include "harness/compute/compute.h"

enum { BLOCK_ELEMS = 2048, MOST_SUMMED = 64 };

/* Of an array with fewer elements than ranks: an element each. */
static size_t slices_count(const struct comm_one_pass *p)
{
    return p->n_elems < (size_t)p->n_ranks ? p->n_elems : (size_t)p->n_ranks;
}

/* The sum of the slices in each of them, by the faster way that there is (5 to 19 % beside the other one). */
static void sum_to_all(const struct comm_one_pass *p, size_t n_slices)
{
    const size_t n_slice = p->n_elems / n_slices;
    float *slice[MOST_SUMMED];

    for (size_t k = 0; k < n_slices; k++)
        slice[k] = p->data + k * n_slice;
    compute_sum_arrays(p->compute, &(struct sum_arrays){ .operand = (const float *const *)slice,
                                                         .result = slice,
                                                         .n_operands = (int)n_slices,
                                                         .n_results = (int)n_slices,
                                                         .n = n_slice });
}

/* The sum of the slices in each of the first n_written ones. */
static void add_slices(const struct comm_one_pass *p, size_t n_slices, size_t n_written)
{
    const size_t n_slice = p->n_elems / n_slices;

    if (n_written == n_slices && n_slices <= MOST_SUMMED) {
        sum_to_all(p, n_slices);
        return;
    }
    for (size_t i = 0, n; i < n_slice; i += n) {
        n = n_slice - i < BLOCK_ELEMS ? n_slice - i : BLOCK_ELEMS;
        for (size_t k = 1; k < n_slices; k++)
            compute_accumulate(p->compute, p->data + i, p->data + k * n_slice + i, n);
        for (size_t k = 1; k < n_written; k++)
            memcpy(p->data + k * n_slice + i, p->data + i, n * sizeof(float));
    }
}

static void copy_slice(const struct comm_one_pass *p, size_t n_slices)
{
    const size_t n_slice = p->n_elems / n_slices;

    for (size_t k = 1; k < n_slices; k++)
        memcpy(p->data + k * n_slice, p->data, n_slice * sizeof(float));
}

void comm_one_pass(const struct comm_one_pass *p)
{
    const size_t n_slices = slices_count(p);

    if (!p->data || n_slices == 0)
        return;
    switch (p->type) {
    case COMM_ALLREDUCE:
        add_slices(p, n_slices, n_slices);
        break;
    case COMM_REDUCE_SCATTER:
        add_slices(p, n_slices, 1);
        break;
    case COMM_ALLGATHER:
    case COMM_BROADCAST:
        copy_slice(p, n_slices);
        break;
    case COMM_SENDRECV:
        memcpy(p->data, p->other, p->n_elems * sizeof(float));
        break;
    case COMM_BARRIER:
    case COMM_N_TYPES:
        break;
    }
}

uint64_t comm_one_pass_bytes(enum comm_type type, int n_ranks, size_t n_elems)
{
    const uint64_t p = (uint64_t)n_ranks, n_bytes = n_elems * sizeof(float);

    switch (type) {
    case COMM_ALLREDUCE:
    case COMM_SENDRECV:
        return 2 * n_bytes;
    case COMM_REDUCE_SCATTER:
        return n_bytes * (p + 1) / p;
    case COMM_ALLGATHER:
    case COMM_BROADCAST:
        return n_bytes;
    case COMM_BARRIER:
    case COMM_N_TYPES:
        break;
    }
    return 0;
}

int comm_link_streams(const int *host_of, int n_ranks)
{
    int most = 0;

    for (int r = 0; r < n_ranks; r++) {
        int n = 0;
        for (int k = 0; k < n_ranks; k++)
            n += host_of[k] == host_of[r] && host_of[(k + 1) % n_ranks] != host_of[r];
        most = n > most ? n : most;
    }
    return most;
}
