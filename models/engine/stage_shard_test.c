/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stage_shard_test.c - stages of networks whose dense layers are cut into shards (network_shard.h): what they are, and
 * that the ranks of several pipelines, each on a thread of its own, have the losses and the gradients of whole
 * networks.
 *
 * usage: stage_shard_test [device]    device: on a compute whose memory the host cannot reach (device_pipe.h)
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

#include "harness/compute/suite/fake_device.h"
#include "models/engine/device_pipe.h"
#include "models/engine/network_shard.h"
#include "models/suite/network_fixture.h"
#include "models/suite/rank_threads.h"

enum { MOST_STAGES = 4, MOST_SHARDS = THREADS_MOST_SHARDS, FIRST = 7 };
#define TOLERANCE 1e-5 /* of a gradient, of the largest of its segment; of a loss, of itself */

static size_t elems_sent_for_image(const struct network *shard)
{
    const struct shard_traffic t = network_shard_traffic(shard);

    return t.gathered_elems + t.scattered_elems;
}

/* --- which stages --- */

/* By multiply-adds; or by parameters, so that dense layers are in stages of their own. */
static void cut(struct network_stages *out, const struct network *n, int n_stages, bool by_params)
{
    double *cost = calloc((size_t)n->n_nodes, sizeof *cost);

    assert_non_null(cost);
    network_flops_of_nodes(n, cost);
    for (int i = 0; by_params && i < n->n_nodes; i++)
        cost[i] = (double)n->node[i].weight.n_elems;
    assert_int_equal(network_balance(out, n, cost, n_stages), RC_OK);
    free(cost);
}

static void open_stage_of_lenet(struct network **out, int end, int number)
{
    const struct variant *v = network_variant_find("lenet");
    struct network_stages cuts = { .n_stages = 2 };
    struct network *whole = NULL;

    assert_int_equal(network_open(&whole, v->workload->network, &v->opts), RC_OK);
    cuts.end[0] = end;
    cuts.end[1] = whole->n_nodes;
    assert_int_equal(network_open_stage(out, whole, &cuts, number), RC_OK);
    network_close(&whole);
}

/* lenet on 8 x 8: conv, pool, conv, pool, fc3 of 64 x 128, fc4 of 10 x 64, loss. Cut between the dense layers: the last
 * shard of 3 has 22 rows of fc3, and passes on all 64 of its own images; behind the cut, 4 rows of fc4. */
static void shards_of_stages_are_known(void **state)
{
    static const enum node_kind kind[] = { NODE_GATHER_IMAGES, NODE_CONV, NODE_GATHER_CHANNELS, NODE_OWN_IMAGES };
    static const int C_out[] = { 32, 22, 64, 64 }, group[] = { 3, 3, 3, 1 };
    struct network *stage = NULL, *shard = NULL;

    (void)state;
    open_stage_of_lenet(&stage, 5, 0);
    assert_int_equal(network_first_dense(stage), 4);
    assert_int_equal(network_most_shards(stage), 64);
    assert_int_equal(network_common_params(stage), 160 + 4640);
    assert_int_equal(network_open_shard(&shard, stage, 2, 3), RC_OK);
    assert_int_equal(shard->n_nodes, 4 + 4);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(shard->node[4 + i].kind, kind[i]);
        assert_int_equal(shard->node[4 + i].C_out, C_out[i]);
        assert_int_equal(shard->node[4 + i].group, group[i]);
    }
    assert_int_equal(shard->out_node, 7);
    assert_int_equal(node_out_elems(&shard->node[7]), 64);
    assert_int_equal(elems_sent_for_image(shard), 2 * (128 + 3 * 22) + 2 * 128 + 3 * (64 - 22));
    assert_int_equal(network_shard_traffic(shard).gathered_elems, 2 * (128 + 3 * 22));
    assert_int_equal(network_shard_traffic(shard).n_gathers, 2);
    assert_int_equal(network_shard_traffic(shard).n_scatters, 2);
    network_close(&shard);
    network_close(&stage);
    open_stage_of_lenet(&stage, 5, 1);
    assert_int_equal(network_first_dense(stage), 0);
    assert_int_equal(network_most_shards(stage), 10);
    assert_int_equal(network_common_params(stage), 0);
    assert_int_equal(network_open_shard(&shard, stage, 2, 3), RC_OK);
    assert_int_equal(shard->node[0].kind, NODE_GATHER_IMAGES);
    assert_int_equal(shard->node[0].from, NODE_IMAGE);
    assert_int_equal(shard->n_params, 4 * 64 + 4);
    assert_int_equal(shard->first_param, 160 + 4640 + 64 * 128 + 64);
    assert_int_equal(shard->in_elems, 64);
    assert_int_equal(network_shard_traffic(shard).n_gathers, 2);
    assert_int_equal(network_shard_traffic(shard).n_scatters, 1); /* of logits nothing goes back */
    network_close(&shard);
    network_close(&stage);
    open_stage_of_lenet(&stage, 3, 0); /* without dense layers */
    assert_int_equal(network_first_dense(stage), NODE_NONE);
    assert_int_equal(network_most_shards(stage), 0);
    network_close(&stage);
}

/* --- ranks --- */

struct place {
    struct thread_stage at_stage;
    struct thread_shard at_shard;
    struct pipeline_stage stage;
    struct dense_shard shard;
    bool has_shard;
    struct compute *compute;
    struct training *training;
    struct device_pipe *device; /* both NULL: the host's memory is the compute's */
    struct device_group *device_group;
    void *memory;        /* of the compute: parameters, gradients */
    float *param, *grad; /* in it */
    float *read;         /* float[n_params], of the host: gradients */
    size_t n_samples;
    uint64_t first;
    double loss;
    enum rc rc;
    pthread_t thread;
};

struct grid { /* [worker][stage]: the workers are one group */
    struct place place[MOST_SHARDS][MOST_STAGES];
    struct thread_line line[MOST_SHARDS][MOST_STAGES];
    struct thread_group group[MOST_STAGES];
    int n_shards, n_stages;
    const struct compute_backend *backend;
};

static void *run_place(void *arg)
{
    struct place *p = arg;

    p->rc = workload_gradient(p->training, p->param, p->first, p->n_samples, p->grad, &p->loss, NULL, NULL);
    return NULL;
}

/* Of a segment of a rank's network, the range of the parameters of the whole one. */
static struct range range_of(const struct place *p, const struct network *stage, int segment)
{
    struct range r = { stage->segment[segment].offset_elems, stage->segment[segment].n_elems };

    if (p->has_shard)
        r = network_shard_range(stage, segment, p->shard.number, p->shard.n_shards);
    r.offset_elems += stage->first_param;
    return r;
}

/* By the host's memory, where p->compute has its own. */
static void open_device(struct place *p, const struct network_fixture *f)
{
    enum { MOST_HELD = 3 }; /* micro-batches */
    size_t most_elems = 1;

    for (int i = 0; i < f->network->n_nodes; i++) {
        const size_t n_elems = node_out_elems(&f->network->node[i]) * f->variant->B * MOST_SHARDS;
        most_elems = n_elems > most_elems ? n_elems : most_elems;
    }
    assert_int_equal(device_pipe_open(&p->device, p->compute, &p->stage.pipe, MOST_HELD, most_elems), RC_OK);
    p->stage.pipe = device_pipe_of(p->device);
    assert_int_equal(device_group_open(&p->device_group, p->compute, &p->shard, most_elems), RC_OK);
    p->shard = device_group_of(p->device_group);
}

static void open_place(struct place *p, const struct network_fixture *f, const struct network *stage, size_t n_parts,
                       const struct compute_backend *backend)
{
    struct training_env env = f->training->env;

    assert_int_equal(compute_open(&p->compute, backend, &(struct compute_env){ .n_threads = 1 }), RC_OK);
    if (!backend->host_memory)
        open_device(p, f);
    env.compute = p->compute;
    env.stage = &p->stage;
    env.shard = p->has_shard ? &p->shard : NULL;
    assert_int_equal(workload_open(&p->training, f->variant->workload, &env), RC_OK);
    network_trainer_of(p->training)->poison = backend->host_memory;
    const struct network *n = network_of(p->training);
    assert_int_equal(compute_memory_open(p->compute, &p->memory, 2 * n->n_params * sizeof(float), "arrays"), RC_OK);
    p->param = p->memory;
    p->grad = p->param + n->n_params;
    p->read = malloc((n->n_params + 1) * sizeof *p->read);
    assert_non_null(p->read);
    p->n_samples = n_parts * f->variant->B;
    p->first = FIRST + (uint64_t)p->at_shard.number * p->n_samples;
    for (int i = 0; i < n->n_segments; i++) {
        const struct range r = range_of(p, stage, i);
        assert_int_equal(n->segment[i].n_elems, r.n_elems);
        compute_put(p->compute, p->param + n->segment[i].offset_elems, f->param + r.offset_elems,
                    r.n_elems * sizeof *p->param);
    }
    assert_int_equal(compute_sync(p->compute), RC_OK);
}

static void close_place(struct place *p)
{
    workload_close(&p->training);
    device_pipe_close(&p->device);
    device_group_close(&p->device_group);
    compute_memory_close(p->compute, &p->memory);
    compute_close(&p->compute);
    free(p->read);
}

static void open_grid(struct grid *g, const struct network_fixture *f, const struct pipeline_stage *how, size_t n_parts)
{
    for (int s = 0; s < g->n_stages; s++) {
        struct network *stage = NULL;
        assert_int_equal(network_open_stage(&stage, f->network, &how->cuts, s), RC_OK);
        g->group[s].n_shards = g->n_shards;
        assert_int_equal(pthread_barrier_init(&g->group[s].all, NULL, (unsigned)g->n_shards), 0);
        for (int k = 0; k < g->n_shards; k++) {
            struct place *p = &g->place[k][s];
            g->line[k][s] = (struct thread_line)THREAD_LINE_INIT; /* to the stage behind */
            p->at_stage =
                (struct thread_stage){ s > 0 ? &g->line[k][s - 1] : NULL, s + 1 < g->n_stages ? &g->line[k][s] : NULL };
            p->at_shard = (struct thread_shard){ .group = &g->group[s], .number = k };
            p->stage = *how;
            p->stage.number = s;
            p->stage.pipe = thread_pipe(&p->at_stage);
            p->shard = thread_shard_env(&p->at_shard);
            p->has_shard = network_most_shards(stage) > 0;
            open_place(p, f, stage, n_parts, g->backend);
        }
        network_close(&stage);
    }
}

/* --- what they have --- */

static double largest_of(const double *x, size_t n)
{
    double most = 0.0;

    for (size_t i = 0; i < n; i++)
        most = fabs(x[i]) > most ? fabs(x[i]) : most;
    return most;
}

/* models.D3. want: [n_params] of each worker's whole network. */
static void compare(const struct place *p, const struct network_fixture *f, const double *want)
{
    const struct network *n = network_of(p->training);
    const size_t n_params = f->network->n_params;
    double *sum = malloc(n_params * sizeof *sum);
    struct network *stage = NULL;

    assert_non_null(sum);
    assert_int_equal(compute_fetch(p->compute, p->read, p->grad, n->n_params * sizeof *p->read), RC_OK);
    assert_int_equal(network_open_stage(&stage, f->network, &p->stage.cuts, p->stage.number), RC_OK);
    for (int i = 0; i < n->n_segments; i++) {
        const struct range r = range_of(p, stage, i);
        const bool is_own = !p->has_shard || stage->segment[i].offset_elems < network_common_params(stage);
        for (size_t e = 0; e < r.n_elems; e++) {
            sum[e] = 0.0;
            for (int k = 0; k < p->shard.n_shards; k++)
                if (!is_own || k == p->shard.number)
                    sum[e] += want[(size_t)k * n_params + r.offset_elems + e];
        }
        const double bound = TOLERANCE * largest_of(sum, r.n_elems) + 1e-7;
        for (size_t e = 0; e < r.n_elems; e++)
            if (!(fabs(sum[e] - (double)p->read[n->segment[i].offset_elems + e]) <= bound))
                fail_msg("%s, stage %d of %d, shard %d of %d, %s, element %zu: %g, not %g", n->name, p->stage.number,
                         p->stage.cuts.n_stages, p->shard.number, p->shard.n_shards, n->segment_name[i], e,
                         (double)p->read[n->segment[i].offset_elems + e], sum[e]);
    }
    network_close(&stage);
    free(sum);
}

/* Of the whole network, worker by worker: malloc'ed. */
static double *gradients_of_workers(struct network_fixture *f, int n_workers, size_t n_samples, double *loss)
{
    const size_t n_params = f->network->n_params;
    double *want = malloc((size_t)n_workers * n_params * sizeof *want);

    assert_non_null(want);
    for (int k = 0; k < n_workers; k++) {
        assert_int_equal(workload_gradient(f->training, f->param, FIRST + (uint64_t)k * n_samples, n_samples, f->grad,
                                           &loss[k], NULL, NULL),
                         RC_OK);
        for (size_t i = 0; i < n_params; i++)
            want[(size_t)k * n_params + i] = (double)f->grad[i];
    }
    return want;
}

/* Of one image of each micro-batch, forward and backward. */
static size_t elems_sent(const struct place *p, size_t n_parts)
{
    return p->has_shard ? n_parts * elems_sent_for_image(network_of(p->training)) : 0;
}

static int check(const struct variant *v, struct grid *g, size_t n_parts, struct pipeline_stage how, bool by_params)
{
    double loss[MOST_SHARDS] = { 0.0 };
    struct network_fixture f;
    int n_sharded = 0;

    assert_int_equal(network_fixture_open(&f, v, &(struct network_fixture_opts){ .n_micro_batches = n_parts }), RC_OK);
    cut(&how.cuts, f.network, g->n_stages, by_params);
    double *want = gradients_of_workers(&f, g->n_shards, n_parts * v->B, loss);
    open_grid(g, &f, &how, n_parts);
    for (int k = 0; k < g->n_shards; k++)
        for (int s = 0; s < g->n_stages; s++)
            assert_int_equal(pthread_create(&g->place[k][s].thread, NULL, run_place, &g->place[k][s]), 0);
    for (int k = 0; k < g->n_shards; k++)
        for (int s = 0; s < g->n_stages; s++)
            assert_int_equal(pthread_join(g->place[k][s].thread, NULL), 0);
    for (int k = 0; k < g->n_shards; k++)
        for (int s = 0; s < g->n_stages; s++) {
            struct place *p = &g->place[k][s];
            assert_int_equal(p->rc, RC_OK);
            if (s + 1 < g->n_stages)
                assert_true(isnan(p->loss));
            else
                assert_true(fabs(p->loss - loss[k]) <= TOLERANCE * loss[k]);
            compare(p, &f, want);
            if (!how.recomputes) /* which gathers once more */
                assert_int_equal(p->at_shard.n_sent_elems, v->B * elems_sent(p, n_parts));
            n_sharded += k == 0 && p->has_shard;
            close_place(p);
        }
    for (int s = 0; s < g->n_stages; s++)
        (void)pthread_barrier_destroy(&g->group[s].all);
    free(want);
    network_fixture_close(&f);
    return n_sharded;
}

static void ranks_have_the_gradients_of_the_whole(void **state)
{
    static const char *const name[] = { "lenet", "alexnet", "vgg16", "resnet8" };
    static const struct pipeline_stage how[] = { { .schedule = SCHEDULE_GPIPE },
                                                 { .schedule = SCHEDULE_1F1B },
                                                 { .schedule = SCHEDULE_GPIPE, .recomputes = true },
                                                 { .schedule = SCHEDULE_1F1B, .recomputes = true } };
    int most_sharded = 0;

    for (size_t i = 0; i < sizeof name / sizeof *name; i++)
        for (int n_stages = 2; n_stages <= MOST_STAGES; n_stages++)
            for (size_t h = 0; h < 2 * sizeof how / sizeof *how; h++) {
                struct grid *g = calloc(1, sizeof *g);
                assert_non_null(g);
                g->n_stages = n_stages;
                g->backend = *state;
                g->n_shards = 2 + n_stages % 2;
                const int n = check(network_variant_find(name[i]), g, h % 3 + 1, how[h / 2], h % 2 == 1);
                most_sharded = n > most_sharded ? n : most_sharded;
                free(g);
            }
    assert_true(most_sharded >= 2); /* dense layers were on both sides of a cut */
}

int main(int argc, char **argv)
{
    struct compute_backend backend = argc > 1 && strcmp(argv[1], "device") == 0 ? compute_fake_device : compute_cpu;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shards_of_stages_are_known),
        cmocka_unit_test_prestate(ranks_have_the_gradients_of_the_whole, &backend),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
