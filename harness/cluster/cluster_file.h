/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_file.h - a cluster description as YAML: text in memory, and the file that is written. cluster_load() reads
 * back the same values, assumptions and sources. */
#ifndef HARNESS_CLUSTER_CLUSTER_FILE_H
#define HARNESS_CLUSTER_CLUSTER_FILE_H

#include "harness/cluster/cluster.h"

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
