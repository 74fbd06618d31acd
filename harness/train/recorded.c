/* SPDX-License-Identifier: Apache-2.0 */
/* recorded.c - see recorded.h. */
#include "harness/train/recorded.h"

#include <math.h>
#include <stdlib.h>

size_t recorded_n_to_target(const struct train_summary *s)
{
    struct round_point point = { .seconds = -1 };
    size_t n = 0;

    if (isnan(s->seconds_to_target_loss))
        return 0;
    while (n < s->steps.n_steps && point.seconds < s->seconds_to_target_loss)
        steps_round(&point, &s->steps, n++);
    return n;
}

bool recorded_step(size_t step, size_t n_to_target, uint64_t record_every, size_t n_steps)
{
    return step < n_to_target || step % record_every == 0 || step + 1 == n_steps; /* Y1, Y2 */
}

enum rc recorded_communication(struct record *r, const struct steps *steps, size_t step)
{
    static const struct {
        const char *key;
        double (*of)(const struct step_stamp *s);
    } part[] = { { "exposed_comm_s", steps_exposed_s }, { "hidden_comm_s", steps_hidden_s } };
    double *value = malloc(steps->n_workers * sizeof *value);

    if (!value)
        return rc_raise(RC_NOMEM, "no memory for a step of %zu workers", steps->n_workers);
    for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
        for (size_t w = 0; w < steps->n_workers; w++)
            value[w] = part[i].of(&steps->stamp[w * steps->n_steps + step]);
        record_f64_array(r, part[i].key, value, steps->n_workers);
    }
    free(value);
    return RC_OK;
}

static bool waits_for_input(const struct train_job *job)
{
    return job->workload->network && job->compute->touches_memory && !(job->world->module.caps & WORLD_VIRTUAL_TIME);
}

enum rc recorded_input(struct record *r, const struct train_job *job, const struct steps *steps, size_t step)
{
    double *value = malloc(steps->n_workers * sizeof *value);

    if (!value)
        return rc_raise(RC_NOMEM, "no memory for a step of %zu workers", steps->n_workers);
    for (size_t w = 0; w < steps->n_workers; w++)
        value[w] = waits_for_input(job) ? 1e-9 * (double)steps->stamp[w * steps->n_steps + step].input_ns : NAN;
    record_f64_array(r, "input_wait_s", value, steps->n_workers);
    free(value);
    return RC_OK;
}

void recorded_input_of_rank(struct record *r, const struct train_job *job, const struct train_result *result, int rank)
{
    const bool is_known = rank < result->n_workers && waits_for_input(job);
    double sum_s = is_known ? 0 : NAN;

    for (size_t step = 0; is_known && step < result->n_steps; step++)
        sum_s += 1e-9 * (double)result->stamp[(size_t)rank * result->n_steps + step].input_ns;
    record_f64(r, "input_wait_s", sum_s / (double)result->n_steps);
}
