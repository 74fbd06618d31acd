/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device.c - device.h on a real GPU.
 *
 * cuBLAS is loaded when a device is opened, not when the program starts: it is hundreds of megabytes, and most
 * commands need none of it. The types of the functions are checked against its header.
 */
#include "harness/compute/cuda/device.h"

#include <assert.h>
#include <ctype.h>
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BLAS_WORKSPACE_BYTES = 32 * 1024 * 1024, /* what cuBLAS recommends from compute capability 9.0 on */
    OPERATION_BYTES = 32,
};

/* member | function | type */
#define BLAS_LIST(X)                                                                                             \
    X(create, cublasCreate_v2, cublasStatus_t (*)(cublasHandle_t *))                                             \
    X(destroy, cublasDestroy_v2, cublasStatus_t (*)(cublasHandle_t))                                             \
    X(set_stream, cublasSetStream_v2, cublasStatus_t (*)(cublasHandle_t, cudaStream_t))                          \
    X(set_workspace, cublasSetWorkspace_v2, cublasStatus_t (*)(cublasHandle_t, void *, size_t))                  \
    X(set_atomics, cublasSetAtomicsMode, cublasStatus_t (*)(cublasHandle_t, cublasAtomicsMode_t))                \
    X(text, cublasGetStatusString, const char *(*)(cublasStatus_t))                                              \
    X(gemm, cublasGemmEx,                                                                                        \
      cublasStatus_t (*)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const void *,      \
                         const void *, cudaDataType, int, const void *, cudaDataType, int, const void *, void *, \
                         cudaDataType, int, cublasComputeType_t, cublasGemmAlgo_t))

struct blas {
    void *library;
    cublasStatus_t (*create)(cublasHandle_t *);
    cublasStatus_t (*destroy)(cublasHandle_t);
    cublasStatus_t (*set_stream)(cublasHandle_t, cudaStream_t);
    cublasStatus_t (*set_workspace)(cublasHandle_t, void *, size_t);
    cublasStatus_t (*set_atomics)(cublasHandle_t, cublasAtomicsMode_t);
    const char *(*text)(cublasStatus_t);
    cublasStatus_t (*gemm)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const void *,
                           const void *, cudaDataType, int, const void *, cudaDataType, int, const void *, void *,
                           cudaDataType, int, cublasComputeType_t, cublasGemmAlgo_t);
};

/* Check the types of the members against the header; no function is linked. */
#define SAME_TYPE(member, function, type) \
    _Static_assert(_Generic(&(function), type : 1, default : 0) == 1, #function " has another type");
BLAS_LIST(SAME_TYPE)

struct cuda_device {
    int device;
    struct blas blas;
    cublasHandle_t handle;
    cublasComputeType_t multiply; /* of float operands */
    cudaStream_t stream[2];
    cudaEvent_t order[2];
    cudaEvent_t event[CUDA_EVENTS];
    cudaEvent_t stamp[COMPUTE_STAMPS]; /* NULL: never recorded */
    void *workspace;
    char failed_operation[OPERATION_BYTES]; /* "" : nothing failed */
    char why[RC_MESSAGE_BYTES / 2];
    bool failed_before; /* when the capture began */
};

struct cuda_graph {
    cudaGraphExec_t exec;
};

/* Keeps the first failure. */
static void fail(struct cuda_device *d, const char *operation, const char *why)
{
    if (d->failed_operation[0] != '\0')
        return;
    snprintf(d->failed_operation, sizeof d->failed_operation, "%s", operation);
    snprintf(d->why, sizeof d->why, "%s", why);
}

static bool worked(struct cuda_device *d, cudaError_t error, const char *operation)
{
    if (error == cudaSuccess)
        return true;
    fail(d, operation, cudaGetErrorString(error));
    (void)cudaGetLastError(); /* clear it: reported here */
    return false;
}

static enum rc blas_load(struct blas *b)
{
    char name[32], path[512];

    snprintf(name, sizeof name, "libcublas.so.%d", CUBLAS_VER_MAJOR);
    snprintf(path, sizeof path, "%s/%s", GRADMARK_CUDA_LIBRARIES, name);
    b->library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (b->library == NULL) /* its path when this was built */
        b->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (b->library == NULL)
        return rc_raise(RC_DEVICE, "cuda: there is a GPU, but cuBLAS cannot be loaded: %.300s", dlerror());
#define LOAD(member, function, type)                                                         \
    do {                                                                                     \
        void *address = dlsym(b->library, #function);                                        \
        if (address == NULL)                                                                 \
            return rc_raise(RC_DEVICE, "cuda: %s has no function %s", name, #function);      \
        memcpy(&b->member, &address, sizeof address); /* data pointer to function pointer */ \
    } while (0);
    BLAS_LIST(LOAD)
#undef LOAD
    return RC_OK;
}

/* The oldest GPU the kernels were compiled for, and the oldest whose matrix units take tf32 and bf16. Capability is
 * 10 x major + minor. */
enum { OLDEST_CAPABILITY = GRADMARK_CUDA_OLDEST, OLDEST_MATRIX_CAPABILITY = 80 };

static enum rc check_capability(int device, enum precision precision)
{
    const int needed = precision == PRECISION_FP32 ? OLDEST_CAPABILITY : OLDEST_MATRIX_CAPABILITY;
    int major = 0, minor = 0;

    cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
    cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device);
    if (10 * major + minor < needed)
        return rc_raise(RC_UNSUPPORTED, "CUDA device %d has compute capability %d.%d; %s %d.%d or newer", device, major,
                        minor, needed == OLDEST_CAPABILITY ? "this program was compiled for" : "tf32 and bf16 need",
                        needed / 10, needed % 10);
    return RC_OK;
}

/* Without a driver the runtime calls it too old, and its version 0. */
static bool is_absence(cudaError_t error)
{
    int version = 0;

    if (error == cudaErrorInsufficientDriver)
        return cudaDriverGetVersion(&version) == cudaSuccess && version == 0;
    return error == cudaErrorNoDevice || error == cudaErrorStubLibrary;
}

enum rc cuda_device_count(int *out)
{
    int n_devices = 0;
    const cudaError_t error = cudaGetDeviceCount(&n_devices);

    (void)cudaGetLastError(); /* clear it: reported here */
    if (error != cudaSuccess && is_absence(error))
        return rc_raise(RC_UNSUPPORTED, "no CUDA device: %s", cudaGetErrorString(error));
    if (error != cudaSuccess)
        return rc_raise(RC_DEVICE, "cuda: there is a driver, but it fails: %s", cudaGetErrorString(error));
    if (n_devices == 0)
        return rc_raise(RC_UNSUPPORTED, "no CUDA device: the driver knows none");
    *out = n_devices;
    return RC_OK;
}

/* Adds to the text of n_bytes in `text`, as far as there is room. */
__attribute__((format(printf, 3, 4))) static void add(char *text, size_t n_bytes, const char *format, ...)
{
    const size_t used = strlen(text);
    va_list args;

    va_start(args, format);
    vsnprintf(text + used, n_bytes - used, format, args);
    va_end(args);
}

/* Of the host, of the device with this PCI bus id; -1: not known, or the host has one node. */
static int numa_node_of(const char *bus_id)
{
    char path[COMPUTE_DEVICE_ID_BYTES + 64], line[32];
    FILE *file;
    int node = -1;

    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/numa_node", bus_id);
    for (char *c = path; *c; c++) /* the runtime may write B, the kernel has b */
        *c = (char)tolower((unsigned char)*c);
    file = fopen(path, "re");
    if (file == NULL)
        return -1;
    if (fgets(line, sizeof line, file))
        node = (int)strtol(line, NULL, 10);
    fclose(file);
    return node;
}

void cuda_device_text(int device, char *out, size_t n_bytes)
{
    char bus_id[COMPUTE_DEVICE_ID_BYTES] = "";
    struct cudaDeviceProp about;
    int n_devices = 0, n_reached = 0;

    out[0] = '\0';
    if (cudaGetDeviceProperties(&about, device) == cudaSuccess)
        add(out, n_bytes, "%s, %.0f GiB, compute capability %d.%d", about.name,
            (double)about.totalGlobalMem / (1 << 30), about.major, about.minor);
    if (cudaDeviceGetPCIBusId(bus_id, sizeof bus_id, device) == cudaSuccess) {
        const int node = numa_node_of(bus_id);
        add(out, n_bytes, ", PCI %s", bus_id);
        if (node >= 0)
            add(out, n_bytes, ", NUMA node %d", node);
    }
    if (cudaGetDeviceCount(&n_devices) != cudaSuccess)
        n_devices = 0;
    for (int peer = 0, can = 0; peer < n_devices; peer++) {
        if (peer != device && cudaDeviceCanAccessPeer(&can, device, peer) == cudaSuccess && can)
            add(out, n_bytes, n_reached++ == 0 ? ", reaches GPUs %d" : " %d", peer);
    }
    if (n_devices > 1 && n_reached == 0)
        add(out, n_bytes, ", reaches other GPUs through the host");
    (void)cudaGetLastError(); /* clear it: left out here */
}

static enum rc check_number(int device)
{
    int n_devices = 0;
    enum rc rc;

    TRY(cuda_device_count(&n_devices));
    if (device < 0 || device >= n_devices)
        rc = rc_raise(RC_UNSUPPORTED, "no CUDA device %d: there are 0 to %d", device, n_devices - 1);
out:
    return rc;
}

#define TRY_CUDA(call)                                                                              \
    do {                                                                                            \
        const cudaError_t error_ = (call);                                                          \
        if (error_ != cudaSuccess) {                                                                \
            (void)cudaGetLastError(); /* clear it: reported here */                                 \
            FAIL(error_ == cudaErrorMemoryAllocation ? RC_NOMEM : RC_DEVICE, "cuda: %s: %s", #call, \
                 cudaGetErrorString(error_));                                                       \
        }                                                                                           \
    } while (0)
#define TRY_BLAS(d, call)                                                    \
    do {                                                                     \
        const cublasStatus_t status_ = (call);                               \
        if (status_ != CUBLAS_STATUS_SUCCESS)                                \
            FAIL(RC_DEVICE, "cuda: %s: %s", #call, (d)->blas.text(status_)); \
    } while (0)

static enum rc open_streams(struct cuda_device *d)
{
    enum rc rc = RC_OK;

    for (int k = 0; k < 2; k++) {
        TRY_CUDA(cudaStreamCreateWithFlags(&d->stream[k], cudaStreamNonBlocking));
        TRY_CUDA(cudaEventCreateWithFlags(&d->order[k], cudaEventDisableTiming));
    }
    for (int k = 0; k < CUDA_EVENTS; k++)
        TRY_CUDA(cudaEventCreateWithFlags(&d->event[k], cudaEventDisableTiming));
out:
    return rc;
}

/* With a workspace of our own equal calls give equal bits, also when captured (compute.C1), and nothing is allocated
 * later. */
static enum rc open_blas(struct cuda_device *d)
{
    enum rc rc;

    TRY(blas_load(&d->blas));
    TRY_BLAS(d, d->blas.create(&d->handle));
    TRY_BLAS(d, d->blas.set_stream(d->handle, d->stream[CUDA_STREAM_COMPUTE]));
    TRY_CUDA(cudaMalloc(&d->workspace, BLAS_WORKSPACE_BYTES));
    TRY_BLAS(d, d->blas.set_workspace(d->handle, d->workspace, BLAS_WORKSPACE_BYTES));
    TRY_BLAS(d, d->blas.set_atomics(d->handle, CUBLAS_ATOMICS_NOT_ALLOWED)); /* compute.C1 */
out:
    return rc;
}

enum rc cuda_device_open(struct cuda_device **out, int device, enum precision precision)
{
    struct cuda_device *d = NULL;
    enum rc rc;

    TRY(check_number(device));
    TRY(check_capability(device, precision));
    d = calloc(1, sizeof *d);
    if (d == NULL)
        FAIL(RC_NOMEM, "cuda: %zu bytes", sizeof *d);
    d->device = device;
    d->multiply = precision == PRECISION_TF32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    TRY_CUDA(cudaSetDevice(device));
    TRY(open_streams(d));
    TRY(open_blas(d));
    *out = d;
    d = NULL;
out:
    cuda_device_close(&d);
    return rc;
}

void cuda_device_close(struct cuda_device **device)
{
    struct cuda_device *d = *device;

    *device = NULL;
    if (d == NULL)
        return;
    for (int k = 0; k < 2; k++)
        if (d->stream[k] != NULL)
            cudaStreamSynchronize(d->stream[k]);
    if (d->handle != NULL)
        d->blas.destroy(d->handle);
    cudaFree(d->workspace);
    for (int k = 0; k < CUDA_EVENTS; k++)
        if (d->event[k] != NULL)
            cudaEventDestroy(d->event[k]);
    for (int k = 0; k < COMPUTE_STAMPS; k++)
        if (d->stamp[k] != NULL)
            cudaEventDestroy(d->stamp[k]);
    for (int k = 0; k < 2; k++) {
        if (d->order[k] != NULL)
            cudaEventDestroy(d->order[k]);
        if (d->stream[k] != NULL)
            cudaStreamDestroy(d->stream[k]);
    }
    if (d->blas.library != NULL)
        dlclose(d->blas.library);
    free(d);
}

void cuda_device_enter(struct cuda_device *d)
{
    worked(d, cudaSetDevice(d->device), "device");
}

cuda_stream cuda_device_stream(struct cuda_device *d)
{
    return d->stream[CUDA_STREAM_COMPUTE];
}

/* Was memory to be had? A lack of it is the caller's to tell; an allocation also returns what failed before it, such as
 * an illegal address, and that is no lack. */
static bool is_there(struct cuda_device *d, cudaError_t error)
{
    if (error != cudaErrorMemoryAllocation)
        return worked(d, error, "memory");
    (void)cudaGetLastError(); /* clear it */
    return false;
}

void *cuda_device_alloc(struct cuda_device *d, size_t n_bytes)
{
    void *memory = NULL;

    cuda_device_enter(d);
    return is_there(d, cudaMalloc(&memory, n_bytes)) ? memory : NULL;
}

void cuda_device_free(struct cuda_device *d, void *memory)
{
    cuda_device_drain(d);
    worked(d, cudaFree(memory), "memory");
}

size_t cuda_device_available(struct cuda_device *d)
{
    size_t n_free = 0, n_total = 0;

    cuda_device_enter(d);
    return worked(d, cudaMemGetInfo(&n_free, &n_total), "memory") ? n_free : SIZE_MAX;
}

void cuda_device_id(struct cuda_device *d, char out[COMPUTE_DEVICE_ID_BYTES])
{
    out[0] = '\0';
    worked(d, cudaDeviceGetPCIBusId(out, COMPUTE_DEVICE_ID_BYTES, d->device), "bus id");
}

void cuda_device_name(struct cuda_device *d, char *out, size_t n_bytes)
{
    struct cudaDeviceProp about;

    snprintf(out, n_bytes, "GPU %d", d->device);
    if (worked(d, cudaGetDeviceProperties(&about, d->device), "name"))
        snprintf(out, n_bytes, "%s", about.name);
}

void *cuda_device_pin(struct cuda_device *d, size_t n_bytes)
{
    void *memory = NULL;

    return is_there(d, cudaMallocHost(&memory, n_bytes)) ? memory : NULL;
}

void cuda_device_unpin(struct cuda_device *d, void *memory)
{
    worked(d, cudaFreeHost(memory), "memory");
}

void cuda_device_copy(struct cuda_device *d, enum cuda_stream_id stream, void *to, const void *from, size_t n_bytes)
{
    worked(d, cudaMemcpyAsync(to, from, n_bytes, cudaMemcpyDefault, d->stream[stream]), "copy");
}

void cuda_device_zero(struct cuda_device *d, void *memory, size_t n_bytes)
{
    worked(d, cudaMemsetAsync(memory, 0, n_bytes, d->stream[CUDA_STREAM_COMPUTE]), "zero");
}

/* Row-major C = A B is column-major C^T = B^T A^T: the same memory, operands swapped. */
void cuda_device_gemm(struct cuda_device *d, const struct cuda_gemm *g)
{
    const cudaDataType type = g->bf16 ? CUDA_R_16BF : CUDA_R_32F;
    const float one = 1.0f;

    assert(g->lda <= INT32_MAX && g->ldb <= INT32_MAX && g->ldc <= INT32_MAX);
    const cublasStatus_t status =
        d->blas.gemm(d->handle, g->transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N, g->transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N,
                     g->N, g->M, g->K, &one, g->b, type, (int)g->ldb, g->a, type, (int)g->lda, &g->beta, g->c,
                     CUDA_R_32F, (int)g->ldc, g->bf16 ? CUBLAS_COMPUTE_32F : d->multiply, CUBLAS_GEMM_DEFAULT);
    if (status != CUBLAS_STATUS_SUCCESS)
        fail(d, "gemm", d->blas.text(status));
}

void cuda_device_order(struct cuda_device *d, enum cuda_stream_id later, enum cuda_stream_id earlier)
{
    if (worked(d, cudaEventRecord(d->order[earlier], d->stream[earlier]), "order"))
        worked(d, cudaStreamWaitEvent(d->stream[later], d->order[earlier], 0), "order");
}

void cuda_device_record(struct cuda_device *d, int k, enum cuda_stream_id stream)
{
    worked(d, cudaEventRecord(d->event[k], d->stream[stream]), "order");
}

void cuda_device_wait_event(struct cuda_device *d, enum cuda_stream_id later, int k)
{
    worked(d, cudaStreamWaitEvent(d->stream[later], d->event[k], 0), "order");
}

void cuda_device_wait(struct cuda_device *d, int k)
{
    worked(d, cudaEventSynchronize(d->event[k]), "copy");
}

void cuda_device_stamp(struct cuda_device *d, int k)
{
    if (d->stamp[k] != NULL || worked(d, cudaEventCreate(&d->stamp[k]), "stamp"))
        worked(d, cudaEventRecord(d->stamp[k], d->stream[CUDA_STREAM_COMPUTE]), "stamp");
}

uint64_t cuda_device_stamp_ns(struct cuda_device *d, int from, int to)
{
    float ms = 0.0f;

    return worked(d, cudaEventElapsedTime(&ms, d->stamp[from], d->stamp[to]), "stamp") ? (uint64_t)(1e6 * (double)ms)
                                                                                       : 0;
}

void cuda_device_drain(struct cuda_device *d)
{
    worked(d, cudaStreamSynchronize(d->stream[CUDA_STREAM_COMPUTE]), "work on the GPU");
    worked(d, cudaStreamSynchronize(d->stream[CUDA_STREAM_COPY]), "copy");
}

bool cuda_device_capture(struct cuda_device *d)
{
    d->failed_before = d->failed_operation[0] != '\0';
    if (cudaStreamBeginCapture(d->stream[CUDA_STREAM_COMPUTE], cudaStreamCaptureModeThreadLocal) == cudaSuccess)
        return true;
    (void)cudaGetLastError(); /* clear it: reported by false */
    return false;
}

struct cuda_graph *cuda_device_captured(struct cuda_device *d)
{
    struct cuda_graph *g = NULL;
    cudaGraph_t graph = NULL;
    cudaError_t error = cudaStreamEndCapture(d->stream[CUDA_STREAM_COMPUTE], &graph);

    /* An operation that failed is not in the graph: without one, it is run and reported. */
    if (error == cudaSuccess && graph != NULL && (d->failed_before || d->failed_operation[0] == '\0'))
        g = calloc(1, sizeof *g);
    if (g != NULL) {
        error = cudaGraphInstantiate(&g->exec, graph, 0);
        if (error != cudaSuccess) {
            free(g);
            g = NULL;
        }
    }
    if (graph != NULL)
        cudaGraphDestroy(graph);
    (void)cudaGetLastError(); /* clear it: reported by NULL */
    if (g == NULL && !d->failed_before)
        d->failed_operation[0] = '\0'; /* nothing was done, so nothing failed */
    return g;
}

void cuda_device_launch(struct cuda_device *d, struct cuda_graph *g)
{
    worked(d, cudaGraphLaunch(g->exec, d->stream[CUDA_STREAM_COMPUTE]), "graph of the step");
}

void cuda_graph_close(struct cuda_graph **g)
{
    if (*g != NULL)
        cudaGraphExecDestroy((*g)->exec);
    free(*g);
    *g = NULL;
}

void cuda_device_check(struct cuda_device *d, const char *operation)
{
    worked(d, cudaGetLastError(), operation);
}

enum rc cuda_device_error(struct cuda_device *d)
{
    enum rc rc = RC_OK;

    if (d->failed_operation[0] != '\0')
        rc = rc_raise(RC_DEVICE, "cuda: %s: %s", d->failed_operation, d->why);
    d->failed_operation[0] = '\0';
    return rc;
}

/* --- for device_side.c --- */

void *cuda_device_event(struct cuda_device *d, int k)
{
    return d->event[k];
}

void cuda_device_fail(struct cuda_device *d, const char *operation, const char *why)
{
    fail(d, operation, why);
}
