/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diagnosis.c - which steps of the recipe two workers took. Every combination of a start, a division of the samples and
 * a way to combine is computed, with the rates that the workers had, and dropped at the first note that it does not
 * explain; of those that explain all, the one with fewest mistakes is told. If none does, the gap is told at which the
 * paths part from the one that explains most.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/dataset.h"
#include "harness/compute/compute.h"
#include "harness/labs/exercise.h"
#include "models/workload.h"

enum start { START_SHARED, START_AFTER_FIRST, START_APART, N_STARTS };
enum shard { SHARD_HALVES, SHARD_SWAPPED, SHARD_ALL, SHARD_SAME, SHARD_OVERLAP, N_SHARDS };
enum combine {
    COMBINE_MEAN,
    COMBINE_MEAN_PARAM,
    COMBINE_NOTHING,
    COMBINE_SUM,
    COMBINE_MEAN_TWICE,
    COMBINE_GRAD_OF_0,
    COMBINE_PARAM_OF_0,
    COMBINE_AT_END,
    COMBINE_PARAM_BEFORE,
    N_COMBINES
};

enum { W = N_EXERCISE_WORKERS, SEED = 1 };

struct hypothesis {
    enum start start;
    enum shard shard;
    enum combine combine;
};

/* Where a path parts from that of a hypothesis: at the start of a step, by parameters or by the loss of its samples. */
struct parting {
    int step, rank; /* step n_steps + 1: nowhere */
    bool is_by_param;
    bool is_first_right; /* the first parameter is as it should be, the others are not */
};

struct trainer { /* of both workers */
    struct compute *compute;
    struct dataset *dataset;
    struct training *training;
    size_t n_params;
    void *block; /* of all below */
    float *param[W], *grad[W], *initial;
};

static void trainer_close(struct trainer *t)
{
    workload_close(&t->training);
    if (t->compute)
        compute_memory_close(t->compute, &t->block);
    compute_close(&t->compute);
    dataset_close(&t->dataset);
}

static enum rc open_data(struct dataset **out, const struct workload *w, struct network_opts *shape)
{
    char path[4096];
    enum rc rc;

    if (!w->network)
        return dataset_open_line(out, SEED);
    dataset_source_path(dataset_source_find(w->dataset), path, sizeof path);
    TRY(dataset_open_path(out, path));
    *shape = (struct network_opts){ .image_size = (*out)->H, .n_classes = (int)(*out)->n_classes };
out:
    return rc;
}

static enum rc trainer_open(struct trainer *t, const struct exercise *e)
{
    enum { ALIGN_ELEMS = COMPUTE_ALIGN_BYTES / sizeof(float), N_ARRAYS = 2 * W + 1 };
    struct training_env env = { .seed = SEED, .max_batch = (size_t)e->batch };
    enum rc rc;

    TRY(open_data(&t->dataset, e->model, &env.network));
    TRY(compute_open(&t->compute, &compute_cpu, NULL));
    env.compute = t->compute;
    env.dataset = t->dataset;
    TRY(workload_open(&t->training, e->model, &env));
    t->n_params = workload_n_params(t->training);
    const size_t n_room = (t->n_params + ALIGN_ELEMS - 1) / ALIGN_ELEMS * ALIGN_ELEMS;
    TRY(compute_memory_open(t->compute, &t->block, N_ARRAYS * n_room * sizeof(float), "the exercise"));
    t->initial = t->block;
    for (int r = 0; r < W; r++) {
        t->param[r] = t->initial + (size_t)(2 * r + 1) * n_room;
        t->grad[r] = t->param[r] + n_room;
    }
    workload_init(t->training, t->initial);
    TRY(compute_sync(t->compute));
out:
    return rc;
}

/* --- one hypothesis ----------------------------------------------------------------------------------------------- */

/* The first sample of worker r in this step. */
static uint64_t first_sample(const struct exercise *e, enum shard shard, int r, int step)
{
    const uint64_t n = (uint64_t)e->n_samples, half = n / W, done = (uint64_t)step * (uint64_t)e->batch;
    const uint64_t rank = (uint64_t)r;

    switch (shard) {
    case SHARD_HALVES:
        return rank * half + done % half;
    case SHARD_SWAPPED:
        return (W - 1 - rank) * half + done % half;
    case SHARD_SAME:
        return done % half;
    case SHARD_OVERLAP:
        return rank * half + done % n;
    default:
        return done % n;
    }
}

/* Two that diverged are near: neither is finite. */
static bool near(double a, double b, double by)
{
    if (!isfinite(a) || !isfinite(b))
        return !isfinite(a) && !isfinite(b);
    return fabs(a - b) <= by * fmax(1, fabs(b));
}

/* Does worker r begin this step as it noted? Else says how not. */
static bool explains(const struct trainer *t, const struct note *note, int r, double loss, struct parting *how)
{
    double sum = 0;

    for (size_t i = 0; i < t->n_params; i++)
        sum += (double)t->param[r][i];
    how->is_first_right = near(note->first, (double)t->param[r][0], 1e-5);
    how->is_by_param = !how->is_first_right || !near(note->last, (double)t->param[r][t->n_params - 1], 1e-5) ||
                       !near(note->mean, sum / (double)t->n_params, 1e-6);
    return !how->is_by_param && near(note->loss, loss, 5e-5);
}

static void combine_grads(struct trainer *t, enum combine combine)
{
    for (size_t i = 0; i < t->n_params; i++) {
        const float g0 = t->grad[0][i], sum = g0 + t->grad[1][i];
        float both;
        switch (combine) {
        case COMBINE_MEAN:
            both = sum / W;
            break;
        case COMBINE_SUM:
            both = sum;
            break;
        case COMBINE_MEAN_TWICE:
            both = sum / W / W;
            break;
        case COMBINE_GRAD_OF_0:
            both = g0;
            break;
        default:
            continue;
        }
        t->grad[0][i] = t->grad[1][i] = both;
    }
}

/* Before each worker takes its own step. */
static void combine_params_before(struct trainer *t, enum combine combine)
{
    for (size_t i = 0; i < t->n_params && combine == COMBINE_PARAM_BEFORE; i++)
        t->param[0][i] = t->param[1][i] = (t->param[0][i] + t->param[1][i]) / W;
}

static void combine_params(struct trainer *t, const struct hypothesis *h, const struct exercise *e, int step)
{
    const bool takes_0 = h->combine == COMBINE_PARAM_OF_0 || (h->start == START_AFTER_FIRST && step == 0);
    const bool takes_mean =
        h->combine == COMBINE_MEAN_PARAM || (h->combine == COMBINE_AT_END && step + 1 == e->n_steps);

    for (size_t i = 0; i < t->n_params && (takes_0 || takes_mean); i++)
        t->param[0][i] = t->param[1][i] = takes_0 ? t->param[0][i] : (t->param[0][i] + t->param[1][i]) / W;
}

static enum rc follow(struct parting *out, struct trainer *t, const struct exercise *e, const struct answer *a,
                      const struct hypothesis *h)
{
    double loss[W] = { 0 };
    enum rc rc = RC_OK;

    for (int r = 0; r < W; r++)
        for (size_t i = 0; i < t->n_params; i++)
            t->param[r][i] = t->initial[i] + (h->start == START_SHARED ? 0 : 0.02f * (float)r);
    for (out->step = 0; out->step <= e->n_steps; out->step++) {
        const int step = out->step;
        for (int r = 0; r < W; r++) {
            if (step < e->n_steps)
                TRY(workload_gradient(t->training, t->param[r], first_sample(e, h->shard, r, step), (size_t)e->batch,
                                      t->grad[r], &loss[r], NULL, NULL));
            out->rank = r;
            if (!explains(t, &a->note[r][step], r, loss[r], out))
                return RC_OK;
        }
        if (step == e->n_steps)
            continue;
        combine_grads(t, h->combine);
        combine_params_before(t, h->combine);
        for (int r = 0; r < W; r++)
            for (size_t i = 0; i < t->n_params; i++)
                t->param[r][i] -= (float)a->note[r][step].lr * t->grad[r][i];
        combine_params(t, h, e, step);
    }
out:
    return rc;
}

/* --- which of them ------------------------------------------------------------------------------------------------ */

/* Could a program that called what this one did be meant? Otherwise equal paths would hide what is missing. */
static bool is_possible(const struct hypothesis *h, const struct answer *a, const struct exercise *e)
{
    const struct note *end = &a->note[0][e->n_steps];
    const bool has_combined = end->n_combined > 0, has_broadcast = end->n_broadcasts > 0;

    switch (h->combine) {
    case COMBINE_GRAD_OF_0:
    case COMBINE_PARAM_OF_0:
        return end->n_broadcasts >= e->n_steps - 1;
    case COMBINE_NOTHING:
        break;
    default:
        if (!has_combined)
            return false;
    }
    return h->start == START_APART || has_broadcast || has_combined;
}

static int n_mistakes(const struct hypothesis *h)
{
    return (h->start != START_SHARED) + (h->shard > SHARD_SWAPPED) + (h->combine > COMBINE_MEAN_PARAM);
}

/* The hypotheses one by one. */
static struct hypothesis hypothesis_at(int i)
{
    return (struct hypothesis){ (enum start)(i % N_STARTS), (enum shard)(i / N_STARTS % N_SHARDS),
                                (enum combine)(i / N_STARTS / N_SHARDS) };
}

/* Is a farther on the path than b? */
static bool is_farther(const struct parting *a, const struct parting *b)
{
    if (a->step != b->step)
        return a->step > b->step;
    if (a->rank != b->rank)
        return a->rank > b->rank;
    return a->is_by_param != b->is_by_param ? !a->is_by_param : a->is_first_right && !b->is_first_right;
}

/* *found: some hypothesis explains all; else *out is the one that explains most, up to *at. */
static enum rc find_hypothesis(struct hypothesis *out, bool *found, struct parting *at, struct trainer *t,
                               const struct exercise *e, const struct answer *a)
{
    struct parting parting = { .step = 0 };
    int least = 99;
    enum rc rc = RC_OK;

    *at = (struct parting){ .step = -1 };
    *found = false;
    for (int i = 0; i < N_STARTS * N_SHARDS * N_COMBINES; i++) {
        const struct hypothesis h = hypothesis_at(i);
        if (!is_possible(&h, a, e))
            continue;
        TRY(follow(&parting, t, e, a, &h));
        const bool is_whole = parting.step > e->n_steps;
        if ((is_whole && n_mistakes(&h) < least) || (!*found && is_farther(&parting, at)))
            *out = h;
        if (is_whole && n_mistakes(&h) < least)
            least = n_mistakes(&h);
        *found = *found || is_whole;
        if (is_farther(&parting, at))
            *at = parting;
    }
out:
    return rc;
}

/* --- what is said of it ------------------------------------------------------------------------------------------- */

static void find(struct diagnosis *d, enum recipe_step step, enum finding_kind kind, const char *text)
{
    d->finding[step].kind = kind;
    snprintf(d->finding[step].text, sizeof d->finding[step].text, "%s", text);
}

static void tell_shard(struct diagnosis *d, enum shard shard)
{
    if (shard == SHARD_ALL)
        find(d, RECIPE_SHARD, FINDING_MISSING, "both workers take all samples, and so the same ones in every step");
    if (shard == SHARD_SAME)
        find(d, RECIPE_SHARD, FINDING_WRONG, "both workers take the same half: first has to depend on the rank");
    if (shard == SHARD_OVERLAP)
        find(d, RECIPE_SHARD, FINDING_WRONG, "the shares overlap: each has its own first, but n is still that of all");
}

static void tell_start(struct diagnosis *d, enum start start, bool has_broadcast)
{
    if (start == START_AFTER_FIRST)
        find(d, RECIPE_BROADCAST, FINDING_WRONG,
             "it comes after the first step, which the workers took from different places");
    if (start == START_APART && has_broadcast)
        find(d, RECIPE_BROADCAST, FINDING_WRONG,
             "something was broadcast, but the workers begin apart: it has to be param, after its initial values");
    if (start == START_APART && !has_broadcast)
        find(d, RECIPE_BROADCAST, FINDING_MISSING, "the paths begin apart: the initial parameters were not broadcast");
}

/* Behind tell_rate(): whose step is doubled may have meant to scale the rate. */
static void tell_combine(struct diagnosis *d, enum combine combine)
{
    static const char of_0[] =
        "all take rank 0's gradient or parameters in every step: what the others computed is lost";
    static const struct {
        enum finding_kind kind;
        const char *text;
    } of[N_COMBINES] = {
        [COMBINE_MEAN] = { FINDING_RIGHT, "" },
        [COMBINE_MEAN_PARAM] = { FINDING_RIGHT, "" },
        [COMBINE_NOTHING] = { FINDING_MISSING, "each worker goes down its own gradient" },
        [COMBINE_SUM] = { FINDING_WRONG, "the gradients are added: GM_SUM is 2 times the average" },
        [COMBINE_MEAN_TWICE] = { FINDING_WRONG, "averaged twice: GM_AVERAGE has divided by the number of workers" },
        [COMBINE_GRAD_OF_0] = { FINDING_WRONG, of_0 },
        [COMBINE_PARAM_OF_0] = { FINDING_WRONG, of_0 },
        [COMBINE_PARAM_BEFORE] = { FINDING_WRONG,
                                   "the parameters are averaged, and then each worker goes down its own gradient: "
                                   "average grad" },
        [COMBINE_AT_END] = { FINDING_WRONG, "the workers meet once, after the last step, after two trainings apart" },
    };

    const enum finding_kind rate = d->finding[RECIPE_SCALE].kind;
    if (rate == FINDING_WRONG && (combine == COMBINE_SUM || combine == COMBINE_MEAN_TWICE))
        find(d, RECIPE_AVERAGE, FINDING_UNKNOWN, "first mend (3) scale the rate");
    else if (combine == COMBINE_SUM && rate == FINDING_MISSING)
        find(d, RECIPE_AVERAGE, FINDING_WRONG,
             "the step is 2 times the average's: GM_SUM, or a rate scaled outside lr");
    else
        find(d, RECIPE_AVERAGE, of[combine].kind, of[combine].text);
}

static void tell_rate(struct diagnosis *d, const struct exercise *e, const struct answer *a)
{
    struct finding *f = &d->finding[RECIPE_SCALE];
    const double wanted = W * e->lr;

    for (int r = 0; r < W; r++)
        for (int step = 0; step < e->n_steps; step++) {
            const double lr = a->note[r][step].lr;
            if (near(lr, wanted, 1e-5) || f->kind != FINDING_RIGHT)
                continue;
            if (near(lr, e->lr, 1e-5))
                find(d, RECIPE_SCALE, FINDING_MISSING, "");
            else
                f->kind = FINDING_WRONG;
            snprintf(f->text, sizeof f->text, "the rate of rank %d in step %d is %g; with %d workers %g is right", r,
                     step, lr, (int)W, wanted);
        }
    for (int r = 0; r < W; r++)
        for (int step = 1; step < e->n_steps; step++)
            if (!near(a->note[r][step].lr, a->note[r][step - 1].lr, 1e-5)) {
                f->kind = FINDING_WRONG;
                snprintf(f->text, sizeof f->text,
                         "the rate of rank %d changes from %g to %g in step %d: scale it once, before the loop", r,
                         a->note[r][step - 1].lr, a->note[r][step].lr, step);
                return;
            }
}

/* n_saved: calls of save() by each rank. In the program that the student got, every worker saves: FINDING_MISSING. */
static void tell_save(struct diagnosis *d, const struct answer *a)
{
    if (a->n_saved[0] == 0 && a->n_saved[1] == 0)
        find(d, RECIPE_SAVE, FINDING_WRONG, "nobody saves");
    else if (a->n_saved[0] == 0)
        find(d, RECIPE_SAVE, FINDING_WRONG, "rank 1 saves, and rank 0 does not");
    else if (a->n_saved[1] > 0)
        find(d, RECIPE_SAVE, FINDING_MISSING, "every worker saves, into one file");
    else if (a->n_saved[0] > 1)
        find(d, RECIPE_SAVE, FINDING_WRONG, "rank 0 saves more than once");
}

/* No known mistake explains the paths: name the gap at which they part, and do not judge what follows from it. */
static void tell_parting(struct diagnosis *d, const struct parting *at, const struct note *note, bool is_of_rank_1)
{
    const bool is_start = at->step == 0 && at->is_by_param;
    const enum recipe_step gap = is_start ? RECIPE_BROADCAST : at->is_by_param ? RECIPE_AVERAGE : RECIPE_SHARD;
    static const char *const causes[N_RECIPE_STEPS] = {
        [RECIPE_SHARD] = "look at first and n of this worker",
        [RECIPE_BROADCAST] = "look at the call of gm_broadcast",
        [RECIPE_AVERAGE] = "look at what is exchanged, and how many numbers",
    };
    static const char some[] = "only a part was exchanged: the count is n_params";
    const char *cause = is_of_rank_1 ? "it has the parameters of rank 1: the root is 0"
                                     : (at->is_by_param && at->is_first_right ? some : causes[gap]);

    d->is_unknown = cause == causes[gap];
    for (int i = 0; i < N_RECIPE_STEPS; i++)
        if (i == RECIPE_AVERAGE || i == RECIPE_SHARD || i == RECIPE_BROADCAST)
            d->finding[i].kind = FINDING_UNKNOWN;
    if (gap == RECIPE_AVERAGE || (gap == RECIPE_SHARD && at->step > 0)) {
        d->finding[RECIPE_BROADCAST].kind = FINDING_RIGHT;
        d->finding[RECIPE_SHARD].kind = FINDING_RIGHT;
    } else if (gap == RECIPE_SHARD)
        d->finding[RECIPE_BROADCAST].kind = FINDING_RIGHT;
    for (int i = 0; i < N_RECIPE_STEPS; i++)
        if (d->finding[i].kind == FINDING_UNKNOWN)
            snprintf(d->finding[i].text, sizeof d->finding[i].text, "first mend %s", recipe_step_name(gap));
    if (at->is_by_param && at->step > 0 && d->finding[RECIPE_SCALE].kind == FINDING_WRONG) {
        d->finding[RECIPE_AVERAGE].kind = FINDING_UNKNOWN;
        snprintf(d->finding[RECIPE_AVERAGE].text, sizeof d->finding[RECIPE_AVERAGE].text, "first mend %s",
                 recipe_step_name(RECIPE_SCALE));
        return;
    }
    d->finding[gap].kind = FINDING_WRONG;
    snprintf(d->finding[gap].text, sizeof d->finding[gap].text, "rank %d differs at step %d (%s %.6g): %s", at->rank,
             at->step, at->is_by_param ? "first parameter" : "loss", at->is_by_param ? note->first : note->loss, cause);
}

enum rc diagnose(struct diagnosis *out, const struct exercise *e, const struct answer *a)
{
    struct trainer t = { .compute = NULL };
    struct hypothesis h = { START_APART, SHARD_ALL, COMBINE_NOTHING };
    struct parting at;
    bool is_known;
    enum rc rc;

    memset(out, 0, sizeof *out);
    TRY(trainer_open(&t, e));
    TRY(find_hypothesis(&h, &is_known, &at, &t, e, a));
    tell_rate(out, e, a);
    tell_save(out, a);
    if (is_known) {
        tell_combine(out, h.combine);
    } else {
        const struct note *note = &a->note[at.rank][at.step];
        const bool is_of_rank_1 = at.step == 0 && at.rank == 0 && near(note->first, (double)t.initial[0] + 0.02, 1e-5);
        tell_parting(out, &at, note, is_of_rank_1);
    }
    if (is_known || out->finding[RECIPE_SHARD].kind == FINDING_RIGHT)
        tell_shard(out, h.shard);
    if (is_known || out->finding[RECIPE_BROADCAST].kind == FINDING_RIGHT)
        tell_start(out, h.start, a->note[0][e->n_steps].n_broadcasts > 0);
out:
    trainer_close(&t);
    return rc;
}

const char *recipe_step_name(enum recipe_step step)
{
    static const char *const names[N_RECIPE_STEPS] = { "(1) shard the data", "(2) broadcast the start",
                                                       "(3) scale the rate", "(4) average the gradients",
                                                       "(5) save on rank 0 only" };

    return names[step];
}

bool diagnosis_print(const struct diagnosis *d, const struct exercise *e, FILE *to)
{
    static const char *const kinds[] = { "right", "missing", "wrong", "not judged" };
    int n_right = 0, n_missing = 0;

    for (int i = 0; i < N_RECIPE_STEPS; i++) {
        n_right += d->finding[i].kind == FINDING_RIGHT;
        n_missing += d->finding[i].kind == FINDING_MISSING;
    }
    fprintf(to, "exercise %s, 2 workers: %d of %d steps are right\n", e->name, n_right, (int)N_RECIPE_STEPS);
    if (n_missing == N_RECIPE_STEPS)
        fputs("The workers share nothing yet: each trains alone.\n", to);
    for (int i = 0; i < N_RECIPE_STEPS; i++)
        fprintf(to, "  %-26s %s%s%s\n", recipe_step_name((enum recipe_step)i), kinds[d->finding[i].kind],
                d->finding[i].text[0] ? ": " : "", d->finding[i].text);
    if (d->is_unknown)
        fputs("No known mistake explains these paths. The lines outside the gaps must stay as they were.\n", to);
    return n_right == N_RECIPE_STEPS;
}
