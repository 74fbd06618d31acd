/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernels.cuh - what the kernels share: launches, loads, reductions. Private to *.cu.
 *
 * Compiled by nvcc, and for tests as plain C++ after a header that defines the keywords and functions of CUDA
 * (on_host/). A kernel whose threads synchronise (__syncthreads, shuffles) is launched by CUDA_LAUNCH_BARRIER, any
 * other by CUDA_LAUNCH: for the GPU they are the same.
 *
 * -fmad=false: only fmaf fuses a multiplication and an addition, so two kernels that
 * compute the same expression get the same bits.
 */
#ifndef HARNESS_COMPUTE_CUDA_KERNELS_CUH
#define HARNESS_COMPUTE_CUDA_KERNELS_CUH

#include "harness/compute/cuda/kernels.h"

#ifdef __CUDACC__
#include <cuda_bf16.h>
#define CUDA_LAUNCH(kernel, n_blocks, n_threads, stream, ...) \
    kernel<<<(n_blocks), (n_threads), 0, (cudaStream_t)(stream)>>>(__VA_ARGS__)
#define CUDA_LAUNCH_BARRIER CUDA_LAUNCH
#endif

enum {
    WARP_THREADS = 32,
    BLOCK_THREADS = 256, /* of every kernel */
    BLOCK_WARPS = BLOCK_THREADS / WARP_THREADS,
    VECTOR_ELEMS = 4,      /* of a 16-byte access */
    MAX_BLOCKS = 1 << 20,  /* of kernels that stride over their elements */
    SPLIT_ELEMS = 1 << 14, /* of a row that one block sums, at least, when a row is split */
    MAX_SPLITS = 64,       /* of one row */
};
#define ALL_LANES 0xffffffffu

/* Blocks for n items, one per thread; beyond MAX_BLOCKS threads stride. */
static inline unsigned blocks_for(size_t n)
{
    const size_t n_blocks = (n + BLOCK_THREADS - 1) / BLOCK_THREADS;

    if (n_blocks > MAX_BLOCKS)
        return MAX_BLOCKS;
    return n_blocks > 0 ? (unsigned)n_blocks : 1;
}

static __device__ __forceinline__ size_t thread_index()
{
    return (size_t)blockIdx.x * BLOCK_THREADS + threadIdx.x;
}

static __device__ __forceinline__ size_t thread_stride()
{
    return (size_t)gridDim.x * BLOCK_THREADS;
}

/* a / b. A 64-bit division costs several times a 32-bit one, and few arrays need it; a warp diverges at most
 * once. */
static __device__ __forceinline__ size_t divided(size_t a, size_t b)
{
    if (((a | b) >> 32) == 0)
        return (unsigned)a / (unsigned)b;
    return a / b;
}

/* p may be read and written 16 bytes at a time. */
static __host__ __device__ __forceinline__ bool is_aligned16(const void *p)
{
    return ((uintptr_t)p & 15u) == 0;
}

/* packed_row_elems(), on the device too. */
static __host__ __device__ __forceinline__ size_t packed_ld(size_t n)
{
    return (n + PACKED_ROW_ELEMS - 1) / PACKED_ROW_ELEMS * PACKED_ROW_ELEMS;
}

/* Element k of p, or `otherwise` if p is NULL. */
static __device__ __forceinline__ float at_or(const float *p, size_t k, float otherwise)
{
    return p != NULL ? p[k] : otherwise;
}

/* VECTOR_ELEMS neighbours. */
struct quad {
    float v[VECTOR_ELEMS];
};

/* p[0 .. n), n <= VECTOR_ELEMS; the rest 0. wide: n is VECTOR_ELEMS and p is aligned. */
static __device__ __forceinline__ struct quad quad_load(const float *p, size_t n, bool wide)
{
    struct quad q;

    if (wide) {
        const float4 f = *reinterpret_cast<const float4 *>(p);
        q.v[0] = f.x;
        q.v[1] = f.y;
        q.v[2] = f.z;
        q.v[3] = f.w;
        return q;
    }
#pragma unroll
    for (int k = 0; k < VECTOR_ELEMS; k++)
        q.v[k] = (size_t)k < n ? p[k] : 0.0f;
    return q;
}

static __device__ __forceinline__ void quad_store(float *p, const struct quad &q, size_t n, bool wide)
{
    if (wide) {
        *reinterpret_cast<float4 *>(p) = make_float4(q.v[0], q.v[1], q.v[2], q.v[3]);
        return;
    }
#pragma unroll
    for (int k = 0; k < VECTOR_ELEMS; k++)
        if ((size_t)k < n)
            p[k] = q.v[k];
}

/* How many of the VECTOR_ELEMS elements from i on are below n; i < n. */
static __device__ __forceinline__ size_t quad_elems(size_t i, size_t n)
{
    return n - i < VECTOR_ELEMS ? n - i : (size_t)VECTOR_ELEMS;
}

/* The bits of x as bfloat16, to nearest, ties to even; a NaN stays one. */
static __device__ __forceinline__ uint16_t bf16_bits(float x)
{
#ifdef __CUDACC__
    return __bfloat16_as_ushort(__float2bfloat16_rn(x));
#else
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return (uint16_t)((bits >> 16) | 0x40u);
    return (uint16_t)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
#endif
}

static __device__ __forceinline__ float bf16_value(uint16_t bits)
{
#ifdef __CUDACC__
    return __uint_as_float((unsigned)bits << 16);
#else
    const uint32_t wide = (uint32_t)bits << 16;
    float x;

    memcpy(&x, &wide, sizeof x);
    return x;
#endif
}

/* An element of a GEMM's operand, as float or as bfloat16. */
static __device__ __forceinline__ void operand_store(float *out, float x)
{
    *out = x;
}

static __device__ __forceinline__ void operand_store(uint16_t *out, float x)
{
    *out = bf16_bits(x);
}

/* The same, read: what was bfloat16 is so again when it is stored, bit by bit. */
static __device__ __forceinline__ float operand_load(const float *from)
{
    return *from;
}

static __device__ __forceinline__ float operand_load(const uint16_t *from)
{
    return bf16_value(*from);
}

/* VECTOR_ELEMS operands at once: 16 bytes of floats, 8 of bfloat16. p is aligned to that. */
static __device__ __forceinline__ void operands_store(float *p, const float *v)
{
    *reinterpret_cast<float4 *>(p) = make_float4(v[0], v[1], v[2], v[3]);
}

static __device__ __forceinline__ void operands_store(uint16_t *p, const float *v)
{
    uint2 two;

    two.x = (unsigned)bf16_bits(v[0]) | (unsigned)bf16_bits(v[1]) << 16;
    two.y = (unsigned)bf16_bits(v[2]) | (unsigned)bf16_bits(v[3]) << 16;
    *reinterpret_cast<uint2 *>(p) = two;
}

/* The first n of VECTOR_ELEMS operands. */
template <typename T> static __device__ __forceinline__ void operands_store_some(T *to, const float *v, size_t n)
{
    if (n == VECTOR_ELEMS && ((uintptr_t)to & (VECTOR_ELEMS * sizeof(T) - 1)) == 0) {
        operands_store(to, v);
        return;
    }
#pragma unroll
    for (int k = 0; k < VECTOR_ELEMS; k++)
        if ((size_t)k < n)
            operand_store(to + k, v[k]);
}

/* Sum over the lanes of a warp, for lane 0: pairs 16 apart, then 8, 4, 2, 1. All lanes call. */
template <typename T> static __device__ __forceinline__ T warp_sum(T v)
{
#pragma unroll
    for (int distance = WARP_THREADS / 2; distance > 0; distance /= 2)
        v += __shfl_down_sync(ALL_LANES, v, distance);
    return v;
}

/* Sum over the threads of a block, for thread 0: lanes, then warps. All threads call; shared: of the block,
 * free to be used again after the next __syncthreads(). */
template <typename T> static __device__ __forceinline__ T block_sum(T v, T *shared)
{
    const unsigned lane = threadIdx.x % WARP_THREADS, warp = threadIdx.x / WARP_THREADS;

    v = warp_sum(v);
    if (lane == 0)
        shared[warp] = v;
    __syncthreads();
    if (warp == 0)
        v = warp_sum(lane < BLOCK_WARPS ? shared[lane] : T(0));
    return v;
}

/* A long row is summed in parts, one block each, then the parts in order: their number and length, a multiple of a
 * vector, so that every part is aligned like the row. Depends on shapes alone (compute.C1). */
struct row_split {
    size_t n_parts, part_elems;
};

static inline struct row_split row_split_of(size_t n)
{
    struct row_split s;
    const size_t quads = (n + VECTOR_ELEMS - 1) / VECTOR_ELEMS;

    s.n_parts = (n + SPLIT_ELEMS - 1) / SPLIT_ELEMS;
    if (s.n_parts > MAX_SPLITS)
        s.n_parts = MAX_SPLITS;
    if (s.n_parts == 0)
        s.n_parts = 1;
    s.part_elems = (quads + s.n_parts - 1) / s.n_parts * VECTOR_ELEMS;
    if (s.part_elems == 0)
        s.part_elems = VECTOR_ELEMS;
    return s;
}

/* Elements [begin, end) of row `row` for this block; the grid has rows x n_parts blocks. */
struct row_part {
    size_t row, part, begin, end;
};

static __device__ __forceinline__ struct row_part row_part_here(size_t n, struct row_split s)
{
    struct row_part p;

    p.row = blockIdx.x / s.n_parts;
    p.part = blockIdx.x % s.n_parts;
    p.begin = p.part * s.part_elems < n ? p.part * s.part_elems : n;
    p.end = n - p.begin < s.part_elems ? n : p.begin + s.part_elems;
    return p;
}

#endif
