/* SPDX-License-Identifier: Apache-2.0 */
/*
 * network_test.c - options of networks, their initial values, and errors of the builder.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/suite/unit.h"
#include "models/engine/network_builder.h"
#include "models/engine/program.h"
#include "models/suite/network_facts.h"
#include "models/workload.h"

#define ADDRESS(name) &workload_##name,
static const struct workload *const every[] = { NETWORK_LIST(ADDRESS) };
enum { N_NETWORKS = sizeof every / sizeof every[0] };

static struct network *opened(const struct workload *w, struct network_opts opts)
{
    struct network *n = NULL;

    if (network_open(&n, w->network, &opts) != RC_OK)
        fail_msg("%s", rc_message());
    return n;
}

static void refused(const struct workload *w, struct network_opts opts, const char *says)
{
    struct network *n = NULL;

    assert_int_equal(network_open(&n, w->network, &opts), RC_INVAL);
    assert_null(n);
    if (strstr(rc_message(), says) == NULL)
        fail_msg("\"%s\" should say \"%s\"", rc_message(), says);
}

/* ---- options ---- */

UNIT_TEST(small_and_large_images)
{
    for (int i = 0; i < N_NETWORKS; i++) {
        const int smallest = every[i]->network->min_image_size;
        struct program p = { 0 };
        char says[32];
        for (int image_size = smallest; image_size < smallest + 40; image_size++) {
            struct network *n = opened(every[i], (struct network_opts){ .image_size = image_size });
            assert_int_equal(n->node[0].in.H, image_size);
            assert_int_equal(network_nodes_hang_together(n), 0);
            if (program_open(&p, n, true) !=
                RC_OK) /* regression: inception3 of 75 to 106 pixels could not be trained */
                fail_msg("%s of %d pixels: %s", every[i]->module.name, image_size, rc_message());
            program_close(&p);
            network_close(&n);
        }
        snprintf(says, sizeof says, "the smallest is %d", smallest);
        refused(every[i], (struct network_opts){ .image_size = smallest - 1 }, says);
        refused(every[i], (struct network_opts){ .image_size = -1 }, says);
        refused(every[i], (struct network_opts){ .image_size = 1 << 20 }, "too large");
    }
    refused(&workload_inception3, (struct network_opts){ .image_size = 298, .aux_head = true }, "the smallest is 299");
}

UNIT_TEST(parameters_do_not_depend_on_the_image)
{
    static const int image_size[] = { 75, 96, 160, 224, 299, 331 };

    for (int i = 1; i < N_NETWORKS; i++) /* lenet's do */
        for (size_t k = 0; k < sizeof image_size / sizeof image_size[0]; k++) {
            struct network *n = opened(every[i], (struct network_opts){ .image_size = image_size[k] });
            struct network *published = opened(every[i], (struct network_opts){ 0 });
            assert_int_equal(n->n_params, published->n_params);
            assert_int_equal(network_segments_lie_in_order(n), 0);
            network_close(&n);
            network_close(&published);
        }
}

UNIT_TEST(classes_and_divisors)
{
    for (int i = 0; i < N_NETWORKS; i++) {
        struct network *n = opened(every[i], (struct network_opts){ .n_classes = 17 });
        assert_int_equal(n->node[n->n_nodes - 1].C_out, 17);
        network_close(&n);
        refused(every[i], (struct network_opts){ .n_classes = 1 }, "1 classes");
        refused(every[i], (struct network_opts){ .n_classes = 1 << 24 }, "classes");
        refused(every[i], (struct network_opts){ .width_divisor = -2 }, "width divisor -2");
        if (every[i]->network->min_image_size_aux == 0)
            refused(every[i], (struct network_opts){ .aux_head = true }, "no auxiliary head");
    }
}

/* 2 flops per multiply-add, times 3 passes; 2 passes where the input is the image. Multiply-adds of lenet by hand. */
UNIT_TEST(flops_of_a_training_step)
{
    struct network *n = opened(&workload_lenet, (struct network_opts){ 0 });

    assert_true(network_train_flops(n) == 4.0 * 9216 + 6.0 * (73728 + 8192 + 640));
    network_close(&n);
}

/* ---- initial values ---- */

static void check_normal(const float *param, struct segment s, double variance)
{
    double sum = 0.0, square = 0.0;
    const double n = (double)s.n_elems;

    for (size_t i = s.offset_elems; i < s.offset_elems + s.n_elems; i++) {
        sum += (double)param[i];
        square += (double)param[i] * (double)param[i];
    }
    assert_true(fabs(sum) <= 5.0 * sqrt(n * variance));
    assert_true(fabs(square - n * variance) <= 5.0 * sqrt(2.0 * n) * variance);
}

static void check_constant(const float *x, size_t at, size_t n, float value)
{
    for (size_t i = at; i < at + n; i++)
        assert_true(x[i] == value);
}

UNIT_TEST(initial_values)
{
    struct network *n = opened(&workload_resnet8, (struct network_opts){ 0 });
    float *param = malloc(n->n_params * sizeof *param), *running = malloc(n->n_state * sizeof *running);

    assert_non_null(param);
    assert_non_null(running);
    network_init(n, 7, param, NULL);
    network_init_state(n, running);
    for (int i = 0; i < n->n_nodes; i++) {
        const struct node *d = &n->node[i];
        const size_t C = (size_t)d->C_out;
        if (d->kind != NODE_CONV)
            continue;
        check_normal(param, d->weight,
                     strcmp(d->name, "fc") == 0 ? 1.0 / 3.0 / (double)d->fan_in
                                                : 2.0 * (double)d->in.C / (double)(C * d->fan_in));
        check_constant(param, d->gamma.offset_elems, d->gamma.n_elems, 1.0f);
        check_constant(param, d->shift.offset_elems, d->shift.n_elems, 0.0f);
        if (d->norm == NORM_BATCH) {
            check_constant(running, d->running_offset_elems, C, 0.0f);
            check_constant(running, d->running_offset_elems + C, C, 1.0f);
        }
    }
    free(param);
    free(running);
    network_close(&n);
}

static const struct node *conv_named(const struct network *n, const char *name)
{
    for (int i = 0; i < n->n_nodes; i++)
        if (n->node[i].kind == NODE_CONV && strcmp(n->node[i].name, name) == 0)
            return &n->node[i];
    fail_msg("%s has no node %s", n->name, name);
    return NULL;
}

/* As published, and where a divisor makes layers narrower, as much more variance as keeps the sums. */
UNIT_TEST(initial_variances)
{
    static const struct {
        const struct workload *workload;
        const char *node;
        int divisor;
        double variance;
    } row[] = {
        { &workload_resnet50, "c1", 1, 2.0 / (64 * 49) },  { &workload_resnet50, "s1b0/proj", 1, 2.0 / 512 },
        { &workload_resnet50, "fc", 1, 1.0 / 3.0 / 2048 }, { &workload_vgg16, "c1", 1, 2.0 / (64 * 9) },
        { &workload_vgg16, "c13", 1, 2.0 / (512 * 9) },    { &workload_vgg16, "fc6", 1, 0.01 * 0.01 },
        { &workload_vgg16, "fc7", 1, 0.01 * 0.01 },        { &workload_vgg16, "fc8", 1, 0.01 * 0.01 },
        { &workload_vgg16, "fc6", 8, 8 * 0.01 * 0.01 },    { &workload_alexnet, "c1", 1, 2.0 / 363 },
        { &workload_alexnet, "fc6", 1, 0.01 * 0.01 },      { &workload_alexnet, "fc8", 1, 0.01 * 0.01 },
        { &workload_inception3, "c2", 1, 2.0 / (32 * 9) }, { &workload_inception3, "fc", 1, 1.0 / 2048 },
        { &workload_lenet, "c2", 1, 2.0 / (16 * 9) },
    };

    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        struct network *n = opened(row[i].workload, (struct network_opts){ .width_divisor = row[i].divisor });
        const double is = conv_named(n, row[i].node)->initial_variance;
        if (fabs(is / row[i].variance - 1.0) > 1e-12)
            fail_msg("%s, divisor %d, %s: %g, should be %g", n->name, row[i].divisor, row[i].node, is, row[i].variance);
        network_close(&n);
    }
}

static void count_tick(void *arg)
{
    ++*(int *)arg;
}

/* world.P1: alexnet's largest layer alone has 37.7 million weights. The values are those without ticks. */
UNIT_TEST(making_initial_values_ticks)
{
    struct network *n = opened(&workload_alexnet, (struct network_opts){ 0 });
    float *a = malloc(n->n_params * sizeof *a), *b = malloc(n->n_params * sizeof *b);
    int n_ticks = 0;
    const struct compute_env env = { .tick = count_tick, .arg = &n_ticks };
    struct compute *c = NULL;

    assert_non_null(a);
    assert_non_null(b);
    assert_int_equal(compute_open(&c, &compute_cpu, &env), RC_OK);
    n_ticks = 0;
    network_init(n, 7, a, c);
    assert_true((size_t)n_ticks >= n->n_params / (1 << 18) && (size_t)n_ticks < n->n_params / (1 << 18) + 16);
    network_init(n, 7, b, NULL);
    assert_memory_equal(a, b, n->n_params * sizeof *a);
    compute_close(&c);
    free(a);
    free(b);
    network_close(&n);
}

/* models.M1: the values depend on seed and index alone: not on the run, nor on later tensors. */
UNIT_TEST(initial_values_are_a_function_of_seed_and_index)
{
    struct network *n = opened(&workload_resnet8, (struct network_opts){ 0 });
    struct network *more = opened(&workload_resnet8, (struct network_opts){ .n_classes = 20 });
    const size_t n_same = n->node[n->n_nodes - 2].weight.offset_elems;
    float *a = malloc(n->n_params * sizeof *a), *b = malloc(more->n_params * sizeof *b);

    assert_non_null(a);
    assert_non_null(b);
    network_init(n, 7, a, NULL);
    network_init(more, 7, b, NULL);
    assert_memory_equal(a, b, n_same * sizeof *a);
    network_init(more, 8, b, NULL);
    assert_memory_not_equal(a, b, n_same * sizeof *a);
    network_init(n, 8, a, NULL);
    assert_memory_equal(a, b, n_same * sizeof *a);
    free(a);
    free(b);
    network_close(&n);
    network_close(&more);
}

/* ---- the builder's own errors ---- */

static void bad_input(struct network_builder *b)
{
    node_conv(b, "c1", 0, 4, NODE_KERNEL(1, 1), NODE_STRIDE(1), NODE_PAD(0, 0), NODE_BIAS); /* itself */
}

static void bad_window(struct network_builder *b)
{
    node_conv(b, "c1", NODE_IMAGE, 4, NODE_KERNEL(3, 3), NODE_STRIDE(1), NODE_PAD(3, 3), NODE_BIAS);
}

static void window_larger_than_input(struct network_builder *b)
{
    node_max_pool(b, NODE_IMAGE, NODE_KERNEL(19, 3), NODE_STRIDE(1), NODE_PAD(1, 0));
}

static void bad_add(struct network_builder *b)
{
    const int x = node_conv(b, "c1", NODE_IMAGE, 4, NODE_KERNEL(3, 3), NODE_STRIDE(2), NODE_PAD(1, 1), NODE_BIAS);

    node_conv_add(b, "c2", x, x, 8, NODE_KERNEL(1, 1), NODE_STRIDE(1), NODE_PAD(0, 0), NODE_BIAS);
}

static void long_name(struct network_builder *b)
{
    node_conv(b, "a-name-of-more-than-23-bytes", NODE_IMAGE, 4, NODE_KERNEL(3, 3), NODE_STRIDE(1), NODE_PAD(1, 1),
              NODE_BIAS);
}

static void part_twice(struct network_builder *b)
{
    const int x = node_conv(b, "c1", NODE_IMAGE, 4, NODE_KERNEL(3, 3), NODE_STRIDE(1), NODE_PAD(1, 1), NODE_BIAS);

    NODE_CONCAT_OF(b, x, x);
}

static void part_of_two(struct network_builder *b)
{
    const int x = node_conv(b, "c1", NODE_IMAGE, 4, NODE_KERNEL(3, 3), NODE_STRIDE(1), NODE_PAD(1, 1), NODE_BIAS);
    const int y = node_conv(b, "c2", x, 4, NODE_KERNEL(3, 3), NODE_STRIDE(1), NODE_PAD(1, 1), NODE_BIAS);
    const int z = NODE_CONCAT_OF(b, x, y);

    NODE_CONCAT_OF(b, z, y);
}

static void parts_do_not_fit(struct network_builder *b)
{
    const int x = node_conv(b, "c1", NODE_IMAGE, 4, NODE_KERNEL(3, 3), NODE_STRIDE(1), NODE_PAD(1, 1), NODE_BIAS);
    const int y = node_conv(b, "c2", x, 4, NODE_KERNEL(3, 3), NODE_STRIDE(1), NODE_PAD(0, 1), NODE_BIAS);

    NODE_CONCAT_OF(b, x, y);
}

static void loss_of_a_plane(struct network_builder *b)
{
    node_loss(b, NODE_IMAGE, 1.0f);
}

static void no_loss(struct network_builder *b)
{
    node_logits(b, "fc", NODE_IMAGE);
}

/* Later calls do nothing: the first error is reported. */
static void error_then_more(struct network_builder *b)
{
    int x = node_conv(b, "c1", 5, 4, NODE_KERNEL(1, 1), NODE_STRIDE(1), NODE_PAD(0, 0), NODE_BIAS);

    assert_int_equal(x, NODE_NONE);
    x = node_max_pool(b, x, NODE_KERNEL(99, 99), NODE_STRIDE(1), NODE_PAD(0, 0));
    x = node_adaptive_pool(b, x, 1, 1);
    x = node_dropout(b, x, 0.5f);
    x = node_dense(b, "d", x, 3, NODE_BIAS);
    x = NODE_CONCAT_OF(b, x, x);
    node_loss(b, x, 1.0f);
    assert_int_equal(x, NODE_NONE);
}

UNIT_TEST(mistakes_in_tables_are_reported)
{
    static const struct {
        void (*build)(struct network_builder *b);
        const char *says;
    } table[] = {
        { bad_input, "node c1 has input 0 of 0 nodes" },
        { bad_window, "node c1 has an impossible window" },
        { window_larger_than_input, "image size 16 is too small: maxpool1 needs 17 x 3, gets 16 x 16" },
        { bad_add, "node c2 is 8 x 8 x 8, what is added is 4 x 8 x 8" },
        { long_name, "longer than 23 bytes" },
        { part_twice, "part 0 twice" },
        { part_of_two, "cannot have 1 as a part" },
        { parts_do_not_fit, "its part 1 is 14 x 16" },
        { loss_of_a_plane, "loss1 is given 3 x 16 x 16" },
        { no_loss, "has no loss" },
        { error_then_more, "node c1 has input 5 of 0 nodes" },
    };

    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        const struct network_def def = { .name = "planted",
                                         .image_size = 16,
                                         .min_image_size = 1,
                                         .n_classes = 10,
                                         .C_in = 3,
                                         .build = table[i].build };
        struct network *n = NULL;
        assert_int_not_equal(network_open(&n, &def, &(struct network_opts){ 0 }), RC_OK);
        assert_null(n);
        if (strstr(rc_message(), table[i].says) == NULL)
            fail_msg("\"%s\" should say \"%s\"", rc_message(), table[i].says);
    }
}

UNIT_MAIN("network")
