/* SPDX-License-Identifier: Apache-2.0 */
/* side.c - side.h of the cuda backend: what was logged is queued before anything waits for it (cuda.h). */
#include "harness/compute/side.h"

#include <stdlib.h>

#include "harness/compute/cuda/cuda.h"
#include "harness/compute/cuda/device_side.h"

struct cuda_side {
    struct compute_side base;
    struct cuda_compute *compute;
    struct cuda_device_side *side;
};

static struct cuda_side *self(struct compute_side *s)
{
    return (struct cuda_side *)s;
}

static void side_close(struct compute_side **s)
{
    cuda_device_side_close(&self(*s)->side);
    free(*s);
    *s = NULL;
}

static enum rc side_open(struct compute_side **out, struct compute *c, size_t n_marks)
{
    struct cuda_side *s = calloc(1, sizeof *s);
    enum rc rc;

    if (!s)
        return rc_raise(RC_NOMEM, "compute cuda: no memory for a side stream");
    s->compute = (struct cuda_compute *)c;
    TRY(cuda_device_side_open(&s->side, s->compute->device, n_marks));
    *out = &s->base;
    s = NULL;
out:
    free(s);
    return rc;
}

static void *side_stream(struct compute_side *s)
{
    return cuda_device_side_stream(self(s)->side);
}

static void side_enter(struct compute_side *s)
{
    cuda_device_enter(self(s)->compute->device);
}

static void side_follow(struct compute_side *s)
{
    struct cuda_compute *c = self(s)->compute;

    if (c->wait_event != 0) { /* recorded: what is before it was queued then */
        cuda_device_enter(c->device);
        cuda_device_side_wait_event(self(s)->side, CUDA_EVENT_FIRST + c->wait_event - 1);
    } else {
        cuda_log_flush(c);
        cuda_device_side_follow(self(s)->side);
    }
}

static void side_mark(struct compute_side *s, size_t mark)
{
    cuda_device_side_mark(self(s)->side, mark);
}

static bool side_reached(struct compute_side *s, size_t mark)
{
    return cuda_device_side_reached(self(s)->side, mark);
}

static void side_lead(struct compute_side *s, size_t mark)
{
    cuda_log_flush(self(s)->compute); /* calls made before lead() do not wait */
    cuda_device_side_lead(self(s)->side, mark);
}

const struct compute_side_ops cuda_side_ops = {
    .open = side_open,
    .close = side_close,
    .stream = side_stream,
    .enter = side_enter,
    .follow = side_follow,
    .mark = side_mark,
    .reached = side_reached,
    .lead = side_lead,
};
