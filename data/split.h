/* SPDX-License-Identifier: Apache-2.0 */
/*
 * split.h - which training samples each worker has, where that is not "all, in turn" (dataset.D1).
 *
 *   by-label     samples in the order of their labels, cut into equal parts: a worker has few labels
 *   dirichlet:A  every worker draws shares of the labels from a Dirichlet distribution, A for a label of mean size, and
 *                fills an equal part by them, from what those before it have left: large A is like all, small A like
 *                by-label (Hsu, Qi, Brown 2019)
 *   unequal:a,b  parts at random, of sizes that are as a to b ...
 *
 * Invariants
 *   D3  Parts are disjoint, together they are all training samples, and none is empty. A split is a pure function of
 *       labels, seed, options and the number of parts. (Of a Dirichlet distribution: on machines whose logarithms and
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
    double concentration; /* of SPLIT_DIRICHLET, > 0 */
    double share[SPLIT_MOST_SHARES];
    int n_shares; /* of SPLIT_UNEQUAL; they add up to 1 */
};

/* A value of --split; RC_INVAL names it, and what would be right. */
enum rc split_parse(struct split_opts *out, const char *text) MUST_CHECK;
/* Of n things, how many part i of n_parts has: by its share (SPLIT_UNEQUAL), else evenly, earlier parts one more where
 * that has a rest. Over all parts n. Pure. */
size_t split_part_of(const struct split_opts *opts, int n_parts, int i, size_t n);

struct split {
    size_t *index; /* [n_train], part behind part; owned */
    size_t *first; /* [n_parts + 1]: where in index each begins; owned */
    int n_parts;
};

/* RC_INVAL "--split ...": the data set has no labels, or fewer samples than parts; as many shares as parts are asked
 * for, and a share with a sample at least. RC_NOMEM. Not for SPLIT_IID, which needs no parts. */
enum rc split_open(struct split *out, const struct dataset *d, const struct split_opts *opts, int n_parts,
                   uint64_t seed) MUST_CHECK;
/* Lent. */
struct dataset_part split_part(const struct split *s, int i);
void split_close(struct split *s); /* accepts a zeroed one */

#endif
