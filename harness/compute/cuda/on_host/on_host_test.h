/* SPDX-License-Identifier: Apache-2.0 */
/* on_host_test.h - controls of the emulated GPU (device_test.cu), for tests. */
#ifndef HARNESS_COMPUTE_ON_HOST_ON_HOST_TEST_H
#define HARNESS_COMPUTE_ON_HOST_ON_HOST_TEST_H

#include <stdbool.h>
#include <stddef.h>

struct cuda_device;
struct cuda_gemm;

struct on_host_limits {
    size_t memory_bytes;
    int n_devices;                              /* 0: one */
    int no_graphs;                              /* capture fails */
    int broken;                                 /* allocations fail, as after an illegal address */
    const char *failing;                        /* operations of this name fail; NULL: none */
    int lose_orders, lose_waits, lose_barriers; /* planted mistakes: the tests must notice */
    /* Change the order in which a GEMM sums. by_alignment: if an operand or the result is not aligned to 16 bytes, as
     * cuBLAS may do. by_turn: every third time, which compute.C1 forbids. Both: every third time if not aligned. */
    int gemm_by_alignment, gemm_by_turn;
    int eager_copies; /* the copy stream runs ahead as far as its orders let it */
};

/* Set the number of devices, 1 at first. */
void on_host_set_n_devices(int n);

/* For devices of this process, from now on. Borrows failing. */
void on_host_set(const struct on_host_limits *l);
/* What was queued on CUDA_STREAM_COMPUTE and has not run. */
size_t on_host_n_queued(struct cuda_device *d);
/* The most columns of a GEMM since the last call. */
int on_host_widest_gemm(struct cuda_device *d);
/* Number of runs so far of kernels whose name contains this; a graph's runs all count. */
unsigned on_host_n_launches(struct cuda_device *d, const char *kernel);
/* In device_test.cu: compute g, with sums in double and in order, or in float and backwards. */
void on_host_gemm(const struct cuda_gemm *g, bool backwards);

#endif
