/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steps_suite.c - constructed runs with known answers: how long each worker computes, and for which other it waits.
 * Times are whole nanoseconds, so that expected values are exact.
 */
#include "harness/measure/suite/suites.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/rng.h"

enum { MAX_STAMPS = 4096 };
#define US UINT64_C(1000)

struct run { /* a run in the making */
    struct step_stamp stamp[MAX_STAMPS];
    struct steps in;
};

static void begin(struct run *run, size_t n_workers, size_t n_steps, size_t batch, bool synchronous)
{
    memset(run, 0, sizeof *run);
    run->in = (struct steps){ run->stamp, n_workers, n_steps, batch, synchronous, .overlapped = false };
}

static struct step_stamp *at(struct run *run, size_t w, size_t t)
{
    return &run->stamp[w * run->in.n_steps + t];
}

/* Workers meet every step: worker w computes (10 + w) us, plus extra_us[t]; then 4 us of wire, 2 us of
 * applying, 1 us of nothing, and everybody ends at once. Worker w starts its first step w us late. */
static void synchronous_run(struct run *run, size_t n_workers, size_t n_steps, const uint64_t *extra_us)
{
    uint64_t start_ns[64];

    begin(run, n_workers, n_steps, 8, true);
    for (size_t w = 0; w < n_workers; w++)
        start_ns[w] = 1000 * US + w * US;
    for (size_t t = 0; t < n_steps; t++) {
        uint64_t latest_ns = 0;

        for (size_t w = 0; w < n_workers; w++) {
            struct step_stamp *s = at(run, w, t);

            s->start_ns = start_ns[w];
            s->ready_ns = s->start_ns + (10 + w + (extra_us ? extra_us[t] : 0)) * US;
            s->loss = 100.0 / (double)(t + 1) + (double)w;
            s->apply_ns = 2 * US;
            latest_ns = s->ready_ns > latest_ns ? s->ready_ns : latest_ns;
        }
        for (size_t w = 0; w < n_workers; w++) {
            at(run, w, t)->exchange_ns = latest_ns + 4 * US - at(run, w, t)->ready_ns;
            start_ns[w] = at(run, w, t)->end_ns = latest_ns + 7 * US;
        }
    }
}

/* Worker w takes (w + 1) x 10 us a step: 5 compute, 1 server, 1 apply, 2 wire, 1 nothing, times w + 1. */
static void asynchronous_run(struct run *run, size_t n_workers, size_t n_steps)
{
    begin(run, n_workers, n_steps, 4, false);
    for (size_t w = 0; w < n_workers; w++)
        for (size_t t = 0; t < n_steps; t++) {
            struct step_stamp *s = at(run, w, t);
            uint64_t unit_ns = (w + 1) * US;

            s->start_ns = t * 10 * unit_ns;
            s->ready_ns = s->start_ns + 5 * unit_ns;
            s->end_ns = s->start_ns + 10 * unit_ns;
            s->server_ns = unit_ns;
            s->apply_ns = unit_ns;
            s->exchange_ns = 2 * unit_ns;
            s->staleness_count = (uint32_t)w;
        }
}

/* measure.E4, on any run. */
static int check_sum(const struct steps_summary *s)
{
    double sum = s->compute_s + s->wait_s + s->wire_s + s->server_s + s->apply_s + s->rest_s;

    return expect(near(sum, s->step_mean_s, 1e-14), "E4 the parts are the whole") +
           expect(near(s->exposed_s, s->wait_s + s->wire_s + s->server_s + s->rest_s, 1e-12), "E4 exposed") +
           expect(s->compute_s >= 0 && s->wait_s >= 0 && s->wire_s >= 0 && s->server_s >= 0 && s->apply_s >= 0 &&
                      s->rest_s >= 0,
                  "E4 no part is negative");
}

static int check_synchronous(summarise_fn *summarise)
{
    static struct run run;
    struct steps_summary s;
    int n_failures = 0;

    synchronous_run(&run, 4, 100, NULL); /* a round: 13 us of the slowest + 7 us */
    if (summarise(&s, &run.in) != RC_OK)
        return 1;
    n_failures += expect(s.n_rounds == 100, "E2 a round is a step of every worker");
    n_failures += expect(near(s.throughput_samples_per_s.mean, 4 * 8 / 20e-6, 1e-12), "E1 throughput");
    n_failures += expect(near(s.elapsed_s, 100 * 20e-6 + 3e-6, 1e-12), "elapsed time");
    n_failures += check_sum(&s);
    synchronous_run(&run, 1, 50, NULL);
    if (summarise(&s, &run.in) != RC_OK)
        return n_failures + 1;
    n_failures += expect(s.n_rounds == 50 && s.wait_s == 0, "one worker waits for nobody");
    n_failures += expect(near(s.throughput_samples_per_s.mean, 8 / 17e-6, 1e-12), "E1 one worker");
    return n_failures;
}

static int check_asynchronous(summarise_fn *summarise)
{
    static struct run run;
    struct steps_summary s;
    int n_failures = 0;

    /* The window ends with worker 0: 600 steps of it, 300 of worker 1, 200 of worker 2. */
    asynchronous_run(&run, 3, 600);
    if (summarise(&s, &run.in) != RC_OK)
        return 1;
    n_failures += expect(s.n_rounds == 1100 / 3, "E2 E3 rounds while everybody trained");
    n_failures += expect(near(s.throughput_samples_per_s.mean, 4 * 1100 / 6e-3, 0.01), "E1 rates of all workers");
    n_failures += expect(s.wait_s == 0, "nobody waits for others");
    n_failures += expect(near(s.server_s, s.apply_s, 1e-12) && s.server_s > 0, "server and apply as stamped");
    n_failures += expect(near(s.compute_s / s.step_mean_s, 0.5, 1e-9), "compute as stamped");
    n_failures += expect(near(s.wire_s, 0.2 * s.step_mean_s, 1e-9) && near(s.rest_s, 0.1 * s.step_mean_s, 1e-9), "E4");
    n_failures += expect(near(s.step_min_s, 10e-6, 1e-12) && near(s.step_max_s, 30e-6, 1e-12), "extreme steps");
    return n_failures + check_sum(&s);
}

static int check_window(summarise_fn *summarise) /* measure.E3 */
{
    static struct run run;
    struct steps_summary s;
    int n_failures = 0;

    /* Equal workers, but worker 1 begins when worker 0 is half through. */
    asynchronous_run(&run, 2, 400);
    for (size_t t = 0; t < 400; t++) {
        *at(&run, 1, t) = *at(&run, 0, t);
        at(&run, 1, t)->start_ns += 2000 * US + 5 * US;
        at(&run, 1, t)->ready_ns += 2000 * US + 5 * US;
        at(&run, 1, t)->end_ns += 2000 * US + 5 * US;
    }
    if (summarise(&s, &run.in) != RC_OK)
        return 1;
    n_failures += expect(s.n_rounds >= 198 && s.n_rounds <= 200, "E3 only common time");
    n_failures += expect(near(s.throughput_samples_per_s.mean, 2 * 4 / 10e-6, 1e-2), "E1 E3 throughput of both");
    /* Nothing in common: no throughput, but costs. */
    for (size_t t = 0; t < 400; t++) {
        at(&run, 1, t)->start_ns += 4000 * US;
        at(&run, 1, t)->ready_ns += 4000 * US;
        at(&run, 1, t)->end_ns += 4000 * US;
    }
    if (summarise(&s, &run.in) != RC_OK)
        return n_failures + 1;
    n_failures += expect(s.n_rounds == 0 && isnan(s.throughput_samples_per_s.mean), "E3 no common time");
    n_failures += expect(near(s.step_mean_s, 10e-6, 1e-12), "costs of all steps");
    return n_failures + check_sum(&s);
}

static int check_warmup(summarise_fn *summarise)
{
    static struct run run;
    static uint64_t extra_us[200];
    struct steps_summary s;
    int n_failures = 0;

    for (size_t t = 0; t < 30; t++) /* the first 30 steps compute 100 us longer */
        extra_us[t] = 100;
    synchronous_run(&run, 4, 200, extra_us);
    if (summarise(&s, &run.in) != RC_OK)
        return 1;
    n_failures += expect(s.steady.n_warmup >= 30 && s.steady.n_warmup <= 35, "warm-up rounds are dropped");
    n_failures += expect(near(s.throughput_samples_per_s.mean, 4 * 8 / 20e-6, 1e-9), "E1 throughput of steady rounds");
    n_failures += expect(near(s.step_mean_s, 20e-6, 1e-9) && near(s.step_max_s, 20e-6, 1e-9), "E4 steady steps only");
    n_failures +=
        expect(near(s.step_p50_s, 20e-6, 0.004) && near(s.step_p95_s, 20e-6, 0.004) && near(s.step_p99_s, 20e-6, 0.004),
               "E5 percentiles of steady steps only");
    for (size_t n_steps = 1; n_steps < 4; n_steps++) {
        synchronous_run(&run, 2, n_steps, NULL);
        if (summarise(&s, &run.in) != RC_OK)
            return n_failures + 1;
        n_failures += expect(isnan(s.throughput_samples_per_s.low) && isnan(s.throughput_samples_per_s.high),
                             "I4 too few rounds for an interval");
        n_failures += expect(near(s.throughput_samples_per_s.mean, 2 * 8 / 18e-6, 1e-9), "but for a mean");
    }
    return n_failures;
}

/* measure.E5: nothing is left out of 200 rounds of 4 workers when they grow by 1 us each, nor when they take 20 us more
 * from round 100 on. */
static int check_steady(summarise_fn *summarise)
{
    static struct run run;
    static uint64_t grows_us[200], switches_us[200];
    struct steps_summary s;
    int n_failures = 0;

    for (size_t t = 0; t < 200; t++) {
        grows_us[t] = t;
        switches_us[t] = t < 100 ? 0 : 20;
    }
    synchronous_run(&run, 4, 200, grows_us);
    n_failures += expect(summarise(&s, &run.in) == RC_OK && s.steady.state == STEADY_NONE, "E5 no steady state");
    n_failures += expect(near(s.throughput_samples_per_s.mean, 32 / 119.5e-6, 1e-9), "E5 throughput of all rounds");
    n_failures += expect(near(s.step_min_s, 20e-6, 1e-9) && near(s.step_max_s, 219e-6, 1e-9), "E5 extremes of all");
    n_failures +=
        expect(near(s.step_p50_s, 119e-6, 0.004) && near(s.step_p95_s, 209e-6, 0.004), "E5 percentiles of all");
    synchronous_run(&run, 4, 200, switches_us);
    n_failures += expect(summarise(&s, &run.in) == RC_OK && s.steady.state == STEADY_SWITCH, "E5 a switch");
    n_failures += expect(s.steady.switch_index == 100 && near(s.steady.switch_speed_ratio, 0.5, 1e-9), "E5 its round");
    n_failures += expect(near(s.throughput_samples_per_s.mean, 32 / 30e-6, 1e-9), "E5 throughput of both speeds");
    return n_failures + expect(near(s.step_min_s, 20e-6, 1e-9) && near(s.step_p95_s, 40e-6, 0.004), "E5 both speeds");
}

static int check_cost(summarise_fn *summarise) /* measure.E4 */
{
    static struct run run;
    struct steps_summary s;
    int n_failures = 0;

    /* Waits of workers 0 .. 3 for the slowest: 3 2 1 0 us. Same start from step 1 on. */
    synchronous_run(&run, 4, 100, NULL);
    for (size_t w = 0; w < 4; w++) /* all start at once in step 0 too */
        at(&run, w, 0)->start_ns = 1003 * US;
    for (size_t w = 0; w < 4; w++) {
        at(&run, w, 0)->ready_ns = 1003 * US + (10 + w) * US;
        at(&run, w, 0)->exchange_ns = (3 - w + 4) * US;
    }
    if (summarise(&s, &run.in) != RC_OK)
        return 1;
    n_failures += expect(near(s.wait_s, 1.5e-6, 1e-9), "E4 wait is for the latest");
    n_failures += expect(near(s.compute_s, 11.5e-6, 1e-9) && near(s.wire_s, 4e-6, 1e-9), "E4 compute and wire");
    n_failures += expect(near(s.apply_s, 2e-6, 1e-9) && s.server_s == 0 && near(s.rest_s, 1e-6, 1e-9), "E4 the others");
    n_failures += check_sum(&s);
    /* Parts that exceed the exchange, as clocks of two hosts may make them. */
    asynchronous_run(&run, 2, 50);
    for (size_t i = 0; i < 100; i++) {
        run.stamp[i].server_ns = i % 3 ? 0 : 1000 * US;
        run.stamp[i].apply_ns = i % 2 ? 1000 * US : 0;
    }
    run.in.synchronous = true; /* stamps do not even agree on who came last */
    if (summarise(&s, &run.in) != RC_OK)
        return n_failures + 1;
    return n_failures + check_sum(&s);
}

static int check_loss(summarise_fn *summarise)
{
    static struct run run;
    struct steps_summary s;
    struct round_point p;
    uint64_t samples;
    int n_failures = 0;
    double last = 0;

    synchronous_run(&run, 4, 100, NULL); /* loss 100 / (t + 1) + w, a round is 20 us, 8 samples each */
    if (summarise(&s, &run.in) != RC_OK)
        return 1;
    for (size_t t = 90; t < 100; t++)
        last += (100.0 / (double)(t + 1) + 1.5) / 10;
    n_failures += expect(near(s.loss_first, 101.5, 1e-12) && near(s.loss_last, last, 1e-12), "losses of all workers");
    steps_round(&p, &run.in, 9);
    n_failures += expect(near(p.loss, 11.5, 1e-12) && near(p.seconds, 203e-6, 1e-12), "loss and seconds of round 9");
    n_failures += expect(p.samples_count == 10 * 4 * 8, "samples by round 9");
    double seconds = steps_seconds_to_loss(&run.in, 11.5 + 1e-9, 1, &samples); /* first met by round 9 */
    n_failures += expect(near(seconds, 203e-6, 1e-12) && samples == 320, "seconds to a loss");
    seconds = steps_seconds_to_loss(&run.in, 10, 5, &samples); /* mean of 5: 100 (1/t) over 10 .. 14 < 8.5 */
    n_failures += expect(near(seconds, 14 * 20e-6 + 3e-6, 1e-12) && samples == 14 * 32, "a mean over 5 steps");
    n_failures += expect(isnan(steps_seconds_to_loss(&run.in, 1, 1, &samples)) && samples == 0, "never");
    n_failures += expect(isnan(steps_seconds_to_loss(&run.in, 1e9, 101, NULL)), "never more steps than there are");
    at(&run, 2, 20)->loss = NAN; /* must not stay in the sum after it left the window */
    seconds = steps_seconds_to_loss(&run.in, 3.5, 2, NULL);
    n_failures += expect(near(seconds, 51 * 20e-6 + 3e-6, 1e-12), "one loss that is no number");
    return n_failures;
}

static int check_staleness(summarise_fn *summarise)
{
    static struct run run;
    struct steps_summary s;
    uint64_t n_with[3];
    int n_failures = 0;

    asynchronous_run(&run, 4, 10); /* staleness w */
    if (summarise(&s, &run.in) != RC_OK)
        return 1;
    n_failures += expect(near(s.staleness_mean_count, 1.5, 1e-12) && s.staleness_max_count == 3, "staleness");
    steps_staleness_histogram(n_with, 3, &run.in);
    n_failures += expect(n_with[0] == 10 && n_with[1] == 10 && n_with[2] == 20, "the last bin takes the rest");
    steps_staleness_histogram(NULL, 0, &run.in);
    return n_failures;
}

/* Virtual clocks: many workers at the very same instant, steps that take no time at all. */
static int check_ties(summarise_fn *summarise)
{
    static struct run run;
    struct steps_summary s;
    int n_failures = 0;

    begin(&run, 64, 40, 1, false);
    for (size_t w = 0; w < 64; w++)
        for (size_t t = 0; t < 40; t++)
            *at(&run, w, t) = (struct step_stamp){ .start_ns = t * US, .ready_ns = t * US, .end_ns = (t + 1) * US };
    if (summarise(&s, &run.in) != RC_OK)
        return 1;
    n_failures += expect(s.n_rounds == 40 && s.steady.n_warmup == 0, "E2 rounds of equal times");
    n_failures += expect(near(s.throughput_samples_per_s.low, 64 / 1e-6, 1e-9), "nothing varies, all is certain");
    for (size_t i = 0; i < 64 * 40; i++)
        run.stamp[i] = (struct step_stamp){ .start_ns = 5, .ready_ns = 5, .end_ns = 5 };
    if (summarise(&s, &run.in) != RC_OK)
        return n_failures + 1;
    n_failures += expect(s.n_rounds == 0 && s.step_mean_s == 0, "a clock that stands still");
    return n_failures + check_sum(&s);
}

/* Merging against sorting, on a big run with random durations. */
static int by_time(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

static int check_large(summarise_fn *summarise)
{
    enum { W = 512, N = 500 };
    struct step_stamp *stamp = calloc((size_t)W * N, sizeof *stamp);
    uint64_t *end_ns = malloc((size_t)W * N * sizeof *end_ns);
    struct steps in = { .stamp = stamp, .n_workers = W, .n_steps = N, .batch_per_worker_count = 1 };
    struct steps_summary s;
    uint64_t to_ns = UINT64_MAX;
    size_t n_inside = 0;
    int n_failures = 1;

    if (!stamp || !end_ns)
        goto out;
    for (size_t i = 0; i < (size_t)W * N; i++) {
        stamp[i].start_ns = i % N ? stamp[i - 1].end_ns : 0;
        stamp[i].ready_ns = stamp[i].start_ns + 1 + rng_u64(3, RNG_TEST, i) % 1000;
        stamp[i].end_ns = end_ns[i] = stamp[i].ready_ns + rng_u64(4, RNG_TEST, i) % 1000;
        if (i % N == N - 1 && end_ns[i] < to_ns)
            to_ns = end_ns[i];
    }
    qsort(end_ns, (size_t)W * N, sizeof *end_ns, by_time);
    while (n_inside < (size_t)W * N && end_ns[n_inside] <= to_ns)
        n_inside++;
    if (summarise(&s, &in) != RC_OK)
        goto out;
    n_failures = expect(s.n_rounds == n_inside / W, "E2 as many rounds as sorting finds");
    double from_s = s.steady.n_warmup ? (double)end_ns[s.steady.n_warmup * W - 1] : 0;
    double rate = (double)((s.n_rounds - s.steady.n_warmup) * W) / ((double)end_ns[s.n_rounds * W - 1] - from_s) * 1e9;
    n_failures += expect(near(s.throughput_samples_per_s.mean, rate, 1e-9), "E1 throughput as sorting finds");
    n_failures += check_sum(&s);
out:
    free(stamp);
    free(end_ns);
    return n_failures;
}

static int check_errors(summarise_fn *summarise)
{
    static struct run run;
    struct steps_summary s = { .n_rounds = 77 };
    int n_failures = 0;

    synchronous_run(&run, 2, 10, NULL);
    at(&run, 1, 4)->ready_ns = at(&run, 1, 4)->end_ns + 1;
    n_failures += expect(summarise(&s, &run.in) == RC_INVAL, "a gradient after the end of its step");
    synchronous_run(&run, 2, 10, NULL);
    at(&run, 1, 4)->start_ns = at(&run, 1, 3)->end_ns - 1;
    n_failures += expect(summarise(&s, &run.in) == RC_INVAL, "a step that began before the last one ended");
    n_failures += expect(strstr(rc_message(), "step 4 of worker 1") != NULL, "the message names the step");
    run.in.n_steps = 0;
    n_failures += expect(summarise(&s, &run.in) == RC_INVAL, "no steps");
    run.in.n_steps = 10;
    run.in.n_workers = 0;
    n_failures += expect(summarise(&s, &run.in) == RC_INVAL, "no workers");
    n_failures += expect(s.n_rounds == 77, "out is untouched by a failure");
    return n_failures;
}

/* measure.E4 where exchange is overlapped: 2 workers, steps of 20 us, of which 6 us waiting for parameters inside the
 * gradient (3 us of it the update, 1 us the server, 1.5 us exchanging, which in every other step is counted in the one
 * after it); 9 us exchanged besides. No worker waits after its gradient but the last
 * time. */
static int check_overlap(summarise_fn *summarise)
{
    static struct run run;
    struct steps_summary s;
    int n_failures = 0;

    begin(&run, 2, 40, 8, true);
    for (size_t w = 0; w < 2; w++)
        for (size_t t = 0; t < 40; t++) {
            struct step_stamp *p = at(&run, w, t);
            p->start_ns = (1000 + 20 * t) * US;
            p->ready_ns = p->start_ns + (20 - 2 * w * (t == 39)) * US; /* worker 1 is 2 us early in the last */
            p->end_ns = p->start_ns + 20 * US;
            p->stalled_ns = 6 * US;
            p->apply_ns = 3 * US;
            p->server_ns = 1 * US;
            p->hidden_ns = 9 * US;
            p->exchange_ns = 3 * US * (t % 2) + 2 * US * (w == 1 && t == 39);
        }
    if (summarise(&s, &run.in) != RC_OK)
        return 1;
    n_failures += expect(near(s.step_mean_s, 20e-6, 1e-9), "E4 a step is all of its time");
    n_failures += expect(near(s.compute_s, 14e-6 - 2e-6 / 80, 1e-9), "E4 compute is without the stalls");
    n_failures += expect(near(s.apply_s, 3e-6, 1e-9) && near(s.server_s, 1e-6, 1e-9), "E4 apply and server in stalls");
    n_failures += expect(near(s.wait_s, 2e-6 / 80, 1e-9), "E4 the wait for the latest is after the gradient");
    n_failures += expect(near(s.wire_s, 1.5e-6, 1e-9), "E4 exchanging in stalls, whichever step it was counted in");
    n_failures += expect(near(s.rest_s, 0.5e-6, 1e-9), "E4 the rest has what is left of the stalls");
    n_failures += expect(near(s.exposed_s, 3e-6 + 2e-6 / 80, 1e-9), "E4 exposed is wait, wire and server");
    n_failures += expect(near(s.hidden_s, 9e-6, 1e-9), "E4 hidden");
    return n_failures + check_sum(&s);
}

/* Every step computes for 10 us; but the first it waits for 6 us, and but the last it hides 4 us of the exchange of the
 * step before. The last worker of three ends its last step 12 us later than that, the others up to 2 us before it. */
static void overlapped_run(struct run *run, size_t n_steps)
{
    begin(run, 3, n_steps, 8, true);
    run->in.overlapped = true;
    for (size_t w = 0; w < 3; w++)
        for (size_t t = 0; t < n_steps; t++) {
            struct step_stamp *p = at(run, w, t);
            const bool is_last = t + 1 == n_steps;

            p->start_ns = t == 0 ? 1000 * US : p[-1].end_ns;
            p->stalled_ns = t > 0 ? 6 * US : 0;
            p->ready_ns = p->start_ns + p->stalled_ns + 10 * US;
            p->end_ns = p->ready_ns + (is_last ? (10 + w) * US : 0);
            p->hidden_ns = t > 0 ? 4 * US : 0;
            p->exchange_ns = p->stalled_ns + p->end_ns - p->ready_ns;
        }
}

/* The first step takes 10 us, each other one 16; but the last one 25, with what other stages do behind it. */
static void staged_run(struct run *run, size_t n_steps)
{
    begin(run, 2, n_steps, 8, true);
    run->in.staged = true;
    for (size_t w = 0; w < 2; w++)
        for (size_t t = 0; t < n_steps; t++) {
            struct step_stamp *p = at(run, w, t);

            p->start_ns = t == 0 ? 1000 * US : p[-1].end_ns;
            p->ready_ns = p->start_ns + 10 * US;
            p->end_ns = p->start_ns + (t == 0 ? 10 : t + 1 == n_steps ? 25 : 16) * US;
            p->exchange_ns = p->end_ns - p->ready_ns;
        }
}

/* measure.E3: nor does the throughput of stages. */
static int check_stages(summarise_fn *summarise)
{
    static const struct {
        size_t n_steps, n_rounds;
        double round_s;
    } of[] = { { 2, 2, 17.5e-6 }, { 3, 2, 20.5e-6 }, { 4, 2, 16e-6 }, { 40, 38, 16e-6 } };
    static struct run run;
    struct steps_summary s;
    int n_failures = 0;

    for (size_t i = 0; i < N_ELEMS(of); i++) {
        staged_run(&run, of[i].n_steps);
        if (summarise(&s, &run.in) != RC_OK)
            return n_failures + 1;
        n_failures += expect(s.n_rounds == of[i].n_rounds, "E3 rounds of stages");
        n_failures +=
            expect(near(s.throughput_samples_per_s.mean, 2 * 8 / of[i].round_s, 1e-12), "E3 throughput of stages");
    }
    return n_failures;
}

/* measure.E3: every second step takes 10 us longer, but the last one of worker 0 only 9: of 6 steps 5 rounds are in the
 * window, with 2 of 3 exchanges; 4 of them count. Regression: 6 simulated steps were 13 % faster than their bound. */
static int check_periods(summarise_fn *summarise)
{
    static struct run run;
    struct steps_summary s;

    begin(&run, 3, 6, 8, true);
    run.in.period_steps = 2;
    for (size_t w = 0; w < 3; w++)
        for (size_t t = 0; t < 6; t++) {
            struct step_stamp *p = at(&run, w, t);

            p->start_ns = t == 0 ? 1000 * US : p[-1].end_ns;
            p->ready_ns = p->start_ns + 10 * US;
            p->end_ns = p->ready_ns + (t % 2 == 0 ? 0 : t == 5 && w == 0 ? 9 : 10) * US;
            p->exchange_ns = p->end_ns - p->ready_ns;
        }
    if (summarise(&s, &run.in) != RC_OK)
        return 1;
    return expect(near(s.throughput_samples_per_s.mean, 3 * 8 / 15e-6, 1e-12), "E3 throughput of periods");
}

/* measure.E3: what a run has of an overlapped exchange does not depend on how many steps it has. */
static int check_drain(summarise_fn *summarise)
{
    static const size_t n_steps[] = { 4, 5, 40 };
    static struct run run;
    struct steps_summary s;
    int n_failures = 0;

    for (size_t i = 0; i < sizeof n_steps / sizeof *n_steps; i++) {
        overlapped_run(&run, n_steps[i]);
        if (summarise(&s, &run.in) != RC_OK)
            return n_failures + 1;
        n_failures += expect(s.n_rounds == n_steps[i] - 2, "E3 all rounds but the first and the last");
        n_failures += expect(near(s.throughput_samples_per_s.mean, 3 * 8 / 16e-6, 1e-12), "E3 throughput");
        n_failures += expect(near(s.step_mean_s, 16e-6, 1e-12), "E3 a step in the middle");
        n_failures += expect(near(s.exposed_s, 6e-6, 1e-12), "E3 exposed");
        n_failures += expect(near(s.hidden_s, 4e-6, 1e-12), "E3 hidden");
    }
    overlapped_run(&run, 3);
    n_failures += expect(summarise(&s, &run.in) == RC_OK && s.n_rounds == 1, "E3 one round of three");
    overlapped_run(&run, 2); /* 10 us, then 16 and the end of worker 0's exchange, 10 */
    n_failures += expect(summarise(&s, &run.in) == RC_OK && s.n_rounds == 1, "E3 two steps have no middle");
    n_failures += expect(near(s.step_mean_s, 10e-6, 1e-12), "E3 of two steps the one that all completed");
    return n_failures;
}

int steps_suite(summarise_fn *summarise)
{
    static int (*const check[])(summarise_fn * summarise) = { check_synchronous, check_asynchronous, check_window,
                                                              check_warmup,      check_steady,       check_cost,
                                                              check_overlap,     check_drain,        check_periods,
                                                              check_stages,      check_loss,         check_staleness,
                                                              check_ties,        check_large,        check_errors };
    int n_failures = 0;

    for (size_t i = 0; i < N_ELEMS(check); i++)
        n_failures += check[i](summarise);
    return n_failures;
}
