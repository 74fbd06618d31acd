/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compute.c - the list of backends, and what every caller goes through to open one, for its memory and its time. The
 * wrappers of operations: compute_operations.c.
 */
#include "harness/compute/compute.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/compute/side.h"

static const struct module *compute_at(int i)
{
    static const struct module *const all[] = {
        &compute_cpu.module,
#if GRADMARK_HAVE_CUDA
        &compute_cuda.module,
#endif
        &compute_hollow.module,
        NULL
    };

    return all[i];
}

static const struct module_absent absent[] = {
#if !GRADMARK_HAVE_CUDA
    { "cuda", GRADMARK_CUDA_WHY_NOT, COMPUTE_SIDE },
#endif
    { NULL, NULL, 0 },
};

const struct module_kind compute_kind = { "compute", compute_at, absent, "cpu", NULL };

static const struct module *measured_at(int i)
{
    for (int k = 0; compute_at(k) != NULL; k++)
        if (((const struct compute_backend *)compute_at(k))->touches_memory && i-- == 0)
            return compute_at(k);
    return NULL;
}

const struct module_kind measured_compute_kind = { "compute", measured_at, absent, "cpu", NULL };

enum rc compute_find(const struct compute_backend **out, const char *name)
{
    const struct module *m;
    enum rc rc;

    TRY(module_find(&m, &compute_kind, name));
    *out = (const struct compute_backend *)m;
out:
    return rc;
}

static const char *const precisions[] = {
    [PRECISION_FP32] = "fp32", [PRECISION_TF32] = "tf32", [PRECISION_BF16] = "bf16", NULL
};

enum rc precision_find(enum precision *out, const char *name)
{
    for (int i = 0; precisions[i] != NULL; i++)
        if (strcmp(name, precisions[i]) == 0) {
            *out = (enum precision)i;
            return RC_OK;
        }
    return rc_raise(RC_INVAL, "no precision \"%.40s\"; there are fp32, tf32 and bf16", name);
}

enum rc compute_open(struct compute **out, const struct compute_backend *ops, const struct compute_env *env)
{
    struct compute *c = NULL;
    enum rc rc;

    const struct compute_env own = env != NULL ? *env : (struct compute_env){ .charge = NULL };
    TRY(ops->open(&c, &own));
    c->ops = ops;
    c->env = own;
    c->since_sync = c->total = (struct work){ 0.0, 0.0 };
    *out = c;
out:
    return rc;
}

void compute_close(struct compute **c)
{
    if (*c != NULL)
        (*c)->ops->close(c);
    *c = NULL;
}

enum rc compute_sync(struct compute *c)
{
    struct work w = c->since_sync;
    enum rc rc = c->ops->sync != NULL ? c->ops->sync(c) : RC_OK;

    if (rc != RC_OK || (w.flops == 0.0 && w.bytes == 0.0))
        return rc;
    c->since_sync = (struct work){ 0.0, 0.0 };
    c->total.flops += w.flops;
    c->total.bytes += w.bytes;
    if (c->env.charge != NULL)
        c->env.charge(c->env.arg, w.flops, w.bytes);
    return RC_OK;
}

bool compute_takes_packed(const struct compute *c)
{
    return c->ops->takes_packed != NULL && c->ops->takes_packed(c);
}

void compute_tick(struct compute *c)
{
    if (c->env.tick != NULL)
        c->env.tick(c->env.arg);
}

void compute_pass(struct compute *c, uint64_t ns)
{
    compute_tick(c);
    if (c->env.pass != NULL)
        c->env.pass(c->env.arg, ns);
}

/* "WHAT: " before the message of a backend. */
static enum rc named(enum rc rc, const char *what)
{
    return rc_prefix(rc, "%s: ", what);
}

/* To ask what is available takes a tenth of a millisecond, for each of 512 simulated ranks several times: of what is
 * small the allocation itself tells. */
enum { MIN_ASKED_BYTES = 1 << 20 };

enum rc compute_memory_open(struct compute *c, void **out, size_t n_bytes, const char *what)
{
    const size_t available = n_bytes >= MIN_ASKED_BYTES ? c->ops->memory_available(c) : SIZE_MAX;

    if (n_bytes > available)
        return rc_raise(RC_NOMEM, "%s: needs %zu bytes, %zu available", what, n_bytes, available);
    return named(c->ops->memory_open(c, out, n_bytes), what);
}

void compute_memory_close(struct compute *c, void **memory)
{
    if (*memory != NULL)
        c->ops->memory_close(c, memory);
    *memory = NULL;
}

enum rc compute_host_open(struct compute *c, void **out, size_t n_bytes, const char *what)
{
    if (c->ops->host_open != NULL)
        return named(c->ops->host_open(c, out, n_bytes), what);
    *out = calloc(n_bytes > 0 ? n_bytes : 1, 1);
    return *out != NULL ? RC_OK : rc_raise(RC_NOMEM, "%s: needs %zu bytes of the host's memory", what, n_bytes);
}

void compute_host_close(struct compute *c, void **memory)
{
    if (*memory != NULL && c->ops->host_close != NULL)
        c->ops->host_close(c, memory);
    else
        free(*memory);
    *memory = NULL;
}

void compute_put(struct compute *c, void *to, const void *host, size_t n_bytes)
{
    c->ops->put(c, to, host, n_bytes);
}

void compute_get(struct compute *c, void *host, const void *from, size_t n_bytes)
{
    c->ops->get(c, host, from, n_bytes);
}

void compute_start(struct compute *c)
{
    if (c->ops->start != NULL)
        c->ops->start(c);
}

void compute_upload(struct compute *c, void *to, const void *host, size_t n_bytes)
{
    assert(c->ops->upload != NULL);
    c->ops->upload(c, to, host, n_bytes);
}

enum rc compute_fetch(struct compute *c, void *host, const void *from, size_t n_bytes)
{
    compute_get(c, host, from, n_bytes);
    return compute_sync(c);
}

bool compute_has_events(const struct compute *c)
{
    return c->ops->record_event != NULL;
}

void compute_record_event(struct compute *c, int k)
{
    assert(k >= 0 && k < COMPUTE_EVENTS && compute_has_events(c));
    c->ops->record_event(c, k);
}

void compute_wait_event(struct compute *c, int k)
{
    assert(k >= -1 && k < COMPUTE_EVENTS && c->ops->wait_event != NULL);
    c->ops->wait_event(c, k);
}

enum rc compute_side_open(struct compute_side **out, struct compute *c, size_t n_marks)
{
    char names[128];
    enum rc rc;

    *out = NULL;
    if (!c->ops->side) {
        module_names_with(names, sizeof names, &compute_kind, COMPUTE_SIDE);
        FAIL(RC_UNSUPPORTED, "compute %s: has no stream for a library beside its operations; %s has",
             c->ops->module.name, names);
    }
    TRY(c->ops->side->open(out, c, n_marks));
    (*out)->ops = c->ops->side;
    (*out)->compute = c;
out:
    return rc;
}

void compute_side_close(struct compute_side **s)
{
    if (*s)
        (*s)->ops->close(s);
    *s = NULL;
}
