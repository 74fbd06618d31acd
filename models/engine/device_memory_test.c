/* SPDX-License-Identifier: Apache-2.0 */
/* device_memory_test.c - what a network needs of a device, beside its activations, is counted before it is opened. */
#include <string.h>

#include "harness/base/suite/unit.h"
#include "models/suite/network_fixture.h"

static size_t limited_bytes;

static size_t limited_memory(struct compute *c)
{
    (void)c;
    return limited_bytes;
}

static size_t made_scratch(struct compute *c, const struct conv_shape *shape, bool with_gradients)
{
    (void)c;
    return (size_t)shape->in.B * (shape->C_out == 10 ? 1000 : 10) + with_gradients;
}

static void made_upload(struct compute *c, void *to, const void *host, size_t n_bytes)
{
    (void)c;
    (void)to;
    (void)host;
    (void)n_bytes;
}

/* Of a device also the batch there, the most scratch of any layer, and the allowance. */
UNIT_TEST(devices_take_more)
{
    struct compute_backend limited = compute_cpu;
    const struct network_fixture_opts opts = { .backend = &limited };
    const struct variant *v = network_variant_find("resnet8");
    struct network_memory needed;
    struct network_fixture f;
    size_t most = 10;

    limited.host_memory = false;
    limited.scratch_bytes = made_scratch;
    limited.allowance_bytes = 5000;
    assert_int_equal(network_fixture_open(&f, v, &opts), RC_OK);
    assert_int_equal(network_memory_needed(&needed, f.compute, f.network,
                                           &(struct network_step){ .n_samples = v->B, .n_micro_batches = 1 }),
                     RC_OK);
    const size_t size = (size_t)f.network->opts.image_size;
    const size_t image_bytes = (size_t)f.network->C_in * size * size * sizeof(float) + sizeof(uint32_t);
    for (int i = 0; i < f.network->n_nodes; i++)
        if (f.network->node[i].kind == NODE_CONV && f.network->node[i].C_out == 10)
            most = 1000;
    assert_int_equal(needed.device_bytes, v->B * (image_bytes + most) + 1 + 5000);
    limited.upload = made_upload; /* and the next one, on its way */
    assert_int_equal(network_memory_needed(&needed, f.compute, f.network,
                                           &(struct network_step){ .n_samples = v->B, .n_micro_batches = 1 }),
                     RC_OK);
    assert_int_equal(needed.device_bytes, v->B * (2 * image_bytes + most) + 1 + 5000);
    limited.upload = NULL;
    assert_int_equal(network_memory_needed(&needed, f.compute, f.network,
                                           &(struct network_step){ .n_samples = v->B, .n_micro_batches = 1 }),
                     RC_OK);
    network_fixture_close(&f);
    limited.memory_available = limited_memory;
    limited_bytes = needed.planned_bytes + needed.state_bytes + needed.device_bytes;
    assert_int_equal(network_fixture_open(&f, v, &opts), RC_OK);
    network_fixture_close(&f);
    limited_bytes--;
    assert_int_equal(network_fixture_open(&f, v, &opts), RC_NOMEM);
    network_fixture_close(&f);
}

UNIT_MAIN("device_memory")
