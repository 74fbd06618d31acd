/* SPDX-License-Identifier: Apache-2.0 */
/* comm_memory_test.c - blocks take turns through as much memory as was asked for, and never overlap; what one pass over
 * memory writes. */
#include "harness/bench/comm_memory.h"

#include <stdlib.h>
#include <string.h>

#include "harness/base/suite/unit.h"
#include "harness/bench/comm_ceiling.h"
#include "harness/compute/compute.h"

enum { KI = 1024, MI = 1 << 20 };

UNIT_TEST(rotations_fill_what_was_asked_for)
{
    const struct comm_rotation large = comm_rotation_of(MI, 32 * MI), odd = comm_rotation_of(MI + 4, 32 * MI);
    const struct comm_rotation small = comm_rotation_of(4, 32 * MI), whole = comm_rotation_of(64 * MI, 32 * MI);
    const struct comm_rotation hot = comm_rotation_of(4 * KI, 0);

    assert_true(large.n_blocks == 32 && large.stride_bytes == MI && comm_rotation_bytes(large) == (size_t)32 * MI);
    assert_true(odd.n_blocks == 32 && odd.stride_bytes == MI + 64);
    assert_true(small.n_blocks == COMM_MOST_BLOCKS && small.stride_bytes == 64);
    assert_true(whole.n_blocks == 1 && comm_rotation_bytes(whole) == (size_t)64 * MI);
    assert_int_equal(hot.n_blocks, 1);
}

/* bench.Y1, Y2: each block once, then the first again; none overlaps another, all are in the memory. */
UNIT_TEST(blocks_take_turns)
{
    const struct comm_rotation r = comm_rotation_of(100, 1000);
    struct comm_memory m;

    assert_int_equal(comm_memory_open(&m, NULL, comm_rotation_bytes(r)), RC_OK);
    assert_int_equal(r.n_blocks, 8);
    for (size_t i = 0; i < 24; i++) {
        const char *block = (const char *)comm_memory_block(&m, r, i);
        assert_true((uintptr_t)block % 64 == 0);
        assert_true(block == m.base + 128 * (i % 8) && block + 100 <= m.base + m.n_bytes);
    }
    comm_memory_walk(&m);
    comm_memory_close(&m);
    comm_memory_close(&m);
    assert_null(comm_memory_block(&m, r, 3));
    comm_memory_walk(&m);
}

static void passes(float *data, const float *other, enum comm_type type, int n_ranks, size_t n_elems)
{
    struct compute *c = NULL;

    assert_int_equal(compute_open(&c, &compute_cpu, NULL), RC_OK);
    const struct comm_one_pass pass = { type, n_ranks, c, data, other, n_elems };
    comm_one_pass(&pass);
    compute_close(&c);
}

/* Slices of 3,000: more than a block of those that are summed at a time. */
UNIT_TEST(one_pass_reads_and_writes_each_once)
{
    enum { P = 3, SLICE = 3000, N = P * SLICE };
    float *data = malloc((N + 1) * sizeof *data), *other = malloc(N * sizeof *other);

    assert_true(data && other);
    for (int type = 0; type < COMM_N_TYPES; type++) {
        for (size_t i = 0; i < N; i++) {
            data[i] = (float)i;
            other[i] = (float)(7 * i);
        }
        data[N] = -1;
        passes(data, other, (enum comm_type)type, P, N);
        for (size_t i = 0; i < N; i++) {
            const size_t first = i % SLICE;
            const float sum = (float)(3 * first + 3 * SLICE);
            if (type == COMM_ALLREDUCE)
                assert_true(data[i] == sum);
            if (type == COMM_REDUCE_SCATTER)
                assert_true(data[i] == (i < SLICE ? sum : (float)i));
            if (type == COMM_ALLGATHER || type == COMM_BROADCAST)
                assert_true(data[i] == (float)first);
            if (type == COMM_SENDRECV)
                assert_true(data[i] == other[i]);
        }
        assert_true(data[N] == -1);
    }
    free(data);
    free(other);
}

UNIT_TEST(few_elements_are_passed_once)
{
    float data[3] = { 1, 2, 99 };

    passes(data, NULL, COMM_ALLREDUCE, 5, 2);
    assert_true(data[0] == 3 && data[1] == 3 && data[2] == 99);
    passes(data, NULL, COMM_ALLGATHER, 5, 0);
    assert_true(data[0] == 3 && data[2] == 99);
}

/* Of n elements on p ranks all read p n and write p n: a rank 2 n. */
UNIT_TEST(what_one_pass_moves)
{
    assert_int_equal(comm_one_pass_bytes(COMM_ALLREDUCE, 4, 1000), 8000);
    assert_int_equal(comm_one_pass_bytes(COMM_REDUCE_SCATTER, 4, 1000), 5000);
    assert_int_equal(comm_one_pass_bytes(COMM_ALLGATHER, 4, 1000), 4000);
    assert_int_equal(comm_one_pass_bytes(COMM_BROADCAST, 4, 1000), 4000);
    assert_int_equal(comm_one_pass_bytes(COMM_SENDRECV, 4, 1000), 8000);
}

UNIT_TEST(messages_share_links)
{
    assert_int_equal(comm_link_streams((const int[]){ 0, 0, 0, 0 }, 4), 0);
    assert_int_equal(comm_link_streams((const int[]){ 0, 1, 2, 3 }, 4), 1);
    assert_int_equal(comm_link_streams((const int[]){ 0, 0, 1, 1 }, 4), 1);
    assert_int_equal(comm_link_streams((const int[]){ 0, 1, 0, 1 }, 4), 2);
    assert_int_equal(comm_link_streams((const int[]){ 0, 1, 1, 1, 0 }, 5), 1);
    assert_int_equal(comm_link_streams((const int[]){ 0, 1, 0, 2, 0, 3, 3 }, 7), 3);
}

UNIT_MAIN("comm_memory")
