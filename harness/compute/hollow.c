/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hollow.c - the backend without operations: the wrappers count the work, and virtual time passes (env.charge).
 *
 * Hollow means sizes without data: every array may be NULL and keeps what it holds. Losses are NaN, so that nobody
 * takes them for results.
 */
#include <stdlib.h>

#include "harness/compute/compute.h"
#include "harness/world/world.h"

static enum rc hollow_open(struct compute **out, const struct compute_env *env)
{
    struct compute *c = calloc(1, sizeof *c);

    (void)env;
    if (c == NULL)
        return rc_raise(RC_NOMEM, "compute hollow: %zu bytes", sizeof *c);
    *out = c;
    return RC_OK;
}

static void hollow_close(struct compute **c)
{
    free(*c);
    *c = NULL;
}

static enum rc memory_open(struct compute *c, void **out, size_t n_bytes)
{
    (void)c, (void)n_bytes;
    *out = NULL;
    return RC_OK;
}

static void memory_close(struct compute *c, void **memory)
{
    (void)c, (void)memory;
}

static size_t memory_available(struct compute *c)
{
    (void)c;
    return SIZE_MAX;
}

static void put(struct compute *c, void *to, const void *host, size_t n_bytes)
{
    (void)c, (void)to, (void)host, (void)n_bytes;
}

static void get(struct compute *c, void *host, const void *from, size_t n_bytes)
{
    (void)c, (void)host, (void)from, (void)n_bytes;
}

const struct compute_backend compute_hollow = {
    .module.name = "hollow",
    .module.needs_world = WORLD_VIRTUAL_TIME,
    .touches_memory = false,
    .bits_at_any_alignment = true,
    .device_kind = "CPU",
    .open = hollow_open,
    .close = hollow_close,
    .memory_open = memory_open,
    .memory_close = memory_close,
    .memory_available = memory_available,
    .put = put,
    .get = get,
};
