/* SPDX-License-Identifier: Apache-2.0 */
/*
 * published_systems.h - how published training systems exchange gradients: a row of one table for each. A row of
 * published efficiencies names one, or --system does for the rows that name none.
 *
 * Invariants
 *   T1  An option that is given, and a column of a row, are stronger than the terms of a system.
 *   T2  A value of a system is that of a key that the description of the cluster leaves out, and is assumed, with the
 *       range and source here.
 */
#ifndef HARNESS_CAMPAIGN_PUBLISHED_SYSTEMS_H
#define HARNESS_CAMPAIGN_PUBLISHED_SYSTEMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/rc.h"
#include "harness/cluster/cluster.h"

/* All names, as an option lists them; those of systems with servers and without. */
#define SYSTEMS_RING "horovod-2017|horovod-0.16|ddp|mpi"
#define SYSTEMS_SERVERS "tf-grpc|tf-distributed-2017"
#define SYSTEMS_ALL SYSTEMS_RING "|" SYSTEMS_SERVERS

enum { SYSTEM_MOST_VALUES = 2, SYSTEM_SETTINGS_BYTES = 256 };

struct system_value { /* key NULL: none */
    const char *key;
    double value, low, high;
    const char *source;
};

struct published_system {
    const char *name;
    bool has_servers;
    uint64_t bucket_bytes;                /* of a ring */
    const char *placement, *ps_transport; /* of servers */
    const char *source;                   /* of the terms above */
    struct system_value value[SYSTEM_MOST_VALUES];
};

/* NULL: no system is called so. */
const struct published_system *published_system_find(const char *name);
/* T2. settings: "key=value,..." of what was filled in; "": nothing. */
enum rc published_system_fill(char settings[SYSTEM_SETTINGS_BYTES], const struct published_system *s, struct cluster *c,
                              struct cluster_sources *sources) MUST_CHECK;

#endif
