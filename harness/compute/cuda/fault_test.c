/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fault_test.c - what the backend cuda says when a real GPU fails. A fault leaves the device of a process unusable, so
 * each case is a process of its own; the emulated device has no such faults. Ends with 77 (skipped) without a GPU.
 *
 * usage: fault_test illegal_address | no_memory
 */
#include <stdio.h>
#include <string.h>

#include "harness/base/suite/unit.h"
#include "harness/compute/compute.h"
#include "harness/compute/suite/gpu_skip.h"

static struct compute *opened(void)
{
    struct compute *c = NULL;

    assert_int_equal(compute_open(&c, &compute_cuda, NULL), RC_OK);
    return c;
}

/* compute.C4: the next sync reports it; what is asked of the device afterwards fails too, and is not called a lack of
 * memory.
 */
UNIT_TEST_OF("illegal_address", illegal_address_is_told)
{
    struct compute *c = opened();
    void *memory = NULL;

    compute_accumulate(c, (float *)(uintptr_t)4096, (const float *)(uintptr_t)8192, 1024);
    assert_int_equal(compute_sync(c), RC_DEVICE);
    assert_non_null(strstr(rc_message(), "illegal memory access"));
    assert_int_equal(compute_memory_open(c, &memory, 4096, "array"), RC_DEVICE);
    assert_non_null(strstr(rc_message(), "illegal memory access"));
    assert_null(memory);
    compute_close(&c);
}

/* More than any GPU has: refused with both numbers, and the device goes on. */
UNIT_TEST_OF("no_memory", lack_of_memory_is_told)
{
    struct compute *c = opened();
    const size_t n_bytes = (size_t)1 << 46;
    void *memory = NULL;
    float x[8] = { -1.0f, 2.0f, -3.0f, 4.0f, 5.0f, 6.0f, 7.0f, 8.0f };

    assert_int_equal(compute_memory_open(c, &memory, n_bytes, "activations"), RC_NOMEM);
    assert_non_null(strstr(rc_message(), "activations: needs 70368744177664 bytes, "));
    assert_null(memory);
    assert_int_equal(compute_memory_open(c, &memory, sizeof x, "array"), RC_OK);
    compute_put(c, memory, x, sizeof x);
    compute_accumulate(c, memory, (const float *)memory + 4, 4);
    compute_get(c, x, memory, sizeof x);
    assert_int_equal(compute_sync(c), RC_OK);
    assert_true(x[0] == 4.0f && x[1] == 8.0f && x[2] == 4.0f && x[3] == 12.0f);
    compute_memory_close(c, &memory);
    compute_close(&c);
}

int main(int argc, char **argv)
{
    struct compute *c = NULL;

    if (compute_open(&c, &compute_cuda, NULL) == RC_UNSUPPORTED)
        return gpu_skip(rc_message());
    compute_close(&c);
    return unit_run("faults", argc > 1 ? argv[1] : NULL, NULL, NULL);
}
