/* SPDX-License-Identifier: Apache-2.0 */
/*
 * split.h - which training samples each worker has, unless all workers take all in turn (data.D1).
 *
 *   by-label     samples sorted by label, cut into equal parts: a worker has few labels
 *   dirichlet:A  every worker draws shares of the labels from a Dirichlet distribution, A for a label of mean size. By
 *                these it fills an equal part from the samples still left. Large A is like all, small A like by-label
 *                (Hsu, Qi, Brown 2019)
 *   unequal:a,b  random parts, with sizes in the ratio a to b ...
 *
 * Invariants
 *   D3  Parts are disjoint, together they are all training samples, and none is empty. A split is a pure function of
 *       labels, seed, options and the number of parts. (Dirichlet splits are equal on machines whose logarithms and
 *       powers are equal to the bit.)
 */
#ifndef DATA_SPLIT_H
#define DATA_SPLIT_H

#include <stddef.h>
#include <stdint.h>

#include "harness/base/rc.h"

struct dataset;
struct dataset_part;

enum split_kind { SPLIT_IID, SPLIT_BY_LABEL, SPLIT_DIRICHLET, SPLIT_UNEQUAL };
enum { SPLIT_MOST_SHARES = 64 };

struct split_opts {
    enum split_kind kind;
    double concentration; /* for SPLIT_DIRICHLET, > 0 */
    double share[SPLIT_MOST_SHARES];
    int n_shares; /* for SPLIT_UNEQUAL; shares add up to 1 */
};

/* Parse a value of --split; RC_INVAL names it and valid ones. */
enum rc split_parse(struct split_opts *out, const char *text) MUST_CHECK;
/* Number of n items that part i of n_parts has: by its share (SPLIT_UNEQUAL), else evenly; with a remainder, earlier
 * parts have one more. The sum over all parts is n. Pure. */
size_t split_part_of(const struct split_opts *opts, int n_parts, int i, size_t n);

struct split {
    size_t *index; /* [n_train], part after part; owned */
    size_t *first; /* [n_parts + 1]: start of each part in index; owned */
    int n_parts;
};

/* RC_INVAL "--split ..." if: the data set has no labels, or fewer samples than parts; the number of shares differs from
 * n_parts; a share has no sample. RC_NOMEM. Not for SPLIT_IID, which needs no parts. */
enum rc split_open(struct split *out, const struct dataset *d, const struct split_opts *opts, int n_parts,
                   uint64_t seed) MUST_CHECK;
/* Borrowed from s. */
struct dataset_part split_part(const struct split *s, int i);
void split_close(struct split *s); /* accepts a zeroed one */

#endif
