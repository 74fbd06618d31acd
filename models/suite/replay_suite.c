/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_suite.c - repeats a profile on a compute whose time and calls of ready() are recorded: how much time had
 * passed when a segment became ready.
 */
#include "models/suite/replay_suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/rng.h"
#include "harness/compute/compute.h"
#include "models/layer.h"
#include "models/replay/profile.h"
#include "models/suite/profile_kit.h"

enum { MAX_CALLS = 16, N_LAYERS = 5, MAX_BATCH = 64 };

struct recorder {
    uint64_t passed_ns;
    int n_calls, fail_at; /* fail_at: the call of ready that fails; -1: none */
    struct ready_call {
        struct segment segment;
        uint64_t passed_ns;
        const float *grad;
        float first_value;
    } call[MAX_CALLS];
};

struct fixture { /* all that a play needs */
    const struct workload *workload;
    bool print;
    int n_failures;
    struct profile *profile;
    struct compute *compute;
    struct training *training;
    float *param, *grad;
    size_t n_params;
    struct recorder recorder;
};

#define EXPECT(s, condition, ...)                                  \
    do {                                                           \
        if (!(condition)) {                                        \
            (s)->n_failures++;                                     \
            if ((s)->print) {                                      \
                fprintf(stderr, "replay_suite: %s: ", #condition); \
                fprintf(stderr, __VA_ARGS__);                      \
                fputc('\n', stderr);                               \
            }                                                      \
        }                                                          \
    } while (0)

static void record_pass(void *arg, uint64_t ns)
{
    ((struct recorder *)arg)->passed_ns += ns;
}

static enum rc record_ready(void *arg, struct segment segment, const float *grad)
{
    struct recorder *rec = arg;

    if (rec->n_calls == rec->fail_at)
        return rc_raise(RC_PEER, "ready() was made to fail");
    if (rec->n_calls < MAX_CALLS)
        rec->call[rec->n_calls] = (struct ready_call){
            .segment = segment, .passed_ns = rec->passed_ns, .grad = grad, .first_value = grad != NULL ? grad[0] : NAN
        };
    rec->n_calls++;
    return RC_OK;
}

static void fixture_close(struct fixture *s)
{
    if (s->compute != NULL) {
        workload_close(&s->training);
        compute_memory_close(s->compute, (void **)&s->param);
        compute_memory_close(s->compute, (void **)&s->grad);
    }
    compute_close(&s->compute);
    profile_close(&s->profile);
}

static enum rc fixture_open(struct fixture *s, const struct compute_backend *backend, bool forward_only,
                            size_t n_micro_batches)
{
    const struct compute_env env = { .pass = record_pass, .arg = &s->recorder };
    enum rc rc;

    s->profile = profile_kit_small();
    if (s->profile == NULL)
        FAIL(RC_NOMEM, "no memory for a profile");
    TRY(compute_open(&s->compute, backend, &env));
    const struct training_env training = { .compute = s->compute,
                                           .seed = 1,
                                           .max_batch = MAX_BATCH,
                                           .order.n_micro_batches = n_micro_batches,
                                           .forward_only = forward_only,
                                           .profile = s->profile };
    TRY(workload_open(&s->training, s->workload, &training));
    s->n_params = workload_n_params(s->training);
    TRY(compute_memory_open(s->compute, (void **)&s->param, s->n_params * sizeof(float), "parameters"));
    TRY(compute_memory_open(s->compute, (void **)&s->grad, s->n_params * sizeof(float), "gradients"));
    workload_init(s->training, s->param);
out:
    return rc;
}

static enum rc play_step(struct fixture *s, uint64_t first, size_t n_samples, int fail_at)
{
    double loss = 0.0;

    s->recorder = (struct recorder){ .fail_at = fail_at };
    const enum rc rc =
        workload_gradient(s->training, s->param, first, n_samples, s->grad, &loss, record_ready, &s->recorder);
    EXPECT(s, isnan(loss), "a loss of %g, but nothing was learnt", loss);
    return rc;
}

/* Recorded time from the start of the step to the end of the backward pass of `layer`. */
static uint64_t recorded_ns(const struct profile *p, int layer)
{
    uint64_t ns = 0;

    for (int i = 0; i < p->n_layers; i++)
        ns += p->layer[i].forward_ns + (i >= layer ? p->layer[i].backward_ns : 0);
    return ns;
}

/* models.M2, and the time at which each is ready: to the nanosecond at the profile's batch, scaled at others. */
static void check_order(struct fixture *s, size_t n_samples)
{
    const struct profile *p = s->profile;
    const double scale = (double)n_samples / p->batch;
    size_t end = s->n_params;
    int n = 0;

    EXPECT(s, play_step(s, 0, n_samples, -1) == RC_OK, "%s", rc_message());
    EXPECT(s, s->recorder.n_calls == profile_n_tensors(p), "%d", s->recorder.n_calls);
    for (int i = p->n_layers - 1; i >= 0; i--) {
        const double due_ns = floor((double)recorded_ns(p, i) * scale);
        for (int k = p->layer[i].n_tensors - 1; k >= 0; k--, n++) {
            const struct ready_call *c = &s->recorder.call[n];
            EXPECT(s, c->segment.n_elems == p->layer[i].tensor[k].n_elems, "layer %d, tensor %d", i, k);
            EXPECT(s, c->segment.offset_elems + c->segment.n_elems == end, "layer %d, tensor %d", i, k);
            EXPECT(s, (double)c->passed_ns == due_ns, "layer %d of %zu samples is ready after %llu ns, not %.0f", i,
                   n_samples, (unsigned long long)c->passed_ns, due_ns);
            end -= p->layer[i].tensor[k].n_elems;
        }
    }
    EXPECT(s, end == 0, "%zu", end);
    EXPECT(s, (double)s->recorder.passed_ns == floor((double)recorded_ns(p, 0) * scale), "%zu samples", n_samples);
}

/* models.M2: what was there when a segment was ready stays. */
static void check_final(struct fixture *s)
{
    for (int i = 0; i < s->recorder.n_calls; i++) {
        const struct ready_call *c = &s->recorder.call[i];
        EXPECT(s, c->grad == s->grad + c->segment.offset_elems, "segment %d", i);
        EXPECT(s, c->first_value == s->grad[c->segment.offset_elems], "segment %d changed after it was ready", i);
    }
}

static void check_numbers(struct fixture *s)
{
    float *before = malloc(s->n_params * sizeof *before);
    size_t n_equal = 0, n_neighbours = 0;

    if (before == NULL || play_step(s, 0, 8, -1) != RC_OK) {
        EXPECT(s, false, "%s", rc_message());
        free(before);
        return;
    }
    check_final(s);
    for (size_t i = 0; i < s->n_params; i++) {
        before[i] = s->grad[i];
        EXPECT(s, fabsf(before[i]) <= 0.5F && fabsf(s->param[i]) == 0.0F, "element %zu is %g", i, (double)before[i]);
        EXPECT(s, before[i] * 1024 == rintf(before[i] * 1024), "element %zu is no multiple of 1/1024", i);
        n_neighbours += i > 0 && before[i] == before[i - 1];
    }
    EXPECT(s, n_neighbours == 0, "%zu", n_neighbours);
    EXPECT(s, play_step(s, 8, 8, -1) == RC_OK, "%s", rc_message());
    check_final(s);
    for (size_t i = 0; i < s->n_params; i++)
        n_equal += before[i] == s->grad[i];
    EXPECT(s, n_equal == 0, "another worker's gradient is the same in %zu elements", n_equal);
    EXPECT(s, play_step(s, 0, 8, -1) == RC_OK && memcmp(before, s->grad, s->n_params * sizeof *before) == 0,
           "the same samples, another gradient");
    free(before);
}

/* First numbers of workers side by side differ, whatever the batch. */
static void check_workers(struct fixture *s)
{
    static const uint64_t batches[] = { 8, 64, 256, 1024 };
    enum { N_WORKERS = 17 };

    for (size_t b = 0; b < sizeof batches / sizeof *batches; b++) {
        float value[N_WORKERS];
        for (uint64_t w = 0; w < N_WORKERS; w++) {
            EXPECT(s, play_step(s, w * batches[b], 8, -1) == RC_OK, "%s", rc_message());
            value[w] = s->grad[0];
            for (uint64_t v = 0; v < w; v++)
                EXPECT(s, value[v] != value[w], "workers %d and %d with batch %d have the same gradient", (int)v,
                       (int)w, (int)batches[b]);
        }
    }
}

/* Errors of ready come back at once. */
static void check_errors(struct fixture *s)
{
    for (int i = 0; i < profile_n_tensors(s->profile); i++) {
        EXPECT(s, play_step(s, 0, 8, i) == RC_PEER, "failure %d", i);
        EXPECT(s, s->recorder.n_calls == i, "%d calls after failure %d", s->recorder.n_calls - i, i);
    }
}

static void check_facts(struct fixture *s)
{
    struct evaluation e = { 0, 0 };
    size_t end = 0;

    EXPECT(s, s->n_params == profile_n_params(s->profile), "%zu", s->n_params);
    for (size_t i = 0; i < s->workload->ops->n_segments(s->training); i++) {
        const struct segment at = s->workload->ops->segment(s->training, i);
        EXPECT(s, at.offset_elems == end, "segment %zu", i);
        end += at.n_elems;
    }
    EXPECT(s, end == s->n_params, "%zu", end);
    EXPECT(s, s->workload->ops->flops_per_sample(s->training) == profile_flops(s->profile) / s->profile->batch,
           "flops");
    EXPECT(s, workload_evaluate(s->training, s->param, 10, &e) == RC_OK, "%s", rc_message());
    EXPECT(s, isnan(e.loss) && isnan(e.accuracy_ratio), "%g %g", e.loss, e.accuracy_ratio);
}

static void check_on(struct fixture *s, const struct compute_backend *backend)
{
    static const size_t n_samples[] = { 8, 16, 4, 1, 3, 7, 64 };

    if (fixture_open(s, backend, false, 1) != RC_OK) {
        EXPECT(s, false, "%s", rc_message());
        fixture_close(s);
        return;
    }
    check_facts(s);
    for (size_t i = 0; i < sizeof n_samples / sizeof *n_samples; i++)
        check_order(s, n_samples[i]);
    check_errors(s);
    if (backend->host_memory && backend->touches_memory)
        check_numbers(s);
    if (backend->host_memory && backend->touches_memory)
        check_workers(s);
    fixture_close(s);
    if (fixture_open(s, backend, true, 1) == RC_OK && play_step(s, 0, 8, -1) == RC_OK) {
        double flops = 0.0;
        for (int i = 0; i < N_LAYERS; i++)
            flops += s->profile->layer[i].flops_forward / s->profile->batch;
        EXPECT(s, s->workload->ops->flops_per_sample(s->training) == flops, "%g flops of a forward pass", flops);
        EXPECT(s, s->recorder.n_calls == 0, "%d gradients of a forward pass", s->recorder.n_calls);
        EXPECT(s, s->recorder.passed_ns == recorded_ns(s->profile, N_LAYERS), "%llu",
               (unsigned long long)s->recorder.passed_ns);
    } else
        EXPECT(s, false, "%s", rc_message());
    fixture_close(s);
}

static enum rc count_await(void *arg, struct segment seg)
{
    (void)seg;
    ++*(int *)arg;
    return RC_OK;
}

/* models.M8: every micro-batch takes its time, parameters are awaited in the first, gradients are ready in the last. */
static void check_micro_batches(struct fixture *s)
{
    enum { N_PARTS = 4, B = 5 };
    int n_awaited = 0;

    if (fixture_open(s, &compute_hollow, false, N_PARTS) != RC_OK) {
        EXPECT(s, false, "%s", rc_message());
        fixture_close(s);
        return;
    }
    const struct profile *p = s->profile;
    const double scale = (double)B / p->batch, part_ns = floor((double)recorded_ns(p, 0) * scale);
    const double first_ns = (N_PARTS - 1) * part_ns + floor((double)recorded_ns(p, N_LAYERS - 1) * scale);
    workload_set_await(s->training, count_await, &n_awaited);
    EXPECT(s, play_step(s, 0, B * N_PARTS, -1) == RC_OK, "%s", rc_message());
    EXPECT(s, s->recorder.n_calls == profile_n_tensors(p), "%d gradients are ready", s->recorder.n_calls);
    EXPECT(s, n_awaited == profile_n_tensors(p), "%d parameters are awaited", n_awaited);
    EXPECT(s, (double)s->recorder.passed_ns == N_PARTS * part_ns, "%llu ns have passed, not %.0f",
           (unsigned long long)s->recorder.passed_ns, N_PARTS * part_ns);
    EXPECT(s, (double)s->recorder.call[0].passed_ns == first_ns, "the first is ready after %llu ns, not %.0f",
           (unsigned long long)s->recorder.call[0].passed_ns, first_ns);
    fixture_close(s);
}

int replay_suite(const struct workload *w, bool print)
{
    struct fixture s = { .workload = w, .print = print };

    check_on(&s, &compute_hollow); /* models.M3 */
    check_on(&s, &compute_cpu);
    return s.n_failures;
}

int replay_micro_batches_suite(const struct workload *w, bool print)
{
    struct fixture s = { .workload = w, .print = print };

    check_micro_batches(&s);
    return s.n_failures;
}

/* Profiles played wrongly; the suite must catch each. */

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
