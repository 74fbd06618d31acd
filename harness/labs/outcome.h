/* SPDX-License-Identifier: Apache-2.0 */
/* outcome.h - the outcome of a training, from its records alone: target reached, not reached yet, or diverged. */
#ifndef HARNESS_LABS_OUTCOME_H
#define HARNESS_LABS_OUTCOME_H

#include <stddef.h>

#include "harness/labs/records.h"

enum outcome_kind {
    OUTCOME_REACHED,     /* the target */
    OUTCOME_NOT_REACHED, /* not within the available samples */
    OUTCOME_DIVERGED     /* at the end its loss is not a number, or is above the first loss */
};

struct outcome {
    enum outcome_kind kind;
    double first_loss;    /* of the first round */
    double last_loss;     /* mean of the last rounds; NaN: one of them is NaN */
    double highest_loss;  /* highest of all rounds that have a loss */
    double samples_count; /* of all workers together */
};

/* Outcome of a record that has rounds; last_loss covers the rounds of the last n_samples. Cannot fail. */
struct outcome outcome_of(const struct training_record *r, double n_samples);
/* Describe the outcome; "" if it reached the target and never rose well above its start. */
void outcome_print(char *out, size_t n_bytes, const struct outcome *o);

#endif
