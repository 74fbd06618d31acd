/* SPDX-License-Identifier: Apache-2.0 */
/*
 * emulated_stream.h - what stands for a cudaStream_t where a side stream (side.h) is emulated: a library made for such
 * streams queues its work by call(). Tests only.
 */
#ifndef HARNESS_COMPUTE_SUITE_EMULATED_STREAM_H
#define HARNESS_COMPUTE_SUITE_EMULATED_STREAM_H

#include <stdbool.h>

struct emulated_stream { /* first member of each implementation's struct */
    /* Queue step(arg): called again and again, in the thread of the stream's owner, until it returns true; what is
     * queued behind it comes after that. It may touch device memory, and must not wait for other ranks. */
    void (*call)(struct emulated_stream *s, bool (*step)(void *arg), void *arg);
    /* Where the host finds, inside a step, what is at this address of the device. */
    void *(*host_address)(const void *device);
};

#endif
