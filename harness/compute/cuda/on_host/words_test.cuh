/* SPDX-License-Identifier: Apache-2.0 */
/*
 * words_test.cuh - the words of CUDA as plain C++, put before each kernel source by the compiler (-include).
 *
 * An emulation, for tests: it shows that indices, sums, barriers and arguments are right, nothing about speed, the
 * memory model between blocks, or what the GPU's mathematical functions round to. Blocks run one after the other.
 * Threads that do not meet run one after the other; threads that meet are coroutines that change at barriers and
 * shuffles, in ascending order in one launch and in descending order in the next, so a barrier that is missing
 * shows as other bits. Shared memory is filled with NaN before each block.
 */
#ifndef HARNESS_COMPUTE_ON_HOST_WORDS_TEST_CUH
#define HARNESS_COMPUTE_ON_HOST_WORDS_TEST_CUH

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __shared__ static __attribute__((section("on_host_shared")))

struct on_host_index {
    unsigned x;
};
extern struct on_host_index threadIdx, blockIdx, gridDim;

struct alignas(16) float4 {
    float x, y, z, w;
};

struct alignas(8) uint2 {
    unsigned x, y;
};

static inline float4 make_float4(float x, float y, float z, float w)
{
    const float4 f = { x, y, z, w };

    return f;
}

void on_host_barrier();
/* Every lane of a warp calls: out = what the lane `distance` above gave, or the lane's own beyond the last. */
void on_host_shuffle_down(void *out, const void *value, size_t n_bytes, int distance);
/* Queue n_blocks blocks of n_threads of a kernel, which is named for on_host_n_launches(); body (n_bytes, copied) is
 * handed to run once a thread. */
void on_host_queue(void *stream, const char *kernel, bool meeting, unsigned n_blocks, unsigned n_threads,
                   void (*run)(const void *body), const void *body, size_t n_bytes);

#define __syncthreads on_host_barrier

template <typename T> static inline T __shfl_down_sync(unsigned lanes, T value, int distance)
{
    T out;

    (void)lanes; /* all, always */
    on_host_shuffle_down(&out, &value, sizeof value, distance);
    return out;
}

template <typename B> static void on_host_run(const void *body)
{
    (*static_cast<const B *>(body))();
}

template <typename K, typename... A>
static void on_host_launch(const char *name, bool meeting, unsigned n_blocks, unsigned n_threads, void *stream,
                           K *kernel, A... args)
{
    const auto body = [=] { kernel(args...); };

    on_host_queue(stream, name, meeting, n_blocks, n_threads, on_host_run<decltype(body)>, &body, sizeof body);
}

#define CUDA_LAUNCH(kernel, n_blocks, n_threads, stream, ...) \
    on_host_launch(#kernel, false, n_blocks, n_threads, stream, kernel, __VA_ARGS__)
#define CUDA_LAUNCH_BARRIER(kernel, n_blocks, n_threads, stream, ...) \
    on_host_launch(#kernel, true, n_blocks, n_threads, stream, kernel, __VA_ARGS__)

#endif
