/* SPDX-License-Identifier: Apache-2.0 */
/* fake_device.c - cpu, called with the host addresses of the arrays. */
#include "harness/compute/suite/fake_device.h"

#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "harness/compute/side.h"
#include "harness/compute/suite/emulated_stream.h"

struct fake {
    struct compute base;
    struct compute *cpu;
};

#define OFFSET_BYTES ((uintptr_t)1 << 62)

static struct compute *cpu_of(struct compute *c)
{
    return ((struct fake *)c)->cpu;
}

static void *host_address(const void *p)
{
    return p ? (void *)((uintptr_t)p - OFFSET_BYTES) : NULL;
}

static enum rc fake_open(struct compute **out, const struct compute_env *env)
{
    const struct compute_env host = { .n_threads = env->n_threads, .may_spin = env->may_spin };
    struct fake *f = calloc(1, sizeof *f);
    enum rc rc;

    if (!f)
        return rc_raise(RC_NOMEM, "compute fake: no memory");
    TRY(compute_open(&f->cpu, &compute_cpu, &host));
    *out = &f->base;
    f = NULL;
out:
    free(f);
    return rc;
}

static void fake_close(struct compute **c)
{
    compute_close(&((struct fake *)*c)->cpu);
    free(*c);
    *c = NULL;
}

static enum rc fake_memory_open(struct compute *c, void **out, size_t n_bytes)
{
    void *host = NULL;
    enum rc rc;

    TRY(compute_cpu.memory_open(cpu_of(c), &host, n_bytes));
    *out = (void *)((uintptr_t)host + OFFSET_BYTES);
out:
    return rc;
}

static void fake_memory_close(struct compute *c, void **memory)
{
    void *host = host_address(*memory);

    compute_cpu.memory_close(cpu_of(c), &host);
    *memory = NULL;
}

static size_t fake_memory_available(struct compute *c)
{
    return compute_cpu.memory_available(cpu_of(c));
}

static void fake_put(struct compute *c, void *to, const void *host, size_t n_bytes)
{
    compute_cpu.put(cpu_of(c), host_address(to), host, n_bytes);
}

static void fake_get(struct compute *c, void *host, const void *from, size_t n_bytes)
{
    compute_cpu.get(cpu_of(c), host, host_address(from), n_bytes);
}

static enum rc fake_sync(struct compute *c)
{
    return compute_sync(cpu_of(c));
}

/* The arrays of an operation, which is passed on with their addresses on the host. */
static void to_host(void *op, const size_t *at_bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char *member = (char *)op + at_bytes[i];
        void *array;
        memcpy(&array, member, sizeof array);
        array = host_address(array);
        memcpy(member, &array, sizeof array);
    }
}

#define OPERATION(member, type, ...)                                    \
    static void fake_##member(struct compute *c, const struct type *op) \
    {                                                                   \
        static const size_t at_bytes[] = { __VA_ARGS__ };               \
        struct type host = *op;                                         \
                                                                        \
        to_host(&host, at_bytes, sizeof at_bytes / sizeof *at_bytes);   \
        compute_cpu.member(cpu_of(c), &host);                           \
    }
#define OF(type, array) offsetof(struct type, array)

#define OF_POOL OF(pool_forward, y), OF(pool_forward, argmax), OF(pool_forward, x)
#define OF_POOL_GRAD OF(pool_grad, dx), OF(pool_grad, dy), OF(pool_grad, argmax)

OPERATION(gemm, gemm, OF(gemm, a), OF(gemm, b), OF(gemm, c))
OPERATION(conv, conv_forward, OF(conv_forward, y), OF(conv_forward, x), OF(conv_forward, weight),
          OF(conv_forward, epilogue.scale), OF(conv_forward, epilogue.shift), OF(conv_forward, epilogue.add))
OPERATION(conv_input_grad, conv_input_grad, OF(conv_input_grad, dx), OF(conv_input_grad, dy),
          OF(conv_input_grad, weight))
OPERATION(conv_weight_grad, conv_weight_grad, OF(conv_weight_grad, dweight), OF(conv_weight_grad, dy),
          OF(conv_weight_grad, x))
OPERATION(conv_bias_grad, conv_bias_grad, OF(conv_bias_grad, dbias), OF(conv_bias_grad, dy), OF(conv_bias_grad, relu))
OPERATION(batch_norm, batch_norm_forward, OF(batch_norm_forward, z), OF(batch_norm_forward, mean),
          OF(batch_norm_forward, inv_std), OF(batch_norm_forward, running_mean), OF(batch_norm_forward, running_var),
          OF(batch_norm_forward, y), OF(batch_norm_forward, gamma), OF(batch_norm_forward, beta),
          OF(batch_norm_forward, add))
OPERATION(batch_norm_fold, batch_norm_fold, OF(batch_norm_fold, scale), OF(batch_norm_fold, shift),
          OF(batch_norm_fold, gamma), OF(batch_norm_fold, beta), OF(batch_norm_fold, running_mean),
          OF(batch_norm_fold, running_var))
OPERATION(batch_norm_grad, batch_norm_grad, OF(batch_norm_grad, dy), OF(batch_norm_grad, dgamma),
          OF(batch_norm_grad, dbeta), OF(batch_norm_grad, dz), OF(batch_norm_grad, y), OF(batch_norm_grad, z),
          OF(batch_norm_grad, gamma), OF(batch_norm_grad, beta), OF(batch_norm_grad, mean),
          OF(batch_norm_grad, inv_std))
OPERATION(softmax_xent, softmax_xent, OF(softmax_xent, dlogits), OF(softmax_xent, logits), OF(softmax_xent, label))
OPERATION(max_pool, pool_forward, OF_POOL)
OPERATION(max_pool_grad, pool_grad, OF_POOL_GRAD)
OPERATION(avg_pool, pool_forward, OF_POOL)
OPERATION(avg_pool_grad, pool_grad, OF_POOL_GRAD)
OPERATION(adaptive_pool, pool_forward, OF_POOL)
OPERATION(adaptive_pool_grad, pool_grad, OF_POOL_GRAD)
#undef OPERATION

static void fake_dropout(struct compute *c, float *x, size_t n, float keep_ratio, uint64_t key)
{
    compute_cpu.dropout(cpu_of(c), host_address(x), n, keep_ratio, key);
}

static void fake_swap_axes(struct compute *c, float *out, const float *in, size_t n_a, size_t n_b, size_t n_inner)
{
    compute_cpu.swap_axes(cpu_of(c), host_address(out), host_address(in), n_a, n_b, n_inner);
}

static void fake_bias_add(struct compute *c, float *y, const float *bias, size_t outer, size_t n, size_t inner)
{
    compute_cpu.bias_add(cpu_of(c), host_address(y), host_address(bias), outer, n, inner);
}

static void fake_bias_grad(struct compute *c, float *dbias, const float *dy, size_t outer, size_t n, size_t inner)
{
    compute_cpu.bias_grad(cpu_of(c), host_address(dbias), host_address(dy), outer, n, inner);
}

static void fake_relu_grad(struct compute *c, float *dx, const float *x, size_t n)
{
    compute_cpu.relu_grad(cpu_of(c), host_address(dx), host_address(x), n);
}

static void fake_mean_square(struct compute *c, double *mean_loss, float *dy, const float *y, const float *target,
                             size_t n)
{
    compute_cpu.mean_square(cpu_of(c), mean_loss, host_address(dy), host_address(y), host_address(target), n);
}

static void fake_zero(struct compute *c, float *x, size_t n)
{
    compute_cpu.zero(cpu_of(c), host_address(x), n);
}

static void fake_accumulate(struct compute *c, float *y, const float *x, size_t n)
{
    compute_cpu.accumulate(cpu_of(c), host_address(y), host_address(x), n);
}

static void fake_sgd_step(struct compute *c, float *p, float *v, const float *g, size_t n, const struct sgd *s)
{
    compute_cpu.sgd_step(cpu_of(c), host_address(p), host_address(v), host_address(g), n, s);
}

static void fake_adagrad_step(struct compute *c, float *p, float *sum, const float *g, size_t n,
                              const struct adagrad *s)
{
    compute_cpu.adagrad_step(cpu_of(c), host_address(p), host_address(sum), host_address(g), n, s);
}

static void fake_adam_step(struct compute *c, float *p, float *m, float *v, const float *g, size_t n,
                           const struct adam *s)
{
    compute_cpu.adam_step(cpu_of(c), host_address(p), host_address(m), host_address(v), host_address(g), n, s);
}

/* --- the side stream: its work goes on when it is asked for --- */

struct side_call {
    bool (*step)(void *arg);
    void *arg;
    struct side_call *next;
};

struct fake_side {
    struct compute_side base;
    struct emulated_stream stream;
    struct side_call *first, *last;
    size_t n_queued, n_done;
    size_t *mark; /* n_queued then */
};

static struct fake_side *fake_side_of(struct compute_side *s)
{
    return (struct fake_side *)s;
}

static void queue_call(struct emulated_stream *stream, bool (*step)(void *arg), void *arg)
{
    struct fake_side *s = (struct fake_side *)((char *)stream - offsetof(struct fake_side, stream));
    struct side_call *call = calloc(1, sizeof *call);

    if (!call)
        abort();
    *call = (struct side_call){ .step = step, .arg = arg };
    *(s->first ? &s->last->next : &s->first) = call;
    s->last = call;
    s->n_queued++;
}

static bool side_goes_on(struct fake_side *s, size_t n_wanted)
{
    while (s->n_done < n_wanted && s->first->step(s->first->arg)) {
        struct side_call *done = s->first;
        s->first = done->next;
        free(done);
        s->n_done++;
    }
    return s->n_done >= n_wanted;
}

static void side_close(struct compute_side **side)
{
    struct fake_side *s = fake_side_of(*side);

    while (!side_goes_on(s, s->n_queued))
        (void)sched_yield();
    free(s->mark);
    free(s);
    *side = NULL;
}

static enum rc side_open(struct compute_side **out, struct compute *c, size_t n_marks)
{
    struct fake_side *s = calloc(1, sizeof *s);

    (void)c;
    if (!s)
        return rc_raise(RC_NOMEM, "compute fake: no memory");
    s->stream = (struct emulated_stream){ .call = queue_call, .host_address = host_address };
    s->mark = calloc(n_marks + 1, sizeof *s->mark);
    *out = &s->base;
    return RC_OK;
}

static void *side_stream(struct compute_side *s)
{
    return &fake_side_of(s)->stream;
}

static void side_nothing(struct compute_side *s)
{
    (void)s; /* calls of this backend are done when they return */
}

static void side_mark(struct compute_side *s, size_t mark)
{
    fake_side_of(s)->mark[mark] = fake_side_of(s)->n_queued;
}

static bool side_reached(struct compute_side *s, size_t mark)
{
    return side_goes_on(fake_side_of(s), fake_side_of(s)->mark[mark]);
}

static void side_lead(struct compute_side *s, size_t mark)
{
    if (fake_side_of(s)->n_done < fake_side_of(s)->mark[mark])
        abort(); /* nobody here waits */
}

/* As many as a test may have ranks. */
static enum rc fake_device_count(int *out)
{
    *out = 64;
    return RC_OK;
}

static void fake_device_id(struct compute *c, char out[COMPUTE_DEVICE_ID_BYTES])
{
    snprintf(out, COMPUTE_DEVICE_ID_BYTES, "fake:%d", c->env.device);
}

static const struct compute_side_ops fake_side_ops = {
    .open = side_open,
    .close = side_close,
    .stream = side_stream,
    .enter = side_nothing,
    .follow = side_nothing,
    .mark = side_mark,
    .reached = side_reached,
    .lead = side_lead,
};

const struct compute_backend compute_fake_device = {
    .module.name = "fake",
    .module.caps = COMPUTE_SIDE,
    .side = &fake_side_ops,
    .touches_memory = true,
    .host_memory = false,
    .bits_at_any_alignment = true,
    .device_kind = "CPU",
#define X(name, ...) .name = fake_##name,
    COMPUTE_DEVICE_OPERATIONS(X)
#undef X
        .open = fake_open,
    .close = fake_close,
    .memory_open = fake_memory_open,
    .memory_close = fake_memory_close,
    .memory_available = fake_memory_available,
    .device_count = fake_device_count,
    .device_id = fake_device_id,
    .put = fake_put,
    .get = fake_get,
    .sync = fake_sync,
};
