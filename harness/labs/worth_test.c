/* SPDX-License-Identifier: Apache-2.0 */
/* verdict_test.c - made-up times, and whether to distribute. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/suite/unit.h"
#include "harness/labs/worth.h"

#define ONE(start, to)         \
    {                          \
        "one", 1, start, to, 0 \
    }
#define MORE(n, start, to)         \
    {                              \
        "several", n, start, to, 0 \
    }

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-12 * fabs(b);
}

static struct worth judge(const struct way_to_target *w, size_t n_workers, size_t n_another)
{
    return worth_of(w, n_workers, w + n_workers, n_another);
}

static void assert_says(const struct worth *v, const char *wanted)
{
    char text[256];

    worth_print(text, sizeof text, v);
    if (!strstr(text, wanted))
        fail_msg("'%s' has no '%s'", text, wanted);
}

UNIT_TEST(worth_it)
{
    const struct way_to_target w[] = { ONE(1, 99), MORE(2, 2, 53), MORE(4, 5, 25), { "half the data", 1, 1, 60, 0 } };
    const struct worth v = judge(w, 3, 1);

    assert_int_equal(v.reason, WORTH_WORTH_IT);
    assert_ptr_equal(v.several, &w[2]);
    assert_ptr_equal(v.alone, &w[3]);
    assert_true(near(v.gain_ratio, 100.0 / 30) && near(v.efficiency_ratio, 100.0 / 120));
    /* 4 s of start-up more: 1 + T = 5 + T 25 / 99 */
    assert_true(near(v.pays_from_s, 4 / (1 - 25.0 / 99)));
    assert_says(&v, "Distribute: 4 workers are 3.33 times as fast as one, at an efficiency of 83 %");
}

/* The same steps, and a start that takes longer than the training. */
UNIT_TEST(start_up_decides)
{
    const struct way_to_target w[] = { ONE(1, 9.9), MORE(4, 10, 2.5) };
    const struct worth v = judge(w, 2, 0);

    assert_int_equal(v.reason, WORTH_NOT_SOONER);
    assert_true(near(v.pays_from_s, 9 / (1 - 2.5 / 9.9)));
    assert_says(&v, "4, take 1.15 times as long as one");
}

UNIT_TEST(hardly_sooner_is_not_sooner)
{
    const struct way_to_target w[] = { ONE(0, 104), MORE(2, 0, 100) }, x[] = { ONE(0, 106), MORE(2, 0, 100) };

    assert_int_equal(judge(w, 2, 0).reason, WORTH_NOT_SOONER);
    assert_int_equal(judge(x, 2, 0).reason, WORTH_WORTH_IT);
}

UNIT_TEST(another_way)
{
    const struct way_to_target w[] = {
        ONE(0, 100), MORE(2, 0, 60), { "a smaller model", 1, 0, 80, 0 }, { "faster hardware", 1, 0, 60, 0 }
    };
    const struct worth v = judge(w, 2, 2);

    assert_int_equal(v.reason, WORTH_ANOTHER_WAY);
    assert_ptr_equal(v.alone, &w[3]);
    assert_int_equal(judge(w, 2, 1).reason, WORTH_WORTH_IT);
    assert_says(&v, "one machine with faster hardware is there sooner (60.000 s, not 60.000)");
}

UNIT_TEST(dear)
{
    const struct way_to_target w[] = { ONE(0, 100), MORE(8, 0, 50) };
    const struct worth v = judge(w, 2, 0);

    assert_int_equal(v.reason, WORTH_DEAR);
    assert_says(&v, "each answer takes 4.00 times the machine time");
}

UNIT_TEST(not_reached)
{
    const struct way_to_target w[] = { ONE(0, 10), MORE(2, 0, (double)NAN) },
                               x[] = { ONE(0, (double)NAN), MORE(2, 0, 5) };
    const struct worth never = judge(w, 2, 0), only = judge(x, 2, 0);

    assert_int_equal(never.reason, WORTH_NEVER);
    assert_null(never.several);
    assert_ptr_equal(never.alone, &w[0]);
    assert_true(isinf(never.pays_from_s));
    assert_int_equal(only.reason, WORTH_WORTH_IT);
    assert_null(only.alone);
    assert_says(&only, "2 workers reach the target, and one alone does not");
    assert_says(&never, "no number of workers");
}

/* Start-up that was measured is in an interval: where it decides, the verdict is none. */
UNIT_TEST(start_up_is_not_exact)
{
    struct way_to_target w[] = { ONE(10, 90), MORE(4, 20, 60), { "a smaller model", 1, 10, 95, 0 } };
    struct worth v;

    assert_int_equal(judge(w, 2, 1).reason, WORTH_DEAR); /* 100 s, 80 s */
    assert_null(judge(w, 2, 1).against);
    w[0].start_half_s = w[1].start_half_s = 8; /* 92 to 108, 72 to 88: less than 5 % between 92 and 88 */
    v = judge(w, 2, 0);
    assert_int_equal(v.reason, WORTH_UNSURE);
    assert_ptr_equal(v.against, &w[0]);
    assert_says(&v, "Cannot tell: 4 workers are there after 80.000 s (72.000 to 88.000), one machine (one) after "
                    "100.000 s (92.000 to 108.000)");
    assert_true(near(v.pays_from_least_s, 0) && near(v.pays_from_most_s, (10 + 16) / (1 - 60.0 / 90)));
    w[1].start_half_s = 90; /* Regression: -10 to 170 were surely later than one worker */
    assert_int_equal(judge(w, 2, 0).reason, WORTH_UNSURE);
    w[0].start_half_s = w[1].start_half_s = 1;
    assert_int_equal(judge(w, 2, 0).reason, WORTH_DEAR);
    w[2] = (struct way_to_target){ "a smaller model", 1, 10, 70.5, 1 }; /* 79.5 to 81.5, several 79 to 81 */
    v = judge(w, 2, 1);
    assert_int_equal(v.reason, WORTH_UNSURE);
    assert_ptr_equal(v.against, &w[2]);
    w[2].to_target_s = 60; /* 69 to 71 */
    assert_int_equal(judge(w, 2, 1).reason, WORTH_ANOTHER_WAY);
    w[0].to_target_s = 65; /* 74 to 76: several are later, whatever the start-up is */
    assert_int_equal(judge(w, 2, 1).reason, WORTH_NOT_SOONER);
}

UNIT_MAIN("verdict")
