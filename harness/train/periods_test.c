/* SPDX-License-Identifier: Apache-2.0 */
/*
 * periods_test.c - --push-every, --pull-every and --stop-at-step: a worker against DistBelief's algorithm, step by
 * step; the bytes that are sent and planned; runs that end with a number of updates, exactly.
 *
 * usage: periods_test | sim CASE
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/rng.h"
#include "harness/base/suite/unit.h"
#include "harness/compute/suite/fake_device.h"
#include "harness/net/transport.h"
#include "harness/train/suite/train_kit.h"
#include "ps/ps.h"

/* --- one worker, made-up gradients --- */

enum { N_PARAMS = 48, N_SEGMENTS = 3, N_SERVERS = 2, MOST_STEPS = 16 };

static const struct segment layout[N_SEGMENTS] = { { 0, 10 }, { 10, 30 }, { 40, 8 } };

struct made { /* a run */
    struct exchange_opts opts;
    const struct compute_backend *compute;
    uint64_t n_steps, n_before; /* declared; steps of the training before */
    uint64_t n_done;            /* steps that are made: fewer where the run is stopped */
    uint64_t sent_bytes;        /* out: by the worker in its steps */
    struct wire_plan plan;      /* out */
    struct period_counts counts;
    int n_failures;
};

struct reference { /* Dean et al., algorithm 1.1 of the appendix, of one replica */
    float server[N_PARAMS], velocity[N_PARAMS], own[N_PARAMS], accrued[N_PARAMS];
};

/* Powers of two and whole numbers: exact in float. */
static float gradient(uint64_t step, size_t i)
{
    return (float)(int)(rng_u64(5, RNG_TEST, step * N_PARAMS + i) % 9) - 4.0f;
}

static float rate(uint64_t step)
{
    return step % 3 == 0 ? 0.125f : 0.25f;
}

static void advance(struct reference *r, const struct made *m, uint64_t step)
{
    const uint64_t push = m->opts.periods.push_every, pull = m->opts.periods.pull_every, n = step + 1;
    const bool is_last = n == m->n_before + m->n_steps, pushes = push == 0 || n % push == 0 || is_last;
    const bool pulls = pull == 0 || n % pull == 0;

    for (size_t i = 0; i < N_PARAMS; i++) {
        r->accrued[i] += gradient(step, i);
        r->own[i] -= rate(step) * gradient(step, i);
        if (pushes) {
            r->velocity[i] = 0.5f * r->velocity[i] + r->accrued[i];
            r->server[i] -= rate(step) * r->velocity[i];
            r->accrued[i] = 0;
        }
        if (pulls)
            r->own[i] = r->server[i];
    }
}

static void check_same(struct made *m, struct compute *c, const float *param, const float *want, uint64_t step)
{
    float host[N_PARAMS];

    compute_get(c, host, param, sizeof host);
    if (memcmp(host, want, sizeof host) != 0 && m->n_failures++ == 0)
        fprintf(stderr, "push every %llu, pull every %llu: other parameters after step %llu\n",
                (unsigned long long)m->opts.periods.push_every, (unsigned long long)m->opts.periods.pull_every,
                (unsigned long long)step);
}

static enum rc make_step(struct exchange *x, struct compute *c, uint64_t step, uint64_t *now_ns)
{
    float host[N_PARAMS];
    enum rc rc;

    for (size_t i = 0; i < N_PARAMS; i++)
        host[i] = gradient(step, i);
    TRY(exchange_begin(x, step, rate(step)));
    compute_put(c, exchange_grad(x), host, sizeof host);
    TRY(compute_sync(c));
    for (size_t g = N_SEGMENTS; g-- > 0 && exchange_wants_segments(x);)
        TRY(exchange_submit(x, &layout[g], 0));
    if (!exchange_wants_segments(x))
        TRY(exchange_submit(x, NULL, *now_ns));
    TRY(exchange_await_all(x, now_ns));
out:
    return rc;
}

static enum rc work(struct made *m, struct world *w, struct exchange *x, struct compute *c, struct reference *r)
{
    uint64_t now_ns = world_now_ns(w);
    enum rc rc = RC_OK;

    for (uint64_t step = m->n_before; step < m->n_before + m->n_done; step++) {
        TRY(make_step(x, c, step, &now_ns));
        advance(r, m, step);
        check_same(m, c, exchange_param(x), r->own, step);
    }
    m->sent_bytes = exchange_sent_bytes(x);
    m->plan = exchange_wire_plan(x);
    TRY(exchange_final(x, NULL));
    m->counts = exchange_counts(x);
    for (size_t i = 0; i < N_PARAMS && m->n_done < m->n_steps; i++) { /* stopped: what was accrued is pushed */
        r->velocity[i] = 0.5f * r->velocity[i] + r->accrued[i];
        r->server[i] -= rate(m->n_before + m->n_done - 1) * r->velocity[i];
    }
    check_same(m, c, exchange_param(x), r->server, m->n_before + m->n_done);
out:
    return rc;
}

static enum rc made_body(struct world *w, void *arg)
{
    struct made *m = arg;
    const bool is_worker = w->rank == 0;
    const struct initial_state from = { .n_running = 0 };
    const struct transport_ops *inproc = NULL;
    struct compute *c = NULL;
    struct exchange *x = NULL;
    struct reference r = { .accrued = { 0 } };
    enum rc rc;

    TRY(transport_find(&inproc, "inproc"));
    TRY(compute_open(&c, is_worker ? m->compute : &compute_cpu, NULL));
    const struct exchange_env env = { .world = w,
                                      .compute = c,
                                      .mode = &sync_ps,
                                      .transport = inproc,
                                      .segment = layout,
                                      .n_segments = N_SEGMENTS,
                                      .n_workers = 1,
                                      .n_servers = N_SERVERS,
                                      .opts = m->opts,
                                      .optimizer = optimizer_sgd(0.5, 0),
                                      .timeout_ms = 120000,
                                      .n_steps = m->n_steps,
                                      .n_steps_before = m->n_before };
    TRY(exchange_open(&x, &env));
    for (size_t i = 0; i < N_PARAMS; i++)
        r.server[i] = r.own[i] = (float)(i % 5);
    if (is_worker)
        compute_put(c, exchange_param(x), r.own, sizeof r.own);
    TRY(exchange_start(x, &from));
    TRY(is_worker ? work(m, w, x, c, &r) : exchange_serve(x, 0));
    TRY(world_barrier(w));
out:
    if (rc != RC_OK)
        world_abort(w, rc);
    exchange_close(&x);
    compute_close(&c);
    return rc;
}

static void run_made(struct made *m)
{
    const struct world_ops *threads = NULL;

    assert_int_equal(world_find(&threads, "threads"), RC_OK);
    if (world_run(threads, &(struct world_opts){ 0 }, 1 + N_SERVERS, made_body, m) != RC_OK)
        fail_msg("%s", rc_message());
    assert_int_equal(m->n_failures, 0);
}

static const struct periods every[] = {
    { 0, 0 }, { 1, 1 }, { 3, 1 }, { 1, 3 }, { 2, 2 }, { 4, 2 }, { 2, 3 }, { 5, 16 }
};
enum { N_EVERY = sizeof every / sizeof *every };

/* In every way of exchanging chunks, on the host and on a device whose parameters are staged. */
UNIT_TEST(a_worker_is_distbeliefs)
{
    static const struct bucket_opts buckets[] = { { 0, 0 }, { 48, 0 }, { 48, 32 } };

    for (int i = 0; i < N_EVERY; i++)
        for (int k = 0; k < 3; k++)
            for (int overlap = 0; overlap < 2; overlap++)
                for (int on_device = 0; on_device < 2; on_device++) {
                    struct made m = { .opts = { .buckets = buckets[k],
                                                .overlap = overlap,
                                                .periods = every[i],
                                                .n_in_flight = i % 4 },
                                      .compute = on_device ? &compute_fake_device : &compute_cpu,
                                      .n_steps = MOST_STEPS,
                                      .n_done = MOST_STEPS };
                    run_made(&m);
                }
}

UNIT_TEST(a_run_that_goes_on_counts_all_steps)
{
    for (int i = 0; i < N_EVERY; i++) {
        struct made m = {
            .opts = { .periods = every[i] }, .compute = &compute_cpu, .n_before = 7, .n_steps = 9, .n_done = 9
        };
        run_made(&m);
    }
}

/* Stopped in the middle of a period: what was accrued is pushed, and not twice where nothing was. */
UNIT_TEST(nothing_accrued_is_lost)
{
    for (uint64_t n_done = 1; n_done < 8; n_done++) {
        struct made m = { .opts = { .periods = { 3, 2 } }, .compute = &compute_cpu, .n_steps = 99, .n_done = n_done };
        const uint64_t n_pushes = (n_done + 2) / 3;
        if (n_done % 3 == 0)
            m.n_steps = n_done; /* the reference pushes the rest of a run that is stopped: here is none */
        run_made(&m);
        assert_int_equal(m.counts.n_pushes, n_pushes);
        assert_int_equal(m.counts.n_pulls, n_done / 2);
    }
}

/* One chunk on two servers: 24 floats on each. To the byte; the plan's messages are whole bytes, in the mean. */
UNIT_TEST(bytes_are_counted_and_planned)
{
    enum { HEADER = 64, BODY = 4 * N_PARAMS / N_SERVERS };

    for (int i = 0; i < N_EVERY; i++) {
        struct made m = {
            .opts = { .periods = every[i] }, .compute = &compute_cpu, .n_steps = MOST_STEPS, .n_done = MOST_STEPS
        };
        uint64_t up_bytes = 0, down_bytes = 0, n_pushes = 0, n_pulls = 0;
        run_made(&m);
        for (uint64_t n = 1; n <= MOST_STEPS; n++) {
            const bool pushes = every[i].push_every == 0 || n % every[i].push_every == 0 || n == MOST_STEPS;
            const bool pulls = every[i].pull_every == 0 || n % every[i].pull_every == 0;
            up_bytes += pushes || pulls ? (uint64_t)(HEADER + (pushes ? BODY : 0)) : 0;
            down_bytes += pushes || pulls ? (uint64_t)(HEADER + (pulls ? BODY : 0)) : 0;
            n_pushes += pushes;
            n_pulls += pulls;
        }
        assert_int_equal(m.sent_bytes, N_SERVERS * up_bytes);
        assert_int_equal(m.counts.n_pushes, n_pushes);
        assert_int_equal(m.counts.n_pulls, n_pulls);
        const double planned_bytes = m.plan.n_in_turn * (double)m.plan.message_bytes * MOST_STEPS;
        assert_true(fabs(planned_bytes - (double)(up_bytes + down_bytes)) <= m.plan.n_in_turn * MOST_STEPS);
        /* The worker's own link is the busiest: its messages, and one more (wire_plan.c). */
        const double on_link_bytes = m.plan.n_on_link * (double)m.plan.message_bytes * MOST_STEPS;
        const uint64_t most_bytes = up_bytes > down_bytes ? up_bytes : down_bytes;
        assert_true(fabs(on_link_bytes - (double)((N_SERVERS + 1) * most_bytes)) < 1e-6 * on_link_bytes);
    }
}

/* --- options --- */

UNIT_TEST(what_means_nothing_is_refused)
{
    static const struct kit_refusal cases[] = {
        { "--mode allreduce --workers 2 --push-every 2", "--push-every" },
        { "--mode single --pull-every 2", "--pull-every" },
        { "--mode allreduce --workers 2 --stop-at-step 9", "has no servers that count updates; use --mode ps" },
        { "--mode ps --workers 2 --push-every 2 --consistency ssp:1", "needs --consistency async" },
        { "--mode ps --workers 2 --pull-every 2 --consistency sync", "needs --consistency async" },
        { "--mode ps --push-every 4 --steps 10 --save f", "use 12" },
        { "--mode ps --pull-every 4 --steps 12 --save f --save-every 6",
          "is no multiple of --pull-every 4; in between workers hold what no checkpoint has; use 4 or 8" },
        { "--mode ps --stop-at-step 9 --steps 9", "leave out one of the two" },
        { "--mode ps --workers 2 --stop-at-step 9 --consistency sync", "use --steps" },
        { "--mode ps --stop-at-step 9 --overlap on", "--overlap off" },
        { "--mode ps --workers 4 --stop-at-step 3", "4 would be the least" },
        { "--mode ps --stop-at-step 60000000 --push-every 2", "more than 100000000 steps" },
        { "--mode ps --push-every 0", "--push-every" },
    };

    kit_expect_each_refused("--model linear", cases, sizeof cases / sizeof *cases);
}

UNIT_TEST(memory_is_planned)
{
    struct train_job plain = { 0 }, job = { 0 };

    assert_int_equal(kit_prepare(&plain, "--model lenet --mode ps --pull-every 4"), RC_OK);
    assert_int_equal(kit_prepare(&job, "--model lenet --mode ps --push-every 4"), RC_OK);
    assert_int_equal(job.memory.exchange_bytes - plain.memory.exchange_bytes, job.n_params * sizeof(float));
    train_job_free(&plain);
    train_job_free(&job);
}

/* --- trainings --- */

#define LENET "--model lenet --batch 8 --threads 1 --eval-samples 0 --lr 0.005 "

UNIT_TEST(a_saved_period_goes_on_alike)
{
    char path[] = "/tmp/periods_test.XXXXXX";

    kit_make_file(path);
    kit_goes_on_alike(LENET "--mode ps --servers 2 --push-every 2 --pull-every 3", 6, 18, path);
    kit_goes_on_alike(LENET "--mode ps --pull-every 4 --optimizer adam --bucket-bytes 8Ki --overlap on", 8, 16, path);
    unlink(path);
}

static uint64_t pushes_at(const struct train_result *r, int server)
{
    uint64_t n = 0;

    for (int k = 0; k < STALENESS_BINS; k++)
        n += r->rank[r->n_workers + server].served.pushes_count[k];
    return n;
}

/* So many updates, of each chunk on each server; each worker's steps are counted, and all but those that are behind the
 * fewest have stamps. */
static void check_stopped(const struct train_result *r, uint64_t n_updates, uint64_t n_chunks, uint64_t push_every)
{
    uint64_t n_pushes = 0, n_least = UINT64_MAX;

    for (int w = 0; w < r->n_workers; w++) {
        assert_true(r->rank[w].counts.n_pushes >= 1);
        assert_int_equal(r->rank[w].steps_count, r->rank[w].counts.n_pushes * push_every);
        n_pushes += r->rank[w].counts.n_pushes;
        n_least = r->rank[w].steps_count < n_least ? r->rank[w].steps_count : n_least;
    }
    assert_int_equal(n_pushes, n_updates);
    for (int s = 0; s < r->n_ranks - r->n_workers; s++)
        assert_int_equal(pushes_at(r, s), n_updates * n_chunks);
    assert_int_equal(r->final.kept.n_updates, n_updates);
    assert_int_equal(r->n_steps, n_least);
    assert_int_equal(r->final.samples_count, n_updates * push_every * 8);
}

UNIT_TEST(a_run_stops_at_its_updates)
{
    static const struct {
        const char *options;
        uint64_t n_updates, n_chunks, push_every;
    } cases[] = {
        { "--workers 1 --stop-at-step 7", 7, 1, 1 },
        { "--workers 3 --stop-at-step 3", 3, 1, 1 },
        { "--workers 3 --stop-at-step 50", 50, 1, 1 },
        { "--workers 4 --stop-at-step 41 --push-every 3", 41, 1, 3 },
        { "--workers 3 --stop-at-step 50 --servers 3 --transport inproc", 50, 1, 1 },
        { "--workers 2 --stop-at-step 31 --push-every 2 --pull-every 4", 31, 1, 2 },
        { "--workers 3 --stop-at-step 50 --consistency ssp:2", 50, 1, 1 },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct train_result r;
        char text[256];
        (void)snprintf(text, sizeof text, LENET "--mode ps %s", cases[i].options);
        kit_must_train(&r, text);
        check_stopped(&r, cases[i].n_updates, cases[i].n_chunks, cases[i].push_every);
        train_result_free(&r);
    }
}

/* A stopped training goes on to another number, of all updates; one worker as if it had not stopped. */
UNIT_TEST(a_stopped_run_goes_on)
{
    char path[] = "/tmp/periods_test.XXXXXX", text[256];
    struct train_result first, second, whole;
    struct train_job job = { 0 };

    kit_make_file(path);
    kit_must_train(&whole, LENET "--mode ps --stop-at-step 20 --optimizer adam");
    kit_must_train(&first, LENET "--mode ps --stop-at-step 9 --optimizer adam");
    assert_int_equal(checkpoint_save(&first.final, path, NULL, NULL), RC_OK);
    (void)snprintf(text, sizeof text, LENET "--mode ps --stop-at-step 20 --optimizer adam --resume %s", path);
    kit_must_train(&second, text);
    assert_int_equal(second.rank[0].counts.n_pushes, 11);
    assert_int_equal(second.final.kept.n_updates, 20);
    assert_memory_equal(second.final.param, whole.final.param, whole.final.n_params * sizeof(float));
    train_result_free(&second);
    (void)snprintf(text, sizeof text, LENET "--mode ps --workers 3 --stop-at-step 40 --optimizer adam --resume %s",
                   path);
    kit_must_train(&second, text);
    assert_int_equal(second.final.kept.n_updates, 40);
    (void)snprintf(text, sizeof text, LENET "--mode ps --workers 3 --stop-at-step 11 --optimizer adam --resume %s",
                   path);
    assert_int_equal(kit_prepare(&job, text), RC_INVAL);
    assert_non_null(strstr(rc_message(), "12 would be the least"));
    train_result_free(&whole);
    train_result_free(&first);
    train_result_free(&second);
    unlink(path);
}

/* Digits, by workers that push and pull seldom. Chance is 2.30. */
UNIT_TEST(lenet_learns_digits)
{
    enum { N_STEPS = 160, N_LAST = 16 };
    struct train_result r;
    double last = 0;

    kit_must_train(&r,
                   "--model lenet --batch 32 --threads 1 --steps 160 --mode ps --workers 2 --servers 2 --push-every 4 "
                   "--pull-every 4 --optimizer sgd --lr 0.05");
    for (int i = N_STEPS - N_LAST; i < N_STEPS; i++)
        last += r.stamp[i].loss / N_LAST;
    assert_true(r.stamp[0].loss > 2.0 && last < 0.5);
    assert_int_equal(r.rank[0].counts.n_pushes, N_STEPS / 4);
    for (int i = 0; i < N_STEPS; i++)
        assert_int_equal(r.stamp[i].keeps_gradient, i % 4 != 3);
    train_result_free(&r);
}

/* --- in sim, where a slow worker does fewer steps --- */

static const char *sim_case;

UNIT_TEST_OF("sim", in_sim)
{
    struct train_result r;

    if (strcmp(sim_case, "periods") == 0) {
        kit_must_train(&r,
                       LENET "--world sim --mode ps --workers 3 --servers 2 --steps 12 --push-every 3 --pull-every 2");
        for (int w = 0; w < 3; w++)
            assert_true(r.rank[w].counts.n_pushes == 4 && r.rank[w].counts.n_pulls == 6 && r.rank[w].steps_count == 12);
        assert_true(pushes_at(&r, 0) == 12 && pushes_at(&r, 1) == 12);
    } else if (strcmp(sim_case, "hollow") == 0) {
        kit_must_train(&r, "--model vgg16 --world sim --compute hollow --mode ps --workers 8 --servers 2 --steps 8 "
                           "--push-every 4 --pull-every 2 --optimizer adam");
        const double n_params_bytes = 4.0 * 138357544.0;
        for (int w = 0; w < 8; w++) /* 2 pushes, and 2 steps that pull alone; headers to 2 servers */
            assert_true((double)r.rank[w].sent_bytes == 2 * n_params_bytes + 4 * 2 * 64.0);
    } else {
        kit_must_train(&r,
                       LENET "--world sim --mode ps --workers 3 --servers 2 --stop-at-step 40 --inject rank:2=0.25");
        check_stopped(&r, 40, 1, 1);
        assert_true(r.rank[2].steps_count < r.rank[0].steps_count);
        assert_int_equal(r.rank[2].steps_count, r.n_steps);
    }
    train_result_free(&r);
}

int main(int argc, char **argv)
{
    sim_case = argc > 2 ? argv[2] : NULL;
    return unit_run("periods", sim_case ? "sim" : NULL, NULL, NULL);
}
