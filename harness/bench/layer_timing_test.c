/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layer_timing_test.c - a small network measured, on a backend of the host and on one whose memory is elsewhere: the
 * work is counted to the flop, both sides are timed, and nothing is forgotten. No time is judged.
 */
#include "harness/base/suite/unit.h"
#include "harness/bench/layer_timing.h"

#include <math.h>

enum { BATCH = 3, IMAGE = 16, F = PHASE_FORWARD, B = PHASE_BACKWARD };

static void check_layer(const struct node *n, const struct layer_cost *l)
{
    const double flops = 2.0 * node_multiply_adds(n) * BATCH;

    if (n->kind == NODE_CONV) {
        assert_true(l->work[F].flops == flops);
        assert_true(l->work[B].flops == (n->from == NODE_IMAGE ? flops : 2 * flops));
        assert_true(l->ns[F] > 0 && l->ns[B] > 0 && l->gemm_ns[F] > 0 && l->gemm_ns[B] > 0);
    }
    if (n->kind == NODE_CONV || n->kind == NODE_MAX_POOL)
        assert_true(l->work[F].bytes > 0 && l->work[B].bytes > 0);
}

static const struct synthetic_opts images = { .C = 3, .H = IMAGE, .W = IMAGE, .n_classes = 10, .n_train = 32 };

static struct layer_timing_env env_of(const struct compute_backend *backend)
{
    return (struct layer_timing_env){ .workload = &workload_resnet8,
                                      .backend = backend,
                                      .network = { .image_size = IMAGE, .n_classes = 10, .width_divisor = 2 },
                                      .batch = BATCH,
                                      .n_threads = 1,
                                      .n_steps = 3,
                                      .n_warmup = 1,
                                      .seed = 1,
                                      .largest_matrix = 64,
                                      .stream_bytes = 1 << 20 };
}

static void measure_on(const struct compute_backend *backend)
{
    struct layer_timing_env env = env_of(backend);
    struct dataset *data = NULL;
    struct layer_timing m = { 0 };

    assert_int_equal(dataset_open_synthetic(&data, &images, 1), RC_OK);
    env.dataset = data;
    if (layer_timing_run(&m, &env) != RC_OK)
        fail_msg("%s", rc_message());
    assert_int_equal(m.n_steps, 3);
    assert_true(m.apart == !backend->host_memory);
    for (int i = 0; i < m.network->n_nodes; i++)
        check_layer(&m.network->node[i], &m.layer[i]);
    assert_true(m.step_s.low <= m.step_s.median && m.step_s.median <= m.step_s.high);
    assert_true(m.layers_s.median > 0 && m.update_s.median > 0 && m.gemm_s.median > 0);
    if (!m.apart) /* parts of one step */
        assert_true(m.rest_s.low >= 0 && m.layers_s.low + m.update_s.low <= m.step_s.high);
    assert_true(isfinite(m.loss_first) && isfinite(m.loss_last) && m.loss_first > 0);
    assert_true(m.peak_flops_per_s > 0 && m.peak_bytes_per_s > 0);
    assert_true(m.memory.planned_bytes > 0 && m.memory.planned_bytes <= m.memory.unplanned_bytes);
    assert_true(m.memory.params_bytes == 3 * m.network->n_params * sizeof(float));
    assert_true(m.peak_rss_bytes > m.memory.planned_bytes);
    layer_timing_free(&m);
    layer_timing_free(&m);
    dataset_close(&data);
}

UNIT_TEST(layers_are_timed_where_the_host_waits_for_nothing)
{
    measure_on(&compute_cpu);
}

UNIT_TEST(layers_are_timed_apart_where_one_must_wait)
{
    struct compute_backend elsewhere = compute_cpu;

    elsewhere.host_memory = false;
    measure_on(&elsewhere);
}

/* A device whose clock goes on by 1 us from stamp to stamp. */
static struct {
    uint64_t at_us[COMPUTE_STAMPS];
    bool is_done[COMPUTE_STAMPS];
    uint64_t now_us;
    int n_waits; /* between two stamps */
} made;

static void record_stamp(struct compute *c, int k)
{
    (void)c;
    made.n_waits += k > 0 && made.is_done[k - 1];
    made.at_us[k] = ++made.now_us;
    made.is_done[k] = false;
}

static uint64_t stamp_ns(struct compute *c, int i, int k)
{
    (void)c;
    assert_true(made.is_done[i] && made.is_done[k]);
    return 1000 * (made.at_us[k] - made.at_us[i]);
}

static enum rc sync_stamps(struct compute *c)
{
    for (int k = 0; k < COMPUTE_STAMPS; k++)
        made.is_done[k] = true;
    return compute_cpu.sync(c);
}

/* Each node has two stamps around it in each phase; nobody waits between them. */
UNIT_TEST(layers_are_timed_by_stamps)
{
    struct compute_backend stamped = compute_cpu;
    struct layer_timing_env env = env_of(&stamped);
    struct dataset *data = NULL;
    struct layer_timing m = { 0 };

    stamped.host_memory = false;
    stamped.record_stamp = record_stamp;
    stamped.stamp_ns = stamp_ns;
    stamped.sync = sync_stamps;
    made.n_waits = 0;
    assert_int_equal(dataset_open_synthetic(&data, &images, 1), RC_OK);
    env.dataset = data;
    if (layer_timing_run(&m, &env) != RC_OK)
        fail_msg("%s", rc_message());
    assert_true(m.apart && m.stamped);
    for (int i = 0; i < m.network->n_nodes; i++)
        if (m.network->node[i].kind == NODE_CONV)
            for (int phase = 0; phase < 2; phase++)
                assert_true(m.layer[i].ns[phase] == 1000 && m.layer[i].gemm_ns[phase] == 1000);
    assert_int_equal(made.n_waits, 0);
    layer_timing_free(&m);
    dataset_close(&data);
}

static int n_asks_left;

static bool stop_after_some(void)
{
    return n_asks_left-- <= 0;
}

/* It is asked before and after the warm-up, and before each step. */
UNIT_TEST(a_stopped_measurement_tells_what_it_has)
{
    static const struct {
        int n_asks, n_steps;
    } row[] = { { 0, 0 }, { 1, 0 }, { 2, 0 }, { 3, 1 }, { 4, 2 }, { 100, 3 } };
    struct layer_timing_env env = env_of(&compute_cpu);
    struct dataset *data = NULL;

    assert_int_equal(dataset_open_synthetic(&data, &images, 1), RC_OK);
    env.dataset = data;
    env.stop_wanted = stop_after_some;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct layer_timing m = { 0 };
        n_asks_left = row[i].n_asks;
        assert_int_equal(layer_timing_run(&m, &env), row[i].n_steps > 0 ? RC_OK : RC_PEER);
        assert_int_equal(m.n_steps, row[i].n_steps);
        assert_true(row[i].n_steps == 0 || (m.step_s.low > 0 && m.gemm_s.low > 0 && m.layer[0].ns[F] > 0));
        layer_timing_free(&m);
    }
    assert_int_equal(n_asks_left, 95);
    dataset_close(&data);
}

UNIT_TEST(what_cannot_be_is_told)
{
    const struct layer_timing_env env = { .workload = &workload_vgg16,
                                          .backend = &compute_cpu,
                                          .network = { .image_size = 4 },
                                          .batch = 1,
                                          .n_threads = 1,
                                          .n_steps = 1,
                                          .n_warmup = 1 };
    struct layer_timing m = { 0 };

    assert_int_equal(layer_timing_run(&m, &env), RC_INVAL);
    assert_null(m.layer);
}

UNIT_TEST(quartiles_lie_between_neighbours)
{
    double x[] = { 5, 1, 4, 2, 3 }, y[] = { 4, 1 }, z[] = { 9 };
    const struct spread a = spread_of(x, 5), b = spread_of(y, 2), c = spread_of(z, 1);

    assert_true(a.median == 3 && a.low == 2 && a.high == 4);
    assert_true(b.median == 2.5 && b.low == 1.75 && b.high == 3.25);
    assert_true(c.median == 9 && c.low == 9 && c.high == 9);
}

UNIT_MAIN("layer_timing")
