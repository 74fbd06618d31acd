/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stage_noise.c - what the operating system and others take from a rank: the same work over and over (fixed-work
 * quanta), where all that a quantum takes longer than the rank's shortest one is a detour. In turns (accept.S4).
 *
 * A repeat is its part of noise_s. In virtual time a quantum is work of noise_quantum_s, at most SIM_QUANTA of them,
 * each of a step of its own, for which the cluster's jitter is drawn.
 *
 * Source of the method: Sottile and Minnich, Analysis of microbenchmarks for performance tuning of clusters, CLUSTER
 * 2004.
 */
#include <assert.h>
#include <math.h>

#include "harness/accept/judge.h"
#include "harness/accept/outliers.h"
#include "harness/accept/stages.h"
#include "harness/world/stop.h"

enum { SIM_QUANTA = 64, CALIBRATE_TRIES = 20, FIRST_LOOPS = 1000 };
/* Steps of this stage are not those of the compute stage: V1 of cluster/cluster.h */
enum { FIRST_STEP = 1 << 20 };

#define MAX_LOOPS (UINT64_C(1) << 40)

struct quanta { /* of one repeat */
    uint64_t sum_ns, most_ns;
    uint64_t n;
};

struct noise { /* of this rank */
    struct stage_env *env;
    uint64_t n_loops;           /* of a quantum */
    uint64_t least_ns;          /* the shortest quantum so far */
    volatile uint64_t checksum; /* of all work, which no compiler may leave out then */
    int64_t step;               /* in virtual time: of the next quantum */
    uint64_t quantum_ns;        /* as asked for */
    uint64_t repeat_ns;         /* likewise */
    struct quanta repeat[ACCEPT_MAX_REPEATS];
};

/* Each turn of the loop needs the one before: so many cycles, whatever the core can do at once. */
static uint64_t spin_loops(uint64_t x, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return x;
}

/* Ns of one quantum; *now_ns: when it began, and then when it ended. */
static uint64_t time_quantum(struct noise *n, uint64_t *now_ns)
{
    struct world *w = n->env->world;
    const uint64_t began_ns = *now_ns;

    if (stage_is_virtual(n->env)) {
        world_set_duty(w, &(struct peer_duty){ .phase = PHASE_STEP, .step = n->step++, .bucket = -1 });
        world_work(w, n->quantum_ns);
    } else {
        n->checksum = spin_loops(n->checksum, n->n_loops);
    }
    *now_ns = world_now_ns(w);
    return *now_ns - began_ns;
}

static uint64_t best_of(struct noise *n, int n_tries)
{
    uint64_t now_ns = world_now_ns(n->env->world), best_ns = UINT64_MAX;

    for (int i = 0; i < n_tries; i++) {
        const uint64_t took_ns = time_quantum(n, &now_ns);
        best_ns = took_ns < best_ns ? took_ns : best_ns;
    }
    return best_ns;
}

/* Loops of a quantum, by this rank's own best: it is compared with itself alone. */
static void calibrate_quantum(struct noise *n)
{
    uint64_t best_ns;

    if (stage_is_virtual(n->env))
        return;
    n->n_loops = FIRST_LOOPS;
    while ((best_ns = best_of(n, 3)) < n->quantum_ns / 8 && n->n_loops < MAX_LOOPS)
        n->n_loops *= 2;
    best_ns = best_of(n, CALIBRATE_TRIES);
    const double n_loops = (double)n->n_loops * (double)n->quantum_ns / (double)(best_ns > 0 ? best_ns : 1);
    n->n_loops = n_loops < 1 ? 1 : (uint64_t)n_loops;
}

static void measure_quanta(struct noise *n, struct quanta *out)
{
    uint64_t now_ns = world_now_ns(n->env->world);
    const uint64_t end_ns = now_ns + n->repeat_ns;

    *out = (struct quanta){ .n = 0 };
    do {
        const uint64_t took_ns = time_quantum(n, &now_ns);
        n->least_ns = took_ns < n->least_ns ? took_ns : n->least_ns;
        out->most_ns = took_ns > out->most_ns ? took_ns : out->most_ns;
        out->sum_ns += took_ns;
        out->n++;
    } while (now_ns < end_ns && !(stage_is_virtual(n->env) && out->n >= SIM_QUANTA) && !stop_wanted());
}

/* One repeat of all ranks, each when it is its turn. */
static enum rc measure_repeat(struct noise *n, int repeat)
{
    struct world *w = n->env->world;
    const struct fleet *f = n->env->fleet;
    enum rc rc = RC_OK;

    for (int turn = 0; turn < f->n_turns; turn++) {
        TRY(world_barrier(w));
        if (f->turn_of_rank[w->rank] != turn)
            continue;
        if (repeat == 0)
            calibrate_quantum(n);
        measure_quanta(n, &n->repeat[repeat]);
        world_set_duty(w, &(struct peer_duty){ .phase = PHASE_PROBE, .step = -1, .bucket = -1 });
    }
    TRY(world_barrier(w));
out:
    return rc;
}

/* All repeats anew, by the shortest quantum of any. */
static enum rc keep_detours(struct noise *n, int n_repeats)
{
    double ratio[ACCEPT_MAX_REPEATS], longest_s[ACCEPT_MAX_REPEATS];
    enum rc rc;

    for (int i = 0; i < n_repeats; i++) {
        const struct quanta *q = &n->repeat[i];
        ratio[i] = (double)(q->sum_ns - q->n * n->least_ns) / (double)q->sum_ns;
        longest_s[i] = 1e-9 * (double)(q->most_ns - n->least_ns);
    }
    TRY(stage_keep_metric(n->env, METRIC_DETOUR, ratio, n_repeats));
    TRY(stage_keep_metric(n->env, METRIC_LONGEST_DETOUR, longest_s, n_repeats));
out:
    return rc;
}

/* Rank 0: does the evidence so far ask for more? */
static bool is_open(const struct stage_env *env, int n_repeats)
{
    const struct blame_terms terms = judge_terms(env->criteria);

    if (!env->out || n_repeats >= env->criteria->most_repeats_count)
        return false;
    return n_repeats != env->criteria->least_repeats_count || outliers_open(env->out, METRIC_DETOUR, &terms);
}

enum rc stage_noise(struct stage_env *env)
{
    const int n_least = env->criteria->least_repeats_count;
    struct noise n = { .env = env,
                       .least_ns = UINT64_MAX,
                       .step = FIRST_STEP,
                       .quantum_ns = (uint64_t)(env->criteria->noise_quantum_s * 1e9),
                       .repeat_ns = (uint64_t)(env->criteria->noise_s / n_least * 1e9) };
    int n_repeats = 0;
    enum rc rc = RC_OK;

    if (n.quantum_ns == 0 || n.repeat_ns < n.quantum_ns) {
        stage_why(env, ACCEPT_NOISE, "noise_s: %g s in %d repeats hold no work of noise_quantum_s: %g s",
                  env->criteria->noise_s, n_least, env->criteria->noise_quantum_s);
        return RC_OK;
    }
    for (bool goes_on = true; goes_on;) {
        TRY(measure_repeat(&n, n_repeats));
        n_repeats++;
        TRY(keep_detours(&n, n_repeats));
        stage_progress(env, fmin(1, (double)n_repeats / n_least), "repeat %d; at least %d", n_repeats, n_least);
        TRY(stage_goes_on(env, is_open(env, n_repeats), &goes_on));
    }
    stage_why(env, ACCEPT_NOISE, "%s", env->ended);
out:
    return rc;
}
