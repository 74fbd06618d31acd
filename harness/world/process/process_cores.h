/* SPDX-License-Identifier: Apache-2.0 */
/* process_cores.h - the cores of a rank that is a process: its launcher's choice, or its share of its host's. Private
 * to harness/world. */
#ifndef HARNESS_WORLD_PROCESS_PROCESS_CORES_H
#define HARNESS_WORLD_PROCESS_PROCESS_CORES_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/base/rc.h"

struct world;
struct world_opts;

struct process_host { /* how the ranks of a host communicate; both calls are collective over them */
    /* RC_NOMEM on all of them if is_ready is false on one. */
    enum rc (*agree_on_memory)(struct world *w, bool is_ready);
    /* out: (w->n_host_ranks, n_bytes_each), in the world's order. */
    enum rc (*gather)(struct world *w, const void *in, void *out, size_t n_bytes_each);
};

/* Sets the cores in w and its tasks; binds the calling thread if opts require it. Before the body, in the run's own
 * world, whose ranks of this host are known. */
enum rc process_cores_bind(struct world *w, const struct world_opts *opts, const struct process_host *host) MUST_CHECK;

#endif
