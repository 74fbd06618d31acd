/* SPDX-License-Identifier: Apache-2.0 */
/* device_side.c - device_side.h on a real GPU. */
#include "harness/compute/cuda/device_side.h"

#include <cuda_runtime_api.h>
#include <stdlib.h>

struct cuda_device_side {
    struct cuda_device *device;
    cudaStream_t stream;
    cudaEvent_t followed; /* of the compute stream, as follow() found it */
    cudaEvent_t *mark;    /* [n_marks] */
    size_t n_marks;
};

static bool worked(struct cuda_device_side *s, cudaError_t error)
{
    if (error == cudaSuccess)
        return true;
    cuda_device_fail(s->device, "side stream", cudaGetErrorString(error));
    (void)cudaGetLastError(); /* clear it: reported by the device */
    return false;
}

#define TRY_CUDA(call)                                                            \
    do {                                                                          \
        const cudaError_t error_ = (call);                                        \
        rc = RC_OK;                                                               \
        if (error_ != cudaSuccess)                                                \
            FAIL(RC_DEVICE, "cuda: side stream: %s", cudaGetErrorString(error_)); \
    } while (0)

enum rc cuda_device_side_open(struct cuda_device_side **out, struct cuda_device *d, size_t n_marks)
{
    struct cuda_device_side *s = calloc(1, sizeof *s);
    int lowest = 0, highest = 0;
    enum rc rc;

    if (s)
        s->mark = calloc(n_marks, sizeof *s->mark);
    if (!s || !s->mark)
        FAIL(RC_NOMEM, "cuda: no memory for a side stream with %zu marks", n_marks);
    s->device = d;
    s->n_marks = n_marks;
    cuda_device_enter(d);
    /* Above the operations: what others wait for is begun first. */
    TRY_CUDA(cudaDeviceGetStreamPriorityRange(&lowest, &highest));
    TRY_CUDA(cudaStreamCreateWithPriority(&s->stream, cudaStreamNonBlocking, highest));
    TRY_CUDA(cudaEventCreateWithFlags(&s->followed, cudaEventDisableTiming));
    for (size_t i = 0; i < n_marks; i++)
        TRY_CUDA(cudaEventCreateWithFlags(&s->mark[i], cudaEventDisableTiming));
    *out = s;
    s = NULL;
out:
    cuda_device_side_close(&s);
    return rc;
}

void cuda_device_side_close(struct cuda_device_side **sp)
{
    struct cuda_device_side *s = *sp;

    *sp = NULL;
    if (!s)
        return;
    for (size_t i = 0; s->mark && i < s->n_marks; i++)
        if (s->mark[i])
            cudaEventDestroy(s->mark[i]);
    if (s->followed)
        cudaEventDestroy(s->followed);
    if (s->stream)
        cudaStreamDestroy(s->stream);
    free(s->mark);
    free(s);
}

void *cuda_device_side_stream(struct cuda_device_side *s)
{
    return s->stream;
}

void cuda_device_side_wait_event(struct cuda_device_side *s, int k)
{
    worked(s, cudaStreamWaitEvent(s->stream, cuda_device_event(s->device, k), 0));
}

void cuda_device_side_follow(struct cuda_device_side *s)
{
    if (worked(s, cudaEventRecord(s->followed, cuda_device_stream(s->device))))
        worked(s, cudaStreamWaitEvent(s->stream, s->followed, 0));
}

void cuda_device_side_mark(struct cuda_device_side *s, size_t mark)
{
    worked(s, cudaEventRecord(s->mark[mark], s->stream));
}

bool cuda_device_side_reached(struct cuda_device_side *s, size_t mark)
{
    const cudaError_t error = cudaEventQuery(s->mark[mark]);

    if (error == cudaErrorNotReady) {
        (void)cudaGetLastError(); /* clear it: no error */
        return false;
    }
    (void)worked(s, error);
    return true;
}

void cuda_device_side_lead(struct cuda_device_side *s, size_t mark)
{
    worked(s, cudaStreamWaitEvent(cuda_device_stream(s->device), s->mark[mark], 0));
}
