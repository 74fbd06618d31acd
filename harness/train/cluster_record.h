/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_record.h - the description of a simulated cluster in a run's record. Private to this module. */
#ifndef HARNESS_TRAIN_CLUSTER_RECORD_H
#define HARNESS_TRAIN_CLUSTER_RECORD_H

#include "harness/cluster/cluster.h"
#include "harness/report/record.h"

/* Add every value of c under its key (link_bits_per_s in bytes: link_bytes_per_s). "assumed" lists the keys of values
 * that are neither measured nor published. */
void record_cluster(struct record *r, const struct cluster *c);

#endif
