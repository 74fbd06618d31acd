/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parallel_test.c - networks that are cut into stages (network_stages.h), whose dense layers are cut into shards
 * (network_shard.h), or both: what the parts are, and that ranks, each on a thread of its own, have the losses and the
 * gradients of whole networks: of pipelines to the bit (models.P1, P3), of shards within rounding (models.D3).
 *
 * usage: parallel_test pipeline|shard|stage_shard [device]    device: on a compute whose memory the host cannot reach
 * (device_pipe.h)
 */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/suite/unit.h"
#include "harness/compute/suite/fake_device.h"
#include "models/engine/device_pipe.h"
#include "models/engine/network_shard.h"
#include "models/engine/stage.h"
#include "models/suite/network_fixture.h"
#include "models/suite/rank_threads.h"

enum { MOST_STAGES = 4, MOST_SHARDS = THREADS_MOST_SHARDS, FIRST = 7 };
#define TOLERANCE 1e-5 /* of a gradient, of the largest of its segment; of a loss, of itself */

static struct compute_backend computing; /* of all ranks */

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

/* --- what the parts are --- */

UNIT_TEST_OF("shard", dense_layers_are_known)
{
    static const struct {
        const char *name, *first;
        int most;
    } known[] = { { "lenet", "fc3", 10 },
                  { "alexnet", "fc6", 7 },
                  { "vgg16", "fc6", 7 },
                  { "resnet8", "fc", 10 },
                  { "resnet50", "fc", 7 } };

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
UNIT_TEST_OF("shard", shard_of_lenet_is_known)
{
    static const enum node_kind kind[] = { NODE_GATHER_IMAGES,   NODE_CONV, NODE_GATHER_CHANNELS, NODE_CONV,
                                           NODE_GATHER_CHANNELS, NODE_LOSS };
    static const int C_out[] = { 32, 16, 64, 3, 10, 10 };
    struct network *whole = open_whole("lenet"), *shard = NULL;

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
UNIT_TEST_OF("shard", shards_begin_with_values_of_the_whole)
{
    static const char *const name[] = { "lenet", "vgg16", "resnet8" };

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
UNIT_TEST_OF("shard", shards_of_stages_are_known)
{
    static const enum node_kind kind[] = { NODE_GATHER_IMAGES, NODE_CONV, NODE_GATHER_CHANNELS, NODE_OWN_IMAGES };
    static const int C_out[] = { 32, 22, 64, 64 }, group[] = { 3, 3, 3, 1 };
    struct network *stage = NULL, *shard = NULL;

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

/* --- the whole network, which the ranks are compared with --- */

struct whole {
    struct network_fixture f;
    int n_workers;
    size_t n_parts, n_samples; /* of each worker: micro-batches, and samples in them */
    double loss[MOST_SHARDS];
    double *grad; /* [n_workers][n_params] */
};

static void whole_open(struct whole *w, const struct variant *v, int n_workers, size_t n_parts)
{
    *w = (struct whole){ .n_workers = n_workers, .n_parts = n_parts, .n_samples = n_parts * v->B };
    assert_int_equal(network_fixture_open(&w->f, v, &(struct network_fixture_opts){ .n_micro_batches = n_parts }),
                     RC_OK);
    const size_t n_params = w->f.network->n_params;
    w->grad = malloc((size_t)n_workers * n_params * sizeof *w->grad);
    assert_non_null(w->grad);
    for (int k = 0; k < n_workers; k++) {
        assert_int_equal(workload_gradient(w->f.training, w->f.param, FIRST + (uint64_t)k * w->n_samples, w->n_samples,
                                           w->f.grad, &w->loss[k], NULL, NULL),
                         RC_OK);
        for (size_t i = 0; i < n_params; i++)
            w->grad[(size_t)k * n_params + i] = (double)w->f.grad[i];
    }
}

static void whole_close(struct whole *w)
{
    free(w->grad);
    network_fixture_close(&w->f);
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
    float *read;         /* float[n_params + n_state], of the host */
    size_t n_samples, n_segments;
    uint64_t first;
    double loss;
    struct evaluation evaluation;
    enum rc rc;
    pthread_t thread;
};

struct grid { /* [worker][stage]: several workers are one group */
    struct place place[MOST_SHARDS][MOST_STAGES];
    struct thread_line line[MOST_SHARDS][MOST_STAGES];
    struct thread_group group[MOST_STAGES];
    int n_shards, n_stages;
    struct network_stages cuts;
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

    p->rc = workload_gradient(p->training, p->param, p->first, p->n_samples, p->grad, &p->loss, count_segment, p);
    return NULL;
}

static void *evaluate_place(void *arg)
{
    struct place *p = arg;

    p->rc = workload_evaluate(p->training, p->param, 0, &p->evaluation);
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
static void open_device(struct place *p, const struct whole *w)
{
    const struct pipeline_stage *s = &p->stage;
    const size_t n_held = stage_held(s->schedule, s->number, s->cuts.n_stages, w->n_parts);
    size_t most_elems = 1;

    for (int i = 0; i < w->f.network->n_nodes; i++) {
        const size_t n_elems = node_out_elems(&w->f.network->node[i]) * w->f.variant->B * (size_t)w->n_workers;
        most_elems = n_elems > most_elems ? n_elems : most_elems;
    }
    assert_int_equal(device_pipe_open(&p->device, p->compute, &s->pipe, n_held > 2 ? n_held : 2, most_elems), RC_OK);
    p->stage.pipe = device_pipe_of(p->device);
    if (!p->has_shard)
        return;
    assert_int_equal(device_group_open(&p->device_group, p->compute, &p->shard, most_elems), RC_OK);
    p->shard = device_group_of(p->device_group);
}

/* Of one stage and several workers there is no pipeline. */
static void open_place(struct place *p, const struct whole *w, const struct network *stage,
                       const struct compute_backend *backend)
{
    const struct network_fixture *f = &w->f;
    struct training_env env = f->training->env;

    assert_int_equal(compute_open(&p->compute, backend, &(struct compute_env){ .n_threads = 1 }), RC_OK);
    if (!backend->host_memory)
        open_device(p, w);
    env.compute = p->compute;
    env.stage = p->stage.cuts.n_stages > 1 || w->n_workers == 1 ? &p->stage : NULL;
    env.shard = p->has_shard ? &p->shard : NULL;
    assert_int_equal(workload_open(&p->training, f->variant->workload, &env), RC_OK);
    network_trainer_of(p->training)->poison = backend->host_memory;
    const struct network *n = network_of(p->training);
    assert_int_equal(compute_memory_open(p->compute, &p->memory, 2 * n->n_params * sizeof(float), "arrays"), RC_OK);
    p->param = p->memory;
    p->grad = p->param + n->n_params;
    p->read = malloc((n->n_params + n->n_state + 1) * sizeof *p->read);
    assert_non_null(p->read);
    p->n_samples = w->n_samples;
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

/* By *how, but for its cuts and its pipe; by_params: where it is cut. */
static struct grid *grid_open(const struct whole *w, int n_stages, const struct pipeline_stage *how, bool by_params,
                              const struct compute_backend *backend)
{
    struct grid *g = calloc(1, sizeof *g);

    assert_non_null(g);
    g->n_shards = w->n_workers;
    g->n_stages = n_stages;
    cut(&g->cuts, w->f.network, n_stages, by_params);
    for (int s = 0; s < g->n_stages; s++) {
        struct network *stage = NULL;
        assert_int_equal(network_open_stage(&stage, w->f.network, &g->cuts, s), RC_OK);
        g->group[s].n_shards = g->n_shards;
        assert_int_equal(pthread_barrier_init(&g->group[s].all, NULL, (unsigned)g->n_shards), 0);
        for (int k = 0; k < g->n_shards; k++) {
            struct place *p = &g->place[k][s];
            g->line[k][s] = (struct thread_line)THREAD_LINE_INIT; /* to the stage behind */
            p->at_stage =
                (struct thread_stage){ s > 0 ? &g->line[k][s - 1] : NULL, s + 1 < g->n_stages ? &g->line[k][s] : NULL };
            p->at_shard = (struct thread_shard){ .group = &g->group[s], .number = k };
            p->stage = *how;
            p->stage.cuts = g->cuts;
            p->stage.number = s;
            p->stage.pipe = thread_pipe(&p->at_stage);
            p->shard = thread_shard_env(&p->at_shard);
            p->has_shard = g->n_shards > 1 && network_most_shards(stage) > 0;
            open_place(p, w, stage, backend);
        }
        network_close(&stage);
    }
    return g;
}

static void grid_run(struct grid *g, void *(*run)(void *arg))
{
    for (int k = 0; k < g->n_shards; k++)
        for (int s = 0; s < g->n_stages; s++)
            assert_int_equal(pthread_create(&g->place[k][s].thread, NULL, run, &g->place[k][s]), 0);
    for (int k = 0; k < g->n_shards; k++)
        for (int s = 0; s < g->n_stages; s++) {
            assert_int_equal(pthread_join(g->place[k][s].thread, NULL), 0);
            assert_int_equal(g->place[k][s].rc, RC_OK);
        }
}

static void grid_close(struct grid *g)
{
    for (int k = 0; k < g->n_shards; k++)
        for (int s = 0; s < g->n_stages; s++)
            close_place(&g->place[k][s]);
    for (int s = 0; s < g->n_stages; s++)
        (void)pthread_barrier_destroy(&g->group[s].all);
    free(g);
}

/* --- what they have --- */

static const float *fetched(const struct place *p, const float *from, size_t n_elems)
{
    assert_int_equal(compute_fetch(p->compute, p->read, from, n_elems * sizeof *from), RC_OK);
    return p->read;
}

/* Of the one pipeline. */
static void compare_bits(const struct place *p, const struct whole *w)
{
    const struct network *n = network_of(p->training);
    size_t n_state;
    const float *state = workload_state(p->training, &n_state), *whole = workload_state(w->f.training, &n_state);

    assert_memory_equal(fetched(p, p->grad, n->n_params), w->f.grad + n->first_param, n->n_params * sizeof *p->grad);
    if (n->n_state > 0)
        assert_memory_equal(fetched(p, state, n->n_state), whole + n->first_state, n->n_state * sizeof *state);
}

static double largest_of(const double *x, size_t n)
{
    double most = 0.0;

    for (size_t i = 0; i < n; i++)
        most = fabs(x[i]) > most ? fabs(x[i]) : most;
    return most;
}

/* models.D3 */
static void compare(const struct place *p, const struct whole *w)
{
    const struct network *n = network_of(p->training);
    const size_t n_params = w->f.network->n_params;
    double *sum = malloc(n_params * sizeof *sum);
    struct network *stage = NULL;

    assert_non_null(sum);
    (void)fetched(p, p->grad, n->n_params);
    assert_int_equal(network_open_stage(&stage, w->f.network, &p->stage.cuts, p->stage.number), RC_OK);
    for (int i = 0; i < n->n_segments; i++) {
        const struct range r = range_of(p, stage, i);
        const bool is_own = !p->has_shard || stage->segment[i].offset_elems < network_common_params(stage);
        for (size_t e = 0; e < r.n_elems; e++) {
            sum[e] = 0.0;
            for (int k = 0; k < p->shard.n_shards; k++)
                if (!is_own || k == p->shard.number)
                    sum[e] += w->grad[(size_t)k * n_params + r.offset_elems + e];
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

/* How many stages had shards. */
static int check(const struct whole *w, int n_stages, struct pipeline_stage how, bool by_params,
                 const struct compute_backend *backend)
{
    struct grid *g = grid_open(w, n_stages, &how, by_params, backend);
    int n_sharded = 0;

    grid_run(g, run_place);
    for (int k = 0; k < g->n_shards; k++)
        for (int s = 0; s < n_stages; s++) {
            const struct place *p = &g->place[k][s];
            const struct network *n = network_of(p->training);
            const double bound = g->n_shards > 1 ? TOLERANCE * w->loss[k] : 0.0;
            assert_true(s + 1 < n_stages ? isnan(p->loss) : fabs(p->loss - w->loss[k]) <= bound);
            assert_int_equal(p->n_segments, n->n_segments);
            if (g->n_shards > 1)
                compare(p, w);
            else
                compare_bits(p, w);
            if (n_stages > 1 || g->n_shards == 1)
                assert_int_equal(network_most_held(p->training), stage_held(how.schedule, s, n_stages, w->n_parts));
            if (!how.recomputes) /* which gathers once more */
                assert_int_equal(p->at_shard.n_sent_elems, p->has_shard ? w->n_samples * elems_sent_for_image(n) : 0);
            n_sharded += k == 0 && p->has_shard;
        }
    grid_close(g);
    return n_sharded;
}

/* --- pipelines --- */

/* models.P3: what is passed on is still there when it is sent late. */
UNIT_TEST_OF("pipeline", stages_evaluate_as_the_whole)
{
    static const char *const name[] = { "lenet", "vgg16" };
    const struct pipeline_stage how = { .schedule = SCHEDULE_1F1B };

    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        struct evaluation want;
        struct whole w;
        whole_open(&w, network_variant_find(name[i]), 1, 3);
        assert_true(w.f.data.base.n_test > w.n_samples); /* batches follow on one another */
        for (int n_stages = 2; n_stages <= 3; n_stages++) {
            struct grid *g = grid_open(&w, n_stages, &how, false, &computing);
            assert_int_equal(workload_evaluate(w.f.training, w.f.param, 0, &want), RC_OK);
            for (int k = 0; k < n_stages; k++)
                g->line[0][k].is_late = true;
            grid_run(g, evaluate_place);
            assert_true(g->place[0][n_stages - 1].evaluation.loss == want.loss);
            assert_true(g->place[0][n_stages - 1].evaluation.accuracy_ratio == want.accuracy_ratio);
            assert_true(isnan(g->place[0][0].evaluation.loss));
            grid_close(g);
        }
        whole_close(&w);
    }
}

UNIT_TEST_OF("pipeline", stages_have_the_bits_of_the_whole)
{
    for (int i = 0; network_variants[i / 2].workload != NULL; i++) {
        const size_t n_parts = i % 2 ? 3 : 1; /* more than there are stages, and less */
        struct whole w;
        whole_open(&w, &network_variants[i / 2], 1, n_parts);
        const int most = network_most_stages(w.f.network);
        for (int n_stages = 1; n_stages <= MOST_STAGES && n_stages <= most; n_stages++)
            for (int way = 0; way < (n_parts > 1 ? 4 : 2); way++) { /* of one the schedules are one */
                const struct pipeline_stage how = { .schedule = way < 2 ? SCHEDULE_GPIPE : SCHEDULE_1F1B,
                                                    .recomputes = way % 2 };
                (void)check(&w, n_stages, how, false, &computing);
            }
        whole_close(&w);
    }
}

/* --- shards --- */

static const char *const sharded[] = { "lenet", "alexnet", "vgg16", "resnet8" };
enum { N_SHARDED = sizeof sharded / sizeof *sharded };

UNIT_TEST_OF("shard", groups_have_the_gradients_of_the_whole)
{
    for (int i = 0; i < 2 * N_SHARDED; i++)
        for (int n_shards = 2; n_shards <= MOST_SHARDS; n_shards++) {
            struct whole w;
            whole_open(&w, network_variant_find(sharded[i / 2]), n_shards, i % 2 ? 3 : 1);
            assert_int_equal(check(&w, 1, (struct pipeline_stage){ 0 }, false, &computing), 1);
            whole_close(&w);
        }
}

UNIT_TEST_OF("stage_shard", stages_of_shards_have_the_gradients_of_the_whole)
{
    int most_sharded = 0;

    for (size_t i = 0; i < N_SHARDED; i++)
        for (int n_stages = 2; n_stages <= MOST_STAGES; n_stages++)
            for (int h = 0; h < 8; h++) {
                const int way = h / 2;
                const struct pipeline_stage how = { .schedule = way % 2 ? SCHEDULE_1F1B : SCHEDULE_GPIPE,
                                                    .recomputes = way / 2 };
                struct whole w;
                whole_open(&w, network_variant_find(sharded[i]), 2 + n_stages % 2, (size_t)(h % 3 + 1));
                const int n = check(&w, n_stages, how, h % 2 == 1, &computing);
                most_sharded = n > most_sharded ? n : most_sharded;
                whole_close(&w);
            }
    assert_true(most_sharded >= 2); /* dense layers were on both sides of a cut */
}

int main(int argc, char **argv)
{
    computing = argc > 2 && strcmp(argv[2], "device") == 0 ? compute_fake_device : compute_cpu;
    return unit_run("parallel", argc > 1 ? argv[1] : "", NULL, NULL);
}
