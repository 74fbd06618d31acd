/* SPDX-License-Identifier: Apache-2.0 */
/*
 * network_facts.h - an opened network compared with what is published (published_networks.h), and with what holds for
 * any table. Tests only.
 */
#ifndef MODELS_SUITE_NETWORK_FACTS_H
#define MODELS_SUITE_NETWORK_FACTS_H

#include "models/workload.h"

/* How many facts n, opened from the network of w, contradicts; they are printed. */
int network_contradictions(const struct network *n, const struct workload *w, const char *tensors_path);
/* Those that hold for any table: the tensors are in order, without a gap (models.Y1); */
int network_segments_lie_in_order(const struct network *n);
/* inputs come before, shapes fit, every node is used, a part belongs to one concatenation (models.Y3). */
int network_nodes_hang_together(const struct network *n);

#endif
