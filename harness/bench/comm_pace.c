/* SPDX-License-Identifier: Apache-2.0 */
/* comm_pace.c - which sizes are measured, how often, and for how long; see comm_pace.h. */
#include "harness/bench/comm_pace.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/hold.h"
#include "harness/bench/comm_repeat.h"
#include "harness/bench/series.h"
#include "harness/world/stop.h"
#include "harness/world/world.h"

#define NARROW_RATIO 0.02   /* half an interval over its median that more repeats need not narrow */
#define CALL_BYTES 1048576. /* a size weighs what it has and this, when time is shared out */

void comm_pace_init(struct comm_pace *p, const struct comm_plan *plan, bool is_virtual)
{
    p->plan = plan;
    p->is_virtual = is_virtual;
    p->least_repeats = is_virtual ? SERIES_SIM_REPEATS : plan->least_repeats;
    p->most_repeats = is_virtual ? SERIES_SIM_REPEATS : plan->most_repeats;
    p->n_warmup = is_virtual ? 0 : plan->n_warmup;
}

static double elapsed_s(const struct comm_pace *p)
{
    return 1e-9 * (double)(world_now_ns(p->world) - p->started_ns);
}

static double weight(const struct comm_plan *plan, int first, int end)
{
    double sum = 0;

    for (int i = first; i < end; i++)
        sum += (double)plan->n_bytes[i] + CALL_BYTES;
    return sum;
}

/* n repeats of the size at hand are done. Time alone does not end the work: sizes may be missing then. */
static void tell(const struct comm_pace *p, int n)
{
    static const double most_by_time = 0.99;
    const struct comm_plan *plan = p->plan;
    const double done = weight(plan, 0, p->size) + (double)n / p->most_repeats * weight(plan, p->size, p->size + 1);
    const double by_bytes = done / weight(plan, 0, plan->n_sizes);
    const double by_time = p->is_virtual ? 0 : fmin(elapsed_s(p) / plan->budget_s, most_by_time);
    char what[96];

    if (!p->end || !plan->progress)
        return;
    snprintf(what, sizeof what, "%s of %zu bytes, repeat %d", p->what, plan->n_bytes[p->size], n + 1);
    plan->progress(plan->arg, fmax(by_bytes, by_time), what);
}

enum rc comm_pace_run(struct comm_pace *p, enum rc (*measure)(void *arg, int size), void *arg)
{
    const struct comm_plan *plan = p->plan;
    int size = 0;
    enum rc rc = RC_OK;

    p->next = (struct comm_decision){ true, true };
    p->started_ns = world_now_ns(p->world);
    for (; size < plan->n_sizes && p->next.all_goes_on; size++) {
        hold_at("size", p->world->rank, (uint64_t)size);
        TRY(measure(arg, size));
    }
    if (p->end && p->end->stop_signal)
        snprintf(p->end->why, sizeof p->end->why, "stopped by %s", stop_signal_name(p->end->stop_signal));
    else if (p->end && size < plan->n_sizes)
        snprintf(p->end->why, sizeof p->end->why, "ended after %.3g s, at the limit of --budget-s %g", elapsed_s(p),
                 plan->budget_s);
    else if (p->end && plan->progress)
        plan->progress(plan->arg, 1, p->what);
out:
    return rc;
}

void comm_pace_begin(struct comm_pace *p, int size)
{
    const struct comm_plan *plan = p->plan;
    const double left_s = plan->budget_s - elapsed_s(p);

    p->size = size;
    p->size_ends_s = elapsed_s(p) + left_s * weight(plan, size, size + 1) / weight(plan, size, plan->n_sizes);
    tell(p, 0);
}

enum rc comm_pace_choose_calls(const struct comm_pace *p, int *n_calls, int n_most, double time_s)
{
    const double n_wanted = ceil(p->repeat_s / time_s);

    *n_calls = n_wanted < n_most ? (int)n_wanted : n_most; /* time_s 0: n_most */
    return world_broadcast(p->ranks, n_calls, sizeof *n_calls);
}

double *comm_pace_times(const struct comm_pace *p, int series)
{
    return p->took_s + (size_t)series * COMM_MOST_REPEATS;
}

struct interval comm_pace_interval(const struct comm_pace *p, int series, int n)
{
    double sorted[COMM_MOST_REPEATS];

    memcpy(sorted, comm_pace_times(p, series), (size_t)n * sizeof *sorted);
    return median_interval(sorted, (size_t)n);
}

/* Is every interval so narrow that more repeats would say no more? */
static bool is_settled(const struct comm_pace *p, int n)
{
    for (int series = 0; series < p->n_series; series++) {
        const struct interval i = comm_pace_interval(p, series, n);
        if (!(i.high - i.low <= 2 * NARROW_RATIO * i.mean))
            return false;
    }
    return true;
}

enum rc comm_pace_decide(struct comm_pace *p, int n)
{
    int signal;
    enum rc rc;

    TRY(comm_repeat_signal(&signal, p->ranks));
    if (p->end) {
        const bool is_late = !p->is_virtual && elapsed_s(p) > p->size_ends_s;
        const bool is_over = !p->is_virtual && elapsed_s(p) > p->plan->budget_s;
        p->end->stop_signal = signal;
        p->next.all_goes_on = signal == 0 && !is_over;
        p->next.size_goes_on =
            signal == 0 && (n < p->least_repeats || (n < p->most_repeats && !is_late && !is_settled(p, n)));
    }
    TRY(world_broadcast(p->ranks, &p->next, sizeof p->next));
    tell(p, n);
out:
    return rc;
}
