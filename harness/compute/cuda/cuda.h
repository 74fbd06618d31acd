/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda.h - shared by the files of the cuda backend.
 *
 * A call of an operation is not queued on the GPU at once, but appended to a log. The log is flushed (queued) by calls
 * that wait, copy, record or start, and when it is full. A log equal to an earlier one is a repeated training step. The
 * second time it is captured as a CUDA graph; from then on the graph is launched. Logs are compared in full, pointers
 * and numbers, so a graph never runs with outdated ones. Values that change from step to step are not in the log:
 * dropout keys are uploaded before it, and losses are written to slots. sgd_step, which contains the learning rate, is
 * a separate log.
 *
 * Scratch grows when a call is logged, never while a log is flushed.
 */
#ifndef HARNESS_COMPUTE_CUDA_CUDA_H
#define HARNESS_COMPUTE_CUDA_CUDA_H

#include "harness/compute/compute.h"
#include "harness/compute/cuda/device.h"

enum {
    CUDA_LOG_BYTES = 1 << 20,
    CUDA_LOGS_KEPT = 4 * COMPUTE_EVENTS, /* a step with all events has one more log than events; two batch sizes */
    CUDA_GRAPH_MIN_CALLS = 4,            /* a shorter log is not worth a graph */
    CUDA_MAX_RESULTS = 64,               /* losses between two syncs; one more waits for the GPU */
    CUDA_MAX_KEYS = 64,                  /* dropouts in one log */
    CUDA_STAGING_BYTES = 4 << 20,
    CUDA_STAGINGS = 2,
    CUDA_MAX_PINNED = 16,            /* blocks of host_open() at a time */
    CUDA_ALLOWANCE_BYTES = 64 << 20, /* graphs of a step, which the driver keeps on the GPU. Chosen, not measured */
};

/* Events of the device (cuda_device_record). */
enum {
    CUDA_EVENT_STAGING /* and CUDA_STAGINGS - 1 more */,
    CUDA_EVENT_KEYS = CUDA_EVENT_STAGING + CUDA_STAGINGS,
    CUDA_EVENT_FIRST, /* of compute_record_event() */
    CUDA_EVENT_END = CUDA_EVENT_FIRST + COMPUTE_EVENTS
};
_Static_assert((int)CUDA_EVENT_END <= (int)CUDA_EVENTS, "the device has an event for each");

/* Bytes of packed operands of one GEMM: enough columns for an efficient GEMM, few enough that im2col's output is still
 * in a large GPU's second-level cache (50 MB on H100 and H200) when the GEMM reads it. Chosen, not measured. */
#define CUDA_COLUMNS_BYTES ((size_t)32 << 20)

struct cuda_compute;

/* Queues one logged call on the GPU. */
typedef void cuda_run_fn(struct cuda_compute *c, const void *args);

struct cuda_logged { /* head of a call in the log; its arguments follow */
    cuda_run_fn *run;
    const char *name;
    size_t n_args_bytes;
};

struct cuda_log {
    unsigned char *bytes; /* CUDA_LOG_BYTES */
    size_t n_bytes, n_calls;
};

struct cuda_kept { /* a flushed log; graph NULL: flushed once, or it cannot be captured */
    unsigned char *bytes;
    size_t n_bytes;
    uint64_t hash, last_use;
    struct cuda_graph *graph;
    bool no_graph;
};

struct cuda_result { /* device memory; also its copy on the host */
    double loss;
    uint64_t n_correct;
};

struct cuda_pending { /* host addresses that sync fills */
    double *loss;
    size_t *n_correct; /* NULL: not wanted */
};

struct cuda_pinned { /* host memory of host_open() */
    unsigned char *at;
    size_t n_bytes;
};

struct cuda_opts {      /* --cuda.NAME */
    const char *graphs; /* "on", "off" */
    const char *packed; /* "on", "off" */
};

struct cuda_compute {
    struct compute base;
    struct cuda_device *device;
    enum precision precision;
    bool gemm_only;
    size_t columns_bytes; /* CUDA_COLUMNS_BYTES; tests choose less */
    unsigned char *scratch;
    size_t n_scratch_bytes;
    unsigned char *products; /* gemm_only: for GEMM results that normally go to scratch; operands are there */
    size_t n_products_bytes;
    bool only_counts; /* scratch is counted, nothing is allocated, logged or run */
    struct cuda_log log;
    struct cuda_kept kept[CUDA_LOGS_KEPT];
    uint64_t use;
    bool uses_graphs, takes_packed;
    uint64_t n_graph_launches; /* for tests */
    unsigned char *staging;    /* pinned, CUDA_STAGINGS */
    struct cuda_pinned pinned[CUDA_MAX_PINNED];
    size_t n_pinned;
    struct cuda_result *results, *host_results;
    struct cuda_pending pending[CUDA_MAX_RESULTS];
    size_t n_pending;
    uint64_t *keys, *host_keys;        /* device; pinned, being copied */
    uint64_t next_keys[CUDA_MAX_KEYS]; /* of the log */
    size_t n_keys;
    int wait_event;     /* event k + 1 that get() and sync() wait for; 0: they wait for all calls */
    bool out_of_memory; /* scratch could not grow: calls since the last sync are dropped */
    size_t n_missing_bytes;
    const char *missing_for;
};

/* log.c */
/* Log a call; args: copied; padding in it must be zero (memset first), as logs are compared byte by byte. */
void cuda_log_call(struct cuda_compute *c, const char *name, cuda_run_fn *run, const void *args, size_t n_args_bytes);
/* Provide scratch for the call about to be logged; false: out of memory, which the next sync reports. */
bool cuda_scratch_grow(struct cuda_compute *c, const char *name, size_t n_bytes);
/* The same for products; does nothing unless gemm_only. */
bool cuda_products_grow(struct cuda_compute *c, const char *name, size_t n_bytes);
/* Queue everything logged on the GPU. */
void cuda_log_flush(struct cuda_compute *c);
void cuda_logs_forget(struct cuda_compute *c); /* drops kept logs and graphs */

/* side.c */
extern const struct compute_side_ops cuda_side_ops;

/* cuda.c: wait for the GPU, and copy losses to the host. */
void cuda_results_fetch(struct cuda_compute *c);
/* cuda.c: memory[n_bytes] = numbers of magnitude 0.5 to 1 and any sign, as bfloat16 and as float. Waits. */
void cuda_fill_random(struct cuda_compute *c, void *memory, size_t n_bytes);

/* gemm.c, conv.c, layers.c: the operations of struct compute_backend. */
#define X(name, ...) void cuda_op_##name(struct compute *c, __VA_ARGS__);
COMPUTE_DEVICE_OPERATIONS(X)
#undef X

#endif
