/* SPDX-License-Identifier: Apache-2.0 */
/* verdict_test.c - trajectories that were made up, with every set of omissions: each is told apart from the others. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/suite/unit.h"
#include "harness/labs/verdict.h"

enum { MOST_WORKERS = 5, N_STEPS = 40, N_POINTS = N_STEPS + 1 };

/* y = 2 x + noise, x of mean 0: the loss is (slope - 2)^2 / 12 + offset^2 + 1 / 12. */
static const struct squares loss = { .x = 0, .y = 0, .xx = 1.0 / 12, .xy = 1.0 / 6, .yy = 5.0 / 12 };
static const double lr = 0.1;

struct made {
    struct path_point point[MOST_WORKERS * N_POINTS];
    double part_loss[MOST_WORKERS * N_STEPS];
    struct training_path path;
    struct evidence evidence;
};

/* What chance does to the gradient of the part of a worker in a step: from -0.1 to 0.1. */
static double chance(int part, size_t step, int which)
{
    return 0.1 * sin(12.9898 * (double)step + 78.233 * part + 3.7 * which);
}

static struct path_point *at(struct made *m, int worker, size_t step)
{
    return &m->point[worker * N_POINTS + (int)step];
}

static void make_step(struct made *m, size_t step, unsigned omitted)
{
    const int n_workers = m->path.n_workers;
    const double rate = lr * (omitted & OMIT_SCALING ? 1 : n_workers);
    struct line_point own[MOST_WORKERS], mean = { 0, 0 };

    for (int w = 0; w < n_workers; w++) {
        const int part = omitted & OMIT_SHARD ? 0 : w;
        struct path_point *p = at(m, w, step);
        own[w] =
            (struct line_point){ (p->slope - 2) / 6 + chance(part, step, 0), 2 * p->offset + chance(part, step, 1) };
        mean.slope += own[w].slope / n_workers;
        mean.offset += own[w].offset / n_workers;
        p->loss = squares_loss(&loss, p->slope, p->offset) + chance(part, step, 2);
        m->part_loss[w * N_STEPS + (int)step] = squares_loss(&loss, p->slope, p->offset) + chance(w, step, 2);
    }
    for (int w = 0; w < n_workers; w++) {
        const struct line_point g = omitted & OMIT_AVERAGE ? own[w] : mean;
        *at(m, w, step + 1) = (struct path_point){ .slope = at(m, w, step)->slope - rate * g.slope,
                                                   .offset = at(m, w, step)->offset - rate * g.offset,
                                                   .loss = NAN };
    }
}

static void make(struct made *m, int n_workers, unsigned omitted)
{
    *m = (struct made){ .path = { .n_workers = n_workers, .n_points = N_POINTS } };
    m->path.point = m->point;
    for (int w = 0; w < n_workers && omitted & OMIT_BROADCAST; w++)
        *at(m, w, 0) = (struct path_point){ .slope = 0.5 * w, .offset = 0.1 * w };
    for (size_t step = 0; step < N_STEPS; step++)
        make_step(m, step, omitted);
    m->evidence = (struct evidence){ .path = &m->path,
                                     .loss = &loss,
                                     .part_loss = m->part_loss,
                                     .lr = lr,
                                     .has_file = true,
                                     .writer_rank = omitted & OMIT_RANK0_SAVE ? n_workers - 1 : 0 };
}

/* All 32 sets; of workers that begin together and read the same samples nobody can tell whether they average. */
UNIT_TEST(every_set_is_found)
{
    for (int n_workers = 2; n_workers <= MOST_WORKERS; n_workers++)
        for (unsigned omitted = 0; omitted < 1u << N_OMISSIONS; omitted++) {
            struct made m;
            struct verdict v;
            make(&m, n_workers, omitted);
            verdict_of(&v, &m.evidence);
            const bool hides = omitted & OMIT_SHARD && !(omitted & OMIT_BROADCAST);
            const unsigned wanted = hides ? omitted & ~(unsigned)OMIT_AVERAGE : omitted;
            if (v.missing != wanted)
                fail_msg("%d workers, %#x left out: found %#x", n_workers, omitted, v.missing);
        }
}

/* The fit is exact where a step is the gradient of the loss itself. */
UNIT_TEST(the_rate_is_fitted)
{
    struct made m;
    struct verdict v;

    make(&m, 3, 0);
    for (size_t step = 0; step < N_STEPS; step++)
        for (int w = 0; w < 3; w++) {
            const struct path_point *p = at(&m, w, step);
            *at(&m, w, step + 1) =
                (struct path_point){ .slope = p->slope - 0.3 * (p->slope - 2) / 6, .offset = p->offset * 0.4 };
        }
    verdict_of(&v, &m.evidence);
    assert_true(fabs(v.rate - 0.3) < 1e-12);
    assert_int_equal(v.missing & OMIT_SCALING, 0);
}

UNIT_TEST(distances)
{
    struct made m;
    struct verdict v;

    make(&m, 3, OMIT_BROADCAST);
    verdict_of(&v, &m.evidence);
    assert_true(fabs(v.begins_apart - hypot(1.0, 0.2)) < 1e-12);
    assert_true(fabs(v.ends_apart - hypot(1.0, 0.2)) < 1e-9);
}

/* Without a file nothing is said of it. */
UNIT_TEST(no_file)
{
    struct made m;
    struct verdict v;

    make(&m, 2, OMIT_RANK0_SAVE);
    m.evidence.has_file = false;
    verdict_of(&v, &m.evidence);
    assert_int_equal(v.missing, 0);
}

UNIT_TEST(sentences)
{
    static const char *const wanted[N_OMISSIONS] = { "was not broadcast", "were not sharded", "were not averaged",
                                                     "not of 0.2: the rate was not scaled",
                                                     "by rank 1: not rank 0 alone saved" };
    struct made m;
    struct verdict v;
    char text[256];

    for (int i = 0; i < N_OMISSIONS; i++) {
        make(&m, 2, 1u << i);
        verdict_of(&v, &m.evidence);
        verdict_sentence(text, sizeof text, &v, (enum omission)(1 << i), &m.evidence);
        if (!strstr(text, wanted[i]))
            fail_msg("'%s' has no '%s'", text, wanted[i]);
    }
}

UNIT_MAIN("verdict")
