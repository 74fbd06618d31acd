/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heat_map.h - a picture of all pairs of nodes: the row sends, the column receives; darker is worse.
 *
 * Invariants
 *   M1  A colour is a class of the ratio to best_quarter() of all pairs; every picture has the same classes. Each class
 *       is darker than the one before, so the picture is readable without colours.
 *   M2  With more than HEAT_MAP_MOST_CELLS nodes, several nodes share a row and a column. Their cell shows their worst
 *       pair, so a slow pair is visible in any fleet.
 *   M3  Only pairs that were not measured are hatched; classes are not.
 *   M4  Pairs and nodes that the pairwise stage blames are marked by shapes: a frame, an arrow head. The map of rates
 *       marks what is slow, the map of latencies what is late or loses messages.
 */
#ifndef HARNESS_ACCEPT_HEAT_MAP_H
#define HARNESS_ACCEPT_HEAT_MAP_H

#include "harness/accept/node_figures.h"

enum { HEAT_MAP_MOST_CELLS = 128, HEAT_MAP_WIDTH_PX = 1150, HEAT_MAP_HEIGHT_PX = 850, HEAT_MAP_N_CLASSES = 7 };

/* SVG of a tournament with repeats, in memory that the caller frees; NULL: no pair was measured.
 * RC_NOMEM. */
enum rc heat_map_svg(char **out, size_t *n_bytes, const struct acceptance *a, enum pair_figure of) MUST_CHECK;
/* Class of a ratio (accept.M1): 0, the best, to HEAT_MAP_N_CLASSES - 1; -1: not a number. */
int heat_map_class(enum pair_figure of, double ratio);
/* Nodes that share a row (accept.M2). */
int heat_map_group(int n_nodes);

#endif
