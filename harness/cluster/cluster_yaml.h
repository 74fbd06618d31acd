/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_yaml.h - parses a description from text in memory. Private to this module, for presets; files:
 * cluster_load(). */
#ifndef HARNESS_CLUSTER_CLUSTER_YAML_H
#define HARNESS_CLUSTER_CLUSTER_YAML_H

#include "harness/cluster/cluster.h"

/* name: the prefix of messages. sources: may be NULL. RC_INVAL as cluster_load(); RC_NOMEM. */
enum rc cluster_parse(struct cluster *out, struct cluster_sources *sources, const char *name, const char *text,
                      size_t n_bytes) MUST_CHECK;

#endif
