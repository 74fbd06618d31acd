/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shard_test.c - networks whose dense layers are cut (network_shard.h): where, and that the ranks of a group, each on a
 * thread of its own, have the losses and the gradients of whole networks.
 *
 * usage: shard_test
 */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "models/engine/stage.h"
#include "models/suite/network_fixture.h"
#include "models/suite/rank_threads.h"

enum { MOST_SHARDS = THREADS_MOST_SHARDS, FIRST = 7 };
#define TOLERANCE 1e-5 /* of a gradient, of the largest of its segment; of a loss, of itself */

static size_t elems_sent_for_image(const struct network *shard)
{
    const struct shard_traffic t = network_shard_traffic(shard);

    return t.gathered_elems + t.scattered_elems;
}

static struct network *open_whole(const char *name)
{
    const struct variant *v = network_variant_find(name);
    struct network *n = NULL;

    assert_int_equal(network_open(&n, v->workload->network, &v->opts), RC_OK);
    return n;
}

/* --- where a network is cut --- */

static void dense_layers_are_known(void **state)
{
    static const struct {
        const char *name, *first;
        int most;
    } known[] = { { "lenet", "fc3", 10 },
                  { "alexnet", "fc6", 7 },
                  { "vgg16", "fc6", 7 },
                  { "resnet8", "fc", 10 },
                  { "resnet50", "fc", 7 } };

    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct network *n = open_whole(known[i].name);
        const int first = network_first_dense(n);
        assert_true(first >= 0);
        assert_string_equal(n->node[first].name, known[i].first);
        assert_int_equal(network_most_shards(n), known[i].most);
        assert_int_equal(network_common_params(n), n->node[first].weight.offset_elems);
        network_close(&n);
    }
    struct network *n = open_whole("inception3"); /* its auxiliary head has a loss of its own */
    assert_int_equal(network_first_dense(n), NODE_NONE);
    assert_int_equal(network_most_shards(n), 0);
    network_close(&n);
}

/* lenet on 8 x 8: ..., 32 x 2 x 2, fc3 of 64 x 128, fc4 of 10 x 64; its last shard of 4 has rows 48 to 63, and 7 to 9.
 */
static void shard_of_lenet_is_known(void **state)
{
    static const enum node_kind kind[] = { NODE_GATHER_IMAGES,   NODE_CONV, NODE_GATHER_CHANNELS, NODE_CONV,
                                           NODE_GATHER_CHANNELS, NODE_LOSS };
    static const int C_out[] = { 32, 16, 64, 3, 10, 10 };
    struct network *whole = open_whole("lenet"), *shard = NULL;

    (void)state;
    assert_int_equal(network_open_shard(&shard, whole, 3, 4), RC_OK);
    assert_int_equal(shard->n_nodes, 4 + 6);
    for (int i = 0; i < 4; i++)
        assert_int_equal(shard->node[i].group, 1);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(shard->node[4 + i].kind, kind[i]);
        assert_int_equal(shard->node[4 + i].C_out, C_out[i]);
        assert_int_equal(shard->node[4 + i].group, 4);
        assert_int_equal(shard->node[4 + i].from, 3 + i);
    }
    assert_int_equal(shard->n_params, 160 + 4640 + 16 * 128 + 16 + 3 * 64 + 3);
    const struct range weight = network_shard_range(whole, 4, 3, 4), bias = network_shard_range(whole, 7, 3, 4);
    assert_int_equal(weight.offset_elems, 160 + 4640 + 48 * 128);
    assert_int_equal(weight.n_elems, 16 * 128);
    assert_int_equal(bias.offset_elems, whole->n_params - 3);
    assert_int_equal(bias.n_elems, 3);
    /* 128 values of its own image, 4 images' of 16 channels, and of 3 logits, to three others each; backward 128 of
     * each of their images, and the 48 channels of theirs of 4 images */
    assert_int_equal(elems_sent_for_image(shard), 3 * (128 + 4 * 16 + 4 * 3) + 3 * 128 + 4 * 48);
    assert_int_equal(network_shard_most_elems(shard), 128);
    network_close(&shard);
    network_close(&whole);
}

/* models.D1 */
static void shards_begin_with_values_of_the_whole(void **state)
{
    static const char *const name[] = { "lenet", "vgg16", "resnet8" };

    (void)state;
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        struct network *whole = open_whole(name[i]);
        float *all = malloc(2 * whole->n_params * sizeof *all), *own = all + whole->n_params;
        size_t n_own_rows = 0;
        assert_non_null(all);
        network_init(whole, 5, all, NULL);
        for (int k = 0; k < 3; k++) {
            struct network *shard = NULL;
            assert_int_equal(network_open_shard(&shard, whole, k, 3), RC_OK);
            assert_int_equal(shard->n_segments, whole->n_segments);
            network_init(shard, 5, own, NULL);
            for (int s = 0; s < whole->n_segments; s++) {
                const struct range r = network_shard_range(whole, s, k, 3);
                assert_int_equal(shard->segment[s].n_elems, r.n_elems);
                assert_memory_equal(own + shard->segment[s].offset_elems, all + r.offset_elems,
                                    r.n_elems * sizeof *own);
            }
            n_own_rows += shard->n_params - network_common_params(whole);
            network_close(&shard);
        }
        assert_int_equal(n_own_rows, whole->n_params - network_common_params(whole)); /* every row is a shard's */
        free(all);
        network_close(&whole);
    }
}

/* --- a group --- */

struct place {
    struct dense_shard shard;
    struct thread_shard at;
    struct compute *compute;
    struct training *training;
    float *param, *grad;
    size_t n_samples, n_segments;
    double loss;
    enum rc rc;
    pthread_t thread;
};

static enum rc count_segment(void *arg, struct segment s, const float *grad)
{
    struct place *p = arg;

    (void)s;
    (void)grad;
    p->n_segments++;
    return RC_OK;
}

static void *run_place(void *arg)
{
    struct place *p = arg;
    const uint64_t first = FIRST + (uint64_t)p->shard.number * p->n_samples;

    p->rc = workload_gradient(p->training, p->param, first, p->n_samples, p->grad, &p->loss, count_segment, p);
    return NULL;
}

/* A rank's parameters, of those of the whole network. */
static void take_params(struct place *p, const struct network_fixture *f)
{
    const struct network *n = network_of(p->training);

    for (int i = 0; i < n->n_segments; i++) {
        const struct range r = network_shard_range(f->network, i, p->shard.number, p->shard.n_shards);
        memcpy(p->param + n->segment[i].offset_elems, f->param + r.offset_elems, r.n_elems * sizeof *p->param);
    }
}

static void open_place(struct place *p, struct network_fixture *f, struct thread_group *g, int number, size_t n_parts)
{
    struct training_env env = f->training->env;

    *p = (struct place){ .at = { .group = g, .number = number } };
    p->shard = thread_shard_env(&p->at);
    assert_int_equal(compute_open(&p->compute, &compute_cpu, &(struct compute_env){ .n_threads = 1 }), RC_OK);
    env.compute = p->compute;
    env.shard = &p->shard;
    assert_int_equal(workload_open(&p->training, f->variant->workload, &env), RC_OK);
    network_trainer_of(p->training)->poison = true;
    const size_t n_params = network_of(p->training)->n_params;
    p->param = malloc(2 * n_params * sizeof *p->param);
    assert_non_null(p->param);
    p->grad = p->param + n_params;
    p->n_samples = n_parts * f->variant->B;
    take_params(p, f);
}

static void close_place(struct place *p)
{
    workload_close(&p->training);
    compute_close(&p->compute);
    free(p->param);
}

static double largest_of(const double *x, size_t n)
{
    double most = 0.0;

    for (size_t i = 0; i < n; i++)
        most = fabs(x[i]) > most ? fabs(x[i]) : most;
    return most;
}

/* models.D3. want: [n_params] of each rank's whole network. */
static void compare(const struct place *p, const struct network_fixture *f, const double *want)
{
    const struct network *n = network_of(p->training);
    const size_t n_params = f->network->n_params;
    double *sum = malloc(n_params * sizeof *sum);

    assert_non_null(sum);
    for (int i = 0; i < n->n_segments; i++) {
        const struct range r = network_shard_range(f->network, i, p->shard.number, p->shard.n_shards);
        const bool is_common = r.offset_elems < network_common_params(f->network);
        for (size_t e = 0; e < r.n_elems; e++) {
            sum[e] = 0.0;
            for (int k = 0; k < p->shard.n_shards; k++)
                if (!is_common || k == p->shard.number)
                    sum[e] += want[(size_t)k * n_params + r.offset_elems + e];
        }
        const double bound = TOLERANCE * largest_of(sum, r.n_elems) + 1e-7;
        for (size_t e = 0; e < r.n_elems; e++)
            if (!(fabs(sum[e] - (double)p->grad[n->segment[i].offset_elems + e]) <= bound))
                fail_msg("%s, shard %d of %d, %s, element %zu: %g, not %g", n->name, p->shard.number, p->shard.n_shards,
                         n->segment_name[i], e, (double)p->grad[n->segment[i].offset_elems + e], sum[e]);
    }
    free(sum);
}

static void check(const struct variant *v, int n_shards, size_t n_parts)
{
    struct place place[MOST_SHARDS];
    struct thread_group group = { .n_shards = n_shards };
    struct network_fixture f;

    assert_int_equal(network_fixture_open(&f, v, &(struct network_fixture_opts){ .n_micro_batches = n_parts }), RC_OK);
    const size_t n_params = f.network->n_params, n_samples = n_parts * v->B;
    double *want = malloc((size_t)n_shards * n_params * sizeof *want), loss[MOST_SHARDS] = { 0.0 };
    assert_non_null(want);
    for (int k = 0; k < n_shards; k++) {
        assert_int_equal(workload_gradient(f.training, f.param, FIRST + (uint64_t)k * n_samples, n_samples, f.grad,
                                           &loss[k], NULL, NULL),
                         RC_OK);
        for (size_t i = 0; i < n_params; i++)
            want[(size_t)k * n_params + i] = (double)f.grad[i];
    }
    assert_int_equal(pthread_barrier_init(&group.all, NULL, (unsigned)n_shards), 0);
    for (int k = 0; k < n_shards; k++)
        open_place(&place[k], &f, &group, k, n_parts);
    for (int k = 0; k < n_shards; k++)
        assert_int_equal(pthread_create(&place[k].thread, NULL, run_place, &place[k]), 0);
    for (int k = 0; k < n_shards; k++)
        assert_int_equal(pthread_join(place[k].thread, NULL), 0);
    for (int k = 0; k < n_shards; k++) {
        const struct network *n = network_of(place[k].training);
        assert_int_equal(place[k].rc, RC_OK);
        assert_true(fabs(place[k].loss - loss[k]) <= TOLERANCE * loss[k]);
        assert_int_equal(place[k].n_segments, n->n_segments);
        assert_int_equal(place[k].at.n_sent_elems, n_samples * elems_sent_for_image(n));
        compare(&place[k], &f, want);
    }
    for (int k = 0; k < n_shards; k++)
        close_place(&place[k]);
    (void)pthread_barrier_destroy(&group.all);
    free(want);
    network_fixture_close(&f);
}

static void groups_have_the_gradients_of_the_whole(void **state)
{
    static const char *const name[] = { "lenet", "alexnet", "vgg16", "resnet8" };

    (void)state;
    for (size_t i = 0; i < sizeof name / sizeof *name; i++)
        for (int n_shards = 2; n_shards <= MOST_SHARDS; n_shards++) {
            check(network_variant_find(name[i]), n_shards, 1);
            check(network_variant_find(name[i]), n_shards, 3);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dense_layers_are_known),
        cmocka_unit_test(shard_of_lenet_is_known),
        cmocka_unit_test(shards_begin_with_values_of_the_whole),
        cmocka_unit_test(groups_have_the_gradients_of_the_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
