/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device.h - one GPU, its two streams, its memory and cuBLAS: all that the cuda backend uses of CUDA.
 *
 * Implemented by device.c; for tests on a machine without a GPU by on_host/device_test.cu, which computes
 * on the CPU. Nothing here waits for the GPU unless it says so.
 *
 * Errors of queued work are sticky: the first one, and the name of its operation, are kept until cuda_device_error()
 * reports them.
 */
#ifndef HARNESS_COMPUTE_CUDA_DEVICE_H
#define HARNESS_COMPUTE_CUDA_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/rc.h"
#include "harness/compute/compute.h"
#include "harness/compute/cuda/kernels.h"

struct cuda_device;
struct cuda_graph;

enum cuda_stream_id {
    CUDA_STREAM_COMPUTE, /* kernels and GEMMs */
    CUDA_STREAM_COPY,    /* between host and GPU */
};

enum { CUDA_EVENTS = 20 };

/* A GEMM on device memory: C(M,N) = op(A)(M,K) op(B)(K,N) + beta C, row-major, rows ld
 * elements apart as stored. bf16: A and B are bfloat16; C is float always. */
struct cuda_gemm {
    bool transpose_a, transpose_b, bf16;
    int M, N, K;
    const void *a, *b;
    size_t lda, ldb, ldc;
    float beta;
    float *c;
};

/* GPUs that this process sees, 1 or more. RC_UNSUPPORTED: no driver, no device. RC_DEVICE: there is a driver, but it is
 * faulty, or older than this program needs. */
enum rc cuda_device_count(int *out) MUST_CHECK;
/* Name, memory, PCI bus id, NUMA node, and the GPUs whose memory it reaches: compute_backend.device_text. */
void cuda_device_text(int device, char *out, size_t n_bytes);
/* device: its number, below cuda_device_count().
 * RC_UNSUPPORTED: no driver, no such device (says which). RC_DEVICE: there is one, but no cuBLAS; a faulty driver.
 * RC_NOMEM. */
enum rc cuda_device_open(struct cuda_device **out, int device, enum precision precision) MUST_CHECK;
void cuda_device_close(struct cuda_device **d); /* waits; NULL-safe, nulls */

/* Make d the current device of this thread; before anything is queued. */
void cuda_device_enter(struct cuda_device *d);
/* The stream argument of kernels.h. */
cuda_stream cuda_device_stream(struct cuda_device *d);

/* Device memory, not zeroed; NULL: not enough memory, or a failure, which cuda_device_error() then reports. May
 * wait. */
void *cuda_device_alloc(struct cuda_device *d, size_t n_bytes);
void cuda_device_free(struct cuda_device *d, void *memory); /* waits */
size_t cuda_device_available(struct cuda_device *d);        /* SIZE_MAX: it failed, likewise */
/* Its PCI bus id, "0000:1b:00.0". */
void cuda_device_id(struct cuda_device *d, char out[COMPUTE_DEVICE_ID_BYTES]);
/* "NVIDIA H200", or "GPU 0" if the driver does not say. */
void cuda_device_name(struct cuda_device *d, char *out, size_t n_bytes);
/* Pinned host memory: the GPU copies from and to it at full speed, asynchronously. NULL: as cuda_device_alloc(). */
void *cuda_device_pin(struct cuda_device *d, size_t n_bytes);
void cuda_device_unpin(struct cuda_device *d, void *memory);

/* One of the two addresses is pinned host memory. */
void cuda_device_copy(struct cuda_device *d, enum cuda_stream_id stream, void *to, const void *from, size_t n_bytes);
void cuda_device_zero(struct cuda_device *d, void *memory, size_t n_bytes);
void cuda_device_gemm(struct cuda_device *d, const struct cuda_gemm *g);

/* Work queued on `later` from now on waits for the work queued on `earlier` so far. */
void cuda_device_order(struct cuda_device *d, enum cuda_stream_id later, enum cuda_stream_id earlier);
/* Record event k (0 .. CUDA_EVENTS-1) after the work queued on stream so far. */
void cuda_device_record(struct cuda_device *d, int k, enum cuda_stream_id stream);
/* Work queued on `later` from now on waits for event k. */
void cuda_device_wait_event(struct cuda_device *d, enum cuda_stream_id later, int k);
/* Waits until event k has happened; one never recorded has happened. */
void cuda_device_wait(struct cuda_device *d, int k);
/* Stamp k (0 .. COMPUTE_STAMPS-1) is the GPU's time after the work queued on CUDA_STREAM_COMPUTE so far. */
void cuda_device_stamp(struct cuda_device *d, int k);
/* Time between two stamps that have happened; 0, and a failure of "stamp", if they have not. */
uint64_t cuda_device_stamp_ns(struct cuda_device *d, int from, int to);
/* Waits for both streams. */
void cuda_device_drain(struct cuda_device *d);

/* From now on work queued on CUDA_STREAM_COMPUTE is captured, not run. False: not possible; nothing changes. */
bool cuda_device_capture(struct cuda_device *d);
/* End the capture: a graph with all pointers and numbers as given. NULL: it failed, and nothing was run. */
struct cuda_graph *cuda_device_captured(struct cuda_device *d);
void cuda_device_launch(struct cuda_device *d, struct cuda_graph *g);
void cuda_graph_close(struct cuda_graph **g); /* NULL-safe, nulls; not while it runs */

/* `operation` was queued: keep its name if its launch failed. */
void cuda_device_check(struct cuda_device *d, const char *operation);
/* RC_DEVICE: something failed since the last call; names the operation where known. */
enum rc cuda_device_error(struct cuda_device *d) MUST_CHECK;

/* For a real GPU, used by device_side.c. device_event: event k, a cudaEvent_t. device_fail: keep a failure, unless
 * there is one. */
void *cuda_device_event(struct cuda_device *d, int k);
void cuda_device_fail(struct cuda_device *d, const char *operation, const char *why);

#endif
