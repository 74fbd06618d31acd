/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_side.h - an extra stream of a GPU (device.h) for a library, and its ordering with CUDA_STREAM_COMPUTE.
 *
 * Implemented by device_side.c; without a GPU by on_host/device_test.cu. Nothing here waits for the GPU. Errors are
 * the device's (cuda_device_error).
 */
#ifndef HARNESS_COMPUTE_CUDA_DEVICE_SIDE_H
#define HARNESS_COMPUTE_CUDA_DEVICE_SIDE_H

#include "harness/compute/cuda/device.h"

struct cuda_device_side;

/* n_marks events. RC_NOMEM, RC_DEVICE. */
enum rc cuda_device_side_open(struct cuda_device_side **out, struct cuda_device *d, size_t n_marks) MUST_CHECK;
void cuda_device_side_close(struct cuda_device_side **s);  /* NULL-safe, nulls */
void *cuda_device_side_stream(struct cuda_device_side *s); /* a cudaStream_t */

/* Work queued here from now on waits for event k of the device (cuda_device_record). */
void cuda_device_side_wait_event(struct cuda_device_side *s, int k);
/* Work queued here from now on waits for what is queued on CUDA_STREAM_COMPUTE so far. */
void cuda_device_side_follow(struct cuda_device_side *s);
void cuda_device_side_mark(struct cuda_device_side *s, size_t mark);
/* Has all work before the mark ended? True too if the device has failed. */
bool cuda_device_side_reached(struct cuda_device_side *s, size_t mark);
/* Work queued on CUDA_STREAM_COMPUTE from now on waits for the mark. */
void cuda_device_side_lead(struct cuda_device_side *s, size_t mark);

#endif
