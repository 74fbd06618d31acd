/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heat_map.h - a picture of all pairs of nodes: the row sends, the column receives; the darker the worse.
 *
 * Invariants
 *   M1  A colour is a class of the ratio to best_quarter() of all pairs, the same classes in every picture; from class
 *       to class it is darker, so that it reads without colours.
 *   M2  Of more than HEAT_MAP_MOST_CELLS nodes some share a row and a column, whose cell is their worst pair: a slow
 *       one is seen in any fleet.
 *   M3  What was not measured is hatched; no class is.
 *   M4  Pairs and nodes that the pairwise stage blames are marked by shapes: a frame, an arrow head.
 */
#ifndef HARNESS_ACCEPT_HEAT_MAP_H
#define HARNESS_ACCEPT_HEAT_MAP_H

#include "harness/accept/node_figures.h"

enum { HEAT_MAP_MOST_CELLS = 128, HEAT_MAP_WIDTH_PX = 1150, HEAT_MAP_HEIGHT_PX = 850, HEAT_MAP_N_CLASSES = 7 };

/* SVG of a tournament with repeats, in memory that the caller frees; NULL: no pair was measured.
 * RC_NOMEM. */
enum rc heat_map_svg(char **out, size_t *n_bytes, const struct acceptance *a, enum pair_figure of) MUST_CHECK;
/* M1: 0, the best, to HEAT_MAP_N_CLASSES - 1; -1: not a number. */
int heat_map_class(enum pair_figure of, double ratio);
/* M2 */
int heat_map_group(int n_nodes);

#endif
