/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_write.h - a description as a YAML file that cluster_load() reads to the same values, assumptions, sources. */
#ifndef HARNESS_CLUSTER_CLUSTER_WRITE_H
#define HARNESS_CLUSTER_CLUSTER_WRITE_H

#include "harness/cluster/cluster.h"

/*
 * Write *c to `path`, whole or not at all, each value with its source as a comment.
 *
 *   sources  of each value; that of an assumed one begins with "assumed" in the file, whether it does here or not
 *   head     lines of text for the top of the file, each of which becomes a comment; NULL: none
 *
 * Keys that hold the default, are assumed and have no effect in *c are left out. Errors: those of atomic_file_open()
 * and atomic_file_commit(); RC_INVAL: the values of *c contradict each other.
 */
enum rc cluster_write(const struct cluster *c, const struct cluster_sources *sources, const char *head,
                      const char *path) MUST_CHECK;

#endif
