/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_test.c - the backend cuda. Built twice: with its kernels as C++ on the CPU (on_host/words_test.cuh), and,
 * where there is a CUDA compiler, for the GPU; the latter ends with 77 (skipped) without one.
 *
 * usage: cuda_test absent | faulty | agrees | graphs | copies | packed | errors | skips | mutant NAME
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/compute/cuda/cuda.h"
#include "harness/compute/cuda/on_host/on_host_test.h"
#include "harness/compute/suite/cuda_kit.h"
#include "harness/compute/suite/gpu_skip.h"

static struct on_host_limits no_limits = { .memory_bytes = (size_t)1 << 30 };

/* Only the emulated device has limits to set. */
static void limit(const struct on_host_limits *l)
{
#if GRADMARK_CUDA_ON_HOST
    on_host_set(l);
#else
    (void)l;
#endif
}

/* --- steps that repeat: the same arrays, another key, another learning rate --- */

struct net { /* a small network's arrays */
    float *x, *w, *y, *z, *mean, *inv_std, *running, *gamma, *beta, *logits, *dlogits, *dw, *velocity;
    uint32_t *label;
};

static const struct conv_shape net_conv = { { 4, 3, 6, 6, 3, 3, 1, 1, 1, 1 }, 5 };
enum { NET_OUT = 5 * 4 * 36 };

static struct net net_open(struct side *s)
{
    static const uint32_t label[4] = { 3, 0, 100, 179 };
    struct net l = { .x = side_reals(s, 3 * 4 * 36), .w = side_reals(s, 5 * 27) };

    l.y = side_reals(s, NET_OUT);
    l.z = side_reals(s, NET_OUT);
    l.mean = side_reals(s, 5);
    l.inv_std = side_reals(s, 5);
    l.running = side_reals(s, 10);
    l.gamma = side_reals(s, 5);
    l.beta = side_reals(s, 5);
    l.logits = side_reals(s, NET_OUT);
    l.dlogits = side_reals(s, NET_OUT);
    l.dw = side_reals(s, 5 * 27);
    l.velocity = side_reals(s, 5 * 27);
    l.label = (uint32_t *)(void *)side_reals(s, 4);
    compute_put(s->c, l.label, label, sizeof label);
    return l;
}

static double net_step(struct side *s, const struct net *l, uint64_t step)
{
    const struct batch_norm norm = { 5, 144, BATCH_NORM_EPSILON, 0.1f, true };
    const struct sgd sgd = { 0.5f / (float)(step + 1), 0.9f, 0.01f, 1.0f };
    double loss = NAN;
    size_t n_correct = 99;

    compute_conv(s->c, &(struct conv_forward){ .shape = net_conv, .y = l->y, .x = l->x, .weight = l->w });
    compute_batch_norm(s->c, &(struct batch_norm_forward){ .shape = norm,
                                                           .z = l->z,
                                                           .mean = l->mean,
                                                           .inv_std = l->inv_std,
                                                           .running_mean = l->running,
                                                           .running_var = l->running + 5,
                                                           .y = l->y,
                                                           .gamma = l->gamma,
                                                           .beta = l->beta });
    compute_dropout(s->c, l->z, NET_OUT, 0.5f, step * 7919);
    compute_swap_axes(s->c, l->logits, l->z, 5, 4, 36);
    compute_softmax_xent(s->c, &(struct softmax_xent){ .B = 4,
                                                       .K = 180,
                                                       .mean_loss = &loss,
                                                       .n_correct = &n_correct,
                                                       .dlogits = l->dlogits,
                                                       .logits = l->logits,
                                                       .label = l->label,
                                                       .weight = 1.0f });
    compute_swap_axes(s->c, l->y, l->dlogits, 4, 5, 36);
    compute_dropout(s->c, l->y, NET_OUT, 0.5f, step * 7919);
    compute_conv_bias_grad(s->c, &(struct conv_bias_grad){ .C = 5, .n = 144, .dbias = l->mean, .dy = l->y });
    compute_conv_weight_grad(s->c,
                             &(struct conv_weight_grad){ .shape = net_conv, .dweight = l->dw, .dy = l->y, .x = l->x });
    assert_int_equal(compute_sync(s->c), RC_OK);
    assert_true(n_correct <= 4);
    compute_sgd_step(s->c, l->w, l->velocity, l->dw, 5 * 27, &sgd);
    return loss;
}

/* compute.C1: the same bits with and without graphs, near those of cpu, with a new dropout key and learning rate each
 * step. */
static void repeated_steps_become_graphs(void **state)
{
    static const struct on_host_limits no_graphs = { .memory_bytes = (size_t)1 << 30, .no_graphs = 1 };
    static const struct cuda_opts off = { .graphs = "off", .packed = "on" };
    struct side *a = side_open(&compute_cuda, NULL), *b = side_open(&compute_cpu, NULL);
    struct side *plain = side_open(&compute_cuda, &(struct compute_env){ .opts = &off });
    struct side *uncaptured = side_open(&compute_cuda, NULL);
    const struct net on_a = net_open(a), on_b = net_open(b), on_plain = net_open(plain);
    const struct net on_uncaptured = net_open(uncaptured);

    (void)state;
    for (uint64_t step = 0; step < 8; step++) {
        const double loss = net_step(a, &on_a, step);
        assert_true(fabs(loss - net_step(b, &on_b, step)) <= 1e-5 * loss);
        const double again = net_step(plain, &on_plain, step);
        assert_memory_equal(&loss, &again, sizeof loss);
        limit(&no_graphs);
        const double direct = net_step(uncaptured, &on_uncaptured, step);
        limit(&no_limits);
        assert_memory_equal(&loss, &direct, sizeof loss);
    }
    /* The first was kept, the second captured. */
    assert_int_equal(((struct cuda_compute *)a->c)->n_graph_launches, 7);
    assert_int_equal(((struct cuda_compute *)plain->c)->n_graph_launches, 0);
    assert_int_equal(((struct cuda_compute *)uncaptured->c)->n_graph_launches, GRADMARK_CUDA_ON_HOST ? 0 : 7);
    side_compare(a, plain, 0.0);
    side_empty(b);
    side_empty(uncaptured);
    side_close(a);
    side_close(b);
    side_close(plain);
    side_close(uncaptured);
}

/* Each event ends a log: all logs of a step are found again in the next step. */
static void steps_with_events_become_graphs(void **state)
{
    struct side *a = side_open(&compute_cuda, NULL);
    float *x = side_reals(a, 64), *y = side_reals(a, 64);
    uint64_t n_launches = 0;

    (void)state;
    for (int step = 0; step < 4; step++) {
        n_launches = ((struct cuda_compute *)a->c)->n_graph_launches;
        for (size_t k = 0; k < COMPUTE_EVENTS; k++) {
            for (size_t i = 0; i < CUDA_GRAPH_MIN_CALLS; i++)
                compute_accumulate(a->c, x, y, 1 + k);
            compute_record_event(a->c, (int)k);
        }
        assert_int_equal(compute_sync(a->c), RC_OK);
    }
    assert_int_equal(((struct cuda_compute *)a->c)->n_graph_launches - n_launches, COMPUTE_EVENTS);
    side_close(a);
}

/* More different steps than logs are kept, which repeat; more losses and keys than slots. */
static void many_logs_and_results_find_room(void **state)
{
    enum { N_LOSSES = CUDA_MAX_RESULTS + 3, N_KEYS = 2 * CUDA_MAX_KEYS + 5 };
    struct side *a = side_open(&compute_cuda, NULL), *b = side_open(&compute_cpu, NULL);
    double loss[2][N_LOSSES];

    (void)state;
    for (int k = 0; k < 2; k++) {
        struct side *s = k ? b : a;
        float *x = side_reals(s, CUDA_LOGS_KEPT + 2), *y = side_reals(s, CUDA_LOGS_KEPT + 2);
        for (size_t round = 0; round < 3 * CUDA_LOGS_KEPT; round++) {
            for (size_t i = 0; i < CUDA_GRAPH_MIN_CALLS; i++)
                compute_accumulate(s->c, x, y, 1 + round % (CUDA_LOGS_KEPT + 2));
            assert_int_equal(compute_sync(s->c), RC_OK);
        }
        for (size_t i = 0; i < N_LOSSES; i++)
            compute_mean_square(s->c, &loss[k][i], NULL, x, y, 1 + i % 64);
        for (uint64_t i = 0; i < N_KEYS; i++)
            compute_dropout(s->c, x, 64, 0.999f, i);
    }
    side_compare(a, b, 1e-6);
    for (size_t i = 0; i < N_LOSSES; i++)
        assert_true(fabs(loss[0][i] - loss[1][i]) <= 1e-6 * loss[1][i]);
    side_close(a);
    side_close(b);
}

/* An upload is not behind the calls made before it, of which none need have run, and is ahead of those made after. */
static void overtake(void)
{
    enum { N = 70000 };
    struct side *a = side_open(&compute_cuda, NULL);
    float *x = side_reals(a, N), *y = side_reals(a, N), *z = side_reals(a, N);
    void *block = NULL;
    float *sum = malloc(N * sizeof *sum), *was = malloc(N * sizeof *was);

    assert_true(sum != NULL && was != NULL);
    assert_int_equal(compute_host_open(a->c, &block, N * sizeof(float), "the batch"), RC_OK);
    float *host = block;
    compute_get(a->c, was, x, N * sizeof *was);
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < N; i++)
            host[i] = (float)(i % 1009 + (size_t)round);
        compute_zero(a->c, z, N);
        compute_accumulate(a->c, z, x, N); /* before: of x alone */
        compute_upload(a->c, y, host, N * sizeof(float));
#if GRADMARK_CUDA_ON_HOST
        assert_int_equal(on_host_n_queued(((struct cuda_compute *)a->c)->device), 3); /* they, and the order */
#endif
        compute_accumulate(a->c, z, y, N); /* after: of what was uploaded */
        assert_int_equal(compute_sync(a->c), RC_OK);
        compute_get(a->c, sum, z, N * sizeof *sum);
        for (size_t i = 0; i < N; i++)
            assert_true(sum[i] == was[i] + (float)(i % 1009 + (size_t)round));
    }
    compute_host_close(a->c, &block);
    free(sum);
    free(was);
    side_close(a);
}

static void uploads_overtake_earlier_calls(void **state)
{
    struct on_host_limits eager = no_limits;

    (void)state;
    overtake();
    eager.eager_copies = 1;
    limit(&eager);
    overtake();
    limit(&no_limits);
}

/* --- failures are reported by sync --- */

/* compute.C4 */
static void failures_name_the_operation(void **state)
{
    const struct on_host_limits failing = { .memory_bytes = (size_t)1 << 30, .failing = "accumulate" };
    struct side *a = side_open(&compute_cuda, NULL);
    float *x = side_reals(a, 8), *y = side_reals(a, 8);

    (void)state;
    limit(&failing);
    compute_zero(a->c, x, 8);
    compute_accumulate(a->c, x, y, 8);
    assert_int_equal(compute_sync(a->c), RC_DEVICE);
    assert_non_null(strstr(rc_message(), "accumulate"));
    limit(&no_limits);
    compute_accumulate(a->c, x, y, 8);
    assert_int_equal(compute_sync(a->c), RC_OK);
    side_close(a);
}

/* Arrays and scratch that do not fit are errors that say what was missing. */
static void missing_memory_is_named(void **state)
{
    static const struct conv_shape large = { { 64, 8, 16, 16, 3, 3, 1, 1, 1, 1 }, 8 };
    const struct on_host_limits small = { .memory_bytes = 4 << 20 };
    struct side *a = side_open(&compute_cuda, NULL);
    void *memory = NULL;

    (void)state;
    const float *x = side_reals(a, (size_t)64 * 8 * 256), *w = side_reals(a, 8 * 72);
    float *y = side_reals(a, (size_t)64 * 8 * 256);
    const struct conv_forward conv = { .shape = large, .y = y, .x = x, .weight = w };
    limit(&small);
    assert_int_equal(compute_memory_open(a->c, &memory, 5 << 20, "activations"), RC_NOMEM);
    assert_non_null(strstr(rc_message(), "activations: needs 5242880 bytes"));
    assert_null(memory);
    compute_conv(a->c, &conv);
    compute_accumulate(a->c, y, x, 8);
    assert_int_equal(compute_sync(a->c), RC_NOMEM);
    assert_non_null(strstr(rc_message(), "conv: scratch"));
    limit(&no_limits);
    compute_conv(a->c, &conv);
    assert_int_equal(compute_sync(a->c), RC_OK);
    side_close(a);
}

/* ... but what failed before an allocation is no want of memory. */
static void failures_are_no_want_of_memory(void **state)
{
    static const struct conv_shape shape = { { 4, 8, 16, 16, 3, 3, 1, 1, 1, 1 }, 8 };
    const struct on_host_limits broken = { .memory_bytes = (size_t)1 << 30, .broken = 1 };
    struct side *a = side_open(&compute_cuda, NULL);
    struct compute *other = NULL;
    void *memory = NULL;

    (void)state;
    float *x = side_reals(a, 4 * 8 * 256), *w = side_reals(a, 8 * 72), *y = side_reals(a, 4 * 8 * 256);
    limit(&broken);
    assert_int_equal(compute_memory_open(a->c, &memory, 5 << 20, "activations"), RC_DEVICE);
    assert_non_null(strstr(rc_message(), "activations: cuda: memory: made to fail"));
    assert_int_equal(compute_memory_open(a->c, &memory, 5, "activations"), RC_DEVICE);
    assert_int_equal(compute_host_open(a->c, &memory, 5, "a copy"), RC_DEVICE);
    assert_null(memory);
    compute_conv(a->c, &(struct conv_forward){ .shape = shape, .y = y, .x = x, .weight = w });
    assert_int_equal(compute_sync(a->c), RC_DEVICE);
    assert_int_equal(compute_open(&other, &compute_cuda, NULL), RC_DEVICE);
    limit(&no_limits);
    assert_int_equal(compute_sync(a->c), RC_OK);
    side_close(a);
}

static void other_devices_are_not_there(void **state)
{
    struct compute_env env = { .device = 0 };
    struct compute *c = NULL;
    char says[64];

    (void)state;
    assert_int_equal(compute_cuda.device_count(&env.device), RC_OK);
    assert_int_equal(compute_open(&c, &compute_cuda, &env), RC_UNSUPPORTED);
    snprintf(says, sizeof says, "no CUDA device %d: there are 0 to %d", env.device, env.device - 1);
    assert_non_null(strstr(rc_message(), says));
    assert_null(c);
}

/* Each that this process sees, by its own id. */
static void devices_have_ids(void **state)
{
    const struct on_host_limits two = { .memory_bytes = (size_t)1 << 30, .n_devices = 2 };
    char id[16][COMPUTE_DEVICE_ID_BYTES], text[256], cut[8];
    int n_devices = 0;

    (void)state;
    limit(&two);
    assert_int_equal(compute_cuda.device_count(&n_devices), RC_OK);
    assert_true(n_devices >= (GRADMARK_CUDA_ON_HOST ? 2 : 1));
    for (int k = 0; k < n_devices && k < 16; k++) {
        struct side *s = side_open(&compute_cuda, &(struct compute_env){ .device = k });
        s->c->ops->device_id(s->c, id[k]);
        compute_cuda.device_text(k, text, sizeof text);
        assert_non_null(strstr(text, id[k]));
        compute_cuda.device_text(k, cut, sizeof cut);
        assert_memory_equal(cut, text, sizeof cut - 1);
        assert_int_equal(strlen(cut), sizeof cut - 1);
        assert_int_equal(compute_sync(s->c), RC_OK);
        assert_non_null(strchr(id[k], ':'));
        for (int i = 0; i < k; i++)
            assert_string_not_equal(id[i], id[k]);
        side_close(s);
    }
    limit(&no_limits);
}

static void devices_have_names(void **state)
{
    struct side *a = side_open(&compute_cuda, NULL);
    char name[64] = "", cut[4] = "";

    (void)state;
    a->c->ops->device_name(a->c, name, sizeof name);
    a->c->ops->device_name(a->c, cut, sizeof cut);
    assert_true(strlen(name) >= sizeof cut - 1);
    assert_int_equal(strlen(cut), sizeof cut - 1);
    assert_memory_equal(cut, name, sizeof cut - 1);
    side_close(a);
}

static void absence_is_told(void **state)
{
    struct compute *c = NULL;

    (void)state;
    assert_int_equal(compute_open(&c, &compute_cuda, NULL), RC_UNSUPPORTED);
    assert_non_null(strstr(rc_message(), "no CUDA device: "));
    assert_null(c);
}

/* fake_driver.c */
static void a_faulty_driver_is_an_error(void **state)
{
    struct compute *c = NULL;
    int n_devices = -1;

    (void)state;
    assert_int_equal(compute_open(&c, &compute_cuda, NULL), RC_DEVICE);
    assert_non_null(strstr(rc_message(), "cuda: there is a driver, but it fails: "));
    assert_int_equal(compute_cuda.device_count(&n_devices), RC_DEVICE);
    assert_null(c);
}

static void skips_can_be_failures(void **state)
{
    (void)state;
    assert_int_equal(unsetenv("GRADMARK_REQUIRE_GPU"), 0);
    assert_int_equal(gpu_skip("this is a test"), 77);
    assert_int_equal(setenv("GRADMARK_REQUIRE_GPU", "0", 1), 0);
    assert_int_equal(gpu_skip("this is a test"), 77);
    assert_int_equal(setenv("GRADMARK_REQUIRE_GPU", "1", 1), 0);
    assert_int_equal(gpu_skip("this is a test"), EXIT_FAILURE);
}

static bool device_is_there(void)
{
    struct compute *c = NULL;
    const enum rc rc = compute_open(&c, &compute_cuda, NULL);

    compute_close(&c);
    return rc != RC_UNSUPPORTED; /* any other failure is for the tests to report */
}

static int run(const char *what)
{
    const struct CMUnitTest absent[] = { cmocka_unit_test(absence_is_told) };
    const struct CMUnitTest faulty[] = { cmocka_unit_test(a_faulty_driver_is_an_error) };
    const struct CMUnitTest skips[] = { cmocka_unit_test(skips_can_be_failures) };
    const struct CMUnitTest agrees[] = { cmocka_unit_test(convolutions_agree),
                                         cmocka_unit_test(bf16_convolutions_are_near),
                                         cmocka_unit_test(grouped_convolutions_agree),
                                         cmocka_unit_test(images_are_grouped_by_eights),
                                         cmocka_unit_test(norms_agree),
                                         cmocka_unit_test(pools_agree),
                                         cmocka_unit_test(values_agree) };
    const struct CMUnitTest graphs[] = { cmocka_unit_test(repeated_steps_become_graphs),
                                         cmocka_unit_test(steps_with_events_become_graphs),
                                         cmocka_unit_test(many_logs_and_results_find_room) };
    const struct CMUnitTest copies[] = { cmocka_unit_test(copies_of_any_size_arrive),
                                         cmocka_unit_test(wait_event_ignores_later_calls),
                                         cmocka_unit_test(uploads_overtake_earlier_calls),
                                         cmocka_unit_test(stamps_are_of_the_device),
                                         cmocka_unit_test(scratch_is_foretold),
                                         cmocka_unit_test(gemms_alone_are_of_random_numbers),
                                         cmocka_unit_test(other_devices_are_not_there),
                                         cmocka_unit_test(devices_have_ids),
                                         cmocka_unit_test(devices_have_names) };
    const struct CMUnitTest packed[] = { cmocka_unit_test(packed_convolutions_give_the_same_bits),
                                         cmocka_unit_test(what_is_packed_is_not_packed_again),
                                         cmocka_unit_test(norms_and_biases_pack), cmocka_unit_test(pools_pack),
                                         cmocka_unit_test(packing_can_be_off) };
    const struct CMUnitTest errors[] = { cmocka_unit_test(failures_name_the_operation),
                                         cmocka_unit_test(missing_memory_is_named),
                                         cmocka_unit_test(failures_are_no_want_of_memory) };

    if (strcmp(what, "absent") == 0)
        return cmocka_run_group_tests(absent, NULL, NULL);
    if (strcmp(what, "faulty") == 0)
        return cmocka_run_group_tests(faulty, NULL, NULL);
    if (strcmp(what, "skips") == 0)
        return cmocka_run_group_tests(skips, NULL, NULL);
    if (strcmp(what, "agrees") == 0)
        return cmocka_run_group_tests(agrees, NULL, NULL);
    if (strcmp(what, "graphs") == 0)
        return cmocka_run_group_tests(graphs, NULL, NULL);
    if (strcmp(what, "copies") == 0)
        return cmocka_run_group_tests(copies, NULL, NULL);
    if (strcmp(what, "packed") == 0)
        return cmocka_run_group_tests(packed, NULL, NULL);
    if (strcmp(what, "errors") == 0)
        return cmocka_run_group_tests(errors, NULL, NULL);
    fprintf(stderr,
            "usage: cuda_test absent | faulty | agrees | graphs | copies | packed | errors | skips | mutant NAME\n");
    return 2;
}

/* 0: the tests caught the planted bug. */
static int mutant(const char *name)
{
    no_limits.lose_orders = strcmp(name, "lose_orders") == 0;
    no_limits.lose_waits = strcmp(name, "lose_waits") == 0;
    no_limits.lose_barriers = strcmp(name, "lose_barriers") == 0;
    if (!no_limits.lose_orders && !no_limits.lose_waits && !no_limits.lose_barriers)
        return 2;
    limit(&no_limits);
    return run(no_limits.lose_barriers ? "agrees" : "copies") > 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    const bool absent = strcmp(what, "absent") == 0;

    if (strcmp(what, "mutant") == 0 && argc > 2)
        return mutant(argv[2]);
    limit(&no_limits);
    const bool is_there = device_is_there();
    if (is_there && absent) {
        fprintf(stderr, "skipped: there is a CUDA device\n");
        return 77;
    }
    if (!is_there && !absent && strcmp(what, "faulty") != 0) /* that is for its test to judge */
        return gpu_skip(rc_message());
    return run(what);
}
