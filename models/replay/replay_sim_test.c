/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_sim_test.c RANKS BATCH - on virtual time a replayed step takes what was recorded, to the nanosecond, on every
 * rank and at every step, with and without memory. A golden value: nothing here may drift.
 */
#include <stdio.h>

#include "harness/cluster/cluster.h"
#include "harness/compute/compute.h"
#include "harness/world/world.h"
#include "models/suite/profile_kit.h"
#include "models/workload.h"

enum { N_STEPS = 5, GOLDEN_NS = 218574 }; /* of profile_kit_small() at its batch, 8 */

struct play {
    const struct profile *profile;
    size_t batch;
    int n_failures; /* on rank 0 */
};

static void pass(void *w, uint64_t ns)
{
    world_pause(w, ns);
}

static void charge(void *w, double flops, double bytes)
{
    world_charge(w, flops, bytes);
}

static enum rc step(struct world *w, struct training *t, const struct play *p, float *param, float *grad, int *failures)
{
    const uint64_t due_ns = (uint64_t)GOLDEN_NS * p->batch / 8, start_ns = world_now_ns(w);
    double loss;
    enum rc rc;

    TRY(workload_gradient(t, param, 0, p->batch, grad, &loss, NULL, NULL));
    const uint64_t took_ns = world_now_ns(w) - start_ns;
    if (took_ns != due_ns) {
        fprintf(stderr, "rank %d: a step of %zu took %llu ns, not %llu\n", w->rank, p->batch,
                (unsigned long long)took_ns, (unsigned long long)due_ns);
        ++*failures;
    }
out:
    return rc;
}

static enum rc steps_on(struct world *w, const struct play *p, const struct compute_backend *backend, int *failures)
{
    const struct compute_env env = { .charge = charge, .pass = pass, .arg = w };
    struct compute *c = NULL;
    struct training *t = NULL;
    void *param = NULL, *grad = NULL;
    enum rc rc;

    TRY(compute_open(&c, backend, &env));
    const struct training_env training = { .compute = c, .seed = 1, .max_batch = p->batch, .profile = p->profile };
    TRY(workload_open(&t, &workload_replay, &training));
    TRY(compute_memory_open(c, &param, workload_n_params(t) * sizeof(float), "parameters"));
    TRY(compute_memory_open(c, &grad, workload_n_params(t) * sizeof(float), "gradients"));
    for (int i = 0; i < N_STEPS; i++)
        TRY(step(w, t, p, param, grad, failures));
out:
    workload_close(&t);
    if (c != NULL) {
        compute_memory_close(c, &param);
        compute_memory_close(c, &grad);
    }
    compute_close(&c);
    return rc;
}

static enum rc body(struct world *w, void *arg)
{
    struct play *p = arg;
    int own = 0, all[64] = { 0 };
    enum rc rc;

    TRY(steps_on(w, p, &compute_hollow, &own));
    TRY(steps_on(w, p, &compute_cpu, &own));
    TRY(world_gather(w, &own, all, sizeof own));
    for (int r = 0; w->rank == 0 && r < w->n_ranks; r++)
        p->n_failures += all[r];
out:
    if (rc != RC_OK)
        world_abort(w, rc);
    return rc;
}

int main(int argc, char **argv)
{
    struct profile *profile = profile_kit_small();
    struct play play = { .profile = profile, .batch = argc > 2 ? (size_t)strtoul(argv[2], NULL, 10) : 8 };
    const struct world_ops *sim = NULL;
    struct cluster cluster;
    enum rc rc;

    cluster_default(&cluster);
    if (profile == NULL || profile_step_ns(profile) != GOLDEN_NS) {
        fprintf(stderr, "the profile is not the one whose time is known\n");
        return 1;
    }
    const struct world_opts opts = { .cluster = &cluster };
    TRY(world_find(&sim, "sim"));
    TRY(world_run(sim, &opts, argc > 1 ? (int)strtol(argv[1], NULL, 10) : 1, body, &play));
out:
    if (rc != RC_OK)
        fprintf(stderr, "%s\n", rc_message());
    profile_close(&profile);
    return rc == RC_OK && play.n_failures == 0 ? 0 : 1;
}
