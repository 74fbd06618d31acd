/* SPDX-License-Identifier: Apache-2.0 */
/* comm_ceiling_test.c - the work of a ceiling is what it is said to be: every slice read, every result written. */
#include <stdlib.h>

#include "harness/base/suite/unit.h"
#include "harness/bench/comm_ceiling.h"
#include "harness/compute/compute.h"

enum { N_SLICE = 5000, MOST_RANKS = 70 };

static struct compute *compute;
static float *data;

static int set_up(void **state)
{
    (void)state;
    data = malloc((size_t)MOST_RANKS * N_SLICE * sizeof *data);
    return data && compute_open(&compute, &compute_cpu, NULL) == RC_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    compute_close(&compute);
    free(data);
    return 0;
}

/* Element i of slice k is 1 + (i + k) mod 7, so that sums are exact. */
static float value(size_t i, size_t k)
{
    return (float)(1 + (i + k) % 7);
}

static void do_pass(enum comm_type type, int n_ranks)
{
    for (size_t k = 0; k < (size_t)n_ranks; k++)
        for (size_t i = 0; i < N_SLICE; i++)
            data[k * N_SLICE + i] = value(i, k);
    comm_one_pass(&(struct comm_one_pass){
        .type = type, .n_ranks = n_ranks, .compute = compute, .data = data, .n_elems = (size_t)n_ranks * N_SLICE });
}

UNIT_TEST(sums_are_in_as_many_slices_as_are_written)
{
    static const int n_ranks[] = { 2, 3, 8, 64, 65 }; /* by either way of adding */

    for (size_t c = 0; c < sizeof n_ranks / sizeof *n_ranks; c++)
        for (int scatters = 0; scatters < 2; scatters++) {
            do_pass(scatters ? COMM_REDUCE_SCATTER : COMM_ALLREDUCE, n_ranks[c]);
            for (size_t i = 0; i < N_SLICE; i++) {
                float sum = 0;
                for (size_t k = 0; k < (size_t)n_ranks[c]; k++)
                    sum += value(i, k);
                for (size_t k = 0; k < (size_t)n_ranks[c]; k++)
                    if (data[k * N_SLICE + i] != (scatters && k > 0 ? value(i, k) : sum))
                        fail_msg("%d ranks, slice %zu, element %zu: %g", n_ranks[c], k, i,
                                 (double)data[k * N_SLICE + i]);
            }
        }
}

UNIT_TEST(a_slice_is_copied_to_the_others)
{
    do_pass(COMM_ALLGATHER, 3);
    for (size_t k = 0; k < 3; k++)
        for (size_t i = 0; i < N_SLICE; i++)
            assert_true(data[k * N_SLICE + i] == value(i, 0));
}

int main(void)
{
    return unit_run("comm_ceiling", NULL, set_up, tear_down);
}
