/* SPDX-License-Identifier: Apache-2.0 */
/*
 * training_test.c - every family of networks against the reference, and mistakes that must show.
 *
 * usage: training_test follows MODEL | mutant NAME | reference | promises
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/dataset.h"
#include "harness/base/rng.h"
#include "harness/base/suite/unit.h"
#include "models/engine/network_builder.h"
#include "models/suite/network_fixture.h"
#include "models/suite/training_mutants.h"

static const struct variant *variant;
static const struct training_mutant *mutant;

/* models.Q1, Q2, Q3, X1, X2, X3, Y3, M2, M6 */
UNIT_TEST_OF("follows", follows_the_reference)
{
    assert_int_equal(training_suite(variant, NULL, true), 0);
}

UNIT_TEST_OF("mutant", mistake_is_found)
{
    assert_true(training_suite(network_variant_find(mutant->model), mutant->plant, false) > 0);
}

/* The reference itself, by central differences: a few parameters, spread over the tensors. */
static void differences(const struct variant *v)
{
    struct network_fixture f;
    struct network_batch data;
    const double h = 1e-8; /* small: no relu may change sides within it */

    assert_int_equal(network_fixture_open(&f, v, &(struct network_fixture_opts){ 0 }), RC_OK);
    const size_t n = f.network->n_params;
    struct network_reference *r = network_reference_open(f.network, v->B);
    double *param = doubles_of(f.param, n), *grad = doubles_of(f.param, n);
    network_batch_open(&data, &f, 0, v->B);
    const struct network_reference_batch batch = { param, data.x, data.label, 1 };
    network_reference_train(r, &batch, grad, NULL);
    for (int s = 0; s < f.network->n_segments; s += f.network->n_segments / 8 + 1) {
        const struct segment seg = f.network->segment[s];
        double scale = 0.0;
        for (size_t i = seg.offset_elems; i < seg.offset_elems + seg.n_elems; i++)
            scale = fmax(scale, fabs(grad[i]));
        for (size_t k = 0; k < 2; k++) {
            const size_t i = seg.offset_elems + (size_t)(rng_u64(9, RNG_TEST, (uint64_t)s * 2 + k) % seg.n_elems);
            const double was = param[i];
            param[i] = was + h;
            const double above = network_reference_train(r, &batch, NULL, NULL);
            param[i] = was - h;
            const double want = (above - network_reference_train(r, &batch, NULL, NULL)) / (2.0 * h);
            param[i] = was;
            if (!(fabs(grad[i] - want) <= 1e-4 * scale))
                fail_msg("%s: segment %d [%zu] is %.9g, should be %.9g (largest %.9g)", v->workload->module.name, s,
                         i - seg.offset_elems, grad[i], want, scale);
        }
    }
    network_batch_close(&data);
    free(param);
    free(grad);
    network_reference_close(&r);
    network_fixture_close(&f);
}

UNIT_TEST_OF("reference", reference_matches_central_differences)
{
    for (const struct variant *v = network_variants; v->workload != NULL; v++)
        differences(v);
}

static size_t limited_bytes; /* what limited_memory() returns */
static size_t limited_memory(struct compute *c)
{
    (void)c;
    return limited_bytes;
}

/* Memory is checked before any is allocated; the largest batch in the message does fit. */
UNIT_TEST_OF("promises", memory_is_checked_first)
{
    struct compute_backend limited = compute_cpu;
    const struct variant *v = network_variant_find("resnet8");
    struct network_fixture f;
    size_t fits = 0;

    limited.memory_available = limited_memory;
    limited_bytes = 2000000;
    assert_int_equal(
        network_fixture_open(&f, v, &(struct network_fixture_opts){ .max_batch = 2000, .backend = &limited }),
        RC_NOMEM);
    assert_non_null(strstr(rc_message(), "model resnet8: batch 2000 needs "));
    assert_non_null(strstr(rc_message(), "0.00 GiB are available"));
    const char *said = strstr(rc_message(), "a batch of ");
    assert_non_null(said);
    fits = (size_t)strtoul(said + strlen("a batch of "), NULL, 10);
    network_fixture_close(&f);
    assert_true(fits > 1);
    assert_int_equal(
        network_fixture_open(&f, v, &(struct network_fixture_opts){ .max_batch = fits, .backend = &limited }), RC_OK);
    network_fixture_close(&f);
    assert_int_equal(
        network_fixture_open(&f, v, &(struct network_fixture_opts){ .max_batch = fits + 1, .backend = &limited }),
        RC_NOMEM);
    network_fixture_close(&f);
    v = network_variant_find("vgg16");
    limited_bytes = 1000;
    assert_int_equal(network_fixture_open(&f, v, &(struct network_fixture_opts){ .max_batch = 2, .backend = &limited }),
                     RC_NOMEM);
    assert_non_null(strstr(rc_message(), "not even a batch of 1 fits"));
    network_fixture_close(&f);
}

/* The caller's parameters are not counted again: the caller may have allocated them. */
UNIT_TEST_OF("promises", parameters_are_the_callers)
{
    struct compute_backend limited = compute_cpu;
    const struct network_fixture_opts opts = { .backend = &limited };
    const struct variant *v = network_variant_find("alexnet");
    const struct network_step step = { .n_samples = v->B, .n_micro_batches = 1 };
    struct network_memory needed;
    struct network_fixture f;

    assert_int_equal(network_fixture_open(&f, v, &(struct network_fixture_opts){ 0 }), RC_OK);
    assert_int_equal(network_memory_needed(&needed, f.compute, f.network, &step), RC_OK);
    network_fixture_close(&f);
    limited.memory_available = limited_memory;
    limited_bytes = needed.planned_bytes + needed.state_bytes;
    assert_int_equal(network_fixture_open(&f, v, &opts), RC_OK);
    network_fixture_close(&f);
    limited_bytes--;
    assert_int_equal(network_fixture_open(&f, v, &opts), RC_NOMEM);
    network_fixture_close(&f);
}

UNIT_TEST_OF("promises", needed_memory_is_what_is_planned)
{
    for (const struct variant *v = network_variants; v->workload != NULL; v++)
        for (int forward_only = 0; forward_only < 2; forward_only++) {
            const struct network_step step = { .n_samples = v->B, .n_micro_batches = 1, .forward_only = forward_only };
            struct network_fixture f;
            struct network_memory needed;
            assert_int_equal(
                network_fixture_open(&f, v, &(struct network_fixture_opts){ .forward_only = forward_only }), RC_OK);
            const struct network_memory m = network_memory_of(f.training);
            assert_int_equal(network_memory_needed(&needed, f.compute, f.network, &step), RC_OK);
            assert_memory_equal(&needed, &m, sizeof m);
            assert_int_equal(m.params_bytes, (forward_only ? 1 : 3) * f.network->n_params * sizeof(float));
            assert_int_equal(m.state_bytes, f.network->n_state * sizeof(float));
            assert_true(m.live_bytes <= m.planned_bytes && m.planned_bytes <= m.unplanned_bytes);
            assert_true((double)m.planned_bytes <= 1.05 * (double)m.live_bytes);
            network_fixture_close(&f);
        }
}

static void expect_refused(struct training_env *env, const char *text)
{
    struct training *t = NULL;

    assert_int_equal(workload_open(&t, &workload_resnet8, env), RC_INVAL);
    assert_null(t);
    if (strstr(rc_message(), text) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", rc_message(), text);
}

UNIT_TEST_OF("promises", unfit_data_is_refused)
{
    const struct network_opts opts = { .image_size = 16, .n_classes = 10, .width_divisor = 4 };
    struct training_env env = { .max_batch = 2, .network = opts };
    struct noise d;
    struct dataset line = { .name = "line", .n_train = 1, .n_features = 1 };

    assert_int_equal(compute_open(&env.compute, &compute_cpu, NULL), RC_OK);
    expect_refused(&env, "needs a data set");
    env.dataset = &line;
    expect_refused(&env, "learns from images, data set line has none");
    env.dataset = &d.base;
    noise_init(&d, &opts, 1);
    expect_refused(&env, "images of 3 x 16 x 16, data set noise has 1 x 16 x 16");
    noise_init(&d, &(struct network_opts){ .image_size = 8, .n_classes = 10 }, 3);
    expect_refused(&env, "data set noise has 3 x 8 x 8");
    noise_init(&d, &(struct network_opts){ .image_size = 16, .n_classes = 11 }, 3);
    expect_refused(&env, "open for 10 classes, data set noise has 11");
    noise_init(&d, &opts, 3);
    env.network.image_size = 2;
    expect_refused(&env, "the smallest is");
    env.network = (struct network_opts){ .image_size = 16, .aux_head = true };
    expect_refused(&env, "auxiliary head");
    compute_close(&env.compute);
}

/* Backends count the elements of a channel in int: a larger batch is refused before anything is allocated. */
UNIT_TEST_OF("promises", a_batch_beyond_int_is_refused)
{
    const size_t most = 0x7fffffff / (16 * 16);
    struct training_env env = { .max_batch = most + 1,
                                .network = { .image_size = 16, .n_classes = 10, .width_divisor = 4 } };
    struct training *t = NULL;

    assert_int_equal(compute_open(&env.compute, &compute_hollow, NULL), RC_OK);
    expect_refused(&env, "--batch 8388608: model resnet8: node c1 has 256 places an image");
    expect_refused(&env, "; use at most 8388607");
    env.max_batch = SIZE_MAX;
    expect_refused(&env, "; use at most 8388607");
    env.max_batch = most;
    assert_int_equal(workload_open(&t, &workload_resnet8, &env), RC_OK);
    workload_close(&t);
    compute_close(&env.compute);
}

static void shared_dropout(struct network_builder *b)
{
    const int c1 = node_conv(b, "c1", NODE_IMAGE, 4, NODE_KERNEL(1, 1), NODE_STRIDE(1), NODE_PAD(0, 0), NODE_BIAS);
    const int drop = node_dropout(b, c1, 0.5f),
              c2 = node_conv(b, "c2", c1, 4, NODE_KERNEL(1, 1), NODE_STRIDE(1), NODE_PAD(0, 0), NODE_BIAS);

    node_loss(
        b,
        node_logits(b, "fc",
                    NODE_CONCAT_OF(b, c2, node_max_pool(b, drop, NODE_KERNEL(1, 1), NODE_STRIDE(1), NODE_PAD(0, 0)))),
        1.0f);
}

static void part_used_late(struct network_builder *b)
{
    const int c1 = node_conv(b, "c1", NODE_IMAGE, 4, NODE_KERNEL(1, 1), NODE_STRIDE(1), NODE_PAD(0, 0), NODE_BIAS);
    const int c2 = node_conv(b, "c2", c1, 4, NODE_KERNEL(1, 1), NODE_STRIDE(1), NODE_PAD(0, 0), NODE_BIAS),
              both = NODE_CONCAT_OF(b, c1, c2);
    const int c3 = node_conv(b, "c3", both, 4, NODE_KERNEL(1, 1), NODE_STRIDE(1), NODE_PAD(0, 0), NODE_BIAS);

    node_loss(b, node_logits(b, "fc", c3), 1.0f);
    node_loss(b, node_logits(b, "late", c2), 1.0f);
}

static void adds_its_input(struct network_builder *b)
{
    const int c1 = node_conv(b, "c1", NODE_IMAGE, 4, NODE_KERNEL(1, 1), NODE_STRIDE(1), NODE_PAD(0, 0), NODE_BIAS);
    const int c2 =
        node_conv_add(b, "c2", c1, c1, 4, NODE_KERNEL(1, 1), NODE_STRIDE(1), NODE_PAD(0, 0), NODE_BIAS | NODE_RELU);

    node_loss(b, node_logits(b, "fc", c2), 1.0f);
}

static void leads_nowhere(struct network_builder *b)
{
    const int c1 = node_conv(b, "c1", NODE_IMAGE, 4, NODE_KERNEL(1, 1), NODE_STRIDE(1), NODE_PAD(0, 0), NODE_BIAS);

    node_conv(b, "c2", c1, 4, NODE_KERNEL(1, 1), NODE_STRIDE(1), NODE_PAD(0, 0), NODE_BIAS);
    node_loss(b, node_logits(b, "fc", c1), 1.0f);
}

/* A table that the engine cannot compute is refused, never computed wrong. */
UNIT_TEST_OF("promises", impossible_tables_are_refused)
{
    const struct {
        void (*build)(struct network_builder *b);
        const char *text;
    } table[] = { { shared_dropout, "must be the only one that works on its input" },
                  { part_used_late, "late works on c2 after the concatenation of it was used" },
                  { adds_its_input, "c2 without batch norm adds its own input" },
                  { leads_nowhere, "no loss depends on c2" } };

    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        const struct network_def def = {
            .name = "odd", .image_size = 4, .min_image_size = 4, .n_classes = 3, .C_in = 1, .build = table[i].build
        };
        struct network *n = NULL;
        struct program p = { 0 };
        assert_int_equal(network_open(&n, &def, &(struct network_opts){ 0 }), RC_OK);
        assert_int_equal(program_open(&p, n, true), RC_UNSUPPORTED);
        if (strstr(rc_message(), table[i].text) == NULL)
            fail_msg("\"%s\" does not say \"%s\"", rc_message(), table[i].text);
        assert_null(p.op);
        network_close(&n);
    }
}

/* forward_only: inference's loss of the same samples; no gradient, no call of ready, no update of running values
 * (models.Q2, Q3). */
UNIT_TEST_OF("promises", forward_only_is_inference)
{
    for (const struct variant *v = network_variants; v->workload != NULL; v++) {
        struct network_fixture f;
        struct network_batch data;
        size_t n_state, n_correct;
        double loss = NAN;
        assert_int_equal(network_fixture_open(&f, v, &(struct network_fixture_opts){ .forward_only = true }), RC_OK);
        struct network_reference *r = network_reference_open(f.network, v->B);
        const float *values = workload_state(f.training, &n_state);
        double *running = doubles_of(values, n_state), *param = doubles_of(f.param, f.network->n_params);
        network_batch_open(&data, &f, 3, v->B);
        const struct network_reference_batch batch = { param, data.x, data.label, 0 };
        const double want = network_reference_infer(r, &batch, running, &n_correct);
        for (int i = 0; i < 2; i++) {
            assert_int_equal(workload_gradient(f.training, f.param, 3, v->B, NULL, &loss, network_fixture_ready, &f),
                             RC_OK);
            if (!(fabs(loss - want) <= 1e-4 * want))
                fail_msg("%s: %.9g, should be %.9g", v->workload->module.name, loss, want);
        }
        assert_int_equal(f.n_called, 0);
        network_batch_close(&data);
        free(running);
        free(param);
        network_reference_close(&r);
        network_fixture_close(&f);
    }
}

static void count_tick(void *arg)
{
    ++*(int *)arg;
}

/* compute.C6: reading a batch gives a sign of life for each image, without a thread that reads ahead. */
UNIT_TEST_OF("promises", reading_images_ticks)
{
    const struct variant *v = network_variant_find("lenet");
    struct dataset *d = NULL;
    struct training *t = NULL;
    struct compute *c = NULL;
    int n_ticks = 0, n_of_one = 0;
    double loss;

    for (int k = 0; k < 2; k++) { /* gradients of 1 and of 33 images differ by the ticks of 32 */
        const struct compute_env env = { .tick = count_tick, .arg = &n_ticks };
        const struct synthetic_opts images = { .C = 1, .H = 8, .W = 8, .n_classes = 10, .n_train = 100 };
        assert_int_equal(compute_open(&c, &compute_cpu, &env), RC_OK);
        assert_int_equal(dataset_open_synthetic(&d, &images, 1), RC_OK);
        const struct training_env training = {
            .compute = c, .dataset = d, .seed = 1, .max_batch = 33, .network = v->opts
        };
        assert_int_equal(workload_open(&t, v->workload, &training), RC_OK);
        float *param = calloc(workload_n_params(t), sizeof *param), *grad = calloc(workload_n_params(t), sizeof *grad);
        assert_non_null(param);
        assert_non_null(grad);
        workload_init(t, param);
        n_ticks = 0;
        assert_int_equal(workload_gradient(t, param, 0, k == 0 ? 1 : 33, grad, &loss, NULL, NULL), RC_OK);
        if (k == 0)
            n_of_one = n_ticks;
        free(param);
        free(grad);
        workload_close(&t);
        dataset_close(&d);
        compute_close(&c);
    }
    assert_true(n_ticks - n_of_one >= 32);
}

struct recorder {
    int node[4000];
    enum network_phase phase[4000];
    int n_calls, n_wrong;
    bool inside;
};

static void record_node(void *arg, int node, enum network_phase phase, bool begin)
{
    struct recorder *w = arg;

    w->n_wrong += begin == w->inside;
    w->inside = begin;
    if (begin) {
        w->node[w->n_calls] = node;
        w->phase[w->n_calls++] = phase;
    } else {
        w->n_wrong += w->node[w->n_calls - 1] != node || w->phase[w->n_calls - 1] != phase;
    }
}

/* Begin and end in turn; forward in order, backward in the other; every convolution once in each. */
static void check_recorder(const struct recorder *w, const struct network *n)
{
    int n_forward = 0, n_backward = 0, n_convs = 0;

    assert_int_equal(w->n_wrong, 0);
    assert_false(w->inside);
    for (int i = 0; i < w->n_calls; i++) {
        const bool conv = n->node[w->node[i]].kind == NODE_CONV, forward = w->phase[i] == PHASE_FORWARD;
        n_forward += conv && forward;
        n_backward += conv && !forward;
        if (i > 0 && w->phase[i] == w->phase[i - 1])
            assert_true(forward ? w->node[i] > w->node[i - 1] : w->node[i] < w->node[i - 1]);
        else if (i > 0)
            assert_true(!forward);
    }
    for (int i = 0; i < n->n_nodes; i++)
        n_convs += n->node[i].kind == NODE_CONV;
    assert_int_equal(n_forward, n_convs);
    assert_int_equal(n_backward, n_convs);
}

UNIT_TEST_OF("promises", observer_is_called)
{
    for (const struct variant *v = network_variants; v->workload != NULL; v++) {
        struct recorder *w = calloc(1, sizeof *w);
        const struct network_observer observer = { .node = record_node, .arg = w };
        struct network_fixture f;
        double loss;
        assert_non_null(w);
        assert_int_equal(network_fixture_open(&f, v, &(struct network_fixture_opts){ 0 }), RC_OK);
        network_observe(f.training, &observer);
        assert_int_equal(workload_gradient(f.training, f.param, 0, v->B, f.grad, &loss, NULL, NULL), RC_OK);
        check_recorder(w, f.network);
        const int n_calls = w->n_calls;
        network_observe(f.training, NULL);
        assert_int_equal(workload_gradient(f.training, f.param, 0, v->B, f.grad, &loss, NULL, NULL), RC_OK);
        assert_int_equal(w->n_calls, n_calls);
        network_fixture_close(&f);
        free(w);
    }
}

/* models.M3: also without a data set, and at the published size, where nothing would fit. */
UNIT_TEST_OF("promises", hollow_needs_nothing)
{
    static const struct workload *const w[] = { &workload_resnet152, &workload_vgg16, &workload_inception3 };

    for (size_t i = 0; i < sizeof w / sizeof w[0]; i++) {
        struct training_env env = { .max_batch = 256 };
        struct training *t = NULL;
        struct evaluation e;
        double loss = 0.0;
        assert_int_equal(compute_open(&env.compute, &compute_hollow, NULL), RC_OK);
        assert_int_equal(workload_open(&t, w[i], &env), RC_OK);
        assert_int_equal(workload_gradient(t, NULL, 0, 256, NULL, &loss, NULL, NULL), RC_OK);
        assert_true(isnan(loss));
        assert_true(env.compute->total.flops == 256.0 * w[i]->ops->flops_per_sample(t));
        assert_int_equal(workload_evaluate(t, NULL, 0, &e), RC_OK);
        assert_true(isnan(e.loss) && isnan(e.accuracy_ratio));
        workload_close(&t);
        compute_close(&env.compute);
    }
}

static const struct training_mutant *mutant_find(const char *name)
{
    for (const struct training_mutant *m = training_mutants; m->name != NULL; m++)
        if (strcmp(m->name, name) == 0)
            return m;
    return NULL;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";

    if ((strcmp(what, "follows") == 0 && (argc != 3 || (variant = network_variant_find(argv[2])) == NULL)) ||
        (strcmp(what, "mutant") == 0 && (argc != 3 || (mutant = mutant_find(argv[2])) == NULL))) {
        fprintf(stderr, "usage: training_test follows MODEL | mutant NAME | reference | promises\n");
        return 2;
    }
    return unit_run("training", what, NULL, NULL);
}
