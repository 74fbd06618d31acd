/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steps.c - rounds, costs and losses out of step stamps.
 *
 * Completions are taken from all workers in the order of time (struct merge). The first boundary of a
 * round is the latest first start (measure.E3); every n_workers completions later the next one begins. In a
 * synchronous mode round r is step r of every worker, because no worker completes step r + 1 before
 * everybody has completed step r; so one rule serves all modes. (Overlapped: step r + 1, and nobody completes
 * step r + 2 before everybody has completed step r + 1, whose gradients it waits for.)
 *
 * Stamps of a worker must be in order: start <= ready <= end <= next start. That is checked: sums
 * of unsigned differences would otherwise be silently wrong.
 */
#include "harness/measure/steps.h"

#include <math.h>
#include <stdlib.h>

#include "harness/measure/histogram.h"

static const struct step_stamp *worker_stamps(const struct steps *in, size_t w)
{
    return in->stamp + w * in->n_steps;
}

static double seconds_between(uint64_t from_ns, uint64_t to_ns)
{
    return (double)(to_ns - from_ns) * 1e-9;
}

static uint64_t first_start_ns(const struct steps *in)
{
    uint64_t first = UINT64_MAX;

    for (size_t w = 0; w < in->n_workers; w++)
        if (worker_stamps(in, w)[0].start_ns < first)
            first = worker_stamps(in, w)[0].start_ns;
    return first;
}

static uint64_t latest_end_ns(const struct steps *in, size_t step)
{
    uint64_t latest = 0;

    for (size_t w = 0; w < in->n_workers; w++)
        if (worker_stamps(in, w)[step].end_ns > latest)
            latest = worker_stamps(in, w)[step].end_ns;
    return latest;
}

static enum rc check_order(const struct steps *in)
{
    for (size_t w = 0; w < in->n_workers; w++) {
        const struct step_stamp *s = worker_stamps(in, w);

        for (size_t t = 0; t < in->n_steps; t++)
            if (s[t].start_ns > s[t].ready_ns || s[t].ready_ns > s[t].end_ns ||
                (t > 0 && s[t - 1].end_ns > s[t].start_ns))
                return rc_raise(RC_INVAL, "the time stamps of step %zu of worker %zu are not in order", t, w);
    }
    return RC_OK;
}

struct window { /* measure.E3, the rounds it consists of */
    uint64_t from_ns, to_ns;
    uint64_t *boundary_ns; /* [n_rounds + 1]; boundary_ns[0] = from_ns */
    size_t n_rounds;
};

/* measure.E3 */
static void find_window(struct window *w, const struct steps *in)
{
    const bool is_later = (in->overlapped || in->staged) && in->n_steps > 2;
    const bool is_earlier = is_later && (in->overlapped || in->n_steps > 3);

    *w = (struct window){ .to_ns = UINT64_MAX };
    for (size_t i = 0; i < in->n_workers; i++) {
        const struct step_stamp *s = worker_stamps(in, i);
        const uint64_t from_ns = is_later ? s[0].end_ns : s[0].start_ns;
        const uint64_t to_ns = s[in->n_steps - (is_earlier ? 2 : 1)].end_ns;

        w->from_ns = from_ns > w->from_ns ? from_ns : w->from_ns;
        w->to_ns = to_ns < w->to_ns ? to_ns : w->to_ns;
    }
}

/* --- the step completions of all workers in the order of time: a heap of one cursor per worker --- */

/* O(log n_workers) per completion, memory of n_workers numbers. Of equal times, the lower worker first: the order is
 * the same on every run. */
struct merge {
    const struct steps *in; /* borrowed; end_ns of each worker does not decrease */
    size_t n_live;          /* cursors in the heap */
    struct merge_cursor {
        uint64_t end_ns;
        size_t worker, step;
    } * heap;
};

static bool earlier(const struct merge_cursor *a, const struct merge_cursor *b)
{
    return a->end_ns != b->end_ns ? a->end_ns < b->end_ns : a->worker < b->worker;
}

static void sift_down(struct merge *m, size_t i)
{
    for (;;) {
        size_t least = i;

        for (size_t child = 2 * i + 1; child <= 2 * i + 2 && child < m->n_live; child++)
            if (earlier(&m->heap[child], &m->heap[least]))
                least = child;
        if (least == i)
            return;
        struct merge_cursor moved = m->heap[i];
        m->heap[i] = m->heap[least];
        m->heap[least] = moved;
        i = least;
    }
}

static enum rc merge_init(struct merge *m, const struct steps *in)
{
    *m = (struct merge){ .in = in, .n_live = in->n_steps ? in->n_workers : 0 };
    m->heap = malloc(in->n_workers * sizeof *m->heap + 1);
    if (!m->heap)
        return rc_raise(RC_NOMEM, "no memory to order the steps of %zu workers", in->n_workers);
    for (size_t w = 0; w < m->n_live; w++)
        m->heap[w] = (struct merge_cursor){ in->stamp[w * in->n_steps].end_ns, w, 0 };
    for (size_t i = m->n_live; i-- > 0;)
        sift_down(m, i);
    return RC_OK;
}

/* The next completion; false: no completion is left. */
static bool merge_next(struct merge *m, struct merge_cursor *out)
{
    if (m->n_live == 0)
        return false;
    struct merge_cursor *top = &m->heap[0];
    *out = *top;
    if (++top->step < m->in->n_steps)
        top->end_ns = m->in->stamp[top->worker * m->in->n_steps + top->step].end_ns;
    else
        *top = m->heap[--m->n_live];
    sift_down(m, 0);
    return true;
}

/* Safe on a zeroed one. */
static void merge_fini(struct merge *m)
{
    free(m->heap);
    *m = (struct merge){ 0 };
}

/* --- rounds --- */

/* measure.E2: fill w->boundary_ns, at most one round per step. */
static enum rc find_rounds(struct window *w, const struct steps *in)
{
    struct merge m = { 0 };
    struct merge_cursor c;
    size_t n_completions = 0;
    enum rc rc;

    find_window(w, in);
    TRY(merge_init(&m, in));
    w->boundary_ns = malloc((in->n_steps + 1) * sizeof *w->boundary_ns);
    if (!w->boundary_ns)
        FAIL(RC_NOMEM, "no memory for the rounds of %zu steps", in->n_steps);
    w->boundary_ns[0] = w->from_ns;
    while (merge_next(&m, &c) && c.end_ns <= w->to_ns)
        if (c.end_ns > w->from_ns && ++n_completions % in->n_workers == 0)
            w->boundary_ns[++w->n_rounds] = c.end_ns;
    rc = RC_OK;
out:
    merge_fini(&m);
    return rc;
}

static double batch_of(const struct steps *in, size_t worker)
{
    return (double)(in->batch_count ? in->batch_count[worker] : in->batch_per_worker_count);
}

/* Of a loss in a mean. */
static double loss_weight(const struct steps *in, size_t worker)
{
    return in->batch_count ? batch_of(in, worker) / (double)in->batch_per_worker_count : 1.0;
}

/* measure.E1: what a step that ends in the window counts for, over one of the mean batch all of which was applied. */
static double counted_ratio(const struct window *w, const struct steps *in)
{
    double n_steps = 0, n_samples = 0, n_late = 0;

    for (size_t i = 0; i < in->n_workers * in->n_steps; i++) {
        const struct step_stamp *s = &in->stamp[i];
        if (s->end_ns > w->to_ns || s->end_ns <= w->from_ns)
            continue;
        n_steps++;
        n_samples += batch_of(in, i / in->n_steps);
        n_late += s->late_count;
    }
    if (n_steps == 0)
        return 1;
    const double applied = in->messages_per_step_count > 0 ? 1 - n_late / (n_steps * in->messages_per_step_count) : 1;
    return applied * n_samples / (n_steps * (double)in->batch_per_worker_count);
}

/* measure.E3: the rounds of n that are left out, beside n_warmup. */
static size_t n_of_no_period(const struct steps *in, size_t n_rounds)
{
    return in->period_steps > 1 && n_rounds > in->period_steps ? n_rounds % in->period_steps : 0;
}

/* measure.E1, E5: samples of a round over the mean duration of the steady rounds. Leaves *w at the steady part. */
static enum rc find_throughput(struct steps_summary *out, struct window *w, const struct steps *in)
{
    const double samples_per_round = (double)in->n_workers * (double)in->batch_per_worker_count;
    double *duration_s = malloc((w->n_rounds + 1) * sizeof *duration_s);

    if (!duration_s)
        return rc_raise(RC_NOMEM, "no memory for the durations of %zu rounds", w->n_rounds);
    for (size_t r = 0; r < w->n_rounds; r++)
        duration_s[r] = seconds_between(w->boundary_ns[r], w->boundary_ns[r + 1]);
    out->n_rounds = w->n_rounds;
    out->steady = steady_find(duration_s, w->n_rounds);
    const size_t n_warmup = out->steady.n_warmup + n_of_no_period(in, w->n_rounds - out->steady.n_warmup);
    struct interval duration = interval_autocorrelated(duration_s + n_warmup, w->n_rounds - n_warmup);
    free(duration_s);
    w->from_ns = w->boundary_ns[n_warmup];
    w->to_ns = w->boundary_ns[w->n_rounds];
    out->throughput_samples_per_s = interval_reciprocal(duration, samples_per_round * counted_ratio(w, in));
    if (w->from_ns == w->to_ns) { /* no round, or a virtual clock stood still: costs of all steps */
        w->from_ns = 0;
        w->to_ns = UINT64_MAX;
    }
    return RC_OK;
}

static uint64_t lesser(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

struct costs { /* sums over n steps */
    size_t n;
    uint64_t whole_ns, compute_ns, wait_ns, exchange_ns, server_ns, apply_ns, held_ns, rest_ns, hidden_ns;
};

static void add_step(struct costs *sum, const struct step_stamp *s, uint64_t latest_ready_ns)
{
    const uint64_t stalled = lesser(s->stalled_ns, s->ready_ns - s->start_ns);

    sum->n++;
    sum->whole_ns += s->end_ns - s->start_ns;
    sum->compute_ns += s->ready_ns - s->start_ns - stalled;
    /* Before its gradient is ready a worker waits for all of the exchange: whether for the latest is not known. */
    sum->wait_ns += lesser(latest_ready_ns - s->ready_ns, s->end_ns - s->ready_ns);
    sum->exchange_ns += s->exchange_ns;
    sum->server_ns += s->server_ns;
    sum->apply_ns += s->apply_ns;
    sum->held_ns += s->held_ns;
    sum->hidden_ns += s->hidden_ns;
}

/* At most *left, which is taken from it. */
static uint64_t take(uint64_t *left, uint64_t part)
{
    const uint64_t taken = lesser(part, *left);

    *left -= taken;
    return taken;
}

/* measure.E4, of all steps of a worker together: overlapped, what ran at the border of two steps may count for the
 * second. What was measured at the server comes first; the wait for the latest worker is a part of the exchange. */
static void find_rest(struct costs *sum)
{
    uint64_t left = sum->whole_ns - sum->compute_ns;

    sum->server_ns = take(&left, sum->server_ns);
    sum->apply_ns = take(&left, sum->apply_ns);
    sum->held_ns = take(&left, sum->held_ns);
    sum->exchange_ns = take(&left, sum->exchange_ns);
    sum->wait_ns = lesser(sum->wait_ns, sum->exchange_ns);
    sum->rest_ns = left;
}

static void add_costs(struct costs *all, const struct costs *worker)
{
    all->n += worker->n;
    all->whole_ns += worker->whole_ns;
    all->compute_ns += worker->compute_ns;
    all->wait_ns += worker->wait_ns;
    all->exchange_ns += worker->exchange_ns;
    all->server_ns += worker->server_ns;
    all->apply_ns += worker->apply_ns;
    all->held_ns += worker->held_ns;
    all->rest_ns += worker->rest_ns;
    all->hidden_ns += worker->hidden_ns;
}

/* ready_ns[t] := when the last worker had its gradient of step t. */
static void latest_ready(uint64_t *ready_ns, const struct steps *in)
{
    for (size_t t = 0; t < in->n_steps; t++)
        ready_ns[t] = 0;
    for (size_t w = 0; w < in->n_workers; w++)
        for (size_t t = 0; t < in->n_steps; t++)
            if (worker_stamps(in, w)[t].ready_ns > ready_ns[t])
                ready_ns[t] = worker_stamps(in, w)[t].ready_ns;
}

static struct step_parts parts_of(const struct costs *sum)
{
    const double scale = 1e-9 / (double)sum->n; /* of no step: 0 / 0 */

    return (struct step_parts){ .step_mean_s = (double)sum->whole_ns * scale,
                                .compute_s = (double)sum->compute_ns * scale,
                                .wait_s = (double)(sum->wait_ns + sum->held_ns) * scale,
                                .wire_s = (double)(sum->exchange_ns - sum->wait_ns) * scale,
                                .server_s = (double)sum->server_ns * scale,
                                .apply_s = (double)sum->apply_ns * scale,
                                .rest_s = (double)sum->rest_ns * scale,
                                .exposed_s = (double)(sum->whole_ns - sum->compute_ns - sum->apply_ns) * scale,
                                .hidden_s = (double)sum->hidden_ns * scale };
}

static void report_costs(struct steps_summary *out, const struct costs *sum, const struct histogram *whole_ns)
{
    const struct step_parts parts = parts_of(sum);
    const struct percentiles p = histogram_percentiles(whole_ns);

    out->compute_s = parts.compute_s;
    out->wait_s = parts.wait_s;
    out->wire_s = parts.wire_s;
    out->server_s = parts.server_s;
    out->apply_s = parts.apply_s;
    out->rest_s = parts.rest_s;
    out->exposed_s = parts.exposed_s;
    out->hidden_s = parts.hidden_s;
    out->step_mean_s = parts.step_mean_s;
    out->step_min_s = seconds_between(0, whole_ns->least);
    out->step_max_s = seconds_between(0, whole_ns->greatest);
    out->step_p50_s = p.p50 * 1e-9;
    out->step_p95_s = p.p95 * 1e-9;
    out->step_p99_s = p.p99 * 1e-9;
}

/* measure.E5: steady steps are those that ended in the steady rounds. Their sums for each worker in costs[n_workers],
 * zeroed by the caller; single ones in whole_ns. */
static enum rc find_costs(struct costs *costs, struct histogram *whole_ns, const struct window *w,
                          const struct steps *in)
{
    uint64_t *ready_ns = in->synchronous ? malloc(in->n_steps * sizeof *ready_ns) : NULL;

    if (in->synchronous && !ready_ns)
        return rc_raise(RC_NOMEM, "no memory for the costs of %zu steps", in->n_steps);
    if (ready_ns)
        latest_ready(ready_ns, in);
    for (size_t i = 0; i < in->n_workers; i++) {
        for (size_t t = 0; t < in->n_steps; t++) {
            const struct step_stamp *s = &worker_stamps(in, i)[t];

            if (s->end_ns <= w->from_ns || s->end_ns > w->to_ns)
                continue;
            add_step(&costs[i], s, ready_ns ? ready_ns[t] : s->ready_ns);
            histogram_add(whole_ns, s->end_ns - s->start_ns);
        }
        find_rest(&costs[i]);
    }
    free(ready_ns);
    return RC_OK;
}

/* Mean over all workers of the losses of steps [from, to), each by its samples. */
static double mean_loss(const struct steps *in, size_t from, size_t to)
{
    double sum = 0, weight = 0;

    for (size_t w = 0; w < in->n_workers; w++)
        for (size_t t = from; t < to; t++) {
            sum += loss_weight(in, w) * worker_stamps(in, w)[t].loss;
            weight += loss_weight(in, w);
        }
    return sum / weight;
}

static void find_losses(struct steps_summary *out, const struct steps *in)
{
    out->loss_first = mean_loss(in, 0, 1);
    out->loss_last = mean_loss(in, in->n_steps > STEPS_LAST ? in->n_steps - STEPS_LAST : 0, in->n_steps);
}

static void find_staleness(struct steps_summary *out, const struct steps *in)
{
    uint64_t sum = 0, n = 0;

    for (size_t i = 0; i < in->n_workers * in->n_steps; i++) {
        n += step_has_staleness(&in->stamp[i]);
        sum += in->stamp[i].staleness_count;
        if (in->stamp[i].staleness_count > out->staleness_max_count)
            out->staleness_max_count = in->stamp[i].staleness_count;
    }
    out->staleness_mean_count = n > 0 ? (double)sum / (double)n : 0;
}

/* Throughput and costs, of the same steps: *out, and of each worker costs[n_workers], zeroed. */
static enum rc find_times(struct steps_summary *out, struct costs *costs, const struct steps *in)
{
    struct histogram *whole_ns = malloc(sizeof *whole_ns);
    struct costs all = { 0 };
    struct window w = { 0 };
    enum rc rc;

    if (!whole_ns)
        FAIL(RC_NOMEM, "no memory for the durations of %zu steps", in->n_steps);
    histogram_init(whole_ns);
    TRY(check_order(in));
    TRY(find_rounds(&w, in));
    TRY(find_throughput(out, &w, in));
    TRY(find_costs(costs, whole_ns, &w, in));
    for (size_t i = 0; i < in->n_workers; i++)
        add_costs(&all, &costs[i]);
    report_costs(out, &all, whole_ns);
out:
    free(w.boundary_ns);
    free(whole_ns);
    return rc;
}

static enum rc costs_alloc(struct costs **out, const struct steps *in)
{
    if (in->n_steps == 0 || in->n_workers == 0)
        return rc_raise(RC_INVAL, "nothing to summarise: %zu steps of %zu workers", in->n_steps, in->n_workers);
    *out = calloc(in->n_workers, sizeof **out);
    return *out ? RC_OK : rc_raise(RC_NOMEM, "no memory for the costs of %zu workers", in->n_workers);
}

enum rc steps_summarise(struct steps_summary *out, const struct steps *in)
{
    struct steps_summary s = { 0 };
    struct costs *costs = NULL;
    enum rc rc;

    TRY(costs_alloc(&costs, in));
    TRY(find_times(&s, costs, in));
    find_losses(&s, in);
    find_staleness(&s, in);
    s.elapsed_s = seconds_between(first_start_ns(in), latest_end_ns(in, in->n_steps - 1));
    *out = s;
out:
    free(costs);
    return rc;
}

enum rc steps_worker_parts(struct step_parts *out, const struct steps *in)
{
    struct steps_summary s = { 0 };
    struct costs *costs = NULL;
    enum rc rc;

    TRY(costs_alloc(&costs, in));
    TRY(find_times(&s, costs, in));
    for (size_t i = 0; i < in->n_workers; i++)
        out[i] = parts_of(&costs[i]);
out:
    free(costs);
    return rc;
}

/* Steps of one worker that ended by at_ns; ends do not decrease, so halve. */
static size_t steps_ended_by(const struct step_stamp *s, size_t n_steps, uint64_t at_ns)
{
    size_t low = 0, high = n_steps; /* all before low ended by then, none from high on */

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (s[middle].end_ns <= at_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void steps_round(struct round_point *out, const struct steps *in, size_t r)
{
    const uint64_t end_ns = latest_end_ns(in, r);
    double n_samples = 0;

    for (size_t w = 0; w < in->n_workers; w++)
        n_samples += batch_of(in, w) * (double)steps_ended_by(worker_stamps(in, w), in->n_steps, end_ns);
    out->loss = mean_loss(in, r, r + 1);
    out->seconds = seconds_between(first_start_ns(in), end_ns);
    out->samples_count = (uint64_t)n_samples;
}

struct loss_window { /* a sum over the latest completions, by samples; a loss that is no number stays out of it */
    double sum, weight;
    size_t n, n_not_finite;
};

static void window_add(struct loss_window *l, double loss, double weight)
{
    l->n++;
    l->weight += weight;
    if (isfinite(loss))
        l->sum += weight * loss;
    else
        l->n_not_finite++;
}

static void window_remove(struct loss_window *l, double loss, double weight)
{
    l->n--;
    l->weight -= weight;
    if (isfinite(loss))
        l->sum -= weight * loss;
    else
        l->n_not_finite--;
}

double steps_seconds_to_loss(const struct steps *in, double target_loss, size_t n_mean, uint64_t *samples_count)
{
    const size_t n_window = (n_mean ? n_mean : 1) * in->n_workers;
    struct merge head = { 0 }, tail = { 0 }; /* the tail leaves the window that the head enters */
    struct merge_cursor c, left;
    struct loss_window l = { 0 };
    double seconds = NAN, n_samples = 0;
    enum rc rc;

    if (samples_count)
        *samples_count = 0;
    TRY(merge_init(&head, in));
    TRY(merge_init(&tail, in));
    while (merge_next(&head, &c)) {
        n_samples += batch_of(in, c.worker);
        window_add(&l, worker_stamps(in, c.worker)[c.step].loss, loss_weight(in, c.worker));
        if (l.n > n_window && merge_next(&tail, &left))
            window_remove(&l, worker_stamps(in, left.worker)[left.step].loss, loss_weight(in, left.worker));
        if (l.n < n_window || l.n_not_finite > 0 || l.sum / l.weight > target_loss)
            continue;
        seconds = seconds_between(first_start_ns(in), c.end_ns);
        if (samples_count)
            *samples_count = (uint64_t)n_samples;
        break;
    }
out:
    merge_fini(&head);
    merge_fini(&tail);
    return seconds;
}

void steps_staleness_histogram(uint64_t *count, size_t n_bins, const struct steps *in)
{
    for (size_t i = 0; i < n_bins; i++)
        count[i] = 0;
    if (n_bins == 0)
        return;
    for (size_t i = 0; i < in->n_workers * in->n_steps; i++) {
        const size_t s = in->stamp[i].staleness_count;

        count[s < n_bins ? s : n_bins - 1] += step_has_staleness(&in->stamp[i]);
    }
}

double steps_exposed_s(const struct step_stamp *s)
{
    const uint64_t gradient_ns = s->ready_ns - s->start_ns;
    const uint64_t stalled_ns = s->stalled_ns < gradient_ns ? s->stalled_ns : gradient_ns;
    const uint64_t waited_ns = stalled_ns + (s->end_ns - s->ready_ns);

    return waited_ns > s->apply_ns ? 1e-9 * (double)(waited_ns - s->apply_ns) : 0;
}

double steps_hidden_s(const struct step_stamp *s)
{
    return 1e-9 * (double)s->hidden_ns;
}
