/* SPDX-License-Identifier: Apache-2.0 */
/* jitter_fit_test.c - times that the sim world's own noise makes are told from each other, with their size. */
#include "harness/bench/jitter_fit.h"

#include <math.h>

#include "harness/base/suite/unit.h"
#include "harness/cluster/cluster.h"

enum { N = 1600 };

/* Relative standard errors of base and of ratio over N draws are below 0.04 ratio and 0.04: the second L-moment of a
 * distribution of mean 1 has less than 1.6 / sqrt(N), of the long-tailed lognormal (by simulation); 4 of them. */
UNIT_TEST(draws_give_their_distribution)
{
    static double t_s[N];

    for (int kind = JITTER_EXPONENTIAL; kind <= JITTER_LOGNORMAL; kind++)
        for (int i = 0; i < 3; i++) {
            static const double ratio[] = { 0.01, 0.1, 1 };
            struct cluster c;
            cluster_default(&c);
            c.jitter = kind;
            c.jitter_ratio = ratio[i];
            for (int k = 0; k < N; k++)
                t_s[k] = 5e-3 * noise_step_ratio(&c, k % 8, k / 8);
            const struct jitter_fit fit = jitter_fit_of(t_s, N);
            assert_int_equal(fit.kind, kind);
            assert_int_equal(fit.n_times, N);
            if (!(fabs(fit.ratio / ratio[i] - 1) < 0.16 + 0.16 * ratio[i]))
                fail_msg("kind %d, ratio %g, not %g", kind, fit.ratio, ratio[i]);
            if (!(fabs(fit.base_s / 5e-3 - 1) < 0.16 * ratio[i]))
                fail_msg("kind %d, %g s, not 5 ms", kind, fit.base_s);
            assert_true(fit.distance < 1.63 / sqrt(N)); /* exceeded by 1 % of samples of the distribution */
        }
}

UNIT_TEST(equal_times_have_none)
{
    double t_s[] = { 1e-3, 1e-3, 1e-3 + 1e-9, 1e-3 - 1e-9, 1e-3 };

    const struct jitter_fit fit = jitter_fit_of(t_s, 5);
    assert_int_equal(fit.kind, JITTER_NONE);
    assert_true(fit.ratio == 0 && fit.distance == 0);
    assert_true(fabs(fit.base_s / 1e-3 - 1) < 1e-6);
}

/* The mean that a description gives, base (1 + ratio), is that of the times, whatever they are: here half of them take
 * twice as long, which no distribution has. */
UNIT_TEST(the_mean_is_kept)
{
    double t_s[100];

    for (int i = 0; i < 100; i++)
        t_s[i] = i % 2 == 0 ? 1e-3 : 2e-3;
    const struct jitter_fit fit = jitter_fit_of(t_s, 100);
    assert_true(fabs(fit.base_s * (1 + fit.ratio) / 1.5e-3 - 1) < 1e-9);
    assert_true(fit.distance > 0.2);
    for (int i = 0; i < 100; i++)
        t_s[i] = i < 95 ? 1e-3 : 1; /* preempted */
    const struct jitter_fit wild = jitter_fit_of(t_s, 100);
    assert_int_not_equal(wild.kind, JITTER_NONE);
    assert_true(wild.base_s >= 0.5e-3 && wild.base_s <= 1e-3);
    assert_true(fabs(wild.base_s * (1 + wild.ratio) / 50.95e-3 - 1) < 1e-9);
}

UNIT_MAIN("jitter_fit")
