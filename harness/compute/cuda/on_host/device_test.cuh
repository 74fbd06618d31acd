/* SPDX-License-Identifier: Apache-2.0 */
/* device_test.cuh - what the files of the emulated device share: what is queued, and memory. */
#ifndef HARNESS_COMPUTE_CUDA_ON_HOST_DEVICE_TEST_CUH
#define HARNESS_COMPUTE_CUDA_ON_HOST_DEVICE_TEST_CUH

#include <stdlib.h>

#include "harness/compute/cuda/device.h"

enum { SIDE_STREAM = 2, N_STREAMS = 3, MAX_BLOCKS_OF_MEMORY = 4096, MAX_KERNELS = 64, HUGE_PAGE_BYTES = 2 << 20 };

enum kind { LAUNCH, COPY, ZERO, GEMM, WAIT, GRAPH, CALL };

struct task {
    struct task *next;
    enum kind kind;
    const char *kernel;
    bool meeting;
    unsigned n_blocks, n_threads;
    void (*run)(const void *body);
    void *body;
    void *to;
    const void *from;
    size_t n_bytes;
    struct cuda_gemm gemm;
    int stream;  /* WAIT: until this stream ... */
    size_t turn; /* ... has done this much */
    struct cuda_graph *graph;
    bool (*step)(void *arg); /* CALL: until it returns true */
    void *arg;
};

struct list {
    struct task *first, **end;
};

struct stream {
    struct list list;
    size_t n_queued, n_done;
};

struct cuda_graph {
    struct list list;
};

struct memory {
    void *at;
    size_t n_bytes;
    char *map;
    size_t n_mapped_bytes;
};

struct cuda_device {
    struct stream stream[N_STREAMS];
    struct list captured;
    bool is_capturing, is_open; /* is_open: device memory may be touched */
    unsigned n_launches, n_gemms;
    const char *kernel[MAX_KERNELS]; /* that ran, and how often */
    unsigned n_runs[MAX_KERNELS];
    int widest_gemm;
    int event_stream[CUDA_EVENTS];
    size_t event_turn[CUDA_EVENTS];
    size_t stamp_turn[COMPUTE_STAMPS];
    struct memory memory[MAX_BLOCKS_OF_MEMORY];
    size_t n_memory, n_used_bytes;
    enum precision precision;
    int number;
    const char *failed; /* on_host_limits.failing */
};

/* p, which is not NULL: without memory the emulation ends. */
static inline void *must(void *p)
{
    if (p == NULL)
        abort();
    return p;
}

/* Queue step(arg) on SIDE_STREAM: until it returns true. */
void on_host_queue_call(struct cuda_device *d, bool (*step)(void *arg), void *arg);
/* Queue on `later` to wait until `earlier` has done `turn`. */
void on_host_queue_wait(struct cuda_device *d, int later, int earlier, size_t turn);
/* Run a stream until it has done `turn`. False: a step goes on, and the caller does not want to wait for it. */
bool on_host_run(struct cuda_device *d, int stream, size_t turn, bool waits);

#endif
