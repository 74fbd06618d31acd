/* SPDX-License-Identifier: Apache-2.0 */
/* suite_counts.c - the work that is counted and charged (compute.C2); what hollow backends and gemm_only may not
 * write. */
#include <math.h>

#include "harness/compute/suite/suite_kit.h"

enum { N_ELEMS = 2 * 3 * 6 * 6 * 9, N_FLOATS = 10 }; /* no array below is larger */

/* Arguments of a call: its outputs first, then its inputs. NULL for a backend that touches no memory. */
struct arrays {
    float *f[N_FLOATS];
    const uint32_t *label;
    uint8_t *argmax;
    double loss;
    size_t n_correct;
    struct pool_forward pool;
    struct pool_grad pool_grad;
};

static const struct conv_shape conv = { { 2, 3, 6, 5, 3, 3, 1, 1, 1, 1 }, 4 }; /* out 6 x 5 */
static const struct window pooling = { 2, 3, 6, 6, 2, 2, 2, 2, 0, 0 };         /* out 3 x 3 */
static const struct batch_norm norm = { 3, 50, BATCH_NORM_EPSILON, 0.1f, true };
static const struct sgd plain = { 0.5f, 0.0f, 0.0f, 1.0f }, heavy = { 0.5f, 0.5f, 0.0f, 1.0f };

static const struct pool_forward *pool_of(struct arrays *x)
{
    x->pool = (struct pool_forward){
        .window = pooling, .out_h = 2, .out_w = 2, .y = x->f[0], .argmax = x->argmax, .x = x->f[1]
    };
    return &x->pool;
}

static const struct pool_grad *pool_grad_of(struct arrays *x, bool add)
{
    x->pool_grad = (struct pool_grad){
        .window = pooling, .out_h = 2, .out_w = 2, .dx = x->f[0], .dy = x->f[1], .argmax = x->argmax, .add = add
    };
    return &x->pool_grad;
}

static void do_gemm(struct compute *c, struct arrays *x)
{
    const struct gemm g = { .M = 4, .N = 5, .K = 6, .a = x->f[1], .b = x->f[2], .c = x->f[0] };

    compute_gemm(c, &g);
}

static void do_conv_all(struct compute *c, struct arrays *x)
{
    const struct epilogue e = { x->f[3], x->f[4], x->f[5], true };

    compute_conv(c,
                 &(struct conv_forward){ .shape = conv, .y = x->f[0], .x = x->f[1], .weight = x->f[2], .epilogue = e });
}

static void do_norm(struct compute *c, struct arrays *x)
{
    compute_batch_norm(c, &(struct batch_norm_forward){ .shape = norm,
                                                        .z = x->f[0],
                                                        .mean = x->f[1],
                                                        .inv_std = x->f[2],
                                                        .running_mean = x->f[3],
                                                        .running_var = x->f[4],
                                                        .y = x->f[5],
                                                        .gamma = x->f[6],
                                                        .beta = x->f[7] });
}

static void do_fold(struct compute *c, struct arrays *x)
{
    compute_batch_norm_fold(c, &(struct batch_norm_fold){ .shape = norm,
                                                          .scale = x->f[0],
                                                          .shift = x->f[1],
                                                          .gamma = x->f[2],
                                                          .beta = x->f[3],
                                                          .running_mean = x->f[4],
                                                          .running_var = x->f[5] });
}

static void do_norm_grad(struct compute *c, struct arrays *x)
{
    compute_batch_norm_grad(c, &(struct batch_norm_grad){ .shape = norm,
                                                          .dy = x->f[0],
                                                          .dgamma = x->f[1],
                                                          .dbeta = x->f[2],
                                                          .dz = x->f[3],
                                                          .y = x->f[4],
                                                          .gamma = x->f[5],
                                                          .beta = x->f[6],
                                                          .mean = x->f[7],
                                                          .inv_std = x->f[8] });
}

static void do_softmax(struct compute *c, struct arrays *x)
{
    compute_softmax_xent(c, &(struct softmax_xent){ .B = 4,
                                                    .K = 10,
                                                    .mean_loss = &x->loss,
                                                    .n_correct = &x->n_correct,
                                                    .dlogits = x->f[0],
                                                    .logits = x->f[1],
                                                    .label = x->label,
                                                    .weight = 1.0f });
}

static void do_sum_arrays(struct compute *c, struct arrays *x)
{
    const float *const operand[] = { x->f[0], x->f[1], x->f[2] };
    float *const result[] = { x->f[0], x->f[1] };

    compute_sum_arrays(
        c, &(struct sum_arrays){ .operand = operand, .result = result, .n_operands = 3, .n_results = 2, .n = 50 });
}

#define CONV_FLOPS (2.0 * 4 * 60 * 27)
#define CONV_ELEMS (180.0 + 240.0 + 108.0)

/* X(id, name, flops, bytes, multiplies, has_loss, the call) */
#define CALLS(X)                                                                                                     \
    X(gemm, "gemm", 2.0 * 4 * 5 * 6, 0.0, true, false, do_gemm(c, x))                                                \
    X(conv, "conv", CONV_FLOPS, 4.0 * CONV_ELEMS, true, false,                                                       \
      compute_conv(c, &(struct conv_forward){ .shape = conv, .y = x->f[0], .x = x->f[1], .weight = x->f[2] }))       \
    X(conv_all, "conv with an epilogue", CONV_FLOPS, 4.0 * CONV_ELEMS, true, false, do_conv_all(c, x))               \
    X(input_grad, "conv_input_grad", CONV_FLOPS, 4.0 * CONV_ELEMS, true, false,                                      \
      compute_conv_input_grad(                                                                                       \
          c, &(struct conv_input_grad){ .shape = conv, .dx = x->f[0], .dy = x->f[1], .weight = x->f[2] }))           \
    X(input_grad_add, "conv_input_grad, added", CONV_FLOPS, 4.0 * (CONV_ELEMS + 180), true, false,                   \
      compute_conv_input_grad(c, &(struct conv_input_grad){                                                          \
                                     .shape = conv, .dx = x->f[0], .dy = x->f[1], .weight = x->f[2], .add = true })) \
    X(weight_grad, "conv_weight_grad", CONV_FLOPS, 4.0 * CONV_ELEMS, true, false,                                    \
      compute_conv_weight_grad(                                                                                      \
          c, &(struct conv_weight_grad){ .shape = conv, .dweight = x->f[0], .dy = x->f[1], .x = x->f[2] }))          \
    X(conv_bias_grad, "conv_bias_grad", 0.0, 4.0 * (150 + 3), false, false,                                          \
      compute_conv_bias_grad(c, &(struct conv_bias_grad){ .C = 3, .n = 50, .dbias = x->f[0], .dy = x->f[1] }))       \
    X(norm, "batch_norm", 0.0, 4.0 * (2 * 150 + 8 * 3), false, false, do_norm(c, x))                                 \
    X(fold, "batch_norm_fold", 0.0, 4.0 * 6 * 3, false, false, do_fold(c, x))                                        \
    X(norm_grad, "batch_norm_grad", 0.0, 4.0 * (3 * 150 + 6 * 3), false, false, do_norm_grad(c, x))                  \
    X(max_pool, "max_pool", 0.0, 4.0 * (216 + 54) + 54, false, false, compute_max_pool(c, pool_of(x)))               \
    X(max_pool_grad, "max_pool_grad", 0.0, 4.0 * (216 + 54) + 54, false, false,                                      \
      compute_max_pool_grad(c, pool_grad_of(x, false)))                                                              \
    X(max_pool_grad_add, "max_pool_grad, added", 0.0, 4.0 * (2 * 216 + 54) + 54, false, false,                       \
      compute_max_pool_grad(c, pool_grad_of(x, true)))                                                               \
    X(avg_pool, "avg_pool", 0.0, 4.0 * (216 + 54), false, false, compute_avg_pool(c, pool_of(x)))                    \
    X(avg_pool_grad, "avg_pool_grad", 0.0, 4.0 * (216 + 54), false, false,                                           \
      compute_avg_pool_grad(c, pool_grad_of(x, false)))                                                              \
    X(adaptive_pool, "adaptive_pool", 0.0, 4.0 * (216 + 24), false, false, compute_adaptive_pool(c, pool_of(x)))     \
    X(adaptive_pool_grad, "adaptive_pool_grad", 0.0, 4.0 * (216 + 24), false, false,                                 \
      compute_adaptive_pool_grad(c, pool_grad_of(x, false)))                                                         \
    X(dropout, "dropout", 0.0, 4.0 * 2 * 50, false, false, compute_dropout(c, x->f[0], 50, 0.5f, 1))                 \
    X(bias_add, "bias_add", 0.0, 4.0 * (2 * 2 * 5 * 7 + 5), false, false,                                            \
      compute_bias_add(c, x->f[0], x->f[1], 2, 5, 7))                                                                \
    X(bias_grad, "bias_grad", 0.0, 4.0 * (2 * 5 * 7 + 2 * 5), false, false,                                          \
      compute_bias_grad(c, x->f[0], x->f[1], 2, 5, 7))                                                               \
    X(swap_axes, "swap_axes", 0.0, 4.0 * (2 * 2 * 5 * 7), false, false,                                              \
      compute_swap_axes(c, x->f[0], x->f[1], 2, 5, 7))                                                               \
    X(relu_grad, "relu_grad", 0.0, 4.0 * 3 * 50, false, false, compute_relu_grad(c, x->f[0], x->f[1], 50))           \
    X(softmax, "softmax_xent", 0.0, 4.0 * (2 * 40 + 4), false, true, do_softmax(c, x))                               \
    X(mean_square, "mean_square", 0.0, 4.0 * 3 * 50, false, true,                                                    \
      compute_mean_square(c, &x->loss, x->f[0], x->f[1], x->f[2], 50))                                               \
    X(zero, "zero", 0.0, 4.0 * 50, false, false, compute_zero(c, x->f[0], 50))                                       \
    X(accumulate, "accumulate", 0.0, 4.0 * 3 * 50, false, false, compute_accumulate(c, x->f[0], x->f[1], 50))        \
    X(sum_arrays, "sum_arrays", 0.0, 4.0 * 5 * 50, false, false, do_sum_arrays(c, x))                                \
    X(narrow, "narrow", 0.0, 6.0 * 50, false, false,                                                                 \
      compute_narrow(c, (uint16_t *)(void *)x->f[0], x->f[1], 50, WIRE_F16))                                         \
    X(widen, "widen", 0.0, 6.0 * 50, false, false,                                                                   \
      compute_widen(c, x->f[0], (const uint16_t *)(void *)x->f[1], 50, WIRE_BF16, false))                            \
    X(widen_add, "widen, added", 0.0, 10.0 * 50, false, false,                                                       \
      compute_widen(c, x->f[0], (const uint16_t *)(void *)x->f[1], 50, WIRE_BF16, true))                             \
    X(round, "round", 0.0, 8.0 * 50, false, false, compute_round(c, x->f[0], NULL, 50, WIRE_F16, false))             \
    X(round_heavy, "round with a residual", 0.0, 16.0 * 50, false, false,                                            \
      compute_round(c, x->f[0], x->f[1], 50, WIRE_F16, true))                                                        \
    X(sgd, "sgd_step", 0.0, 4.0 * 3 * 50, false, false, compute_sgd_step(c, x->f[0], NULL, x->f[1], 50, &plain))     \
    X(sgd_heavy, "sgd_step with momentum", 0.0, 4.0 * 5 * 50, false, false,                                          \
      compute_sgd_step(c, x->f[0], x->f[1], x->f[2], 50, &heavy))                                                    \
    X(adagrad, "adagrad_step", 0.0, 4.0 * 5 * 50, false, false,                                                      \
      compute_adagrad_step(c, x->f[0], x->f[1], x->f[2], 50, &(struct adagrad){ 0.5f, 1.0f, 0.0f, 1.0f }))           \
    X(adam, "adam_step", 0.0, 4.0 * 7 * 50, false, false,                                                            \
      compute_adam_step(c, x->f[0], x->f[1], x->f[2], x->f[3], 50, &(struct adam){ .epsilon = 1.0f }))

#define X(id, name, flops, bytes, multiplies, has_loss, ...)   \
    static void call_##id(struct compute *c, struct arrays *x) \
    {                                                          \
        __VA_ARGS__;                                           \
    }
CALLS(X)
#undef X

static const struct call {
    const char *name;
    void (*run)(struct compute *c, struct arrays *x);
    struct work work;
    bool multiplies; /* runs in the gemm_only baseline, which leaves anything in f[0] */
    bool has_loss;
} calls[] = {
#define X(id, name, flops, bytes, multiplies, has_loss, ...) \
    { name, call_##id, { flops, bytes }, multiplies, has_loss },
    CALLS(X)
#undef X
};

enum { N_CALLS = sizeof calls / sizeof calls[0] };

/* n_ignored: the first arrays of f, which a call may write. */
static struct arrays arrays_of(struct suite *s, size_t n_ignored)
{
    struct arrays x = { .loss = 0.0, .n_correct = 99 };

    for (size_t i = 0; i < N_FLOATS; i++) {
        struct array *a = suite_integers(s, N_ELEMS, i);
        x.f[i] = a->v;
        if (i < n_ignored)
            suite_ignore(s, a);
    }
    x.label = (const uint32_t *)(void *)suite_labels(s, N_ELEMS, 10)->v;
    struct array *argmax = suite_labels(s, N_ELEMS / 4, 1); /* zeros: the first element of each window */
    if (n_ignored > 0)
        suite_ignore(s, argmax);
    x.argmax = (uint8_t *)argmax->v;
    return x;
}

struct charged {
    struct work sum;
    int n_calls, n_ticks;
};

static void count_tick(void *arg)
{
    ((struct charged *)arg)->n_ticks++;
}

static void charge(void *arg, double flops, double bytes)
{
    struct charged *charged = arg;

    charged->sum.flops += flops;
    charged->sum.bytes += bytes;
    charged->n_calls++;
}

/* Call twice; then a sync that charges the work, and one without work to charge. */
static void count_call(struct suite *s, const struct call *call, struct arrays *x, struct charged *charged)
{
    const int n_before = charged->n_calls, n_ticks_before = charged->n_ticks;

    charged->sum = (struct work){ 0.0, 0.0 };
    call->run(s->c, x);
    call->run(s->c, x);
    if (charged->n_calls != n_before)
        suite_fail(s, "C2: %s was charged before a sync", call->name);
    if (charged->n_ticks < n_ticks_before + 2)
        suite_fail(s, "C6: %d ticks in two calls of %s", charged->n_ticks - n_ticks_before, call->name);
    suite_sync(s);
    suite_sync(s);
    if (charged->sum.flops != 2.0 * call->work.flops || charged->sum.bytes != 2.0 * call->work.bytes)
        suite_fail(s, "C2: two calls of %s are %g flops and %g bytes, should be %g and %g", call->name,
                   charged->sum.flops, charged->sum.bytes, 2.0 * call->work.flops, 2.0 * call->work.bytes);
    if (charged->n_calls != n_before + 1)
        suite_fail(s, "C2: %d charges for a sync with work", charged->n_calls - n_before);
}

struct saved { /* of s, until close_charging() */
    struct compute *c;
    void *memory;
};

/* Replace s->c by one that charges, with memory of its own. On failure, which is recorded, s->c is NULL. */
static struct saved open_charging(struct suite *s, struct charged *charged, bool gemm_only)
{
    const struct compute_env env = { .charge = charge,
                                     .tick = count_tick,
                                     .arg = charged,
                                     .n_threads = s->n_threads,
                                     .precision = s->options.precision,
                                     .device = s->options.device,
                                     .gemm_only = gemm_only };
    const struct saved saved = { s->c, s->pool.memory[s->n_threads] };

    s->c = NULL;
    s->pool.memory[s->n_threads] = NULL;
    if (compute_open(&s->c, s->ops, &env) != RC_OK ||
        compute_memory_open(s->c, &s->pool.memory[s->n_threads], 2 * N_FLOATS * N_ELEMS * sizeof(float), "counts") !=
            RC_OK) {
        suite_fail(s, "open: %s", rc_message());
        compute_close(&s->c);
    } else if (compute_sync(s->c) != RC_OK || charged->n_calls != 0)
        suite_fail(s, "C2: charged before anything was done");
    return saved;
}

static void close_charging(struct suite *s, const struct saved *saved)
{
    if (s->c != NULL)
        compute_memory_close(s->c, &s->pool.memory[s->n_threads]);
    compute_close(&s->c);
    s->c = saved->c;
    s->pool.memory[s->n_threads] = saved->memory;
}

static void counts_case(struct suite *s, const void *arg)
{
    struct charged charged = { .n_calls = 0 };
    const struct saved saved = open_charging(s, &charged, false);

    (void)arg;
    for (size_t i = 0; s->c != NULL && i < N_CALLS; i++) {
        struct arrays x = arrays_of(s, s->ops->touches_memory ? N_FLOATS : 0);
        count_call(s, &calls[i], &x, &charged);
        suite_end_arrays(s, calls[i].name);
    }
    close_charging(s, &saved);
}

static void run_opening(struct suite *s, const char *name, suite_case *run)
{
    const struct compute_suite_options options = s->options;

    s->options.n_allocations = NULL; /* these open backends */
    s->options.only = NULL;
    suite_run(s, name, run, NULL);
    s->options = options;
}

void suite_counts(struct suite *s)
{
    run_opening(s, "counted work", counts_case);
}

/* gemm_only: the same counts; GEMMs and convolutions write anything to their output, other operations nothing. */
static void gemm_only_case(struct suite *s, const void *arg)
{
    struct charged charged = { .n_calls = 0 };
    const struct saved saved = open_charging(s, &charged, true);

    (void)arg;
    for (size_t i = 0; s->c != NULL && i < N_CALLS; i++) {
        struct arrays x = arrays_of(s, calls[i].multiplies && s->ops->touches_memory ? 1 : 0);
        count_call(s, &calls[i], &x, &charged);
        suite_end_arrays(s, calls[i].name);
    }
    close_charging(s, &saved);
}

void suite_gemm_only(struct suite *s)
{
    run_opening(s, "gemm_only", gemm_only_case);
}

static void untouched_case(struct suite *s, const void *arg)
{
    struct arrays given = arrays_of(s, 0);

    (void)arg;
    for (size_t i = 0; i < 2 * N_CALLS; i++) {
        struct arrays none = { .n_correct = 99 }, *x = i < N_CALLS ? &none : &given;
        const struct call *call = &calls[i % N_CALLS];
        call->run(s->c, x);
        suite_sync(s);
        if (call->has_loss && !isnan(x->loss))
            suite_fail(s, "the loss of %s is %g, should be NaN", call->name, x->loss);
        x->loss = 0.0;
        if (call->run == call_softmax && x->n_correct != 0)
            suite_fail(s, "n_correct is %zu, should be 0", x->n_correct);
    }
}

void suite_untouched(struct suite *s)
{
    run_opening(s, "arrays stay untouched", untouched_case);
}
