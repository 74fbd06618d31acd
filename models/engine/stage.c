/* SPDX-License-Identifier: Apache-2.0 */
/* stage.c - the schedule of a pipeline stage, and its communication with adjacent stages; see stage.h. */
#include "models/engine/stage.h"

#include <math.h>
#include <stdlib.h>

size_t stage_held(enum stage_schedule schedule, int stage, int n_stages, size_t n_micro_batches)
{
    const size_t n_ahead = (size_t)(n_stages - stage);

    return schedule == SCHEDULE_1F1B && n_ahead < n_micro_batches ? n_ahead : n_micro_batches;
}

/* The first `held` are forward; then backward and forward take turns while there are forwards left. */
struct stage_action stage_action_at(enum stage_schedule schedule, int stage, int n_stages, size_t n_micro_batches,
                                    size_t i)
{
    const size_t held = stage_held(schedule, stage, n_stages, n_micro_batches);
    const size_t n_turns = 2 * (n_micro_batches - held); /* actions behind the first ones in which both take turns */

    if (i < held)
        return (struct stage_action){ .micro_batch = i };
    const size_t k = i - held;
    if (k >= n_turns)
        return (struct stage_action){ .micro_batch = n_turns / 2 + (k - n_turns), .is_backward = true };
    return (struct stage_action){ .micro_batch = k % 2 == 0 ? k / 2 : held + k / 2, .is_backward = k % 2 == 0 };
}

/* The value of a micro-batch; behind the last one there is none, and to the first stage nobody sends any. */
static enum rc expect(const struct pipeline_stage *s, const struct stage_player *p, size_t micro_batch, size_t n)
{
    return s->number > 0 && micro_batch < n ? p->expect(p->arg, micro_batch) : RC_OK;
}

enum rc stage_play(const struct pipeline_stage *s, size_t n_micro_batches, const struct stage_player *player)
{
    const int n_stages = s->cuts.n_stages;
    const size_t held = stage_held(s->schedule, s->number, n_stages, n_micro_batches);
    enum rc rc = RC_OK;

    for (size_t i = 0; i < held; i++)
        TRY(expect(s, player, i, n_micro_batches));
    for (size_t i = 0; i < 2 * n_micro_batches; i++) {
        const struct stage_action a = stage_action_at(s->schedule, s->number, n_stages, n_micro_batches, i);
        if (s->pipe.begins != NULL)
            s->pipe.begins(s->pipe.arg, a);
        TRY(a.is_backward ? player->backward(player->arg, a.micro_batch) : player->forward(player->arg, a.micro_batch));
        if (s->pipe.ended != NULL)
            s->pipe.ended(s->pipe.arg, a);
        if (a.is_backward) /* the room of this one is free */
            TRY(expect(s, player, a.micro_batch + held, n_micro_batches));
    }
out:
    return rc;
}

/* Steps that are played to find the period, and those of them before it: by then no stage waits for the first fill. */
enum { N_STEPS = 4, N_BEFORE = 2 };

struct timing {
    const struct stage_times *times;
    enum stage_schedule schedule;
    int n_stages;
    size_t n; /* micro-batches of a step */
    size_t n_steps;
    double *arrived_s;          /* [n_stages][N_STAGE_WAYS][n_steps n]: at that stage; NaN: not yet */
    double *now_s;              /* [n_stages]: the end of the last action of a stage */
    size_t *n_done;             /* [n_stages]: actions, of all steps */
    double step_end_s[N_STEPS]; /* of stage 0, its tail included */
};

/* micro_batch: counted on from step to step. */
static double *arrival(const struct timing *t, int stage, enum stage_way way, size_t micro_batch)
{
    return &t->arrived_s[((size_t)stage * N_STAGE_WAYS + way) * t->n_steps * t->n + micro_batch];
}

/* One behind the other on the link, which has the rate of the stage before it. */
static void send(const struct timing *t, int to, enum stage_way way, size_t micro_batch, double at_s)
{
    const struct stage_times *link = &t->times[way == WAY_VALUE ? to - 1 : to];
    const double alone_s = at_s + link->latency_s + link->pass_s;
    const double behind_s =
        micro_batch > 0 ? *arrival(t, to, way, micro_batch - 1) + link->pass_s : alone_s; /* models.P1: in order */

    *arrival(t, to, way, micro_batch) = alone_s > behind_s ? alone_s : behind_s;
}

/* The step has been done by a stage. */
static void end_step(struct timing *t, int stage, size_t step)
{
    t->now_s[stage] += t->times[stage].tail_s;
    if (stage == 0)
        t->step_end_s[step] = t->now_s[stage];
}

/* What the stage's next action waits for has arrived: do it. Returns whether it has. */
static bool advance(struct timing *t, int stage)
{
    const size_t step = t->n_done[stage] / (2 * t->n), i = t->n_done[stage] % (2 * t->n);
    const struct stage_action a = stage_action_at(t->schedule, stage, t->n_stages, t->n, i);
    const size_t micro_batch = step * t->n + a.micro_batch;
    const struct stage_times *own = &t->times[stage];
    const bool waits = a.is_backward ? stage + 1 < t->n_stages : stage > 0;
    const double arrived_s = waits ? *arrival(t, stage, a.is_backward ? WAY_GRAD : WAY_VALUE, micro_batch) : 0;

    if (isnan(arrived_s))
        return false;
    t->now_s[stage] = (arrived_s > t->now_s[stage] ? arrived_s : t->now_s[stage]) +
                      (a.is_backward ? own->backward_s : own->forward_s);
    t->n_done[stage]++;
    if (a.is_backward && stage > 0)
        send(t, stage - 1, WAY_GRAD, micro_batch, t->now_s[stage]);
    if (!a.is_backward && stage + 1 < t->n_stages)
        send(t, stage + 1, WAY_VALUE, micro_batch, t->now_s[stage]);
    if (i + 1 == 2 * t->n)
        end_step(t, stage, step);
    return true;
}

static void play(struct timing *t)
{
    const size_t n_actions = 2 * t->n * t->n_steps;
    size_t n_left = n_actions * (size_t)t->n_stages;

    while (n_left > 0) /* some stage can go on: a schedule has no cycle */
        for (int stage = 0; stage < t->n_stages; stage++)
            while (t->n_done[stage] < n_actions && advance(t, stage))
                n_left--;
}

/* All of t but its times, schedule and numbers is filled, for the caller to read step_end_s. */
static enum rc play_steps(struct timing *t)
{
    const size_t n_arrivals = (size_t)t->n_stages * N_STAGE_WAYS * t->n_steps * t->n;
    enum rc rc = RC_OK;

    t->arrived_s = malloc(n_arrivals * sizeof *t->arrived_s);
    t->now_s = calloc((size_t)t->n_stages, sizeof *t->now_s);
    t->n_done = calloc((size_t)t->n_stages, sizeof *t->n_done);
    if (t->arrived_s == NULL || t->now_s == NULL || t->n_done == NULL)
        FAIL(RC_NOMEM, "no memory for the timing of %zu micro-batches in %d stages", t->n, t->n_stages);
    for (size_t i = 0; i < n_arrivals; i++)
        t->arrived_s[i] = NAN;
    play(t);
out:
    free(t->arrived_s);
    free(t->now_s);
    free(t->n_done);
    return rc;
}

enum rc stage_least_period(double *period_s, const struct stage_times *times, enum stage_schedule schedule,
                           int n_stages, size_t n_micro_batches)
{
    struct timing t = {
        .times = times, .schedule = schedule, .n_stages = n_stages, .n = n_micro_batches, .n_steps = N_STEPS
    };
    enum rc rc;

    TRY(play_steps(&t));
    *period_s = (t.step_end_s[N_STEPS - 1] - t.step_end_s[N_BEFORE - 1]) / (N_STEPS - N_BEFORE);
out:
    return rc;
}

double stage_bubble_ratio(int n_stages, size_t n_micro_batches)
{
    return (double)(n_stages - 1) / ((double)n_micro_batches + (double)(n_stages - 1));
}
