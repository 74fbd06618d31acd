/* SPDX-License-Identifier: Apache-2.0 */
/* side_test.cu - device_side.h of the emulated device: one more of its streams, as lazy as the others. */
#include <stdio.h>
#include <stdlib.h>

extern "C" {
#include "harness/compute/cuda/device_side.h"
#include "harness/compute/cuda/on_host/device_test.cuh"
#include "harness/compute/cuda/on_host/on_host_test.h"
#include "harness/compute/suite/emulated_stream.h"
}

struct cuda_device_side {
    struct emulated_stream stream;
    struct cuda_device *device;
    size_t *mark; /* the turn of each on SIDE_STREAM */
};

static void queue_call(struct emulated_stream *s, bool (*step)(void *arg), void *arg)
{
    on_host_queue_call(reinterpret_cast<struct cuda_device_side *>(s)->device, step, arg);
}

static void *same_address(const void *device)
{
    return const_cast<void *>(device);
}

enum rc cuda_device_side_open(struct cuda_device_side **out, struct cuda_device *d, size_t n_marks)
{
    struct cuda_device_side *s = static_cast<struct cuda_device_side *>(must(calloc(1, sizeof *s)));

    s->stream.call = queue_call;
    s->stream.host_address = same_address;
    s->device = d;
    s->mark = static_cast<size_t *>(must(calloc(n_marks, sizeof *s->mark)));
    *out = s;
    return RC_OK;
}

void cuda_device_side_close(struct cuda_device_side **s)
{
    if (*s != NULL) {
        (void)on_host_run((*s)->device, SIDE_STREAM, (*s)->device->stream[SIDE_STREAM].n_queued, true);
        free((*s)->mark);
    }
    free(*s);
    *s = NULL;
}

void *cuda_device_side_stream(struct cuda_device_side *s)
{
    return &s->stream;
}

void cuda_device_side_wait_event(struct cuda_device_side *s, int k)
{
    on_host_queue_wait(s->device, SIDE_STREAM, s->device->event_stream[k], s->device->event_turn[k]);
}

void cuda_device_side_follow(struct cuda_device_side *s)
{
    on_host_queue_wait(s->device, SIDE_STREAM, CUDA_STREAM_COMPUTE, s->device->stream[CUDA_STREAM_COMPUTE].n_queued);
}

void cuda_device_side_mark(struct cuda_device_side *s, size_t mark)
{
    s->mark[mark] = s->device->stream[SIDE_STREAM].n_queued;
}

bool cuda_device_side_reached(struct cuda_device_side *s, size_t mark)
{
    return on_host_run(s->device, SIDE_STREAM, s->mark[mark], false);
}

void cuda_device_side_lead(struct cuda_device_side *s, size_t mark)
{
    on_host_queue_wait(s->device, CUDA_STREAM_COMPUTE, SIDE_STREAM, s->mark[mark]);
}
