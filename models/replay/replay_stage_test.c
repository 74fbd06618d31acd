/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_stage_test.c - a stage of a replay: its layers' times, tensors and numbers, and what passes when, by a pipe
 * that notes what it is asked for (models.P1 to P3); and the networks of profiles (models.J4).
 *
 * usage: replay_stage_test
 */
#include <string.h>

#include "harness/base/suite/unit.h"
#include "models/engine/stage.h"
#include "models/replay/profile.h"
#include "models/suite/profile_kit.h"
#include "models/workload.h"

enum { MOST_CALLS = 64, BATCH = 8, PARTS = 4, B = BATCH / PARTS };

struct notes { /* what is asked of the pipe, a letter for each, with the micro-batch: "E0" */
    char text[4 * MOST_CALLS];
    size_t n_elems[2][2]; /* by way, received and sent: of every tensor */
    uint64_t passed_ns;
};

static void note(struct notes *n, char letter, size_t micro_batch)
{
    const size_t used = strlen(n->text);

    snprintf(n->text + used, sizeof n->text - used, "%c%zu ", letter, micro_batch);
}

static enum rc expect(void *arg, enum stage_way way, size_t micro_batch, float *x, size_t n_elems)
{
    struct notes *n = arg;

    assert_non_null(x);
    if (micro_batch > 0)
        assert_int_equal(n->n_elems[way][0], n_elems);
    n->n_elems[way][0] = n_elems;
    note(n, way == WAY_VALUE ? 'e' : 'E', micro_batch);
    return RC_OK;
}

static enum rc take(void *arg, enum stage_way way, size_t micro_batch)
{
    note(arg, way == WAY_VALUE ? 't' : 'T', micro_batch);
    return RC_OK;
}

static enum rc pass(void *arg, enum stage_way way, size_t micro_batch, const float *x, size_t n_elems)
{
    struct notes *n = arg;

    assert_non_null(x);
    n->n_elems[way][1] = n_elems;
    note(n, way == WAY_VALUE ? 'p' : 'P', micro_batch);
    return RC_OK;
}

static enum rc passed(void *arg, enum stage_way way, size_t micro_batch)
{
    note(arg, way == WAY_VALUE ? 'd' : 'D', micro_batch);
    return RC_OK;
}

static void count_ns(void *arg, uint64_t ns)
{
    ((struct notes *)arg)->passed_ns += ns;
}

struct played {
    struct notes notes;
    struct training *training;
    float *param, *grad;
    struct compute *compute;
};

/* A gradient of the small profile: of a stage, or NULL: of all of it. */
static void play(struct played *out, const struct profile *p, struct pipeline_stage *stage)
{
    struct compute_env heard = { .pass = count_ns, .arg = &out->notes };
    struct training_env env = { .max_batch = B, .order.n_micro_batches = PARTS, .profile = p, .stage = stage };
    double loss;

    *out = (struct played){ 0 };
    if (stage != NULL)
        stage->pipe = (struct stage_pipe){ expect, take, pass, passed, &out->notes, NULL, NULL };
    assert_int_equal(compute_open(&out->compute, &compute_cpu, &heard), RC_OK);
    env.compute = out->compute;
    assert_int_equal(workload_open(&out->training, &workload_replay, &env), RC_OK);
    const size_t n_bytes = workload_n_params(out->training) * sizeof(float);
    assert_int_equal(compute_memory_open(out->compute, (void **)&out->param, n_bytes, "parameters"), RC_OK);
    assert_int_equal(compute_memory_open(out->compute, (void **)&out->grad, n_bytes, "gradients"), RC_OK);
    assert_int_equal(workload_gradient(out->training, out->param, 40, BATCH, out->grad, &loss, NULL, NULL), RC_OK);
}

static void forget(struct played *p)
{
    workload_close(&p->training);
    compute_memory_close(p->compute, (void **)&p->param);
    compute_memory_close(p->compute, (void **)&p->grad);
    compute_close(&p->compute);
}

/* Layers 2 and 3 of five: pool and c2, whose times and tensors are in profile_kit.h. */
static struct pipeline_stage middle(enum stage_schedule schedule)
{
    return (struct pipeline_stage){
        .cuts = { .n_stages = 3, .end = { 2, 4, 5 } }, .number = 1, .schedule = schedule, .in_elems = 7, .out_elems = 11
    };
}

UNIT_TEST(a_stage_has_its_layers_alone)
{
    struct pipeline_stage stage = middle(SCHEDULE_1F1B);
    struct profile *p = profile_kit_small();
    struct played part, whole;

    assert_non_null(p);
    play(&part, p, &stage);
    play(&whole, p, NULL);
    assert_int_equal(workload_n_params(part.training), 3012);
    assert_int_equal(workload_replay.ops->n_segments(part.training), 2);
    assert_int_equal(workload_replay.ops->segment(part.training, 1).offset_elems, 3000);
    /* the batch is the profile's, in four parts: rounded down in each, forward and all of it */
    const uint64_t forward_ns = (uint64_t)(7001 + 40009) / 4, step_ns = (uint64_t)(7001 + 9001 + 40009 + 80021) / 4;
    assert_int_equal(part.notes.passed_ns, PARTS * step_ns);
    assert_true(forward_ns < step_ns);
    /* numbers are those of the whole one, at the same parameters: 50 are before these */
    assert_memory_equal(part.grad, whole.grad + 50, 3012 * sizeof(float));
    assert_memory_not_equal(part.grad, whole.grad, 3012 * sizeof(float));
    const double flops = workload_replay.ops->flops_per_sample(part.training);
    assert_true(flops > (2e5 + 3e5 + 4e5 + 6e5) / 8 - 1 && flops < (2e5 + 3e5 + 4e5 + 6e5) / 8 + 1);
    forget(&part);
    forget(&whole);
    profile_close(&p);
}

/* Of a middle stage that holds two: what it is about to need is expected, the value before its forward, the gradient
 * before its backward; and one gradient is on its way at a time. */
UNIT_TEST(tensors_pass_in_the_order_of_the_schedule)
{
    static const char one_f_one_b[] =
        "e0 e1 t0 E0 p0 t1 E1 p1 d0 T0 P0 e2 t2 E2 p2 d1 T1 D0 P1 e3 t3 E3 p3 d2 T2 D1 P2 "
        "d3 T3 D2 P3 D3 ";
    static const char all_then_all[] = "e0 e1 e2 e3 t0 E0 p0 t1 E1 p1 t2 E2 p2 t3 E3 p3 d0 T0 P0 d1 T1 D0 P1 d2 T2 D1 "
                                       "P2 d3 T3 D2 P3 D3 ";
    struct profile *p = profile_kit_small();

    assert_non_null(p);
    for (int i = 0; i < 2; i++) {
        struct pipeline_stage stage = middle(i == 0 ? SCHEDULE_1F1B : SCHEDULE_GPIPE);
        struct played part;
        play(&part, p, &stage);
        assert_string_equal(part.notes.text, i == 0 ? one_f_one_b : all_then_all);
        assert_int_equal(part.notes.n_elems[WAY_VALUE][0], 7 * B);
        assert_int_equal(part.notes.n_elems[WAY_VALUE][1], 11 * B);
        assert_int_equal(part.notes.n_elems[WAY_GRAD][0], 11 * B);
        assert_int_equal(part.notes.n_elems[WAY_GRAD][1], 7 * B);
        forget(&part);
    }
    profile_close(&p);
}

UNIT_TEST(the_ends_of_a_pipeline_have_one_neighbour)
{
    struct pipeline_stage stage = middle(SCHEDULE_1F1B);
    struct profile *p = profile_kit_small();
    struct played part;

    assert_non_null(p);
    stage.number = 2;
    stage.out_elems = 0;
    play(&part, p, &stage);
    assert_string_equal(part.notes.text, "e0 t0 P0 e1 t1 D0 P1 e2 t2 D1 P2 e3 t3 D2 P3 D3 ");
    forget(&part);
    stage.number = 0;
    stage.in_elems = 0;
    stage.out_elems = 5;
    play(&part, p, &stage);
    assert_string_equal(part.notes.text, "E0 p0 E1 p1 E2 p2 d0 T0 E3 p3 d1 T1 d2 T2 d3 T3 ");
    forget(&part);
    profile_close(&p);
}

/* --- models.J4 --- */

static void shrink(struct profile *p, size_t divisor, const char *name)
{
    snprintf(p->model, sizeof p->model, "%s", name);
    for (int i = 0; i < p->n_layers; i++)
        for (int k = 0; k < p->layer[i].n_tensors; k++)
            p->layer[i].tensor[k].n_elems = (p->layer[i].tensor[k].n_elems + divisor - 1) / divisor;
}

UNIT_TEST(j4_a_shrunk_network_is_known_by_its_tensors)
{
    const struct network_opts opts = { 0 };
    struct network *n = NULL, *of = NULL;
    struct profile *p = NULL;
    size_t divisor = 0;

    assert_int_equal(network_open(&n, workload_lenet.network, &opts), RC_OK);
    assert_int_equal(profile_of_network(&p, n, 8), RC_OK);
    assert_int_equal(profile_open_network(&of, &divisor, p, "a file"), RC_OK);
    assert_int_equal(divisor, 1);
    assert_int_equal(of->n_nodes, n->n_nodes);
    network_close(&of);
    shrink(p, 8, "lenet-8");
    assert_int_equal(profile_open_network(&of, &divisor, p, "a file"), RC_OK);
    assert_int_equal(divisor, 8);
    assert_int_equal(of->n_params, n->n_params);
    network_close(&of);
    static const char *const others[] = { "lenet-9", "lenet", "handmade", "handmade-8", "lenet-8x" };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        snprintf(p->model, sizeof p->model, "%s", others[i]);
        assert_int_equal(profile_open_network(&of, &divisor, p, "a file"), RC_INVAL);
        assert_non_null(strstr(rc_message(), i < 2 ? "of another model" : "is not one of gradmark's networks"));
        assert_non_null(strstr(rc_message(), "a file"));
        assert_null(of);
    }
    profile_close(&p);
    network_close(&n);
}

/* All tensors are there, in order, but not in the layers of the network. */
UNIT_TEST(j4_each_layer_is_a_node_of_the_network)
{
    const struct network_opts opts = { 0 };
    struct network *n = NULL, *of = NULL;
    struct profile *p = NULL;
    size_t divisor = 0;
    int i = 0;

    assert_int_equal(network_open(&n, workload_lenet.network, &opts), RC_OK);
    assert_int_equal(profile_of_network(&p, n, 8), RC_OK);
    while (i < p->n_layers && p->layer[i].n_tensors > 0)
        i++;
    assert_in_range(i, 0, p->n_layers - 2);
    for (; i < p->n_layers - 1; i++) { /* a layer without tensors goes to the end */
        const struct profile_layer empty = p->layer[i];
        p->layer[i] = p->layer[i + 1];
        p->layer[i + 1] = empty;
    }
    assert_int_equal(profile_open_network(&of, &divisor, p, "a file"), RC_INVAL);
    assert_non_null(strstr(rc_message(), "tensors, but node"));
    p->n_layers--;
    assert_int_equal(profile_open_network(&of, &divisor, p, "a file"), RC_INVAL);
    assert_non_null(strstr(rc_message(), "use a layer for each node"));
    assert_null(of);
    p->n_layers++;
    profile_close(&p);
    network_close(&n);
}

UNIT_MAIN("replay_stage")
