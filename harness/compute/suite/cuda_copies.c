/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_copies.c - copies between the host and the device, of any size, and beside events. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/compute/cuda/cuda.h"
#include "harness/compute/cuda/on_host/on_host_test.h"
#include "harness/compute/suite/cuda_kit.h"

/* compute.C4: after wait_event, get, put and sync do not wait for later calls; what was put is there when put
 * returns. */
void wait_event_ignores_later_calls(void **state)
{
    struct side *a = side_open(&compute_cuda, NULL);
    float *x = side_reals(a, 64), *y = side_reals(a, 64), *z = side_reals(a, 64), was[64], at_event[64], after[64];
    void *pinned = NULL;

    (void)state;
    assert_int_equal(compute_host_open(a->c, &pinned, sizeof was, "host"), RC_OK);
    compute_get(a->c, was, x, sizeof was);
    memcpy(pinned, was, sizeof was);
    compute_accumulate(a->c, x, x, 64);
    compute_record_event(a->c, 1);
    compute_accumulate(a->c, y, x, 64);
    compute_record_event(a->c, 2);
    compute_wait_event(a->c, 1);
    assert_int_equal(compute_sync(a->c), RC_OK);
    compute_get(a->c, at_event, x, sizeof at_event);
#if GRADMARK_CUDA_ON_HOST
    const size_t n_queued = on_host_n_queued(((struct cuda_compute *)a->c)->device);
#endif
    compute_put(a->c, z, pinned, sizeof was);
    memset(pinned, 0, sizeof was);
#if GRADMARK_CUDA_ON_HOST
    assert_true(n_queued > 0);
    assert_int_equal(on_host_n_queued(((struct cuda_compute *)a->c)->device), n_queued + 1); /* to wait for the copy */
#endif
    compute_wait_event(a->c, -1);
    compute_accumulate(a->c, x, x, 64);
    compute_get(a->c, after, x, sizeof after);
    for (int i = 0; i < 64; i++)
        assert_true(at_event[i] == 2.0f * was[i] && after[i] == 4.0f * was[i]);
    compute_get(a->c, after, z, sizeof after);
    assert_memory_equal(after, was, sizeof was);
    compute_host_close(a->c, &pinned);
    side_close(a);
}

/* compute.C5: the emulated device protects its memory from the host. More bytes than staging has, and a partial last
 * piece. */
void copies_of_any_size_arrive(void **state)
{
    struct side *a = side_open(&compute_cuda, NULL);
    const size_t n = (size_t)CUDA_STAGING_BYTES * 3 / sizeof(float) + 5;
    float *x = side_reals(a, n), *host = malloc(n * sizeof *host);

    (void)state;
    assert_non_null(host);
    for (int k = 0; k < 2; k++) { /* a call reads what was put before; get returns what calls wrote before */
        for (size_t i = 0; i < n; i++)
            host[i] = (float)(i % 1000003);
        compute_put(a->c, x, host, n * sizeof *host);
        compute_accumulate(a->c, x, x + n / 2, n / 2);
        memset(host, 0, n * sizeof *host);
        compute_get(a->c, host, x, n * sizeof *host);
        for (size_t i = 0; i < n; i++)
            assert_true(host[i] == (float)(i % 1000003) + (i < n / 2 ? (float)((i + n / 2) % 1000003) : 0.0f));
    }
    free(host);
    side_close(a);
}
