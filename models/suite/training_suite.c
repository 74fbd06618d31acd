/* SPDX-License-Identifier: Apache-2.0 */
/* training_suite.c - what a training of a network promises, checked against the reference. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/rng.h"
#include "harness/compute/compute.h"
#include "models/suite/network_fixture.h"
#include "models/suite/training_mutants.h"

struct suite {
    const struct variant *v;
    void (*plant)(struct network_trainer *t);
    bool print;
    int n_failures;
};

static void fail_if(struct suite *s, bool failed, const char *what, double got, double want)
{
    if (failed && s->print)
        fprintf(stderr, "%s: %s: %.9g, should be %.9g\n", s->v->workload->module.name, what, got, want);
    s->n_failures += failed;
}

static void open_fixture(struct suite *s, struct network_fixture *f, struct network_fixture_opts opts)
{
    opts.plant = s->plant;
    if (network_fixture_open(f, s->v, &opts) != RC_OK) {
        fprintf(stderr, "%s: %s\n", s->v->workload->module.name, rc_message());
        abort();
    }
}

static double gradient(struct network_fixture *f, uint64_t first, size_t B)
{
    double loss = NAN;

    f->n_called = 0;
    if (workload_gradient(f->training, f->param, first, B, f->grad, &loss, network_fixture_ready, f) != RC_OK)
        abort();
    return loss;
}

static void check_state(struct suite *s, const struct network_fixture *f, const double *want)
{
    size_t n_state;
    const float *state = workload_state(f->training, &n_state);
    double far = 0.0;

    for (size_t i = 0; i < n_state; i++)
        far = isfinite(state[i]) ? fmax(far, fabs((double)state[i] - want[i]) / (0.01 + fabs(want[i]))) : INFINITY;
    fail_if(s, !(far <= s->v->tolerance), "running values are off by", far, 0.0);
}

static void check_segments(struct suite *s, const struct network_fixture *f)
{
    const size_t n = (size_t)f->network->n_segments;
    bool wrong = f->n_called != n;

    for (size_t i = 0; i < n && !wrong; i++)
        wrong = memcmp(&f->called[i], &f->network->segment[n - 1 - i], sizeof f->called[i]) != 0;
    fail_if(s, wrong, "segments are not ready last first (M2)", (double)f->n_called, (double)n);
    fail_if(s, memcmp(f->seen, f->grad, f->network->n_params * sizeof *f->grad) != 0,
            "a gradient changes after ready (M2)", 1.0, 0.0);
}

/* Two steps: losses, gradients and running values are the reference's. */
static void follows_the_reference(struct suite *s)
{
    struct network_fixture f;
    open_fixture(s, &f, (struct network_fixture_opts){ .max_batch = s->v->B + 1 });
    const size_t n_params = f.network->n_params, n_state = f.network->n_state, B = s->v->B;
    struct network_reference *r = network_reference_open(f.network, B);
    double *param = doubles_of(f.param, n_params), *want = doubles_of(f.param, n_params);
    float *initial = calloc(n_state + 1, sizeof *initial);

    network_init_state(f.network, initial);
    double *state = doubles_of(initial, n_state);
    for (uint64_t first = 0; first < 2 * B; first += B) {
        struct network_batch data;
        network_batch_open(&data, &f, first, B);
        const struct network_reference_batch batch = { param, data.x, data.label,
                                                       rng_u64(f.training->env.seed, RNG_DROPOUT, first) };
        const double want_loss = network_reference_train(r, &batch, want, state), loss = gradient(&f, first, B);
        fail_if(s, !(fabs(loss - want_loss) <= 1e-5 * want_loss), "the loss", loss, want_loss);
        const int n_far = network_compare(&f, f.grad, want);
        fail_if(s, n_far > 0, "segments whose gradient is wrong", n_far, 0.0);
        check_state(s, &f, state);
        check_segments(s, &f);
        network_batch_close(&data);
    }
    free(initial);
    free(state);
    free(param);
    free(want);
    network_reference_close(&r);
    network_fixture_close(&f);
}

static double reference_evaluation(const struct network_fixture *f, size_t n_samples, size_t *n_correct)
{
    struct network_reference *r = network_reference_open(f->network, 1);
    double *param = doubles_of(f->param, f->network->n_params), sum = 0.0;
    const struct dataset *d = &f->data.base;
    float *x = calloc(d->n_features, sizeof *x);
    size_t n_state;
    const float *values = workload_state(f->training, &n_state);
    double *state = doubles_of(values, n_state);

    *n_correct = 0;
    for (size_t i = 0; i < n_samples; i++) {
        const uint32_t label = d->ops->label(d, d->n_train + i);
        const struct network_reference_batch batch = { param, x, &label, 0 };
        size_t n_right = 0;
        if (d->ops->image(d, d->n_train + i, x, d->n_features / (size_t)d->C) != RC_OK)
            abort();
        sum += network_reference_infer(r, &batch, state, &n_right) / (double)n_samples;
        *n_correct += n_right;
    }
    free(x);
    free(param);
    free(state);
    network_reference_close(&r);
    return sum;
}

/* models.Q2, Q3: after some training, on running values, without dropout or an auxiliary head; and it changes
 * nothing. */
static void evaluation_is_inference(struct suite *s)
{
    static const size_t n_samples[] = { 1, 7, 0 }; /* 0: all 13 */
    struct network_fixture f;
    size_t n_state;

    open_fixture(s, &f, (struct network_fixture_opts){ .max_batch = 4 });
    gradient(&f, 0, 4);
    gradient(&f, 4, 4);
    const float *state = workload_state(f.training, &n_state);
    float *was = calloc(n_state + 1, sizeof *was);
    memcpy(was, state != NULL ? state : was, n_state * sizeof *was);
    for (size_t k = 0; k < sizeof n_samples / sizeof n_samples[0]; k++) {
        const size_t n = n_samples[k] > 0 ? n_samples[k] : f.data.base.n_test;
        struct evaluation e = { NAN, NAN };
        size_t n_correct;
        const double want = reference_evaluation(&f, n, &n_correct);
        if (workload_evaluate(f.training, f.param, n_samples[k], &e) != RC_OK)
            abort();
        fail_if(s, !(fabs(e.loss - want) <= 1e-4 * want), "the evaluated loss", e.loss, want);
        fail_if(s, !(fabs(e.accuracy_ratio * (double)n - (double)n_correct) < 1e-6), "correct ones",
                e.accuracy_ratio * (double)n, (double)n_correct);
    }
    fail_if(s, memcmp(was, state != NULL ? state : was, n_state * sizeof *was) != 0, "evaluation changes the state",
            1.0, 0.0);
    free(was);
    network_fixture_close(&f);
}

/* Bits of two steps and an evaluation under these conditions: grad, then state, then losses, the evaluation's last. */
static float *bits_of(struct suite *s, struct network_fixture_opts opts, bool poison, size_t *n_bytes)
{
    struct network_fixture f;
    size_t n_state;

    open_fixture(s, &f, opts);
    const size_t n = f.network->n_params;
    network_trainer_of(f.training)->poison = poison;
    const double first = gradient(&f, 0, s->v->B), second = gradient(&f, 100, s->v->B);
    const float *state = workload_state(f.training, &n_state);
    struct evaluation e = { NAN, NAN };
    if (workload_evaluate(f.training, f.param, 6, &e) != RC_OK)
        abort();
    const double losses[] = { first, second, e.accuracy_ratio, e.loss };
    *n_bytes = (n + n_state) * sizeof(float) + sizeof losses;
    float *bits = malloc(*n_bytes);
    if (bits == NULL)
        abort();
    memcpy(bits, f.grad, n * sizeof *bits);
    if (n_state > 0)
        memcpy(bits + n, state, n_state * sizeof *bits);
    memcpy(bits + n + n_state, losses, sizeof losses);
    network_fixture_close(&f);
    return bits;
}

/* The evaluation's loss: of other bits when it is cut into other batches, within rounding. */
static bool same_loss(const float *bits, const float *other, size_t n_bytes)
{
    double a, b;

    memcpy(&a, (const char *)bits + n_bytes - sizeof a, sizeof a);
    memcpy(&b, (const char *)other + n_bytes - sizeof b, sizeof b);
    return fabs(a - b) <= 1e-6 * fabs(a);
}

/* models.Q1, X1: from run to run, with any number of threads, in a larger block, in memory that the host may not touch
 * (C5: everything is carried over), and with NaN in all that has died. */
static void bits_are_the_same(struct suite *s)
{
    struct compute_backend far = compute_cpu;
    const struct {
        const char *what;
        struct network_fixture_opts opts;
        bool poison;
    } again[] = { { "bits differ from run to run", { .max_batch = 0 }, false },
                  { "bits differ with 2 threads", { .n_threads = 2 }, false },
                  { "bits differ with 3 threads", { .n_threads = 3 }, false },
                  { "bits differ with a larger max_batch", { .max_batch = s->v->B + 3 }, false },
                  { "bits differ in memory of a device", { .backend = &far }, false },
                  { "memory is read after its end", { .max_batch = 0 }, true } };
    size_t n_bytes, n_bytes_again;

    far.host_memory = false;
    float *bits = bits_of(s, (struct network_fixture_opts){ .max_batch = 0 }, false, &n_bytes);

    for (size_t i = 0; i < sizeof again / sizeof again[0]; i++) {
        float *other = bits_of(s, again[i].opts, again[i].poison, &n_bytes_again);
        const bool other_batches = again[i].opts.max_batch > s->v->B;
        const size_t n_equal = n_bytes - (other_batches ? sizeof(double) : 0);
        fail_if(s, n_bytes != n_bytes_again || memcmp(bits, other, n_equal) != 0, again[i].what, 1.0, 0.0);
        fail_if(s, n_bytes == n_bytes_again && !same_loss(bits, other, n_bytes), "an evaluation's loss differs", 1.0,
                0.0);
        free(other);
    }
    free(bits);
}

int training_suite(const struct variant *v, void (*plant)(struct network_trainer *t), bool print)
{
    struct suite s = { .v = v, .plant = plant, .print = print };

    follows_the_reference(&s);
    if (s.n_failures == 0 || print)
        evaluation_is_inference(&s);
    if (s.n_failures == 0 || print)
        bits_are_the_same(&s);
    return s.n_failures;
}

/* Programs with one mistake each. */

/* The nth op of a kind, from 0. */
static int find(const struct program *p, enum op_kind kind, int nth)
{
    for (int i = 0; i < p->n_ops; i++)
        if (p->op[i].kind == kind && nth-- == 0)
            return i;
    abort();
}

static int find_adding(const struct program *p, enum op_kind kind)
{
    for (int i = 0; i < p->n_ops; i++)
        if (p->op[i].kind == kind && p->op[i].add)
            return i;
    abort();
}

static void drop_op(struct program *p, int i)
{
    p->n_ops--;
    memmove(&p->op[i], &p->op[i + 1], (size_t)(p->n_ops - i) * sizeof *p->op);
}

static void swap_ops(struct program *p, int i, int k)
{
    const struct op op = p->op[i];

    p->op[i] = p->op[k];
    p->op[k] = op;
}

/* Two nodes contribute to a gradient; the second forgets the first. */
static void fan_out_overwrites(struct network_trainer *t)
{
    t->train.op[find_adding(&t->train, OP_INPUT_GRAD)].add = false;
}

/* The first contribution adds to what lay there. */
static void first_adds(struct network_trainer *t)
{
    t->train.op[find(&t->train, OP_INPUT_GRAD, 0)].add = true;
}

static void accumulate_lost(struct network_trainer *t)
{
    drop_op(&t->train, find(&t->train, OP_ACCUMULATE, 0));
}

static void shortcut_lost(struct network_trainer *t)
{
    for (int i = 0; i < t->train.n_ops; i++)
        if (t->train.op[i].kind == OP_NORM && t->train.op[i].v[OPERAND_ADD].buffer >= 0) {
            t->train.op[i].v[OPERAND_ADD].buffer = VIEW_NONE;
            return;
        }
    abort();
}

static void aux_weight_forgotten(struct network_trainer *t)
{
    t->train.op[find(&t->train, OP_LOSS, 0)].loss_weight = 1.0f;
    t->train.op[find(&t->train, OP_LOSS, 1)].loss_weight = 1.0f;
}

static void dropout_in_evaluation(struct network_trainer *t)
{
    const struct op drop = t->train.op[find(&t->train, OP_DROPOUT, 0)];
    struct program *p = &t->infer;
    const int from = t->network->node[drop.node].from;

    for (int i = 0; i < p->n_ops; i++)
        if (p->op[i].node >= from && p->op[i].v[OPERAND_OUT].buffer >= 0) {
            memmove(&p->op[i + 2], &p->op[i + 1], (size_t)(p->n_ops - i - 1) * sizeof *p->op);
            p->op[i + 1] = drop;
            p->op[i + 1].v[OPERAND_OUT] = p->op[i].v[OPERAND_OUT];
            p->n_ops++;
            return;
        }
    abort();
}

static void ready_too_early(struct network_trainer *t)
{
    const int i = find(&t->train, OP_WEIGHT_GRAD, 1);

    swap_ops(&t->train, i, i + 1);
}

/* The input of the node in the middle is free as soon as the forward pass was there. */
static void freed_too_early(struct network_trainer *t)
{
    struct program *p = &t->train;
    const int n_convs = find(p, OP_LOSS, 0) / 2, i = find(p, OP_WEIGHT_GRAD, n_convs / 8 + 1);
    struct memory_item *it = &p->item[p->op[i].v[OPERAND_IN].buffer];

    it->last_op = it->first_op + 2;
    if (memory_plan(&p->sums, p->item, (size_t)p->n_buffers) != RC_OK)
        abort();
}

static void slice_at_start(struct network_trainer *t)
{
    for (int i = 0; i < t->train.n_ops; i++)
        if (t->train.op[i].v[OPERAND_OUT].offset_bytes > 0) {
            t->train.op[i].v[OPERAND_OUT].offset_bytes = 0;
            return;
        }
    abort();
}

/* The running values stay: the norm gets momentum 0. */
static void lazy_norm(struct compute *c, const struct batch_norm_forward *op)
{
    struct batch_norm_forward still = *op;

    still.shape.momentum = 0.0f;
    compute_cpu.batch_norm(c, &still);
}

static void running_values_stay(struct network_trainer *t)
{
    static struct compute_backend lazy;

    lazy = *t->base.env.compute->ops;
    lazy.batch_norm = lazy_norm;
    t->base.env.compute->ops = &lazy;
}

/* The loss is evaluated from what the training program computes: batch statistics. */
static void evaluates_with_batch_statistics(struct network_trainer *t)
{
    struct program was = t->infer;

    if (program_open(&t->infer, t->network, true) != RC_OK || program_plan(&t->infer, t->base.env.max_batch) != RC_OK)
        abort();
    while (t->infer.op[t->infer.n_ops - 1].phase == PHASE_BACKWARD)
        t->infer.n_ops--;
    program_close(&was);
}

const struct training_mutant training_mutants[] = {
    { "fan_out_overwrites", "resnet8", fan_out_overwrites },
    { "first_adds", "vgg16", first_adds },
    { "accumulate_lost", "patchwork", accumulate_lost },
    { "shortcut_lost", "resnet50", shortcut_lost },
    { "aux_weight_forgotten", "inception3", aux_weight_forgotten },
    { "dropout_in_evaluation", "alexnet", dropout_in_evaluation },
    { "ready_too_early", "lenet", ready_too_early },
    { "freed_too_early", "resnet8", freed_too_early },
    { "slice_at_start", "inception3", slice_at_start },
    { "running_values_stay", "resnet8", running_values_stay },
    { "evaluates_with_batch_statistics", "resnet8", evaluates_with_batch_statistics },
    { NULL, NULL, NULL },
};
