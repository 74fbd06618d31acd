/* SPDX-License-Identifier: Apache-2.0 */
/* lab_list.h - the labs; each has a separate file. Private to labs.c. */
#ifndef HARNESS_LABS_LAB_LIST_H
#define HARNESS_LABS_LAB_LIST_H

#include "harness/labs/lab.h"

extern const struct lab lab_batch_size, lab_distribute, lab_learning_rate, lab_staleness, lab_split, lab_ring, lab_cnn,
    lab_why_not, lab_pipeline;

#endif
