/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster_keys.h - the table of the keys of a cluster description, one row per key.
 *
 * Invariants
 *   -   The parser, --cluster-set, `info --cluster` and the records use only this table.
 *   B2  The default of a key is text, parsed by the same code as the user's values.
 *   B3  A value that is not given, or whose source begins with "assumed", has its bit in cluster.assumed.
 */
#ifndef HARNESS_CLUSTER_CLUSTER_KEYS_H
#define HARNESS_CLUSTER_CLUSTER_KEYS_H

#include "harness/base/key_table.h"
#include "harness/cluster/cluster.h"

extern const struct key cluster_keys[]; /* name NULL last */
extern const struct key_table cluster_key_table;
enum { CLUSTER_N_KEYS = 50 };

/* What the source of a key begins with that a description leaves out. */
#define CLUSTER_NOT_GIVEN "assumed: not given"

/* Index of the key of that name; -1: none. */
int cluster_key_find(const char *name);
/* The value as text for cluster_key_set(), with all digits. */
void cluster_key_format(const struct cluster *c, int key, char *out, size_t n_bytes);
/* Value of a WHOLE or REAL, in the unit of the key. */
double cluster_key_number(const struct cluster *c, int key);
/* RC_INVAL "is "TEXT"; use ...": for a message that starts with place and key. */
enum rc cluster_key_set(struct cluster *c, int key, const char *text) MUST_CHECK;
/* Does the value have an effect in this c? */
bool cluster_key_matters(const struct cluster *c, int key);
/* out[0 .. n-1] := the keys with assumed values that have an effect, in table order; returns n. */
size_t cluster_assumed(const struct cluster *c, int out[CLUSTER_MAX_KEYS]);
/* The first usable range of a source, "range 2e9 to 2.9e9": two numbers above 0, the lower first. false: there is none;
 * *unusable := the first one that cannot be used, or NULL. */
bool cluster_source_range(double *low, double *high, const char **unusable, const char *source);
/* Check that no value contradicts another. RC_INVAL names valid values, for a message that starts with place; *key: the
 * offending key. */
enum rc cluster_keys_agree(const struct cluster *c, int *key) MUST_CHECK;

/* A cluster description as YAML: text in memory, and the file that is written. cluster_load() reads
 * back the same values, assumptions and sources. */

/* Parses a description from text. name: the prefix of messages. sources: may be NULL. RC_INVAL as cluster_load();
 * RC_NOMEM. */
enum rc cluster_parse(struct cluster *out, struct cluster_sources *sources, const char *name, const char *text,
                      size_t n_bytes) MUST_CHECK;

/*
 * Write *c to `path`, whole or not at all, each value with its source as a comment.
 *
 *   sources  source of each value; that of an assumed value begins with "assumed" in the file, even if it does not here
 *   head     lines of text for the top of the file, each written as a comment; NULL: none
 *
 * Keys that have the default value, are assumed and have no effect in *c are omitted. Errors: those of
 * atomic_file_open() and atomic_file_commit(); RC_INVAL: the values of *c contradict each other.
 */
enum rc cluster_write(const struct cluster *c, const struct cluster_sources *sources, const char *head,
                      const char *path) MUST_CHECK;

#endif
