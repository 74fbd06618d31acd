/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steady_suite.c - series whose state is known by construction, and false alarms counted out. All numbers come from
 * rng.h, so the counts are the same on every run.
 */
#include "harness/measure/suite/suites.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/rng.h"

enum { MAX_N = 4000, N = 400, N_SEEDS = 50 };

/* x[n] around 1, a deviation of 2 %. */
static void noise(double *x, size_t n, uint64_t seed)
{
    for (size_t i = 0; i < n; i++)
        x[i] = 1 + 0.02 * rng_normal(seed, RNG_TEST, i);
}

static void scale_from(double *x, size_t n, size_t first, double factor)
{
    for (size_t i = first; i < n; i++)
        x[i] *= factor;
}

static double block_mean(const double *x, size_t b)
{
    return (x[5 * b] + x[5 * b + 1] + x[5 * b + 2] + x[5 * b + 3] + x[5 * b + 4]) / 5;
}

size_t mser_by_definition(const double *x, size_t n)
{
    const size_t n_blocks = n / 5;
    double least = INFINITY;
    size_t cut = 0;

    for (size_t d = 0; d <= n_blocks / 2; d++) {
        const double k = (double)(n_blocks - d);
        double mean = 0, squares = 0;

        for (size_t b = d; b < n_blocks; b++)
            mean += block_mean(x, b) / k;
        for (size_t b = d; b < n_blocks; b++)
            squares += (block_mean(x, b) - mean) * (block_mean(x, b) - mean);
        if (squares / (k * k) < least) {
            least = squares / (k * k);
            cut = d;
        }
    }
    return 5 * cut;
}

/* measure.S2 as it is stated: means of the start and of each window of its length behind it. */
static bool differs_by_definition(const double *x, size_t n, size_t n_start)
{
    double start = 0;
    size_t n_windows = 0, n_above = 0, n_below = 0;

    for (size_t i = 0; i < n_start; i++)
        start += x[i];
    for (size_t first = n_start; first + n_start <= n / 5 * 5; first += 5) {
        double window = 0;

        for (size_t i = first; i < first + n_start; i++)
            window += x[i];
        n_windows++;
        n_above += window > start;
        n_below += window < start;
    }
    return 20 * n_above >= 19 * n_windows || 20 * n_below >= 19 * n_windows;
}

static int check_definition(steady_fn *find)
{
    static double x[MAX_N];
    int n_failures = 0, n_accepted = 0, n_rejected = 0, n_limit = 0;

    for (uint64_t seed = 0; seed < 400; seed++) {
        const size_t n = 20 + (size_t)(rng_u64(seed, RNG_TEST, 9999) % 380);
        const double decay = rng_uniform(seed, RNG_TEST, 8888) / (double)(seed % 4 + 1);

        noise(x, n, seed);
        for (size_t i = 0; i < n; i++)
            x[i] += (double)(seed % 3) * exp(-(double)i * decay);
        const struct steady s = find(x, n);
        const size_t cut = mser_by_definition(x, n);
        if (s.state == STEADY_SWITCH || (s.state == STEADY_NONE && cut != n / 10 * 5))
            continue; /* judged by other checks */
        const bool is_limit = cut == n / 5 / 2 * 5;
        const bool accepted = !is_limit && cut > 0 && differs_by_definition(x, n, cut);
        n_failures +=
            expect(s.n_warmup == (accepted ? cut : 0), "S1 S2 MSER-5 inside its range, of a start that differs");
        n_failures += expect((s.state == STEADY_REACHED) == !is_limit, "S1 the limit is no steady state");
        n_accepted += accepted;
        n_rejected += !accepted && cut > 0 && !is_limit;
        n_limit += is_limit;
    }
    fprintf(stderr, "  %d cuts accepted, %d rejected, %d at the limit\n", n_accepted, n_rejected, n_limit);
    return n_failures + expect(n_accepted > 50 && n_rejected > 10 && n_limit > 10, "all cases occur");
}

static int check_warmup(steady_fn *find)
{
    static double x[N];
    int n_failures = 0;

    for (uint64_t seed = 0; seed < N_SEEDS; seed++) {
        noise(x, N, seed);
        for (size_t i = 0; i < N; i++)
            x[i] += 3 * exp(-(double)i / 10); /* below the noise after 50 values */
        struct steady s = find(x, N);
        n_failures += expect(s.state == STEADY_REACHED && s.n_warmup >= 35 && s.n_warmup < N / 2, "a decaying start");
        noise(x, N, 1000 + seed);
        scale_from(x, N, 60, 0.6);
        s = find(x, N);
        n_failures += expect(s.state == STEADY_REACHED && s.n_warmup >= 60 && s.n_warmup <= 120, "a slow start");
        noise(x, N, 2000 + seed);
        scale_from(x, N, 60, 1.5);
        s = find(x, N);
        n_failures += expect(s.state == STEADY_REACHED && s.n_warmup >= 60 && s.n_warmup <= 120, "a fast start");
    }
    noise(x, N, 7);
    scale_from(x, N, 60, 0.5);
    n_failures += expect(find(x, N).n_warmup <= 65, "a step is cut at the step");
    return n_failures;
}

/* measure.S1: the whole run drifts; or a start that never ends within it. */
static int check_drift(steady_fn *find)
{
    static double x[N];
    int n_failures = 0;

    for (uint64_t seed = 0; seed < N_SEEDS; seed++)
        for (int sign = -1; sign <= 1; sign += 2)
            for (size_t n = 100; n <= N; n += 150) {
                noise(x, n, seed);
                for (size_t i = 0; i < n; i++)
                    x[i] *= 1 + sign * 0.3 * (double)i / (double)n;
                const struct steady s = find(x, n);
                n_failures += expect(s.state == STEADY_NONE && s.n_warmup == 0, "S1 a drift is no steady state");
                n_failures += expect(isnan(s.switch_speed_ratio) && s.switch_index == 0, "S3 nor a switch");
            }
    for (size_t i = 0; i < N; i++) /* noise in the first half alone: cut there, at the limit */
        x[i] = 1 + (i < N / 2 ? 0.02 * rng_normal(5, RNG_TEST, i) : 0);
    n_failures += expect(find(x, N).state == STEADY_NONE && find(x, N).n_warmup == 0, "S1 a cut at the limit");
    return n_failures;
}

static int check_one_switch(steady_fn *find, size_t n, double at_ratio, double factor)
{
    static double x[MAX_N];
    const size_t at = (size_t)(at_ratio * (double)n) / 5 * 5;
    int n_found = 0, n_right = 0, n_cut = 0;

    for (uint64_t seed = 0; seed < N_SEEDS; seed++) {
        noise(x, n, 100 * seed + n);
        scale_from(x, n, at, factor);
        const struct steady s = find(x, n);

        n_found += s.state == STEADY_SWITCH;
        n_right += s.switch_index + 5 >= at && s.switch_index <= at + 5 && near(s.switch_speed_ratio, 1 / factor, 0.02);
        n_cut += s.n_warmup >= at / 2;
    }
    const int n_failures = expect(n_found >= N_SEEDS * 97 / 100 && n_right >= N_SEEDS * 97 / 100 && n_cut == 0,
                                  "S3 a switch is found, with its place and size, and not cut off");
    if (n_failures > 0)
        fprintf(stderr, "  n %zu at %g by %g: %d found, %d right, %d cut\n", n, at_ratio, factor, n_found, n_right,
                n_cut);
    return n_failures;
}

static int check_switch(steady_fn *find)
{
    static const size_t n[] = { 100, 400, 4000 };
    static const double at[] = { 0.3, 0.5, 0.7, 0.85 };
    static double x[N];
    int n_failures = 0;

    for (size_t i = 0; i < N_ELEMS(n); i++)
        for (size_t k = 0; k < N_ELEMS(at); k++) {
            n_failures += check_one_switch(find, n[i], at[k], 1.25); /* to a slower speed */
            n_failures += check_one_switch(find, n[i], at[k], 0.8);
        }
    for (uint64_t seed = 0; seed < N_SEEDS; seed++) { /* 3 %: a change, but too small to be called one */
        noise(x, N, seed);
        scale_from(x, N, N / 2, 1.03);
        n_failures += expect(find(x, N).state != STEADY_SWITCH, "S3 at least 5 %");
        noise(x, N, seed); /* and back: not two levels */
        scale_from(x, N, 160, 1.3);
        scale_from(x, N, 240, 1 / 1.3);
        const struct steady s = find(x, N);
        n_failures += expect(s.state != STEADY_SWITCH && s.n_warmup == 0, "S3 a burst is no switch");
        noise(x, N, seed); /* to 1.5, then to 1.25 */
        scale_from(x, N, 200, 1.5);
        scale_from(x, N, 240, 1 / 1.2);
        n_failures += expect(find(x, N).state != STEADY_SWITCH, "S3 a steady level behind a switch");
    }
    return n_failures;
}

/* Known to the digit: 20 values of 4, 80 of 1, 100 of 2. */
static int check_warmup_and_switch(steady_fn *find)
{
    static double x[N];
    int n_failures = 0, n_cut = 0;

    for (size_t i = 0; i < 200; i++)
        x[i] = i < 20 ? 4 : i < 100 ? 1 : 2;
    struct steady s = find(x, 200);
    n_failures += expect(s.state == STEADY_SWITCH && s.n_warmup == 20 && s.switch_index == 100 &&
                             near(s.switch_speed_ratio, 0.5, 1e-12),
                         "S3 warm-up, then a switch");
    for (uint64_t seed = 0; seed < N_SEEDS; seed++) {
        noise(x, N, seed);
        scale_from(x, N, 200, 1.2);
        for (size_t i = 0; i < N; i++)
            x[i] += 2 * exp(-(double)i / 5);
        s = find(x, N);
        n_failures += expect(s.state == STEADY_SWITCH && s.switch_index >= 195 && s.switch_index <= 205,
                             "S3 the switch behind warm-up");
        n_failures += expect(s.n_warmup < 100, "S1 warm-up inside its range of what is before it");
        n_cut += s.n_warmup >= 15;
    }
    return n_failures + expect(n_cut >= N_SEEDS - 2, "S3 warm-up before it");
}

/* A machine of two speeds: for each value one of them by chance, or one after the other for a sixth of the run. */
static int check_bimodal(steady_fn *find)
{
    static double x[N];
    int n_failures = 0, n_cut = 0, n_switches = 0;

    for (uint64_t seed = 0; seed < 200; seed++) {
        noise(x, N, seed);
        for (size_t i = 0; i < N; i++)
            x[i] *= rng_uniform(seed + 5000, RNG_TEST, i) < 0.5 ? 1 : 1.4;
        const struct steady s = find(x, N);
        n_switches += s.state == STEADY_SWITCH;
        n_cut += s.n_warmup > N / 4;
        noise(x, N, seed);
        for (size_t i = 0; i < N; i++)
            x[i] *= i * 6 / N % 2 ? 1.4 : 1;
        const struct steady t = find(x, N);
        n_failures += expect(t.state != STEADY_SWITCH && t.n_warmup == 0, "S2 what comes back is no warm-up");
    }
    n_failures += expect(n_switches <= 4 && n_cut <= 10, "a mixture of two speeds is steady");
    return n_failures;
}

/* Single interruptions, a hundred times a step, hide no switch and are none. */
static int check_interrupted(steady_fn *find)
{
    static double x[N];
    int n_found = 0, n_alarms = 0;

    for (uint64_t seed = 0; seed < 200; seed++)
        for (int switches = 0; switches < 2; switches++) {
            noise(x, N, seed);
            scale_from(x, N, N / 2, switches ? 1.25 : 1);
            for (size_t i = 0; i < N; i++)
                x[i] += rng_uniform(seed + 5000, RNG_TEST, i) < 0.01 ? 100 * rng_uniform(seed + 6000, RNG_TEST, i) : 0;
            const bool is_switch = find(x, N).state == STEADY_SWITCH;
            n_found += switches && is_switch;
            n_alarms += !switches && is_switch;
        }
    fprintf(stderr, "  of 200 series with interruptions: %d switches found, %d false\n", n_found, n_alarms);
    return expect(n_found >= 180, "interruptions hide no switch") +
           expect(n_alarms <= 2, "interruptions are no switch");
}

static int check_equal(steady_fn *find)
{
    static double x[N];
    int n_failures = 0;

    for (size_t i = 0; i < N; i++)
        x[i] = 0.1; /* not a binary fraction: sums round */
    for (size_t n = 20; n <= N; n++) {
        const struct steady s = find(x, n);
        n_failures += expect(s.state == STEADY_REACHED && s.n_warmup == 0, "equal values are steady");
    }
    return n_failures;
}

static int check_short(steady_fn *find) /* measure.S4 */
{
    static double x[N];
    int n_failures = 0, n_limit = 0;

    for (size_t i = 0; i < 20; i++)
        x[i] = i < 5 ? 100 : 1;
    for (size_t n = 0; n < 20; n++) {
        const struct steady s = find(x, n);
        n_failures += expect(s.state == STEADY_TOO_SHORT && s.n_warmup == 0, "S4 fewer than 20 values");
        n_failures += expect(s.switch_index == 0 && isnan(s.switch_speed_ratio), "S4 no switch in a short series");
    }
    struct steady s = find(x, 20);
    n_failures += expect(s.state == STEADY_REACHED && s.n_warmup == 5, "20 values have warm-up");
    for (uint64_t seed = 0; seed < 200; seed++) {
        noise(x, 30, seed);
        s = find(x, 30);
        n_limit += s.state == STEADY_TOO_SHORT;
        n_failures += expect(s.state != STEADY_NONE && s.state != STEADY_SWITCH, "S4 30 values tell nothing");
    }
    return n_failures + expect(n_limit > 20, "S4 the limit of a short series");
}

/* measure.S3, S1: of 1,000 series without any change at most 10 are said to switch, and at most 20 never to settle. */
static int check_false_alarm(steady_fn *find)
{
    static const size_t n[] = { 40, 100, 400, 1000 };
    static double x[MAX_N];
    int n_failures = 0;

    for (size_t k = 0; k < N_ELEMS(n); k++)
        for (int is_wide = 0; is_wide < 2; is_wide++) {
            int n_switches = 0, n_none = 0;
            double cut = 0;

            for (uint64_t seed = 0; seed < 1000; seed++) {
                for (size_t i = 0; i < n[k]; i++) /* normal, 2 %; log-normal, 50 % */
                    x[i] = is_wide ? exp(0.5 * rng_normal(seed, RNG_TEST, i + n[k]))
                                   : 1 + 0.02 * rng_normal(seed, RNG_TEST, i + n[k]);
                const struct steady s = find(x, n[k]);
                n_switches += s.state == STEADY_SWITCH;
                n_none += s.state == STEADY_NONE;
                cut += (double)s.n_warmup / (double)n[k] / 1000;
            }
            fprintf(stderr, "  n %zu, %s: of 1000 steady series %d switch, %d never settle, %.1f %% is cut\n", n[k],
                    is_wide ? "log-normal" : "normal", n_switches, n_none, 100 * cut);
            n_failures += expect(n_switches <= 10, "S3 false alarms at most 1 %");
            n_failures += expect(n_none <= 20, "S1 false alarms at most 2 %");
            n_failures += expect(cut <= 0.1, "S2 little is cut of what is steady");
        }
    return n_failures;
}

static int check_text(steady_fn *find)
{
    (void)find;
    return expect(strcmp(steady_state_text(STEADY_TOO_SHORT), "too short") == 0 &&
                      strcmp(steady_state_text(STEADY_REACHED), "reached") == 0 &&
                      strcmp(steady_state_text(STEADY_NONE), "not reached") == 0 &&
                      strcmp(steady_state_text(STEADY_SWITCH), "switch") == 0,
                  "names of states");
}

int steady_suite(steady_fn *find)
{
    static int (*const check[])(
        steady_fn * find) = { check_definition, check_warmup,      check_drift, check_switch, check_warmup_and_switch,
                              check_bimodal,    check_interrupted, check_equal, check_short,  check_false_alarm,
                              check_text };
    int n_failures = 0;

    for (size_t i = 0; i < N_ELEMS(check) && n_failures == 0; i++)
        n_failures += check[i](find);
    return n_failures;
}
