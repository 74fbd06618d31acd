/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_timeline_test.c WORLD CASE - the spans of a training and its stamps tell the same: three workers of lenet with a
 * bucket plan, exchanged inline and beside the computing. In sim times are compared, in threads what there is. And
 * timelines of some steps alone.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <jansson.h>

#include "harness/base/suite/unit.h"
#include "harness/compute/suite/fake_device.h"
#include "harness/report/suite/report_kit.h"
#include "harness/train/suite/train_kit.h"

enum { N_STEPS = 6, N_WORKERS = 3, MAX_TASKS = 3 };

struct traced {
    struct train_job job;
    struct train_result result;
    struct kit kit;
    json_t *trace;
};

/* compute: NULL: the job's own */
static void trace_on(struct traced *t, const char *options, const struct compute_backend *compute)
{
    json_error_t why;

    *t = (struct traced){ 0 };
    assert_true(kit_open(&t->kit));
    assert_int_equal(kit_prepare(&t->job, options), RC_OK);
    if (compute)
        t->job.compute = compute;
    t->job.opts.timeline = kit_path(&t->kit, "timeline.json");
    if (kit_run(&t->job, &t->result) != RC_OK)
        fail_msg("%s: %s", options, rc_message());
    t->trace = json_load_file(t->job.opts.timeline, 0, &why);
    if (!t->trace)
        fail_msg("%s: line %d: %s", t->job.opts.timeline, why.line, why.text);
}

static void trace(struct traced *t, const char *options)
{
    trace_on(t, options, NULL);
}

static void traced_close(struct traced *t)
{
    json_decref(t->trace);
    train_result_free(&t->result);
    train_job_free(&t->job);
    kit_close(&t->kit);
}

static bool is_span_of(json_t *event, const struct traced *t, int rank, int task, const char *name)
{
    return strcmp(json_string_value(json_object_get(event, "ph")), "X") == 0 &&
           json_integer_value(json_object_get(event, "tid")) == task * t->job.n_ranks + rank + 1 &&
           strcmp(json_string_value(json_object_get(event, "name")), name) == 0;
}

/* Sum and number of the spans `name` of task number `task` of a rank. */
static double sum_us(const struct traced *t, int rank, int task, const char *name, int *n)
{
    json_t *event;
    size_t i;
    double us = 0;

    *n = 0;
    json_array_foreach(json_object_get(t->trace, "traceEvents"), i, event)
    {
        if (!is_span_of(event, t, rank, task, name))
            continue;
        us += json_number_value(json_object_get(event, "dur"));
        ++*n;
    }
    return us;
}

/* When a step of a rank began and ended. */
static void step_us(const struct traced *t, int rank, json_int_t step, double *from_us, double *to_us)
{
    json_t *event;
    size_t i;

    json_array_foreach(json_object_get(t->trace, "traceEvents"), i,
                       event) if (is_span_of(event, t, rank, 0, "step") &&
                                  json_integer_value(json_object_get(json_object_get(event, "args"), "step")) == step)
    {
        *from_us = json_number_value(json_object_get(event, "ts"));
        *to_us = *from_us + json_number_value(json_object_get(event, "dur"));
        return;
    }
    fail_msg("no step %d", (int)step);
}

/* A chunk is submitted in its step, at the latest when its span in the queue begins; where a bucket has several chunks,
 * all but the first are submitted before. */
static void check_submitted(const struct traced *t, int rank, const struct buckets *b)
{
    int n_before = 0;
    json_t *event;
    size_t i;

    json_array_foreach(json_object_get(t->trace, "traceEvents"), i, event)
    {
        const json_t *args = json_object_get(event, "args");
        const double ts_us = json_number_value(json_object_get(event, "ts"));
        const double at_us = json_number_value(json_object_get(args, "submitted_us"));
        double from_us = 0, to_us = 0;

        if (!is_span_of(event, t, rank, 1, "queue"))
            continue;
        const size_t chunk = (size_t)json_integer_value(json_object_get(args, "piece"));
        const size_t bucket = (size_t)json_integer_value(json_object_get(args, "bucket"));
        assert_true(bucket < b->n_buckets && chunk >= b->bucket[bucket].first_chunk);
        assert_true(chunk < b->bucket[bucket].first_chunk + b->bucket[bucket].n_chunks);
        assert_int_equal(json_integer_value(json_object_get(args, "bytes")), b->chunk[chunk].n_elems * sizeof(float));
        assert_non_null(json_object_get(args, "submitted_us"));
        step_us(t, rank, json_integer_value(json_object_get(args, "step")), &from_us, &to_us);
        if (from_us > at_us + 0.0005 || at_us > to_us + 0.0005 || at_us > ts_us)
            fail_msg("submitted at %.3f us, queued at %.3f us, step %.3f to %.3f us", at_us, ts_us, from_us, to_us);
        n_before += at_us < ts_us;
    }
    assert_true(n_before >= N_STEPS);
}

static void open_plan(const struct traced *t, struct buckets *b)
{
    assert_int_equal(buckets_open(b, t->job.segment, t->job.n_segments, &t->job.exchange.buckets), RC_OK);
    assert_true(b->n_buckets > 1 && b->n_chunks > b->n_buckets);
}

static void assert_near_us(double is, double should)
{
    if (fabs(is - should) > 0.1 + 1e-6 * fabs(should))
        fail_msg("%.3f us, not %.3f us", is, should);
}

/* Every chunk of every step is queued, reduced and applied once; exposed and hidden communication are all there is, and
 * so is the update. */
static void check_worker(const struct traced *t, int rank, bool overlaps, bool is_timed)
{
    const struct step_stamp *s = t->result.stamp + (size_t)rank * N_STEPS;
    struct buckets plan = { 0 };
    double compute_us = 0, exposed_us = 0, apply_us = 0, hidden_us = 0;
    int n;

    open_plan(t, &plan);
    const int n_all = (int)plan.n_chunks * N_STEPS, exchanging = overlaps ? 2 : 0;
    for (int step = 0; step < N_STEPS; step++) {
        compute_us += 1e-3 * (double)(s[step].ready_ns - s[step].start_ns);
        exposed_us += 1e-3 * (double)(s[step].stalled_ns + s[step].end_ns - s[step].ready_ns - s[step].apply_ns);
        apply_us += 1e-3 * (double)s[step].apply_ns;
        hidden_us += 1e-3 * (double)s[step].hidden_ns;
    }
    assert_near_us(sum_us(t, rank, 0, "compute", &n), compute_us);
    assert_int_equal(n, N_STEPS);
    const double step_us = sum_us(t, rank, 0, "step", &n);
    assert_int_equal(n, N_STEPS);
    assert_true(step_us >= compute_us);
    const double queue_us = sum_us(t, rank, 1, "queue", &n);
    assert_int_equal(n, n_all);
    assert_true(overlaps || queue_us < step_us); /* one chunk at a time is the next; all are exchanged in their step */
    check_submitted(t, rank, &plan);
    buckets_close(&plan);
    const double reduce_us = sum_us(t, rank, exchanging, "reduce", &n);
    assert_int_equal(n, n_all);
    const double update_us = sum_us(t, rank, exchanging, "apply", &n);
    assert_int_equal(n, n_all);
    if (!is_timed)
        return;
    assert_near_us(reduce_us, exposed_us + hidden_us);
    assert_true(update_us >= apply_us - 0.1);
    if (!overlaps) {
        assert_near_us(update_us, apply_us);
        assert_near_us(step_us, compute_us + exposed_us + apply_us);
        assert_true(hidden_us == 0);
    } else {
        assert_true(hidden_us > 0);
        assert_near_us(sum_us(t, rank, 0, "wait", &n), exposed_us + apply_us);
    }
}

static const char *world_name;

static void check_run(const char *overlap)
{
    const bool overlaps = strcmp(overlap, "on") == 0;
    struct traced t;
    char options[256];

    snprintf(options, sizeof options,
             "--model lenet --mode allreduce --workers 3 --steps 6 --bucket-bytes 8000 --partition-bytes 3000 "
             "--world %s --overlap %s",
             world_name, overlap);
    trace(&t, options);
    for (int r = 0; r < N_WORKERS; r++)
        check_worker(&t, r, overlaps, strcmp(world_name, "sim") == 0);
    json_t *run = json_object_get(json_object_get(t.trace, "otherData"), "run");
    assert_string_equal(json_string_value(json_object_get(run, "kind")), "manifest");
    assert_int_equal(json_integer_value(json_object_get(json_object_get(run, "options"), "bucket-bytes")), 8000);
    traced_close(&t);
}

UNIT_TEST(inline_spans_are_the_stamps)
{
    check_run("off");
}

UNIT_TEST(overlapped_spans_are_the_stamps)
{
    check_run("on");
}

enum { PUT_US = 3000 };

/* A device that parameters reach slowly: no copy to it is quicker. */
static void slow_put(struct compute *c, void *to, const void *host, size_t n_bytes)
{
    nanosleep(&(struct timespec){ .tv_nsec = 1000L * PUT_US }, NULL);
    compute_fake_device.put(c, to, host, n_bytes);
}

/* On a device the caller applies what the communicator has exchanged: all of it in waits, so that every span of it is
 * in the stamps. Meanwhile the samples go to the device slowly: chunks are through before they are awaited. */
UNIT_TEST(staged_updates_are_in_the_stamps)
{
    struct compute_backend device = compute_fake_device;
    struct traced t;

    device.put = slow_put;
    trace_on(&t, "--model lenet --mode allreduce --workers 3 --steps 6 --bucket-bytes 8000 --overlap on", &device);
    for (int r = 0; r < N_WORKERS; r++) {
        double apply_us = 0;
        int n;

        for (int step = 0; step < N_STEPS; step++)
            apply_us += 1e-3 * (double)t.result.stamp[(size_t)r * N_STEPS + (size_t)step].apply_ns;
        assert_near_us(sum_us(&t, r, 0, "apply", &n), apply_us);
        assert_true(n > N_STEPS);
    }
    traced_close(&t);
}

/* With servers and without overlap a chunk's parameters are copied to the device after its exchange: the next
 * chunk's does not begin before. */
UNIT_TEST(staged_copies_are_in_no_exchange)
{
    struct compute_backend device = compute_fake_device;
    double end_us = -1;
    struct traced t;
    json_t *event;
    int n = 0;
    size_t i;

    device.put = slow_put;
    trace_on(&t, "--model lenet --mode ps --workers 1 --steps 1 --overlap off --bucket-bytes 8000", &device);
    json_array_foreach(json_object_get(t.trace, "traceEvents"), i, event)
    {
        const double ts_us = json_number_value(json_object_get(event, "ts"));

        if (!is_span_of(event, &t, 0, 0, "push and pull"))
            continue;
        if (n++ > 0 && ts_us < end_us + PUT_US)
            fail_msg("an exchange begins %.3f us after the one before it ended", ts_us - end_us);
        end_us = ts_us + json_number_value(json_object_get(event, "dur"));
    }
    assert_true(n > 1);
    traced_close(&t);
}

/* Spans `name` of the steps first to last, as many of each; no span is of another step. Returns how many of each. */
static int of_each_step(const struct traced *t, const char *name, json_int_t first, json_int_t last)
{
    int n[N_STEPS] = { 0 };
    json_t *event;
    size_t i;

    json_array_foreach(json_object_get(t->trace, "traceEvents"), i, event)
    {
        const json_int_t step = json_integer_value(json_object_get(json_object_get(event, "args"), "step"));

        if (strcmp(json_string_value(json_object_get(event, "ph")), "X") != 0)
            continue;
        assert_in_range(step, first, last);
        n[step] += strcmp(json_string_value(json_object_get(event, "name")), name) == 0;
    }
    for (json_int_t step = first; step <= last; step++)
        assert_int_equal(n[step], n[first]);
    return n[first];
}

static void assert_steps(const struct traced *t, json_int_t first, json_int_t last)
{
    const json_t *steps = json_object_get(json_object_get(t->trace, "otherData"), "steps");

    assert_int_equal(json_integer_value(json_object_get(steps, "first")), first);
    assert_int_equal(json_integer_value(json_object_get(steps, "last")), last);
}

/* A server's spans are of the step of the push that it serves: in step with both workers, one update a step and chunk.
 */
UNIT_TEST(servers_know_the_step)
{
    struct buckets plan = { 0 };
    struct traced t;

    trace(&t, "--model lenet --mode ps --consistency sync --workers 2 --steps 6 --overlap off --bucket-bytes 8000 "
              "--partition-bytes 3000");
    open_plan(&t, &plan);
    assert_int_equal(of_each_step(&t, "step", 0, 5), 2);
    assert_int_equal(of_each_step(&t, "apply", 0, 5), plan.n_chunks);
    assert_int_equal(of_each_step(&t, "reply", 0, 5), 2 * plan.n_chunks);
    assert_steps(&t, 0, 5);
    buckets_close(&plan);
    traced_close(&t);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    world_name = argv[1];
    return unit_run("timeline", argv[2], NULL, NULL);
}
