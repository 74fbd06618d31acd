/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pipeline_test.c - stages of networks, each on a thread of its own, give the gradients of one training with as many
 * micro-batches (models.P1 and P3), to the bit.
 *
 * usage: pipeline_test [device]    device: on a compute whose memory the host cannot reach (device_pipe.h)
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
#include "models/engine/stage.h"
#include "models/suite/network_fixture.h"
#include "models/suite/rank_threads.h"

enum { MOST_STAGES = 4, FIRST = 7 };

struct place {
    struct pipeline_stage stage;
    struct compute *compute;
    struct training *training;
    struct thread_stage at;
    struct device_pipe *device; /* NULL: the host's memory is the compute's */
    void *memory;               /* of the compute: parameters, gradients */
    float *param, *grad;        /* in it */
    float *read;                /* float[n_params], of the host */
    size_t n_samples, n_segments;
    double loss;
    struct evaluation evaluation;
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

    p->rc = workload_gradient(p->training, p->param, FIRST, p->n_samples, p->grad, &p->loss, count_segment, p);
    return NULL;
}

static void *evaluate_place(void *arg)
{
    struct place *p = arg;

    p->rc = workload_evaluate(p->training, p->param, 0, &p->evaluation);
    return NULL;
}

/* By the host's memory, where p->compute has its own. */
static void open_device(struct place *p, const struct network_fixture *f, size_t n_parts)
{
    const struct pipeline_stage *s = &p->stage;
    const size_t n_held = stage_held(s->schedule, s->number, s->cuts.n_stages, n_parts);
    size_t most_elems = 1;

    for (int i = 0; i + 1 < s->cuts.n_stages; i++) {
        const size_t n_elems = network_passed_elems(f->network, &s->cuts, i) * f->variant->B;
        most_elems = n_elems > most_elems ? n_elems : most_elems;
    }
    assert_int_equal(device_pipe_open(&p->device, p->compute, &s->pipe, n_held > 2 ? n_held : 2, most_elems), RC_OK);
    p->stage.pipe = device_pipe_of(p->device);
}

static void open_place(struct place *p, struct network_fixture *f, size_t n_parts,
                       const struct compute_backend *backend)
{
    const struct variant *v = f->variant;
    struct training_env env = f->training->env;

    assert_int_equal(compute_open(&p->compute, backend, &(struct compute_env){ .n_threads = 1 }), RC_OK);
    if (!backend->host_memory)
        open_device(p, f, n_parts);
    env.compute = p->compute;
    env.stage = &p->stage;
    assert_int_equal(workload_open(&p->training, v->workload, &env), RC_OK);
    network_trainer_of(p->training)->poison = backend->host_memory;
    const struct network *n = network_of(p->training);
    assert_int_equal(compute_memory_open(p->compute, &p->memory, 2 * n->n_params * sizeof(float), "arrays"), RC_OK);
    p->param = p->memory;
    p->grad = p->param + n->n_params;
    p->read = malloc((n->n_params + n->n_state + 1) * sizeof *p->read);
    assert_non_null(p->read);
    compute_put(p->compute, p->param, f->param + n->first_param, n->n_params * sizeof *p->param);
    assert_int_equal(compute_sync(p->compute), RC_OK);
    p->n_samples = n_parts * v->B;
}

static void close_place(struct place *p)
{
    workload_close(&p->training);
    device_pipe_close(&p->device);
    compute_memory_close(p->compute, &p->memory);
    compute_close(&p->compute);
    free(p->read);
}

static const float *fetched(const struct place *p, const float *from, size_t n_elems)
{
    assert_int_equal(compute_fetch(p->compute, p->read, from, n_elems * sizeof *from), RC_OK);
    return p->read;
}

/* Against the whole network's, which f has computed. */
static void compare(const struct place *p, const struct network_fixture *f, double loss)
{
    const struct network *n = network_of(p->training);
    size_t n_state;
    const float *state = workload_state(p->training, &n_state), *whole = workload_state(f->training, &n_state);

    assert_int_equal(p->rc, RC_OK);
    assert_memory_equal(fetched(p, p->grad, n->n_params), f->grad + n->first_param, n->n_params * sizeof *p->grad);
    if (n->n_state > 0)
        assert_memory_equal(fetched(p, state, n->n_state), whole + n->first_state, n->n_state * sizeof *state);
    assert_int_equal(p->n_segments, n->n_segments);
    if (n->out_node == NODE_NONE)
        assert_true(p->loss == loss);
    else
        assert_true(isnan(p->loss));
}

struct pipeline {
    struct thread_line line[MOST_STAGES];
    struct place place[MOST_STAGES];
    int n_stages;
};

struct way {                     /* to compute */
    struct pipeline_stage stage; /* its schedule, and whether it recomputes */
    const struct compute_backend *backend;
};

static void open_pipeline(struct pipeline *p, struct network_fixture *f, int n_stages, size_t n_parts,
                          const struct way *how)
{
    double *cost = calloc((size_t)f->network->n_nodes, sizeof *cost);
    struct network_stages cuts;

    assert_non_null(cost);
    network_flops_of_nodes(f->network, cost);
    assert_int_equal(network_balance(&cuts, f->network, cost, n_stages), RC_OK);
    free(cost);
    *p = (struct pipeline){ .n_stages = n_stages };
    for (int i = 0; i < n_stages; i++) {
        struct place *own = &p->place[i];
        p->line[i] = (struct thread_line)THREAD_LINE_INIT;
        own->stage = how->stage;
        own->stage.cuts = cuts;
        own->stage.number = i;
        own->at = (struct thread_stage){ i > 0 ? &p->line[i - 1] : NULL, i + 1 < n_stages ? &p->line[i] : NULL };
        own->stage.pipe = thread_pipe(&own->at);
        open_place(own, f, n_parts, how->backend);
    }
}

static void run_pipeline(struct pipeline *p, void *(*run)(void *arg))
{
    for (int i = 0; i < p->n_stages; i++)
        assert_int_equal(pthread_create(&p->place[i].thread, NULL, run, &p->place[i]), 0);
    for (int i = 0; i < p->n_stages; i++)
        assert_int_equal(pthread_join(p->place[i].thread, NULL), 0);
}

static void close_pipeline(struct pipeline *p)
{
    for (int i = 0; i < p->n_stages; i++)
        close_place(&p->place[i]);
}

/* f->grad is the whole's, loss its loss. */
static void check(struct network_fixture *f, double loss, int n_stages, size_t n_parts, struct way how)
{
    struct pipeline p;

    open_pipeline(&p, f, n_stages, n_parts, &how);
    run_pipeline(&p, run_place);
    for (int i = 0; i < n_stages; i++) {
        compare(&p.place[i], f, loss);
        assert_int_equal(network_most_held(p.place[i].training), stage_held(how.stage.schedule, i, n_stages, n_parts));
    }
    close_pipeline(&p);
}

/* models.P3: what is passed on is still there when it is sent late. */
static void stages_evaluate_as_the_whole(void **state)
{
    static const char *const name[] = { "lenet", "vgg16" };
    enum { PARTS = 3 };

    for (size_t i = 0; i < sizeof name / sizeof *name; i++)
        for (int n_stages = 2; n_stages <= 3; n_stages++) {
            struct evaluation want;
            struct network_fixture f;
            struct pipeline p;
            assert_int_equal(network_fixture_open(&f, network_variant_find(name[i]),
                                                  &(struct network_fixture_opts){ .n_micro_batches = PARTS }),
                             RC_OK);
            assert_true(f.data.base.n_test > 3 * f.variant->B); /* batches follow on one another */
            assert_int_equal(workload_evaluate(f.training, f.param, 0, &want), RC_OK);
            open_pipeline(&p, &f, n_stages, PARTS, &(struct way){ { .schedule = SCHEDULE_1F1B }, *state });
            for (int k = 0; k < n_stages; k++)
                p.line[k].is_late = true;
            run_pipeline(&p, evaluate_place);
            for (int k = 0; k < n_stages; k++)
                assert_int_equal(p.place[k].rc, RC_OK);
            assert_true(p.place[n_stages - 1].evaluation.loss == want.loss);
            assert_true(p.place[n_stages - 1].evaluation.accuracy_ratio == want.accuracy_ratio);
            assert_true(isnan(p.place[0].evaluation.loss));
            close_pipeline(&p);
            network_fixture_close(&f);
        }
}

static void check_variant(const struct variant *v, int most_stages, size_t n_parts,
                          const struct compute_backend *backend)
{
    struct network_fixture f;
    double loss = NAN;

    assert_int_equal(network_fixture_open(&f, v, &(struct network_fixture_opts){ .n_micro_batches = n_parts }), RC_OK);
    assert_int_equal(workload_gradient(f.training, f.param, FIRST, n_parts * v->B, f.grad, &loss, NULL, NULL), RC_OK);
    for (int n_stages = 1; n_stages <= MOST_STAGES && n_stages <= most_stages; n_stages++)
        for (int recomputes = 0; recomputes <= 1; recomputes++) {
            check(&f, loss, n_stages, n_parts, (struct way){ { .recomputes = recomputes }, backend });
            if (n_parts > 1) /* of one the schedules are one */
                check(&f, loss, n_stages, n_parts,
                      (struct way){ { .schedule = SCHEDULE_1F1B, .recomputes = recomputes }, backend });
        }
    network_fixture_close(&f);
}

static void stages_have_the_bits_of_the_whole(void **state)
{
    for (const struct variant *v = network_variants; v->workload != NULL; v++) {
        struct network *n = NULL;
        assert_int_equal(network_open(&n, v->workload->network, &v->opts), RC_OK);
        const int most = network_most_stages(n);
        network_close(&n);
        check_variant(v, most, 1, *state);
        check_variant(v, most, 3, *state); /* more than there are stages, and less */
    }
}

int main(int argc, char **argv)
{
    struct compute_backend backend = argc > 1 && strcmp(argv[1], "device") == 0 ? compute_fake_device : compute_cpu;
    const struct CMUnitTest tests[] = { cmocka_unit_test_prestate(stages_have_the_bits_of_the_whole, &backend),
                                        cmocka_unit_test_prestate(stages_evaluate_as_the_whole, &backend) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
