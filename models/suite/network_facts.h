/* SPDX-License-Identifier: Apache-2.0 */
/*
 * network_facts.h - what is published about the networks, for tests only.
 *
 * Every tensor in order with its work, from model_tensors.csv, which was computed from the published definitions and
 * not by this program; totals; and an outline, written a second time by hand: all nodes, each with how far back its
 * inputs are.
 */
#ifndef MODELS_SUITE_NETWORK_FACTS_H
#define MODELS_SUITE_NETWORK_FACTS_H

#include "models/engine/network.h"

/* How many facts n, opened from def, contradicts; they are printed. */
int network_contradictions(const struct network *n, const struct network_def *def, const char *tensors_path);
/* Those that hold for any table: tensors in order, without a gap; */
int network_segments_lie_in_order(const struct network *n);
/* inputs come first, shapes fit, everything is used, a part has one whole. */
int network_nodes_hang_together(const struct network *n);

#endif
