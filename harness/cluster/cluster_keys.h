/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster_keys.h - the table of what a description of a cluster says: one row for each key.
 *
 * Invariants
 *   B1  The parser, --cluster-set, `info --cluster` and the records know keys from this table alone.
 *   B2  The default of a key is text, which the same code parses as a user's.
 *   B3  A value that is not given, or whose source begins with "assumed", has its bit in cluster.assumed.
 */
#ifndef HARNESS_CLUSTER_CLUSTER_KEYS_H
#define HARNESS_CLUSTER_CLUSTER_KEYS_H

#include "harness/base/key_table.h"
#include "harness/cluster/cluster.h"

extern const struct key cluster_keys[]; /* name NULL last */
extern const struct key_table cluster_key_table;
enum { CLUSTER_N_KEYS = 45 };

/* Index of the key of that name; -1: none. */
int cluster_key_find(const char *name);
/* The value as text that cluster_key_set() takes, to the last digit. */
void cluster_key_format(const struct cluster *c, int key, char *out, size_t n_bytes);
/* Number of a WHOLE or REAL, in the unit of the key. */
double cluster_key_number(const struct cluster *c, int key);
/* RC_INVAL "is "TEXT"; ... would be right": for a message behind place and key. */
enum rc cluster_key_set(struct cluster *c, int key, const char *text) MUST_CHECK;
/* "a whole number from 0 to 10" */
void cluster_key_range(int key, char *out, size_t n_bytes);
/* Is the value of any effect, as c is? */
bool cluster_key_matters(const struct cluster *c, int key);
/* out[0 .. n-1] := the keys whose values are assumed, and matter, in the order of the table; returns n. */
size_t cluster_assumed(const struct cluster *c, int out[CLUSTER_MAX_KEYS]);
/* Does one value contradict another? RC_INVAL names what would be right, for a message behind place; *key: which. */
enum rc cluster_keys_agree(const struct cluster *c, int *key) MUST_CHECK;

#endif
