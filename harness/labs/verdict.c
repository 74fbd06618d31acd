/* SPDX-License-Identifier: Apache-2.0 */
/* verdict.c - which steps of the recipe for distributed training are missing in a training; see verdict.h. */
#include "harness/labs/verdict.h"

#include <math.h>
#include <stdio.h>

/* Parameters are floats near 1, and losses means of floats: what differs by less is equal. */
static const double equal_points = 1e-5, equal_losses = 1e-4;

static const struct path_point *point_of(const struct training_path *t, int worker, size_t step)
{
    return &t->point[(size_t)worker * t->n_points + step];
}

static struct line_point step_of(const struct training_path *t, int worker, size_t step)
{
    const struct path_point *from = point_of(t, worker, step), *to = point_of(t, worker, step + 1);

    return (struct line_point){ to->slope - from->slope, to->offset - from->offset };
}

static bool steps_are_equal(const struct training_path *t)
{
    for (size_t i = 0; i + 1 < t->n_points; i++) {
        const struct line_point first = step_of(t, 0, i);
        for (int w = 1; w < t->n_workers; w++) {
            const struct line_point s = step_of(t, w, i);
            if (hypot(s.slope - first.slope, s.offset - first.offset) > equal_points)
                return false;
        }
    }
    return true;
}

/* A worker most of whose losses are not those of its part; -1: none. */
static int not_sharded(const struct evidence *e)
{
    const struct training_path *t = e->path;
    const size_t n_steps = t->n_points - 1;

    for (int w = 0; w < t->n_workers; w++) {
        size_t n_others = 0;
        for (size_t i = 0; i < n_steps; i++) {
            const double of_part = e->part_loss[(size_t)w * n_steps + i];
            n_others += fabs(point_of(t, w, i)->loss - of_part) > equal_losses * (1 + of_part);
        }
        if (2 * n_others > n_steps)
            return w;
    }
    return -1;
}

/* Least squares of step = - rate gradient, over all steps, of the workers' means. */
static double rate_of(const struct evidence *e)
{
    const struct training_path *t = e->path;
    double along = 0, squared = 0;

    for (size_t i = 0; i + 1 < t->n_points; i++) {
        struct line_point step = { 0, 0 }, gradient = { 0, 0 };
        for (int w = 0; w < t->n_workers; w++) {
            const struct path_point *p = point_of(t, w, i);
            const struct line_point s = step_of(t, w, i), g = squares_gradient(e->loss, p->slope, p->offset);
            step = (struct line_point){ step.slope + s.slope, step.offset + s.offset };
            gradient = (struct line_point){ gradient.slope + g.slope, gradient.offset + g.offset };
        }
        along -= step.slope * gradient.slope + step.offset * gradient.offset;
        squared += gradient.slope * gradient.slope + gradient.offset * gradient.offset;
    }
    return along / squared;
}

void verdict_of(struct verdict *out, const struct evidence *e)
{
    const struct training_path *t = e->path;
    struct verdict v = { .rate = rate_of(e),
                         .begins_apart = training_apart(t, 0),
                         .ends_apart = training_apart(t, t->n_points - 1),
                         .first_not_sharded = not_sharded(e) };

    if (v.begins_apart > equal_points)
        v.missing |= OMIT_BROADCAST;
    if (v.first_not_sharded >= 0)
        v.missing |= OMIT_SHARD;
    if (!steps_are_equal(t))
        v.missing |= OMIT_AVERAGE;
    if (v.rate < e->lr * sqrt((double)t->n_workers))
        v.missing |= OMIT_SCALING;
    if (e->has_file && e->writer_rank != 0)
        v.missing |= OMIT_RANK0_SAVE;
    *out = v;
}

void verdict_sentence(char *out, size_t n_bytes, const struct verdict *v, enum omission omission,
                      const struct evidence *e)
{
    const double scaled = e->lr * e->path->n_workers;

    switch (omission) {
    case OMIT_BROADCAST:
        snprintf(out, n_bytes, "the paths differ from the start, by %.2g: the initial state was not broadcast",
                 v->begins_apart);
        break;
    case OMIT_SHARD:
        snprintf(out, n_bytes,
                 "worker %d notes other losses than those of its own part of the samples: the data were not sharded",
                 v->first_not_sharded);
        break;
    case OMIT_AVERAGE:
        snprintf(out, n_bytes, "the workers make different steps: the gradients were not averaged");
        break;
    case OMIT_SCALING:
        snprintf(out, n_bytes,
                 "the steps are those of a rate of %.3g, one worker's, and not of %.3g: the rate was not scaled",
                 v->rate, scaled);
        break;
    case OMIT_RANK0_SAVE:
        snprintf(out, n_bytes, "the checkpoint was last written by rank %d: not rank 0 alone saved", e->writer_rank);
        break;
    }
}
