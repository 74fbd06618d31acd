/* SPDX-License-Identifier: Apache-2.0 */
/* stage_integrity.c - a training whose workers compare their parameters every some steps (train/integrity.h). */
#include <stdio.h>

#include "harness/accept/trainings.h"

/* Rank 0. */
static void keep_checks(struct acceptance *a, const struct part_training_run *run, uint64_t every)
{
    const struct train_checks *c = &run->result.checks;

    a->integrity_checks_count = c->n_done;
    a->integrity_every_steps = every;
    for (int i = 0; i < c->n_corruptions && i < TRAIN_MAX_CORRUPTIONS && a->n_corruptions < ACCEPT_MAX_CORRUPTIONS;
         i++) {
        const struct train_corruption *found = &c->corruption[i];
        struct corruption *to = &a->corruption[a->n_corruptions++];
        to->rank = found->other_rank < 0 ? found->rank : -1;
        to->step = found->step_index;
        snprintf(to->segment, sizeof to->segment, "%.*s", (int)sizeof to->segment - 1,
                 run->job.segment_name[found->segment]);
    }
}

/* A run of so many steps as there is time for. */
static enum rc choose_steps(struct training_order *order, struct stage_env *env)
{
    struct training_pace pace;
    double left_s;
    enum rc rc;

    order->n_steps = 0;
    TRY(training_time(&pace, env, order));
    TRY(training_left_s(&left_s, env));
    if (pace.has_run)
        order->n_steps = training_steps_within(&pace, left_s, env->criteria->integrity_steps_count);
out:
    return rc;
}

enum rc stage_integrity(struct stage_env *env)
{
    const double wanted = env->criteria->integrity_every_steps;
    const uint64_t every = wanted < 1 ? 1 : (uint64_t)wanted;
    struct part_training_run run = { .n_ranks = 0 };
    struct criteria usual;
    char more[64];
    criteria_default(&usual);
    struct training_order order = { .stage = ACCEPT_INTEGRITY,
                                    /* of a hollow test, which may have any model: the usual one, which computes in
                                       little time */
                                    .model = env->backend->touches_memory ? env->criteria->training_model
                                                                          : usual.training_model,
                                    .n_nodes = env->fleet->n_nodes,
                                    .more = more,
                                    .computes = true,
                                    .flips = true,
                                    .loses = true,
                                    .to_ratio = 1 };
    bool goes_on;
    enum rc rc = RC_OK;

    if (env->world->n_ranks < 2) {
        stage_why(env, ACCEPT_INTEGRITY, "one rank has no other rank to compare its parameters with");
        return RC_OK;
    }
    snprintf(more, sizeof more, "--verify-every %llu", (unsigned long long)every);
    TRY(choose_steps(&order, env));
    TRY(stage_goes_on(env, order.n_steps > 0, &goes_on));
    if (!goes_on) {
        if (order.n_steps > 0)
            stage_why(env, ACCEPT_INTEGRITY, "ended before its first step");
        return RC_OK;
    }
    TRY(part_training_run(&run, env, &order));
    if (env->out && run.has_run)
        keep_checks(env->out, &run, every);
out:
    part_training_close(&run);
    return rc;
}
