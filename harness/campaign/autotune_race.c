/* SPDX-License-Identifier: Apache-2.0 */
/* autotune_race.c - see autotune_race.h. */
#include "harness/campaign/autotune_race.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "harness/measure/paired.h"
#include "harness/measure/student.h"

void race_init(struct race *r, int n_arms, int n_rounds, int n_planned)
{
    assert(n_arms >= 1 && n_arms <= RACE_MAX_ARMS && n_rounds >= 1 && n_rounds <= RACE_MAX_ROUNDS && n_planned >= 1);
    memset(r, 0, sizeof *r); /* padding too: bytes of it are sent */
    r->n_arms = n_arms;
    r->n_rounds_wanted = n_rounds;
    r->n_planned = n_planned;
    for (int a = 0; a < n_arms; a++)
        r->verdict[a] = (struct race_verdict){ NAN, 0, INFINITY, 1 };
}

int race_arm_of_turn(const struct race *r, int turn)
{
    const int first = r->n_rounds / 2 % r->n_arms;
    const int place = r->n_rounds % 2 ? r->n_arms - 1 - turn : turn;

    return (first + place) % r->n_arms;
}

/* t with the two-sided probability alpha, by halving. */
static double t_of(double alpha, double dof)
{
    double low = 0, high = 1;

    while (student_two_sided(high, dof) > alpha)
        high *= 2;
    for (int i = 0; i < 100; i++) {
        const double middle = (low + high) / 2;
        *(student_two_sided(middle, dof) > alpha ? &low : &high) = middle;
    }
    return high;
}

struct race_verdict race_judge(const struct race *r, int arm, int n_rounds)
{
    const size_t n = (size_t)n_rounds;
    const struct comparison c = compare_pairs(r->step_s[0], r->step_s[arm], n);
    struct race_verdict v = { c.ratio, 0, INFINITY, c.p };

    if (n < 2)
        return v;
    const double half = t_of(PAIRED_LEVEL / r->n_planned, (double)(n - 1)) * c.sd / sqrt((double)n);
    v.ratio_low = c.ratio * exp(-half);
    v.ratio_high = c.ratio * exp(half);
    return v;
}

void race_leave(struct race *r, int arm)
{
    if (r->is_out[arm])
        return;
    r->is_out[arm] = true;
    r->out_after[arm] = r->n_rounds;
    r->n_out++;
}

void race_end_round(struct race *r)
{
    r->n_rounds++;
    for (int a = 1; a < r->n_arms; a++) {
        if (r->is_out[a])
            continue;
        r->verdict[a] = race_judge(r, a, r->n_rounds);
        if (r->n_rounds >= RACE_DROP_ROUNDS && r->verdict[a].ratio < 1 && r->verdict[a].p <= PAIRED_LEVEL) /* J3 */
            race_leave(r, a);
    }
}

bool race_goes_on(const struct race *r)
{
    return r->n_rounds < r->n_rounds_wanted && r->n_out < r->n_arms - 1;
}

int race_winner(const struct race *r)
{
    int best = 0;

    for (int a = 1; a < r->n_arms && r->n_rounds >= r->n_rounds_wanted; a++) {
        const struct race_verdict *v = &r->verdict[a];
        if (!r->is_out[a] && v->ratio_low > 1 && v->ratio >= RACE_LEAST_RATIO &&
            (best == 0 || v->ratio > r->verdict[best].ratio))
            best = a;
    }
    return best;
}
