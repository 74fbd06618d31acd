/* SPDX-License-Identifier: Apache-2.0 */
/* outcome.h - how a training came out, from its records alone: at its target, not there yet, or diverged. */
#ifndef HARNESS_LABS_OUTCOME_H
#define HARNESS_LABS_OUTCOME_H

#include <stddef.h>

#include "harness/labs/records.h"

enum outcome_kind {
    OUTCOME_REACHED,     /* the target */
    OUTCOME_NOT_REACHED, /* in the samples that there were */
    OUTCOME_DIVERGED     /* at the end its loss is no number, or above that of the start */
};

struct outcome {
    enum outcome_kind kind;
    double first_loss;    /* of the first round */
    double last_loss;     /* the mean of the last rounds; NaN: of one of them */
    double highest_loss;  /* of a round that has one */
    double samples_count; /* of all workers together */
};

/* Of a record that has rounds; last_loss: of those of the last n_samples. Cannot fail. */
struct outcome outcome_of(const struct training_record *r, double n_samples);
/* What there is to say of it: "" where it reached the target and never rose well above its start. */
void outcome_print(char *out, size_t n_bytes, const struct outcome *o);

#endif
