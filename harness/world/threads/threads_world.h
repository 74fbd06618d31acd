/* SPDX-License-Identifier: Apache-2.0 */
/* threads_world.h - the state that the files of the world of threads share. Private to harness/world/threads. */
#ifndef HARNESS_WORLD_THREADS_THREADS_WORLD_H
#define HARNESS_WORLD_THREADS_THREADS_WORLD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "harness/world/share_inner.h"
#include "harness/world/thread_tasks.h"
#include "harness/world/wait.h"
#include "harness/world/world.h"

struct thread_group;

struct thread_run { /* shared by all ranks of one world_run() */
    const struct world_opts *opts;
    rank_main_fn *body;
    void *arg;
    int n_cores; /* allowed to this process; read once, before a thread is bound to some of them */
    struct share_run shares;
    pthread_mutex_t lock; /* for what follows, up to message; also held from the loss of a rank until it is listed */
    struct thread_group *parts; /* of splits: a dead rank does not close its own */
    atomic_bool failed;
    int failed_rank;
    enum rc why;
    char message[RC_MESSAGE_BYTES];
    struct peer_losses *losses; /* NULL: ON_LOSS_ABORT */
    struct peer_seat *seat;     /* [n_ranks] */
    atomic_int n_ended;         /* ranks whose thread is about to end */
    struct doorbell bell;       /* rung for each of them */
};

struct thread_roll { /* of world_survivors(); all under `lock` */
    pthread_mutex_t lock;
    uint64_t n_calls;          /* calls that have ended */
    struct thread_group *made; /* by the last one; NULL: no memory */
    bool present[];            /* [n_ranks]: waits in the next call */
};

struct thread_group { /* the ranks of one world: all of the run, or a part of them */
    int n_ranks;
    atomic_int n_users;
    _Atomic uint64_t meeting; /* in progress: number of those before it << 32, ranks that are in it */
    struct doorbell bell;
    struct thread_roll *roll; /* NULL: ON_LOSS_ABORT */
    int *number;              /* [n_ranks]: ranks in the run */
    struct thread_run *run;
    struct thread_group *previous, *next; /* in run->parts */
    const void *_Atomic slot[];           /* [n_ranks]: the address of each rank's input, for the other ranks to read */
};

struct thread_world {
    struct world base;
    struct thread_tasks tasks; /* of the rank; unused in a part of a split */
    struct peers peers;        /* likewise */
    struct thread_run *run;
    struct thread_group *group;
    int run_rank;  /* rank in the whole run */
    bool returned; /* body() has returned; unused in a part, like what follows */
    pthread_t thread;
};

static inline struct thread_world *thread_world_of(struct world *w)
{
    return (struct thread_world *)w;
}

/* The caller must fill its number[]. NULL: no memory. */
struct thread_group *thread_group_alloc(struct thread_run *run, int n_ranks);
void thread_group_free(struct thread_group *g); /* NULL-safe */

/* world_ops. */
enum rc threads_barrier(struct world *w);
enum rc threads_allgather(struct world *w, const void *in, void *out, size_t n_bytes_each);
enum rc threads_gather(struct world *w, const void *in, void *out, size_t n_bytes_each);
enum rc threads_broadcast(struct world *w, void *bytes, size_t n_bytes);
enum rc threads_split(struct world *w, int color, int key, struct world **out);
enum rc threads_survivors(struct world *w, struct world **out);
void threads_split_close(struct world **w);

#endif
