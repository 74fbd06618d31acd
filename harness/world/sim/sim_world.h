/* SPDX-License-Identifier: Apache-2.0 */
/* sim_world.h - the state that the files of the sim world share. Private to harness/world/sim. */
#ifndef HARNESS_WORLD_SIM_SIM_WORLD_H
#define HARNESS_WORLD_SIM_SIM_WORLD_H

#include "harness/cluster/topology.h"
#include "harness/world/sim/sim_engine.h"
#include "harness/world/sim/world_sim.h"

struct sim_group;

/* The work of the last rank that arrives, for all ranks; on failure no rank has a result. */
typedef enum rc sim_collective_fn(struct sim_group *g);

struct sim_world { /* a rank as a member of one group */
    struct world base;
    struct sim_rank *rank;
    struct sim_group *group;
    struct peers peers;            /* of the rank; unused in a part of a split */
    const struct peer_opts *stall; /* of the run */
    const void *in;                /* while in a collective operation */
    void *out;
    bool is_present; /* waits in world_survivors() */
};

struct sim_group { /* the ranks of one world: the whole run, or a part of them */
    struct sim_owned owned;
    int n_members, n_open;           /* n_open: of a part, ranks that have not closed it */
    const struct topology *topology; /* of the run */
    struct link_loads *loads;        /* of the run */
    int n_arrived;
    uint64_t n_operations;
    sim_collective_fn *collective; /* of the operation in progress */
    size_t n_bytes_each;
    enum rc result;   /* of the last operation */
    uint64_t n_rolls; /* calls of world_survivors() that have ended */
    int *number;      /* [n_members]: ranks in the run */
    struct sim_world member[];
};

/* NULL: no memory. */
struct sim_group *sim_group_alloc(int n_members, const struct topology *topology);
void sim_group_free(struct sim_group *g); /* NULL-safe */

/* world_ops. */
enum rc sim_barrier(struct world *w);
enum rc sim_allgather(struct world *w, const void *in, void *out, size_t n_bytes_each);
enum rc sim_gather(struct world *w, const void *in, void *out, size_t n_bytes_each);
enum rc sim_broadcast(struct world *w, void *bytes, size_t n_bytes);
enum rc sim_split(struct world *w, int color, int key, struct world **out);
enum rc sim_survivors(struct world *w, struct world **out);
void sim_split_close(struct world **w);

static inline struct sim_world *sim_world_of(struct world *w)
{
    return (struct sim_world *)w;
}

#endif
