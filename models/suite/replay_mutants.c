/* SPDX-License-Identifier: Apache-2.0 */
/* replay_mutants.c - profiles played wrongly; the suite must catch each. */
#include <math.h>
#include <string.h>

#include "harness/base/rng.h"
#include "models/layer.h"
#include "models/replay/profile.h"
#include "models/suite/replay_suite.h"

enum bug {
    BUG_NONE,              /* right, written differently from replay.c: it must pass */
    BUG_FIRST_LAYER_FIRST, /* gradients become ready in forward order */
    BUG_NOT_SCALED,        /* a batch of any size takes the recorded time */
    BUG_AT_THE_END,        /* all gradients are ready after the whole step */
    BUG_EARLY,             /* a layer's gradients are ready before its backward pass */
    BUG_SKIPS_EMPTY,       /* time of layers without tensors is lost */
    BUG_LATE_NUMBERS,      /* they are written after they are ready */
    BUG_ERRORS_LOST,       /* errors of ready are dropped */
    BUG_ROUNDS_EACH,       /* scaled times are rounded one by one */
    BUG_REPEATS,           /* numbers repeat after 1024 samples: of 16 workers with batch 64 */
};

static uint64_t at_batch(const struct profile *p, uint64_t ns, size_t n_samples, enum bug bug)
{
    return bug == BUG_NOT_SCALED ? ns : ns * n_samples / (uint64_t)p->batch;
}

static void write_gradient(struct compute *c, float *grad, struct segment s, uint64_t first, enum bug bug)
{
    const uint64_t start = bug == BUG_REPEATS ? first : rng_u64(1, RNG_TEST, first);

    for (size_t i = 0; c->ops->touches_memory && i < s.n_elems; i++)
        grad[s.offset_elems + i] = (float)((s.offset_elems + i + start % 1024) * 389 % 1024) / 1024 - 0.5F;
}

static enum rc make_ready(struct training *t, int first_segment, int n, uint64_t first, float *grad,
                          grad_ready_fn *ready, void *arg, enum bug bug)
{
    enum rc rc = RC_OK;

    for (int k = 0; k < n; k++) {
        const int i = n - 1 - k;
        const struct segment s = workload_replay.ops->segment(t, (size_t)first_segment + (size_t)i);
        if (bug != BUG_LATE_NUMBERS)
            write_gradient(t->env.compute, grad, s, first, bug);
        rc = layer_ready(ready, arg, s, grad);
        if (bug == BUG_LATE_NUMBERS)
            write_gradient(t->env.compute, grad, s, first + 1, bug);
        if (rc != RC_OK && bug != BUG_ERRORS_LOST)
            return rc;
    }
    return RC_OK;
}

static int segments_before(const struct profile *p, int layer)
{
    int n = 0;

    for (int i = 0; i < layer; i++)
        n += p->layer[i].n_tensors;
    return n;
}

struct elapsed { /* time that passes so far, exact or rounded layer by layer */
    uint64_t recorded_ns, passed_ns;
};

static void pass_time(struct elapsed *so_far, struct training *t, uint64_t ns, size_t n_samples, enum bug bug)
{
    const struct profile *p = t->env.profile;

    so_far->recorded_ns += ns;
    uint64_t due_ns = at_batch(p, so_far->recorded_ns, n_samples, bug);
    if (bug == BUG_ROUNDS_EACH)
        due_ns = so_far->passed_ns + at_batch(p, ns, n_samples, bug);
    compute_pass(t->env.compute, due_ns - so_far->passed_ns);
    so_far->passed_ns = due_ns;
}

static enum rc gradient(struct training *t, uint64_t first, size_t n_samples, float *grad, double *mean_loss,
                        grad_ready_fn *ready, void *arg, enum bug bug)
{
    const struct profile *p = t->env.profile;
    struct elapsed so_far = { 0, 0 };
    uint64_t forward_ns = 0, backward_ns = 0;
    enum rc rc = RC_OK;

    for (int i = 0; i < p->n_layers; i++) {
        forward_ns += bug == BUG_SKIPS_EMPTY && p->layer[i].n_tensors == 0 ? 0 : p->layer[i].forward_ns;
        backward_ns += p->layer[i].backward_ns;
    }
    *mean_loss = NAN;
    pass_time(&so_far, t, forward_ns, n_samples, bug);
    if (bug == BUG_AT_THE_END)
        pass_time(&so_far, t, backward_ns, n_samples, bug);
    for (int n = 0; n < p->n_layers && !t->env.forward_only; n++) {
        const int i = bug == BUG_FIRST_LAYER_FIRST ? n : p->n_layers - 1 - n;
        const struct profile_layer *l = &p->layer[i];
        const bool passes = bug != BUG_AT_THE_END && !(bug == BUG_SKIPS_EMPTY && l->n_tensors == 0);
        if (passes && bug != BUG_EARLY)
            pass_time(&so_far, t, l->backward_ns, n_samples, bug);
        TRY(make_ready(t, segments_before(p, i), l->n_tensors, first, grad, ready, arg, bug));
        if (passes && bug == BUG_EARLY)
            pass_time(&so_far, t, l->backward_ns, n_samples, bug);
    }
    TRY(compute_sync(t->env.compute));
out:
    return rc;
}

#define GRADIENT(bug_)                                                                                       \
    static enum rc gradient_##bug_(struct training *t, const float *param, uint64_t first, size_t n_samples, \
                                   float *grad, double *mean_loss, grad_ready_fn *ready, void *arg)          \
    {                                                                                                        \
        (void)param;                                                                                         \
        return gradient(t, first, n_samples, grad, mean_loss, ready, arg, bug_);                             \
    }
GRADIENT(BUG_NONE)
GRADIENT(BUG_FIRST_LAYER_FIRST)
GRADIENT(BUG_NOT_SCALED)
GRADIENT(BUG_AT_THE_END)
GRADIENT(BUG_EARLY)
GRADIENT(BUG_SKIPS_EMPTY)
GRADIENT(BUG_LATE_NUMBERS)
GRADIENT(BUG_ERRORS_LOST)
GRADIENT(BUG_ROUNDS_EACH)
GRADIENT(BUG_REPEATS)

static double flops_of_a_training_step(const struct training *t)
{
    return profile_flops(t->env.profile) / t->env.profile->batch;
}

bool replay_mutant(struct workload *out, struct training_ops *ops, const char *name)
{
    static const struct {
        const char *name;
        enum rc (*gradient)(struct training *t, const float *param, uint64_t first, size_t n_samples, float *grad,
                            double *mean_loss, grad_ready_fn *ready, void *arg);
    } mutant[] = {
        { "none", gradient_BUG_NONE },
        { "first_layer_first", gradient_BUG_FIRST_LAYER_FIRST },
        { "not_scaled", gradient_BUG_NOT_SCALED },
        { "at_the_end", gradient_BUG_AT_THE_END },
        { "early", gradient_BUG_EARLY },
        { "skips_empty", gradient_BUG_SKIPS_EMPTY },
        { "late_numbers", gradient_BUG_LATE_NUMBERS },
        { "errors_lost", gradient_BUG_ERRORS_LOST },
        { "rounds_each", gradient_BUG_ROUNDS_EACH },
        { "repeats", gradient_BUG_REPEATS },
    };

    *out = workload_replay;
    *ops = *workload_replay.ops;
    out->ops = ops;
    if (strcmp(name, "backward_flops") == 0) { /* forward_only counts them too */
        ops->flops_per_sample = flops_of_a_training_step;
        return true;
    }

    for (size_t i = 0; i < sizeof mutant / sizeof *mutant; i++)
        if (strcmp(mutant[i].name, name) == 0) {
            ops->gradient = mutant[i].gradient;
            return true;
        }
    return false;
}
